#!/usr/bin/env python3
"""Microseconds per step of every strategy for several sizes, as a table in Markdown.

    bench/strategies.py [--command COMMAND] [--json FILE] [--sizes 512x512,128x128x128,...] [bench options...]
    bench/strategies.py --from FILE [--plot PNG]

Runs `stencil bench sweep --size SIZE --precision float32 ...` for each size (2D 5-point or 3D 7-point, unless options
say otherwise); --json keeps all of what was measured, --from FILE makes the table of an earlier run. On several GPUs
(--gpus 4) the strategies are those that span them. ~: samples spread by more than 5 % (--max-noise). --plot draws some
of them over the size, as bench/plot.py does: the picture of README.md."""
import argparse
import json
import subprocess
import sys

import plot

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
    return plot.size_of(run["results"][0]["parameters"])


columns = [{row["name"]: row for row in run["results"][0]["rows"] if row["statistics"]} for run in runs]
print("| `--sync` | " + " | ".join(map(title, runs)) + " |")
print("|---" * (len(runs) + 1) + "|")
for name in [row["name"] for row in runs[0]["results"][0]["rows"]]:
    cells = [plot.marked(column[name], f"{1e6 * plot.median(column[name]):.4g}") if name in column else "–"
             for column in columns]
    print(f"| {'`' + name + '`' if name != 'cudaMemcpy' else 'copy of the field'} | " + " | ".join(cells) + " |")

if not arguments.plot:
    sys.exit()
plot.need_matplotlib()

# What is drawn: one strategy of each kind, slowest first, in words; and the best copy.
DRAWN = {
    "stream-sync": "a launch per step, the host waits for each (stream-sync)",
    "relaunch": "a launch per step, queued ahead (relaunch, the default)",
    "graph": "a CUDA graph of 64 steps (graph)",
    "central": "one kernel for all steps, with a barrier between them (central)",
}
names = [name for name in DRAWN if all(name in column for column in columns)]
if not names:
    sys.exit("strategies.py: --plot: nothing of what it draws was measured")
have = runs[0]["results"][0]
ticks, rows = {}, []
for run, column in zip(runs, columns):
    extent = [run["results"][0]["parameters"].get(n, 1) for n in ("nz", "ny", "nx")]
    cells = extent[0] * extent[1] * extent[2]
    ticks[cells] = title(run)
    copy = plot.median(column["cudaMemcpy"]) if "cudaMemcpy" in column else 0
    rows += [dict(column[name], name=DRAWN[name], axes={"cells": cells},
                  ratio_to_copy=copy / plot.median(column[name])) for name in names]
have.update(rows=rows, ticks=ticks, copy="copy of the field, for comparison (cudaMemcpy)",
            title="Time of one step, by how the steps are kept in order "
            f"({have['device']}, {have['parameters']['precision']})")
plot.draw(have, "lines", arguments.plot, True)
