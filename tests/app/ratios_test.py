"""bench/ratios.py: every group runs in small on a CPU, and another result is found. bench/sizes.py: sizes beside others."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from harness import STENCIL, CommandTest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
SMALL = ["--shrink", "32", "--seconds", "0.001", "--repeats", "1"]
CPU = ["--", "--device", "cpu", "--threads", "2"]


class RatiosTest(CommandTest):
    def ratios(self, *arguments, script="ratios.py", **environment):
        return subprocess.run([sys.executable, "-B", str(BENCH / script), *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, cwd=self.directory, encoding="utf-8", timeout=300, check=False,
                              env={**os.environ, "STENCIL": STENCIL, **environment})

    def rows(self, *arguments):
        done = self.ratios(*SMALL, *arguments, "--json", "r.json", *CPU)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        with open(self.path("r.json"), encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        os.remove(self.path("r.json"))
        return rows

    def test_groups(self):
        for group, only, runs in (("checks", "pipeline j2d9pt", ["unchecked", "checked"]), ("poisson", "33", ["auto"]),
                                  ("loops", "mirror 128² float32", ["graph", "grid", "central", "neighbor"]),
                                  ("classes", "stream 32² float64", ["plain", "blobs", "disc", "cells", "two"]),
                                  ("classes", "heat 256² float32", ["plain", "walls"]),
                                  ("coefficients", "stream 16³", ["plain", "k"]), ("times", "naive", ["constant", "changing"]),
                                  ("scrub", "16³", ["off", "on"])):
            rows = self.rows(group, "--only", only)
            self.assertEqual([row["run"] for row in rows[:len(runs)]], runs)
            self.assertEqual(len(rows) % len(runs), 0)
            for row in rows:
                self.assertEqual(row["step_us"], min(row["samples_us"]))
                self.assertGreater(row["step_us"], 0)
            self.assertEqual(rows[0]["ratio"], 1)
            self.assertAlmostEqual(rows[-1]["ratio"] * rows[-1]["fair"],
                                   rows[-len(runs)]["step_us"] / rows[-1]["step_us"])

    def test_another_build_in_turns(self):
        rows = self.rows("checks", "--only", "pipeline j2d5pt 256² float32", "--against", STENCIL)
        self.assertEqual([row["run"] for row in rows], ["unchecked"] * 2 + ["checked"] * 2)
        self.assertEqual(rows[1]["of_first_program"], rows[0]["step_us"] / rows[1]["step_us"])

    def test_sizes(self):
        """A size is compared with the better one of those beside it; --least 100 is more than any reaches."""
        asked = ["--sets", "j3d7pt", "--precisions", "float32", "--sizes", "24", "20", "32", "--repeats", "2",
                 "--seconds", "0.001"]
        done = self.ratios(*asked, "--json", "s.json", "--plot", "s.png", "--least", "0.001", *CPU, script="sizes.py")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertIn("0 of 3 sizes", done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        with open(self.path("s.json"), encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        self.assertEqual([row["edge"] for row in rows], [20, 24, 32])
        rate = [row["gcells_per_s"] for row in rows]
        for row in rows:
            self.assertAlmostEqual(row["gcells_per_s"], 1e-3 * (row["edge"] - 2) ** 3 / min(row["samples_us"]))
        for row, beside in zip(rows, (rate[1], max(rate[0], rate[2]), rate[1])):
            self.assertAlmostEqual(row["beside"], row["gcells_per_s"] / beside)
        with open(self.path("s.png"), "rb") as file:
            self.assertEqual(file.read(4), b"\x89PNG")
        done = self.ratios(*asked, "--least", "100", *CPU, script="sizes.py")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("3 of 3 sizes", done.stdout)

    def test_another_result_is_found(self):
        """A stencil whose results of the pipeline sweep have another digest."""
        program = self.path("wrong")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"""#!{sys.executable}
import subprocess, sys
code = subprocess.run(["{STENCIL}", *sys.argv[1:]]).returncode
if "-o" in sys.argv and "pipeline" in sys.argv:
    import h5py
    with h5py.File(sys.argv[sys.argv.index("-o") + 1], "r+") as file:
        file.attrs["digest_u"] = "0"
sys.exit(code)
""")
        os.chmod(program, 0o755)
        done = self.ratios(*SMALL, "loops", "--only", "plain 128² float32", *CPU, STENCIL=program)
        self.assertEqual(done.returncode, 70, done)
        self.assertIn("gives other cells than the plain sweep", done.stderr)
        done = self.ratios("--sets", "j2d5pt", "--sizes", "64", "--seconds", "0.001", *CPU, "--sweep", "pipeline",
                           script="sizes.py", STENCIL=program)
        self.assertEqual(done.returncode, 70, done)
        self.assertIn("gives other cells than the plain sweep", done.stderr)


if __name__ == "__main__":
    unittest.main()
