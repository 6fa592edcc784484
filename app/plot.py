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
LEGEND_WIDE, LEGEND_HIGH, NOTE_HIGH, BAR_WIDE, BAR_APART = 1.5, 0.27, 0.2, 0.18, 0.12  # inches
MARKED_MOST = 60  # points of a curve up to which each has a mark
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#000000"]
CLASS_COLORS = """
    d9e6f2 f2c57c 8cc084 d98880 a99bd1 c9a27e 7fb3d5 f5b7b1 b2babb f7dc6f 0000ff 00ff00 ff00c3
    ff0000 003cb4 ff0f69 871e69 00ff96 c3f000 3c4b3c 00ffff 005a00 ff8700 962d00 b44bff ff96ff
    0fa500 004b87 786900 0096ff 87a500 008778 ff695a 693c1e f069a5 a5f078 ffe100 961e3c 780f96
    004bff 9678e1 694b69 c3782d 78ffc3 00b469 e1a500 78ff5a ffb4e1 78784b 006987 e1f0c3 96e1d2
    5a3c87 d20087 ff69ff 967878 c3002d e14b0f c34bb4 b469a5 00c3a5 0fd2f0 2d78ff 5a963c""".split()
LEGEND_MOST = 10  # classes that a legend names one by one
TICKS_AN_INCH = 4  # of a bar of classes
INSULATED, INFINITE, BORDER = "#c8c8c8", "#ff00ff", "#555555"
INSIDE = 3  # pixels of the picture for a cell from which on lines along its edges leave its middle free
SECONDS = 6  # of a film, as far as 4 to 24 frames in a second allow
QUALITY = ["-pix_fmt", "yuv420p", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2"]  # what players can show


def plain(text):
    """A text that matplotlib shows as it is: no formula begins in it."""
    return text.replace("$", r"\$")


def labelled(text, unit):
    return plain(f"{text} ({unit})" if unit else text or "")


def wrapped(text, inches):
    """A title in lines as wide as the figure."""
    return plain("\n".join(textwrap.wrap(text, max(24, int(inches * 11.5)))))


def add_legend(owner, handles, names, **how):
    """Adds a legend of a figure or of axes. matplotlib leaves out names that begin with "_", so they are set later."""
    legend = owner.legend(handles, ["name"] * len(handles), **how)
    for text, name in zip(legend.get_texts(), names):
        text.set_text(plain(name))


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


def spread(axis, cells, pixels):
    """(first, end) of the cells that each pixel of the picture shows along an axis: several where cells are narrow."""
    import numpy
    ends = numpy.array(axis["edges"]) if axis["edges"] else numpy.linspace(axis["from"], axis["to"], cells + 1)
    place = numpy.round((ends - ends[0]) / (ends[-1] - ends[0]) * pixels).astype(int)
    low = numpy.minimum(place[:-1], pixels - 1)
    pixel = numpy.arange(pixels)
    first = numpy.searchsorted(numpy.maximum(place[1:], low + 1), pixel, "right")
    return first, numpy.searchsorted(low, pixel, "right")


def outstanding(part, around):
    """Of each row the value that is the furthest from the mean of what is around it; what is not finite before all."""
    import numpy
    finite = numpy.isfinite(around)
    mean = numpy.where(finite, around, 0).sum(axis=1) / numpy.maximum(finite.sum(axis=1), 1)
    distance = numpy.where(numpy.isfinite(part), abs(part - mean[:, None]), numpy.inf)
    return part[numpy.arange(len(part)), distance.argmax(axis=1)]


def take(values, pixels):
    """Values of rows for the pixels of spread(). Of several kinds (letters) insulated and then fixed ones are taken."""
    taken = values[:, pixels[0]]
    for pixel, (first, end) in enumerate(zip(*pixels)):
        part, wide = values[:, first:end], end - first
        if wide > 1 and values.dtype.kind == "U":
            for kind in "*#":
                taken[(part == kind).any(axis=1), pixel] = kind
        elif wide > 1:
            taken[:, pixel] = outstanding(part, values[:, max(0, first - wide):end + wide])
    return taken


def border(mask):
    """The pixels of a mask beside others."""
    import numpy
    inner = numpy.pad(mask, 1, mode="edge")
    return mask & ~(inner[2:, 1:-1] & inner[:-2, 1:-1] & inner[1:-1, 2:] & inner[1:-1, :-2])


def between(kinds):
    """The pixels whose left or lower neighbour is of another class."""
    import numpy
    classes = (kinds != "*") & (kinds != "#")
    found = numpy.zeros(kinds.shape, bool)
    found[:, 1:] |= (kinds[:, 1:] != kinds[:, :-1]) & classes[:, 1:] & classes[:, :-1]
    found[1:] |= (kinds[1:] != kinds[:-1]) & classes[1:] & classes[:-1]
    return found


def kinds_of(picture):
    """What each cell is, as letters [rows][columns]; None: all are plain."""
    import numpy
    return numpy.array([list(row) for row in picture["cells"]]) if picture["cells"] else None


def map_size(picture, dpi):
    """Pixels of a map in the picture: equal axes as large as there is room, one at least for each of its own."""
    wide, high = abs(picture["x"]["to"] - picture["x"]["from"]), abs(picture["y"]["to"] - picture["y"]["from"])
    if picture["equal"]:
        scale = min(WIDE / wide, HIGH / high)
        inches = max(wide * scale, LEAST), max(high * scale, LEAST)
    else:
        inches = (WIDE, HIGH / 2) if wide > high else (WIDE / 2, HIGH)
    return [max(round(size * dpi), count) for size, count in zip(inches, (picture["columns"], picture["rows"]))]


def class_colour(picture, number):
    """The colour of a class: that of its number, or, where there are larger ones, of its place among those shown."""
    numbers = picture["class_numbers"]
    return CLASS_COLORS[(number if numbers[-1] < len(CLASS_COLORS) else numbers.index(number)) % len(CLASS_COLORS)]


def spread_limits(least, most):
    """Limits of values, around those of a field of one value, or of no difference."""
    if least is None:
        least = most = 0
    if least == most:
        biggest = sys.float_info.max
        least, most = max(least - (abs(least) / 2 or 1), -biggest), min(most + (abs(most) / 2 or 1), biggest)
    return least, most


def is_extreme(least, most):
    """Whether matplotlib's own numbers fail between such limits: very large, very small, or of a very small difference."""
    size = max(abs(least), abs(most))
    return size > 0 and not (1e-290 < size < 1e290 and most / size - least / size > 1e-12)


def parts(values, least, most):
    """Values as parts of the way from the least to the most, which lose nothing: a power of two scales all of them."""
    import numpy
    exponent = math.frexp(max(abs(least), abs(most)))[1] + 1
    low, high, values = (numpy.ldexp(numpy.ldexp(value, -(exponent // 2)), exponent // 2 - exponent)
                         for value in (least, most, values))
    return (values - low) / (high - low)


def true_ticks(least, most, count=4):
    """(places, labels, a text for the axis) beside an axis of parts(): the numbers that they stand for, with digits that
    tell them apart; of more than 9 digits the text says what they are less."""
    places = {i / count: (1 - i / count) * least + i / count * most for i in range(count + 1)}
    if len(set(places.values())) < len(places):  # there are not so many numbers between the two
        places = {0: least, 1: most}
    digits = 3
    while digits < 17 and len({f"{value:.{digits}g}" for value in places.values()}) < len(places):
        digits += 1
    if digits > 9:
        return list(places), [f"{value - least:.3g}" for value in places.values()], f", less {least:.17g}"
    return list(places), [f"{value:.{digits}g}" for value in places.values()], ""


def colours(picture, count):
    """(colour map of so many colours, norm) of the values of a map; those of classes are places among the classes."""
    import matplotlib
    from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize
    least, most = picture["least"], picture["most"]
    if picture["classes"] and picture["class_numbers"]:
        chosen = ListedColormap(["#" + class_colour(picture, number) for number in picture["class_numbers"]])
        norm = BoundaryNorm([i - 0.5 for i in range(chosen.N + 1)], chosen.N)
    else:
        least, most = spread_limits(least, most)
        name = "RdBu_r" if picture["centred"] else "viridis"
        chosen = matplotlib.colormaps[name].resampled(count - count % 2 + picture["centred"])
        norm = Normalize(0, 1) if is_extreme(least, most) else Normalize(least, most)
    chosen.set_bad("white")
    return chosen, norm


class Canvas:
    """What a map consists of in pixels of the picture: each shows the value of one cell, none a mean of several."""
    def __init__(self, picture, dpi):
        self.picture, self.size = picture, map_size(picture, dpi)
        self.across, self.down = (spread(picture[axis], picture[count], pixels)
                                  for axis, count, pixels in zip("xy", ("columns", "rows"), self.size))
        self.limits = spread_limits(picture["least"], picture["most"])
        kinds = kinds_of(picture)
        self.kinds = self.pixels(kinds) if kinds is not None else None
        self.small = min(self.size[0] / picture["columns"], self.size[1] / picture["rows"]) < INSIDE
        self.extent = [picture[axis][end] for axis in "xy" for end in ("from", "to")]

    def pixels(self, cells):
        return take(take(cells, self.across).T, self.down).T

    def values(self, frame):
        """Values of a frame, of classes their places; masked where there is none."""
        import numpy
        shown = numpy.ma.masked_invalid(self.pixels(frame))
        if self.picture["classes"]:
            return numpy.ma.masked_array(numpy.searchsorted(self.picture["class_numbers"], shown.filled(0)), shown.mask)
        if is_extreme(*self.limits):
            return numpy.ma.masked_array(parts(shown.filled(self.limits[0]), *self.limits), shown.mask)
        return shown

    def marks(self, frame):
        """What is drawn over the values, as colours [rows][columns][4]: what has no finite value, insulated cells, and
        lines in the pixels of fixed and insulated cells alone, with gaps where cells are small, and dots between
        classes."""
        import numpy
        from matplotlib.colors import to_rgba
        marks = numpy.zeros((*self.size[::-1], 4))
        fifths = numpy.add.outer(3 * numpy.arange(self.size[1]), numpy.arange(self.size[0])) % 5  # along any line
        if self.kinds is not None:
            gone, kept = self.kinds == "#", self.kinds == "*"
            marks[between(self.kinds) & (fifths < 2)] = to_rgba("white")
            marks[gone] = to_rgba(INSULATED)
            marks[border(gone)] = to_rgba(BORDER)
            marks[border(kept) & (fifths < (3 if self.small else 5))] = to_rgba("black")
        marks[numpy.isinf(self.pixels(frame))] = to_rgba(INFINITE)
        return marks


def fixed_sides(picture, x, y):
    """Lines along the sides of the field whose cells keep their values."""
    left, right = picture["fixed_sides"]["x"]
    low, high = picture["fixed_sides"]["y"]
    return ([((at, y[0]), (at, y[-1])) for at, fixed in ((x[0], left), (x[-1], right)) if fixed]
            + [((x[0], at), (x[-1], at)) for at, fixed in ((y[0], low), (y[-1], high)) if fixed])


def count_text(text, count):
    return f"{text}: {count} cell{'s' * (count != 1)}"


def draw_kinds(ax, picture, canvas):
    """Draws fixed sides, whose inner halves the map covers, and hatches insulated cells; returns what a legend says."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    legend = []
    if picture["has_classes"]:
        legend.append((Line2D([], [], color="#777777", linestyle=":", linewidth=1.2), "between classes"))
    if picture["has_insulated"]:
        gone = canvas.kinds == "#"
        if not canvas.small:
            ax.contourf(gone, origin="lower", extent=canvas.extent, levels=[0.5, 1.5], hatches=["////"], alpha=0,
                        zorder=9)
        legend.append((Patch(facecolor=INSULATED, edgecolor=BORDER, hatch="" if canvas.small else "////"), "insulated"))
    for key, color, text in (("missing", "white", "no value"), ("infinite", INFINITE, "infinite")):
        if picture[key]:
            legend.append((Patch(facecolor=color, edgecolor=BORDER), count_text(text, picture[key])))
    sides = fixed_sides(picture, canvas.extent[:2], canvas.extent[2:])
    ax.add_collection(LineCollection(sides, colors="black", linewidths=5, capstyle="projecting", zorder=5,
                                     clip_on=False))
    if picture["has_fixed"] or sides:
        legend.append((Patch(facecolor="none", edgecolor="black"), "fixed"))
    return legend


def draw_colours(figure, ax, picture, image, wide):
    """Draws the bar of values; returns what a legend says of classes in its place. `wide`: inches of the map."""
    from matplotlib.patches import Patch
    numbers = picture["class_numbers"]
    if picture["classes"] and len(numbers) <= LEGEND_MOST:
        return [(Patch(facecolor=image.cmap(i), edgecolor=BORDER), f"{picture['label']} {number}")
                for i, number in enumerate(numbers)]
    bar = figure.colorbar(image, cax=ax.inset_axes([1 + BAR_APART / wide, 0, BAR_WIDE / wide, 1]))
    bar.set_label(labelled(picture["label"], picture["unit"]))
    if picture["classes"]:
        most = max(2, int(TICKS_AN_INCH * map_size(picture, DPI)[1] / DPI))
        places = range(0, len(numbers), -(-len(numbers) // most))
        bar.set_ticks(list(places), labels=[str(numbers[i]) for i in places])
        bar.minorticks_off()
    elif is_extreme(*spread_limits(picture["least"], picture["most"])):
        places, labels, less = true_ticks(*spread_limits(picture["least"], picture["most"]))
        bar.set_ticks(places, labels=labels)
        bar.set_label(labelled(picture["label"], picture["unit"]) + less)
    return []


def settle(figure, ax, size):
    """Has places found that stay: each layout of axes with one scale begins with what the one before has found. The map
    then begins at a whole pixel, and has its size in pixels, so that nothing of it is drawn between two."""
    for _ in range(3):
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
    wide, high = (round(inches * figure.dpi) for inches in figure.get_size_inches())
    box = ax.get_position()
    middle = (box.x0 + box.x1) / 2 * wide, (box.y0 + box.y1) / 2 * high
    left, low = (round(at - pixels / 2) for at, pixels in zip(middle, size))
    ax.set_aspect("auto")
    ax.set_position([left / wide, low / high, size[0] / wide, size[1] / high])


def note(figure, picture):
    if picture["note"]:
        low = 0.06 / figure.get_figheight()
        text = figure.text(0.5, low, plain(picture["note"]), fontsize=8, color=BORDER, ha="center")
        text.set_in_layout(False)


def draw_map(picture, values, count=STILL_COLORS, dpi=DPI):
    """(figure, the image of values, that of marks, canvas) of a map's first frame."""
    from matplotlib.figure import Figure
    canvas = Canvas(picture, dpi)
    wide, high = (pixels / dpi for pixels in canvas.size)
    figure = Figure(figsize=(wide + 1.7, high + 1.2), dpi=dpi, layout="constrained")
    ax = figure.add_subplot()
    chosen, norm = colours(picture, count)
    how = {"origin": "lower", "extent": canvas.extent, "interpolation": "none"}
    image = ax.imshow(canvas.values(values[0]), cmap=chosen, norm=norm, zorder=7, **how)  # above lines and frame
    marks = ax.imshow(canvas.marks(values[0]), zorder=8, **how)
    legend = draw_kinds(ax, picture, canvas) + draw_colours(figure, ax, picture, image, wide)
    ax.set_aspect(high * abs((canvas.extent[1] - canvas.extent[0]) / (canvas.extent[3] - canvas.extent[2])) / wide)
    ax.set_xlim(*sorted(canvas.extent[:2]))
    ax.set_ylim(*sorted(canvas.extent[2:]))
    if picture["first_on_top"] and canvas.extent[3] > canvas.extent[2]:
        ax.invert_yaxis()
    ax.set(xlabel=labelled(picture["x"]["label"], picture["x"]["unit"]),
           ylabel=labelled(picture["y"]["label"], picture["y"]["unit"]))
    ax.set_title(wrapped(title_of(picture, 0), wide + 1.7), fontsize=11)
    under = NOTE_HIGH / figure.get_figheight() if picture["note"] else 0
    note(figure, picture)
    if legend:
        columns = max(1, int(figure.get_figwidth() / LEGEND_WIDE))
        add_legend(figure, *zip(*legend), fontsize=9, loc="lower left", bbox_to_anchor=(0, under), ncols=columns,
                   frameon=False)
        under += -(-len(legend) // columns) * LEGEND_HIGH / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0, under, 1, 1 - under))
    settle(figure, ax, canvas.size)
    return figure, image, marks, canvas


def draw_curves(picture):
    """The figure of curves, with the levels that they are to reach."""
    from matplotlib.figure import Figure
    figure = Figure(figsize=(7.2, 4.2), dpi=DPI, layout="constrained")
    ax = figure.add_subplot()
    number, lines = 0, []
    finite = [value for curve in picture["curves"] for value in curve["y"] if value is not None]
    limits = spread_limits(min(finite, default=0), max(finite, default=0))
    extreme = not picture["logarithmic"] and is_extreme(*limits)
    for curve in picture["curves"]:
        y = [math.nan if value is None else value for value in curve["y"]]
        if extreme:
            y = parts(y, *limits)
        if curve["limit"]:
            lines += ax.plot(curve["x"], y, "--", color="#666666", linewidth=1.2)
            continue
        lines += ax.plot(curve["x"], y, "o-" if len(y) <= MARKED_MOST else "-", markersize=3.5, linewidth=1.4,
                         color=COLORS[number % len(COLORS)])
        number += 1
    if picture["logarithmic"]:
        ax.set_yscale("log")
    if picture["x"].get("logarithmic"):
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter("{x:.0f}")
    less = ""
    if extreme:
        places, labels, less = true_ticks(*limits)
        ax.set_yticks(places, labels=labels)
    ax.grid(color="#dddddd")
    ax.set_axisbelow(True)
    ax.set(xlabel=labelled(picture["x"]["label"], picture["x"]["unit"]), ylabel=labelled(picture["label"], picture["unit"]) + less)
    ax.set_title(wrapped(title_of(picture, 0), 7.2), fontsize=11)
    if len(picture["curves"]) > 1:
        add_legend(ax, lines, [curve["name"] for curve in picture["curves"]], fontsize=9, framealpha=0.8)
    note(figure, picture)
    if picture["note"]:
        under = NOTE_HIGH / figure.get_figheight()
        figure.get_layout_engine().set(rect=(0, under, 1, 1 - under))
    return figure


def frames_of(picture, values):
    """Yields the figure of each frame, of which only values and title change. Fewer colours take fewer bytes."""
    figure, image, marks, canvas = draw_map(picture, values, FILM_COLORS, FILM_DPI)
    for number, frame in enumerate(values):
        image.set_data(canvas.values(frame))
        marks.set_data(canvas.marks(frame))
        image.axes.set_title(wrapped(title_of(picture, number), figure.get_figwidth()), fontsize=11)
        yield figure


def rate(count):
    return max(4, min(24, round(count / SECONDS)))


def palette_of(cmap):
    """The colours of values, that of infinite ones, and greys for all else, [colours][red, green, blue]."""
    import numpy
    from matplotlib.colors import to_rgb
    greys = numpy.repeat(numpy.linspace(0, 255, GREYS), 3).reshape(-1, 3).round()
    marks = [[round(255 * part) for part in to_rgb(color)] for color in (INSULATED, INFINITE, BORDER)]
    return numpy.vstack([greys, marks, cmap(numpy.arange(cmap.N), bytes=True)[:, :3]]).astype(int)


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
    import matplotlib
    matplotlib.rcParams["text.usetex"] = False  # whatever is set for this user
    suffix = os.path.splitext(path)[1]
    if suffix in (".gif", ".mp4"):
        write = write_gif if suffix == ".gif" else write_film
        write_whole(path, force, lambda part: write(picture, values, part))
        return
    figure, image = draw_map(picture, values)[:2] if values is not None else (draw_curves(picture), None)
    if suffix == ".png":
        write_whole(path, force, lambda part: write_png(figure, image and image.cmap, part))
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
