"""`--scrub`: planted faults are found, and nothing else is; what the report says of it."""
import json
import random
import unittest

import h5py
import numpy

from harness import SLOW, CommandTest, fault

CPU = ("--device", "cpu", "--effort", "estimate", "--force")
ALWAYS = (*CPU, "--scrub", "100%")
RUNS = 5 if SLOW else 50


class ScrubTest(CommandTest):
    def new(self, name, *arguments, initial="random"):
        self.ok("new", name, "--initial", initial, "--force", "--quiet", *arguments)
        return name

    def scrubbed(self, name, *arguments):
        """What the report says of a run that scrubs as much as it can, and finds nothing."""
        told = json.loads(self.ok(name, *ALWAYS, "--no-output", "--json", "-", *arguments).stdout)
        self.assertGreater(told["scrub"]["tiles"], 0, (name, arguments))
        return told

    def test_nothing_is_found_where_there_is_nothing(self):
        """Boundaries, walls, classes, sources, points, precisions, dampings, sweeps, parts."""
        heat = ("--problem", "heat", "--size", "60x50")
        steps = ("--steps", 400)
        for boundary in ("fixed", "periodic", "mirror", "periodic,mirror", "x-=flux:1", "x=exchange:1:2,y+=mirror-node"):
            self.scrubbed(self.new("p.h5", *heat, "--boundary", boundary), *steps)
        for example in ("plate-with-hole", "heated-wall", "two-materials"):
            self.ok("new", "e.h5", "--example", example, "--force", "--quiet")
            self.scrubbed("e.h5", *steps, "--rtol", "none")
        self.new("s.h5", "--problem", "poisson", "--source", "manufactured", "--size", "60x50", initial="zero")
        self.scrubbed("s.h5", *steps, "--rtol", "none")
        self.scrubbed("s.h5", "--accelerate", "chebyshev")
        ways = (("--sweep", "pipeline"), ("--sync", "neighbor", "--sweep", "stream", "-j", 2),
                ("--sync", "openmp", "--parts", 2, "--halo", "copy", "--overlap", "-j", 2))
        for points, size in (("j2d49pt", "90x70"), ("j3d7pt", "30x20x25"), ("j3d27pt", "30x20x25")):
            for precision in ("float32", "float64"):
                self.new("w.h5", "--stencil", points, "--size", size, "--precision", precision)
                for way in ways:
                    self.scrubbed("w.h5", "--steps", 100, *way)

    def test_short_runs(self):
        """Of all of its time, a run of two steps has a tile; one that has none says so."""
        self.new("p.h5", "--problem", "heat", "--size", "60x50")
        for steps in (2, 3, 8, 21):
            self.scrubbed("p.h5", "--steps", steps)
        shown = self.ok("p.h5", *CPU, "--no-output", "--scrub", "on", "--steps", 4).stdout
        self.assertIn("nothing was compared: the run was too short for 0.5 % of its time;", shown)
        self.assertNotIn("without a difference", shown)
        shown = self.ok("p.h5", *ALWAYS, "--no-output", "--steps", 1).stdout
        self.assertRegex(shown, "nothing was compared: the run was too short\n")

    def test_cells_of_any_magnitude(self):
        """The run keeps such cells times a power of two."""
        for amplitude in ("1e-300", "1e300"):
            self.scrubbed(self.new("p.h5", "--stencil", "j2d5pt", "--size", "60x50", "--amplitude", amplitude), "--steps", 400)

    def test_overflowing_cells(self):
        """Where steps make NaN, any NaN will do."""
        with h5py.File(self.path("p.h5"), "w") as file:
            file["u"] = numpy.full((40, 50), 1e30)
            file["stencil/offsets"] = [[0, -1], [0, 0], [0, 1]]
            file["stencil/weights"] = [1e30, -2e30, 1e30]
        told = json.loads(self.ok("p.h5", *ALWAYS, "--no-output", "--json", "-", "--steps", 300, code=2).stdout)
        self.assertIn("scrub", told)

    def test_a_wrong_bit_in_memory_is_found(self):
        """In 50 of 50 runs that go on until it is, and in the cell in which it is, after a step from then on."""
        drawn = random.Random(50)
        for size, points in (((80, 96), "j2d5pt"), ((20, 24, 70), "j3d7pt")):
            self.new("p.h5", "--stencil", points, "--size", "x".join(map(str, size[::-1])))
            for _ in range(RUNS // 2):
                cell = [drawn.randrange(1, n - 1) for n in size]
                first = drawn.randrange(1, 300)
                done = self.ok("p.h5", *ALWAYS, "--no-output", "-q", "--steps", 1000000, "--inject-flip", first,
                               "--inject-flip-cell", ",".join(map(str, cell)), code=70)
                self.assertIn("the CPU made a wrong cell: u" + "".join(f"[{i}]" for i in cell), done.stderr)
                self.assertIn("a fault of the hardware", done.stderr)
                step = int(done.stderr.split("after step ")[1].split(",")[0])
                self.assertGreaterEqual(step, first)

    def test_without_scrubbing_it_is_not_found(self):
        self.new("p.h5", "--stencil", "j2d5pt", "--size", "96x80")
        self.ok("p.h5", *CPU, "--steps", 300, "--inject-flip", 100)
        wrong = self.read("p.out.h5").copy()
        self.ok("p.h5", *CPU, "--steps", 300)
        different = numpy.argwhere(wrong != self.read("p.out.h5"))
        self.assertEqual(different.tolist(), [[40, 48]])  # in one batch of all steps, after which it is wrong

    @fault("memory, or a processor, has a wrong bit (`--scrub`)",
           "cell, step, tile and GPU; the last checkpoint, and how it is checked", 70, "the checkpoints")
    def test_checkpoints_are_named(self):
        self.new("p.h5", "--stencil", "j2d5pt", "--size", "96x80")
        done = self.ok("p.h5", *ALWAYS, "--steps", 1000000, "--checkpoint-every", 100, "--inject-flip", 1000, "-q", code=70)
        self.assertIn("the last checkpoint, 'p.out.ckpt.h5', is of step ", done.stderr)
        self.assertIn("from 'p.out.ckpt.prev.h5' elsewhere", done.stderr)
        with h5py.File(self.path("p.out.ckpt.h5")) as file:
            self.assertIn(f"is of step {file.attrs['steps_total']:,}".replace(",", " "), done.stderr.replace("\u202f", " "))
        # the one before can be trusted: both ways lead to the same digest
        self.ok("p.h5", *CPU, "--steps", 500, "--checkpoint-every", 100, "--keep-checkpoints")
        self.ok("p.out.ckpt.prev.h5", *CPU, "--sweep", "naive", "--steps", 400, "-o", "again.h5")
        with h5py.File(self.path("again.h5")) as again, h5py.File(self.path("p.out.ckpt.h5")) as last:
            self.assertEqual(again.attrs["steps_total"], last.attrs["steps_total"])
            self.assertEqual(again.attrs["digest_u"], last.attrs["digest_u"])
        done = self.ok("p.h5", *ALWAYS, "--steps", 1000000, "--no-output", "--inject-flip", 1000, "-q", code=70)
        self.assertIn("there is no checkpoint of this run", done.stderr)

    def test_report(self):
        self.new("p.h5", "--stencil", "j2d5pt", "--size", "256x256")
        told = self.scrubbed("p.h5", "--steps", 2000)
        scrub, cells = told["scrub"], 254 * 254
        self.assertEqual(scrub["share"], 1)
        self.assertAlmostEqual(scrub["share_of_updates"], scrub["updates"] / (cells * 2000))
        self.assertLessEqual(scrub["last_step"], 2000)
        self.assertIn("Scrubbed", self.ok("p.h5", *ALWAYS, "--steps", 2000).stdout)
        for off in ((), ("--scrub", "off")):
            told = json.loads(self.ok("p.h5", *CPU, "--steps", 20, "--json", "-", *off).stdout)
            self.assertNotIn("scrub", told)

    def test_it_takes_no_more_than_its_share(self):
        self.new("p.h5", "--stencil", "j2d5pt", "--size", "512x512")
        told = json.loads(self.ok("p.h5", *CPU, "--no-output", "--json", "-", "--steps", 200 if SLOW else 4000, "--scrub", "on").stdout)
        scrub = told["scrub"]
        self.assertEqual(scrub["share"], 0.005)
        # a tile whose thread lost its processor to another program took longer than was expected
        self.assertLess(scrub["seconds"], 0.05 * told["result"]["wall_s"] if "wall_s" in told["result"] else 1)

    def test_all_of_its_share_is_no_more_than_the_steps_take(self):
        """In a run of many tiles; each step's time is that of steps which no tile disturbs."""
        self.new("p.h5", "--stencil", "j2d5pt", "--size", "256x256")
        for share in (1, 0.5):
            told = json.loads(self.ok("p.h5", *CPU, "--no-output", "--json", "-", "--steps", 1000 if SLOW else 10000,
                                      "--scrub", f"{100 * share:g}%").stdout)
            scrub, all_s = told["scrub"], told["times_s"]["compute"]
            allowed = share * (all_s - scrub["seconds"]) + 3 * scrub["seconds"] / scrub["tiles"] + 0.02
            self.assertLess(scrub["seconds"], allowed, scrub)
            self.assertAlmostEqual(scrub["share_of_steps"], scrub["seconds"] / (all_s - scrub["seconds"]))

    def test_values(self):
        self.new("p.h5", "--stencil", "j2d5pt", "--size", "19x17")
        for value in ("0%", "1", "101%", "x%", "-1%", "1%%", "nan%"):
            self.refused(64, ["--scrub", "1%"], "p.h5", "--scrub", value)
        self.refused(64, ["--inject-flip-cell", "no cell 99"], "p.h5", *CPU, "--inject-flip", 1, "--inject-flip-cell", "3,99")
        self.refused(64, ["--inject-flip-cell", "2 axes"], "p.h5", *CPU, "--inject-flip", 1, "--inject-flip-cell", "3")


if __name__ == "__main__":
    unittest.main()
