"""`--sync auto`: what a run chooses, how it finds out, what it keeps, and that the result is the same."""
import itertools
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import time
import unittest

from draw import drawn
from harness import STENCIL, CommandTest, field

H200 = pathlib.Path(__file__).with_name("h200-x8.json")
HERE = ("--device", "cpu", "--threads", "2")


class AutoTest(CommandTest):
    def slow(self, **sync):
        """Makes this machine one that is said to take 5 ms for a step, or what is given for a strategy: short runs are
        long ones then, and plans are timed in their first steps."""
        self.ok("calibrate", *HERE, "--seconds", "0.01", "--noise", "1e9", "--quiet")
        (file,) = pathlib.Path(self.cache, "stencil").glob("calibration-cpu-*.json")
        cache = json.loads(file.read_text(encoding="utf-8"))
        for name, costs in cache["body"]["sync"].items():
            costs.update(dict.fromkeys(("few_s", "all_s", "two_s", "most_s"), sync.get(name.replace("-", "_"), 5e-3)))
        file.write_text(json.dumps(cache), encoding="utf-8")

    def auto(self, *arguments, name="p.h5", **keywords):
        """The report of a run, which has to be whole."""
        done = self.ok(name, *HERE, "--json", "-", "--force", "-o", "auto.h5", *arguments, **keywords)
        report = json.loads(done.stdout)
        chosen = [p for p in report["choice"]["plans"] if p["chosen"]]
        self.assertEqual(len(chosen), 1)
        self.assertEqual(chosen[0]["sync"], report["plan"]["strategy"])
        for plan in report["choice"]["plans"]:
            self.assertTrue(plan["chosen"] or plan["why"], plan)
        return report

    def narrow(self, text):
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def wisdom(self):
        return pathlib.Path(self.cache, "stencil", "wisdom.json")

    def edit_wisdom(self, **members):
        file = json.loads(self.wisdom().read_text(encoding="utf-8"))
        for entry in file["body"].values():
            entry.update(members)
        self.wisdom().write_text(json.dumps(file), encoding="utf-8")

    def test_same_bits(self):
        """Whatever was timed in it: 2D and 3D, sources, criteria, checks, parts."""
        self.slow()
        self.ok("new", "heat.h5", "--problem", "heat", "--size", "40x31x22", "--initial", "random", "--boundary",
                "periodic,fixed,mirror", "--steps", "1500", "--check-every", "7", "--quiet")
        self.ok("new", "poisson.h5", "--problem", "poisson", "--accelerate", "none", "--size", "49x33", "--steps", "5000", "--check-every", "3",
                "--rtol", "1e-3", "--precision", "float32", "--quiet")
        self.make("long.h5", "--boundary", "periodic", "--steps", 6000, "--check-every", 10**6)
        self.make("atol.h5", "--steps", 10**6, "--check-every", 2, "--atol", "1e-6")
        efforts = (["--effort", "patient"], ["--effort", "measure", "--parts", "3"],
                   ["--sync", "lock", "--effort", "exhaustive"], ["--effort", "estimate"])
        for name, options in drawn(7, itertools.product(("heat.h5", "poisson.h5", "long.h5", "atol.h5"), efforts)):
            plain = f"plain-{name}"
            if not os.path.exists(self.path(plain)):
                self.ok(name, *HERE, "--sync", "relaunch", "--sweep", "stream", "-o", plain)
            report = self.auto("--wisdom", "off", *options, name=name)
            timed = [p for p in report["choice"]["plans"] if p["measured_us"] is not None]
            self.assertEqual(report["choice"]["by"], "prediction" if "estimate" in options else "measurement",
                             (name, options))
            self.assertEqual(len(timed) > 1, "estimate" not in options)
            self.ok("compare", plain, "auto.h5")

    def test_interrupted_and_continued(self):
        self.slow()
        self.make("p.h5", "--size", "200x150", "--check-every", "5", "--force")
        process = subprocess.Popen([STENCIL, "p.h5", "--steps", "100000000", "--effort", "patient", "--wisdom", "off", *HERE],
                                   cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not process.stdout.readline().startswith(b"Chosen"):
            pass
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        steps = int(self.attribute("p.out.h5", "/", "steps_total")) + 4000
        self.auto("--steps", steps, "--effort", "patient", "--wisdom", "off", name="p.out.h5")
        self.ok("p.h5", "--steps", steps, *HERE, "--sync", "relaunch", "--effort", "estimate", "-o", "plain.h5")
        self.ok("compare", "plain.h5", "auto.h5")

    def test_goes_by_what_is_predicted(self):
        self.make()
        self.slow(neighbor=1e-4)
        report = self.auto("--steps", 5)
        self.assertEqual((report["plan"]["strategy"], report["choice"]["by"]), ("neighbor", "prediction"))
        self.assertTrue(report["choice"]["calibrated"])
        self.slow(relaunch=1e-4)
        self.assertEqual(self.auto("--steps", 5)["plan"]["strategy"], "relaunch")
        self.assertEqual(self.auto("--steps", 5, "--sync", "lock")["plan"]["strategy"], "lock")
        self.assertEqual(self.auto("--steps", 5, "--sync", "auto", "--sweep", "naive")["plan"]["sweep"], "naive")
        self.assertEqual(self.auto("--steps", 5, "--inject-delay", 10)["plan"]["strategy"], "grid")

    def test_notes_are_those_of_the_plan_that_wins(self):
        self.slow()
        self.make("p.h5", "--steps", 2000, "--check-every", 5)
        if self.gpu_count() > 0:
            self.skipTest("runs on a GPU, without a note of that")
        process = subprocess.Popen([STENCIL, "p.h5", "--steps", "100000000", "--effort", "patient", "--wisdom", "off",
                                    "--threads", "2"], cwd=self.directory, stdout=subprocess.PIPE, bufsize=0)
        while not process.stdout.readline().startswith(b"Chosen"):
            pass
        self.assertEqual(select.select([process.stdout], [], [], 0.3)[0], [])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=60)[0].count(b"no GPU"), 1)
        self.assertIn("no GPU", self.ok("p.h5", "--dry-run", "--no-output", "--threads", 2).stdout)

    def test_goes_by_what_is_measured(self):
        """Only what was said to be good is timed; who wins: tests/solver/tune_test.c."""
        self.slow(relaunch=1e-3, lock=1e-3, neighbor=1.1e-3)
        self.make("p.h5", "--steps", 20000, "--check-every", 20)
        report = self.auto()
        timed = {p["sync"] for p in report["choice"]["plans"] if p["measured_us"]}
        self.assertLessEqual(timed, {"relaunch", "lock", "neighbor"})
        self.assertIn(report["plan"]["strategy"], timed)

    def test_wisdom(self):
        self.slow()
        self.make("p.h5", "--steps", 2000, "--check-every", 5)
        self.assertEqual(self.auto()["choice"]["by"], "measurement")
        self.edit_wisdom(sync="cluster", step_us=3, spread_us=0.1)
        shown = self.ok("wisdom").stdout
        self.narrow(shown.split("\n\n")[1])
        self.assertRegex(" ".join(shown.split()), r"1 problem plan µs/step problem cluster, (stream|naive|pipeline), CPU 3 2 threads, .*: j2d5pt "
                         r"float64 19 fixed x 17 fixed, 2 arrays, cycle 1, check 5, device cpu, .* auto auto depth 0$")
        wise = self.auto()
        self.assertEqual((wise["choice"]["by"], wise["plan"]["strategy"]), ("wisdom", "cluster"))
        self.assertEqual(self.auto("--dry-run", "--effort", "estimate")["choice"]["by"], "wisdom")
        for options in (["--wisdom", "off"], ["--wisdom", "other.json"], ["--sweep", "stream"], ["--check-every", 6],
                        ["--parts", 2]):
            self.assertEqual(self.auto(*options)["choice"]["by"], "measurement", options)
        self.assertTrue(os.path.exists(self.path("other.json")))
        self.edit_wisdom(sync="cluster", spread_us=2)  # as uncertain as that is not known
        self.assertEqual(self.auto("--effort", "estimate")["choice"]["by"], "prediction")
        self.edit_wisdom(sync="cluster", spread_us=0.1, samples=2)  # what so few are worth neither
        self.assertEqual(self.auto("--effort", "estimate")["choice"]["by"], "prediction")
        self.edit_wisdom(sync="cluster", step_us=3, spread_us=0.1, samples=3)
        self.assertEqual(self.auto("--effort", "patient")["choice"]["by"], "measurement")

    def test_bad_wisdom(self):
        """Is ignored, with one line."""
        self.slow()
        self.make("p.h5", "--steps", 2000, "--check-every", 5)
        self.auto()
        self.edit_wisdom(build="another", spread_us=0)
        foreign = self.wisdom().read_text(encoding="utf-8")
        for text, wanted in ((foreign, "another driver or build"), (foreign[:-9], "no JSON"), ("{}", "something else")):
            self.wisdom().write_text(text, encoding="utf-8")
            notes = [note for note in self.auto("--effort", "estimate")["notes"] if "wisdom" in note]
            self.assertEqual(len(notes), 1, notes)
            self.assertIn(wanted, notes[0])
            self.auto()  # writes it anew
            self.edit_wisdom(spread_us=0)
            self.assertEqual(self.auto()["choice"]["by"], "wisdom")

    def test_no_place(self):
        self.slow()
        self.make("p.h5", "--steps", 2000, "--check-every", 5)
        for environment in ({"XDG_CACHE_HOME": "/dev/null/none"}, {"XDG_CACHE_HOME": "", "HOME": ""}):
            done = self.ok("p.h5", *HERE, "-fo", "a.h5", env={**os.environ, **environment})
            self.assertNotIn("wisdom", done.stdout)
            self.assertEqual(done.stderr, "")
        done = self.ok("p.h5", *HERE, "-fo", "a.h5", "--wisdom", "/dev/null/none")
        self.assertEqual(done.stdout.count("wisdom is not kept"), 1)

    def no_row_twice(self, explained):
        """Plans that differ in their strategy alone are one row."""
        table = explained.split("--sync\n")[1].split("Cannot run")[0]
        rows = re.sub(r"\n {20,}", " ", table).strip("\n").split("\n")
        said = [re.split(r"  +", re.sub(r" (?:[a-z-]+, )*[a-z-]+: ", "  ", row, count=1)) for row in rows]
        self.assertEqual(len({tuple(row) for row in said}), len(said), table)

    def test_explain(self):
        self.make("p.h5", "--steps", 2000, "--check-every", 5)
        there = ["--dry-run", "--no-output", "--machine", H200]
        for options in (HERE, [*HERE, "--dry-run", "--no-output"], there, [*there, "--gpus", 8],
                        [*there, "--gpus", "0,0", "--cut", "2,1"], [*HERE, "--parts", 2]):
            done = self.ok("p.h5", "--explain", "--force", *options)
            self.narrow(done.stdout.replace(str(H200), ""))
            rows = done.stdout.split("predicted measured")[1].splitlines()[1:]
            self.assertEqual(sum(row.endswith("chosen") for row in rows), 1, done.stdout)
            self.assertGreater(len(rows), 5)
            for row in rows:
                self.assertRegex(row, r" (chosen|\S.* slower|.*noise|.*not timed|\S.*)$")
            self.no_row_twice(done.stdout)
        text = " ".join(self.ok("p.h5", "--explain", "--force", *HERE).stdout.split())
        self.assertEqual(text.count("the caches of a CPU keep"), 1, text)
        self.assertIn("Cannot run resident on CPU, any strategy: it is for GPUs", text)
        text = " ".join(self.ok("p.h5", "--explain", "--force", *HERE, "--parts", 2).stdout.split())
        self.assertEqual(text.count("runs in one part"), 1, text)
        self.assertIn("any sweep on CPU, relaunch, stream-sync, device-sync, event-sync, graph, lock, lock-free, central, "
                      "cluster: runs in one part", text)
        self.assertIn("1 of 8 GPUs", " ".join(self.ok("p.h5", *there, "--gpus", 8).stdout.split()))
        self.assertEqual(self.ok("p.h5", "--explain", "-qf", *HERE).stdout, "")

    def test_calibrates_where_it_pays(self):
        """A run that is predicted to take minutes, once; never a short one, nor one with a strategy."""
        self.make("p.h5", "--size", "99x99", "--force")
        files = lambda: list(pathlib.Path(self.cache, "stencil").glob("calibration-cpu-*"))
        self.ok("p.h5", *HERE, "--steps", 2000, "--no-output")
        for options in (["--sync", "grid"], ["--effort", "estimate"], []):
            report = pathlib.Path(self.path("report"))
            with open(report, "wb") as out:
                process = subprocess.Popen([STENCIL, "p.h5", "--steps", str(10**12), "--no-output", *HERE, *options],
                                           cwd=self.directory, stdout=out, stderr=subprocess.DEVNULL)
            while "\nStrategy" not in report.read_text(encoding="utf-8"):
                time.sleep(0.05)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(), 130)
            printed = report.read_text(encoding="utf-8")
            if options:
                self.assertFalse(files())
                self.assertNotIn("calibration", printed)
            else:  # or others use this machine
                self.assertTrue(files() or "no calibration: this machine is too busy" in " ".join(printed.split()), printed)

    def test_check(self):
        """Random problems, on each of which all plans are timed, and auto's; the same ones for the same seed."""
        check = lambda *options: self.ok("calibrate", *HERE, "--seconds", "0.01", "--noise", "1e9", "--check", *options)
        machine = json.loads(check(3, "--json", "-").stdout)
        cases = machine["cases"]
        self.assertEqual(len(cases), 3)
        self.assertEqual([case["problem"].split()[1] for case in cases], ["float32", "float32", "float64"])
        self.assertEqual([case["problem"].count("x") for case in cases], [1, 2, 1])
        for case in cases:
            self.assertGreater(case["plans"], 3)
            self.assertGreaterEqual(case["auto_us_per_step"], case["best_us_per_step"])
            self.assertAlmostEqual(case["loss"], case["auto_us_per_step"] / case["best_us_per_step"] - 1)
            self.assertGreater(case["predicted_us_per_step"], 0)
            self.assertEqual(case["auto"] == case["best"], case["loss"] == 0)
        done = check(1)
        self.assertIn(cases[0]["problem"], done.stdout)
        self.assertIn("within 5 % of the fastest plan in ", done.stdout)
        self.narrow(done.stdout)
        self.assertNotIn(cases[0]["problem"], check(1, "--seed", 2).stdout)
        self.refused(64, ["--seed"], "calibrate", "--seed", 3)

    def test_check_interrupted(self):
        """What was found until then is written."""
        command = [STENCIL, "calibrate", *HERE, "--seconds", "0.01", "--noise", "1e9", "--check", "1000"]
        for seconds in (4, 30, 120):  # a busy machine, or a build with sanitizers, takes longer
            process = subprocess.Popen([*command, "--json", "cases.json"], cwd=self.directory, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, encoding="utf-8")
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, err)
            self.assertIn("interrupted", err)
            if os.path.exists(self.path("cases.json")):
                break
        with open(self.path("cases.json"), encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        self.assertGreater(len(cases), 0)
        self.assertIn(f" of {len(cases)} problems\n", out)
        for case in cases:
            self.assertGreater(case["best_us_per_step"], 0)

    def test_busy_machine(self):
        before = self.refused(69, ["too busy"], "calibrate", *HERE, "--seconds", "0.3", "--noise", "0")
        self.assertTrue(re.search(r"of \d+ times \d+ spread by more than 0 %", before))
        self.assertFalse(os.path.exists(os.path.join(self.cache, "stencil")))

    def test_refused(self):
        self.make()
        for arguments, wanted in ((["--sync", "nonsense"], "--sync"), (["--sweep", "none"], "--sweep"),
                                  (["--effort", "much"], "estimate, measure, patient"), (["--halo", "ll"], "--halo ll"),
                                  (["--gpus", "9999"], "--gpus"), (["--parts", "3", "--cut", "2,1"], "--cut")):
            done = self.call("p.h5", "--no-output", *arguments)
            self.assertIn(done.returncode, (64, 69), done.stderr)
            self.assertIn(wanted, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
