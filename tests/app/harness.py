"""Drives the built command ($STENCIL) in a directory of its own."""
import functools
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

from draw import DRAW

try:
    import h5py
    import numpy
except ImportError:
    print("skipped: h5py (Debian: python3-h5py) is not installed")
    sys.exit(77)

NOBODY = 65534
STENCIL = os.environ["STENCIL"]
SLOW = os.environ.get("STENCIL_SLOW") == "1"  # with sanitizers
# Marks a test that is made with sanitizers in ./dev test --all only, since others run the same code of the host.
once = unittest.skipIf(SLOW and DRAW != "all", "once, without sanitizers")


def limited(what, most):
    """A preexec_fn that sets a resource limit."""
    return lambda: resource.setrlimit(what, (most, most))


def fault(what, sees, code, left="nothing"):
    """Marks the test of a fault for the list in docs/faults.md: what happens, what the user is told, the exit code
    (negative: the signal that ended the process), what is left. The test has to meet that code."""
    def mark(test):
        @functools.wraps(test)
        def run(self, *arguments):
            test(self, *arguments)
            self.assertIn(code, self.codes, f"{what}: the test has not seen the code of the list")
        run.fault = (what, sees, code, left)
        return run
    return mark


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.codes = set()  # exit codes that the test has seen
        self.directory = tempfile.mkdtemp(prefix="stencil-test-")
        self.addCleanup(shutil.rmtree, self.directory)
        # What runs leave for later ones is not this user's, nor another test's.
        self.cache = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="stencil-cache-")
        self.addCleanup(shutil.rmtree, self.cache)

    def path(self, name):
        return os.path.join(self.directory, name)

    def call(self, *arguments, cwd=None, preexec_fn=None, program=STENCIL, **keywords):
        """Runs the command; gives a CompletedProcess with text output."""
        done = subprocess.run([program, *map(str, arguments)], cwd=cwd or self.directory, preexec_fn=preexec_fn,
                              stdin=subprocess.DEVNULL, stdout=keywords.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, encoding="utf-8", timeout=300, **keywords)
        self.codes.add(done.returncode)
        return done

    def ended(self, process, code, *more):
        """A process that was started apart has ended with this exit code."""
        self.codes.add(process.returncode)
        self.assertEqual(process.returncode, code, *more)

    def ok(self, *arguments, code=0, **keywords):
        done = self.call(*arguments, **keywords)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}{done.stdout}")
        return done

    def snapshot(self):
        """Every path below the directory, with what it holds."""
        found = {}
        for folder, folders, files in os.walk(self.directory):
            for name in folders:
                found[os.path.join(folder, name)] = None
            for name in files:
                path = os.path.join(folder, name)
                if os.path.exists(path) and not os.path.isfile(path):  # a FIFO would wait
                    found[path] = "special"
                    continue
                try:
                    with open(path, "rb") as file:
                        found[path] = hashlib.sha256(file.read()).hexdigest() if not self.is_sparse(path) else "sparse"
                except PermissionError:
                    found[path] = "unreadable"
        return found

    @staticmethod
    def is_sparse(path):
        return os.stat(path).st_size > 1 << 28

    def holds(self, wanted, line):
        """A line holds a text, or each of a list of texts."""
        for text in [wanted] if isinstance(wanted, str) else wanted:
            self.assertIn(text, line)

    def refused(self, code, wanted, *arguments, **keywords):
        """The command fails with this exit code and one line on stderr that holds the wanted text, or each of a list
        of texts; the directory is as it was."""
        before = self.snapshot()
        done = self.call(*arguments, **keywords)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}{done.stdout}")
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, f"{arguments}: {done.stderr}")
        self.assertTrue(lines[0].startswith("stencil: "), lines[0])
        self.holds(wanted, lines[0])
        self.assertEqual(before, self.snapshot(), f"{arguments} changed the directory")
        return lines[0]

    def make(self, name="p.h5", *arguments):
        """A small problem file made by `stencil new`."""
        self.ok("new", name, "--stencil", "j2d5pt", "--size", "19x17", "--initial", "random", "--quiet", *arguments)
        return name

    def write(self, name="p.h5", u=None, attributes=None, datasets=None):
        """A problem file made by h5py; u may be an array or a function that makes something of the open file."""
        with h5py.File(self.path(name), "w") as file:
            if callable(u):
                u(file)
            elif u is not None:
                file["u"] = u
            for key, value in {"stencil": "j2d5pt", **(attributes or {})}.items():
                if value is not None:
                    file.attrs[key] = value
            for key, value in (datasets or {}).items():
                file[key] = value
        return name

    def same_every_way(self, name, run, first):
        """Sweeps, strategies and parts give the bits of the field `first`, and the same residuals."""
        seen = None
        for sweep in ("stream", "pipeline"):
            for sync, parts in (("relaunch", 1), ("grid", 1), ("grid", 3), ("neighbor", 1), ("neighbor", 3)):
                options = ("--sweep", sweep, "--sync", sync, *(("--parts", parts) if parts > 1 else ()))
                self.ok(name, *run, "-o", "way.h5", *options)
                self.assertEqual(self.read("way.h5").tobytes(), first.tobytes(), options)
                residuals = self.read("way.h5", "residual").tobytes()
                self.assertEqual(residuals, seen or residuals, options)
                seen = residuals

    def read(self, name, dataset="u"):
        with h5py.File(self.path(name), "r") as file:
            return file[dataset][()]

    def attribute(self, name, group, attribute):
        with h5py.File(self.path(name), "r") as file:
            return file[group].attrs[attribute]

    def gpu_count(self):
        return len(json.loads(self.ok("info", "--json", "-").stdout)["gpus"])

    def as_nobody(self):
        """Keywords for call() under an identity that permissions apply to. As root, file modes stop nobody."""
        if os.geteuid() != 0:
            return {}
        program = os.path.join(self.directory, "program", "stencil")
        os.mkdir(os.path.dirname(program))
        shutil.copy(STENCIL, program)
        for path in (self.directory, os.path.dirname(program), program):
            os.chmod(path, 0o755)

        def drop():
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

        try:
            subprocess.run(["true"], preexec_fn=drop, check=True)
        except (subprocess.SubprocessError, OSError):
            self.skipTest("root without the right to become another user")
        return {"program": program, "preexec_fn": drop}


def field(*shape, dtype="f8"):
    """Values without structure."""
    return numpy.random.default_rng(1).random(shape).astype(dtype)
