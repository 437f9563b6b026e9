"""Check the arguments of a container, and bring batches to its device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl.array as cl_array
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.dynamic.batch import Batch
from pyapsp.dynamic.store import Store
from pyapsp.graph import validation

__all__ = ["batch_of", "ends_of", "logarithm", "size_of"]


def batch_of(store: Store, tails: Any, heads: Any, items: list[NDArray[Any]]) -> Batch:
    """Return edges on the device.

    Parameters
    ----------
    store : Store
    tails, heads : array_like of int, or pyopencl.array.Array of int32
    items : list of (edges,) ndarray
        Of each column but the heads.

    Raises
    ------
    GraphError
        They are no integers, or there are not as many tails as heads.
    ParameterError
        An array of the device is of another context or type.
    """
    if isinstance(tails, cl_array.Array) or isinstance(heads, cl_array.Array):
        return _on_device(store, tails, heads, items)
    ends = [ends_of("tails", tails), ends_of("heads", heads)]
    if ends[0].shape != ends[1].shape:
        raise GraphError(f"{ends[0].size} tails do not go with {ends[1].size} heads")
    count = validation.integer("edges", "a batch", ends[0].size, 0, 2**29)
    sent = [store.bring(f"end {number}", array) for number, array in enumerate(ends)]
    values = [store.bring(f"item {number}", array) for number, array in enumerate(items)]
    return Batch(sent[0], sent[1], values, count)


def _on_device(store: Store, tails: Any, heads: Any, items: list[NDArray[Any]]) -> Batch:
    """Return edges whose ends are arrays of the device."""
    for name, array in (("tails", tails), ("heads", heads)):
        fits = isinstance(array, cl_array.Array) and array.dtype == np.int32 and array.ndim == 1
        # kernels get the whole buffer: no part of one, and no steps
        whole = fits and not array.offset and array.flags.c_contiguous
        if not whole or array.context != store.device.context:
            rule = "a whole pyopencl array of int32 in the context of this container, as the other"
            raise ParameterError.of(name, "Hornet", rule, type(array).__name__)
        array.finish()
    if tails.size != heads.size:
        raise GraphError(f"{tails.size} tails do not go with {heads.size} heads")
    count = validation.integer("edges", "a batch", tails.size, 0, 2**29)
    values = [store.bring(f"item {number}", array) for number, array in enumerate(items)]
    return Batch(tails.base_data, heads.base_data, values, count)


def size_of(ends: Any) -> int:
    """Return the number of ends."""
    if isinstance(ends, cl_array.Array):
        return int(ends.size)
    return validation.array("the tails of the edges", ends).size


def ends_of(what: str, given: ArrayLike) -> NDArray[np.int32]:
    """Return ends of edges as int32; kernels check whether they are vertices."""
    array = validation.integers(f"the {what} of the edges", given)
    ends = np.ascontiguousarray(array, np.int32)
    if array.dtype != np.int32 and (beyond := ends != array).any():
        edge = int(beyond.argmax())
        raise GraphError(
            f"the {what} of the edges must be vertices: edge number {edge} has {array[edge]}"
        )
    return ends


def logarithm(parameter: str, value: Any, low: int, high: int) -> int:
    """Return the binary logarithm of an argument that must be a power of two."""
    number = validation.integer(parameter, "Hornet", value, 1, high)
    if number & (number - 1) or number < low:
        raise ParameterError.of(parameter, "Hornet", "a power of two", value)
    return number.bit_length() - 1
