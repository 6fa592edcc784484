#!/usr/bin/env python3
"""Times stencil over sizes, as it chooses to run each, and finds those that fall
behind the sizes beside them.

    python3 bench/sizes.py --plot sizes.png -- --device cpu

Sizes are edges of squares (sets j2d…) or cubes (j3d…), with equal ratios from
the first to the last one, so they are no powers of two, or those given. What
stands behind -- goes to every run. Of each size a few steps have to give the
digest of the plain sweep first. Then all sizes of a set and precision are timed
in turns; the first round does not count. Rates are those of steps alone, of the
quickest round; beside: the rate over that of the better one of the two sizes
next to it. Exit code 2: some are under --least."""
import json
import os
import sys
import tempfile

from ratios import (NEVER, PRECISIONS, Case, Problem, Problems, fail, parse, parser_of, report, size_text, step_us,
                    steps_for, stencil, verify, write_json)


def edges(asked, rank):
    """The edges of squares or cubes."""
    if asked.sizes:
        return sorted(set(asked.sizes))
    first, last = asked.first, asked.last if rank == 2 else min(asked.last, asked.last_3d)
    ratio = (last / first) ** (1 / (asked.count - 1))
    return sorted({round(first * ratio**i) for i in range(asked.count)})


def measure(asked, name, precision, folder):
    """The rows of a set and precision, a row for each size."""
    rank = int(name[1])
    problems, rows, paths = Problems(asked.stencil, folder), [], []
    options = ["--check-every", NEVER, *asked.options]
    for n in edges(asked, rank):
        problem = Problem.of([n] * rank, precision, "--stencil", name)
        case = Case(f"{name} {size_text([n] * rank)} {precision}", [("auto", problem, options)])
        path = problems.path(problem)
        if not verify([asked.stencil], case, path, "auto", options, folder, problems.plain):
            fail(69, f"{case.name} is refused")
        rows.append({"set": name, "precision": precision, "edge": n, "cells": (n - 2) ** rank,
                     "steps": steps_for(asked.stencil, path, options, asked.seconds), "samples_us": []})
        paths.append(path)
    for turn in range(asked.repeats + 1):
        for row, path in zip(rows, paths):
            told = report(asked.stencil, path, options, row["steps"])
            row["plan"] = {key: told["plan"][key] for key in ("strategy", "sweep", "depth")}
            if turn > 0:
                row["samples_us"].append(step_us(told))
    for path in paths:
        os.remove(path)
    for row in rows:
        row["gcells_per_s"] = 1e-3 * row["cells"] / min(row["samples_us"])
    for i, row in enumerate(rows):
        beside = [other["gcells_per_s"] for other in rows[max(i - 1, 0):i] + rows[i + 1:i + 2]]
        row["beside"] = row["gcells_per_s"] / max(beside) if beside else 1.0
    return rows


def print_rows(rows, least):
    for row in rows:
        plan, slow = row["plan"], min(row["samples_us"]) / max(row["samples_us"])
        print(f"{row['set']:<9}{row['precision']:<9}{row['edge']:>6}{row['gcells_per_s']:>9.4g}{100 * slow:>8.0f}%"
              f"{100 * row['beside']:>7.0f}%{' <' if row['beside'] < least else '  '} "
              f"{plan['sweep']}, {plan['strategy']}, depth {plan['depth']}", flush=True)


def plot(rows, path, title):
    try:
        import matplotlib
    except ImportError:
        fail(69, "there is no matplotlib for python3 here (Debian: python3-matplotlib)")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(9, 5))
    for key in dict.fromkeys((row["set"], row["precision"]) for row in rows):
        own = [row for row in rows if (row["set"], row["precision"]) == key]
        axes.plot([row["edge"] for row in own], [row["gcells_per_s"] for row in own], marker=".", label=" ".join(key))
    axes.set(xscale="log", xlabel="cells along an edge", ylabel="Gcell/s", ylim=(0, None), title=title)
    axes.set_xticks([], minor=True)
    ticks = [2**k for k in range(3, 16) if min(r["edge"] for r in rows) <= 2**k <= max(r["edge"] for r in rows)]
    axes.set_xticks(ticks or [rows[0]["edge"]], [str(tick) for tick in ticks] or [str(rows[0]["edge"])])
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def arguments():
    parser = parser_of(__doc__, 0.2)
    add = parser.add_argument
    add("--sets", nargs="+", metavar="SET", default=["j2d5pt", "j3d7pt"], help="point sets [j2d5pt j3d7pt]")
    add("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS, metavar="P", help="[float32 float64]")
    add("--sizes", nargs="+", type=int, metavar="N", help="edges; else --count of them from --first to --last")
    add("--first", type=int, metavar="N", default=64, help="[64]")
    add("--last", type=int, metavar="N", default=8192, help="[8192; in 3D at most --last-3d]")
    add("--last-3d", type=int, metavar="N", default=448, help="[448]")
    add("--count", type=int, metavar="N", default=29, help="[29]")
    add("--least", type=float, metavar="X", default=0.8, help="of the better size beside it [0.8]")
    add("--plot", metavar="FILE", help="draw the rates, as PNG or what matplotlib knows")
    asked = parse(parser)
    if asked.plot and os.path.exists(asked.plot):
        fail(73, f"'{asked.plot}' exists")
    if asked.count < 2 or min(asked.sizes or [asked.first]) < 8 or not asked.first < min(asked.last, asked.last_3d):
        fail(64, "--count is 2 or more, edges are 8 or more and grow")
    if unknown := [name for name in asked.sets if not name.startswith(("j2d", "j3d"))]:
        fail(64, f"no point set: {unknown[0]}")
    return asked


def main():
    asked = arguments()
    info = json.loads(stencil(asked.stencil, "info", "--json", "-"))
    rows = []
    print(f"{'set':<18}{'edge':>6}{'Gcell/s':>9}{'slowest':>9}{'beside':>8}   plan")
    for name in asked.sets:
        for precision in asked.precisions:
            with tempfile.TemporaryDirectory(prefix="stencil-sizes-") as folder:
                found = measure(asked, name, precision, folder)
            print_rows(found, asked.least)
            rows += found
    if asked.json:
        write_json(asked.json, info, rows)
    if asked.plot:
        plot(rows, asked.plot, f"stencil {info['version']} over sizes")
    behind = [row for row in rows if row["beside"] < asked.least]
    print(f"{len(behind)} of {len(rows)} sizes are under {100 * asked.least:.0f} % of the better one beside them")
    return 2 if behind else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
