"""Accelerated problems with the built command ($STENCIL): what a new user gets, and what he can ask for."""
import itertools
import json
import os
import signal
import subprocess
import time
import unittest

import numpy

from draw import drawn
from harness import STENCIL, CommandTest

# STENCIL_DEVICE=gpu on a machine that has one: the same there, and a larger problem.
DEVICE = os.environ.get("STENCIL_DEVICE", "cpu")
ON = ("--device", DEVICE)
JACOBI = {129: 61152, 1025: 3914129}  # steps to rtol 1e-8


def rms(a):
    return float(numpy.sqrt(numpy.mean(a[1:-1, 1:-1] ** 2)))


class Accelerated(CommandTest):
    def new(self, *arguments, name="p.h5", size="33x33", problem="poisson"):
        self.ok("new", name, "--problem", problem, "--size", size, "--force", "--quiet", *arguments)
        return name

    def report(self, *arguments, code=0):
        return json.loads(self.ok(*arguments, "--force", "--json", "-", code=code).stdout)

    def test_few_steps_solve_it(self):
        """From zero and from random values, and to the error of the discretisation."""
        for size, least in ((129, 50),) + (((1025, 400),) if DEVICE == "gpu" else ()):
            line = numpy.sin(numpy.pi * numpy.linspace(0, 1, size))
            exact, h = numpy.outer(line, line), 1 / (size - 1)
            discrete = exact * (numpy.pi * h / 2) ** 2 / numpy.sin(numpy.pi * h / 2) ** 2
            for initial in ("zero", "random"):
                report = self.report(self.new("--initial", initial, size=f"{size}x{size}"), *ON)
                result = report["result"]
                self.assertEqual((result["reason"], result["exit_code"]), ("converged_rtol", 0))
                self.assertEqual(report["stop"]["rtol"], 1e-8)
                self.assertLessEqual(result["steps"] * least, JACOBI[size])
                self.assertLessEqual(result["steps"], report["stop"]["predicted_steps"])
                u = self.read("p.out.h5")
                if initial == "zero":  # random values on the boundary have another solution
                    self.assertLessEqual(rms(u - exact), 1.1 * rms(discrete - exact))
                    self.assertLessEqual(rms(u - discrete), result["error_bound"])
                self.assertLess(result["error_bound_relative"], 1e-6 if size < 200 else 1e-5)
            if size < 200:
                self.ok("verify", "p.out.h5")

    def test_every_problem(self):
        """Boundaries, both precisions, two and three axes; verified with the plain reference."""
        problems = enumerate((("33x21", "fixed"), ("40x30", "fixed,periodic"), ("30x31", "mirror,fixed"),
                              ("32x32", "periodic"), ("21x33", "mirror"), ("17x13x15", "fixed"),
                              ("16x12x14", "periodic,fixed,mirror")))
        for (k, (size, boundary)), precision in drawn(6, itertools.product(problems, ("float64", "float32"))):
            laplace = k % 2 == 1
            self.new("--initial", "random", "--boundary", boundary, "--precision", precision, "--seed", k,
                     size=size, problem="laplace" if laplace else "poisson")
            done = self.call("p.h5", "--force", "--json", "-", *ON)
            report = json.loads(done.stdout)
            self.assertIn(done.returncode, (0,) if precision == "float64" else (0, 2), done.stderr)
            self.assertEqual(report["result"]["steps"] % report["problem"]["cycle"], 0)
            self.ok("verify", "p.out.h5")

    def test_whole_cycles(self):
        self.new("--accelerate", "chebyshev:16")
        done = self.ok("p.h5", "--steps", 90, "--check-every", 20, "--rtol", "none", "--json", "r.json", *ON)
        said = " ".join(done.stdout.split())
        self.assertIn("Note 90 steps become 96: whole cycles of 16", said)
        self.assertIn("checked every 32 steps, not every 20", said)
        self.assertIn("Damping chebyshev:16: cycles of 16 steps", said)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        with open(self.path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual((report["problem"]["accelerate"], report["problem"]["cycle"]), ("chebyshev:16", 16))
        self.assertEqual(self.read("p.out.h5", "residual_step").tolist(), [32, 64, 96])
        self.assertEqual(self.attribute("p.out.h5", "/", "accelerate"), "chebyshev:16")
        self.assertNotIn("become", self.ok("p.h5", "-f", "--steps", 96, "--check-every", 32, *ON, code=2).stdout)

    def test_plain_steps(self):
        """What is asked for on the command line comes before what the file asks for."""
        self.new()
        self.new("--accelerate", "none", name="plain.h5")
        run = ("--steps", 50, "--check-every", 10, "--force", "--rtol", "none", *ON)
        self.ok("plain.h5", *run, "-o", "plain.out.h5")
        self.ok("p.h5", *run, "--accelerate", "none", "-o", "a.h5")
        said = self.ok("p.h5", *run, "--omega", "0.8", "-o", "b.h5").stdout
        self.assertIn("Note --omega 0.8: plain steps, where the file asks for accelerate chebyshev", " ".join(said.split()))
        self.ok("plain.h5", *run, "--omega", "0.8", "-o", "c.h5")
        for one, other in (("plain.out.h5", "a.h5"), ("b.h5", "c.h5")):
            self.ok("compare", one, other)
        self.new("--omega", "0.8", name="damped.h5")
        self.assertEqual(self.report("damped.h5", "--dry-run")["problem"]["accelerate"], "none")
        said = self.ok("damped.h5", "--dry-run", "--accelerate", "chebyshev").stdout
        self.assertIn("Note --accelerate: the file's omega 0.8 has no effect", " ".join(said.split()))
        self.new(problem="laplace")
        self.assertNotIn("accelerate", self.ok("p.h5", "--dry-run", "--stencil", "j2d5pt").stdout)

    def test_refused(self):
        self.new()
        both = ("--omega", "0.9", "--accelerate", "chebyshev")
        self.refused(64, ["--omega and --accelerate chebyshev contradict"], "p.h5", *both)
        self.refused(64, ["--omega and --accelerate chebyshev contradict"], "new", "q.h5", "--problem", "laplace", "--size", "9x9", *both)
        for how in ("chebyshev:100", "chebyshev:1", "chebyshev:131072", "chebyshev:"):
            self.refused(64, [f"accelerate is '{how}'"], "p.h5", "--accelerate", how)
        self.refused(64, ["did you mean 'chebyshev'"], "p.h5", "--accelerate", "chebishev")
        self.refused(64, ["laplace and poisson"], "new", "q.h5", "--problem", "heat", "--size", "9x9", "--accelerate", "chebyshev")
        self.write("w.h5", numpy.zeros((9, 9)), {"accelerate": "chebyshev"})
        self.refused(65, ["'w.h5'", "laplace and poisson"], "w.h5")
        self.write("w.h5", numpy.zeros((9, 9)), {"stencil": None, "problem": "laplace", "accelerate": "chebyshev:12"})
        self.refused(65, ["'w.h5'", "power of two"], "w.h5")
        self.write("w.h5", numpy.zeros((9, 9)), {"stencil": None, "problem": "laplace", "accelerate": "chebyshev", "omega": 0.5})
        self.refused(65, ["'w.h5'", "omega is 0.5"], "w.h5")

    def test_continued(self):
        """In pieces as in one; and with another cycle it is another problem."""
        self.new("--initial", "random", size="40x70")
        self.ok("p.h5", *ON, "-o", "one.h5")
        name = "p.h5"
        for steps in (64, 128, 320):
            self.ok(name, "--steps", steps, "-fo", f"{steps}.h5", *ON, code=2)
            name = f"{steps}.h5"
        self.ok(name, "--steps", 10**6, "-o", "many.h5", *ON)
        for dataset in ("/u", "/residual", "/residual_step"):
            self.ok("compare", "one.h5", "many.h5", "--dataset", dataset)
        self.assertEqual(self.attribute("one.h5", "/", "residual_first"), self.attribute("many.h5", "/", "residual_first"))
        self.ok("verify", "many.h5")
        for how in ("none", "chebyshev:32"):
            said = self.ok(name, "--dry-run", "--accelerate", how).stdout
            self.assertIn("steps count from 0 again", " ".join(said.split()))

    def test_float32_ends_at_its_rounding_floor(self):
        self.new("--precision", "float32", "--rtol", "1e-7", size="129x129")
        done = self.ok("p.h5", "--json", "r.json", *ON)
        self.assertIn("below what float32 resolves", " ".join(done.stdout.split()))
        self.assertRegex(done.stdout, r"(?m)^Error +at most ")
        with open(self.path("r.json"), encoding="utf-8") as file:
            result = json.load(file)["result"]
        self.assertEqual(result["reason"], "converged_precision")
        self.assertLess(result["steps"], 10 * 128)
        self.assertLess(result["error_bound_relative"], 0.01)
        line = numpy.sin(numpy.pi * numpy.linspace(0, 1, 129))
        self.assertLess(rms(self.read("p.out.h5") - numpy.outer(line, line)), 1e-4)
        self.ok("verify", "p.out.h5")

    def test_a_start_that_is_the_solution(self):
        """Rounding on the way of a cycle leaves more than there was: no growth of an unstable iteration."""
        for precision in ("float64", "float32"):
            self.write("p.h5", numpy.fromfunction(lambda y, x: 1.5 + x + 2 * y, (40, 50)).astype(precision),
                       {"stencil": None, "problem": "laplace", "accelerate": "chebyshev", "rtol": 1e-3})
            done = self.call("p.h5", "-f", *ON)
            self.assertNotIn("unstable", done.stdout + done.stderr)
            self.assertIn(done.returncode, (0, 2))

    def test_no_solution(self):
        """Nothing is fixed, and the source has a mean."""
        self.write("p.h5", numpy.zeros((32, 32)), {"stencil": None, "problem": "poisson", "boundary": "periodic",
                                                   "accelerate": "chebyshev", "rtol": 1e-6}, {"f": numpy.ones((32, 32))})
        for precision in ("float64", "float32"):
            self.refused(65, ["there is no solution"], "p.h5", "--precision", precision, *ON)

    def test_largest_change_stands_still(self):
        """As long as the boundary's influence travels: no stagnation."""
        self.write("p.h5", numpy.zeros((65, 65)), {"stencil": None, "problem": "poisson", "norm": "max", "rtol": 1e-6},
                   {"f": numpy.ones((65, 65))})
        for length in (2, 4, 64):
            result = self.report("p.h5", "--accelerate", f"chebyshev:{length}", "--check-every", 1, *ON)["result"]
            self.assertEqual(result["reason"], "converged_rtol")

    def test_the_same_problem_named_again(self):
        self.new()
        self.assertEqual(self.report("p.h5", "--dry-run", "--problem", "poisson")["problem"]["cycle"], 32)

    def test_spacing_that_differs(self):
        self.new("--spacing", "0.1,3", "--initial", "hot-edge", size="61x47", problem="laplace")
        self.assertEqual(self.report("p.h5", *ON)["result"]["reason"], "converged_rtol")
        self.ok("verify", "p.out.h5")


class Interrupted(CommandTest):
    def run_and_signal(self, seconds, *options):
        process = subprocess.Popen([STENCIL, "p.h5", "--force", "--device", "cpu", *options], cwd=self.directory,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        while not process.stdout.readline().startswith("Strategy"):
            pass
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        printed, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("interrupted", printed)
        return self.attribute("p.out.h5", "provenance", "steps_done"), time.monotonic() - start

    def test_at_the_end_of_a_cycle(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "65x65", "--rtol", "none", "--quiet")
        for sync in ("relaunch", "grid"):
            steps, _ = self.run_and_signal(0.3, "--sync", sync, "--steps", str(10**12), "--check-every", "10000000")
            self.assertGreater(steps, 0)
            self.assertEqual(steps % 64, 0)
        self.ok("verify", "p.out.h5")

    def test_back_to_the_beginning_of_a_long_one(self):
        """A cycle that takes some seconds: who wants the end has it soon, with the field that the cycle began with."""
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "1025x2049", "--initial", "random", "--quiet")
        late = ("--sync", "grid", "--sweep", "stream", "--threads", "2", "--inject-delay", "4000000", "--effort", "estimate")
        steps, seconds = self.run_and_signal(1.5, *late)
        self.assertEqual(steps, 0)
        self.assertLess(seconds, 10)
        numpy.testing.assert_array_equal(self.read("p.out.h5"), self.read("p.h5"))
        self.assertEqual(self.attribute("p.out.h5", "/", "steps_total"), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
