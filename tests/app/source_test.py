"""The source of heat: a rate (/q) means the same whatever the time step; what every step adds (/b) does not."""
import json
import unittest

import numpy

from harness import CommandTest, field, h5py

BAD_DATA = 65
RUN = ("--device", "cpu", "--force", "--effort", "estimate")


class Rate(CommandTest):
    def heat(self, u, q, name="p.h5", **attributes):
        with h5py.File(self.path(name), "w") as file:
            file["u"] = u
            file["q"] = q
            for key, value in {"problem": "heat", **attributes}.items():
                file.attrs[key] = value
        return name

    def solved(self, name, *arguments):
        self.ok(name, *RUN, "-o", "r.h5", *arguments)
        self.ok("verify", "r.h5", name)
        return self.read("r.h5")

    def test_one_product_rounded_once(self):
        """One step from 0 is the term itself."""
        for dtype in ("f4", "f8"):
            q = field(12, 13, dtype=dtype) * 3 + 0.1
            self.heat(numpy.zeros((12, 13), dtype), q, boundary="periodic", dt=0.1)
            given = self.read("p.h5", "q")
            numpy.testing.assert_array_equal(self.solved("p.h5", "--steps", 1), (0.1 * given.astype("f8")).astype(dtype))
            numpy.testing.assert_array_equal(self.read("r.h5", "q"), given)

    def test_time_step_does_not_change_the_answer(self):
        """u at t = 0.02 differs by what the first order of the method leaves: half of it with half the step."""
        h = 1 / 32
        y, x = numpy.meshgrid(*[numpy.linspace(0, 1, 33)] * 2, indexing="ij")
        self.heat(numpy.sin(numpy.pi * x) * numpy.sin(numpy.pi * y), 10 * x * y + 5, spacing=h)
        u = [self.solved("p.h5", "--dt", 2e-4 / 2**k, "--steps", 100 * 2**k) for k in range(3)]
        first, second = abs(u[0] - u[1]).max(), abs(u[1] - u[2]).max()
        self.assertAlmostEqual(first / second, 2, delta=0.05)
        self.assertLess(first, 1e-2 * abs(u[2]).max())

    def test_constant_rate(self):
        """Without sides to lose it to, u = q t."""
        self.heat(numpy.zeros((8, 9)), numpy.full((8, 9), 3.0), boundary=["mirror", "periodic"])
        for dt, steps in ((0.25, 8), (0.125, 16)):
            numpy.testing.assert_array_equal(self.solved("p.h5", "--dt", dt, "--steps", steps), numpy.full((8, 9), 6.0))

    def test_steady_state(self):
        """Between two cold walls u = q x (L - x) / (2 alpha), which the discrete operator has exactly."""
        x = numpy.linspace(0, 1, 17)
        exact = 4.0 * x * (1 - x) / (2 * 0.5)
        self.heat(numpy.zeros((4, 17)), numpy.full((4, 17), 4.0), boundary=["periodic", "fixed"], spacing=1 / 16,
                  diffusivity=0.5)
        for dt in (1e-3, 1.9e-3):
            numpy.testing.assert_allclose(self.solved("p.h5", "--dt", dt, "--steps", 12000), numpy.tile(exact, (4, 1)),
                                          atol=1e-12)

    def test_goes_on(self):
        self.heat(field(9, 11), field(9, 11), dt=0.2, steps=40)
        through = self.solved("p.h5")
        self.ok("p.h5", *RUN, "--steps", 17, "-o", "half.h5")
        self.ok("half.h5", *RUN, "--steps", 40, "-o", "whole.h5")
        numpy.testing.assert_array_equal(self.read("whole.h5"), through)
        self.assertEqual(self.attribute("whole.h5", "/", "fingerprint"), self.attribute("r.h5", "/", "fingerprint"))

    def test_only_for_heat(self):
        for attributes, wanted in (({"problem": "poisson"}, "as /f"), ({"problem": "laplace"}, "problem poisson"),
                                   ({"stencil": "j2d5pt"}, "as /b")):
            name = self.write(u=field(9, 11), attributes={"stencil": None, **attributes}, datasets={"q": field(9, 11)})
            self.refused(BAD_DATA, ["'p.h5'", "/q is the source of problem heat", wanted], name)
        heat = {"stencil": None, "problem": "heat"}
        self.refused(BAD_DATA, ["/f is the right-hand side of problem poisson", "as /q"],
                     self.write(u=field(9, 11), attributes=heat, datasets={"f": field(9, 11)}))
        self.refused(BAD_DATA, ["both /b and /q", "/q for heat"],
                     self.write(u=field(9, 11), attributes=heat, datasets={"b": field(9, 11), "q": field(9, 11)}))


class Added(CommandTest):
    """Notes on /b, which no equation scales."""

    def notes(self, attributes, *arguments, source="b"):
        datasets = {source: field(9, 11)} if source else {}
        name = self.write(u=field(9, 11), attributes={"stencil": None, **attributes}, datasets=datasets)
        self.ok(name, *RUN, "--steps", 1, *arguments, "--json", "r.json")
        with open(self.path("r.json")) as file:
            return json.load(file)["notes"]

    def note(self, wanted, *arguments, **keywords):
        lines = self.notes(*arguments, **keywords)
        self.assertEqual(len(lines), len(wanted), lines)
        for text, line in zip(wanted, lines):
            self.assertIn(text, line)

    def test_what_it_is(self):
        self.note(["a rate, a value per time, is given as /q"], {"problem": "heat"})
        self.note(["is given as /f"], {"problem": "poisson"})
        self.note(["is given as /f, with problem poisson"], {"problem": "laplace"})
        self.note([], {"stencil": "j2d5pt"})
        self.note([], {"problem": "heat"}, source="q")
        self.note([], {"problem": "poisson"}, source="f")

    def test_other_step(self):
        heat = {"problem": "heat", "dt": 0.2}
        self.note(["/q", "dt is 0.1, the file's 0.2: /b is added as it is all the same, a source 2 times as strong"], heat,
                  "--dt", "0.1")
        self.note(["/q"], heat, "--dt", "0.2")
        self.note(["/q", "dt is 0.0625, the file's 0.25: "], {"problem": "heat"}, "--spacing", "0.5")
        self.note([], heat, "--dt", "0.1", source="q")
        self.note(["/f", "a source 4 times as strong"], {"problem": "poisson"}, "--spacing", "0.5")
        self.note(["/f"], {"problem": "poisson", "spacing": 0.5}, "--spacing", "0.5")

    def test_poisson_without_a_right_hand_side(self):
        self.note(["poisson without /f: this is Laplace's equation"], {"problem": "poisson"}, source=None)
        self.note([], {"problem": "laplace"}, source=None)


if __name__ == "__main__":
    unittest.main()
