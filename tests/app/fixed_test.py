"""Cells of /fixed keep their values, wherever they are; nothing else changes."""
import json
import unittest

import numpy

from harness import CommandTest, field, h5py

BAD_DATA = 65
RUN = ("--device", "cpu", "--force", "--effort", "estimate", "--threads", 2)


def ring(cells, inner, outer):
    """A square of [-1, 1]² with hot cells up to one radius and cold ones from another on: their u, /fixed, and the
    exact solution between them, linear in log r."""
    x = numpy.linspace(-1, 1, cells)
    r = numpy.hypot(*numpy.meshgrid(x, x))
    fixed = (r <= inner) | (r >= outer)
    exact = numpy.log(numpy.maximum(r, 1e-9) / outer) / numpy.log(inner / outer)
    return r, fixed, exact, 2 / (cells - 1)


class Fixed(CommandTest):
    def problem(self, u, fixed, name="p.h5", **attributes):
        return self.write(name, u, {"steps": 40, "check_every": 7, **attributes}, {"fixed": fixed})

    def solved(self, name="p.h5", *arguments, code=0):
        self.ok(name, *RUN, "-o", "r.h5", *arguments, code=code)
        self.ok("verify", "r.h5", name)
        return self.read("r.h5")

    def test_types(self):
        """Truth values, and integers of any size and sign, are the same mask; chunked and packed ones, too."""
        u, mask = field(30, 150), field(30, 150) < 0.3
        results = []
        for values in (mask, mask.astype("i1") * -1, mask.astype("u2") * 300, mask.astype(">i8") << 40):
            self.problem(u, values)
            results.append(self.solved())
        with h5py.File(self.path("p.h5"), "a") as file:
            del file["fixed"]
            file.create_dataset("fixed", data=mask, chunks=(7, 40), compression="gzip", shuffle=True)
        results.append(self.solved())
        for result in results:
            numpy.testing.assert_array_equal(result, results[0])
            numpy.testing.assert_array_equal(result[mask], u[mask])
        self.assertFalse((results[0][1:-1, 1:-1] == u[1:-1, 1:-1])[~mask[1:-1, 1:-1]].any())

    def test_refused(self):
        u = field(30, 40)
        for values, wanted in ((numpy.zeros((30, 40)), "give truth values or integers"),
                               (numpy.zeros((30, 41), bool), "another shape"), (numpy.zeros(1200, bool), "another shape"),
                               (numpy.ones((30, 40), bool), "no cell to update")):
            self.problem(u, values)
            self.refused(BAD_DATA, ["/fixed", wanted], "p.h5", *RUN)

    def test_bits(self):
        """Signs of zeros stay, NaN among fixed cells reaches no other cell and no residual."""
        u, mask = field(40, 200), numpy.zeros((40, 200), bool)
        mask[10:20, 50:150] = True
        u[10:20, 50:150] = -0.0
        u[13:17, 60:140] = numpy.nan
        self.problem(u, mask)
        self.refused(BAD_DATA, ["NaN"], "p.h5", *RUN)
        for sweep in ("naive", "stream", "pipeline"):
            result = self.solved("p.h5", "--allow-nonfinite", "--sweep", sweep)
            self.assertEqual(result[mask].tobytes(), u[mask].tobytes())
            self.assertTrue(numpy.isfinite(result[~mask]).all())
            self.assertTrue(numpy.isfinite(self.read("r.h5", "residual")).all())

    def test_every_way(self):
        """Sweeps, strategies, parts and threads give the same bits and the same residuals."""
        self.problem(field(50, 333), field(50, 333) < 0.1, boundary=["periodic", "mirror"], stencil="j2d9pt")
        self.same_every_way("p.h5", RUN, self.solved("p.h5", "--sweep", "naive"))

    def test_residual_counts_updated_cells(self):
        u, mask = numpy.zeros((12, 14)), numpy.ones((12, 14), bool)
        u[5, 5], mask[5, 6], mask[8, 8] = 3.0, False, False
        self.problem(u, mask, steps=1, check_every=1, boundary="periodic")
        self.solved()
        numpy.testing.assert_allclose(self.read("r.h5", "residual"), [numpy.sqrt((3 / 5) ** 2 / 2)])
        self.ok("p.h5", *RUN, "-o", "r.h5", "--json", "r.json")
        with open(self.path("r.json"), encoding="utf-8") as file:
            problem = json.load(file)["problem"]
        self.assertEqual((problem["updated_cells"], problem["kept_cells"]), (2, 12 * 14 - 2))

    def test_source(self):
        """A source has no effect on fixed cells, nor on what rtol is relative to."""
        u, mask, f = numpy.zeros((20, 30)), field(20, 30) < 0.2, field(20, 30)
        cleared = numpy.where(mask, 0, f)
        results = []
        for source in (f, cleared):
            self.write("p.h5", u, {"stencil": None, "problem": "poisson", "rtol": 1e-3, "check_every": 5},
                       {"fixed": mask, "f": source})
            results.append(self.solved())
            results.append(self.attribute("r.h5", "/", "residual_first"))
            results.append(self.attribute("r.h5", "/", "digest_b"))
        numpy.testing.assert_array_equal(results[0], results[3])
        self.assertEqual(results[1:3], results[4:6])
        self.assertTrue((results[0][mask] == 0).all())

    def test_continued(self):
        """A run in pieces has the bits and the history of one that ran through; another mask is another problem."""
        mask = field(31, 77) < 0.2
        self.problem(field(31, 77), mask, problem="laplace", stencil=None, rtol=1e-9)
        through = self.solved(code=2)
        history = self.read("r.h5", "residual").tobytes()
        self.ok("p.h5", *RUN, "-o", "a.h5", "--steps", 13, code=2)
        self.ok("a.h5", *RUN, "-o", "b.h5", "--steps", 40, code=2)
        self.assertEqual(self.read("b.h5").tobytes(), through.tobytes())
        self.assertEqual(self.read("b.h5", "residual").tobytes(), history)
        numpy.testing.assert_array_equal(self.read("b.h5", "fixed"), mask)
        self.ok("verify", "b.h5")
        with h5py.File(self.path("a.h5"), "a") as file:
            file["fixed"][3, 3] = not file["fixed"][3, 3]
        done = self.call("a.h5", *RUN, "-o", "c.h5", "--steps", 40)
        self.assertIn("/fixed was changed after the file's 13 steps", done.stderr + done.stdout)
        self.assertEqual(self.attribute("c.h5", "provenance", "steps_done"), 40)
        self.assertEqual(self.call("verify", "a.h5", "p.h5").returncode, 1)
        self.assertIn("/fixed", self.call("verify", "a.h5", "p.h5").stdout)

    def test_dry_run_counts_memory(self):
        def memory(name):
            self.ok(name, *RUN, "--dry-run", "--json", "d.json")
            with open(self.path("d.json"), encoding="utf-8") as file:
                return json.load(file)["plan"]["memory_bytes"]["host_need"]
        self.problem(numpy.zeros((300, 400)), field(300, 400) < 0.2)
        self.write("q.h5", numpy.zeros((300, 400)), {"steps": 40, "check_every": 7})
        self.assertGreater(memory("p.h5"), memory("q.h5") + 300 * 400)
        text = self.ok("p.h5", *RUN, "--dry-run").stdout
        self.assertIn("kept as they are (/fixed)", text)

    def test_without_effect(self):
        """A mask without a cell costs nothing and changes nothing but the fingerprint."""
        u = field(30, 40)
        self.problem(u, numpy.zeros((30, 40), bool))
        with_mask = self.solved()
        self.write("p.h5", u, {"steps": 40, "check_every": 7})
        self.assertEqual(self.solved().tobytes(), with_mask.tobytes())

    def test_example(self):
        """A plate with a hole and two electrodes, as `stencil new` writes it: antisymmetric about the middle."""
        for options, shape in (((), (257, 257)), (("--size", "65x33", "--precision", "float32"), (33, 65)),
                               (("--size", "33x33x5", "--boundary", "mirror,fixed,fixed"), (5, 33, 33))):
            self.ok("new", "e.h5", "--force", "--example", "plate-with-hole", *options)
            u, fixed = self.read("e.h5"), self.read("e.h5", "fixed") != 0
            self.assertEqual(u.shape, shape)
            self.assertEqual(sorted(set(u[fixed])), [-1, 0, 1])
            result = self.solved("e.h5")
            numpy.testing.assert_array_equal(result[fixed], u[fixed])
            numpy.testing.assert_allclose(result, -result[..., ::-1], atol=1e-3)
            self.assertGreater(abs(result[~fixed]).max(), 0.5)
        self.refused(64, ["--initial", "plate-with-hole"], "new", "n.h5", "--example", "plate-with-hole", "--initial",
                     "random")

    def test_ring(self):
        """Between two circles the solution is linear in log r. Cells are fixed by their centres, so outlines are as
        rough as the grid: first order."""
        errors = []
        for cells in (33, 65, 129):
            r, fixed, exact, h = ring(cells, 0.3, 0.95)
            u = numpy.where(r <= 0.3, 1.0, 0.0)
            self.write("p.h5", u, {"stencil": None, "problem": "laplace", "spacing": h, "rtol": 1e-7,
                                   "accelerate": "chebyshev"}, {"fixed": fixed})
            result = self.solved()
            errors.append(abs(result - exact)[~fixed].max())
        self.assertLess(errors[-1], 0.03)
        self.assertLess(errors[-1], 0.6 * errors[0])

    def test_ring_exact_values(self):
        """With the exact solution in all fixed cells outlines do not matter: order 2."""
        errors = []
        for cells in (17, 33, 65, 129):
            _, fixed, exact, h = ring(cells, 0.3, 0.95)
            self.write("p.h5", numpy.where(fixed, exact, 0), {
                "stencil": None, "problem": "laplace", "spacing": h, "rtol": 1e-10, "accelerate": "chebyshev"},
                {"fixed": fixed})
            result = self.solved()
            errors.append(numpy.sqrt(((result - exact)[~fixed] ** 2).mean()))
        for coarse, fine in zip(errors[1:], errors[2:]):
            self.assertGreater(numpy.log2(coarse / fine), 1.6)

    def test_lowest_mode_of_an_l(self):
        """Heat in an L of three unit squares decays by its lowest mode, whose eigenvalue is 9.6397238440219…
        (L. Fox, P. Henrici, C. Moler, SIAM J. Numer. Anal. 4, 1967; L. N. Trefethen, T. Betcke, 2006)."""
        cells = 65
        h = 2 / (cells - 1)
        x = numpy.linspace(-1, 1, cells)
        fixed = (x[None, :] >= 0) & (x[:, None] >= 0)
        u = numpy.where(fixed, 0, numpy.cos(numpy.pi * x / 2)[None, :] * numpy.cos(numpy.pi * x / 2)[:, None])
        u[0] = u[-1] = u[:, 0] = u[:, -1] = 0
        self.write("p.h5", u, {"stencil": None, "problem": "heat", "spacing": h}, {"fixed": fixed})
        dt = h * h / 4
        norms = [numpy.linalg.norm(self.solved("p.h5", "--steps", steps)) for steps in (3000, 3400)]
        # explicit Euler: each step leaves 1 - dt lambda of a mode
        found = (1 - (norms[1] / norms[0]) ** (1 / 400)) / dt
        self.assertAlmostEqual(found / 9.6397238440219, 1, delta=0.006)


if __name__ == "__main__":
    unittest.main()
