"""Arrays in memory that a device reads and writes itself: batches in them need no copies."""

from __future__ import annotations

import math
import weakref

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.base.errors import ParameterError
from pyapsp.device import DeviceLike, choose, device_errors
from pyapsp.device.kernels.mapped import pinned
from pyapsp.graph.validation import integer

__all__ = ["is_pinned", "pinned_empty"]

# Where the arrays lie: the address of the first byte, and of the one after the last.
_places: dict[int, int] = {}


def pinned_empty(
    shape: int | tuple[int, ...], dtype: DTypeLike = np.float64, device: DeviceLike = None
) -> np.ndarray:
    """Return a new array in pinned memory, which a device reads and writes directly.

    Use it for the graphs and the ``out`` of `solve_many`. A GPU then copies them at the speed of
    the bus, while it computes other graphs. The allocation takes much longer than `numpy.empty`, so
    use one array for many batches. The memory is released with the last view of the array.

    Parameters
    ----------
    shape, dtype
        As for `numpy.empty`.
    device : str, int, Device or pyopencl object, optional
        See `pyapsp.device.choose`.

    Returns
    -------
    ndarray
        Its content is undefined.

    Raises
    ------
    ParameterError
        An extent is negative or no integer, or the type has Python objects.
    NoDeviceError, DeviceError
        If there is no device, or the memory cannot be allocated.

    Examples
    --------
    >>> import numpy as np
    >>> import pyapsp
    >>> graphs = pyapsp.pinned_empty((2, 3, 3), np.float32)
    >>> graphs[:] = [[0, 1, 5], [0, 0, 2], [0, 0, 0]]
    >>> pyapsp.solve_many(graphs, dtype=np.float32)[1, 0]
    array([0., 1., 3.], dtype=float32)
    """
    chosen, kind = choose(device), np.dtype(dtype)
    if kind.hasobject:  # the memory would be read as pointers
        raise ParameterError.of("dtype", "pinned_empty", "a type without objects", dtype)
    extents = np.atleast_1d(np.array(shape, dtype=object))
    whole = tuple(integer("shape", "pinned_empty", extent, 0) for extent in extents)
    values = math.prod(whole)
    with device_errors(chosen, values * kind.itemsize):
        array, release = pinned(chosen.queue(), max(values, 1), kind)
    start = array.ctypes.data
    _places[start] = start + array.nbytes

    def free() -> None:
        del _places[start]
        release()

    weakref.finalize(array, free).atexit = False
    return array[:values].reshape(whole)


def is_pinned(array: np.ndarray) -> bool:
    """Return whether an array is a contiguous part of one that `pinned_empty` returned."""
    if not array.flags.c_contiguous:
        return False
    first = array.ctypes.data
    last = first + array.nbytes
    return any(start <= first and last <= end for start, end in list(_places.items()))
