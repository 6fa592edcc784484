"""bench/ratios.py: every group runs in small on a CPU, and another result is found."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from harness import STENCIL, CommandTest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/ratios.py"
SMALL = ["--shrink", "32", "--seconds", "0.001", "--repeats", "1"]
CPU = ["--", "--device", "cpu", "--threads", "2"]


class RatiosTest(CommandTest):
    def ratios(self, *arguments, **environment):
        return subprocess.run([sys.executable, "-B", str(SCRIPT), *arguments], stdin=subprocess.DEVNULL,
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


if __name__ == "__main__":
    unittest.main()
