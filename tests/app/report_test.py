"""What `stencil run` tells of the problem and of its result: the equation, physical time, numbers, notes by weight."""
import decimal
import json
import math
import os
import re
import unittest

import numpy

from harness import CommandTest, field, h5py

USAGE, BAD_DATA = 64, 65
CPU = ("--device", "cpu")
DRY = ("--dry-run", "--no-output", *CPU)


def entry(text, label):
    """What stands beside a label, on one line."""
    lines = re.search(rf"(?ms)^{re.escape(label)} (.*?)(?=^\S|\Z)", text)
    return " ".join(lines.group(1).split()) if lines else None


class Equation(CommandTest):
    def equation(self, *arguments, **variables):
        done = self.ok(*arguments, *DRY, env={**os.environ, "LC_ALL": "C.UTF-8", **variables})
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 79, line)
        return entry(done.stdout, "Equation")

    def new(self, *arguments):
        self.ok("new", "p.h5", "--force", "--quiet", *arguments)

    def test_heat(self):
        self.new("--problem", "heat", "--size", "257x257", "--steps", 1000)
        h = 1 / 256
        self.assertEqual(self.equation("p.h5"), f"∂u/∂t = α∇²u, α 1, dt {h * h / 4:.4g} (largest stable {h * h / 4:.4g}), spacing 0.00390625 × "
                         f"0.00390625, to t = {1000 * h * h / 4:.4g}")
        self.assertEqual(self.equation("p.h5", "--dt", "7e-07", "--diffusivity", "0.5", "--spacing", "0.25,0.1", "--rtol", "1e-3"),
                         "∂u/∂t = α∇²u, α 0.5, dt 7e-07 (largest stable 0.008621), spacing 0.1 × 0.25 (x, y), to t = 0.0007 at most")
        self.assertEqual(self.equation("p.h5", LC_ALL="C").partition(",")[0], "du/dt = alpha div grad u")
        self.ok("p.h5", "--steps", 100, *CPU)
        self.assertTrue(self.equation("p.out.h5", "--steps", 200).endswith(f", from t = {100 * h * h / 4:.4g} to t = {200 * h * h / 4:.4g}"))

    def test_relaxation(self):
        self.new("--problem", "poisson", "--size", "9x17")
        self.assertEqual(self.equation("p.h5"), "−∇²u = f, by accelerated Jacobi iteration, spacing 0.125 × 0.0625 (x, y)")
        self.assertEqual(self.equation("p.h5", "--omega", "0.9").partition(", spacing")[0], "−∇²u = f, by Jacobi iteration, ω 0.9")
        self.new("--problem", "poisson", "--size", "9x17", "--source", "none")
        self.assertTrue(self.equation("p.h5").startswith("−∇²u = 0 (there is no /f), by "))
        self.new("--problem", "laplace", "--size", "9x9x9", "--accelerate", "none")
        self.assertEqual(self.equation("p.h5"), "∇²u = 0, by Jacobi iteration, ω 1, spacing 0.125 × 0.125 × 0.125")
        self.assertEqual(self.equation("p.h5", LC_ALL="C"), "div grad u = 0, by Jacobi iteration, omega 1, spacing 0.125 x 0.125 x 0.125")

    def test_source_term(self):
        self.write("b.h5", field(9, 9), {"stencil": None}, {"b": field(9, 9)})
        for problem, start in (("heat", "∂u/∂t = α∇²u + b/dt, b from /b as it is, "), ("poisson", "−∇²u = S b, b from /b, S 4, "),
                               ("laplace", "−∇²u = S b, b from /b, S 4, ")):
            self.assertTrue(self.equation("b.h5", "--problem", problem).startswith(start), problem)
        self.assertTrue(self.equation("b.h5", "--problem", "laplace", "--omega", "0.5").startswith("−∇²u = S b/ω, "))
        self.assertEqual(self.equation("b.h5", "--stencil", "j2d9pt"), "u′ = Σ w·u over 9 points, + b from /b, weights sum 1")

    def test_weights(self):
        self.write("w.h5", field(9, 9), {"stencil": None}, {"stencil/offsets": [[0, 0], [0, 1], [-2, 0]], "stencil/weights": [0.5, 0.25, 0.125]})
        self.assertEqual(self.equation("w.h5"), "u′ = Σ w·u over 3 points, weights sum 0.875")
        self.assertEqual(self.equation("w.h5", LC_ALL="C"), "u' = sum of w*u over 3 points, weights sum 0.875")
        report = json.loads(self.ok("w.h5", *DRY, "--json", "-").stdout)
        self.assertEqual(report["problem"]["equation"], "u′ = Σ w·u over 3 points, weights sum 0.875")

    def test_sizes_name_their_axes(self):
        self.new("--stencil", "j3d7pt", "--size", "9x11x13")
        self.assertEqual(entry(self.ok("p.h5", *DRY).stdout, "Problem"), "j3d7pt, 9 x 11 x 13 cells (x, y, z), float64")


class Time(CommandTest):
    """`--time T` and the attribute `time_end`."""

    def make(self, cells, *arguments):
        self.ok("new", "s.h5", "--force", "--problem", "heat", "--size", f"{cells}x{cells}", "--initial", "sine", "--quiet", *arguments)

    def test_dt_divides_the_time(self):
        """Not a stable dt, but the largest one that divides T; the field at T is that of the equation, to second order."""
        for T in (0.05, 0.1, 1 / 30, 0.077, 1e-5):
            self.make(17)
            self.ok("s.h5", "--time", T, "--force", *CPU)
            dt, steps, largest = (self.attribute("s.out.h5", "/", "dt"), self.attribute("s.out.h5", "/", "steps_total"), 1 / (4 * 16 ** 2))
            self.assertLessEqual(dt, largest)
            self.assertEqual(steps, math.ceil(T / largest * (1 - 1e-14)))
            self.assertAlmostEqual(self.attribute("s.out.h5", "/", "time") / T, 1, delta=5e-16)
            self.assertEqual(self.attribute("s.out.h5", "/", "time_end"), T)
        errors = []
        for cells in (17, 33, 65):
            self.make(cells, "--time", "0.077")
            self.ok("s.h5", "--force", *CPU)
            u, x = self.read("s.out.h5"), numpy.linspace(0, 1, cells)
            exact = math.exp(-2 * math.pi ** 2 * 0.077) * numpy.outer(numpy.sin(math.pi * x), numpy.sin(math.pi * x))
            errors.append(abs(u - exact).max())
        for coarse, fine in zip(errors, errors[1:]):
            self.assertAlmostEqual(math.log2(coarse / fine), 2, delta=0.05)

    def test_given_dt_stays(self):
        self.make(17, "--dt", "0.0003")
        said = self.ok("s.h5", "--time", "0.01", *CPU).stdout
        self.assertEqual(entry(said, "Time"), "t = 0.0099")
        self.assertIn("Note no whole number of steps of dt 0.0003 ends at t = 0.01: the run ends before it, at t = 0.0099; leave dt out, and",
                      " ".join(said.split()))
        self.assertEqual((self.attribute("s.out.h5", "/", "steps_total"), self.attribute("s.out.h5", "/", "dt")), (33, 0.0003))
        for T, steps in ((0.0099, 33), (0.03, 100), (0.00989, 32), (0, 0), (0.3, 1000)):  # 0.0003 has no exact binary form
            said = self.ok("s.h5", "--time", T, "--force", *CPU).stdout
            self.assertEqual(self.attribute("s.out.h5", "/", "steps_total"), steps, T)
            self.assertEqual("no whole number" in " ".join(said.split()), T == 0.00989, T)

    def test_continued(self):
        """T counts from time 0, whoever made the steps."""
        self.make(17)
        self.ok("s.h5", "--time", "0.1", "--output", "whole.h5", *CPU)
        self.ok("s.h5", "--dt", self.attribute("whole.h5", "/", "dt"), "--time", "0.05", *CPU)
        self.ok("s.out.h5", "--time", "0.1", *CPU)
        numpy.testing.assert_array_equal(self.read("s.out2.h5"), self.read("whole.h5"))
        self.assertEqual(self.attribute("s.out2.h5", "/", "time"), self.attribute("whole.h5", "/", "time"))
        self.ok("verify", "s.out2.h5")
        said = " ".join(self.ok("whole.h5", "--no-output", *CPU).stdout.split())
        self.assertIn("no step was made: the file has all its steps; --time asks for more", said)
        # Another dt: steps count anew, time goes on.
        self.ok("s.out.h5", "--dt", "0.0005", "--time", "0.06", "--output", "other.h5", *CPU)
        start = self.attribute("s.out.h5", "/", "time")
        self.assertTrue(0.049 < start < 0.05)
        self.assertEqual(self.attribute("other.h5", "/", "time"), start + 20 * 0.0005)
        self.assertEqual(self.attribute("other.h5", "/", "steps_total"), 20)
        self.refused(BAD_DATA, ["'other.h5'", "time_end is 0.01", f"starts at time {start:g}"], "other.h5", "--time", "0.01")

    def test_start_that_the_file_states(self):
        self.write("t.h5", field(9, 9), {"stencil": None, "problem": "heat", "time": 2.0})
        self.ok("t.h5", "--time", "3", *CPU)
        self.assertEqual((self.attribute("t.out.h5", "/", "steps_total"), self.attribute("t.out.h5", "/", "time")), (4, 3.0))

    def test_options_and_attributes(self):
        """What the command line says replaces what the file says."""
        self.make(9, "--time", "0.1")
        self.assertEqual(self.attribute("s.h5", "/", "time_end"), 0.1)
        self.ok("s.h5", "--steps", 3, *CPU)
        with h5py.File(self.path("s.out.h5")) as file:
            self.assertEqual((file.attrs["steps_total"], "time_end" in file.attrs), (3, False))
        self.make(9, "--steps", 7)
        self.ok("s.h5", "--time", "0.1", "--force", *CPU)
        with h5py.File(self.path("s.out.h5")) as file:
            self.assertNotIn("steps", file.attrs)
            self.assertEqual(file.attrs["time_end"], 0.1)
        self.write("both.h5", field(9, 9), {"stencil": None, "problem": "heat", "time_end": 1.0, "steps": 3})
        self.refused(BAD_DATA, ["both steps and time_end"], "both.h5")

    def test_refused(self):
        self.make(9)
        self.refused(USAGE, ["--steps", "--time", "contradict"], "s.h5", "--steps", 3, "--time", 1)
        for problem in ("laplace", "poisson"):
            self.refused(USAGE, ["--time is for problem heat", problem], "s.h5", "--problem", problem, "--time", 1)
        self.refused(USAGE, ["--time is for problem heat"], "s.h5", "--stencil", "j2d5pt", "--time", 1)
        self.refused(BAD_DATA, ["time_end is 1e+300", "steps of dt"], "s.h5", "--time", 1e300)
        self.refused(BAD_DATA, ["time_end is 1e+12", "steps of dt"], "s.h5", "--time", 1e12, "--dt", "1e-8")
        self.refused(USAGE, ["--time"], "s.h5", "--time", "-1")


class Numbers(CommandTest):
    def test_shortest_form(self):
        """A number has no more digits than tell it from its neighbours, and all that do."""
        self.ok("new", "s.h5", "--problem", "heat", "--size", "33x33", "--initial", "sine")
        self.assertIn("dt 7e-05 (largest", self.ok("s.h5", "--dt", "7e-05", *DRY).stdout)
        self.ok("s.h5", "--dt", "7e-05", "--steps", 300, "--json", "r.json", *CPU)
        with open(self.path("r.json")) as file:
            text = file.read()
        self.assertIn('"dt": 7e-05,', text)
        self.assertIn('"diffusivity": 1.0,', text)
        report = json.loads(text)
        self.assertEqual(report["result"]["history"]["residual"], list(self.read("s.out.h5", "residual")))
        self.assertEqual(report["result"]["time"], self.attribute("s.out.h5", "/", "time"))
        numbers = re.findall(r"(?m)^ *(?:\"[a-z_]+\": )?(-?[0-9]+\.[0-9.e+-]+|-?[0-9]+e[0-9+-]+),?$", text)
        self.assertGreater(len(numbers), 20)
        for number in numbers:
            self.assertEqual(decimal.Decimal(number), decimal.Decimal(repr(float(number))))
        self.refused(BAD_DATA, ["dt = 0.1 is unstable: the largest stable time step is 0.000244140625"], "s.h5", "--dt", "0.1", "--force")

    def test_what_looks_like_a_number_in_a_string(self):
        name = 'a "0.10000000000000001" \\ 1e+05.h5'
        self.ok("new", name, "--stencil", "j2d5pt", "--size", "9x9")
        self.assertEqual(json.loads(self.ok(name, *DRY, "--json", "-").stdout)["input"], name)

    def test_times_of_stores_are_of_steps(self):
        self.ok("new", "p.h5", "--stencil", "j2d5pt", "--size", "700x700", "--steps", 960)
        report = json.loads(self.ok("p.h5", *CPU, "-j", 1, "--sweep", "pipeline", "--depth", 32, "--check-every", 480, "--json", "-",
                                    "--no-output").stdout)
        stores = report["result"]["stores"]
        if report["plan"]["stores"] == "tried":  # so the size of the cache wants it
            self.assertLess(min(stores["cached_step_us"], stores["streaming_step_us"]), 8 * report["rates"]["step_us"])
            self.assertGreater(min(stores["cached_step_us"], stores["streaming_step_us"]), report["rates"]["step_us"] / 32)


class Quiet(CommandTest):
    """A note that changes what the result means is told by a quiet run, too."""

    def misspelt(self, name="p.h5"):
        return self.write(name, field(9, 11), {"boundry": "periodic"})

    def test_notes_by_weight(self):
        self.misspelt()
        done = self.ok("p.h5", "--steps", 2, "--quiet", "--json", "r.json")
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr, "stencil: p.h5: note: attribute 'boundry' is not used: did you mean attribute 'boundary'?\n")
        with open(self.path("r.json")) as file:
            report = json.load(file)
        self.assertEqual(report["warnings"], ["attribute 'boundry' is not used: did you mean attribute 'boundary'?"])
        self.assertIn(report["warnings"][0], report["notes"])
        self.assertTrue(any("no GPU" in note for note in report["notes"]) or self.gpu_count() > 0)
        self.assertEqual(self.ok("p.h5", "-q", *DRY).stderr, done.stderr)

    def test_twice_prints_nothing(self):
        self.misspelt()
        for quiet in (("-qq",), ("--quiet", "--quiet"), ("-q", "-q"), ("-qfq",), ("-qqq",)):
            done = self.ok("p.h5", "--steps", 2, "--force", *quiet)
            self.assertEqual((done.stdout, done.stderr), ("", ""), quiet)
        self.assertEqual(self.ok("p.h5", "-qq", *DRY).stderr, "")
        # What went wrong is told all the same.
        self.assertEqual(len(self.ok("p.h5", "--steps", 2, "--rtol", "1e-9", "--force", "-qq", code=2).stderr.splitlines()), 1)

    def test_each_note_once(self):
        """Before the steps and behind them; what an exit code says already is not said twice."""
        self.ok("new", "h.h5", "--problem", "heat", "--size", "17x17", "--initial", "sine", "--quiet")
        self.ok("h.h5", "--steps", 10, "-q", *CPU)
        lines = self.ok("h.out.h5", "--dt", "0.0005", "--time", "0.02", "-q", *CPU).stderr.splitlines()
        self.assertEqual(len(lines), 2, lines)
        self.assertTrue(all(line.startswith("stencil: h.out.h5: note: ") for line in lines), lines)
        self.assertTrue(any("steps count from 0 again" in line for line in lines), lines)
        self.assertTrue(any("no whole number of steps" in line for line in lines), lines)
        self.ok("new", "l.h5", "--problem", "laplace", "--size", "65x65", "--initial", "hot-edge", "--accelerate", "none", "--rtol", "none")
        lines = self.ok("l.h5", "--atol", "1e-4", "-q", *CPU).stderr.splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("note: atol is met far from the solution", lines[0])

    def test_poisson_without_f(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "9x9", "--source", "none", "--initial", "random")
        self.assertIn("note: poisson without /f", self.ok("p.h5", "-q", *CPU).stderr)
        self.ok("new", "f.h5", "--problem", "poisson", "--size", "9x9")
        self.assertEqual(self.ok("f.h5", "-q", *CPU).stderr, "")

    def test_what_is_no_warning(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "33x33", "--quiet")
        self.assertEqual(self.ok("p.h5", "-q").stderr, "")
        self.assertEqual(self.ok("p.out.h5", "-q").stderr, "")  # no step is made
        self.assertEqual(self.ok("p.out.h5", "-qf", "--rtol", "1e-10").stderr, "")  # goes on


if __name__ == "__main__":
    unittest.main()
