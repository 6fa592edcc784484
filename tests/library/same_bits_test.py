"""Random problems through the command and through the library: the same bits, residuals and reasons."""
import os
import pathlib
import subprocess
import sys
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "app"))
from harness import SLOW, CommandTest  # noqa: E402

DRIVER = os.environ["DRIVER"]
TYPES = {"f4": 1, "f8": 2, "u1": 3}
SETS = {2: ("j2d5pt", "j2ds9pt", "j2d9pt", "j2d25pt"), 3: ("j3d7pt", "j3d13pt", "j3d27pt")}
COUNT = 20 if SLOW else 60


class Drawn:
    """A problem as attributes and datasets of a file, and how it is run."""

    def __init__(self, seed):
        self.random = draw = numpy.random.default_rng(seed)
        self.rank = int(draw.integers(2, 4))
        most = 60 if self.rank == 2 else 22
        self.shape = tuple(int(n) for n in draw.integers(12, most, self.rank))
        self.dtype = str(draw.choice(["f4", "f8"]))
        self.u = self.values(self.shape)
        self.attributes, self.datasets, self.points = {}, {}, None
        self.kind = str(draw.choice(["heat", "poisson", "laplace", "set", "points", "classes"]))
        getattr(self, f"draw_{self.kind}")()
        if draw.random() < 0.4 and self.kind != "classes":
            self.datasets["fixed"] = (draw.random(self.shape) < 0.1).astype("u1")
        self.draw_boundary()
        self.draw_stop()
        self.sync = str(draw.choice(["auto", "relaunch", "grid", "neighbor", "lock-free", "lock"]))
        self.sweep = str(draw.choice(["auto", "stream", "naive", "pipeline"]))
        self.parts = int(draw.choice([0, 0, 2])) if self.sync in ("grid", "neighbor") else 0
        self.threads = int(draw.integers(1, 4))
        self.layout = str(draw.choice(["c", "f", "gaps"]))

    def values(self, shape):
        return self.random.uniform(-1, 1, shape).astype(self.dtype)

    def draw_heat(self):
        self.attributes.update(problem="heat", diffusivity=self.random.uniform(0.5, 2, self.random.choice([1, self.rank])).tolist())
        self.draw_spacing()
        if self.random.random() < 0.5:
            self.datasets["q"] = self.values(self.shape).astype(self.random.choice(["f4", "f8"]))

    def draw_poisson(self):
        self.attributes.update(problem="poisson")
        self.draw_spacing()
        self.datasets["f"] = self.values(self.shape)
        if self.random.random() < 0.3:
            self.attributes["accelerate"] = "chebyshev:8"

    def draw_laplace(self):
        self.attributes.update(problem="laplace", omega=float(self.random.uniform(0.3, 1)))
        self.draw_spacing()

    def draw_set(self):
        self.attributes["stencil"] = str(self.random.choice(SETS[self.rank]))
        if self.random.random() < 0.4:
            self.datasets["b"] = self.values(self.shape)

    def draw_points(self):
        grid = numpy.array(numpy.meshgrid(*[range(-1, 2)] * self.rank)).reshape(self.rank, -1).T
        chosen = self.random.permutation(grid)[:self.random.integers(2, 8)]
        self.points = chosen, self.random.uniform(-0.2, 0.2, (1, len(chosen)))

    def draw_classes(self):
        self.draw_points()
        offsets, _ = self.points
        self.points = offsets, self.random.uniform(-0.2, 0.2, (4, len(offsets)))
        self.datasets["class"] = self.random.integers(0, 4, self.shape).astype("u1")

    def draw_spacing(self):
        if self.random.random() < 0.5:
            self.attributes["spacing"] = [float(h) for h in self.random.uniform(0.5, 2, self.rank)]

    def draw_boundary(self):
        choice = ["fixed", "periodic", "mirror"]
        self.attributes["boundary"] = [str(b) for b in self.random.choice(choice, self.rank)]
        if "problem" in self.attributes and self.random.random() < 0.4:
            self.attributes["boundary"][-1] = "fixed"
            self.attributes["boundary_x+"] = str(self.random.choice(["mirror", "flux", "exchange"]))
            if self.attributes["boundary_x+"] == "flux":
                self.attributes["flux_x+"] = float(self.random.uniform(-1, 1))
            if self.attributes["boundary_x+"] == "exchange":
                self.attributes.update({"exchange_x+": float(self.random.uniform(0.1, 1)), "ambient_x+": 0.25})

    def draw_stop(self):
        self.attributes.update(steps=int(self.random.integers(1, 70)), check_every=int(self.random.integers(1, 30)))
        if self.random.random() < 0.5:
            self.attributes.update(rtol=1e-2, norm=str(self.random.choice(["l2", "max"])))

    def script(self, write):
        """Lines for tests/library/driver.c; `write` stores an array and gives the file's name."""
        precision = {"f4": "float32", "f8": "float64"}[self.dtype]
        yield "new", precision, *self.shape
        for name, value in self.attributes.items():
            if isinstance(value, str):
                yield "text", name, value
            elif name == "boundary":
                yield "text", name, ",".join(value)
            else:
                yield "number", name, *(repr(v) for v in numpy.atleast_1d(value).tolist())
        if self.points is not None:
            offsets, weights = self.points
            yield "points", len(offsets), len(weights), *offsets.ravel(), "/", *map(repr, weights.ravel().tolist())
        for name, values in self.datasets.items():
            yield "array", name, TYPES[values.dtype.str[1:]], write(name, values)


class SameBits(CommandTest):
    def write_raw(self, name, values):
        values.tofile(self.path(f"{name}.raw"))
        return self.path(f"{name}.raw")

    def drive(self, drawn, runs=2):
        lines = list(drawn.script(self.write_raw))
        lines.append(("run", drawn.sync, drawn.sweep, 0, drawn.parts, drawn.threads, runs, drawn.layout,
                      self.write_raw("u", drawn.u), self.path("out.raw")))
        text = "\n".join(" ".join(map(str, line)) for line in lines)
        done = subprocess.run([DRIVER], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                              timeout=300, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line.split() for line in done.stdout.splitlines()]

    def command(self, drawn):
        datasets = dict(drawn.datasets)
        if drawn.points is not None:
            offsets, weights = drawn.points
            datasets.update({"stencil/offsets": offsets, "stencil/weights": weights if len(weights) > 1 else weights[0]})
        self.write("p.h5", drawn.u, {"stencil": None, **drawn.attributes}, datasets)
        parts = ("--parts", drawn.parts) if drawn.parts else ()
        return self.call("p.h5", "--device", "cpu", "--force", "--effort", "estimate", "--threads", drawn.threads,
                         "--sync", drawn.sync, "--sweep", drawn.sweep, "-o", "r.h5", "--json", "r.json", *parts)

    def compare(self, seed):
        drawn = Drawn(seed)
        made, told = self.command(drawn), self.drive(drawn)
        about = f"seed {seed}: {drawn.kind} {drawn.shape} {drawn.attributes} {made.stderr} {told}"
        if told[0][0] == "refused":
            self.assertNotIn(made.returncode, (0, 2), about)
            return False
        self.assertIn(made.returncode, (0, 2), about)
        result = numpy.fromfile(self.path("out.raw"), drawn.dtype).reshape(drawn.shape)
        self.assertEqual(result.tobytes(), self.read("r.h5").tobytes(), about)
        self.assertEqual(told[0], told[1], about)  # a second run of the plan says the same
        self.assertEqual(int(told[0][3]), self.attribute("r.h5", "provenance", "steps_done"), about)
        wanted = [f"{step}:{float(value).hex()}" for step, value in
                  zip(self.read("r.h5", "residual_step"), self.read("r.h5", "residual"))]
        seen = [f"{entry.split(':')[0]}:{float.fromhex(entry.split(':')[1]).hex()}" for entry in told[0][8:]]
        self.assertEqual(seen, wanted, about)
        return True

    def test_random_problems(self):
        solved = sum(self.compare(seed) for seed in range(COUNT))
        self.assertGreater(solved, COUNT * 3 // 4)


if __name__ == "__main__":
    unittest.main()
