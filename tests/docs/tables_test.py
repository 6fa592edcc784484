"""The documentation says what is so: tables are those of the records, and links, paths and dates lead somewhere."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

from page import ROOT, script

RECORDS = ROOT / "bench" / "records"
LOG = ROOT / "docs" / "log"
FOLDERS = ("app", "base", "bench", "cmake", "docs", "examples", "inputs", "kernels", "library", "philox", "records", "solver", "sync", "tests")
SOURCES = {".c", ".h", ".cu", ".cuh", ".inc", ".def", ".py", ".txt", ".md"}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
# A name in backquotes that looks like a file of the project: in one of its folders, or alone with a suffix of sources.
PATH = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w./*-]+|[\w.-]+\.(?:c|h|cu|cuh|inc|def|md))`")
PLACEHOLDER = re.compile(r"\b(NAME|THING)\b")
# Titles of a page of the log: headings, and the words in bold that a part begins with.
TITLE = re.compile(r"^(?:#+ (.+)|\*\*(.+?)[.:]?\*\*.*)$", re.MULTILINE)
CITED = re.compile(r'docs/log/(\d{4}-\d\d-\d\d)(?:\.md)?(?:,\s+"([^"]+)")?')


def name(path):
    return str(path.relative_to(ROOT))


def prose(page):
    """The lines of a page with their numbers, without code, tables and comments."""
    text = CODE.sub(lambda match: "\n" * match[0].count("\n"), page.read_text(encoding="utf-8"))
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if not line.startswith(("|", "<!--"))]


def sources():
    for folder in FOLDERS:
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SOURCES)


def tables(*arguments):
    return subprocess.run([sys.executable, "-B", ROOT / "docs" / "tables.py", *arguments], capture_output=True,
                          encoding="utf-8", check=False)


class Tables(unittest.TestCase):
    maxDiff = None

    def test_pages_have_what_the_records_have(self):
        done = tables("--check")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_what_cannot_be_made_is_named(self):
        made = script("tables")
        for words, message in (
                ("heat record=bench/records/speed-h200.json", "'heat' is no kind of table"),
                ("speed record=bench/records/none.json", "there is no record bench/records/none.json"),
                ("speed record=bench/records/speed-h200.json colour=red", "unexpected keyword argument 'colour'"),
                ("speed record=bench/records/speed-h200.json sizes=7²", "no record has such rows"),
                ("strategies record=bench/records/weak-4.json sizes=16384² rows=graph", "no record has `graph`"),
                ("strategies record=bench/records/scaling-h200-x4.json sizes=512", "of float32, float64")):
            with self.subTest(words), self.assertRaisesRegex(made.TableError, message):
                made.make(words)

    def test_figures(self):
        """Digits that end in zeros stay, and are counted after rounding."""
        made = script("tables")
        for value, digits, text in ((9.998, 3, "10.0"), (4.7004, 4, "4.700"), (2082.4, 4, "2082"), (20824, 4, "20824"),
                                    (0.04217, 3, "0.0422")):
            self.assertEqual(made.significant(value, digits), text)
        self.assertEqual(made.edges({"nx": 384, "ny": 352, "nz": 320, "gpus": 1}), "384x352x320")
        self.assertEqual(made.edges({"nx": 64, "ny": 64}), "64²")

    def test_index_has_every_record(self):
        """And of each what it says of itself."""
        index = (RECORDS / "README.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| \[([\w.-]+)\]\(\1\) \| .+ \| (.+) \| (.+) \| `(.+)` \|$", index, re.MULTILINE)
        wanted = []
        for path in sorted(RECORDS.glob("*.json")):
            root = json.loads(path.read_text(encoding="utf-8"))
            for report in root if isinstance(root, list) else [root]:
                wanted.append((path.name, report.get("git_revision", report["version"]), report["command_line"]))
        self.assertEqual([(file, version.split()[-1], command) for file, version, date, command in rows], wanted)
        self.assertGreater(len(wanted), 30)

    def test_no_records_among_the_pages(self):
        """Pictures among the pages are those that a page shows."""
        shown = {(page.parent / target).resolve() for page in PAGES
                 for target in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))}
        self.assertEqual([name(path) for path in (ROOT / "docs").rglob("*")
                          if path.suffix == ".json" or (path.suffix == ".png" and path.resolve() not in shown)], [])


class Pages(unittest.TestCase):
    maxDiff = None

    def test_links(self):
        missing = []
        for page in [*PAGES, RECORDS / "README.md"]:
            text = CODE.sub("", page.read_text(encoding="utf-8"))
            missing += [f"{name(page)}: {link}" for link in re.findall(r"\]\(([^)#\s]+)", text)
                        if not re.match(r"\w+:", link) and not (page.parent / link).exists()]
        self.assertEqual(missing, [])

    def test_paths(self):
        """The log may name files that are gone; not by a path, which is mended there as links are."""
        names = {path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*")} | {
            path.name for path in ROOT.iterdir()}
        missing = []
        for page in PAGES:
            text = CODE.sub("", page.read_text(encoding="utf-8"))
            for path in PATH.findall(text):
                pattern = PLACEHOLDER.sub("*", path)
                if "/" in path:
                    found = any(ROOT.glob(pattern)) or any(page.parent.glob(pattern))
                else:
                    found = page.parent == LOG or any(pathlib.PurePath(each).match(pattern) for each in names)
                if not found:
                    missing.append(f"{name(page)}: {path}")
        self.assertEqual(missing, [])

    def test_lines(self):
        """Of all pages but those that `stencil bench --md` wrote."""
        pages = [page for page in PAGES if page.parent != ROOT / "docs" / "bench"]
        long = [f"{name(page)}:{number}" for page in pages for number, line in prose(page) if len(line) > 120]
        self.assertEqual(long, [])

    def test_cited_days_of_the_log(self):
        """Where a section is named, the day has it."""
        missing = []
        for path in [*PAGES, ROOT / "CHANGELOG.md", *sources()]:
            text = re.sub(r"\s*\n[\s*/#]*", " ", path.read_text(encoding="utf-8"))
            for day, section in CITED.findall(text):
                page = LOG / f"{day}.md"
                titles = TITLE.findall(page.read_text(encoding="utf-8")) if page.exists() else []
                if not page.exists() or section and section not in (heading or bold for heading, bold in titles):
                    missing.append(f"{name(path)}: docs/log/{day}.md {section}")
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
