#!/usr/bin/env python3
"""Microseconds per step of every strategy for several sizes, as a table in Markdown.

    bench/strategies.py [--stencil COMMAND] [--json FILE] [--sizes 512x512,128x128x128,...] [bench options...]

Runs `stencil bench sweep --size SIZE --precision float32 ...` for each size (2D 5-point or 3D 7-point, unless options
say otherwise); --json keeps all of what was measured, --from FILE makes the table of an earlier run. On several GPUs
(--gpus 4) the strategies are those that span them."""
import argparse
import json
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--stencil", default="stencil", help="the command")
parser.add_argument("--json", help="where to keep everything that was measured")
parser.add_argument("--from", dest="earlier", help="the JSON of an earlier run")
parser.add_argument("--sizes", default="256x256,1024x1024,4096x4096,16384x16384", help="cells, x first")
arguments, more = parser.parse_known_args()

runs = []
if arguments.earlier:
    with open(arguments.earlier, encoding="utf-8") as file:
        runs = json.load(file)
for size in [] if arguments.earlier else arguments.sizes.split(","):
    command = [arguments.stencil, "bench", "sweep", "--size", size, "--precision", "float32", "--json", "-", *more]
    print(" ".join(command), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8")
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
        median = ((column.get(name) or {}).get("statistics") or {}).get("median")
        cells.append("–" if median is None else f"{1e6 * median:.4g}")
    print(f"| {'`' + name + '`' if name != 'cudaMemcpy' else 'copy of the field'} | " + " | ".join(cells) + " |")
