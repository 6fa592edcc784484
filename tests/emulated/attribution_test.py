"""`stencil run --attribute` on emulated GPUs, where memory that was freed does not exist any more and copies arrive late:
batches with notes, and those after them, touch what is theirs. Of the times only what no clock explains is an error."""
import json
import os
import subprocess
import tempfile
import unittest

STENCIL = os.environ["STENCIL"]


class Attribution(unittest.TestCase):
    def stencil(self, *arguments):
        return subprocess.run([STENCIL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                              cwd=self.directory, env=os.environ | {"STENCIL_EMULATED_GPUS": "1"})

    def test_batches_end(self):
        for problem, size, sweep, sync in (("poisson", "64x64", "stream", "grid"), ("poisson", "64x64", "stream", "graph"),
                                           ("heat", "64x64", "resident", "neighbor"), ("heat", "40x32x32", "pipeline", "grid")):
            with self.subTest(problem=problem, sweep=sweep, sync=sync), tempfile.TemporaryDirectory() as self.directory:
                made = self.stencil("new", "p.h5", "--problem", problem, "--size", size, "--quiet")
                self.assertEqual(made.returncode, 0, made.stdout)
                done = self.stencil("p.h5", "--device", "gpu", "--sweep", sweep, "--sync", sync, "--steps", "64",
                                    "--no-output", "--attribute", "--json", "r.json")
                self.assertIn(done.returncode, (0, 2), done.stdout)
                with open(os.path.join(self.directory, "r.json"), encoding="utf-8") as file:
                    record = json.load(file)
                self.assertIn("attribution", record, record["notes"])
                inside = record["attribution"]["inside"]
                self.assertGreater(inside["step_us"], 0)
                # Clocks of multiprocessors differ by 1000 s, and a block of a launch is anywhere.
                for name in ("launch", "load", "latency", "imbalance", "halo", "checks", "store"):
                    self.assertLess(abs(inside[name + "_us"]), 1e6, name)


if __name__ == "__main__":
    unittest.main()
