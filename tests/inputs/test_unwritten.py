"""Cells that nobody wrote, for which HDF5 gives its fill value and no error."""

import os
import subprocess
import sys
import unittest

try:
    import h5py
    import numpy as np
except ImportError:
    print("skipped: h5py is not installed (Debian: python3-h5py)")
    sys.exit(77)

from folder import FolderTest  # noqa: E402

STENCIL = os.environ["STENCIL"]
BAD_DATA = 65
SHAPE = (20, 30)
CELLS = SHAPE[0] * SHAPE[1]


class Unwritten(FolderTest):
    def make(self, fill, name="p.h5", **options):
        """fill(file) makes /u."""
        with h5py.File(self.path(name), "w", **options) as file:
            fill(file)
            file.attrs["stencil"] = "j2d5pt"

    def call(self, *options):
        done = subprocess.run([STENCIL, "--device", "cpu", "--steps", "2", "--force", *options, "p.h5"],
                              cwd=self.folder, capture_output=True, text=True, timeout=300)
        done.said = " ".join(done.stdout.split())
        return done

    def refused(self, count):
        done = self.call()
        self.assertEqual(done.returncode, BAD_DATA, done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn(f"'p.h5': {count} of {CELLS} cells of /u were never written", done.stderr)
        self.assertIn("--allow-unwritten", done.stderr)
        done = self.call("--allow-unwritten")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"Note {count} of {CELLS} cells of /u were never written", done.said)

    def accepted(self):
        done = self.call()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("never written", done.said)

    def raw(self, file, name="u", alloc=None, layout=None):
        """A dataset by the low-level interface, which h5py's own does not reach."""
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if alloc is not None:
            create.set_alloc_time(alloc)
        if layout is not None:
            create.set_layout(layout)
        return h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple(SHAPE), create)

    def test_contiguous(self):
        self.make(lambda file: file.create_dataset("u", SHAPE, "f8"))
        self.refused(CELLS)
        self.make(lambda file: file.create_dataset("u", data=np.zeros(SHAPE)))
        self.accepted()

    def test_space_taken_beforehand(self):
        """Nobody can tell what was written there."""
        self.make(lambda file: self.raw(file, alloc=h5py.h5d.ALLOC_TIME_EARLY))
        self.accepted()
        self.make(lambda file: self.raw(file, layout=h5py.h5d.COMPACT))
        self.accepted()

    def test_chunks(self):
        """With all indexes of chunks that HDF5 has; cells of chunks at the edges count as far as /u goes."""
        for libver in ("earliest", "latest"):
            for storage in ({}, {"compression": "gzip"}, {"maxshape": (None, 30)}, {"maxshape": (None, None)},
                            {"fillvalue": -999.0}):
                def partly(file, storage=storage):
                    u = file.create_dataset("u", SHAPE, "f8", chunks=(8, 16), **storage)
                    u[0:8, :] = 1.0
                    u[8:9, 16:17] = 1.0

                with self.subTest(libver=libver, storage=storage):
                    self.make(partly, libver=libver)
                    self.refused(CELLS - 8 * 30 - 8 * 14)
                    self.make(lambda file: file.create_dataset("u", SHAPE, "f8", chunks=(8, 16), **storage),
                              libver=libver)
                    self.refused(CELLS)
                    self.make(lambda file: file.create_dataset("u", data=np.ones(SHAPE), chunks=(8, 16), **storage),
                              libver=libver)
                    self.accepted()

    def test_many_chunks(self):
        """Chunks are counted from the side where there are fewer."""
        def partly(file):
            u = file.create_dataset("u", SHAPE, "f8", chunks=(2, 2))
            u[4:6, 4:6] = u[10, 29] = 1.0

        self.make(partly)
        self.refused(CELLS - 8)

    def test_one_chunk(self):
        for libver in ("earliest", "latest"):
            self.make(lambda file: file.create_dataset("u", SHAPE, "f8", chunks=SHAPE), libver=libver)
            self.refused(CELLS)

    def virtual(self, *parts, maxshape=None):
        """parts: (region of /u, file, dataset, its shape, region of it)."""
        def fill(file):
            layout = h5py.VirtualLayout(SHAPE, "f8", maxshape=maxshape)
            for region, name, dataset, shape, taken in parts:
                layout[region] = h5py.VirtualSource(name, dataset, shape)[taken]
            file.create_virtual_dataset("u", layout, fillvalue=0)

        self.make(fill)

    def test_virtual(self):
        everything = np.s_[:, :]
        self.make(lambda file: file.create_dataset("u", data=np.ones(SHAPE)), "full.h5")
        self.make(lambda file: file.create_dataset("u", SHAPE, "f8"), "empty.h5")

        def partly(file):
            u = file.create_dataset("u", SHAPE, "f8", chunks=(10, 15))
            u[:10, :15] = 1.0

        self.make(partly, "partly.h5")
        self.virtual((everything, "full.h5", "u", SHAPE, everything))
        self.accepted()
        self.virtual((np.s_[0:5, :], "full.h5", "u", SHAPE, np.s_[0:5, :]),
                     (np.s_[4:10, 3:30], "full.h5", "u", SHAPE, np.s_[0:6, 3:30]))  # they overlap
        self.refused(CELLS - 5 * 30 - 5 * 27)
        self.virtual((everything, "empty.h5", "u", SHAPE, everything))
        self.refused(CELLS)
        self.virtual((everything, "partly.h5", "u", SHAPE, everything))
        self.refused(CELLS - 10 * 15)
        self.virtual((np.s_[0:10, 0:30], "partly.h5", "u", SHAPE, np.s_[0:10, 0:30]),
                     (np.s_[10:20, 0:30], "full.h5", "u", SHAPE, np.s_[10:20, 0:30]))
        self.refused(10 * 15)
        self.virtual((np.s_[0:10, 0:15], "partly.h5", "u", SHAPE, np.s_[0:10, 0:15]),
                     (np.s_[10:20, 0:15], "full.h5", "u", SHAPE, np.s_[10:20, 0:15]),
                     (np.s_[0:20, 15:30], "full.h5", "u", SHAPE, np.s_[0:20, 15:30]))
        self.accepted()

    def test_external(self):
        """It has a check of its own: a file that is too short."""
        with open(self.path("values"), "wb") as values:
            values.write(np.ones(SHAPE).tobytes())
        self.make(lambda file: file.create_dataset("u", SHAPE, "f8", external=[(self.path("values"), 0, CELLS * 8)]))
        self.accepted()

    def test_sources(self):
        for name, problem in (("b", None), ("f", "poisson")):
            with self.subTest(name):
                self.make(lambda file: (file.create_dataset("u", data=np.ones(SHAPE)),
                                        file.create_dataset(name, SHAPE, "f8")))
                if problem is not None:
                    with h5py.File(self.path("p.h5"), "a") as file:
                        del file.attrs["stencil"]
                        file.attrs["problem"] = problem
                done = self.call()
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"Note {CELLS} of {CELLS} cells of /{name} were never written", done.said)

    def test_results_are_written(self):
        self.make(lambda file: file.create_dataset("u", data=np.zeros(SHAPE)))
        self.accepted()
        os.rename(self.path("p.out.h5"), self.path("p.h5"))
        self.accepted()


if __name__ == "__main__":
    unittest.main()
