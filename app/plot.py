#!/usr/bin/env python3
"""Draws what `stencil plot --output` has read, with matplotlib.

    plot.py [--force] FILE < NUMBERS

NUMBERS are a line of JSON, as `stencil plot --json` writes it without the values of a map, and behind it these values,
as doubles. The suffix of FILE says what is written: .png, .svg or .pdf, or of several frames .gif or .mp4."""
import argparse
import json
import math
import os
import sys
import textwrap

from figure import fail, need_matplotlib, save, write_whole

DPI = 100
FILM_DPI = 80
STILL_COLORS, FILM_COLORS, GREYS = 180, 32, 52  # of values; greys of letters and lines
WIDE, HIGH = 6.0, 4.6  # inches of the largest map
LEAST = 1.4  # inches of the smaller side of a map that is long and thin
SMALL = 350  # pixels of a map below which each is seen
LEGEND_WIDE, LEGEND_HIGH, BAR_WIDE, BAR_APART = 1.5, 0.27, 0.18, 0.12  # inches
MARKED_MOST = 60  # points of a curve up to which each has a mark
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#000000"]
CLASS_COLORS = ["#d9e6f2", "#f2c57c", "#8cc084", "#d98880", "#a99bd1", "#c9a27e", "#7fb3d5", "#f5b7b1", "#b2babb", "#f7dc6f"]
LEGEND_MOST = 10  # classes that a legend names one by one
INSULATED = "#c8c8c8"
SECONDS = 6  # of a film, as far as 4 to 24 frames in a second allow
QUALITY = ["-pix_fmt", "yuv420p", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2"]  # what players can show


def labelled(text, unit):
    return f"{text} ({unit})" if unit else text or ""


def wrapped(text, inches):
    """A title in lines as wide as the figure."""
    return "\n".join(textwrap.wrap(text, max(24, int(inches * 11.5))))


def title_of(picture, frame):
    text = picture["frames"][frame]["text"] if frame is not None and picture.get("frames") else None
    return picture["title"] + (f", {text}" if text else "")


def read(stream):
    """(the picture, its values as [frames][rows][columns] or None)"""
    import numpy
    picture = json.loads(stream.readline())
    if picture["kind"] != "map":
        return picture, None
    shape = len(picture["frames"]), picture["rows"], picture["columns"]
    return picture, numpy.frombuffer(stream.read(), dtype=float).reshape(shape)


def edges(axis, pixels):
    """The edges of the pixels along an axis."""
    import numpy
    return numpy.array(axis["edges"]) if axis["edges"] else numpy.linspace(axis["from"], axis["to"], pixels + 1)


def runs(flags):
    """(first, end) of each run of true values."""
    import numpy
    turns = numpy.flatnonzero(numpy.diff(numpy.concatenate(([0], flags.astype(int), [0]))))
    return zip(turns[::2], turns[1::2])


def outline(mask, x, y, among=True):
    """Lines along the edges of pixels between those of different value, both of which are `among` others."""
    import numpy
    among = numpy.broadcast_to(among, mask.shape)
    beside = (mask[:, 1:] != mask[:, :-1]) & among[:, 1:] & among[:, :-1]
    above = (mask[1:] != mask[:-1]) & among[1:] & among[:-1]
    lines = [((x[column + 1], y[first]), (x[column + 1], y[end])) for column in range(beside.shape[1])
             for first, end in runs(beside[:, column])]
    return lines + [((x[first], y[row + 1]), (x[end], y[row + 1])) for row in range(above.shape[0])
                    for first, end in runs(above[row])]


def kinds_of(picture):
    """What each cell is, as letters [rows][columns]; None: all are plain."""
    import numpy
    return numpy.array([list(row) for row in picture["cells"]]) if picture["cells"] else None


def map_size(picture):
    """Inches of a map: equal axes as large as there is room."""
    wide, high = abs(picture["x"]["to"] - picture["x"]["from"]), abs(picture["y"]["to"] - picture["y"]["from"])
    if not picture["equal"]:
        return (WIDE, HIGH / 2) if wide > high else (WIDE / 2, HIGH)
    scale = min(WIDE / wide, HIGH / high)
    return max(wide * scale, LEAST), max(high * scale, LEAST)


def colours(picture, count):
    """(colour map of so many colours, norm) of the values of a map."""
    import matplotlib
    from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize
    least, most = picture["least"], picture["most"]
    if picture["classes"]:
        classes = max(int(most) + 1, 2)
        chosen = ListedColormap([CLASS_COLORS[i % len(CLASS_COLORS)] for i in range(classes)])
        return chosen, BoundaryNorm([i - 0.5 for i in range(classes + 1)], chosen.N)
    if least == most:  # a field of one value, or no difference
        least, most = least - (abs(least) / 2 or 1), most + (abs(most) / 2 or 1)
    chosen = matplotlib.colormaps["RdBu_r" if picture["centred"] else "viridis"].resampled(count - count % 2 + picture["centred"])
    chosen.set_bad("white")
    return chosen, Normalize(least, most)


def fixed_sides(picture, x, y):
    """Lines along the sides of the field whose cells keep their values."""
    left, right = picture["fixed_sides"]["x"]
    low, high = picture["fixed_sides"]["y"]
    return ([((at, y[0]), (at, y[-1])) for at, fixed in ((x[0], left), (x[-1], right)) if fixed]
            + [((x[0], at), (x[-1], at)) for at, fixed in ((y[0], low), (y[-1], high)) if fixed])


def draw_kinds(ax, picture, kinds, x, y):
    """Draws the outline of fixed cells, insulated cells in grey, and where classes meet; returns what a legend says."""
    import numpy
    from matplotlib.collections import LineCollection
    from matplotlib.colors import ListedColormap
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    legend = []
    if picture["has_classes"]:
        lines = outline(kinds, x, y, (kinds != "*") & (kinds != "#"))
        ax.add_collection(LineCollection(lines, colors="white", linewidths=0.8, linestyles=":"))
        legend.append(Line2D([], [], color="#777777", linestyle=":", linewidth=1.2, label="between classes"))
    if picture["has_insulated"]:
        gone = kinds == "#"
        ax.pcolormesh(x, y, numpy.ma.masked_where(~gone, gone), cmap=ListedColormap([INSULATED]), zorder=2)
        if min(gone.shape) > 1:
            ax.contourf((x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2, gone, levels=[0.5, 1.5], hatches=["////"], alpha=0, zorder=3)
        ax.add_collection(LineCollection(outline(gone, x, y), colors="#555555", linewidths=0.8, zorder=4))
        legend.append(Patch(facecolor=INSULATED, edgecolor="#555555", hatch="////", label="insulated"))
    if picture["has_missing"]:
        legend.append(Patch(facecolor="white", edgecolor="#555555", label="no value"))
    sides = fixed_sides(picture, x, y)
    ax.add_collection(LineCollection(sides, colors="black", linewidths=3, capstyle="projecting", zorder=5, clip_on=False))
    if picture["has_fixed"]:
        lines = outline(kinds == "*", x, y)
        for width, color in ((2.4, "white"), (1, "black")):
            ax.add_collection(LineCollection(lines, colors=color, linewidths=width, capstyle="projecting", zorder=5))
    if picture["has_fixed"] or sides:
        legend.append(Patch(facecolor="none", edgecolor="black", label="fixed"))
    return legend


def draw_colours(figure, ax, picture, image):
    """Draws the bar of values; returns what a legend says of classes in its place."""
    from matplotlib.patches import Patch
    if picture["classes"] and picture["most"] < LEGEND_MOST:
        return [Patch(facecolor=image.cmap(i), edgecolor="#555555", label=f"{picture['label']} {i}")
                for i in range(int(picture["least"]), int(picture["most"]) + 1)]
    wide = map_size(picture)[0]
    bar = figure.colorbar(image, cax=ax.inset_axes([1 + BAR_APART / wide, 0, BAR_WIDE / wide, 1]))
    bar.set_label(labelled(picture["label"], picture["unit"]))
    return []


def settle(figure):
    """Has places found that stay: each layout of axes with one scale begins with what the one before has found."""
    for _ in range(3):
        figure.draw_without_rendering()
    figure.set_layout_engine("none")


def note(figure, picture):
    if picture["note"]:
        figure.supxlabel(picture["note"], fontsize=8, color="#555555")


def draw_map(picture, values, count=STILL_COLORS, dpi=DPI):
    """(figure, image, axes) of a map's first frame."""
    from matplotlib.figure import Figure
    wide, high = map_size(picture)
    figure = Figure(figsize=(wide + 1.7, high + 1.2), dpi=dpi, layout="constrained")
    ax = figure.add_subplot()
    x, y = edges(picture["x"], picture["columns"]), edges(picture["y"], picture["rows"])
    chosen, norm = colours(picture, count)
    if picture["x"]["edges"] or picture["y"]["edges"]:
        image = ax.pcolormesh(x, y, values[0], cmap=chosen, norm=norm)
    else:
        image = ax.imshow(values[0], origin="lower", extent=(x[0], x[-1], y[0], y[-1]), cmap=chosen, norm=norm,
                          interpolation="nearest" if min(values[0].shape) < SMALL or picture["classes"] else "antialiased")
    kinds = kinds_of(picture)
    legend = draw_kinds(ax, picture, kinds, x, y)
    legend += draw_colours(figure, ax, picture, image)
    ax.set_aspect("equal" if picture["equal"] else "auto")
    ax.set_xlim(min(x[0], x[-1]), max(x[0], x[-1]))
    ax.set_ylim(min(y[0], y[-1]), max(y[0], y[-1]))
    if picture["first_on_top"] and y[-1] > y[0]:
        ax.invert_yaxis()
    ax.set(xlabel=labelled(picture["x"]["label"], picture["x"]["unit"]),
           ylabel=labelled(picture["y"]["label"], picture["y"]["unit"]))
    ax.set_title(wrapped(title_of(picture, 0), wide + 1.7), fontsize=11)
    if legend:
        columns = max(1, int(figure.get_figwidth() / LEGEND_WIDE))
        figure.legend(handles=legend, fontsize=9, loc="lower left", ncols=columns, frameon=False)
        under = -(-len(legend) // columns) * LEGEND_HIGH / figure.get_figheight()
        figure.get_layout_engine().set(rect=(0, under, 1, 1 - under))
    note(figure, picture)
    settle(figure)
    return figure, image, ax


def draw_curves(picture):
    """The figure of curves, with the levels that they are to reach."""
    from matplotlib.figure import Figure
    figure = Figure(figsize=(7.2, 4.2), dpi=DPI, layout="constrained")
    ax = figure.add_subplot()
    number = 0
    for curve in picture["curves"]:
        y = [math.nan if value is None else value for value in curve["y"]]
        if curve["limit"]:
            ax.plot(curve["x"], y, "--", color="#666666", linewidth=1.2, label=curve["name"])
            continue
        ax.plot(curve["x"], y, "o-" if len(y) <= MARKED_MOST else "-", markersize=3.5, linewidth=1.4,
                color=COLORS[number % len(COLORS)], label=curve["name"])
        number += 1
    if picture["logarithmic"]:
        ax.set_yscale("log")
    ax.grid(color="#dddddd")
    ax.set_axisbelow(True)
    ax.set(xlabel=labelled(picture["x"]["label"], picture["x"]["unit"]), ylabel=labelled(picture["label"], picture["unit"]))
    ax.set_title(wrapped(title_of(picture, 0), 7.2), fontsize=11)
    if len(picture["curves"]) > 1:
        ax.legend(fontsize=9, framealpha=0.8)
    note(figure, picture)
    return figure


def frames_of(picture, values):
    """Yields the figure of each frame, of which only values and title change. Fewer colours take fewer bytes."""
    figure, image, ax = draw_map(picture, values, FILM_COLORS, FILM_DPI)
    for number, frame in enumerate(values):
        image.set_array(frame) if hasattr(image, "get_coordinates") else image.set_data(frame)
        ax.set_title(wrapped(title_of(picture, number), figure.get_figwidth()), fontsize=11)
        yield figure


def rate(count):
    return max(4, min(24, round(count / SECONDS)))


def palette_of(cmap):
    """The colours of values, and greys for all else, [colours][red, green, blue]."""
    import numpy
    greys = numpy.repeat(numpy.linspace(0, 255, GREYS), 3).reshape(-1, 3)
    return numpy.vstack([greys, 255 * cmap(numpy.arange(cmap.N))[:, :3]]).round().astype(int)


def pixels_of(figure):
    import numpy
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return numpy.asarray(canvas.buffer_rgba())[:, :, :3]


def in_palette(pixels, palette):
    """A picture whose pixels have the nearest colours of a palette. (That of Pillow takes others than equal ones.)"""
    import numpy
    from PIL import Image
    packed, where = numpy.unique(pixels.astype(int) @ [1 << 16, 1 << 8, 1], return_inverse=True)
    distance = sum(((packed >> shift & 255)[:, None] - palette[:, i]) ** 2 for i, shift in enumerate((16, 8, 0)))
    image = Image.fromarray(distance.argmin(axis=1)[where].reshape(pixels.shape[:2]).astype("uint8"), "P")
    image.putpalette(palette.astype("uint8").tobytes())
    return image


def write_png(figure, cmap, path):
    """Writes a picture in 256 colours, of a colour map those that it has: a third of the bytes."""
    from PIL import Image
    pixels = pixels_of(figure)
    image = in_palette(pixels, palette_of(cmap)) if cmap else Image.fromarray(pixels).quantize(256, dither=Image.Dither.NONE)
    image.save(path, optimize=True, dpi=(DPI, DPI))


def write_gif(picture, values, path):
    """Writes frames that share their colours."""
    palette = palette_of(colours(picture, FILM_COLORS)[0])
    images = [in_palette(pixels_of(figure), palette) for figure in frames_of(picture, values)]
    images[0].save(path, save_all=True, append_images=images[1:], duration=round(1000 / rate(len(images))), loop=0,
                   optimize=False)


def write_film(picture, values, path):
    from matplotlib.animation import FFMpegWriter
    writer = None
    for figure in frames_of(picture, values):
        if writer is None:
            writer = FFMpegWriter(fps=rate(len(values)), extra_args=QUALITY)
            writer.setup(figure, path, FILM_DPI)
        writer.grab_frame()
    writer.finish()


def draw(picture, values, path, force):
    suffix = os.path.splitext(path)[1]
    if suffix in (".gif", ".mp4"):
        write = write_gif if suffix == ".gif" else write_film
        write_whole(path, force, lambda part: write(picture, values, part))
        return
    figure, image, _ = draw_map(picture, values) if values is not None else (draw_curves(picture), None, None)
    if suffix == ".png":
        cmap = image.cmap if image is not None and not picture["classes"] else None
        write_whole(path, force, lambda part: write_png(figure, cmap, part))
    else:
        save(figure, path, force)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--no-force", dest="force", action="store_false", help="refuse to (the default)")
    parser.add_argument("file", help="the picture")
    arguments = parser.parse_args()
    need_matplotlib()
    try:
        draw(*read(sys.stdin.buffer), arguments.file, arguments.force)
    except MemoryError:
        fail(71, "no memory to draw a picture of this size")
