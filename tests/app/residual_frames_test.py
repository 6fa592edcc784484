"""Frames of the residual: the change that a plain step makes in each cell, equal to what residuals are summed from."""
import json
import os
import random
import unittest

import h5py
import numpy

from checkpoint_test import WAYS
from harness import SLOW
from series_test import SLOWLY, SeriesTest

PROBLEMS = {"heat, mirror": ("--problem", "heat", "--size", "131x23", "--boundary", "fixed,mirror"),
            "heat, 3D": ("--problem", "heat", "--size", "70x9x7", "--boundary", "periodic,fixed,mirror"),
            "poisson": ("--problem", "poisson", "--size", "65x33"),
            "wide": ("--stencil", "j2d49pt", "--size", "31x23", "--boundary", "periodic,fixed"),
            "13 points": ("--stencil", "j3d13pt", "--size", "17x15x13"),
            "float32": ("--stencil", "j3d27pt", "--size", "17x15x13", "--precision", "float32", "--boundary", "mirror")}
# A deterministic choice: all ways for the first problem, one each for the others.
CASES = [("heat, mirror", way) for way in range(len(WAYS))] + [(name, i % len(WAYS)) for i, name in
                                                               enumerate(list(PROBLEMS)[1:])]


def tree(values):
    """Balanced binary tree over the last axis, adjacent values first."""
    while values.shape[-1] > 1:
        values = values[..., 0::2] + values[..., 1::2]
    return values[..., 0]


def padded(values, length):
    return numpy.concatenate([values, numpy.zeros(values.shape[:-1] + (-values.shape[-1] % length,))], axis=-1)


def l2(d, count=None):
    """The residual of the changes of all updated cells, in the order of docs/format.md; `count` of them, where others
    keep their values."""
    rows = padded(d * d, 64)
    value = tree(rows.reshape(rows.shape[:-1] + (-1, 64))).ravel()
    while value.size > 1:
        value = padded(value, 1024).reshape(-1, 4, 256)
        value = tree(((value[:, 0] + value[:, 1]) + value[:, 2]) + value[:, 3])
    return float(numpy.sqrt(value[0] / (count or d.size)))


class ResidualFrames(SeriesTest):
    def residuals(self, name="p.out.series.h5"):
        with h5py.File(self.path(name)) as file:
            self.assertEqual(file["residual"].dtype, "f8")
            self.assertEqual(file["residual"].shape, file["u"].shape)
            self.assertEqual(len(file["step"]), len(file["residual"]))
            return file["step"][()], file["residual"][()]

    def history(self, name="p.out.h5"):
        return dict(zip(self.read(name, "residual_step").tolist(), self.read(name, "residual").tolist()))

    def inner(self, arguments, d):
        """The updated cells of a frame; the others have the residual 0."""
        boundary = arguments[arguments.index("--boundary") + 1].split(",") if "--boundary" in arguments else ["fixed"]
        width = {"j2d49pt": 3, "j3d13pt": 2}.get(arguments[1], 1)
        cut = tuple(slice(width, -width) if (boundary * d.ndim)[i if len(boundary) > 1 else 0] == "fixed"
                    else slice(None) for i in range(d.ndim))
        outside = d.copy()
        outside[cut] = 0
        self.assertFalse(outside.any())
        return d[cut]

    def test_norms(self):
        """The norm of a frame is the residual of the step after it, to the last bit."""
        for name, way in CASES:
            with self.subTest(problem=name, way=way):
                self.clean()
                plain = ("--accelerate", "none") if name == "poisson" else ()
                self.ok("new", "p.h5", *PROBLEMS[name], "--initial", "random", "-q")
                done = self.call("p.h5", *plain, "--steps", 61, "--check-every", 1, "--save-every", 12, "-q",
                                 "--save", "u,residual", *WAYS[way])
                self.assertIn(done.returncode, (0, 2), done.stderr)
                step, residual = self.residuals()
                self.assertEqual(list(step), [0, 12, 24, 36, 48, 60])
                history = self.history()
                for number, frame in zip(step, residual):
                    self.assertEqual(l2(self.inner(PROBLEMS[name], frame)), history[number + 1], number)

    def test_cells_of_several_kinds(self):
        """Cells that keep their values have the residual 0. A run that goes on from a checkpoint has the same bits."""
        for number, example in enumerate(("plate-with-hole", "heated-wall", "chip")):
            with self.subTest(example=example):
                self.clean()
                plain = () if example == "heated-wall" else ("--accelerate", "none")
                self.ok("new", "p.h5", "--example", example, "-q")
                run = ("p.h5", *plain, "--check-every", 1, "-q", "--steps", 61, *WAYS[number])
                done = self.call(*run, "--save-every", 12, "--save", "u,residual", "--checkpoint-every", 20,
                                 "--keep-checkpoints", "--json", "r.json")
                self.assertIn(done.returncode, (0, 2), done.stderr)
                with open(self.path("r.json"), encoding="utf-8") as file:
                    problem = json.load(file)["problem"]
                step, residual = self.residuals()
                u, history = self.frames("p.out.series.h5")[2], self.history()
                self.assertEqual(list(step), [0, 12, 24, 36, 48, 60])
                with h5py.File(self.path("p.h5")) as file:
                    kept = numpy.zeros(u.shape[1:], dtype=bool)
                    for name in {"fixed", "insulated"} & set(file):
                        kept |= file[name][()] != 0
                self.assertTrue(kept.any())
                for before, frame, value in zip(step, residual, u):
                    self.assertFalse(frame[kept].any())
                    self.assertTrue(numpy.array_equal(value[kept], u[0][kept]))
                    if example == "plate-with-hole":
                        self.assertEqual(l2(frame[1:-1, 1:-1], problem["updated_cells"]), history[before + 1])
                    norm = numpy.sqrt((frame ** 2).sum() / problem["updated_cells"])
                    self.assertAlmostEqual(norm / history[before + 1], 1, delta=1e-12)
                whole = self.read("p.out.h5")
                os.rename(self.path("p.out.h5"), self.path("whole.h5"))
                done = self.call("--resume", "p.out.ckpt.prev.h5", "-q", *WAYS[number + 1])
                self.assertIn(done.returncode, (0, 2), done.stderr)
                self.assertTrue(numpy.array_equal(self.read("p.out.h5").view("u8"), whole.view("u8")))
                self.assertEqual(self.history(), history)
                self.ok("verify", "p.out.h5")

    def test_differences(self):
        """They are differences of frames; a source, regions, strides and packing included."""
        self.write("p.h5", numpy.random.default_rng(5).random((40, 30)).astype("f4"), {"stencil": "j2d9pt"},
                   {"b": numpy.random.default_rng(6).random((40, 30)).astype("f4")})
        self.ok("p.h5", "-o", "all.h5", "--steps", 5, "--save-every", 1, "--save", "residual,u", "-q", *WAYS[2])
        u, residual = self.frames("all.series.h5")[2].astype("f8"), self.residuals("all.series.h5")[1]
        self.assertTrue(numpy.array_equal(residual[:-1], u[1:] - u[:-1]))
        self.assertTrue(residual[-1].any())
        self.ok("p.h5", "--steps", 5, "--save-every", 5, "--save", "u,residual", "--save-region", "3:20,:30",
                "--save-stride", "2,3", "--compress", "-q", *WAYS[1])
        self.assertTrue(numpy.array_equal(self.residuals()[1], residual[::5, 3:20:2, :30:3]))
        self.ok("p.h5", "-o", "u.h5", "--steps", 5, "--save-every", 5, "--save", "u", "-q")
        with h5py.File(self.path("u.series.h5")) as file:
            self.assertNotIn("residual", file)

    def test_points_of_zero_weight(self):
        """Points that only complete the set read no cells beyond the array."""
        self.write("p.h5", numpy.random.default_rng(5).random((20, 30)),
                   {"stencil": None, "boundary": ["periodic", "fixed"]},
                   {"stencil/offsets": numpy.array([[0, 0], [0, 2], [1, 0]], "i4"),
                    "stencil/weights": numpy.array([0.25, 0.5, 0.25])})
        self.ok("p.h5", "--steps", 4, "--save-every", 1, "--save", "u,residual", "-q", *WAYS[3])
        u, residual = self.frames()[2], self.residuals()[1]
        self.assertTrue(numpy.array_equal(residual[:-1], u[1:] - u[:-1]))
        self.assertEqual(self.attribute("p.out.h5", "provenance", "strategy").split(",")[0].strip(), "neighbor")

    def test_extreme_values(self):
        """Values whose squares overflow: a run scales its cells, and frames have none of that."""
        self.write("p.h5", 1e200 * numpy.random.default_rng(5).random((20, 30)), {"stencil": "j2d5pt"})
        self.ok("p.h5", "--steps", 4, "--check-every", 1, "--save-every", 1, "--save", "u,residual", "-q")
        u, residual = self.frames()[2], self.residuals()[1]
        self.assertTrue(numpy.array_equal(residual[:-1], u[1:] - u[:-1]))
        self.assertEqual(l2(residual[0, 1:-1, 1:-1] * 2.0**-512) / 2.0**-512, self.history()[1])

    def test_accelerated(self):
        """A frame of an accelerated problem has what a plain step would change."""
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "65x65", "-q")
        self.ok("p.h5", "--save-every", 64, "--save", "u,residual", "-q")
        step, residual = self.residuals()
        u = self.frames()[2]
        with h5py.File(self.path("p.h5")) as file:
            f, h = file["f"][()], 1 / 64
        for now, found in zip(u, residual):
            wanted = (now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2]) / 4 - now[1:-1, 1:-1]
            wanted += h * h / 4 * f[1:-1, 1:-1]
            self.assertLess(abs(found[1:-1, 1:-1] - wanted).max(), 1e-15)
        self.assertGreater(len(step), 3)
        self.assertLess(l2(residual[-1, 1:-1, 1:-1]), 1e-6 * l2(residual[0, 1:-1, 1:-1]))

    def test_readers(self):
        self.ok("new", "p.h5", "--problem", "heat", "--size", "13x9x7", "--initial", "random", "-q")
        self.ok("p.h5", "--steps", 40, "--save-every", 20, "--save", "u,residual", "-q")
        residual = self.residuals()[1]
        report = json.loads(self.ok("info", "p.out.series.h5", "--json", "-").stdout)
        self.assertEqual(report["arrays"], ["u", "residual"])
        self.assertIn("residual", self.ok("info", "p.out.series.h5").stdout)
        try:
            import xarray
        except ImportError:
            self.skipTest("xarray is not installed")
        with xarray.open_dataset(self.path("p.out.series.h5"), engine="netcdf4") as file:
            self.assertEqual(file["residual"].dims, ("time", "z", "y", "x"))
            self.assertTrue(numpy.array_equal(file["residual"].values, residual))

    def test_many(self):
        """More frames than a node of each index has entries."""
        self.ok("new", "p.h5", "--stencil", "j2d5pt", "--size", "5x4", "--initial", "random", "-q")
        self.ok("p.h5", "--steps", 2100, "--save-every", 1, "--save", "u,residual", "-q")
        u, residual = self.frames()[2], self.residuals()[1]
        self.assertEqual(len(u), 2101)
        self.assertTrue(numpy.array_equal(residual[:-1], u[1:] - u[:-1]))

    def test_refused(self):
        self.make("p.h5", "--steps", 10)
        for value in ("residual", "b", "u,", "u,u", ""):
            self.refused(64, ["--save"], "p.h5", "--save-every", 5, f"--save={value}")
        self.refused(64, ["--save has no effect"], "p.h5", "--save", "u,residual")

    def test_killed(self):
        """A resumed run leaves no gap and no duplicate in either array; the options go on with the checkpoint."""
        self.make("p.h5", "--size", "300x200", "--steps", 90, "--check-every", 4)
        self.ok("p.h5", "-o", "whole.h5", "--save-every", 2, "--save", "u,residual", "-q")
        wanted, rng, resumed = self.residuals("whole.series.h5"), random.Random(3), 0
        for number in range(3 if SLOW else 6):
            self.clean("p.h5", "whole.h5", "whole.series.h5")
            process = self.start("p.h5", "--checkpoint-every", 6, "--save-every", 2, "--save", "u,residual", "-q",
                                 *SLOWLY)
            self.wait_for("p.out.ckpt.h5", process)
            self.kill(process, 0.3 * rng.random(), number % 2 == 0)
            step, residual = self.residuals()
            self.assertTrue(numpy.array_equal(step, wanted[0][:len(step)]))
            self.assertTrue(numpy.array_equal(residual, wanted[1][:len(step)]))
            if os.path.exists(self.path("p.out.h5")):
                continue
            resumed += 1
            self.ok("--resume", "p.out.ckpt.h5", "-qf")
            self.same("whole.h5", "p.out.h5")
            for found, one in zip(self.residuals(), wanted):
                self.assertTrue(numpy.array_equal(found, one))
        self.assertGreater(resumed, 1)


if __name__ == "__main__":
    unittest.main()
