"""A run in legs, CPU, one GPU, two GPUs, CPU, each with another strategy and sweep, and ended in another way: the bits,
history and series of the run that went through. Legs on GPUs are made on the CPU where there is none."""
import os
import signal
import subprocess
import time
import unittest

import numpy

from harness import STENCIL
from series_test import SeriesTest

PROBLEMS = {"plain": ("--problem", "heat", "--size", "515x389", "--initial", "random"),
            "plain 3D": ("--problem", "heat", "--size", "97x64x65", "--boundary", "fixed,periodic,mirror",
                         "--initial", "random"),
            "float32": ("--problem", "laplace", "--size", "600x500", "--precision", "float32", "--accelerate", "none",
                        "--initial", "random"),
            "accelerated": ("--problem", "poisson", "--size", "257x257"),
            "accelerated 3D": ("--problem", "poisson", "--size", "65x65x65"),
            "classes": ("--example", "heated-wall", "--size", "384x512"),
            "coefficients": ("--example", "masonry", "--size", "384x512"),
            "in time": ("--example", "switched-source", "--size", "400x300")}
CPU = (("--sync", "grid", "--sweep", "pipeline", "--threads", 2), ("--sync", "openmp", "--threads", 2),
       ("--sync", "neighbor", "--sweep", "stream", "--threads", 2, "--parts", 2),
       ("--sync", "single-thread", "--sweep", "stream", "--threads", 1),
       ("--sync", "openmp", "--sweep", "naive", "--threads", 2))
ONE = (("--sync", "graph", "--sweep", "pipeline"), ("--sync", "grid", "--sweep", "stream"),
       ("--sync", "relaunch", "--sweep", "naive"), ("--sync", "grid", "--sweep", "resident"),
       ("--sync", "neighbor", "--sweep", "stream"))
TWO = (("--sync", "grid", "--sweep", "stream"), ("--sync", "neighbor", "--sweep", "stream", "--halo", "ll"),
       ("--sync", "openmp", "--sweep", "pipeline"), ("--sync", "single-thread", "--sweep", "stream", "--overlap"),
       ("--sync", "single-thread", "--sweep", "pipeline"))


class Legs(SeriesTest):
    def ways(self, number):
        """Four ways of the problem with this number."""
        cpu, gpus = [("--device", "cpu", *CPU[(number + i) % len(CPU)]) for i in range(4)], self.gpu_count()
        one, two = ("--gpus", 1, *ONE[number % 5]), ("--gpus", 2 if gpus > 1 else "0,0", *TWO[number % 5])
        return [cpu[0], one if gpus > 0 else cpu[1], two if gpus > 0 else cpu[2], cpu[3]]

    def make_leg(self, arguments, how, before, last):
        """Makes a leg after `before` steps of `last`; returns the file from which the next one goes on. A persistent loop
        has late blocks, and ends by a signal after a checkpoint; others are too quick for that on a GPU."""
        if "grid" not in arguments and "neighbor" not in arguments:
            done = self.call(*arguments, "--steps", before + last // 5)
            self.assertIn(done.returncode, (0, 2), done.stderr)
            return "p.out.h5"
        arguments = (*arguments, "--inject-delay", 2000000)
        process = subprocess.Popen([STENCIL, *map(str, arguments)], cwd=self.directory, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        end = time.monotonic() + 200
        while process.poll() is None and time.monotonic() < end:
            if os.path.exists(self.path("p.out.ckpt.h5")) and self.attribute("p.out.ckpt.h5", "/", "steps_total") > before:
                break
            time.sleep(0.002)
        self.assertIsNone(process.poll(), f"{arguments}: ended before its signal")
        process.send_signal(how)
        _, err = process.communicate(timeout=200)
        self.assertEqual(process.returncode, -signal.SIGKILL if how == signal.SIGKILL else 128 + how, f"{arguments}: {err}")
        return "p.out.ckpt.h5" if how == signal.SIGKILL else "p.out.h5"

    def test_legs(self):
        for number, (name, problem) in enumerate(PROBLEMS.items()):
            with self.subTest(name):
                self.clean()
                cycles = name.startswith("accelerated")
                self.ok("new", "p.h5", *problem, "-q")
                steps = 3000 if not cycles else 2048 if "3D" in name else 8192
                stop = ("--rtol", 1e-300 if cycles else 0, "--steps", steps)
                files = ("--save-every", 1024 if cycles else 250, "--save", "u,residual", "--save-stride", 4)
                whole = ("p.h5", "-o", "whole.h5", *stop, *files, "--check-every", 64, "-q")
                done = self.call(*whole, *self.ways(number)[0])
                self.assertIn(done.returncode, (0, 2), done.stderr)
                last = int(self.attribute("whole.h5", "/", "steps_total"))
                ways, start, made = self.ways(number), ("p.h5", *stop, *files, "--check-every", 64), [0]
                for way, how in zip(ways, (signal.SIGTERM, signal.SIGKILL, signal.SIGINT)):
                    file = self.make_leg((*start, *way, "-qf", "--checkpoint-every", 64), how, made[-1], last)
                    made.append(int(self.attribute(file, "/", "steps_total")))
                    start = ("--resume", file, "--steps", steps)
                done = self.call(*start, *ways[-1], "-qf")
                self.assertIn(done.returncode, (0, 2), done.stderr)
                self.assertEqual(made, sorted(set(made)))  # each leg made steps
                self.assertLess(made[-1], last)
                self.same("whole.h5", "p.out.h5")
                for found, wanted in zip(self.frames(), self.frames("whole.series.h5")):
                    self.assertTrue(numpy.array_equal(found, wanted))
                self.assertTrue(numpy.array_equal(self.read("p.out.series.h5", "residual"),
                                                  self.read("whole.series.h5", "residual")))
                print(f"{name}: legs ended at {made} of {last} steps; {self.gpu_count()} GPUs", flush=True)


if __name__ == "__main__":
    unittest.main()
