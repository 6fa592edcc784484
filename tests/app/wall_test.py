"""Sides of their own, insulated cells: against analytic solutions, and against what is the same by another way."""
import json
import unittest

import numpy

from harness import SLOW, CommandTest, field, h5py, once

BAD_DATA = 65
RUN = ("--device", "cpu", "--force", "--effort", "estimate", "--threads", 2)


def side(name, kind, **numbers):
    """Attributes of a side: side("x-", "flux", flux=2)."""
    return {f"boundary_{name}": kind, **{f"{what}_{name}": value for what, value in numbers.items()}}


# Grids whose errors are compared: with sanitizers as many as make an order.
GRIDS = (8, 16) if SLOW else (8, 16, 32, 64)
ALONE = ("--threads", 1)  # for many steps of few cells: threads that wait for each other are slow where others run


class Wall(CommandTest):
    def problem(self, u, name="p.h5", data=None, **attributes):
        return self.write(name, u, {"steps": 40, "check_every": 7, **attributes}, data or {})

    def solved(self, name="p.h5", *arguments, code=0, verify=True):
        """The result; checked against the reference, which takes longer than the run, unless many steps say nothing new."""
        self.ok(name, *RUN, "-o", "r.h5", *arguments, code=code)
        if verify:
            self.ok("verify", "r.h5", name)
        return self.read("r.h5")

    def error_of(self, cells, low, high, axis, node, rank=2):
        """Largest error of -u" = f along an axis, u = sin(2 x + 0.3) + x on [0, 1]; low and high are the kinds of walls,
        whose numbers follow from u. Along the other axes nothing changes."""
        length = 1.0
        h = length / (cells - 1 if node else cells)
        x = (numpy.arange(cells) + (0 if node else 0.5)) * h
        def value(x):
            return numpy.sin(2 * x + 0.3) + x
        def slope(x):
            return 2 * numpy.cos(2 * x + 0.3) + 1
        attributes = {}
        for kind, sign, at in ((low, "-", 0.0), (high, "+", length)):
            name = "zyx"[axis] + sign
            outward = slope(at) * (1 if sign == "+" else -1)
            numbers = {}
            if kind.startswith("flux"):
                numbers = {"flux": outward}
            if kind.startswith("exchange"):
                numbers = {"exchange": 3.0, "ambient": value(at) + outward / 3.0}
            attributes.update(side(name, kind, **numbers))
        shape = [4] * rank
        shape[axis - 3] = cells
        view = [1] * rank
        view[axis - 3] = cells
        exact = numpy.broadcast_to(value(x).reshape(view), shape)
        f = numpy.broadcast_to(4 * numpy.sin(2 * x + 0.3).reshape(view), shape)
        u = numpy.zeros(shape)
        for kind, at in ((low, 0), (high, cells - 1)):
            if kind == "fixed":
                u[(slice(None),) * ((axis - 3) % rank) + (at,)] = value(x[at])
        boundary = ["periodic"] * rank
        boundary[axis - 3] = "fixed"
        self.write("p.h5", u, {"stencil": None, "problem": "poisson", "spacing": h, "rtol": 1e-9, "check_every": 500,
                               "boundary": boundary, **attributes}, {"f": f})
        result = self.solved("p.h5", *ALONE, verify=cells < 16)
        return abs(result - exact).max()

    def orders(self, *arguments, **keywords):
        errors = [self.error_of(cells, *arguments, **keywords) for cells in GRIDS]
        grids = GRIDS
        if keywords.get("node"):
            grids = [n - 1 for n in grids]
        return [numpy.log(a / b) / numpy.log(n / m) for a, b, m, n in zip(errors, errors[1:], grids, grids[1:])]

    def test_orders(self):
        """Flux and exchange are of second order, half a cell beyond the cells and through them."""
        for suffix in ("", "-node"):
            for low, high, axis in (("exchange", "flux", 2), ("flux", "exchange", 1), ("exchange", "exchange", 2)):
                with self.subTest(low=low, high=high, suffix=suffix):
                    for order in self.orders(low + suffix, high + suffix, axis, node=suffix != ""):
                        self.assertGreater(order, 1.9)
                        self.assertLess(order, 2.1)

    def test_orders_beside_fixed(self):
        """A fixed side, which is a node, opposite to a wall through cells."""
        for wall in ("flux-node", "exchange-node"):
            for order in self.orders("fixed", wall, 2, node=True):
                self.assertGreater(order, 1.9)
                self.assertLess(order, 2.1)

    def test_order_3d(self):
        errors = [self.error_of(cells, "exchange", "flux", 0, False, rank=3) for cells in (8, 16)]
        self.assertAlmostEqual(numpy.log2(errors[0] / errors[1]), 2, delta=0.1)

    def test_heat(self):
        """A wall that gains what flows in: the mean of the field rises by the flux, to the last digit."""
        n, h, g = 40, 0.1, 0.7
        self.problem(numpy.zeros((6, n)), stencil=None, problem="heat", spacing=h, diffusivity=2.0, dt=1e-3, steps=100,
                     boundary="mirror", **side("x+", "flux", flux=g))
        self.assertAlmostEqual(self.solved().mean() / (2.0 * g * 0.1 / (n * h)), 1, places=12)

    @once
    def test_insulated_is_a_mirror(self):
        """A layer of insulated cells is a mirrored side of the smaller field, for stars and boxes in 2D and 3D."""
        for stencil, shape in (("j2d5pt", (20, 70)), ("j2ds9pt", (20, 70)), ("j2d9pt", (20, 70)), ("j2d25pt", (20, 70)),
                               ("j2d49pt", (20, 70)), ("j3d7pt", (9, 12, 66)), ("j3d13pt", (9, 12, 66)),
                               ("j3d19pt", (9, 12, 66)), ("j3d27pt", (9, 12, 66)), ("j3d17pt", (9, 12, 66))):
            for axis in range(len(shape)):
                u = field(*shape)
                gone = numpy.zeros(shape, bool)
                part = (slice(None),) * axis + (slice(4, None),)
                gone[(slice(None),) * axis + (slice(0, 4),)] = True
                self.problem(u[part], "m.h5", stencil=stencil, boundary="mirror", steps=11)
                wanted = self.solved("m.h5")
                if stencil == "j3d17pt" and axis > 0:
                    continue  # it has no points between the planes but corners: an image may be none of its points
                with self.subTest(stencil=stencil, axis=axis):
                    self.problem(u, data={"insulated": gone}, stencil=stencil, boundary="mirror", steps=11)
                    result = self.solved()
                    numpy.testing.assert_allclose(result[part], wanted, atol=1e-14)
                    numpy.testing.assert_array_equal(result[gone], u[gone])

    def test_nothing_is_lost(self):
        """What flows between cells is the same in both directions, around obstacles of any outline: the sum stays."""
        for stencil in ("j2d5pt", "j2ds9pt", "j2d9pt", "j3d7pt"):
            shape = (40, 50) if stencil[1] == "2" else (9, 20, 22)
            u, gone = field(*shape), field(*shape)[::-1] < 0.06
            self.problem(u, data={"insulated": gone}, stencil=stencil, boundary="mirror", steps=200)
            result = self.solved()
            self.assertAlmostEqual(result[~gone].sum() / u[~gone].sum(), 1, places=12)
            self.assertLess(numpy.ptp(result[~gone]), 0.9)

    def test_insulated_values(self):
        """Whatever is in insulated cells comes back, NaN included, and reaches no other cell."""
        gone = field(40, 150) < 0.2
        u = numpy.where(gone, numpy.where(field(40, 150)[::-1] < 0.5, numpy.nan, -0.0), field(40, 150))
        results = []
        for values in (u, numpy.where(gone, 7.0, u)):
            self.problem(values, data={"insulated": gone}, boundary="periodic")
            for sweep in ("naive", "stream", "pipeline"):
                results.append(self.solved("p.h5", "--allow-nonfinite", "--sweep", sweep))
                self.assertEqual(results[-1][gone].tobytes(), values[gone].tobytes())
                self.assertTrue(numpy.isfinite(self.read("r.h5", "residual")).all())
        for result in results:
            numpy.testing.assert_array_equal(result[~gone], results[0][~gone])

    def test_a_corner(self):
        """What diagonal points read beside a single insulated cell, by hand: the image in a straight face; the cell itself
        where faces meet at a corner."""
        weights = numpy.arange(1, 10.) / 64
        u, gone = field(5, 6), numpy.zeros((5, 6), bool)
        gone[2, 3] = True
        self.problem(u, data={"insulated": gone, "stencil/weights": weights}, stencil="j2d9pt", boundary="periodic", steps=1)
        result = self.solved()
        def step(y, x, moved):
            around = [(y + k // 3 - 1, x + k % 3 - 1) for k in range(9)]
            return sum(weights[k] * u[moved.get(at, at)] for k, at in enumerate(around))
        # a cell beside a face: the insulated cell is its east; the two diagonal ones are there, and are read
        self.assertAlmostEqual(result[2, 2], step(2, 2, {(2, 3): (2, 2)}), places=14)
        # a cell at the corner: its neighbours in the row and in the column are there, so it reads itself
        self.assertAlmostEqual(result[1, 2], step(1, 2, {(2, 3): (1, 2)}), places=14)
        gone[2, 4] = True
        self.problem(u, data={"insulated": gone, "stencil/weights": weights}, stencil="j2d9pt", boundary="periodic", steps=1)
        # above the first of two insulated cells in a row: of the two, each is read as the cell above it
        self.assertAlmostEqual(self.solved()[1, 3], step(1, 3, {(2, 3): (1, 3), (2, 4): (1, 4)}), places=14)

    def test_sides_are_boundaries(self):
        """Sides that say the same as `boundary` give its bits; fixed and mirrored ones may be opposite."""
        u = field(30, 66)
        self.problem(u, boundary=["mirror", "periodic"])
        wanted = self.solved()
        self.problem(u, boundary="fixed", **side("y-", "mirror"), **side("y+", "mirror"), **side("x-", "periodic"),
                     **side("x+", "periodic"))
        self.assertEqual(self.solved().tobytes(), wanted.tobytes())
        self.problem(u, boundary="fixed", **side("x+", "mirror"))
        half = self.solved()
        self.problem(numpy.concatenate([u, u[:, ::-1]], 1), boundary="fixed")
        numpy.testing.assert_allclose(self.solved()[:, :66], half, atol=1e-14)

    def test_half_fixed(self):
        """With an axis fixed on one side and mirrored on the other all eigenvalues are known: cycles of dampings, and a bound
        on the error that holds. Against the exact solution of a field twice as large."""
        for axis, name in ((1, "x"), (0, "y")):
            u = numpy.zeros((24, 40))
            u[:, 0] = u[0, :] = field(1, 64)[0, :24].mean()
            u[0, :20] = 3.0
            self.problem(u, stencil=None, problem="laplace", boundary="fixed", rtol=1e-9, steps=99999, accelerate="chebyshev",
                         **side(name + "+", "mirror"))
            half = self.solved()
            self.assertEqual(self.attribute("r.h5", "/", "accelerate").partition(":")[2], {1: "128", 0: "64"}[axis])
            self.assertLess(self.attribute("r.h5", "/", "steps_total"), 2000)
            self.ok("p.h5", *RUN, "-o", "r.h5", "--json", "r.json")
            with open(self.path("r.json"), encoding="utf-8") as file:
                bound = json.load(file)["result"]["error_bound"]
            both = numpy.concatenate([u, numpy.flip(u, axis)], axis)
            self.problem(both, stencil=None, problem="laplace", boundary="fixed", rtol=1e-13, steps=99999, accelerate="chebyshev")
            self.ok("p.h5", *RUN, "-o", "w.h5")
            wanted = self.read("w.h5")[:24, :40]
            error = numpy.sqrt(((half - wanted) ** 2).mean())
            self.assertLess(error, bound * 1.1)
            self.assertLess(bound, 1e-5)

    def test_every_way(self):
        """Sweeps, strategies, parts and threads give the same bits and the same residuals."""
        self.problem(field(50, 333), data={"insulated": field(50, 333)[::-1] < 0.05}, stencil="j2d9pt",
                     boundary=["periodic", "fixed"], **side("x-", "exchange-node", exchange=0.3, ambient=2.0))
        self.same_every_way("p.h5", RUN, self.solved("p.h5", "--sweep", "naive"))

    def test_continued(self):
        """A run in pieces has the bits of one that ran through; another number, or cell, is another problem."""
        gone = field(31, 77) < 0.1
        self.problem(field(31, 77), data={"insulated": gone}, **side("x-", "flux", flux=0.5))
        through = self.solved()
        self.ok("p.h5", *RUN, "-o", "a.h5", "--steps", 13)
        self.ok("a.h5", *RUN, "-o", "b.h5", "--steps", 40)
        self.assertEqual(self.read("b.h5").tobytes(), through.tobytes())
        self.assertEqual(self.attribute("b.h5", "/", "flux_x-"), 0.5)
        numpy.testing.assert_array_equal(self.read("b.h5", "insulated"), gone)
        self.ok("verify", "b.h5")
        with h5py.File(self.path("a.h5"), "a") as file:
            file["insulated"][3, 3] = not file["insulated"][3, 3]
        done = self.call("a.h5", *RUN, "-o", "c.h5", "--steps", 40)
        self.assertIn("/insulated was changed after the file's 13 steps", done.stderr + done.stdout)
        with h5py.File(self.path("b.h5"), "a") as file:
            file.attrs["flux_x-"] = 0.6
        self.ok("b.h5", *RUN, "-o", "c.h5", "--steps", 10)
        self.assertEqual(self.attribute("c.h5", "provenance", "steps_done"), 10)

    def test_stable_step(self):
        """Exchange through cells lowers the largest stable dt of heat: that one is taken, stays bounded, and is named."""
        walls = side("x-", "exchange-node", exchange=50.0, ambient=1.0)
        self.problem(field(10, 40), stencil=None, problem="heat", steps=3000, **walls)
        result = self.solved()
        self.assertLess(abs(result).max(), 2.5)
        largest = self.attribute("r.h5", "/", "dt")
        self.assertAlmostEqual(largest, 1 / (4 + 50))
        self.problem(field(10, 40), stencil=None, problem="heat", dt=0.25, **walls)
        self.refused(BAD_DATA, ["unstable", f"{largest:.4g}"[:6]], "p.h5", *RUN)

    def test_pockets(self):
        """Cells that are joined to no fixed cell and to no exchange are known before the first step: they have no solution
        unless what flows in flows out."""
        room = numpy.zeros((20, 30), bool)
        room[5, 5:15] = room[10, 5:15] = room[5:11, 5] = room[5:11, 14] = True
        u, f = field(20, 30), numpy.zeros((20, 30))
        poisson = {"stencil": None, "problem": "poisson", "steps": 50}
        text = self.tells(u, {"insulated": room}, stencil=None, problem="laplace", steps=50)
        self.assertIn("32 cells, in 1 pocket (the first one around /u[6][6])", text)
        f[7, 7] = 1.0
        self.assertIn("/u[6][6] are joined to no fixed", self.tells(u, {"insulated": room, "f": f}, **poisson))
        self.problem(u, data={"insulated": room, "f": f}, rtol=1e-6, **poisson)
        self.refused(BAD_DATA, ["/u[6][6]", "there is no solution"], "p.h5", *RUN)
        f[8, 8] = -1.0
        self.assertIn("their mean stays", self.tells(u, {"insulated": room, "f": f}, rtol=1e-6, code=2, **poisson))
        leaky = room.copy()
        leaky[10, 9] = False
        self.assertNotIn("joined to", self.tells(u, {"insulated": leaky, "f": f}, rtol=1e-6, code=2, **poisson))
        fixed = numpy.zeros((20, 30), bool)
        fixed[9, 12] = True
        self.assertNotIn("joined to", self.tells(u, {"insulated": room, "fixed": fixed, "f": f}, rtol=1e-6, code=2, **poisson))

    def test_pockets_of_sides(self):
        """Fluxes that add up to 0, or not; cells in a wall count half; periodic axes join what is apart."""
        laplace = {"stencil": None, "problem": "laplace", "steps": 50}
        for suffix in ("", "-node"):
            walls = {**side("x-", "flux" + suffix, flux=-1.0), **side("x+", "flux" + suffix, flux=1.0),
                     **side("y-", "mirror" + suffix), **side("y+", "mirror" + suffix)}
            self.assertIn("their mean stays", self.tells(field(20, 30), boundary="mirror", **laplace, **walls))
            walls["flux_x+"] = 1.01
            self.assertIn("no solution", self.tells(field(20, 30), boundary="mirror", **laplace, **walls))
            walls.update(side("y+", "exchange" + suffix, exchange=0.1, ambient=0.0))
            self.assertNotIn("joined", self.tells(field(20, 30), boundary="mirror", **laplace, **walls))
        gone = numpy.zeros((20, 30), bool)
        gone[:, 10] = gone[:, 20] = True
        fixed = numpy.zeros((20, 30), bool)
        fixed[3, 2] = True
        text = self.tells(field(20, 30), {"insulated": gone, "fixed": fixed}, boundary=["mirror", "periodic"], **laplace)
        self.assertIn("180 cells, in 1 pocket (the first one around /u[0][11])", text)
        gone, fixed = numpy.zeros((6, 7, 30), bool), numpy.zeros((6, 7, 30), bool)
        gone[2], gone[4], fixed[5, 3, 3] = True, True, True
        text = self.tells(field(6, 7, 30), {"insulated": gone, "fixed": fixed},
                          boundary=["periodic", "mirror", "mirror"], **laplace)
        self.assertIn("210 cells, in 1 pocket (the first one around /u[3][0][0])", text)

    def test_along(self):
        """Numbers along a side that are all alike are one number, to the bit; as an attribute and a dataset they are one too
        many; those of another shape, and such as no wall can have, are refused."""
        u = field(20, 33)
        walls = {**side("x-", "flux", flux=2.5), **side("y+", "exchange", exchange=0.25, ambient=-3.0)}
        self.problem(u, boundary="mirror", **walls)
        wanted = self.solved()
        kinds = {name: value for name, value in walls.items() if name.startswith("boundary")}
        along = {"flux_x-": numpy.full(20, 2.5), "exchange_y+": numpy.full(33, 0.25, "f4"), "ambient_y+": numpy.full(33, -3)}
        self.problem(u, boundary="mirror", data=along, **kinds)
        self.assertEqual(self.solved().tobytes(), wanted.tobytes())
        for name, values in along.items():
            numpy.testing.assert_array_equal(self.read("r.h5", name), values)
        self.assertIn("flux 2.5 to 2.5 at x-", " ".join(self.ok("p.h5", *RUN, "-o", "r.h5").stdout.split()))
        for name, values, told in (("flux_x-", numpy.ones(33), "[20]"), ("flux_x-", numpy.ones((20, 1)), "[20]"),
                                   ("flux_x-", numpy.full(20, numpy.nan), "finite"), ("exchange_y+", numpy.zeros(33), "positive"),
                                   ("flux_z-", numpy.zeros(33), "flux_z-"), ("flux_y-", numpy.zeros(33), "flux_y- is given"),
                                   ("ambient_y+", None, "boundary_y+ is 'exchange'")):
            with self.subTest(name, told=told):
                self.problem(u, boundary="mirror", **kinds,
                             data={key: value for key, value in {**along, name: values}.items() if value is not None})
                self.refused(BAD_DATA, [told], "p.h5", *RUN)
        self.problem(u, boundary="mirror", data=along, **kinds, **{"flux_x-": 1.0})
        self.refused(BAD_DATA, ["flux_x- is given twice"], "p.h5", *RUN)
        self.problem(u, boundary="mirror", data=along, **kinds)
        self.ok("p.h5", *RUN, "-o", "r.h5", "--boundary", "x-=flux:1")
        self.assertEqual(self.attribute("r.h5", "/", "flux_x-"), 1.0)
        with h5py.File(self.path("r.h5")) as file:
            self.assertNotIn("flux_x-", file)
            self.assertIn("ambient_y+", file)

    def along_problem(self, cells, exchange, rank=2):
        """-u" = f on the unit square, u = sin(2 x + 0.3) exp(y) + x y + 1; along z nothing changes. Slopes at x = 0 (or the
        air's temperature there) and at y = 1 differ from cell to cell."""
        h = 1 / cells
        y, x = numpy.mgrid[:cells, :cells] * h + h / 2
        def value(y, x):
            return numpy.sin(2 * x + 0.3) * numpy.exp(y) + x * y + 1
        def slope_x(y, x):
            return 2 * numpy.cos(2 * x + 0.3) * numpy.exp(y) + y
        def slope_y(y, x):
            return numpy.sin(2 * x + 0.3) * numpy.exp(y) + x
        at = numpy.arange(cells) * h + h / 2
        rate = 2 + at
        data = {"f": 3 * numpy.sin(2 * x + 0.3) * numpy.exp(y), "flux_y+": slope_y(1.0, at),
                "ambient_x+": value(at, 1.0) + slope_x(at, 1.0) / 3}
        walls = {"boundary_y+": "flux", "boundary_x+": "exchange", "exchange_x+": 3.0, "boundary_x-": "flux",
                 "boundary_y-": "exchange", "exchange_y-": 2.0}
        data["ambient_y-"] = value(0.0, at) - slope_y(0.0, at) / 2
        if exchange:
            del walls["exchange_y-"]
            data.update({"exchange_y-": rate, "ambient_y-": value(0.0, at) - slope_y(0.0, at) / rate})
        data["flux_x-"] = -slope_x(at, 0.0)
        exact = value(y, x)
        u = numpy.zeros(exact.shape)
        if rank == 3:
            u, exact = numpy.zeros((4, *u.shape)), numpy.broadcast_to(exact, (4, *u.shape))
            data = {name: numpy.broadcast_to(values, (4, *values.shape)) for name, values in data.items()}
        self.problem(u, data=data, stencil=None, problem="poisson", spacing=h, rtol=1e-9, steps=10**6, check_every=500,
                     boundary="mirror", **walls)
        return exact

    def test_along_without(self):
        """An option that makes a side another one leaves its numbers out, and those of other sides in: the result is verified
        against the file, and goes on."""
        u = field(16, 20)
        fixed = numpy.zeros(u.shape, bool)
        fixed[5:8, 9:12] = True
        kinds = {"boundary_x-": "flux", "boundary_x+": "exchange", "boundary_y-": "flux"}
        data = {"flux_x-": field(16), "exchange_x+": 1 + field(16), "ambient_x+": field(16), "flux_y-": field(20), "fixed": fixed}
        for problem in ("laplace", "heat"):
            self.problem(u, stencil=None, problem=problem, boundary="mirror", data=data, **kinds)
            for option in ("x-=flux:3", "x-=mirror", "x-=exchange:3:1", "x+=flux:3", "y-=fixed", "mirror", "fixed", "x=periodic",
                           "x-=flux:1,x+=exchange:2:0,y-=mirror"):
                self.solved("p.h5", "--boundary", option)
                self.ok("r.h5", *RUN, "--steps", 60, "-o", "s.h5")
                self.ok("verify", "s.h5", "r.h5")
                self.assertNotIn("from 0 again", self.ok("r.h5", *RUN, "--steps", 60, "-o", "s.h5").stdout)
        self.problem(u, stencil=None, problem="laplace", boundary="mirror", name="q.h5", data={**data, "flux_y-": 2 + field(20)}, **kinds)
        self.solved("p.h5", "--boundary", "x-=flux:3")
        self.refused(BAD_DATA, ["other numbers along sides"], "verify", "r.h5", "q.h5")
        self.solved("p.h5", "--boundary", "y-=flux:3")
        self.problem(u, stencil=None, problem="laplace", boundary="mirror", name="q.h5", data={"fixed": fixed})
        self.refused(BAD_DATA, ["other numbers along sides"], "verify", "r.h5", "q.h5")

    def test_along_orders(self):
        """Slopes and air that differ along walls, against a solution that is known: second order."""
        for exchange in (False, True):
            errors = []
            for cells in GRIDS[:3]:
                exact = self.along_problem(cells, exchange)
                errors.append(abs(self.solved("p.h5", *ALONE, verify=cells < 16) - exact).max())
            for coarse, fine in zip(errors, errors[1:]):
                self.assertAlmostEqual(numpy.log2(coarse / fine), 2, delta=0.15)

    def test_along_3d(self):
        exact = self.along_problem(12, True, rank=3)
        result = self.solved()
        numpy.testing.assert_allclose(result, numpy.broadcast_to(result[0], result.shape), atol=1e-7)
        self.assertLess(abs(result - exact).max(), 0.02)

    def test_along_many(self):
        """More numbers than rows: what walls add is part of the source then, with a Note, and nothing else changes. A flux
        as a source by hand gives the same, but for rounding."""
        u, flux = field(310, 20), 4 * field(1, 310)[0] - 2
        for precision, error in (("float64", 1e-13), ("float32", 1e-5)):
            for f in (None, field(310, 20)):
                given = {"stencil": None, "problem": "poisson", "boundary": "mirror", "spacing": 0.5, "steps": 60}
                data = {"flux_x-": flux, **({} if f is None else {"f": f})}
                self.problem(u, data=data, **given, **side("x-", "flux"))
                text = " ".join(self.ok("p.h5", *RUN, "-o", "r.h5", "--precision", precision).stdout.split())
                self.assertIn("part of the source term", text)
                result = self.solved("p.h5", "--precision", precision)
                self.assertIn("digest_b", self.attributes("r.h5"))
                b = numpy.zeros(u.shape) if f is None else f.copy()
                b[:, 0] += flux / 0.5
                self.problem(u, data={"f": b}, **given)
                numpy.testing.assert_allclose(self.solved("p.h5", "--precision", precision), result, atol=error)
                self.problem(u, data=data, **given, **side("x-", "flux"))
                for options in (("--sweep", "naive"), ("--sweep", "pipeline"), ("--sync", "grid", "--parts", 3)):
                    self.ok("p.h5", *RUN, "-o", "w.h5", "--precision", precision, *options)
                    self.assertEqual(self.read("w.h5").tobytes(), result.tobytes())
                self.ok("p.h5", *RUN, "-o", "a.h5", "--precision", precision, "--steps", 13)
                self.ok("a.h5", *RUN, "-o", "b.h5", "--steps", 60)
                self.assertEqual(self.read("b.h5").tobytes(), result.tobytes())
                self.ok("verify", "b.h5")
        with h5py.File(self.path("a.h5"), "a") as file:
            file["flux_x-"][3] += 1
        self.assertIn("count from 0 again", " ".join(self.ok("a.h5", *RUN, "-o", "c.h5").stdout.split()))
        self.problem(u, data={"exchange_x-": 0.1 + flux ** 2}, **side("x-", "exchange", ambient=1.0))
        self.solved()

    def test_along_many_in_time(self):
        """What walls add to the source term is no part of what a table multiplies, and driven cells have none of it."""
        u, flux, edge = field(310, 20), 4 * field(1, 310)[0] - 2, numpy.full((310, 20), numpy.nan)
        edge[0], edge[-1, 3:] = 1.0, -0.5
        given = {"stencil": None, "problem": "heat", "boundary": ["fixed", "mirror"], "spacing": 0.5, "steps": 40,
                 "dt": 0.02, **side("x-", "flux")}
        driven = {"flux_x-": flux, "fixed_value": edge, "fixed_value_factor": [[0, 1.0], [0.5, -1.0]]}
        table = {"q_factor": [[0, 1.0], [0.3, 0.0]]}
        self.problem(u, data=driven, **given)
        self.assertIn("part of the source term", " ".join(self.ok("p.h5", *RUN, "-o", "r.h5").stdout.split()))
        self.solved()
        self.problem(u, data={**driven, "q": 0 * u, "q2": u, "q2_factor": table["q_factor"]}, **given)
        self.solved()
        self.problem(u, data={**driven, "q": u, **table}, **given)
        self.solved()

    def test_along_stable_step(self):
        """The largest of the numbers along a wall counts for the largest stable dt."""
        self.problem(field(10, 40), data={"exchange_x-": 5.0 * numpy.arange(1, 11)}, stencil=None, problem="heat", steps=300,
                     **side("x-", "exchange-node", ambient=1.0))
        self.assertLess(abs(self.solved()).max(), 2.5)
        self.assertAlmostEqual(self.attribute("r.h5", "/", "dt"), 1 / (4 + 50))

    def test_option(self):
        """--boundary SIDE=WALL says what attributes say: the same bits, and the attributes of the result."""
        u = field(20, 33)
        walls = {**side("x-", "flux", flux=2.5), **side("x+", "exchange-node", exchange=0.25, ambient=-3.0),
                 **side("y+", "mirror-node")}
        self.problem(u, boundary="mirror", **walls)
        wanted = self.solved()
        self.problem(u)
        option = "mirror,x-=flux:2.5,x+=exchange-node:0.25:-3,y+=mirror-node"
        self.assertEqual(self.solved("p.h5", "--boundary", option).tobytes(), wanted.tobytes())
        named = self.attributes("r.h5")
        self.assertEqual({name: named[name] for name in walls}, walls)
        # without an entry for the axes, sides that are not named stay as the file says
        self.problem(u, boundary=["mirror", "periodic"], **side("y-", "flux", flux=1.0))
        self.ok("p.h5", *RUN, "-o", "r.h5", "--boundary", "y-=flux:-1e-1,y-=flux:-2.e0,y+=fixed")
        named = self.attributes("r.h5")
        self.assertEqual((named["flux_y-"], named["boundary_y+"], list(named["boundary"])),
                         (-2.0, "fixed", ["mirror", "periodic"]))
        self.ok("p.h5", *RUN, "-o", "r.h5", "--boundary", "x=mirror")
        self.assertEqual(self.attributes("r.h5")["boundary_x+"], "mirror")
        self.ok("p.h5", *RUN, "-o", "r.h5", "--boundary", "periodic")
        self.assertNotIn("boundary_y-", self.attributes("r.h5"))
        self.ok("new", "n.h5", "--problem", "heat", "--size", "9x8x7", "--boundary", "z-=exchange:2:20,z+=flux:0,x=periodic")
        named = self.attributes("n.h5")
        self.assertEqual([named[name] for name in ("boundary_z-", "ambient_z-", "flux_z+", "boundary_x-", "boundary_x+")],
                         ["exchange", 20.0, 0.0, "periodic", "periodic"])
        self.solved("n.h5", "--steps", 10)

    def test_option_refused(self):
        self.problem(field(20, 33))
        for value, *wanted in (
                ("x-=flx:1", "'flx' is unknown", "'flux'"), ("x-=flux", "x-=flux:2.5"), ("x-=flux:", "slope"),
                ("x-=flux:1:2", "number"), ("x-=flux:nan", "number"), ("x-=flux:0x1p3", "number"), ("x-=exchange:1", "two numbers"),
                ("x-=exchange:-1:0", "positive"), ("x-=exchange:0:0", "positive"), ("x-=fixed:1", "fixed has no numbers"),
                ("fixed:1", "has no numbers"), ("w-=fixed", "'w-' is no side"), ("x--=fixed", "'x--'"), ("=fixed", "no side"),
                ("x-=", "unknown"), ("flux:1", "write SIDE=flux:1"), ("", "unknown"), ("fixed,", "unknown"),
                ("z-=mirror", "axis z"), ("fixed,fixed,fixed,fixed", "more than 3")):
            with self.subTest(value=value):
                self.refused(64, ["--boundary", *wanted], "p.h5", *RUN, "--boundary", value)
        self.refused(64, ["stencil run"], "bench", "sweep", "--device", "cpu", "--boundary", "x-=flux:1")
        self.refused(64, ["stencil run"], "plan", "--size", "9x9", "--boundary", "x-=mirror")

    def test_examples(self):
        """A wall with cavities and air on one side, and a chip with heaters, as `stencil new` writes them: symmetric, and
        within what the sides allow."""
        first = 1 if SLOW else 0  # those of the usual size take a minute with sanitizers
        for options, shape in (((), (128, 96)), (("--size", "48x64", "--precision", "float32"), (64, 48)),
                               (("--size", "24x32x5", "--time", "600"), (5, 32, 24)))[first:]:
            self.ok("new", "e.h5", "--force", "--example", "heated-wall", *options)
            gone = self.read("e.h5", "insulated") != 0
            self.assertEqual(gone.shape, shape)
            result = self.solved("e.h5", verify=options != ())
            self.assertTrue((result[gone] == 20).all())
            numpy.testing.assert_allclose(result, result[..., ::-1, :], atol=1e-3)
            self.assertGreater(result.min(), -5)
            self.assertLess(result.max(), 30)
            self.assertGreater((result[..., :, 0] - result[..., :, -1]).min(), 1)
        for options, shape in (((), (65, 129)), (("--size", "65x33", "--rtol", "1e-5"), (33, 65)))[first:]:
            self.ok("new", "e.h5", "--force", "--example", "chip", *options)
            fixed = self.read("e.h5", "fixed") != 0
            self.assertEqual(fixed.shape, shape)
            result = self.solved("e.h5", verify=options != ())
            self.assertTrue((result[fixed] == 1).all())
            numpy.testing.assert_allclose(result, result[:, ::-1], atol=1e-3)
            # what leaves below is what the heaters give: half a unit of the slope, over a length of 1
            h = 1 / shape[0]
            below = (result[-1] - result[-2]) / h
            numpy.testing.assert_allclose(below, -0.5, atol=0.05)
        self.ok("new", "e.h5", "--force", "--example", "chip", "--boundary", "fixed")
        self.assertNotIn("boundary_y+", self.attributes("e.h5"))

    def attributes(self, name):
        with h5py.File(self.path(name)) as file:
            return dict(file.attrs)

    def tells(self, u, data=None, code=0, **attributes):
        self.problem(u, data=data, **attributes)
        return " ".join(self.ok("p.h5", *RUN, "-o", "r.h5", code=code).stdout.split())

    def test_refused(self):
        u = field(30, 40)
        for attributes, wanted in (
                (side("x-", "flux"), "give the slope"), (side("x-", "periodic"), "give both or none"),
                (side("x-", "exchange", exchange=1.0), "ambient_x-"), (side("z-", "mirror"), "no axis z"),
                (side("x-", "mirror", flux=1.0), "flux_x- is given"), (side("x-", "exchange", ambient=0.0), "exchange_x-"),
                (side("y+", "mirror", ambient=1.0), "ambient_y+ is given"), (side("x-", "wall"), "boundary_x-"),
                (side("x-", "flux", flux=numpy.nan), "flux_x-"), (side("x-", "exchange", exchange=-1.0, ambient=0.0), "> 0"),
                ({"problem": "laplace", "stencil": None, "accelerate": "chebyshev", **side("x-", "flux", flux=1.0)},
                 "accelerate")):
            with self.subTest(attributes=attributes):
                self.problem(u, **attributes)
                self.refused(BAD_DATA, [wanted], "p.h5", *RUN)
        self.problem(u, data={"insulated": numpy.ones((30, 40), int)})
        self.refused(BAD_DATA, ["/insulated", "no cell to update"], "p.h5", *RUN)

    def test_reported(self):
        self.problem(field(30, 40), boundary="mirror", **side("x-", "exchange", exchange=2.0, ambient=-1.0))
        text = self.ok("p.h5", *RUN, "-o", "r.h5", "--json", "r.json").stdout
        self.assertIn("exchange 2 with -1 at x-, mirror at x+, mirror in y", text)
        with open(self.path("r.json"), encoding="utf-8") as file:
            problem = json.load(file)["problem"]
        self.assertEqual((problem["boundary"], problem["class_cells"]), (["mirror", ["exchange", "mirror"]], 30))


if __name__ == "__main__":
    unittest.main()
