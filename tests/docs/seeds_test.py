"""docs/seeds.md counts its items, and each names commands that the program has, and files and headings that are there."""
import functools
import os
import re
import subprocess
import unittest

from page import ROOT

PAGE = ROOT / "docs" / "seeds.md"
STATES = ("done", "in part", "not", "cannot be")
ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
COUNTS = re.compile(r"have (\d+) items .*?: (\d+) are done, (\d+)\s+in part, (\d+) not, and (\d+) cannot be", re.DOTALL)
REFERENCE = re.compile(r"^\[([^]]+)\]: (\S+)$", re.MULTILINE)
LACKS = re.compile(r"^- \*\*(\d+)\*\* ", re.MULTILINE)
PATH = re.compile(r"`((?:\w+/)+[\w.-]+)`")
OPTION = re.compile(r"^ +(?:-\w, +)?(--[\w-]+)(?: (\S+))?(?:  +|$)(.*)$")
OPEN = re.compile(r"[A-Z]+|\d[\d.x]*")  # a value that stands for any: FILE, 8, 256..8192


@functools.lru_cache(maxsize=None)
def told(*words):
    """What the program prints."""
    done = subprocess.run([os.environ["STENCIL"], *words], capture_output=True, encoding="utf-8", check=True)
    return done.stdout


def commands():
    return re.findall(r"^  (\w+) ", told("--help").partition("Commands:")[2].partition("Examples:")[0], re.MULTILINE)


def options(command):
    """{option: (whether a value follows, the words that its help has)} of a command."""
    found, last = {}, None
    for line in told(command, "--help").splitlines():
        match = OPTION.match(line)
        if match:
            last = match[1]
            found[last] = (match[2] is not None, match[3])
        elif last and line.startswith(12 * " "):
            found[last] = (found[last][0], f"{found[last][1]} {line.strip()}")
        else:
            last = None
    return found


def benchmarks():
    return {"cases", *re.findall(r"^([\w-]+)", told("bench", "--list"), re.MULTILINE)}


def faults_of_command(text):
    command, *words = text.split()
    if command not in commands():
        yield f"no command {command}"
        return
    known = options(command)
    while words:
        word = words.pop(0)
        if word.startswith("-"):
            if word not in known:
                yield f"{command} has no option {word}"
                return
            takes, says = known[word]
            value = words.pop(0) if takes and words else None
            if takes and (value is None or not (OPEN.fullmatch(value) or value in re.findall(r"[\w-]+", says))):
                yield f"{command} {word} takes no {value}"
        elif command != "bench" or word not in benchmarks():
            yield f"{command} has no {word}"


def anchors(path):
    """Anchors of the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def faults_of_target(target):
    name, _, anchor = target.partition("#")
    path = PAGE.parent / name
    if not path.exists():
        yield f"no file {name}"
    elif anchor and anchor not in anchors(path):
        yield f"{name} has no heading {anchor}"


def faults_of_row(item, state, command, where, references):
    if state not in STATES:
        yield f"'{state}' is no state"
    if command == "–" and where == "–" and state == "not":
        return
    if not re.fullmatch(r"`[^`]+`", command):
        yield f"'{command}' is no command"
    else:
        yield from faults_of_command(command.strip("`"))
    names = where.split(", ")
    for name in names:
        if not re.fullmatch(r"\[[^]]+\]", name) or name[1:-1] not in references:
            yield f"'{name}' leads nowhere"
    if "|" in item:
        yield "more than five columns"


def faults(text):
    """What is wrong with the page, a line each."""
    references = dict(REFERENCE.findall(text))
    rows = ROW.findall(text)
    lines = [line for line in text.splitlines() if re.match(r"\| *\d", line)]
    numbers = [int(row[0]) for row in rows]
    counts = COUNTS.search(text)
    wanted = [len(rows), *(sum(row[2] == state for row in rows) for state in STATES)]
    if len(lines) != len(rows):
        yield f"{len(lines) - len(rows)} rows cannot be read"
    if numbers != list(range(1, len(rows) + 1)):
        yield "items are not numbered from 1 on"
    if counts is None or list(map(int, counts.groups())) != wanted:
        yield f"the introduction does not say that there are {wanted} items"
    if [int(number) for number in LACKS.findall(text)] != [int(row[0]) for row in rows if row[2] != "done"]:
        yield "the lists are not those of the items that are not done"
    for number, *row in rows:
        yield from (f"{number}: {fault}" for fault in faults_of_row(*row, references))
    for name, target in references.items():
        yield from (f"[{name}]: {fault}" for fault in faults_of_target(target))
        if text.count(f"[{name}]") < 2:
            yield f"[{name}] is used nowhere"
    yield from (f"no file {path}" for path in PATH.findall(text) if not (ROOT / path).exists())


class Seeds(unittest.TestCase):
    maxDiff = None

    def test_page(self):
        self.assertEqual(list(faults(PAGE.read_text(encoding="utf-8"))), [])

    def test_faults_are_found(self):
        """Each change of the page is one that the test above fails at."""
        text = PAGE.read_text(encoding="utf-8")
        for before, after, fault in (
                ("`bench warp`", "`bench wrap`", "1: bench has no wrap"),
                ("`bench warp`", "`banch warp`", "1: no command banch"),
                ("`bench warp --samples 20`", "`bench warp --sample 20`", "bench has no option --sample"),
                ("`run --sync lock`", "`run --sync lok`", "run --sync takes no lok"),
                ("`bench warp --samples 20`", "`bench warp --samples`", "bench --samples takes no None"),
                ("`bench warp`", "–", "1: '–' is no command"),
                ("[warps], ", "[wraps], ", "1: '[wraps]' leads nowhere"),
                (": bench.md#warps", ": bench.md#wraps", "[warps]: bench.md has no heading wraps"),
                ("../sync/lock.cuh", "../sync/lok.cuh", "[lock.cuh]: no file ../sync/lok.cuh"),
                ("`tests/docs/seeds_test.py`", "`tests/docs/seeds_tast.py`", "no file tests/docs/seeds_tast.py"),
                ("| done | `bench warp`", "| finished | `bench warp`", "1: 'finished' is no state"),
                ("| done | `bench warp`", "| not | `bench warp`", "items that are not done"),
                ("| 2 |", "| 3 |", "items are not numbered from 1 on"),
                ("| 2 | ", "| 2 ", "1 rows cannot be read"),
                ("111 items", "112 items", "the introduction does not say"),
                ("- **5** ", "- ", "items that are not done")):
            with self.subTest(after):
                self.assertIn(before, text)
                self.assertIn(fault, "\n".join(faults(text.replace(before, after, 1))))


if __name__ == "__main__":
    unittest.main()
