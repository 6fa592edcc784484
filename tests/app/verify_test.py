"""`verify` where not all lines of the reference are in memory: a slab after the other, from a temporary file."""
import json
import os
import unittest

import h5py
from harness import DRAW, CommandTest

SIZE = "300x230"  # some 2.6 MB of the reference's arrays, in four slabs of which a pass makes eleven steps
PLAIN = ("-q", "--threads", 1, "--sync", "openmp", "--sweep", "stream")


class Slabs(CommandTest):
    def found(self, *arguments):
        """What `verify` writes about o.h5."""
        self.call("verify", "o.h5", "-q", "-f", "--json", "v.json", *arguments)
        with open(self.path("v.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_what_differs(self):
        """Passes of 11 and 9 steps, of lines that go round; the residuals of three of these."""
        self.ok("new", "p.h5", "--stencil", "j2d5pt", "--boundary", "periodic", "--initial", "random", "--size", SIZE,
                "-q")
        self.ok("p.h5", *PLAIN, "--steps", 31, "--rtol", 1e-9, "--check-every", 10, "-o", "o.h5", code=2)
        self.ok("verify", "o.h5", "--memory", 1, "--threads", 1)
        with h5py.File(self.path("o.h5"), "r+") as file:
            file["u"][40, 69] += 1
            file["u"][229, 0] += 1
            file["residual"][1] *= 2
        whole = self.found()
        self.assertEqual((whole["u"]["differing"], whole["u"]["first"], whole["residual"]["differing"]),
                         (2, 40 * 300 + 69, 1))
        self.assertEqual(self.found("--memory", 1, "--threads", 1), whole)

    def test_a_source_and_walls(self):
        """The scale, rows of walls and the range of coefficients are those of all slabs together."""
        self.ok("new", "p.h5", "--problem", "poisson", "--initial", "random", "--size", SIZE, "-q")
        self.ok("p.h5", *PLAIN, "--rtol", "1e-2", "--steps", 32, "-o", "o.h5", code=2)
        self.ok("verify", "o.h5", "--memory", 1, "--threads", 1)
        examples = ("heated-wall", "chip", "two-materials", "switched-source", "masonry", "plate-with-hole")
        for example in examples if DRAW == "all" else examples[::4]:
            self.ok("new", "p.h5", "--example", example, "--size", SIZE, "-fq")
            self.call("p.h5", *PLAIN, "--steps", 13, "-fo", "o.h5")
            self.ok("verify", "o.h5", "--memory", 1, "--threads", 1)

    def test_no_room_for_a_file(self):
        self.ok("new", "p.h5", "--problem", "heat", "--initial", "random", "--size", SIZE, "-q")
        self.ok("p.h5", *PLAIN, "--steps", 2, "-o", "o.h5")
        self.refused(73, ["TMPDIR"], "verify", "o.h5", "--memory", 1,
                     env={**os.environ, "TMPDIR": self.path("nowhere")})


if __name__ == "__main__":
    unittest.main()
