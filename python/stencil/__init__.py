"""Iterative stencil problems on regular grids: relaxation of Laplace's and Poisson's equation, explicit heat, filters.

    import numpy as np, stencil

    u = np.zeros((129, 129))
    u[0, :] = 100.0
    result = stencil.solve(u, problem="laplace", rtol=1e-8)
    print(result, result.u[64, 64])

Arrays are [ny][nx] or [nz][ny][nx]; lists per axis are in the same order, (y, x) or (z, y, x). Attributes of problems
have the names and meanings of problem files, docs/format.md. Every way to solve a problem gives the same bits.
"""
from __future__ import annotations

import ctypes
import dataclasses
import difflib
import json
import operator
import os
import threading
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _arrays as arrays
from . import _library as lib
from ._library import Error, NotAvailable

__all__ = ["solve", "plan", "stencils", "strategies", "sweeps", "write", "read", "load", "Solver", "Plan", "Result",
           "Error", "NotAvailable"]
__version__ = lib.library.stencil_version().decode()

Numbers = Union[float, Sequence[float]]
TEXTS = ("problem", "stencil", "accelerate", "norm")
NUMBERS = ("spacing", "omega", "diffusivity", "dt", "steps", "time_end", "rtol", "atol", "check_every")
SIDES = ("flux", "exchange", "ambient")
SOURCES = ("b", "f", "q")
MORE = tuple(f"{name}{k}" for name in ("b", "q") for k in (2, 3, 4))
VALUES = tuple(f"fixed_value{k}" for k in ("", 2, 3, 4))
FIELDS = SOURCES + MORE + VALUES + ("k",)  # arrays of numbers
MARKS = ("fixed", "insulated", "classes")
TABLES = tuple(f"{name}_factor" for name in ("b", "q") + MORE + VALUES)
NO_VALUES = (-999, -9999, -99999, -32767, -2147483647)  # fill values of HDF5 that stand for missing ones
LONG_S = 0.1  # from so many predicted seconds on a run is watched for Ctrl-C


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run has made.

    u: the field after the last step, of the shape and type of the initial one. residual, residual_step: float64 and
    int64 [checks], the residuals (norm of u' - u) of checked steps. steps: number of steps made. reason: why the run
    ended, "steps", "converged_rtol", "not_converged", "interrupted" …. reached: whether the stop rule was met.
    error_bound: bound on the root mean square of the distance to the solution of the discrete equations, NaN where it
    is not known. report: dict of all of it, with times in seconds. plan: text.
    """

    u: Any = dataclasses.field(repr=False)
    residual: np.ndarray = dataclasses.field(repr=False)
    residual_step: np.ndarray = dataclasses.field(repr=False)
    steps: int
    reason: str
    reached: bool
    error_bound: float
    report: dict = dataclasses.field(repr=False)
    plan: str = dataclasses.field(repr=False)

    def __repr__(self) -> str:
        text = f"<stencil.Result: {self.reason} after {self.steps} steps"
        if len(self.residual):
            text += f", residual {self.residual[-1]:.3e}"
        if not np.isnan(self.error_bound):
            text += f", error at most {self.error_bound:.1e}"
        return f"{text}, {self.report['compute_s']:.3g} s by {self.report['sync']}, {self.report['sweep']}>"


class Plan(dict):
    """How a problem would be solved: the members of the library's JSON, among them `sync`, `sweep`, `depth`,
    `predicted` (µs of a step by cause) and `plans`, all that were compared. str() is a few lines for people."""

    def __init__(self, members: dict, text: str):
        super().__init__(members)
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (f"<stencil.Plan: {self['problem']} {tuple(self['extent'])} {self['precision']} by {self['sync']}, "
                f"{self['sweep']} on {self['device']}, {self['predicted']['step_us']:.3g} µs a step>")


class _Sessions:
    """A session of the library for each number of threads; a child of fork() opens its own."""

    def __init__(self):
        self.lock, self.found, self.process = threading.Lock(), {}, os.getpid()

    def get(self, threads):
        if self.process != os.getpid():
            self.__init__()
        with self.lock:
            if threads not in self.found:
                self.found[threads] = lib.make("session", lib.SessionOptions(threads=threads))
            return self.found[threads]


_sessions = _Sessions()


def _int(value, name, bits=32):
    """A whole number that a C integer of so many bits has."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {value!r}") from None
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise ValueError(f"{name} is {number}, which is too large")
    return number


def _doubles(values):
    listed = np.atleast_1d(np.asarray(values, dtype=np.float64)).tolist()
    return (ctypes.c_double * len(listed))(*listed), len(listed)


def _set_text(problem, name, text):
    lib.call("problem_set_text", problem, name.encode(), str(text).encode())


def _set_number(problem, name, value):
    numbers, count = _doubles(value)
    if count == 0:
        raise ValueError(f"{name} is an empty list")
    lib.call("problem_set_number", problem, name.encode(), count, numbers)


def _set_side(problem, name, values, shape):
    """A number of a side, or an array with one for each cell along it: the shape of u without the side's axis."""
    listed = np.asarray(values, dtype=np.float64)
    axis = "xyz".find(name[-2])
    if listed.ndim and (axis < 0 or listed.shape != shape[:len(shape) - 1 - axis] + shape[len(shape) - axis:]):
        raise ValueError(f"{name} has shape {listed.shape}: give a number, or one for each cell along the side")
    _set_number(problem, name, listed.ravel())


def _set_table(problem, name, table):
    rows = np.asarray(table, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"{name} has shape {rows.shape}: give rows of (time, factor)")
    flat, _ = _doubles(rows.ravel())
    lib.call("problem_set_table", problem, name.encode(), len(rows), flat)


def _words(boundary):
    """The words of axes, as a text with commas or a list has them."""
    if isinstance(boundary, str):
        return [word.strip() for word in boundary.split(",")]
    try:
        words = list(boundary)
    except TypeError:
        words = [None]
    if not all(isinstance(word, str) for word in words):
        raise TypeError(f"boundary is a word, one for each axis, or a dict of sides, not {boundary!r}")
    return words


def _set_boundary(problem, boundary):
    if not isinstance(boundary, Mapping):
        boundary = {"": boundary}
    for side, words in boundary.items():
        _set_text(problem, "boundary" if side == "" else f"boundary_{side}", ",".join(_words(words)))


def _unknown(names):
    """The error for keywords that there are not, with the most similar one that there is."""
    known = TEXTS + NUMBERS + SIDES + FIELDS + MARKS + TABLES + ("boundary", "offsets", "weights")
    texts = []
    for name in sorted(names):
        near = difflib.get_close_matches(name, known, 1)
        texts.append(f"{name} (did you mean {near[0]}?)" if near else name)
    return TypeError(f"unknown: {', '.join(texts)}")


def _set_points(problem, rank, offsets, weights):
    rows = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    flat, _ = _doubles(rows.ravel())
    where = None
    if offsets is not None:
        listed = np.asarray(offsets)
        if listed.shape == (rows.size, rank) and np.ndim(weights) == rank and len(rows) > 1:
            raise ValueError(f"weights have shape {np.shape(weights)}, which is [classes][points]: for one weight of "
                             "each point give weights.ravel()")
        if listed.shape != (rows.shape[1], rank) or listed.dtype.kind not in "iu":
            raise ValueError(f"offsets are whole numbers [{rows.shape[1]}][{rank}], one point for each weight")
        where = (ctypes.c_int32 * listed.size)(*(_int(n, "an offset") for n in listed.ravel().tolist()))
    lib.call("problem_set_points", problem, rows.shape[1], where, rows.shape[0], flat)


def _state(shape, dtype, given):
    """A problem of the library, and the arrays that it borrows; takes what it knows out of `given`."""
    extent = (ctypes.c_int64 * len(shape))(*(_int(n, "an extent", 64) for n in shape))
    handle = lib.make("problem", len(shape), extent, np.dtype(dtype).name.encode())
    problem, kept, named = handle.pointer, [], given.get("stencil") is not None
    for name in TEXTS:
        if (text := given.pop(name, None)) is not None:
            _set_text(problem, name, text)
    for name in NUMBERS:
        if (number := given.pop(name, None)) is not None:
            _set_number(problem, name, number)
    if (boundary := given.pop("boundary", None)) is not None:
        _set_boundary(problem, boundary)
    for name in SIDES:
        sides = given.pop(name, None)
        if sides is not None and not isinstance(sides, Mapping):
            raise TypeError(f'{name} is a dict of sides, {{"x-": …}}, not {type(sides).__name__}')
        for side, number in (sides or {}).items():
            _set_side(problem, f"{name}_{side}", number, shape)
    offsets, weights = given.pop("offsets", None), given.pop("weights", None)
    if offsets is not None and weights is None:
        raise ValueError("offsets without weights: give a weight for each point")
    if weights is not None and offsets is None and not named:
        raise ValueError("weights without points: give offsets, or the name of a stencil")
    if weights is not None:
        _set_points(problem, len(shape), offsets, weights)
    for name in TABLES:
        if (table := given.pop(name, None)) is not None:
            _set_table(problem, name, table)
    for name in FIELDS + MARKS:
        if (array := given.pop(name, None)) is not None:
            take = arrays.numbers if name in FIELDS else arrays.marks
            kept.append(take(array, name, shape))
            known = "class" if name == "classes" else name
            lib.call("problem_set_array", problem, known.encode(), arrays.described(kept[-1]))
    if given:
        raise _unknown(given)
    return handle, kept


def _gpus_of(given):
    """The GPU that an array among `given` is on, as `gpus` of a Solver; None: all are on the host."""
    found = [arrays.device_of(array) for array in given]
    found = [device for device in found if device is not None]
    return found[:1] if found else None


def _gpu_options(gpus):
    if gpus is None:
        return {}
    if list(gpus) == [-1]:  # only CUDA knows which one
        return {"device": b"gpu"}
    numbers = (ctypes.c_int32 * len(gpus))(*(_int(gpu, "a GPU") for gpu in gpus))
    return {"gpu": ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int32)), "gpu_count": len(gpus), "device": b"gpu"}


class Solver:
    """A problem and the way to solve it, for many fields of one shape and type; keeps the memory of its runs.

    shape, dtype: of the fields, (ny, nx) or (nz, ny, nx), float32 or float64. threads: of a run on the CPU, 0 for one
    for each processor; for small fields, and where other programs use the processors, 1 is often quicker. sync, sweep,
    device, effort, depth, parts: as the options of the command; None: the quickest.
    gpus: numbers of the GPUs to use; where an array of the problem is on a GPU, that one is the default.
    allow_nonfinite: NaN and infinity are values. bound=False: no bound on the error at the end, for which the host reads
    the whole field. The problem is stated by keywords, see solve(). An object makes one run at a time; several objects
    may run in threads at the same time; a child of fork() makes its own. Arrays of the problem that are float32 or
    float64, truth values or bytes are borrowed, and must not change as long as the object is used; others, and k, are
    copied. Each run begins with step and time 0.
    """

    def __init__(self, shape: Sequence[int], dtype: Any = "float64", *, threads: int = 0, sync: Optional[str] = None,
                 sweep: Optional[str] = None, device: Optional[str] = None, effort: Optional[str] = None,
                 depth: int = 0, parts: int = 0, gpus: Optional[Sequence[int]] = None, allow_nonfinite: bool = False,
                 bound: bool = True, **problem: Any):
        if np.ndim(shape) != 1:
            raise TypeError("shape is (ny, nx) or (nz, ny, nx): give u.shape, u.dtype")
        self.shape, self.dtype = tuple(_int(n, "an extent of shape", 64) for n in shape), np.dtype(dtype)
        if self.dtype not in arrays.TYPES or self.dtype.kind != "f":
            raise TypeError(f"a field has numbers of type float32 or float64, not {self.dtype}")
        self.source = next((name for name in SOURCES if problem.get(name) is not None), None)
        handle, kept = _state(self.shape, self.dtype, dict(problem))
        words = {name: word for name, word in
                 (("sync", sync), ("sweep", sweep), ("device", device), ("effort", effort)) if word is not None}
        for name, word in words.items():
            if not isinstance(word, str):
                raise TypeError(f"{name} is a word, not {word!r}")
        words = {name: word.encode() for name, word in words.items()}
        threads, depth, parts = _int(threads, "threads"), _int(depth, "depth"), _int(parts, "parts")
        if gpus is None and parts == 0 and "device" not in words:
            gpus = _gpus_of(problem.values())
        words.update(_gpu_options(gpus))
        options = lib.PlanOptions(depth=depth, parts=parts, allow_nonfinite=allow_nonfinite, no_bound=not bound, **words)
        session = _sessions.get(threads)
        self._plan = lib.make("plan", session.pointer, handle.pointer, options, keeps=(kept, session))
        made = self.plan
        self._long = made["predicted"]["step_us"] * 1e-6 * made["steps"] >= LONG_S

    @property
    def plan(self) -> Plan:
        """How the next run is made."""
        text = lib.library.stencil_plan_text(self._plan.pointer).decode()
        return Plan(json.loads(lib.library.stencil_plan_json(self._plan.pointer).decode()), text)

    def __repr__(self) -> str:
        return repr(self.plan).replace("stencil.Plan", "stencil.Solver")

    def __call__(self, u: Any, *, out: Any = None, in_place: bool = False,
                 progress: Optional[Callable[[int, float], Any]] = None, **source: Any) -> Result:
        """Runs from the field u, of this shape and type.

        The result goes into a new array, into `out`, or over u where `in_place`. b, f or q: a source in place of the
        one that the problem was stated with. progress: called now and then with the steps done and the last residual
        (NaN before the first), in any thread; the run ends where it returns False, or any false value but None. Ctrl-C
        ends a run between two steps, and raises KeyboardInterrupt.
        """
        if in_place and out is not None:
            raise ValueError("the result goes into u where in_place, or into out: give one of them")
        given = arrays.numbers(u, "u", self.shape, copies=not in_place)
        if given.dtype != self.dtype:
            raise TypeError(f"u is of type {given.dtype}, the solver is for {self.dtype}")
        made = u if in_place else _another(u, given) if out is None else out
        target = given if in_place else arrays.view(made, "out")
        arrays.check_shape(target, "out", self.shape)
        name = "u, in place," if in_place else "out"
        if target.dtype != self.dtype or not arrays.is_writeable(target):
            raise TypeError(f"{name} has to be a writeable array of type {self.dtype}")
        if arrays.overlaps(target):
            raise ValueError(f"{name} has cells in one place: it has to be an array of its own")
        held = [arrays.described(given), arrays.described(target)]
        run = lib.Run(u=ctypes.pointer(held[0]), out=ctypes.pointer(held[1]))
        for name, array in source.items():
            if name != self.source:
                if name not in SOURCES:
                    raise TypeError(f"{name} is stated with the problem: a run may have another source alone")
                raise TypeError(f"{name}: the problem was stated with {self.source or 'no source'}")
            numbers = arrays.numbers(arrays.in_order(array, name, u), name, self.shape)
            held += [numbers, arrays.described(numbers)]
            run.source = ctypes.pointer(held[-1])
        held += [given, target]
        handle = _make(self._plan, run, held, progress, self._long)
        return self._result(handle, target if isinstance(target, np.ndarray) else made, u)

    def _result(self, handle, target, u):
        report = lib.Report()
        lib.call("result_report", handle.pointer, report)
        step, residual = ctypes.POINTER(ctypes.c_int64)(), ctypes.POINTER(ctypes.c_double)()
        count = lib.library.stencil_result_history(handle.pointer, step, residual)
        told = {}
        for name, _ in lib.Report._fields_[1:]:
            value = getattr(report, name)
            told[name] = value.decode() if isinstance(value, bytes) else value
        told["reached"] = bool(told["reached"])
        return Result(u=_like(u, target), residual=np.array(residual[:count], dtype=np.float64),
                      residual_step=np.array(step[:count], dtype=np.int64), steps=report.steps, reason=told["reason"],
                      reached=told["reached"], error_bound=report.error_bound, report=told,
                      plan=lib.library.stencil_plan_text(self._plan.pointer).decode())


def _another(u, given):
    """An array for the result, where u is."""
    return np.empty_like(given) if isinstance(given, np.ndarray) else arrays.devices.empty_like(u)


def _like(u, values):
    """The result as u came: with the names and coordinates of an xarray.DataArray."""
    return u.copy(data=values) if type(u).__module__.startswith("xarray.") else values


def _make(plan, run, held, progress, long):
    """Makes a run; a long one of the main thread in another one, so that Python sees Ctrl-C meanwhile."""
    stop, failures, made, ended = ctypes.c_int(0), [], ctypes.c_void_p(), threading.Event()
    run.stop = ctypes.pointer(stop)

    def watch(_, step, residual):
        try:
            goes_on = progress(step, residual)
            return goes_on is not None and not goes_on
        except BaseException as error:  # raised where the run was called, when it has ended
            failures.append(error)
            return 1

    if progress is not None:
        run.progress = lib.Progress(watch)

    def work():
        _ = held  # the run borrows it, also where the caller no longer waits
        try:
            lib.call("plan_run", plan.pointer, run, made)
        except BaseException as error:
            failures.append(error)
        finally:
            ended.set()

    if threading.current_thread() is threading.main_thread() and (long or progress is not None):
        worker = threading.Thread(target=work, name="stencil", daemon=True)
        try:
            worker.start()
            while not ended.wait(0.05):  # a signal that comes just before a wait does not end it
                pass
        except BaseException:  # Ctrl-C may come before the worker says that it has started
            stop.value = 1
            while not ended.wait(0.01) and (worker.ident is not None or worker.is_alive()):
                pass
            lib.Handle("result", made.value)
            raise
        worker.join()
    else:
        work()
    result = lib.Handle("result", made.value)
    if failures:
        raise failures[0]
    return result


def solve(u: Any, *, problem: Optional[str] = None, out: Any = None, in_place: bool = False,
          progress: Optional[Callable[[int, float], Any]] = None, **how: Any) -> Result:
    """Solves a problem from the initial field u, [ny][nx] or [nz][ny][nx].

    The problem, by keywords (all optional, but one of `problem`, `stencil` and `weights`):
      problem: "laplace", "poisson" (-div grad u = f) or "heat" (du/dt = diffusivity div grad u + q)
      stencil: name of a set of points, whose mean a step takes; weights: [points], or [classes][points]; offsets:
        whole numbers [points][rank], in place of a name
      spacing: distance of cells, in the unit of length, and diffusivity, length² per time: for all axes or each;
        dt: time step; omega: damping; accelerate: "chebyshev"
      f, q, b: source, of the shape of u: right-hand side; value per time; added in each step; q2 to q4, b2 to b4:
        further ones
      k: coefficient of each cell, div(k grad u) in place of div grad u
      q_factor, b_factor, q2_factor …: [rows][2] of (time, factor), what a source is multiplied by in time
      boundary: "fixed", "periodic" or "mirror", for all axes or a list for each ("fixed,mirror" says the same), or a dict
        of sides, {"x-": "flux", "x+": "exchange"}, whose entry "" is for all other sides, a word or a list; "mirror",
        "flux" and "exchange" stand half a cell outside of u, "mirror-node" and the like on its outermost cells; cells at
        "fixed" sides keep the values of u, as many as points reach; flux, exchange, ambient: dicts of sides, of a number
        or an array along the side
      fixed_value, fixed_value2 …: values of cells that keep theirs, NaN for those of u; fixed_value_factor …: tables
      fixed, insulated: truth values of the shape of u; classes: whole numbers, the row of weights of each cell
      steps (1000; 10 000 000 with rtol or atol), time_end, rtol, atol, norm ("l2", "max"), check_every: when to stop;
        with `accelerate` steps are rounded up to whole cycles
    How: threads, sync, sweep, device, effort, depth, parts, gpus, allow_nonfinite, bound: see Solver.

    A run begins with step and time 0. Many runs of one problem are quicker by a Solver: this makes one each time, and a
    plan, which takes milliseconds.

    u of float32 or float64 is not copied, and not changed unless `in_place`; other numbers become float64. An
    xarray.DataArray gives one; arrays of the problem whose dimensions have names are brought into the order of u's. An
    array on a CUDA device (with __dlpack__ or __cuda_array_interface__, as those of
    CuPy, PyTorch, JAX and Numba) is solved there, and gives another one of the same library; arrays for sources may be on
    that device or on the host. Raises ValueError for problems that contradict themselves, NotAvailable.
    """
    if problem is not None:
        how["problem"] = problem
    for name in FIELDS + MARKS:
        if how.get(name) is not None:
            how[name] = arrays.in_order(how[name], name, u)
    given = arrays.numbers(u, "u", copies=not in_place)
    on_gpu = not isinstance(given, np.ndarray)
    if on_gpu and not any(how.get(name) for name in ("gpus", "device", "parts")):
        how["gpus"] = _gpus_of([u])
    solver = Solver(given.shape, given.dtype, **how)
    if on_gpu:
        return solver(u, out=out, in_place=in_place, progress=progress)
    result = solver(given, out=out, in_place=in_place, progress=progress)
    return dataclasses.replace(result, u=_like(u, result.u)) if given is not u else result


def plan(shape: Sequence[int], dtype: Any = "float64", **how: Any) -> Plan:
    """How a problem on fields of this shape would be solved, with predicted times; keywords as of solve()."""
    return Solver(shape, dtype, **how).plan


def strategies() -> list[str]:
    """Names of the ways to keep steps in order, for `sync`."""
    return lib.names("sync")


def stencils() -> list[str]:
    """Names of the sets of points, for `stencil`."""
    return lib.names("stencil")


def sweeps() -> list[str]:
    """Names of the ways to make steps, for `sweep`."""
    return lib.names("sweep")


def write(path: Any, u: Any, **problem: Any) -> None:
    """Writes a problem file, docs/format.md, for the command, in place of a file of that name; keywords as of solve(),
    and time and steps_total, from which a run goes on. Needs h5py."""
    import h5py

    state = {name: value for name, value in problem.items() if name not in ("time", "steps_total")}
    field = arrays.numbers(arrays.view(u, "u"), "u")
    _state(field.shape, field.dtype, state)  # refuses what solve() would
    problem = {name: arrays.in_order(value, name, u) if name in FIELDS + MARKS else value
               for name, value in problem.items() if value is not None}
    datasets = {"class" if name == "classes" else name: arrays.view(problem.pop(name), name) for name in
                FIELDS + MARKS + TABLES if name in problem}
    for name in ("offsets", "weights"):
        if name in problem:
            datasets[f"stencil/{name}"] = np.asarray(problem.pop(name))
    for name in ("boundary",) + SIDES:
        if isinstance(problem.get(name), Mapping):
            for side, value in problem.pop(name).items():
                key = f"{name}_{side}" if side else name
                if side and name != "boundary" and np.ndim(value):
                    datasets[key] = arrays.view(value, key)
                else:
                    problem[key] = value
    if "boundary" in problem:
        problem["boundary"] = _words(problem["boundary"])
    for name in set(problem) & set(NUMBERS + ("time", "steps_total")):
        numbers = np.asarray(problem[name], dtype=np.float64)
        whole = name in ("steps", "check_every", "steps_total") and numbers.ndim == 0
        problem[name] = int(numbers) if whole else numbers
    datasets["u"] = arrays.view(u, "u")
    part = f"{os.fspath(path)}.part{os.getpid()}"  # a file of this name stays as it is if a value cannot be written
    try:
        with h5py.File(part, "w") as file:
            for name, values in datasets.items():
                file[name] = values
            for name, value in problem.items():
                file.attrs[name] = value
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


def read(path: Any) -> tuple[np.ndarray, dict]:
    """The field of a problem or result file and its attributes; sources, marks and tables are datasets. Needs h5py."""
    import h5py

    with h5py.File(path, "r") as file:
        attributes = {name: value for name, value in file.attrs.items() if not isinstance(value, h5py.Reference)}
        field = attributes.get("field", "/u")
        return file[field][()], attributes


def _decoded(value):
    """A text, or a list of them, as h5py and others store them."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray) and value.dtype.kind in "SO":
        return [_decoded(word) for word in value.tolist()]
    return value


def _stored(dataset, h5py):
    """The numbers that a dataset stands for, docs/format.md: packed ones are unpacked, missing ones refused."""
    values, about, name = dataset[()], dataset.attrs, dataset.name
    packing = {key: np.asarray(about[key]) for key in ("scale_factor", "add_offset") if key in about}
    limits = [key for key in ("valid_range", "valid_min", "valid_max") if key in about]
    if "_Unsigned" in about or (packing and limits):
        raise ValueError(f"{name} has the attribute {'_Unsigned' if '_Unsigned' in about else limits[0]}: give its numbers as "
                         "they are meant, without attributes")
    missing = [number for key in ("_FillValue", "missing_value") if key in about for number in np.ravel(about[key])]
    fill = dataset.fillvalue
    if not missing and dataset.id.get_create_plist().fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED and (
            fill != fill or abs(fill) >= 1e30 or fill in NO_VALUES):
        missing = [fill]
    low, high = about.get("valid_range", (about.get("valid_min", -np.inf), about.get("valid_max", np.inf)))
    bad = sum(((values == number) | ((number != number) & (values != values)) for number in missing),
              np.zeros(values.shape, bool)) | (values < low) | (values > high)
    if bad.any():
        raise ValueError(f"{name} has {np.count_nonzero(bad)} missing values: fill them, and leave out cells by fixed or "
                         "insulated")
    if not packing:
        return values
    wide = np.result_type(*(number.dtype for number in packing.values()))
    unpacked = values * float(packing.get("scale_factor", 1)) + float(packing.get("add_offset", 0))
    return unpacked.astype(wide if wide.kind == "f" else np.float64)


def load(path: Any) -> tuple[np.ndarray, dict]:
    """The field of a problem or result file and its problem, keywords of solve() and write(): the inverse of write().

        u, problem = stencil.load("p.h5")
        result = stencil.solve(u, **problem)

    read() has its other attributes, such as time and steps_total: solve() begins with step and time 0. Needs h5py."""
    import h5py

    with h5py.File(path, "r") as file:
        attributes = {name: _decoded(value) for name, value in file.attrs.items()
                      if not isinstance(value, h5py.Reference)}
        u = _stored(file[attributes.get("field", "/u")], h5py)
        problem = {name: attributes[name] for name in TEXTS + NUMBERS + ("boundary",) if name in attributes}
        sides = {name: value for name, value in attributes.items() if name[-1:] in ("-", "+")}
        sides.update((name, file[name][()]) for name in file if name[-1:] in ("-", "+"))
        for name in FIELDS + MARKS + TABLES:
            stored = "class" if name == "classes" else name
            if stored in file:
                problem[name] = _stored(file[stored], h5py) if name in FIELDS else file[stored][()]
        for name in ("offsets", "weights"):
            if f"stencil/{name}" in file:
                problem[name] = file[f"stencil/{name}"][()]
    for name in ("boundary",) + SIDES:
        found = {key[-2:]: value for key, value in sides.items() if key[:-2] == f"{name}_"}
        if found and name in problem:
            found[""] = problem[name]
        if found:
            problem[name] = found
    return u, problem
