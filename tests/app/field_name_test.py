"""A field of another name than /u: by --field or the attribute `field`; the result has it under that name again."""
import json
import shutil
import unittest

import numpy

from harness import CommandTest, field, h5py

USAGE, BAD_DATA = 64, 65
RUN = ("--device", "cpu", "--effort", "estimate", "--force", "-q")


class FieldName(CommandTest):
    def setUp(self):
        super().setUp()
        self.values = field(18, 21)
        self.write("u.h5", self.values, {"problem": "laplace", "steps": 40})
        self.named()

    def named(self, name="t.h5", values=None, **more):
        """The problem of u.h5 with its field as /temperature."""
        with h5py.File(self.path(name), "w") as file:
            file["temperature"] = self.values if values is None else values
            file["temperature"].attrs["units"] = "K"
            file.attrs["problem"] = "laplace"
            file.attrs["steps"] = 40
            for key, value in more.items():
                if isinstance(value, numpy.ndarray):
                    file[key] = value
                else:
                    file.attrs[key] = value
        return name

    def solved(self):
        self.ok("u.h5", *RUN)
        return self.read("u.out.h5")

    def test_option(self):
        wanted = self.solved()
        for given in ("/temperature", "temperature"):
            self.ok("t.h5", "--field", given, *RUN)
            numpy.testing.assert_array_equal(self.read("t.out.h5", "temperature"), wanted)
            with h5py.File(self.path("t.out.h5")) as file:
                self.assertNotIn("u", file)
                self.assertEqual(file.attrs["field"], "/temperature")
                self.assertEqual(file["temperature"].attrs["units"], "K")

    def test_attribute(self):
        wanted = self.solved()
        for given in ("/temperature", "temperature", numpy.bytes_("/temperature")):
            self.named(field=given)
            self.ok("t.h5", *RUN)
            numpy.testing.assert_array_equal(self.read("t.out.h5", "temperature"), wanted)

    def test_goes_on_and_is_verified(self):
        """What a result says of its field holds for those who read it: no option is needed again."""
        self.ok("t.h5", "--field", "/temperature", *RUN, "--steps", 15)
        done = self.ok("verify", "t.out.h5")
        shutil.copy(self.path("t.out.h5"), self.path("t15.h5"))
        self.assertIn("/temperature", done.stdout)
        self.ok("t.out.h5", *RUN, "--steps", 40, "-o", "t.out.h5")
        numpy.testing.assert_array_equal(self.read("t.out.h5", "temperature"), self.solved())
        self.assertEqual(self.attribute("t.out.h5", "/", "steps_total"), 40)
        self.ok("compare", "u.out.h5", "t.out.h5")
        with h5py.File(self.path("t.out.h5"), "a") as file:
            file["temperature"][3, 3] += 1
        self.assertIn("/temperature", self.ok("verify", "t.out.h5", "t15.h5", code=1).stdout)
        self.ok("compare", "u.out.h5", "t.out.h5", code=1)
        self.assertIn("/temperature was changed", " ".join(self.ok("t.out.h5", "--steps", 41, *RUN[:-1]).stdout.split()))

    def test_u_beside_it(self):
        """Is the user's own then, kept as it is, and the other way round."""
        mine = field(4, 3)
        self.named(u=mine, field="/temperature")
        self.ok("t.h5", *RUN)
        numpy.testing.assert_array_equal(self.read("t.out.h5", "u"), mine)
        numpy.testing.assert_array_equal(self.read("t.out.h5", "temperature"), self.solved())
        self.ok("verify", "t.out.h5")
        self.write("both.h5", self.values, {"problem": "laplace", "steps": 40}, {"temperature": self.values * 2})
        self.ok("both.h5", *RUN)
        numpy.testing.assert_array_equal(self.read("both.out.h5", "temperature"), self.values * 2)
        done = self.ok("both.h5", *RUN[:-1], "--field", "/temperature")
        self.assertIn("/u has the shape of /temperature, but is not used", " ".join(done.stdout.split()))
        numpy.testing.assert_array_equal(self.read("both.out.h5", "u"), self.values)
        numpy.testing.assert_array_equal(self.read("both.out.h5", "temperature"), 2 * self.solved())
        # The steps of one field are none of the other one.
        done = self.ok("both.out.h5", *RUN[:-1], "--field", "/u", "-o", "u2.h5")
        numpy.testing.assert_array_equal(self.read("u2.h5"), self.solved())
        self.assertEqual(self.attribute("u2.h5", "/", "steps_total"), 40)
        with h5py.File(self.path("u2.h5")) as file:
            self.assertNotIn("field", file.attrs)
        self.ok("verify", "u2.h5", "both.out.h5")

    def test_source_and_marks(self):
        """Everything that is said of /u is said of it: a source, missing values, cells that nobody wrote, scales."""
        source = field(18, 21)
        self.write("u.h5", self.values, {"problem": "poisson", "steps": 40}, {"f": source})
        self.named(f=source, problem="poisson")
        self.ok("t.h5", "--field", "temperature", *RUN)
        numpy.testing.assert_array_equal(self.read("t.out.h5", "temperature"), self.solved())
        self.ok("verify", "t.out.h5")
        self.named()
        with h5py.File(self.path("t.h5"), "a") as file:
            file["temperature"][5, 6] = -999
            file["temperature"].attrs["_FillValue"] = -999.0
        self.refused(BAD_DATA, ["/temperature[5][6]"], "t.h5", "--field", "temperature", "-f")
        with h5py.File(self.path("empty.h5"), "w") as file:
            file.create_dataset("temperature", (18, 21), "f8", chunks=(9, 21))
        self.refused(BAD_DATA, ["378 of 378 cells of /temperature were never written"], "empty.h5", "--field",
                     "temperature", "--problem", "laplace")
        self.refused(BAD_DATA, ["/f", "another shape than /temperature"],
                     self.named(f=source[1:], problem="poisson"), "--field", "temperature", "-f")

    def test_scales(self):
        import xarray
        values = xarray.DataArray(self.values, dims=("y", "x"), coords={"y": numpy.arange(18) * 0.5, "x": numpy.arange(21) * 0.5})
        data = xarray.Dataset({"temperature": values}, attrs={"problem": "laplace", "steps": 40, "field": "/temperature"})
        data.to_netcdf(self.path("x.nc"), engine="h5netcdf")
        done = self.ok("x.nc", *RUN[:-1], "-o", "x.out.nc")
        self.assertIn("the coordinates /y and /x of /temperature", " ".join(done.stdout.split()))
        with xarray.open_dataset(self.path("x.out.nc"), engine="h5netcdf") as result:
            self.assertEqual(result["temperature"].dims, ("y", "x"))
            self.assertEqual(result["residual"].dims, ("residual_step",))
        self.ok("verify", "x.out.nc")

    def test_other_commands(self):
        for command in (("plan",), ("bench", "strategies", "--list")):
            self.ok(*command, "t.h5", "--field", "/temperature")
        report = json.loads(self.ok("t.h5", "--field", "/temperature", *RUN, "--json", "-").stdout)
        self.assertEqual(report["problem"]["field"], "/temperature")

    def test_missing(self):
        line = self.refused(BAD_DATA, ["no dataset /u", "--field /temperature"], "t.h5")
        self.assertNotIn("provenance", line)
        self.refused(BAD_DATA, ["no dataset /temp:", "--field /temperature"], "t.h5", "--field", "temp")
        self.refused(BAD_DATA, ["did you mean /temperature?"], self.named(field="temp"))
        with h5py.File(self.path("none.h5"), "w") as file:
            file["names"] = ["a", "b"]
            file["list"] = numpy.arange(3.0)
        self.assertNotIn("--field", self.refused(BAD_DATA, ["no dataset /u"], "none.h5"))

    def test_refused(self):
        for name in ("/group/temperature", "/", "f", "/residual", "stencil", "..", "/temperature/", "x" * 63):
            self.refused(USAGE, [f"--field {name}: ", "the root group of 't.h5'"], "t.h5", "--field", name)
        for name in ("/group/temperature", "b"):
            self.refused(BAD_DATA, ["attribute 'field'", name], self.named(field=name))
        self.refused(BAD_DATA, ["attribute 'field'"], self.named(field=3.0))

    def test_attribute_of_another_meaning(self):
        """A file with /u may have an attribute of that name for itself."""
        wanted = self.solved()
        for given in ("magnetic", 3.5, "a/b", numpy.arange(3)):
            with h5py.File(self.path("u.h5"), "a") as file:
                file.attrs["field"] = given
            done = self.ok("u.h5", *RUN[:-1])
            self.assertIn("attribute 'field' names no dataset here", " ".join(done.stdout.split()))
            numpy.testing.assert_array_equal(self.read("u.out.h5"), wanted)
            numpy.testing.assert_array_equal(self.attribute("u.out.h5", "/", "field"), given)

    def test_attribute_that_is_meant(self):
        """Of a run, of a group that is there, of a name that is nearly one: no /u takes its place."""
        with h5py.File(self.path(self.named(u=self.values, field="/g/temperature")), "a") as file:
            file["g/temperature"] = self.values
        self.refused(BAD_DATA, ["stands in the root group"], "t.h5", *RUN)
        self.refused(BAD_DATA, ["did you mean /temperature?"], self.named(u=self.values, field="temperatur"), *RUN)
        self.refused(BAD_DATA, ["there is no such dataset"], self.named(u=self.values, field="/psi", steps_total=5), *RUN)

    def test_other_names_of_it(self):
        with h5py.File(self.path(self.named(field="temperature")), "a") as file:
            file["history"] = h5py.SoftLink("/temperature")
            file["again"] = file["temperature"]
            file["u0"] = self.values
            file["latitude"] = self.values
            file["temperature"].attrs["coordinates"] = "longitude latitude"
        printed = " ".join(self.ok("t.h5", *RUN[:-1]).stdout.split())
        for name in ("history", "again", "latitude", "values as /u"):
            self.assertNotIn(name, printed)
        self.assertIn("/u0 has the shape of /temperature", printed)

    def test_another_field_of_a_result(self):
        self.named(psi=self.values * 2, field="temperature")
        self.ok("t.h5", *RUN)
        done = self.ok("t.out.h5", "--field", "psi", *RUN[:-1], "-o", "psi.h5")
        self.assertIn("the file's 40 steps made another field: those of /psi count from 0", " ".join(done.stdout.split()))
        numpy.testing.assert_array_equal(self.read("psi.h5", "psi"), 2 * self.solved())
        self.ok("verify", "psi.h5")

    def test_compare_takes_the_name_that_both_have(self):
        self.named(u=self.values)
        self.ok("t.h5", "--field", "temperature", "--steps", 0, *RUN)
        self.assertIn("/temperature is equal", self.ok("compare", "t.h5", "t.out.h5").stdout)
        self.assertIn("/temperature is equal", self.ok("compare", "t.out.h5", "t.h5").stdout)
        self.ok("u.h5", *RUN, "--steps", 0)
        self.assertIn("/u and /temperature are equal", self.ok("compare", "u.out.h5", "t.out.h5", code=0).stdout)


if __name__ == "__main__":
    unittest.main()
