"""/k: materials that differ from cell to cell, against analytic solutions and against SciPy's sparse solver."""
import json
import pathlib
import unittest

import numpy
import scipy.sparse
import scipy.sparse.linalg

from harness import CommandTest, field, h5py, once

BAD_DATA, UNAVAILABLE = 65, 69
H200 = pathlib.Path(__file__).with_name("h200-x8.json")
RUN = ("--device", "cpu", "--force", "--effort", "estimate", "--threads", 2)


def harmonic(a, b):
    return 2 * a * b / (a + b)


def matrix(k, h, fixed):
    """-div k grad with the harmonic mean at faces, mirrored sides; rows of fixed cells are those of the identity."""
    number = numpy.arange(k.size).reshape(k.shape)
    rows, columns, values = [], [], []
    for axis in range(k.ndim):
        low = [slice(None)] * k.ndim
        high = [slice(None)] * k.ndim
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        weight = harmonic(k[tuple(low)], k[tuple(high)]).ravel() / h**2
        a, b = number[tuple(low)].ravel(), number[tuple(high)].ravel()
        for one, other in ((a, b), (b, a)):
            rows += [one, one]
            columns += [one, other]
            values += [weight, -weight]
    full = scipy.sparse.csr_matrix((numpy.concatenate(values), (numpy.concatenate(rows), numpy.concatenate(columns))))
    keep = scipy.sparse.diags((~fixed.ravel()).astype(float))
    return keep @ full + scipy.sparse.diags(fixed.ravel().astype(float))


class Coefficients(CommandTest):
    def problem(self, u, k, name="p.h5", extra=None, **attributes):
        return self.write(name, u, {"stencil": None, "problem": "laplace", "rtol": 1e-13, "steps": 1000000,
                                    "check_every": 500, **attributes}, {"k": k, **(extra or {})})

    def solved(self, name="p.h5", *arguments, code=0):
        done = self.call(name, *RUN, "-o", "r.h5", *arguments)
        if code is not None:     # None: a residual may also end at what the precision resolves
            self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.ok("verify", "r.h5", name)
        return self.read("r.h5")

    def report(self, *arguments):
        return json.loads(self.ok(*arguments, *RUN, "-o", "j.h5", "--json", "-").stdout)

    @once
    def test_layers(self):
        """Two and three layers between plates: the exact profile, and the same flux through all faces."""
        nx = 60
        for bounds in ([nx // 2], [17, 41]):
            k = numpy.choose(numpy.searchsorted(bounds, numpy.arange(nx), side="right"), [1.0, 50.0, 0.3])
            u = numpy.zeros((5, nx))
            u[:, -1] = 1.0
            self.problem(u, numpy.tile(k, (5, 1)), boundary=["mirror", "fixed"], accelerate="chebyshev", rtol=1e-14)
            x = numpy.concatenate([[0], numpy.cumsum(1 / harmonic(k[:-1], k[1:]))])
            found = self.solved("p.h5", code=None)
            numpy.testing.assert_allclose(found, numpy.tile(x / x[-1], (5, 1)), atol=1e-10)
            flux = harmonic(k[:-1], k[1:]) * numpy.diff(found[2])
            numpy.testing.assert_allclose(flux, flux.mean(), rtol=1e-7)

    def test_heat_through_an_interface(self):
        """Two half-spaces of other k that touch: u = erfc and erf on both sides, order 2 in h (dt follows h^2)."""
        from scipy.special import erf
        errors = []
        for n in (100, 200, 400):
            h, t = 2.0 / n, 0.01
            x = (numpy.arange(n) + 0.5) * h - 1.0
            k = numpy.where(x < 0, 1.0, 0.25)
            def exact(t):
                s, e = numpy.sqrt(k), numpy.sqrt(k * 4 * t)
                middle = 1.0 / (1.0 + 0.5)             # effusivities 1 and 1/2
                return numpy.where(x < 0, middle - (1 - middle) * erf(x / e), middle - middle * erf(x / e))
            u = numpy.tile(exact(0.002), (3, 1))
            self.problem(u, numpy.tile(k, (3, 1)), boundary=["periodic", "mirror"], problem="heat", spacing=h,
                         time_end=t - 0.002, rtol=None, steps=None, check_every=None)
            errors.append(numpy.abs(self.solved("p.h5")[1] - exact(t)).max())
        orders = numpy.log2(numpy.array(errors[:-1]) / errors[1:])
        self.assertGreater(orders.min(), 1.8, (errors, orders))

    @once
    def test_checkerboard(self):
        """The effective k of a checkerboard is sqrt(k1 k2) in the limit: the error falls with the cells of a square."""
        k1, k2, errors = 1.0, 4.0, []
        for side in (2, 4, 8, 16):
            squares = 4
            n = squares * side
            y, x = numpy.mgrid[:n, :n + 2]
            k = numpy.where((y // side + (x - 1 + side // 2) // side) % 2 == 0, k1, k2)   # from centre to centre
            k[:, 0], k[:, -1] = 1e6, 1e6        # plates: faces beside them have twice the k of the cell
            u = numpy.zeros((n, n + 2))
            u[:, -1] = 1.0
            self.problem(u, k, boundary=["periodic", "fixed"], rtol=1e-11)
            found = self.solved("p.h5", code=None)
            flux = (harmonic(k[:, 0], k[:, 1]) * (found[:, 1] - found[:, 0])).sum()
            errors.append(abs(flux - numpy.sqrt(k1 * k2)))    # per row, times the n cells between the plates
        orders = numpy.log2(numpy.array(errors[:-1]) / errors[1:])
        self.assertLess(errors[-1], 0.05)
        self.assertGreater(orders.min(), 0.9, (errors, orders))

    def test_random_against_scipy(self):
        """Random k, fixed cells and a source, in 2D and 3D: the solution of the same linear equations."""
        for shape in ((40, 50), (14, 17, 20)):
            k = 10 ** (2 * field(*shape) - 1)
            fixed = numpy.zeros(shape, bool)
            fixed[..., 0] = fixed[..., -1] = True
            fixed |= field(*shape)[::-1] < 0.03
            f, u = field(*shape) - 0.5, field(*shape)
            boundary = ["mirror"] * (len(shape) - 1) + ["fixed"]
            self.problem(u, k, extra={"f": f, "fixed": fixed}, boundary=boundary, problem="poisson", spacing=0.1,
                         accelerate="chebyshev:256")
            found = self.solved("p.h5", code=None)
            wanted = scipy.sparse.linalg.spsolve(matrix(k, 0.1, fixed).tocsc(), numpy.where(fixed, u, f).ravel())
            numpy.testing.assert_allclose(found.ravel(), wanted, atol=1e-9)

    def test_heat_step_against_scipy(self):
        """A step of heat is (1 - dt A) u + dt q, with walls that exchange and insulated cells left out."""
        for shape in ((30, 70), (9, 11, 70)):
            k, u, q = 10 ** (2 * field(*shape) - 1), field(*shape), field(*shape)[::-1]
            self.problem(u, k, extra={"q": q}, boundary="mirror", problem="heat", steps=1, rtol=None, dt=1e-3)
            a = matrix(k, 1.0, numpy.zeros(shape, bool))
            wanted = u.ravel() - 1e-3 * (a @ u.ravel()) + 1e-3 * q.ravel()
            numpy.testing.assert_allclose(self.solved().ravel(), wanted, atol=1e-13)

    def test_energy(self):
        """Nothing is lost between materials: with insulated sides the sum of u stays, to rounding."""
        k, u = 10 ** (2 * field(50, 90) - 1), field(50, 90)
        gone = field(50, 90)[::-1] < 0.1
        self.problem(u, numpy.where(gone, -1.0, k), extra={"insulated": gone}, boundary="mirror", problem="heat",
                     steps=200, rtol=None)
        self.assertAlmostEqual(self.solved()[~gone].sum() / u[~gone].sum(), 1.0, 12)

    def test_constant(self):
        """The same k everywhere is the diffusivity: the same bits, without a byte more."""
        u = field(40, 90)
        self.problem(u, numpy.full(u.shape, 0.3), problem="heat", steps=30, rtol=None, boundary="mirror")
        found = self.solved()
        self.write("q.h5", u, {"stencil": None, "problem": "heat", "diffusivity": 0.3, "steps": 30,
                               "boundary": "mirror"})
        numpy.testing.assert_allclose(self.solved("q.h5"), found, rtol=0, atol=1e-15)

    def test_every_way(self):
        """Sweeps, strategies, parts and threads give the same bits and the same residuals."""
        k = 10 ** (2 * field(50, 333) - 1)
        self.problem(field(50, 333), k, problem="heat", steps=40, rtol=None, check_every=7,
                     boundary=["periodic", "mirror"])
        first, seen = self.solved("p.h5", "--sweep", "naive"), None
        for sweep in ("stream", "pipeline"):
            for sync in ("relaunch", "grid", "neighbor"):
                for parts in (1, 3):
                    parts = ("--parts", parts) if parts > 1 and sync != "relaunch" else ()
                    self.ok("p.h5", *RUN, "-o", "r.h5", "--sweep", sweep, "--sync", sync, *parts)
                    self.assertEqual(self.read("r.h5").tobytes(), first.tobytes())
                    residuals = self.read("r.h5", "residual").tobytes()
                    self.assertEqual(residuals, seen or residuals)
                    seen = residuals

    def test_continued(self):
        """A run in two halves ends with the bits of one; another /k is another problem."""
        k = 10 ** (2 * field(30, 170) - 1)
        for attributes in ({"problem": "heat"}, {"problem": "laplace", "accelerate": "chebyshev:8",
                                                 "boundary": ["periodic", "fixed"]}):
            self.problem(field(30, 170), k, steps=48, rtol=None, check_every=8, **attributes)
            whole = self.solved()
            self.ok("p.h5", *RUN, "--steps", 16, "-o", "half.h5")
            numpy.testing.assert_array_equal(self.read("half.h5", "k"), k)
            self.ok("half.h5", *RUN, "--steps", 48, "-o", "r.h5")
            self.assertEqual(self.read("r.h5").tobytes(), whole.tobytes())
            self.ok("verify", "r.h5", "half.h5")
            with h5py.File(self.path("half.h5"), "r+") as file:
                file["k"][3, 4] *= 2
            self.assertIn("from 0 again", self.ok("half.h5", *RUN, "--steps", 48, "-o", "r.h5").stdout)

    def test_edited(self):
        """A /k that was changed after the run is told."""
        self.problem(field(12, 70), 1 + field(12, 70), steps=5, rtol=None)
        self.ok("p.h5", *RUN, "-o", "r.h5")
        with h5py.File(self.path("r.h5"), "r+") as file:
            file["k"][3, 4] *= 2
        self.assertIn("/k", self.call("verify", "r.h5", "p.h5").stdout)

    def test_largest_dt(self):
        """The largest stable dt comes from the cells: 1 / max of the sum over faces; more is refused."""
        k = 10 ** (2 * field(30, 70) - 1)
        self.problem(field(30, 70), k, problem="heat", steps=10, rtol=None, boundary="mirror")
        most = matrix(k, 1.0, numpy.zeros(k.shape, bool)).diagonal()
        for axis, n in ((0, 30), (1, 70)):       # faces in mirrored walls have the k of their cell
            for end in (0, n - 1):
                edge = numpy.zeros(k.shape, bool)
                edge[(slice(None),) * axis + (end,)] = True
                most = most + numpy.where(edge, k, 0).ravel()
        found = self.report("p.h5")["problem"]
        self.assertAlmostEqual(found["dt_largest"] * most.max(), 1.0, 12)
        self.assertEqual(found["dt"], found["dt_largest"])
        self.refused(BAD_DATA, "unstable", "p.h5", "--dt", 1.01 / most.max())

    def test_refused(self):
        """A k that is no positive number is refused by its cell; so are contradictions."""
        for value in (0.0, -1.0, numpy.nan, numpy.inf):
            k = numpy.ones((8, 9))
            k[3, 4] = value
            self.problem(field(8, 9), k)
            self.refused(BAD_DATA, "/k[3][4]", "p.h5")
        self.problem(field(8, 9), numpy.ones((8, 9)), problem="heat", diffusivity=2.0, rtol=None)
        self.refused(BAD_DATA, "/k and diffusivity", "p.h5")
        self.problem(field(8, 9), numpy.ones((8, 8)))
        self.refused(BAD_DATA, "/k has another shape", "p.h5")
        self.problem(field(8, 9), numpy.ones((8, 9)), boundary="periodic", accelerate="chebyshev")
        self.refused(BAD_DATA, "fixed axis", "p.h5")

    def test_in_time(self):
        """Heat with /k, sources and driven cells that follow tables, and numbers along a side: each step is
        u + dt (flux + q factor - A u), and the reference agrees, in all sweeps and where k has two values."""
        n, dt, steps = (24, 70), 1e-3, 40
        u, q, drive = field(*n), field(*n)[::-1] - 0.5, field(*n)[:, ::-1].copy()
        fixed = field(*n)[::-1] < 0.05
        flux, q_factor, value_factor = field(24), [[0, 1], [0.02, -1]], [[0, 2], [0.03, 0]]
        attributes = {"boundary": "mirror", "boundary_x-": "flux", "problem": "heat", "dt": dt, "steps": steps,
                      "rtol": None, "check_every": 7}
        for k in (10 ** (2 * field(*n) - 1), numpy.where(field(*n).cumsum(1) < 20, 0.2, 3.0)):
            self.problem(u, k, extra={"q": q, "q_factor": q_factor, "q2": drive, "fixed": fixed, "fixed_value": drive,
                                      "fixed_value_factor": value_factor, "flux_x-": flux}, **attributes)
            a = matrix(k, 1.0, fixed)
            a = a - scipy.sparse.diags(fixed.ravel().astype(float))
            beside = numpy.zeros(n)
            beside[:, 0] = flux * k[:, 0]       # the face in the wall has the k of its cell
            wanted = numpy.where(fixed, drive * 2.0, u)
            for step in range(steps):
                t = step * dt
                change = beside + numpy.interp(t, *numpy.transpose(q_factor)) * q + drive
                wanted = numpy.where(fixed, drive * numpy.interp(t + dt, *numpy.transpose(value_factor)),
                                     wanted + dt * (change - (a @ wanted.ravel()).reshape(n)))
            found = self.solved()
            numpy.testing.assert_allclose(found, wanted, atol=1e-12)
            for sweep in ("naive", "stream"):
                self.ok("p.h5", *RUN, "-o", "s.h5", "--sweep", sweep, "--sync", "neighbor", "--parts", 3)
                self.assertEqual(self.read("s.h5").tobytes(), found.tobytes())

    def test_example(self):
        """The example masonry runs to a time, goes on from there, and both results are verified."""
        self.ok("new", "p.h5", "--example", "masonry", "--size", "24x20")
        self.ok("p.h5", *RUN, "--time", 500, "-o", "half.h5")
        self.ok("verify", "half.h5", "p.h5")
        self.ok("half.h5", *RUN, "--time", 900, "-o", "r.h5")
        self.ok("verify", "r.h5", "half.h5")
        self.assertAlmostEqual(self.attribute("r.h5", "/", "time"), 900.0, 6)

    def test_sides_with_many_numbers(self):
        """Fluxes along a side are rows beside /k, also where bytes do not name all of them."""
        for cells in (40, 300):
            self.problem(field(cells, 30), 1 + field(cells, 30), extra={"flux_x-": field(cells)}, boundary="mirror",
                         problem="heat", steps=3, rtol=None, **{"boundary_x-": "flux"})
            self.solved()

    def notes(self, *arguments, code=0):
        done = self.ok("p.h5", *RUN, "--json", "-", "-o", "j.h5", *arguments, code=code)
        return " ".join(json.loads(done.stdout)["notes"])

    def test_no_solution(self):
        """Where nothing is fixed source and fluxes add up to 0 over the cells, whatever their k, or there is no solution,
        which is known before the first step; a balanced pocket is noted."""
        n = (16, 20)
        two = numpy.ones(n)
        two[:, 10:] = 5.0
        pair = numpy.zeros(n)
        pair[3, 2], pair[9, 17] = 1.0, -1.0
        for k in (1 + field(*n), two):
            for u in (numpy.zeros(n), numpy.zeros(n, "f4")):
                some = {"boundary": "mirror", "problem": "poisson", "spacing": 0.1, "steps": 50, "check_every": 10}
                self.problem(u, k, extra={"f": numpy.ones(n)}, rtol=1e-6, **some)
                self.refused(BAD_DATA, ["no axis is fixed and /f has the mean 1, not 0", "no solution"], "p.h5", *RUN)
                self.assertIn("/f has the mean 1, not 0", self.notes("--rtol", "none"))
                self.problem(u, k, extra={"f": pair}, rtol=1e-6, **some)
                self.assertNotIn("mean", self.notes(code=2))
                self.problem(u, k, extra={"f": pair, "fixed": pair > 0}, rtol=1e-6, **some)
                self.assertNotIn("mean", self.notes(code=2))
                room = numpy.zeros(n, bool)
                room[2:12, 1] = room[2:12, 18] = room[2, 1:19] = room[11, 1:19] = True
                fixed = numpy.zeros(n, bool)
                fixed[0, 0] = True
                for f in (pair, abs(pair)):
                    self.problem(u, k, extra={"f": f, "insulated": room, "fixed": fixed}, rtol=1e-6, **some)
                    if f is pair:
                        self.assertIn("128 cells, in 1 pocket (the first one around /u[3][2])", self.notes(code=2))
                    else:
                        self.refused(BAD_DATA, ["/u[3][2] are joined to no fixed", "no solution"], "p.h5", *RUN)
                        self.assertIn("no solution", self.notes("--rtol", "none"))

    def test_fluxes_balance(self):
        """What flows in through a wall is k times its slope: 2 through k = 1 is 0.4 through k = 5."""
        n = (16, 20)
        k = numpy.ones(n)
        k[:, 10:] = 5.0
        rough = k * numpy.linspace(1, 2, 20)
        for k in (k, rough):
            for suffix in ("", "-node"):
                beyond = k[0, [0, -1]] if not suffix else (harmonic(k[0, 0], k[0, 1]), harmonic(k[0, -1], k[0, -2]))
                for flux, balanced in ((2.0 * beyond[0] / beyond[1], True), (2.0, False)):
                    walls = {"boundary_x-": "flux" + suffix, "boundary_x+": "flux" + suffix, "flux_x-": 2.0, "flux_x+": -flux,
                             "boundary_y-": "mirror" + suffix, "boundary_y+": "mirror" + suffix}
                    self.problem(numpy.zeros(n), k, boundary="mirror", spacing=0.1, steps=50, rtol=None, **walls)
                    self.assertIn("their mean stays" if balanced else "no solution", self.notes())

    def test_format(self):
        """Programs that would take /k, or one of several diffusivities, for something else refuse such files."""
        self.problem(field(8, 9), numpy.ones((8, 9)), problem="heat", rtol=None, steps=2)
        self.solved()
        self.assertEqual(self.attribute("r.h5", "/", "format"), "stencil 3")
        self.write("p.h5", field(8, 9), {"stencil": None, "problem": "heat", "diffusivity": (1, 2), "steps": 2})
        self.solved()
        self.assertEqual(self.attribute("r.h5", "/", "format"), "stencil 3")

    def test_palette(self):
        """Two materials are a palette, random ones are fields, and both are reported."""
        self.problem(field(64, 200), numpy.where(field(64, 200).cumsum(1) < 40, 0.2, 400.0), steps=5, rtol=None)
        self.assertIn("palette", self.ok("p.h5", *RUN, "-o", "r.h5").stdout)
        self.problem(field(64, 200), 0.2 + field(64, 200), steps=5, rtol=None)
        self.assertIn("fields", self.ok("p.h5", *RUN, "-o", "r.h5").stdout)

    def test_sweeps_of_a_gpu(self):
        """Fields of coefficients are for single steps by stream and naive; the others say so."""
        self.problem(field(256, 256), 0.2 + field(256, 256), problem="heat", steps=100, rtol=None)
        on = ("--machine", H200, "--device", "gpu", "--gpus", 1)
        for sweep in ("pipeline", "resident"):
            sync = ("--sync", "grid" if sweep == "resident" else "graph")
            self.refused(UNAVAILABLE, "give --sweep stream", "plan", "p.h5", *on, *sync, "--sweep", sweep)
        taken = json.loads(self.ok("plan", "p.h5", *on, "--json", "-").stdout)["plans"]
        self.assertEqual({plan["sweep"] for plan in taken if plan["why"] is None}, {"stream", "naive"})

    def test_diffusivity_per_axis(self):
        """One diffusivity per axis: each mode of a box decays with its own rate."""
        n, a = 33, (0.5, 2.0)
        y, x = numpy.meshgrid(*(numpy.sin(numpy.pi * numpy.arange(n) / (n - 1)),) * 2, indexing="ij")
        self.write("p.h5", y * x, {"stencil": None, "problem": "heat", "diffusivity": a, "steps": 20, "dt": 0.1})
        decay = 1 - 0.1 * sum(a) * (2 - 2 * numpy.cos(numpy.pi / (n - 1)))
        numpy.testing.assert_allclose(self.solved(), numpy.where(y * x > 1e-12, y * x * decay**20, y * x), atol=1e-14)
        self.assertEqual(list(self.attribute("r.h5", "/", "diffusivity")), list(a))
        self.assertAlmostEqual(self.report("p.h5")["problem"]["dt_largest"], 1 / (2 * sum(a)))


if __name__ == "__main__":
    unittest.main()
