"""What a file means beside what it says: markers that no attribute names, axes in another order, times, constants,
sources without a mean; and notes that would be false."""
import itertools
import json
import unittest

import netCDF4
import numpy
import xarray

from harness import CommandTest, field, h5py

BAD_DATA = 65
AXES = ("DIMENSION_LIST", "coordinates")  # attributes of u by which a result names its axes
RUN = ("--device", "cpu", "--threads", 1, "--effort", "estimate", "--force")


class Meaning(CommandTest):
    def solve(self, name="p.h5", *options, code=0):
        """The report, and its notes in a line each."""
        return json.loads(self.ok(name, *RUN, *options, "--json", "-", code=code).stdout)

    def file(self, name="p.h5", **contents):
        with h5py.File(self.path(name), "w") as file:
            for key, value in contents.items():
                if isinstance(value, numpy.ndarray) and value.ndim > 1:
                    file[key] = value
                else:
                    file.attrs[key] = value
        return name

    def test_many_attributes_of_texts(self):
        """HDF5 1.10 crashed as it copied objects of more than eight attributes with texts of variable length."""
        about = {name: "m" for name in ("units", "long_name", "standard_name", "axis")}
        u = field(17, 17)
        for engine in ("h5netcdf", "netcdf4"):
            xarray.Dataset({"u": (("y", "x"), u), "mask": (("y", "x"), u, {f"n{i}": "text" for i in range(7)})},
                           coords={"y": ("y", numpy.arange(17.0), about), "x": ("x", numpy.arange(17.0), about)},
                           attrs={"problem": "laplace", "steps": 3}).to_netcdf(self.path("p.nc"), engine=engine)
            self.ok("p.nc", *RUN, "-q", "-o", "r.nc")
            with xarray.open_dataset(self.path("r.nc"), engine=engine) as result:
                self.assertEqual(result["x"].attrs, about)
                self.assertEqual(result["mask"].attrs["n6"], "text")
                self.assertEqual(result["u"].dims, ("y", "x"))
        for version in ("earliest", "latest"):
            with h5py.File(self.path("p.h5"), "w", libver=version, track_order=True) as file:
                file["u"] = file["f"] = u
                file.create_group("g/inner", track_order=True)
                file["root"] = file["/"]
                for thing in (file, file["f"], file["g"], file["g/inner"], file["u"]):
                    for i in range(12, 0, -1):
                        thing.attrs[f"a{i}"] = f"text {i}"
                file.attrs.update({"problem": "poisson", "steps": 3})
            self.ok("p.h5", *RUN, "-q")
            with h5py.File(self.path("p.out.h5")) as file:
                for thing in (file["f"], file["g"], file["g/inner"], file["u"]):
                    own = {name: value for name, value in thing.attrs.items() if name not in AXES}
                    self.assertEqual(own, {f"a{i}": f"text {i}" for i in range(1, 13)}, thing)

    def test_fill_value_that_no_attribute_names(self):
        values = numpy.ma.zeros((17, 17))
        values[0], values[8, 8] = 100, numpy.ma.masked
        for dtype in ("f8", "f4", "i4", "i2"):
            with netCDF4.Dataset(self.path("p.nc"), "w") as data:
                data.createDimension("y", 17)
                data.createDimension("x", 17)
                data.createVariable("u", dtype, ("y", "x"))[:] = values
                data.problem, data.rtol = "laplace", 1e-6
            self.refused(BAD_DATA, ["1 cell of /u", "the fill value of the dataset", "/u[8][8]"], "p.nc", *RUN)
        for fill, code in ((-999.0, BAD_DATA), (-9999.0, BAD_DATA), (20.0, 0), (0.0, 0)):
            with h5py.File(self.path("p.h5"), "w") as file:
                u = file.create_dataset("u", data=field(9, 9), fillvalue=fill)
                u[4, 4] = fill
                file.attrs.update({"problem": "laplace", "steps": 3})
            self.ok("p.h5", *RUN, code=code)
        for name in ("nodata", "fill_value"):
            self.file(u=field(9, 9), problem="laplace", steps=3)
            with h5py.File(self.path("p.h5"), "a") as file:
                file["u"].attrs[name] = -999.0
            self.assertIn("_FillValue", " ".join(self.solve()["notes"]))
        with h5py.File(self.path("p.h5"), "a") as file:
            file["u"].attrs["missing_value"] = "-999"
        self.refused(BAD_DATA, ["missing_value", "a number"], "p.h5", *RUN)

    def test_axes_of_a_source(self):
        f = numpy.zeros((17, 17))
        f[3, 8] = 1
        for names, code in ((("y", "x"), 0), (("x", "y"), BAD_DATA)):
            data = xarray.Dataset({"u": (("y", "x"), numpy.zeros((17, 17)))},
                                  coords={"y": numpy.arange(17.0), "x": numpy.arange(17.0)},
                                  attrs={"problem": "poisson", "steps": 5})
            data["f"] = (names, f)
            data.to_netcdf(self.path("p.nc"))
            done = self.ok("p.nc", *RUN, code=code)
            self.assertEqual("(x, y), those of /u (y, x)" in done.stderr, code != 0, done.stderr)

    def test_axis_of_one_time(self):
        xarray.Dataset({"u": (("time", "lat", "lon"), field(1, 9, 9))}, attrs={"problem": "laplace", "steps": 3},
                       coords={"time": [0.0], "lat": numpy.arange(9.0), "lon": numpy.arange(9.0)}).to_netcdf(self.path("p.nc"))
        self.refused(BAD_DATA, ["labelled time", "without that axis"], "p.nc", *RUN)

    def test_time_of_an_edited_result(self):
        self.ok("new", "p.h5", "--problem", "heat", "--size", "17x17", "--initial", "sine", "--time", 0.01, "-q")
        self.ok("p.h5", *RUN, "-q")
        with h5py.File(self.path("p.out.h5"), "a") as file:
            file["u"][8, 8] = 2
        self.solve("p.out.h5", "--time", 0.02, "-o", "r.h5")
        self.assertAlmostEqual(self.attribute("r.h5", "/", "time"), 0.02, 12)
        self.ok("verify", "r.h5")

    def test_time_within_a_step(self):
        self.file(u=field(9, 9), problem="heat", dt=1e-4, spacing=0.1)
        notes = " ".join(self.solve("p.h5", "--time", 1e-5)["notes"])
        self.assertIn("no whole number of steps", notes)

    def test_constant_is_its_own_solution(self):
        for precision in ("f4", "f8"):
            self.file(u=numpy.ones((17, 17), precision), problem="laplace", boundary="periodic", rtol=1e-8)
            report = self.solve()
            self.assertLess(report["result"]["error_bound_relative"], 0.1)
            self.assertNotIn("the limit of the residual", " ".join(report["notes"]))
            self.assertNotIn("not solved", self.ok("p.h5", *RUN).stdout)
        rng = numpy.random.default_rng(3)
        self.file(u=rng.random((17, 17)).astype("f4"), problem="laplace", boundary="periodic", rtol=1e-5)
        self.assertNotIn("as small itself", self.ok("p.h5", *RUN).stdout)

    def test_mean_below_the_criterion(self):
        """A source of float32 has no mean that is exactly 0 in float64."""
        x = numpy.sin(numpy.pi * numpy.linspace(0, 1, 33))
        f = numpy.outer(x, x).astype("f4")
        self.file(u=numpy.zeros((33, 33)), f=f - f.mean(), problem="poisson", boundary="periodic", rtol=1e-4)
        self.assertEqual(self.solve()["result"]["reason"], "converged_rtol")
        self.file(u=numpy.zeros((33, 33)), f=f, problem="poisson", boundary="periodic", rtol=1e-4)
        self.refused(BAD_DATA, ["there is no solution"], "p.h5", *RUN)

    def test_an_iteration_that_grows_is_noted_without_a_criterion(self):
        self.ok("new", "p.h5", "--problem", "laplace", "--size", "65x65", "--initial", "random", "-q", "--force")
        for omega, (criterion, code) in itertools.product(("1", "1.5"), (("none", 0), ("1e-9", 2))):
            report = self.solve("p.h5", "--steps", 6, "--omega", omega, "--rtol", criterion, "--no-output", code=code)
            self.assertEqual("this iteration is unstable: give --omega below 1.0006" in report["notes"], omega == "1.5", omega)

    def test_a_flux_and_a_source_that_balance_in_each_cell(self):
        """What rounding leaves of such a sum is not taken for one; what is left of another one is."""
        for precision, (flux, spacing) in itertools.product(("f4", "f8"), ((0.3, 0.1), (0.7, 0.01))):
            with self.subTest(precision=precision, flux=flux):
                f = numpy.zeros((3, 30), precision)
                f[0] = -flux / spacing
                for extra in (0, 1e-3 * flux / spacing):
                    f[1, 3] += extra
                    self.write("p.h5", f * 0, {"stencil": None, "problem": "poisson", "boundary": "mirror", "boundary_y-": "flux",
                                               "flux_y-": flux, "spacing": spacing}, {"f": f})
                    run = ("p.h5", "-q", "--force", "--no-output", "--rtol", "1e-3")
                    if extra == 0:
                        self.ok(*run)
                    else:
                        self.refused(BAD_DATA, ["there is no solution"], *run)

    def test_fixed_point_within_the_precision(self):
        h = 1 / 64
        self.file(u=numpy.full((65, 65), 300, "f4"), f=numpy.full((65, 65), 0.01, "f4"), problem="poisson", spacing=h,
                  rtol=1e-5)
        self.assertEqual(self.solve()["result"]["reason"], "fixed_point")

    def test_notes_that_would_be_false(self):
        u, b = field(17, 17), field(17, 17)
        self.file(u=u, b=b, problem="heat", time_end=0.01, spacing=1 / 16)
        self.assertNotIn("as strong as the file's", " ".join(self.solve()["notes"]))
        self.assertIn("as strong as the file's", " ".join(self.solve("p.h5", "--time", 0.0101, "--dt", 1e-4)["notes"]))
        x = numpy.zeros((17, 17), "f4")
        x[0] = 100
        self.file(u=x, problem="laplace", rtol=0.0, steps=20000)
        self.assertNotIn("rounded away", " ".join(self.solve("p.h5", code=0)["notes"]))
        for name, value in (("height", 2.0), ("form", "x"), ("normal", 1), ("yield", 3), ("shield", 1)):
            self.file(u=u, problem="laplace", steps=3, **{name: value})
            notes = [note for note in self.solve()["notes"] if "did you mean" in note]
            self.assertEqual(notes, [], name)

    def test_names_of_what_a_run_leaves(self):
        with h5py.File(self.path(self.file(u=field(9, 9), problem="laplace", steps=3)), "a") as file:
            file["residual"] = field(9, 9)
            file.create_group("provenance").attrs["lab"] = "ours"
        notes = " ".join(self.solve()["notes"])
        self.assertIn("/residual is not in the result", notes)
        self.assertIn("/provenance is not in the result", notes)
        self.assertNotIn("not in the result", " ".join(self.solve("p.out.h5", "--steps", 5)["notes"]))


if __name__ == "__main__":
    unittest.main()
