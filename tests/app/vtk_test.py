"""Results and series as VTK's own reader finds them, which is ParaView's: $STENCIL_VTK is a Python that has VTK."""
import json
import os
import subprocess
import sys
import unittest

import h5py
import numpy

from series_test import FLAT_2D, FLAT_3D, SLOWLY, SeriesTest

PYTHON = os.environ.get("STENCIL_VTK", sys.executable)
SCRIPT = os.path.join(os.path.dirname(__file__), "vtk_read.py")


class ReadByVtk(SeriesTest):
    def look(self, name, array="u"):
        """All frames of an array, and what VTK says of the image."""
        out = subprocess.run([PYTHON, SCRIPT, name, array], cwd=self.directory, stdout=subprocess.PIPE, timeout=240,
                             stderr=subprocess.PIPE, encoding="utf-8")
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertEqual(out.stderr, "")
        return numpy.load(self.path("found.npy")), json.loads(out.stdout)

    def check(self, name, size, spacing, origin=(0, 0, 0), array="u", times=None):
        """The cells, their places and times; sizes, spacings and origins are in the order x, y, z."""
        found, said = self.look(name, array)
        cells = self.read(name, array)
        self.assertEqual(said["dimensions"], list(size) + [1] * (3 - len(size)))
        self.assertEqual(found.dtype, cells.dtype)
        self.assertTrue(numpy.array_equal(found, cells.reshape(found.shape)), name)
        self.assertTrue(numpy.allclose(said["spacing"][:len(size)], spacing, rtol=1e-14))
        self.assertTrue(numpy.allclose(said["origin"], origin, rtol=1e-14))
        self.assertEqual(said["steps"], 1 if times is None else len(times))
        if times is not None:
            self.assertTrue(numpy.allclose(said["times"], times, rtol=1e-14))

    def test_results(self):
        for size, axes in (("31x23", 2), ("13x9x7", 3)):
            extent = [int(n) for n in size.split("x")]
            self.clean()
            self.ok("new", "p.h5", "--problem", "heat", "--size", size, "--initial", "random", "-q")
            self.ok("p.h5", "--steps", 40, "-q")
            self.check("p.out.h5", extent, [1 / (n - 1) for n in extent])
            self.ok("p.out.h5", "--steps", 50, "-q")  # a result of a result
            self.check("p.out2.h5", extent, [1 / (n - 1) for n in extent])

    def test_walls(self):
        """Cells beside mirrored walls stand half a cell inside; float32, and spacings of the user's own."""
        self.ok("new", "p.h5", "--problem", "heat", "--size", "31x23", "--boundary", "mirror,periodic", "--precision",
                "float32", "--spacing", "0.5,0.25", "-q")
        self.ok("p.h5", "--steps", 40, "--save-every", 20, "-q", "--save-region", "4:,6:20", "--save-stride", "3,2")
        self.check("p.out.h5", (31, 23), (0.25, 0.5), (0, 0.25, 0))
        dt = self.attribute("p.out.h5", "/", "dt")
        self.check("p.out.series.h5", (7, 7), (0.5, 1.5), (1.5, 2.25, 0), times=dt * numpy.array([0, 20, 40]))

    def test_series(self):
        for size in ("31x23", "13x9x7"):
            extent = [int(n) for n in size.split("x")]
            self.clean()
            self.ok("new", "p.h5", "--problem", "heat", "--size", size, "--initial", "random", "-q")
            self.ok("p.h5", "--steps", 100, "--save-every", 20, "--save", "u,residual", "-q")
            times = self.attribute("p.out.h5", "/", "dt") * numpy.arange(0, 101, 20)
            for array in ("u", "residual"):
                self.check("p.out.series.h5", extent, [1 / (n - 1) for n in extent], array=array, times=times)
            self.ok("p.h5", "--steps", 100, "--save-every", 20, "--compress", "-qf")
            self.check("p.out.series.h5", extent, [1 / (n - 1) for n in extent], times=times)

    def test_named_field(self):
        """A field of another name has it in the image, too, of results and of series, also of resumed ones."""
        self.named("t.h5", "temperature")
        self.ok("t.h5", "--save-every", 20, "--save", "u,residual", "--checkpoint-every", 30, "--keep-checkpoints", "-q")
        times = self.attribute("t.out.h5", "/", "dt") * numpy.arange(0, 101, 20)
        for resumed in False, True:
            self.check("t.out.h5", (31, 23), (1 / 30, 1 / 22), array="temperature")
            for array in "temperature", "residual":
                self.check("t.out.series.h5", (31, 23), (1 / 30, 1 / 22), array=array, times=times)
            if not resumed:
                self.ok("--resume", "t.out.ckpt.prev.h5", "-qf")

    def check_places(self, problem, *save):
        """The cells of a part of the field, each at its place, and their times."""
        self.ok(problem, "--steps", 40, "--save-every", 20, "--save", "u,residual", "-qf", *save)
        with h5py.File(self.path("p.out.series.h5")) as file:
            axes = [file[name][()] if name in file else numpy.zeros(1) for name in "zyx"]
            places = numpy.stack(numpy.meshgrid(*axes, indexing="ij")[::-1], axis=-1).reshape(-1, 3)
            for array in "u", "residual":
                found, said = self.look("p.out.series.h5", array)
                self.assertEqual(found.dtype, file[array].dtype)
                self.assertTrue(numpy.array_equal(found, file[array][()].reshape(found.shape)), save)
                self.assertTrue(numpy.allclose(numpy.load(self.path("points.npy")), places, rtol=1e-14), save)
                self.assertTrue(numpy.array_equal(said["times"], file["time"]))

    def test_one_cell_along_an_axis(self):
        """Planes, lines and single cells: VTK drops axes of one cell, unless it is x."""
        self.ok("new", "p.h5", "--problem", "heat", "--size", "30x20x16", "--initial", "random", "--boundary",
                "fixed,mirror,periodic", "--spacing", "0.5,0.25,0.125", "-q")
        for i, region in enumerate(FLAT_3D):
            self.check_places("p.h5", "--save-region", region, *(("--compress",) if i % 2 else ()))
        for stride in "40,1,1", "1,40,1", "1,1,40", "40,40,3", "3,40,40", "40":
            self.check_places("p.h5", "--save-stride", stride)
        self.ok("new", "p.h5", "--problem", "heat", "--size", "30x20", "--initial", "random", "--precision", "float32", "-qf")
        for region in FLAT_2D:
            self.check_places("p.h5", "--save-region", region)
        self.check_places("p.h5", "--save-stride", "40")

    def test_large_planes(self):
        """Frames of several chunks."""
        self.ok("new", "p.h5", "--problem", "heat", "--size", "1100x5x1100", "--initial", "random", "-q")
        for save in ("--compress", "--save-region", ":,2:3,:"), ("--compress", "--save-region", ":,2:3,7:1000"):
            self.check_places("p.h5", *save)
            with h5py.File(self.path("p.out.series.h5")) as file:
                self.assertLess(file["u"].chunks[1], 1100)
                self.assertEqual(file["VTKHDF/PointData/u"].chunks, file["u"].chunks[:2] + file["u"].chunks[3:])

    def test_while_it_runs(self):
        """VTK reads a series that grows with every step, and one whose run was killed."""
        for save in (), ("--save-region", "3:4,:"):
            self.clean()
            self.grow(*save)

    def grow(self, *save):
        self.make("p.h5", "--steps", 40000, "--check-every", 40000)
        # The run, of ten minutes if it were left alone, outlasts the reader on any machine.
        process, counts = self.start("p.h5", "--save-every", 1, "-q", *save, *SLOWLY[:-1], 10 * SLOWLY[-1]), []
        self.wait_for("p.out.series.h5", process)
        while len((self.frames(live=True) or [()])[0]) < 2:  # VTK reads no series of one frame
            pass
        while len(set(counts)) < 5 and process.poll() is None:
            found, said = self.look("p.out.series.h5")
            counts.append(said["steps"])
            self.assertEqual(len(found), said["steps"])
            self.assertTrue(found.any(axis=1).all())
        self.assertIsNone(process.poll(), counts)
        self.assertEqual(counts, sorted(counts))
        process.kill()
        process.communicate()
        found, said = self.look("p.out.series.h5")
        self.assertTrue(numpy.array_equal(found, self.frames(complete=False)[2].reshape(found.shape)))


if __name__ == "__main__":
    if subprocess.run([PYTHON, "-c", "import vtkmodules"], stderr=subprocess.DEVNULL).returncode != 0:
        print("VTK is not installed: ./dev test does that")
        sys.exit(1 if os.environ.get("STENCIL_VTK_NEEDED") else 77)
    unittest.main()
