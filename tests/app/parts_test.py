"""Runs in several parts, from end to end: the same bits, what --dry-run shows, and what is refused."""
import json
import unittest

from draw import drawn
from harness import CommandTest, fault

WAYS = [("grid",), ("multi-grid",), ("neighbor",), ("openmp",), ("openmp", "--halo", "copy"),
        ("openmp", "--overlap"), ("single-thread",), ("single-thread", "--halo", "copy", "--overlap")]


class Parts(CommandTest):
    def make(self, name="p.h5", *more):
        self.ok("new", name, "--problem", "poisson", "--accelerate", "none", "--size", "70x41", *more)

    def test_every_way_gives_the_same_file(self):
        self.make()
        self.ok("p.h5", "--steps", 60, "--rtol", "none", "--check-every", 7, "-o", "one.h5", "--device", "cpu")
        datasets = "u", "residual", "residual_step"
        wanted = [self.read("one.h5", dataset).tobytes() for dataset in datasets]
        for parts, (sync, *more) in drawn(8, [(parts, way) for parts in (2, 3, 7) for way in WAYS]):
            self.ok("p.h5", "--steps", 60, "--rtol", "none", "--check-every", 7, "-fo", "many.h5", "--sync", sync,
                    "--parts", parts, "--threads", 3, *more)
            found = [self.read("many.h5", dataset).tobytes() for dataset in datasets]
            self.assertEqual(found, wanted, (parts, sync, more))
        for dataset in datasets:
            self.ok("compare", "one.h5", "many.h5", "--dataset", dataset)
        self.ok("verify", "many.h5")

    def test_converges_in_the_same_step(self):
        self.make()
        steps = set()
        for more in (("--device", "cpu"), ("--parts", 5, "--sync", "neighbor"), ("--parts", 4)):
            self.ok("p.h5", "--tolerance", "1e-4", "--no-output", "--json", "r.json", "--force", *more)
            with open(self.path("r.json")) as file:
                steps.add(json.load(file)["result"]["steps"])
        self.assertEqual(len(steps), 1)

    def test_dry_run_shows_the_parts(self):
        self.ok("new", "p.h5", "--stencil", "j3d7pt", "--size", "22x34x34")
        text = self.ok("p.h5", "--parts", 4, "--sync", "grid", "--dry-run", "--json", "plan.json").stdout
        self.assertEqual(text.count(" of 4"), 4)
        self.assertIn("multi-grid", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        with open(self.path("plan.json")) as file:
            plan = json.load(file)["plan"]
        cells = sum(p["cells"][0] * p["cells"][1] * p["cells"][2] for p in plan["parts"])
        self.assertEqual((len(plan["parts"]), cells), (4, 20 * 32 * 32))
        self.assertEqual(plan["parts"][3]["first"], [16, 16, 0])  # two axes: half the bytes of slabs
        text = self.ok("p.h5", "--parts", 4, "--cut", "4,1,1", "--dry-run", "--json", "plan.json", "--force").stdout
        with open(self.path("plan.json")) as file:
            self.assertEqual([p["first"][0] for p in json.load(file)["plan"]["parts"]], [0, 8, 16, 24])

    def refused(self, code, words, *arguments):
        done = self.ok(*arguments, code=code)
        self.assertEqual((done.stderr.count("\n"), done.stdout), (1, ""), done)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_refusals(self):
        self.make()
        self.refused(64, ["central", "multi-grid", "openmp"], "p.h5", "--parts", 2, "--sync", "central")
        self.refused(64, ["relaunch"], "p.h5", "--parts", 2, "--sync", "relaunch")
        self.refused(64, ["--parts", "--gpus"], "p.h5", "--parts", 2, "--gpus", 2)
        self.refused(64, ["--parts", "--device gpu"], "p.h5", "--parts", 2, "--device", "gpu")
        self.refused(64, ["--parts"], "p.h5", "--parts", 17)
        self.refused(64, ["--cut", "4 parts", "2"], "p.h5", "--parts", 2, "--cut", "4,1")
        self.refused(64, ["--cut", "4,1"], "p.h5", "--parts", 2, "--cut", "2")
        self.refused(64, ["--cut", "'2,0'", "from 1 to"], "p.h5", "--parts", 2, "--cut", "2,0")
        self.refused(64, ["multiples of 64"], "p.h5", "--parts", 3, "--cut", "1,3")
        self.refused(64, ["--halo"], "p.h5", "--parts", 2, "--sync", "neighbor", "--halo", "copy")
        self.refused(64, ["--overlap", "--halo"], "p.h5", "--parts", 2, "--sync", "openmp", "--halo", "store", "--overlap")
        for old, now in (("peer", "store"), ("stamped", "ll")):
            self.refused(64, ["--halo", old, f"called '{now}'"], "p.h5", "--parts", 2, "--halo", old)
        self.refused(64, ["--inject-absent-part"], "p.h5", "--parts", 2, "--inject-absent-part", 1)
        self.ok("new", "thin.h5", "--stencil", "j2d49pt", "--size", "40x20")
        self.refused(64, ["j2d49pt", "3 cells"], "thin.h5", "--parts", 5)
        self.ok("thin.h5", "--parts", 4, "--steps", 3)
        self.ok("verify", "thin.out.h5")

    @fault("a part does not arrive at a barrier", "barrier, step and part", 70)
    def test_absent_part_ends_the_run(self):
        self.make()
        self.refused(64, ["--inject-absent-part 7", "4 parts"], "p.h5", "--parts", 4, "--sync", "neighbor", "-j", 4,
                     "--inject-absent", 5, "--inject-absent-part", 7)
        self.refused(64, ["--inject-absent 500", "20 steps"], "p.h5", "--parts", 4, "--sync", "neighbor", "-j", 4, "--steps", 20,
                     "--inject-absent", 500)
        done = self.ok("p.h5", "--parts", 4, "--sync", "neighbor", "-j", 4, "--inject-absent", 5, "--inject-absent-part",
                       3, "--barrier-timeout", "0.1", code=70)
        self.assertIn("waited for more than", done.stderr)

    def test_thin_parts_count_their_rims(self):
        self.ok("new", "p.h5", "--stencil", "j3d7pt", "--size", "100x100x18")
        needs = []
        for parts in (1, 16):
            self.ok("p.h5", "--parts", parts, "--cut", f"{parts},1,1", "--sweep", "stream", "--dry-run", "--json", "plan.json",
                    "--force")
            with open(self.path("plan.json")) as file:
                needs.append(json.load(file)["plan"]["memory_bytes"]["host_need"])
        self.assertGreater(needs[1], 2 * needs[0])  # a part of one plane has three

    @fault("a thread does not arrive at a barrier", "barrier and step", 70)
    def test_absent_thread_ends_the_run(self):
        self.make()
        for sync in ("multi-grid", "neighbor"):
            done = self.ok("p.h5", "--parts", 2, "--threads", 3, "--sync", sync, "--inject-absent", 5,
                           "--barrier-timeout", "0.1", code=70)
            self.assertIn(f"barrier {sync}: in step ", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
