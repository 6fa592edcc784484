"""Cells with more rows of weights than bytes name: palettes of 256 rows, obstacles beside points of radius 2, walls whose
numbers differ. `verify` makes all of it again with its own plain code."""
import json
import pathlib
import unittest

import numpy

from class_test import made
from harness import CommandTest, field, h5py

BAD_DATA, UNAVAILABLE = 65, 69
RUN = ("--device", "cpu", "--force", "--effort", "estimate", "--threads", 2)
H200 = pathlib.Path(__file__).with_name("h200-x8.json")
DIAMOND = numpy.array([(y, x) for y in range(-2, 3) for x in range(-2, 3) if abs(y) + abs(x) <= 2])


def mix(z):
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94d049bb133111eb)
    return z ^ (z >> numpy.uint64(31))


def digest(values):
    """The digest of docs/format.md, of whole numbers."""
    v = numpy.asarray(values).ravel().astype("u8")
    a = mix(v ^ (numpy.arange(1, v.size + 1, dtype="u8") * numpy.uint64(0x9e3779b97f4a7c15)))
    return f"{int(a.sum()):016x}{int(mix(a ^ numpy.uint64(0x243f6a8885a308d3)).sum()):016x}"


class Wide(CommandTest):
    def solved(self, name, *arguments, rows=253, code=0):
        """The field of a run that has as many rows at least, and is verified."""
        self.ok(name, *RUN, "-o", "r.h5", "--json", "r.json", *arguments, code=code)
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.rows = json.load(file)["problem"]["class_rows"]
        self.assertGreaterEqual(self.rows, rows)
        self.ok("verify", "r.h5", name)
        return self.read("r.h5")

    def problem(self, u, data, name="p.h5", **attributes):
        return self.write(name, u, {"steps": 40, "check_every": 7, **attributes}, data)

    def obstacles(self, name="p.h5", **attributes):
        """A problem whose 25 points reach two cells far around obstacles, which makes thousands of rows."""
        return self.problem(field(90, 131), {"insulated": field(90, 131) < 0.3}, name, stencil="j2d25pt", **attributes)

    def test_obstacles(self):
        """Points of radius 2 beside random obstacles: every way gives the same bits."""
        self.obstacles(boundary=["periodic", "mirror"])
        first = self.solved("p.h5", "--sweep", "naive", rows=1000)
        self.same_every_way("p.h5", RUN, first)
        text = " ".join(self.ok("p.h5", *RUN, "-o", "r.h5").stdout.split())
        self.assertIn(f"with weights of their own in {self.rows // 1000} {self.rows % 1000:03} rows", text)

    def test_points(self):
        """13 points in 2D and 3D, and 9 in 2D with walls of several kinds, in both precisions."""
        weights = numpy.random.default_rng(4).uniform(-0.07, 0.07, 13)
        walls = {"boundary": "mirror", "boundary_x-": "flux", "flux_x-": 0.3, "boundary_x+": "exchange",
                 "exchange_x+": 0.4, "ambient_x+": 0.5, "boundary_y-": "exchange-node", "exchange_y-": 0.2,
                 "ambient_y-": -1.0}
        for precision in ("float32", "float64"):
            with self.subTest(precision=precision):
                self.problem(field(70, 90), {"stencil/offsets": DIAMOND, "stencil/weights": weights,
                                             "insulated": field(70, 90) < 0.2}, stencil=None)
                self.solved("p.h5", "--precision", precision)
                self.problem(field(11, 33, 40), {"insulated": field(11, 33, 40) < 0.15}, stencil="j3d13pt",
                             boundary=["fixed", "periodic", "mirror"])
                self.solved("p.h5", "--precision", precision, "--parts", 3, "--sync", "grid")
                self.problem(field(150, 200), {"insulated": field(150, 200) < 0.15,
                                               "stencil/weights": numpy.random.default_rng(5).uniform(-0.1, 0.1, (3, 9)),
                                               "class": (field(150, 200)[::-1] * 2.99).astype(int)},
                             stencil="j2ds9pt", **walls)
                self.solved("p.h5", "--precision", precision)

    def test_palette(self):
        """256 rows against NumPy, and with obstacles; rows that many cells have are named by bytes, others are not."""
        offsets = [(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)]
        u, rows = field(50, 333), numpy.random.default_rng(2).uniform(-0.2, 0.2, (256, 5))
        kinds = (field(50, 333) * 255.99).astype(int)
        data = {"stencil/weights": rows, "class": kinds}
        self.problem(u, data, boundary="periodic", steps=1)
        numpy.testing.assert_allclose(self.solved("p.h5"), made(u, rows, kinds, offsets), atol=1e-15)
        self.problem(u, data, boundary=["periodic", "mirror"])
        self.same_every_way("p.h5", RUN, self.solved("p.h5", "--sweep", "naive"))
        for more in ({"insulated": field(50, 333) < 0.02}, {"fixed": field(50, 333) < 0.02}):
            self.problem(u, {**data, **more})
            self.same_every_way("p.h5", RUN, self.solved("p.h5", "--sweep", "naive"))

    def test_digest(self):
        """Rows are numbered as docs/format.md says, in whatever order cells have them."""
        for count in (253, 256):
            u, rows = field(30, 77), numpy.random.default_rng(2).uniform(-0.2, 0.2, (count, 5))
            kinds, fixed = count - 1 - (field(30, 77) * (count - 0.01)).astype(int), field(30, 77)[::-1] < 0.1
            self.problem(u, {"stencil/weights": rows, "class": kinds, "fixed": fixed}, boundary="periodic")
            self.solved("p.h5", rows=count - 1)
            values = numpy.where(fixed, 255, numpy.where(kinds < 253, kinds, kinds + 3))
            self.assertEqual(self.attribute("r.h5", "/", "digest_class"), digest(values))

    def test_continued(self):
        """Runs in pieces, and from a checkpoint, have the bits of one that ran through; a changed obstacle, which gives
        other rows to cells that have some already, is another problem."""
        self.obstacles(steps=60)
        through = self.solved("p.h5")
        self.ok("p.h5", *RUN, "-o", "a.h5", "--steps", 21)
        self.ok("a.h5", *RUN, "-o", "b.h5", "--steps", 60)
        self.assertEqual(self.read("b.h5").tobytes(), through.tobytes())
        self.ok("verify", "b.h5")
        self.assertEqual(self.attribute("a.h5", "/", "digest_class"), self.attribute("r.h5", "/", "digest_class"))
        self.ok("p.h5", *RUN, "-o", "c.h5", "--checkpoint-every", 13, "--keep-checkpoints", "-q")
        self.ok("verify", "c.ckpt.h5", "-q")
        self.assertEqual(self.attribute("c.ckpt.h5", "/", "digest_class"), self.attribute("r.h5", "/", "digest_class"))
        self.ok("c.ckpt.h5", *RUN, "-o", "d.h5", "--steps", 60)
        self.assertEqual(self.read("d.h5").tobytes(), through.tobytes())
        with h5py.File(self.path("a.h5"), "a") as file:
            gone = file["insulated"][40]
            file["insulated"][40] = numpy.roll(gone, 1)
        done = self.call("a.h5", *RUN, "-o", "e.h5", "--steps", 60)
        self.assertIn("/insulated was changed after the file's 21 steps", done.stderr + done.stdout)
        self.assertEqual(self.call("verify", "a.h5", "p.h5").returncode, 1)
        self.ok("info", "r.h5")

    def test_scrubbed(self):
        """Tiles that are made again have the rows of their cells, and frames of the residual its norm."""
        self.obstacles(check_every=1)
        self.ok("p.h5", *RUN, "-o", "r.h5", "--scrub", "100%", "--json", "s.json", "--save-every", 10, "--save",
                "u,residual")
        with open(self.path("s.json"), encoding="utf-8") as file:
            self.assertGreater(json.load(file)["scrub"]["tiles"], 0)
        frame, step = self.read("r.series.h5", "residual"), self.read("r.series.h5", "step")
        told = dict(zip(self.read("r.h5", "residual_step").tolist(), self.read("r.h5", "residual").tolist()))
        updated = (field(90, 131) >= 0.3)[2:-2, 2:-2].sum()
        for i, made_steps in enumerate(step[:-1]):
            norm = numpy.sqrt((frame[i] ** 2).sum() / updated)
            numpy.testing.assert_allclose(norm, told[made_steps + 1], rtol=1e-12)

    def test_walls(self):
        """`exchange` with more values than there are bytes: bounds on the error by Lanczos' method, with every sweep; in
        time, what walls add is a constant of rows, since the table would multiply a source."""
        u, many = field(310, 20), 0.1 + field(1, 310)[0] ** 2
        wall = {"boundary": "mirror", "boundary_x-": "exchange", "ambient_x-": 1.0, "stencil": None, "spacing": 0.5}
        self.problem(u, {"exchange_x-": many}, problem="laplace", rtol=1e-6, steps=20000, check_every=500, **wall)
        first = self.solved("p.h5", "--sweep", "naive", rows=300)
        numpy.testing.assert_allclose(first, 1.0, atol=1e-3)
        self.same_every_way("p.h5", RUN, first)
        flux = {**wall, "boundary_x-": "flux", "problem": "heat", "dt": 0.02}
        del flux["ambient_x-"]
        self.problem(u, {"flux_x-": many, "q": u, "q_factor": [[0, 1.0], [0.3, 0.0]]}, **flux)
        self.assertNotIn("part of the source term", " ".join(self.ok("p.h5", *RUN, "-o", "r.h5").stdout.split()))
        self.solved("p.h5", rows=300)

    def test_coefficients(self):
        """Weights that are fields of faces, around obstacles and walls that differ: rows say what cells read."""
        u, k = field(120, 150), 0.5 + field(120, 150)
        wall = {"boundary": "mirror", "boundary_x-": "exchange", "ambient_x-": 1.0, "stencil": None}
        self.problem(u, {"k": k, "insulated": field(120, 150)[::-1] < 0.1, "exchange_x-": 0.1 + field(1, 300)[0][:120]},
                     problem="heat", **wall)
        self.solved("p.h5", "--sweep", "naive", rows=100)
        tall = {"k": 0.5 + field(300, 20), "exchange_x-": 0.1 + field(1, 300)[0]}
        self.problem(field(300, 20), tall, problem="heat", **wall)
        self.same_every_way("p.h5", RUN, self.solved("p.h5", "--sweep", "naive", rows=300))

    def test_memory(self):
        """The plan counts the second array of classes: two bytes for each cell, and the palette."""
        bytes_of = {}
        for name, rows in (("few", 252), ("many", 256)):
            palette = numpy.full((rows, 5), 0.2) + numpy.arange(rows)[:, None] * 1e-3
            self.problem(field(400, 500), {"stencil/weights": palette, "class": numpy.arange(200000).reshape(400, 500) % rows})
            self.ok("p.h5", *RUN, "--dry-run", "--json", "d.json")
            with open(self.path("d.json"), encoding="utf-8") as file:
                told = json.load(file)
            bytes_of[name] = told["plan"]["memory_bytes"]["host_need"]
        self.assertGreater(bytes_of["many"] - bytes_of["few"], 2 * 400 * 500)
        self.assertLess(bytes_of["many"] - bytes_of["few"], 4 * 400 * 500)

    def test_sweeps_of_a_gpu(self):
        """Sweeps that keep classes in bytes say so, in one sentence; auto takes one that does not."""
        sentence = "classes of its cells are bytes, which name 252 rows of weights, and the problem has more"
        palette = numpy.random.default_rng(2).uniform(-0.2, 0.2, (256, 5))
        self.problem(field(50, 333), {"stencil/weights": palette, "class": (field(50, 333) * 255.99).astype(int)})
        self.refused(UNAVAILABLE, ["--sweep resident is not available here: " + sentence], "p.h5", "--dry-run", "--machine", H200,
                     "--device", "gpu", "--sweep", "resident", "--sync", "neighbor")
        if self.gpu_count() == 0:
            self.skipTest("no GPU: descriptions of machines have no kernels for classes")
        here = ("--device", "gpu", "--force", "--effort", "estimate", "-o", "r.h5")
        told = " ".join(self.ok("p.h5", *here, "--sweep", "pipeline").stdout.split())
        self.assertIn(f"pipeline makes one step at a time here: {sentence}", told)
        self.ok("verify", "r.h5", "p.h5")
        told = " ".join(self.ok("p.h5", *here).stdout.split())
        self.assertRegex(told, "sweep (stream|naive)")
        self.assertNotIn(sentence, told)
        self.ok("verify", "r.h5", "p.h5")

    def test_too_many(self):
        """More rows than two bytes name are refused, by what makes them fewer."""
        self.problem(field(400, 450), {"insulated": field(400, 450) < 0.4}, stencil="j2d49pt")
        self.refused(BAD_DATA, ["more than 65000 rows", "straighter outlines"], "p.h5", *RUN)


if __name__ == "__main__":
    unittest.main()
