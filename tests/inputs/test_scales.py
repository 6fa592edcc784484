"""Axes keep their names: dimension scales, labels and coordinates of a problem in its result, as h5py, netCDF4 and
xarray write and read them."""

import os
import subprocess
import sys
import unittest

try:
    import h5py
    import netCDF4
    import numpy as np
    import xarray as xr
    import h5netcdf  # noqa: F401 (an engine of xarray)
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-h5py python3-netcdf4 python3-h5netcdf python3-xarray)")
    sys.exit(77)

from folder import FolderTest  # noqa: E402

STENCIL = os.environ["STENCIL"]
ENGINES = ("netcdf4", "h5netcdf")
AXES = {2: ("y", "x"), 3: ("z", "y", "x")}


class Scales(FolderTest):
    def run_file(self, name="p.h5", output="r.h5", *options):
        done = subprocess.run([STENCIL, "--device", "cpu", "--force", "--steps", "3", "-o", output, *options, name],
                              cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("not kept", done.stdout)
        return self.path(output)

    @staticmethod
    def field(rank):
        """As long along every axis: only names tell axes apart."""
        return np.random.default_rng(5).random((9,) * rank)

    @staticmethod
    def coordinate(axis):
        return np.linspace(0, 1 + "xyz".index(axis), 9)

    def dataset(self, rank):
        axes = AXES[rank]
        return xr.Dataset({"u": (axes, self.field(rank), {"units": "K"}), "b": (axes, 0 * self.field(rank)),
                           "layer": (axes[::-1], self.field(rank))},
                          coords={axis: (axis, self.coordinate(axis), {"units": "m"}) for axis in axes},
                          attrs={"stencil": f"j{rank}d{2 * rank + 1}pt"})

    def check_xarray(self, path, rank):
        axes = AXES[rank]
        for engine in ENGINES:
            with self.subTest(read=engine), xr.open_dataset(path, engine=engine) as found:
                self.assertEqual(found["u"].dims, axes)
                self.assertEqual(found["b"].dims, axes)
                self.assertEqual(found["layer"].dims, axes[::-1])
                self.assertEqual(found["residual"].dims, ("residual_step",))
                self.assertEqual(found["residual_step"].values.tolist(), [3])
                self.assertEqual(found["u"].attrs["units"], "K")
                for axis in axes:
                    np.testing.assert_array_equal(found[axis], self.coordinate(axis))
                    self.assertEqual(found[axis].attrs["units"], "m")

    def test_xarray(self):
        for rank in AXES:
            for engine in ENGINES:
                with self.subTest(rank=rank, written=engine):
                    self.dataset(rank).to_netcdf(self.path("p.h5"), engine=engine)
                    self.check_xarray(self.run_file(), rank)
                    self.check_xarray(self.run_file("r.h5", "again.h5"), rank)

    def test_netcdf4(self):
        for rank, axes in AXES.items():
            with self.subTest(rank=rank):
                with netCDF4.Dataset(self.path("p.h5"), "w") as file:
                    file.createDimension("unused", 9)
                    for axis in axes[1:]:
                        file.createDimension(axis, 9)
                        file.createVariable(axis, "f8", (axis,))[:] = self.coordinate(axis)
                    file.createDimension(axes[0], 9)  # anonymous: it has no variable
                    file.createVariable("u", "f4", axes)[:] = self.field(rank)
                    file.createVariable("f", "f8", axes)[:] = self.field(rank)
                    file.createVariable("mask", "i1", (axes[0], "unused"))[:] = 1
                    file.problem = "poisson"
                    file.spacing = 1.0
                for name in (self.run_file(), self.run_file("r.h5", "again.h5")):
                    with netCDF4.Dataset(name) as file:
                        self.assertEqual(file["u"].dimensions, axes)
                        self.assertEqual(file["f"].dimensions, axes)
                        self.assertEqual(file["mask"].dimensions, (axes[0], "unused"))
                        self.assertEqual(file["residual"].dimensions, ("residual_step",))
                        self.assertNotIn(axes[0], file.variables)
                        np.testing.assert_array_equal(file["x"][:], self.coordinate("x"))
                    for engine in ENGINES:
                        with xr.open_dataset(name, engine=engine) as found:
                            self.assertEqual(found["u"].dims, axes)
                            self.assertEqual(found["mask"].dims, (axes[0], "unused"))

    def make_h5py(self, rank):
        axes = AXES[rank]
        with h5py.File(self.path("p.h5"), "w") as file:
            for name in ("u", "b", "own/inner"):
                file[name] = 0 * self.field(rank)
            file["u"][...] = self.field(rank)
            for axis in axes[1:]:  # nothing is attached to the first one
                file[axis] = self.coordinate(axis)
                file[axis].make_scale("name of " + axis)
            file["grid/cells"] = np.arange(9)
            file["grid/cells"].make_scale("cells")
            for name in ("u", "b", "own/inner"):
                dims = file[name].dims
                dims[0].label = "first"
                for i, axis in enumerate(axes[1:], 1):
                    dims[i].attach_scale(file[axis])
                dims[rank - 1].attach_scale(file["grid/cells"])
            file.attrs["stencil"] = f"j{rank}d{2 * rank + 1}pt"
            file["u"].attrs["mate"] = file["own"].ref
            file.attrs["all"] = np.array([file["u"].ref, file["b"].ref, file["grid"].ref], dtype=h5py.ref_dtype)
            file.attrs["part"] = file["b"].regionref[1:3, 2:7]
            file["own/list"] = np.array([file["x"].ref, file["own/inner"].ref], dtype=h5py.ref_dtype)

    def check_h5py(self, path, rank):
        axes = AXES[rank]
        with h5py.File(path) as file:
            for name in ("u", "b", "own/inner"):
                dims = file[name].dims
                self.assertEqual([[scale.name for scale in dim.values()] for dim in dims],
                                 [[]] + [["/" + axis] for axis in axes[1:-1]] + [["/x", "/grid/cells"]])
                self.assertEqual(dims[0].label, "first")
                self.assertEqual(dims[rank - 1].keys(), ["name of x", "cells"])
                self.assertTrue(h5py.h5ds.is_attached(file[name].id, file["x"].id, rank - 1))
            users = {file[entry[0]].name for entry in file["grid/cells"].attrs["REFERENCE_LIST"]}
            self.assertEqual(users, {"/u", "/b", "/own/inner"})
            self.assertEqual(file[file["u"].attrs["mate"]].name, "/own")
            self.assertEqual([file[one].name for one in file.attrs["all"]], ["/u", "/b", "/grid"])
            part = file.attrs["part"]
            self.assertEqual(file[part].name, "/b")
            self.assertEqual(file["b"].regionref.selection(part)[:2], (2, 5))
            self.assertEqual([file[one].name for one in file["own/list"]], ["/x", "/own/inner"])
            self.assertEqual([scale.name for scale in file["residual"].dims[0].values()], ["/residual_step"])

    def test_h5py(self):
        for rank in AXES:
            with self.subTest(rank=rank):
                self.make_h5py(rank)
                self.check_h5py(self.run_file(), rank)
                self.check_h5py(self.run_file("r.h5", "again.h5"), rank)

    def test_source_in_other_files(self):
        """/b is written anew there, with the attributes that it has."""
        self.make_h5py(2)
        with h5py.File(self.path("p.h5"), "a") as file:
            for name in ("u", "b"):
                del file[name]
            file["u"] = self.field(2)
            file["values"] = 0 * self.field(2)
            layout = h5py.VirtualLayout((9, 9), "f8")
            layout[:] = h5py.VirtualSource(self.path("p.h5"), "values", (9, 9))
            file.create_virtual_dataset("b", layout)
            for name in ("u", "b"):
                file[name].dims[0].attach_scale(file["x"])
                file[name].dims[1].label = "width"
        with h5py.File(self.run_file()) as file:
            self.assertFalse(file["b"].is_virtual)
            for name in ("u", "b"):
                self.assertEqual([scale.name for scale in file[name].dims[0].values()], ["/x"])
                self.assertEqual(file[name].dims[1].label, "width")

    def test_field_behind_a_link(self):
        """/u stands in a group: scales lead to /u of the result, too."""
        with h5py.File(self.path("p.h5"), "w") as file:
            file["grid/u"] = self.field(2)
            file["grid/x"] = self.coordinate("x")
            file["grid/x"].make_scale("x")
            file["grid/u"].dims[1].attach_scale(file["grid/x"])
            file["u"] = h5py.SoftLink("/grid/u")
            file.attrs["stencil"] = "j2d5pt"
        with h5py.File(self.run_file()) as file:
            self.assertEqual([scale.name for scale in file["u"].dims[1].values()], ["/grid/x"])
            self.assertEqual(file[file["grid/x"].attrs["REFERENCE_LIST"][0][0]].name, "/u")

    def test_number_of_a_dimension_that_is_a_long_list(self):
        """It is none of netCDF's, and has no room in one number."""
        self.make_h5py(2)
        with h5py.File(self.path("p.h5"), "a") as file:
            file["x"].attrs["_Netcdf4Dimid"] = np.arange(4000)
        with h5py.File(self.run_file()) as file:
            self.assertNotIn("_Netcdf4Dimid", file["residual_step"].attrs)

    def test_references_of_another_file(self):
        with h5py.File(self.path("other.h5"), "w") as file:
            file["u"] = self.field(2)
            file["x"] = self.coordinate("x")
            file["x"].make_scale("x")
            file["u"].dims[1].attach_scale(file["x"])
        with h5py.File(self.path("p.h5"), "w") as file:
            file["u"] = h5py.ExternalLink("other.h5", "/u")
            file.attrs["stencil"] = "j2d5pt"
        done = subprocess.run([STENCIL, "--device", "cpu", "--steps", "3", "p.h5"], cwd=self.folder,
                              capture_output=True, text=True, timeout=300)
        self.assertIn("attribute 'DIMENSION_LIST' of /u is not kept in the result: it refers to objects of another "
                      "file", " ".join(done.stdout.split()))

    def test_plain_results(self):
        """They have scales of their own, in a result of a result anew."""
        with h5py.File(self.path("p.h5"), "w") as file:
            file["u"] = self.field(2)
            file.attrs["stencil"] = "j2d5pt"
        first = self.run_file()
        for name in (first, self.run_file(first)):
            with h5py.File(name) as file:
                self.assertEqual([list(axis.keys()) for axis in file["u"].dims], [["y"], ["x"]])
                self.assertEqual([list(axis.keys()) for axis in file["residual"].dims], [["residual_step"]])
                self.assertEqual(file["x"].attrs["made_by"], b"stencil run")


if __name__ == "__main__":
    unittest.main()
