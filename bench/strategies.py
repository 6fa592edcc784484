#!/usr/bin/env python3
"""Microseconds per step of every strategy for several sizes, as a table in Markdown.

    bench/strategies.py [--stencil COMMAND] [--json FILE] [--sizes 256,1024,4096,16384] [bench options...]

Runs `stencil bench sweep --size NxN --precision float32 ...` for each size; --json keeps all of what it measured."""
import argparse
import json
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--stencil", default="stencil", help="the command")
parser.add_argument("--json", help="where to keep everything that was measured")
parser.add_argument("--sizes", default="256,1024,4096,16384", help="cells along each axis")
arguments, more = parser.parse_known_args()

sizes = [int(n) for n in arguments.sizes.split(",")]
runs = []
for n in sizes:
    command = [arguments.stencil, "bench", "sweep", "--size", f"{n}x{n}", "--precision", "float32", "--json", "-", *more]
    print(" ".join(command), file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(done.returncode)
    runs.append(json.loads(done.stdout))

columns = [{row["name"]: row for row in run["results"][0]["rows"]} for run in runs]
print("| `--sync` | " + " | ".join(f"{n}²" for n in sizes) + " |")
print("|---" * (len(sizes) + 1) + "|")
for name in columns[0]:
    cells = []
    for column in columns:
        row = column[name]
        median = (row.get("statistics") or {}).get("median")
        cells.append("–" if median is None else f"{1e6 * median:.4g}")
    print(f"| {'`' + name + '`' if name != 'cudaMemcpy' else 'copy of the field'} | " + " | ".join(cells) + " |")
if arguments.json:
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump(runs, file, indent=1)
        file.write("\n")
