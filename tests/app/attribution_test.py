"""`stencil run --attribute` and `--trace` on real runs on this machine's CPU. Other programs may have the cores, too:
what is asserted of times holds whatever they do, or in one of a few attempts."""
import json
import pathlib
import signal
import subprocess
import time
import unittest

import numpy

from draw import drawn
from harness import SLOW, STENCIL, CommandTest

CPU = ("--device", "cpu", "--threads", 2, "--force")
ROWS = {"start", "search", "launch", "load", "compute", "latency", "imbalance", "halo", "checks", "store", "finish", "slower"}


class Attribution(CommandTest):
    def setUp(self):
        super().setUp()
        self.ok("new", "p.h5", "--stencil", "j2d5pt", "--size", "99x65", "--initial", "random", "--quiet")

    def attribute(self, *arguments, steps=300, run=None):
        """The JSON of a run, after what holds for each."""
        run = run or self.ok
        self.report = run("p.h5", "--steps", steps, "--attribute", "--json", "r.json", *CPU, *arguments).stdout
        with open(self.path("r.json")) as file:
            found = json.load(file)["attribution"]
        self.assertEqual(set(found["seconds"]), ROWS)
        self.assertEqual(found["seconds"]["search"] > 0, bool(arguments and arguments[0] == "--effort"))
        self.assertAlmostEqual(sum(found["seconds"].values()), found["wall_s"], delta=1e-9 * found["wall_s"])
        for row, seconds in found["seconds"].items():
            self.assertGreaterEqual(seconds, -1e-6, row)
        inside = found["inside"]
        parts = ("compute_mean_us", "latency_us", "imbalance_us", "halo_us", "checks_us", "launch_us", "load_us", "store_us")
        self.assertAlmostEqual(sum(inside[part] for part in parts), inside["step_us"], delta=1e-9 * inside["step_us"])
        self.assertEqual((inside["load_us"], inside["store_us"]), (0, 0))  # no CPU has its field on chip
        self.assertEqual(sum(inside["waits_by_power_of_2_ns"]), inside["samples"] * inside["participants"])
        self.assertGreater(inside["compute_mean_us"], 0)
        self.assertGreater(found["removal"]["total_us"], 0)
        model = found["model"]
        self.assertGreater(model["compute_us"], 0)
        self.assertAlmostEqual(model["share"], model["compute_us"] / (model["launch_us"] + model["compute_us"] + model["barrier_us"]))
        self.assertGreater(found["quicker"]["step_us"], 0)
        around = sum(found["seconds"][row] for row in ("start", "search", "finish"))
        self.assertAlmostEqual(found["steps_s"] + around, found["wall_s"], delta=1e-9 * found["wall_s"])
        self.assertGreaterEqual(inside["noting_us"], 0)
        if found["pass_steps"] == 1:
            self.assertAlmostEqual(sum(b["caused_us"] for b in inside["blame"]), inside["imbalance_us"],
                                   delta=1e-6 * inside["imbalance_us"] + 1e-6)
        return found

    def test_every_strategy_adds_up(self):
        for sync in drawn(2 if SLOW else 4, ("relaunch", "stream-sync", "graph", "grid", "lock", "lock-free", "central",
                                             "neighbor", "cluster", "multi-grid")):
            with self.subTest(sync=sync):
                shares = []
                while len(shares) < 5 and (not shares or min(shares) > 0.05):
                    found = self.attribute("--sync", sync)
                    shares.append(abs(found["inside"]["sum"] - 1))
                self.assertLess(min(shares), 0.05, f"apart: {shares}")
                self.assertGreater(found["inside"]["launch_us"], 0)

    def test_passes_have_one_model(self):
        """All views are of a pass where it has several steps, the predicted one, too: as long as that of the run's own plan."""
        for depth, every in ((16, 160), (16, 100), (64, 32)):
            found = self.attribute("--sync", "grid", "--sweep", "pipeline", "--depth", depth, "--check-every", every, steps=320)
            with open(self.path("r.json")) as file:
                report = json.load(file)
            plan, (chosen,) = report["plan"], [p for p in report["choice"]["plans"] if p["chosen"]]
            steps = min(depth, every)
            self.assertEqual((found["pass_steps"], plan["depth"]), (steps, steps))
            self.assertIn(f"pipeline makes {steps} steps at once", " ".join(self.report.split()))
            self.assertAlmostEqual(found["model"]["compute_us"], steps * chosen["predicted"]["compute_us"], delta=1e-3)
            self.assertAlmostEqual(found["model"]["barrier_us"], plan["pass_steps"] * chosen["predicted"]["barrier_us"], delta=1e-3)

    def test_parts_that_copy_have_a_halo_exchange(self):
        for sync in ("openmp", "single-thread"):
            found = self.attribute("--sync", sync, "--parts", 2, "--halo", "copy")
            self.assertGreater(found["inside"]["halo_us"], 0)
            self.assertGreater(self.attribute("--sync", sync, "--parts", 2, "--halo", "copy", "--overlap")["inside"]["halo_us"], 0)
            self.assertEqual(self.attribute("--sync", sync, "--parts", 2, "--halo", "store")["inside"]["halo_us"], 0)

    def test_a_late_thread_is_imbalance_and_is_blamed(self):
        """Late by so much that little else on this machine matters: half of the team waits for it."""
        delay_us = 20000
        cases = (("grid", 0), ("neighbor", 1), ("grid", 1), ("multi-grid", 0))
        for sync, late in drawn(1, cases):
            with self.subTest(sync=sync, late=late):
                found = self.attribute("--sync", sync, "--inject-delay", 1000 * delay_us, "--inject-late", late, steps=10)
                inside = found["inside"]
                self.assertGreater(inside["imbalance_us"], delay_us / 4)
                self.assertEqual((inside["blame"][0]["unit"], inside["blame"][0]["number"]), ("thread", late))
                self.assertGreater(inside["blame"][0]["caused_us"], 0.6 * inside["imbalance_us"])
                self.assertGreater(inside["blame"][0]["last_in_samples"], 0.6 * inside["samples"])
                self.assertGreater(inside["compute_us"], 0.9 * delay_us)
                # The delay comes with the compute, and is left out with it; t_O, which is taken off, is a measurement.
                self.assertGreater(found["removal"]["compute_us"], 0.9 * delay_us)
                self.assertLess(found["removal"]["barrier_us"], delay_us)

    def test_accelerated_problems_stay_finite(self):
        """Batches begin with a cycle of damping, never with one that another batch has left in the middle."""
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "65x65", "--quiet", "--force")
        for sync in ("grid", "relaunch", "neighbor", "grid", "graph", "grid"):
            with self.subTest(sync=sync):
                self.ok("p.h5", "--attribute", "--sync", sync, "--json", "r.json", *CPU)
                with open(self.path("r.json")) as file:
                    record = json.load(file)
                self.assertFalse([line for line in record["notes"] if "attribution" in line], record["notes"])
                self.assertGreater(record["attribution"]["inside"]["compute_mean_us"], 0)

    def test_short_runs_compute(self):
        """What batches of thousands of steps take without any work is no launch of a run of 300."""
        shares = []
        while len(shares) < 5 and (not shares or max(shares) < 0.5):
            found = self.attribute("--sync", "grid", "-j", 1)
            shares.append(found["seconds"]["compute"] / found["steps_s"])
        self.assertGreater(max(shares), 0.5)

    def test_a_race_has_a_row(self):
        """Steps of other plans are not charged to the one that has won."""
        self.ok("calibrate", "--device", "cpu", "--threads", 2, "--seconds", "0.01", "--noise", "1e9", "--quiet")
        (file,) = pathlib.Path(self.cache, "stencil").glob("calibration-cpu-*.json")
        cache = json.loads(file.read_text(encoding="utf-8"))
        for costs in cache["body"]["sync"].values():
            costs.update(dict.fromkeys(("few_s", "all_s", "two_s", "most_s"), 5e-3))
        file.write_text(json.dumps(cache), encoding="utf-8")
        for parts in ((), ("--parts", 2)):
            found = self.attribute("--effort", "patient", "--wisdom", "off", *parts, steps=30000)
            self.assertIn("finding the plan", self.report)
            self.assertLess(found["seconds"]["search"], found["wall_s"])

    def ok_halted(self, *arguments):
        """Like ok(), of a process that is made to stand still again and again."""
        process = subprocess.Popen([STENCIL, *map(str, arguments)], cwd=self.directory, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        while process.poll() is None:
            for signal_number, seconds in ((signal.SIGSTOP, 0.003), (signal.SIGCONT, 0.001)):
                process.send_signal(signal_number)
                time.sleep(seconds)
        out, errors = process.communicate()
        self.assertEqual(process.returncode, 0, errors)
        return subprocess.CompletedProcess(arguments, 0, out, errors)

    def test_what_does_not_add_up_is_told(self):
        """Where a process stands still between two steps that are noted, in about every second run, none explains it."""
        told = False
        for attempt in range(40):
            found = self.attribute("--sync", "central", run=self.ok_halted if attempt > 0 else None)
            apart = abs(found["inside"]["sum"] - 1)
            self.assertEqual("measured one by one" in " ".join(self.report.split()), apart > 0.05)
            told = told or apart > 0.05
            if told and attempt > 0:
                break
        self.assertTrue(told)

    def test_the_result_is_untouched(self):
        self.ok("p.h5", "--steps", 250, "--rtol", 1e-9, "-o", "plain.h5", *CPU, code=2)
        self.ok("p.h5", "--steps", 250, "--rtol", 1e-9, "-o", "told.h5", "--attribute", "--trace", "t.json", *CPU, code=2)
        for dataset in ("u", "residual", "residual_step"):
            numpy.testing.assert_array_equal(self.read("plain.h5", dataset), self.read("told.h5", dataset))

    def test_report_for_people(self):
        for sync in ("relaunch", "grid"):
            done = self.ok("p.h5", "--steps", 300, "--attribute", "--sync", sync, *CPU)
            for line in done.stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)
            self.assertIn("general figures", done.stdout)
            for label in ("Waiting", "Quicker", "where the time went", "barrier latency", "imbalance", "wall clock",
                          "removal", "inside", "model", "Waits", "Batches", "Noting"):
                self.assertRegex(done.stdout, f"(?m)^{label} ")

    def test_trace(self):
        for sync, phases in (("grid", {"compute", "wait", "residual, checks"}),
                             ("relaunch", {"launch", "compute", "wait", "residual, checks"})):
            self.ok("p.h5", "--steps", 300, "--trace", "t.json", "--sync", sync, *CPU)
            with open(self.path("t.json")) as file:
                events = json.load(file)["traceEvents"]
            self.assertEqual(sorted(e["args"]["name"] for e in events if e["name"] == "thread_name"), ["thread 0", "thread 1"])
            spans = [e for e in events if e["ph"] == "X"]
            self.assertEqual({e["name"] for e in spans}, phases)
            self.assertEqual(len({e["args"]["step"] for e in spans}), 200)
            for thread in range(2):
                own = [e for e in spans if e["tid"] == thread]
                for before, after in zip(own, own[1:]):
                    self.assertGreaterEqual(after["ts"], before["ts"] + before["dur"] - 0.002)

    def test_what_has_no_attribution(self):
        self.ok("p.h5", "--steps", 5, "-o", "done.h5", *CPU)
        self.assertIn("no step was made", self.ok("done.h5", "--steps", 5, "--attribute", *CPU).stdout)
        self.ok("new", "bad.h5", "--problem", "laplace", "--size", "33x33", "--initial", "random", "--quiet")
        done = self.ok("bad.h5", "--steps", 200, "--rtol", "none", "--omega", 2.5, "--attribute", *CPU)
        self.assertIn("does not stay finite", " ".join(done.stdout.split()))
        # The run's two steps are made, but none of the batches: they take nothing from its report.
        done = self.ok("p.h5", "--steps", 2, "--sync", "grid", "--inject-delay", 300_000_000,
                       "--barrier-timeout", "0.2", "--attribute", "--trace", "t.json", "--json", "r.json", *CPU)
        self.assertIn("no attribution", done.stdout)

    def test_what_nobody_reads_is_not_made(self):
        delay = ("--steps", 10, "--sync", "grid", "--inject-delay", 5_000_000, "--inject-late", 0)
        start = time.monotonic()
        self.ok("p.h5", "--attribute", "--quiet", *delay, *CPU)
        between = time.monotonic()
        self.ok("p.h5", "--attribute", "--quiet", "--json", "r.json", *delay, *CPU)
        self.assertLess(2 * (between - start), time.monotonic() - between)

    def test_refused(self):
        self.refused(64, ["--attribute", "--dry-run"], "p.h5", "--attribute", "--dry-run")
        self.refused(64, ["--trace -"], "p.h5", "--trace", "-")
        self.refused(64, ["--inject-late", "--inject-delay"], "p.h5", "--inject-late", 1)
        self.refused(64, ["--inject-late 2", "the last thread is 1"], "p.h5", "--no-output", "--inject-delay", 5, "--inject-late", 2, *CPU)


if __name__ == "__main__":
    unittest.main()
