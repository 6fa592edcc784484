"""Steps and seconds to the solution of `stencil new --problem poisson`: plain steps beside accelerated ones.

    python3 examples/time_to_solution.py --sizes 65 129 257 513 1025 -- --device gpu

What stands behind `--` goes to every run of stencil. Each row is one run from zero or from random values to the relative limit that
`stencil new` gives; a run of plain steps that would take longer than --longest seconds is predicted (a row with a ~): the
steps that stencil predicts, times what one takes. "error" is that of the field, over the error of the discretisation itself; a start from
random values has such values on its boundary, too, and another solution. Needs h5py and NumPy.
"""
import argparse
import json
import os
import subprocess
import tempfile

import h5py
import numpy


def stencil(*arguments):
    """A report; exit code 2 is a run that ended before its criterion."""
    command = [os.environ.get("STENCIL", "stencil"), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 2):
        raise SystemExit(done.stderr)
    return json.loads(done.stdout) if done.stdout.startswith("{") else None


def error(path, size):
    """Of the field, over that of the equations' exact solution on the grid."""
    wave = numpy.sin(numpy.pi * numpy.linspace(0, 1, size))
    exact, h = numpy.outer(wave, wave), 1 / (size - 1)
    discrete = exact * (numpy.pi * h / 2) ** 2 / numpy.sin(numpy.pi * h / 2) ** 2
    with h5py.File(path) as file:
        u = file["u"][...].astype("f8")
    return numpy.sqrt(numpy.mean((u - exact) ** 2) / numpy.mean((discrete - exact) ** 2))


def measure(size, precision, initial, accelerate, options, longest):
    stencil("new", "p.h5", "--force", "--quiet", "--problem", "poisson", "--size", f"{size}x{size}", "--precision", precision,
            "--initial", initial, "--accelerate", accelerate)
    run = ("p.h5", "--force", "--json", "-", *options)
    steps = stencil(*run, "--dry-run")["stop"]["predicted_steps"]
    few = 20480
    if steps > 50 * few:
        probe = stencil(*run, "--steps", few)
        seconds = probe["times_s"]["compute"] / few * steps
        if seconds > longest:
            return f"{steps:.3g}", f"~{seconds:.3g}", "", "predicted", probe["plan"]
    report = stencil(*run, "--steps", 10**9)
    result = report["result"]
    off = f"{error('p.out.h5', size):.2f}" if initial == "zero" else ""
    return result["steps"], f"{report['times_s']['compute']:.4g}", off, result["reason"], report["plan"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[65, 129, 257, 513])
    parser.add_argument("--longest", type=float, default=20.0, help="seconds that a run of plain steps may take")
    parser.add_argument("options", nargs="*", help="of every run of stencil")
    asked = parser.parse_args()
    print("| cells | precision | start | damping | steps | seconds | error | ended | strategy, sweep, depth |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for precision in ("float64", "float32"):
            for size in asked.sizes:
                for initial, accelerate in (("zero", "none"), ("zero", "chebyshev"), ("random", "chebyshev")):
                    steps, seconds, off, ended, plan = measure(size, precision, initial, accelerate, asked.options, asked.longest)
                    print(f"| {size}² | {precision} | {initial} | {accelerate} | {steps} | {seconds} | {off} | {ended} | "
                          f"{plan['strategy']}, {plan['sweep']}, {plan['depth']} |", flush=True)


if __name__ == "__main__":
    main()
