"""`stencil bench`: table, JSON and refusals of the built command ($STENCIL)."""
import atexit
import csv
import functools
import importlib.util
import json
import math
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

STENCIL = os.environ["STENCIL"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/app"))


def names_of(list_file, macro):
    """The names of an X-macro list, in order: the tests grow with it."""
    text = (ROOT / list_file).read_text(encoding="utf-8")
    return re.findall(rf'^{macro}\((?:\w+, )?"?([\w-]+)"?, ', text, re.MULTILINE)


BENCHMARKS = names_of("bench/benchmarks.def", "STENCIL_BENCHMARK")
LONG = re.findall(r'^STENCIL_BENCHMARK\(\w+, "([\w-]+)",.*\b(?:LONG|APPLICATION)\b',
                  (ROOT / "bench/benchmarks.def").read_text(encoding="utf-8"), re.MULTILINE)
CASES = names_of("bench/cases/cases.def", "STENCIL_CASE")
BARRIERS = names_of("sync/barriers.def", "STENCIL_BARRIER")
LOOPS = names_of("solver/machine/strategies.def", "STENCIL_STRATEGY")
SWEEPS = re.findall(r"^STENCIL_SWEEP\((\w+)", (ROOT / "kernels/sweeps.def").read_text(encoding="utf-8"), re.MULTILINE)
# Radius and number of points of each set.
SHAPES = {name: (int(radius), int(points)) for name, radius, points in re.findall(
    r"^STENCIL_SHAPE\((\w+), \d, \w+, (\d), (\d+),", (ROOT / "kernels/stencils.def").read_text(encoding="utf-8"), re.MULTILINE)}
SYNCS = ("relaunch", "graph", "grid")
STENCILS = list(SHAPES)
# A factor that no interruption reaches: a sample is of microseconds.
FAR = 1e9

HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None

CPU = ["--device", "cpu", "--threads", "2"]
TIMED = [*CPU, "--samples", "5", "--iterations", "3"]
SMALL = [*TIMED, "--size", "130x70"]


def call(*arguments, path=None):
    """`stencil bench`, with the command search path `path`."""
    environment = dict(os.environ, PATH=path) if path is not None else None
    return subprocess.run([STENCIL, "bench", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", timeout=300, env=environment)


def plot_module():
    """app/bench_plot.py, which imports what lies beside it."""
    sys.path.insert(0, str(ROOT / "app"))
    spec = importlib.util.spec_from_file_location("bench_plot", ROOT / "app/bench_plot.py")
    plot = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plot)
    return plot


class Commands(unittest.TestCase):
    """A folder of its own for each test, and what to expect of a command."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stencil-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8", newline="") as file:
            return file.read()

    def ok(self, *arguments):
        done = call(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def refused(self, code, wanted, *arguments):
        done = call(*arguments)
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(wanted, done.stderr)
        self.assertEqual(done.stdout, "")


@functools.lru_cache(maxsize=None)
def reports():
    """A run, made once: its JSON, Markdown and CSV by these names, what it `printed`, and the folder of its `plots`."""
    folder = tempfile.mkdtemp(prefix="stencil-test-")
    atexit.register(shutil.rmtree, folder)
    files = {name: os.path.join(folder, "run." + name) for name in ("json", "md", "csv")}
    plots = os.path.join(folder, "plots")
    done = call("copy", "launch", "host-barrier", "order", "partial", "grid", *SMALL, "--max-noise", "1e-9",
                *(argument for name, path in files.items() for argument in ("--" + name, path)),
                *(["--plot", plots] if HAVE_MATPLOTLIB else []))
    assert done.returncode == 0, done
    return {**files, "printed": done.stdout, "plots": plots}


def was(name):
    """The text of a file of that run."""
    with open(reports()[name], encoding="utf-8", newline="") as file:
        return file.read()


class BenchTest(Commands):
    def test_list(self):
        names = [line.split()[0] for line in self.ok("--list").splitlines() if not line.startswith(" ")]
        self.assertEqual(names, BENCHMARKS + CASES)
        self.assertGreaterEqual(len(names), 3)

    def test_table_fits_80_columns(self):
        text = self.ok(*SMALL)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        for word in ("memcpy", "streaming", "loop", "relaunch", "grid", "Verified"):
            self.assertIn(word, text)
        self.assertEqual(text.count("Benchmark "), len(BENCHMARKS) - len(LONG))
        for name in LONG:
            self.assertNotRegex(text, f"Benchmark +{name}\n")  # take minutes: only where they are named

    def test_every_barrier_is_timed(self):
        root = json.loads(self.ok("grid", *TIMED, "--json", "-"))
        rows = root["results"][0]["rows"]
        self.assertEqual([row["name"] for row in rows], BARRIERS)
        self.assertEqual([row["axes"] for row in rows], [{"threads": 2}] * len(rows))

    def test_models_over_threads(self):
        """Least squares over 2, 4 and 5 threads: the models of two barriers, and a line through each."""
        arguments = ["grid", "--device", "cpu", "--threads", "5", "--samples", "3", "--iterations", "200"]
        shown = self.ok(*arguments, "--json", self.path("out.json"))
        self.assertRegex(shown, r"\nmodels of a pass, by least squares \(001\); each: what each thread adds; (.*\n)+?lock +t_GBS +3 ")
        self.assertLessEqual(max(map(len, shown.splitlines())), 80)
        result, = json.loads(self.read("out.json"))["results"]
        models = [(name, model) for name in BARRIERS for model in
                  {"lock": ["t_GBS"], "lock-free": ["t_GFS", "line"]}.get(name, ["line"])]
        self.assertEqual([(fit["barrier"], fit["model"]) for fit in result["fits"]], models)
        for fit in result["fits"]:
            self.assertEqual((fit["per"], fit["points"]), ("thread", 3))
            points = [(row["axes"]["threads"], row["statistics"]["median"]) for row in result["rows"]
                      if row["name"] == fit["barrier"]]
            mean = statistics.mean(time_s for _, time_s in points)
            slope, rest = (statistics.linear_regression(*zip(*points)) if fit["each"] is not None else (0, mean))
            residual = math.sqrt(statistics.mean((time_s - rest - slope * n) ** 2 for n, time_s in points))
            self.assertEqual(fit["each"] is None, fit["model"] == "t_GFS")
            self.assertAlmostEqual((fit["each"] or 0) / mean, slope / mean)
            self.assertAlmostEqual(fit["rest"] / mean, rest / mean)
            self.assertAlmostEqual(fit["residual"] / mean, residual / mean)
            self.assertAlmostEqual(fit["residual_of_mean"], residual / mean)
        self.assertEqual(self.ok("--from", self.path("out.json")), shown)
        self.assertEqual(json.loads(self.ok("grid", *TIMED, "--json", "-"))["results"][0]["fits"], [])  # one number of threads

    def test_json(self):
        text = self.ok("sweep", "copy", *SMALL, "--precision", "float32", "--json", self.path("out.json"))
        self.assertIn("relaunch", text)
        self.check(json.loads(self.read("out.json")))

    def check(self, root):
        self.assertEqual(root["schema_version"], 2)
        self.assertRegex(root["git_revision"], r"^([0-9a-f]{12,40}(-dirty)?|unknown)$")
        self.assertEqual(root["options"]["samples"], 5)
        self.assertTrue(root["command_line"].startswith("stencil bench sweep copy --device cpu"))
        self.assertEqual(root["machine"]["cpu"]["threads"], 2)
        self.assertIn("driver_version", root["machine"]["cuda"])
        self.assertEqual([r["benchmark"] for r in root["results"]], ["sweep", "copy"])
        sweep = root["results"][0]
        self.assertEqual(sweep["backend"], "cpu")
        self.assertEqual(sweep["parameters"]["nx"], 130)
        self.assertEqual(sweep["parameters"]["precision"], "float32")
        self.assertEqual(sweep["parameters"]["updated_cells"], 128 * 68)
        for result in root["results"]:
            best = max(row["bytes_per_s"] for row in result["rows"] if row["kind"] == "copy")
            for row in result["rows"]:
                self.assertEqual(len(row["samples"]), 5)
                median = statistics.median(row["samples"])
                self.assertAlmostEqual(row["statistics"]["median"] / median, 1)
                self.assertAlmostEqual(row["bytes_per_s"] / (row["bytes"] / median), 1)
                self.assertAlmostEqual(row["ratio_to_copy"], row["bytes_per_s"] / best)
        strategies = {row["name"]: row for row in sweep["rows"] if row["kind"] == "strategy"}
        self.assertLessEqual({"relaunch", "grid"}, set(strategies))
        for row in strategies.values():
            self.assertEqual(row["bytes"], 128 * 68 * 8)
            self.assertEqual(row["iterations"], 3)

    RECORD = str(ROOT / "bench/records/bench-h200-x4.json")

    def test_all_levels(self):
        """Barriers of a warp, a block, a grid and several, in ns, from a record; of one level there is no table."""
        shown = self.ok("warp", "block", "grid", "multi-grid", "--from", self.RECORD)
        levels = shown.partition("\nAll levels\n")[2]
        self.assertLessEqual(max(map(len, levels.splitlines())), 80)
        one, full = levels.split("\nns of a barrier on full multiprocessors")
        self.assertRegex(one, r"\n__syncwarp, 32 lanes +warp +0\.648")
        self.assertRegex(one, r"\n__syncthreads +block +7\.2\d+ ( *[\d.]+){4} +38\.5\d\n")
        self.assertRegex(one, r"\ngrid\.sync +grid +998\.")
        self.assertRegex(one, r"\nmulti-grid, 4 GPUs +multi-grid +2244 ")
        self.assertRegex(full, r"\ngrid\.sync +grid +9193 ")
        order = re.findall(r" (warp|block|grid|multi-grid) ", one.partition(" 1024\n")[2])
        self.assertEqual(order, sorted(order, key=["warp", "block", "grid", "multi-grid"].index))
        self.assertEqual((order[0], order[-1]), ("warp", "multi-grid"))
        self.assertNotIn("All levels", self.ok("grid", "launch", "--from", self.RECORD))
        self.assertIn("\n## All levels\n", self.ok("warp", "block", "--from", self.RECORD, "--md", "-"))
        self.assertEqual(json.loads(was("json"))["levels"], [])  # of a CPU

    @unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib here (Debian: python3-matplotlib)")
    def test_plot_of_all_levels(self):
        """A line for each barrier in both panels; a barrier that was not measured so is left out of the panel."""
        plot, figures = plot_module(), []
        plot.save = lambda figure, path, force: figures.append(figure)
        plot.draw_levels([{"level": "warp", "name": "tile", "threads": 32, "gpus": 1, "one_block": 1e-9, "full": None},
                          {"level": "multi-grid", "name": "b", "threads": 32, "gpus": 2, "one_block": 2e-6, "full": 4e-6},
                          {"level": "multi-grid", "name": "b", "threads": 64, "gpus": 2, "one_block": 3e-6, "full": 5e-6}], "", False)
        for ax, wanted in zip(figures[0].axes, ([[1], [2000, 3000]], [[], [4000, 5000]])):
            self.assertEqual([line.get_label() for line in ax.lines], ["warp: tile", "multi-grid: b, 2 GPUs"])
            for line, ys in zip(ax.lines, wanted):
                self.assertEqual([round(y) for y in line.get_ydata()], ys)
        self.ok("warp", "block", "--from", self.RECORD, "--plot", self.path("plots"), "--quiet")
        self.assertIn("levels.png", os.listdir(self.path("plots")))
        for name in set(os.listdir(self.path("plots"))) - {"levels.png"}:
            os.remove(os.path.join(self.path("plots"), name))
        self.refused(73, "levels.png", "warp", "block", "--from", self.RECORD, "--plot", self.path("plots"), "--quiet")
        self.ok("block", "--from", self.RECORD, "--plot", self.path("plots"), "--quiet")  # draws no levels

    @unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib here (Debian: python3-matplotlib)")
    def test_plot_of_lanes(self):
        """When each lane came to a barrier and left it: read, written and drawn; other rows have no times."""
        root = json.loads(was("json"))
        result, = [result for result in root["results"] if result["benchmark"] == "partial"]
        self.assertEqual({row["lanes"] for row in result["rows"]}, {None})
        before, after = [10 * lane for lane in range(32)], [400 + lane for lane in range(32)]
        result["rows"][1]["lanes"] = {"before": before, "after": after}
        with open(self.path("lanes.json"), "w", encoding="utf-8") as file:
            json.dump(root, file)
        self.ok("partial", "--from", self.path("lanes.json"), "--plot", self.path("plots"), "--quiet")
        self.assertEqual(os.listdir(self.path("plots")), ["partial-lanes.png"])
        plot, figures = plot_module(), []
        plot.save = lambda figure, path, force: figures.append(figure)
        plot.draw_lanes(result, "", False)
        ax, = figures[0].axes
        self.assertEqual([(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches], list(zip(before, after)))
        self.assertEqual(list(ax.lines[0].get_xdata()), [310, 310])
        result["rows"][1]["lanes"]["after"].pop()
        with open(self.path("lanes.json"), "w", encoding="utf-8") as file:
            json.dump(root, file)
        done = call("partial", "--from", self.path("lanes.json"))
        self.assertEqual(done.returncode, 65, done)

    def test_json_on_standard_output_stands_alone(self):
        root = json.loads(self.ok("copy", *SMALL, "--json", "-"))
        self.assertEqual([r["benchmark"] for r in root["results"]], ["copy"])

    def test_refusals(self):
        self.refused(64, "did you mean 'sweep'", "swep")
        self.refused(64, "unknown benchmark 'nothing-like-it'", "nothing-like-it")
        self.refused(64, "--samples", "copy", "--samples", "0")
        self.refused(64, "contradict", "copy", "--device", "cpu", "--gpus", "1")
        self.refused(64, "standard output", "copy", "--json", "-", "--csv", "-")
        self.refused(64, "--against", "copy", "--fail")
        self.refused(64, "--max-noise", "copy", "--max-noise", "0")
        self.refused(64, "--child", "--child", "grid")
        self.refused(65, "j3d7pt", "sweep", *SMALL, "--stencil", "j3d7pt", "--quiet")
        self.refused(73, "no-such-folder", "copy", *SMALL, "--plot", "/no-such-folder/plots")
        self.refused(73, "no-such-folder", "copy", *SMALL, "--json", "/no-such-folder/out.json")

    def test_options_without_effect(self):
        for name, options in (("grid", (["--size", "9x9"], ["--repeats", "3"], ["--precision", "float32"])),
                              ("copy", (["--stencil", "j2d5pt"], ["--boundary", "periodic"], ["--inject-fault"])),
                              ("partial", (["--samples", "3"], ["--max-noise", "3"], ["--timeout", "3"], ["--iterations", "3"]))):
            for option in options:
                self.refused(64, f"{option[0]} has no effect on {name}", name, *CPU, *option)
        self.refused(64, "--size has no effect on the benchmarks", "grid", "launch", *SMALL)
        self.refused(64, "--omega is for problem laplace and poisson", "sweep", *SMALL, "--omega", "0.5")
        self.refused(64, "--margin has no effect without --against", "copy", *SMALL, "--margin", "1")
        self.refused(64, "--fail has no effect without --against", "--from", "x.json", "--fail")

    def test_children_are_no_matter_of_the_help(self):
        self.assertNotIn("--child", self.ok("--help"))

    def test_planted_fault_fails_and_the_rest_goes_on(self):
        done = call("grid", "copy", *SMALL, "--inject-fault", "--json", self.path("out.json"))
        self.assertEqual(done.returncode, 70, done)
        self.assertRegex(done.stderr, r"^stencil: barrier planted fault does not hold: \d+ times [^\n]*\n$")
        self.assertIn("FAILED", done.stdout)
        self.assertIn("has no fault to plant", done.stdout)
        grid, copy = json.loads(self.read("out.json"))["results"]
        self.assertIn("planted fault does not hold", grid["failed"])
        self.assertEqual(len(grid["rows"]), len(BARRIERS) + 1)
        self.assertIn("no fault", copy["skipped"])

    SIZES = [*TIMED, "--sizes", "40..80,100"]

    def test_strategies(self):
        text = self.ok("strategies", *self.SIZES, "--max-noise", "1e9", "--json", self.path("out.json"), "--csv",
                       self.path("out.csv"))
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        result, = json.loads(self.read("out.json"))["results"]
        wanted = [(f"{sync}/{sweep}", nx) for nx in (40, 80, 100) for sweep in SWEEPS for sync in [*LOOPS, *BARRIERS]]
        plans = [row for row in result["rows"] if row["kind"] != "copy"]
        self.assertEqual([(row["name"], row["axes"]["nx"]) for row in plans], wanted)
        for nx in (40, 80, 100):
            here = [row for row in plans if row["axes"] == {"nx": nx}]
            copies = [row for row in result["rows"] if row["kind"] == "copy" and row["axes"] == {"nx": nx}]
            best = max(copies, key=lambda row: row["bytes_per_s"])
            self.assertEqual([(len(row["samples"]), row["bytes"], row["of_fastest"]) for row in copies],
                             [(5, best["bytes"], None)] * 4)
            self.assertGreaterEqual(best["bytes"], 2 * 8 * nx**2)
            self.assertIn(f"\ncopy ({best['name']}) ", text)
            rows = [row for row in here if not row["name"].endswith("/resident")]  # which is for GPUs
            self.assertEqual([row["statistics"] for row in here if row not in rows], [None] * len([*LOOPS, *BARRIERS]))
            fastest = min(row["statistics"]["median"] for row in rows)
            for row in rows:
                self.assertEqual((len(row["samples"]), row["iterations"], row["cells"]), (5, 3, (nx - 2)**2))
                self.assertAlmostEqual(row["of_fastest"], row["statistics"]["median"] / fastest)
                self.assertAlmostEqual(row["ratio_to_copy"], row["bytes_per_s"] / best["bytes_per_s"])
                self.assertTrue(1e-8 < row["predicted"] < 1)
                self.assertTrue(0 < row["sync_share"] < 1)
            self.assertRegex(text, rf"\nnx {nx}, [mu]?s/step\n")
        compact = text[text.index("s/step: names down, nx across\n"):].splitlines()
        self.assertRegex(compact[1], r"^ +40 +80 +100$")
        lines = [name for name, nx in wanted if nx == 40 and not name.endswith("/resident")] + ["the best copy", ""]
        for line, name in zip(compact[2:], lines, strict=False):
            self.assertRegex(line, rf"^{name}( +\d+\.\d+){{3}}$" if name else "^$")
        # What cannot run is one line, and stands in no table.
        self.assertEqual(text.count("resident"), 2)
        self.assertRegex(text, rf"\nSkipped +{len(LOOPS + BARRIERS)} strategies with resident: ")
        self.assertRegex(result["notes"][0], r"^Fastest: (`\S+` at all sizes|`\S+` up to \d+²,.* then `\S+`)\.$")
        self.assertIn("Notes       Fastest: ", text)
        self.assertEqual(self.ok("--from", self.path("out.json")), text)
        lines = list(csv.DictReader(self.read("out.csv").splitlines()))
        self.assertEqual([float(line["predicted"]) for line in lines if line["predicted"]],
                         [row["predicted"] for row in result["rows"] if row["predicted"] is not None])

    def test_strategies_of_one_sweep_and_a_file(self):
        problem = self.path("p.h5")
        subprocess.run([STENCIL, "new", problem, "--problem", "poisson", "--size", "33x21", "--quiet"], check=True)
        text = self.ok("strategies", problem, *TIMED, "--sweep", "naive", "--json", self.path("out.json"))
        result, = json.loads(self.read("out.json"))["results"]
        plans = [row for row in result["rows"] if row["kind"] != "copy"]
        self.assertEqual([row["name"] for row in plans], [f"{sync}/naive" for sync in [*LOOPS, *BARRIERS]])
        self.assertEqual([result["parameters"][name] for name in ("problem", "nx", "ny", "updated_cells")],
                         ["poisson", 33, 21, 31 * 19])
        self.assertEqual({row["bytes"] for row in plans}, {3 * 8 * 31 * 19})
        self.assertNotIn(" down, ", text)
        cubes = json.loads(self.ok("strategies", *TIMED, "--stencil", "j3d7pt", "--sizes", "8,9", "--json", "-"))["results"][0]
        self.assertEqual({row["cells"] for row in cubes["rows"] if row["kind"] != "copy"}, {6**3, 7**3})
        for option in (["--size", "9x9"], ["--sizes", "9,10"], [self.path("q.h5")]):
            self.refused(64, "has one problem", "strategies", problem, *CPU, *option)
        self.refused(64, "p.h5' has no effect on grid", "grid", problem, *CPU)
        self.refused(66, "q.h5", "strategies", self.path("q.h5"), *CPU)
        self.refused(64, "--sweep has no effect on copy", "copy", *CPU, "--sweep", "naive")
        for sizes in ("", "8..", "8..4", "8,,9", "0", "8x8", "1..65536"):
            self.refused(64, "--sizes", "strategies", *CPU, "--sizes", sizes)

    def test_strategies_refuse_a_wrong_result(self):
        done = call("strategies", *self.SIZES, "--sweep", "stream", "--inject-fault")
        self.assertEqual(done.returncode, 70, done)
        self.assertRegex(done.stderr, r"^stencil: \S+/stream and \S+/stream differ after 3 steps in 1 cells, first at "
                         r"\(z, y, x\) = \(0, 0, 0\)\n$")
        self.assertIn("FAILED", done.stdout)

    def speed(self, *arguments):
        text = self.ok("speed", *TIMED, *arguments, "--max-noise", "1e9", "--json", self.path("out.json"), "--force")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        root = json.loads(self.read("out.json"))
        result, = root["results"]
        self.assertEqual(root["rows"], result["bars"])
        return text, root["rows"], result["rows"]

    def test_speed(self):
        text, bars, rows = self.speed("--size", "70x50")
        cases = [f"{stencil} fp{bits} 70x50{sweep}" for sweep in ("", " stream") for stencil in STENCILS
                 for bits in (64, 32) if stencil.startswith("j2d")]
        self.assertEqual([bar["case"] for bar in bars], cases)
        for bar in bars:
            stencil, precision, size, *plain = bar["case"].split()
            radius, points = SHAPES[stencil]
            bytes_, cells = int(precision[2:]) // 8, (70 - 2 * radius) * (50 - 2 * radius)
            name = f"{stencil} f{precision[2:]} "
            own = {row["name"][len(name):]: row for row in rows if row["name"].startswith(name)}
            copy = max(row["bytes_per_s"] for row in own.values() if row["kind"] == "copy")
            for row in own.values():
                self.assertAlmostEqual(row["ratio_to_copy"], row["bytes_per_s"] / copy)
                self.assertEqual(row["axes"], {"nx": 70, "ny": 50})
            rates = {what: 1e-9 * cells / own[what]["statistics"]["median"] for what in own if "/" in what}
            self.assertEqual(set(rates), {f"{sweep}/{sync}" for sweep in ("stream", "pipeline") for sync in SYNCS})
            self.assertEqual((bar["unit"], bar["steps"], bar["samples"], bar["skipped"]), ("gcell_per_s", 3, 5, None))
            best = bar["sweep"] + "/" + bar["strategy"]
            self.assertEqual((bar["axes"], bar["noisy"]), ({"nx": 70, "ny": 50}, own[best]["noisy"]))
            self.assertEqual(bar["sweep"], "stream" if plain else "pipeline")
            self.assertAlmostEqual(bar["measured"], max(rate for what, rate in rates.items() if what.startswith(bar["sweep"])))
            self.assertAlmostEqual(bar["measured"], rates[best])
            self.assertAlmostEqual(bar["plain"], max(rates[f"stream/{sync}"] for sync in SYNCS))
            self.assertAlmostEqual(bar["loop"], rates[bar["sweep"] + "/grid"])
            self.assertEqual(bar["depth"] > 1, not plain)
            if not plain:
                self.assertEqual((bar["best_by"], bar["best_other"]), ("plain sweep", bar["plain"]))
                self.assertAlmostEqual(bar["reach"] / bar["plain"], 2)
                self.assertAlmostEqual(bar["aim"] / bar["plain"], 3)
            if plain:
                self.assertEqual(bar["best_other"], bar["aim"])
                self.assertEqual(bar["best_by"], "copy")
                self.assertAlmostEqual(bar["best_other"] / (1e-9 * copy / (2 * bytes_)), 1)
                self.assertAlmostEqual(bar["reach"] / bar["aim"], 0.85)
            bound = bar["bound"]
            used = {name: bound[name.replace(" ", "_")] for name in ("memory", "shared memory", "arithmetic")}
            self.assertIn(bound["resource"], ("memory", "arithmetic"))
            self.assertIsNone(used["arithmetic"])  # nobody has measured what a CPU allows
            passes = -(-3 // bar["depth"])  # of the three steps of a sample
            self.assertAlmostEqual(used["memory"] / (1e9 * bar["measured"] * 2 * bytes_ * passes / 3 / copy), 1)
            self.assertEqual(used["shared memory"], 0)
            self.assertRegex(text, rf"(?m)^{re.escape(bar['case'])} +[0-9.]+ +[0-9.e+]+ ")
        self.assertIn("Verified: every sample gave the bits of the plain sweep", " ".join(text.split()))
        self.assertEqual(self.ok("--from", self.path("out.json")), text)
        self.assertIn("| strategy | best by |", self.ok("--from", self.path("out.json"), "--md", "-"))

    def test_speed_as_csv(self):
        """Beside the rows a line for each case; where there are no cases, no columns for them."""
        self.speed("--size", "70x50", "--stencil", "j2d5pt", "--csv", self.path("out.csv"))
        result, = json.loads(self.read("out.json"))["results"]
        lines = list(csv.DictReader(self.read("out.csv").splitlines()))
        self.assertEqual(len(lines), len(result["rows"]) + len(result["bars"]))
        self.assertEqual({(line["nx"], line["ny"]) for line in lines}, {("70", "50")})
        for line, bar in zip(lines[len(result["rows"]):], result["bars"], strict=True):
            self.assertEqual((line["kind"], line["name"], line["bound"], line["noisy"]),
                             ("case", bar["case"], bar["bound"]["resource"], str(bar["noisy"]).lower()))
            for key in ("unit", "sweep", "strategy", "best_by"):
                self.assertEqual(line[key], bar[key])
            for key in ("best_other", "reach", "aim", "measured", "plain", "loop", "depth", "samples"):
                self.assertEqual(float(line[key]), bar[key])
            used = bar["bound"][bar["bound"]["resource"]]
            self.assertEqual(float(line["used"]) if line["used"] else None, used)
        self.ok("copy", *SMALL, "--csv", self.path("copy.csv"), "--quiet")
        self.assertNotIn("best_other", self.read("copy.csv"))

    def test_speed_of_fields_that_cannot_be(self):
        """The case says why, and has no figures beside what was not made."""
        text, bars, rows = self.speed("--size", "5x5", "--precision", "float64")
        bad = [bar for bar in bars if bar["case"].startswith("j2d49pt")]
        self.assertEqual([(bar["reach"], bar["measured"]) for bar in bad], [(None, None)] * 2)
        for bar in bad:
            self.assertIn("5 cells", bar["skipped"])
            self.assertRegex(text, rf"\n{re.escape(bar['case'])} [ 0-9]*skipped: /u has 5 cells")
        self.assertEqual([bar["case"] for bar in bars if bar["skipped"]], [bar["case"] for bar in bad])
        self.assertFalse([row for row in rows if row["name"].startswith("j2d49pt")])
        self.assertEqual(self.ok("--from", self.path("out.json")), text)

    def test_speed_of_some(self):
        _, bars, rows = self.speed("--stencil", "j3d7pt", "--precision", "float32", "--sizes", "9,8")
        self.assertEqual([bar["case"] for bar in bars], [f"j3d7pt fp32 {size}{sweep}" for sweep in ("", " stream") for size in ("9³", "8³")])
        self.assertEqual([row["cells"] for row in rows if row["name"].endswith("stream/relaunch")], [7**3, 6**3])
        _, bars, _ = self.speed("--stencil", "j2d9pt", "--sweep", "pipeline", "--size", "64x64")
        self.assertEqual([bar["case"] for bar in bars], ["j2d9pt fp64 64²", "j2d9pt fp32 64²"])
        self.assertEqual({bar["sweep"] for bar in bars}, {"pipeline"})
        self.assertIn("no case has this", self.ok("speed", *CPU, "--sweep", "naive"))
        self.refused(64, "--boundary has no effect on speed", "speed", *CPU, "--boundary", "periodic")

    def test_speed_takes_100_steps(self):
        """And as many whole passes, beside the step that is checked, of all strategies where a tenth more steps has them."""
        text = self.ok("speed", *CPU, "--stencil", "j2d5pt", "--precision", "float32", "--size", "60x40", "--samples", "1", "--json", self.path("out.json"))
        root = json.loads(self.read("out.json"))
        for bar in root["rows"]:
            self.assertTrue(100 <= bar["steps"] < 110)
        self.assertGreater(root["rows"][0]["depth"], 1)
        made = ["--stencil", "j2d5pt", "--precision", "float32", "--size", "60x40", "--steps", "100", "--check-every", "100"]
        subprocess.run([STENCIL, "new", self.path("p.h5"), *made], stdout=subprocess.PIPE, check=True)
        plans = json.loads(subprocess.run([STENCIL, "plan", self.path("p.h5"), *CPU, "--sweep", "pipeline", "--json", "-"],
                                          stdout=subprocess.PIPE, check=True).stdout)["plans"]
        passes = [plan["depth"] for plan in plans if plan["sync"] in ("relaunch", "grid")]
        self.assertEqual(len(passes), 2)
        if any(steps % math.lcm(*passes) == 0 for steps in range(100, 110)):
            self.assertEqual(root["rows"][0]["steps"] % math.lcm(*passes), 0)
        wide = json.loads(json.dumps(root))
        for row in wide["results"][0]["rows"]:
            row["noisy"] = True
        for bar in wide["results"][0]["bars"]:
            bar["noisy"] = False
        wide["results"][0]["bars"][0].update(case="j2ds9pt fp64 11808²", best_other=1422, reach=3000, measured=1071.4, aim=2500.4, depth=32, noisy=True,
                                             bound={"resource": "arithmetic", "memory": 0.4, "shared_memory": 0.5, "arithmetic": 1.01})
        wide["results"][0]["bars"][1].update(reach=27, measured=0.108)
        with open(self.path("wide.json"), "w", encoding="utf-8") as file:
            json.dump(wide, file)
        shown = self.ok("--from", self.path("wide.json"))
        self.assertRegex(shown, r"\nj2ds9pt fp64 11808² +1422 +3000 +2500 +~1071 +0.36 +[0-9.]+ pipeline +32 fma +101%")
        self.assertIn("~ marks 1 of 2 cases: their samples spread by more than ", " ".join(shown.split()))
        self.assertRegex(shown, r"\nj2d5pt fp32 60x40 stream +\S+ +27\S* +\S+ +0\.108 +0\.004 ")
        self.assertRegex(self.ok("--from", self.path("wide.json"), "--md", "-"), r"\n\| case \| best other \| reach \| aim \| here \| x reach \|")
        self.assertLessEqual(max(map(len, shown.splitlines())), 80)
        plain = subprocess.run([STENCIL, "bench", "--from", self.path("wide.json")], stdout=subprocess.PIPE, check=True,
                               env=dict(os.environ, LC_ALL="C")).stdout.decode("ascii")
        self.assertIn("\nj2ds9pt fp64 11808^2 ", plain)
        self.assertLessEqual(max(map(len, plain.splitlines())), 80)
        for bar in root["results"][0]["bars"]:  # of an earlier version
            del bar["axes"], bar["noisy"]
        root["results"][0]["bars"][0].update(best_other=1422, reach=3000, aim=4000, measured=None, plain=None, skipped="it takes 2 GPUs", sweep=None, strategy=None)
        with open(self.path("skipped.json"), "w", encoding="utf-8") as file:
            json.dump(root, file)
        self.assertRegex(self.ok("--from", self.path("skipped.json")), r"\nj2d5pt fp32 60x40 +1422 +3000 +4000 skipped: it takes 2 GPUs\n")

    def test_speed_refuses_a_wrong_result(self):
        done = call("speed", *TIMED, "--size", "64x64", "--stencil", "j2d5pt", "--inject-fault")
        self.assertEqual(done.returncode, 70, done)
        self.assertRegex(done.stderr, r"^stencil: j2d5pt f64 \S+ and j2d5pt f64 stream/relaunch differ after 3 steps in 1 cells, ")
        self.assertIn("FAILED", done.stdout)
        self.assertNotIn("Verified", done.stdout)

    def test_failure_keeps_the_others(self):
        done = call("sweep", "copy", *SMALL, "--stencil", "j3d7pt", "--json", self.path("out.json"))
        self.assertEqual(done.returncode, 65, done)
        sweep, copy = json.loads(self.read("out.json"))["results"]
        self.assertIn("j3d7pt", sweep["failed"])
        self.assertIsNone(copy["failed"])
        self.assertEqual(len(copy["rows"]), 4)

    def test_interrupted_keeps_what_was_measured(self):
        """The rows that have samples, in all files; what was not begun says why. A result that is verified stays so."""
        never = [*CPU, "--size", "500x500", "--samples", "100000", "--iterations", "1", "--timeout", "100000"]
        with subprocess.Popen([STENCIL, "bench", "sweep", "speed", *never, "--json", self.path("out.json"), "--csv", self.path("out.csv")],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process:
            time.sleep(5)
            process.send_signal(signal.SIGINT)
            shown, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, said)
        self.assertEqual(said, "stencil: sweep is interrupted\n")
        first, second = json.loads(self.read("out.json"))["results"]
        self.assertEqual(first["failed"], "sweep is interrupted")
        self.assertGreater(sum(len(row["samples"]) for row in first["rows"]), 0)
        for row in first["rows"]:
            self.assertTrue(row["samples"] and row["statistics"]["median"] > 0 or row["skipped"], row)
        self.assertEqual((second["skipped"], second["rows"]), ("interrupted", []))
        self.assertIn("\nBenchmark   speed\nSkipped     interrupted\n", shown)
        self.assertNotIn("Verified", shown)
        self.assertEqual(self.ok("--from", self.path("out.json")), shown)
        self.assertEqual(len(self.read("out.csv").splitlines()), 1 + len(first["rows"]))

    def test_part_of_a_team(self):
        rows, = [result["rows"] for result in json.loads(was("json"))["results"] if result["benchmark"] == "partial"]
        self.assertEqual(len(rows), 2 * (len(BARRIERS) + 1))
        for row in rows:
            self.assertEqual(row["samples"], [])
            if row["axes"]["absent"] == 0:
                self.assertEqual(row["outcome"], "completes")
            else:
                self.assertNotEqual(row["outcome"], "completes")

    def test_no_child_outlives_its_parent(self):
        with subprocess.Popen([STENCIL, "bench", "partial", *CPU], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as parent:
            children = pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
            if not children.exists():
                parent.kill()
                self.skipTest("this kernel does not list children")
            child, since = None, time.monotonic()
            while parent.poll() is None and time.monotonic() - since < 1: # until one hangs for a second
                now = children.read_text(encoding="ascii").split()
                if now != child:
                    child, since = now, time.monotonic()
                time.sleep(0.01)
            self.assertEqual(len(child), 1)
            parent.kill()
        until = time.monotonic() + 20
        while self.is_running(child[0]) and time.monotonic() < until:
            time.sleep(0.01)
        self.assertFalse(self.is_running(child[0]))

    @staticmethod
    def is_running(process):
        """Neither gone nor only waiting to be collected."""
        try:
            status = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        return status.rpartition(")")[2].split()[0] not in "ZX"

    def test_noise_is_marked(self):
        text = self.ok("launch", *TIMED, "--max-noise", "1e-9", "--json", self.path("noisy.json"))
        self.assertIn("~", text)
        self.assertIn("spread by more than 1e-09 %", text)
        rows = json.loads(self.read("noisy.json"))["results"][0]["rows"]
        self.assertTrue(any(row["noisy"] for row in rows))
        text = self.ok("launch", *TIMED, "--max-noise", "1e9", "--json", self.path("quiet.json"))
        self.assertNotIn("~", text)
        rows = json.loads(self.read("quiet.json"))["results"][0]["rows"]
        self.assertFalse(any(row["noisy"] for row in rows))

    def test_csv_says_what_json_says(self):
        lines = list(csv.DictReader(was("csv").splitlines()))
        rows = [(result, row) for result in json.loads(was("json"))["results"] for row in result["rows"]]
        self.assertEqual(len(lines), len(rows))
        for line, (result, row) in zip(lines, rows):
            for key, value in {**row, **row["axes"], "benchmark": result["benchmark"], "device": result["device"],
                               "samples": len(row["samples"]), **(row["statistics"] or {})}.items():
                if key not in line:
                    continue
                if value is None or (key == "noisy" and not row["samples"]):
                    self.assertEqual(line[key], "", key)
                elif isinstance(value, bool):
                    self.assertEqual(line[key], str(value).lower())
                elif isinstance(value, (int, float)):
                    self.assertEqual(float(line[key]), value, key)
                else:
                    self.assertEqual(line[key], value)
        self.assertEqual({line["threads"] for line in lines if line["benchmark"] == "copy"}, {""})

    def test_csv_of_texts_with_commas(self):
        root = json.loads(was("json"))
        wanted = {"kind": "overhead, sleep", "name": 'so "called"', "unit": "s/copy, in all"}
        root["results"][0]["rows"][0].update(wanted)
        with open(self.path("commas.json"), "w", encoding="utf-8") as file:
            json.dump(root, file)
        line = next(csv.DictReader(self.ok("copy", "--from", self.path("commas.json"), "--csv", "-").splitlines()))
        self.assertEqual({key: line[key] for key in wanted}, wanted)

    def test_markdown(self):
        text = self.ok("copy", "grid", *SMALL, "--md", "-")
        self.assertIn("\n## copy\n", text)
        tables = [line for line in text.splitlines() if line.startswith("|")]
        names = [line.split("|")[1].strip() for line in tables]
        for name in ["memcpy", *BARRIERS]:
            self.assertIn(name, names)
        for line in tables: # as many columns as the head of its table
            head = next(other for other in reversed(tables[:tables.index(line) + 1]) if other.startswith("|  |"))
            self.assertEqual(line.count("|"), head.count("|"), line)
        self.assertIn("--md -`", text)

    def against(self, factor, *arguments):
        """Compares a run with itself, all samples then `factor` times as large as they were."""
        root = json.loads(was("json"))
        for row in root["results"][0]["rows"]:
            row["samples"] = [factor * sample for sample in row["samples"]]
        with open(self.path("then.json"), "w", encoding="utf-8") as file:
            json.dump(root, file)
        return call("copy", *SMALL, "--against", self.path("then.json"), "--json", self.path("now.json"), "--force",
                    *arguments)

    def verdicts(self):
        found = json.loads(self.read("now.json"))["against"]
        self.assertEqual([result["benchmark"] for result in found["results"]], ["copy"])
        return [row["verdict"] for row in found["results"][0]["rows"]]

    def test_against(self):
        done = self.against(FAR)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertEqual(self.verdicts(), ["faster"] * 4)
        self.assertIn("4 faster", done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        self.assertEqual(self.against(FAR, "--fail").returncode, 0)
        self.assertEqual(self.against(1 / FAR).returncode, 0)
        self.assertEqual(self.verdicts(), ["slower"] * 4)
        self.assertEqual(self.against(1 / FAR, "--fail").returncode, 1)
        self.assertEqual(self.against(1 / FAR, "--fail", "--margin", str(100 * FAR * FAR)).returncode, 0)
        self.assertEqual(self.verdicts(), ["same"] * 4)

    def test_against_changed_outcome(self):
        root = json.loads(was("json"))
        partial, = [result for result in root["results"] if result["benchmark"] == "partial"]
        next(row for row in partial["rows"] if row["outcome"] == "completes")["outcome"] = "deadlocks"
        with open(self.path("then.json"), "w", encoding="utf-8") as file:
            json.dump(root, file)
        done = call("partial", *CPU, "--against", self.path("then.json"), "--fail")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("1 changed", done.stdout)

    def test_against_refusals(self):
        self.refused(66, "no-such-file", "copy", *SMALL, "--against", self.path("no-such-file"))
        for text, wanted in (("{", "JSON"), ("{}", "not written by"), ('{"schema_version": 1, "results": []}', "version 1"),
                             ('{"schema_version": 2, "results": [{}]}', "missing")):
            with open(self.path("bad.json"), "w", encoding="utf-8") as file:
                file.write(text)
            self.refused(65, wanted, "copy", *SMALL, "--against", self.path("bad.json"))

    PLOTS = ["copy-box", "host-barrier-box", "launch-lines"]


    def test_plots_with_a_python_that_cannot_draw(self):
        """None at all, one without matplotlib, one that fails: a line that says so, before anything is measured."""
        for program, code, wanted in ((None, 69, "python3-matplotlib"),
                                      ('exec /usr/bin/python3 -S "$@"', 69, "python3-matplotlib"),
                                      ("echo it broke >&2; exit 5", 70, "it broke")):
            if program:
                with open(self.path("python3"), "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\n{program}\n")
                os.chmod(self.path("python3"), 0o755)
            done = call("copy", *SMALL, "--plot", self.path("plots"), path=self.folder)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done)
            self.assertRegex(done.stderr, rf"^stencil: --plot: [^\n]*{wanted}[^\n]*\n$")
            self.assertEqual(os.listdir(self.path("plots")), [])

    @unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib here (Debian: python3-matplotlib)")
    def test_plots(self):
        arguments = ["copy", "launch", "host-barrier", "strategies", *TIMED, "--sizes", "16,32", "--plot",
                     self.path("plots"), "--quiet"]
        self.ok(*arguments)
        wanted = [name + ".png" for name in [*self.PLOTS, "strategies-lines"]]
        self.assertEqual(sorted(os.listdir(self.path("plots"))), wanted)
        for name in wanted:
            with open(os.path.join(self.path("plots"), name), "rb") as file:
                head = file.read(24)
            self.assertEqual(head[:8], b"\x89PNG\r\n\x1a\n")
            self.assertGreater(int.from_bytes(head[16:20], "big"), 500)
        again = ["copy", *TIMED, "--plot", self.path("plots"), "--quiet"]
        self.refused(73, "copy-box.png", *again)
        self.ok(*again, "--force")

    def drawn(self, result, style):
        """The figure that bench_plot.py makes of a result."""
        plot = plot_module()
        figures = []
        plot.save = lambda figure, path, force: figures.append(figure)
        plot.draw(result, style, "", False)
        figure, = figures
        return figure

    def strategies(self, sizes):
        """14 strategies of three sweeps: neighbor/stream is the fastest at the first size, grid/pipeline at
        the others; the sweep naive is slower than the rest."""
        rows = []
        for nx in sizes:
            for sweep, factor in (("stream", 2), ("naive", 10), ("pipeline", 1.5)):
                for i in range(14):
                    name = {0: "neighbor", 1: "grid", 2: "openmp"}.get(i, f"other{i}") + "/" + sweep
                    time_s = 1e-9 * nx**2 * (factor + 0.1 * i)
                    if name == ("neighbor/stream" if nx == sizes[0] else "grid/pipeline"):
                        time_s = 0.5e-9 * nx**2
                    rows.append(dict(name=name, kind="strategy", unit="s/step", axes={"nx": nx}, samples=[time_s] * 5,
                                     bytes=16 * nx**2, higher_is_better=False, method=None, noisy=False,
                                     predicted=time_s))
            rows.append(dict(rows[-1], name="memcpy", kind="copy", unit="s/copy", samples=[1e-9 * nx**2] * 5))
        for row in rows:
            same = [other for other in rows if other["axes"] == row["axes"] and other["kind"] == "strategy"]
            time_s, copy_s = row["samples"][0], 1e-9 * row["axes"]["nx"]**2
            row["statistics"] = {name: time_s for name in ("median", "p5", "p95", "smallest")}
            row["of_fastest"] = None if row["kind"] == "copy" else time_s / min(other["samples"][0] for other in same)
            row["ratio_to_copy"] = copy_s / time_s
        return {"benchmark": "strategies", "backend": "cpu", "device": "a device", "parameters": {}, "rows": rows}

    @unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib here (Debian: python3-matplotlib)")
    def test_plot_of_many_strategies(self):
        """The best few and the copy, not all 42."""
        times, relative = self.drawn(self.strategies([64, 128, 256]), "lines").axes
        labels = [text.get_text() for text in times.get_legend().get_texts()]
        self.assertIn("grid/pipeline (fastest at 128, 256)", labels)
        self.assertIn("neighbor/stream (fastest at 64)", labels)
        self.assertIn("the best copy, as many bytes", labels)
        self.assertEqual(len(labels), 5 + 2)
        self.assertFalse(any("naive" in label for label in labels))
        self.assertEqual(times.get_title(), "the best 5 of 42")
        self.assertEqual((times.get_xlabel(), times.get_ylabel()), ("cells of a side", "µs per step"))
        copy, = [line for line in times.lines if line.get_label().startswith("the best copy")]
        for x, y in zip(copy.get_xdata(), copy.get_ydata(), strict=True):
            self.assertAlmostEqual(y, 1e-3 * x**2)
        self.assertEqual(relative.get_title(), "the best 5 of 42, beside the fastest")
        box = self.drawn(self.strategies([64]), "box")
        self.assertEqual(len(box.axes[0].get_yticklabels()), 10)
        self.assertEqual(box.axes[0].get_yticklabels()[0].get_text(), "neighbor/stream")

    @unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib here (Debian: python3-matplotlib)")
    def test_plot_of_cases(self):
        """Cases stand with what is to be reached, under their sizes and the device; their rows are drawn nowhere else."""
        self.speed("--size", "70x50", "--stencil", "j2d5pt", "--plot", self.path("plots"))
        self.assertEqual(os.listdir(self.path("plots")), ["speed-bars.png"])
        plot = plot_module()
        result, = json.loads(self.read("out.json"))["results"]
        bars, drawn = result["bars"], []
        plot.save = lambda figure, path, force: drawn.append(figure)
        bars[0].update(measured=None)  # is left out
        bars[2]["noisy"] = True
        plot.draw_bars(result, "", False)
        figure, = drawn
        self.assertEqual(figure._suptitle.get_text(), f"speed: CPU, {result['device']}")
        others, copies = figure.axes
        self.assertEqual([text.get_text() for text in others.get_yticklabels()], ["~" * bars[1]["noisy"] + "j2d5pt fp32 70 × 50"])
        self.assertEqual(copies.get_yticklabels()[0].get_text(), "~j2d5pt fp64 70 × 50 stream")
        for ax, some in ((others, bars[1:2]), (copies, bars[2:])):
            lines = {line.get_label(): list(line.get_xdata()) for line in ax.lines}
            self.assertEqual(lines.pop("to be reached"), [bar["reach"] for bar in some])
            self.assertEqual(lines.pop("aim"), [bar["aim"] for bar in some])
            self.assertEqual(list(lines.values()), [[bar["best_other"] for bar in some]])
            self.assertEqual([bar.get_width() for bar in ax.patches], [bar["measured"] for bar in some])


class FromTest(Commands):
    """--from: reports of an earlier run, here of one that was made once for all tests."""

    PLOTS = BenchTest.PLOTS

    def test_writes_what_the_run_wrote(self):
        run = reports()["json"]
        text = self.ok("--from", run, "--md", self.path("again.md"), "--csv", self.path("again.csv"))
        self.assertEqual(text, reports()["printed"])
        self.assertIn("Benchmark   host-barrier\n", text)
        self.assertEqual(self.read("again.md"), was("md"))
        self.assertIn("--max-noise 1e-9", was("md"))
        self.assertIn("spread by more than 1e-09 %", was("md"))
        self.assertEqual(self.read("again.csv"), was("csv"))
        self.assertEqual(self.ok("--from", run, "--md", "-"), was("md"))
        self.assertEqual(self.ok("--from", run, "--quiet"), "")

    @unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib here (Debian: python3-matplotlib)")
    def test_draws_the_same_plots(self):
        self.ok("--from", reports()["json"], "--plot", self.path("again"), "--quiet")
        self.assertEqual(sorted(os.listdir(self.path("again"))), sorted(os.listdir(reports()["plots"])))
        self.assertLessEqual({name + ".png" for name in self.PLOTS}, set(os.listdir(reports()["plots"])))
        for name in os.listdir(reports()["plots"]):
            then, now = (pathlib.Path(folder, name).read_bytes() for folder in (reports()["plots"], self.path("again")))
            self.assertEqual(now, then, name)

    def test_some(self):
        text = self.ok("grid", "copy", "--from", reports()["json"], "--csv", "-")
        self.assertEqual(list(dict.fromkeys(line["benchmark"] for line in csv.DictReader(text.splitlines()))),
                         ["copy", "grid"])

    def test_says_what_is_in_the_file(self):
        """Of another machine and program, with a benchmark that this one does not know, and a failed one."""
        root = json.loads(was("json"))
        root.update(version="9.8.7", git_revision="feedfeedfeed", compiler="of another time")
        root["machine"]["cuda"] = {"driver_version": 12080, "runtime_version": 12060, "kernel_driver": "570.1"}
        root["results"][0].update(benchmark="another", failed="it went wrong")
        with open(self.path("other.json"), "w", encoding="utf-8") as file:
            json.dump(root, file)
        text = self.ok("--from", self.path("other.json"), "another", "--md", "-")
        for wanted in ("Version: 9.8.7, revision feedfeedfeed, of another time",
                       "CUDA: driver 12.8, kernel module 570.1, runtime 12.6", "## another", "FAILED: it went wrong"):
            self.assertIn(wanted, text)
        self.assertEqual(text.count("\n## "), 1)

    def test_older_files(self):
        """From before rows had predictions."""
        root = json.loads(was("json"))
        for row in [row for result in root["results"] for row in result["rows"]]:
            for name in ("predicted", "sync_share", "of_fastest"):
                self.assertIsNone(row.pop(name))
        with open(self.path("older.json"), "w", encoding="utf-8") as file:
            json.dump(root, file)
        self.assertEqual(self.ok("--from", self.path("older.json")), reports()["printed"])

    def test_fields_of_axes(self):
        """Two barriers over 3 x 2 places, the second without one of them, and a row of its own, listed."""
        root = json.loads(was("json"))
        grid = next(result for result in root["results"] if result["benchmark"] == "grid")
        row = dict(grid["rows"][0], unit="cycles", noisy=False)
        grid["rows"] = [dict(row, name=name, axes={"blocks_per_sm": blocks, "threads": threads},
                             samples=[factor * blocks * threads] * 5)
                        for threads in (64, 32) for blocks in (1, 4, 2) for name, factor in (("a", 1), ("b", 0.25))
                        if name == "a" or (blocks, threads) != (4, 64)]
        grid["rows"].append(dict(row, name="a", axes={"threads": 32}, samples=[7] * 5))
        with open(self.path("fields.json"), "w", encoding="utf-8") as file:
            json.dump(root, file)
        text = self.ok("grid", "--from", self.path("fields.json"))
        self.assertRegex(text, r"\n +threads unit +median noise +p5 +p95 samples\na +32 cycles +7.00 +0.0% +7.00 +7.00 +5\n\n")
        self.assertIn("\n\na, cycles: blocks_per_sm down, threads across\nblocks\n   per\n    sm    32    64\n"
                      "     1  32.0  64.0\n     2  64.0 128.0\n     4 128.0 256.0\n\n"
                      "b, cycles: blocks_per_sm down, threads across\nblocks\n   per\n    sm    32    64\n"
                      "     1  8.00 16.00\n     2 16.00 32.00\n     4 32.00\n\n", text)
        self.assertEqual(text.count(" down, "), 2)

    # The first words of what a record is, where it is no report of this command.
    OTHERS = {"auto-h200.json": "the description of a machine: --machine FILE of 'stencil plan'",
              "auto-h200-x2.json": "the description of a machine: --machine FILE of 'stencil plan'"}

    def test_every_record(self):
        files = sorted((ROOT / "bench" / "records").rglob("*.json"))
        self.assertGreater(len(files), 20)
        for file in files:
            with self.subTest(file.name):
                if file.name in self.OTHERS:
                    self.refused(65, f"{file.name}': this is {self.OTHERS[file.name]}", "--from", str(file))
                    continue
                root = json.loads(file.read_text(encoding="utf-8"))
                text = self.ok("--from", str(file))
                self.assertLessEqual(max(map(len, text.splitlines())), 80)
                self.assertEqual(re.findall(r"(?m)^Benchmark +(\S+)$", text),
                                 [result["benchmark"] for report in (root if isinstance(root, list) else [root])
                                  for result in report["results"]])
                self.assertFalse(re.findall(r"(?m)^.*( -){4}$", text))  # rows that say nothing

    def test_other_json_says_what_it_is(self):
        problem = self.path("p.h5")

        def make(*arguments):
            done = subprocess.run([STENCIL, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                                  encoding="utf-8", timeout=300, cwd=self.folder,
                                  env=dict(os.environ, XDG_CACHE_HOME=self.path("cache")))
            self.assertEqual(done.returncode, 0, done)

        run = ("run", problem, "--steps", "3", "--device", "cpu", "--effort", "estimate", "--quiet")
        make("new", problem, "--problem", "laplace", "--size", "9x9", "--quiet")
        make(*run, "--json", "run.json", "--trace", "trace.json")
        make("info", "--json", "info.json")
        make("plan", problem, "--json", "plan.json")
        make("verify", self.path("p.out.h5"), "--json", "verify.json")
        make("compare", problem, problem, "--json", "compare.json")
        for kind in ("wisdom", "calibration"):
            with open(self.path(f"{kind}.json"), "w", encoding="utf-8") as file:
                json.dump({"schema_version": 1, "kind": kind, "version": "0", "body": {}}, file)
        wanted = {"run": "the report of a run", "trace": "what --trace of 'stencil run' wrote",
                  "info": "the description of a machine", "plan": "what 'stencil plan --json' wrote",
                  "verify": "what 'stencil verify --json' wrote", "compare": "what 'stencil compare --json' wrote",
                  "wisdom": "wisdom: 'stencil wisdom FILE' shows it", "calibration": "a calibration"}
        for name, words in wanted.items():
            file = self.path(f"{name}.json")
            self.refused(65, f"--from: '{file}': this is {words}", "--from", file)
            self.refused(65, f"--against: '{file}': this is {words}", "copy", *SMALL, "--against", file)

    def test_list_of_reports(self):
        """Read as one: all results, each on its own; plots of the second one of a name have another name."""
        root = json.loads(was("json"))
        again = json.loads(was("json"))
        again.update(command_line="another command", version="9.8.7")
        for report, threads in ((root, 2), (again, 3)):
            for result in report["results"]:
                result["parameters"]["threads"] = threads
                for row in result["rows"]:
                    row["samples"] = [threads * sample for sample in row["samples"]]
        with open(self.path("list.json"), "w", encoding="utf-8") as file:
            json.dump([root, again], file)
        text = self.ok("--from", self.path("list.json"))
        self.assertEqual(text.count("Benchmark "), 2 * reports()["printed"].count("Benchmark "))
        markdown = self.ok("copy", "--from", self.path("list.json"), "--md", "-")
        self.assertIn("; another command`\n", markdown)
        self.assertIn("; 9.8.7, ", markdown)
        self.assertEqual(markdown.count("\n## copy\n"), 2)
        # Each is compared with the one that has its parameters: samples of the other one are 1.5 times as large.
        text = self.ok("copy", "--from", self.path("list.json"), "--against", self.path("list.json"))
        self.assertEqual((text.count("Verdicts "), text.count("+0.0%"), text.count("Not done")), (2, 8, 0))
        if HAVE_MATPLOTLIB:
            self.ok("copy", "--from", self.path("list.json"), "--plot", self.path("two"), "--quiet")
            self.assertEqual(sorted(os.listdir(self.path("two"))), ["copy-2-box.png", "copy-box.png"])
            self.refused(73, "copy-box.png", "copy", "--from", self.path("list.json"), "--plot", self.path("two"))
            os.remove(self.path("two/copy-box.png"))
            self.refused(73, "copy-2-box.png", "copy", "--from", self.path("list.json"), "--plot", self.path("two"))
        for text in ("[]", "[{}]", "[1]"):
            with open(self.path("bad.json"), "w", encoding="utf-8") as file:
                file.write(text)
            self.refused(65, "not written by 'stencil bench --json'", "--from", self.path("bad.json"))

    def test_against_another(self):
        run = reports()["json"]
        text = self.ok("copy", "--from", run, "--against", run, "--fail", "--margin", "100000000")
        self.assertIn("4 same", text)
        self.assertIn("+0.0%", text)

    def test_against_names_rows_in_full(self):
        root = json.loads(was("json"))
        grid = next(result for result in root["results"] if result["benchmark"] == "grid")
        for threads, row in zip((256, 512, 1024), grid["rows"]):
            row.update(name="multi-grid of a long name", axes={"blocks_per_sm": 32, "threads": threads})
        with open(self.path("long.json"), "w", encoding="utf-8") as file:
            json.dump(root, file)
        text = self.ok("grid", "--from", self.path("long.json"), "--against", self.path("long.json"))
        for threads in (256, 512, 1024):
            self.assertRegex(text, rf"(?m)^multi-grid of a long name, blocks_per_sm 32, threads {threads} +\w+ +\+0\.0%")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_refusals(self):
        self.refused(66, "no-such-file': cannot be read: No such file", "--from", self.path("no-such-file"))
        with open(self.path("bad.json"), "w", encoding="utf-8") as file:
            file.write('{"schema_version": 2, "results": []}')
        self.refused(65, "bad.json': \"command_line\" is missing", "--from", self.path("bad.json"))
        run = reports()["json"]
        self.refused(64, "did you mean 'grid'", "grd", "--from", run)
        self.refused(64, "holds no benchmark 'sweep'", "sweep", "--from", run)
        self.refused(64, "--json", "--from", run, "--json", self.path("x.json"))
        for option in (["--samples", "5"], ["--device", "cpu"], ["--max-noise", "3"], ["--gpus", "1"], ["--size", "9x9"],
                       ["--inject-fault"], ["--omega", "1"]):
            self.refused(64, f"{option[0]} means nothing", "--from", run, *option)
        self.refused(73, "run.json", "--from", run, "--md", run, "--force")
        self.refused(73, "run.csv", "--from", run, "--csv", reports()["csv"])


if __name__ == "__main__":
    unittest.main()
