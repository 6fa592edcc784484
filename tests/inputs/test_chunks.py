"""Packed chunks, which are unpacked without HDF5: the same cells as h5py reads, and none that are not there."""
import itertools
import os
import sys
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "app"))
import numpy

from harness import CommandTest, h5py

RUN = ("--device", "cpu", "--effort", "estimate", "--force", "--steps", 0, "-q")


class Chunks(CommandTest):
    def problem(self, values, name="p.h5", **how):
        with h5py.File(self.path(name), "w") as file:
            file.create_dataset("u", data=values, **how)
            file.attrs["problem"] = "laplace"
        return name

    def reads_the_same(self, what):
        with h5py.File(self.path("p.h5")) as file:
            wanted = file["u"][()]
        for threads in (1, 2):
            self.ok("p.h5", *RUN, "--threads", threads)
            found = self.read("p.out.h5")
            numpy.testing.assert_array_equal(found, wanted.astype(found.dtype), what)
        self.ok("compare", "p.h5", "p.out.h5", "--atol", 0)

    def test_filters_types_and_shapes(self):
        rng = numpy.random.default_rng(1)
        filters = [dict(zip(("compression", "shuffle", "fletcher32"), choice))
                   for choice in itertools.product(("gzip",), (False, True), (False, True))]
        shapes = [((40, 33), (7, 10)), ((40, 33), (40, 33)), ((40, 33), (1, 33)), ((13, 14, 15), (4, 5, 6))]
        for number, (dtype, how, (shape, chunks)) in enumerate(itertools.product(
                ("<f8", ">f8", "<f4", "<f2", "<i4", ">u2", "i1"), filters, shapes)):
            if number % 3:  # a sample
                continue
            self.problem((rng.random(shape) * 100).astype(dtype), chunks=chunks, **how)
            self.reads_the_same((dtype, how, shape, chunks))

    def test_chunks_that_are_missing(self):
        for value in (None, 2.5):
            with h5py.File(self.path("p.h5"), "w") as file:
                u = file.create_dataset("u", (30, 30), "f8", chunks=(10, 8), compression="gzip", fillvalue=value)
                u[3:15, 3:15] = 7
                file.attrs["problem"] = "laplace"
            self.ok("p.h5", *RUN, "--allow-unwritten")
            numpy.testing.assert_array_equal(self.read("p.out.h5"), self.read("p.h5"))

    def test_filters_that_a_chunk_has_not_passed(self):
        values = numpy.arange(400.0).reshape(20, 20)
        self.problem(values, chunks=(10, 20), compression="gzip", shuffle=True)
        with h5py.File(self.path("p.h5"), "a") as file:  # shuffle is the first filter, gzip the second one
            file["u"].id.write_direct_chunk((0, 0), (-values[:10]).tobytes(), 0b11)
            file["u"].id.write_direct_chunk((10, 0), zlib.compress((-values[10:]).tobytes()), 0b01)
        numpy.testing.assert_array_equal(self.read("p.h5"), -values)
        self.reads_the_same("masks")

    def test_sizes_that_are_none(self):
        for content, wanted in ((zlib.compress(bytes(64)), "fewer bytes"), (zlib.compress(bytes(9000)), "more bytes"),
                                (b"x", "inflate() failed"), (zlib.compress(bytes(8192))[:-9], "inflate() failed"),
                                (b"x" * 20000, "larger than a chunk")):
            self.problem(numpy.zeros((32, 32)), chunks=(32, 32), compression="gzip")
            with h5py.File(self.path("p.h5"), "a") as file:
                file["u"].id.write_direct_chunk((0, 0), content)
            for command in ((*RUN,), ("--dry-run",)):
                if command[0] == "--dry-run":
                    self.ok("p.h5", *command)
                else:
                    self.refused(65, ["'p.h5'", "/u", wanted], "p.h5", *command)
            self.refused(65, ["'p.h5'", "/u", wanted], "compare", "p.h5", "p.h5")

    def test_checksum(self):
        self.problem(numpy.arange(1024.0).reshape(32, 32), chunks=(16, 32), compression="gzip", fletcher32=True)
        with h5py.File(self.path("p.h5"), "a") as file:
            chunk = file["u"].id
            mask, content = chunk.read_direct_chunk((16, 0))
            self.assertEqual(mask, 0)
            chunk.write_direct_chunk((16, 0), content[:-1] + bytes([content[-1] ^ 1]))
        self.refused(65, ["Fletcher32"], "p.h5", *RUN)


if __name__ == "__main__":
    unittest.main()
