"""What tests of pages share: the folder of the project, and the scripts that make pages."""
import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def script(name):
    """Returns docs/NAME.py as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
