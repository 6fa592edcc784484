"""Commands under valgrind, which sees into libhdf5, where sanitizers do not. 3.19 has no AVX-512: the kernels are
those of AVX2 there."""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

if shutil.which("valgrind") is None:
    print("skipped: valgrind is not installed")
    sys.exit(77)
if os.environ.get("STENCIL_SLOW") in ("1", "ON"):
    print("skipped: valgrind and the sanitizers do not go together")
    sys.exit(77)

from harness import STENCIL, CommandTest, h5py

# The process that reads the input, too, is looked at: what is found of each process stands in a file of its own.
VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--trace-children=yes", "--log-file=valgrind.%p"]
PATIENT = ["--read-timeout", "100"]
CPU = ["--device", "cpu", "--threads", "2", "--effort", "estimate", "-q", "-f"]


class Valgrind(CommandTest):
    def clean(self, *arguments, code=0):
        patient = [] if arguments[0] in ("new", "info") else PATIENT
        done = subprocess.run([*VALGRIND, STENCIL, *map(str, arguments), *patient], cwd=self.directory,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8", timeout=300)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.nothing_found(1 if arguments[0] == "new" else 2)
        return done

    def nothing_found(self, processes):
        """Nothing in the files of at least so many processes, which go."""
        names = [name for name in os.listdir(self.directory) if name.startswith("valgrind.")]
        self.assertGreaterEqual(len(names), processes)
        for name in names:
            with open(self.path(name), encoding="utf-8") as file:
                self.assertEqual(file.read(), "")
            os.unlink(self.path(name))

    def test_commands(self):
        self.clean("new", "p.h5", "--problem", "heat", "--size", "33x29", "--initial", "random", "--steps", 64, "-q")
        report = self.clean("p.h5", *CPU[:-2], "-f")
        self.assertRegex(" ".join(report.stdout.split()), "on CPU: 2 threads, avx2 ")
        self.clean("verify", "p.out.h5")
        self.clean("compare", "p.out.h5", "p.out.h5")
        self.clean("p.out.h5", *CPU, "--steps", 96, "-o", "more.h5")
        self.clean("verify", "more.h5")
        self.clean("p.h5", "--dry-run", "--no-output", *CPU[:-1])

    def test_long_run(self):
        """Checkpoints and a series beside the steps, a run that its limit ends, and the one that goes on from there."""
        series = ("--save-every", 20, "--save", "u,residual", "--save-stride", 2)
        self.clean("new", "p.h5", "--problem", "poisson", "--size", "33x29", "-q")
        self.clean("p.h5", *CPU, "--accelerate", "none", "--steps", 100, "--checkpoint-every", 30, "--keep-checkpoints",
                   *series, code=2)
        self.clean("--resume", "p.out.ckpt.h5", *CPU, code=2)
        self.clean("info", "p.out.series.h5")
        self.clean("p.h5", *CPU, "--accelerate", "none", "--steps", 10**7, "--check-every", 10**7, "--save-every", "1s",
                   "--compress", "--time-limit", "8s", code=75)

    def test_everything_that_a_file_may_have(self):
        import numpy
        with h5py.File(self.path("p.h5"), "w") as file:
            file.create_dataset("temperature", data=numpy.random.default_rng(1).random((40, 30)), chunks=(16, 16),
                                compression="gzip", shuffle=True)
            for name, axis, count in (("y", 0, 40), ("x", 1, 30)):
                file[name] = numpy.arange(count) * 0.5
                file[name].make_scale(name)
                file["temperature"].dims[axis].attach_scale(file[name])
            file["f"] = numpy.ones((40, 30), "f4")
            file.create_group("mine/more").attrs["who"] = "me"
            file["link"] = h5py.SoftLink("/mine")
            file.attrs.update({"problem": "poisson", "field": "temperature", "steps": 20})
        self.clean("p.h5", *CPU)
        self.clean("verify", "p.out.h5", "-q")

    def test_refusals(self):
        self.clean("missing.h5", code=66)
        with h5py.File(self.path("p.h5"), "w") as file:
            file["u"] = "text"
        self.clean("p.h5", code=65)

    def test_interrupted_and_continued(self):
        self.clean("new", "p.h5", "--problem", "heat", "--size", "33x29", "--initial", "random", "-q")
        process = subprocess.Popen([*VALGRIND, STENCIL, "p.h5", *CPU[:-2], "-f", "--steps", str(10**12), *PATIENT],
                                   cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        for line in process.stdout:
            if line.startswith("Strategy"):
                break
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, 130, errors)
        self.nothing_found(2)
        self.clean("p.out.h5", *CPU, "--steps", int(self.attribute("p.out.h5", "/", "steps_total")) + 10)


if __name__ == "__main__":
    unittest.main()
