"""docs/plot.md does what it says: its commands run, print what stands there, and make the pictures that it shows."""
import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

from page import script

for package in ("h5py", "matplotlib"):
    if importlib.util.find_spec(package) is None:
        print(f"skipped: {package} (Debian: python3-{package}) is not installed")
        sys.exit(77)


class Page(unittest.TestCase):
    maxDiff = None

    def test_page(self):
        page = script("plot")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.assertEqual(page.run(os.environ["STENCIL"], folder), page.PAGE.read_text(encoding="utf-8"))
            made = page.pictures(folder)
            self.assertEqual([path.name for path in made], [path.name for path in page.pictures(page.FOLDER)])
            for path in made:
                self.assertLess(path.stat().st_size, page.MOST, path.name)
                self.assertIn(f"](plot/{path.name})", page.PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
