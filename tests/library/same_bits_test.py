"""Random problems through the command, C and Python: the same bits, residuals and reasons. COUNT=200 makes 200."""
import os
import pathlib
import subprocess
import sys
import unittest

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "app"), str(ROOT / "python")]
from harness import SLOW, CommandTest  # noqa: E402

DRIVER = os.environ["DRIVER"]
TYPES = {"f4": 1, "f8": 2, "u1": 3}
SETS = {2: ("j2d5pt", "j2ds9pt", "j2d9pt", "j2d25pt"), 3: ("j3d7pt", "j3d13pt", "j3d27pt")}
COUNT = int(os.environ.get("COUNT", 48 if SLOW else 60))


class Drawn:
    """A problem as attributes and datasets of a file, and how it is run."""

    def __init__(self, seed):
        self.random = draw = numpy.random.default_rng(seed)
        self.rank = int(draw.integers(2, 4))
        most = 60 if self.rank == 2 else 22
        self.shape = tuple(int(n) for n in draw.integers(12, most, self.rank))
        self.dtype = str(draw.choice(["f4", "f8"]))
        self.u = self.values(self.shape)
        self.attributes, self.datasets, self.tables, self.points = {}, {}, {}, None
        self.kind = str(draw.choice(["heat", "poisson", "laplace", "set", "points", "classes", "k", "times"]))
        getattr(self, f"draw_{self.kind}")()
        if draw.random() < 0.4 and self.kind not in ("classes", "times"):
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

    def draw_k(self):
        """Coefficients of a few materials, or of each cell."""
        self.attributes["problem"] = str(self.random.choice(["heat", "poisson", "laplace"]))
        few = self.random.choice([0.5, 1.0, 3.0], self.shape)
        k = few if self.random.random() < 0.5 else self.random.uniform(0.5, 2, self.shape)
        self.datasets["k"] = k.astype(self.random.choice(["f4", "f8"]))
        self.draw_spacing()
        if self.attributes["problem"] != "laplace" and self.random.random() < 0.6:
            self.datasets["f" if self.attributes["problem"] == "poisson" else "q"] = self.values(self.shape)

    def draw_times(self):
        """Sums of sources and of values of fixed cells, with factors in time."""
        if self.random.random() < 0.6:
            self.attributes["problem"], source = "heat", "q"
        else:
            self.draw_set()
            self.datasets.pop("b", None)
            source = "b"
        fixed = self.random.random(self.shape) < 0.1
        self.datasets["fixed"] = fixed.astype("u1")
        for name, most in ((source, 4), ("fixed_value", 3)):
            for i in range(int(self.random.integers(0, most))):
                full = f"{name}{i + 1 if i > 0 else ''}"
                values = self.values(self.shape)
                if name == "fixed_value" and i == 0:
                    values[self.random.random(self.shape) < 0.3] = numpy.nan
                self.datasets[full] = numpy.where(numpy.isnan(values), 0, values) if i > 0 else values
                if self.random.random() < 0.7:
                    times = numpy.sort(self.random.uniform(0, 12, 4))
                    self.tables[f"{full}_factor"] = numpy.stack([times, self.random.uniform(-1, 2, 4)], axis=1)

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
                along = self.shape[:-1] if self.random.random() < 0.5 else ()
                self.attributes["flux_x+"] = self.random.uniform(-1, 1, along).tolist()
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
                yield "number", name, *(repr(v) for v in numpy.ravel(value).tolist())
        for name, rows in self.tables.items():
            yield "table", name, *map(repr, rows.ravel().tolist())
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
        datasets.update(drawn.tables)
        attributes = {"stencil": None, **drawn.attributes}
        if isinstance(attributes.get("flux_x+"), list):
            datasets["flux_x+"] = numpy.array(attributes.pop("flux_x+"))
        self.write("p.h5", drawn.u, attributes, datasets)
        parts = ("--parts", drawn.parts) if drawn.parts else ()
        return self.call("p.h5", "--device", "cpu", "--force", "--effort", "estimate", "--threads", drawn.threads,
                         "--sync", drawn.sync, "--sweep", drawn.sweep, "-o", "r.h5", "--json", "r.json", *parts)

    def compare(self, seed):
        drawn = Drawn(seed)
        made, told = self.command(drawn), self.drive(drawn)
        about = f"seed {seed}: {drawn.kind} {drawn.shape} {drawn.attributes} {made.stderr} {told}"
        if told[0][0] == "refused":
            self.assertNotIn(made.returncode, (0, 2), about)
            return False, drawn
        self.assertIn(made.returncode, (0, 2), about)
        result = numpy.fromfile(self.path("out.raw"), drawn.dtype).reshape(drawn.shape)
        self.assertEqual(result.tobytes(), self.read("r.h5").tobytes(), about)
        self.assertEqual(told[0], told[1], about)  # a second run of the plan says the same
        self.assertEqual(int(told[0][3]), self.attribute("r.h5", "provenance", "steps_done"), about)
        wanted = [f"{step}:{float(value).hex()}" for step, value in
                  zip(self.read("r.h5", "residual_step"), self.read("r.h5", "residual"))]
        seen = [f"{entry.split(':')[0]}:{float.fromhex(entry.split(':')[1]).hex()}" for entry in told[0][8:]]
        self.assertEqual(seen, wanted, about)
        if not SLOW:  # the interpreter has not the sanitizers' runtime
            with self.subTest(about):
                self.python(drawn, made)
        return True, drawn

    def python(self, drawn, made):
        """The same through the module; it refuses what the command refuses."""
        import stencil
        how = dict(drawn.attributes)
        for side in ("flux", "exchange", "ambient"):
            if f"{side}_x+" in how:
                how[side] = {"x+": how.pop(f"{side}_x+")}
        if "boundary_x+" in how:
            how["boundary"] = {"": ",".join(how["boundary"]), "x+": how.pop("boundary_x+")}
        how.update({"classes" if name == "class" else name: values for name, values in drawn.datasets.items()})
        how.update(drawn.tables)
        if drawn.points is not None:
            how["offsets"], how["weights"] = drawn.points
        words = {name: word for name, word in (("sync", drawn.sync), ("sweep", drawn.sweep))}
        try:
            result = stencil.solve(drawn.u, device="cpu" if not drawn.parts else None, parts=drawn.parts,
                                   threads=drawn.threads, **words, **how)
        except (ValueError, stencil.NotAvailable):
            self.assertNotIn(made.returncode, (0, 2))
            return
        self.assertEqual(result.u.tobytes(), self.read("r.h5").tobytes())
        self.assertEqual(result.residual.tobytes(), self.read("r.h5", "residual").tobytes())

    def test_random_problems(self):
        solved, kinds = 0, set()
        for seed in range(COUNT):
            done, drawn = self.compare(seed)
            solved += done
            kinds |= {drawn.kind} if done else set()
        self.assertGreater(solved, COUNT * 3 // 4)
        self.assertEqual(len(kinds), 8)


if __name__ == "__main__":
    unittest.main()
