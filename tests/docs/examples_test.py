"""docs/examples.md does what it says: its code runs, its results are what its words and pictures show."""
import importlib.util
import os
import pathlib
import re
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy
except ImportError:
    print("skipped: h5py (Debian: python3-h5py) is not installed")
    sys.exit(77)

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def module():
    spec = importlib.util.spec_from_file_location("examples", DOCS / "examples.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


class Examples(unittest.TestCase):
    def test_page(self):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            module().run_page(os.environ["STENCIL"], folder)
            result = {path.name: h5py.File(path)["u"][...] for path in pathlib.Path(folder).glob("*.h5")}
        plate = result["plate.out.h5"]
        numpy.testing.assert_allclose(plate, -plate[:, ::-1], atol=1e-3)
        self.assertEqual((plate.min(), plate.max()), (-1, 1))
        chip, cooler = result["chip.out.h5"], result["cooler.h5"]
        heat = [(field[-2] - field[-1]).sum() for field in (chip, cooler)]
        self.assertAlmostEqual(heat[0] / heat[1], 1, delta=0.02)
        self.assertLess(cooler[-1, 64], chip[-1, 64])
        self.assertGreater(cooler[-1, 0], chip[-1, 0])
        wall = result["wall.out.h5"]
        self.assertAlmostEqual(wall[:, 0].mean(), 24, delta=1)
        self.assertAlmostEqual(wall[:, -1].mean(), 5.5, delta=1)
        self.assertTrue((wall[12:20, 30:66] == 20).all())
        disc = result["disc.out.h5"]
        self.assertLess(numpy.ptp(disc[48, 26:72]), 0.25)
        self.assertEqual((disc.min(), disc.max()), (0, 1))

    def test_pictures(self):
        """Each picture is there, small, and has words for those who don't see it."""
        page = (DOCS / "examples.md").read_text(encoding="utf-8")
        named = re.findall(r"!\[([^]]+)\]\((examples/\w+\.png)\)", page)
        self.assertEqual(sorted(path.name for path in (DOCS / "examples").iterdir()),
                         sorted(pathlib.Path(name).name for _, name in named))
        for words, name in named:
            self.assertGreater(len(words), 40)
            self.assertLess((DOCS / name).stat().st_size, 60000)


if __name__ == "__main__":
    unittest.main()
