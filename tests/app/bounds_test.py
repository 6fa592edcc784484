"""The estimate of the least eigenvalue, where walls, insulated and fixed cells make another matrix than that of a box:
against NumPy's eigenvalues of matrices that are made here, and bounds on errors against exact solutions."""
import json
import unittest

import numpy

from harness import CommandTest, field, h5py

RUN = ("--device", "cpu", "--force", "--effort", "estimate", "--threads", 1, "-o", "r.h5")
MIRROR, FIXED = ("mirror",), ("fixed",)


def laplacian(shape, sides, gone=None, held=None, spacing=1.0):
    """Minus the Laplace operator of finite volumes, times spacing²: a face towards a wall or an insulated cell adds what its
    condition says. sides[axis][side]: ("mirror",), ("fixed",), ("flux",), ("exchange", a), with "-node" through the outermost
    cells. Returns the matrix of the cells that are updated, made symmetric, and their numbers."""
    cells = int(numpy.prod(shape))
    number = numpy.arange(cells).reshape(shape)
    gone = numpy.zeros(shape, bool) if gone is None else gone
    kept = gone.copy() if held is None else gone | held
    volume, matrix = numpy.ones(shape), numpy.zeros((cells, cells))
    for axis in range(2):
        for side in range(2):
            end = (0, -1)[side]
            at = [slice(None)] * 2
            at[axis] = end
            if sides[axis][side][0] == "fixed":
                kept[tuple(at)] = True
            if sides[axis][side][0].endswith("-node"):
                volume[tuple(at)] /= 2
    for cell in numpy.ndindex(shape):
        for axis in range(2):
            for step in (-1, 1):
                other = list(cell)
                other[axis] += step
                side = (step + 1) // 2
                i = number[cell]
                across = volume[cell] * (2 if cell[axis] in (0, shape[axis] - 1) and
                                         sides[axis][int(cell[axis] > 0)][0].endswith("-node") else 1)
                if 0 <= other[axis] < shape[axis]:
                    if not gone[tuple(other)] and not gone[cell]:
                        beyond = volume[tuple(other)] * (2 if other[axis] in (0, shape[axis] - 1) and
                                                         sides[axis][int(other[axis] > 0)][0].endswith("-node") else 1)
                        matrix[i, i] += (across + beyond) / 2
                        matrix[i, number[tuple(other)]] -= (across + beyond) / 2
                elif sides[axis][side][0].startswith("exchange"):
                    rate = sides[axis][side][1] * spacing
                    node = sides[axis][side][0].endswith("-node")
                    matrix[i, i] += across * (rate if node else rate / (1 + rate / 2))
    keep = number[~kept]
    scale = 1 / numpy.sqrt(volume.ravel()[keep])
    return scale[:, None] * matrix[numpy.ix_(keep, keep)] * scale[None, :] / 4, keep


class Bounds(CommandTest):
    def made(self, shape, sides, gone=None, held=None, code=0, **attributes):
        """Writes a problem and solves it: what JSON says of the result."""
        walls, names = {}, "yx"
        for axis in range(2):
            for side in range(2):
                kind = sides[axis][side]
                name = names[axis] + "-+"[side]
                walls[f"boundary_{name}"] = kind[0]
                if kind[0].startswith("exchange"):
                    walls.update({f"exchange_{name}": kind[1], f"ambient_{name}": 0.5})
                if kind[0].startswith("flux"):
                    walls[f"flux_{name}"] = 0.1
        data = {name: values for name, values in (("insulated", gone), ("fixed", held)) if values is not None}
        self.write("p.h5", field(*shape), {"stencil": None, "problem": "laplace", "rtol": 1e-4, "check_every": 50, "omega": 0.9,
                                           **walls, **attributes}, data)
        return self.json("p.h5", *RUN, code=code)

    def json(self, *arguments, code=0):
        done = self.ok(*arguments, "--json", "r.json", code=code)
        self.text = " ".join(done.stdout.split())
        with open(self.path("r.json"), encoding="utf-8") as file:
            return json.load(file)["result"]

    def cases(self):
        rooms = numpy.zeros((14, 25), bool)
        rooms[:, 12] = True
        rooms[7, 12] = False
        some = field(14, 25) < 0.1
        some[:, 0] = some[0] = False
        held = numpy.zeros((14, 25), bool)
        held[5:8, 10:13] = True
        corner = [[MIRROR, MIRROR], [FIXED, MIRROR]]
        yield "two rooms, one of them beside a fixed side", corner, rooms, None
        yield "a few insulated cells", corner, some, None
        yield "air on one side", [[MIRROR, MIRROR], [("flux",), ("exchange", 0.3)]], None, None
        yield "air on all sides", [[("exchange", 3.0)] * 2] * 2, None, None
        yield "air through cells", [[("mirror-node",), ("exchange-node", 0.2)], [("flux-node",), ("exchange-node", 0.1)]], None, None
        yield "a fixed side and air through cells", [[MIRROR, MIRROR], [FIXED, ("exchange-node", 0.1)]], None, None
        yield "fixed cells without a fixed side", [[MIRROR, MIRROR]] * 2, None, held
        yield "fixed and insulated cells, two rooms", [[MIRROR, MIRROR]] * 2, rooms, held

    def test_eigenvalues(self):
        """The estimate is below the least eigenvalue, and not by much."""
        for name, sides, gone, held in self.cases():
            with self.subTest(name):
                matrix, _ = laplacian((14, 25), sides, gone, held)
                least = numpy.linalg.eigvalsh(matrix)[0]
                found = self.made((14, 25), sides, gone, held)
                self.assertLessEqual(found["least_eigenvalue"], least)
                self.assertGreater(found["least_eigenvalue"], 0.8 * least)
                self.assertTrue(found["error_bound_estimated"])
                self.assertIn("an estimate by", self.text)
                self.assertIn(", by an estimate", self.text)

    def test_bound_holds(self):
        """The bound is above the error, against runs that go on to the last digit, and sharp where the slowest mode is left."""
        for name, sides, gone, held in self.cases():
            with self.subTest(name):
                found = self.made((14, 25), sides, gone, held, rtol=1e-7)
                u = self.read("r.h5")
                self.made((14, 25), sides, gone, held, rtol=1e-13, steps=10**6)
                keep = laplacian((14, 25), sides, gone, held)[1]
                error = numpy.sqrt(((u - self.read("r.h5")).ravel()[keep] ** 2).mean())
                self.assertLess(error, found["error_bound"])
                self.assertGreater(error, found["error_bound"] / (4 if "through" in name else 2))

    def test_predicted(self):
        """Predicted steps rest on the estimate: about as many as it takes, and no fewer."""
        matrix, _ = laplacian((14, 25), *list(self.cases())[2][1:])
        steps = self.made((14, 25), *list(self.cases())[2][1:], rtol=1e-8)["steps"]
        self.assertRegex(self.text, r"Predicted [0-9 ]+ steps")
        predicted = int(self.text.split("Predicted ")[1].split(" steps")[0].replace(" ", ""))
        self.assertGreater(predicted, 0.8 * steps)
        self.assertLess(predicted, 2 * steps)

    def test_none(self):
        """Without a criterion nothing is estimated; a pocket has no least eigenvalue."""
        sides = [[MIRROR, MIRROR], [("flux",), ("exchange", 0.3)]]
        self.made((14, 25), sides, rtol=None, steps=10)
        self.assertNotIn("Lanczos", self.text)
        gone = numpy.zeros((14, 25), bool)
        gone[5, 5:9] = gone[8, 5:9] = gone[5:9, 5] = gone[5:9, 8] = True
        found = self.made((14, 25), sides, gone, steps=200, code=2)
        self.assertIsNone(found["error_bound"])
        self.assertFalse(found["error_bound_estimated"])

    def test_accelerated(self):
        """Fixed cells, and no fixed axis: cycles of dampings that rest on the estimate take far fewer steps to the same
        field, in every way, over interruptions, and the reference makes them again."""
        for boundary, shape in (("mirror", (40, 61)), (["periodic", "mirror", "periodic"], (7, 14, 22))):
            for precision in ("float64", "float32"):
                held = numpy.zeros(shape, bool)
                held[..., 10:13, 5:9] = held[..., 3, 15] = True
                f = field(*shape) - 0.5
                given = {"stencil": None, "problem": "poisson", "boundary": boundary,
                         "rtol": 1e-9 if precision == "float64" else 1e-4}
                self.write("p.h5", numpy.zeros(shape), given, {"fixed": held, "f": f})
                plain = self.json("p.h5", *RUN)
                wanted = self.read("r.h5")
                self.write("a.h5", numpy.zeros(shape), {**given, "accelerate": "chebyshev"}, {"fixed": held, "f": f})
                found = self.json("a.h5", *RUN, "--precision", precision)
                result = self.read("r.h5")
                self.assertEqual(found["reason"], "converged_rtol")
                self.assertLess(found["steps"], plain["steps"] / 5)
                self.assertTrue(found["error_bound_estimated"])
                error = numpy.sqrt(((result - wanted)[~held] ** 2).mean())
                self.assertLess(error, found["error_bound"] + plain["error_bound"])
                self.ok("verify", "r.h5", "a.h5")
                with h5py.File(self.path("r.h5")) as file:
                    self.assertLess(file.attrs["eigenvalue_least"], file.attrs["eigenvalue_most"])
                if precision == "float32" or boundary != "mirror":
                    continue
                self.same_every_way("a.h5", RUN, result)
                self.ok("a.h5", *RUN, "-o", "b.h5", "--precision", precision, "--steps", 1, code=2)
                self.ok("b.h5", *RUN, "-o", "c.h5", "--steps", 10**6)
                self.assertEqual(self.read("c.h5").tobytes(), result.tobytes())
                self.ok("verify", "c.h5")

    def test_threads(self):
        """Any number of threads finds the same bits."""
        found = set()
        for threads in (1, 3):
            self.made((14, 25), *list(self.cases())[0][1:])
            found.add(self.json("p.h5", *RUN, "--threads", threads)["least_eigenvalue"])
        self.assertEqual(len(found), 1)


if __name__ == "__main__":
    unittest.main()
