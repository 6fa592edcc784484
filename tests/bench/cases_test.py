"""`stencil bench` of the applications of the study: which there are, what they report, how they fail."""
import csv
import json
import os
import pathlib
import re
import statistics
import unittest

from bench_test import BARRIERS, CPU, HAVE_MATPLOTLIB, Commands, call, plot_module
from draw import drawn

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Name, and whether blocks depend on those beside them only.
CASES = dict(re.findall(r'^STENCIL_CASE\(\w+, "([\w-]+)", (\w+), ',
                        (ROOT / "bench/cases/cases.def").read_text(encoding="utf-8"), re.MULTILINE))
KEEPING = {body.replace("_", "-") for path in ROOT.glob("bench/cases/*.c")
           for body in re.findall(r"^STENCIL_CASE_BODY\((\w+),[^;]*\.keeps = true", path.read_text(encoding="utf-8"), re.MULTILINE)}
# They are among the cases, and no barrier of one grid orders them: on GPUs only, in two streams, over several parts.
ON_GPUS = ["warp-reduction", "shared-reduction"]
IN_STREAMS = ["quadratic"]
IN_PARTS = {"multi-reduction": ["host, transfers", "host, tree", "multi-grid", "neighbor, tree"],
            "multi-normalise": ["atomic, system", "maxima on the host", "maximum per block", "three passes", "one pass, cached"]}
APART = [*ON_GPUS, *IN_STREAMS, *IN_PARTS]
SMALL = [*CPU, "--samples", "3", "--iterations", "2", "--sizes", "512,1024"]


class CasesTest(Commands):
    def test_list(self):
        names = [line.split()[0] for line in self.ok("cases", "--list").splitlines() if not line.startswith(" ")]
        self.assertEqual(names, [*APART, *CASES])
        # In columns, whatever their names are.
        starts = {re.search(r"^\S* +|^ +", line).end() for line in self.ok("--list").splitlines()}
        self.assertEqual(len(starts), 1, starts)
        self.assertRegex(self.ok("--list", "fft", "copy"), r"^fft .*(\n .*)*\ncopy ")

    def test_every_case_under_every_barrier(self):
        text = self.ok("cases", *SMALL, "--repeats", "30", "--json", self.path("out.json"))
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        results = json.loads(self.read("out.json"))["results"]
        self.assertEqual([result["benchmark"] for result in results], [*APART, *CASES])
        self.assertEqual(self.ok("cases", "--from", self.path("out.json")), self.ok("--from", self.path("out.json")))
        for result in results[:len(ON_GPUS)]:
            self.assertEqual(result["skipped"], "does not apply to a CPU")
        for result in results[len(ON_GPUS):len(APART)]:
            self.assertIsNone(result["failed"])
            if result["benchmark"] in IN_PARTS:
                self.check_parts(result)
            else:
                self.assertEqual([(row["name"], len(row["samples"]), row["unit"]) for row in result["rows"]],
                                 [(name, 3, "s/round") for name in ("fork and join", "omp barrier", "event, threads wait")])
        results = results[len(APART):]
        for result in results:
            self.assertIsNone(result["failed"])
            self.assertEqual([(row["name"], row["axes"]["elements"]) for row in result["rows"]],
                             [(name, n) for n in (512, 1024)
                              for name in ["implicit", *BARRIERS, *["alone"] * (result["benchmark"] == "reduction")]])
            for row in result["rows"]:
                alone = row["name"] == "neighbor" and CASES[result["benchmark"]] == "ALL"
                launched = row["name"] == "implicit" and result["benchmark"] in KEEPING
                self.assertEqual(row["skipped"], "a block's partners change from phase to phase" if alone else
                                 "nothing stays on chip from launch to launch" if launched else None)
                if alone or launched:
                    continue
                self.assertEqual((len(row["samples"]), row["iterations"], row["unit"]), (3, 2, "s/run"))
                self.assertGreater(row["speedup"], 0)
                if result["benchmark"] == "reduction":  # of one phase, at these sizes
                    self.assertIsNone(row["sync_measured"])
                else:
                    self.assertTrue(0 <= row["sync_measured"] <= 1)
                self.assertIn(row["workers"], (1, 2) if row["name"] != "alone" else (1,))
                self.check_split(row, result["benchmark"] == "mean", 30)
                self.check_gains(row, result["rows"])
                beside = [other for other in result["rows"] if other["axes"] == row["axes"] and other["samples"]]
                fastest = min(other["statistics"]["median"] for other in beside)
                self.assertAlmostEqual(row["of_fastest"], row["statistics"]["median"] / fastest)
        self.assertEqual(self.ok("--from", self.path("out.json")), text)
        # All rows of a size are compared with one time of the plain version.
        rows = [row for row in results[0]["rows"] if row["axes"]["elements"] == 512]
        plain = [row["speedup"] * statistics.median(row["samples"]) for row in rows]
        for each in plain:
            self.assertAlmostEqual(each / plain[0], 1)

    def check_parts(self, result):
        """Rows of a case over several parts: every order at every size and number of threads, beside the fastest there."""
        self.assertEqual([(row["name"], row["axes"]) for row in result["rows"]],
                         [(name, {"elements": n, "threads": threads}) for n in (512, 1024) for threads in (1, 2)
                          for name in IN_PARTS[result["benchmark"]]])
        for row in result["rows"]:
            self.assertEqual((len(row["samples"]), row["iterations"], row["unit"]), (3, 2, "s/run"))
            self.assertGreater(row["speedup"], 0)
            fastest = min(other["statistics"]["median"] for other in result["rows"] if other["axes"] == row["axes"])
            self.assertAlmostEqual(row["of_fastest"], row["statistics"]["median"] / fastest)
            for of_kernels in ("kernels_s", "skew_s", "timer_error_s"):  # by the timers of GPUs
                self.assertIsNone(row[of_kernels])

    def check_gains(self, row, rows):
        """Amdahl's law: what quicker barriers and quicker computing gain at most, and have gained beside implicit."""
        sync, from_row = row["sync_measured"], next(other for other in rows if other["axes"] == row["axes"])
        for name, part in (("most_by_sync", 1 - sync if sync is not None else 0), ("most_by_computing", sync or 0)):
            if part > 0:
                self.assertAlmostEqual(row[name] * part, 1)
            else:
                self.assertIsNone(row[name])
        if None in (row["by_sync"], row["by_computing"]):
            return
        self.assertEqual(from_row["name"], "implicit")
        self.assertAlmostEqual(row["over_implicit"], from_row["statistics"]["median"] / row["statistics"]["median"])
        self.assertAlmostEqual(1 / row["by_sync"] + 1 / row["by_computing"] - 1, 1 / row["over_implicit"])
        self.assertAlmostEqual(row["by_sync"] * (1 + from_row["sync_measured"] * (1 / row["sync_times"] - 1)), 1)

    def test_gains_of_a_record(self):
        """Records from before there were gains have them, too: they follow from the parts of synchronisation."""
        record = str(ROOT / "bench/records/cases-h200.json")
        lines = list(csv.DictReader(self.ok("bitonic", "--from", record, "--csv", "-").splitlines()))
        numbers = [{name: float(line[name]) if line[name] else None for name in
                    ("sync_measured", "most_by_sync", "most_by_computing", "sync_times", "by_sync", "by_computing",
                     "over_implicit")} for line in lines]
        rows = [dict(row, name=line["name"], axes=line["elements"], statistics={"median": float(line["median"])})
                for line, row in zip(lines, numbers) if row["sync_measured"] is not None]
        self.assertGreater(len(rows), 8)
        for row in rows:
            self.check_gains(row, rows)
        self.assertEqual(sum(row["by_sync"] is None for row in rows), sum(row["name"] == "implicit" for row in rows))
        shown = self.ok("bitonic", "--from", record)
        self.assertRegex(shown, r"elements 65536, gains by Amdahl's law \(001\), beside implicit\n(.*\n)+? *implicit +80% ")
        self.assertLessEqual(max(map(len, shown.splitlines())), 80)
        self.assertNotIn("Amdahl", self.ok("multi-reduction", "--from", str(ROOT / "bench/records/cases-h200-x4.json")))

    def check_split(self, row, is_split, phases):
        """T = t_O + t_C + (M - 1) (t_C + t_S), where it is stated."""
        parts = [row[name] for name in ("t_o", "t_c", "t_s")]
        if not is_split:
            self.assertEqual(parts, [None] * 3)
            return
        launch, computing, waiting = parts
        self.assertAlmostEqual(launch + computing + (phases - 1) * (computing + waiting), row["statistics"]["median"], 12)
        self.assertAlmostEqual(row["sync_measured"] * (computing + waiting), waiting, 12)

    OVER_THREADS = [*CPU, "--samples", "3", "--iterations", "1", "--blocks", "1,2"]

    def test_numbers_of_threads(self):
        """Phases shared among 1 and 2 threads: rows, workers, times of synchronisation, and their tables."""
        names = ["fft", "smith-waterman", "bitonic"]
        shown = self.ok(*names, *self.OVER_THREADS, "--sizes", "256", "--json", self.path("out.json"))
        self.assertLessEqual(max(map(len, shown.splitlines())), 80)
        results = json.loads(self.read("out.json"))["results"]
        self.assertEqual([result["benchmark"] for result in results], names)
        for result in results:
            self.assertEqual([(row["name"], row["axes"]) for row in result["rows"]],
                             [(name, {"elements": 256, "threads": threads}) for threads in (1, 2) for name in ["implicit", *BARRIERS]])
            for row in result["rows"]:
                if row["skipped"]:
                    self.assertIsNone(row["sync_s"])
                    continue
                self.assertEqual(row["workers"], row["axes"]["threads"])
                fastest = min(other["statistics"]["median"] for other in result["rows"]
                              if other["axes"] == row["axes"] and other["samples"])
                self.assertAlmostEqual(row["of_fastest"], row["statistics"]["median"] / fastest)
                if row["sync_measured"] is not None:  # of several phases
                    self.assertAlmostEqual(row["sync_s"] / row["statistics"]["median"], row["sync_measured"])
                    self.assertAlmostEqual((row["sync_s"] + row["computing_s"]) / row["statistics"]["median"], 1)
                    self.check_gains(row, [other for other in result["rows"] if other["axes"] == row["axes"]])
        for table in (r"elements 256, threads 2, \ws/run", r"elements 256, \ws/run: names down, threads across",
                      r"elements 256, synchronisation, \ws/run: names down, threads across\n +1 +2\nimplicit +\d"):
            self.assertRegex(shown, table)
        self.assertNotIn("Amdahl's law (001), beside", shown)
        self.assertEqual(self.ok("--from", self.path("out.json")), shown)

    def test_numbers_of_threads_that_cannot_be(self):
        done = call("fft", *CPU, "--sizes", "64,128", "--blocks", "2,3")
        self.assertEqual((done.returncode, done.stderr),
                         (64, "stencil: --blocks: 3 of fft are not resident at once, 2 are\n"), done)
        self.assertNotIn("implicit", done.stdout)
        self.refused(64, "--blocks has no effect on mean", "mean", *CPU, "--blocks", "2")
        self.refused(64, "--blocks: '2,1..4' has 2 twice", "fft", *CPU, "--blocks", "2,1..4")
        self.refused(64, "--blocks: '0': blocks are 1", "fft", *CPU, "--blocks", "0")
        mean, = [result for result in json.loads(self.ok("mean", "fft", *self.OVER_THREADS, "--sizes", "256", "--json", "-"))["results"]
                 if result["benchmark"] == "mean"]
        self.assertEqual({tuple(row["axes"]) for row in mean["rows"]}, {("elements",)})

    @unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib here (Debian: python3-matplotlib)")
    def test_plots_of_synchronisation(self):
        """Over threads a panel of its own; the parts of every order add up to all of a phase."""
        self.ok("bitonic", *self.OVER_THREADS, "--sizes", "256", "--json", self.path("out.json"), "--quiet")
        result, = json.loads(self.read("out.json"))["results"]
        plot, figures = plot_module(), []
        plot.save = lambda figure, path, force: figures.append(figure)
        plot.draw(result, "lines", "", False)
        plot.draw_shares(result, "", False)
        lines, shares = figures
        panel, = [ax for ax in lines.axes if ax.get_title() == "synchronisation"]
        split = [row for row in result["rows"] if row["sync_s"]]
        self.assertEqual({text.get_text() for text in panel.get_legend().get_texts()}, {row["name"] for row in split})
        self.assertEqual([ax.get_title() for ax in shares.axes], ["256 elements, 1 threads"[:-1], "256 elements, 2 threads"])
        for ax, threads in zip(shares.axes, (1, 2)):
            here = [row for row in split if row["axes"]["threads"] == threads]
            self.assertEqual([text.get_text() for text in ax.get_yticklabels()], [row["name"] for row in here])
            for i, row in enumerate(here):
                computing, sync = ax.patches[i], ax.patches[len(here) + i]
                self.assertAlmostEqual(sync.get_width(), 100 * row["sync_measured"])
                self.assertAlmostEqual(computing.get_width(), sync.get_x())
                self.assertAlmostEqual(computing.get_width() + sync.get_width(), 100)

    def test_switch_points(self):
        text = self.ok("reduction", *CPU, "--samples", "3", "--iterations", "1", "--sizes", "1000,100000", "--json",
                       self.path("out.json"))
        result, = json.loads(self.read("out.json"))["results"]
        notes = [note for note in result["notes"] if note.startswith("Fastest: `")]
        self.assertEqual(len(notes), 1)
        self.assertIn(" ".join(notes[0].split()[:2]), text)
        self.assertIn("alone", [row["name"] for row in result["rows"]])
        self.assertNotIn("Fastest", self.ok("mean", *SMALL, "--repeats", "5"))

    def test_absent_thread_ends_with_exit_code_70(self):
        for name in drawn(2, CASES):
            done = call(name, *CPU, "--sizes", "8192", "--inject-fault")
            self.assertEqual(done.returncode, 70, done)
            self.assertRegex(done.stderr, rf"^stencil: {name} of 8192 elements, barrier {BARRIERS[0]}: thread \d+ waited for "
                             r"more than 0.5 s in vain\n$")
            self.assertIn("FAILED", done.stdout)
            self.assertNotIn("Verified", done.stdout)
            rows = re.findall(r"^ *(\S.*?) {2,}.*?(finds the planted fault|skipped)", done.stdout, re.MULTILINE)
            self.assertEqual([row[0].split()[0] for row in rows], BARRIERS)
            self.assertEqual([row[1] for row in rows].count("skipped"), CASES[name] == "ALL")
        for name in IN_PARTS:
            done = call(name, *CPU, "--sizes", "8192", "--inject-fault")
            self.assertEqual(done.returncode, 70, done)
            self.assertNotIn("Verified", done.stdout)
            self.assertRegex(done.stderr, rf"^stencil: {name} of 8192 elements, (multi-grid|one pass, cached): thread \d+ waited for more than "
                             r"0.5 s in vain\n$")

    @unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib here (Debian: python3-matplotlib)")
    def test_plots(self):
        """Of the figures in the records: lines over sizes, also of cases over several parts that were run on one."""
        self.ok("cases", "--from", str(ROOT / "bench/records/cases-h200.json"), "--plot", self.path("plots"), "--quiet")
        lines = {f"{name}-lines.png" for name in [*CASES, *IN_PARTS]}
        self.assertLessEqual(lines | {"quadratic-box.png", "warp-reduction-box.png", "fft-shares.png", "bitonic-shares.png"}, set(os.listdir(self.path("plots"))))

    def test_refusals(self):
        self.refused(64, "did you mean 'bitonic'", "bitonc")
        self.refused(64, "did you mean 'cases'", "case")
        self.refused(64, "--repeats has no effect on fft", "fft", *CPU, "--repeats", "3")
        self.refused(64, "--sweep has no effect on fft", "fft", *CPU, "--sweep", "naive")
        self.refused(64, "--size has no effect on mean", "mean", *CPU, "--size", "9x9")
        for sizes in ("0", "2199023255552", "99999999999999999999"):
            self.refused(64, "sizes are 1 \u2026 2^40", "mean", *CPU, "--sizes", sizes)
        self.refused(64, "has 512 twice", "mean", *CPU, "--sizes", "512,256..1024")
        done = call("reduction", *CPU, "--sizes", "1", "--inject-fault")
        self.assertEqual(done.returncode, 64, done)
        self.assertRegex(done.stderr, "^stencil: --inject-fault: reduction of 1 elements has one block, which waits for nobody\\n$")
        self.refused(64, "is the --json file too", "mean", *CPU, "--json", self.path("same"), "--csv", self.path("same"), "-f")
        # Before anything is measured.
        done = call("fft", *CPU, "--sizes", "4,3", "--samples", "3")
        self.assertEqual((done.returncode, done.stdout.count("Verified")), (65, 0), done)
        self.assertNotIn("implicit", done.stdout)
        done = call("fft", *CPU, "--sizes", "1000")
        self.assertEqual(done.returncode, 65, done)
        self.assertEqual(done.stderr, "stencil: fft of 1000 elements: it takes a power of two, 2 \u2026 2^30\n")


if __name__ == "__main__":
    unittest.main()
