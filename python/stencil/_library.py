"""The functions and structures of stencil/stencil.h by ctypes, which gives up the interpreter's lock in every call."""
import ctypes
import os
import pathlib
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p, sizeof

ABI = 1
FLOAT32, FLOAT64, UINT8 = 1, 2, 3
DEVICE = 1


class Error(RuntimeError):
    """An error within the library or the device."""


class NotAvailable(Error):
    """This machine, or this build of the library, cannot do what was asked for."""


class Structure(ctypes.Structure):
    """A structure that begins with its own size."""

    def __init__(self, **members):
        super().__init__(size=sizeof(self), **members)


class Array(Structure):
    _fields_ = [("size", c_size_t), ("data", c_void_p), ("stride", c_int64 * 3), ("type", c_int32),
                ("memory", c_int32), ("device", c_int32), ("reserved", c_int32), ("stream", c_void_p)]


class SessionOptions(Structure):
    _fields_ = [("size", c_size_t), ("threads", c_int32), ("reserved", c_int32)]


class PlanOptions(Structure):
    _fields_ = [("size", c_size_t), ("sync", c_char_p), ("sweep", c_char_p), ("device", c_char_p),
                ("effort", c_char_p), ("depth", c_int32), ("parts", c_int32), ("allow_nonfinite", c_int32),
                ("no_bound", c_int32), ("gpu", POINTER(c_int32)), ("gpu_count", c_int32), ("reserved", c_int32)]


Progress = ctypes.CFUNCTYPE(c_int, c_void_p, c_int64, c_double)


class Run(Structure):
    _fields_ = [("size", c_size_t), ("u", POINTER(Array)), ("out", POINTER(Array)), ("source", POINTER(Array)),
                ("progress", Progress), ("context", c_void_p), ("stop", POINTER(c_int))]


class Report(Structure):
    _fields_ = [("size", c_size_t), ("reason", c_char_p), ("sync", c_char_p), ("sweep", c_char_p),
                ("device", c_char_p), ("reached", c_int32), ("depth", c_int32), ("steps", c_int64),
                ("checks", c_int64), ("residual", c_double), ("residual_first", c_double), ("threshold", c_double),
                ("error_bound", c_double), ("error_bound_relative", c_double), ("time", c_double),
                ("read_s", c_double), ("prepare_s", c_double), ("compute_s", c_double), ("finish_s", c_double),
                ("write_s", c_double), ("total_s", c_double), ("cells_per_s", c_double)]


# The name of each function less "stencil_", the type of its result, and those of its arguments.
FUNCTIONS = [
    ("abi", c_uint32, []),
    ("version", c_char_p, []),
    ("last_error", c_char_p, []),
    ("list", c_char_p, [c_char_p, c_int32]),
    ("session_new", c_int, [POINTER(c_void_p), POINTER(SessionOptions)]),
    ("session_calibrate", c_int, [c_void_p, c_double]),
    ("session_free", None, [c_void_p]),
    ("problem_new", c_int, [POINTER(c_void_p), c_int32, POINTER(c_int64), c_char_p]),
    ("problem_free", None, [c_void_p]),
    ("problem_set_text", c_int, [c_void_p, c_char_p, c_char_p]),
    ("problem_set_number", c_int, [c_void_p, c_char_p, c_int32, POINTER(c_double)]),
    ("problem_set_points", c_int, [c_void_p, c_int32, POINTER(c_int32), c_int32, POINTER(c_double)]),
    ("problem_set_table", c_int, [c_void_p, c_char_p, c_int64, POINTER(c_double)]),
    ("problem_set_array", c_int, [c_void_p, c_char_p, POINTER(Array)]),
    ("plan_new", c_int, [POINTER(c_void_p), c_void_p, c_void_p, POINTER(PlanOptions)]),
    ("plan_free", None, [c_void_p]),
    ("plan_text", c_char_p, [c_void_p]),
    ("plan_json", c_char_p, [c_void_p]),
    ("plan_run", c_int, [c_void_p, POINTER(Run), POINTER(c_void_p)]),
    ("result_report", c_int, [c_void_p, POINTER(Report)]),
    ("result_history", c_int64, [c_void_p, POINTER(POINTER(c_int64)), POINTER(POINTER(c_double))]),
    ("result_free", None, [c_void_p]),
]


def load():
    """The library beside this file, as a wheel has it; else the one that $STENCIL_LIBRARY names or, as packages of a
    distribution install it, that of the system."""
    name = f"libstencil.so.{ABI}"
    own = pathlib.Path(__file__).with_name(name)
    found = ctypes.CDLL(str(own) if own.exists() else os.environ.get("STENCIL_LIBRARY", name))
    for name, result, arguments in FUNCTIONS:
        function = getattr(found, f"stencil_{name}")
        function.restype, function.argtypes = result, arguments
    if found.stencil_abi() != ABI:
        raise ImportError(f"libstencil has interface {found.stencil_abi()}, this module is for {ABI}")
    return found


library = load()
ERRORS = {1: ValueError, 2: NotAvailable, 3: MemoryError}


def check(code):
    """Raises what an outcome of the library stands for."""
    if code != 0:
        raise ERRORS.get(code, Error)(library.stencil_last_error().decode("utf-8", "replace"))


def call(name, *arguments):
    """Calls stencil_NAME(), which tells an outcome."""
    check(getattr(library, f"stencil_{name}")(*arguments))


def names(what):
    """A list of names that the library has: strategies ("sync"), sweeps ("sweep"), …"""
    found, index = [], 0
    while (name := library.stencil_list(what.encode(), index)) is not None:
        found.append(name.decode())
        index += 1
    return found


class Handle:
    """A handle of the library, freed with the object; `keeps` holds what it borrows."""

    def __init__(self, kind, pointer, keeps=()):
        self.pointer, self.keeps = pointer, keeps
        self.free = getattr(library, f"stencil_{kind}_free")

    def __del__(self):
        pointer, self.pointer = getattr(self, "pointer", None), None
        if pointer:
            self.free(pointer)


def make(kind, *arguments, keeps=()):
    """A new handle, by stencil_KIND_new()."""
    pointer = c_void_p()
    check(getattr(library, f"stencil_{kind}_new")(byref(pointer), *arguments))
    return Handle(kind, pointer.value, keeps)
