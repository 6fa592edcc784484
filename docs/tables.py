#!/usr/bin/env python3
"""Makes tables of the documentation from the records of measurements in bench/records/.

    docs/tables.py            rewrites the tables of all pages
    docs/tables.py --check    changes nothing; exit code 1 where a page has something else than its records

Pages are docs/**/*.md and bench/records/README.md. A table stands between two comments, of which the first says how it
is made:

    <!-- table: KIND ARGUMENT=VALUE ... -->
    <!-- end -->

Values are lists with commas, behind which a line may end, and have no spaces. Records are paths from the root of the
project. Sizes are edges, x first, or one edge, with its exponent or without: 384x352x320, 512², 512³ or 512.

    records     All records: machine, version, date, command. It has no arguments.
    speed       record, [stencils], [precisions], [sizes], [sweep]. A row for each case of `stencil bench speed` that
                was measured, whose sweep is one of those named.
    strategies  record, sizes, [precisions], [stencils], [sweep], [rows], [digits], [bold]. us per step of `stencil
                bench strategies` and `stencil bench sweep`: a column for each size, a row for each strategy, of one
                precision. `rows` are STRATEGY[/SWEEP[/EXCHANGE]] in the order wanted (`copy`: that of the field), by
                default all that there are; `digits` are significant ones (4); `bold` marks what is within so many
                per cent of the least of its column. Of several measurements of one thing the last counts.
    barriers    record, [across], [threads], [blocks]. us of a pass of each barrier of `stencil bench grid` with
                `threads` for each block (256) and `blocks` for each multiprocessor (1); `across` is the record of
                those across several GPUs.
    bandwidth   record, [rows]. What strategies of `stencil bench sweep` move per second, beside the copy of the field.

"~" marks figures whose samples spread by more than 5 %, "–" what was not measured.
"""

import argparse
import datetime
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORDS = ROOT / "bench" / "records"
INDEX = RECORDS / "README.md"
TABLE = re.compile(r"(<!-- table: ((?:(?!-->).)*) -->\n)(?:(?!<!-- table: ).)*?(<!-- end -->)", re.DOTALL)
UNITS = {"gcell_per_s": "Gcell/s", "us_per_step": "µs/step"}
NONE = "–"


class TableError(Exception):
    """A comment asks for what cannot be made."""


def markdown(head, rows, numbers):
    """A table; the columns from `numbers` on are aligned to the right."""
    if not rows:
        raise TableError("no record has such rows")
    lines = [head, ["---" if at < numbers else "--:" for at in range(len(head))], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def significant(value, digits=4):
    """At least so many digits of the value, and never fewer than stand before its point."""
    rounded = float(f"{value:.{digits}g}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{value:.{max(decimals, 0)}f}"


def marked(value, noisy, digits=4):
    return ("~" if noisy else "") + significant(value, digits)


def reports(paths):
    """The reports of which records consist, one behind the other."""
    for path in paths:
        if not (ROOT / path).is_file():
            raise TableError(f"there is no record {path}")
        root = json.loads((ROOT / path).read_text(encoding="utf-8"))
        yield from root if isinstance(root, list) else [root]


def results(paths, benchmarks):
    for report in reports(paths):
        yield from (result for result in report["results"] if result["benchmark"] in benchmarks)


def edges(axes):
    """The size of a field as text: 384x352x320, or 512² where all edges are as long."""
    lengths = [axes[axis] for axis in ("nx", "ny", "nz") if axis in axes]
    if len(set(lengths)) == 1:
        return f"{lengths[0]}{'²³'[len(lengths) - 2]}"
    return "x".join(map(str, lengths))


def wanted(value, choice):
    return choice is None or value in choice


def wanted_size(size, choice):
    """`size` is text of edges(); a choice without an exponent is any field with such edges."""
    return wanted(size, choice) or size.rstrip("²³") in choice


# Kinds: each takes its arguments as lists of words and gives the text of the table.

def table_records():
    rows = []
    for path in sorted(RECORDS.glob("*.json")):
        for report in reports([path]):
            if "results" in report:  # of several GPUs, some are of one
                device = max((result["device"] for result in report["results"]), key=len)
            else:
                names = [gpu["name"] for gpu in report["gpus"]]
                device = f"{len(names)} x {names[0]}" if len(names) > 1 else names[0]
            version = " ".join(filter(None, (report["version"], report.get("git_revision"))))
            date = NONE
            if "started_s" in report:
                date = datetime.datetime.fromtimestamp(report["started_s"], datetime.timezone.utc).date().isoformat()
            rows.append([f"[{path.name}]({path.name})", device, version, date,
                         f"`{report['command_line']}`"])
    return markdown(["file", "machine", "version", "date", "command"], rows, 5)


def table_speed(record, stencils=None, precisions=None, sizes=None, sweep=None):
    cases = []
    for case in (case for report in reports(record) for case in report["rows"]):
        stencil, precision = case["case"].split()[:2]
        precision = precision.replace("fp", "float")
        size = edges(case["axes"])
        if (case["measured"] is not None and wanted(stencil, stencils) and wanted(precision, precisions)
                and wanted_size(size, sizes) and wanted(case["sweep"], sweep)):
            gpus = case["axes"].get("gpus", 1)
            cases.append((stencil, precision, size if gpus == 1 else f"{size}, {gpus} GPUs", case))
    units = {UNITS[case["unit"]] for *_, case in cases}
    alone = units.pop() if len(units) == 1 else None
    rows = [[stencil, precision, size, f"`{case['sweep']}`, `{case['strategy']}`",
             marked(case["measured"], case["noisy"]) + ("" if alone else f" {UNITS[case['unit']]}"),
             f"{case['best_other']:.4g} ({case['best_by']})", f"{case['reach']:.4g}"]
            for stencil, precision, size, case in cases]
    return markdown(["stencil", "precision", "size", "sweep, `--sync`", alone or "measured", "best other", "to reach"],
                    rows, 4)


def strategy_key(row):
    """STRATEGY/SWEEP[/EXCHANGE] of a row's name; `stencil bench sweep` leaves out its sweep, `stream`."""
    if row == "copy":
        return row
    strategy, *rest = row.split("/")
    if not rest or rest[0] in ("copy", "overlap", "store"):
        rest.insert(0, "stream")
    return "/".join([strategy, *rest])


def strategy_label(row, one_sweep):
    if row == "copy":
        return "copy of the field (`cudaMemcpy`)"
    strategy, sweep, exchange, *_ = [*row.split("/"), "", ""]
    option = {"": "", "overlap": " --overlap"}.get(exchange, f" --halo {exchange}")
    return f"`{strategy}{option}`" + (f", `{sweep}`" if sweep and not one_sweep else "")


def measured_strategies(record, precisions, stencils):
    """The precision, and by row and size: the row."""
    found = {}
    seen = set()
    for result in results(record, ("strategies", "sweep")):
        parameters = result["parameters"]
        if not wanted(parameters["precision"], precisions) or not wanted(parameters["stencil"], stencils):
            continue
        seen.add(parameters["precision"])
        for row in (row for row in result["rows"] if row["statistics"]):
            axes = {**parameters, **row["axes"]}
            if "ny" not in axes:  # --sizes: all edges are as long
                axes = {axis: axes["nx"] for axis in ("nx", "ny", "nz")[:len(parameters["boundary"].split(","))]}
            name = "copy" if row["kind"] == "copy" else strategy_key(row["name"])
            found[name, edges(axes)] = row
    if len(seen) != 1:
        raise TableError(f"a table is of one precision, not of {', '.join(sorted(seen)) or 'none'}: precisions=...")
    return seen.pop(), found


def table_strategies(record, sizes, precisions=None, stencils=None, sweep=None, rows=None, digits=("4",), bold=None):
    precision, found = measured_strategies(record, precisions, stencils)
    sizes = [next((size for _, size in found if wanted_size(size, [choice])), choice) for choice in sizes]
    names = rows or list(dict.fromkeys(name for name, size in found if size in sizes))
    names = [name for name in names if name == "copy" or wanted(strategy_key(name).split("/")[1], sweep)]
    seconds = {at: row["statistics"]["median"] for at, row in found.items() if row["kind"] != "copy"}

    def cell(name, size):
        row = found.get((strategy_key(name), size))
        if row is None:
            return NONE
        text = marked(row["statistics"]["median"] * 1e6, row["noisy"], int(digits[0]))
        if not bold:
            return text
        least = min(seconds[key] for key in ((strategy_key(other), size) for other in names) if key in seconds)
        return f"**{text}**" if row["statistics"]["median"] <= least * (1 + float(bold[0]) / 100) else text

    lines = [[strategy_label(name, sweep and len(sweep) == 1), *(cell(name, size) for size in sizes)] for name in names]
    unknown = [line[0] for line in lines if set(line[1:]) == {NONE}]
    if unknown:
        raise TableError(f"no record has {unknown[0]}")
    return markdown([precision, *sizes], lines, 1)


def table_barriers(record, across=None, threads=("256",), blocks=("1",)):
    def rows(names, benchmark):
        return [row for result in results(names, [benchmark]) for row in result["rows"]
                if row["kind"] == "barrier" and row["statistics"] and row["axes"].get("threads") == int(threads[0])
                and row["axes"].get("blocks_per_sm") == int(blocks[0])]

    def time(row):
        return ("~" if row["noisy"] else "") + f"{row['statistics']['median'] * 1e6:.3f}"

    labels = {"grid.sync": "`grid.sync()` of the library", "neighbor": "`neighbor` (2 neighbours)"}
    lines = [[labels.get(row["name"], f"`{row['name']}`"), time(row)] for row in rows(record, "grid")]
    several = {}
    for row in rows(across or [], "multi-grid"):
        if row["axes"]["gpus"] > 1:
            several.setdefault(row["name"], []).append(row)
    lines += [[f"`{name}`, {' / '.join(str(row['axes']['gpus']) for row in group)} GPUs", " / ".join(map(time, group))]
              for name, group in several.items()]
    return markdown(["barrier", "µs"], lines, 1)


def table_bandwidth(record, rows=None):
    lines = []
    for result in results(record, ["sweep"]):
        parameters = result["parameters"]
        problem = f"{parameters['stencil']}, {parameters['precision']}, {edges(parameters)}"
        for row in (row for row in result["rows"] if row["kind"] == "strategy" and wanted(row["name"], rows)):
            lines.append([problem, f"`{row['name']}`", marked(row["statistics"]["median"] * 1e6, row["noisy"]),
                          significant(row["cells_per_s"] / 1e9), significant(row["bytes_per_s"] / 1e9),
                          f"{row['ratio_to_copy'] * 100:.0f} %"])
    return markdown(["problem", "`--sync`", "µs/step", "Gcell/s", "GB/s", "of the copy of the field"], lines, 2)


KINDS = {"records": table_records, "speed": table_speed, "strategies": table_strategies, "barriers": table_barriers,
         "bandwidth": table_bandwidth}


def make(words):
    """The table that a comment asks for."""
    kind, *arguments = re.sub(r",\s+", ",", words).split() or [""]
    if kind not in KINDS:
        raise TableError(f"'{kind}' is no kind of table; there are {', '.join(KINDS)}")
    pairs = [argument.partition("=")[::2] for argument in arguments]
    try:
        return KINDS[kind](**{name: value.split(",") for name, value in pairs})
    except TypeError as error:
        raise TableError(str(error).replace(f"table_{kind}()", kind)) from error


def renewed(page):
    """The text of a page with its tables made anew, and the text as it is."""
    text = page.read_text(encoding="utf-8")
    if text.count("<!-- table: ") != len(TABLE.findall(text)):
        raise TableError(f"{page.relative_to(ROOT)}: a table has no <!-- end -->")

    def replace(match):
        try:
            return match[1] + make(match[2]) + match[3]
        except TableError as error:
            line = text.count("\n", 0, match.start()) + 1
            raise TableError(f"{page.relative_to(ROOT)}:{line}: {error}") from error

    return TABLE.sub(replace, text), text


def main():
    parser = argparse.ArgumentParser(description="Makes the tables of the documentation from bench/records/.")
    parser.add_argument("--check", action="store_true", help="change nothing, and fail where a table differs")
    check = parser.parse_args().check
    failed = False
    for page in [*sorted((ROOT / "docs").rglob("*.md")), INDEX]:
        new, old = renewed(page)
        if new == old:
            continue
        failed |= check
        print(f"{page.relative_to(ROOT)}: {'differs from its records' if check else 'written'}")
        if not check:
            page.write_text(new, encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TableError as error:
        sys.exit(f"tables.py: {error}")
