"""Results whose arrays were changed: their history does not count, and verify tells them. The digests that show it are
computed here once more, from docs/format.md."""
import json
import unittest

import h5py
import numpy

from harness import CommandTest, field, fault

HISTORY = ("steps_total", "residual_first", "time", "time_first", "fingerprint", "digest_u", "digest_b")
ON = ("--device", "cpu")
MASK = (1 << 64) - 1


def mix(z):
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return z ^ (z >> numpy.uint64(31))


def digest(array):
    bits = numpy.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").ravel().astype("u8")
    a = mix(bits ^ (numpy.arange(1, bits.size + 1, dtype="u8") * numpy.uint64(0x9E3779B97F4A7C15)))
    b = mix(a ^ numpy.uint64(0x243F6A8885A308D3))
    return f"{int(a.sum()):016x}{int(b.sum()):016x}"


class Digests(CommandTest):
    """Those that a run writes."""

    def test_first_numbers_of_splitmix64(self):
        self.assertEqual(digest(numpy.zeros(1))[:16], "e220a8397b1dcdaf")
        self.assertEqual(digest(numpy.zeros(2, "f4"))[:16], f"{(0xE220A8397B1DCDAF + 0x6E789E6AA1B965F4) & MASK:016x}")

    def check(self, u, b, *options):
        self.ok("p.h5", *ON, "--steps", 7, "-fo", "out.h5", *options)
        self.assertEqual(self.attribute("out.h5", "/", "digest_u"), digest(self.read("out.h5")))
        with h5py.File(self.path("out.h5")) as file:
            self.assertEqual(file["u"].dtype, u.dtype)
            self.assertEqual(file.attrs.get("digest_b"), None if b is None else digest(b.astype(u.dtype)))

    def test_field_and_source(self):
        for kind in ("f8", "f4"):
            for shape, name in (((33, 70), "j2d5pt"), ((9, 12, 70), "j3d7pt")):
                inner = (slice(1, -1),) * len(shape)
                u, b = field(*shape, dtype=kind), field(*shape)[::-1] * 0.01
                self.write("p.h5", u, {"stencil": name})
                self.check(u, None)
                self.write("p.h5", u, {"stencil": name}, {"b": b})
                self.check(u, b[inner])
                for parts in ("2", "3"):
                    self.check(u, b[inner], "--parts", parts)
                self.write("p.h5", u, {"stencil": name, "boundary": "periodic"}, {"b": b})
                self.check(u, b, "--parts", 2)
                self.write("p.h5", u, {"stencil": None, "problem": "poisson", "omega": 0.8, "spacing": 0.1}, {"f": b})
                self.check(u, 0.8 / (len(shape) * (2 / (0.1 * 0.1))) * b[inner])

    def test_problems_have_none(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "17x17")
        with h5py.File(self.path("p.h5")) as file:
            self.assertEqual([name for name in file.attrs if name.startswith("digest")], [])


class Changes(CommandTest):
    def edit(self, name, change, result="e.h5"):
        """A copy of a result, changed."""
        with h5py.File(self.path(name)) as source, h5py.File(self.path(result), "w") as file:
            for key in source:
                source.copy(key, file)
            file.attrs.update(source.attrs)
            change(file)
        return result

    def forget(self, file):
        for key in HISTORY:
            file.attrs.pop(key, None)
        for key in ("residual", "residual_step", "provenance"):
            file.pop(key, None)

    def run_of(self, name, result, *options, code=0):
        """The notes of a run, and what came of it."""
        report = json.loads(self.ok(name, *ON, "-fo", result, "--json", "-", *options, code=code).stdout)
        return [line for line in report["notes"] if "GPU" not in line], report["result"]

    def same(self, one, other, attributes=("steps_total", "residual_first", "digest_u", "digest_b")):
        for dataset in ("/u", "/residual", "/residual_step"):
            self.ok("compare", one, other, "--dataset", dataset)
        with h5py.File(self.path(one)) as a, h5py.File(self.path(other)) as b:
            for name in attributes:
                self.assertEqual(a.attrs.get(name), b.attrs.get(name), name)

    def counts_anew(self, change, what, *options, code=0):
        """From r.h5, a result: what is made of the changed one is what is made of a problem without a history."""
        self.edit("r.h5", change)
        steps = f'{self.attribute("e.h5", "/", "steps_total"):,}'.replace(",", " ")
        self.edit("e.h5", self.forget, "fresh.h5")
        _, fresh = self.run_of("fresh.h5", "wanted.h5", *options, code=code)
        for parts in ((), ("--parts", 3)):
            notes, result = self.run_of("e.h5", "again.h5", *options, *parts, code=code)
            self.assertIn(f"{what} changed after the file's {steps} steps: steps count from 0 again", " ".join(notes))
            self.assertEqual([line for line in notes if "goes on, to" in line or "no step was made" in line], [])
            self.assertEqual(result["history"], fresh["history"])
            self.same("again.h5", "wanted.h5")
            self.assertEqual(self.attribute("again.h5", "provenance", "steps_done"), result["steps"])
            self.assertIn("verified", self.ok("verify", "again.h5").stdout)
        said = self.ok("verify", "e.h5", code=1)
        self.assertIn("NOT verified", said.stdout)
        self.assertIn("was changed after the run", said.stdout)
        self.assertLessEqual(max(map(len, said.stdout.splitlines())), 80)
        return result

    def poisson(self, *options):
        self.ok("new", "p.h5", "--force", "--problem", "poisson", "--size", "65x65", *options)
        self.ok("p.h5", *ON, "-fo", "r.h5")
        self.ok("verify", "r.h5")

    def error(self, factor=1):
        line = numpy.sin(numpy.pi * numpy.linspace(0, 1, 65))
        return abs(self.read("again.h5") - factor * numpy.outer(line, line)).max() / factor


class Edited(Changes):
    def test_another_right_hand_side(self):
        for how in ((), ("--accelerate", "none")):
            self.poisson(*how)
            result = self.counts_anew(lambda file: file["f"].write_direct(5 * file["f"][()]), "/f was")
            self.assertEqual(result["reason"], "converged_rtol")
            self.assertLess(self.error(5), 3e-4)
        report = json.loads(self.ok("verify", "e.h5", "--json", "-", code=1).stdout)
        self.assertEqual((report["verified"], report["edited"], report["u"]["differing"]), (False, ["/f"], 0))

    @fault("the field of a result was edited", "a Note; its steps count from 0 again", 0, "the new result")
    def test_another_field(self):
        self.poisson()
        self.counts_anew(lambda file: file["u"].write_direct(numpy.zeros((65, 65))), "/u was")
        self.assertLess(self.error(), 3e-4)

        def replace(file):
            del file["u"]
            file["u"] = numpy.zeros((65, 65))

        self.counts_anew(replace, "/u was")
        self.counts_anew(lambda file: (replace(file), file["f"].write_direct(2 * file["f"][()])), "/u and /f were")
        self.assertLess(self.error(2), 3e-4)
        self.assertRegex(self.ok("verify", "e.h5", code=1).stdout, r"\n  /u +was changed after .*\n  /f +was changed after .*\n  /u +differs")

    def test_a_boundary_value(self):
        def heat_up(file):
            file["u"][0] = 1.0

        for how in ((), ("--accelerate", "none", "--precision", "float64")):
            self.poisson(*how)
            self.counts_anew(heat_up, "/u was")
            self.assertGreater(self.read("again.h5")[1, 32], 0.9)

    def test_a_single_bit(self):
        def flip(file):
            file["u"][31, 17] = numpy.nextafter(file["u"][31, 17], 2)

        self.poisson()
        self.counts_anew(flip, "/u was")

    def test_a_source_of_own_weights(self):
        weights = {"stencil/offsets": numpy.array([[0, -2], [0, 1], [-1, 0], [1, 0]], "i4"), "stencil/weights": [0.2] * 4}
        for boundary in ("fixed", ["periodic", "mirror"]):
            self.write("p.h5", field(40, 200), {"stencil": None, "boundary": boundary, "rtol": 1e-6, "check_every": 10},
                       {"b": field(40, 200), **weights})
            self.ok("p.h5", *ON, "-fo", "r.h5")
            self.counts_anew(lambda file: file["b"].write_direct(field(40, 200) ** 2), "/b was")
            self.counts_anew(lambda file: file["u"].write_direct(field(40, 200) ** 2), "/u was")

    def test_cells_of_a_source_that_no_step_reads(self):
        def change(file):
            file["f"][0] = 7.0

        self.poisson()
        self.edit("r.h5", change)
        notes, result = self.run_of("e.h5", "again.h5")
        self.assertIn("no step was made", " ".join(notes))
        self.same("r.h5", "again.h5")
        self.ok("verify", "e.h5")

    def test_heat_goes_on_in_time(self):
        self.ok("new", "p.h5", "--problem", "heat", "--size", "33x33", "--initial", "hot-edge", "--steps", 100)
        self.ok("p.h5", *ON, "-o", "r.h5")
        self.counts_anew(lambda file: file["u"].write_direct(2 * file["u"][()]), "/u was")
        notes, result = self.run_of("e.h5", "again.h5")
        self.assertIn("time goes on", notes[0])
        time = self.attribute("r.h5", "/", "time")
        self.assertEqual(self.attribute("again.h5", "/", "time_first"), time)
        self.assertAlmostEqual(self.attribute("again.h5", "/", "time"), 2 * time, 12)

    def test_three_dimensions_and_float32(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "70x12x11", "--boundary", "fixed,periodic,mirror",
                "--precision", "float32", "--accelerate", "none", "--rtol", "1e-3")
        self.ok("p.h5", *ON, "-o", "r.h5")
        self.counts_anew(lambda file: file["f"].write_direct(-file["f"][()]), "/f was")
        self.counts_anew(lambda file: file["u"].write_direct(file["u"][()][:, ::-1].copy()), "/u was")

    def test_an_interrupted_result(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--accelerate", "none", "--size", "65x65", "--steps", 300)
        self.ok("p.h5", *ON, "-o", "r.h5", code=2)
        self.counts_anew(lambda file: file["f"].write_direct(5 * file["f"][()]), "/f was", "--steps", 302, code=2)


class Unedited(Changes):
    """What is no edit."""

    def test_goes_on_in_parts_to_the_same_bits(self):
        for boundary in ("fixed", "periodic,fixed", "mirror,fixed"):
            self.ok("new", "p.h5", "-f", "--problem", "poisson", "--accelerate", "none", "--size", "200x70", "--boundary",
                    boundary, "--initial", "random")
            self.ok("p.h5", *ON, "-fo", "whole.h5", "--steps", 400, code=2)
            for parts in ((), ("--parts", 2), ("--parts", 4, "--cut", "2,2"), ("--sweep", "pipeline", "--depth", 6, "--parts", 3)):
                self.ok("p.h5", *ON, "-fo", "a.h5", "--steps", 233, *parts, code=2)
                notes, result = self.run_of("a.h5", "b.h5", "--steps", 400, *parts, code=2)
                self.assertIn("the file holds step 233, from which the run goes on, to step 400 at most", notes)
                self.same("whole.h5", "b.h5")

    def test_copies(self):
        """Chunks, filters, byte order and a wider type are another way to say the same."""
        self.poisson()
        self.ok("new", "q.h5", "--problem", "poisson", "--size", "65x65", "--precision", "float32", "--rtol", "1e-3")
        self.ok("q.h5", *ON, "-o", "s.h5")
        for source, options in (("r.h5", ()), ("s.h5", ("--precision", "float32"))):
            for kind in ("<f8", ">f8"):
                def change(file):
                    for name in ("u", "f"):
                        values = file[name][()]
                        del file[name]
                        file.create_dataset(name, data=values.astype(kind), chunks=(7, 9), compression="gzip", shuffle=True)

                self.edit(source, change)
                notes, result = self.run_of("e.h5", "again.h5", *options)
                self.assertEqual([line[:17] for line in notes], ["the file holds st", "no step was made:"])
                self.same(source, "again.h5")
                self.ok("verify", "again.h5")

    def test_results_of_0_2_0(self):
        self.poisson("--accelerate", "none")
        self.ok("p.h5", *ON, "-o", "s.h5", "--steps", 500, code=2)

        def old(file):
            del file.attrs["digest_u"], file.attrs["digest_b"]

        self.edit("s.h5", old, "old.h5")
        self.ok("verify", "old.h5")
        notes, result = self.run_of("old.h5", "again.h5", "--steps", 10**7)
        self.same("r.h5", "again.h5")
        self.assertIn("the file has no digests (as results of version 0.2.0), so a change of /u or /f after its 500 steps cannot "
                      "be seen", notes[0])
        self.assertIn("remove the attribute steps_total", notes[0])
        self.assertIn("goes on, to step", notes[1])
        # Once more it is a result of this version.
        notes, result = self.run_of("again.h5", "more.h5")
        self.assertNotIn("digest", " ".join(notes))

        def change(file):
            old(file)
            file["f"].write_direct(5 * file["f"][()])

        self.edit("s.h5", change)
        said = self.ok("verify", "e.h5", code=1).stdout
        self.assertRegex(said, "/f +is not that of the input")
        # As the note says.
        self.edit("e.h5", lambda file: file.attrs.pop("steps_total"), "f.h5")
        notes, result = self.run_of("f.h5", "again.h5", "--steps", 10**7)
        self.assertEqual(notes, [])
        self.assertLess(self.error(5), 3e-4)

    @fault("digests of a result were removed", "a Note; its steps count from 0 again", 0, "the new result")
    def test_some_digests_are_missing(self):
        self.poisson()
        for lost in ("digest_u", "digest_b", "fingerprint"):
            self.edit("r.h5", lambda file: file.attrs.pop(lost))
            notes, result = self.run_of("e.h5", "again.h5")
            self.assertIn("the file has some and others not, so nobody knows what its 512 steps were made with: they count from 0",
                          notes[0])
            self.assertEqual(self.attribute("again.h5", "provenance", "steps_done"), result["steps"])
            self.assertGreater(result["steps"], 0)
            self.ok("verify", "again.h5")
            if lost != "fingerprint":
                self.assertIn(f"{lost} is missing", self.ok("verify", "e.h5", code=1).stdout)
        # A digest that is none.
        self.edit("r.h5", lambda file: file.attrs.__setitem__("digest_u", "x"))
        self.assertIn("/u was changed", self.run_of("e.h5", "again.h5")[0][0])
        self.edit("r.h5", lambda file: file.attrs.__setitem__("digest_u", 5))
        self.refused(65, ["digest_u"], "e.h5", "--no-output", *ON)

    def test_a_source_comes_or_goes(self):
        self.poisson()

        def without(file):
            del file["f"]

        self.edit("r.h5", without)
        notes, result = self.run_of("e.h5", "again.h5")
        self.assertIn("steps count from 0 again", " ".join(notes))
        self.assertRegex(self.ok("verify", "e.h5", code=1).stdout, "was removed after the run")
        self.assertNotIn("digest_b", h5py.File(self.path("again.h5")).attrs)
        self.assertLess(abs(self.read("again.h5")).max(), 1e-4)
        self.edit("again.h5", lambda file: file.__setitem__("f", 5 * self.read("r.h5", "f")))
        notes, result = self.run_of("e.h5", "more.h5")
        self.assertIn("steps count from 0 again", " ".join(notes))
        self.assertIn("digest_b", h5py.File(self.path("more.h5")).attrs)

    def test_nan_is_as_good_as_any_value(self):
        u = field(20, 20)
        u[0, 0] = numpy.nan  # no step reads it
        self.write("p.h5", u)
        self.ok("p.h5", *ON, "--allow-nonfinite", "--steps", 3, "-o", "r.h5")
        notes, result = self.run_of("r.h5", "again.h5", "--allow-nonfinite", "--steps", 5)
        self.assertIn("the file holds step 3", notes[0])

if __name__ == "__main__":
    unittest.main()
