"""Arrays in the memory of a GPU, as __cuda_array_interface__ and __dlpack__ describe them. Only CUDA's devices."""
import ctypes
import sys
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p

import numpy as np

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # device types of DLPack
LEGACY_STREAM = 1  # the default stream, as both protocols number it and as CUDA takes it for a stream


class _Tensor(ctypes.Structure):
    """DLTensor, with which a DLManagedTensor begins."""

    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]


class DeviceArray:
    """An array in the memory of a GPU: shape, strides (bytes), dtype, address, number of the GPU (None: CUDA knows), and
    the stream whose work precedes. `owner` keeps the memory."""

    def __init__(self, owner, shape, strides, dtype, address, device, stream, writeable=True):
        self.owner, self.shape, self.dtype, self.address = owner, tuple(shape), np.dtype(dtype), address
        self.device, self.stream, self.writeable = device, stream, writeable
        self.strides = tuple(strides) if strides is not None else c_strides(self.shape, self.dtype.itemsize)

    def as_bytes(self):
        """The same cells, truth values as bytes."""
        return DeviceArray(self.owner, self.shape, self.strides, np.uint8, self.address, self.device, self.stream)


def c_strides(shape, size):
    strides = []
    for extent in reversed(shape):
        strides.insert(0, size)
        size *= extent
    return strides


def dlpack_device(array):
    """Type and number of the device of an array with __dlpack__; None for others."""
    return tuple(int(n) for n in array.__dlpack_device__()) if hasattr(array, "__dlpack_device__") else None


def is_on_gpu(array):
    """Whether an array lies in the memory of a GPU."""
    if isinstance(array, (np.ndarray, DeviceArray)):
        return isinstance(array, DeviceArray)
    where = dlpack_device(array)
    if where is not None:
        return where[0] not in (CPU, CUDA_HOST)
    return hasattr(array, "__cuda_array_interface__")


def _of_dlpack(array, device):
    """The producer makes the default stream wait for the work on the array, and a run waits for that stream."""
    capsule = array.__dlpack__(stream=LEGACY_STREAM)
    tensor = ctypes.cast(_pointer(capsule, b"dltensor"), POINTER(_Tensor)).contents
    kind = {0: "i", 1: "u", 2: "f", 6: "b"}.get(tensor.code)
    if kind is None or tensor.lanes != 1 or tensor.bits % 8 != 0:
        raise TypeError(f"numbers of DLPack's type {tensor.code}, {tensor.bits} bits: give float32 or float64")
    dtype = np.dtype(f"{kind}{tensor.bits // 8}")
    shape = tensor.shape[:tensor.ndim]
    strides = [n * dtype.itemsize for n in tensor.strides[:tensor.ndim]] if tensor.strides else None
    # The capsule frees what it describes when it goes.
    return DeviceArray((array, capsule), shape, strides, dtype, (tensor.data or 0) + tensor.byte_offset, device,
                       LEGACY_STREAM)


def _of_interface(array):
    about = array.__cuda_array_interface__
    address, read_only = about["data"]
    if about.get("mask") is not None:
        raise TypeError("an array with a mask: give one without")
    return DeviceArray(array, about["shape"], about.get("strides"), about["typestr"], address, None,
                       about.get("stream") or LEGACY_STREAM, not read_only)


def view(array):
    """An array that is_on_gpu() as a DeviceArray; nothing is copied."""
    if isinstance(array, DeviceArray):
        return array
    where = dlpack_device(array)
    if where is None:
        return _of_interface(array)
    if where[0] not in (CUDA, CUDA_MANAGED):
        raise TypeError(f"an array on a device of DLPack's type {where[0]}: give one on the host or on a CUDA device")
    return _of_dlpack(array, where[1])


def empty_like(array):
    """Another array of the same library, of the same shape and type on the same device."""
    home = sys.modules.get(type(array).__module__.split(".")[0])
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__().empty_like(array)
    for made in (getattr(home, "empty_like", None),
                 getattr(getattr(home, "cuda", None), "device_array_like", None)):  # Numba's
        if made is not None:
            return made(array)
    raise TypeError(f"{type(array).__name__} has no empty_like: give `out`, or in_place=True")
