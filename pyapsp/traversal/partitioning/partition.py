"""`partition`: find the item that owns each unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.device import DeviceLike
from pyapsp.numbers.precision import only_int32
from pyapsp.registry import Limits, Method, Options, Request, request, runs
from pyapsp.traversal.partitioning.offsets import OffsetsLike, as_offsets

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["partition", "requested"]

_OWNER = "partition"


def partition(
    offsets: OffsetsLike,
    method: str | Method = "auto",
    *,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Find the owner of each unit, where item i owns the units offsets[i] to offsets[i + 1].

    It is ``numpy.repeat(numpy.arange(n), numpy.diff(offsets))`` on a device. The methods are the
    techniques by which kernels divide work of unequal size.

    Parameters
    ----------
    offsets : (n + 1,) array-like of int, Offsets or Graph
        The first is 0, and none is smaller than the one before. For a graph the items are its
        vertices, and the units the arcs that leave them.
    method : str or Method
        ``"auto"``, a method id (see ``pyapsp.methods("partition")``), or ``pyapsp.method(...)``.
    device : optional
        See `pyapsp.device.choose`.
    memory_limit : int, optional
        Bytes of device memory to use at most.
    progress : callable, optional
        Called as ``progress(1, 1)`` at the end.

    Returns
    -------
    (offsets[n],) int32 ndarray

    Raises
    ------
    ParameterError
        If the offsets do not have one dimension, are none, are not integers, do not start at 0,
        decrease, or give 2^31 units or more, or another argument has a value that is not allowed.
    NoDeviceError, CapabilityError, DeviceMemoryError
        If there is no device, or its memory is too small.

    Examples
    --------
    >>> from pyapsp.traversal import partition
    >>> partition([0, 3, 3, 4])
    array([0, 0, 0, 2], dtype=int32)
    """
    call = requested(offsets, method, device=device, memory_limit=memory_limit, progress=progress)
    _, answer = runs.run(call)  # a record has a hash of the offsets, and nobody gets it here
    owners: np.ndarray = answer.owners
    return owners


def requested(
    offsets: OffsetsLike,
    method: str | Method = "auto",
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    **limits: Unpack[Limits],
) -> Request:
    """Check the arguments of `partition`; `dtype` is the type of the owners, int32."""
    owners = only_int32(dtype, _OWNER)
    return request(
        _OWNER,
        as_offsets(offsets),
        Options,
        owners,
        method,
        device=device,
        **limits,
    )
