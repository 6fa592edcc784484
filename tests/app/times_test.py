"""Values in time: sources and driven cells that follow tables."""
import os
import shutil
import unittest

import numpy

from harness import CommandTest, field, h5py

BAD_DATA, USAGE = 65, 64
RUN = ("--device", "cpu", "--force", "--effort", "estimate", "--threads", 2, "-q")
SWITCHED = [[0, 1], [0.05, 1], [0.05, 0]]


class Times(CommandTest):
    def heat(self, u, datasets, name="p.h5", **attributes):
        attributes = {"problem": "heat", "stencil": None, "check_every": 7, **attributes}
        return self.write(name, u, attributes, {k: numpy.asarray(v, float) for k, v in datasets.items()})

    def solved(self, name="p.h5", *arguments):
        self.ok(name, *RUN, "-o", "r.h5", *arguments)
        self.ok("verify", "r.h5", name, "-q")
        return self.read("r.h5")

    def test_switched_source(self):
        """A mode that a source heats until it is switched off, and that decays then: order 2 with dt ~ h²."""
        length, alpha, until, end = 1.0, 0.3, 0.05, 0.125
        errors = []
        for cells in (16, 32, 64):
            x = (numpy.arange(cells) + 0.5) / cells
            mode = numpy.cos(numpy.pi * x)[None, :] * numpy.ones((6, 1))
            decay = alpha * (numpy.pi / length) ** 2
            exact = (1 - numpy.exp(-decay * until)) / decay * numpy.exp(-decay * (end - until))
            self.heat(0 * mode, {"q": mode, "q_factor": SWITCHED}, boundary="mirror", spacing=1 / cells,
                      diffusivity=alpha, dt=0.0025 / (cells / 16) ** 2, time_end=end)
            errors.append(numpy.abs(self.solved() - exact * mode).max())
        for coarse, fine in zip(errors, errors[1:]):
            self.assertAlmostEqual(numpy.log2(coarse / fine), 2, delta=0.2)

    def test_order_in_time(self):
        """Against the same grid in exact time, a ramp of the source is of order 1 in dt."""
        cells, alpha, end = 16, 0.3, 0.125
        x = (numpy.arange(cells) + 0.5) / cells
        mode = numpy.cos(numpy.pi * x)[None, :] * numpy.ones((6, 1))
        decay = alpha * cells ** 2 * (2 - 2 * numpy.cos(numpy.pi / cells))
        exact = (end - (1 - numpy.exp(-decay * end)) / decay) / decay
        errors = []
        for steps in (200, 400, 800):
            self.heat(0 * mode, {"q": mode, "q_factor": [[0, 0], [1, 1]]}, boundary="mirror", spacing=1 / cells,
                      diffusivity=alpha, dt=end / steps, steps=steps)
            errors.append(numpy.abs(self.solved() - exact * mode).max())
        for coarse, fine in zip(errors, errors[1:]):
            self.assertAlmostEqual(numpy.log2(coarse / fine), 1, delta=0.1)

    def test_driven_edge(self):
        """The left edge follows a ramp, the right one stays 0: the Fourier series, order 2 with dt ~ h²."""
        alpha, end, errors = 0.3, 0.25, []
        for cells in (17, 33, 65):
            x = numpy.linspace(0, 1, cells)
            n = numpy.arange(1, 400)[:, None] * numpy.pi
            exact = end * (1 - x) - (2 / n / (alpha * n ** 2) * (1 - numpy.exp(-alpha * n ** 2 * end)) *
                                     numpy.sin(n * x)).sum(0)
            value = numpy.full((6, cells), numpy.nan)
            value[:, 0] = 2.0
            self.heat(numpy.zeros((6, cells)), {"fixed_value": value, "fixed_value_factor": [[0, 0], [1, 0.5]]},
                      boundary=["mirror", "fixed"], spacing=1 / (cells - 1), diffusivity=alpha,
                      dt=0.25 / (200 * ((cells - 1) // 16) ** 2), time_end=end)
            result = self.solved()
            numpy.testing.assert_array_equal(result[:, 0], end)
            errors.append(numpy.abs(result - exact).max())
        for coarse, fine in zip(errors, errors[1:]):
            self.assertAlmostEqual(numpy.log2(coarse / fine), 2, delta=0.25)

    def test_table(self):
        """Before the first row and behind the last one the factor stays; a jump counts from its step on, whatever
        rounding does to the step's time; sums are added in order."""
        for dt in (0.1, 0.3, 1 / 3):
            rows = [[2 * dt, 0.25], [4 * dt, 0.75], [7 * dt, 0.75], [7 * dt, -1], [9 * dt, -2]]
            steps = numpy.arange(14)
            factor = numpy.where(steps < 7, numpy.interp(steps, [2, 4], [0.25, 0.75]),
                                 numpy.interp(steps, [7, 9], [-1, -2]))
            self.heat(numpy.zeros((5, 6)), {"q": numpy.full((5, 6), 2.0), "q_factor": rows,
                                            "q2": numpy.full((5, 6), 0.5)},
                      boundary="mirror", diffusivity=0.1, dt=dt, steps=14)
            numpy.testing.assert_allclose(self.solved(), (2 * dt * factor + 0.5 * dt).sum(), rtol=1e-9)

    def test_plain_weights(self):
        """Without a problem the time is the number of steps."""
        self.write("p.h5", numpy.zeros((7, 9)), {"boundary": "periodic", "steps": 6},
                   {"b": numpy.ones((7, 9)), "b_factor": numpy.array([[0, 1.0], [3, 1], [3, 0]])})
        numpy.testing.assert_allclose(self.solved(), 3, rtol=1e-12)

    def everything(self, dtype="f8", shape=(21, 70)):
        """A problem with three sources, two arrays of driven cells, fixed and insulated ones."""
        u = field(*shape).astype(dtype)
        value = numpy.where(field(*shape) < 0.2, numpy.nan, field(*shape))
        self.heat(u, {"q": field(*shape), "q2": field(*shape) - 0.5, "q2_factor": [[0, 1], [1, -1], [1, 2], [3, 0]],
                      "q3": field(*shape), "q3_factor": [[2, 0], [2, 1]], "fixed_value": value,
                      "fixed_value2": field(*shape), "fixed_value2_factor": [[0, 0], [1.5, 1], [2, -1]]},
                  dt=0.1, steps=40, spacing=1.0, diffusivity=0.5, boundary=["fixed", "mirror", "fixed"][:len(shape)])
        with h5py.File(self.path("p.h5"), "a") as file:
            file["fixed"] = field(*shape) < 0.1
            file["insulated"] = field(*shape) > 0.93

    def test_every_way(self):
        for dtype, shape in (("f8", (21, 70)), ("f4", (7, 9, 70))):
            self.everything(dtype, shape)
            first, residual = self.solved("p.h5", "--sweep", "naive"), self.read("r.h5", "residual")
            for sweep in ("naive", "stream", "pipeline"):
                for sync in ("relaunch", "grid", "neighbor"):
                    parts = ("--parts", 2) if sync == "neighbor" else ()
                    self.ok("p.h5", *RUN, "-o", "s.h5", "--sweep", sweep, "--sync", sync, *parts)
                    self.assertEqual(self.read("s.h5").tobytes(), first.tobytes())
                    self.assertEqual(self.read("s.h5", "residual").tobytes(), residual.tobytes())

    def test_continued(self):
        """Runs in pieces, checkpoints and results go on in the tables; another table is another problem."""
        self.everything()
        first = self.solved()
        self.ok("p.h5", *RUN, "-o", "a.h5", "--steps", 13)
        self.ok("a.h5", *RUN, "-o", "b.h5", "--steps", 40)
        self.ok("verify", "b.h5", "-q")
        self.assertEqual(self.read("b.h5").tobytes(), first.tobytes())
        self.assertEqual(self.read("b.h5", "residual").tobytes(), self.read("r.h5", "residual").tobytes())
        for name in ("q", "q2", "q2_factor", "q3", "fixed_value", "fixed_value2_factor"):
            numpy.testing.assert_array_equal(self.read("b.h5", name), self.read("p.h5", name))
        self.assertEqual(self.attribute("b.h5", "/", "format"), "stencil 3")
        self.ok("p.h5", *RUN, "-o", "c.h5", "--checkpoint-every", 9, "--keep-checkpoints")
        os.makedirs(self.path("moved"), exist_ok=True)
        shutil.copy(self.path("c.ckpt.h5"), self.path("moved/c.ckpt.h5"))
        self.ok("--resume", "moved/c.ckpt.h5", "-q")
        self.assertEqual(self.read("moved/c.h5").tobytes(), first.tobytes())
        with h5py.File(self.path("a.h5"), "a") as file:
            file["q2_factor"][1, 1] = 0.5
        done = self.call("a.h5", *RUN[:-1], "-o", "d.h5", "--steps", 40)
        self.assertIn("table over time", done.stdout + done.stderr)
        self.assertEqual(self.attribute("d.h5", "provenance", "steps_done"), 40)
        self.refused(BAD_DATA, ["/q2_factor"], "verify", "a.h5", "p.h5")

    def test_verify_sees_driven_cells(self):
        self.everything()
        self.solved()
        with h5py.File(self.path("r.h5"), "a") as file:
            file["u"][0, 5:30] += 1.0
        self.assertEqual(self.call("verify", "r.h5", "p.h5").returncode, 1)

    def test_frames(self):
        """A frame's residual is that of the step that follows it, with the factors of that step."""
        self.everything()
        self.ok("p.h5", *RUN, "-o", "r.h5", "--save-every", 4, "--save", "u,residual", "--check-every", 1)
        with h5py.File(self.path("r.series.h5")) as series, h5py.File(self.path("r.h5")) as result:
            history = dict(zip(result["residual_step"], result["residual"]))
            count = None
            for step, residual in zip(series["step"], series["residual"]):
                if step + 1 not in history:
                    continue
                ratio = (residual ** 2).sum() / history[step + 1] ** 2
                count = count or ratio
                self.assertAlmostEqual(ratio / count, 1, places=9)
            self.assertEqual(count, round(count))

    def test_driven_at_the_start(self):
        """/u of driven cells is not looked at: they have their values from the start."""
        results = []
        for start in (0.0, 7.0):
            u = field(9, 11)
            u[:, 0] = start
            value = numpy.full((9, 11), numpy.nan)
            value[:, 0] = 1.0
            self.heat(u, {"fixed_value": value, "fixed_value_factor": [[0, 3], [10, 5]]}, dt=0.1, steps=5)
            results.append(self.solved())
        numpy.testing.assert_array_equal(results[0], results[1])
        self.assertAlmostEqual(results[0][4, 0], 3.1)
        numpy.testing.assert_array_equal(results[0][:, -1], u[:, -1])

    def test_refused(self):
        u, q = field(8, 9), field(8, 9)
        for datasets, wanted, more in (
                ({"q": q, "q_factor": [[0, 0], [1, numpy.nan]]}, "/q_factor[1]", {}),
                ({"q": q, "q_factor": [[0, 0], [numpy.inf, 1]]}, "finite", {}),
                ({"q": q, "q_factor": [[1, 0], [0, 1]]}, "in the order of their times", {}),
                ({"q": q, "q_factor": [[1, 0], [1, 1], [1, 2]]}, "three times", {}),
                ({"q": q, "q_factor": [[1, 0, 2]]}, "give [n][2]", {}),
                ({"q": q, "q_factor": [1, 0, 2]}, "give [n][2]", {}),
                ({"q": q, "q_factor": numpy.zeros((0, 2))}, "give [n][2]", {}),
                ({"q_factor": [[0, 1]]}, "no /q that it is a factor of", {}),
                ({"q": q, "q2_factor": [[0, 1]]}, "no /q2 that it is a factor of", {}),
                ({"q2": q}, "no /q", {}),
                ({"q": q, "q3": q}, "without gaps", {}),
                ({"q": q, "q2": field(8, 8)}, "another shape", {}),
                ({"q": q, "q2": q * numpy.inf}, "NaN or infinite", {}),
                ({"fixed_value": q * numpy.inf}, "NaN or infinite", {}),
                ({"b": q, "b_factor": [[0, 1]]}, "has no time", {"problem": "laplace"}),
                ({"fixed_value": q}, "not for laplace", {"problem": "laplace"})):
            self.heat(u, datasets, dt=0.1, steps=5, **more)
            self.refused(BAD_DATA, [wanted], "p.h5", *RUN)

    def test_refused_by_name(self):
        """A value that is not finite is named by the dataset that has it; one of /fixed_value by a dry run, too."""
        u, q, one, nan = field(8, 9), field(8, 9), numpy.full((8, 9), numpy.nan), numpy.zeros((8, 9))
        one[:, 0] = 1.0
        nan[3, 0] = numpy.nan
        inf, large = one.copy(), one.copy()
        inf[0, 3], large[2, 0] = numpy.inf, 1e39
        more = q.copy()
        more[4, 5] = numpy.inf
        fixed = numpy.zeros((8, 9), bool)
        fixed[4, 4] = True
        inside = numpy.where(fixed, -numpy.inf, numpy.nan)
        for values, datasets, wanted, dry in (
                (u, {"fixed_value": inf}, "/fixed_value[0][3] is NaN or infinite in float64", True),
                (u, {"fixed_value": inf, "q": q}, "/fixed_value[0][3] is", True),
                (u, {"fixed_value": inside, "fixed": fixed}, "/fixed_value[4][4] is", True),
                (u, {"fixed_value": one, "fixed_value2": nan}, "/fixed_value2[3][0] is", False),
                (u, {"fixed_value": one, "fixed_value2": nan, "q": q, "q2": q}, "/fixed_value2[3][0] is", False),
                (u.astype("f4"), {"fixed_value": large}, "/fixed_value[2][0] is NaN or infinite in float32", False),
                (u, {"fixed_value": one, "q": more}, "/q[4][5] is", False),
                (u, {"q": q, "q2": more}, "/q2[4][5] is", False),
                (more, {"q": q, "fixed_value": one}, "/u[4][5] is", False)):
            self.write("p.h5", values, {"problem": "heat", "stencil": None, "dt": 0.1, "steps": 5}, datasets)
            self.refused(BAD_DATA, [wanted], "p.h5", *RUN)
            if dry:
                self.refused(BAD_DATA, [wanted], "p.h5", *RUN, "--dry-run")
            self.assertNotIn("infinite in", self.call("p.h5", *RUN, "--allow-nonfinite", "-o", "r.h5").stderr)

    def test_report(self):
        self.everything()
        text = self.ok("p.h5", *RUN[:-1], "--dry-run").stdout
        self.assertIn("/q2 times a table of 4 rows, t = 0 to 3", text)
        self.assertIn("/fixed_value2 times a table of 3 rows, t = 0 to 2", text)
        self.assertIn("/q as it is", text)
        text = " ".join(self.ok("p.h5", *RUN[:-1], "--dry-run", "--atol", 1e-9).stdout.split())
        self.assertIn("while factors in time have still to change", text)
        self.ok("p.h5", *RUN, "-o", "r.h5")
        self.assertIn("/q2 times a table", self.ok("info", "r.h5").stdout)
        text = " ".join(self.ok("p.h5", *RUN[:-1], "--dry-run", "--sweep", "pipeline").stdout.split())
        self.assertIn("drives no cells", text)

    def test_example(self):
        self.ok("new", "e.h5", "--example", "switched-source", "-q")
        self.ok("e.h5", *RUN, "-o", "r.h5", "--save-times", "0:1:40", "--save-region", "32:33,32:33")
        self.ok("verify", "r.h5", "e.h5", "-q")
        with h5py.File(self.path("r.series.h5")) as series:
            time, heat = series["time"][:], series["u"][:, 0, 0]
        self.assertLess(abs(time[heat.argmax()] - 10), 1.0)
        self.assertTrue((numpy.diff(heat)[:9] > 0).all() and (numpy.diff(heat)[11:] < 0).all())


if __name__ == "__main__":
    unittest.main()
