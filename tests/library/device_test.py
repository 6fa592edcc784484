"""Arrays in the memory of a GPU through the Python module, with neither CuPy nor PyTorch: arrays of this file's own,
in memory of the CUDA driver (or of the emulated GPU), that have one of the two protocols.

On a machine with a GPU, numpy and a shared library built with CUDA:
    STENCIL_LIBRARY=build/release/library/libstencil.so.1 python3 tests/library/device_test.py
"""
import ctypes
import gc
import importlib
import json
import os
import pathlib
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import stencil  # noqa: E402
from stencil import _devices  # noqa: E402


class Runtime:
    """Memory by the CUDA runtime's functions, which the program has: the emulated GPU."""

    emulated = True

    def __init__(self):
        self.of = ctypes.CDLL("")
        count = ctypes.c_int()
        self.must(self.of.cudaGetDeviceCount(ctypes.byref(count)))

    @staticmethod
    def must(error):
        if error != 0:
            raise OSError(f"CUDA error {error}")

    def new(self, size):
        address = ctypes.c_void_p()
        self.must(self.of.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(size)))
        return address.value

    def free(self, address):
        self.must(self.of.cudaFree(ctypes.c_void_p(address)))

    def put(self, address, values):
        self.must(self.of.cudaMemcpy(ctypes.c_void_p(address), ctypes.c_void_p(values.ctypes.data),
                                     ctypes.c_size_t(values.nbytes), 1))

    def get(self, values, address):
        self.must(self.of.cudaMemcpy(ctypes.c_void_p(values.ctypes.data), ctypes.c_void_p(address),
                                     ctypes.c_size_t(values.nbytes), 2))


class Driver(Runtime):
    """Memory by the driver, in the context that the runtime of the library uses, too."""

    emulated = False

    def __init__(self):
        self.of, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
        self.must(self.of.cuInit(0))
        self.must(self.of.cuDeviceGet(ctypes.byref(device), 0))
        self.must(self.of.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.must(self.of.cuCtxSetCurrent(context))

    def new(self, size):
        address = ctypes.c_uint64()
        self.must(self.of.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
        return address.value

    def free(self, address):
        self.must(self.of.cuMemFree_v2(ctypes.c_uint64(address)))

    def put(self, address, values):
        self.must(self.of.cuMemcpyHtoD_v2(ctypes.c_uint64(address), ctypes.c_void_p(values.ctypes.data),
                                          ctypes.c_size_t(values.nbytes)))

    def free_bytes(self):
        free, whole = ctypes.c_size_t(), ctypes.c_size_t()
        self.must(self.of.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(whole)))
        return free.value

    def get(self, values, address):
        self.must(self.of.cuMemcpyDtoH_v2(ctypes.c_void_p(values.ctypes.data), ctypes.c_uint64(address),
                                          ctypes.c_size_t(values.nbytes)))


def find_cuda():
    try:
        return Runtime() if hasattr(ctypes.CDLL(""), "cudaMalloc") else Driver()
    except (OSError, AttributeError):
        return None


cuda = find_cuda()


class Namespace:
    @staticmethod
    def empty_like(array):
        return type(array)(np.zeros(array.shape, array.dtype))


class Own:
    """An array in the memory of the GPU, C order, or as `values` has its strides."""

    def __init__(self, values):
        base = values if values.base is None or not isinstance(values.base, np.ndarray) else values.base
        base = base if base.flags.c_contiguous else np.ascontiguousarray(values)
        if base.size < values.size:
            base = values
        self.base, self.shape, self.dtype, self.strides = base, values.shape, values.dtype, values.strides
        self.address = cuda.new(base.nbytes)
        self.at = self.address + values.ctypes.data - base.ctypes.data
        self.asked, self.read_only = [], False
        cuda.put(self.address, base)

    def __array_namespace__(self):
        return Namespace

    def host(self):
        """The cells, copied to the host."""
        bytes_ = np.empty(self.base.nbytes, np.uint8)
        cuda.get(bytes_, self.address)
        return np.ndarray(self.shape, self.dtype, bytes_, self.at - self.address, self.strides)

    def __del__(self):
        cuda.free(self.address)


class Interface(Own):
    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.at, self.read_only), "version": 3,
                "strides": self.strides, "stream": None}


class Managed(ctypes.Structure):
    """DLManagedTensor without a deleter."""

    _fields_ = [("tensor", _devices._Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor(Own):
    def __dlpack_device__(self):
        return _devices.CUDA, 0

    def __dlpack__(self, stream=None):
        self.asked.append(stream)
        rank, size = len(self.shape), self.dtype.itemsize
        code = {"i": 0, "u": 1, "f": 2, "b": 6}[self.dtype.kind]
        self.kept = ((ctypes.c_int64 * rank)(*self.shape), (ctypes.c_int64 * rank)(*(n // size for n in self.strides)))
        shape, strides = (ctypes.cast(array, ctypes.POINTER(ctypes.c_int64)) for array in self.kept)
        self.managed = Managed(tensor=_devices._Tensor(self.address, _devices.CUDA, 0, rank, code, 8 * size, 1, shape,
                                                       strides, self.at - self.address))
        return new_capsule(ctypes.addressof(self.managed), b"dltensor", None)


def peak_bytes():
    """The most memory of the host that this process has had."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def field(*shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape)


@unittest.skipIf(cuda is None, "no GPU")
class OnGpu(unittest.TestCase):
    def same(self, made, wanted):
        self.assertEqual(made.u.host().tobytes(), wanted.u.tobytes())
        self.assertEqual((made.steps, made.reason, made.residual.tobytes()),
                         (wanted.steps, wanted.reason, wanted.residual.tobytes()))

    def test_new_arrays_of_the_same_library(self):
        for kind in (Interface, Tensor):
            for u in (field(37, 50), field(12, 13, 20).astype("f4"), field(60, 81)[::2, ::3], field(20, 30).T):
                given = kind(u)
                made = stencil.solve(given, problem="heat", steps=9)
                self.assertIs(type(made.u), kind)
                self.assertNotIn("threads", made.report["device"])
                self.same(made, stencil.solve(np.ascontiguousarray(u), problem="heat", steps=9, device="cpu"))
                self.assertEqual(given.host().tobytes(), u.tobytes())

    def test_in_place_and_out(self):
        u = field(40, 50)
        wanted = stencil.solve(u, problem="heat", steps=7, device="cpu")
        given = Tensor(u)
        self.assertIs(stencil.solve(given, problem="heat", steps=7, in_place=True).u, given)
        self.assertEqual(given.host().tobytes(), wanted.u.tobytes())
        self.assertTrue(given.asked and set(given.asked) == {_devices.LEGACY_STREAM})
        out = Interface(np.zeros((40, 50)))
        self.assertIs(stencil.solve(Interface(u), problem="heat", steps=7, out=out).u, out)
        self.assertEqual(out.host().tobytes(), wanted.u.tobytes())
        host = np.zeros((40, 50))
        self.assertIs(stencil.solve(Interface(u), problem="heat", steps=7, out=host).u, host)
        self.assertEqual(host.tobytes(), wanted.u.tobytes())
        self.assertIs(stencil.solve(u, problem="heat", steps=7, out=out, device="gpu").u, out)

    def test_other_arrays(self):
        u, f, fixed = field(30, 41), field(30, 41) / 10, field(30, 41) < -0.8
        how = {"problem": "poisson", "rtol": 1e-2, "boundary": ["mirror", "fixed"]}
        wanted = stencil.solve(u, f=f, device="cpu", **how)
        self.same(stencil.solve(Tensor(u), f=Interface(f), **how), wanted)
        self.same(stencil.solve(Tensor(u), f=f, **how), wanted)
        bare = stencil.solve(Tensor(u), f=Tensor(f), bound=False, **how)
        self.same(bare, wanted)
        self.assertTrue(np.isnan(bare.error_bound) and not np.isnan(wanted.error_bound))
        wanted = stencil.solve(u, f=f, fixed=fixed, device="cpu", **how)
        self.same(stencil.solve(Tensor(u), f=Interface(f), fixed=Tensor(fixed), **how), wanted)

    def test_solver_again_and_again(self):
        u, q = field(30, 41), field(30, 41)
        solver = stencil.Solver(u.shape, problem="heat", steps=5, q=Tensor(np.zeros(u.shape)))
        for seed in range(3):
            source = q * seed
            wanted = stencil.solve(u, problem="heat", steps=5, q=source, device="cpu")
            self.same(solver(Tensor(u), q=Interface(source)), wanted)
            self.same(solver(Tensor(u), q=source), wanted)

    def test_refusals(self):
        u = field(20, 30)
        with self.assertRaisesRegex(TypeError, "int64 in the memory of a GPU"):
            stencil.solve(Tensor(np.ones((20, 30), "i8")), problem="heat")
        with self.assertRaisesRegex(stencil.NotAvailable, "the plan is for the CPU"):
            stencil.solve(Tensor(u), problem="heat", steps=3, device="cpu")
        out = Interface(u)
        out.read_only = True
        with self.assertRaisesRegex(TypeError, "writeable"):
            stencil.solve(Tensor(u), problem="heat", steps=3, out=out)
        u[3, 4] = np.nan
        with self.assertRaisesRegex(ValueError, r"u\[3, 4\] is NaN"):
            stencil.solve(Tensor(u), problem="heat", steps=3)

    def test_no_copy_through_the_host(self):
        """The host's memory hardly grows; the driver's own is allocated by the first run."""
        if cuda.emulated:
            self.skipTest("the memory of the emulated GPU is the host's")
        stencil.solve(Tensor(np.ones((4096, 4096))), problem="heat", steps=2)
        given = Tensor(np.ones((8192, 8192)))
        given.base = given.base[:1].copy()
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        before = peak_bytes()
        stencil.solve(given, problem="heat", steps=2, in_place=True)
        stencil.solve(given, problem="poisson", f=given, rtol=0.5, steps=2, in_place=True, bound=False)
        self.assertLess(peak_bytes() - before, 8192 * 8192 * 8 * 0.3)

    def test_a_thousand_calls_leave_nothing(self):
        if cuda.emulated:
            self.skipTest("the memory of the emulated GPU is the host's")
        given, left, grown = Tensor(field(64, 64)), [], []
        solver = stencil.Solver((64, 64), problem="heat", steps=10, device="gpu")
        for calls in (100, 1000):
            for _ in range(calls):
                solver(given, in_place=True)
                if _ % 50 == 0:  # each with a plan and memory of its own
                    stencil.solve(given, problem="heat", steps=10)
            gc.collect()
            left.append(cuda.free_bytes())
            grown.append(int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096)
        self.assertLess(left[0] - left[1], 1 << 20)
        self.assertLess(grown[1] - grown[0], 8 << 20)

    def found(self, *names):
        """The modules of these names that are installed; skips where there is none."""
        if cuda.emulated:
            self.skipTest("other libraries have no emulated GPU")
        modules = {}
        for name in names:
            try:
                modules[name] = importlib.import_module(name)
            except ImportError:
                pass
        if not modules:
            self.skipTest(f"none of {', '.join(names)}")
        return modules

    def test_libraries(self):
        """Results are arrays of the library that the field is of, as are fixed cells and sources that are read."""
        u, f, fixed = field(40, 50), field(40, 50) / 9, field(40, 50) < -0.9
        wanted = stencil.solve(u, problem="poisson", f=f, fixed=fixed, steps=7, accelerate="none", device="cpu").u
        given = {"cupy": (lambda of, a: of.asarray(a), lambda a: a.get()),
                 "torch": (lambda of, a: of.asarray(a, device="cuda"), lambda a: a.cpu().numpy()),
                 "jax.numpy": (lambda of, a: of.asarray(a), np.asarray),
                 "numba.cuda": (lambda of, a: of.to_device(a), lambda a: a.copy_to_host())}
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        os.environ.setdefault("JAX_ENABLE_X64", "true")
        modules = self.found(*given)
        for name, module in modules.items():
            there, back = given[name]
            with self.subTest(name):
                array = there(module, u)
                made = stencil.solve(array, problem="poisson", f=there(module, f), fixed=there(module, fixed), steps=7,
                                     accelerate="none")
                self.assertIs(type(made.u), type(array))
                self.assertNotIn("threads", made.report["device"])
                self.assertEqual(back(made.u).tobytes(), wanted.tobytes())
                self.assertEqual(back(array).tobytes(), u.tobytes())
        print("libraries:", *modules, file=sys.stderr)

    def test_streams_of_torch(self):
        """What is queued on a stream of the caller's own precedes the run, and what follows it sees the result."""
        torch = self.found("torch")["torch"]
        u = field(400, 500)
        wanted = stencil.solve(u, problem="heat", steps=7, device="cpu").u
        with torch.cuda.stream(torch.cuda.Stream()):
            given = torch.zeros((400, 500), dtype=torch.float64, device="cuda")
            there = torch.asarray(u, device="cuda")
            torch.cuda._sleep(10**8)  # some 50 ms, in which a run that did not wait would see zeros
            given.copy_(there)
            made = stencil.solve(given, problem="heat", steps=7).u
            twice = made * 2
            stencil.solve(given, problem="heat", steps=7, in_place=True)
        torch.cuda.synchronize()
        self.assertEqual(made.cpu().numpy().tobytes(), wanted.tobytes())
        self.assertEqual(twice.cpu().numpy().tobytes(), (2 * wanted).tobytes())
        self.assertEqual(given.cpu().numpy().tobytes(), wanted.tobytes())

    def test_profile_of_torch(self):
        """The profiler sees every copy of the process: those between host and GPU are of a report, not of a field."""
        torch = self.found("torch")["torch"]

        def copied(work):
            """Bytes between host and GPU."""
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
                work()
                torch.cuda.synchronize()
            with tempfile.TemporaryDirectory() as folder:
                name = os.path.join(folder, "trace.json")
                seen.export_chrome_trace(name)
                events = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))["traceEvents"]
            return sum(e["args"]["bytes"] for e in events
                       if e.get("cat") == "gpu_memcpy" and ("HtoD" in e["name"] or "DtoH" in e["name"]))

        given = torch.rand((2048, 2048), dtype=torch.float64, device="cuda")
        fixed, f = given > 0.999, torch.rand((2048, 2048), dtype=torch.float64, device="cuda")
        whole = given.nbytes
        copied(given.cpu)  # the profiler's first use misses events
        self.assertGreaterEqual(copied(given.cpu), whole)
        sums = {name: copied(work) for name, work in {
            "heat": lambda: stencil.solve(given, problem="heat", steps=20),
            "in place": lambda: stencil.solve(given, problem="heat", steps=20, in_place=True),
            "checks": lambda: stencil.solve(given, problem="heat", steps=200, rtol=1e-9),
            "source": lambda: stencil.solve(given, problem="poisson", f=f, steps=20, accelerate="none"),
            "fixed": lambda: stencil.solve(given, problem="heat", fixed=fixed, steps=20)}.items()}
        print("bytes between host and GPU:", sums, file=sys.stderr)
        for name in ("heat", "in place", "checks", "source"):
            self.assertLess(sums[name], 0.05 * whole, name)
        self.assertLess(sums["fixed"], 0.3 * whole)  # the bytes of `fixed`, once there and once back


if __name__ == "__main__":
    if cuda is None:
        print("skipped: no GPU")
        sys.exit(77)
    unittest.main()
