"""`stencil run --attribute` on emulated GPUs, where memory that was freed does not exist any more and copies arrive late:
batches with notes, and those after them, touch what is theirs. The times say nothing."""
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
        for problem, sweep, sync in (("poisson", "stream", "grid"), ("poisson", "stream", "graph"),
                                     ("heat", "resident", "neighbor")):
            with self.subTest(problem=problem, sweep=sweep, sync=sync), tempfile.TemporaryDirectory() as self.directory:
                made = self.stencil("new", "p.h5", "--problem", problem, "--size", "64x64", "--quiet")
                self.assertEqual(made.returncode, 0, made.stdout)
                done = self.stencil("p.h5", "--device", "gpu", "--sweep", sweep, "--sync", sync, "--steps", "64",
                                    "--no-output", "--attribute", "--json", "r.json")
                self.assertIn(done.returncode, (0, 2), done.stdout)
                with open(os.path.join(self.directory, "r.json"), encoding="utf-8") as file:
                    record = json.load(file)
                self.assertIn("attribution", record, record["notes"])
                self.assertGreater(record["attribution"]["inside"]["step_us"], 0)


if __name__ == "__main__":
    unittest.main()
