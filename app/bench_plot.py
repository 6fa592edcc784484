#!/usr/bin/env python3
"""Draws what `stencil bench --json` wrote, as `stencil bench --plot` does, with matplotlib.

    bench_plot.py [--force] DIRECTORY < FILE.json

Of each benchmark, as far as it has such rows: NAME-map.png (a heat map over blocks per multiprocessor and threads for
each place on other axes), NAME-lines.png (medians with p5 and p95 over the innermost axis, of rows that were compared
with each other also as multiples of the fastest) and NAME-box.png (all samples of rows without a varying axis, and of
host methods), NAME-shares.png (parts of computing and of synchronisation, of rows whose time in parts is known),
NAME-lanes.png (when each lane of a warp came to a barrier and left it); or NAME-bars.png alone, where there are cases
with figures to be reached. Of a report with barriers of several levels also levels.png. Of many strategies the best
few are shown. The second result of a benchmark is NAME-2, and so on. ~ marks what has samples that spread too much."""
import argparse
import json
import math
import os
import re
import sys

from figure import need_matplotlib, save

LOG_RATIO = 20  # ratio of the largest to the smallest number above which an axis is logarithmic
CLIP_RATIO = 3  # ratio of the range of all samples to that of most, above which outliers are hidden
LEGEND_MAX = 10  # most curves with a legend inside the panel and error bars
PLACES_MAX = 6  # positions of which shares are drawn
SYNC = "synchronisation"  # title of panels of the time for it
SHOWN_MAX = 5  # strategies shown where there are more than LEGEND_MAX
RELATIVE, RELATIVE_MOST = "times the fastest", 2.5  # unit and largest value of a relative panel
TICKS_MAX = 9  # most numbers on an axis with a tick for each number
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666"]
MARKERS = "os^Dv<>pX*"
# Label of each axis, and format of a position on the axis.
AXES = {
    "blocks_per_sm": ("blocks per multiprocessor", "{} blocks per multiprocessor"),
    "threads": ("threads per block", "{} threads"),
    "gpus": ("GPUs", "{} GPUs"),
    "size": ("lanes of a group", "{} lanes"),
    "bytes": ("bytes of a transfer", "{}"),
    "elements": ("elements", "{} elements"),
    "values": ("values", "{} values"),
    "blocks": ("blocks", "{} blocks"),
    "nx": ("cells of a side", "{} cells a side"),
    "from": ("from GPU", "from GPU {}"),
    "to": ("to GPU", "to GPU {}"),
    "repeats": ("repetitions in a kernel", "{} repetitions"),
    "absent": ("lanes absent", "{} absent"),
}


def amount(axis, number):
    """A number on an axis: bytes with their powers of 1024, many elements as a power of 2."""
    power = 0
    if axis == "elements" and number >= 1024 and number & (number - 1) == 0:
        return "2" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(number.bit_length() - 1))
    while axis == "bytes" and number >= 1024 and number % 1024 == 0 and power < 4:
        number, power = number // 1024, power + 1
    return f"{number} {['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}" if axis == "bytes" else str(number)


def place(row, axes):
    """The text behind the name of a row: ', 2 GPUs, 64 threads'."""
    words = [AXES.get(axis, ("", axis + " {}"))[1].format(amount(axis, row["axes"][axis])) for axis in axes]
    return "".join(", " + re.sub(r"^1 (\w+)s\b", r"1 \1", word) for word in words)


def median(row):
    return row["statistics"]["median"]


def in_units(rows):
    """(a unit in which the smallest median can be read, the rows with their numbers in this unit)."""
    what, _, per = rows[0]["unit"].partition("/")
    factor, smallest = 1, min(map(median, rows))
    if what == "s":
        factor, what = next(((f, t) for f, t in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")) if smallest >= 0.1 * f), (1e-9, "ns"))
    elif per == "s":
        factor, what, per = 1e9, "GB/s" if what == "bytes" else f"10⁹ {what} per second", ""
    return f"{what} per {per}" if per else what, [
        dict(row, samples=[x / factor for x in row["samples"] if x is not None],
             predicted=(row.get("predicted") or math.nan) / factor,
             statistics={name: row["statistics"][name] / factor for name in ("median", "p5", "p95", "smallest")})
        for row in rows]


def values(rows, axis):
    return sorted({row["axes"][axis] for row in rows})


def grouped(items, key):
    """Lists of the items with the same key, in the order of the first ones."""
    groups = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def style_of(rows):
    """The style of a series, rows that differ in nothing but their positions on the axes: map, lines or box."""
    axes = list(rows[0]["axes"])
    varying = [axis for axis in axes if len(values(rows, axis)) > 1]
    if {"blocks_per_sm", "threads"} == set(axes[-2:]) <= set(varying):
        return "map"
    return "box" if rows[0]["kind"] == "host" or axes[-1:] != varying[-1:] or not axes else "lines"


def series_of(row):
    """The key of a row's series: what all rows of a series have in common."""
    return row["kind"], row["name"], row["unit"], row["method"], tuple(row["axes"])


def by_place(rows, inner):
    """Lists of rows, for each series and position on the outer axes, which are all but the last `inner` axes."""
    def outer(row):
        return list(row["axes"].values())[:-inner]
    return [some for series in grouped(rows, series_of)
            for some in grouped(sorted(series, key=outer), lambda row: tuple(outer(row)))]


def digits(value):
    """A number as a text that is short enough for a cell of a heat map."""
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 3}f}"


def is_log(rows):
    """Tells whether the numbers of these rows need a logarithmic axis."""
    smallest = min(row["statistics"]["smallest"] for row in rows)
    return smallest > 0 and max(map(median, rows)) > LOG_RATIO * min(map(median, rows))


def plain(axis):
    """Labels an axis with plain numbers instead of powers of 10."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if axis.get_scale() == "log":
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_formatter(NullFormatter())


def marked(row, text):
    return ("~" if row["noisy"] else "") + text


def axis_label(axis, result):
    return "threads" if axis == "threads" and result["backend"] == "cpu" else AXES.get(axis, (axis,))[0]


def like_copy(rows):
    """(row that moves bytes, its value at the rate of the best copy) for all rows but copies."""
    return [(row, median(row) * (1 / row["ratio_to_copy"] if row["higher_is_better"] else row["ratio_to_copy"]))
            for row in rows if row["ratio_to_copy"] and row["kind"] != "copy"]


def draw_map(ax, result, unit, rows, together):
    """Draws a heat map, in the colours of all rows of its kind, which are `together`."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize
    *outer, down, across = rows[0]["axes"]
    ys, xs = (values(together, axis) for axis in (down, across))
    low, high = min(map(median, together)), max(map(median, together))
    cells = [[math.nan] * len(xs) for _ in ys]
    best = (max if rows[0]["higher_is_better"] else min)(map(median, rows))
    for row in rows:
        y, x = ys.index(row["axes"][down]), xs.index(row["axes"][across])
        cells[y][x] = median(row)
        ax.text(x, y, marked(row, digits(median(row))), ha="center", va="center", fontsize=9,
                weight="bold" if median(row) == best else None)
    colors = LinearSegmentedColormap.from_list("", ["#ffffd9", "#c7e9b4", "#7fcdbb", "#41b6c4"])
    ax.imshow(cells, origin="lower", aspect="auto", cmap=colors,
              norm=(LogNorm if is_log(together) else Normalize)(low, high if high > low else low + 1))
    ax.set_xticks(range(len(xs)), xs)
    ax.set_yticks(range(len(ys)), ys)
    ax.set(xlabel=axis_label(across, result), ylabel=axis_label(down, result),
           title=f"{rows[0]['name']}{place(rows[0], outer)}: {unit}")


def curve_name(curve):
    return curve[0]["name"] + place(curve[0], list(curve[0]["axes"])[:-1])


def curve_label(curve, inner, fastest_at):
    """The name of a curve, and the positions at which the curve is the fastest."""
    name = curve_name(curve)
    places = fastest_at.get(name, ())
    text = name + (f" (fastest at {', '.join(amount(inner, at) for at in places)})" if places else "")
    if len(places) == len(curve) > 2:
        text = name + " (fastest at all)"
    return " " * text.startswith("_") + text  # matplotlib hides labels that start with _


def too_many(rows, curves):
    """Tells whether only the best of these strategies are shown, since many were compared with each other."""
    return curves > LEGEND_MAX and all(row["kind"] == "strategy" and row.get("of_fastest") is not None for row in rows)


def the_best(rows):
    """(curves to draw, number of all curves or 0, positions where each name is the fastest): all curves, or the best few
    of many that were compared: first curves that are the fastest somewhere, then curves that are the least behind on
    average."""
    inner = list(rows[0]["axes"])[-1]
    curves = by_place(rows, 1)
    if not too_many(rows, len(curves)):
        return curves, 0, {}
    every = len(values(rows, inner))

    def rank(curve):
        wins = sum(row["of_fastest"] == 1 for row in curve)
        behind = math.exp(sum(math.log(row["of_fastest"]) for row in curve) / len(curve))
        return -wins, every - len(curve), behind

    best = sorted(curves, key=rank)[:SHOWN_MAX]
    return ([curve for curve in curves if curve in best], len(curves),
            {curve_name(curve): sorted(row["axes"][inner] for row in curve if row["of_fastest"] == 1) for curve in best})


def draw_lines(ax, result, unit, rows, _):
    """Draws medians over the innermost axis, with bars from p5 to p95; of many strategies the best few."""
    inner = list(rows[0]["axes"])[-1]
    curves, of, fastest_at = the_best(rows)
    rows = [row for curve in curves for row in curve] if of else rows
    many = len(curves) > LEGEND_MAX
    for i, curve in enumerate(curves):
        curve.sort(key=lambda row: row["axes"][inner])
        y = [median(row) for row in curve]
        bars = [[abs(row["statistics"][end] - at) for row, at in zip(curve, y)] for end in ("p5", "p95")]
        ax.errorbar([row["axes"][inner] for row in curve], y, yerr=None if many or unit == RELATIVE else bars,
                    color=COLORS[i % len(COLORS)], capsize=2, marker=MARKERS[i % len(MARKERS)], markersize=5,
                    linewidth=1.2, linestyle=":" if curve[0]["kind"] == "ceiling" else "-" if i < len(COLORS) else "-.",
                    label=curve_label(curve, inner, fastest_at))
        ax.plot([row["axes"][inner] for row in curve], [row["predicted"] for row in curve], linestyle="--", linewidth=1,
                color=COLORS[i % len(COLORS)], alpha=0.7)
    copies = {row["axes"][inner]: copy for row, copy in like_copy(rows)}
    if copies:
        ax.plot(sorted(copies), [copies[x] for x in sorted(copies)], color="black", linestyle=":", linewidth=2,
                label="the best copy, as many bytes")
    xs = values(rows, inner)
    if xs[0] > 0 and xs[-1] >= 8 * xs[0]:
        ax.set_xscale("log", base=2)
        xs = [x for i, x in enumerate(xs) if i == 0 or x > 1.15 * xs[i - 1] or len(xs) > TICKS_MAX]
    if unit == RELATIVE:
        ax.set_ylim(0.95 if min(map(median, rows)) >= 1 else 0,
                    max(1.25, min(RELATIVE_MOST, 1.05 * max(map(median, rows)))))
    elif is_log(rows):
        ax.set_yscale("log")
    elif min(row["statistics"]["smallest"] for row in rows) > 0:
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
    plain(ax.yaxis)
    ticks = xs if len(xs) <= TICKS_MAX else [x for x in xs if math.log2(x / xs[0]).is_integer()]
    ax.set_xticks(ticks, [amount(inner, x) for x in ticks])
    ax.minorticks_off()
    ax.grid(color="#dddddd")
    if any(row["predicted"] == row["predicted"] for row in rows):
        ax.plot([], [], "--", color="black", linewidth=1, label="as the model predicts")
    if many and unit != RELATIVE:
        ax.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    elif unit != RELATIVE:  # the panel to the left has the legend
        ax.legend(fontsize=9, framealpha=0.8)
    words = f"the best {len(fastest_at)} of {of}" if of else rows[0]["kind"]
    ax.set(xlabel=axis_label(inner, result), ylabel=unit, title=words + ", beside the fastest" * (unit == RELATIVE))


def relative(rows):
    """Rows as multiples of the fastest row at their position: lines in other units cannot be told apart."""
    def scaled(row):
        factor = row["of_fastest"] / median(row)
        return dict(row, samples=[x * factor for x in row["samples"]], predicted=math.nan, ratio_to_copy=None,
                    statistics={name: x * factor for name, x in row["statistics"].items()})
    return [scaled(row) for row in rows]


def synchronising(rows):
    """Rows with the time of a run for synchronisation in place of all its time, where this is known."""
    return [dict(row, kind=SYNC, samples=[row["sync_s"]], predicted=None, ratio_to_copy=None,
                 statistics={name: row["sync_s"] for name in ("median", "p5", "p95", "smallest")})
            for row in rows if row.get("sync_s")]


def draw_box(ax, _, unit, rows, __):
    """Draws all samples of rows, and their quartiles."""
    from statistics import quantiles
    title = rows[0]["kind"]
    if too_many(rows, len(rows)):
        title = f"the best {LEGEND_MAX} of {len(rows)}"
        rows = sorted(rows, key=lambda row: row["of_fastest"])[:LEGEND_MAX]
    for y, some in enumerate(row["samples"] for row in rows):
        low, middle, high = quantiles(some, method="inclusive") if len(some) > 1 else some * 3
        ax.barh(y, high - low, 0.6, low, color=COLORS[5], edgecolor=COLORS[0], alpha=0.5)
        ax.plot([middle, middle], [y - 0.3, y + 0.3], color=COLORS[0], linewidth=2)
        ax.plot(some, [y] * len(some), ".", color=COLORS[0], markersize=4, alpha=0.5)
    best = (max if rows[0]["higher_is_better"] else min)(rows, key=median)
    if len(rows) > 1:
        ax.axvline(median(best), color=COLORS[2], linestyle="--", label=f"best: {best['name']}, {median(best):.4g}")
    for _, copy in like_copy(rows)[-1:]:
        ax.axvline(copy, color="black", linestyle=":", label=f"the best copy: {copy:.4g}")
    if is_log(rows):
        ax.set_xscale("log")
    else:
        clip(ax, rows, [x for row in rows for x in row["samples"]])
    plain(ax.xaxis)
    common = [axis for axis, number in rows[0]["axes"].items() if all(row["axes"].get(axis) == number for row in rows[1:])]
    down(ax, [marked(row, row["name"] + place(row, [axis for axis in row["axes"] if axis not in common])) for row in rows])
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=9, framealpha=0.8)
    ax.set(xlabel=unit + place(rows[0], common), title=title)


def down(ax, names):
    """Labels the y axis with the names of rows, the first name on top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="x", color="#dddddd")
    ax.set_axisbelow(True)


def clip(ax, rows, samples):
    """Limits the axis to most samples where outliers would hide all differences, and counts the outliers."""
    ends = [(row["statistics"]["p5"], row["statistics"]["p95"]) for row in rows]
    low, high = min(2 * a - b for a, b in ends), max(2 * b - a for a, b in ends)
    smallest = min(samples)
    if smallest > 0:
        low = smallest = 0
        ax.set_xlim(0, 1.05 * max(samples))
    if max(samples) - smallest > CLIP_RATIO * (high - low):
        beyond = sum(not low <= x <= high for x in samples)
        ax.set_xlim(low, high)
        ax.text(0.98, 0.03, f"{beyond} sample{'s' * (beyond != 1)} beyond", transform=ax.transAxes, ha="right")


# Styles: draw function, panel width and height in inches (None: by number of rows), panels in a row of the figure.
STYLES = {"map": (draw_map, 4.2, 2.9, 4), "lines": (draw_lines, 7.0, 4.2, 3), "box": (draw_box, 7.0, None, 3)}


def size_of(parameters):
    """'8192²', '512 x 256': the cells of a field, x first; '' without one."""
    sizes = [parameters[n] for n in ("nx", "ny", "nz") if n in parameters]
    if len(set(sizes)) == 1 and len(sizes) > 1:
        return f"{sizes[0]}{'²' if len(sizes) == 2 else '³'}"
    return " x ".join(map(str, sizes))


def title_of(result):
    have = result["parameters"]
    device = ("CPU, " if result["backend"] == "cpu" else "") + result["device"]
    arrays = amount("bytes", have["array_bytes"]) if "array_bytes" in have else ""
    words = [f"{result['benchmark']}: {device}", have.get("stencil"), have.get("precision"), size_of(have), arrays]
    return ", ".join(word for word in words if word)


def where_they_vary(result):
    """(rows, text of their common positions): rows that were compared lose the axes on which all have one position."""
    rows = [row for row in result["rows"] if row["samples"]]
    axes = [axis for axis in (rows[0]["axes"] if rows else []) if all(axis in row["axes"] for row in rows)]
    same = [axis for axis in axes if len(values(rows, axis)) == 1]
    if len(same) == len(axes) or any(row.get("of_fastest") is None and row["kind"] != "copy" for row in rows):
        return rows, ""
    return ([dict(row, axes={axis: at for axis, at in row["axes"].items() if axis not in same}) for row in rows],
            place(rows[0], same))


def draw(result, style, path, force):
    """Draws the rows of one style, if there are any, and writes the PNG: a panel for each kind and unit; lines also have
    a panel for each innermost axis, and maps a panel for each position on the outer axes of a series."""
    draw_panel, width, height, most = STYLES[style]
    rows, everywhere = where_they_vary(result)
    rows = [row for series in grouped(rows, series_of) if style_of(series) == style for row in series]
    panels = [in_units(some) for some in grouped(rows, lambda row: (
        "order" if row["kind"] == "ceiling" else row["kind"], row["unit"], list(row["axes"])[-1] if style == "lines" else None))]
    panels = [(unit, some, together) for unit, together in panels
              for some in (by_place(together, 2) if style == "map" else [together])]
    if style == "lines":  # of a case over blocks, its synchronisation beside its time
        shared = synchronising([row for row in rows if list(row["axes"])[-1] in ("blocks", "threads")])
        panels += [(unit, some, some) for unit, some in [in_units(shared)] if some] if shared else []
    if style == "lines":  # copies are drawn in the panels of other rows
        panels = [panel for panel in panels if panel[1][0]["kind"] != "copy" or len(panels) == 1]
        panels += [(RELATIVE, *[relative(some)] * 2) for _, some, _ in panels
                   if some[0]["kind"] != SYNC and all(row.get("of_fastest") is not None for row in some)]
    if not panels:
        return
    from matplotlib.figure import Figure
    columns = 1 if style == "box" and len(panels) == 2 else min(len(panels), 2 if len(panels) == 4 else most)
    lines = -(-len(panels) // columns)
    def high(some):
        if style == "lines":
            return max(height, 0.19 * len(the_best(some)[0]))
        return height or 1.3 + 0.3 * (LEGEND_MAX if too_many(some, len(some)) else len(some))

    heights = [max(high(some) for _, some, _ in panels[i * columns:(i + 1) * columns]) for i in range(lines)]
    width = min(max(width * columns, 8 if style != "map" else 0), 16)
    figure = Figure(figsize=(width, min(sum(heights) + 0.5, 9.6)), dpi=100, layout="constrained")
    figure.suptitle(title_of(result) + everywhere)
    grid = figure.add_gridspec(lines, columns, height_ratios=heights)
    for i, panel in enumerate(panels):
        ax = figure.add_subplot(grid[i // columns, i % columns])
        draw_panel(ax, result, *panel)
        if len(panels) == 1 and style != "map":
            ax.set_title("")  # the title of the figure suffices
    save(figure, path, force)


def spread_out(items, most):
    """At most so many of the items, the first and the last among them, at equal distances."""
    return items if len(items) <= most else [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def draw_shares(result, path, force):
    """Draws the parts of computing and of synchronisation of each row, a panel for each position on the axes."""
    rows = [row for row in result["rows"] if row["samples"] and row.get("sync_measured") is not None]
    panels = spread_out(grouped(rows, lambda row: tuple(row["axes"].items())), PLACES_MAX)
    if not panels:
        return
    from matplotlib.figure import Figure
    columns = min(len(panels), 3)
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(max(4.4 * columns, 8), lines * (1.4 + 0.28 * max(map(len, panels)))), dpi=100, layout="constrained")
    figure.suptitle(title_of(result), x=0.02, ha="left")
    for i, some in enumerate(panels):
        ax = figure.add_subplot(lines, columns, i + 1)
        sync = [100 * row["sync_measured"] for row in some]
        ax.barh(range(len(some)), [100 - share for share in sync], 0.6, color=COLORS[5], edgecolor=COLORS[0], label="computing")
        ax.barh(range(len(some)), sync, 0.6, [100 - share for share in sync], color=COLORS[1], alpha=0.7,
                edgecolor=COLORS[1], label=SYNC)
        for y, share in enumerate(sync):
            ax.text(99, y, f"{share:.0f}", ha="right", va="center", fontsize=8)
        ax.set_xlim(0, 100)
        down(ax, [row["name"] for row in some])
        ax.set(xlabel="% of a phase", title=place(some[0], list(some[0]["axes"])).lstrip(", "))
    figure.legend(*ax.get_legend_handles_labels(), loc="upper right", ncols=2, fontsize=9, frameon=False)
    save(figure, path, force)


def draw_lanes(result, path, force):
    """Draws when each lane of a warp came to a barrier and left it, a panel for each barrier, and when the last one came."""
    rows = [row for row in result["rows"] if row.get("lanes")]
    if not rows:
        return
    from matplotlib.figure import Figure
    columns = min(len(rows), 3)
    lines = -(-len(rows) // columns)
    figure = Figure(figsize=(5 * max(columns, 2), 4.4 * lines), dpi=100, layout="constrained")
    figure.suptitle(title_of(result))
    for i, row in enumerate(rows):
        ax = figure.add_subplot(lines, columns, i + 1)
        before, after = row["lanes"]["before"], row["lanes"]["after"]
        ax.barh(range(len(before)), [b - a for a, b in zip(before, after)], 0.7, before, color=COLORS[5], edgecolor=COLORS[0])
        ax.axvline(max(before), color=COLORS[1], linestyle="--", label="the last lane comes")
        ax.set_ylim(len(before) - 0.4, -0.6)
        ax.set(xlabel="cycles", ylabel="lane", title=f"{row['name']}: {row['outcome']}")
        if i == 0:
            ax.legend(fontsize=8)
    save(figure, path, force)


def draw_levels(levels, path, force):
    """Draws the barriers of all levels over the threads of a block: with one block, and on full multiprocessors."""
    from matplotlib.figure import Figure
    figure = Figure(figsize=(14, 5.2), dpi=100, layout="constrained")
    figure.suptitle("barriers of all levels")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, key, title in zip(axes, ("one_block", "full"),
                              ("one block; of grids one on each multiprocessor", "full multiprocessors; warps: at their best rate")):
        for i, some in enumerate(grouped(levels, lambda level: (level["level"], level["name"], level["gpus"]))):
            points = sorted((level["threads"], 1e9 * level[key]) for level in some if level[key])
            name = some[0]["name"] + (f", {some[0]['gpus']} GPUs" if some[0]["gpus"] > 1 else "")
            ax.plot([x for x, _ in points], [y for _, y in points], color=COLORS[i % len(COLORS)], marker=MARKERS[i % len(MARKERS)],
                    markersize=5, linewidth=1.2, label=f"{some[0]['level']}: {name}")
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        xs = values([{"axes": level} for level in levels], "threads")
        ax.set_xticks(xs, xs)
        ax.minorticks_off()
        plain(ax.yaxis)
        ax.grid(color="#dddddd")
        ax.set(xlabel=AXES["threads"][0], title=title)
    axes[0].set_ylabel("ns of a barrier")
    axes[1].legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    save(figure, path, force)


def case_name(bar):
    """The name of a case with its cells along x first, 'j2d5pt fp64 300 × 200 stream', or its own name without axes."""
    words, axes = bar["case"].split(" "), bar.get("axes") or {}
    sizes = [axes[n] for n in ("nx", "ny", "nz") if n in axes]
    if sizes:
        words[2] = " × ".join(map(str, sizes)) + ("," if words[2].endswith(",") else "")
    return ("~" if bar.get("noisy") else "") + " ".join(words)


def draw_cases(ax, bars, unit, copies):
    """Draws what was measured of cases beside what other codes reach and what is to be reached."""
    marks = (("best_other", "D", "black", "the copy of the field" if copies else "best other (published, one H200)"),
             ("reach", "|", COLORS[1], "to be reached"), ("aim", ">", COLORS[2], "aim"))
    ax.barh(range(len(bars)), [bar["measured"] for bar in bars], 0.6, color=COLORS[5], edgecolor=COLORS[0], label="measured here")
    for key, marker, color, label in marks:
        ax.plot([bar[key] for bar in bars], range(len(bars)), marker, color=color, markersize=14 if marker == "|" else 5,
                markeredgewidth=2 if marker == "|" else 1, label=label)
    every = [bar[key] for bar in bars for key in ("measured", *(mark[0] for mark in marks))]
    if max(every) > LOG_RATIO * min(every):
        ax.set_xscale("log")
        ax.set_xlim(min(every) / 2, max(every) * 2)
    else:
        ax.set_xlim(0, 1.1 * max(every))
    for y, bar in enumerate(bars):
        how = f"{bar['sweep']}, {bar['strategy']}" + (f", {bar['depth']} steps" if bar["depth"] > 1 else "")
        ax.annotate(f"{bar['measured']:.4g}: {how}", (1, y), (4, 0), ("axes fraction", "data"), "offset points", va="center", fontsize=8)
    plain(ax.xaxis)
    if max(every) > LOG_RATIO**2 * min(every):  # a wide range leaves no space for more ticks
        from matplotlib.ticker import LogLocator
        ax.xaxis.set_major_locator(LogLocator())
    down(ax, list(map(case_name, bars)))
    ax.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=4)
    ax.set(xlabel=unit)
    ax.set_title("beside the copy of the field" if copies else "beside other codes", pad=28)


def draw_bars(result, path, force):
    """Draws the measured cases: for each unit a panel beside other codes, and a panel beside the copy."""
    bars = [bar for bar in result["bars"] if bar["measured"] is not None]
    panels = grouped(bars, lambda bar: (bar["unit"], bar["best_by"] == "copy"))
    if not panels:
        return
    from matplotlib.figure import Figure
    rows = max(map(len, panels))
    figure = Figure(figsize=(8 * len(panels), min(2 + 0.32 * rows, 14)), dpi=100, layout="constrained")
    figure.suptitle(title_of(result))
    units = {"gcell_per_s": "Gcell/s", "us_per_step": "µs per step"}
    for i, panel in enumerate(panels):
        draw_cases(figure.add_subplot(1, len(panels), i + 1), panel, units[panel[0]["unit"]], panel[0]["best_by"] == "copy")
    save(figure, path, force)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--force", action="store_true", help="replace existing files")
    parser.add_argument("--no-force", dest="force", action="store_false", help="refuse to (the default)")
    parser.add_argument("--check", action="store_true", help="draw nothing: is all here that is needed?")
    parser.add_argument("directory", help="where the pictures go")
    arguments = parser.parse_args()
    need_matplotlib()
    seen = {}
    root = {"results": []} if arguments.check else json.load(sys.stdin)
    if root.get("levels"):
        draw_levels(root["levels"], os.path.join(arguments.directory, "levels.png"), arguments.force)
    for result in root["results"]:
        number = seen[result["benchmark"]] = seen.get(result["benchmark"], 0) + 1
        name = os.path.join(arguments.directory, result["benchmark"] + (f"-{number}" if number > 1 else ""))
        if result.get("bars"):
            draw_bars(result, f"{name}-bars.png", arguments.force)
        for style in () if result.get("bars") else STYLES:
            draw(result, style, f"{name}-{style}.png", arguments.force)
        if not result.get("bars"):
            draw_shares(result, f"{name}-shares.png", arguments.force)
            draw_lanes(result, f"{name}-lanes.png", arguments.force)
