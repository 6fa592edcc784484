"""Rooms see only what lies below them: by includes, by the symbols of their objects, and file by file.

$STENCIL_ROOMS names what CMake says of the rooms of a build (stencil_rooms_write()), four lines each: the name, the
rooms that it names itself, the directories of its includes, its objects; lists have semicolons between entries.
"""

import os
import pathlib
import re
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
SUFFIXES = {".c", ".h", ".cu", ".cuh", ".inc"}


class Room:
    def __init__(self, name, named, directories, objects):
        self.name = name
        self.named = [room for room in named.split(";") if room]
        self.directories = [path for path in directories.split(";") if path]
        self.objects = [pathlib.Path(path) for path in objects.split(";") if path]
        self.folder = SOURCE / name

    def headers(self, others):
        """Its own, without those of rooms within it."""
        inner = [other.folder for other in others.values() if self.folder in other.folder.parents]
        return [path for path in sorted(self.folder.rglob("*.h"))
                if not any(folder in path.parents for folder in inner)]


def read_rooms():
    lines = pathlib.Path(os.environ["STENCIL_ROOMS"]).read_text().split("\n")
    rooms = [Room(*lines[at:at + 4]) for at in range(0, len(lines) - 3, 4)]
    return {room.name: room for room in rooms}


def below(rooms, name):
    """The room, and all that it sees."""
    seen, ask = set(), [name]
    while ask:
        room = ask.pop()
        if room not in seen:
            seen.add(room)
            ask += rooms[room].named
    return seen


def file_of(room, path):
    """What an object is made of, as includes name it: "solver/plan/sweeps/naive.c"."""
    return f"{room.name}/{str(path).split('.dir/')[-1].removesuffix('.o')}"


def symbols(room):
    """Of each file: the names that it defines for others, and those that it asks for."""
    found = {}
    for path in room.objects:
        if not path.exists():
            continue
        command = [os.environ.get("NM", "nm"), "-P", path]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        defined, wanted = found.setdefault(file_of(room, path), (set(), set()))
        for line in text.splitlines():
            name, kind = line.split()[:2]
            if kind in "Uwv":
                wanted.add(name)
            elif kind.isupper():
                defined.add(name)
    return found


def wrong_symbols(found, rooms):
    """What files ask rooms for that they do not see."""
    home, wrong = {}, []
    for name, files in found.items():
        for defined, _ in files.values():
            for symbol in defined:
                home.setdefault(symbol, set()).add(name)
    for name, files in found.items():
        seen = below(rooms, name)
        for file, (_, wanted) in files.items():
            wrong += [f"{file} asks {' or '.join(sorted(home[symbol]))} for {symbol}"
                      for symbol in sorted(wanted) if symbol in home and not home[symbol] & seen]
    return wrong


def included(rooms):
    """The files that each file includes."""
    edges = {}
    for top in {name.split("/")[0] for name in rooms}:
        for path in (SOURCE / top).rglob("*"):
            if path.suffix not in SUFFIXES:
                continue
            edges[str(path.relative_to(SOURCE))] = {
                name for name in INCLUDE.findall(path.read_text()) if (SOURCE / name).exists()}
    return edges


def circles(edges):
    """Sets of files each of which leads to all others of the set (Tarjan)."""
    order, low, stack, found = {}, {}, [], []

    def visit(file):
        order[file] = low[file] = len(order)
        stack.append(file)
        for other in sorted(edges.get(file, ())):
            if other not in order:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], order[other])
        if low[file] == order[file]:
            ring = stack[stack.index(file):]
            del stack[stack.index(file):]
            if len(ring) > 1:
                found.append(sorted(ring))

    for file in sorted(edges):
        if file not in order:
            visit(file)
    return found


class Rooms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rooms = read_rooms()
        cls.symbols = {name: symbols(room) for name, room in cls.rooms.items()}

    def test_symbols_point_down(self):
        self.assertEqual(wrong_symbols(self.symbols, self.rooms), [])

    def test_a_symbol_that_points_up_would_be_found(self):
        rooms = {"low": Room("low", "", "", ""), "high": Room("high", "low", "", "")}
        found = {"low": {"low/a.c": ({"a"}, {"b"})}, "high": {"high/b.c": ({"b"}, {"a", "printf"})}}
        self.assertEqual(wrong_symbols(found, rooms), ["low/a.c asks high for b"])

    def test_includes_that_point_up_do_not_compile(self):
        for room in self.rooms.values():
            flags = [f"-I{path}" for path in room.directories]
            for other in self.rooms.values():
                headers = other.headers(self.rooms)
                if not headers:
                    continue
                header = headers[0].relative_to(SOURCE)
                made = subprocess.run([os.environ.get("CC", "cc"), "-E", *flags, "-x", "c", "-"], capture_output=True,
                                      input=f'#include "{header}"\n', text=True, check=False, cwd="/")
                if other.name in below(self.rooms, room.name):
                    self.assertEqual(made.returncode, 0, made.stderr)
                else:
                    self.assertNotEqual(made.returncode, 0, f"{room.name} sees {header}")
                    self.assertRegex(made.stderr, f"{header}.*(No such file|not found)")

    def test_files_make_no_circles(self):
        """By what they include, and by what their objects ask each other for."""
        edges, home = included(self.rooms), {}
        files = {file: both for room in self.symbols.values() for file, both in room.items()}
        for file, (defined, _) in files.items():
            home.update({symbol: file for symbol in defined})
        for file, (_, wanted) in files.items():
            edges.setdefault(file, set()).update(home[s] for s in wanted if s in home and home[s] != file)
        self.assertEqual(circles(edges), [])

    def test_a_circle_would_be_found(self):
        self.assertEqual(circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}), [["b", "c"]])
        self.assertEqual(circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}), [])


if __name__ == "__main__":
    unittest.main()
