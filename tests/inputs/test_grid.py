"""Spacing by coordinates, and axes that are none of space."""

import json
import os
import subprocess
import sys
import unittest

try:
    import h5py
    import numpy as np
    import xarray as xr
    import h5netcdf  # noqa: F401 (an engine of xarray)
    import netCDF4  # noqa: F401 (another one)
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-h5py python3-netcdf4 python3-h5netcdf python3-xarray)")
    sys.exit(77)

from folder import FolderTest  # noqa: E402

STENCIL = os.environ["STENCIL"]
BAD_DATA = 65


class Grid(FolderTest):
    def make(self, coordinates, u=None, attach=True, **attributes):
        """coordinates: by axis in array order, (name, values), or None."""
        with h5py.File(self.path("p.h5"), "w") as file:
            shape = [9 if entry is None else len(entry[1]) for entry in coordinates]
            file["u"] = np.random.default_rng(5).random(shape) if u is None else u
            for i, entry in enumerate(coordinates):
                if entry is None:
                    continue
                file[entry[0]] = entry[1]
                if attach:
                    file[entry[0]].make_scale(entry[0])
                    file["u"].dims[i].attach_scale(file[entry[0]])
            for key, value in {"problem": "laplace", **attributes}.items():
                if value is not None:
                    file.attrs[key] = value

    def call(self, *options):
        return subprocess.run([STENCIL, "--device", "cpu", "--steps", "2", "--force", *options, "p.h5"],
                              cwd=self.folder, capture_output=True, text=True, timeout=300)

    def notes(self, *options):
        done = self.call("--json", "r.json", *options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.path("r.json")) as file:
            return json.load(file)["notes"]

    def spacing(self):
        with h5py.File(self.path("p.out.h5")) as file:
            return np.atleast_1d(file.attrs["spacing"]).tolist() if "spacing" in file.attrs else None

    def refused(self, *wanted):
        done = self.call()
        self.assertEqual(done.returncode, BAD_DATA, done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        for text in wanted:
            self.assertIn(text, done.stderr)


class Spacing(Grid):
    def test_taken_from_attached_coordinates(self):
        even = np.linspace(0, 1, 65)
        for dtype in ("f8", "f4", ">f4"):
            for problem in ("laplace", "poisson", "heat"):
                with self.subTest(dtype=dtype, problem=problem):
                    self.make([("y", even.astype(dtype)), ("x", (2 * even[::-1]).astype(dtype))], problem=problem)
                    self.assertIn("spacing 0.015625 x 0.03125 (y, x) is taken from the coordinates /y and /x of /u",
                                  self.notes())
                    self.assertEqual(self.spacing(), [1 / 64, 1 / 32])
        self.make([("lat", np.arange(9.0)), ("lon", 300 + 0.25 * np.arange(12)), ("z", np.arange(7) * 10)])
        self.notes()
        self.assertEqual(self.spacing(), [1.0, 0.25, 10.0])

    def test_the_same_as_given(self):
        """And a result, which has them as an attribute, goes on and is verified."""
        even = np.linspace(0, 0.7, 33)
        self.make([("y", even), ("x", 2 * even)], dt=1e-4, problem="heat")
        self.notes()
        with h5py.File(self.path("p.out.h5")) as file:
            found = file["u"][()]
        self.assertEqual(subprocess.run([STENCIL, "verify", "-q", "p.out.h5"], cwd=self.folder).returncode, 0)
        self.assertEqual(subprocess.run([STENCIL, "plan", "p.h5"], cwd=self.folder, capture_output=True).returncode, 0)
        self.make([("y", even), ("x", 2 * even)], dt=1e-4, problem="heat", spacing=[0.7 / 32, 1.4 / 32])
        self.assertEqual([line for line in self.notes() if "spacing" in line], [])
        with h5py.File(self.path("p.out.h5")) as file:
            np.testing.assert_array_equal(file["u"][()], found)
        os.rename(self.path("p.out.h5"), self.path("p.h5"))
        self.assertEqual([line for line in self.notes("--steps", "4") if "spacing" in line], [])

    def test_rounded_coordinates_are_even(self):
        for values in (np.linspace(0, 1, 1000, dtype="f4"), np.arange(0, 3, 0.1, dtype="f4"), np.arange(0, 100, 0.1),
                       np.linspace(4e5, 4e5 + 7, 57, dtype="f4"), np.cumsum(np.full(1000, 0.1)), np.arange(50) * 100,
                       np.linspace(1, 0, 33).astype("f2"), 1e-9 * np.arange(20)):
            with self.subTest(values[:3]):
                self.make([("y", np.arange(9.0)), ("x", values)])
                self.notes()
                length = abs(float(values[-1]) - float(values[0]))
                self.assertAlmostEqual(self.spacing()[1] * (len(values) - 1) / length, 1)

    def test_packed_coordinates(self):
        self.make([("y", np.arange(9.0)), ("x", np.arange(12, dtype="i2"))])
        with h5py.File(self.path("p.h5"), "a") as file:
            file["x"].attrs["scale_factor"] = 0.25
        self.notes()
        self.assertEqual(self.spacing(), [1.0, 0.25])

    def test_uneven_ones(self):
        uneven = np.array([0, 0.1, 0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 1.0])
        self.make([("y", np.arange(9.0)), ("x", uneven)])
        self.refused("'p.h5': coordinates /x of /u are uneven", "even grid", "--spacing")
        self.assertIn("uneven", " ".join(self.notes("--spacing", "0.1")))
        self.make([("y", np.arange(9.0)), ("x", np.geomspace(1, 2, 9, dtype="f4"))])
        self.refused("coordinates /x of /u are uneven")
        self.make([("y", np.arange(9.0)), ("x", uneven)], spacing=[1.0, 0.125])
        lines = [line for line in self.notes() if "uneven" in line]
        self.assertEqual(len(lines), 1)
        self.make([("y", np.arange(9.0)), ("x", uneven)], problem=None, stencil="j2d5pt")
        self.assertEqual(self.notes(), [])

    def test_contradictions(self):
        y, x = np.linspace(0, 1, 65), np.linspace(0, 2, 65)
        for attach in (True, False):
            with self.subTest(attach=attach):
                self.make([("y", y), ("x", x)], attach=attach, spacing=[1 / 32, 1 / 64])
                lines = [line for line in self.notes() if "spacing" in line]
                self.assertEqual(len(lines), 1)
                self.assertIn("spacing 0.03125 x 0.015625 contradicts the coordinates /y and /x, which are 0.015625 x "
                              "0.03125 apart", lines[0])
                self.assertIn("other way round", lines[0])
                self.make([("y", y), ("x", x)], attach=attach, spacing=0.5)
                lines = [line for line in self.notes() if "spacing" in line]
                self.assertEqual(len(lines), 1)
                self.assertIn("spacing counts", lines[0])
                self.assertEqual(self.spacing(), [0.5])
                self.make([("y", y), ("x", x)], attach=attach, spacing=[0.0156, 0.0312])  # rounded, by more than 1e-3
                self.assertEqual(len([line for line in self.notes() if "contradicts" in line]), 1)
                self.make([("y", y), ("x", x)], attach=attach, spacing=[0.015625, 0.03125])
                self.assertEqual([line for line in self.notes() if "spacing" in line], [])

    def test_without_all_of_them(self):
        self.make([None, ("x", np.linspace(0, 1, 65))])
        self.assertIn("spacing is 1, since none is given, but coordinates /x are 0.015625 apart",
                      " ".join(self.notes()))
        self.assertIsNone(self.spacing())
        self.make([("y", np.linspace(0, 1, 65)), ("x", np.linspace(0, 1, 65))], attach=False)
        self.assertEqual(len([line for line in self.notes() if "spacing is 1" in line]), 2)
        self.make([("y", np.arange(9.0)), ("x", np.arange(9.0))], attach=False)
        self.assertEqual([line for line in self.notes() if "spacing" in line], [])
        self.make([("y", np.arange(9.0)), ("s", np.linspace(0, 1, 9))], attach=False)  # nobody's name
        self.assertEqual([line for line in self.notes() if "spacing" in line], [])

    def test_dimensions_without_coordinates(self):
        """netCDF-4 makes a scale for them all the same, with values that mean nothing."""
        for engine in ("netcdf4", "h5netcdf"):
            with self.subTest(engine):
                xr.Dataset({"u": (("y", "x"), np.random.default_rng(5).random((9, 11)))}, attrs={"problem": "laplace"}
                           ).to_netcdf(self.path("p.h5"), engine=engine)
                self.assertEqual([line for line in self.notes() if "spacing" in line], [])
                self.assertIsNone(self.spacing())

    def test_xarray(self):
        for engine in ("netcdf4", "h5netcdf"):
            with self.subTest(engine):
                xr.Dataset({"u": (("y", "x"), np.random.default_rng(5).random((9, 11)))},
                           coords={"y": np.linspace(0, 1, 9), "x": np.linspace(0, 1, 11)}, attrs={"problem": "laplace"}
                           ).to_netcdf(self.path("p.h5"), engine=engine)
                self.notes()
                self.assertEqual(self.spacing(), [0.125, 0.1])


class Axes(Grid):
    def test_time(self):
        line = "axis 0 of /u is labelled time"
        self.make([("time", np.arange(9.0)), ("x", np.arange(9.0))])
        self.assertIn(line, self.notes()[0])
        self.make([("when", np.arange(9.0)), ("x", np.arange(9.0))], problem=None, stencil="j2d5pt")
        self.assertEqual(self.notes(), [])
        for attribute, value in (("units", "days since 2000-01-01"), ("axis", "T"), ("standard_name", "time")):
            with h5py.File(self.path("p.h5"), "a") as file:
                file["when"].attrs[attribute] = value
            self.assertIn(line, self.notes()[0])
            with h5py.File(self.path("p.h5"), "a") as file:
                del file["when"].attrs[attribute]
        with h5py.File(self.path("p.h5"), "a") as file:
            file["u"].dims[0].label = "t"
        self.assertIn(line, self.notes()[0])

    def test_colours(self):
        for shape, axis in (((64, 48, 3), 2), ((4, 64, 48), 0)):
            u = np.random.default_rng(5).random(shape)
            self.make([None] * 3, u, problem=None, stencil="j3d7pt")
            lines = self.notes()
            self.assertEqual(len(lines), 1)
            self.assertIn(f"axis {axis} of /u has {shape[axis]} cells beside 64 and 48: if they are colours", lines[0])
        for shape in ((5, 64, 48), (3, 20, 20), (64, 3, 48)):
            self.make([None] * 3, np.random.default_rng(5).random(shape), problem=None, stencil="j3d7pt")
            self.assertEqual(self.notes(), [])

    def test_both_ends_of_a_period(self):
        def lines(values, attach=True, boundary="periodic"):
            self.make([("y", np.arange(9.0)), ("x", values)], attach=attach, boundary=["fixed", boundary], spacing=1.0)
            return [line for line in self.notes() if "cell n is cell 0 again" in line]

        for values in (np.linspace(0, 1, 33), np.linspace(0, 2 * np.pi, 33, dtype="f4"), np.linspace(-np.pi, np.pi, 64),
                       np.linspace(-1, 1, 50), np.linspace(0, 360, 73), np.linspace(0, 10, 64)):
            for attach in (True, False):
                with self.subTest(values[-1], attach=attach):
                    self.assertEqual(len(lines(values, attach)), 1)
                    self.assertEqual(lines(values, attach, "fixed"), [])
        for values in (np.linspace(0, 1, 33, endpoint=False), np.linspace(0, 2 * np.pi, 32, endpoint=False),
                       np.arange(33.0), np.arange(0, 360, 5), (np.arange(40) + 0.5) / 40, 0.1 * np.arange(32)):
            with self.subTest(values[-1]):
                self.assertEqual(lines(values), [])

    def test_cells_of_both_ends(self):
        """Without coordinates the field shows it."""
        for n in (33, 64):
            for rank in (2, 3):
                for axis in range(rank):
                    def lines(profile):
                        shape = [11 if i != axis else 1 for i in range(rank)]
                        u = np.random.default_rng(6).random(shape) * profile.reshape([n if i == axis else 1
                                                                                      for i in range(rank)])
                        boundary = ["periodic" if i == axis else "fixed" for i in range(rank)]
                        self.make([None] * rank, u, boundary=boundary, spacing=1.0)
                        return [line for line in self.notes() if "cell n is cell 0 again" in line]

                    with self.subTest(n=n, rank=rank, axis=axis):
                        ends, open_end = np.linspace(0, 1, n), np.linspace(0, 1, n, endpoint=False)
                        self.assertEqual(len(lines(np.sin(2 * np.pi * ends))), 1)
                        self.assertEqual(len(lines(3 + np.cos(2 * np.pi * ends + 1))), 1)
                        centred = (np.arange(n) + 0.5) / n
                        for profile in (np.sin(2 * np.pi * open_end), np.cos(2 * np.pi * centred), np.ones(n),
                                        np.exp(-100 * (centred - 0.5) ** 2), np.random.default_rng(7).random(n),
                                        0 * ends):
                            self.assertEqual(lines(profile), [])


if __name__ == "__main__":
    unittest.main()
