"""The parts that `stencil run --attribute` divides the time of steps into add up, for each sweep, size, problem and
strategy that there is; and a participant that is late is blamed for what others wait. With a GPU:

    STENCIL=build/static/app/stencil STENCIL_TEST_DRAW=all python3 tests/app/attribution_matrix_test.py -v

prints the parts of each combination in per cent of its step, without STENCIL_TEST_DRAW of a sample."""
import itertools
import json
import os
import unittest

from draw import drawn
from harness import SLOW, CommandTest

SIZES = {"512x512": 40000, "1024x1024": 20000, "4096x4096": 2000, "128x128x128": 10000}
PARTS = ("launch", "load", "compute", "latency", "imbalance", "halo", "checks", "store")
KEYS = {part: {"compute": "compute_mean_us"}.get(part, part + "_us") for part in PARTS}
LAUNCHES = {1: "graph", 2: "openmp"}  # a launch per pass, on one GPU and on two
USAGE, UNAVAILABLE = 64, 69
TRIES = 6  # other programs may have the machine, too
BUSY = 0.1  # processors that others may take in a try that is held against the program


class Others:
    """The share of a processor that other programs have taken within the block, from the kernel's count of all."""

    @staticmethod
    def spent():
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, *irq = map(int, file.readline().split()[1:9])
        times = os.times()
        return (user + nice + system + sum(irq)) / os.sysconf("SC_CLK_TCK") - sum(times[:4]), times.elapsed

    def __enter__(self):
        self.begin = self.spent()
        return self

    def __exit__(self, *_):
        spent, elapsed = (end - begin for end, begin in zip(self.spent(), self.begin))
        self.share = spent / max(elapsed, 1e-3)


class Matrix(CommandTest):
    def problem(self, kind, size):
        """A problem file of a kind, random heat or Poisson's equation as `stencil new` accelerates it."""
        name = f"{kind}-{size}.h5"
        if not os.path.exists(self.path(name)):
            shape = "j3d7pt" if size.count("x") == 2 else "j2d5pt"
            what = ("--initial", "random") if kind == "heat" else ("--problem", "poisson")
            self.ok("new", name, "--stencil", shape, "--size", size, *what, "--quiet")
        return name

    def attribute(self, name, *arguments, code=(0, 2)):
        """The attribution of a run and its report; None and the refusal where the run does not exist."""
        done = self.call(name, "--no-output", "--attribute", "--json", "r.json", "--force", *arguments)
        if done.returncode in (USAGE, UNAVAILABLE):
            return None, done.stderr.strip()
        self.assertIn(done.returncode, code, done.stderr)
        with open(self.path("r.json"), encoding="utf-8") as file:
            record = json.load(file)
        self.assertIn("attribution", record, record["notes"])
        return record["attribution"], " ".join(done.stdout.split())

    def give_up(self, what, tries, *arguments):
        """Fails where most tries had the processors to themselves; among others a CPU's times say nothing."""
        quiet = [number for number, share in tries if share < BUSY or "cpu" not in arguments]
        if 2 * len(quiet) < len(tries):
            self.skipTest(f"other programs take the processors: {[round(share, 1) for _, share in tries]} of them")
        self.fail(f"{what}: {quiet}")

    def adds_up(self, label, name, *arguments):
        """Prints the parts; they are all there is of the step that batches without notes take, within 5 %."""
        tries = []
        for _ in range(TRIES):
            with Others() as others:
                found, report = self.attribute(name, *arguments)
            if found is None:
                print(f"{label}: {report}")
                return
            inside = found["inside"]
            tries.append((inside["sum"], others.share))
            shares = ", ".join(f"{part} {100 * inside[KEYS[part]] / inside['step_us']:.1f}" for part in PARTS
                               if inside[KEYS[part]] > 0)
            print(f"{label}: {inside['step_us']:.3f} µs = {shares} %; sum {inside['sum']:.3f}, batch "
                  f"{inside['untraced_us']:.3f}, as the run {inside['batch_us']:.3f}, run {inside['run_us']:.3f}, "
                  f"of {found['pass_steps']} steps")
            self.assertAlmostEqual(sum(inside[KEYS[part]] for part in PARTS), inside["step_us"], delta=1e-6 * inside["step_us"])
            self.assertFalse({"rest", "other", "over"} & set(found["seconds"]))
            apart = inside["run_us"] / inside["batch_us"] - 1
            self.assertEqual(abs(apart) >= 0.1, "own steps took" in report, (apart, report))
            if abs(inside["sum"] - 1) <= 0.05:
                return
        self.give_up(f"{label}: the parts add up to these of a batch", tries, *arguments)

    def matrix(self, kinds, sizes, sweeps, strategies, *arguments, count):
        for kind, size, sweep, sync in drawn(count, itertools.product(kinds, sizes, sweeps, strategies)):
            with self.subTest(kind=kind, size=size, sweep=sweep, sync=sync):
                steps = ("--steps", sizes[size]) if kind == "heat" else ()
                self.adds_up(f"{kind} {size} {sweep} {sync}", self.problem(kind, size), "--sweep", sweep, "--sync",
                             sync, *steps, *arguments)

    def test_parts_add_up_on_a_cpu(self):
        for parts in ((), ("--parts", 2)):
            self.matrix(("heat", "poisson"), {"129x129": 3000, "257x257": 1000, "33x33x33": 1000}, ("stream", "pipeline"),
                        ("openmp" if parts else "relaunch", "grid", "neighbor"), "--device", "cpu", "--threads", 2, *parts,
                        count=2 if SLOW else 3)

    def test_parts_add_up_on_gpus(self):
        if self.gpu_count() == 0:
            self.skipTest("no GPU")
        for gpus in range(1, min(self.gpu_count(), 2) + 1):
            self.matrix(("heat", "poisson"), SIZES, ("stream", "pipeline", "resident"), (LAUNCHES[gpus], "grid", "neighbor"),
                        "--device", "gpu", "--gpus", gpus, count=24)

    def late(self, name, delay_us, participant, *arguments):
        """A late participant is blamed, and others wait as much longer, in the mean over all participants."""
        usual, refusal = self.attribute(name, *arguments)
        if usual is None:
            print(f"{arguments}: {refusal}")
            return
        tries = []
        for _ in range(TRIES):
            with Others() as others:
                found, _ = self.attribute(name, *arguments, "--inject-delay", round(1000 * delay_us), "--inject-late",
                                          participant)
            inside, count = found["inside"], found["inside"]["participants"]
            grown = (inside["imbalance_us"] - usual["inside"]["imbalance_us"]) / (delay_us * (count - 1) / count)
            tries.append((grown, others.share))
            parts = ", ".join(f"{part} {usual['inside'][KEYS[part]]:.2f} to {inside[KEYS[part]]:.2f}" for part in PARTS)
            print(f"{arguments}: {delay_us:.0f} µs late, µs of {parts}; imbalance grew by {grown:.2f} of it; blamed: "
                  f"{inside['blame'][:2]}")
            if abs(grown - 1) <= 0.2:
                self.assertEqual(inside["blame"][0]["number"], participant)
                return
        self.give_up(f"{arguments}: imbalance grew by these of the delay", tries, *arguments)

    def test_a_late_thread(self):
        for sync, parts in drawn(2, itertools.product(("grid", "neighbor", "central"), ((), ("--parts", 2)))):
            for participant in (0, 1):
                self.late(self.problem("heat", "65x65"), 10000, participant, "--steps", 20, "--device", "cpu", "--threads", 2,
                          "--sync", sync, *parts)

    def test_a_late_block(self):
        if self.gpu_count() == 0:
            self.skipTest("no GPU")
        for sweep, sync in itertools.product(("stream", "pipeline", "resident"), ("grid", "neighbor")):
            with self.subTest(sweep=sweep, sync=sync):
                delay_us = {"stream": 20, "pipeline": 200, "resident": 100}[sweep]  # several passes
                check_every = {"stream": 100, "pipeline": 1600, "resident": 800}[sweep]  # what waits in a check is a part of it
                self.late(self.problem("heat", "1024x1024"), delay_us, 5, "--steps", 20000, "--device", "gpu", "--gpus", 1,
                          "--sweep", sweep, "--sync", sync, "--check-every", check_every)


if __name__ == "__main__":
    unittest.main()
