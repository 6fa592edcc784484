"""What the scripts that draw share: bench_plot.py and plot.py, which this program runs and which lie beside this file."""
import os
import sys
import tempfile


def fail(code, text):
    print(text, file=sys.stderr)
    sys.exit(code)


def need_matplotlib():
    try:
        import matplotlib
    except ImportError:
        system = "/usr/bin/python3"  # other interpreters lack the packages of the distribution
        if os.access(system, os.X_OK) and not os.path.samefile(sys.executable, system):
            os.execv(system, [system, *sys.argv])
        fail(69, "there is no matplotlib for python3 here (Debian: python3-matplotlib)")


def write_whole(path, force, write):
    """Has `write` make a file whose name it gets, which then appears as `path` whole or not at all, in place of an
    existing file only with `force`."""
    try:
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path) or ".", prefix=".plot-") as folder:
            part = os.path.join(folder, "part" + os.path.splitext(path)[1])
            write(part)
            (os.replace if force else os.link)(part, path)
    except OSError as error:
        fail(73 if isinstance(error, FileExistsError) else 74, f"cannot write '{path}': {error.strerror}")


def save(figure, path, force):
    """Writes a picture, see write_whole()."""
    write_whole(path, force, figure.savefig)
