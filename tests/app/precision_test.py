"""Runs whose limit lies below what the precision resolves, and values beyond the squares of doubles."""
import json
import math
import unittest

import numpy

from harness import CommandTest, h5py

ON = ("--effort", "estimate")
UNIT = {"float32": 2.0 ** -24, "float64": 2.0 ** -53}


def rms(values):
    return math.sqrt(numpy.mean(numpy.square(values.astype("f8"))))


class Default(CommandTest):
    """`stencil new --precision float32` and a plain run."""

    def solve(self, problem, size, precision, *arguments):
        initial = "hot-edge" if problem == "laplace" else "zero"
        self.ok("new", "p.h5", "--force", "--problem", problem, "--size", size, "--precision", precision, "--initial", initial)
        self.ok("p.h5", "-f", "-o", f"{precision}.h5", "--json", "r.json", *ON, *arguments)
        with open(self.path("r.json"), encoding="utf-8") as file:
            return json.load(file)["result"]

    def check(self, problem, size, verify=False):
        exact = self.solve(problem, size, "float64")
        result = self.solve(problem, size, "float32")
        said = f"{problem} {size}: {result}"
        self.assertIn(result["reason"], ("converged_rtol", "converged_precision"), said)
        self.assertLessEqual(result["steps"], exact["steps"], said)
        error = rms(self.read("float32.h5") - self.read("float64.h5"))
        self.assertLessEqual(error, result["error_bound"], said)
        self.assertLess(result["error_bound_relative"], 0.1, said)
        self.assertLess(error, 1e-5, said)
        if verify:
            self.ok("verify", "float32.h5")
        return result

    def test_plane(self):
        reasons = [self.check(problem, size, verify=True)["reason"] for problem in ("poisson", "laplace")
                   for size in ("17x17", "65x65", "129x129")]
        self.assertEqual(set(reasons), {"converged_rtol", "converged_precision"})

    def test_larger_planes(self):
        for size in ("257x257", "513x513"):
            self.check("poisson", size)

    def test_space(self):
        for problem in ("poisson", "laplace"):
            for size in ("17x17x17", "33x33x33", "65x65x65"):
                self.check(problem, size)

    def test_limit_is_told_before_the_first_step(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "65x65", "--precision", "float32")
        said = " ".join(self.ok("p.h5", *ON).stdout.split())
        self.assertRegex(said, r"the limit of the residual, 6\.1e-09, is below what float32 resolves in such a field, 2e-07")
        self.assertLess(said.index("below what float32"), said.index("Steps "))
        self.ok("new", "q.h5", "--problem", "poisson", "--size", "65x65")
        self.assertNotIn("is below what", self.ok("q.h5", *ON).stdout)

    def test_resolution(self):
        """c u ||u||, with c from the weights in their order, over the field as it is: docs/stopping.md."""
        for precision, rtol in (("float32", 1e-5), ("float64", 1e-14)):
            self.ok("new", "p.h5", "-f", "--problem", "poisson", "--size", "65x65", "--precision", precision, "--rtol", rtol)
            result = json.loads(self.ok("p.h5", "-f", "--json", "-", *ON).stdout)["result"]
            self.assertEqual(result["reason"], "converged_precision")
            wanted = 6.5 * UNIT[precision] * rms(self.read("p.out.h5")[1:-1, 1:-1])
            self.assertAlmostEqual(result["resolution"] / wanted, 1, places=6)
            self.assertLess(result["residual"], wanted)

    def test_not_solved_is_not_converged(self):
        """4097 cells along x as one long axis: the bound is larger than the field, whatever the residual is."""
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "9001x5", "--boundary", "periodic,fixed", "--precision",
                "float32", "--accelerate", "chebyshev:8192")
        result = json.loads(self.ok("p.h5", "--json", "-", *ON, code=2).stdout)["result"]
        self.assertGreater(result["error_bound_relative"], 0.1)
        self.assertEqual(result["reason"], "stagnated")


class LastStretch(CommandTest):
    """Its first step follows from the history alone."""

    def setUp(self):
        super().setUp()
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "129x129", "--precision", "float32", "--source", "manufactured")
        self.ok("p.h5", "-o", "one.h5", *ON)

    def same(self, name):
        for dataset in ("/u", "/residual", "/residual_step"):
            self.ok("compare", "one.h5", name, "--dataset", dataset)
        for attribute in ("plain_from", "steps_total", "residual_first"):
            self.assertEqual(self.attribute("one.h5", "/", attribute), self.attribute(name, "/", attribute))
        self.assertEqual(self.attribute(name, "/provenance", "reason"), "converged_precision")

    def test_every_strategy_makes_it(self):
        for number, how in enumerate((("--sync", "relaunch", "--sweep", "naive"), ("--sync", "grid", "--sweep", "stream"),
                                      ("--sync", "neighbor", "--parts", "3"), ("--sync", "openmp", "--sweep", "pipeline", "--depth", "4"),
                                      ("--sync", "lock-free", "--threads", "3"))):
            self.ok("p.h5", "-o", f"{number}.h5", *how)
            self.same(f"{number}.h5")

    def test_in_pieces(self):
        turn = int(self.attribute("one.h5", "/", "plain_from"))
        total = int(self.attribute("one.h5", "/", "steps_total"))
        self.assertEqual(total, turn + 128)
        for first in (128, turn - 128):
            self.ok("p.h5", "-fo", "a.h5", "--steps", first, *ON, code=2)
            self.ok("a.h5", "-fo", "b.h5", "--steps", 10**7, *ON)
            self.same("b.h5")
            self.ok("verify", "b.h5", "a.h5")
        self.ok("p.h5", "-fo", "a.h5", "--steps", turn, *ON, code=2)
        self.ok("a.h5", "-fo", "b.h5", "--steps", 10**7, *ON)
        self.same("b.h5")

    def test_a_finished_run_makes_no_step(self):
        for more in ((), ("--rtol", "1e-12"), ("--steps", "20000000")):
            said = self.ok("one.h5", "-fo", "again.h5", *more, *ON).stdout
            self.assertIn("no step was made", " ".join(said.split()))
            self.same("again.h5")
        self.ok("one.h5", "-fo", "again.h5", "--rtol", "0.5", *ON)
        self.assertEqual(self.attribute("again.h5", "/provenance", "reason"), "converged_rtol")

    def test_verify_sees_another_turn(self):
        with h5py.File(self.path("one.h5"), "r+") as file:
            file.attrs["plain_from"] = numpy.int64(file.attrs["plain_from"] - 128)
        self.assertIn("plain_from", self.ok("verify", "one.h5", code=1).stdout)


class Range(CommandTest):
    """Values whose squares leave the range of doubles: the same bits, times a power of two."""

    def test_scaled_fields(self):
        u = numpy.random.default_rng(3).random((40, 50))
        source = numpy.random.default_rng(4).random((40, 50))
        for what, attributes, datasets in (("heat", {"problem": "heat", "steps": 150}, {}),
                                           ("laplace", {"problem": "laplace", "rtol": 1e-6}, {}),
                                           ("poisson", {"problem": "poisson", "rtol": 1e-6, "accelerate": "chebyshev"}, {"f": source}),
                                           ("own", {"stencil": "j2d9pt", "steps": 30, "boundary": "mirror"}, {"b": source})):
            own = {"stencil": None, **attributes} if "problem" in attributes else attributes
            self.write("p.h5", u, own, datasets)
            self.ok("p.h5", "-f", "-o", "one.h5", *ON)
            for exponent in (600, -600, 1000):
                scale = 2.0 ** exponent
                self.write("q.h5", u * scale, own, {name: values * scale for name, values in datasets.items()})
                for parts in (1, 3):
                    self.ok("q.h5", "-f", "-o", "other.h5", "--parts", parts, *ON)
                    numpy.testing.assert_array_equal(self.read("other.h5"), self.read("one.h5") * scale, what)
                    numpy.testing.assert_array_equal(self.read("other.h5", "residual"), self.read("one.h5", "residual") * scale)
                self.ok("verify", "other.h5")

    def test_zero_field_with_a_large_source(self):
        self.write("p.h5", numpy.zeros((30, 30)), {"steps": 100}, {"b": numpy.full((30, 30), 1e200)})
        self.ok("p.h5", *ON)
        self.assertTrue(numpy.isfinite(self.read("p.out.h5", "residual")).all())

    def test_growth_beyond_the_range_still_diverges(self):
        self.write("p.h5", numpy.full((30, 30), 1e300), {"stencil": "j2d5pt", "steps": 100}, {"stencil/weights": [3.0] * 5})
        self.ok("p.h5", *ON, code=2)


class Changes(CommandTest):
    def notes(self, *arguments, code=0):
        return " ".join(json.loads(self.ok("p.h5", "-f", "--json", "-", *ON, *arguments, code=code).stdout)["notes"])

    def test_every_change_is_rounded_away(self):
        u = numpy.full((33, 33), 300.0)
        b = numpy.full((33, 33), 1e-6)
        for precision, lost in (("float32", True), ("float64", False)):
            self.write("p.h5", u.astype(precision), {"stencil": None, "problem": "heat", "steps": 200}, {"b": b})
            self.assertEqual("rounded away" in self.notes(), lost, precision)
        self.write("p.h5", u.astype("f4"), {"stencil": None, "problem": "heat", "steps": 200})
        self.assertNotIn("rounded away", self.notes())  # it is the steady state
        self.write("p.h5", u.astype("f4"), {"stencil": "j2d5pt", "boundary": "mirror", "steps": 200})
        self.assertNotIn("rounded away", self.notes())

    def test_atol_alone_says_nothing(self):
        u = numpy.zeros((33, 33))
        u[0] = 1
        for attributes in ({"problem": "heat", "dt": 1e-6, "spacing": 1 / 32, "stencil": None}, {"stencil": "j2d5pt"}):
            self.write("p.h5", u, {**attributes, "atol": 1e-3})
            self.assertIn("nothing about how much is left", self.notes())

    def test_not_solved_by_what_the_field_is(self):
        """A loose rtol on a large field: its bound is larger than the field, which is not small."""
        u = numpy.zeros((65, 65))
        u[0] = 100
        self.write("p.h5", u, {"stencil": None, "problem": "laplace", "rtol": 0.5})
        said = self.ok("p.h5", *ON).stdout
        self.assertIn("not solved", said)
        self.assertNotIn("as small itself", said)
        self.write("p.h5", numpy.random.default_rng(1).random((64, 64)), {"stencil": None, "problem": "laplace", "rtol": 1e-8,
                                                                         "boundary": "periodic", "omega": 0.9})
        self.assertIn("is a constant but for that", " ".join(self.ok("p.h5", "-f", *ON).stdout.split()))

    def test_source_without_a_solution(self):
        for source, where in ((numpy.ones((32, 32)), "mirror"), (1 + numpy.arange(32.0)[:, None] % 3 + numpy.zeros((32, 32)), "periodic")):
            for more in ({}, {"accelerate": "chebyshev"}):
                self.write("p.h5", numpy.zeros((32, 32)), {"stencil": None, "problem": "poisson", "boundary": where, "rtol": 1e-6, **more},
                           {"f": source})
                self.refused(65, ["/f has the mean", "no solution"], "p.h5", "-o", "no.h5", *ON)
            self.write("p.h5", numpy.zeros((32, 32)), {"stencil": None, "problem": "poisson", "boundary": where, "steps": 10}, {"f": source})
            self.assertIn("no solution", self.notes())
        self.write("p.h5", numpy.zeros((32, 32)), {"stencil": None, "problem": "poisson", "boundary": "periodic", "rtol": 1e-6,
                                                   "accelerate": "chebyshev"}, {"f": numpy.random.default_rng(1).random((32, 32)) - 0.5})
        with h5py.File(self.path("p.h5"), "r+") as file:
            file["f"][:] -= file["f"][:].mean()
        self.assertNotIn("no solution", self.notes())


if __name__ == "__main__":
    unittest.main()
