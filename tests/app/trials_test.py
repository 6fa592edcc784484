"""Inputs of new users which gave wrong, silent or unhelpful answers: for each the exit code, the words that have to be
said, and, where the truth is known, the error. Words are few and loose: texts may change, what they name may not."""
import json
import re
import unittest
from collections import namedtuple

import numpy

from harness import CommandTest, h5py

N = 33
H = 1 / (N - 1)
RUN = ("--device", "cpu", "--threads", 1, "--effort", "estimate", "--force", "--json", "r.json")
UNWRITTEN = r"([Uu]n|[Nn]ever |[Nn]obody |not )(wr|st)"
ANEW = r"(?i)anew|edited|chang|differ|another|start"


def waves(ny=N, nx=N, length_x=1.0):
    """sin(πx/a) sin(πy) on [0, a] x [0, 1]."""
    return numpy.outer(numpy.sin(numpy.pi * numpy.linspace(0, 1, ny)), numpy.sin(numpy.pi * numpy.linspace(0, 1, nx)))


def solve(u, f, hx=H, hy=H):
    """The solution of the discrete equations -∇²u = f with the boundary of `u`, by its eigenvectors (sines)."""
    u, right = numpy.array(u, "f8"), numpy.array(f, "f8")[1:-1, 1:-1].copy()
    right[0] += u[0, 1:-1] / hy**2
    right[-1] += u[-1, 1:-1] / hy**2
    right[:, 0] += u[1:-1, 0] / hx**2
    right[:, -1] += u[1:-1, -1] / hx**2
    sines, eigenvalues = [], []
    for count, h in zip(right.shape, (hy, hx), strict=True):
        k = numpy.arange(1, count + 1)
        sines.append(numpy.sqrt(2 / (count + 1)) * numpy.sin(numpy.pi * numpy.outer(k, k) / (count + 1)))
        eigenvalues.append(4 / h**2 * numpy.sin(numpy.pi * k / (2 * (count + 1)))**2)
    modes = sines[0] @ right @ sines[1] / numpy.add.outer(*eigenvalues)
    u[1:-1, 1:-1] = sines[0] @ modes @ sines[1]
    return u


EX = waves()
F = 2 * numpy.pi**2 * EX
ZERO = numpy.zeros((N, N))
HOT = ZERO.copy()
HOT[0] = 100
P = {"problem": "poisson", "rtol": 1e-8, "accelerate": "chebyshev", "spacing": H}
L = {**P, "problem": "laplace"}
HEAT = {"problem": "heat", "spacing": H, "steps": 100}
FIVE = [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)]
QUARTERS = [0, .25, .25, .25, .25]
CHECKERS = numpy.indices((32, 32)).sum(0) % 2 * 1.0

# What a line gives and wants. `make` writes the open file; `notes` have to match a note or the message of the error
# each, `no` must not match any, `report` the report; the error of the result is `most` at most, and within the bound
# that is printed; `reason` is that of the report; `more(test)` looks further.
Line = namedtuple("Line", "name make code notes no report truth most reason options more",
                  defaults=(None, None, None, None, None, (), None))


def line(name, make, code=0, notes=(), **wanted):
    return Line(name, make, code, (notes,) if isinstance(notes, str) else notes, **wanted)


def problem(u, attributes, **datasets):
    def make(file):
        file["u"] = u
        for name, values in datasets.items():
            file[name] = values
        for name, value in attributes.items():
            if value is not None:
                file.attrs[name] = value
    return make


def marked(u, **attributes_of_u):
    """Laplace, with attributes of /u."""
    def make(file):
        problem(u, L)(file)
        for name, value in attributes_of_u.items():
            file["u"].attrs[name] = value
    return make


def partly_written(name, chunks, fill=None, rows=None, values=HOT):
    """Laplace or Poisson, with an array of which only the first rows of chunks were ever written."""
    def make(file):
        if name == "u":
            problem(HOT, L)(file)
            del file["u"]
        else:
            problem(ZERO, P)(file)
        data = file.create_dataset(name, (N, N), "f8", chunks=chunks, fillvalue=fill)
        if rows is not None:
            data[:rows] = values[:rows]
    return make


def weights(values, offsets=FIVE, **attributes):
    return problem(HOT, attributes, **{"stencil/offsets": offsets, "stencil/weights": values})


def named(values=None, **attributes):
    """The named stencil of five points."""
    datasets = {} if values is None else {"stencil/weights": values}
    return problem(HOT, {"stencil": "j2d5pt", "steps": 1, **attributes}, **datasets)


def attributes_of_u(file):
    file["u"] = HOT
    file["u"].attrs["spacing"], file["u"].attrs["boundary"] = H, "periodic"
    file.attrs["problem"], file.attrs["steps"] = "heat", 10


def u_in_a_group(file):
    file["grid/u"] = HOT
    file.attrs["problem"] = "heat"


def packed_values(test):
    with h5py.File(test.path("r.h5"), "r") as file:
        test.assertAlmostEqual(file["u"][0, 5], 373.15, 9)
        test.assertFalse({"scale_factor", "add_offset"} & set(file["u"].attrs))


def residuals_are_numbers(test):
    residuals = numpy.atleast_1d(test.read("r.h5", "residual"))
    test.assertTrue(len(residuals) > 0 and numpy.all(residuals > 0) and numpy.all(numpy.isfinite(residuals)), residuals)


def is_float64(test):
    test.assertEqual(test.read("r.h5").dtype, "f8")


def holds(values):
    return lambda test: numpy.testing.assert_array_equal(test.read("r.h5"), values)


X2 = numpy.linspace(0, 2, N)
Y1 = numpy.linspace(0, 1, N)
F2 = 2 * numpy.pi**2 * numpy.outer(numpy.sin(numpy.pi * Y1), numpy.sin(numpy.pi * X2))
WIDE = waves(N, 2 * N - 1)
WIDE_F = numpy.pi**2 * 1.25 * WIDE
NAN_INSIDE, NAN_EDGE, NAN_CORNER = HOT.copy(), HOT.copy(), HOT.copy()
NAN_INSIDE[10:14, 10:14] = NAN_EDGE[0, 5] = NAN_CORNER[0, 0] = numpy.nan
F_NAN_INSIDE, F_NAN_EDGE = F.copy(), F.copy()
F_NAN_INSIDE[10, 10] = F_NAN_EDGE[0, 10] = numpy.nan
MARKED_INSIDE, MARKED_CORNER = HOT.copy(), HOT.copy()
MARKED_INSIDE[10:14, 10:14] = MARKED_CORNER[0, 0] = -999
BIG = 65  # cells along an axis from which on float32 does not meet the limit of Poisson


def big_source():
    return 2 * numpy.pi**2 * waves(BIG, BIG)


def float32(dtype, rtol):
    return problem(numpy.zeros((BIG, BIG), dtype), {**P, "spacing": 1 / (BIG - 1), "rtol": rtol}, f=big_source())


def float32_truth():
    return solve(numpy.zeros((BIG, BIG)), big_source(), 1 / (BIG - 1), 1 / (BIG - 1))


ALIASES = {"alpha": 1e-5, "timestep": 1e-4, "dx": .1, "h": .1, "nsteps": 7, "max_steps": 7, "tol": 1e-3,
           "bc": "periodic",
           "boundaries": "periodic", "kappa": 3., "D": 3., "k": 3., "Dt": 2.}
MEANT = {"alpha": "diffusivity", "timestep": "dt", "dx": "spacing", "h": "spacing", "nsteps": "steps",
         "max_steps": "steps",
         "tol": "tol", "bc": "boundary", "boundaries": "boundary", "kappa": "diffusivity", "D": "diffusivity",
         "k": "diffusivity", "Dt": "dt"}
SOLVED = {"truth": solve(ZERO, F), "most": 1e-6}
LAPLACE = {"truth": solve(HOT, ZERO), "most": 1e-4}

ONES = numpy.ones((32, 32))
ALL_FREE = [line(f"19-{side}-{name}", problem(0 * ONES, {**P, "boundary": side, **more}, f=ONES), code, "mean",
                 **wanted)
            for side in ("mirror", "periodic")
            for name, more, code, wanted in (
                ("chebyshev", {}, 65, {}), ("plain", {"accelerate": "none"}, 65, {}),
                ("no-criterion", {"rtol": None, "accelerate": "none"}, 0, {"report": "all steps done"}))]

LINES = [
    # Problem and source.
    line("1-no-spacing", problem(ZERO, {**P, "spacing": None}, f=F), report=r"spacing 1\b",
         truth=solve(ZERO, F, 1, 1), most=1e-2),
    line("2-sign-of-f", problem(ZERO, P, f=-F), report=r"(∇²|div grad )u = f", truth=-SOLVED["truth"], most=1e-6),
    line("3-b-with-poisson", problem(ZERO, P, b=F), notes=(r"/b\b", r"/f\b")),
    line("4-f-with-heat", problem(ZERO, HEAT, f=F), 65, r"/f\b.*/[qb]\b"),
    line("4b-f-with-laplace", problem(ZERO, L, f=F), 65, r"/f\b.*poisson"),
    line("5-b-with-heat", problem(ZERO, HEAT, b=F), notes=r"/b\b.*/q\b"),
    line("5b-q-with-heat", problem(ZERO, {"problem": "heat", "spacing": H, "steps": 12000}, q=F), no=r"/b\b", **SOLVED),
    # Criteria.
    line("6-rtol-half", problem(ZERO, {**P, "rtol": .5}, f=F), reason="converged_rtol", truth=SOLVED["truth"],
         most=0.1),
    line("6b-rtol-near-1", problem(ZERO, {**P, "rtol": .999}, f=F), reason="converged_rtol", truth=SOLVED["truth"],
         most=0.1),
    line("7-atol-far-off", problem(ZERO, {"problem": "poisson", "spacing": H, "atol": 1e-2}, f=F), notes="atol",
         report="not solved"),
    line("7b-atol-with-heat", problem(HOT, {**HEAT, "steps": 10000, "atol": 1e-2}), notes="atol",
         reason="converged_atol"),
    line("7c-atol-with-weights", weights(QUARTERS, atol=1e-2), notes="atol", reason="converged_atol"),
    line("7d-loose-rtol-of-a-large-field", problem(HOT, {"problem": "laplace", "spacing": H, "rtol": 0.1}),
         report="not solved"),
    line("8-no-criterion", problem(ZERO, {"problem": "poisson", "spacing": H, "steps": 1000}, f=F),
         report="all steps done"),
    line("9-float32", float32("f4", 1e-8), notes="float32", reason="converged_precision", truth=float32_truth(),
         most=1e-4),
    line("9b-float32-1e-5", float32("f4", 1e-5), notes="float32", reason="converged_precision", truth=float32_truth(),
         most=1e-4),
    line("9c-float16", float32("f2", 1e-5), notes="float32", reason="converged_precision", truth=float32_truth(),
         most=1e-4),
    # Axes.
    line("10-wide", problem(0 * WIDE, P, f=WIDE_F), truth=solve(0 * WIDE, WIDE_F), most=1e-6),
    line("10b-spacing", problem(ZERO, {**P, "spacing": [H, 2 * H]}, f=F2), truth=solve(ZERO, F2, 2 * H, H), most=1e-6),
    line("10c-coordinates-contradict", problem(ZERO, {**P, "spacing": [2 * H, H]}, f=F2, x=X2, y=Y1),
         notes=r"/x|coordinate"),
    line("10d-coordinates-agree", problem(ZERO, {**P, "spacing": [H, 2 * H]}, f=F2, x=X2, y=Y1), no=r"/x|/y|coordinate",
         truth=solve(ZERO, F2, 2 * H, H), most=1e-6),
    line("10e-coordinates-uneven", problem(ZERO, P, f=F, x=Y1**2, y=Y1), notes=r"/x|coordinate"),
    line("11-fortran-order", problem(ZERO.T.copy(), {**P, "spacing": [H, 2 * H]}, f=numpy.asfortranarray(F2)),
         truth=solve(ZERO, F2, 2 * H, H), most=1e-6),
    # Types.
    line("12-int32", problem(HOT.astype("i4"), L), more=is_float64, **LAPLACE),
    line("12b-uint8", problem(HOT.astype("u1"), L), more=is_float64, **LAPLACE),
    line("12c-int64", problem(numpy.full((N, N), 2**60 + 1), {**HEAT, "steps": 1}), more=holds(2.0**60)),
    line("12d-bool", problem(ZERO.astype(bool), HEAT), 65, r"/u\b.*truth"),
    line("12e-complex", problem(ZERO.astype(complex), HEAT), 65, r"/u\b.*compound"),
    line("12f-long-double", problem(ZERO.astype(numpy.longdouble), {**HEAT, "steps": 1}), more=is_float64),
    # Values that are none.
    line("13-nan-as-hole", problem(NAN_INSIDE, L), 65, r"/u\[10\]\[10\].*NaN"),
    line("13b-nan-on-boundary", problem(NAN_EDGE, L), 65, r"/u\[0\]\[5\].*NaN"),
    line("13c-nan-at-corner", problem(NAN_CORNER, L), 65, r"/u\[0\]\[0\].*NaN"),
    line("13d-nan-allowed", problem(NAN_EDGE, L), 2, "diverged", options=("--allow-nonfinite",)),
    line("13e-nan-in-f", problem(ZERO, P, f=F_NAN_INSIDE), 65, r"/f\[10\]\[10\].*NaN"),
    line("13f-nan-in-f-unused", problem(ZERO, P, f=F_NAN_EDGE), **SOLVED),
    line("13g-nan-as-fill-value", marked(NAN_INSIDE, _FillValue=numpy.nan), 65, (r"_FillValue", r"\b16\b")),
    line("14-unwritten-fill-999", partly_written("u", (16, 16), -999., 16), 65, (UNWRITTEN, r"--allow-unwritten")),
    line("14a-unwritten-allowed", partly_written("u", (16, 16), None, 16), options=("--allow-unwritten",), **LAPLACE),
    line("14b-unwritten-default", partly_written("u", (16, 16), None, 16), 65, UNWRITTEN),
    line("14c-never-written", partly_written("u", None), 65, UNWRITTEN),
    line("14d-packed",
         marked((HOT * 100).astype("i2"), scale_factor=.01, add_offset=273.15, _FillValue=numpy.int16(-32768)),
         truth=solve(HOT + 273.15, ZERO), most=1e-3, more=packed_values),
    line("14e-fill-value", marked(MARKED_INSIDE, _FillValue=-999.), 65, (r"_FillValue", r"\b16\b", r"10\]?\W+10")),
    line("14f-missing-value", marked(MARKED_INSIDE, missing_value=-999.), 65, (r"missing_value", r"\b16\b")),
    line("14g-fill-value-at-corner", marked(MARKED_CORNER, _FillValue=-999.), truth=solve(MARKED_CORNER, ZERO),
         most=1e-4),
    line("14h-valid-range", marked(HOT, valid_range=[0., 50.]), 65, r"valid_range"),
    line("14i-unwritten-f", partly_written("f", (16, 16), None, 16, F), notes=rf"/f\b.*{UNWRITTEN}|{UNWRITTEN}.*/f\b"),
    # Weights of one's own.
    line("15-sum-1.2", weights([0, .3, .3, .3, .3], steps=100), report="all steps done"),
    line("15b-sum-1.2-diverges", weights([0, .3, .3, .3, .3], steps=10000), 2, "diverged"),
    line("15c-sum-.8", weights([0, .2, .2, .2, .2], rtol=1e-8), reason="converged_rtol"),
    line("15d-laplacian-once", weights([-4, 1, 1, 1, 1], steps=1), report="all steps done"),
    line("15e-laplacian-diverges", weights([-4, 1, 1, 1, 1], rtol=1e-6), 2, "diverged"),
    line("15f-problem-and-weights", weights(QUARTERS, rtol=1e-6, spacing=.1, problem="laplace"), 65,
         "laplace.*weights"),
    line("15g-spacing-and-weights", weights(QUARTERS, steps=10, spacing=.1), notes="spacing"),
    line("15h-diffusivity-and-weights", weights(QUARTERS, steps=10, diffusivity=3.), notes="diffusivity"),
    line("15i-twice", weights([0., 1, 0, 0, 0], [(0, 0), (1, 0), (-1, 0), (0, 1), (0, 1)], steps=1), 65,
         r"\(0, 1\).*twice"),
    line("15j-half-offsets", weights([.25] * 4, [(.5, 0), (-.5, 0), (0, .5), (0, -.5)], steps=1), 65, r"0\.5.*whole"),
    line("15k-4-weights", named(numpy.array([.1, .2, .3, .4])), 65, "5 points.*4 weights"),
    line("15l-weights-as-attribute", named(**{"weights": numpy.array(QUARTERS)}), notes="weights.*/stencil/weights"),
    # Heat.
    line("16a-dt-1", problem(HOT, {**HEAT, "dt": 1.}), 65, r"\b1 is unstable.*0\.000244"),
    line("16b-dt-short", problem(HOT, {**HEAT, "dt": 7e-4}), 65, r"\b0\.0007 is unstable"),
    line("16c-dt-shortest", problem(HOT, {**HEAT, "spacing": H / 4, "dt": 7e-05}), 65, r"\b7e-05 is unstable"),
    line("16d-dt-negative", problem(HOT, {**HEAT, "dt": -1e-5}), 65, r"'dt' is -1e-05"),
    line("16e-rtol", problem(HOT, {**HEAT, "rtol": 1e-6}), 2, "not converged"),
    line("16f-t_end", problem(HOT, {**HEAT, "time": 1., "t_end": 5., "t": 1}), notes=r"\bt_end\b.*(steps|time)"),
    line("16g-aliases", problem(HOT, {**HEAT, **ALIASES}), notes=[rf"\b{name}\b.*{MEANT[name]}" for name in ALIASES]),
    line("16h-aliases-of-data", problem(HOT, HEAT, source=F, rhs=F, F=F, u0=F, x=Y1),
         notes=[rf"/{name}\b" for name in ("source", "rhs", "F", "u0")], no=r"/x\b"),
    line("16i-F", problem(HOT, P, F=F), notes=r"/F\b.*/f\b"),
    line("16j-source", problem(HOT, P, source=F[:20]), notes=(r"/source\b", r"/f\b")),
    line("16k-rhs", problem(ZERO, P, rhs=F.astype("f4")), notes=(r"/rhs\b", r"/f\b")),
    line("16l-no-f", problem(HOT, P), notes=r"/f\b", **LAPLACE),
    line("16m-f-of-another-shape", problem(ZERO, P, f=F[:-1]), 65, r"/f\b.*shape"),
    line("16n-f-flat", problem(ZERO, P, f=F.ravel()), 65, r"/f\b.*rank"),
    line("16o-f-scalar", problem(ZERO, P, f=-2.0), 65, r"/f\b.*rank"),
    # Attributes in the wrong place, of other problems, and of other types.
    line("18-attributes-of-u", attributes_of_u, notes=(r"'boundary' of /u.*root", r"'spacing' of /u.*root")),
    line("18b-u-in-a-group", u_in_a_group, 65, r"no dataset /u"),
    line("18c-datasets", problem(HOT, {"problem": "heat"}, spacing=H, steps=10, boundary="periodic"),
         notes=[rf"/{name}\b.*attribute" for name in ("spacing", "steps", "boundary")], options=("--steps", 10)),
    line("18d-omega-with-heat", problem(HOT, {**HEAT, "omega": .5}), notes="omega"),
    line("18e-dt-with-laplace", problem(HOT, {**L, "dt": 1e-3, "diffusivity": 3.}), notes=(r"\bdt\b", "diffusivity"),
         **LAPLACE),
    line("18f-chebyshev-with-heat", problem(HOT, {**HEAT, "accelerate": "chebyshev"}), 65, "accelerate.*laplace"),
    line("18g-Heat", problem(HOT, {"problem": "Heat"}), 65, "'Heat'.*heat"),
    line("18h-steps-10.5", problem(HOT, {**HEAT, "steps": 10.5}), 65, r"'steps' is 10\.5"),
    line("18i-steps-text", problem(HOT, {**HEAT, "steps": "10"}), 65, "'steps' is a string"),
    line("18j-spacing-text", problem(HOT, {**HEAT, "spacing": "0.1"}), 65, "'spacing' is a string"),
    line("18k-3-spacings", problem(HOT, {**HEAT, "spacing": [.1, .1, .1]}), 65, "'spacing' has 3 values"),
    line("18l-no-problem", problem(HOT, {"spacing": .1}), 65, "'stencil' or 'problem'"),
    # No axis fixed.
    *ALL_FREE,
    line("19c-checkerboard", problem(CHECKERS, {"problem": "laplace", "boundary": "periodic", "rtol": 1e-8}), 2,
         ("checkerboard|alternating", "omega")),
    line("19d-checkerboard-chebyshev", problem(CHECKERS, {**L, "boundary": "periodic"}), truth=0 * CHECKERS + .5,
         most=1e-6),
    line("19e-checkerboard-steps", problem(CHECKERS, {"problem": "laplace", "boundary": "periodic", "steps": 100}),
         report="all steps done", more=holds(CHECKERS)),
    # Sizes of numbers.
    line("20-aspect-1e3", problem(ZERO, {**P, "spacing": [H, H * 1e-3]}, f=F), truth=solve(ZERO, F, H, H * 1e-3),
         most=1e-12),
    line("20b-aspect-1e6", problem(ZERO, {**P, "spacing": [H, H * 1e-6]}, f=F), notes="whole cycles",
         truth=solve(ZERO, F, H, H * 1e-6), most=1e-18, options=("--steps", 20001)),
    line("20c-tiny-spacing", problem(ZERO, {**P, "spacing": [1e-200, 1e-200]}, f=F), 65, "spacing"),
    line("20d-huge-spacing", problem(ZERO, {**P, "spacing": [1e200, 1e200]}, f=F), 65, "spacing"),
    line("20e-huge-f", problem(ZERO, P, f=F * 1e300), truth=SOLVED["truth"] * 1e300, most=1e294,
         more=residuals_are_numbers),
    line("20f-tiny-f", problem(ZERO, P, f=F * 1e-300), truth=SOLVED["truth"] * 1e-300, most=1e-306,
         more=residuals_are_numbers),
    line("20f2-subnormal-f", problem(ZERO, P, f=F * 1e-320), code=(0, 2), no=r"\bnorm|diverged",
         truth=SOLVED["truth"] * 1e-320, most=1e-320),
    line("20g-offset-1e8", problem(ZERO + 1e8, P, f=F), truth=1e8 + SOLVED["truth"], most=1e-3),
    line("20h-float32-offset-1e8", problem((ZERO + 1e8).astype("f4"), {**P, "rtol": 1e-5}, f=F), notes="float32",
         truth=1e8 + SOLVED["truth"], most=1e5),
    line("20i-float32-constant", problem((ZERO + 300).astype("f4"), HEAT), no="rounded", more=holds(300)),
    line("20j-float32-lost", problem((ZERO + 300).astype("f4"), HEAT, b=(ZERO + 1e-6).astype("f4")),
         notes="rounded away"),
    line("20k-float64-kept", problem(ZERO + 300, HEAT, b=ZERO + 1e-6), no="rounded", truth=ZERO + 300.00005, most=5e-5),
    line("20l-heat-1e200", problem(HOT * 1e198, HEAT), no="diverged", report="all steps done",
         more=residuals_are_numbers),
    line("20m-heat-1e-170", problem(HOT * 1e-172, HEAT), no="diverged", report="all steps done",
         more=residuals_are_numbers),
]


class Trials(CommandTest):
    def run_line(self, line, name="p.h5"):
        """The notes and the report of a run, or the message of its error."""
        done = self.call(name, *RUN, "-o", "r.h5", *line.options)
        codes = line.code if isinstance(line.code, tuple) else (line.code,)
        shown = " ".join(done.stdout.split())
        said, result = done.stderr.splitlines(), {}
        if done.returncode in (0, 2):
            with open(self.path("r.json"), encoding="utf-8") as file:
                root = json.load(file)
            said += root["notes"]
            result = root.get("result") or {}
        with self.subTest("exit code"):
            self.assertIn(done.returncode, codes, f"{said} {shown}")
        for words in line.notes:
            with self.subTest("note", words=words):
                self.assertTrue(any(re.search(words, text) for text in said), f"{words}: {said}")
        if line.no is not None:
            with self.subTest("no note", words=line.no):
                self.assertFalse(any(re.search(line.no, text) for text in said), said)
        if line.report is not None:
            with self.subTest("report", words=line.report):
                self.assertRegex(shown, line.report)
        if line.reason is not None:
            with self.subTest("reason"):
                self.assertEqual(result.get("reason"), line.reason, said)
        if done.returncode in (0, 2):
            self.check_values(line, result)
        return said

    def check_values(self, line, result):
        if line.truth is not None:
            error = numpy.abs(self.read("r.h5").astype("f8") - line.truth)
            with self.subTest("error"):
                self.assertLessEqual(error.max(), line.most)
            bound = result.get("error_bound")
            if bound is not None:  # of the root mean square of the updated cells
                inside = error[1:-1, 1:-1] / bound if bound > 0 else error[1:-1, 1:-1]
                rounding = 1e-12 * numpy.abs(line.truth).max() / (bound or 1)
                with self.subTest("bound"):
                    self.assertLessEqual(numpy.sqrt(numpy.mean(inside**2)), (bound > 0) + rounding)
        if line.more is not None:
            with self.subTest("further"):
                line.more(self)

    def edited(self, make, edit):
        """A result under k.h5, with something of it replaced."""
        self.make_file("p.h5", make)
        self.ok("p.h5", *RUN, "-o", "k.h5")
        with h5py.File(self.path("k.h5"), "r+") as file:
            edit(file)

    def make_file(self, name, make):
        with h5py.File(self.path(name), "w") as file:
            make(file)

    def rerun(self, name, notes, truth, most, **more):
        self.run_line(line(name, None, notes=notes, truth=truth, most=most, **more), "k.h5")

    def refused_by_verify(self):
        with self.subTest("verify"):
            done = self.call("verify", "k.h5")
            self.assertNotEqual(done.returncode, 0, done.stdout)

    def test_17_edited_f(self):
        self.edited(problem(ZERO, P, f=F), lambda file: file["f"].write_direct(numpy.ascontiguousarray(5 * F)))
        self.refused_by_verify()
        self.rerun("17-f", (ANEW, r"/f\b"), 5 * SOLVED["truth"], 1e-5)

    def test_17b_edited_u(self):
        self.edited(problem(ZERO, P, f=F), lambda file: file["u"].write_direct(ZERO))
        self.refused_by_verify()
        self.rerun("17b-u", (ANEW, r"/u\b"), SOLVED["truth"], 1e-6)

    def test_17c_edited_boundary(self):
        def edit(file):
            file["u"][0] = 1

        wall = ZERO.copy()
        wall[0] = 1
        self.edited(problem(ZERO, P, f=F), edit)
        self.refused_by_verify()
        self.rerun("17c-boundary", (ANEW, r"/u\b|boundary"), solve(wall, F), 1e-5)

    def test_17d_smaller_rtol(self):
        """Nothing was edited: the run goes on."""
        self.edited(problem(ZERO, P, f=F), lambda file: None)
        self.ok("verify", "k.h5")
        self.rerun("17d-rtol", (), SOLVED["truth"], 1e-10, no=r"anew|edited", reason="converged_rtol",
                   report=r"[1-9]\d* of them in this run: converged", options=("--rtol", "1e-12"))

    def test_17e_new_initial_values(self):
        self.edited(problem(HOT, HEAT), lambda file: file["u"].write_direct(2 * HOT))
        once = self.make_once(problem(HOT, HEAT))
        self.refused_by_verify()
        self.rerun("17e-heat", (ANEW, r"/u\b"), 2 * once, 1e-11, report="all steps done")

    def test_17f_edited_b(self):
        self.edited(problem(HOT, HEAT, b=F), lambda file: file["b"].write_direct(numpy.ascontiguousarray(2 * F)))
        self.refused_by_verify()
        with h5py.File(self.path("k.h5"), "r") as file:
            start = file["u"][()]
        self.rerun("17f-b", (ANEW, r"/b\b"), self.make_once(problem(start, HEAT, b=2 * F)), 1e-9)

    def make_once(self, make):
        self.make_file("once.h5", make)
        self.ok("once.h5", *RUN, "-o", "once.r.h5")
        return self.read("once.r.h5")

    def test_float32_of_new(self):
        """What `stencil new` makes converges, whatever its precision."""
        for name in ("poisson", "laplace"):
            for size in ("17x17", "65x65", "129x129", "17x17x17"):
                with self.subTest(problem=name, size=size):
                    self.ok("new", "p.h5", "--problem", name, "--size", size, "--precision", "float32", "--quiet",
                            "--force",
                            *(("--initial", "hot-edge") if name == "laplace" else ()))
                    done = self.call("p.h5", *RUN, "-o", "r.h5")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    with open(self.path("r.json"), encoding="utf-8") as file:
                        result = json.load(file)["result"]
                    self.assertRegex(result["reason"], "^converged_(precision|rtol)$")
                    self.assertLess(result["error_bound_relative"], 0.1)


def add_tests():
    """A test of its own for each line."""
    def test_of(entry):
        def test(self):
            self.make_file("p.h5", entry.make)
            self.run_line(entry)
        return test

    for entry in LINES:
        name = "test_" + re.sub(r"\W", "_", entry.name)
        assert not hasattr(Trials, name), name
        setattr(Trials, name, test_of(entry))


add_tests()

if __name__ == "__main__":
    unittest.main()
