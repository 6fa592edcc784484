"""README shows what `stencil plan` predicts for a machine of the records: those figures are what it prints."""
import os
import re
import subprocess
import unittest

from page import ROOT

BLOCK = re.compile(r"^```\n(\$ stencil plan .*?)^```$", re.DOTALL | re.MULTILINE)


class Readme(unittest.TestCase):
    maxDiff = None

    def test_plans(self):
        block = BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))[1]
        printed = ""
        for line in re.findall(r"^\$ stencil (.*)$", block, re.MULTILINE):
            done = subprocess.run([os.environ["STENCIL"], *line.split()], capture_output=True, encoding="utf-8", check=False,
                                  cwd=ROOT)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            printed += f"$ stencil {line}\n{done.stdout}"
        self.assertEqual(block, printed)


if __name__ == "__main__":
    unittest.main()
