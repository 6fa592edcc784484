#!/usr/bin/env python3
"""Times problems and options of stencil beside each other, in turns on one
machine, and prints what the one costs in terms of the other.

    python3 bench/ratios.py --json classes.json classes -- --device gpu

Groups:

  checks        residual checks every 100 steps beside none
  loops         persistent loops beside a graph of launches: plain, poisson,
                mirrored sides
  poisson       accelerated Poisson problems as `stencil new` writes them
  classes       cells of several kinds beside plain ones
  coefficients  /k in each cell beside plain heat; the ratio is that of what
                memory allows; and /k of two materials, a palette
  times         a source that changes in time beside a constant one
  scrub         --scrub on beside off

What stands behind -- goes to every run. Of each case all runs are verified
first: a few steps have to give the digest of the plain sweep. Then they are
timed in turns; the first round does not count. Times are those of steps alone
(µs a step, the quickest of all rounds), and a ratio is the time of the first
run of a case over that of another one: below 1 the other is slower. With
--against another build of stencil makes all runs as well, in the same turns."""
import argparse
import itertools
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import typing

try:
    import h5py
    import numpy
except ImportError:
    print(f"{os.path.basename(sys.argv[0])}: there is no h5py for python3 here (Debian: python3-h5py)", file=sys.stderr)
    sys.exit(69)

VERIFIED_STEPS = 24
PLAIN = ["--sweep", "naive", "--sync", "relaunch"]
NEVER = str(10**9)  # steps between checks
PRECISIONS = ["float32", "float64"]
SETS = {2: ["j2d5pt", "j2ds9pt", "j2d9pt", "j2d25pt", "j2d49pt"], 3: ["j3d7pt", "j3d27pt"]}


def fail(code, text):
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr)
    sys.exit(code)


def stencil(program, *arguments, may_fail=False):
    """What the command prints; None where it refuses and may."""
    try:
        done = subprocess.run([program, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                              encoding="utf-8", check=False)
    except OSError as error:
        fail(69, f"cannot run '{program}': {error.strerror}")
    if done.returncode == 69 and may_fail:
        return None
    if done.returncode not in (0, 2):  # 2: ended by the number of steps
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        fail(70, f"{shlex.join(map(str, arguments))}: {lines[-1]}")
    return done.stdout


# ---- Problems: functions that add to a file of `stencil new` what they are named after. ----

def distance(shape, centre):
    """Squares of the distances of all cells to a point, which is given in parts of the extents."""
    axes = numpy.ogrid[tuple(slice(0, n) for n in shape)]
    axes = [axis.astype("f4") for axis in axes]
    return sum((axis - n * at) ** 2 for axis, n, at in zip(axes, shape, centre))


def blobs(shape):
    """Five balls, 5 % of the cells."""
    rank = len(shape)
    radius2 = (0.01 * math.prod(shape) / (math.pi if rank == 2 else 4 / 3 * math.pi)) ** (2 / rank)
    found = numpy.zeros(shape, bool)
    for centre in ((.2, .23, .31), (.31, .71, .22), (.52, .47, .56), (.73, .19, .81), (.79, .77, .69)):
        found |= distance(shape, centre[:rank]) < radius2
    return found


def outside(shape):
    """What is outside of a disc, or of a cylinder, that touches the sides."""
    return numpy.broadcast_to(distance(shape[-2:], (.5, .5)) > (min(shape[-2:]) / 2) ** 2, shape)


def add_fixed(which):
    def add(file):
        shape = file["u"].shape
        file["fixed"] = which(shape).astype("u1")
    return add


def single_cells(shape):
    return numpy.random.default_rng(1).random(shape, "f4") < 0.01


def two_materials(file):
    """Two sets of weights: inside of a disc and outside."""
    count = {"j2d5pt": 5, "j3d7pt": 7}[file.attrs["stencil"]]
    other = numpy.linspace(1, 2, count)
    file["class"] = (~outside(file["u"].shape)).astype("u1")
    if "stencil/weights" in file:
        del file["stencil/weights"]
    file["stencil/weights"] = [[1 / count] * count, other / other.sum()]


def exchange_walls(file):
    for side in ("x-", "x+"):
        file.attrs.update({f"boundary_{side}": "exchange", f"exchange_{side}": 0.5, f"ambient_{side}": 0.25})


def random_k(file):
    shape = file["u"].shape
    file["k"] = numpy.exp(numpy.random.default_rng(1).standard_normal(shape, "f4"))


def two_ks(file):
    file["k"] = numpy.where(outside(file["u"].shape), 1, 4).astype(file["u"].dtype)


def constant_source(file):
    file["q"] = numpy.ones(file["u"].shape, file["u"].dtype)


def changing_source(file):
    constant_source(file)
    file["q_factor"] = [[0, 0], [1e-4, 1], [1, 0.5]]


class Problems:
    """Files of problems, which are made when they are asked for, and stay as long as cases share them."""

    def __init__(self, program, folder):
        self.program, self.folder, self.made, self.count = program, folder, {}, 0
        self.plain = {}  # digests of what the plain sweep makes of each file

    def path(self, problem):
        if problem not in self.made:
            self.count += 1
            self.made[problem] = os.path.join(self.folder, f"p{self.count}.h5")
            stencil(self.program, "new", self.made[problem], "--quiet", *problem.new)
            if problem.add:
                with h5py.File(self.made[problem], "r+") as file:
                    problem.add(file)
        return self.made[problem]

    def keep(self, case):
        """Removes all files but those of a case."""
        used = {problem for _, problem, _ in case.runs}
        for problem in [problem for problem in self.made if problem not in used]:
            os.remove(self.made.pop(problem))


class Problem(typing.NamedTuple):
    """Options of `stencil new`, and what is added to the file."""
    new: tuple
    add: typing.Callable | None

    @classmethod
    def of(cls, size, precision, *new, add=None, initial="random"):
        given = ("--initial", initial) if initial else ()
        return cls(("--size", "x".join(map(str, size)), "--precision", precision, *new, *given), add)


class Case:
    """Runs of problems that are timed in turns, the first one what others are compared with: [(name, problem, options)].
    `fair`: the ratio that memory allows."""

    def __init__(self, name, runs, fair=1.0, whole=False):
        self.name, self.runs, self.fair, self.whole = name, runs, fair, whole


# ---- Groups of cases. ----

def size_text(size):
    return f"{size[0]}{' ²³'[len(size) - 1]}"


def checks(shrink):
    for name, sizes in (("resident", {"float64": ((512, 2), (1024, 2), (2048, 2), (128, 3)),
                                      "float32": ((256, 2), (1024, 2), (2048, 2), (128, 3))}),
                        ("pipeline", {precision: ((8192, 2), (512, 3)) for precision in PRECISIONS})):
        for precision, all_sizes in sizes.items():
            for n, rank in all_sizes:
                for points in SETS[rank] if name == "pipeline" else SETS[rank][:1]:
                    size = [n // shrink] * rank
                    problem = Problem.of(size, precision, "--stencil", points)
                    yield Case(f"{name} {points} {size_text(size)} {precision}",
                               [("unchecked", problem, ["--sweep", name, "--check-every", NEVER]),
                                ("checked", problem, ["--sweep", name])])


def loops(shrink):
    kinds = (("plain", ["--stencil", "j2d5pt"]), ("poisson", ["--problem", "poisson", "--accelerate", "chebyshev"]),
             ("mirror", ["--problem", "heat", "--boundary", "mirror"]))
    for n in (4096, 8192):
        for precision in PRECISIONS:
            for kind, new in kinds:
                size = [n // shrink] * 2
                problem = Problem.of(size, precision, *new)
                yield Case(f"{kind} {size_text(size)} {precision}",
                           [(sync, problem, ["--sweep", "pipeline", "--sync", sync, "--check-every", NEVER])
                            for sync in ("graph", "grid", "central", "neighbor")])


def poisson(shrink):
    for n in (129, 257, 513, 1025):
        size = [(n - 1) // shrink + 1] * 2
        yield Case(f"poisson {size_text(size)} float64",
                   [("auto", Problem.of(size, "float64", "--problem", "poisson", initial=None), [])], whole=True)


def sweeps(shrink):
    """(rank, size, precision, sweep) of comparisons that are made for every sweep; those of a problem come together."""
    for rank, n, names in ((2, 8192, ("stream", "pipeline")), (2, 1024, ("stream", "resident")),
                           (3, 512, ("stream", "pipeline")), (3, 128, ("stream", "resident"))):
        for precision, name in itertools.product(PRECISIONS, names):
            yield rank, [n // shrink] * rank, precision, name


def classes(shrink):
    kinds = (("blobs", add_fixed(blobs)), ("disc", add_fixed(outside)), ("cells", add_fixed(single_cells)),
             ("two", two_materials))
    for rank, size, precision, sweep in sweeps(shrink):
        points = ["--stencil", SETS[rank][0]]
        options = ["--sweep", sweep, "--check-every", NEVER]
        yield Case(f"{sweep} {size_text(size)} {precision}",
                   [("plain", Problem.of(size, precision, *points), options)]
                   + [(kind, Problem.of(size, precision, *points, add=add), options) for kind, add in kinds])
    heat = ["--problem", "heat"]
    for rank, size, precision, sweep in sweeps(shrink):
        options = ["--sweep", sweep, "--check-every", NEVER]
        yield Case(f"{sweep} heat {size_text(size)} {precision}",
                   [("plain", Problem.of(size, precision, *heat), options),
                    ("walls", Problem.of(size, precision, *heat, add=exchange_walls), options)])


def coefficients(shrink):
    for rank, size, precision, sweep in sweeps(shrink):
        options = ["--sweep", sweep, "--check-every", NEVER]
        yield Case(f"{sweep} {size_text(size)} {precision}",
                   [("plain", Problem.of(size, precision, "--problem", "heat"), options),
                    ("k", Problem.of(size, precision, "--problem", "heat", add=random_k), options)], fair=2 / (2 + rank))
    for rank, size, precision, sweep in sweeps(shrink):
        options = ["--sweep", sweep, "--check-every", NEVER]
        yield Case(f"{sweep} materials {size_text(size)} {precision}",
                   [("plain", Problem.of(size, precision, "--problem", "heat"), options),
                    ("materials", Problem.of(size, precision, "--problem", "heat", add=two_ks), options)])


def times(shrink):
    naive = [(2, [8192 // shrink] * 2, precision, "naive") for precision in PRECISIONS]
    for rank, size, precision, sweep in [*naive, *sweeps(shrink)]:
        options = ["--sweep", sweep, "--check-every", NEVER]
        yield Case(f"{sweep} {size_text(size)} {precision}",
                   [("constant", Problem.of(size, precision, "--problem", "heat", add=constant_source), options),
                    ("changing", Problem.of(size, precision, "--problem", "heat", add=changing_source), options)])


def scrub(shrink):
    for rank, n in ((2, 8192), (2, 4096), (2, 1024), (3, 512)):
        for precision in PRECISIONS:
            size = [n // shrink] * rank
            problem = Problem.of(size, precision, "--stencil", SETS[rank][0])
            yield Case(f"{size_text(size)} {precision}", [("off", problem, []), ("on", problem, ["--scrub", "on"])])


GROUPS = {group.__name__: group for group in (checks, loops, poisson, classes, coefficients, times, scrub)}


# ---- Runs. ----

def report(program, path, options, steps):
    """The JSON of a run; None: the sweep or the strategy refuses the problem."""
    limit = ["--steps", steps] if steps else []
    told = stencil(program, path, "--quiet", "--json", "-", "--no-output", *options, *limit, may_fail=True)
    return told and json.loads(told)


def step_us(told):
    return 1e6 * told["times_s"]["compute"] / told["result"]["steps_done"]


def digest(program, path, options, folder):
    out = os.path.join(folder, "digest.h5")
    if stencil(program, path, "--quiet", "--force", "-o", out, *options, "--steps", VERIFIED_STEPS, may_fail=True) is None:
        return None
    with h5py.File(out) as file:
        found = file.attrs["digest_u"]
    os.remove(out)
    return found


def verify(programs, case, path, run, options, folder, known):
    """Whether every program makes the run; one whose cells differ from those of the plain sweep ends this program. `known`:
    the digests of the plain sweep."""
    device = [word for i, word in enumerate(options) if word == "--device" or (i > 0 and options[i - 1] == "--device")]
    if path not in known:
        known[path] = digest(programs[0], path, [*PLAIN, *device], folder)
    for program in programs:
        found = digest(program, path, options, folder)
        if found is None:
            return False
        if found != known[path]:
            fail(70, f"{case.name}, {run}: {program} gives other cells than the plain sweep")
    return True


def steps_for(program, path, options, seconds):
    steps = 16
    while (took := report(program, path, options, steps)["times_s"]["compute"]) < seconds / 8 and steps < 10**7:
        steps *= min(max(math.ceil(seconds / 8 / max(took, 1e-9)), 2), 50)
    return max(int(float(f"{steps * seconds / max(took, 1e-9):.2g}")), 16)


def measure(case, problems, programs, asked, folder):
    """The rows of a case, one for each run and program."""
    runs = []
    for name, problem, options in case.runs:
        path, words = problems.path(problem), [*options, *asked.options]
        if verify(programs, case, path, name, words, folder, problems.plain):
            runs.append((name, path, words))
    if not runs:
        return []
    steps = None if case.whole else steps_for(programs[0], *runs[0][1:], asked.seconds)
    rows = [{"case": case.name, "run": name, "program": program, "steps": steps, "fair": case.fair if i else 1.0,
             "samples_us": []} for i, (name, _, _) in enumerate(runs) for program in programs]
    for turn in range(asked.repeats + 1):
        for row, (path, words, program) in zip(rows, [(path, words, program) for _, path, words in runs for program in programs]):
            told = report(program, path, words, steps)
            row["plan"] = {key: told["plan"][key] for key in ("strategy", "sweep", "depth", "kernel")}
            if turn > 0:
                row["samples_us"].append(step_us(told))
    for row in rows:
        first = next(other for other in rows if other["program"] == row["program"])
        row["step_us"] = min(row["samples_us"])
        row["ratio"] = first["step_us"] / row["step_us"] / row["fair"]
        row["of_first_program"] = rows[rows.index(row) // len(programs) * len(programs)]["step_us"] / row["step_us"]
    return rows


def print_rows(rows, programs):
    for row in rows:
        number = programs.index(row["program"])
        text = f"{row['case'] if row is rows[0] else '':<32}{row['run'] if number == 0 else 'against':<11}"
        text += f"{row['step_us']:>10.4g}{max(row['samples_us']):>10.4g}{row['ratio']:>7.3f}"
        print(text + (f"{row['of_first_program']:>8.3f}" if number else ""), flush=True)


def parser_of(text, seconds):
    """The options that scripts of this kind share."""
    parser = argparse.ArgumentParser(description=text, allow_abbrev=False,
                                     formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=79))
    add = parser.add_argument
    add("--repeats", type=int, metavar="N", default=5, help="rounds [5]")
    add("--seconds", type=float, metavar="S", default=seconds, help=f"of a sample, about [{seconds}]")
    add("--stencil", metavar="PATH", default=os.environ.get("STENCIL") or "stencil",
        help="[$STENCIL, or stencil in PATH]")
    add("--json", metavar="FILE", help="write all samples there, too")
    return parser


def parse(parser):
    """What is asked for; what stands behind -- is asked.options."""
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[:own.index("--")], own[own.index("--") + 1:]
    asked = parser.parse_args(own)
    asked.options = options
    if shutil.which(asked.stencil) is None:
        fail(69, f"there is no command '{asked.stencil}'")
    if asked.json and os.path.exists(asked.json):
        fail(73, f"'{asked.json}' exists")
    if asked.repeats < 1 or not asked.seconds > 0:
        fail(64, "--repeats is 1 or more, and --seconds above 0")
    return asked


def write_json(path, info, rows):
    with open(path, "x", encoding="utf-8") as file:
        json.dump({"schema_version": 1, "command_line": shlex.join([os.path.basename(sys.argv[0]), *sys.argv[1:]]),
                   "version": info["version"], "machine": {key: info[key] for key in ("cpu", "gpus") if key in info},
                   "rows": rows}, file, indent=1)
        file.write("\n")


def arguments():
    parser = parser_of(__doc__, 0.3)
    add = parser.add_argument
    add("groups", nargs="+", choices=GROUPS, metavar="GROUP", help=" ".join(GROUPS))
    add("--only", metavar="TEXT", default="", help="cases whose names have TEXT in them")
    add("--shrink", type=int, metavar="N", default=1, help="divide the extents by N, for tests [1]")
    add("--against", metavar="PATH", help="another build of it")
    asked = parse(parser)
    if asked.against and shutil.which(asked.against) is None:
        fail(69, f"there is no command '{asked.against}'")
    if asked.shrink < 1:
        fail(64, "--shrink is 1 or more")
    return asked


def main():
    asked = arguments()
    programs = [asked.stencil] + [asked.against] * bool(asked.against)
    rows = []
    info = json.loads(stencil(asked.stencil, "info", "--json", "-"))
    print(f"{'':<32}{'':<11}{'µs/step':>10}{'slowest':>10}{'ratio':>7}" + (f"{'of it':>8}" if asked.against else ""))
    with tempfile.TemporaryDirectory(prefix="stencil-ratios-") as folder:
        problems = Problems(asked.stencil, folder)
        for group in asked.groups:
            for case in GROUPS[group](asked.shrink):
                if asked.only in case.name:
                    problems.keep(case)
                    found = measure(case, problems, programs, asked, folder)
                    rows += [{"group": group, **row} for row in found]
                    print_rows(found, programs)
    if asked.json:
        write_json(asked.json, info, rows)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
