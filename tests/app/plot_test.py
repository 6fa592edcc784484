"""`stencil plot` and `compare --diff`: the numbers that are drawn, what a terminal shows, and errors."""
import importlib.util
import io
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import time
import unittest

import h5py
import numpy

from harness import SLOW, STENCIL, CommandTest

HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
APP = pathlib.Path(__file__).resolve().parents[2] / "app"
drawing = unittest.skipUnless(HAVE_MATPLOTLIB, "no matplotlib here (Debian: python3-matplotlib)")


def plot_module():
    """app/plot.py, which imports what lies beside it."""
    sys.path.insert(0, str(APP))
    spec = importlib.util.spec_from_file_location("plot", APP / "plot.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PlotTest(CommandTest):
    def json(self, *arguments):
        """The numbers of a picture as large as a terminal's."""
        return json.loads(self.ok("plot", *arguments, "--json", "-").stdout)

    def shown(self, *arguments, **keywords):
        return self.ok("plot", *arguments, **keywords).stdout.splitlines()

    def ramp(self, name="ramp.h5", **attributes):
        """A field of 3 rows and 5 columns: the number of the cell."""
        with h5py.File(self.path(name), "w") as file:
            file["u"] = numpy.arange(15.0).reshape(3, 5)
            file.attrs.update({"stencil": "j2d5pt", "spacing": [0.5, 0.25], **attributes})
        return name

    def cells(self):
        """A field with fixed and insulated cells and two classes, units and a cell without a value."""
        u = numpy.arange(48.0).reshape(6, 8)
        with h5py.File(self.path("cells.h5"), "w") as file:
            file["u"], kept, gone = u, numpy.zeros(u.shape, bool), numpy.zeros(u.shape, bool)
            kept[1:4, 1:4] = True
            gone[4:, 5:] = True
            file["u"][5, 7] = 1e30  # insulated, so no limit of the values
            file["fixed"], file["insulated"] = kept, gone
            file["class"] = (numpy.arange(8) > 5) * numpy.ones(u.shape, int)
            file["stencil/offsets"] = [[0, -1], [0, 0]]
            file["stencil/weights"] = numpy.full((2, 2), 0.5)
            file["u"].attrs.update({"units": "K", "long_name": "temperature"})
        return "cells.h5"

    def solve(self, *arguments, name="heat.h5"):
        """A heat problem of 9 x 7 cells and its result."""
        u = numpy.zeros((7, 9))
        u[0] = 1
        self.write(name, u, {"problem": "heat", "dt": 0.25, "steps": 20, "check_every": 5})
        self.ok("run", "--quiet", "--force", *arguments, name)
        return name.replace(".h5", ".out.h5")

    def cube(self, name="cube.h5", **options):
        with h5py.File(self.path(name), "w") as file:
            file.create_dataset("u", data=numpy.arange(120.0).reshape(4, 5, 6), **options)
            file.attrs.update({"stencil": "j3d7pt", "spacing": [2.0, 0.5, 1.0]})
        return name

    def test_numbers_of_a_map(self):
        drawn = self.json(self.ramp())
        self.assertEqual((drawn["kind"], drawn["title"], drawn["note"], drawn["label"]), ("map", "ramp.h5: u", None, "u"))
        self.assertEqual((drawn["x"]["from"], drawn["x"]["first"], drawn["x"]["last"], drawn["x"]["to"]), (-0.125, 0, 1, 1.125))
        self.assertEqual((drawn["y"]["from"], drawn["y"]["first"], drawn["y"]["last"], drawn["y"]["to"]), (-0.25, 0, 1, 1.25))
        self.assertEqual((drawn["least"], drawn["most"], drawn["equal"], drawn["centred"]), (0, 14, True, False))
        values = numpy.array(drawn["frames"][0]["values"])
        self.assertEqual(values.shape, (26, 43))  # 1.5 high and 1.25 wide; a character is twice as high as wide
        self.assertEqual(sorted(set(values.flat)), list(range(15)))
        self.assertEqual((values[0, 0], values[0, -1], values[-1, 0], values[-1, -1]), (0, 4, 10, 14))

    def test_map_in_a_terminal(self):
        lines = self.shown(self.ramp())
        self.assertEqual(lines[:3], ["ramp.h5: u", "         y", "        1 |" + "#" * 18 + "%" * 8 + "@" * 17 + "|"])
        self.assertEqual(lines[-4:], ["        0 |" + " " * 18 + "." * 8 + ":" * 17 + "|",
                                      "           0                    x                    1",
                                      "u  0   ..:::--==++**###%%@@ 14", "fixed sides: x- x+ y- y+"])
        self.assertEqual(len(lines), 2 + 26 + 3)
        self.assertEqual(self.shown("ramp.h5", "--first-on-top")[2], lines[-4])

    def test_colours(self):
        """Colours are for a terminal, of NO_COLOR and TERM=dumb apart, or for whoever wants them."""
        self.ramp()
        coloured = self.ok("plot", "ramp.h5", "--color", "always").stdout
        lines = coloured.splitlines()
        self.assertEqual((len(lines), lines[2].count("▀")), (2 + 26 + 3, 43))
        self.assertIn("\033[38;5;220;48;5;220m▀", lines[2])
        self.assertNotIn("\033", self.ok("plot", "ramp.h5").stdout)
        plain = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        for more, wanted in (({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)):
            self.assertEqual("\033[38;5;" in self.on_terminal("plot", "ramp.h5", env={**plain, **more}), wanted, more)
        ascii = self.on_terminal("plot", "ramp.h5", env={**plain, "LC_ALL": "C"})
        self.assertIn("\033[48;5;220m ", ascii)
        self.assertTrue(ascii.isascii())

    def on_terminal(self, *arguments, env):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([STENCIL, *arguments], cwd=self.directory, stdin=subprocess.DEVNULL, stdout=theirs, env=env)
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:  # the terminal ends with its last writer
            pass
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        return text.decode()

    def test_kinds_of_cells(self):
        drawn = self.json(self.cells())
        self.assertEqual((drawn["label"], drawn["unit"], drawn["least"], drawn["most"]), ("temperature", "K", 0, 44))
        self.assertEqual([drawn["has_" + kind] for kind in ("fixed", "insulated", "classes", "missing")], [True] * 3 + [False])
        rows = drawn["cells"]
        down, across = len(rows) // 6, len(rows[0]) // 8
        self.assertEqual([row[across // 2::across][:8] for row in rows[down // 2::down][:6]],
                         ["......aa", ".***..aa", ".***..aa", ".***..aa", ".....###", ".....###"])
        text = "\n".join(self.shown("cells.h5"))
        for wanted in ("temperature (K)", "/ insulated", "o outline of fixed cells"):
            self.assertIn(wanted, text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)
        classes = self.json("cells.h5", "-d", "class")
        self.assertEqual((classes["classes"], classes["least"], classes["most"]), (True, 0, 1))
        self.assertEqual(self.json("cells.h5", "-d", "fixed")["most"], 1)

    def test_cells_without_a_value(self):
        self.ramp()
        with h5py.File(self.path("ramp.h5"), "r+") as file:
            file["u"].attrs["_FillValue"] = 14.0
        drawn = self.json("ramp.h5")
        self.assertTrue(drawn["has_missing"])
        self.assertEqual(drawn["most"], 13)
        self.assertIsNone(drawn["frames"][0]["values"][-1][-1])
        self.assertIn("? no value", self.shown("ramp.h5")[-1])

    def test_one_value_and_none(self):
        """Where some cells are not finite, the others alone have the one value."""
        u = numpy.full((5, 7), 3.5)
        self.write("a.h5", u, {"stencil": "j2d5pt"})
        self.assertIn("u  3.5 everywhere", self.shown("a.h5"))
        for odd, mark in ((numpy.nan, "? no value: 1 cell"), (numpy.inf, "! infinite: 1 cell")):
            u[2, 3] = odd
            self.write("b.h5", u, {"stencil": "j2d5pt"})
            lines = self.shown("b.h5")
            self.assertIn("u  3.5 in all finite cells", lines)
            self.assertIn(mark, lines)
            self.assertIn("difference of u  0 in all finite cells", self.shown("b.h5", "--against", "a.h5"))
        self.assertIn("difference of u  0 everywhere", self.shown("a.h5", "--against", "a.h5"))

    def test_limits_are_those_of_all_cells(self):
        """In a terminal, a picture and numbers; cells that stand out are seen, and what is not finite is counted."""
        u = numpy.zeros((1300, 1700))
        u[0], u[702, 411], u[703, 900] = 100, -30, 7
        u[1200, 1600], u[1201, 3], u[1201, 4], u[1299, 1699] = numpy.nan, numpy.inf, -numpy.inf, numpy.nan
        self.write("p.h5", u, {"stencil": "j2d5pt"})
        drawn = self.json("p.h5")
        self.assertEqual((drawn["least"], drawn["most"], drawn["missing"], drawn["infinite"]), (-30, 100, 2, 2))
        values = drawn["frames"][0]["values"]
        self.assertEqual(set(values[0]), {100})
        flat = [value for row in values for value in row]
        self.assertEqual([flat.count(value) for value in (-30, 7, None, "inf") ], [1, 1, 2, 0])
        self.assertEqual(flat.count("-inf"), 1)  # both of its pixel
        lines = self.shown("p.h5")
        self.assertIn("u  -30 ", lines[-4])
        self.assertEqual(lines[-2], "? no value: 2 cells   ! infinite: 2 cells")
        self.assertEqual([sum(line.count(mark) for line in lines[2:-5]) for mark in "?!"], [2, 1])
        for line, note in (("y=702", None), ("x=411", None), ("y=1201", "infinite: 2 cells")):
            drawn = self.json("p.h5", "-l", line)
            self.assertIn(note or "cells, the lowest and the highest of several shown", drawn["note"])
            self.assertEqual(min(value for value in drawn["curves"][0]["y"] if value is not None), 0 if note else -30)
        if HAVE_MATPLOTLIB:
            self.ok("plot", "p.h5", "-o", "x.png", "--json", "x.json")
            with open(self.path("x.json"), encoding="utf-8") as file:
                drawn = json.load(file)
            self.assertEqual((drawn["least"], drawn["most"], drawn["missing"], drawn["infinite"]), (-30, 100, 2, 2))
        self.write("nan.h5", numpy.full((300, 200), numpy.nan), {"stencil": "j2d5pt"})
        self.assertIn("u  has no finite value", self.shown("nan.h5"))
        self.assertEqual([self.json("nan.h5")[key] for key in ("least", "most", "missing")], [None, None, 60000])

    def test_limits_leave_insulated_cells_out(self):
        """Of a large field, too, where they share pixels with others."""
        u, gone = numpy.ones((900, 900)), numpy.zeros((900, 900), bool)
        gone[::7, 1::2] = True
        u[gone] = 1e30
        u[500, 500] = 3
        self.write("p.h5", u, {"stencil": "j2d5pt"}, {"insulated": gone})
        drawn = self.json("p.h5")
        self.assertEqual((drawn["least"], drawn["most"], drawn["has_insulated"]), (1, 3, True))

    def test_a_smooth_field_is_shown_as_it_is(self):
        """A pixel of several cells that none stands out of shows the one in its middle."""
        self.write("p.h5", numpy.add.outer(numpy.arange(520), 2 * numpy.arange(660)), {"stencil": "j2d5pt"})
        values = numpy.array(self.json("p.h5")["frames"][0]["values"])
        rows, columns = values.shape
        middle = [[((k + 1) * n // count - 1 + k * n // count) // 2 for k in range(count)]
                  for n, count in ((520, rows), (660, columns))]
        wanted = numpy.add.outer(numpy.array(middle[0]), 2 * numpy.array(middle[1]))
        self.assertTrue((values == wanted).all())

    def middles(self, u, drawn):
        """The cells in the middle of a map's pixels."""
        at = [[max(k * n // count, ((k + 1) * n // count - 1 + k * n // count) // 2) for k in range(count)]
              for n, count in zip(u.shape, (drawn["rows"], drawn["columns"]))]
        return u[numpy.ix_(*at)]

    def test_smooth_fields_have_no_spots(self):
        """Blocks of one and two cells, uneven ones and long ones: the cell in the middle. A wrong cell or line is seen."""
        y, x = numpy.mgrid[:40, :70]
        wave, rise = numpy.sin(x / 9) * numpy.cos(y / 7), (x + 2.0 * y) ** 2
        for u in (wave, rise, rise[::-1, ::-1], numpy.sin(numpy.arange(3 * 100000).reshape(3, -1) / 9000)):
            self.write("p.h5", u, {"stencil": "j2d5pt"})
            drawn = self.json("p.h5")
            values, wanted = numpy.array(drawn["frames"][0]["values"]), self.middles(u, drawn)
            far = abs(values - wanted) > 0.02 * (u.max() - u.min())
            self.assertEqual(numpy.argwhere(far).tolist(), [])
            if u is not wave:  # which has peaks: they are shown as they are
                self.assertTrue((values == wanted).all())
        for at in ((20, 35), (0, 0), (39, 69), (17, 3)):
            u = wave.copy()
            u[at] += 1
            self.write("p.h5", u, {"stencil": "j2d5pt"})
            self.assertIn(u[at], numpy.array(self.json("p.h5")["frames"][0]["values"]), at)
        for row in (0, 20, 21, 51):
            u = numpy.zeros((52, 120))
            u[row] = 1
            self.write("p.h5", u, {"stencil": "j2d5pt"})
            values = numpy.array(self.json("p.h5")["frames"][0]["values"])
            self.assertTrue((values.max(axis=0) == 1).all(), row)

    def test_long_names_leave_80_columns(self):
        name = "a-name-of-a-file-that-is-far-longer-than-anybody-would-like-to-see-it-in-a-line-of-a-terminal.h5"
        self.ramp(name)
        with h5py.File(self.path(name), "r+") as file:
            file["u"].attrs.update({"units": "kilogram metre squared per second cubed and ampere squared",
                                    "long_name": "n" * 63})
            file["x" * 60], file["y" * 60] = numpy.arange(5) / 4, numpy.arange(3) / 2
            for axis, scale in enumerate(("y" * 60, "x" * 60)):
                file[scale].attrs["units"] = "u" * 60
                file[scale].make_scale(scale)
                file["u"].dims[axis].attach_scale(file[scale])
            file["u"][0, 0], file["u"][0, 1] = numpy.nan, numpy.inf
        for more in ((), ("-l", "x=1"), ("--against", name), ("--against", name, "-l", "y=1"), ("--color", "always")):
            for env in ({}, {"LC_ALL": "C"}):
                text = self.ok("plot", name, *more, env={**os.environ, "LC_ALL": "C.UTF-8", **env}).stdout
                lines = [re.sub("\033\\[[0-9;]*m", "", line) for line in text.splitlines()]
                self.assertEqual([line for line in lines if len(line) > 80], [])
                self.assertIn("..." if env else "n…", text)

    def test_packed_values_and_coordinates(self):
        """Values and coordinates are what attributes and dimension scales say."""
        with h5py.File(self.path("p.h5"), "w") as file:
            file["u"] = numpy.arange(12, dtype="i2").reshape(3, 4)
            file["u"].attrs.update({"scale_factor": 0.5, "add_offset": 100.0})
            file["lat"], file["lon"] = [50.0, 40.0, 30.0], [0.0, 1.0, 3.0, 6.0]
            file["lon"].attrs["units"] = "degrees_east"
            for axis, name in enumerate(("lat", "lon")):
                file[name].make_scale(name)
                file["u"].dims[axis].attach_scale(file[name])
            file["mask"] = numpy.ones((3, 4))
        drawn = self.json("p.h5")
        self.assertEqual((drawn["least"], drawn["most"]), (100, 105.5))
        self.assertEqual((drawn["y"]["label"], drawn["y"]["from"], drawn["y"]["to"], drawn["y"]["edges"]), ("lat", 55, 25, None))
        self.assertEqual((drawn["x"]["label"], drawn["x"]["unit"]), ("lon", "degrees_east"))
        self.assertEqual(sorted(set(drawn["x"]["edges"])), [-0.5, 0.5, 2, 4.5, 7.5])
        self.assertIn("not even", drawn["note"])
        self.assertIn("50 |", self.shown("p.h5")[2])  # coordinates ascend upwards
        self.assertEqual(self.json("p.h5", "-d", "mask")["y"]["label"], "lat")

    def test_slices(self):
        for options in ({}, {"chunks": (2, 3, 4), "compression": 1}):
            self.cube(**options)
            for slice, corner, last, title, axes in (((), 60, 89, ", z = 4", "xy"), (("z=0",), 0, 29, ", z = 0", "xy"),
                                                     (("z=3.9",), 60, 89, ", z = 4", "xy"),
                                                     (("y=1.0",), 12, 107, ", y = 1", "xz"), (("x=5",), 5, 119, ", x = 5", "yz")):
                drawn = self.json("cube.h5", *(("--slice", *slice) if slice else ()))
                values = drawn["frames"][0]["values"]
                self.assertEqual((values[0][0], values[-1][-1], drawn["title"]), (corner, last, "cube.h5: u" + title))
                self.assertEqual(drawn["x"]["label"] + drawn["y"]["label"], axes)

    def test_lines(self):
        drawn = self.json(self.cube(), "--slice", "z=1", "--line", "y=2.0")
        curve, = drawn["curves"]
        self.assertEqual((curve["x"], curve["y"], drawn["x"]["label"]), (list(range(6)), list(range(54, 60)), "x"))
        self.assertEqual(drawn["title"], "cube.h5: u, z = 2, y = 2")
        self.assertEqual(self.json("cube.h5", "-s", "x=0", "-l", "z=2")["curves"][0]["y"], [60, 66, 72, 78, 84])
        self.assertEqual(self.json(self.cells(), "-l", "y=4")["curves"][0]["y"], [32, 33, 34, 35, 36, None, None, None])
        self.assertEqual(self.json(self.ramp(), "-l", "x=0.3")["curves"][0]["x"], [0, 0.5, 1])

    def test_history(self):
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "17x17", "--quiet")
        self.ok("run", "--quiet", "p.h5")
        with h5py.File(self.path("p.out.h5")) as file:
            residual, step = file["residual"][:], file["residual_step"][:]
            limit = file.attrs["rtol"] * file.attrs["residual_first"]
        drawn = self.json("p.out.h5", "-d", "residual")
        history, bound = drawn["curves"]
        self.assertEqual((history["x"], history["y"]), (list(step), list(residual)))
        self.assertEqual((bound["limit"], bound["y"], bound["x"]), (True, [limit, limit], [0, step[-1]]))
        self.assertTrue(drawn["logarithmic"])
        self.assertEqual(drawn["note"], f"under the limit from step {step[-1]} on")
        self.assertIn("rtol 1e-08", bound["name"])
        lines = self.shown("p.out.h5", "-d", "residual")
        self.assertEqual((lines[0], lines[1]), ("p.out.h5: history of the residual", "residual (l2), logarithmic"))
        dotted = [sum("⠀" < character <= "⣿" for character in line) for line in lines[2:19]]
        self.assertTrue(all(1 <= count <= 4 for count in dotted), lines)
        self.assertEqual(sum("-" * 20 in line for line in lines), 1)  # the limit
        two = self.json("p.out.h5", "-d", "residual", "--against", "p.out.h5")["curves"]
        self.assertEqual([curve["limit"] for curve in two], [False, False])
        self.refused(65, ["no history"], "plot", "p.h5", "-d", "residual")
        self.refused(64, ["--dataset residual"], "plot", "p.out.h5", "-d", "residual", "--line", "y=3")

    def test_a_long_history(self):
        """Of more residuals than there are points none that stands out is left out."""
        self.ok("new", "p.h5", "--problem", "poisson", "--size", "17x17", "--quiet")
        self.ok("run", "--quiet", "p.h5")
        residual = numpy.linspace(2, 1, 5000)
        residual[3001], residual[4002] = 50, 0.5
        with h5py.File(self.path("p.out.h5"), "r+") as file:
            del file["residual"], file["residual_step"]
            file["residual"], file["residual_step"] = residual, numpy.arange(1, 5001)
        drawn = self.json("p.out.h5", "-d", "residual")
        curve = drawn["curves"][0]
        shown = dict(zip(curve["x"], curve["y"]))
        self.assertEqual([shown.get(step) for step in (1, 3002, 4003, 5000)], [2, 50, 0.5, 1])
        self.assertEqual(curve["x"], sorted(shown))
        self.assertIn("5 000 residuals, the lowest and the highest of several shown", drawn["note"])

    def test_control_characters_of_names(self):
        """None reaches a terminal."""
        self.ramp()
        with h5py.File(self.path("ramp.h5"), "r+") as file:
            file["u"].attrs.update({"units": "K\a", "long_name": "a\033[2Jb\nc"})
            file["u\033x"] = numpy.arange(5) / 4
            file["u\033x"].attrs["units"] = "m\033"
            file["u\033x"].make_scale("x")
            file["u"].dims[1].attach_scale(file["u\033x"])
        text = "\n".join(self.shown("ramp.h5"))
        self.assertIn(r"a\x1b[2Jb\nc (K\x07)", text)
        self.assertIn(r"u\x1bx (m\x1b)", text)
        self.assertEqual([character for character in text if character < " " and character != "\n"], [])

    def test_series(self):
        result = self.solve("--save-every", 5, "--save", "u,residual")
        series = result.replace(".h5", ".series.h5")
        with h5py.File(self.path(series)) as file:
            u, residual = file["u"][:], file["residual"][:]
        drawn = self.json(series)
        self.assertEqual(drawn["frames"][0]["text"], "step 20, t = 5")
        self.assertEqual((drawn["least"], drawn["most"]), (u[-1].min(), u[-1].max()))
        for at, number in (("step=9", 2), ("t=2.4", 2), ("frame=1", 1), ("time=0.0", 0)):
            frame, = self.json(series, "--at", at)["frames"]
            self.assertEqual((frame["step"], frame["time"]), (5 * number, 1.25 * number))
            self.assertEqual(set(numpy.ravel(frame["values"])), set(u[number].flat))
        drawn = self.json(result, "-d", "series", "-l", "x=4")
        self.assertEqual([curve["y"] for curve in drawn["curves"]], u[:, :, 4].tolist())
        self.assertEqual(drawn["curves"][1]["name"], "step 5, t = 1.25")
        drawn = self.json(series, "-d", "residual", "--at", "frame=0")
        self.assertEqual((drawn["centred"], drawn["most"]), (True, abs(residual[0]).max()))
        self.refused(64, ["frames 0 to 4"], "plot", series, "--at", "frame=5")
        self.refused(64, ["t=0.5"], "plot", series, "--at", "5")
        for beyond in ("t=9", "t=-1", "step=23", "step=-3"):
            self.refused(64, [beyond, "frames go from"], "plot", series, f"--at={beyond}")
        self.refused(64, ["is no series"], "plot", result, "--at", "frame=5")
        self.solve("--save-every", 5)
        self.refused(65, ["--save u,residual"], "plot", series, "-d", "residual")

    def test_series_in_3d_with_obstacles(self):
        """The result says which cells of its series are insulated."""
        gone = numpy.zeros((5, 6, 7), bool)
        gone[:, 2:4, 2:4] = True
        self.write("box.h5", numpy.arange(210.0).reshape(5, 6, 7), {"problem": "heat", "stencil": "j3d7pt", "steps": 4},
                   {"insulated": gone})
        self.ok("run", "--quiet", "--save-every", 2, "--compress", "box.h5")
        drawn = self.json("box.out.h5", "-d", "series", "-s", "z=1", "--at", "step=0")
        self.assertTrue(drawn["has_insulated"])
        self.assertEqual((drawn["least"], drawn["most"]), (42, 83))
        self.assertEqual(self.json("box.out.series.h5", "-s", "x=6", "--at", "step=0")["frames"][0]["values"][-1][-1], 209)

    def test_series_of_others(self):
        """Steps and times that cannot be, or are too few, are not told."""
        with h5py.File(self.path("s.h5"), "w") as file:
            file["u"], file["step"], file["time"] = numpy.zeros((3, 4, 5)), [0, 1e300, 2], [0.5]
            file.attrs.update({"format": "stencil 2", "series": "frames of u"})
        self.assertEqual(self.json("s.h5", "--at", "step=2")["frames"][0]["text"], "step 2")
        self.refused(64, ["has no times"], "plot", "s.h5", "--at", "t=2.2")
        self.assertIsNone(self.json("s.h5", "--at", "frame=1")["frames"][0]["step"])

    def test_differences(self):
        u = numpy.zeros((400, 300))
        self.write("a.h5", u)
        u[123, 77], u[5, 5] = -3, numpy.nan
        self.write("b.h5", u)
        drawn = self.json("a.h5", "--against", "b.h5")
        self.assertEqual((drawn["title"], drawn["label"]), ("a.h5 − b.h5: u", "difference of u"))
        self.assertEqual((drawn["least"], drawn["most"], drawn["centred"]), (-3, 3, True))
        values = [value for row in drawn["frames"][0]["values"] for value in row]
        self.assertEqual((values.count(3), values.count(None), set(values)), (1, 1, {0, 3, None}))
        self.assertEqual(drawn["note"], "300 x 400 cells in 39 x 26 pixels, the largest of several shown")
        self.assertIn("0 everywhere", self.shown("a.h5", "--against", "a.h5")[-3])
        self.assertEqual([curve["name"] for curve in self.json("a.h5", "--against", "b.h5", "-l", "y=123")["curves"]], ["a.h5", "b.h5"])
        self.write("c.h5", u[1:])
        self.refused(65, ["differ in shape", "300 x 399"], "plot", "a.h5", "--against", "c.h5")

    def test_difference_file(self):
        self.ramp("a.h5")
        self.ramp("b.h5")
        with h5py.File(self.path("b.h5"), "r+") as file:
            file["u"][1, 2], file["u"][0, 0] = 7.5, numpy.nan
        self.ok("compare", "a.h5", "b.h5", "--diff", "d.h5", "--quiet", code=1)
        with h5py.File(self.path("d.h5")) as file:
            difference = file["difference"][:]
            self.assertEqual((difference[1, 2], difference[2, 2], file.attrs["field"]), (-0.5, 0, "/difference"))
            self.assertTrue(numpy.isnan(difference[0, 0]))
            self.assertEqual(numpy.count_nonzero(difference), 2)
            self.assertEqual((list(file["y"]), list(file["x"])), ([0, 0.5, 1], [0, 0.25, 0.5, 0.75, 1]))
            self.assertEqual(file["difference"].dims[1][0].name, "/x")
            self.assertEqual(list(file["VTKHDF"].attrs["Spacing"]), [0.25, 0.5, 1])
            self.assertTrue(file["VTKHDF/PointData/difference"] == file["difference"])
            self.assertEqual((file["provenance"].attrs["a"], file["provenance"].attrs["b"]), ("a.h5", "b.h5"))
            self.assertNotIn("time", file)
        drawn = self.json("d.h5")
        self.assertEqual((drawn["label"], drawn["most"], drawn["centred"]), ("difference", 0.5, True))
        self.refused(73, ["--diff", "--force"], "compare", "a.h5", "b.h5", "--diff", "d.h5")
        self.refused(73, ["--diff"], "compare", "a.h5", "b.h5", "--diff", "b.h5", "--force")
        self.refused(65, ["no stencil"], "run", "d.h5")
        told = json.loads(self.ok("info", "d.h5", "--json", "-").stdout)
        keys = "kind", "a", "b", "cells", "different", "not_finite", "largest", "largest_index"
        self.assertEqual([told[key] for key in keys], ["difference", "a.h5", "b.h5", 15, 2, 1, 0.5, [1, 2]])
        self.assertAlmostEqual(told["rms"], (0.25 / 14) ** 0.5)
        self.assertEqual(self.ok("info", "d.h5").stdout.splitlines()[1:],
                         ["Difference  a.h5 less b.h5", "Field       /difference, 5 x 3, float64",
                          "Cells       2 of 15 differ, 1 of them by no finite number",
                          "Largest     0.5 at [1, 2], root mean square 0.1336"])
        self.cube()
        done = self.ok("compare", "a.h5", "cube.h5", "--diff", "e.h5", code=1)
        self.assertIn("no file was written", done.stderr)
        self.assertFalse(os.path.exists(self.path("e.h5")))
        self.ok("compare", "cube.h5", "cube.h5", "--diff", "e.h5")
        self.assertIn("z = 4", self.shown("e.h5")[0])

    def test_a_large_field_takes_little(self):
        """A field of a gigabyte is read block by block; a difference finds the one cell of all."""
        n = 2048 if SLOW else 16384
        for name in ("a.h5", "b.h5"):
            with h5py.File(self.path(name), "w") as file:
                file.create_dataset("u", (n, n), "f4")
                file["u"][n // 2] = numpy.arange(n)  # the file has holes elsewhere
        with h5py.File(self.path("b.h5"), "r+") as file:
            file["u"][n // 3, n // 5] = 0.5
        for arguments, seconds in ((("a.h5",), 30), (("a.h5", "-l", "x=7"), 5), (("a.h5", "--against", "b.h5"), 60)):
            start = time.monotonic()
            process = subprocess.Popen([STENCIL, "plot", *arguments, "--json", "n.json", "--force"], cwd=self.directory,
                                       stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            if not SLOW:
                self.assertLess(used.ru_maxrss, 200 << 10, arguments)  # KiB
                self.assertLess(time.monotonic() - start, seconds, arguments)
        with open(self.path("n.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["most"], 0.5)

    def test_errors(self):
        self.ramp(), self.cube()
        for code, wanted, *arguments in (
                (66, ["no.h5"], "no.h5"), (65, ["no dataset /v", "--dataset"], "ramp.h5", "-d", "v"),
                (64, ["is 2D"], "ramp.h5", "--slice", "z=1"), (64, ["cells 0 to 3"], "cube.h5", "-s", "z=4"),
                (64, ["cells 0 to 3"], "cube.h5", "-s", "z=-1"), (64, ["from 0 to 6"], "cube.h5", "-s", "z=7.5"),
                (64, ["names no axis"], "cube.h5", "-s", "w=1"), (64, ["names no axis"], "ramp.h5", "-l", "1"),
                (64, ["neither"], "cube.h5", "-s", "z=a"), (64, ["neither"], "cube.h5", "-s", "z="),
                (64, ["another axis"], "cube.h5", "-s", "y=1", "-l", "y=2"),
                (64, [".png"], "ramp.h5", "-o", "x.jpg"), (64, [".png"], "ramp.h5", "-o", "png"),
                (64, ["--force has no effect"], "ramp.h5", "--force"),
                (64, ["contradict", "no rows"], "ramp.h5", "-l", "y=1", "--first-on-top"),
                (64, ["--output"], "ramp.h5", "-o", "x.png", "--json", "x.png"),
                (64, ["no series"], "ramp.h5", "-o", "x.gif"), (73, ["directory 'no/'"], "ramp.h5", "-o", "no/x.png"),
                (66, ["ramp.series.h5", "--save-every"], "ramp.h5", "-d", "series"),
                (66, ["no.h5"], "ramp.h5", "--against", "no.h5"), (64, ["a file name is missing"],)):
            self.refused(code, wanted, "plot", *arguments)
        self.write("list.h5", lambda file: file.create_dataset("v", data=numpy.zeros(5)))
        self.refused(65, ["/u"], "plot", "list.h5")
        with h5py.File(self.path("ramp.h5"), "r+") as file:
            file["v"] = numpy.zeros(5)
        self.refused(65, ["/v has 1 axis"], "plot", "ramp.h5", "-d", "v")
        with open(self.path("text.h5"), "w", encoding="utf-8") as file:
            file.write("no field at all\n" * 100)
        self.refused(65, ["text.h5", "HDF5"], "plot", "text.h5")

    def test_a_python_that_cannot_draw(self):
        self.ramp()
        for program, code, wanted in ((None, 69, "python3-matplotlib"), ('exec /usr/bin/python3 -S "$@"', 69, "python3-matplotlib"),
                                      ("echo it broke >&2; exit 5", 70, "it broke")):
            if program:
                with open(self.path("python3"), "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\n{program}\n")
                os.chmod(self.path("python3"), 0o755)
            self.refused(code, ["--output", wanted], "plot", "ramp.h5", "-o", "x.png", env={**os.environ, "PATH": self.directory})

    @drawing
    def test_pictures(self):
        self.ramp()
        for suffix, begins in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
            self.ok("plot", "ramp.h5", "-o", f"x.{suffix}")
            with open(self.path(f"x.{suffix}"), "rb") as file:
                self.assertEqual(file.read(len(begins)), begins)
        self.refused(73, ["x.png", "--force"], "plot", "ramp.h5", "-o", "x.png")
        self.ok("plot", "ramp.h5", "-o", "x.png", "--force")
        self.assertFalse([name for name in os.listdir(self.directory) if name.startswith(".plot-")])

    def test_series_by_its_name(self):
        """A renamed result and a checkpoint find their series, also older ones, which name it by an external link; one
        whose series is not there finds it by its own name."""
        result = self.solve("--save-every", 5, "--checkpoint-every", 10, "--keep-checkpoints")
        wanted = self.json(result, "-d", "series", "--at", "frame=1")["frames"][0]["values"]
        os.mkdir(self.path("other"))
        os.rename(self.path(result), self.path("renamed.h5"))
        shutil.copy(self.path("renamed.h5"), self.path("linked.h5"))
        with h5py.File(self.path("linked.h5"), "r+") as file:
            del file["provenance"].attrs["series"]
            file["provenance/series"] = h5py.ExternalLink("heat.out.series.h5", "/")
        names = ["renamed.h5", "heat.out.ckpt.h5", "linked.h5"]
        for name in names:
            self.assertEqual(self.json(name, "-d", "series", "--at", "frame=1")["frames"][0]["values"], wanted)
            self.assertEqual(self.json(self.path(name), "-d", "series", "--at", "frame=1")["frames"][0]["values"], wanted)
        os.rename(self.path("heat.out.series.h5"), self.path("renamed.series.h5"))
        self.assertEqual(self.json("renamed.h5", "-d", "series", "--at", "frame=1")["frames"][0]["values"], wanted)
        os.remove(self.path("renamed.series.h5"))
        self.refused(66, ["renamed.series.h5"], "plot", "renamed.h5", "-d", "series")

    def test_cells_of_a_saved_part(self):
        """Frames of a region and with a stride have the kinds of the result's cells that they consist of."""
        fixed, gone = numpy.zeros((12, 20), bool), numpy.zeros((12, 20), bool)
        fixed[4:8, 6:9], gone[8:, 14:] = True, True
        self.write("p.h5", numpy.zeros(fixed.shape), {"problem": "heat", "dt": 0.2, "steps": 4},
                   {"fixed": fixed, "insulated": gone})
        for part, rows, columns, sides in (
                (("--save-region", "2:12,5:18"), slice(2, 12), slice(5, 18), {"x": [False, False], "y": [False, True]}),
                (("--save-stride", "2"), slice(0, None, 2), slice(0, None, 2), {"x": [True, False], "y": [True, False]})):
            self.ok("run", "--quiet", "--force", "p.h5", "--save-every", 2, *part)
            drawn = self.json("p.out.h5", "-d", "series")
            kinds = numpy.where(gone, "#", numpy.where(fixed, "*", "."))[rows, columns]
            shown = numpy.array([list(row) for row in drawn["cells"]])
            at = [[k * n // count for k in range(count)] for n, count in zip(kinds.shape, shown.shape)]
            self.assertEqual(shown.tolist(), kinds[numpy.ix_(*at)].tolist())
            self.assertEqual(drawn["fixed_sides"], sides)
            gap = self.json("p.out.h5", "-d", "series", "-l", f"y={kinds.shape[0] - 1}")["curves"][0]["y"]
            self.assertEqual([value is None for value in gap], (kinds[-1] == "#").tolist())

    @drawing
    def test_pictures_that_move(self):
        from PIL import Image
        result = self.solve("--save-every", 5)
        self.ok("plot", result, "-d", "series", "-o", "x.gif")
        with Image.open(self.path("x.gif")) as image:
            self.assertEqual((image.n_frames, image.info["duration"]), (5, 250))
        os.mkdir(self.path("bin"))
        os.symlink("/usr/bin/python3", self.path("bin/python3"))
        done = self.ok("plot", result, "-d", "series", "-o", "y.mp4", env={**os.environ, "PATH": self.path("bin")})
        self.assertEqual(done.stderr, "stencil: there is no ffmpeg for a .mp4: writing 'y.gif'\n")
        self.assertTrue(os.path.exists(self.path("y.gif")))
        self.refused(73, ["no ffmpeg", "'y.gif'", "in its place"], "plot", result, "-d", "series", "-o", "y.mp4",
                     env={**os.environ, "PATH": self.path("bin")})
        self.refused(64, ["do not move"], "plot", result, "-d", "series", "-l", "y=3", "-o", "z.gif")

    @drawing
    @unittest.skipUnless(shutil.which("ffmpeg"), "no ffmpeg here for a film")
    def test_films(self):
        """ffmpeg reads what it wrote: all frames, at four a second, each the picture of its own."""
        from PIL import Image
        result = self.solve("--save-every", 5)
        self.ok("plot", result, "-d", "series", "-o", "x.mp4")
        self.ok("plot", result, "-d", "series", "-o", "x.gif")
        read = subprocess.run(["ffmpeg", "-i", self.path("x.mp4"), "-fps_mode", "passthrough", self.path("frame%d.png")],
                              capture_output=True, text=True, check=True)
        self.assertRegex(read.stderr, r"Video: h264.*\b4 fps")
        self.assertEqual(sorted(name for name in os.listdir(self.directory) if name.startswith("frame")),
                         [f"frame{i}.png" for i in range(1, 6)])
        with Image.open(self.path("x.gif")) as gif:
            for i in range(gif.n_frames):
                gif.seek(i)
                with Image.open(self.path(f"frame{i + 1}.png")) as frame:
                    drawn = numpy.asarray(frame.convert("L").resize((80, 60)), float)
                    wanted = numpy.asarray(gif.convert("L").resize((80, 60)), float)
                self.assertLess(numpy.abs(drawn - wanted).mean(), 8, i)
        self.refused(73, ["x.mp4", "--force"], "plot", result, "-d", "series", "-o", "x.mp4")

    def figure(self, *arguments):
        """What plot.py makes of a picture's numbers: the figure, and of a map its image."""
        plot, picture = plot_module(), self.json(*arguments)
        values = None
        if picture["kind"] == "map":
            values = numpy.array([frame.pop("values") for frame in picture["frames"]], dtype=float)
        read, values = plot.read(io.BytesIO(json.dumps(picture).encode() + b"\n" + (b"" if values is None else values.tobytes())))
        return plot.draw_map(read, values)[:2] if values is not None else (plot.draw_curves(read), None)

    @drawing
    def test_drawn_map(self):
        self.cells()
        figure, image = self.figure("cells.h5")
        ax = figure.axes[0]
        self.assertEqual((ax.get_title(), ax.get_xlabel(), ax.get_ylabel()), ("cells.h5: u", "x", "y"))
        self.assertEqual((tuple(image.get_extent()), image.get_clim()), ((-0.5, 7.5, -0.5, 5.5), (0, 44)))
        self.assertEqual((image.get_array()[0, 0], image.origin), (0, "lower"))
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()], ["between classes", "insulated", "fixed"])
        self.assertEqual(ax.child_axes[0].get_ylabel(), "temperature (K)")
        marks = ax.images[1].get_array()
        high, wide = marks.shape[:2]
        black = numpy.argwhere((marks[:, :, :3] == 0).all(axis=2) & (marks[:, :, 3] == 1))
        outline = [round(end * cells / pixels) for ends in (black.min(axis=0), black.max(axis=0) + 1)
                   for end, cells, pixels in zip(ends, (6, 8), (high, wide))]
        self.assertEqual(outline, [1, 1, 4, 4])  # of fixed cells

    def drawn_pixels(self, *arguments, name="drawn.png"):
        """Colours of the map in a picture that is read back, rows from below, [rows][columns][3], and its numbers."""
        from PIL import Image
        self.ok("plot", *arguments, "-o", name, "--json", "drawn.json", "--force")
        with open(self.path("drawn.json"), encoding="utf-8") as file:
            picture = json.load(file)
        values = numpy.array([frame["values"] for frame in picture["frames"]], dtype=float)
        plot = plot_module()
        figure, image, _, canvas = plot.draw_map(picture, values)
        with Image.open(self.path(name)) as drawn:
            pixels = numpy.asarray(drawn.convert("RGB"))[::-1]
        box = figure.axes[0].get_position()
        left, low = round(box.x0 * pixels.shape[1]), round(box.y0 * pixels.shape[0])
        wide, high = canvas.size
        wanted = image.cmap(image.norm(canvas.values(values[0])), bytes=True)[:, :, :3]
        return pixels[low:low + high, left:left + wide], wanted, picture

    @drawing
    def test_each_cell_is_a_pixel(self):
        """As many cells as a map has pixels: each has its cell's colour, to the corners, with fixed sides around."""
        self.write("p.h5", numpy.random.default_rng(1).random((460, 600)), {"stencil": "j2d5pt"})
        pixels, wanted, picture = self.drawn_pixels("p.h5")
        self.assertEqual((picture["columns"], picture["rows"], picture["note"]), (600, 460, None))
        self.assertEqual(picture["fixed_sides"], {"x": [True, True], "y": [True, True]})
        self.assertEqual(numpy.argwhere((pixels != wanted).any(axis=2)).tolist(), [])

    @drawing
    def test_a_wrong_cell_is_a_pixel(self):
        """Of a large field, in a corner or within, of even and uneven coordinates, beside fixed cells."""
        u = numpy.add.outer(numpy.arange(1840), numpy.arange(2400)) / 1000
        fixed = numpy.zeros(u.shape, bool)
        fixed[900:902, 1000:1400] = True
        for at in ((0, 0), (1839, 2399), (1001, 1203), (899, 1201)):
            wrong = u.copy()
            wrong[at] = 9
            with h5py.File(self.path("p.h5"), "w") as file:
                file["u"], file["fixed"] = wrong, fixed
                file.attrs["stencil"] = "j2d5pt"
            pixels, wanted, picture = self.drawn_pixels("p.h5")
            self.assertEqual((picture["least"], picture["most"]), (0 if at != (0, 0) else 0.001, 9))
            highest = numpy.argwhere((pixels == [253, 231, 36]).all(axis=2))  # the last colour of viridis
            self.assertEqual(highest.tolist(), [[at[0] // 4, at[1] // 4]])
            other = abs(pixels.astype(int) - wanted) > 12  # by more than a step of colours
            covered = numpy.argwhere(other.any(axis=2))
            self.assertEqual(set(covered[:, 0]), {225})  # lines lie on fixed cells alone
        with h5py.File(self.path("p.h5"), "w") as file:
            file["u"], file["y"] = numpy.zeros((30, 160)), range(30)
            file["x"] = numpy.concatenate([numpy.arange(100) / 100, range(1, 61)])
            file["u"][20, 50] = 1
            file.attrs["stencil"] = "j2d5pt"
        highest = numpy.argwhere((self.drawn_pixels("p.h5")[0] == [253, 231, 36]).all(axis=2))
        self.assertTrue(len(highest))
        self.assertEqual(set(highest[:, 1]), {round(600 * 0.505 / 60.505)})

    RANGES = ((-1e308, 1e308), (0, 8e307), (1e300, 3e300), (0, 1e-310), (1, 1 + 2**-52), (1e6, 1e6 + 1e-7), (-1.7e308, -1.7e308))

    def test_extreme_ranges(self):
        """In a terminal: characters from the least to the largest value, and limits that are told apart."""
        for least, most in self.RANGES:
            u = numpy.full((5, 8), float(least))
            u[:, 4:] = most
            self.write("p.h5", u, {"stencil": "j2d5pt"})
            lines = self.shown("p.h5")
            if least == most:
                self.assertIn("u  -1.7e+308 everywhere", lines)
                continue
            self.assertRegex(lines[3], r"^ +\| +@+\|$")
            ends = re.fullmatch(r"u  (\S+) +\.\.:::--==\+\+\*\*###%%@@ (\S+)", lines[-2]).groups()
            self.assertLess(float(ends[0]), float(ends[1]))
            for end, wanted in zip(ends, (least, most)):
                self.assertAlmostEqual(float(end) / (most or 1), wanted / (most or 1), 5)
            lines = self.shown("p.h5", "-l", "y=2")
            self.assertNotIn("nan", "\n".join(lines))
            marks = [bool(line.split("|")[-1].strip()) for line in lines[2:19]]
            self.assertTrue(marks[0] and marks[-1], lines)
            labels = [line.split("|")[0].strip() for line in (lines[2], lines[10], lines[18])]
            self.assertEqual(len(set(labels)), 3, lines)

    @drawing
    def test_extreme_ranges_drawn(self):
        """In a picture: the first and the last colour, and true numbers beside them."""
        for least, most in self.RANGES[::3] + self.RANGES[4:5]:
            u = numpy.full((5, 8), float(least))
            u[:, 4:] = most
            self.write("p.h5", u, {"stencil": "j2d5pt"})
            pixels, _, picture = self.drawn_pixels("p.h5")
            self.ok("plot", "p.h5", "-l", "y=2", "-o", "line.png", "--force")
            if least == most:
                continue
            self.assertEqual([pixels[5, at].tolist() for at in (5, -5)], [[68, 1, 84], [253, 231, 36]], (least, most))
            figure, _ = self.figure("p.h5")
            bar = figure.axes[0].child_axes[0]
            figure.draw_without_rendering()
            texts = [label.get_text().replace("\N{MINUS SIGN}", "-") for label in bar.get_yticklabels()]
            self.assertEqual(len(set(texts)), len(texts))
            if most >= 1e300:
                self.assertEqual([float(texts[0]), float(texts[-1])], [least, most])

    @drawing
    def test_names_are_no_formulas(self):
        """What comes from a file is shown as it is, whatever matplotlib would make of it."""
        odd = r"_a$b$_{^\frac $x"
        self.ramp("$u_$.h5")
        with h5py.File(self.path("$u_$.h5"), "r+") as file:
            file[odd] = file["u"][:]
            file[odd].attrs.update({"units": r"$\m^", "long_name": odd})
            file["x"] = numpy.arange(5) / 4
            file["x"].attrs["units"] = "$m"
            file["$y^"] = numpy.arange(3) / 2
            for axis, name in enumerate(("$y^", "x")):
                file[name].make_scale(name)
                for dataset in ("u", odd):
                    file[dataset].dims[axis].attach_scale(file[name])
        for suffix in ("png", "svg", "pdf"):
            done = self.ok("plot", "$u_$.h5", "-d", odd, "-o", f"x.{suffix}", "--force")
            self.assertEqual(done.stderr, "")
            self.ok("plot", "$u_$.h5", "-d", odd, "--against", "$u_$.h5", "-l", "x=0.5", "-o", f"x.{suffix}", "--force")
        figure, _ = self.figure("$u_$.h5", "-d", odd)
        ax = figure.axes[0]
        texts = (ax.title, ax.xaxis.label, ax.yaxis.label, ax.child_axes[0].yaxis.label)
        self.assertEqual([text.get_text().replace(r"\$", "$") for text in texts],
                         [f"$u_$.h5: {odd}", "x ($m)", "$y^", odd + r" ($\m^)"])
        self.write("_.h5", numpy.zeros((3, 5)), {"stencil": "j2d5pt"})
        figure, _ = self.figure("_.h5", "--against", "_.h5", "-l", "y=1")
        self.assertEqual([text.get_text() for text in figure.axes[0].get_legend().get_texts()], ["_.h5", "_.h5"])

    @drawing
    def test_colours_of_classes(self):
        """As many colours as there are classes, up to 64, and whole numbers beside them."""
        classes = numpy.arange(64).repeat(2) * numpy.ones((40, 1), int)
        with h5py.File(self.path("p.h5"), "w") as file:
            file["u"], file["class"] = numpy.zeros(classes.shape), classes
            file["stencil/offsets"], file["stencil/weights"] = [[0, -1], [0, 0]], numpy.full((64, 2), 0.5)
        pixels, wanted, picture = self.drawn_pixels("p.h5", "-d", "class")
        self.assertEqual((picture["class_numbers"], picture["note"]), (list(range(64)), None))
        self.assertEqual(numpy.argwhere((pixels != wanted).any(axis=2)).tolist(), [])
        self.assertEqual(len({tuple(pixel) for pixel in pixels[3]}), 64)
        figure, _ = self.figure("p.h5", "-d", "class")
        bar = figure.axes[0].child_axes[0]
        labels = [label.get_text() for label in bar.get_yticklabels()]
        self.assertTrue(3 <= len(labels) <= 16 and all(label.isdigit() for label in labels), labels)
        self.assertEqual(bar.yaxis.get_minorticklocs().tolist(), [])
        with h5py.File(self.path("p.h5"), "r+") as file:
            file["class"][...] = classes * 3
            file["class"][0] = 1
            del file["stencil/weights"]
            file["stencil/weights"] = numpy.full((190, 2), 0.5)
        _, _, picture = self.drawn_pixels("p.h5", "-d", "class")
        self.assertEqual(picture["note"], "65 classes in 64 colours")
        lines = self.shown("p.h5", "-d", "class")
        self.assertIn("+", lines[4])
        self.assertIn("class  (. is 0, a 10, A 36, + 62 or more)", lines)

    @drawing
    def test_fixed_sides(self):
        """Of a plane its own, whose cells no dataset names."""
        self.write("p.h5", numpy.arange(60.0).reshape(3, 4, 5),
                   {"stencil": "j3d7pt", "boundary": ["fixed", "mirror", "periodic"], "boundary_y+": "fixed"})
        for cut, across, down in (("z=1", [False, False], [False, True]), ("x=1", [False, True], [True, True])):
            self.assertEqual(self.json("p.h5", "-s", cut)["fixed_sides"], {"x": across, "y": down})
        self.assertEqual(self.shown("p.h5")[-1], "fixed sides: y+")
        figure, _ = self.figure("p.h5")
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()], ["fixed"])
        lines = [collection for collection in figure.axes[0].collections if type(collection).__name__ == "LineCollection"]
        top = self.json("p.h5")["y"]["to"]
        self.assertEqual([segment.tolist() for segment in lines[-1].get_segments()], [[[-0.5, top], [4.5, top]]])

    def test_fixed_sides_are_those_of_the_field(self):
        """A dataset of another shape, of which one axis is as long as the field's, has none."""
        self.ramp()
        with h5py.File(self.path("ramp.h5"), "r+") as file:
            file["own"], file["like"] = numpy.zeros((3, 7)), numpy.zeros((3, 5))
        for name, fixed in (("own", False), ("like", True)):
            self.assertEqual(self.json("ramp.h5", "-d", name)["fixed_sides"], {"x": [fixed] * 2, "y": [fixed] * 2})

    def test_names_and_places_that_are_none(self):
        self.cube()
        for wanted, *arguments in (("suffix", "-o", ".png"), ("0x2", "-s", "z=0x2")):
            self.refused(64, [wanted], "plot", "cube.h5", *arguments)

    def test_a_file_without_u(self):
        with h5py.File(self.path("t.h5"), "w") as file:
            file["T"] = numpy.arange(12.0).reshape(3, 4)
        self.refused(65, ["no dataset /u", "--field /T"], "plot", "t.h5")
        for how in (("--dataset", "T"), ("--field", "T")):
            self.assertEqual(self.json("t.h5", *how)["most"], 11)
        self.refused(65, ["no dataset /u"], "plot", "t.h5", "--dataset", "X")

    def test_a_history_that_overflows(self):
        result = self.solve()
        with h5py.File(self.path(result), "r+") as file:
            history = file["residual"][:]
            history[-1] = numpy.inf
            file["residual"][...] = history
        self.assertIn("heat.out.h5 ends in inf", self.json(result, "-d", "residual")["note"])

    @drawing
    def test_drawn_differences_and_classes(self):
        self.ramp(), self.cells()
        figure, image = self.figure("ramp.h5", "--against", "ramp.h5")
        self.assertEqual((image.get_cmap().name.split("_")[0], image.get_clim()), ("RdBu", (-1, 1)))
        figure, image = self.figure("cells.h5", "-d", "class")
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()], ["class 0", "class 1"])
        figure, _ = self.figure("ramp.h5", "--first-on-top")
        self.assertTrue(figure.axes[0].yaxis_inverted())

    @drawing
    def test_drawn_history(self):
        self.ok("new", "p.h5", "--problem", "laplace", "--size", "17x17", "--initial", "hot-edge", "--quiet")
        self.ok("run", "--quiet", "p.h5")
        figure, _ = self.figure("p.out.h5", "-d", "residual")
        ax = figure.axes[0]
        self.assertEqual((ax.get_yscale(), ax.get_xlabel(), ax.get_ylabel()), ("log", "step", "residual (l2)"))
        self.assertEqual([line.get_linestyle() for line in ax.lines], ["-", "--"])


if __name__ == "__main__":
    unittest.main()
