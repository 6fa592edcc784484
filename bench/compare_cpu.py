#!/usr/bin/env python3
"""Runs Devito (where it is installed) and a plain C loop beside stencil on a CPU:
the same problem, the same threads, in turns.

    python3 bench/compare_cpu.py --sizes 4096x4096 -- --effort patient

What stands behind -- goes to every run of stencil; what makes it another
problem (--boundary …) is refused. Problems are those of
`stencil new --stencil SET --initial random`: fixed boundary, weights
as in the file. With --k it is heat
with a coefficient of its own in each cell, /k, which the other codes have as
weights of faces, an array for each axis. The competitors:

  stream  stencil --sweep stream: each step reads and writes the whole field
  auto    stencil with the sweep and the strategy of its own choice
  C loop  two buffers and nested loops, the outermost one parallel (OpenMP),
          compiled for this problem by $CC (or cc, gcc, clang)
  Devito  an Operator with opt=advanced, OpenMP and tuned blocks

First all of them make the same few steps: auto has to agree with stream to the
last bit, the others within rounding. After one round that does not count, each
is timed once per round; only steps are timed (of Devito: apply). The table has
medians with the standard deviation that the samples suggest; ratio is auto over
the faster one of C loop and Devito. Residuals of every 100th step count."""
import argparse
import concurrent.futures
import contextlib
import ctypes
import importlib.util
import itertools
import json
import math
import mmap
import multiprocessing
import os
import platform
import shlex
import shutil
import signal
import statistics
import string
import subprocess
import sys
import tempfile
import time

try:
    import h5py
    import numpy
except ImportError:
    print("compare_cpu.py: there is no h5py for python3 here (Debian: python3-h5py)", file=sys.stderr)
    sys.exit(69)

SIZES = ["2048x2048", "4096x4096", "8192x8192", "256x256x256", "384x384x384"]
PRECISIONS = ["float64", "float32"]
STENCILS = {2: "j2d5pt", 3: "j3d7pt"}
# Point sets of radius 1: the most axes along which a point lies beside the centre.
SETS = {"j2d5pt": 1, "j2d9pt": 2, "j3d7pt": 1, "j3d19pt": 2, "j3d27pt": 3}
# Options of compilers that leave out what an instruction set lacks; the last ones win.
ISA_FLAGS = {"avx512": [], "avx2": ["-mno-avx512f"], "baseline": ["-march=x86-64"]}
SAMPLE_S = 1.0  # seconds of a sample of `stream` without --steps
PROBE_S = 0.1  # seconds of a run that measures the time of a step
# Most steps before results are compared: more would increase the rounding errors to be allowed, and let the
# field decay to where faults no longer show.
VERIFIED_STEPS = 100
# Options of `stencil run` that would change the problem.
OTHER_PROBLEM = ["--problem", "--stencil", "--boundary", "--spacing", "--omega", "--accelerate", "--diffusivity", "--dt",
                 "--precision"]
HEADINGS = {"stream": "stream", "auto": "auto", "c": "C loop", "devito": "Devito"}

# C loop to compare with; weights and extents are compile-time constants, to help the compiler.
C_LOOP = string.Template("""\
#include <string.h>
#include <time.h>

typedef $real real;
enum { COUNT = $count }; /* indices of the outermost axis, each with a slab of cells */
static const long slab = $slab;

static void step(const real *restrict u, real *restrict v, const real *const *w) {
$faces
#pragma omp parallel for schedule(static)
$loops        v[$cell] = $sum;
}

/* Returns the seconds of some steps from `field`; u has the result of an even number of steps, v of an odd one. */
double loop(const real *field, real *u, real *v, long steps, const real *const *w) {
    /* A slab is first touched, and so placed, by the thread that will compute it. */
#pragma omp parallel for schedule(static)
    for (long i = 0; i < COUNT; i++) {
        for (long k = i * slab; k < (i + 1) * slab; k++)
            u[k] = field[k];
        memcpy(v + i * slab, u + i * slab, slab * sizeof(real));
    }
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < steps; i++)
        step(i % 2 == 0 ? u : v, i % 2 == 0 ? v : u, w);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}
""")


def fail(code, text):
    print(f"compare_cpu.py: {text}", file=sys.stderr)
    sys.exit(code)


def run(what, command):
    """The standard output of a command; a command that fails ends this program with one line of its error."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
    except OSError as error:
        fail(69, f"{what}: cannot run '{command[0]}': {error.strerror}")
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        line = next((line for line in lines if "error" in line), lines[-1])
        code = done.returncode if what == "stencil" and done.returncode > 0 else 70
        fail(code, f"{what}: {line.removeprefix(what + ': ')}")
    return done.stdout


class Problem:
    """A problem file that stencil made, with the raw field, points and weights that the other codes need: of each point
    or, with /k, `faces`, files with the weight of the face towards the next cell, one for each axis."""

    def __init__(self, program, name, size, precision, folder, with_k):
        self.name, self.size, self.precision = name, size, precision
        self.path, self.field = os.path.join(folder, "p.h5"), os.path.join(folder, "field")
        kind = ["--problem", "heat"] if with_k else ["--stencil", self.name]
        run("stencil", [program, "new", self.path, "--quiet", *kind, "--initial", "random",
                        "--size", "x".join(map(str, size)), "--precision", precision])
        with h5py.File(self.path, "r+") as file:
            u = file["u"][...]
            self.faces = self.add_k(file, u.dtype) if with_k else []
            # The points in the order in which a file has their weights.
            self.offsets = [o for o in itertools.product((-1, 0, 1), repeat=u.ndim) if sum(map(abs, o)) <= SETS[name]]
            default = [1 / len(self.offsets)] * len(self.offsets)
            self.weights = numpy.asarray(file.get("stencil/weights", default)).astype(u.dtype).tolist()
        self.shape, self.dtype = u.shape, u.dtype
        self.updated = math.prod(n - 2 for n in u.shape)
        u.tofile(self.field)

    def add_k(self, file, dtype):
        """Gives the problem a random /k, from about 0.05 to 20, and a stable dt."""
        shape = file["u"].shape
        k = numpy.exp(numpy.random.default_rng(1).standard_normal(shape, "f4")).astype("f8")
        k_over_h2 = [self.between(k, axis) / h**2 for axis, h in enumerate(numpy.broadcast_to(file.attrs["spacing"], len(shape)))]
        dt = 0.9 / (2 * len(shape) * max(float(face.max()) for face in k_over_h2))
        file["k"], file.attrs["dt"] = k, dt
        paths = [f"{self.field}.face{axis}" for axis in range(len(shape))]
        for path, face in zip(paths, k_over_h2):
            (dt * face).astype(dtype).tofile(path)
        return paths

    @staticmethod
    def between(k, axis):
        """The harmonic means of cells and the next ones along an axis, 0 behind the last cell."""
        face, here, there = numpy.zeros_like(k), [slice(None)] * k.ndim, [slice(None)] * k.ndim
        here[axis], there[axis] = slice(None, -1), slice(1, None)
        here, there = tuple(here), tuple(there)
        face[here] = 2 / (1 / k[here] + 1 / k[there])
        return face


class Stencil:
    """A competitor: sample(steps) gives seconds, result(steps) the field after them."""

    def __init__(self, program, problem, folder, options):
        self.problem, self.output, self.plan = problem, os.path.join(folder, "p.out.h5"), None
        self.command = [program, problem.path, "--device", "cpu", "--quiet", "--force", "--json", "-", *options]

    def report(self, steps, *options):
        report = parsed(run("stencil", [*self.command, "--steps", str(steps), *options]))
        if report["result"]["steps_done"] != steps:
            fail(70, f"stencil made {report['result']['steps_done']} of {steps} steps")
        self.plan = {key: report["plan"][key] for key in ("strategy", "sweep", "depth", "threads")}
        return report

    def sample(self, steps):
        return self.report(steps, "--no-output")["times_s"]["compute"]

    def result(self, steps):
        self.report(steps, "--output", self.output)
        with h5py.File(self.output) as file:
            u = file["u"][...]
        os.remove(self.output)
        return u


class Other:
    """Another code, in a process of its own, so that competitors share neither memory nor idle threads; the process keeps
    what prepare(problem, *arguments) makes for sample(steps, output)."""

    def __init__(self, name, problem, stack, prepare, sample, *arguments):
        self.name, self.problem, self.timed = name, problem, sample
        self.process = stack.enter_context(process())
        self.call(prepare, problem, *arguments)

    def call(self, function, *arguments):
        try:
            return self.process.submit(function, *arguments).result()
        except Exception as error:  # any exception of the code, or the end of its process
            return fail(70, f"{self.name}: {(str(error) or repr(error)).splitlines()[0]}")

    def sample(self, steps, output=None):
        return self.call(self.timed, steps, output)

    def result(self, steps):
        """The raw field after these steps; changes of it stay in memory."""
        output = f"{self.problem.field}.{self.timed.__name__}"
        self.sample(steps, output)
        return numpy.memmap(output, self.problem.dtype, "c", shape=self.problem.shape)


def process():
    # Spawned, not forked: OpenMP must start after OMP_NUM_THREADS is set, in a process without threads.
    return concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), signal.signal,
                                                  (signal.SIGINT, signal.SIG_DFL))


KEPT = {}  # data that the process of a code keeps between calls


def c_loop(compiler, problem, stack):
    source, library = problem.field + ".c", problem.field + ".so"
    with open(source, "w", encoding="utf-8") as file:
        file.write(c_source(problem))
    run("the C compiler", [*compiler, "-shared", "-fPIC", source, "-o", library])
    return Other("the C loop", problem, stack, c_prepare, c_sample, library)


def c_source(problem):
    strides = [math.prod(problem.shape[axis + 1:]) for axis in range(len(problem.shape))]
    names = "zyx"[-len(strides):]
    loops = "".join(f"{'    ' * (axis + 1)}for (long {name} = 1; {name} < {n - 1}; {name}++)\n"
                    for axis, (name, n) in enumerate(zip(names, problem.shape)))
    cell = " + ".join(f"{name} * {stride}" for name, stride in zip(names, strides))
    if problem.faces:
        terms = [f"u[{cell}]"] + [f"faces_{name}[{cell}{side}] * (u[{cell} {sign} {stride}] - u[{cell}])"
                                  for name, stride in zip(names, strides) for sign, side in (("-", f" - {stride}"), ("+", ""))]
    else:
        terms = [f"(real){weight.hex()} * u[{cell} + {sum(o * s for o, s in zip(offset, strides))}]"
                 for offset, weight in zip(problem.offsets, problem.weights)]
    faces = "".join(f"    const real *restrict const faces_{name} = w[{axis}];\n"
                    for axis, name in zip(range(len(problem.faces)), names))
    return C_LOOP.substitute(real="double" if problem.precision == "float64" else "float", count=problem.shape[0],
                             slab=strides[0], loops=loops, cell=cell, sum=" + ".join(terms), faces=faces or "    (void)w;\n")


def c_prepare(problem, library):
    loop = ctypes.CDLL(library).loop
    loop.restype = ctypes.c_double
    # Memory of its own for each face, as for u and v.
    faces = [numpy.fromfile(path, problem.dtype) for path in problem.faces]
    KEPT.update(loop=loop, field=numpy.memmap(problem.field, problem.dtype, "r", shape=problem.shape), faces=faces,
                addresses=(ctypes.c_void_p * 3)(*(face.ctypes.data for face in faces)))


def c_sample(steps, output):
    field = KEPT["field"]
    u, v = (numpy.frombuffer(mmap.mmap(-1, field.nbytes, mmap.MAP_PRIVATE), field.dtype) for _ in range(2))
    seconds = KEPT["loop"](field.ctypes, u.ctypes, v.ctypes, ctypes.c_long(steps), KEPT["addresses"])
    if output is not None:
        (v if steps % 2 else u).tofile(output)
    return seconds


def devito_version():
    """The version of Devito; None: Devito is not installed."""
    if importlib.util.find_spec("devito") is None:
        return None
    with process() as own:
        try:
            return own.submit(devito_import).result()
        except Exception as error:
            return fail(69, f"Devito is installed, but cannot be used: {(str(error) or repr(error)).splitlines()[0]}")


def devito_import():
    import devito
    return devito.__version__


def devito_prepare(problem, flags):
    from devito import Constant, Eq, Function, Grid, Operator, TimeFunction, configuration
    configuration["compiler"].cflags += flags
    # First touch: the threads that compute data also initialise them, as in the other codes.
    for key, value in (("language", "openmp"), ("log-level", "ERROR"), ("first-touch", True)):
        configuration[key] = value
    dtype = problem.dtype.type
    u = TimeFunction(name="u", grid=Grid(shape=problem.shape, dtype=dtype), space_order=2, time_order=1)
    # Equal weights share a symbol, so that Devito can factor them out; numbers would be printed with 15 digits.
    symbols = {w: Constant(name=f"w{i}", dtype=dtype, value=w) for i, w in enumerate(dict.fromkeys(problem.weights))}
    terms = []
    for offset, weight in zip(problem.offsets, problem.weights):
        term = u
        for dimension, o in zip(u.grid.dimensions, offset):
            term = term.shift(dimension, o * dimension.spacing)
        terms.append(symbols[weight] * term)
    if problem.faces:
        terms = [u]
        for number, (dimension, path) in enumerate(zip(u.grid.dimensions, problem.faces)):
            face, h = Function(name=f"face{number}", grid=u.grid, space_order=2), dimension.spacing
            face.data[:] = numpy.fromfile(path, dtype).reshape(problem.shape)
            terms += [face.shift(dimension, -h) * (u.shift(dimension, -h) - u), face * (u.shift(dimension, h) - u)]
    operator = Operator(Eq(u.forward, sum(terms), subdomain=u.grid.interior), opt="advanced", language="openmp")
    KEPT.update(operator=operator, u=u, field=numpy.fromfile(problem.field, dtype).reshape(problem.shape), blocks={})
    # Compiles the Operator and, in 3D, tunes block sizes, which are arguments of later calls.
    operator.apply(time_m=0, time_M=9, autotune="aggressive")
    tuned = (getattr(operator, "_state", {}).get("autotuning") or [{}])[-1].get("tuned", {})
    KEPT["blocks"] = {name: n for name, n in tuned.items() if "blk" in name}


def devito_sample(steps, output):
    u = KEPT["u"]
    u.data[:] = KEPT["field"]  # initialises both time buffers, as both have boundary cells
    start = time.perf_counter()
    KEPT["operator"].apply(time_m=0, time_M=steps - 1, **KEPT["blocks"])
    seconds = time.perf_counter() - start
    if output is not None:
        numpy.ascontiguousarray(u.data[steps % 2]).tofile(output)
    return seconds


def verify(problem, competitors, steps, fault):
    """Compares all results with that of stream. Sums of seven terms, in any order, can lose 4 eps in a step, and as much
    again where weights are differences of others."""
    reference = competitors["stream"].result(steps)
    rounding = steps * (8 if problem.faces else 4) * float(numpy.finfo(problem.dtype).eps) * float(abs(reference).max())
    for name, competitor in competitors.items():
        if name == "stream":
            continue
        limit, u = 0.0 if name == "auto" else rounding, competitor.result(steps)
        if name == fault:
            u[tuple(n // 2 for n in problem.shape)] += 2 * rounding
        off = float(numpy.max([abs(u[i] - reference[i]).max() for i in range(len(u))]))
        if not off <= limit:  # also fails for NaN
            fail(70, f"{HEADINGS[name]} is wrong: {problem.name} {size_text(problem)} {problem.precision} differs from "
                     f"stream by {off:.3g} after {steps} steps, allowed are {limit:.3g}")


def steps_for(competitor):
    """The number of steps that take about SAMPLE_S, to two digits."""
    steps, seconds = 1, competitor.sample(1)
    while seconds < PROBE_S:
        steps *= min(max(math.ceil(1.2 * PROBE_S / max(seconds, 1e-9)), 2), 100)
        seconds = competitor.sample(steps)
    steps *= SAMPLE_S / seconds
    return max(1, int(float(f"{steps:.2g}")))


def spread(samples):
    """Standard deviation over the median, as in `stencil bench` (bench/statistics.h); None: unknown."""
    if len(samples) < 2:
        return None
    middle, twentieths = statistics.median(samples), statistics.quantiles(samples, n=20, method="inclusive")
    deviation = statistics.median(abs(sample - middle) for sample in samples)
    return max(1.4826 * deviation, (twentieths[-1] - twentieths[0]) / 3.2897) / middle


def measure(problem, competitors, asked):
    """Verifies and measures all competitors on a problem, whose row is returned."""
    steps = asked.steps or steps_for(competitors["stream"])
    verified = min(steps, VERIFIED_STEPS)
    verify(problem, competitors, verified, asked.inject_fault)
    samples = {name: [] for name in competitors}
    for i in range(asked.repeats + 1):
        for name, competitor in competitors.items():
            rate = problem.updated * steps / max(competitor.sample(steps), 1e-9)
            if i > 0:  # the first repetition is a warm-up, in which stencil tries plans
                samples[name].append(rate)
    row = {"stencil": problem.name, "size": problem.size, "precision": problem.precision, "k": bool(problem.faces),
           "updated_cells": problem.updated, "steps": steps, "verified_steps": verified, "competitors": {}}
    for name, rates in samples.items():
        row["competitors"][name] = {"cells_per_s": statistics.median(rates), "spread": spread(rates), "samples": rates,
                                    "plan": getattr(competitors[name], "plan", None)}
    others = {name: figures["cells_per_s"] for name, figures in row["competitors"].items() if name in ("c", "devito")}
    row["best_other"] = max(others, key=others.get, default=None)
    row["ratio"] = row["competitors"]["auto"]["cells_per_s"] / others[row["best_other"]] if others else None
    return row


def size_text(problem):
    nx, *others = problem.size
    return f"{nx}{' ²³'[len(others)]}" if others == [nx] * len(others) else "x".join(map(str, problem.size))


def figures_text(figures):
    """A rate in Gcell/s with its spread: '8.15 ±3%'."""
    rate, wide = figures["cells_per_s"] / 1e9, figures["spread"]
    digits = 1 if rate >= 100 else 2 if rate >= 1 else 3
    return f"{rate:.{digits}f}" + ("" if wide is None else f" ±{min(100 * wide, 99):.0f}%")


def table_line(cells, ratio):
    return f"{cells[0]:<8}{cells[1]:<14}{cells[2]:<8}" + "".join(f"{cell:>11}" for cell in cells[3:]) + f"{ratio:>6}"


def print_row(problem, row, names):
    cells = [figures_text(row["competitors"][name]) if name in row["competitors"] else "-" for name in names]
    ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"[:5].rstrip(".")
    print(table_line([problem.name, size_text(problem), problem.precision, *cells], ratio), flush=True)


def rank_of(name):
    """The axes of a point set."""
    return int(name[1])


def compiler(isa):
    """The command that compiles the C loop; None where there is no compiler."""
    named = shlex.split(os.environ.get("CC", ""))
    found = named or next(([name] for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    return found and [*found, "-O3", "-march=native", "-fopenmp", *ISA_FLAGS[isa]]


def parsed(text):
    """The JSON that stencil writes."""
    try:
        return json.loads(text)
    except ValueError:
        return fail(69, "--stencil: what this command prints is not the JSON of stencil")


def machine(program, threads):
    """(processor and threads that the figures belong to, version of stencil)."""
    info = parsed(run("stencil", [program, "info", "--json", "-"]))
    names = []
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    cpu = names[0] if names else platform.machine()
    return {"cpu": cpu, "isa": info["cpu"]["isa"], "threads": threads}, info["version"]


def competitors_of(problem, folder, stack, asked, have):
    options = ["--threads", str(asked.threads), *asked.options]
    competitors = {"stream": Stencil(asked.stencil, problem, folder, [*options, "--sweep", "stream"]),
                   "auto": Stencil(asked.stencil, problem, folder, options)}
    if have["c"]:
        competitors["c"] = c_loop(have["c"], problem, stack)
    if have["devito"]:
        competitors["devito"] = Other("Devito", problem, stack, devito_prepare, devito_sample, ISA_FLAGS[asked.isa])
    return competitors


def measure_all(asked, have):
    """Measures all problems; each row is printed as soon as it is known."""
    rows = []
    print(table_line(["Gcell/s", "cells", "", *HEADINGS.values()], "ratio"))
    for size, name in itertools.product(asked.sizes, asked.sets):
        if rank_of(name) != len(size):
            continue
        for precision in asked.precision:
            with tempfile.TemporaryDirectory(prefix="stencil-compare-") as folder, contextlib.ExitStack() as stack:
                problem = Problem(asked.stencil, name, size, precision, folder, asked.k)
                rows.append(measure(problem, competitors_of(problem, folder, stack, asked, have), asked))
                print_row(problem, rows[-1], HEADINGS)
    return rows


def main():
    asked = arguments()
    # OMP_NUM_THREADS is for the C loop and Devito; stencil has an option.
    os.environ["OMP_NUM_THREADS"] = str(asked.threads)
    if asked.isa:
        os.environ["STENCIL_CPU_ISA"] = asked.isa
    where, version = machine(asked.stencil, asked.threads)
    asked.isa = where["isa"]
    have = {"c": compiler(asked.isa), "devito": devito_version()}
    if asked.inject_fault and not have.get(asked.inject_fault, True):
        fail(69, f"--inject-fault: {HEADINGS[asked.inject_fault]} is not here")
    print(f"{where['cpu']}, {where['isa']}, threads: {where['threads']}; stencil {version}")
    print("C loop:", shlex.join(have["c"]) if have["c"] else "no C compiler found; left out")
    print("Devito:", have["devito"] or "not installed; left out", flush=True)
    rows = measure_all(asked, have)
    if asked.json:
        save(asked.json, asked.force, {
            "schema_version": 1, "command_line": shlex.join(["compare_cpu.py", *sys.argv[1:]]), "machine": where,
            "versions": {"stencil": version, "devito": have["devito"]},
            "c_compiler": have["c"] and shlex.join(have["c"]), "rows": rows})


def save(path, force, content):
    """Writes a whole file or none."""
    try:
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path) or ".", prefix=".compare-") as folder:
            part = os.path.join(folder, "part.json")
            with open(part, "w", encoding="utf-8") as file:
                json.dump(content, file, indent=2)
                file.write("\n")
            (os.replace if force else os.link)(part, path)
    except OSError as error:
        fail(73 if isinstance(error, FileExistsError) else 74, f"cannot write '{path}': {error.strerror}")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        fail(64, f"{message}; --help lists the options")


def positive(text):
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 on")
    return int(text)


def size_of(text):
    numbers = text.split("x")
    if len(numbers) not in STENCILS or not all(n.isascii() and n.isdigit() and int(n) >= 3 for n in numbers):
        raise argparse.ArgumentTypeError(f"'{text}' is not NXxNY or NXxNYxNZ with at least 3 cells along each axis")
    return [int(n) for n in numbers]


def arguments():
    """The checked arguments of the command line; `options` has the words behind --."""
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[:own.index("--")], own[own.index("--") + 1:]
    parser = Parser(description=__doc__, usage="%(prog)s [options] [-- option of stencil ...]", allow_abbrev=False,
                    formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=79))
    add = parser.add_argument
    add("--sizes", type=size_of, nargs="+", metavar="SIZE", default=list(map(size_of, SIZES)),
        help=f"cells along each axis, x first [{' '.join(SIZES)}]")
    add("--sets", nargs="+", choices=list(SETS), metavar="SET", default=list(STENCILS.values()),
        help=f"point sets, each with the sizes of its axes: {', '.join(SETS)} [{' '.join(STENCILS.values())}]")
    add("--isa", choices=list(ISA_FLAGS), metavar="NAME",
        help="the instructions of all competitors: avx512, avx2, baseline [the best ones of this CPU]")
    add("--precision", nargs="+", choices=PRECISIONS, metavar="TYPE", default=PRECISIONS,
        help=f"of field and arithmetic [{' '.join(PRECISIONS)}]")
    add("--k", action="store_true", help="heat with a random coefficient in each cell")
    add("--threads", type=positive, metavar="N", default=len(os.sched_getaffinity(0)),
        help="of each competitor [as many CPUs as this process may use]")
    add("--repeats", type=positive, metavar="N", default=5, help="rounds, and samples of each competitor [5]")
    add("--steps", type=positive, metavar="N", help="of a sample [as many as take stream about a second]")
    add("--stencil", metavar="PATH", default=os.environ.get("STENCIL") or "stencil",
        help="the command [$STENCIL, or stencil in PATH]")
    add("--json", metavar="FILE", help="write all samples there, too")
    add("--force", action="store_true", help="replace FILE if it exists")
    add("--inject-fault", choices=list(HEADINGS)[1:], metavar="NAME",
        help="for tests: change a cell of the result of auto, c or devito by twice what rounding may; must fail with "
             "exit code 70")
    asked = parser.parse_args(own)
    for option in options:
        if option.partition("=")[0] in OTHER_PROBLEM:
            fail(64, f"{option} behind --: C loop and Devito would solve another problem")
    if shutil.which(asked.stencil) is None:
        fail(69, f"there is no command '{asked.stencil}': give --stencil PATH or set $STENCIL")
    if {rank_of(name) for name in asked.sets}.isdisjoint(map(len, asked.sizes)):
        fail(64, "--sets: none of them has as many axes as a size")
    if asked.k and not set(asked.sets) <= set(STENCILS.values()):
        fail(64, f"--k is for {' and '.join(STENCILS.values())}")
    if asked.json and os.path.exists(asked.json) and not asked.force:
        fail(73, f"'{asked.json}' exists; --force replaces it")
    if asked.json and not os.path.isdir(os.path.dirname(asked.json) or "."):
        fail(74, f"cannot write '{asked.json}': there is no such folder")
    asked.options = options
    return asked


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
