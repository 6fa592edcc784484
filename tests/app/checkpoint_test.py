"""Checkpoints, limits of time, signals: what a run leaves while it goes on, and how it is resumed."""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time
import unittest

import h5py
import numpy

from draw import DRAW, drawn
from harness import SLOW, STENCIL, CommandTest, fault

KILLS = int(os.environ.get("STENCIL_KILLS", 4 if SLOW else 40 if DRAW == "all" else 12))
WAYS = (["--sync", "single-thread", "--sweep", "stream", "--threads", 1], ["--sync", "openmp", "--threads", 2],
        ["--sync", "grid", "--sweep", "pipeline", "--threads", 3],
        ["--sync", "neighbor", "--sweep", "stream", "--threads", 2, "--parts", 2])
PROBLEMS = {"weights": ("--stencil", "j2d9pt", "--size", "83x61", "--initial", "random", "--steps", 900),
            "laplace": ("--problem", "laplace", "--size", "65x65", "--initial", "hot-edge", "--accelerate", "none"),
            "poisson": ("--problem", "poisson", "--size", "65x65"),
            "heat": ("--problem", "heat", "--size", "41x37", "--initial", "sine", "--steps", 900),
            "heat 3D": ("--problem", "heat", "--size", "17x15x13", "--initial", "sine", "--steps", 900)}


class LongRunTest(CommandTest):
    def start(self, *arguments, preexec_fn=None):
        return subprocess.Popen([STENCIL, *map(str, arguments)], cwd=self.directory, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", preexec_fn=preexec_fn)

    def clean(self, *kept):
        """Removes all files but these."""
        for name in os.listdir(self.directory):
            if name not in kept and os.path.isfile(self.path(name)):
                os.remove(self.path(name))

    def wait_for(self, name, process=None):
        end = time.monotonic() + 120
        while not os.path.exists(self.path(name)):
            self.assertLess(time.monotonic(), end, f"{name} does not come")
            if process is not None:
                self.assertIsNone(process.poll(), f"ended before {name} came")
            time.sleep(0.002)

    def finish(self, process, code):
        out, err = process.communicate(timeout=240)
        self.ended(process, code, out + err)
        return err

    def same(self, one, other):
        """The same bits, history and start of two results."""
        with h5py.File(self.path(one)) as a, h5py.File(self.path(other)) as b:
            for name in ("u", "residual", "residual_step"):
                self.assertEqual(a[name][()].tobytes(), b[name][()].tobytes(), name)
            for name in set(a.attrs) | set(b.attrs):
                self.assertTrue(numpy.array_equal(a.attrs[name], b.attrs[name]), name)
            for name in ("input", "steps_done", "reason"):
                self.assertEqual(a["provenance"].attrs[name], b["provenance"].attrs[name], name)


    def is_within_a_write(self, process):
        """Whether a stopped process has cells in a file that has no final name yet."""
        folder = os.path.realpath(self.directory)
        for number in os.listdir(f"/proc/{process.pid}/fd"):
            file = f"/proc/{process.pid}/fd/{number}"
            try:
                name = os.readlink(file)
                nameless = name.endswith("(deleted)") or os.path.basename(name).startswith(".")
                if name.startswith(folder) and nameless and numpy.count_nonzero(numpy.fromfile(file, "u1")) > 1 << 16:
                    return True
            except OSError:  # closed meanwhile
                pass
        return False

    @staticmethod
    def is_stopped(process):
        with open(f"/proc/{process.pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "TtZ"

    def kill(self, process, seconds, seek):
        """Kills a process after so many seconds, or where it should `seek` one, at the next moment within a write after its
        first checkpoint. Tells whether it was within one."""
        while seek and process.poll() is None and not os.path.exists(self.path("p.out.ckpt.h5")):
            time.sleep(0.002)
        time.sleep(seconds / 3 if seek else seconds)
        end, within = time.monotonic() + 1, False
        while process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            while not self.is_stopped(process):
                pass
            within = self.is_within_a_write(process) if process.poll() is None else False
            if within or not seek or time.monotonic() > end:
                break
            process.send_signal(signal.SIGCONT)
            time.sleep(0.001)
        process.kill()
        process.communicate(timeout=60)
        self.codes.add(process.returncode)
        return within and process.returncode == -signal.SIGKILL


class Resume(LongRunTest):
    def test_legs(self):
        """Each leg with another strategy and sweep: the bits and the history of the run that went through."""
        for name, problem in drawn(2 if SLOW else len(PROBLEMS), PROBLEMS.items()):
            with self.subTest(name):
                self.clean()
                self.ok("new", "p.h5", *problem, "--check-every", 7, "-q")
                last = 900 if "--steps" in problem else 10000000
                self.ok("p.h5", "-o", "whole.h5", *WAYS[0], "-q", "--steps", last)
                ends = int(self.attribute("whole.h5", "/", "steps_total"))
                file = ["p.h5"]
                for leg, way in enumerate(WAYS[1:] + WAYS[:1], 1):
                    done = self.call(*file, *way, "--steps", ends * leg // 5 if leg < 4 else last, "-q")
                    self.assertIn(done.returncode, (0, 2) if leg < 4 else (0,), done.stderr)
                    file = ["--resume", "p.out.h5"]
                self.same("whole.h5", "p.out.h5")
                self.ok("verify", "p.out.h5", "-q")

    def test_from_checkpoints(self):
        """Both checkpoints of a run lead to its bits, with a source, own objects and options of the file."""
        for name, problem in PROBLEMS.items():
            with self.subTest(name):
                self.clean()
                self.ok("new", "p.h5", *problem, "--check-every", 7, "-q")
                with h5py.File(self.path("p.h5"), "r+") as file:
                    file["mine"] = numpy.arange(7)
                    file.attrs["note"] = "mine"
                self.ok("p.h5", "-o", "whole.h5", *WAYS[0], "-q")
                ends = int(self.attribute("whole.h5", "/", "steps_total"))
                self.ok("p.h5", "--checkpoint-every", max(ends // 6, 1), "--keep-checkpoints", *WAYS[1], "-q")
                self.same("whole.h5", "p.out.h5")
                for checkpoint in ("p.out.ckpt.h5", "p.out.ckpt.prev.h5"):
                    self.assertLess(self.attribute(checkpoint, "/", "steps_total"), ends)
                    self.ok("verify", checkpoint, "-q")
                    os.makedirs(self.path("moved"), exist_ok=True)
                    shutil.copy(self.path(checkpoint), self.path("moved/p.out.ckpt.h5"))
                    self.ok("--resume", "moved/p.out.ckpt.h5", "-q", *WAYS[3])
                    self.same("whole.h5", "moved/p.out.h5")
                    self.assertEqual(list(self.read("moved/p.out.h5", "mine")), list(range(7)))
                    shutil.rmtree(self.path("moved"))

    def test_removed(self):
        self.make("p.h5", "--steps", 4000)
        self.ok("p.h5", "--checkpoint-every", 500, "-q")
        self.assertEqual(sorted(os.listdir(self.directory)), ["p.h5", "p.out.h5"])

    def test_goes_on_with_options(self):
        self.make("p.h5", "--steps", 30000)
        process = self.start("p.h5", "-o", "r.h5", "--checkpoint-every", 1000, "--keep-checkpoints", "-q",
                             "--inject-delay", 20000, "--sync", "grid", "--threads", 2, "--sweep", "stream")
        self.wait_for("r.ckpt.prev.h5", process)
        process.kill()
        self.finish(process, -signal.SIGKILL)
        self.assertFalse(os.path.exists(self.path("r.h5")))
        self.ok("--resume", "r.ckpt.h5", "-q")
        self.assertTrue(os.path.exists(self.path("r.ckpt.h5")), "--keep-checkpoints was forgotten")
        self.ok("p.h5", "-o", "whole.h5", "-q")
        self.same("whole.h5", "r.h5")

    @fault("a checkpoint is damaged", "that it is, and that the one before it is taken", 0, "the result")
    def test_damaged_checkpoint(self):
        self.make("p.h5", "--steps", 20000)
        self.ok("p.h5", "--checkpoint-every", 4000, "--keep-checkpoints", "-q")
        os.rename(self.path("p.out.h5"), self.path("whole.h5"))
        with h5py.File(self.path("p.out.ckpt.h5"), "r+") as file:
            file["u"][3, 4] += 1e-9
        done = self.ok("--resume", "p.out.ckpt.h5", "-q")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("p.out.ckpt.prev.h5", done.stderr)
        self.same("whole.h5", "p.out.h5")

    @fault("both checkpoints are damaged", "that both are", 65)
    def test_damaged_both(self):
        self.make("p.h5", "--steps", 20000)
        self.ok("p.h5", "--checkpoint-every", 4000, "--keep-checkpoints", "-q")
        for name in ("p.out.ckpt.h5", "p.out.ckpt.prev.h5"):
            with open(self.path(name), "r+b") as file:
                file.truncate(3000)
        self.refused(65, ["p.out.ckpt.h5'", "p.out.ckpt.prev.h5'", "truncated"], "--resume", "p.out.ckpt.h5", "-q")
        os.remove(self.path("p.out.ckpt.h5"))
        self.refused(66, ["p.out.ckpt.h5'"], "--resume", "p.out.ckpt.h5", "-q")

    def test_refused(self):
        self.make("p.h5", "--steps", 100)
        self.refused(65, ["not written by 'stencil run'"], "--resume", "p.h5")
        self.ok("p.h5", "-q")
        with h5py.File(self.path("p.out.h5"), "r+") as file:
            file["u"][0, 0] = 5
        self.refused(65, ["cells of /u", "digest_u"], "--resume", "p.out.h5")
        self.ok("p.h5", "-qf")
        self.refused(64, ["another problem"], "--resume", "p.out.h5", "--boundary", "periodic", "--steps", 300)
        for value in ("0", "-3", "10", "1:2", "10:61:00", "soon", "0s", "nan", "1e3"):
            self.refused(64, ["--time-limit"], "p.h5", f"--time-limit={value}", "-f")
        for value in ("0", "ten", "5x", "-1", "1:2:3:4", "99999999999999999999"):
            self.refused(64, ["--checkpoint-every"], "p.h5", f"--checkpoint-every={value}", "-f")
        self.refused(64, ["checkpoints are named after the result"], "p.h5", "--checkpoint-every", 5, "--no-output")

    def test_forced_once(self):
        """A --force that a checkpoint records does not stand for a result that another run has written since."""
        self.make("p.h5", "--steps", 4000)
        run = ("p.h5", "--checkpoint-every", 1000, "--keep-checkpoints", "-q")
        self.ok(*run)
        self.ok(*run, "-f")
        os.remove(self.path("p.out.h5"))
        self.ok("p.h5", "-q", "--steps", 7)
        self.refused(73, ["'p.out.h5' exists"], "--resume", "p.out.ckpt.h5", "-q")
        self.assertEqual(self.attribute("p.out.h5", "/", "steps_total"), 7)
        os.utime(self.path("p.out.h5"), (1e9, 1e9))  # it was there when the run began
        self.ok("--resume", "p.out.ckpt.h5", "-q")
        self.assertEqual(self.attribute("p.out.h5", "/", "steps_total"), 4000)
        self.ok("--resume", "p.out.h5", "--steps", 5000, "-q")
        self.assertEqual(self.attribute("p.out.h5", "/provenance", "options").count("--force"), 1)

    def test_fewer_steps(self):
        self.make("p.h5", "--steps", 400)
        self.ok("p.h5", "--checkpoint-every", 150, "--keep-checkpoints", "-q")
        self.refused(64, ["--steps: 'p.out.ckpt.h5' is of step 300", "100"], "--resume", "p.out.ckpt.h5", "--steps", 100, "-qf")
        self.refused(64, ["--steps: 'p.out.h5' is of step 400"], "p.out.h5", "--steps", 399, "-q")
        self.ok("--resume", "p.out.ckpt.h5", "--steps", 300, "-qf")
        self.assertEqual(self.attribute("p.out.h5", "/", "steps_total"), 300)

    @fault("a run with checkpoints ends by an error", "the error", 70, "both checkpoints")
    def test_both_stay_after_an_error(self):
        self.make("p.h5", "--steps", 20000)
        done = self.ok("p.h5", "--checkpoint-every", 100, "-q", "--sync", "grid", "--threads", 2, "--sweep", "stream",
                       "--inject-absent", 1000, "--barrier-timeout", 1, code=70)
        self.assertIn("barrier", done.stderr)
        self.assertEqual(sorted(os.listdir(self.directory)), ["p.h5", "p.out.ckpt.h5", "p.out.ckpt.prev.h5"])
        self.ok("--resume", "p.out.ckpt.h5", "-q")
        self.ok("p.h5", "-o", "whole.h5", "-q")
        self.same("whole.h5", "p.out.h5")

    @fault("a file records options that a run does not record", "which", 65)
    def test_foreign_options(self):
        self.make("p.h5", "--steps", 100)
        self.ok("p.h5", "-q", "--time-limit", "1h")
        with h5py.File(self.path("p.out.h5"), "r+") as file:
            self.assertEqual(file["provenance"].attrs["options"], "--time-limit=1h\n")
            file["provenance"].attrs["options"] = "--json=/tmp/elsewhere\n"
        self.refused(65, ["--json"], "--resume", "p.out.h5")

    @fault("a checkpoint of an earlier run is in the way", "--resume or --force", 73)
    def test_in_the_way(self):
        self.make("p.h5", "--steps", 4000)
        self.ok("p.h5", "--checkpoint-every", 1000, "--keep-checkpoints", "-q")
        os.remove(self.path("p.out.h5"))
        self.refused(73, ["p.out.ckpt.h5", "--resume"], "p.h5", "--checkpoint-every", 1000)
        self.ok("p.h5", "--checkpoint-every", 1000, "-qf")
        self.assertEqual(sorted(os.listdir(self.directory)), ["p.h5", "p.out.h5"])
        for name in ("p.out.ckpt.h5", "p.out.ckpt.prev.h5"):
            os.mkdir(self.path(name))
            self.refused(73, [f"'{name}' is a directory"], "p.h5", "--checkpoint-every", 1000, "-qf")
            os.rmdir(self.path(name))

    @fault("there is no room for two checkpoints", "what is needed, before the first step", 74)
    def test_no_room(self):
        self.make("p.h5", "--steps", 4000)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        self.refused(74, ["it needs"], "p.h5", "--checkpoint-every", 1000, preexec_fn=limit)

    @fault("a checkpoint cannot be written during the run", "why not; the run goes on; in the end, how many", 0,
           "the result")
    def test_cannot_be_written(self):
        """The directory is made read-only by its removal: checkpoints fail, the result finds another place or fails."""
        os.mkdir(self.path("out"))
        self.make("p.h5", "--steps", 200000)
        process = self.start("p.h5", "-o", "out/r.h5", "--checkpoint-every", 20000, "--keep-checkpoints", "-q",
                             "--sync", "single-thread", "--threads", 1, "--sweep", "stream")
        self.wait_for("out/r.ckpt.h5", process)
        os.remove(self.path("out/r.ckpt.h5"))
        os.makedirs(self.path("out/r.ckpt.h5/stays"))  # a directory of that name: rename() fails
        lines = self.finish(process, 0).splitlines()
        self.assertIn("the run goes on", lines[0])
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[1], r"^stencil: \d+ checkpoints could not be written, the last of step \d+$")
        self.assertTrue(os.path.exists(self.path("out/r.h5")))

    def test_from_a_copy(self):
        self.make("p.h5", "--steps", 300, "--size", "1000x1000")
        report = json.loads(self.ok("p.h5", "--checkpoint-every", 100, *WAYS[0], "--json", "-").stdout)
        self.assertEqual(report["checkpoints"]["copy"], "host")
        self.assertEqual(report["checkpoints"]["written"], 2)

    @fault("no memory has room for a copy of the field", "in the report, that checkpoints were written in line", 0,
           "the result, and the same checkpoints")
    def test_in_line(self):
        """Under a limit of address space that the field fits under, but not a copy of it: steps wait for writing."""
        limit = lambda mebibytes: lambda: resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20,) * 2)
        if "AddressSanitizer" in self.call("--version", preexec_fn=limit(600)).stderr:
            self.skipTest("built with the address sanitizer")
        if self.gpu_count() > 0:
            self.skipTest("the driver of a GPU wants more")
        self.make("p.h5", "--steps", 12, "--size", "3000x3000")
        run = ("--checkpoint-every", 5, "--keep-checkpoints", "--save-every", 6, "--save-stride", 50, "--json", "-", "-f")
        for way in (WAYS[0], WAYS[1]):
            for mebibytes in range(160, 2000, 30):  # from the least one, 1.25 fields and two slabs write in line
                done = self.call("p.h5", *way, *run, preexec_fn=limit(mebibytes))
                if done.returncode == 0:
                    break
                self.assertEqual(done.returncode, 71, done.stderr)
            more = self.call("p.h5", *way, *run, preexec_fn=limit(mebibytes + 60))
            self.assertEqual(more.returncode, 0, f"{mebibytes + 60} MiB are too few, and {mebibytes} suffice: {more.stderr}")
            told = json.loads(done.stdout)["checkpoints"]
            self.assertIsNone(told["copy"], f"{mebibytes} MiB have room for a copy")
            self.assertEqual([told["written"], told["step"], told["failed"]], [2, 10, 0])
            self.ok("p.h5", "-o", "whole.h5", "--save-every", 6, "--save-stride", 50, "-qf")
            self.same("whole.h5", "p.out.h5")
            for name in ("u", "step", "time"):
                self.assertTrue(numpy.array_equal(self.read("whole.series.h5", name), self.read("p.out.series.h5", name)))
            self.ok("--resume", "p.out.ckpt.h5", "-qf")
            self.same("whole.h5", "p.out.h5")


class Information(LongRunTest):
    """info FILE: what a file is, and its digests."""

    def info(self, name, code=0):
        told = json.loads(self.ok("info", name, "--json", "-", code=code).stdout)
        for line in self.ok("info", name, code=code).stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
        return told

    def test_kinds(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "31x23", "--initial", "random", "-q")
        run = ("--accelerate", "none", "--rtol", 0, "--atol", 0, "--steps", 400)
        self.ok("p.h5", *run, "--checkpoint-every", 150, "--keep-checkpoints", "--save-every", 50, "-q", code=2)
        kinds = {"p.h5": "problem", "p.out.h5": "result", "p.out.ckpt.h5": "checkpoint",
                 "p.out.ckpt.prev.h5": "checkpoint", "p.out.series.h5": "series"}
        for name, kind in kinds.items():
            told = self.info(name)
            self.assertEqual(told["kind"], kind)
            if kind in ("result", "checkpoint"):
                self.assertEqual(told["step"], self.attribute(name, "/", "steps_total"))
                self.assertEqual(set(told["digests"]), {"/u", "/f"})
                for array, attribute in (("/u", "digest_u"), ("/f", "digest_b")):
                    digest = told["digests"][array]
                    self.assertEqual(digest["cells"], digest["recorded"])
                    self.assertEqual(digest["cells"], self.attribute(name, "/", attribute))
                    self.assertIn(digest["cells"], self.ok("info", name).stdout)
        self.assertEqual(self.info("p.out.ckpt.h5")["output"], "p.out.h5")
        self.assertIn("stencil --resume p.out.ckpt.h5", self.ok("info", "p.out.ckpt.h5").stdout)
        told = self.info("p.out.series.h5")
        self.assertEqual([told["frames"], told["first_step"], told["last_step"]], [9, 0, 400])
        # The number does not depend on how and where the run was made.
        numbers = [self.info("p.out.h5")["digests"]["/u"]["cells"]]
        for way in WAYS:
            self.ok("p.h5", *run, *way, "-o", "other.h5", "-qf", code=2)
            numbers.append(self.info("other.h5")["digests"]["/u"]["cells"])
        self.assertEqual(len(set(numbers)), 1)

    def test_coefficients(self):
        """Materials, and coefficients that differ from cell to cell."""
        self.ok("new", "m.h5", "--example", "masonry", "-q")
        self.ok("new", "k.h5", "-q", "--problem", "heat", "--size", "17x15x13", "--initial", "sine", "--steps", 60)
        with h5py.File(self.path("k.h5"), "r+") as file:
            file["k"] = numpy.random.default_rng(2).uniform(0.5, 1.5, file["u"].shape)
        for name in ("m", "k"):
            self.ok(f"{name}.h5", "--steps", 60, "--checkpoint-every", 20, "--keep-checkpoints", "-q")
            self.assertEqual([self.info(f"{name}.{made}.h5")["step"] for made in ("out", "out.ckpt")], [60, 40])

    @fault("cells of a result were changed, and info reads it", "which cells, and that they were", 65)
    def test_changed(self):
        self.make("p.h5", "--steps", 100)
        self.ok("p.h5", "-q")
        with h5py.File(self.path("p.out.h5"), "r+") as file:
            file["u"][3, 4] += 1e-9
        self.refused(65, ["p.out.h5", "/u", "digest_u"], "info", "p.out.h5")
        digest = json.loads(self.ok("info", "p.out.h5", "--json", "-", code=65).stdout)["digests"]["/u"]
        self.assertNotEqual(digest["cells"], digest["recorded"])
        self.assertIn("digest_u", self.ok("verify", "p.out.h5", code=1).stdout)

    def shell(self, command, **environment):
        """What a POSIX shell makes of a command that was printed."""
        done = subprocess.run(["sh", "-c", f'stencil() {{ "$STENCIL" "$@"; }}\n{command}'], cwd=self.directory,
                              capture_output=True, timeout=300, env={**os.environ, "STENCIL": STENCIL, **environment},
                              check=False)
        return done.returncode, done.stderr.decode("utf-8", "replace")

    def test_commands_are_quoted(self):
        """Commands to go on with, as they are printed, pasted into a shell."""
        self.make("p.h5", "--steps", 2000, "--check-every", 11)
        names = ["a b.h5", "it's.h5", "$HOME.h5", "-o.h5", "`id`.h5", 'a"b.h5', "*?[a].h5", "~.h5", "#.h5",
                 "a;b&c|d.h5", "a\\b.h5", "a!b.h5", "a\nb.h5", "ü.h5", os.fsdecode(b"\xff%s.h5"), "x" * 90 + "  y.h5"]
        for name in names:
            for locale in ("C.UTF-8", "C"):
                with self.subTest(name, locale=locale):
                    self.clean("p.h5")
                    run = ("p.h5", f"--output={'./' if name[0] == '-' else ''}{name}", "--checkpoint-every", 500, "-q")
                    env = {**os.environ, "LC_ALL": locale}
                    self.ok(*run, "--keep-checkpoints", env=env)
                    os.remove(self.path(name))
                    told = self.call(*run, env=env, errors="replace")
                    self.assertEqual(told.returncode, 73)
                    checkpoint = ("./" if name[0] == "-" else "") + name[:-3] + ".ckpt.h5"
                    command = told.stderr.rstrip("\n").split("goes on with: ")[1]
                    self.assertNotIn("\n", command)
                    shown = self.ok("info", checkpoint, env=env, errors="replace").stdout
                    shown = shown.split("goes on with:\n")[1].splitlines()[0]
                    for one in (command, shown.strip()):
                        code, err = self.shell(one + " -qf", LC_ALL=locale)
                        self.assertEqual(code, 0, one + err)
                        self.assertTrue(os.path.exists(self.path(name)), one)
                        shutil.copy(self.path(name), self.path(checkpoint))
                        with h5py.File(self.path(checkpoint), "r+") as file:
                            file["provenance"].attrs["output"] = os.fsencode(name)
                        os.remove(self.path(name))

    @fault("numbers of a result or a checkpoint were changed, from which a run goes on", "that they were", 65)
    def test_changed_numbers(self):
        """A bit of any number that a run goes on from; the history included. Files without the digest are read."""
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "65x65", "-q")
        self.ok("p.h5", "-o", "kept.h5", "--steps", 300, "--check-every", 64, "-q", code=2)
        names = ["residual_first", "steps_total", "steps", "check_every", "rtol", "omega", "spacing"]
        for name in [*names, "residual", "residual_step"]:
            with self.subTest(name):
                shutil.copy(self.path("kept.h5"), self.path("p.out.h5"))
                with h5py.File(self.path("p.out.h5"), "r+") as file:
                    value = numpy.array(file[name][()] if name in file else file.attrs[name])
                    value.reshape(-1).view("u8")[-1:] ^= numpy.uint64(1)
                    if name in file:
                        file[name][...] = value
                    else:
                        file.attrs.modify(name, value)
                self.refused(65, ["p.out.h5"], "--resume", "p.out.h5", "-q", "--steps", 900)
                self.assertIn(self.call("verify", "p.out.h5", "-q").returncode, (1, 65))
                self.assertEqual(self.call("info", "p.out.h5").returncode, 65)
        self.ok("new", "h.h5", "--problem", "heat", "--size", "33x29", "--initial", "random", "-q")
        self.ok("h.h5", "-o", "kept_heat.h5", "--dt", 1e-4, "--steps", 40, "-q")
        for name in ("dt", "diffusivity", "spacing"):  # with another one a run of the file counts from 0
            shutil.copy(self.path("kept_heat.h5"), self.path("h.out.h5"))
            with h5py.File(self.path("h.out.h5"), "r+") as file:
                file.attrs.modify(name, numpy.nextafter(file.attrs[name], 9))
            done = self.call("info", "h.out.h5")
            self.assertEqual(done.returncode, 65, name)
            self.assertIn("of step 40", done.stdout)
        shutil.copy(self.path("kept.h5"), self.path("p.out.h5"))
        with h5py.File(self.path("p.out.h5"), "r+") as file:
            del file["provenance"].attrs["digest_numbers"]
        self.ok("verify", "p.out.h5", "-q")
        self.call("--resume", "p.out.h5", "-q", "--steps", 900)
        self.ok("verify", "p.out.h5", "-q")

    def test_changed_classes(self):
        """Where cells of /fixed were changed, info and verify say so, and not that the source was."""
        self.ok("new", "p.h5", "--problem", "heat", "--size", "31x23", "--initial", "random", "-q")
        with h5py.File(self.path("p.h5"), "r+") as file:
            file["q"] = numpy.ones((23, 31))
            file["fixed"] = numpy.zeros((23, 31), bool)
            file["fixed"][5, 5:9] = True
        self.ok("p.h5", "--steps", 50, "-q")
        with h5py.File(self.path("p.out.h5"), "r+") as file:
            file["fixed"][9, 9] = True
        line = self.refused(65, ["cells of /fixed", "digest_class"], "info", "p.out.h5")
        self.assertNotIn("/q", line)
        self.assertNotIn("a run has written\n", self.call("info", "p.out.h5").stdout.split("/q")[0])
        told = self.ok("verify", "p.out.h5", code=1).stdout
        self.assertIn("/fixed", told)
        self.assertNotIn("digest_b", told)

    def test_no_such_file(self):
        with open(self.path("text.h5"), "w") as file:
            file.write("text")
        self.refused(65, ["text.h5", "HDF5"], "info", "text.h5")
        self.refused(66, ["nope.h5"], "info", "nope.h5")
        self.refused(64, [], "info", "one.h5", "two.h5")
        self.make("p.h5")
        self.refused(73, ["p.h5"], "info", "p.h5", "--json", "p.h5", "-f")
        with h5py.File(self.path("other.h5"), "w") as file:
            file["u"], file["step"] = numpy.zeros(5), numpy.arange(5)
        self.refused(65, ["other.h5"], "info", "other.h5")


class Limits(LongRunTest):
    LONG = ("--sync", "grid", "--threads", 2, "--sweep", "stream", "--inject-delay", 2000000)

    def slow(self, steps=3000):
        self.make("p.h5", "--steps", steps, "--check-every", 11)
        self.ok("p.h5", "-o", "whole.h5", "-q")

    @fault("the limit of time ends the run", "that it has, and how it goes on", 75, "the result, which is resumed")
    def test_time_limit(self):
        """Slices of a run, to the end."""
        self.slow()
        done = self.call("p.h5", "--time-limit", "0.75s", "-q", *self.LONG)
        slices = 1
        while done.returncode == 75 and slices < 200:
            self.assertIn("--resume p.out.h5", done.stderr)
            done = self.call("--resume", "p.out.h5", "-q", *self.LONG)
            slices += 1
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(slices, 1)
        self.same("whole.h5", "p.out.h5")
        done = self.call("p.h5", "-o", "a b.h5", "--time-limit", "0.75s", "-q", *self.LONG)
        self.assertEqual(done.returncode, 75)
        self.assertIn("--resume 'a b.h5'\n", done.stderr)

    def test_time_limits(self):
        """At any moment: limits that differ, each of a run of its own."""
        self.slow()
        rng, ended = random.Random(6), 0
        for _ in range(max(KILLS // 5, 2)):
            limit = f"{0.4 + 0.8 * rng.random():.3f}s"
            start = time.monotonic()
            done = self.call("p.h5", "--time-limit", limit, "-qf", *self.LONG)
            self.assertIn(done.returncode, (0, 75), done.stderr)
            if done.returncode == 75:
                ended += 1
                self.assertTrue(SLOW or time.monotonic() - start < float(limit[:-1]) + 1, limit)
                self.ok("--resume", "p.out.h5", "-q", "--time-limit", "1h")
            self.same("whole.h5", "p.out.h5")
        print(f"{ended} runs were ended by a limit")
        self.assertGreater(ended, 0)

    def test_launches_without_checks(self):
        """A GPU that the host queues passes for, none of which is checked: checkpoints are written and a limit ends the
        run when it is time, not when all passes are queued."""
        if self.gpu_count() == 0:
            self.skipTest("no GPU")
        way = ("--gpus", 1, "--sync", "graph", "--sweep", "pipeline", "--steps", 10**8, "--check-every", 10**8)
        self.ok("new", "p.h5", "--problem", "heat", "--size", "2048x2048", "--initial", "random", "-q")
        start = time.monotonic()
        done = self.call("p.h5", *way, "--time-limit", "6s", "--checkpoint-every", "1s", "--json", "r.json", "-qf")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertLess(time.monotonic() - start, 8)
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.assertGreaterEqual(json.load(file)["checkpoints"]["written"], 3)

    def test_script_with_timeout(self):
        """Slices that timeout(1) ends with SIGKILL, from the last checkpoint; and with SIGTERM, from the result."""
        self.slow()
        for how in ("KILL", "TERM"):
            script = f"""
                for i in $(seq 200); do
                    if   [ -e p.out.ckpt.h5 ]; then set -- --resume p.out.ckpt.h5
                    elif [ -e p.out.h5 ];      then set -- --resume p.out.h5
                    else set -- p.h5 --checkpoint-every 100; fi
                    timeout -s {how} 1.0 "$STENCIL" "$@" -q {' '.join(map(str, self.LONG))}
                    code=$?; echo $code
                    [ $code -eq 0 ] && exit 0
                done; exit 1"""
            done = subprocess.run(["sh", "-c", script], cwd=self.directory, stdout=subprocess.PIPE, timeout=300,
                                  encoding="utf-8", stderr=subprocess.PIPE, env={**os.environ, "STENCIL": STENCIL})
            self.assertEqual(done.returncode, 0, done.stderr[-1000:])
            self.assertGreater(len(done.stdout.split()), 1)
            self.same("whole.h5", "p.out.h5")
            self.assertFalse(os.path.exists(self.path("p.out.ckpt.h5")))
            os.remove(self.path("p.out.h5"))

    def test_accelerated(self):
        """The limit ends a run of cycles at the end of one."""
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "257x257", "-q")
        self.ok("p.h5", "-o", "whole.h5", "-q")
        done, slices = self.call("p.h5", "--time-limit", "1.6s", "-q", *self.LONG), 1
        while done.returncode == 75 and slices < 100:
            step = self.attribute("p.out.h5", "/", "steps_total")
            self.assertEqual(step % 256, 0)
            done, slices = self.call("--resume", "p.out.h5", "-q", "--time-limit", "30s"), slices + 1
        self.assertEqual(done.returncode, 0, done.stderr)
        self.same("whole.h5", "p.out.h5")

    @fault("SIGUSR1 during the run", "nothing: it writes a checkpoint and goes on", 0, "the result")
    def test_usr1(self):
        self.slow()
        rng = random.Random(3)
        seen = 0
        for _ in range(max(KILLS // 5, 2)):
            process = self.start("p.h5", "-qf", "--keep-checkpoints", *self.LONG)
            time.sleep(0.3 + 0.5 * rng.random())
            process.send_signal(signal.SIGUSR1)
            self.finish(process, 0)
            self.same("whole.h5", "p.out.h5")
            if os.path.exists(self.path("p.out.ckpt.h5")):
                seen += 1
                os.remove(self.path("p.out.h5"))
                self.ok("--resume", "p.out.ckpt.h5", "-q")
                self.same("whole.h5", "p.out.h5")
        self.assertGreater(seen, 0)

    @fault("SIGUSR1 during a run with --no-output", "that there is no checkpoint; the run goes on", 0)
    def test_usr1_without_output(self):
        self.slow()
        process = self.start("p.h5", "--no-output", "-q", *self.LONG)
        time.sleep(0.5)
        for _ in range(3):
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.1)
        err = self.finish(process, 0)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn("SIGUSR1", err)
        self.assertIn("--no-output", err)
        self.assertEqual(sorted(os.listdir(self.directory)), ["p.h5", "whole.h5"])

    def test_term(self):
        self.slow()
        rng = random.Random(4)
        for _ in range(max(KILLS // 5, 2)):
            process = self.start("p.h5", "-qf", "--checkpoint-every", 50, *self.LONG)
            time.sleep(0.3 + 0.5 * rng.random())
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=240)
            self.assertIn(process.returncode, (0, 128 + signal.SIGTERM))
            self.ok("--resume", "p.out.h5", "-q")
            self.same("whole.h5", "p.out.h5")


class Killed(LongRunTest):
    @fault("the process is killed at any moment of a run with checkpoints", "nothing (SIGKILL)", -9,
           "the last checkpoint, whole, and the one before")
    def test_any_moment(self):
        """At 200 moments with STENCIL_KILLS=200: the run goes on from the last checkpoint to the same bits, and has lost
        at most what came after it."""
        self.make("p.h5", "--size", "700x500", "--steps", 90, "--check-every", 4)
        self.ok("p.h5", "-o", "whole.h5", "-q")
        run = ("--sync", "grid", "--threads", 2, "--sweep", "stream", "--inject-delay", 4000000, "-q")
        rng, resumed, steps, within = random.Random(9), 0, [], 0
        for number in range(KILLS):
            for name in ("p.out.h5", "p.out.ckpt.h5", "p.out.ckpt.prev.h5"):
                if os.path.exists(self.path(name)):
                    os.remove(self.path(name))
            process = self.start("p.h5", "--checkpoint-every", 3, *run)
            within += self.kill(process, 0.05 + 0.6 * rng.random(), number % 2 == 0)
            left = [name for name in os.listdir(self.directory) if name[0] != "."]
            self.assertLessEqual(set(left), {"p.h5", "whole.h5", "p.out.h5", "p.out.ckpt.h5", "p.out.ckpt.prev.h5"})
            if os.path.exists(self.path("p.out.ckpt.h5")):
                step = self.attribute("p.out.ckpt.h5", "/", "steps_total")
                if os.path.exists(self.path("p.out.ckpt.prev.h5")):
                    before = self.attribute("p.out.ckpt.prev.h5", "/", "steps_total")
                    self.assertLessEqual(before, step)
                steps.append(int(step))
                done = self.ok("--resume", "p.out.ckpt.h5", "-qf")
                self.assertEqual(done.stderr, "")
                resumed += 1
                self.same("whole.h5", "p.out.h5")
        print(f"{resumed} of {KILLS} runs were resumed, from steps {sorted(set(steps))}; {within} moments were within a write")
        self.assertGreater(resumed, KILLS // 4)
        self.assertTrue(SLOW or within >= KILLS // 4, f"{within} moments were within a write")


if __name__ == "__main__":
    unittest.main()
