"""Ranks that have GPUs: the bits, the history and the file of one process, whichever GPUs the ranks of a host share."""
import json
import os
import random
import re
import signal
import unittest

import h5py
import numpy
from ranks_test import POISSON, RanksTest
from harness import DRAW

GPU = ("--device", "gpu")
HEAT = ("--problem", "heat", "--initial", "random")


def sample(cases, count):
    """So many of the cases, or all of them."""
    return cases if DRAW == "all" else random.Random(16 if not DRAW.isdigit() else int(DRAW)).sample(cases, count)


class GpusTest(RanksTest):
    hidden = {}

    def setUp(self):
        super().setUp()
        if re.search(r"^GPUs +none", self.call("info").stdout, re.MULTILINE):
            self.skipTest("no GPU")

    def emulated(self):
        return "mulated" in self.call("--version").stdout

    def report(self, ranks, *arguments, **keywords):
        """The JSON report of a run of so many ranks."""
        self.ranks(ranks, *arguments, "-q", "--force", "--json", "r.json", **keywords)
        with open(self.path("r.json"), encoding="utf-8") as file:
            return json.load(file)


class Results(GpusTest):
    """Files of problems of all kinds, against one process on a CPU."""

    def problem(self, kind, numbers):
        """Writes p.h5, a problem of some kind; gives options of its run."""
        shape = (12, 21, 140) if kind == "heat3" else (29, 950)  # as wide as strips of deep passes
        u = numbers.uniform(-1, 1, shape)
        if kind == "poisson":
            self.write("p.h5", u, {"stencil": None, "problem": "poisson"}, {"f": numbers.uniform(-1, 1, shape)})
            return ("--rtol", "1e-3", "--steps", 64, "--accelerate", "chebyshev:16")
        if kind == "classes":
            self.write("p.h5", u, {"stencil": "j2d5pt", "boundary": ["periodic", "fixed"]},
                       {"stencil/weights": numbers.uniform(-0.2, 0.2, (5, 5)), "class": numbers.integers(0, 5, shape),
                        "insulated": (numbers.uniform(0, 1, shape) < 0.05).astype("u1")})
            return ("--steps", 24)
        if kind == "periodic":
            self.write("p.h5", u.astype(numpy.float32), {"boundary": ["periodic", "periodic"]})
            return ("--steps", 31, "--check-every", 10, "--rtol", "1e-9")
        self.write("p.h5", u, {"stencil": None, "problem": "heat", "boundary": ["mirror"] * (len(shape) - 1) + ["fixed"]},
                   {"q": numbers.uniform(-1, 1, shape)})
        return ("--steps", 30, "--check-every", 8)

    def test_the_file_of_one_process(self):
        r = random.Random(16 if not DRAW.isdigit() else int(DRAW))
        numbers = numpy.random.default_rng(r.randint(0, 1 << 30))
        steps = [("--sync", "relaunch", "--overlap", "--depth", 1), ("--sync", "stream-sync", "--sweep", "naive"),
                 ("--sync", "event-sync", "--sweep", "stream")]
        passes = [("--sweep", "pipeline", "--depth", 4), ("--sync", "single-thread", "--sweep", "pipeline", "--depth", 3)]
        for kind in ("periodic", "poisson", "classes", "heat", "heat3"):
            run = self.problem(kind, numbers)
            one = self.call("p.h5", "--device", "cpu", "-q", "-o", "one.h5", "--force", *run)
            self.assertIn(one.returncode, (0, 2), f"{kind}: {one.stderr}")
            more = "1," if kind == "heat3" else ""
            cases = ((2, more + "2,1", passes), (3, more + "3,1", steps + passes), (2, more + "1,2", steps))
            for ranks, cut, ways in cases if DRAW == "all" else r.sample(cases, 2):
                way = (*r.choice(ways), "--cut", cut)
                done = self.ranks(ranks, "p.h5", "-qq", "-o", "many.h5", "--force", *GPU, *run, *way, code=None)
                self.assertEqual(done.returncode, one.returncode, f"{kind}, {ranks} ranks, {way}: {done.stderr}")
                self.same("one.h5", "many.h5", kind, ranks, way)

    def test_cuts_along_two_axes(self):
        self.ok("new", "p.h5", "--problem", "heat", "--initial", "random", "--size", "1900x24", "--quiet")
        self.ok("p.h5", "--device", "cpu", "-q", "--steps", 40, "-o", "one.h5")
        for depth, halo, memory in ((1, (), ""), (4, (), ""), (4, ("--halo", "message"), "host"),
                                    (4, ("--halo", "message"), "device" if self.emulated() else "")):
            run = ("p.h5", *GPU, "--steps", 40, "--cut", "2,2", "--sync", "relaunch", "--sweep", "pipeline", "--depth", depth,
                   "-o", "many.h5", *halo)
            self.hidden = {"STENCIL_MPI_MEMORY": memory}
            report = self.report(4, *run)
            self.assertEqual((report["plan"]["ranks"], report["plan"]["halo"], report["plan"]["depth"]), (4, "message", depth))
            self.same("one.h5", "many.h5", depth, halo, memory)

    def test_a_run_goes_on_elsewhere(self):
        """A checkpoint of ranks on GPUs, read box by box from their memory, goes on with ranks on CPUs."""
        self.ok("new", "p.h5", "--problem", "heat", "--initial", "random", "--size", "65x70", "--quiet")
        files = ("--save-every", 20, "--save", "u,residual", "--checkpoint-every", 50, "--keep-checkpoints", "--steps", 90)
        self.ok("p.h5", "--device", "cpu", "-q", "-o", "one.h5", *files)
        self.ranks(3, "p.h5", *GPU, "-q", "-o", "many.h5", *files)
        self.same("one.h5", "many.h5")
        self.same("one.ckpt.h5", "many.ckpt.h5")
        self.ranks(2, "many.ckpt.h5", "--device", "cpu", "-q", "--steps", 90, "-o", "on.h5")
        self.assertEqual(self.result("one.h5")[0], self.result("on.h5")[0])


class Gpus(GpusTest):
    """Which GPU a rank takes."""

    def taken(self, ranks, count):
        """The GPUs of the ranks, of `count` emulated ones."""
        self.hidden = {"STENCIL_EMULATED_GPUS": str(count)}
        report = self.report(ranks, "p.h5", *GPU, "--no-output", "--steps", 2)
        self.hidden = {}
        return [part["gpu"] for part in report["plan"]["parts"]]

    def test_ranks_share_out_gpus(self):
        if not self.emulated():
            self.skipTest("as many GPUs as are asked for are emulated")
        self.make("p.h5", "--size", "64x40")
        self.assertEqual(self.taken(2, 4), [0, 1])
        self.assertEqual(self.taken(4, 2), [0, 0, 1, 1])
        self.assertEqual(self.taken(3, 1), [0, 0, 0])
        done = self.ranks(3, "p.h5", *GPU, "--no-output", "--steps", 2)
        self.assertIn("3 ranks of", done.stdout)
        self.assertIn("(GPUs 0,1,2)", " ".join(done.stdout.split()))

    def test_what_ranks_see(self):
        """A rank that sees one GPU takes it, as Slurm binds them; one that sees none leaves all of them on CPUs."""
        if not self.emulated():
            self.skipTest("as many GPUs as are asked for are emulated")
        self.make("p.h5", "--size", "64x40")
        rank = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
        for seen, code, words in (("1", 0, []), (f"$(( {rank} == 1 ? 0 : 2 ))", 69, ["rank 1: ", "--device gpu"])):
            with open(self.path("see.sh"), "w", encoding="utf-8") as file:
                file.write(f'#!/bin/bash\nexport STENCIL_EMULATED_GPUS={seen}\nexec "$@"\n')
            os.chmod(self.path("see.sh"), 0o755)
            done = self.ranks(2, "p.h5", *GPU, "--no-output", "--steps", 2, wrapper=self.path("see.sh"), code=code)
            for word in words:
                self.assertIn(word, done.stderr)
        done = self.ranks(2, "p.h5", "--no-output", "--steps", 2, wrapper=self.path("see.sh"))
        self.assertIn("using the CPU", done.stdout + done.stderr)

    def test_refused(self):
        self.make("p.h5", "--size", "950x16")
        for gpus, arguments, code, words in ((1, ("--sync", "neighbor"), 64, ["--sync neighbor", "one for each", "give --sync relaunch"]),
                                             (2, ("--sync", "graph"), 64, ["--sync graph", "give --sync relaunch"]),
                                             (2, ("--gpus", "2"), 64, ["--gpus", "leave it out"]),
                                             (1, ("--halo", "nccl"), 64, ["--halo nccl", "a GPU each"]),
                                             (2, ("--halo", "copy", "--sync", "relaunch"), 64, ["--halo copy"]),
                                             (2, ("--halo", "copy", "--sync", "neighbor"), 64, ["--halo copy"]),
                                             (1, ("--halo", "store"), 64, ["--halo store"]),
                                             (1, ("--sweep", "resident"), 69, ["--sweep resident", "give --sweep pipeline"]),
                                             (2, ("--overlap", "--sweep", "pipeline", "--depth", "2", "--cut", "2,1"), 64,
                                              ["--overlap", "--depth 1"])):
            self.hidden = {"STENCIL_EMULATED_GPUS": str(gpus)}
            if gpus > 1 or self.emulated():
                self.refused_ranks(code, words, 2, "p.h5", "--device", "gpu" if arguments[0] != "--gpus" else "auto",
                                   "--no-output", "--steps", 40, *arguments)


class Nccl(GpusTest):
    """Messages by NCCL, in the stream or in a graph."""

    def test_the_file_of_one_process(self):
        ways = (("heat", 2, 150, ("--sync", "graph", "--sweep", "stream", "--check-every", 140), 1),
                ("heat", 3, 40, ("--sync", "relaunch", "--sweep", "naive", "--overlap", "--cut", "1,3"), 1),
                ("poisson", 2, 64, ("--sync", "relaunch", "--sweep", "pipeline", "--depth", 4), 4),
                ("heat", 2, 210, ("--sync", "graph", "--sweep", "pipeline", "--depth", 3, "--cut", "2,1", "--check-every", 220), 3))
        for kind, ranks, steps, way, depth in sample(ways, 2):
            run = ("--steps", steps, *(("--accelerate", "chebyshev:16", "--rtol", "1e-2") if kind == "poisson" else ()))
            self.ok("new", "p.h5", *(POISSON if kind == "poisson" else HEAT), "--size", "1900x34" if depth > 1 else "190x40",
                    "--quiet", "--force")
            every = way[way.index("--check-every"):] if "--check-every" in way else ()
            one = self.call("p.h5", "--device", "cpu", "-q", "-o", "one.h5", "--force", *run, *every)
            done = self.ranks(ranks, "p.h5", *GPU, "--halo", "nccl", "-o", "many.h5", "-q", "--force", "--json", "r.json", *run, *way,
                              code=None)
            if done.returncode == 69 and not self.emulated():
                self.skipTest(done.lines[0])
            self.assertEqual(done.returncode, one.returncode, done.stderr)
            with open(self.path("r.json"), encoding="utf-8") as file:
                plan = json.load(file)["plan"]
            self.assertEqual((plan["ranks"], plan["halo"], plan["depth"]), (ranks, "nccl", depth), way)
            self.same("one.h5", "many.h5", way)


class Loops(GpusTest):
    """Persistent loops that go across ranks, whose GPUs reach each other's memory."""

    def setUp(self):
        super().setUp()
        self.ok("new", "p.h5", *HEAT, "--size", "133x61", "--quiet")
        if self.ranks(2, "p.h5", *GPU, "--no-output", "--steps", 2, "--sync", "multi-grid", code=None).returncode == 64:
            self.skipTest("no two GPUs that reach each other")

    def test_the_file_of_one_process(self):
        chebyshev = ("--accelerate", "chebyshev:16", "--rtol", "1e-2")
        loops = (("heat", 2, ("--sync", "grid", "--sweep", "stream", "--check-every", 10), "store", 1),
                 ("heat", 3, ("--sync", "neighbor", "--sweep", "stream", "--halo", "ll"), "ll", 1),
                 ("heat", 2, ("--sync", "neighbor", "--sweep", "naive", "--cut", "1,2"), "store", 1),
                 ("heat", 2, ("--sync", "multi-grid", "--sweep", "pipeline", "--depth", 4, "--check-every", 10), "store", 4),
                 ("heat", 2, ("--sync", "neighbor", "--sweep", "resident", "--depth", 3, "--check-every", 9), "store", 3),
                 ("poisson", 2, ("--sync", "multi-grid", "--sweep", "pipeline", "--depth", 4), "store", 4))
        for kind, ranks, loop, halo, depth in sample(loops, 4):
            run = ("--steps", 64, *(chebyshev if kind == "poisson" else ()))
            self.ok("new", "p.h5", *(POISSON if kind == "poisson" else HEAT), "--size",
                    "1900x34" if "pipeline" in loop else "133x61", "--quiet", "--force")
            every = loop[loop.index("--check-every"):] if "--check-every" in loop else ()
            one = self.call("p.h5", "--device", "cpu", "-q", "-o", "one.h5", "--force", *run, *every)
            report = self.report(ranks, "p.h5", *GPU, "-o", "many.h5", *run, *loop, code=one.returncode)
            plan = report["plan"]
            self.assertEqual((plan["ranks"], plan["halo"], plan["depth"]), (ranks, halo, depth), loop)
            self.assertEqual(len(plan["parts"]), ranks)
            self.same("one.h5", "many.h5", loop)

    def test_a_signal_to_any_rank(self):
        """A loop ends so often that all hear of it, and the result is that of the step where it ended."""
        process, ranks = self.begin(2, "p.h5", *GPU, "-q", "-o", "out.h5", "--steps", 10**9, "--check-every", 10**6, "--sync",
                                    "multi-grid", "--sweep", "stream", wait=3)
        os.kill(ranks[1], signal.SIGTERM)
        _, err = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)
        with h5py.File(self.path("out.h5")) as file:
            steps = int(file.attrs["steps_total"])
        self.ok("p.h5", "--device", "cpu", "-q", "-o", "one.h5", "--steps", steps, "--check-every", 10**6)
        self.assertEqual(self.result("one.h5")[0], self.result("out.h5")[0])

    def test_a_block_that_stops(self):
        """All ranks end, and one line names the block that waits."""
        if self.emulated() and DRAW != "all":
            self.skipTest("a second of an emulated GPU takes minutes")
        done = self.ranks(2, "p.h5", *GPU, "--no-output", "--steps", 40, "--sync", "multi-grid", "--sweep", "stream",
                          "--barrier-timeout", "1e-4", "--rank-timeout", "1", "--inject-absent", 20, code=70)
        self.assertEqual(len(done.lines), 1, done.stderr)
        self.assertRegex(done.lines[0], r"barrier multi-grid: in step 20 block \d+ of part \d waited")


if __name__ == "__main__":
    unittest.main()
