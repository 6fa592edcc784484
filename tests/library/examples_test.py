"""The examples of the Python module say what they should: sizes smaller than their own, where others compute, too."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
if os.environ.get("STENCIL_SLOW") == "1":
    print("skipped: the interpreter has not the sanitizers' runtime that the library needs")
    sys.exit(77)


class Examples(unittest.TestCase):
    def run_example(self, name, *arguments, needs=()):
        for module in needs:
            if subprocess.run([sys.executable, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False).returncode:
                self.skipTest(f"no {module}")
        done = subprocess.run([sys.executable, "-W", "error::DeprecationWarning:__main__", str(ROOT / "examples" / name),
                               *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONIOENCODING": "utf-8"},
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_heat_movie(self):
        with tempfile.TemporaryDirectory() as folder:
            film = pathlib.Path(folder) / "heat.gif"
            told = self.run_example("heat_movie.py", film, 24, 5, needs=("matplotlib", "PIL"))
            self.assertEqual(film.read_bytes()[:3], b"GIF")
        frames, hottest, lost = re.fullmatch(r"(\d+) frames, at most (\S+) degrees at the end, (\S+) of .*\n", told).groups()
        self.assertEqual(frames, "5")
        self.assertTrue(20 < float(hottest) < 100, told)
        self.assertLess(float(lost), 1e-10)

    def test_multigrid(self):
        """Cycles do not depend on the size, and both solvers find the same."""
        counts = []
        for n in (33, 129):
            told = self.run_example("multigrid.py", n, needs=("scipy",))
            cycles, error, apart = re.search(r"(\d+) cycles.*at most (\S+) from the solution, (\S+) from SciPy", told,
                                             re.DOTALL).groups()
            counts.append(int(cycles))
            self.assertLess(max(float(error), float(apart)), 1e-8)
        self.assertLess(max(counts), 20)
        self.assertLess(abs(counts[0] - counts[1]), 4)

    def test_study(self):
        told = self.run_example("study.py", 200)
        low, high = map(float, re.search(r"the middle has (\S+) to (\S+) degrees", told).groups())
        self.assertTrue(19.99 < low < high < 30, told)


if __name__ == "__main__":
    unittest.main()
