"""The Python module: the bits of the command, no copies that nobody asked for, Ctrl-C, fork, threads, README."""
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "app"), str(ROOT / "python")]
if os.environ.get("STENCIL_SLOW") == "1":
    print("skipped: the interpreter has not the sanitizers' runtime that the library needs")
    sys.exit(77)
import stencil  # noqa: E402
from harness import CommandTest, field  # noqa: E402


class Bits(CommandTest):
    def same(self, u, how=(), **problem):
        stencil.write(self.path("p.h5"), u, **problem)
        self.call("p.h5", "--force", "-o", "r.h5", "--device", "cpu", *how)
        result = stencil.solve(u, device="cpu", **problem)
        self.assertEqual(result.u.tobytes(), self.read("r.h5").tobytes())
        self.assertEqual(result.residual.tobytes(), self.read("r.h5", "residual").tobytes())
        self.assertEqual(result.residual_step.tolist(), self.read("r.h5", "residual_step").tolist())
        for name in ("p.h5", "r.h5"):  # a result has the problem that it is of
            loaded, again = stencil.load(self.path(name))
            self.assertEqual(loaded.tobytes(), (u if name == "p.h5" else result.u).tobytes())
            self.assertEqual(stencil.solve(u, device="cpu", **again).u.tobytes(), result.u.tobytes(), name)
        return result

    def test_of_the_command(self):
        u = field(37, 52)
        self.same(u, problem="heat", time_end=9.0, q=field(37, 52), boundary={"x-": "flux", "x+": "exchange"},
                  flux={"x-": -0.5}, exchange={"x+": 0.3}, ambient={"x+": 2.0})
        self.same(u, problem="poisson", f=field(37, 52)[::-1], rtol=1e-4, accelerate="chebyshev:16",
                  fixed=field(37, 52) < 0.05)
        self.same(u.astype("f4"), stencil="j2d9pt", boundary=["mirror", "periodic"], steps=30, b=field(37, 52))
        self.same(field(12, 13, 14), problem="laplace", spacing=[1, 0.5, 0.25], omega=0.8, rtol=1e-3,
                  insulated=field(12, 13, 14) < 0.1)
        self.same(u, offsets=[[0, 0], [0, 1], [-2, 0]], weights=[[0.5, 0.25, 0.25], [0.1, 0.2, 0.3]],
                  classes=(field(37, 52) * 2).astype(int), steps=9, boundary="periodic")
        self.same(u, stencil="j2d9pt", weights=np.random.default_rng(3).uniform(-0.1, 0.1, (256, 9)), steps=9,
                  classes=(field(37, 52) * 255.99).astype(int), insulated=field(37, 52)[::-1] < 0.1)

    def test_of_coefficients_and_values_in_time(self):
        u = field(37, 52)
        self.same(u, problem="poisson", k=field(37, 52) + 0.1, f=field(37, 52), rtol=1e-2)
        self.same(u, problem="heat", k=np.where(field(37, 52) < 0.5, 1, 4).astype("f4"), steps=20, boundary="mirror")
        edge = np.full(u.shape, np.nan)
        edge[:, 0] = 1
        self.same(u, problem="heat", steps=20, q=u, q_factor=[[0, 1], [2, 3], [2, 0]], q2=u[::-1], fixed_value=edge,
                  fixed_value_factor=[[0, 0], [4, 2]])
        self.same(u, problem="heat", steps=20, boundary={"": "mirror", "x-": "flux", "y+": "exchange"},
                  flux={"x-": np.arange(37.0)}, exchange={"y+": 0.5}, ambient={"y+": np.arange(52.0)})

    def test_of_arrays_in_one_place(self):
        """np.broadcast_to() of one number has strides of 0 along all axes."""
        u = field(40, 64)
        one = np.broadcast_to(np.float64(0.5), u.shape)
        wanted = stencil.solve(u, problem="heat", q=one.copy(), steps=9).u
        np.testing.assert_array_equal(stencil.solve(u, problem="heat", q=one, steps=9).u, wanted)
        np.testing.assert_array_equal(stencil.solve(u, problem="heat", q=one, fixed=np.broadcast_to(False, u.shape),
                                                    steps=9).u, wanted)
        solver = stencil.Solver(u.shape, problem="heat", q=u, steps=9)
        np.testing.assert_array_equal(solver(u, q=one).u, wanted)
        np.testing.assert_array_equal(stencil.solve(one, problem="heat", steps=3).u, one)
        np.testing.assert_array_equal(stencil.solve(u, problem="heat", k=np.broadcast_to(1.0, u.shape), steps=9).u,
                                      stencil.solve(u, problem="heat", k=np.ones(u.shape), steps=9).u)
        place = np.lib.stride_tricks.as_strided(np.zeros(64), u.shape, (0, 8))
        for how in ({"out": place}, {"out": np.lib.stride_tricks.as_strided(np.zeros(1), u.shape, (0, 0))}):
            with self.assertRaisesRegex(ValueError, "cells in one place"):
                stencil.solve(u, problem="heat", steps=3, **how)
        with self.assertRaisesRegex(ValueError, "cells in one place"):
            stencil.solve(place, problem="heat", steps=3, in_place=True)
        still = u.copy()
        still.flags.writeable = False
        with self.assertRaisesRegex(TypeError, "u, in place, has to be a writeable"):
            stencil.solve(still, problem="heat", steps=3, in_place=True)

    def test_files_that_others_write(self):
        """Texts of fixed length, packed numbers, a wall beside a list per axis, as the command takes them."""
        u = (field(20, 30) * 1000).astype("i2")
        with h5py.File(self.path("o.h5"), "w") as file:
            file["u"] = u
            file["u"].attrs.update(scale_factor=0.001, add_offset=5.0)
            file.attrs.update({"problem": np.bytes_("heat"), "steps": 7, "boundary": np.array([b"fixed", b"mirror"]),
                               "boundary_y-": "flux", "flux_y-": 3.0})
        self.ok("o.h5", "-q", "--device", "cpu")
        loaded, problem = stencil.load(self.path("o.h5"))
        self.assertEqual(stencil.solve(loaded, **problem).u.tobytes(), self.read("o.out.h5").tobytes())
        stencil.write(self.path("w.h5"), loaded, **problem)
        self.ok("w.h5", "-q", "--device", "cpu")
        self.assertEqual(self.read("w.out.h5").tobytes(), self.read("o.out.h5").tobytes())
        for name, value in (("_FillValue", u[3, 4]), ("valid_min", -1), ("_Unsigned", "true")):
            with h5py.File(self.path("o.h5"), "r+") as file:
                file["u"].attrs[name] = value
            with self.assertRaisesRegex(ValueError, "/u has "):
                stencil.load(self.path("o.h5"))
            with h5py.File(self.path("o.h5"), "r+") as file:
                del file["u"].attrs[name]

    def test_written_as_solve_takes_it(self):
        u = field(20, 30)
        self.same(u, problem="heat", boundary="fixed, periodic", steps="5")
        self.same(u, problem="heat", boundary={"": ["fixed", "mirror"], "y-": "flux"}, flux={"y-": 1.0}, steps=True)
        before = pathlib.Path(self.path("p.h5")).read_bytes()
        for error, keywords in ((TypeError, {"time": object()}), (ValueError, {"spacing": []}), (ValueError, {"time": "abc"})):
            with self.assertRaises(error):
                stencil.write(self.path("p.h5"), u, problem="heat", **keywords)
        self.assertEqual(pathlib.Path(self.path("p.h5")).read_bytes(), before)
        self.assertEqual([name for name in os.listdir(self.directory) if "part" in name], [])

    def test_of_every_strategy_and_sweep(self):
        u = field(40, 64)
        wanted = stencil.solve(u, problem="heat", steps=23).u.tobytes()
        tried = 0
        for sync in stencil.strategies():
            for sweep in stencil.sweeps():
                try:
                    made = stencil.solve(u, problem="heat", steps=23, sync=sync, sweep=sweep, device="cpu")
                except (stencil.NotAvailable, ValueError):
                    continue
                self.assertEqual((made.u.tobytes(), made.report["sync"], made.report["sweep"]), (wanted, sync, sweep))
                tried += 1
        self.assertGreater(tried, 20)


class Arrays(CommandTest):
    def test_new_in_place_or_out(self):
        u, before = field(30, 40), field(30, 40)
        result = stencil.solve(u, problem="heat", steps=5)
        self.assertTrue((u == before).all() and not (result.u == before).all())
        out = np.empty((40, 30)).T
        self.assertIs(stencil.solve(u, problem="heat", steps=5, out=out).u, out)
        np.testing.assert_array_equal(out, result.u)
        self.assertIs(stencil.solve(u, problem="heat", steps=5, in_place=True).u, u)
        np.testing.assert_array_equal(u, result.u)

    def test_of_any_layout(self):
        u = field(2 * 30, 3 * 40)
        wanted = stencil.solve(np.ascontiguousarray(u[::-2, ::3]), problem="heat", steps=5).u
        np.testing.assert_array_equal(stencil.solve(u[::-2, ::3], problem="heat", steps=5).u, wanted)
        np.testing.assert_array_equal(stencil.solve(np.asfortranarray(u[::-2, ::3]), problem="heat", steps=5).u, wanted)
        np.testing.assert_array_equal(stencil.solve(u[::-2, ::3].astype(">f8"), problem="heat", steps=5).u, wanted)

    def test_no_copies(self):
        """In place, memory grows by the two fields of a run; otherwise by the result, too."""
        code = """
import resource, sys
import numpy as np, stencil
n, in_place = 1500, sys.argv[1] == "1"
stencil.solve(np.ones((64, 64)), problem="heat", steps=2)
u = np.sin(np.arange(n * n, dtype="f8")).reshape(n, n)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
stencil.solve(u, problem="heat", steps=2, in_place=in_place, sweep="stream", threads=1)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / u.nbytes)
"""
        for in_place, most in ((1, 2.6), (0, 3.6)):
            made = subprocess.run([sys.executable, "-c", code, str(in_place)], capture_output=True, encoding="utf-8",
                                  env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, check=False)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertLess(float(made.stdout), most)

    def test_xarray(self):
        try:
            import xarray
        except ImportError:
            self.skipTest("no xarray")
        u = xarray.DataArray(field(20, 30), dims=("y", "x"), coords={"x": np.arange(30) / 2}, name="temperature")
        result = stencil.solve(u, problem="heat", steps=3).u
        self.assertEqual((result.dims, result.name), (("y", "x"), "temperature"))
        np.testing.assert_array_equal(result.x, u.x)
        np.testing.assert_array_equal(result.values, stencil.solve(u.values, problem="heat", steps=3).u)

    def test_names_of_dimensions(self):
        try:
            import xarray
        except ImportError:
            self.skipTest("no xarray")
        u, f = xarray.DataArray(field(20, 20), dims=("y", "x")), xarray.DataArray(field(20, 20), dims=("x", "y"))
        solver = stencil.Solver(u.shape, problem="poisson", f=np.zeros(u.shape), steps=3)
        wanted = stencil.solve(u.values, problem="poisson", f=f.values.T, steps=3).u
        np.testing.assert_array_equal(stencil.solve(u, problem="poisson", f=f, steps=3).u.values, wanted)
        np.testing.assert_array_equal(solver(u, f=f).u.values, wanted)
        stencil.write(self.path("p.h5"), u, problem="poisson", f=f)
        np.testing.assert_array_equal(self.read("p.h5", "f"), f.values.T)
        with self.assertRaisesRegex(ValueError, r"f has the dimensions \('x', 'lat'\)"):
            stencil.solve(u, problem="poisson", f=f.rename(y="lat"))

    def test_of_a_gpu_are_refused_without_one(self):
        """Where there is one: tests/library/device_test.py."""
        if "gpu" in stencil.plan((20, 30), problem="heat", steps=1)["device"].lower():
            self.skipTest("here is one")
        u = field(20, 30)

        class OfGpu:
            __cuda_array_interface__ = {"shape": u.shape, "typestr": "<f8", "data": (u.ctypes.data, False), "version": 3}
        for how in ({}, {"device": "cpu"}):
            with self.assertRaisesRegex(stencil.NotAvailable, "GPU"):
                stencil.solve(OfGpu(), problem="heat", out=u, **how)


class Errors(unittest.TestCase):
    def test_say_what_is_wrong(self):
        u = field(20, 30)
        for error, text, keywords in ((ValueError, "give one of laplace", {"problem": "heatt"}),
                                      (TypeError, "unknown: colour", {"problem": "heat", "colour": 1}),
                                      (ValueError, "unstable", {"problem": "heat", "dt": 9}),
                                      (ValueError, "shape", {"problem": "poisson", "f": u[1:]}),
                                      (ValueError, "sync is 'turbo'", {"problem": "heat", "sync": "turbo"})):
            with self.assertRaisesRegex(error, text):
                stencil.solve(u, **keywords)
        for keywords in ({"insulated": u < 0.05}, {"boundary": {"": "mirror", "x-": "flux"}, "flux": {"x-": 1.0}}):
            with self.assertRaisesRegex(ValueError, "there is no solution"):
                stencil.solve(u, problem="poisson", f=np.ones_like(u), rtol=1e-3, **{"boundary": "mirror", **keywords})
        with self.assertRaisesRegex(ValueError, r"flux_x- has shape \(7,\)"):
            stencil.solve(u, problem="heat", boundary={"x-": "flux"}, flux={"x-": np.ones(7)})
        with self.assertRaisesRegex(ValueError, "q3, and not all arrays before it, from q on"):
            stencil.solve(u, problem="heat", q=u, q3=u)
        with self.assertRaisesRegex(ValueError, "b_factor, and no array that it is a factor of"):
            stencil.solve(u, problem="heat", q=u, b_factor=[[0, 1]])
        for error, text, keywords in (
                (TypeError, r"stpes \(did you mean steps\?\)", {"problem": "heat", "stpes": 1}),
                (ValueError, "weights without points", {"weights": [0.5, 0.5]}),
                (ValueError, r"give weights.ravel\(\)", {"weights": np.full((2, 2), 0.25),
                                                         "offsets": [[0, 0], [0, 1], [1, 0], [1, 1]]}),
                (TypeError, "flux is a dict of sides", {"problem": "heat", "flux": 3.0}),
                (ValueError, "f has masked values", {"problem": "poisson", "f": np.ma.masked_less(u, 0.5)}),
                (ValueError, "in_place, or into out", {"problem": "heat", "in_place": True, "out": u.copy()})):
            with self.assertRaisesRegex(error, text):
                stencil.solve(u, **keywords)
            if text[0] not in "i":
                with self.assertRaisesRegex(error, text):
                    stencil.write("refused.h5", u, **keywords)
        self.assertFalse(os.path.exists("refused.h5"))
        for error, text, keywords in ((ValueError, "threads is 1099511627776", {"threads": 2**40}),
                                      (TypeError, "sync is a word", {"sync": 5}),
                                      (TypeError, "boundary is a word", {"boundary": 5}),
                                      (ValueError, "omega is for problem laplace and poisson", {"omega": 0.5}),
                                      (ValueError, "accelerate is for problem laplace", {"accelerate": "chebyshev"}),
                                      (ValueError, "dt is for problem heat: it has no effect on laplace",
                                       {"problem": "laplace", "dt": 0.1}),
                                      (ValueError, "spacing is for .* no effect on given weights",
                                       {"problem": None, "stencil": "j2d5pt", "spacing": 0.1}),
                                      (ValueError, "an offset is 4294967296", {"problem": None, "weights": [1.0],
                                                                               "offsets": [[0, 2**32]]})):
            with self.assertRaisesRegex(error, text):
                stencil.solve(u, **{"problem": "heat", **keywords})
        with self.assertRaisesRegex(ValueError, "too large"):
            stencil.Solver((2**64 + 5, 5), problem="heat")
        with self.assertRaisesRegex(TypeError, "whole number"):
            stencil.Solver((5.7, 5), problem="heat")
        with self.assertRaisesRegex(ValueError, "u has masked values"):
            stencil.solve(np.ma.masked_less(u, 0.5), problem="heat")
        with self.assertRaisesRegex(TypeError, "give u.shape"):
            stencil.Solver(u, problem="heat")
        with self.assertRaisesRegex(TypeError, "steps is stated with the problem"):
            stencil.Solver(u.shape, problem="heat")(u, steps=9)
        u[3, 4] = np.nan
        with self.assertRaisesRegex(ValueError, r"u\[3, 4\] is NaN"):
            stencil.solve(u, problem="heat")
        with self.assertRaisesRegex(TypeError, "in place"):
            stencil.solve(np.ones((9, 9), int), problem="heat", in_place=True)


class Runs(unittest.TestCase):
    def test_solver_again_and_again(self):
        solver = stencil.Solver((30, 40), problem="poisson", f=np.zeros((30, 40)), rtol=1e-3)
        for seed in range(3):
            f = np.random.default_rng(seed).random((30, 40))
            made, wanted = solver(np.zeros((30, 40)), f=f), stencil.solve(np.zeros((30, 40)), problem="poisson", f=f,
                                                                          rtol=1e-3)
            self.assertEqual((made.u.tobytes(), made.steps), (wanted.u.tobytes(), wanted.steps))
        with self.assertRaisesRegex(TypeError, "stated with f"):
            solver(np.zeros((30, 40)), q=f)

    def test_progress(self):
        seen = []
        result = stencil.solve(field(64, 64), problem="heat", steps=10 ** 6, threads=1,
                               progress=lambda step, residual: seen.append(step) or len(seen) < 3)
        self.assertEqual((result.reason, result.reached), ("interrupted", False))
        self.assertGreaterEqual(result.steps, seen[2])

        for stops, reason in ((np.False_, "interrupted"), (0, "interrupted"), (None, "steps"), (np.True_, "steps")):
            self.assertEqual(stencil.solve(field(64, 64), problem="heat", steps=20000, threads=1,
                                           progress=lambda step, residual: stops).reason, reason)

        def fails(step, residual):
            raise ZeroDivisionError("of the caller")
        with self.assertRaisesRegex(ZeroDivisionError, "of the caller"):
            stencil.solve(field(64, 64), problem="heat", steps=10 ** 6, progress=fails)

    def test_interrupt(self):
        """Ctrl-C ends runs that would take minutes, at whatever moment it comes."""
        for delay in (0.5, *np.random.default_rng(1).uniform(0, 0.1, 49)):
            timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
            begin = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                timer.start()
                stencil.solve(field(700, 700), problem="heat", steps=10 ** 7)
            self.assertLess(time.monotonic() - begin, 60)

    def test_threads_go_on_meanwhile(self):
        """The interpreter's lock is given up: another thread counts while a run is made."""
        ended, counted = threading.Event(), []

        def count():
            while not ended.is_set():
                counted.append(1)
                time.sleep(1e-3)
        thread = threading.Thread(target=count)
        thread.start()
        before = len(counted)
        stencil.Solver((300, 300), problem="heat", steps=2000, threads=1)(field(300, 300))
        during = len(counted) - before
        ended.set()
        thread.join()
        self.assertGreater(during, 5)

    def test_two_threads_two_problems(self):
        results = {}

        def work(kind):
            u = field(50, 60)
            results[kind] = [stencil.solve(u, problem=kind, steps=60, threads=2).u.tobytes() for _ in range(5)]
        threads = [threading.Thread(target=work, args=(kind,)) for kind in ("heat", "laplace")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for kind, made in results.items():
            self.assertEqual(set(made), {stencil.solve(field(50, 60), problem=kind, steps=60).u.tobytes()})

    def test_fork(self):
        u = field(50, 60)
        solver = stencil.Solver(u.shape, problem="heat", steps=30, threads=2)
        wanted = solver(u).u.tobytes()
        process = os.fork()
        if process == 0:
            signal.alarm(60)
            code = 1
            try:
                solver(u)
            except stencil.NotAvailable:
                code = 0 if stencil.solve(u, problem="heat", steps=30).u.tobytes() == wanted else 2
            os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), 0)

    def test_texts(self):
        plan = stencil.plan((64, 64), problem="heat", steps=10)
        self.assertRegex(repr(plan), r"^<stencil.Plan: heat \(64, 64\) float64 by .* µs a step>$")
        self.assertIn("predicted", str(plan))
        self.assertGreater(len(plan["plans"]), 10)
        self.assertRegex(repr(stencil.solve(field(20, 20), problem="laplace", rtol=1e-2)),
                         r"^<stencil.Result: converged_rtol after \d+ steps, residual .*, error at most .* s by .*>$")

    def test_a_thousand_calls_leave_no_memory(self):
        solver, u = stencil.Solver((64, 64), problem="heat", steps=3, threads=1), field(64, 64)

        def most():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(200):
            solver(u)
        before = most()
        for _ in range(1000):
            solver(u)
        self.assertLess(most() - before, 1024)  # KiB; a field has 32


class Readme(CommandTest):
    def test_example(self):
        """The example in README prints what README says."""
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        code, printed = re.search(r"```python\nimport numpy as np, stencil\n(.*?)```\n\n```\n(.*?)```", text,
                                  re.DOTALL).groups()
        made = subprocess.run([sys.executable, "-c", "import numpy as np, stencil\n" + code], capture_output=True,
                              encoding="utf-8", env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, check=False)
        self.assertEqual((made.stdout, made.stderr), (printed, ""))


if __name__ == "__main__":
    unittest.main()
