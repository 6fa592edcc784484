#!/usr/bin/env python3
"""Runs the commands of docs/plot.md and puts their pictures beside this file.

    docs/plot/make.py [STENCIL]

STENCIL is the command, by default build/release/app/stencil. Blocks of the page that begin with ```sh or ```python are
run in the order in which they stand, in a folder of their own. What `<!-- output: NAME -->` stands before is written
behind it: the output of the last command of the block before, as text."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
PAGE = ROOT / "docs/plot.md"
MOST = 60_000  # bytes of a picture
PART = re.compile(r"```(sh|python)\n(.*?)```\n|(<!-- output: \w+ -->\n)(?:\n```\n.*?```\n)?", re.DOTALL)


def main(stencil):
    with tempfile.TemporaryDirectory() as name:
        folder, output = pathlib.Path(name), ""
        (folder / "bin").mkdir()
        (folder / "bin/stencil").symlink_to(stencil)
        environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "STENCIL_SOURCE": str(ROOT),
                       "XDG_CACHE_HOME": str(folder)}

        def part(found):
            nonlocal output
            language, code, mark = found.groups()
            if mark:
                return f"{mark}\n```\n{output.rstrip()}\n```\n"
            for line in code.splitlines() if language == "sh" else [code]:
                command = ["sh", "-c", line] if language == "sh" else ["/usr/bin/python3", "-c", line]
                done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
                if done.returncode:
                    sys.exit(f"{line}\n{done.stderr}{done.stdout}")
                output = done.stdout
            return found[0]

        PAGE.write_text(PART.sub(part, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        for picture in sorted([*folder.glob("*.png"), *folder.glob("*.gif")]):
            if picture.stat().st_size > MOST:
                sys.exit(f"{picture.name} has {picture.stat().st_size} bytes, more than {MOST}")
            shutil.copy(picture, FOLDER / picture.name)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/app/stencil").resolve())
