"""Series of frames: what plain readers find in them, at any moment, and after a run was killed or resumed."""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time
import unittest

import h5py
import numpy

from draw import DRAW
from harness import SLOW, STENCIL, fault
from checkpoint_test import LongRunTest

KILLS = int(os.environ.get("STENCIL_KILLS", 3 if SLOW else 40 if DRAW == "all" else 10))
# Regions with axes of one cell, and the axes that the image of VTK has of them.
FLAT_3D = {"8:9,:,:": "yx", ":,10:11,:": "zx", ":,:,4:5": "zyx", "8:9,10:11,:": "x", "8:9,:,4:5": "yx",
           ":,3:4,4:5": "zx", "8:9,3:4,4:5": "x"}
FLAT_2D = {"8:9,:": "x", ":,3:4": "yx", "2:3,3:4": "x"}
SLOWLY = ("--sync", "grid", "--threads", 2, "--sweep", "stream", "--inject-delay", 4000000)


class SeriesTest(LongRunTest):
    def frames(self, name="p.out.series.h5", live=False, complete=True, field="u"):
        """Steps, times and cells; `live`: None where a frame comes meanwhile; `complete`: the run has closed the file."""
        with h5py.File(self.path(name)) as file:
            count = len(file["step"])
            image = file["VTKHDF/PointData"][field]  # flat where axes have one cell, with the same chunks
            if live and not (count == len(file["time"]) == len(file[field]) == len(image) ==
                             file["VTKHDF/Steps"].attrs["NSteps"]):
                return None  # a frame came between two looks at the file
            self.assertEqual(file[field].shape[0], count)
            self.assertTrue(numpy.array_equal(image[()].ravel(), file[field][()].ravel()))
            self.assertEqual(file["time"].shape, (count,))
            self.assertEqual(file["VTKHDF/Steps"].attrs["NSteps"], count)
            values = file["VTKHDF/Steps/Values"][()]  # follows, lest VTK overruns memory for NSteps numbers
            self.assertTrue(numpy.array_equal(values, file["time"][:len(values)]))
            self.assertTrue(live or not complete or len(values) == count)
            return file["step"][()], file["time"][()], file[field][()]

    def named(self, name, field):
        """The problem p.h5, of heat, as `name`, with its field under another name."""
        self.ok("new", "p.h5", "--problem", "heat", "--size", "31x23", "--initial", "random", "--steps", 100, "-qf")
        shutil.copy(self.path("p.h5"), self.path(name))
        with h5py.File(self.path(name), "r+") as file:
            file.move("u", field)
            file.attrs["field"] = field

    def steps_of(self, problem, steps):
        """The fields after these steps, each of a run of its own."""
        found = []
        for step in steps:
            self.ok(problem, "--steps", int(step), "-o", "one.h5", "-qf", "--sync", "single-thread")
            found.append(self.read("one.h5"))
        return numpy.array(found)


class Contents(SeriesTest):
    def test_frames(self):
        for size in ("31x23", "13x9x7"):
            for extra in ((), ("--compress",)):
                with self.subTest(size=size, extra=extra):
                    self.clean()
                    self.ok("new", "p.h5", "--problem", "heat", "--size", size, "--initial", "random", "-q")
                    self.ok("p.h5", "--steps", 100, "--save-every", 20, "-q", *extra)
                    step, at, u = self.frames()
                    self.assertEqual(list(step), [0, 20, 40, 60, 80, 100])
                    dt = self.attribute("p.out.h5", "/", "dt")
                    self.assertTrue(numpy.allclose(at, step * dt, rtol=1e-14))
                    self.assertTrue(numpy.array_equal(u, self.steps_of("p.h5", step)))
                    self.assertEqual(self.attribute("p.out.h5", "provenance", "series"), "p.out.series.h5")

    def test_region_and_stride(self):
        self.ok("new", "p.h5", "--problem", "heat", "--size", "31x23x11", "--initial", "random", "-q")
        self.ok("p.h5", "--steps", 40, "--save-every", 20, "-q", "-o", "all.h5")
        self.ok("p.h5", "--steps", 40, "--save-every", 20, "-q", "--save-region", "2:9,:,5:", "--save-stride", "3,1,2")
        whole, some = self.frames("all.series.h5")[2], self.frames()[2]
        self.assertTrue(numpy.array_equal(some, whole[:, 2:9:3, :, 5::2]))
        with h5py.File(self.path("p.out.series.h5")) as file:
            self.assertTrue(numpy.allclose(file["z"][()], numpy.arange(2, 9, 3) / 10))
            self.assertTrue(numpy.allclose(file["VTKHDF"].attrs["Origin"], [5 / 30, 0, 2 / 10]))
            self.assertTrue(numpy.allclose(file["VTKHDF"].attrs["Spacing"], [2 / 30, 1 / 22, 3 / 10]))

    def test_times(self):
        self.ok("new", "p.h5", "--problem", "heat", "--size", "31x23", "--initial", "random", "-q")
        self.ok("p.h5", "--time", 0.01, "--save-times", "0:0.0025:0.01", "-q")
        step, at, _ = self.frames()
        self.assertEqual(len(step), 5)
        dt = self.attribute("p.out.h5", "/", "dt")
        for wanted, found in zip((0, 0.0025, 0.005, 0.0075, 0.01), at):
            self.assertGreaterEqual(found, wanted * (1 - 1e-9))
            self.assertLess(found, wanted + dt)

    def test_no_time_within_the_run(self):
        """A run whose times of frames are all before or behind it says that it saves none."""
        self.ok("new", "p.h5", "--problem", "heat", "--size", "31x23", "--initial", "random", "--dt", 1e-4, "-q")
        says = "no time of --save-times is within the run, which"
        for first in "5:1:10", "0.0041:1:1":
            done = self.ok("p.h5", "--time", 0.004, "--save-times", first, "-qf")
            self.assertEqual(done.stderr, f"stencil: p.h5: note: {says} ends at t = 0.004\n")
        report = json.loads(self.ok("p.h5", "--time", 0.004, "--save-times", "5:1:10", "--json", "-", "-f").stdout)
        self.assertEqual([note for note in report["notes"] if "save-times" in str(note)], [f"{says} ends at t = 0.004"])
        self.assertFalse(os.path.exists(self.path("p.out.series.h5")))
        self.assertIn("Note", self.ok("p.h5", "--time", 0.004, "--save-times", "5:1:10", "-f").stdout)
        done = self.ok("p.out.h5", "--time", 0.006, "--save-times", "0:0.001:0.003", "-qf")
        self.assertEqual(done.stderr, f"stencil: p.out.h5: note: {says} begins at t = 0.004\n")
        for within in "0.004:1:1", "0:0.001:1", "0.0039:1:1":
            self.assertEqual(self.ok("p.h5", "--time", 0.004, "--save-times", within, "-qf").stderr, "")
            self.assertGreater(len(self.frames()[0]), 0)

    def test_accelerated(self):
        """Frames of an accelerated problem are those of ends of cycles."""
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "65x65", "-q")
        self.ok("p.h5", "--save-every", 100, "-q")
        step = self.frames()[0]
        self.assertTrue(all(one % 64 == 0 for one in step), step)
        self.assertGreater(len(step), 3)

    def test_by_the_clock(self):
        self.make("p.h5", "--steps", 1500)
        self.ok("p.h5", "--save-every", "0.2s", "-q", *SLOWLY)
        step, _, u = self.frames()
        self.assertGreater(len(step), 2)
        self.assertTrue(numpy.array_equal(u, self.steps_of("p.h5", step)))

    def test_many(self):
        """More frames than a node of the index has entries."""
        self.ok("new", "p.h5", "--stencil", "j2d5pt", "--size", "5x4", "--initial", "random", "-q")
        self.ok("p.h5", "--steps", 2500, "--save-every", 1, "-q")
        step, _, u = self.frames()
        self.assertEqual(list(step), list(range(2501)))
        for one in (0, 1023, 1024, 1025, 2047, 2048, 2500):
            self.assertTrue(numpy.array_equal(u[one], self.steps_of("p.h5", [one])[0]), one)
        row = ("--save-every", 1, "--save-region", "1:2,:", "-qf")
        self.ok("p.h5", "--steps", 2500, *row, "--checkpoint-every", 700, "--keep-checkpoints")
        for name in "p.out.ckpt.h5", "p.out.ckpt.prev.h5":
            self.assertTrue(numpy.array_equal(self.frames()[2], u[:, 1:2]))
            self.ok("--resume", name, "-qf")
        self.assertTrue(numpy.array_equal(self.frames()[2], u[:, 1:2]))

    def test_one_cell_along_an_axis(self):
        """The flat dataset of the image has the frames without axes of one cell; the series itself has all axes."""
        self.ok("new", "p.h5", "--problem", "heat", "--size", "31x23x11", "--initial", "random", "-q")
        self.ok("p.h5", "--steps", 40, "--save-every", 20, "--save", "u,residual", "-q", "-o", "all.h5")
        whole = self.frames("all.series.h5")[2]
        for region, axes in FLAT_3D.items():
            for extra in (), ("--compress",):
                self.ok("p.h5", "--steps", 40, "--save-every", 20, "--save", "u,residual", "--save-region", region, "-qf",
                        *extra)
                at = eval(f"numpy.s_[:, {region}]")  # pylint: disable=eval-used
                self.assertTrue(numpy.array_equal(self.frames()[2], whole[at]), region)
                with h5py.File(self.path("p.out.series.h5")) as file:
                    for name in "u", "residual":
                        image = file["VTKHDF/PointData"][name]
                        self.assertEqual([axis[0].name for axis in image.dims], ["/time", *("/" + axis for axis in axes)])
                        self.assertTrue(numpy.array_equal(image[()].ravel(), file[name][()].ravel()))
                        self.assertEqual(image == file[name], image.ndim == 4)

    def test_refused(self):
        self.make("p.h5", "--steps", 10)
        for value in ("0", "x", "1.5", "-1", "5parsec"):
            self.refused(64, ["--save-every"], "p.h5", f"--save-every={value}")
        self.refused(64, ["heat"], "p.h5", "--save-times", "0:1:2")
        for value in ("0:1", "0:0:1", "a:b:c", "2:1:0", "0:1:2:3"):
            self.refused(64, ["--save-times"], "p.h5", "--save-times", value)
        for value in ("1:2", "5:5,:", ":,:,:", "0:99,:", "a:b,:", "1,2"):
            self.refused(64, ["--save-region"], "p.h5", "--save-every", 5, "--save-region", value)
        self.refused(64, ["--save-stride"], "p.h5", "--save-every", 5, "--save-stride", "1,1,1")
        self.refused(64, ["--compress"], "p.h5", "--compress")
        self.refused(64, ["contradict"], "p.h5", "--save-every", 5, "--no-output")
        self.ok("p.h5", "--save-every", 5, "-q")
        os.remove(self.path("p.out.h5"))
        self.refused(73, ["p.out.series.h5", "exists"], "p.h5", "--save-every", 5)
        self.ok("p.h5", "--save-every", 2, "-qf")
        self.assertEqual(list(self.frames()[0]), [0, 2, 4, 6, 8, 10])

    def test_no_foreign_attributes(self):
        """What moves objects within the file is no attribute of the series; lists of frames are no fields."""
        for size in [(n, 7) for n in range(5, 40, 5)] + [(5, n, 7) for n in range(5, 40, 5)]:
            self.clean()
            self.ok("new", "p.h5", "--stencil", "j2d5pt" if len(size) == 2 else "j3d7pt", "--size",
                    "x".join(map(str, size)), "--steps", 4, "-q")
            self.ok("p.h5", "--save-every", 2, "--save", "u,residual", "-q")
            with h5py.File(self.path("p.out.series.h5")) as file:
                self.assertNotIn("padding", file.attrs)
            self.assertEqual(len(self.frames()[0]), 3)
        line = self.refused(65, ["/step has a number for each frame"], "plot", "p.out.series.h5", "-d", "step")
        self.assertNotIn("0 axes", line)

    @fault("a series is given as a problem", "what it is", 65)
    def test_is_no_problem(self):
        self.make("p.h5", "--steps", 10)
        self.ok("p.h5", "--save-every", 5, "-q")
        self.refused(65, ["series"], "p.out.series.h5")
        self.ok("compare", "p.out.series.h5", "p.out.series.h5")

    @fault("the disk is full of a series", "that no frame follows; the result is written", 74, "both files")
    def test_no_room(self):
        self.make("p.h5", "--steps", 400, "--size", "100x100")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000000, 3000000))
        done = self.call("p.h5", "--save-every", 10, "-q", preexec_fn=limit)
        self.assertEqual(done.returncode, 74, done.stderr)
        step, _, u = self.frames()
        self.assertGreater(len(step), 5)
        self.assertEqual(list(step), list(range(0, 10 * len(step), 10)))
        self.assertEqual(self.attribute("p.out.h5", "/", "steps_total"), 400)

    def fill(self, how):
        """A run whose series finds no more room, ended by a limit of time or a signal; its last line and exit code."""
        self.clean()
        self.make("p.h5", "--steps", 10000, "--size", "100x100", "--check-every", 11)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000000, 2000000))
        more = ("--time-limit", "1.5s") if how == "limit" else ()
        process = self.start("p.h5", "--save-every", 10, "-q", *SLOWLY, *more, preexec_fn=limit)
        first = process.stderr.readline()
        self.assertIn("and later ones, the run goes on", first)
        if how != "limit":
            process.send_signal(how)
        err = self.finish(process, 75 if how == "limit" else 128 + how)
        self.assertEqual(len(err.splitlines()), 1, err)
        return err

    @fault("the disk is full of a series, and a limit of time or a signal ends the run", "both, and how it goes on", 75,
           "both files")
    def test_no_room_and_a_limit(self):
        for how, says in (("limit", "--time-limit ended the run after step"), (signal.SIGTERM, "SIGTERM")):
            err = self.fill(how)
            last = self.frames()[0][-1]
            self.assertIn(says, err)
            self.assertIn(f"p.out.series.h5' ends with step {last}: cannot write", err)
            self.assertTrue(err.endswith("; it goes on with: stencil --resume p.out.h5\n"), err)
            self.assertNotIn("complete", err)

    @fault("a run is resumed whose series lost frames", "which are missing", 0, "both files")
    def test_gap(self):
        """Frames that were lost for want of room: a resumed run names them, and so do its result and info."""
        self.fill(signal.SIGTERM)
        step = list(self.frames()[0])
        lost, ends = step[-1] + 10, int(self.attribute("p.out.h5", "/", "steps_total"))
        self.assertEqual(self.attribute("p.out.h5", "provenance", "series_gaps"), f"{lost}:")
        shown = " ".join(self.ok("info", "p.out.h5").stdout.split())
        self.assertIn(f"no frames from step {lost} on", shown)
        shutil.copy(self.path("p.out.h5"), self.path("ended.h5"))
        shutil.copy(self.path("p.out.series.h5"), self.path("ended.series.h5"))
        done = self.ok("--resume", "p.out.h5", "-q")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(f"'p.out.series.h5' has no frames from step {lost} to before step {ends}", done.stderr)
        self.assertEqual(list(self.frames()[0]), step + list(range(-(-ends // 10) * 10, 10001, 10)))
        self.assertEqual(self.attribute("p.out.h5", "provenance", "series_gaps"), f"{lost}:{ends}")
        shown = " ".join(self.ok("info", "p.out.h5").stdout.split())
        self.assertIn(f"no frames from step {lost} to before step {ends}", shown)
        self.assertEqual(json.loads(self.ok("info", "p.out.h5", "--json", "-").stdout)["series_gaps"], [[lost, ends]])
        # Again, with checkpoints: gaps add up, in checkpoints, too.
        for name in ("p.out.h5", "p.out.series.h5"):
            shutil.copy(self.path(name.replace("p.out", "ended")), self.path(name))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2200000, 2200000))
        run = ("--checkpoint-every", 500, "--keep-checkpoints")
        done = self.call("--resume", "p.out.h5", "-q", *run, preexec_fn=limit)
        self.assertEqual(done.returncode, 74, done.stderr)
        again = self.frames()[0][-1] + 10
        self.assertGreater(again, ends)
        self.assertEqual(self.attribute("p.out.h5", "provenance", "series_gaps"), f"{lost}:{ends} {again}:")
        self.ok("--resume", "p.out.ckpt.h5", "-qf")
        self.assertEqual(self.attribute("p.out.h5", "provenance", "series_gaps"), f"{lost}:{ends} {again}:9500")
        self.assertEqual(list(self.frames()[0])[-51:], list(range(9500, 10001, 10)))

    def test_no_gap(self):
        """Frames that were lost behind the checkpoint are made again, also that of the checkpoint's own step."""
        for problem in (("--stencil", "j2d5pt", "--steps", 400), ("--problem", "poisson")):
            self.clean()
            self.ok("new", "p.h5", *problem, "--size", "100x100", "--initial", "random", "-q")
            self.ok("p.h5", "-o", "whole.h5", "--save-every", 100, "-q")
            wanted = self.frames("whole.series.h5")
            for room in range(1600000, 2100000, 40000):
                limit = lambda most=room: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
                self.clean("p.h5", "whole.h5", "whole.series.h5")
                done = self.call("p.h5", "--save-every", 100, "--checkpoint-every", 100, "--keep-checkpoints", "-q",
                                 preexec_fn=limit)
                if done.returncode != 74 or "p.out.ckpt.prev.h5" not in os.listdir(self.directory):
                    continue
                for name in ("p.out.ckpt.h5", "p.out.ckpt.prev.h5"):
                    with h5py.File(self.path(name)) as file:
                        gaps = file["provenance"].attrs.get("series_gaps", "")
                        at, last = file.attrs["steps_total"], gaps and int(gaps[:-1])
                    if gaps == "" or last >= at:
                        shutil.copy(self.path("p.out.series.h5"), self.path("kept.h5"))
                        done = self.ok("--resume", name, "-qf")
                        self.assertNotIn("no frames", done.stderr)
                        for found, one in zip(self.frames(), wanted):
                            self.assertTrue(numpy.array_equal(found, one))
                        shutil.copy(self.path("kept.h5"), self.path("p.out.series.h5"))


    def test_named_field(self):
        """Frames of a field of another name have this name, unless a series has something else of it."""
        self.named("t.h5", "temperature")
        save = ("--save-every", 20, "--save", "u,residual", "-q")
        self.ok("p.h5", *save)
        wanted = self.frames()
        self.ok("t.h5", *save, "--checkpoint-every", 30, "--keep-checkpoints")
        for resumed in False, True:
            for found, one in zip(self.frames("t.out.series.h5", field="temperature"), wanted):
                self.assertTrue(numpy.array_equal(found, one))
            with h5py.File(self.path("t.out.series.h5")) as file:
                self.assertNotIn("u", file)
                self.assertEqual(file.attrs["field"], b"/temperature")
                for name in "temperature", "residual":
                    self.assertEqual(file["VTKHDF/PointData"][name], file[name])
                self.assertEqual(sorted(file["VTKHDF/PointData"]), ["residual", "temperature"])
                self.assertEqual(file["residual"].attrs["long_name"], b"change of temperature in a plain step")
            shown = self.ok("info", "t.out.series.h5").stdout
            self.assertIn("6 frames of temperature and residual", shown)
            self.assertEqual(json.loads(self.ok("info", "t.out.series.h5", "--json", "-").stdout)["arrays"],
                             ["temperature", "residual"])
            for more in ("t.out.series.h5",), ("t.out.series.h5", "-d", "temperature"), ("t.out.h5", "-d", "series"):
                drawn, alike = (json.loads(self.ok("plot", *of, "--at", "frame=1", "--json", "-").stdout)["frames"]
                                for of in (more, ("p.out.series.h5",)))
                self.assertEqual(drawn[0]["values"], alike[0]["values"])
            self.ok("compare", "p.out.series.h5", "t.out.series.h5")
            if not resumed:
                self.ok("--resume", "t.out.ckpt.prev.h5", "-qf")
        for name in ("x", "time", "step"):
            self.named("t.h5", name)
            self.ok("t.h5", *save, "-f")
            self.assertEqual(self.read("t.out.h5", name).shape, (23, 31))
            self.assertTrue(numpy.array_equal(self.frames("t.out.series.h5")[2], wanted[2]))
            with h5py.File(self.path("t.out.series.h5")) as file:
                self.assertEqual(file["VTKHDF/PointData/u"], file["u"])


class Readers(SeriesTest):
    def test_type_of_the_image(self):
        """VTK 9.3 knows the kind of an image by a text of just its letters."""
        self.make("p.h5", "--steps", 10)
        self.ok("p.h5", "--save-every", 5, "-q")
        for name in "p.out.h5", "p.out.series.h5":
            with h5py.File(self.path(name)) as file:
                self.assertEqual(file["VTKHDF"].attrs["Type"], b"ImageData")
                self.assertEqual(file["VTKHDF"].attrs.get_id("Type").get_type().get_size(), len("ImageData"))

    def test_netcdf(self):
        try:
            import netCDF4
            import xarray
        except ImportError:
            self.skipTest("netCDF4 and xarray are not installed")
        for size in ("31x23", "13x9x7"):
            self.clean()
            self.ok("new", "p.h5", "--problem", "heat", "--size", size, "--initial", "random", "-q")
            self.ok("p.h5", "--steps", 100, "--save-every", 20, "-q")
            u = self.frames()[2]
            for engine in ("netcdf4", "h5netcdf"):
                with xarray.open_dataset(self.path("p.out.series.h5"), engine=engine) as file:
                    self.assertEqual(file["u"].dims, ("time", "z", "y", "x")[:1] + ("z", "y", "x")[4 - u.ndim:])
                    self.assertTrue(numpy.array_equal(file["u"].values, u))
                    self.assertTrue(numpy.allclose(file["x"].values, numpy.arange(u.shape[-1]) / (u.shape[-1] - 1)))
                    self.assertEqual(list(file["step"].values), [0, 20, 40, 60, 80, 100])
            with netCDF4.Dataset(self.path("p.out.series.h5")) as file:
                self.assertTrue(numpy.array_equal(file["u"][:], u))

    def test_netcdf_of_one_cell_along_an_axis(self):
        try:
            import netCDF4
            import xarray
        except ImportError:
            self.skipTest("netCDF4 and xarray are not installed")
        self.ok("new", "p.h5", "--problem", "heat", "--size", "31x23x11", "--initial", "random", "-q")
        for region in FLAT_3D:
            self.ok("p.h5", "--steps", 40, "--save-every", 20, "--save-region", region, "-qf")
            u = self.frames()[2]
            for engine in ("netcdf4", "h5netcdf"):
                with xarray.open_dataset(self.path("p.out.series.h5"), engine=engine) as file:
                    self.assertEqual(file["u"].dims, ("time", "z", "y", "x"))
                    self.assertTrue(numpy.array_equal(file["u"].values, u))
            with netCDF4.Dataset(self.path("p.out.series.h5")) as file:
                self.assertTrue(numpy.array_equal(file["u"][:], u))
                self.assertTrue(numpy.array_equal(file["VTKHDF/PointData/u"][:].ravel(), u.ravel()))

    def test_netcdf_of_a_named_field(self):
        try:
            import netCDF4
            import xarray
        except ImportError:
            self.skipTest("netCDF4 and xarray are not installed")
        self.named("t.h5", "temperature")
        self.ok("t.h5", "--save-every", 20, "--save", "u,residual", "-q")
        _, times, u = self.frames("t.out.series.h5", field="temperature")
        for engine in ("netcdf4", "h5netcdf"):
            with xarray.open_dataset(self.path("t.out.series.h5"), engine=engine) as file:
                self.assertEqual(file["temperature"].dims, ("time", "y", "x"))
                self.assertTrue(numpy.array_equal(file["temperature"].values, u))
                self.assertEqual(file["residual"].dims, ("time", "y", "x"))
                self.assertTrue(numpy.array_equal(file["time"].values, times))
            with xarray.open_dataset(self.path("t.out.h5"), engine=engine) as file:
                self.assertTrue(numpy.array_equal(file["temperature"].values, u[-1]))
        with netCDF4.Dataset(self.path("t.out.series.h5")) as file:
            self.assertTrue(numpy.array_equal(file["temperature"][:], u))

    def test_result_apart_from_its_series(self):
        """netCDF refuses a file of which an external link leads nowhere: a result names its series as a text."""
        try:
            import netCDF4
            import xarray
        except ImportError:
            self.skipTest("netCDF4 and xarray are not installed")
        self.ok("new", "p.h5", "--problem", "heat", "--size", "31x23", "--initial", "random", "-q")
        self.ok("p.h5", "--steps", 40, "--save-every", 20, "--checkpoint-every", 15, "--keep-checkpoints", "-q")
        os.mkdir(self.path("apart"))
        for name in ("p.out.h5", "p.out.ckpt.h5", "p.out.ckpt.prev.h5"):
            self.assertEqual(self.attribute(name, "provenance", "series"), "p.out.series.h5")
            shutil.copy(self.path(name), self.path("apart/" + name))
            for engine in ("netcdf4", "h5netcdf"):
                with xarray.open_dataset(self.path("apart/" + name), engine=engine) as file:
                    self.assertTrue(numpy.array_equal(file["u"].values, self.read(name)))
            with netCDF4.Dataset(self.path("apart/" + name)) as file:
                self.assertEqual(file["provenance"].series, "p.out.series.h5")
        self.ok("verify", "apart/p.out.h5", "p.h5", "-q")
        self.ok("info", "apart/p.out.h5")

    def check_result(self, name, spacing, first, when, long_name):
        """Names, coordinates and units of a result, as xarray and netCDF4 tell them."""
        import netCDF4
        import xarray
        u = self.read(name)
        axes = ("z", "y", "x")[3 - u.ndim:]
        with h5py.File(self.path(name)) as file:
            engines = ("netcdf4",) if "mine" in file else ("netcdf4", "h5netcdf")
        for engine in engines:
            with xarray.open_dataset(self.path(name), engine=engine) as data:
                self.assertEqual(data["u"].dims, axes)
                self.assertTrue(numpy.array_equal(data["u"].values, u))
                for axis, n, h, begin in zip(axes, u.shape, spacing, first):
                    self.assertTrue(numpy.allclose(data["u"][axis].values, begin + h * numpy.arange(n), rtol=1e-14))
                    self.assertEqual(data[axis].attrs["units"], "1")
                self.assertTrue(numpy.allclose(float(data["u"].coords["time"]), when, rtol=1e-14))
                self.assertEqual(data["time"].attrs["long_name"], long_name)
                self.assertEqual(data["residual"].dims, ("residual_step",))
                for source in {"b", "f", "q"} & set(data):
                    self.assertEqual(data[source].dims, axes)
        with netCDF4.Dataset(self.path(name)) as data:
            self.assertEqual(data["u"].dimensions, axes)
            self.assertEqual(data["time"].shape, ())

    def test_results_in_netcdf(self):
        try:
            import netCDF4
            import xarray
        except ImportError:
            self.skipTest("netCDF4 and xarray are not installed")
        self.ok("new", "p.h5", "--problem", "heat", "--size", "31x23", "--boundary", "fixed,mirror", "-q")
        self.ok("p.h5", "--steps", 40, "-q")
        dt = self.attribute("p.out.h5", "/", "dt")
        spacing = self.attribute("p.out.h5", "/", "spacing")
        self.check_result("p.out.h5", spacing, (0, spacing[1] / 2), 40 * dt, "physical time")
        self.assertEqual(self.ok("p.out.h5", "--steps", 90).stderr, "")
        self.check_result("p.out2.h5", spacing, (0, spacing[1] / 2), 90 * dt, "physical time")
        self.ok("p.out2.h5", "--steps", 95, "--spacing", "0.5,0.25", "--dt", 0.001, "-q")  # they are made anew
        self.check_result("p.out3.h5", (0.5, 0.25), (0, 0.125), self.attribute("p.out3.h5", "/", "time"), "physical time")
        self.ok("verify", "p.out2.h5", "-q")
        for problem in (("--problem", "poisson", "--size", "13x9x7"), ("--stencil", "j2d5pt", "--size", "12x9")):
            plain = ("--accelerate", "none") if "poisson" in problem else ()
            self.clean()
            self.ok("new", "p.h5", *problem, "-q")
            with h5py.File(self.path("p.h5"), "r+") as file:
                file["mine"] = numpy.arange(5)
                file.attrs["steps"] = 70
            done = self.call("p.h5", *plain, "--checkpoint-every", 30, "--keep-checkpoints", "-q")
            self.assertIn(done.returncode, (0, 2), done.stderr)
            h = [1 / (n - 1) for n in (7, 9, 13)] if "poisson" in problem else (1, 1)
            for name in ("p.out.h5", "p.out.ckpt.h5", "p.out.ckpt.prev.h5"):
                step = self.attribute(name, "/", "steps_total")
                self.check_result(name, h, (0, 0, 0), step, "number of steps")
            report = json.loads(self.call("p.out.h5", *plain, "--steps", 80, "--json", "-").stdout)
            self.assertFalse([note for note in report["notes"] if "/x" in str(note)], report["notes"])
            self.check_result("p.out2.h5", h, (0, 0, 0), 80, "number of steps")

    def test_own_coordinates(self):
        """Coordinates and names of the user's own stay, also in a result that another program has written anew."""
        self.ok("new", "p.h5", "--problem", "heat", "--size", "31x23", "--spacing", 0.5, "-q")
        with h5py.File(self.path("p.h5"), "r+") as file:
            file["x"] = 7 + 0.5 * numpy.arange(31)
            file["time"] = "noon"
        self.ok("p.h5", "--steps", 40, "-q")
        with h5py.File(self.path("p.out.h5")) as file:
            self.assertEqual(file["x"][0], 7)
            self.assertEqual(file["time"][()], b"noon")
            self.assertNotIn("y", file)
            self.assertNotIn("DIMENSION_LIST", file["u"].attrs)
        try:
            import xarray
        except ImportError:
            self.skipTest("xarray is not installed")
        self.clean()
        self.ok("new", "p.h5", "--problem", "heat", "--size", "31x23", "-q")
        self.ok("p.h5", "--steps", 40, "-q")
        with xarray.open_dataset(self.path("p.out.h5"), engine="netcdf4") as data:
            attributes = {k: data.attrs[k] for k in ("problem", "spacing", "dt", "diffusivity") if k in data.attrs}
            xarray.Dataset({"u": data["u"]}, attrs={**attributes, "steps": 10}).to_netcdf(self.path("q.h5"), engine="netcdf4")
        self.ok("q.h5", "-q")
        with xarray.open_dataset(self.path("q.out.h5"), engine="netcdf4") as data:
            self.assertEqual(data["u"].dims, ("y", "x"))
            self.assertTrue(numpy.allclose(data["x"].values, numpy.arange(31) / 30))

    def dumped(self, name, dataset):
        """The numbers of a dataset that h5dump prints."""
        done = subprocess.run(["h5dump", "-y", "-w", "0", "-m", "%.17g", "-d", dataset, self.path(name)],
                              capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        inside = done.stdout.split("DATA {")[1].split("}")[0]
        return numpy.array([float(number) for number in inside.replace("\n", " ").split(",")])

    @unittest.skipUnless(shutil.which("h5dump"), "h5dump (hdf5-tools) is not installed")
    def test_h5dump(self):
        """What h5dump prints of a series and of checkpoints while a run goes on, and of the result and the series after."""
        self.make("p.h5", "--size", "31x23", "--steps", 3000, "--check-every", 3000)
        process = self.start("p.h5", "--save-every", 50, "--checkpoint-every", 200, "-q", *SLOWLY)
        self.wait_for("p.out.ckpt.h5", process)
        looks = 0
        while process.poll() is None and looks < 5:
            step, u = self.dumped("p.out.series.h5", "/step"), self.dumped("p.out.series.h5", "/u")
            if process.poll() is None:
                self.assertEqual(list(step), list(range(0, 50 * len(step), 50)))
                self.assertGreaterEqual(len(u), len(step) * 31 * 23)
                looks += 1
        self.finish(process, 0)
        self.assertGreater(looks, 1)
        _, time_of, u = self.frames()
        self.assertTrue(numpy.array_equal(self.dumped("p.out.series.h5", "/u"), u.ravel()))
        self.assertTrue(numpy.array_equal(self.dumped("p.out.series.h5", "/time"), time_of))
        self.assertTrue(numpy.array_equal(self.dumped("p.out.h5", "/u"), self.read("p.out.h5").ravel()))
        self.assertEqual(len(self.dumped("p.out.h5", "/residual")), len(self.read("p.out.h5", "residual")))

    def test_while_it_runs(self):
        """Readers that open the file again and again find whole frames, each time more of them."""
        self.make("p.h5", "--steps", 600, "--check-every", 600)
        process = self.start("p.h5", "--save-every", 5, "-q", *SLOWLY)
        self.wait_for("p.out.series.h5", process)
        counts = []
        while process.poll() is None:
            found = self.frames(live=True)
            if found is None:
                continue
            step, _, u = found
            counts.append(len(step))
            self.assertEqual(list(step), list(range(0, 5 * len(step), 5)))
            self.assertTrue((u[-1] != 0).any())
        self.finish(process, 0)
        self.assertEqual(counts, sorted(counts))
        self.assertGreater(len(set(counts)), 5)
        step, _, u = self.frames()
        self.assertTrue(numpy.array_equal(u[-3:], self.steps_of("p.h5", step[-3:])))


    def test_while_it_runs_by_the_command(self):
        """`info` and `plot` take the frames that are whole, whenever they look."""
        self.make("p.h5", "--size", "31x23", "--steps", 10**8, "--check-every", 10**8)
        process = self.start("p.h5", "--save-every", 100, "--save", "u,residual", "-q", "--threads", 1, *SLOWLY[:2])
        self.wait_for("p.out.series.h5", process)
        for _ in range(12):
            self.ok("info", "p.out.series.h5")
            for dataset in ("u", "residual"):
                self.ok("plot", "p.out.series.h5", "-d", dataset, "--json", "-")
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.finish(process, 128 + signal.SIGTERM)


class Killed(SeriesTest):
    @fault("the process is killed at any moment of a series", "nothing (SIGKILL)", -9, "all frames that were complete")
    def test_any_moment(self):
        """The series opens, and a resumed run leaves no gap and no duplicate."""
        self.make("p.h5", "--size", "300x200", "--steps", 90, "--check-every", 4)
        self.ok("p.h5", "-o", "whole.h5", "--save-every", 2, "-q")
        wanted = self.frames("whole.series.h5")
        rng, resumed, within = random.Random(11), 0, 0
        for number in range(KILLS):
            self.clean("p.h5", "whole.h5", "whole.series.h5")
            extra = ["--compress"] if number % 3 == 0 else ["--save-region", "7:8,:"] if number % 3 == 1 else []
            u_wanted = wanted[2][:, 7:8] if "--save-region" in extra else wanted[2]
            process = self.start("p.h5", "--checkpoint-every", 6, "--save-every", 2, "-q", *SLOWLY, *extra)
            within += self.kill(process, 0.05 + 0.5 * rng.random(), number % 2 == 0)
            if os.path.exists(self.path("p.out.series.h5")):
                step, _, u = self.frames(complete=False)
                self.assertTrue(numpy.array_equal(step, wanted[0][:len(step)]))
                self.assertTrue(numpy.array_equal(u, u_wanted[:len(step)]))
            if os.path.exists(self.path("p.out.ckpt.h5")):
                resumed += 1
                self.ok("--resume", "p.out.ckpt.h5", "-qf")
                self.same("whole.h5", "p.out.h5")
                for found, one in zip(self.frames(), (*wanted[:2], u_wanted)):
                    self.assertTrue(numpy.array_equal(found, one))
        print(f"{resumed} of {KILLS} runs were resumed; {within} moments were within a write of a checkpoint")
        self.assertGreater(resumed, KILLS // 4)
        self.assertTrue(SLOW or within >= KILLS // 4, f"{within} moments were within a write")

    def begin_anew(self, code):
        """The command that a refusal gives begins another series, at the step of the checkpoint."""
        line = self.refused(code, ["'p.out.series.h5'", "from step 300 on"], "--resume", "p.out.ckpt.h5")
        command = line.split(": stencil ")[1].split()
        self.assertEqual(command, ["--resume", "p.out.ckpt.h5", "--force"])
        done = self.ok(*command, "-q")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("'p.out.series.h5'", done.stderr)
        self.assertIn("begins with step 300", done.stderr)
        self.assertEqual(list(self.frames()[0]), [300, 320, 340, 360, 380, 400])
        self.same("whole.h5", "p.out.h5")
        self.assertEqual(self.attribute("p.out.h5", "provenance", "series_gaps"), "0:300")
        os.remove(self.path("p.out.h5"))

    @fault("the series of a checkpoint is another one, or damaged", "that it is, and how to go on with a new one", 65)
    def test_other_series(self):
        self.make("p.h5", "--steps", 400)
        self.ok("p.h5", "-o", "whole.h5", "-q")
        run = ("p.h5", "--checkpoint-every", 100, "--save-every", 20, "--keep-checkpoints", "-q")
        self.ok(*run)
        shutil.copy(self.path("p.h5"), self.path("p.out.series.h5"))
        shutil.copy(self.path("p.out.ckpt.h5"), self.path("kept.h5"))
        os.remove(self.path("p.out.h5"))
        self.begin_anew(65)
        shutil.copy(self.path("kept.h5"), self.path("p.out.ckpt.h5"))
        os.remove(self.path("p.out.series.h5"))
        self.begin_anew(66)
        # The force that a result in place records for its checkpoints is none for a series.
        self.ok(*run[:-1], "-qf", "-o", "p.h5")
        os.utime(self.path("p.h5"), (1e9, 1e9))  # a newer one would be no result that this force is for
        self.ok("--resume", "p.ckpt.h5", "-q")
        os.remove(self.path("p.series.h5"))
        self.refused(66, ["'p.series.h5'", "--force"], "--resume", "p.h5", "--steps", 500)

    def test_leftovers_of_a_killed_run(self):
        """What a killed run has left is in the way of the same command, which says how to go on."""
        self.make("p.h5", "--steps", 400)
        run = ("p.h5", "--checkpoint-every", 100, "--save-every", 20, "--keep-checkpoints", "-q")
        self.ok(*run)
        os.remove(self.path("p.out.h5"))
        line = self.refused(73, ["'p.out.series.h5' exists", "--force"], *run)
        self.assertTrue(line.endswith("goes on with: stencil --resume p.out.ckpt.h5"), line)
        self.ok(*line.split(": stencil ")[1].split(), "-q")
        os.remove(self.path("p.out.h5"))
        for name in ("p.out.ckpt.h5", "p.out.ckpt.prev.h5"):
            os.remove(self.path(name))
        line = self.refused(73, ["'p.out.series.h5' exists", "--force"], *run)
        self.assertNotIn("--resume", line)
        self.ok(*run, "--force")

    @fault("a run is resumed that is under way", "that it is, before a file is touched", 73, "all files")
    def test_resumed_twice(self):
        """One of two processes goes on, readers of its files see no lock, and SIGKILL leaves none."""
        self.make("p.h5", "--steps", 3000, "--check-every", 11)
        self.ok("p.h5", "-o", "whole.h5", "--save-every", 10, "-q")
        process = self.start("p.h5", "--checkpoint-every", 20, "--save-every", 10, "-q", *SLOWLY)
        for code in (-signal.SIGKILL, 128 + signal.SIGTERM):
            self.wait_for("p.out.ckpt.h5", process)
            first = os.stat(self.path("p.out.ckpt.h5")).st_ino
            while os.stat(self.path("p.out.ckpt.h5")).st_ino == first:
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            for name in ("p.out.ckpt.h5", "p.out.ckpt.prev.h5"):
                if os.path.exists(self.path(name)):
                    done = self.call("--resume", name, "-qf")
                    self.assertEqual(done.returncode, 73, done.stderr)
                    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                    self.assertIn("another run is under way that writes 'p.out.h5'", done.stderr)
            self.ok("info", "p.out.series.h5")
            self.frames(live=True)
            process.send_signal(-code if code < 0 else code - 128)
            self.finish(process, code)
            process = self.start("--resume", "p.out.ckpt.h5" if code < 0 else "p.out.h5", "-q", *SLOWLY)
        time.sleep(0.3)
        process.kill()
        self.finish(process, -signal.SIGKILL)
        self.ok("--resume", "p.out.h5", "-q")
        self.same("whole.h5", "p.out.h5")
        for found, one in zip(self.frames(), self.frames("whole.series.h5")):
            self.assertTrue(numpy.array_equal(found, one))

    @fault("a run is resumed with another form of its series", "that its frames have another one", 64)
    def test_other_form(self):
        """Frames of another form would be read as those that there are."""
        for first in (), ("--compress",), ("--save-stride", 2), ("--save-region", "1:9,:"):
            self.make("p.h5", "--steps", 400)
            self.ok("p.h5", "--checkpoint-every", 100, "--save-every", 20, "--keep-checkpoints", "-qf", *first)
            os.remove(self.path("p.out.h5"))
            for other in ("--compress",), ("--save-stride", 2), ("--save-stride", 3), ("--save-region", "1:10,:"):
                if other != first:
                    self.refused(64, ["p.out.series.h5", "in another form"], "--resume", "p.out.ckpt.h5", *other)
            self.ok("--resume", "p.out.ckpt.h5", "-q", *first)
            self.assertEqual(len(self.frames()[1]), 21)
            for name in os.listdir(self.directory):
                os.remove(self.path(name))

    def test_slices(self):
        """Slices by a limit of time have the frames of one run."""
        self.make("p.h5", "--size", "60x50", "--steps", 1200, "--check-every", 11)
        self.ok("p.h5", "-o", "whole.h5", "--save-every", 50, "-q")
        done, slices = self.call("p.h5", "--save-every", 50, "--time-limit", "0.9s", "-q", *SLOWLY), 1
        while done.returncode == 75 and slices < 100:
            done, slices = self.call("--resume", "p.out.h5", "-q", *SLOWLY), slices + 1
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(slices, 1)
        self.same("whole.h5", "p.out.h5")
        for found, one in zip(self.frames(), self.frames("whole.series.h5")):
            self.assertTrue(numpy.array_equal(found, one))


if __name__ == "__main__":
    unittest.main()
