"""Bad input: one line on stderr that names the file or the option, the right exit code, and nothing left behind."""
import os
import resource
import unittest

import numpy

from harness import CommandTest, field, h5py

USAGE, BAD_DATA, NO_INPUT, UNAVAILABLE, NO_MEMORY, CANNOT_CREATE, IO = 64, 65, 66, 69, 71, 73, 74


class Options(CommandTest):
    def setUp(self):
        super().setUp()
        self.make()

    def test_unknown_option(self):
        self.refused(USAGE, ["'--stpes'", "'--steps'"], "p.h5", "--stpes", 3)
        self.refused(USAGE, ["'--tolerence'", "'--tolerance'"], "--tolerence=1", "p.h5")
        self.refused(USAGE, ["'--sizes'", "'--size'"], "new", "x.h5", "--sizes", "9x9")
        self.refused(USAGE, ["'-x'", "stencil help run"], "p.h5", "-x")

    def test_option_without_value(self):
        self.refused(USAGE, ["--steps", "needs a value"], "p.h5", "--steps")
        self.refused(USAGE, ["--output", "needs a value"], "p.h5", "--output", "--force")

    def test_steps(self):
        for value in ("abc", "-1", "1e30", "10x", "99999999999999999999"):
            self.refused(USAGE, ["--steps", f"'{value}'", "whole number from 0 to"], "p.h5", "--steps", value)

    def test_tolerance(self):
        for value in ("abc", "-1", "nan", "1e999"):
            self.refused(USAGE, ["--tolerance", f"'{value}'"], "p.h5", "--tolerance", value)

    def test_check_every(self):
        self.refused(USAGE, ["--check-every", "'0'", "from 1 to"], "p.h5", "--check-every", 0)

    def test_unknown_names(self):
        self.refused(USAGE, ["--sync", "'gird'", "'grid'"], "p.h5", "--sync", "gird")
        self.refused(USAGE, ["--stencil", "'j2d5p'", "'j2d5pt'"], "p.h5", "--stencil", "j2d5p")
        self.refused(USAGE, ["--boundary", "'periodc'", "'periodic'"], "p.h5", "--boundary", "fixed,periodc")
        self.refused(USAGE, ["--norm", "'linf'", "l2, max"], "p.h5", "--norm", "linf")

    def test_unknown_command(self):
        self.refused(USAGE, ["'comapre'", "compare"], "comapre", "p.h5", "p.h5")
        self.refused(USAGE, ["'nwe'", "'new'"], "help", "nwe")

    def test_no_operand(self):
        self.refused(USAGE, ["stencil help"])
        self.refused(USAGE, ["file name is missing"], "run")
        self.refused(USAGE, ["file name is missing", "compare"], "compare", "p.h5")
        self.refused(USAGE, ["'b.h5'", "one argument too many"], "p.h5", "b.h5")

    def test_contradictions(self):
        self.refused(USAGE, ["--gpus", "--device cpu"], "p.h5", "--gpus", 1, "--device", "cpu")
        self.refused(USAGE, ["--output", "--no-output"], "p.h5", "--output", "x.h5", "--no-output")

    def test_too_many_entries(self):
        self.refused(BAD_DATA, ["p.h5", "spacing", "2"], "p.h5", "--spacing", "1,1,1")
        self.refused(BAD_DATA, ["p.h5", "boundary", "2"], "p.h5", "--boundary", "fixed,fixed,fixed")

    def test_new(self):
        self.refused(USAGE, ["--size"], "new", "x.h5", "--problem", "heat")
        self.refused(USAGE, ["--problem", "--stencil"], "new", "x.h5", "--size", "9x9")
        self.refused(USAGE, ["--size", "'9by9'"], "new", "x.h5", "--problem", "heat", "--size", "9by9")
        self.refused(BAD_DATA, ["j3d7pt"], "new", "x.h5", "--stencil", "j3d7pt", "--size", "9x9")
        self.refused(CANNOT_CREATE, ["'p.h5'", "--force"], "new", "p.h5", "--problem", "heat", "--size", "9x9")

    def test_unstable_time_step(self):
        self.refused(BAD_DATA, ["p.h5", "dt", "largest stable", "0.25"], "p.h5", "--problem", "heat", "--dt", 1)


class Files(CommandTest):
    def every_reader(self, code, wanted, name):
        """All commands that read a problem or a result say the same."""
        self.refused(code, wanted, name)
        self.refused(code, wanted, "verify", name)
        self.refused(code, wanted, "compare", name, name)

    def test_missing(self):
        self.every_reader(NO_INPUT, ["'nothing.h5'", "No such file"], "nothing.h5")

    def test_name_of_two_lines(self):
        self.every_reader(NO_INPUT, ["'no?thing.h5'"], "no\nthing.h5")

    def test_directory(self):
        os.mkdir(self.path("d.h5"))
        self.every_reader(NO_INPUT, ["'d.h5'", "directory"], "d.h5")

    def test_unreadable(self):
        self.make()
        keywords = self.as_nobody()
        os.chmod(self.path("p.h5"), 0)
        self.refused(NO_INPUT, ["'p.h5'", "Permission denied"], "p.h5", "--no-output", **keywords)
        self.refused(NO_INPUT, ["'p.h5'", "Permission denied"], "compare", "p.h5", "p.h5", **keywords)

    def test_empty(self):
        open(self.path("e.h5"), "w").close()
        self.every_reader(BAD_DATA, ["'e.h5'", "empty"], "e.h5")

    def test_truncated(self):
        self.make()
        size = os.path.getsize(self.path("p.h5"))
        os.truncate(self.path("p.h5"), size * 2 // 3)
        self.every_reader(BAD_DATA, ["'p.h5'", "truncated"], "p.h5")

    def test_not_hdf5(self):
        with open(self.path("t.h5"), "w") as file:
            file.write("1 2 3\n" * 1000)
        self.every_reader(BAD_DATA, ["'t.h5'", "not an HDF5 file"], "t.h5")

    def test_not_a_result(self):
        self.make()
        self.refused(BAD_DATA, ["'p.h5'", "steps_done"], "verify", "p.h5")

    def test_compare_other_dataset(self):
        self.make()
        self.refused(BAD_DATA, ["'p.h5'", "/nothing"], "compare", "p.h5", "p.h5", "--dataset", "/nothing")


class Contents(CommandTest):
    def bad(self, wanted, *arguments, **contents):
        self.refused(BAD_DATA, ["p.h5", *wanted], self.write(**contents), *arguments)

    def test_missing_u(self):
        self.bad(["/u"], datasets={"v": field(9, 9)})

    def test_group_for_u(self):
        self.bad(["/u", "group"], u=lambda file: file.create_group("u"))

    def test_rank(self):
        self.bad(["/u", "rank 1"], u=field(9))
        self.bad(["/u", "rank 4"], u=field(9, 9, 9, 9))
        self.bad(["/u", "rank 0"], u=1.0)

    def test_zero_dimension(self):
        self.bad(["/u", "0"], u=numpy.zeros((0, 9)))
        self.bad(["/u", "0"], u=numpy.zeros((9, 0, 9)), attributes={"stencil": "j3d7pt"})

    def test_smaller_than_the_stencil(self):
        self.bad(["/u", "2 cells"], u=field(2, 9))
        self.bad(["/u", "6 cells"], u=field(9, 6), attributes={"stencil": "j2d49pt"})

    def test_size_overflows(self):
        self.bad(["/u", "dimensions"],
                 u=lambda file: file.create_dataset("u", (1 << 31, 1 << 31), "f8", chunks=(1 << 14, 1 << 14)))

    def test_types_without_numbers(self):
        self.bad(["/u", "string"], u=numpy.full((9, 9), b"x"))
        self.bad(["/u", "string"],
                 u=lambda file: file.create_dataset("u", (9, 9), dtype=h5py.string_dtype()))
        self.bad(["/u", "compound"], u=numpy.zeros((9, 9), dtype=[("a", "f8"), ("b", "i4")]))

    def test_not_finite(self):
        for value in (numpy.nan, numpy.inf, -numpy.inf):
            u = field(9, 11)
            u[3, 7] = value
            self.bad(["/u", "[3][7]", "--allow-nonfinite"], u=u)
            u = field(5, 6, 7, dtype="f4")
            u[4, 0, 6] = value
            self.bad(["/u", "[4][0][6]", "--allow-nonfinite"], u=u, attributes={"stencil": "j3d7pt"})
        b = numpy.zeros((9, 9))
        b[4, 5] = numpy.nan
        self.bad(["/b", "[4][5]"], u=field(9, 9), datasets={"b": b})

    def test_too_large_for_the_precision(self):
        u = field(9, 9)
        u[2, 3] = 1e300
        self.bad(["/u", "[2][3]", "float32"], "--precision", "float32", u=u)

    def test_spacing(self):
        self.bad(["spacing", "3 values"], u=field(9, 9), attributes={"spacing": [1.0, 1.0, 1.0]})
        self.bad(["spacing"], u=field(9, 9), attributes={"spacing": [1.0, -1.0]})

    def test_offsets_and_weights(self):
        u = field(9, 9)
        star = numpy.array([[0, 0], [0, 1], [1, 0]], "i4")
        none = {"stencil": None}
        self.bad(["weights"], u=u, attributes=none,
                 datasets={"stencil/offsets": star, "stencil/weights": [0.5, 0.5]})
        self.bad(["offsets"], u=u, attributes=none,
                 datasets={"stencil/offsets": numpy.zeros((3, 3), "i4"), "stencil/weights": [1.0, 0, 0]})
        self.bad(["weights"], u=u, attributes=none, datasets={"stencil/offsets": star})
        self.bad(["/stencil/weights", "4", "5"], u=u, datasets={"stencil/weights": [0.25] * 4})
        self.bad(["offsets"], u=u, attributes=none,
                 datasets={"stencil/offsets": star * 4, "stencil/weights": [0.5, 0.25, 0.25]})

    def test_attributes(self):
        self.bad(["stencil", "nonsense"], u=field(9, 9), attributes={"stencil": "nonsense"})
        self.bad(["stencil"], u=field(9, 9), attributes={"stencil": None})
        self.bad(["boundary", "open"], u=field(9, 9), attributes={"boundary": "open"})
        self.bad(["problem", "wave"], u=field(9, 9), attributes={"stencil": None, "problem": "wave"})
        self.bad(["steps"], u=field(9, 9), attributes={"steps": -3})

    def test_source_of_another_shape(self):
        self.bad(["/b", "shape"], u=field(9, 9), datasets={"b": field(9, 8)})


class Machine(CommandTest):
    def huge(self):
        """Eight TiB that take no space: a chunked dataset that nobody has written to."""
        return self.write("huge.h5", lambda file: file.create_dataset("u", (1 << 20, 1 << 20), "f8",
                                                                      chunks=(1 << 12, 1 << 12)))

    def test_host_memory(self):
        self.huge()
        line = self.refused(NO_MEMORY, ["'huge.h5'", "TiB"], "huge.h5", "--device", "cpu")
        self.assertRegex(line, r"needs [0-9.]+ TiB .*[0-9.]+ [KMGT]iB is available")

    def test_memory_with_a_gpu(self):
        if self.gpu_count() == 0:
            self.skipTest("no GPU")
        self.huge()
        self.refused(NO_MEMORY, ["'huge.h5'", "TiB"], "huge.h5", "--device", "gpu")

    def test_no_gpu(self):
        if self.gpu_count() > 0:
            self.skipTest("there is a GPU")
        self.make()
        for option in (("--device", "gpu"), ("--gpus", "1"), ("--gpus", "8"), ("--gpus", "0,1")):
            self.refused(UNAVAILABLE, ["no GPU"], "p.h5", *option)

    def test_more_gpus_than_there_are(self):
        count = self.gpu_count()
        if count == 0:
            self.skipTest("no GPU")
        self.make()
        self.refused(UNAVAILABLE, ["--gpus", str(count)], "p.h5", "--gpus", count + 1)
        self.refused(UNAVAILABLE, ["--gpus", str(count)], "p.h5", "--gpus", f"{count},")


class Output(CommandTest):
    """All of these are found before anything is computed: the run would take years."""

    forever = ("--steps", 10**14, "--device", "cpu")

    def setUp(self):
        super().setUp()
        self.make()

    def test_directory_missing(self):
        self.refused(CANNOT_CREATE, ["nowhere"], "p.h5", "-o", "nowhere/out.h5", *self.forever)
        self.refused(CANNOT_CREATE, ["nowhere"], "p.h5", "--json", "nowhere/out.json", *self.forever)
        self.refused(CANNOT_CREATE, ["nowhere"], "new", "nowhere/p.h5", "--problem", "heat", "--size", "9x9")

    def test_directory_is_a_file(self):
        self.refused(CANNOT_CREATE, ["p.h5/"], "p.h5", "-o", "p.h5/out.h5", *self.forever)

    def test_directory_read_only(self):
        os.mkdir(self.path("d"))
        keywords = self.as_nobody()
        os.chmod(self.path("d"), 0o555)
        self.refused(CANNOT_CREATE, ["'d/'", "Permission denied"], "p.h5", "-o", "d/out.h5", *self.forever, **keywords)
        self.refused(CANNOT_CREATE, ["'d/'", "Permission denied"], "p.h5", "--no-output", "--json", "d/out.json",
                     *self.forever, **keywords)

    def test_is_a_directory(self):
        os.mkdir(self.path("d"))
        self.refused(CANNOT_CREATE, ["'d'", "directory"], "p.h5", "-o", "d", "--force", *self.forever)

    def test_exists(self):
        open(self.path("p.out.h5"), "w").close()
        self.refused(CANNOT_CREATE, ["'p.out.h5'", "--force"], "p.h5", *self.forever)
        self.refused(CANNOT_CREATE, ["'p.out.h5'", "--force"], "p.h5", "--no-output", "--json", "p.out.h5",
                     *self.forever)

    def test_is_the_input(self):
        os.symlink("p.h5", self.path("link.h5"))
        os.link(self.path("p.h5"), self.path("hard.h5"))
        for name in ("p.h5", "./p.h5", "link.h5", "hard.h5"):
            self.refused(CANNOT_CREATE, [f"'{name}'", "is the input"], "p.h5", "-o", name, "--force", *self.forever)
            self.refused(CANNOT_CREATE, [f"'{name}'", "is the input"], "p.h5", "--no-output", "--json", name, "--force",
                         *self.forever)

    def test_report_in_place_of_the_output(self):
        self.refused(USAGE, ["--json"], "p.h5", "-o", "x.h5", "--json", "./x.h5", *self.forever)

    def limited(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    def test_disk_full(self):
        self.make("big.h5", "--size", "129x129")
        self.refused(IO, ["'big.out.h5'", "too large"], "big.h5", "--steps", 1, "--device", "cpu",
                     preexec_fn=self.limited)
        self.refused(IO, ["'new.h5'", "too large"], "new", "new.h5", "--problem", "heat", "--size", "129x129",
                     preexec_fn=self.limited)

    def test_disk_full_keeps_the_old_output(self):
        self.make("big.h5", "--size", "129x129")
        self.ok("big.h5", "--steps", 1, "--device", "cpu")
        self.refused(IO, ["'big.out.h5'"], "big.h5", "--steps", 2, "--device", "cpu", "--force",
                     preexec_fn=self.limited)

    def test_disk_full_for_the_report(self):
        self.refused(IO, ["r.json"], "p.h5", "--no-output", "--json", "r.json", "--check-every", 1, "--steps", 500,
                     "--device", "cpu", preexec_fn=self.limited)

    def test_standard_output_full(self):
        with open("/dev/full", "w") as full:
            self.refused(IO, ["standard output"], "info", stdout=full)
            self.refused(IO, ["standard output"], "p.h5", "--no-output", "--device", "cpu", "--json", "-", stdout=full)


if __name__ == "__main__":
    unittest.main()
