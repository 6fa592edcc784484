#!/usr/bin/env python3
"""Runs the commands of docs/plot.md and puts their pictures into docs/plot/.

    docs/plot.py [STENCIL]

STENCIL is the command, by default build/release/app/stencil. Blocks of the page that begin with ```sh or ```python are
run in the order in which they stand, in a folder of their own. What `<!-- output: NAME -->` stands before is written
behind it: the output of the last command of the block before, as text."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/plot.md"
FOLDER = ROOT / "docs/plot"
MOST = 60_000  # bytes of a picture
PART = re.compile(r"```(sh|python)\n(.*?)```\n|(<!-- output: \w+ -->\n)(?:\n```\n.*?```\n)?", re.DOTALL)


def run(stencil, folder):
    """Runs the page in a folder, which gets the pictures; returns the page with the outputs of today."""
    output = ""
    (folder / "bin").mkdir()
    (folder / "bin/stencil").symlink_to(pathlib.Path(stencil).resolve())
    environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "STENCIL_SOURCE": str(ROOT),
                   "XDG_CACHE_HOME": str(folder)}

    def part(found):
        nonlocal output
        language, code, mark = found.groups()
        if mark:
            return f"{mark}\n```\n{output.rstrip()}\n```\n"
        for line in code.splitlines() if language == "sh" else [code]:
            command = ["sh", "-c", line] if language == "sh" else ["/usr/bin/python3", "-c", line]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
            if done.returncode:
                sys.exit(f"{line}\n{done.stderr}{done.stdout}")
            output = done.stdout
        return found[0]

    return PART.sub(part, PAGE.read_text(encoding="utf-8"))


def pictures(folder):
    return sorted([*folder.glob("*.png"), *folder.glob("*.gif")])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        here = pathlib.Path(name)
        PAGE.write_text(run(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/app/stencil", here), encoding="utf-8")
        for picture in pictures(here):
            if picture.stat().st_size > MOST:
                sys.exit(f"{picture.name} has {picture.stat().st_size} bytes, more than {MOST}")
            shutil.copy(picture, FOLDER / picture.name)
