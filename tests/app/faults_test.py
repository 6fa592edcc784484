"""Faults from outside: files that lie, locks, links, other programs; and the list of all of them, docs/faults.md.

    python3 tests/app/faults_test.py --list     prints that page's table, made from the tests that are marked"""
import fcntl
import importlib
import inspect
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

import numpy

from draw import DRAW, drawn
from harness import SLOW, STENCIL, CommandTest, fault, field, h5py

USAGE, BAD_DATA, NO_INPUT, INTERNAL, NO_MEMORY, CANNOT_CREATE, IO = 64, 65, 66, 70, 71, 73, 74
RUN = ("--device", "cpu", "--effort", "estimate", "--force")
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "faults.md"


class Input(CommandTest):
    def laplace(self, name="p.h5", shape=(9, 11), **attributes):
        with h5py.File(self.path(name), "w") as file:
            file["u"] = field(*shape)
            file.attrs.update({"problem": "laplace", "steps": 5, **attributes})
        return name

    @fault("/u is a link to a FIFO in place of a file", "that it leads nowhere; nothing is waited for", 65)
    def test_link_to_a_fifo(self):
        os.mkfifo(self.path("fifo"))
        with h5py.File(self.path("p.h5"), "w") as file:
            file["u"] = h5py.ExternalLink("fifo", "/u")
            file.attrs["problem"] = "laplace"
        for command in ((), ("verify",), ("compare", "p.h5"), ("plan",)):
            self.refused(BAD_DATA, ["u"], *command, "p.h5", *(RUN if not command else ()))

    @fault("a link of the user's own leads to a FIFO", "nothing: it is kept as a link", 0, "the result")
    def test_own_link_to_a_fifo(self):
        os.mkfifo(self.path("fifo"))
        with h5py.File(self.path(self.laplace()), "a") as file:
            file["mine"] = h5py.ExternalLink("fifo", "/x")
            file["F"] = h5py.ExternalLink("fifo", "/x")
            file["w"] = h5py.SoftLink("/mine")
        self.ok("p.h5", *RUN)
        with h5py.File(self.path("p.out.h5")) as file:
            self.assertEqual(file.get("mine", getlink=True).filename, "fifo")

    @fault("virtual datasets are made of virtual datasets, and those again, in great numbers",
           "how many sources are too many", 65)
    def test_virtual_bomb(self):
        count = 12
        with h5py.File(self.path("v0.h5"), "w") as file:
            file["v"] = numpy.zeros((count, 9))
        for level in range(1, 7):
            with h5py.File(self.path(f"v{level}.h5"), "w", libver=("v110", "v110")) as file:
                layout = h5py.VirtualLayout((count, 9), "f8")
                for k in range(count):
                    layout[k] = h5py.VirtualSource(f"v{level - 1}.h5", "v", (count, 9))[k]
                file.create_virtual_dataset("v" if level < 6 else "u", layout)
                file.attrs["problem"] = "laplace"
        self.refused(BAD_DATA, ["more than 10000 sources"], "v6.h5", *RUN)

    @fault("groups of the user's own are nested without end", "how deep is too deep", 65)
    def test_deep_groups(self):
        for depth, code in ((190, 0), (2000, BAD_DATA)):
            with h5py.File(self.path(self.laplace()), "a") as file:
                group = file
                for _ in range(depth):
                    group = group.create_group("g")
            start = time.monotonic()
            self.ok("p.h5", *RUN, code=code, preexec_fn=self.small_stack)
            self.assertLess(time.monotonic() - start, 20)
        with h5py.File(self.path(self.laplace()), "a") as file:  # a group in itself, and one of many names
            file.create_group("a/b")
            file["a/b/c"] = file["a"]
            for k in range(30):
                file.create_group(f"d{k}")
                if k > 0:
                    file[f"d{k - 1}/one"] = file[f"d{k - 1}/two"] = file[f"d{k}"]
        self.ok("p.h5", *RUN)

    @staticmethod
    def small_stack():
        resource.setrlimit(resource.RLIMIT_STACK, (2 << 20, 2 << 20))

    @fault("/residual claims more entries than there were steps", "both numbers, before anything is read", 65)
    def test_long_history(self):
        self.laplace(steps_total=5, check_every=1)
        with h5py.File(self.path("p.h5"), "a") as file:
            for name, dtype in (("residual", "f8"), ("residual_step", "i8")):
                file.create_dataset(name, (10**9,), dtype, chunks=(10**6,))
        self.refused(BAD_DATA, ["/residual has 1000000000 entries", "5 steps"], "p.h5", *RUN)

    @fault("sizes of datasets of the user's own add up to more than can be counted", "what is needed, and free", 74)
    def test_sizes_overflow(self):
        with h5py.File(self.path(self.laplace()), "a") as file:
            places = [file.create_dataset(name, data=numpy.zeros(100)).id.get_offset() for name in ("x1", "x2", "x3")]
        content = bytearray(pathlib.Path(self.path("p.h5")).read_bytes())
        for place in places:
            at = content.find(struct.pack("<QQ", place, 800))
            content[at + 8:at + 16] = struct.pack("<Q", 0x7000000000000000)
        pathlib.Path(self.path("p.h5")).write_bytes(content)
        self.refused(IO, ["'p.out.h5'", "it needs"], "p.h5", *RUN)

    @fault("a run diverges in its first step", "that it did", 2, "the result, which is verified and goes on")
    def test_infinite_first_residual(self):
        with h5py.File(self.path("p.h5"), "w") as file:
            file["u"] = field(9, 11)
            file["stencil/offsets"] = numpy.array([[0, 0], [0, 1]], "i4")
            file["stencil/weights"] = [1e305, 1e305]
            file.attrs.update({"atol": 1e-12, "steps": 9})
        self.ok("p.h5", *RUN, code=2)
        self.assertEqual(self.attribute("p.out.h5", "/", "residual_first"), numpy.inf)
        self.ok("verify", "p.out.h5")
        self.ok("p.out.h5", *RUN, code=2)

    @fault("a packed chunk holds fewer bytes than a chunk has", "that it does", 65)
    def test_short_chunk(self):
        """More of what may be wrong with chunks: tests/inputs/test_chunks.py."""
        with h5py.File(self.path("p.h5"), "w") as file:
            u = file.create_dataset("u", (32, 32), "f8", chunks=(32, 32), compression="gzip")
            u.id.write_direct_chunk((0, 0), zlib.compress(bytes(64)))
            file.attrs["problem"] = "laplace"
        self.refused(BAD_DATA, ["'p.h5'", "/u", "fewer bytes"], "p.h5", *RUN)

    @fault("the input is overwritten or cut while it is read", "that it was changed", 65)
    def test_input_changes(self):
        self.ok("new", "whole.h5", "--problem", "heat", "--size", "3000x2000", "--initial", "random", "--steps", 1, "-q")
        whole = pathlib.Path(self.path("whole.h5")).read_bytes()
        self.ok("whole.h5", *RUN, "-o", "right.h5")
        right, rng, seen = self.read("right.h5"), random.Random(1), 0
        for number in range(4 if SLOW else 8):
            pathlib.Path(self.path("p.h5")).write_bytes(whole)
            process = subprocess.Popen([STENCIL, "p.h5", "-q", *RUN], cwd=self.directory, stderr=subprocess.PIPE,
                                       encoding="utf-8")
            while process.poll() is None and not self.has_open(process.pid, "p.h5"):
                pass
            time.sleep(rng.random() * 0.02)
            if number % 2:
                os.truncate(self.path("p.h5"), len(whole) // 3)
            else:
                with open(self.path("p.h5"), "r+b") as file:
                    file.write(bytes(len(whole)))
            errors = process.communicate(timeout=60)[1]
            self.codes.add(process.returncode)
            if process.returncode == 0:  # it had been read
                numpy.testing.assert_array_equal(self.read("p.out.h5"), right)
                os.unlink(self.path("p.out.h5"))
            else:
                self.assertEqual(process.returncode, BAD_DATA, errors)
                self.assertRegex(errors, "^stencil: 'p.h5'[^\n]*\n$")
                self.assertFalse(os.path.exists(self.path("p.out.h5")))
                seen += 1
        self.assertTrue(seen or SLOW)

    @staticmethod
    def has_open(process, name):
        try:
            folder = f"/proc/{process}/fd"
            return any(os.readlink(f"{folder}/{fd}").endswith(name) for fd in os.listdir(folder))
        except OSError:
            return False

    @fault("the input is changed after it was read", "nothing: nothing is read any more", 0, "the result")
    def test_input_changes_later(self):
        self.laplace(shape=(40, 40), steps=10**9, check_every=1000)
        with h5py.File(self.path("p.h5"), "a") as file:
            file["mine"] = numpy.arange(1000)
        process = subprocess.Popen([STENCIL, "p.h5", *RUN], cwd=self.directory, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, encoding="utf-8")
        while not process.stdout.readline().startswith("Strategy"):
            pass
        time.sleep(0.3)
        with open(self.path("p.h5"), "r+b") as file:
            file.write(bytes(os.path.getsize(self.path("p.h5"))))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.ended(process, 128 + signal.SIGTERM)
        numpy.testing.assert_array_equal(self.read("p.out.h5", "mine"), numpy.arange(1000))
        self.ok("p.out.h5", "--steps", int(self.attribute("p.out.h5", "/", "steps_total")) + 1, *RUN)


class Reading(CommandTest):
    """The process that reads the input, and what becomes of it."""

    @classmethod
    def setUpClass(cls):
        """Packing takes a second: the file of all tests."""
        folder = tempfile.mkdtemp(prefix="stencil-test-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.large = os.path.join(folder, "p.h5")
        with h5py.File(cls.large, "w") as file:
            file.create_dataset("u", data=field(2500, 2400), chunks=(100, 800), compression="gzip")
            file["mine"] = numpy.arange(10)
            file.attrs.update({"problem": "laplace", "steps": 3})

    def setUp(self):
        super().setUp()
        shutil.copy(self.large, self.path("p.h5"))

    def start(self, *arguments, **keywords):
        """The command, and the process that reads for it, as soon as it is there."""
        process = subprocess.Popen([STENCIL, *map(str, arguments)], cwd=self.directory, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, encoding="utf-8", **keywords)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        while process.poll() is None:
            for reader in self.children(process.pid):
                if b"reads-for-its-parent" in self.command_line(reader):
                    return process, reader
        self.fail(process.communicate())

    @staticmethod
    def children(process):
        try:
            with open(f"/proc/{process}/task/{process}/children") as file:
                return [int(word) for word in file.read().split()]
        except OSError:
            return []

    @staticmethod
    def command_line(process):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                return file.read()
        except OSError:
            return b""

    def given_up(self, process, *wanted):
        errors = process.communicate(timeout=60)[1]
        self.ended(process, BAD_DATA, errors)
        self.assertRegex(errors, "^stencil: 'p.h5'[^\n]*\n$")
        for text in wanted:
            self.assertIn(text, errors)
        self.assertEqual(os.listdir(self.directory), ["p.h5"])

    @fault("HDF5 crashes at what is in a file", "what it was reading", 65)
    def test_crash(self):
        for command in drawn(2, ((), ("verify",), ("plan",), ("compare", "p.h5"))):
            process, reader = self.start(*command, "p.h5", *(RUN if not command else ()))
            os.kill(reader, signal.SIGABRT)
            self.given_up(process, "is damaged: HDF5 ", " crashed as it read ", "(Aborted)")

    @fault("HDF5 runs in circles, or the file system does not answer", "what was read, and for how long it waited", 65)
    def test_stands_still(self):
        process, reader = self.start("p.h5", *RUN, "--read-timeout", 0.5)
        os.kill(reader, signal.SIGSTOP)
        start = time.monotonic()
        self.given_up(process, "made no progress for 0.5 s", "--read-timeout")
        self.assertLess(time.monotonic() - start, 30 if SLOW else 5)
        self.assertFalse(os.path.exists(f"/proc/{reader}"))

    @fault("the process that reads a file is killed", "that memory may have run out", 65)
    def test_reader_is_killed(self):
        process, reader = self.start("p.h5", *RUN)
        os.kill(reader, signal.SIGKILL)
        self.given_up(process, "was killed at ", "memory may have run out")

    @fault("it is killed after the first step", "nothing: it is not needed any more", 0, "the result")
    def test_reader_is_killed_late(self):
        self.make("q.h5", "--force")
        process, reader = self.start("q.h5", *RUN, "--check-every", 1000, "--steps", 10**14)
        self.assertTrue(any(line.startswith("Strategy") for line in iter(process.stdout.readline, "")))
        time.sleep(0.3)
        os.kill(reader, signal.SIGKILL)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 130, errors)
        self.ok("q.out.h5", *RUN, "--steps", int(self.attribute("q.out.h5", "/", "steps_total")) + 3)

    @fault("it is killed, and the result then finds another file of its name", "where the result is instead, and a Note",
           73, "the result, as rescued-PID-NAME, without what was the user's own")
    def test_reader_is_killed_and_the_name_taken(self):
        self.make("q.h5", "--force")
        process, reader = self.start("q.h5", *RUN[:-1], "--check-every", 1000, "--steps", 10**14)
        self.assertTrue(any(line.startswith("Strategy") for line in iter(process.stdout.readline, "")))
        time.sleep(0.3)
        os.kill(reader, signal.SIGKILL)
        pathlib.Path(self.path("q.out.h5")).write_text("another's")
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=60)
        self.ended(process, CANNOT_CREATE, errors)
        rescued = f"rescued-{process.pid}-q.out.h5"
        self.assertIn(rescued, errors)
        self.assertEqual(pathlib.Path(self.path("q.out.h5")).read_text(), "another's")
        self.ok(rescued, *RUN, "--steps", int(self.attribute(rescued, "/", "steps_total")) + 3)

    @fault("the user may have fewer processes than there are threads", "nothing: fewer threads read", 0, "the result")
    def test_few_processes(self):
        """The program's own threads: bad_input_test."""
        keywords = self.as_nobody()
        if not keywords:
            self.skipTest("only root takes another identity")
        drop = keywords["preexec_fn"]

        def drop_and_limit():
            drop()
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))

        codes = []
        for most in range(2, 9):
            done = self.call("p.h5", *RUN, "--no-output", "--threads", 3, **{**keywords, "preexec_fn": drop_and_limit})
            codes.append(done.returncode)
            self.assertIn(done.returncode, (0, 71), done.stderr)
            self.assertNotIn("damaged", done.stderr)
        self.assertEqual(codes[-1], 0)

    @fault("hardly any descriptors are left", "ulimit -n", 71)
    def test_few_descriptors(self):
        for most in range(4, 12):
            done = self.call("p.h5", *RUN, "--no-output",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
            self.assertNotEqual(done.returncode, 70, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), done.returncode != 0, done.stderr)

    def test_input_by_descriptor(self):
        with open(self.path("p.h5"), "rb") as file:
            for path in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
                done = subprocess.run([STENCIL, path, *RUN[:-1], "--no-output", "-q"], stdin=file, capture_output=True,
                                      cwd=self.directory, encoding="utf-8", timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""), path)

    @fault("the program is killed while its file is read", "nothing (SIGKILL)", -9)
    def test_both_are_killed(self):
        process, reader = self.start("p.h5", *RUN)
        process.kill()
        process.communicate()
        self.codes.add(process.returncode)
        end = time.monotonic() + 10
        while os.path.exists(f"/proc/{reader}") and time.monotonic() < end:
            time.sleep(0.01)
        self.assertFalse(os.path.exists(f"/proc/{reader}"), "it outlives its parent")
        self.assertEqual(os.listdir(self.directory), ["p.h5"])

    def test_signals_of_a_terminal(self):
        """They go to the program, not to the process that reads for it."""
        process, reader = self.start("p.h5", *RUN, "--check-every", 1000, "--steps", 10**14, start_new_session=True)
        self.assertNotEqual(os.getpgid(reader), os.getpgid(process.pid))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            os.kill(reader, number)
        self.assertTrue(any(line.startswith("Strategy") for line in iter(process.stdout.readline, "")))
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(self.read("p.out.h5", "mine").tolist(), list(range(10)))

    @unittest.skipIf(SLOW, "sanitizers need more memory than any limit")
    @fault("what is in a file takes more memory than reading may", "which part of it is not kept, in a Note", 0,
           "the result")
    def test_memory(self):
        with h5py.File(self.path("p.h5"), "w", libver="latest") as file:
            file["u"] = field(20, 30)
            file.attrs.update({"problem": "laplace", "steps": 3})
            mine = file.create_dataset("more", data=[1])
            for k in range(10):  # so many that they are stored apart, where they may be large
                mine.attrs[f"a{k}"] = k
            mine.attrs["large"] = numpy.zeros(60 << 20, "u1")
        done = self.ok("p.h5", *RUN, "--read-memory", 40)
        self.assertIn("attributes of more are not kept", " ".join(done.stdout.split()))
        done = self.ok("p.h5", *RUN)
        self.assertNotIn("not kept", done.stdout)

    def test_samples(self):
        """Files that made HDF5 1.10.8 crash or run in circles; a newer one may refuse them, too."""
        for path in sorted((pathlib.Path(__file__).parent / "damaged").glob("*.h5")):
            for name in os.listdir(self.directory):
                os.unlink(self.path(name))
            shutil.copy(path, self.path("p.h5"))
            for command in ((), ("verify",), ("plan",)):
                with self.subTest(file=path.name, command=command):
                    done = self.call(*command, "p.h5", *(RUN if not command else ()), "--read-timeout", 1)
                    self.assertIn(done.returncode, (0, BAD_DATA), done.stderr)
                    if not SLOW:  # sanitizers say what they see in that process
                        self.assertEqual(len(done.stderr.splitlines()), done.returncode != 0, done.stderr)


class Beside(CommandTest):
    """Files beside the input: what is known of the machine, reports, locks."""

    def setUp(self):
        super().setUp()
        self.make("p.h5", "--size", "99x99")
        steps = 12000 if SLOW else 200000  # so many that all ways, one for each sweep, are timed
        self.patient = ("p.h5", "--device", "cpu", "--threads", 1, "--sync", "relaunch", "--force", "--steps", steps,
                        "--effort", "exhaustive")

    @fault("another program holds the lock of the file of wisdom", "a Note where the file was named", 0, "the result")
    def test_lock_is_held(self):
        self.ok(*self.patient, "--effort", "estimate", "-o", "plain.h5")
        with open(self.path("w.json.lock"), "w", encoding="utf-8") as lock:  # held for as long as the run may take
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self.ok(*self.patient, "--wisdom", "w.json")
        self.assertIn("wisdom is not kept: ", " ".join(done.stdout.split()))
        self.ok("compare", "plain.h5", "p.out.h5")

    @fault("--machine or --wisdom is a FIFO that nobody writes into", "that nothing comes", 66)
    def test_fifo(self):
        os.mkfifo(self.path("fifo"))
        self.refused(NO_INPUT, ["--machine", "FIFO"], "p.h5", "--dry-run", "--machine", "fifo")
        self.refused(NO_INPUT, ["--wisdom", "FIFO"], *self.patient, "--wisdom", "fifo")

    @fault("a report would replace the file of wisdom or of a machine", "which, before the first step", 64)
    def test_one_file_for_two(self):
        self.ok("info", "--json", "m.json")
        for arguments in (("--json", "w.json", "--wisdom", "w.json"), ("--dry-run", "--json", "m.json", "--machine", "m.json"),
                          ("-o", "w.json", "--wisdom", "./w.json")):
            self.refused(USAGE, ["is the --", "give another name"], *self.patient, *arguments)
        self.refused(USAGE, ["is the --machine file"], "plan", "p.h5", "--json", "m.json", "--machine", "m.json", "-f")

    @fault("the file of wisdom that is named is damaged", "that it is, and not replaced", 65)
    def test_damaged_wisdom(self):
        for content in ("{", "[]", "{\"kind\": \"wisdom\", \"schema_version\": 1}", "\0\0"):
            pathlib.Path(self.path("w.json")).write_text(content)
            self.refused(BAD_DATA, ["--wisdom", "'w.json' is not replaced"], *self.patient, "--wisdom", "w.json")

    @fault("this user's wisdom or calibration is damaged", "a Note; it is made anew", 0, "the result")
    def test_damaged_cache(self):
        self.ok("calibrate", "--device", "cpu", "--threads", 1, "--seconds", "0.01", "--noise", "1e9", "-q")
        self.ok(*self.patient)
        folder = pathlib.Path(self.cache, "stencil")
        files = [path for path in folder.iterdir() if path.suffix == ".json"]
        self.assertEqual(len(files), 2, files)
        for path in files:
            path.write_text("{\"kind\": 3")
        done = self.ok(*self.patient[:-2])
        self.assertEqual(" ".join(done.stdout.split()).count("is ignored: "), 2, done.stdout)

    @fault("numbers of a machine are beyond those of any", "which file, and that they are", 65)
    def test_absurd_machine(self):
        machine = json.loads(self.ok("info", "--json", "-").stdout)
        self.ok("calibrate", "--device", "cpu", "--threads", 2, "--seconds", "0.01", "--noise", "1e9", "-q", "--json", "m.json")
        machine = json.loads(pathlib.Path(self.path("m.json")).read_text())

        def replace(tree, name, number):
            for key, value in list(tree.items()) if isinstance(tree, dict) else []:
                if key == name:
                    tree[key] = [number] * len(value) if isinstance(value, list) else number
                else:
                    replace(value, name, number)
            for value in tree if isinstance(tree, list) else []:
                replace(value, name, number)

        for name, number in (("fma_per_s", 1e-308), ("fma_per_s", 1e300), ("few_s", 1e300), ("latency_s", -1)):
            changed = json.loads(json.dumps(machine))
            replace(changed, name, number)
            self.assertNotEqual(changed, machine, name)
            pathlib.Path(self.path("m.json")).write_text(json.dumps(changed))
            self.refused(BAD_DATA, ["--machine", "m.json"], "p.h5", "--dry-run", "--machine", "m.json", "--device", "cpu")

    @fault("OMP_NUM_THREADS is larger than OpenMP can count", "the most that there may be", 64)
    def test_threads_beyond_counting(self):
        self.refused(USAGE, ["OMP_NUM_THREADS", "4096"], "p.h5", "--device", "cpu",
                     env={**os.environ, "OMP_NUM_THREADS": "2147483648"})

    @fault("memory that was freed holds other things", "nothing: none is used", 0, "the result")
    def test_freed_memory(self):
        self.ok("p.h5", "-f", "--device", "cpu", "--steps", 5, "-q",
                env={**os.environ, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0", "MALLOC_PERTURB_": "165"})
        self.ok("verify", "p.out.h5")


class Clock(CommandTest):
    @unittest.skipIf(SLOW or "STENCIL_CLOCK" not in os.environ, "a library that comes before the program's own")
    @fault("the machine's clock jumps by years, forwards and back", "nothing", 0, "the result; its date is that of the clock")
    def test_jumps(self):
        self.make("p.h5", "--size", "99x99", "--check-every", 100)
        self.ok("p.h5", "--steps", 20000, "--effort", "estimate", "-q", "--device", "cpu", "-o", "right.h5")
        jumping = {**os.environ, "LD_PRELOAD": os.environ["STENCIL_CLOCK"]}
        dates = subprocess.run([sys.executable, "-c", "import time; print(time.time(), time.time())"], env=jumping,
                               stdout=subprocess.PIPE, encoding="ascii", check=True).stdout.split()
        self.assertGreater(abs(float(dates[0]) - float(dates[1])), 1e8, "the clock does not jump")
        for effort in ("estimate", "exhaustive", "measure"):
            start = time.monotonic()
            self.ok("p.h5", "--steps", 20000, "--effort", effort, "--wisdom", "w.json", "--force", "--json", "r.json",
                    "--device", "cpu", env=jumping)
            report = json.loads(pathlib.Path(self.path("r.json")).read_text())
            for seconds in report["times_s"].values():
                self.assertTrue(0 <= seconds <= time.monotonic() - start, report["times_s"])
            self.ok("compare", "p.out.h5", "right.h5")
        self.ok("verify", "p.out.h5", env=jumping)


class Gpu(CommandTest):
    def setUp(self):
        super().setUp()
        if self.gpu_count() == 0:
            self.skipTest("no GPU")
        self.make("p.h5", "--size", "400x300", "--check-every", 100)

    @fault("a kernel on a GPU writes to an illegal address", "CUDA's error, and where it was seen", 70)
    def test_illegal_address(self):
        for sync in ("relaunch", "graph", "grid", "openmp", "single-thread"):
            line = self.refused(INTERNAL, ["illegal memory access"], "p.h5", "--gpus", 1, "--sync", sync, "--steps", 1000,
                                "--inject-illegal", 500)
            print(line)
        self.ok("p.h5", "--gpus", 1, "--steps", 1000, "-o", "old.h5")
        self.refused(INTERNAL, ["illegal memory access"], "p.h5", "--gpus", 1, "--steps", 1000, "--inject-illegal", 1000,
                     "-o", "old.h5", "--force")
        self.ok("verify", "old.h5")

    @fault("the field does not fit into the memory of the GPU", "need and have", 71)
    def test_out_of_memory(self):
        with h5py.File(self.path("large.h5"), "w") as file:
            file.create_dataset("u", (150000, 100000), "f8", chunks=(1000, 1000))
            file.attrs.update({"problem": "laplace", "steps": 1})
        line = self.refused(NO_MEMORY, ["large.h5", "GPU", "GiB"], "large.h5", "--gpus", 1, "--allow-unwritten",
                            "--no-output", "--steps", 1)
        print(line)

    @fault("other programs have the memory of the GPU", "need and have, or CUDA's error", 71)
    def test_memory_of_others(self):
        """Runs that wait for each other's end hold it: the one that finds none left is refused."""
        with h5py.File(self.path("big.h5"), "w") as file:
            file.create_dataset("u", (50000, 50000), "f4", chunks=(1000, 1000))
            file.attrs["stencil"] = "j2d5pt"
        runs = [subprocess.Popen([STENCIL, "big.h5", "--gpus", "1", "--sync", "relaunch", "--sweep", "naive", "-qq", "--allow-unwritten", "--steps",
                                  str(10**12), "--check-every", "1000", "--no-output"], cwd=self.directory,
                                 stderr=subprocess.PIPE, encoding="utf-8") for _ in range(8)]  # 20 GB each
        try:
            end, failed = time.monotonic() + 120, []
            while time.monotonic() < end and not failed:
                failed = [run for run in runs if run.poll() is not None]
                time.sleep(0.1)
            self.assertTrue(failed, "all of them found room")
            for run in failed:
                errors = run.communicate()[1]
                print(errors.strip())
                self.ended(run, NO_MEMORY, errors)
                self.assertEqual(len(errors.splitlines()), 1, errors)
            runs = [run for run in runs if run not in failed]
        finally:
            for run in runs:
                run.kill()
                run.communicate()


class Output(CommandTest):
    @fault("two runs would write one result", "the later one that the first is under way, before its first step", 73,
           "the first result")
    def test_two_runs(self):
        self.make("p.h5", "--check-every", 1000)
        process = subprocess.Popen([STENCIL, "p.h5", "--steps", str(10**14), "--device", "cpu", "--effort", "estimate"],
                                   cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        while not process.stdout.readline().startswith("Strategy"):
            pass
        for more in (), ("--force",), ("-o", "./p.out.h5"), ("-o", "p.out"), ("-o", self.path("p.out.h5"), "-q"), \
                ("-o", "p.out.series.h5"), ("-o", "p.out.ckpt.prev.h5"):
            self.refused(CANNOT_CREATE, ["another run is under way", "p.out"], "p.h5", *more)
        self.ok("p.h5", "--steps", 3, "-o", "q.out.h5", *RUN)
        self.ok("p.h5", "--dry-run")
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=60)[1]
        self.ended(process, 128 + signal.SIGTERM, errors)
        self.assertEqual(sorted(os.listdir(self.directory)), ["p.h5", "p.out.h5", "q.out.h5"])
        self.ok("p.h5", "--steps", 3, "--force", *RUN)

    @fault("the process is killed at any moment", "nothing (SIGKILL)", -9, "the old result or the new one, whole")
    def test_killed_at_any_moment(self):
        """200 moments, of which a test sees 10, or 25: STENCIL_KILLS for all."""
        self.make("p.h5", "--size", "1200x1000", "--check-every", "1")
        self.ok("p.h5", "--steps", 1, *RUN, "-o", "one.h5")
        self.ok("p.h5", "--steps", 2, *RUN, "-o", "two.h5")
        results = [self.read(name) for name in ("one.h5", "two.h5")]
        shutil.copy(self.path("one.h5"), self.path("p.out.h5"))
        start = time.monotonic()
        self.ok("p.h5", "--steps", 2, *RUN, "-o", "spare.h5")
        whole, rng, writing = time.monotonic() - start, random.Random(7), 0
        kills = int(os.environ.get("STENCIL_KILLS", 5 if SLOW else 25 if DRAW == "all" else 10))
        for number in range(kills):
            process = subprocess.Popen([STENCIL, "p.h5", "--steps", "2", "-q", *map(str, RUN)], cwd=self.directory,
                                       stderr=subprocess.PIPE)
            if number % 2:  # at any moment; or as it writes
                time.sleep(rng.random() * whole * 1.1)
            while not number % 2 and process.poll() is None and not self.writes(process.pid):
                pass
            time.sleep(rng.random() * 0.002)
            writes = self.writes(process.pid)
            process.kill()
            process.communicate(timeout=60)
            writing += writes and process.returncode == -signal.SIGKILL
            self.codes.add(process.returncode)
            self.assertIn(process.returncode, (0, -signal.SIGKILL))
            found = self.read("p.out.h5")
            self.assertTrue(any(numpy.array_equal(found, result) for result in results))
            self.assertEqual(sorted(name for name in os.listdir(self.directory) if not name.startswith(".")),
                             ["one.h5", "p.h5", "p.out.h5", "spare.h5", "two.h5"])
        print(f"{writing} of {kills} moments were within a write")
        self.assertTrue(SLOW or writing >= kills // 4, f"{writing} moments were within a write")

    @staticmethod
    def writes(process):
        """Whether it has written some of a result: its counter of bytes."""
        try:
            with open(f"/proc/{process}/io") as file:
                return int(file.read().split("wchar: ")[1].split()[0]) > 1 << 16
        except (OSError, IndexError):
            return False


MODULES = {"Input": ("bad_input_test", "digest_test"), "Output": ("bad_output_test",),
           "Long runs": ("checkpoint_test", "series_test", "scrub_test"),
           "While it runs": ("run_test", "parts_test", "stop_test"), "Anywhere": ("faults_test",)}


def listed():
    """Rows of the table: what happens, what the user sees, exit code, what is left, and the test."""
    for modules in MODULES.values():
        for name in modules:
            module = sys.modules["__main__"] if name == "faults_test" and __name__ == "__main__" else importlib.import_module(name)
            for _, test_class in inspect.getmembers(module, inspect.isclass):
                for test, function in sorted(vars(test_class).items()):
                    if hasattr(function, "fault") and test_class.__module__ == module.__name__:
                        what, sees, code, left = function.fault
                        yield f"| {what} | {sees} | {code} | {left} | `{name[:-5]}` {test[5:].replace('_', ' ')} |"


class List(unittest.TestCase):
    def test_page(self):
        """docs/faults.md has the table that the tests make, and at least 50 faults."""
        rows = list(listed())
        self.assertGreaterEqual(len(rows), 50)
        page = PAGE.read_text(encoding="utf-8")
        self.assertEqual([line for line in page.splitlines() if line.startswith("| ")][1:], rows,
                         "docs/faults.md: put the output of faults_test.py --list there")


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(listed()))
    else:
        unittest.main()
