"""Bad input: one line on stderr that names the file or the option, the right exit code, and nothing left behind."""
import os
import resource
import unittest

import numpy

from harness import CommandTest, field, h5py, limited, fault

USAGE, BAD_DATA, NO_INPUT, UNAVAILABLE, NO_MEMORY, CANNOT_CREATE = 64, 65, 66, 69, 71, 73


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
            for option in ("--atol", "--rtol", "--tolerance"):
                self.refused(USAGE, [option.replace("tolerance", "atol"), f"'{value}'"], "p.h5", option, value)

    def test_numbers_that_no_double_holds(self):
        for option, value in (("--atol", "1e-400"), ("--rtol", "0.000001e-330"), ("--spacing", "1,1e-400"),
                              ("--spacing", "1e400"), ("--barrier-timeout", "1e-400")):
            self.refused(USAGE, [option, f"'{value}'", "out of range"], "p.h5", option, value)
        self.refused(USAGE, ["--margin", "'1e-400'", "out of range"], "bench", "--against", "x.json", "--margin", "1e-400")
        for value in ("0", "0e-999", "0.0", "4.9e-324", "1e-310", "1.7e308"):
            self.ok("p.h5", "--tolerance", value, "--dry-run", "--no-output")

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
        self.refused(USAGE, ["'solve' is neither a file nor a command", "stencil help"], "solve", "p.h5")
        self.refused(USAGE, ["'RUN'", "did you mean 'stencil run'"], "RUN", "p.h5")
        self.refused(USAGE, ["'Bench'", "did you mean 'bench'"], "help", "Bench")
        self.refused(USAGE, ["'--STEPS'", "did you mean '--steps'"], "p.h5", "--STEPS", 3)
        self.refused(USAGE, ["'new'", "one argument too many"], "help", "run", "new")

    def test_no_operand(self):
        self.refused(USAGE, ["stencil help"])
        self.refused(USAGE, ["file name is missing"], "run")
        self.refused(USAGE, ["file name is missing", "compare"], "compare", "p.h5")
        self.refused(USAGE, ["'b.h5'", "one argument too many"], "p.h5", "b.h5")

    def test_contradictions(self):
        self.refused(USAGE, ["--gpus", "--device cpu"], "p.h5", "--gpus", 1, "--device", "cpu")
        self.refused(USAGE, ["--output", "--no-output"], "p.h5", "--output", "x.h5", "--no-output")

    def test_too_many_entries(self):
        self.refused(USAGE, ["--spacing", "2"], "p.h5", "--spacing", "1,1,1")
        self.refused(USAGE, ["--boundary", "2"], "p.h5", "--boundary", "fixed,fixed,fixed")
        self.refused(USAGE, ["--boundary", "2"], "new", "x.h5", "--problem", "heat", "--size", "9x9", "--boundary",
                     "fixed,fixed,fixed")

    def test_new(self):
        self.refused(USAGE, ["--size"], "new", "x.h5", "--problem", "heat")
        self.refused(USAGE, ["--problem", "--stencil"], "new", "x.h5", "--size", "9x9")
        self.refused(USAGE, ["--size", "'9by9'"], "new", "x.h5", "--problem", "heat", "--size", "9by9")
        self.refused(USAGE, ["--stencil j3d7pt", "--size 9x9"], "new", "x.h5", "--stencil", "j3d7pt", "--size", "9x9")
        self.refused(CANNOT_CREATE, ["'p.h5'", "--force"], "new", "p.h5", "--problem", "heat", "--size", "9x9")

    def test_size_of_new(self):
        self.refused(USAGE, ["--size 2x2", "7 cells"], "new", "x.h5", "--stencil", "j2d49pt", "--size", "2x2")
        self.refused(USAGE, ["--size 9x2", "3 cells"], "new", "x.h5", "--problem", "heat", "--size", "9x2")
        self.refused(USAGE, ["--size 9x9x2", "3 cells"], "new", "x.h5", "--problem", "heat", "--size", "9x9x2")
        for size in ("4000000000x4000000000", "9000000000000000000x9", "9x9223372036854775807",
                     "4000000000x4000000000x4000000000", "99999999999999999999x9"):
            for stencil in (("--stencil", "j2d49pt"), ("--problem", "poisson")):
                if "--problem" in stencil or size.count("x") == 1:
                    self.refused(USAGE, ["--size", size], "new", "x.h5", *stencil, "--size", size)

    def test_unstable_time_step(self):
        self.refused(BAD_DATA, ["p.h5", "dt", "largest stable", "0.25"], "p.h5", "--problem", "heat", "--dt", 1)
        self.refused(USAGE, ["dt", "largest stable"], "new", "x.h5", "--problem", "heat", "--size", "9x9", "--dt", 100)


class WithoutEffect(CommandTest):
    """An option that nobody looks at is refused: who gives it expects something of it."""

    def test_problem(self):
        self.make()
        self.write("own.h5", field(9, 9), {"stencil": None}, {"stencil/offsets": numpy.array([[0, 0], [0, 1]], "i4"),
                                                              "stencil/weights": [0.5, 0.5]})
        self.write("heat.h5", field(9, 9), {"stencil": None, "problem": "heat"})
        self.write("laplace.h5", field(9, 9), {"stencil": None, "problem": "laplace"})
        for name, what, options in (("p.h5", "stencil j2d5pt", ("--omega", "--diffusivity", "--dt", "--spacing")),
                                    ("own.h5", "given weights", ("--omega", "--diffusivity", "--dt", "--spacing")),
                                    ("heat.h5", "heat", ("--omega",)), ("laplace.h5", "laplace", ("--diffusivity", "--dt"))):
            for option in options:
                self.refused(USAGE, [f"{option} is for problem", f"no effect on {what}"], name, option, "0.1")
        self.refused(USAGE, ["--dt is for problem heat"], "heat.h5", "--stencil", "j2d5pt", "--dt", "0.1")
        self.ok("p.h5", "--problem", "poisson", "--omega", "0.9", "--spacing", "0.1", "--steps", 1)
        self.ok("heat.h5", "--dt", "0.1", "--diffusivity", "0.5", "--steps", 1)

    def test_new(self):
        new = ("new", "x.h5", "--size", "9x9")
        self.refused(USAGE, ["--omega is for problem"], *new, "--stencil", "j2d5pt", "--omega", "0.5")
        self.refused(USAGE, ["--seed is for --initial random"], *new, "--problem", "heat", "--initial", "sine", "--seed", "0")
        self.refused(USAGE, ["--amplitude has no effect"], *new, "--problem", "heat", "--amplitude", "1")

    def test_plan(self):
        self.make()
        cpu = ("p.h5", "--device", "cpu")
        self.refused(USAGE, ["--barrier-timeout", "relaunch"], *cpu, "--sync", "relaunch", "--barrier-timeout", "10")
        self.refused(USAGE, ["--barrier-timeout", "'1e300'", "at most"], *cpu, "--sync", "grid", "--barrier-timeout", "1e300")
        self.refused(USAGE, ["--halo has no effect in one part"], *cpu, "--sync", "openmp", "--halo", "copy")
        self.refused(USAGE, ["--overlap has no effect in one part"], *cpu, "--sync", "openmp", "--overlap")
        self.refused(USAGE, ["--inject-seed has no effect without --inject-delay"], *cpu, "--sync", "grid", "--inject-seed", 1)

    def test_force_without_a_file(self):
        self.make()
        for arguments in (("info",), ("compare", "p.h5", "p.h5"), ("verify", "p.h5")):
            self.refused(USAGE, ["--force has no effect without --json"], *arguments, "--force")


class Files(CommandTest):
    def every_reader(self, code, wanted, name):
        """All commands that read a problem or a result say the same."""
        self.refused(code, wanted, name)
        self.refused(code, wanted, "verify", name)
        self.refused(code, wanted, "compare", name, name)

    @fault("the input is missing", "its name, and how to make one", 66)
    def test_missing(self):
        self.every_reader(NO_INPUT, ["'nothing.h5'", "No such file", "'stencil new'"], "nothing.h5")

    def test_name_of_two_lines(self):
        self.every_reader(NO_INPUT, ["'no\\nthing.h5'"], "no\nthing.h5")

    @fault("the input is a directory", "that it is one", 66)
    def test_directory(self):
        os.mkdir(self.path("d.h5"))
        self.every_reader(NO_INPUT, ["'d.h5'", "directory"], "d.h5")

    @fault("the input is a FIFO", "that it is no regular file; nothing is waited for", 66)
    def test_pipe(self):
        os.mkfifo(self.path("f.h5"))
        for arguments in (("f.h5",), ("verify", "f.h5"), ("compare", "f.h5", "f.h5")):
            done = self.call(*arguments)
            self.assertEqual(done.returncode, NO_INPUT)
            self.assertRegex(done.stderr, r"^stencil: 'f.h5' is not a regular file.*\n$")

    @fault("the input may not be read", "the right that is missing", 66)
    def test_unreadable(self):
        self.make()
        keywords = self.as_nobody()
        os.chmod(self.path("p.h5"), 0)
        self.refused(NO_INPUT, ["'p.h5'", "Permission denied"], "p.h5", "--no-output", **keywords)
        self.refused(NO_INPUT, ["'p.h5'", "Permission denied"], "compare", "p.h5", "p.h5", **keywords)

    @fault("the input is empty", "that it is", 65)
    def test_empty(self):
        open(self.path("e.h5"), "w").close()
        self.every_reader(BAD_DATA, ["'e.h5'", "empty"], "e.h5")

    @fault("another program has the input open for writing", "that it is locked", 66)
    def test_locked(self):
        """Another program writes the file, old or new."""
        self.make()
        for mode, name in (("r+", "p.h5"), ("w", "q.h5")):
            with h5py.File(self.path(name), mode):
                self.every_reader(NO_INPUT, [f"'{name}' is locked", "another program", "close it there"], name)
        with h5py.File(self.path("p.h5"), "r"):
            self.ok("p.h5", "--steps", 1, "--device", "cpu")
        with h5py.File(self.path("p.h5"), "r+"):
            self.ok("compare", "p.h5", "p.h5", env={**os.environ, "HDF5_USE_FILE_LOCKING": "FALSE"})

    @fault("the input was cut short", "that it is truncated or damaged", 65)
    def test_truncated(self):
        self.make()
        size = os.path.getsize(self.path("p.h5"))
        os.truncate(self.path("p.h5"), size * 2 // 3)
        self.every_reader(BAD_DATA, ["'p.h5'", "truncated"], "p.h5")

    @fault("the input is no HDF5", "what it is instead, where its first bytes tell", 65)
    def test_not_hdf5(self):
        with open(self.path("t.h5"), "w") as file:
            file.write("1 2 3\n" * 1000)
        self.every_reader(BAD_DATA, ["'t.h5'", "not an HDF5 file"], "t.h5")

    @fault("verify is given no result", "what is missing", 65)
    def test_not_a_result(self):
        self.make()
        self.refused(BAD_DATA, ["'p.h5'", "steps_done"], "verify", "p.h5")

    def test_compare_other_dataset(self):
        self.make()
        self.refused(BAD_DATA, ["'p.h5'", "/nothing", "--dataset"], "compare", "p.h5", "p.h5", "--dataset", "/nothing")


class OfOthers(CommandTest):
    """Files that HDF5 does not read here: what they are, and what to do."""

    @fault("the input is of another format", "its name, and what makes HDF5 of it", 65)
    def test_other_formats(self):
        for start, words in ((b"CDF\x01", ("netCDF-3", "nccopy -k nc4")), (b"CDF\x02", ("netCDF-3", "NETCDF4")),
                             (b"CDF\x05", ("netCDF-3",)), (b"\x93NUMPY\x01\x00", ("NumPy array", "h5py")),
                             (b"PK\x03\x04", (".npz", "h5py")), (b"MATLAB 5.0 MAT-file, Platform: GLNXA64", ("MATLAB", "-v7.3")),
                             (b"\x0e\x03\x13\x01", ("HDF4", "h4toh5")), (b"\x1f\x8b\x08", ("gzip", "unpack")),
                             (b"BZh9", ("bzip2",)), (b"\xfd7zXZ\x00", ("xz",)), (b"\x28\xb5\x2f\xfd", ("zstd",)),
                             (b"SIMPLE  =", ("FITS",)), (b"II*\x00", ("TIFF",)), (b"MM\x00*", ("TIFF",)), (b"\x89PNG", ("PNG",)),
                             (b"# vtk DataFile Version 3.0", ("VTK",)), (b"CDF", ("'stencil new'",)), (b"CDF\x03", ("'stencil new'",))):
            with open(self.path("a.h5"), "wb") as file:
                file.write(start + (bytes(1000) if len(start) > 3 else b""))
            self.refused(BAD_DATA, ["'a.h5' is ", "not an HDF5 file: ", *words], "a.h5")
            self.refused(BAD_DATA, ["'a.h5' is ", "not an HDF5 file: ", *words], "compare", "a.h5", "a.h5")

    def test_numpy(self):
        numpy.save(self.path("u.npy"), field(9, 9))
        numpy.savez(self.path("u.npz"), u=field(9, 9))
        self.refused(BAD_DATA, ["'u.npy' is a NumPy array"], "u.npy")
        self.refused(BAD_DATA, ["'u.npz' is a ZIP archive (.npz, too)"], "u.npz")

    def packed(self, name, number, value=0.0, packed=True):
        """A dataset with a filter that need not be here, and chunks that were packed by it or not."""
        with h5py.File(self.path("p.h5"), "a") as file:
            create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            create.set_chunk((9, 9))
            create.set_filter(number, h5py.h5z.FLAG_OPTIONAL, ())
            space = h5py.h5s.create_simple((9, 9))
            made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F64LE, space, create)
            made.write_direct_chunk((0, 0), numpy.full((9, 9), value).tobytes(), filter_mask=0 if packed else 1)

    def test_filters(self):
        for number, name in ((32001, "blosc"), (32004, "lz4"), (32008, "bitshuffle"), (32015, "zstd"), (32026, "blosc2"),
                             (31999, "of no registered name")):
            for dataset in ("u", "b"):
                self.write(u=field(9, 9) if dataset == "b" else None)
                self.packed(dataset, number)
                wanted = [f"'p.h5': /{dataset} is packed with filter {number} ({name})", "h5repack -f GZIP=4", "compression='gzip'"]
                self.refused(BAD_DATA, wanted, "p.h5", "--device", "cpu")
                self.refused(BAD_DATA, wanted, "compare", "p.h5", "p.h5", "--dataset", f"/{dataset}")

    def test_filter_that_was_not_needed(self):
        self.write()
        self.packed("u", 32015, 3.0, packed=False)
        self.ok("p.h5", "--steps", 1, "--device", "cpu")

    def test_own_datasets_are_copied_as_they_are(self):
        self.write(u=field(9, 9))
        self.packed("mine", 32015)
        self.ok("p.h5", "--steps", 1, "--device", "cpu")
        with h5py.File(self.path("p.out.h5"), "r") as file:
            self.assertEqual(file["mine"].id.read_direct_chunk((0, 0)), (0, bytes(648)))

    @fault("a dataset is packed with a filter that is not here", "its number and name, and h5repack", 65)
    def test_lzf(self):
        self.write(u=lambda file: file.create_dataset("u", data=numpy.zeros((90, 90)), chunks=(30, 30), compression="lzf"))
        self.refused(BAD_DATA, ["'p.h5': /u is packed with filter 32000 (lzf)"], "p.h5", "--device", "cpu")

    @fault("a newer HDF5 has written the file", "the version of this one, and h5repack", 65)
    def test_newer_versions(self):
        """Versions of the superblock, of an object header and of its messages that no HDF5 has yet."""
        self.write(u=lambda file: file.create_dataset("u", data=field(9, 9), chunks=(9, 9), compression="gzip"))
        with h5py.File(self.path("p.h5"), "r") as file:
            header = h5py.h5o.get_info(file["u"].id).addr
        with open(self.path("p.h5"), "rb") as file:
            good = bytearray(file.read())
        places = {8: 9, header: 7}
        message = header + 16
        for _ in range(int.from_bytes(good[header + 2:header + 4], "little")):
            kind = int.from_bytes(good[message:message + 2], "little")
            if kind in (1, 3, 5, 8, 11):  # dataspace, datatype, fill value, layout, filters
                places[message + 8] = 0x91 if kind == 3 else 9
            message += 8 + int.from_bytes(good[message + 2:message + 4], "little")
        self.assertEqual(len(places), 7)
        for place, version in places.items():
            bad = good[:]
            bad[place] = version
            with open(self.path("n.h5"), "wb") as file:
                file.write(bad)
            for arguments in (("n.h5",), ("compare", "n.h5", "n.h5")):
                # HDF5 1.10.8 itself leaks what it had read of a message that it refuses.
                self.refused(BAD_DATA, ["'n.h5'", "written by a newer HDF5 than this program has, ", "h5repack --low=0 --high=2"],
                             *arguments, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})


class Contents(CommandTest):
    def bad(self, wanted, *arguments, **contents):
        self.refused(BAD_DATA, ["p.h5", *wanted], self.write(**contents), *arguments)

    def test_missing_u(self):
        self.bad(["/u"], datasets={"v": field(9, 9)})

    @fault("/u is a link that leads nowhere", "that it does", 65)
    def test_dangling_u(self):
        for link in (h5py.SoftLink("/nowhere"), h5py.ExternalLink("nowhere.h5", "/u")):
            self.bad(["/u is a link", "leads nowhere"], u=lambda file: file.__setitem__("u", link))
            self.refused(BAD_DATA, ["'p.h5'", "/u is a link", "--dataset"], "compare", "p.h5", "p.h5")

    @fault("/u is no dataset", "what it is", 65)
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

    @fault("dimensions multiply to more cells than can be counted", "that they do", 65)
    def test_size_overflows(self):
        self.bad(["/u", "dimensions"],
                 u=lambda file: file.create_dataset("u", (1 << 31, 1 << 31), "f8", chunks=(1 << 14, 1 << 14)))

    @fault("/u holds no numbers", "what it holds", 65)
    def test_types_without_numbers(self):
        self.bad(["/u", "string"], u=numpy.full((9, 9), b"x"))
        self.bad(["/u", "string"],
                 u=lambda file: file.create_dataset("u", (9, 9), dtype=h5py.string_dtype()))
        self.bad(["/u", "compound"], u=numpy.zeros((9, 9), dtype=[("a", "f8"), ("b", "i4")]))

    @fault("cells are NaN or infinite", "the first one, and --allow-nonfinite", 65)
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

    @fault("numbers are infinite in the precision of the run", "the first one", 65)
    def test_too_large_for_the_precision(self):
        u = field(9, 9)
        u[2, 3] = 1e300
        self.bad(["/u", "[2][3]", "float32"], "--precision", "float32", u=u)

    def test_spacing(self):
        self.bad(["spacing", "3 values"], u=field(9, 9), attributes={"spacing": [1.0, 1.0, 1.0]})
        self.bad(["spacing"], u=field(9, 9), attributes={"spacing": [1.0, -1.0]})

    @fault("points or weights cannot be", "which of them, and why", 65)
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
        self.bad(["offsets", "(-1, 1) twice"], u=u, attributes=none,
                 datasets={"stencil/offsets": [[-1, 1], [0, 0], [-1, 1]], "stencil/weights": [0.5, 0.25, 0.25]})
        self.bad(["offsets", "(-1, 1, 0) twice"], u=field(9, 9, 9), attributes=none,
                 datasets={"stencil/offsets": [[-1, 1, 0], [-1, 1, 0]], "stencil/weights": [0.5, 0.5]})

    @fault("an attribute has a wrong type, length or value", "its name, and what it may be", 65)
    def test_attributes(self):
        self.bad(["stencil", "nonsense"], u=field(9, 9), attributes={"stencil": "nonsense"})
        self.bad(["stencil"], u=field(9, 9), attributes={"stencil": None})
        self.bad(["boundary", "open"], u=field(9, 9), attributes={"boundary": "open"})
        self.bad(["problem", "wave"], u=field(9, 9), attributes={"stencil": None, "problem": "wave"})
        self.bad(["steps"], u=field(9, 9), attributes={"steps": -3})
        for name in ("steps", "check_every"):
            for value in (numpy.uint64(2**64 - 1), numpy.int64(2**63 - 1), 10**15 + 1, 1e16):
                self.bad([f"'{name}'", "1000000000000000"], u=field(9, 9), attributes={name: value})

    @fault("a source has another shape than the field", "that it has", 65)
    def test_source_of_another_shape(self):
        self.bad(["/b", "shape"], u=field(9, 9), datasets={"b": field(9, 8)})


class OtherFiles(CommandTest):
    """Values that stand in other files. HDF5 reads zeros where one is missing."""

    def parts(self, folder=""):
        for number in range(3):
            with h5py.File(self.path(f"{folder}part{number}.h5"), "w") as file:
                file["v"] = field(3, 9)

    def virtual(self, names, dataset="u"):
        """p.h5 with a dataset put together of these sources."""
        layout = h5py.VirtualLayout((3 * len(names), 9), "f8")
        for number, (name, source) in enumerate(names):
            layout[3 * number:3 * number + 3] = h5py.VirtualSource(name, source, (3, 9))
        with h5py.File(self.path("p.h5"), "w") as file:
            file.attrs["stencil"] = "j2d5pt"
            if dataset != "u":
                file["u"] = field(3 * len(names), 9)
            file.create_virtual_dataset(dataset, layout)

    @fault("a source of a virtual dataset is missing", "its name and file", 65)
    def test_virtual_dataset(self):
        run = ("p.h5", "--steps", 1, "--device", "cpu", "--force")
        self.parts()
        for dataset in ("u", "b"):
            self.virtual([(f"part{number}.h5", "v") for number in range(3)], dataset)
            self.ok(*run)
            self.ok("verify", "p.out.h5")
            self.ok("compare", "p.h5", "p.h5", "--dataset", f"/{dataset}")
            os.rename(self.path("part1.h5"), self.path("away.h5"))
            wanted = [f"'p.h5': /{dataset} is a virtual dataset", "v in 'part1.h5' is missing"]
            self.refused(BAD_DATA, wanted, *run)
            self.refused(BAD_DATA, wanted, "compare", "p.h5", "p.h5", "--dataset", f"/{dataset}")
            self.refused(BAD_DATA, wanted, "verify", "p.out.h5", "p.h5")
            self.ok("p.out.h5", *run[1:])  # a result stands by itself
            os.rename(self.path("away.h5"), self.path("part1.h5"))
        self.virtual([("part0.h5", "v"), ("part1.h5", "w")])
        self.refused(BAD_DATA, ["w in 'part1.h5' is missing"], *run)

    def test_virtual_dataset_elsewhere(self):
        """Sources are looked for beside the file that names them, where $HDF5_VDS_PREFIX says, and by absolute names."""
        os.mkdir(self.path("d"))
        os.mkdir(self.path("e"))
        self.parts("d/")
        run = ("--steps", 1, "--device", "cpu", "--force", "-o", "out.h5")
        names = [(f"part{number}.h5", "v") for number in range(2)]
        self.virtual(names)
        self.refused(BAD_DATA, ["'part0.h5' is missing"], "p.h5", *run)
        self.ok("p.h5", *run, env={**os.environ, "HDF5_VDS_PREFIX": "d"})
        self.ok("p.h5", *run, env={**os.environ, "HDF5_VDS_PREFIX": "${ORIGIN}/d"})
        self.virtual([(self.path("d/part0.h5"), "v"), ("d/part1.h5", "v")])
        self.ok("p.h5", *run)
        os.symlink("../p.h5", self.path("e/link.h5"))
        self.ok("e/link.h5", *run)
        self.virtual(names)
        os.rename(self.path("p.h5"), self.path("d/p.h5"))
        self.ok("d/p.h5", *run)
        numpy.testing.assert_array_equal(self.read("d/p.h5")[3:], self.read("d/part1.h5", "v"))

    def test_virtual_dataset_of_virtual_ones(self):
        self.parts()
        self.virtual([("part0.h5", "v")])
        os.rename(self.path("p.h5"), self.path("inner.h5"))
        self.virtual([("inner.h5", "u"), ("part2.h5", "v")])
        self.ok("p.h5", "--steps", 1, "--device", "cpu")
        os.unlink(self.path("part0.h5"))
        self.refused(BAD_DATA, ["'inner.h5'", "v in 'part0.h5' is missing"], "p.h5")

    def numbered(self, count):
        """/u of sources with a number in their name."""
        with h5py.File(self.path("p.h5"), "w") as file:
            file.attrs["stencil"] = "j2d5pt"
            create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            space = h5py.h5s.create_simple((3 * count, 9), (h5py.h5s.UNLIMITED, 9))
            space.select_hyperslab((0, 0), (h5py.h5s.UNLIMITED, 1), (3, 9), (3, 9))
            create.set_virtual(space, b"part%b.h5", b"v", h5py.h5s.create_simple((3, 9)))
            space.select_all()
            h5py.h5d.create(file.id, b"u", h5py.h5t.NATIVE_DOUBLE, space, create)

    @fault("a numbered source of a virtual dataset is missing", "that one is", 65)
    def test_numbered_sources(self):
        self.parts()
        self.numbered(3)
        self.ok("p.h5", "--steps", 1, "--device", "cpu")
        self.assertEqual(self.read("p.out.h5").shape, (9, 9))
        os.rename(self.path("part1.h5"), self.path("away.h5"))
        self.refused(BAD_DATA, ["/u is a virtual dataset", "numbered sources are missing"], "p.h5", "--force")
        os.rename(self.path("away.h5"), self.path("part1.h5"))
        os.unlink(self.path("part2.h5"))
        self.refused(BAD_DATA, ["'p.h5'", "/u"], "p.h5", "--force")

    @fault("a file with the values of a dataset is missing or too short", "its name", 65)
    def test_external_file(self):
        for dataset in ("u", "b"):
            with h5py.File(self.path("p.h5"), "w") as file:
                file.attrs["stencil"] = "j2d5pt"
                if dataset != "u":
                    file["u"] = field(9, 9)
                file.create_dataset(dataset, (9, 9), "f8", external=[("raw0.bin", 8, 400), ("raw1.bin", 0, h5py.h5f.UNLIMITED)])
            for name, size in (("raw0.bin", 408), ("raw1.bin", 248)):
                with open(self.path(name), "wb") as file:
                    file.write(field(size // 8).tobytes())
            run = ("p.h5", "--steps", 1, "--device", "cpu", "--force")
            self.ok(*run)
            self.ok("verify", "p.out.h5")
            os.truncate(self.path("raw1.bin"), 240)
            self.refused(BAD_DATA, [f"/{dataset}", "'raw1.bin'", "too short"], *run)
            os.unlink(self.path("raw0.bin"))
            self.refused(BAD_DATA, [f"/{dataset}", "'raw0.bin'", "missing"], *run)


class Machine(CommandTest):
    def huge(self):
        """Eight TiB that take no space: a chunked dataset that nobody has written to."""
        return self.write("huge.h5", lambda file: file.create_dataset("u", (1 << 20, 1 << 20), "f8",
                                                                      chunks=(1 << 12, 1 << 12)))

    @fault("the field does not fit into the memory", "need and have", 71)
    def test_host_memory(self):
        self.huge()
        line = self.refused(NO_MEMORY, ["'huge.h5'", "TiB"], "huge.h5", "--device", "cpu")
        self.assertRegex(line, r"needs [0-9.]+ TiB .*[0-9.]+ [KMGT]iB is available")

    def skip_without_address_space(self, limit):
        """The address sanitizer's shadow fits under no limit."""
        if "AddressSanitizer" in self.call("--version", preexec_fn=limit).stderr:
            self.skipTest("built with the address sanitizer")

    @fault("the field does not fit under a limit of memory", "need and have", 71)
    def test_address_space(self):
        """A limit that the field does not fit under, though the machine has the memory."""
        space = limited(resource.RLIMIT_AS, 600 << 20)
        self.skip_without_address_space(space)
        self.write("large.h5", lambda file: file.create_dataset("u", (1 << 13, 1 << 13), "f8", chunks=(1 << 12, 1 << 12)))
        line = self.refused(NO_MEMORY, ["'large.h5'"], "large.h5", "--device", "cpu", "--threads", 1,
                            preexec_fn=space)
        self.assertRegex(line, r"needs [0-9.]+ [MG]iB .*[0-9.]+ [KM]iB is available")

    @fault("the system starts fewer threads", "how many, and which limit", 71)
    def test_more_threads_than_the_system_starts(self):
        self.make()
        space = limited(resource.RLIMIT_AS, 400000 << 10)
        self.skip_without_address_space(space)
        for arguments in (("p.h5", "--device", "cpu"), ("verify", "p.h5"), ("bench", "copy", "--device", "cpu")):
            self.refused(NO_MEMORY, ["--threads 300", "starts only"], *arguments, "-j", 300, preexec_fn=space)
        many = {**os.environ, "OMP_NUM_THREADS": "300"}
        for arguments in (("p.h5", "--device", "cpu"), ("new", "x.h5", "--problem", "heat", "--size", "9x9")):
            self.refused(NO_MEMORY, ["OMP_NUM_THREADS: 300", "starts only"], *arguments, preexec_fn=space, env=many)
        self.ok("p.h5", "--device", "cpu", "--steps", 1, "-j", 3, preexec_fn=space)

    @fault("there is hardly any memory at all", "one line, from HDF5, OpenMP or us", 71)
    def test_little_address_space(self):
        """It suffices, or one line says that it does not: neither OpenMP nor HDF5 may end the process."""
        self.make()
        self.ok("p.h5", "--steps", 1, "-o", "r.h5")
        self.skip_without_address_space(limited(resource.RLIMIT_AS, 600 << 20))
        if self.gpu_count() > 0:
            self.skipTest("the driver of a GPU wants more")
        # Below some limit the system cannot map the program or its libraries and ends it before main.
        first = next(mebibytes for mebibytes in range(8, 600) if
                     self.call("--version", preexec_fn=limited(resource.RLIMIT_AS, mebibytes << 20)).returncode
                     in (0, NO_MEMORY))
        for mebibytes in range(first, first + 48):
            for arguments in (("p.h5", "--no-output"), ("verify", "r.h5")):
                done = self.call(*arguments, preexec_fn=limited(resource.RLIMIT_AS, mebibytes << 20))
                self.assertIn(done.returncode, (0, NO_MEMORY), f"{mebibytes} MiB: {done}")

    @fault("the user may have no more processes", "how many start, and ulimit -u", 71)
    def test_more_threads_than_a_user_may_have(self):
        self.make()
        keywords = self.as_nobody()
        drop = keywords.pop("preexec_fn", lambda: None)

        def few():
            resource.setrlimit(resource.RLIMIT_NPROC, (60, 60))
            drop()

        self.refused(NO_MEMORY, ["--threads 500", "starts only", "ulimit -u"], "p.h5", "--device", "cpu", "--no-output", "-j",
                     500, preexec_fn=few, **keywords)

    @fault("OMP_NUM_THREADS is far too large", "the number, and the most", 64)
    def test_too_many_threads_from_the_environment(self):
        self.make()
        self.ok("p.h5", "--steps", 1, "-o", "r.h5")
        for number in ("40000", "100000"):
            for arguments in (("p.h5",), ("verify", "r.h5"), ("bench", "copy", "--device", "cpu"),
                              ("new", "x.h5", "--problem", "heat", "--size", "9x9")):
                self.refused(USAGE, [f"OMP_NUM_THREADS: {number}", "at most 4096"], *arguments,
                             env={**os.environ, "OMP_NUM_THREADS": number})

    def test_memory_with_a_gpu(self):
        if self.gpu_count() == 0:
            self.skipTest("no GPU")
        self.huge()
        self.refused(NO_MEMORY, ["'huge.h5'", "TiB"], "huge.h5", "--device", "gpu")

    @fault("there is no GPU", "that there is none, and why", 69)
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


if __name__ == "__main__":
    unittest.main()
