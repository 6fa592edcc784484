#!/usr/bin/env python3
"""Microseconds per step of every strategy for several sizes, as a table in Markdown.

    bench/strategies.py [--command COMMAND] [--json FILE] [--sizes 512x512,128x128x128,...] [bench options...]
    bench/strategies.py --from FILE [--plot PNG]

Runs `stencil bench sweep --size SIZE --precision float32 ...` for each size (2D 5-point or 3D 7-point, unless options
say otherwise); --json keeps all of what was measured, --from FILE makes the table of an earlier run. On several GPUs
(--gpus 4) the strategies are those that span them. ~: samples spread by more than 5 % (--max-noise). --plot draws some
of them over the size with gnuplot: the picture of README.md."""
import argparse
import json
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--command", default="stencil", help="the command")
parser.add_argument("--json", help="where to keep everything that was measured")
parser.add_argument("--from", dest="earlier", help="the JSON of an earlier run")
parser.add_argument("--plot", help="a PNG to draw")
parser.add_argument("--sizes", default="256x256,1024x1024,4096x4096,16384x16384", help="cells, x first")
arguments, more = parser.parse_known_args()

runs = []
if arguments.earlier:
    try:
        with open(arguments.earlier, encoding="utf-8") as file:
            runs = json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"strategies.py: --from: {error}")
    if not isinstance(runs, list) or not all(run.get("results", [{}])[0].get("benchmark") == "sweep" for run in runs):
        sys.exit(f"strategies.py: --from: '{arguments.earlier}' was not written by this program")
for size in [] if arguments.earlier else arguments.sizes.split(","):
    command = [arguments.command, "bench", "sweep", "--size", size, "--precision", "float32", "--json", "-", *more]
    print(" ".join(command), file=sys.stderr, flush=True)
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8")
    except OSError as error:
        sys.exit(f"strategies.py: {error}: where is the command? (--command)")
    if done.returncode != 0:
        sys.exit(done.returncode)
    runs.append(json.loads(done.stdout))
    if arguments.json:  # what there is, should a later size fail
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(runs, file, indent=1)
            file.write("\n")


def title(run):
    have = run["results"][0]["parameters"]
    sizes = [have[n] for n in ("nz", "ny", "nx") if n in have]
    return f"{sizes[0]}{'²' if len(sizes) == 2 else '³'}" if len(set(sizes)) == 1 else " x ".join(map(str, sizes))


columns = [{row["name"]: row for row in run["results"][0]["rows"]} for run in runs]
print("| `--sync` | " + " | ".join(map(title, runs)) + " |")
print("|---" * (len(runs) + 1) + "|")
for name in columns[0]:
    cells = []
    for column in columns:
        row = column.get(name) or {}
        median = (row.get("statistics") or {}).get("median")
        cells.append("–" if median is None else f"{'~' if row['noisy'] else ''}{1e6 * median:.4g}")
    print(f"| {'`' + name + '`' if name != 'cudaMemcpy' else 'copy of the field'} | " + " | ".join(cells) + " |")

if not arguments.plot:
    sys.exit()

# What is drawn: one strategy of each kind, slowest first, in words.
DRAWN = {
    "stream-sync": ("a launch per step, the host waits for each  (stream-sync)", "#999999", 5),
    "relaunch": ("a launch per step, queued ahead  (relaunch, the default)", "#d55e00", 7),
    "graph": ("a CUDA graph of 64 steps  (graph)", "#009e73", 9),
    "central": ("one kernel for all steps, with a barrier between them  (central)", "#0072b2", 13),
    "cudaMemcpy": ("copy of the field, for comparison  (cudaMemcpy)", "#000000", 0),
}
names = [name for name in DRAWN if all((column.get(name) or {}).get("statistics") for column in columns)]
if not names:
    sys.exit("strategies.py: --plot: nothing of what it draws was measured")
extents = [[run["results"][0]["parameters"].get(n, 1) for n in ("nz", "ny", "nx")] for run in runs]
cells = [z * y * x for z, y, x in extents]
lines = []
for name in names:
    text, color, point = DRAWN[name]
    style = f'with linespoints lc rgb "{color}" lw 3 pt {point} ps 1.7' if point else f'with lines lc rgb "{color}" lw 2.5 dt 3'
    lines.append(f'"-" using 1:2 title "{text}" {style}')
points = "".join("".join(f"{n} {1e6 * column[name]['statistics']['median']:.6g}\n" for n, column in zip(cells, columns)) + "e\n"
                 for name in names)
have = runs[0]["results"][0]
tics = ", ".join(f'"{title(run)}" {n}' for run, n in zip(runs, cells))
script = f"""set terminal pngcairo size 1500,800 font "DejaVu Sans,19" background "white" linewidth 1
set output "{arguments.plot}"
set title "Time of one step, by how the steps are kept in order  ({have['device']}, {have['parameters']['precision']})" offset 0,-0.3
set xlabel "cells of the field"
set ylabel "µs per step"
set logscale xy
set xtics ({tics}) scale 0.6
set ytics (1, 2, 5, 10, 20, 50, 100, 200, 500) scale 0.6
set xrange [{min(cells) / 1.6}:{max(cells) * 1.6}]
set yrange [1:1000]
set grid lc rgb "#dddddd" lt 1 lw 1
set border 3 lc rgb "#555555"
set tics nomirror textcolor rgb "#222222"
set key top left Left reverse samplen 2.5 spacing 1.25 width -9
plot {", ".join(lines)}
{points}"""
try:
    done = subprocess.run(["gnuplot"], input=script, encoding="utf-8")
except OSError as error:
    sys.exit(f"strategies.py: --plot: {error}")
sys.exit(done.returncode)
