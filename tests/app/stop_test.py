"""When runs stop, why, and what the report says of the error: with the options that a new user has."""
import json
import os
import signal
import subprocess
import time
import unittest

import h5py
import numpy

from draw import DRAW
from harness import SLOW, STENCIL, CommandTest, fault

# STENCIL_DEVICE=gpu on a machine that has one: the same ends there, and a larger problem.
DEVICE = os.environ.get("STENCIL_DEVICE", "cpu")
ON = ("--device", DEVICE)


class Criteria(CommandTest):
    def report(self, *arguments, code=0):
        return json.loads(self.ok(*arguments, "--force", "--json", "-", code=code).stdout)

    def test_default_options_solve_the_problem(self):
        """The error against the equation's solution is that of the discretisation, not of stopping early."""
        sizes = (65, 129, 257) if DRAW == "all" and not SLOW else (65, 129)
        plain = [(size, ("--accelerate", "none")) for size in sizes + ((1025,) if DEVICE == "gpu" else ())]
        for size, how in plain + [(size, ()) for size in (65, 129, 257, 513)]:
            self.ok("new", "p.h5", "--problem", "poisson", *how, "--size", f"{size}x{size}", "--force")
            result = self.report("p.h5", *ON)["result"]
            self.assertEqual((result["reason"], result["exit_code"]), ("converged_rtol", 0))
            line = numpy.sin(numpy.pi * numpy.linspace(0, 1, size))
            u, exact = self.read("p.out.h5"), numpy.outer(line, line)
            h = 1 / (size - 1)
            discrete = exact * (numpy.pi * h / 2) ** 2 / numpy.sin(numpy.pi * h / 2) ** 2
            inner = (slice(1, -1), slice(1, -1))
            rms = lambda a: float(numpy.sqrt(numpy.mean(a[inner] ** 2)))
            self.assertLessEqual(rms(u - exact), 1.1 * rms(discrete - exact))
            self.assertLessEqual(rms(u - discrete), result["error_bound"])
            self.assertLess(result["error_bound"], 1.1 * rms(u - discrete) + 1e-10)

    def test_prediction(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--accelerate", "none", "--size", "33x65")
        report = self.report("p.h5", "--check-every", 1)
        self.assertLessEqual(report["result"]["steps"], report["stop"]["predicted_steps"])
        self.assertGreater(report["result"]["steps"], 0.99 * report["stop"]["predicted_steps"])
        self.ok("new", "k.h5", "--problem", "poisson", "--accelerate", "none", "--size", "2049x2049")
        said = self.ok("k.h5", "--dry-run").stdout
        self.assertRegex(said, r"(?m)^Predicted +15 656 537 steps")
        self.assertIn("more than the limit of 10 000 000 steps", " ".join(said.split()))
        report = json.loads(self.ok("k.h5", "--dry-run", "--json", "-").stdout)
        self.assertEqual(report["stop"]["predicted_steps"], 15656537)

    def test_atol_far_from_the_solution_says_so(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--accelerate", "none", "--size", "257x257", "--atol", "1e-4")
        done = self.ok("p.h5", "--json", "r.json")
        self.assertRegex(done.stdout, r"(?m)^Error +at most .* not$|not solved")
        self.assertIn("atol is met far from the solution", " ".join(done.stdout.split()))
        with open(self.path("r.json")) as file:
            result = json.load(file)["result"]
        self.assertEqual(result["reason"], "converged_atol")
        self.assertGreater(result["error_bound_relative"], 0.9)
        # A small omega shrinks the residual, and convinces nobody any more.
        self.ok("new", "q.h5", "--problem", "poisson", "--accelerate", "none", "--size", "65x65")
        self.assertEqual(self.report("q.h5", "--omega", "0.001", "--steps", 1000, code=2)["result"]["reason"], "not_converged")

    def test_criteria_and_their_old_name(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--accelerate", "none", "--size", "33x33")
        first = self.report("p.h5", "--rtol", "none", "--tolerance", "1e-5")["result"]
        self.assertEqual(first["reason"], "converged_atol")
        self.assertEqual(self.report("p.h5", "--rtol", "none", "--atol", "1e-5")["result"]["history"], first["history"])
        self.assertEqual(self.report("p.h5", "--rtol", "1e-3", "--atol", "1e-30")["result"]["reason"], "converged_rtol")
        self.refused(64, ["--tolerance", "--atol"], "p.h5", "--atol", 1, "--tolerance", 1, "--no-output")
        self.refused(64, ["--tolerance", "--atol"], "compare", "p.h5", "p.h5", "--tolerance", 0, "--atol", 1)
        self.refused(64, ["--rtol", "less than 1"], "p.h5", "--rtol", 2, "--no-output")
        self.write("both.h5", numpy.zeros((5, 5)), {"stencil": "j2d5pt", "atol": 1.0, "tolerance": 1.0})
        self.refused(65, ["'atol'", "'tolerance'"], "both.h5", "--no-output")
        self.write("old.h5", self.read("p.h5"), {"stencil": "j2d5pt", "tolerance": 1e-3})
        self.assertEqual(self.report("old.h5", "--no-output")["stop"]["atol"], 1e-3)


class Reasons(CommandTest):
    def end(self, *arguments, code):
        report = json.loads(self.ok("p.h5", "--force", "--json", "-", *arguments, code=code).stdout)
        return report["result"], " ".join(report["notes"])

    def test_nothing_to_do(self):
        self.ok("new", "p.h5", "--problem", "laplace", "--accelerate", "none", "--size", "33x33")
        result, notes = self.end(code=0)
        self.assertEqual((result["reason"], result["steps"], result["residual_first"]), ("fixed_point", 1, 0.0))
        self.ok("verify", "p.out.h5")

    def test_checkerboard(self):
        self.ok("new", "p.h5", "--problem", "laplace", "--accelerate", "none", "--size", "32x32", "--boundary", "periodic", "--initial", "random")
        result, notes = self.end(code=2)
        self.assertEqual(result["reason"], "stagnated")
        self.assertIn("--omega 0.9", notes)
        result, notes = self.end("--omega", 0.9, code=0)
        self.assertEqual(result["reason"], "converged_rtol")

    def test_checkerboard_of_others(self):
        """Beside /k neighbours share the same weight in all, whatever their materials; walls through cells mirror the
        pattern. One fixed cell, or an odd number of cells, takes it away."""
        k, nodes = 1 + numpy.random.default_rng(2).random((12, 10)), {}
        for side in ("x-", "x+", "y-", "y+"):
            nodes["boundary_" + side] = "mirror-node"
        one = numpy.zeros((12, 10), bool)
        one[4, 4] = True
        for walls in ({"boundary": "periodic"}, {"boundary": "mirror", **nodes}):
            for more in ({"k": k}, {"k": numpy.where(k < 1.5, 1.0, 3.0)}, {}):
                u = numpy.random.default_rng(1).random((12, 10))
                self.write("p.h5", u, {"stencil": None, "problem": "laplace", "rtol": 1e-9, "steps": 500000, **walls}, more)
                result, notes = self.end("--threads", 1, "--effort", "estimate", code=2)
                self.assertEqual(result["reason"], "stagnated")
                self.assertIn("omega 1 the mode with alternating signs does not shrink: try --omega 0.9", notes)
                self.end("--threads", 1, "--effort", "estimate", "--omega", 0.9, code=0)
                self.write("p.h5", u, {"stencil": None, "problem": "laplace", "rtol": 1e-9, **walls}, {**more, "fixed": one})
                self.assertNotIn("alternating", self.end("--threads", 1, "--effort", "estimate", code=0)[1])

    def test_residuals_that_repeat(self):
        """Where every check has found the same residuals for long, whatever the weights, the run ends; at the same step
        whatever makes the steps, and where it is continued."""
        self.ok("new", "p.h5", "--example", "two-materials", "--size", "13x11", "--precision", "float32", "--rtol", "1e-9")
        steps = set()
        for how in (("--threads", 1), ("--sync", "relaunch", "--threads", 2), ("--sweep", "naive", "--threads", 1)):
            result, notes = self.end(*how, "--effort", "estimate", code=2)
            self.assertEqual(result["reason"], "stagnated")
            self.assertIn("float32 resolves no less", notes)
            steps.add(result["steps"])
        self.assertEqual(steps, {200000})
        whole = self.read("p.out.h5", "residual")
        self.assertEqual(len(set(whole[-1000:])), 1)
        self.ok("p.h5", "--force", "--threads", 1, "--steps", 150050, "-o", "half.h5", code=2)
        self.ok("half.h5", "--force", "--threads", 1, "--steps", 10000000, "-o", "r.h5", code=2)
        self.assertEqual(self.read("r.h5", "residual").tobytes(), whole.tobytes())
        self.assertIn("stagnated", self.ok("r.h5", "--force", "--threads", 1, "-o", "s.h5", code=2).stdout)

    def test_example_in_float32(self):
        """`new --example two-materials` asks for what float32 resolves."""
        for size in ("9x9", "33x33"):
            self.ok("new", "p.h5", "--force", "--example", "two-materials", "--size", size, "--precision", "float32")
            self.assertEqual(self.end("--threads", 1, "--effort", "estimate", code=0)[0]["reason"], "converged_rtol")

    def test_walls_through_cells_beside_k(self):
        """float32 ends in a cycle of fields there, and the run with it."""
        random = numpy.random.default_rng(1)
        walls = {"boundary": "mirror"}
        for side in ("x-", "x+", "y-", "y+"):
            walls.update({"boundary_" + side: "exchange-node", "exchange_" + side: 0.2, "ambient_" + side: 1.0 * (side[0] == "x")})
        self.write("p.h5", random.random((24, 30)).astype("f4"),
                   {"stencil": None, "problem": "laplace", "omega": 0.9, "rtol": 1e-9, **walls}, {"k": 1 + random.random((24, 30))})
        result, notes = self.end("--threads", 1, "--effort", "estimate", code=2)
        self.assertEqual(result["reason"], "stagnated")
        self.assertIn("float32 resolves no less", notes)

    def test_source_with_a_mean(self):
        ones = numpy.ones((16, 16))
        self.write("p.h5", numpy.zeros((16, 16)), {"stencil": None, "problem": "poisson", "boundary": "periodic", "omega": 0.9,
                                                   "rtol": 1e-6}, {"f": ones + numpy.arange(16)[:, None] % 3})
        self.refused(65, ["there is no solution", "/f has the mean"], "p.h5")

    def test_floor_of_float32(self):
        """Either no cell changes any more, or the changes no longer fall: never the limit of steps."""
        seen = set()
        for seed, size in ((1, "65x65"), (2, "130x67"), (3, "33x33x17")):
            self.ok("new", "p.h5", "--force", "--problem", "poisson", "--accelerate", "none", "--size", size, "--precision", "float32", "--initial",
                    "random", "--seed", seed, "--rtol", "1e-12")
            result, notes = self.end(code=0)
            seen.add(result["reason"])
            self.assertIn("float32", notes)
            self.assertLess(result["error_bound_relative"], 0.01)
        self.assertLessEqual(seen, {"fixed_point", "converged_precision"})

    @fault("the numbers grow without end", "that the run diverged, and in which step", 2, "the result of that step")
    def test_growth(self):
        self.ok("new", "p.h5", "--problem", "laplace", "--accelerate", "none", "--size", "33x33", "--initial", "random", "--omega", 1.004)
        result, notes = self.end(code=2)
        self.assertEqual(result["reason"], "stagnated")
        self.assertIn("unstable", notes)

    def test_growth_beside_walls(self):
        """Walls exchange-node add to the cells' own part: what grows is told before, with an omega that solves the problem."""
        random = numpy.random.default_rng(1)
        k = 1 + random.random((12, 10))
        for rate, sides, more in ((0.5, "x+", {}), (1.0, "x-,x+,y-,y+", {}), (0.5, "x+,y-", {"k": k}), (4.0, "x+", {"k": k})):
            walls = {}
            for side in sides.split(","):
                walls.update({"boundary_" + side: "exchange-node", "exchange_" + side: rate / 0.5, "ambient_" + side: 1.0})
            self.write("p.h5", random.random((12, 10)),
                       {"stencil": None, "problem": "laplace", "spacing": 0.5, "boundary": "mirror", "rtol": 1e-6, **walls}, more)
            how = ("--threads", 1, "--effort", "estimate")
            done = self.ok("p.h5", "--force", *how, "--json", "r.json", code=2)
            with open(self.path("r.json")) as file:
                report = json.load(file)
            self.assertEqual(report["result"]["reason"], "diverged")
            notes = " ".join(report["notes"])
            self.assertIn("may make this iteration grow" if more else "this iteration grows", notes)
            omega = notes.split("try --omega ")[1][:4]
            self.assertIn(f"; try --omega {omega}", done.stderr)
            result, notes = self.end("--omega", omega, *how, code=0)
            self.assertEqual(result["reason"], "converged_rtol")
            self.assertNotIn("grow", notes)
            self.assertIn("may make this iteration grow", self.end("--rtol", "none", "--steps", 10, *how, code=0)[1])

    def test_largest_change_may_stand_still_for_long(self):
        """It does until the boundary's influence has come as far as the middle: that is no stagnation."""
        self.write("p.h5", numpy.zeros((3, 401)), {"stencil": None, "problem": "poisson", "boundary": ["periodic", "fixed"],
                                                   "norm": "max", "rtol": 0.5}, {"f": numpy.ones((3, 401))})
        result, notes = self.end(code=0)
        self.assertEqual(result["reason"], "converged_rtol")
        self.assertGreater(result["steps"], 20000)

    def test_causes_of_other_problems(self):
        self.ok("new", "p.h5", "--problem", "heat", "--size", "32x32", "--boundary", "periodic", "--initial", "random", "--rtol",
                "1e-6")
        result, notes = self.end(code=2)
        self.assertEqual(result["reason"], "stagnated")
        self.assertIn("smaller --dt", notes)
        self.write("p.h5", numpy.random.default_rng(1).random((12, 12)),
                   {"stencil": None, "boundary": "periodic", "rtol": 1e-6},
                   {"stencil/offsets": numpy.array([[0, -1], [0, 1], [0, 0]], "i4"), "stencil/weights": [0.5, 0.5, -0.0]})
        result, notes = self.end(code=2)
        self.assertIn("checkerboard", notes)
        self.write("p.h5", numpy.random.default_rng(1).random((13, 13)),
                   {"stencil": None, "boundary": "periodic", "rtol": 1e-6},
                   {"stencil/offsets": numpy.array([[0, 0], [0, -1], [0, 1]], "i4"), "stencil/weights": [-1.0, 0.0, 0.0]})
        result, notes = self.end(code=2)
        self.assertIn("neither shrinks nor grows", notes)

    def test_values_whose_squares_are_no_numbers(self):
        for amplitude in ("1e-200", "1e-160", "1e200"):
            self.ok("new", "p.h5", "--force", "--problem", "laplace", "--accelerate", "none", "--size", "33x33", "--initial", "hot-edge", "--amplitude",
                    amplitude)
            self.assertEqual(self.end(code=0)[0]["reason"], "converged_rtol")
            self.assertEqual(self.end("--norm", "max", code=0)[0]["reason"], "converged_rtol")

    def test_solution_that_is_zero(self):
        self.ok("new", "p.h5", "--problem", "laplace", "--accelerate", "none", "--size", "33x33", "--initial", "sine")
        done = self.ok("p.h5", "--force")
        self.assertIn("converged (rtol)", done.stdout)
        self.assertIn("the field is as small itself", done.stdout)
        done = self.ok("p.h5", "--force", "--steps", 1, "--omega", "0.001", code=2)
        self.assertIn("limit of 1 step:", " ".join(done.stdout.split()))

    def test_fixed_steps_have_no_error(self):
        self.ok("new", "p.h5", "--problem", "laplace", "--accelerate", "none", "--size", "17x17", "--rtol", "none")
        result, notes = self.end("--steps", 20, code=0)
        self.assertEqual((result["reason"], result["error_bound"], result["residual_first"]), ("steps", None, None))


class Continuing(CommandTest):
    def same(self, one, other):
        for dataset in ("/u", "/residual", "/residual_step"):
            self.ok("compare", one, other, "--dataset", dataset)
        for name in ("steps_total", "residual_first"):
            self.assertEqual(self.attribute(one, "/", name), self.attribute(other, "/", name))

    def test_a_run_in_pieces_equals_one(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--accelerate", "none", "--size", "41x37", "--initial", "random")
        self.ok("p.h5", *ON, "-o", "whole.h5")
        for sync in ("relaunch", "grid", "openmp"):
            self.ok("p.h5", "-fo", "a.h5", "--steps", 333, "--sync", sync, *ON, code=2)
            self.ok("a.h5", "-fo", "b.h5", "--steps", 1250, "--sync", sync, *ON, code=2)
            self.ok("b.h5", "-fo", "c.h5", "--steps", 10**7, "--sync", sync, *ON)
            self.same("whole.h5", "c.h5")
            for name in "abc":
                self.ok("verify", f"{name}.h5")
        self.assertEqual(self.attribute("b.h5", "provenance", "steps_done"), 917)

    def test_result_of_an_earlier_version_is_verified(self):
        """Those of 0.1.0 count no steps but in /provenance."""
        self.make("p.h5")
        self.ok("p.h5", *ON, "-o", "a.h5", "--steps", 400, "--rtol", "none")
        with h5py.File(self.path("a.h5"), "r+") as file:
            for name in ("steps_total", "residual_first", "fingerprint", "digest_u"):
                file.attrs.pop(name, None)
            del file["provenance"].attrs["digest_numbers"]
        self.assertIn("400", self.ok("verify", "a.h5").stdout)

    def interrupt(self, source, result):
        process = subprocess.Popen([STENCIL, source, "-fo", result, "--check-every", "30", "--effort", "estimate", *ON], cwd=self.directory,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not process.stdout.readline().startswith(b"Strategy"):
            pass
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.assertEqual(process.returncode, 130)

    def test_interrupted_twice_and_continued(self):
        self.make("p.h5", "--steps", 10**9)
        self.interrupt("p.h5", "a.h5")
        self.interrupt("a.h5", "b.h5")
        done = int(self.attribute("b.h5", "/", "steps_total"))
        self.assertGreater(done, int(self.attribute("a.h5", "/", "steps_total")))
        self.ok("b.h5", "-o", "c.h5", "--steps", done + 1000, "--check-every", 30, *ON)
        self.ok("p.h5", "-o", "whole.h5", "--steps", done + 1000, "--check-every", 30, *ON)
        for dataset in ("/u", "/residual", "/residual_step"):
            self.ok("compare", "c.h5", "whole.h5", "--dataset", dataset)

    def test_first_residual_survives_runs_without_a_criterion(self):
        self.ok("new", "p.h5", "--problem", "laplace", "--accelerate", "none", "--size", "33x33", "--initial", "hot-edge")
        self.ok("p.h5", "-o", "a.h5", "--steps", 234, code=2)
        self.ok("a.h5", "-o", "b.h5", "--steps", 500, "--rtol", "none")
        self.ok("verify", "b.h5")
        self.ok("b.h5", "-o", "c.h5", "--rtol", "1e-8", "--steps", 10**6)
        self.ok("p.h5", "-o", "whole.h5")
        self.same("c.h5", "whole.h5")

    def test_finished(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--accelerate", "none", "--size", "33x33")
        self.ok("p.h5", "-o", "a.h5")
        done = self.ok("a.h5", "-o", "b.h5")
        self.assertIn("no step was made", done.stdout)
        self.same("a.h5", "b.h5")
        self.assertEqual(self.attribute("b.h5", "provenance", "steps_done"), 0)
        self.ok("verify", "b.h5")
        self.ok("a.h5", "-o", "c.h5", "--rtol", "1e-10")
        self.assertGreater(self.attribute("c.h5", "/", "steps_total"), self.attribute("a.h5", "/", "steps_total"))

    def test_another_problem_counts_anew(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--accelerate", "none", "--size", "33x33", "--steps", 100)
        self.ok("p.h5", "-o", "a.h5", code=2)
        for change in (("--omega", 0.9), ("--boundary", "mirror,fixed"), ("--precision", "float32"), ("--norm", "max"),
                       ("--spacing", 0.1)):
            done = self.ok("a.h5", "-fo", "b.h5", *change, code=2)
            self.assertIn("steps count from 0 again", " ".join(done.stdout.split()))
            self.assertEqual(self.attribute("b.h5", "/", "steps_total"), 100)
            self.assertEqual(self.attribute("b.h5", "provenance", "steps_done"), 100)
            self.ok("verify", "b.h5")

    def test_physical_time(self):
        self.ok("new", "p.h5", "--problem", "heat", "--size", "17x17", "--initial", "sine", "--steps", 40)
        self.ok("p.h5", "-o", "whole.h5", "--steps", 100)
        self.ok("p.h5", "-o", "a.h5")
        self.ok("a.h5", "-o", "b.h5", "--steps", 100)
        dt = self.attribute("b.h5", "/", "dt")
        self.assertEqual(self.attribute("b.h5", "/", "time"), 100 * dt)
        self.assertEqual(self.attribute("b.h5", "/", "time"), self.attribute("whole.h5", "/", "time"))
        self.ok("b.h5", "-o", "c.h5", "--dt", dt / 2, "--steps", 10)
        self.assertEqual(self.attribute("c.h5", "/", "time"), 100 * dt + 10 * (dt / 2))

    @fault("the history of a result is damaged", "which entry", 65)
    def test_damaged_histories(self):
        self.make()
        self.ok("p.h5", "--steps", 300, "-o", "a.h5")
        import h5py
        for change, wanted in ((lambda f: f["residual_step"].__setitem__(0, 250), "out of order"),
                               (lambda f: f["residual_step"].__setitem__(2, 301), "out of order"),
                               (lambda f: f.__delitem__("residual"), "entries")):
            self.ok("p.h5", "--steps", 300, "-fo", "a.h5")
            with h5py.File(self.path("a.h5"), "r+") as file:
                change(file)
            self.refused(65, ["residual", wanted], "a.h5", "--steps", 400, "--no-output")


if __name__ == "__main__":
    unittest.main()
