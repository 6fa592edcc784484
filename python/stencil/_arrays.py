"""Arrays of NumPy, and of whatever NumPy can view, as the library takes them."""
import numpy as np

from . import _devices as devices
from . import _library as lib

TYPES = {np.dtype("f4"): lib.FLOAT32, np.dtype("f8"): lib.FLOAT64, np.dtype("u1"): lib.UINT8}


def view(array, name):
    """A NumPy array, or a DeviceArray, over the memory of `array`, without a copy where there is a way."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise ValueError(f"{name} has masked values: give its filled(), and cells to leave out as fixed or insulated")
    if isinstance(array, np.ndarray):
        return array
    if devices.is_on_gpu(array):
        return devices.view(array)
    if hasattr(array, "__dlpack__") and not hasattr(array, "__array__"):
        return np.from_dlpack(array)
    return np.asarray(array)


def in_order(array, name, u):
    """The array with its dimensions in the order of u's, where both name them, as those of xarray do."""
    names, wanted = getattr(array, "dims", None), getattr(u, "dims", None)
    if names is None or wanted is None or names == wanted:
        return array
    if sorted(map(str, names)) != sorted(map(str, wanted)):
        raise ValueError(f"{name} has the dimensions {names}, the field has {wanted}")
    return array.transpose(*wanted)


def device_of(array):
    """The number of the GPU that an array is on; None on the host, -1 where only CUDA knows."""
    if array is None or not devices.is_on_gpu(array):
        return None
    where = devices.dlpack_device(array)
    return -1 if where is None else where[1]


def spread(array, name):
    """The array; a copy of one whose cells are all the same place, as of np.broadcast_to(): the library takes strides
    of 0 along all axes for those of an array in C order."""
    if any(array.strides) or np.prod(array.shape) <= 1:
        return array
    if isinstance(array, devices.DeviceArray):
        raise ValueError(f"{name} has all of its cells in one place in the memory of a GPU: give a copy of it")
    return array.copy()


def overlaps(array):
    """Whether cells along an axis are the same place, so that no result can be written there."""
    return any(stride == 0 and n > 1 for n, stride in zip(array.shape, array.strides))


def numbers(array, name, shape=None, copies=True):
    """A field of float32 or float64: `array` itself where it is one, in native byte order, otherwise a copy."""
    found = view(array, name)
    check_shape(found, name, shape)
    if copies:
        found = spread(found, name)
    if found.dtype in TYPES and found.dtype.kind == "f" and found.dtype.isnative:
        return found
    if isinstance(found, devices.DeviceArray):
        raise TypeError(f"{name} is of type {found.dtype} in the memory of a GPU: give float32 or float64")
    if found.dtype.kind not in "fiub":
        raise TypeError(f"{name} has numbers of type {found.dtype}: give floating-point numbers or integers")
    if not copies:
        raise TypeError(f"{name} is of type {found.dtype}: in place it has to be float32 or float64")
    small = found.dtype.kind == "f" and found.dtype.itemsize <= 4
    return found.astype(np.float32 if small else np.float64)


def marks(array, name, shape):
    """Truth values, or numbers of classes, a byte each: `array` itself where it has bytes, otherwise a copy."""
    found = view(array, name)
    check_shape(found, name, shape)
    found = spread(found, name)
    on_gpu = isinstance(found, devices.DeviceArray)
    if found.dtype == np.bool_:
        return found.as_bytes() if on_gpu else found.view(np.uint8)
    if found.dtype == np.uint8:
        return found
    if on_gpu:
        raise TypeError(f"{name} is of type {found.dtype} in the memory of a GPU: give truth values or bytes")
    if found.dtype.kind not in "iu":
        raise TypeError(f"{name} is of type {found.dtype}: give truth values or integers")
    if name != "classes":
        return (found != 0).view(np.uint8)
    if found.size and (found.min() < 0 or found.max() > 255):
        raise ValueError("classes are numbers of rows of weights, from 0 to 255")
    return found.astype(np.uint8)


def check_shape(array, name, shape):
    if shape is not None and array.shape != tuple(shape):
        raise ValueError(f"{name} has shape {array.shape}, the field has {tuple(shape)}")


def is_writeable(array):
    return array.writeable if isinstance(array, devices.DeviceArray) else array.flags.writeable


def described(array):
    """The structure that says where an array lies; it borrows the array."""
    if isinstance(array, devices.DeviceArray):
        found = lib.Array(data=array.address, type=TYPES[array.dtype], memory=lib.DEVICE, stream=array.stream)
    else:
        found = lib.Array(data=array.ctypes.data, type=TYPES[array.dtype])
    for axis, stride in enumerate(array.strides):
        found.stride[axis] = stride
    return found
