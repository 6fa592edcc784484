"""Runs the code of docs/examples.md and draws its pictures.

    python3 docs/examples.py [--stencil build/release/app/stencil]

Each block of `sh` or `python` is run in the order of the page, in a folder of its own; pictures go to docs/examples/.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).with_suffix(".md")
PICTURES = PAGE.with_suffix("")
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def run_page(stencil, folder):
    """Runs all blocks of the page in a folder. Python's names go on from block to block, as in a session."""
    path = os.pathsep.join([str(pathlib.Path(stencil).resolve().parent), os.environ["PATH"]])
    session, before = {}, os.getcwd()
    os.chdir(folder)
    try:
        for language, code in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
            if language == "python":
                exec(compile(code, str(PAGE), "exec"), session)  # pylint: disable=exec-used
            else:
                done = subprocess.run(["sh", "-e", "-c", code], env={**os.environ, "PATH": path}, capture_output=True,
                                      encoding="utf-8", check=False)
                if done.returncode != 0:
                    raise RuntimeError(f"{code}{done.stdout}{done.stderr}")
    finally:
        os.chdir(before)


def field_of(path):
    """A result's field, with NaN in insulated cells, and its fixed cells (None: it has none)."""
    import h5py
    import numpy
    with h5py.File(path) as file:
        gone = file["insulated"][...] != 0 if "insulated" in file else False
        fixed = file["fixed"][...] != 0 if "fixed" in file else None
        return numpy.where(gone, numpy.nan, file["u"][...]), fixed


def draw(folder, name, title, size):
    """Draws a result: colours, lines of equal value, outlines of fixed cells."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    u, fixed = field_of(folder / f"{name}.out.h5" if name != "cooler" else folder / "cooler.h5")
    figure, axes = pyplot.subplots(figsize=size, dpi=90, layout="constrained")
    image = axes.imshow(u, cmap="coolwarm", interpolation="nearest")
    axes.contour(u, levels=15, colors="black", linewidths=0.5, linestyles="solid")
    if fixed is not None:
        axes.contour(fixed, levels=[0.5], colors="black", linewidths=1.5)
    axes.set_facecolor("0.6")
    axes.set(title=title, xlabel="x", ylabel="y")
    figure.colorbar(image, ax=axes)
    figure.savefig(PICTURES / f"{name}.png", metadata={"Software": None})
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stencil", default="build/release/app/stencil", help="the program")
    stencil = parser.parse_args().stencil
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        run_page(stencil, folder)
        for name, title, size in (("plate", "potential", (4.4, 3.7)), ("chip", "temperature", (5.4, 3)),
                                  ("cooler", "temperature, stronger cooler in the middle", (5.4, 3)),
                                  ("wall", "°C after ten hours", (5.4, 3.6)), ("disc", "two materials", (4.4, 3.7))):
            draw(pathlib.Path(folder), name, title, size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
