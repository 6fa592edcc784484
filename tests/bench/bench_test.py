"""`stencil bench`: table, JSON and refusals of the built command ($STENCIL)."""
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import unittest

STENCIL = os.environ["STENCIL"]
ROOT = pathlib.Path(__file__).resolve().parents[2]


def names_of(list_file, macro):
    """The names of an X-macro list, in order: the tests grow with it."""
    text = (ROOT / list_file).read_text(encoding="utf-8")
    return re.findall(rf'^{macro}\((?:\w+, )?"?([\w-]+)"?, ', text, re.MULTILINE)


BENCHMARKS = names_of("bench/benchmarks.def", "STENCIL_BENCHMARK")
BARRIERS = names_of("sync/barriers.def", "STENCIL_BARRIER")
SMALL = ["--device", "cpu", "--size", "130x70", "--samples", "5", "--iterations", "3", "--threads", "2"]


def call(*arguments):
    return subprocess.run([STENCIL, "bench", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", timeout=300)


class BenchTest(unittest.TestCase):
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

    def test_list(self):
        names = [line.split()[0] for line in self.ok("--list").splitlines() if not line.startswith(" ")]
        self.assertEqual(names, BENCHMARKS)
        self.assertGreaterEqual(len(names), 3)

    def test_table_fits_80_columns(self):
        text = self.ok(*SMALL)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        for word in ("memcpy", "streaming", "loop", "relaunch", "grid", "Verified"):
            self.assertIn(word, text)
        self.assertEqual(text.count("Benchmark "), len(BENCHMARKS))

    def test_every_barrier_is_timed(self):
        root = json.loads(self.ok("barrier", *SMALL, "--json", "-"))
        timed = [row["name"] for row in root["results"][0]["rows"]]
        self.assertEqual(timed, BARRIERS)

    def test_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            text = self.ok("sweep", "copy", *SMALL, "--precision", "float32", "--json", path)
            self.assertIn("relaunch", text)
            with open(path, encoding="utf-8") as file:
                root = json.load(file)
        self.check(root)

    def check(self, root):
        self.assertEqual(root["schema_version"], 1)
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

    def test_json_on_standard_output_stands_alone(self):
        root = json.loads(self.ok("copy", *SMALL, "--json", "-"))
        self.assertEqual([r["benchmark"] for r in root["results"]], ["copy"])

    def test_refusals(self):
        self.refused(64, "did you mean 'sweep'", "swep")
        self.refused(64, "unknown benchmark 'nothing-like-it'", "nothing-like-it")
        self.refused(64, "--samples", "copy", "--samples", "0")
        self.refused(64, "contradict", "copy", "--device", "cpu", "--gpus", "1")
        self.refused(65, "j3d7pt", "sweep", *SMALL, "--stencil", "j3d7pt")
        self.refused(73, "no-such-folder", "copy", *SMALL, "--json", "/no-such-folder/out.json")


if __name__ == "__main__":
    unittest.main()
