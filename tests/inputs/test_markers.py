"""Cells without a value, packed numbers and ranges: what the conventions of netCDF and CF say of stored numbers."""

import os
import subprocess
import sys
import unittest

try:
    import h5py
    import netCDF4
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-h5py python3-netcdf4)")
    sys.exit(77)

from folder import FolderTest  # noqa: E402

STENCIL = os.environ["STENCIL"]
BAD_DATA = 65
SHAPE = (9, 11)


class Values(FolderTest):
    @staticmethod
    def field(dtype="f8"):
        return (100 * np.random.default_rng(5).random(SHAPE)).round().astype(dtype)

    def make(self, u, source=None, root=None, name="p.h5", **attributes):
        """A problem whose /u has these attributes; source: (name, values, attributes)."""
        with h5py.File(self.path(name), "w") as file:
            file["u"] = u
            for key, value in attributes.items():
                file["u"].attrs[key] = value
            if source is not None:
                file[source[0]] = source[1]
                for key, value in source[2].items():
                    file[source[0]].attrs[key] = value
            for key, value in (root or {"stencil": "j2d5pt"}).items():
                file.attrs[key] = value

    def call(self, *arguments):
        return subprocess.run([STENCIL, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300)

    def run_file(self, name="p.h5", *options, steps=3):
        if name == "r.h5":
            os.rename(self.path("r.h5"), self.path("before.h5"))
            name = "before.h5"
        done = self.call("--device", "cpu", "--force", "--steps", str(steps), "-o", "r.h5", *options, name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        verified = self.call("verify", "r.h5")
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        with h5py.File(self.path("r.h5")) as file:
            return file["u"][()], dict(file["u"].attrs), " ".join(done.stdout.split())

    def refused(self, *wanted, options=()):
        if os.path.exists(self.path("p.out.h5")):
            os.remove(self.path("p.out.h5"))
        done = self.call("--device", "cpu", "--steps", "3", *options, "p.h5")
        self.assertEqual(done.returncode, BAD_DATA, done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        for text in wanted:
            self.assertIn(text, done.stderr)
        self.assertFalse(os.path.exists(self.path("p.out.h5")))


class Markers(Values):
    def test_every_kind_of_marker(self):
        for dtype, attribute, value, said in (
                ("f8", "_FillValue", np.float64(-999), "(_FillValue -999)"),
                ("f4", "_FillValue", np.float32(9.96921e36), "(_FillValue 9.96921e+36)"),
                ("f4", "missing_value", np.float64(1e20), "(missing_value 1e+20)"),  # rounded as the data are
                ("f2", "_FillValue", np.float64(-999.9), "(_FillValue -1000)"),
                (">i2", "_FillValue", np.int16(-32768), "(_FillValue -32768)"),
                ("i8", "missing_value", np.int64(-9223372036854775806), "(missing_value -9.22337e+18)"),
                ("u1", "missing_value", np.array([254, 255], "u1"), "(missing_value 255)"),
                ("f8", "_FillValue", np.float64(np.nan), "(_FillValue nan)"),
                ("f4", "missing_value", np.array([-1, np.nan]), "(missing_value nan)")):
            with self.subTest(dtype=dtype, value=value):
                u = self.field(dtype)
                u[3, 4] = u[5, 2] = u[8, 7] = np.asarray(value).ravel()[-1]
                self.make(u, **{attribute: value})
                self.refused("3 cells of /u have no value", said, "the first one /u[3][4]")

    def test_numbers_that_mark_nothing(self):
        for attribute, value, dtype in (("_FillValue", -999.0, "f8"), ("missing_value", "none", "f8"),
                                        ("missing_value", 1.5, "i4"), ("_FillValue", np.float64(np.nan), "i4"),
                                        ("missing_value", 70000, "u1"), ("valid_range", "0 to 1", "f8")):
            with self.subTest(attribute=attribute, value=value):
                self.make(self.field(dtype), **{attribute: value})
                marked = self.run_file()
                self.make(self.field(dtype))
                np.testing.assert_array_equal(marked[0], self.run_file()[0])

    def test_cells_that_no_step_reads(self):
        corners = [(0, 0), (0, -1), (-1, 0), (-1, -1)]
        for value in (-999.0, np.nan):
            with self.subTest(value=value):
                u = self.field()
                for corner in corners:
                    u[corner] = value
                self.make(u, _FillValue=value)
                found, attributes, _ = self.run_file()
                for corner in corners:
                    np.testing.assert_equal(found[corner], value)
                np.testing.assert_equal(attributes["_FillValue"], value)
                self.assertTrue(np.isfinite(found[1:-1, 1:-1]).all())
                self.run_file("r.h5", steps=5)  # and on from there
                self.make(u, root={"stencil": "j2d9pt"}, _FillValue=value)
                self.refused("4 cells of /u have no value", "/u[0][0]")
                self.make(u, root={"stencil": "j2d5pt", "boundary": ["fixed", "periodic"]}, _FillValue=value)
                self.refused("4 cells of /u have no value")

    def test_points_of_weight_zero(self):
        """They hide a number, but not NaN."""
        for value, refused in ((-999.0, False), (np.nan, True)):
            u = self.field()
            u[0, 3] = value
            self.make(u, _FillValue=value)
            with h5py.File(self.path("p.h5"), "a") as file:
                file["stencil/offsets"] = [[0, 0], [1, 0], [0, 1], [0, -1]]  # it is not read from below
                file["stencil/weights"] = [0.25] * 4
                del file.attrs["stencil"]
            if refused:
                self.refused("1 cell of /u has no value", "/u[0][3]")
            else:
                self.run_file()

    def test_sources(self):
        for name, root in (("b", {"stencil": "j2d5pt"}), ("f", {"problem": "poisson"})):
            with self.subTest(name):
                values = self.field("f4")
                values[0, :] = values[:, -1] = -999  # no step reads it
                self.make(self.field(), (name, values, {"_FillValue": np.float32(-999)}), root)
                self.run_file()
                values[4, 4] = -999
                self.make(self.field(), (name, values, {"_FillValue": np.float32(-999)}), root)
                self.refused(f"1 cell of /{name} has no value (_FillValue -999), the first one /{name}[4][4]")

    def test_allow_nonfinite(self):
        u = self.field()
        u[4, 4] = np.nan
        self.make(u, _FillValue=np.nan, missing_value=-999.0)
        self.refused("1 cell of /u has no value (_FillValue nan)")
        done = self.call("--device", "cpu", "--steps", "1", "--allow-nonfinite", "p.h5")
        self.assertNotEqual(done.returncode, BAD_DATA, done.stderr)
        u[5, 5] = -999
        self.make(u, _FillValue=np.nan, missing_value=-999.0)
        self.refused("1 cell of /u has no value (missing_value -999), the first one /u[5][5]",
                     options=["--allow-nonfinite"])

    def test_infinity_is_no_marker(self):
        u = self.field()
        u[0, 0], u[4, 4] = np.nan, np.inf
        self.make(u, _FillValue=np.nan)
        self.refused("/u[4][4] is NaN or infinite")

    def test_valid_range(self):
        u = self.field()
        u[2, 3], u[4, 4] = -1, 101
        for attributes, wanted in (({"valid_range": [0.0, 100.0]}, "2 cells of /u are outside"),
                                   ({"valid_min": 0}, "1 cell of /u is outside"),
                                   ({"valid_max": np.float32(100)}, "1 cell of /u is outside")):
            with self.subTest(attributes):
                self.make(u, **attributes)
                self.refused(wanted, "the first one /u[4][4] is 101" if "valid_max" in attributes else "/u[2][3] is -1")
        self.make(u, valid_range=[-1.0, 101.0])
        self.run_file()
        self.make(u, valid_range=[-1.0])
        self.refused("attribute 'valid_range' of /u", "give two numbers")

    def test_netcdf4(self):
        """A file that masks cells, by the library that does so."""
        for dtype in ("f4", "f8", "i4"):
            with self.subTest(dtype):
                with netCDF4.Dataset(self.path("p.h5"), "w") as file:
                    for name, size in zip("yx", SHAPE):
                        file.createDimension(name, size)
                    u = file.createVariable("u", dtype, ("y", "x"), fill_value=netCDF4.default_fillvals[dtype])
                    u[:] = np.ma.masked_array(self.field(dtype), mask=np.eye(*SHAPE, k=3))
                    file.stencil = "j2d5pt"
                self.refused("8 cells of /u have no value (_FillValue", "the first one /u[0][3]")


class Packed(Values):
    PACKING = {"scale_factor": 0.01, "add_offset": 273.15}

    def test_unpacked_in_double_and_rounded_once(self):
        for factor, precision in ((np.float32, "f4"), (np.float64, "f8")):
            for dtype in ("i2", ">i2", "u1", "i4"):
                with self.subTest(dtype=dtype, precision=precision):
                    stored = self.field(dtype)
                    packing = {key: factor(value) for key, value in self.PACKING.items()}
                    unpacked = (stored.astype("f8") * np.float64(packing["scale_factor"]) +
                                np.float64(packing["add_offset"])).astype(precision)
                    self.make(unpacked)
                    expected = self.run_file()[0]
                    self.make(stored, **packing)
                    found, attributes, said = self.run_file()
                    self.assertEqual(found.dtype, np.dtype(precision))
                    np.testing.assert_array_equal(found, expected)
                    self.assertEqual(set(attributes), {"DIMENSION_LIST", "coordinates"})
                    self.assertIn("/u is packed", said)
                    self.assertEqual(self.run_file("p.h5", "--precision", "float64")[0].dtype, np.float64)

    def test_continues_unpacked(self):
        self.make(self.field("i2"), **self.PACKING)
        whole = self.run_file(steps=6)[0]
        self.run_file(steps=3)
        found, _, said = self.run_file("r.h5", steps=6)
        np.testing.assert_array_equal(found, whole)
        self.assertNotIn("packed", said)

    def test_sources_stay_packed(self):
        for name, root in (("b", {"stencil": "j2d5pt"}), ("f", {"problem": "poisson", "spacing": 0.1})):
            with self.subTest(name):
                stored = self.field("i2")
                self.make(self.field(), (name, stored * 0.5 - 3, {}), root)
                expected = self.run_file()[0]
                self.make(self.field(), (name, stored, {"scale_factor": 0.5, "add_offset": -3.0}), root)
                np.testing.assert_array_equal(self.run_file()[0], expected)
                with h5py.File(self.path("r.h5")) as file:
                    self.assertEqual(file[name].dtype, np.int16)
                    self.assertEqual(file[name].attrs["scale_factor"], 0.5)
                self.run_file("r.h5", steps=6)

    def test_markers_are_packed_too(self):
        stored = self.field("i2")
        stored[4, 5] = -32768
        self.make(stored, _FillValue=np.int16(-32768), **self.PACKING)
        self.refused("1 cell of /u has no value (_FillValue -32768), the first one /u[4][5]")
        stored[4, 5], stored[0, 0] = 7, -32768
        self.make(stored, _FillValue=np.int16(-32768), valid_range=np.array([0, 200], "i2"), **self.PACKING)
        found, attributes, _ = self.run_file()
        self.assertEqual(set(attributes), {"_FillValue", "DIMENSION_LIST", "coordinates"})
        self.assertEqual(attributes["_FillValue"], found[0, 0])
        self.assertEqual(attributes["_FillValue"].dtype, found.dtype)
        self.run_file("r.h5", steps=5)

    def test_range_of_packed_numbers(self):
        stored = self.field("i2")
        stored[4, 5] = 201
        for limits, refused in ((np.array([0, 200], "i2"), True), (np.array([0, 201], "i2"), False),
                                (np.array([273.15, 275.0]), True), (np.array([273.0, 276.0]), False)):
            with self.subTest(limits):
                self.make(stored, valid_range=limits, **self.PACKING)
                if refused:
                    self.refused("1 cell of /u is outside of the valid range", "/u[4][5] is 201")
                else:
                    self.run_file()
        self.make(stored, valid_range=np.array([-5.0, 0.0]), scale_factor=-0.02)
        self.run_file()
        self.make(stored, valid_range=np.array([-4.0, 0.0]), scale_factor=-0.02)
        self.refused("/u[4][5] is 201")

    def test_unpacked_types(self):
        """Markers of a field in another precision have its type in the result."""
        self.make(self.field("i2"), _FillValue=np.int16(-1), missing_value=np.array([-1, -2], "i2"))
        _, attributes, _ = self.run_file()
        self.assertEqual(attributes["_FillValue"].dtype, np.float64)
        self.assertEqual(attributes["missing_value"].tolist(), [-1, -2])
        self.make(self.field("f8"), _FillValue=-1.0)
        _, attributes, _ = self.run_file("p.h5", "--precision", "float32")
        self.assertEqual(attributes["_FillValue"].dtype, np.float32)

    def test_refused_attributes(self):
        for attribute, value, wanted in (("scale_factor", "0.1", "give one number"),
                                         ("scale_factor", 0.0, "other than 0"),
                                         ("add_offset", [1.0, 2.0], "give one number"),
                                         ("scale_factor", np.inf, "finite"), ("_Unsigned", "true", "unsigned type")):
            with self.subTest(attribute):
                self.make(self.field("i2"), **{attribute: value})
                self.refused(f"attribute '{attribute}' of /u", wanted)

    def test_netcdf4_agrees(self):
        with netCDF4.Dataset(self.path("p.h5"), "w") as file:
            for name, size in zip("yx", SHAPE):
                file.createDimension(name, size)
            u = file.createVariable("u", "i2", ("y", "x"), fill_value=np.int16(-32768))
            u.scale_factor, u.add_offset = 0.01, 273.15
            u[:] = 273.15 + 0.01 * self.field()
            expected = np.ma.getdata(u[:])
            file.stencil = "j2d5pt"
        found, _, _ = self.run_file(steps=0)
        np.testing.assert_array_equal(found, expected)
        with netCDF4.Dataset(self.path("r.h5")) as file:
            self.assertEqual(np.ma.count_masked(file["u"][:]), 0)
            np.testing.assert_array_equal(file["u"][:], expected)


if __name__ == "__main__":
    unittest.main()
