"""Results and checkpoints that all ranks write, each its own cells: the bytes of one process, whatever a rank lacks."""
import itertools
import json
import os
import random
import unittest

import h5py
import numpy
from ranks_test import RanksTest
from harness import DRAW, SLOW

NOTE = "rank 0 collects them"
# Ends a file of 33.6 MB in the midst of the second rank's cells; the libraries of MPI make files, too.
LIMIT_KIB = 18000


def span(path):
    """The bytes of the file in which /u lies, and all attributes of the problem."""
    with h5py.File(path) as file:
        at, size = file["u"].id.get_offset(), file["u"].id.get_storage_size()
        attributes = {key: str(value) for key, value in file.attrs.items()}
    with open(path, "rb") as file:
        file.seek(at)
        return at, file.read(size), attributes


class SharedTest(RanksTest):
    def same_file(self, first, second, *more):
        for what, a, b in zip(("offset of /u", "/u", "attributes"), span(self.path(first)), span(self.path(second))):
            self.assertEqual(a, b, f"{what} of {second} is not that of {first}: {more}")
        self.same(first, second, *more)

    def no_rest(self):
        """No temporary file is left."""
        left = [name for name in os.listdir(self.directory) if name.startswith(".") or name.endswith(".tmp")]
        self.assertEqual(left, [])

    def notes(self, name="r.json"):
        with open(self.path(name), encoding="utf-8") as file:
            return json.dumps(json.load(file)["notes"])


class Written(SharedTest):
    def test_bytes_of_one_process(self):
        """2D and 3D, both precisions, cuts along one axis and two, with and without boundary cells in the file."""
        r = random.Random(7)
        cases = list(itertools.product((2, 3), ("float32", "float64"), ("fixed", "periodic")))
        for rank, precision, edge in cases if DRAW == "all" else r.sample(cases, 4):
            shape = (37, 210) if rank == 2 else (19, 21, 150)
            u = numpy.random.default_rng(rank).uniform(-1, 1, shape).astype(precision)
            self.write("p.h5", u, {"stencil": "j2d5pt" if rank == 2 else "j3d7pt", "boundary": [edge] * rank})
            self.ok("p.h5", "-qq", "--steps", 20, "-o", "one.h5", "--force")
            cuts = [(2, ()), (3, ()), (4, ()), (8, ())]
            cuts += [(2, "1,2"), (4, "2,2"), (6, "3,2")] if rank == 2 else [(2, "1,2,1"), (4, "2,2,1"), (4, "2,1,2"), (8, "2,2,2")]
            for ranks, cut in cuts if DRAW == "all" else r.sample(cuts[:4], 1) + r.sample(cuts[4:], 2):
                way = ("--cut", cut) if cut else ()
                self.ranks(ranks, "p.h5", "-qq", "--steps", 20, "-o", "many.h5", "--force", "--json", "r.json", *way)
                self.same_file("one.h5", "many.h5", rank, precision, edge, ranks, cut)
                self.assertNotIn(NOTE, self.notes())
                os.remove(self.path("r.json"))
            self.no_rest()

    def test_a_field_of_several_slabs(self):
        """Rows that are cut make many short stretches, whole ones few that are long."""
        self.ok("new", "p.h5", "--problem", "heat", "--initial", "random", "--size", "8200x2100", "--quiet")
        self.ok("p.h5", "-qq", "--steps", 1, "-o", "one.h5")
        for cut in ("2,1", "1,2"):
            self.ranks(2, "p.h5", "-qq", "--steps", 1, "-o", "many.h5", "--force", "--cut", cut)
            self.same_file("one.h5", "many.h5", cut)

    def test_a_scaled_field(self):
        """Numbers whose squares leave the range are scaled while a run has them."""
        u = numpy.random.default_rng(1).uniform(-1e300, 1e300, (40, 130))
        self.write("p.h5", u, {"stencil": "j2d5pt", "boundary": ["fixed", "fixed"]})
        self.ok("p.h5", "-qq", "--steps", 10, "-o", "one.h5")
        self.ranks(3, "p.h5", "-qq", "--steps", 10, "-o", "many.h5")
        self.same_file("one.h5", "many.h5")

    def test_checkpoints_go_on_with_other_ranks(self):
        self.ok("new", "p.h5", "--problem", "heat", "--initial", "random", "--size", "70x65", "--quiet")
        files = ("--checkpoint-every", 40, "--keep-checkpoints")
        self.ok("p.h5", "-qq", "-o", "one.h5", *files, "--steps", 100)
        self.ranks(4, "p.h5", "-qq", "-o", "many.h5", *files, "--steps", 100)
        for name in (".h5", ".ckpt.h5", ".ckpt.prev.h5"):
            self.same_file(f"one{name}", f"many{name}")
        os.remove(self.path("many.h5"))
        for ranks in (2, 3, 1):
            if ranks == 1:
                self.ok("--resume", "many.ckpt.h5", "-qq")
            else:
                self.ranks(ranks, "--resume", "many.ckpt.h5", "-qq")
            self.same("one.h5", "many.h5", ranks)
            os.remove(self.path("many.h5"))
        self.no_rest()

    def test_frames_between_them(self):
        """Frames of a series are rank 0's, in the midst of files that all write."""
        self.ok("new", "p.h5", "--problem", "heat", "--initial", "random", "--size", "70x65", "--quiet")
        for pack in ((), ("--compress",)):
            files = ("--save-every", 10, "--checkpoint-every", 20, "--keep-checkpoints", "--steps", 50, "--force", *pack)
            self.ok("p.h5", "-qq", "-o", "one.h5", *files)
            self.ranks(3, "p.h5", "-qq", "-o", "many.h5", *files)
            self.same_file("one.ckpt.h5", "many.ckpt.h5")
            with h5py.File(self.path("one.series.h5")) as one, h5py.File(self.path("many.series.h5")) as many:
                self.assertEqual(one["u"][()].tobytes(), many["u"][()].tobytes())


class Lacking(SharedTest):
    def setUp(self):
        super().setUp()
        self.ok("new", "p.h5", "--problem", "heat", "--initial", "random", "--size", "2048x2048", "--quiet")
        self.ok("p.h5", "-qq", "--steps", 20, "-o", "one.h5", "--checkpoint-every", 10, "--keep-checkpoints")

    def test_a_directory_that_one_rank_does_not_see(self):
        """As on hosts without a common file system."""
        elsewhere = self.wrapper("mkdir -p elsewhere; cd elsewhere; ln -sf ../p.h5 p.h5")
        self.ranks(3, "p.h5", "-qq", "--steps", 20, "-o", "many.h5", "--checkpoint-every", 10, "--keep-checkpoints",
                   "--json", "r.json", wrapper=elsewhere)
        self.same_file("one.h5", "many.h5")
        self.same_file("one.ckpt.h5", "many.ckpt.h5")
        self.assertEqual(self.notes().count(NOTE), 1)
        self.assertEqual(os.listdir(self.path("elsewhere")), ["p.h5"])
        self.no_rest()

    def test_another_problem_of_one_rank(self):
        """A file of the same name may be another one, and options may differ: there is no result then."""
        elsewhere = self.wrapper("cd other")
        os.mkdir(self.path("other"))
        extent, other = "61x90", "61x91"
        self.ok("new", "q.h5", "--problem", "heat", "--initial", "random", "--size", extent, "-q")
        for size, more, message in ((other, (), "another problem"), (extent, ("--boundary", "mirror"), "another problem"),
                                    (extent, ("--seed", 7), "/u of 'q.h5' is not that of rank 0")):
            with self.subTest(size=size, more=more):
                self.ok("new", "other/q.h5", "--problem", "heat", "--initial", "random", "--size", size, *more, "-q", "--force")
                done = self.ranks(3, "q.h5", "-qq", "--steps", 20, "-o", "none.h5", code=None, wrapper=elsewhere)
                self.assertEqual((done.returncode, len(done.lines)), (65, 1), done.stderr)
                self.assertIn("rank 1: ", done.lines[0])
                self.assertIn(message, done.lines[0])
                self.assertFalse(os.path.exists(self.path("none.h5")))
                self.no_rest()
        self.ok("new", "other/q.h5", "--problem", "heat", "--initial", "random", "--size", extent, "-q", "--force")
        self.ranks(3, "q.h5", "-qq", "--steps", 20, "-o", "same.h5", wrapper=elsewhere)

    def test_a_rank_that_cannot_write(self):
        """Its file is too large for it: rank 0 saves the result, and the error is that of the rank."""
        limit = self.wrapper(f"ulimit -f {LIMIT_KIB}")
        done = self.ranks(3, "p.h5", "-qq", "--steps", 20, "-o", "many.h5", code=None, wrapper=limit)
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertEqual(len(done.lines), 1, done.stderr)
        for text in ("rank 1: cannot write 'many.h5': File too large", "rescued-"):
            self.assertIn(text, done.lines[0])
        rescued = [name for name in os.listdir(self.directory) if name.startswith("rescued-")]
        self.assertEqual(len(rescued), 1)
        self.same("one.h5", rescued[0])
        self.assertFalse(os.path.exists(self.path("many.h5")))
        self.no_rest()

    def test_a_checkpoint_that_a_rank_cannot_write(self):
        """The run goes on, and leaves no half of a checkpoint."""
        limit = self.wrapper(f"ulimit -f {LIMIT_KIB}")
        done = self.ranks(2, "p.h5", "-q", "--steps", 20, "-o", "many.h5", "--checkpoint-every", 10, code=None, wrapper=limit)
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertIn("no checkpoint of step 10, the run goes on: rank 1: cannot write 'many.ckpt.h5': File too large",
                      done.stderr)
        self.assertFalse(os.path.exists(self.path("many.ckpt.h5")))
        self.no_rest()

    def test_no_space_for_any(self):
        limit = self.path("all.sh")
        with open(limit, "w") as file:
            file.write(f'#!/bin/bash\nulimit -f {LIMIT_KIB}\nexec "$@"\n')
        os.chmod(limit, 0o755)
        self.refused_ranks(74, ["cannot write 'many.h5'", "File too large"], 3, "p.h5", "-q", "--steps", 20, "-o", "many.h5",
                           wrapper=limit)
        self.assertFalse(os.path.exists(self.path("many.h5")))
        self.no_rest()

    @unittest.skipIf(SLOW, "a library that comes before the program's own")
    def test_a_slow_disk_of_any_rank(self):
        """A rank waits for its disk for longer than the others wait for one that stands still."""
        slow = self.wrapper(f"export LD_PRELOAD={os.environ['STENCIL_DISK']} STENCIL_DISK_S=4")
        done = self.ranks(3, "p.h5", "-qq", "--steps", 20, "-o", "many.h5", "--rank-timeout", 2, wrapper=slow)
        self.assertNotIn("sign of life", done.stderr)
        self.same_file("one.h5", "many.h5")


if __name__ == "__main__":
    unittest.main()
