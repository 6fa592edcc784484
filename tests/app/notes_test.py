"""What stands in a file beside the format: noted where it was meant for us, kept where it is the user's own."""
import json
import pathlib
import re
import resource
import unittest

import numpy

from harness import CommandTest, field, h5py, limited

BAD_DATA, IO = 65, 74
H200 = pathlib.Path(__file__).with_name("h200-x8.json")
RUN = ("--steps", 1, "--device", "cpu", "--force")


class NotesTest(CommandTest):
    def notes(self, **contents):
        """The lines that a run of this file shows; the report as JSON has the same ones."""
        name = self.write(**contents)
        done = self.ok(name, *RUN, "--json", "r.json")
        with open(self.path("r.json")) as file:
            lines = json.load(file)["notes"]
        for line in lines:
            self.assertIn(line, done.stdout.replace("\n            ", " "))
        return lines


class Notes(NotesTest):
    def near(self, wrong, right, **contents):
        self.assertEqual(self.notes(u=field(9, 11), **contents), [f"{wrong} is not used: did you mean {right}?"])

    def test_attributes(self):
        for wrong, right in (("boundry", "boundary"), ("tolerence", "tolerance"), ("Steps", "steps"), ("step", "steps"),
                             ("check-every", "check_every"), ("DT", "dt"), ("stencils", "stencil")):
            self.near(f"attribute '{wrong}'", f"attribute '{right}'", attributes={wrong: 1.0})
        self.near("attribute 'weights'", "/stencil/weights", attributes={"weights": [0.2] * 5})

    def test_datasets(self):
        self.near("/B", "/b", datasets={"B": field(9, 11)})
        self.near("/F", "/f", datasets={"F": field(3)})
        self.near("/weights", "/stencil/weights", datasets={"weights": [0.2] * 5})
        self.near("/spacing", "attribute 'spacing' of the root group", datasets={"spacing": [1.0, 1.0]})
        self.near("/stencil/weight", "/stencil/weights", datasets={"stencil/weight": [0.2] * 5})

    def test_attribute_of_u(self):
        def make(file):
            file["u"] = field(9, 11)
            file["u"].attrs["boundary"] = "periodic"
            file["u"].attrs["units"] = "K"

        self.assertEqual(self.notes(u=make), ["attribute 'boundary' of /u is not used: did you mean attribute 'boundary' of "
                                              "the root group?"])

    def test_field_that_nothing_uses(self):
        self.assertEqual(self.notes(u=field(9, 11), datasets={"mask": numpy.ones((9, 11), "i1")}),
                         ["/mask has the shape of /u, but is not used"])

    def test_own_names_are_no_note(self):
        own = {"units": "K", "title": "plate", "name": "a", "comment": "b", "history": "c", "author": "d", "date": "e",
               "source": "f", "description": "g", "Conventions": "CF-1.8", "x0": 1.0, "T": 3, "h": 2.0, "time_unit": "s",
               "temperature": 300.0, "mode": 1, "type": "x", "version": 2}
        datasets = {"x": numpy.arange(11.0), "y": field(9, 11), "t": numpy.arange(9), "coordinates": field(2, 9),
                    "lon": field(11), "lat": field(9), "grid/x": field(9, 11), "material": field(11, 9), "times": field(4)}
        self.assertEqual(self.notes(u=field(9, 11), attributes=own, datasets=datasets), [])

    def test_format(self):
        self.make("g.h5", "--force")
        self.assertEqual(self.attribute("g.h5", "/", "format"), "stencil 1")
        self.ok("g.h5", *RUN)
        self.assertEqual(self.attribute("g.out.h5", "/", "format"), "stencil 1")
        self.assertEqual(self.notes(u=field(9, 9), attributes={"format": "stencil 1"}), [])
        for newer in ("stencil 4", "stencil 99999999999999999999"):
            self.refused(BAD_DATA, ["'n.h5'", "newer version", "'stencil 3'"],
                         self.write("n.h5", field(9, 9), {"format": newer}))
        for foreign in ("CF", "stencil", "stencil x", "stencil 1.5", "stencil 0", 3, ["a", "b"]):
            lines = self.notes(u=field(9, 9), attributes={"format": foreign})
            self.assertEqual(lines, ["attribute 'format' is none of stencil's: replaced in the result"])
            self.assertEqual(self.attribute("p.out.h5", "/", "format"), "stencil 1")


class Physics(NotesTest):
    """Names that others give to what the format calls otherwise, by problem."""

    def about(self, problem, attributes=None, datasets=None, u=None):
        given = {"stencil": None, **problem} if "problem" in problem else problem
        u = field(9, 11) if u is None else u
        return self.notes(u=u, attributes={**given, **(attributes or {})}, datasets=datasets)

    def alias(self, problem, wrong, say, value=0.3):
        self.assertEqual(self.about(problem, {wrong: value}), [f"attribute '{wrong}' is not used: give {say}"])

    def test_heat(self):
        heat = {"problem": "heat"}
        for wrong in ("alpha", "Alpha", "D", "k", "kappa", "thermal_diffusivity"):
            self.alias(heat, wrong, "diffusivity")
        for wrong in ("dx", "dy", "h", "Delta_x"):
            self.alias(heat, wrong, "spacing")
        for wrong, say in (("timestep", "dt"), ("time_step", "dt"), ("t_end", "time_end, or --time"), ("tol", "rtol or atol"),
                           ("eps", "rtol or atol"),
                           ("q", "the source, a value per time, as /q, one for each cell")):
            self.alias(heat, wrong, say)
        for wrong in ("max_steps", "nsteps", "nt", "maxIter"):
            self.alias(heat, wrong, "steps", 7)
        for wrong in ("bc", "boundaries", "BC", "boundary_conditions"):
            self.alias(heat, wrong, "boundary", "periodic")
        self.assertEqual(self.about(heat, {"Dt": 0.1}), ["attribute 'Dt' is not used: did you mean attribute 'dt'?"])

    def test_relaxation(self):
        self.alias({"problem": "laplace"}, "tol", "rtol or atol")
        self.alias({"problem": "laplace"}, "relaxation_factor", "omega")
        self.alias({"problem": "laplace"}, "delta_x", "spacing")
        self.alias({"stencil": "j2d5pt"}, "tol", "rtol or atol")
        self.alias({"stencil": "j2d5pt"}, "bc", "boundary", "periodic")

    def test_nothing_is_said_twice(self):
        """The same number under the format's name, or by default."""
        heat = {"problem": "heat", "spacing": [0.1, 0.2], "diffusivity": 0.5, "dt": 1e-3, "steps": 1, "atol": 1e9}
        same = {"dx": 0.2, "h": [0.1, 0.2], "alpha": 0.5, "timestep": 1e-3, "nt": 1, "tol": 1e9, "t_end": 0.001}
        self.assertFalse([line for line in self.about(heat, same) if "is not used" in line])
        self.assertEqual(self.about({"problem": "heat"}, {"alpha": 1, "dx": 1.0}), [])
        self.assertIn("attribute 'alpha' is not used: give diffusivity", self.about(heat, {"alpha": 0.4}))

    def test_datasets_for_attributes(self):
        heat = {"problem": "heat"}
        self.assertEqual(self.about(heat, datasets={"alpha": 0.5}), ["/alpha is not used: give diffusivity as an attribute"])
        self.assertEqual(self.about(heat, datasets={"kappa": field(9, 11)}),
                         ["/kappa is not used: give diffusivity as an attribute, one number for all cells, or /k, one for each"])
        self.assertEqual(self.about(heat, datasets={"dx": [0.1, 0.1], "steps": 10}),
                         ["/dx is not used: give spacing as an attribute",
                          "/steps is not used: did you mean attribute 'steps' of the root group?"])
        self.assertEqual(self.about(heat, datasets={"boundary": "periodic"}),
                         ["/boundary is not used: did you mean attribute 'boundary' of the root group?"])

    def test_attributes_of_u(self):
        def make(file):
            file["u"] = field(9, 11)
            file["u"].attrs["dx"] = 0.1
            file["u"].attrs["spacing"] = 0.1

        self.assertEqual(self.about({"problem": "heat"}, u=make),
                         ["attribute 'dx' of /u is not used: give spacing as an attribute of the root group",
                          "attribute 'spacing' of /u is not used: did you mean attribute 'spacing' of the root group?"])

    def test_sources(self):
        for problem, say in (({"problem": "heat"}, "the source, a value per time, as /q"),
                             ({"problem": "poisson"}, "the right-hand side as /f"),
                             ({"problem": "laplace"}, "problem poisson, with its right-hand side as /f"),
                             ({"stencil": "j2d5pt"}, "what every step adds as /b")):
            for name in ("source", "rhs", "F"):
                for shape in ((9, 11), (7, 11), (99,)):
                    lines = self.about(problem, datasets={name: field(*shape)})
                    self.assertIn(f"/{name} is not used: give {say}", lines)
                    self.assertEqual(len(lines), 1 + (problem == {"problem": "poisson"}))
        self.assertEqual(self.about({"problem": "heat"}, datasets={"u0": field(9, 11)}),
                         ["/u0 is not used: give the initial values as /u"])

    def test_attributes_of_other_problems(self):
        relaxed, derived = "laplace and poisson", "laplace, poisson and heat"
        given, laplace = {"stencil": "j2d5pt"}, {"problem": "laplace"}
        for problem, name, on, used in (({"problem": "heat"}, "omega", "heat", relaxed), (laplace, "dt", "laplace", "heat"),
                                        (laplace, "diffusivity", "laplace", "heat"),
                                        (given, "spacing", "given weights", derived),
                                        (given, "diffusivity", "given weights", "heat")):
            self.assertEqual(self.about(problem, {name: 0.5}),
                             [f"attribute '{name}' has no effect on {on}: it is for problem {used}"])
        self.assertEqual(self.about({"problem": "heat"}, {"accelerate": "none"}), [])
        self.write(u=field(9, 11), attributes={"stencil": None, "problem": "heat", "dt": 0.1})
        # Who asks for another problem knows that the file has its own.
        self.assertNotIn("has no effect", self.ok("p.h5", *RUN, "--problem", "laplace").stdout)
        self.write(u=field(9, 11), attributes={"stencil": None, "omega": 0.1})
        self.assertIn("attribute 'omega' has no effect on heat", self.ok("p.h5", *RUN, "--problem", "heat").stdout)

    def test_sides(self):
        """Names that may be meant for a side, as an attribute, one of /u or numbers along it."""
        for wrong, right in (("boundary_left", "boundary_x-"), ("boundary_x_minus", "boundary_x-"), ("Boundary_Xmax", "boundary_x+"),
                             ("bc_right", "boundary_x+"), ("flux_y_lo", "flux_y-"), ("ambient_z1", "ambient_z+"),
                             ("exchange_xplus", "exchange_x+")):
            self.assertEqual(self.about({"problem": "laplace"}, {wrong: 1.0}),
                             [f"attribute '{wrong}' is not used: did you mean attribute '{right}'?"])
        self.assertEqual(self.about({"problem": "laplace"}, {"boundary_top": "mirror"}),
                         ["attribute 'boundary_top' is not used: sides are named by their axes, boundary_y- beside the first cells "
                          "along y and boundary_y+ beside the last ones"])
        self.assertEqual(self.about({"problem": "laplace"}, {}, {"flux_left": numpy.ones(9)}),
                         ["/flux_left is not used: did you mean /flux_x-?"])
        for name in ("flux_units", "boundary_note", "ambient_noise", "exchange_rate", "flux_x_unit"):
            self.assertEqual(self.about({"problem": "laplace"}, {name: "some text"}), [])
        self.assertEqual(self.about({"problem": "laplace"}, {}, {"flux_up": numpy.ones(9)}), [])

    def test_names_of_cells(self):
        """Of fixed cells, of factors over time and of coefficients that are no part of the problem."""
        u, table, fixed = field(9, 11), [[0.0, 1.0], [1.0, 2.0]], numpy.zeros((9, 11), bool)
        fixed[3, 4] = True
        of_factors = "is not used: factors over time are those of /b, /q and /fixed_value"
        for problem, datasets, wanted in (
                ("poisson", {"f": u, "f_factor": table}, [f"/f_factor {of_factors}"]),
                ("heat", {"k": 1 + u, "k_factor": table}, [f"/k_factor {of_factors}"]),
                ("heat", {"fixed": fixed, "fixed_factor": table}, ["/fixed_factor is not used: did you mean /fixed_value_factor?"]),
                ("heat", {"fixed": fixed, "fixed_values": u}, ["/fixed_values is not used: did you mean /fixed_value?"]),
                ("laplace", {"growth_factor": 3.0}, []),
                ("laplace", {"k": 1 + field(11)}, ["/k is not used: give a number for each cell of /u"]),
                ("laplace", {"k": 1 + field(3, 9, 11)}, ["/k is not used: give a number for each cell of /u"]),
                ("heat", {"k": 3.0}, ["/k is not used: give a number for each cell of /u, or one for all cells as the attribute "
                                      "diffusivity"]),
                ("heat", {"k": field(30)}, [])):
            self.assertEqual(self.about({"problem": problem}, {}, datasets), wanted)
        number = numpy.full((9, 11), numpy.nan)
        number[4, 4] = 1.0
        for more, wanted in (({}, ["/fixed_value has no effect: no cell that keeps its value, by /fixed or the boundary, has a "
                                   "number in it"]), ({"fixed": fixed | (number == 1)}, [])):
            self.assertEqual(self.about({"problem": "heat"}, {}, {"fixed_value": number, **more}), wanted)

    def test_no_false_alarms(self):
        """Common attributes and coordinates of netCDF, xarray and simulations."""
        texts = """Conventions title institution source history references comment summary keywords license id project platform
            naming_authority creator_name creator_email date_created processing_level instrument standard_name_vocabulary
            product_version _NCProperties featureType cdm_data_type equation experiment model resolution contact software
            note forcing duration convergence"""
        attributes = dict.fromkeys(texts.split(), "some text")
        attributes.update(time=0.5, time_coverage_start="2024", valid_min=0.0, seed=3, version=1.5, rank=2, nx=11, ny=9,
                          T=300.0, L=1.0, Lx=1.0, Re=100.0, theta=0.5, g=9.81, c=1.0, a=2.0, t=0.1, x0=0.0, density=1e3)
        datasets = {"x": numpy.arange(11.0), "y": numpy.arange(9.0), "time": numpy.arange(5.0), "k": numpy.arange(30.0),
                    "rho": numpy.arange(12.0), "crs": 0, "lat": numpy.arange(9.0), "lon": numpy.arange(11.0),
                    "grid/dx": 0.1}

        def make(file):
            file["u"] = field(9, 11)
            for name in ("units", "long_name", "standard_name", "coordinates", "grid_mapping", "cell_methods", "axis", "source",
                         "description", "comment", "title"):
                file["u"].attrs[name] = "some text"

        for problem in ({"problem": "heat"}, {"problem": "laplace"}, {"stencil": "j2d5pt"}):
            self.assertEqual(self.about(problem, attributes, datasets, make), [])

    def test_many_at_once(self):
        names = {name: 0.3 for name in ("alpha", "D", "k", "kappa", "nu", "dx", "dy", "h", "hx", "hy", "timestep", "t_end", "tmax",
                                        "max_steps", "nt", "nsteps", "tol", "eps", "reltol", "abstol", "bc", "boundaries")}
        lines = self.about({"problem": "heat"}, names)
        self.assertEqual(len(lines), len(names))
        self.assertNotIn("and more of the kind", lines)


class Own(CommandTest):
    def make_rich(self):
        with h5py.File(self.path("p.h5"), "w") as file:
            file["u"] = field(9, 11)
            file["b"] = field(9, 11)
            file.attrs["stencil"] = "j2d5pt"
            file.attrs["units"] = "K"
            file.attrs["title"] = numpy.bytes_("a plate")
            file.attrs["names"] = ["one", "two ü"]
            file.attrs["matrix"] = field(2, 3).astype(">f4")
            file.attrs["pair"] = numpy.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])
            file.attrs["lists"] = numpy.array([numpy.arange(3), numpy.arange(2)], dtype=h5py.vlen_dtype("i4"))
            file.attrs["nothing"] = h5py.Empty("f8")
            file["u"].attrs["long_name"] = "temperature"
            file["x"] = numpy.linspace(0, 1, 11)
            file["x"].attrs["units"] = "m"
            file.create_dataset("geometry/points", data=field(5, 2), chunks=(2, 2), compression="gzip")
            file["geometry"].attrs["kind"] = "disc"
            file["alias"] = h5py.SoftLink("/geometry/points")
            file["nowhere"] = h5py.ExternalLink("elsewhere.h5", "/a")

    def check_rich(self, name):
        with h5py.File(self.path("p.h5"), "r") as given, h5py.File(self.path(name), "r") as file:
            self.assertEqual(file.attrs["units"], "K")
            self.assertEqual(file.attrs["title"], b"a plate")
            self.assertEqual(list(file.attrs["names"]), ["one", "two ü"])
            for key in ("matrix", "pair"):
                self.assertEqual(file.attrs[key].dtype, given.attrs[key].dtype)
                numpy.testing.assert_array_equal(file.attrs[key], given.attrs[key])
            self.assertEqual([list(part) for part in file.attrs["lists"]], [[0, 1, 2], [0, 1]])
            self.assertIsInstance(file.attrs["nothing"], h5py.Empty)
            self.assertEqual(file["u"].attrs["long_name"], "temperature")
            numpy.testing.assert_array_equal(file["x"], given["x"])
            self.assertEqual(file["x"].attrs["units"], "m")
            numpy.testing.assert_array_equal(file["alias"], given["geometry/points"])
            self.assertEqual((file["geometry/points"].chunks, file["geometry/points"].compression), ((2, 2), "gzip"))
            self.assertEqual(file["geometry"].attrs["kind"], "disc")
            self.assertEqual(file.get("nowhere", getlink=True).filename, "elsewhere.h5")

    def test_own_things_are_kept(self):
        self.make_rich()
        done = self.ok("p.h5", *RUN)
        self.assertNotIn("Note  ", done.stdout.replace("Note        no GPU", ""))
        self.check_rich("p.out.h5")
        self.ok("verify", "p.out.h5")
        self.ok("p.out.h5", *RUN)  # and once more
        self.check_rich("p.out2.h5")

    def test_provenance_is_of_this_run(self):
        self.make_rich()
        with h5py.File(self.path("p.h5"), "a") as file:
            file["provenance/old"] = 1
        self.ok("p.h5", *RUN)
        with h5py.File(self.path("p.out.h5"), "r") as file:
            self.assertNotIn("old", file["provenance"])

    def test_what_cannot_be_kept_is_noted(self):
        """Scales are kept (tests/inputs/test_scales.py); a reference to what no result takes over is not."""
        def make(file):
            file["u"] = field(9, 11)
            file["x"] = field(11)
            file["x"].make_scale("x")
            file["u"].dims[1].attach_scale(file["x"])
            file.create_group("provenance/old")
            file["u"].attrs["origin"] = file["provenance/old"].ref

        done = self.ok(self.write(u=make), *RUN)
        self.assertIn("Note attribute 'origin' of /u is not kept in the result: it refers to what the result does not have",
                      " ".join(done.stdout.split()))
        self.assertNotIn("DIMENSION_LIST", done.stdout)
        numpy.testing.assert_array_equal(self.read("p.out.h5", "x"), self.read("p.h5", "x"))
        with h5py.File(self.path("p.out.h5"), "r") as file:
            self.assertEqual(file["u"].dims[1][0], file["x"])
        self.ok("verify", "p.out.h5")

    def test_attribute_that_is_too_long(self):
        """HDF5 keeps such ones only in files of its latest versions."""
        with h5py.File(self.path("p.h5"), "w", libver="latest") as file:
            file["u"] = field(9, 11)
            file.attrs["stencil"] = "j2d5pt"
            file.attrs["long"] = numpy.arange(20000.0)
            file.attrs["title"] = "kept"
        self.assertIn("attribute 'long' is not kept in the result: ", " ".join(self.ok("p.h5", *RUN).stdout.split()))
        self.assertEqual(self.attribute("p.out.h5", "/", "title"), "kept")
        self.ok("verify", "p.out.h5")

    def test_texts_with_a_fill_value(self):
        """netCDF gives one to all of its variables of texts. HDF5 would copy its place in the heap of the other file."""
        texts = ["a", "", "ü" * 100]
        with h5py.File(self.path(self.make("p.h5")), "a") as file:
            for name in ("w", "g/w", "g/deep/w"):
                file.create_dataset(name, (3,), dtype=h5py.string_dtype(), fillvalue="none")[...] = texts
                file[name].attrs["who"] = "me"
            file.create_dataset("g/lists", (2,), dtype=h5py.vlen_dtype("i4"))[0] = [1, 2, 3]
            file["g/numbers"] = numpy.arange(5)
            file["g/link"] = h5py.SoftLink("/w")
            file["g"].attrs["n"] = 3
        self.ok("p.h5", *RUN)
        self.ok("p.out.h5", *RUN, "-o", "again.h5", "--steps", 3)
        for result in ("p.out.h5", "again.h5"):
            with h5py.File(self.path(result)) as file:
                for name in ("w", "g/w", "g/deep/w", "g/link"):
                    self.assertEqual([text.decode() for text in file[name][()]], texts, name)
                    self.assertEqual(file[name].attrs["who"], "me")
                self.assertEqual(file["g/lists"][0].tolist(), [1, 2, 3])
                self.assertEqual(file["g/numbers"][()].tolist(), list(range(5)))
                self.assertEqual(file["g"].attrs["n"], 3)
                self.assertEqual(file["g"].get("link", getlink=True).path, "/w")

    def test_space_for_all_of_it(self):
        """The user's own counts in the space that is taken before the run."""
        with h5py.File(self.path("p.h5"), "w") as file:
            file["u"] = field(9, 11)
            file.attrs["stencil"] = "j2d5pt"
            file["data/series"] = field(1 << 20)
        self.refused(IO, ["it needs 8.", "4.00 MiB is free"], "p.h5", "--steps", 100, "--device", "cpu",
                     preexec_fn=limited(resource.RLIMIT_FSIZE, 4 << 20))


class Slow(CommandTest):
    """What is asked for by name and predicted to be much slower than what would be chosen is noted, with both times."""
    def predictions(self, *asked):
        """Predicted µs of a step: of the chosen plan and, where a note says it, of the note's two plans."""
        self.ok("new", "-q", "-f", "p.h5", "--problem", "heat", "--size", "1025x1025")
        text = self.ok("p.h5", "--machine", H200, "--gpus", 1, "--dry-run", *asked).stdout
        text = re.sub(r"\n {12}", " ", text)
        note = re.search(r"^Note +predicted: ([\d.]+) µs per step; without (.*) ([\d.]+) \((.*)\)$", text, re.M)
        chosen = re.search(r"prediction: ([\d.]+) µs", text)
        return float(chosen[1]) if chosen else None, note and (float(note[1]), note[2], float(note[3]), note[4])

    def test_note(self):
        best, note = self.predictions()
        self.assertIsNone(note)
        for asked, names in ((("--sync", "device-sync"), "--sync"), (("--sweep", "naive"), "--sweep"),
                             (("--sync", "device-sync", "--sweep", "naive"), "--sync and --sweep")):
            _, note = self.predictions(*asked)
            self.assertIsNotNone(note, asked)
            own, left_out, other, plan = note
            self.assertEqual((left_out, other), (names, best), note)
            self.assertGreaterEqual(own, 1.5 * other)
            self.assertIn("neighbor, ", plan)  # which sweep depends on the kernels of the build

    def test_no_note(self):
        for sync in ("neighbor", "grid", "central"):
            self.assertIsNone(self.predictions("--sync", sync)[1], sync)


if __name__ == "__main__":
    unittest.main()
