"""Check the arguments of a container."""

from __future__ import annotations

from dataclasses import dataclass
from typing import SupportsIndex, TypeAlias

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.graph import validation

__all__ = ["Ends", "EndsLike", "arrays_of", "ends_of", "logarithm", "vertex_there"]

#: Ends of edges, as a caller gives them.
EndsLike: TypeAlias = ArrayLike | cl_array.Array


@dataclass(frozen=True)
class Ends:
    """The checked ends of edges: both arrays of the host, or both of the device.

    Parameters
    ----------
    tails, heads : (count,) int32 ndarray, or pyopencl.array.Array of int32
    count : int
    """

    tails: NDArray[np.int32] | cl_array.Array
    heads: NDArray[np.int32] | cl_array.Array
    count: int


def ends_of(context: cl.Context, tails: EndsLike, heads: EndsLike) -> Ends:
    """Check ends of edges, of the host or in a context.

    Raises
    ------
    GraphError
        They are no integers, or there are not as many tails as heads.
    ParameterError
        An array of the device is of another context or type.
    """
    if isinstance(tails, cl_array.Array) or isinstance(heads, cl_array.Array):
        pair = (_resident(context, "tails", tails), _resident(context, "heads", heads))
        _same_count(pair[0].size, pair[1].size)
        return Ends(*pair, pair[0].size)
    ends = arrays_of(tails, heads)
    return Ends(*ends, ends[0].size)


def arrays_of(tails: ArrayLike, heads: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return ends of edges as int32; kernels check whether they are vertices.

    Raises
    ------
    GraphError
        They are no integers, or there are not as many tails as heads.
    """
    ends = []
    for name, values in (("tails", tails), ("heads", heads)):
        array = validation.integers(f"the {name} of the edges", values)
        vertices = np.ascontiguousarray(array, np.int32)
        if array.dtype != np.int32 and (beyond := vertices != array).any():
            edge = int(beyond.argmax())
            raise GraphError(
                f"the {name} of the edges must be vertices: edge number {edge} has {array[edge]}"
            )
        ends.append(vertices)
    _same_count(ends[0].size, ends[1].size)
    return ends[0], ends[1]


def _resident(context: cl.Context, name: str, array: EndsLike) -> cl_array.Array:
    """Check the ends of edges that are on the device, and wait for them."""
    if not (
        isinstance(array, cl_array.Array)
        and array.context == context
        and array.dtype == np.int32
        and array.ndim == 1
        # kernels get the whole buffer: no part of one, and no steps
        and not array.offset
        and array.flags.c_contiguous
    ):
        rule = "a whole pyopencl array of int32 in the context of this container, as the other"
        raise ParameterError.of(name, "Hornet", rule, type(array).__name__)
    array.finish()
    return array


def _same_count(tails: int, heads: int) -> None:
    if tails != heads:
        raise GraphError(f"{tails} tails do not go with {heads} heads")


def vertex_there(parameter: str, owner: str, value: SupportsIndex, there: NDArray[np.bool_]) -> int:
    """Return the number of a vertex, given which numbers are vertices.

    Raises
    ------
    ParameterError
        It is no vertex, or it was deleted.
    """
    number = validation.vertex(parameter, owner, value, there.size)
    if not there[number]:
        raise ParameterError.of(parameter, owner, "a vertex that is not deleted", number)
    return number


def logarithm(parameter: str, value: int, low: int, high: int) -> int:
    """Return the binary logarithm of an argument that must be a power of two."""
    number = validation.integer(parameter, "Hornet", value, 1, high)
    if number & (number - 1) or number < low:
        raise ParameterError.of(parameter, "Hornet", "a power of two", value)
    return number.bit_length() - 1
