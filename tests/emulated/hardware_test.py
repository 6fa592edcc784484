"""Faults of the hardware that are planted in the emulated GPU are found: wrong bits in copies between GPUs, by the probe
and by `--scrub`, in memory and on chip. And checks of tiles on chip, which wait for each other alone, are right in
whatever order the blocks and warps of one GPU or of several go on."""
import json
import os
import pathlib
import random
import sys
import unittest

import h5py
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "app"))
from harness import CommandTest

ALWAYS = ("--effort", "estimate", "--no-output", "--scrub", "100%")
COPIES = ("--gpus", 2, "--sync", "openmp", "--halo", "copy", "--sweep", "naive")
RUNS = int(os.environ.get("STENCIL_RUNS", 50 if os.environ.get("STENCIL_TEST_DRAW") == "all" else 10))


class HardwareTest(CommandTest):
    def setUp(self):
        super().setUp()
        for name, points, size in (("p2.h5", "j2d5pt", "96x48"), ("p3.h5", "j3d7pt", "24x16x20"),
                                   ("r2.h5", "j2d5pt", "96x96"), ("r3.h5", "j3d7pt", "66x18x18")):
            self.ok("new", name, "--stencil", points, "--size", size, "--initial", "random", "--precision",
                    "float64" if name == "p2.h5" else "float32", "--quiet")

    def run_with(self, fault, *arguments, seed=1, code=0, **more):
        return self.ok(*arguments, code=code, env={**os.environ, "STENCIL_EMULATED_SEED": str(seed), **fault}, **more)

    def found(self, fault, name, *arguments, where="GPU", runs=RUNS):
        """In all runs that go on until it is."""
        for seed in range(1, runs + 1):
            done = self.run_with(fault, name, *ALWAYS, "-q", "--steps", 1000000, *arguments, seed=seed, code=70)
            self.assertIn(f"{where} ", done.stderr)
            self.assertIn("made a wrong cell: u[", done.stderr)
            self.assertIn("a fault of the hardware", done.stderr)

    def test_peers_that_lose_data_are_not_believed(self):
        lost = {"STENCIL_EMULATED_PEER_FAULT": "1"}
        words = "GPUs 0 and 1 lose data that they send each other"
        self.run_with({}, "p2.h5", "-f", "--gpus", 1, "--steps", 20, "-o", "one.h5")
        wanted = self.read("one.h5").tobytes()
        for seed in range(1, RUNS + 1):
            done = self.run_with(lost, "p2.h5", "-f", *COPIES[:4], "--effort", "estimate", "--steps", 20, "-o", "two.h5",
                                 "--json", "r.json", seed=seed)
            self.assertIn(f"{words}: halos go through the host", " ".join(done.stdout.split()))
            self.assertEqual(self.read("two.h5").tobytes(), wanted)
        for sync in ("neighbor", "grid"):
            done = self.run_with(lost, "p2.h5", "-f", "--gpus", 2, "--sync", sync, "--steps", 20, code=69)
            self.assertIn(words, done.stderr)
            self.assertIn(f"--sync {'multi-grid' if sync == 'grid' else sync} needs that", done.stderr)
        self.run_with(lost, "p2.h5", "-f", "--gpus", 2, "--steps", 20, "-o", "auto.h5")  # goes some other way
        self.assertEqual(self.read("auto.h5").tobytes(), wanted)

    def test_peers_that_are_sound_are_believed(self):
        done = self.run_with({}, "p2.h5", "-f", *COPIES, "--steps", 20)
        self.assertNotIn("lose data", done.stderr + done.stdout)

    def test_a_copy_that_fails_later_is_found(self):
        """The probe was passed. Which of two GPUs a copy fails for is not told apart."""
        self.found({"STENCIL_EMULATED_PEER_FAULT": "20"}, "p2.h5", *COPIES)

    def test_a_wrong_bit_in_memory_is_found(self):
        drawn = random.Random(50)
        for _ in range(RUNS):
            cell = [drawn.choice((*range(1, 18), *range(30, 47))), drawn.randrange(1, 95)]  # no ghost cell of the other GPU
            gpus = ("--gpus", 2, "--sync", "single-thread", "--sweep", "stream")
            self.found({}, "p2.h5", *gpus, "--inject-flip", 10, "--inject-flip-cell", ",".join(map(str, cell)),
                       where=f"GPU {cell[0] // 24}", runs=1)

    def test_a_wrong_bit_on_chip_is_found(self):
        worn, resident = {"STENCIL_EMULATED_CHIP_FAULT": "10"}, ("--gpus", 1, "--sync", "grid", "--sweep", "resident")
        self.found(worn, "r2.h5", *resident, where="GPU 0")
        self.found(worn, "r3.h5", *resident, where="GPU 0", runs=max(RUNS // 10, 1))
        self.found(worn, "p3.h5", "--gpus", 1, "--sweep", "pipeline", where="GPU 0", runs=max(RUNS // 10, 1))

    def test_checks_of_tiles_that_wait_for_neighbours(self):
        """A part that has decided a check goes on to the next one while another part still reads its partial sums; and
        where check-every is 8 to 10 passes, a pass without a stage of the check comes before one that must end it."""
        self.ok("new", "c.h5", "--stencil", "j2d5pt", "--size", "96x80", "--initial", "random", "--quiet")
        resident = ("c.h5", "-f", "-q", "--sync", "neighbor", "--sweep", "resident", "--wisdom", "off", "-o", "c.out.h5")
        for steps, ways in ((100, (("--check-every", 7, "--gpus", "0,0"), ("--check-every", 7, "--gpus", "0,1"),
                                   ("--check-every", 8, "--gpus", "0,1", "--norm", "max"))),
                            (140, (("--check-every", 60, "--depth", 7, "--gpus", 1),))):
            for seed in range(1, RUNS // 3 + 2):
                for way in ways:
                    with self.subTest(seed=seed, way=way):
                        self.run_with({}, *resident, "--steps", steps, *way, seed=seed)
                        self.ok("verify", "c.out.h5", "-q")
        self.run_with({}, *resident, "--check-every", 7, "--rtol", 0.0073, "--gpus", "0,0")
        self.assertEqual(self.attribute("c.out.h5", "/", "steps_total"), 21)

    def test_nothing_is_found_where_there_is_nothing(self):
        for name in ("p2.h5", "p3.h5"):
            for way in (COPIES, ("--gpus", 2, "--sync", "neighbor", "--sweep", "stream"), ("--gpus", 1, "--sweep", "pipeline")):
                told = json.loads(self.run_with({}, name, *ALWAYS, "--steps", 40, "--json", "-", *way).stdout)
                self.assertGreater(told["scrub"]["tiles"], 0)


class Orders(CommandTest):
    """What a batch of steps reads is on the device before its kernels, in whatever order copies and blocks come."""

    def test_factors_of_steps(self):
        numbers = numpy.random.default_rng(7)
        u = numbers.random((96, 128))
        with h5py.File(self.path("w.h5"), "w") as file:
            file["u"], file["q"], file["q_factor"] = u, numbers.standard_normal(u.shape), [[0, 1], [9, 1.5]]
            file.attrs.update(problem="heat", dt=0.1, steps=4)
        self.ok("w.h5", "-q", "--device", "cpu", "-o", "cpu.h5")
        for seed in range(1, RUNS + 1):
            self.ok("w.h5", "-q", "--force", "--device", "gpu", "--gpus", "0,0,0", "--sync", "multi-grid", "--sweep", "stream",
                    "-o", "gpu.h5", env={**os.environ, "STENCIL_EMULATED_SEED": str(seed)})
            self.ok("compare", "cpu.h5", "gpu.h5")


if __name__ == "__main__":
    unittest.main()
