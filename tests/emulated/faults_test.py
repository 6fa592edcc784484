"""Faults that were planted in copies of the sources are found by the tests on the emulated GPU.

$FAULTS names them: program=tests of it, separated by semicolons. Without the fault the same tests pass
(conformance_j2d5pt, conformance_j3d7pt, deep_classes_float32).
"""

import os
import pathlib
import subprocess
import unittest

SEEDS = 3  # an order of threads need not show a fault


class Faults(unittest.TestCase):
    def test_faults_are_found(self):
        faults = [fault.split("=") for fault in os.environ["FAULTS"].split(";")]
        self.assertTrue(faults)
        for program, tests in faults:
            with self.subTest(pathlib.Path(program).name):
                self.assertTrue(any(self.finds(program, tests, seed) for seed in range(1, SEEDS + 1)))

    def finds(self, program, tests, seed):
        """Whether a run ends as one does that has found something wrong, with words that say so."""
        ran = subprocess.run([program, "gpu", tests], capture_output=True, text=True, timeout=200,
                             env=os.environ | {"STENCIL_EMULATED_SEED": str(seed)})
        said = ran.stdout + ran.stderr
        self.assertIn("RUN", said)
        return ran.returncode != 0 and (" instead of " in said or "emulated GPU: " in said)


if __name__ == "__main__":
    unittest.main()
