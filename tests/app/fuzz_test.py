"""A fixed sample of damaged and strange files (fuzz.py): each command ends with a documented exit code, one line where
it fails, and nothing half made. `fuzz.py --files 20000 --seed N` tries more of them."""
import json
import os
import pathlib
import unittest

from draw import DRAW
from harness import STENCIL
from fuzz import Fuzzer

MACHINE = pathlib.Path(__file__).parent / "h200-x8.json"
SEED = 1
FILES, JSON_FILES = (360, 40) if DRAW == "all" else (180, 20)


@unittest.skipIf(os.environ.get("STENCIL_SLOW") == "1", "what HDF5 does to its memory ends a program with sanitizers")
class FuzzTest(unittest.TestCase):
    def test_sample(self):
        with Fuzzer(STENCIL, SEED) as fuzzer:
            for number in range(FILES):
                fuzzer.try_file(number)
            fuzzer.clear({})
            fuzzer.make_json_bases(json.loads(MACHINE.read_text(encoding="utf-8")))
            for number in range(JSON_FILES):
                fuzzer.try_json(number)
        summary = fuzzer.summary()
        print(summary)
        self.assertEqual(fuzzer.failures, [], summary)
        self.assertGreaterEqual(fuzzer.accepted, fuzzer.files // 5, "too few of the files are accepted")


if __name__ == "__main__":
    unittest.main()
