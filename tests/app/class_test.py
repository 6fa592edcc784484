"""Cells of /class have the weights that their row of /stencil/weights says; nothing else changes."""
import json
import unittest

import numpy

from harness import CommandTest, field, h5py

BAD_DATA = 65
RUN = ("--device", "cpu", "--force", "--effort", "estimate", "--threads", 2)


def made(u, rows, kinds, offsets, fixed=None):
    """One step on a periodic field, of weights rows[kind][point]."""
    result = numpy.zeros_like(u)
    for k, offset in enumerate(offsets):
        result += rows[kinds, k] * numpy.roll(u, [-o for o in offset], range(u.ndim))
    return result if fixed is None else numpy.where(fixed, u, result)


class Class(CommandTest):
    def problem(self, u, weights, kinds, name="p.h5", extra=None, **attributes):
        return self.write(name, u, {"steps": 40, "check_every": 7, **attributes},
                          {"stencil/weights": weights, "class": kinds, **(extra or {})})

    def solved(self, name="p.h5", *arguments, code=0):
        self.ok(name, *RUN, "-o", "r.h5", *arguments, code=code)
        self.ok("verify", "r.h5", name)
        return self.read("r.h5")

    def test_a_step(self):
        """Against NumPy, with points in an order of their own, and fixed cells beside."""
        offsets = numpy.array([(0, 1), (0, 0), (-1, 0), (0, -1), (1, 0)])
        u, rows = field(40, 150), numpy.random.default_rng(1).uniform(-0.2, 0.2, (5, 5))
        kinds = (field(40, 150) * 4.99).astype(int)
        fixed = field(40, 150)[::-1] < 0.2
        self.problem(u, rows, kinds, stencil=None, boundary="periodic", steps=1,
                     extra={"stencil/offsets": offsets, "fixed": fixed})
        numpy.testing.assert_allclose(self.solved(), made(u, rows, kinds, offsets, fixed), atol=1e-15)
        numpy.testing.assert_array_equal(self.read("r.h5", "class"), kinds)
        numpy.testing.assert_array_equal(self.read("r.h5", "stencil/weights"), rows)

    def test_every_way(self):
        """Sweeps, strategies, parts and threads give the same bits and the same residuals, with 252 rows, too."""
        rows = numpy.random.default_rng(2).uniform(-0.1, 0.1, (252, 9))
        kinds = numpy.where(field(50, 333) < 0.3, (field(50, 333) * 1e4).astype(int) % 252, 251)
        self.problem(field(50, 333), rows, kinds, boundary=["periodic", "mirror"], stencil="j2d9pt")
        self.same_every_way("p.h5", RUN, self.solved("p.h5", "--sweep", "naive"))

    def test_one_row(self):
        """Rows that are all alike change nothing: the bits are those of a list of weights."""
        u, weights = field(30, 170), numpy.array([0.1, 0.2, 0.3, 0.15, 0.05])
        self.problem(u, numpy.tile(weights, (3, 1)), (field(30, 170) * 2.99).astype(int))
        with_classes = self.solved()
        self.write("q.h5", u, {"steps": 40, "check_every": 7}, {"stencil/weights": weights})
        self.assertEqual(self.solved("q.h5").tobytes(), with_classes.tobytes())

    def test_two_conductivities(self):
        """Between plates of which one conducts three times as well, the flux is the same: the exact profile, whose
        kink lies half-way between two cells, with the harmonic mean between them."""
        nx, half = 40, 20
        k = numpy.where(numpy.arange(nx) < half, 1.0, 3.0)
        face = 2 * k[:-1] * k[1:] / (k[:-1] + k[1:])          # between i and i + 1
        rows, kinds = [], numpy.zeros((9, nx), int)
        for i in range(1, nx - 1):
            west, east = face[i - 1], face[i]
            row = [k[i], west, 0, east, k[i]]
            kinds[:, i] = rows.index(row) if row in rows else len(rows)
            rows += [row] if row not in rows else []
        rows = numpy.array(rows)
        rows /= rows.sum(1, keepdims=True)
        u = numpy.zeros((9, nx))
        u[:, -1] = 1
        self.problem(u, rows, kinds, boundary=["periodic", "fixed"], steps=100000, rtol=1e-13, check_every=100)
        flux = 1 / (1 / face).sum()
        exact = numpy.concatenate([[0], numpy.cumsum(flux / face)])
        numpy.testing.assert_allclose(self.solved(), numpy.tile(exact, (9, 1)), atol=1e-9)

    def test_example(self):
        """A disc that conducts ten times as well, as `stencil new` writes it: a square array of such discs conducts as
        Rayleigh found (Philosophical Magazine 34, 1892)."""
        for options, shape in (((), (97, 97)), (("--size", "33x33x5", "--precision", "float32", "--rtol", "1e-5"), (5, 33, 33))):
            self.ok("new", "e.h5", "--force", "--example", "two-materials", *options)
            self.assertEqual(self.attribute("e.h5", "/", "format"), "stencil 2")
            u = self.solved("e.h5")
            self.assertEqual(u.shape, shape)
            numpy.testing.assert_allclose(u, u[..., ::-1, :], atol=1e-5)
            cells = shape[-1] - 1
            part = numpy.pi * (cells / 4) ** 2 / (cells * (cells + 1))
            many = 2 * part / (11 / 9 - part - 9 / 11 * (0.305827 * part ** 4 + 0.013363 * part ** 8))
            self.assertAlmostEqual((u[..., 0] - u[..., 1]).mean() * cells, 1 + many, delta=0.5 / cells)
        self.refused(64, ["two-materials", "--problem"], "new", "n.h5", "--example", "two-materials", "--problem", "heat")

    def test_refused(self):
        u, rows, kinds = field(30, 40), numpy.full((3, 5), 0.2), numpy.ones((30, 40), int)
        strange = kinds.copy()
        strange[7, 9] = 3
        for weights, given, attributes, wanted in (
                (rows, kinds + 0.5, {}, "give integers, the numbers of rows (in NumPy: .astype(int))"), (rows, kinds[:, 1:], {}, "another shape"),
                (rows, strange, {}, "/class[7, 9] names no row"), (rows, -strange, {}, "names no row"),
                (rows[0], kinds, {}, "is a list"), (rows, None, {}, "give /class"),
                (numpy.full((257, 5), 0.2), kinds, {}, "257 rows"), (numpy.zeros((0, 5)), kinds, {}, "has 0 rows; give one"),
                (numpy.zeros((3, 0)), kinds, {}, "has 0 entries"), (rows[:, :4], kinds, {}, "has 5 points"),
                (numpy.full((3, 5), numpy.inf), kinds, {}, "finite"),
                (rows, kinds, {"problem": "laplace", "stencil": None}, "derives its weights itself")):
            extra = {"stencil/weights": weights, **({} if given is None else {"class": given})}
            self.write("p.h5", u, {"steps": 4, **attributes}, extra)
            with self.subTest(wanted):
                self.refused(BAD_DATA, [wanted], "p.h5", *RUN)

    def test_continued(self):
        """A run in pieces has the bits of one that ran through; other rows or cells are another problem."""
        kinds = (field(31, 77) * 2.99).astype(int)
        rows = numpy.random.default_rng(3).uniform(-0.2, 0.2, (3, 5))
        self.problem(field(31, 77), rows, kinds)
        through = self.solved()
        self.ok("p.h5", *RUN, "-o", "a.h5", "--steps", 13)
        self.ok("a.h5", *RUN, "-o", "b.h5", "--steps", 40)
        self.assertEqual(self.read("b.h5").tobytes(), through.tobytes())
        self.ok("verify", "b.h5")
        with h5py.File(self.path("a.h5"), "a") as file:
            file["class"][3, 3] = (file["class"][3, 3] + 1) % 3
        done = self.call("a.h5", *RUN, "-o", "c.h5", "--steps", 40)
        self.assertIn("/class was changed after the file's 13 steps", done.stderr + done.stdout)
        self.assertEqual(self.call("verify", "a.h5", "p.h5").returncode, 1)
        rows[2, 2] += 1e-9
        self.problem(field(31, 77), rows, kinds, name="o.h5")
        self.refused(BAD_DATA, ["other /stencil/weights"], "verify", "b.h5", "o.h5")

    def test_reported(self):
        self.problem(field(30, 40), numpy.full((2, 5), 0.2), numpy.arange(1200).reshape(30, 40) % 4 == 0)
        text = self.ok("p.h5", *RUN, "-o", "r.h5", "--json", "r.json").stdout
        self.assertIn("252 of them with weights of their own", text)
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["problem"]["class_cells"], 28 * 9)


if __name__ == "__main__":
    unittest.main()
