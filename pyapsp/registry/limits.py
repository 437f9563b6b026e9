"""Checks of the limits of a call: memory and progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral

from pyapsp.base.errors import DeviceMemoryError, ParameterError
from pyapsp.graph.validation import is_real
from pyapsp.registry.steps import Options

__all__ = ["check_limits", "check_memory", "fits"]


def check_limits(
    memory_limit: int | None, progress: Callable[[int, int], object] | None, owner: str
) -> int | None:
    """Check the arguments `memory_limit` and `progress`.

    Parameters
    ----------
    memory_limit : int or None
    progress : callable or None
    owner : str
        Name of the function, for messages.

    Returns
    -------
    int or None
        The memory limit. A NumPy integer would overflow in sums.

    Raises
    ------
    ParameterError
    """
    whole = is_real(memory_limit) and isinstance(memory_limit, Integral)
    if memory_limit is not None and not (whole and memory_limit > 0):
        raise ParameterError.of("memory_limit", owner, "a positive number of bytes", memory_limit)
    if progress is not None and not callable(progress):
        raise ParameterError.of("progress", owner, "a function of (done, total)", progress)
    return None if memory_limit is None else int(memory_limit)


def check_memory(buffers: Sequence[int], options: Options) -> None:
    """Raise an error if the buffers of a run do not fit, before any is allocated.

    Parameters
    ----------
    buffers : sequence of int
        The bytes of each buffer.
    options : Options

    Raises
    ------
    DeviceMemoryError
        If their sum is above the memory of the device or the limit, or one is above the largest
        allocation.
    """
    if fits(buffers, options):
        return
    capabilities = options.device.capabilities
    hint = f"use a narrower dtype or a device with more memory than {options.device.name}"
    if options.memory < capabilities.global_memory:
        hint = "raise memory_limit or use a narrower dtype"
    if sum(buffers) > options.memory:
        raise DeviceMemoryError(sum(buffers), options.memory, hint)
    raise DeviceMemoryError(
        max(buffers),
        capabilities.max_allocation,
        f"that is the largest single allocation of {options.device.name}",
    )


def fits(buffers: Sequence[int], options: Options) -> bool:
    """Return whether `check_memory` raises no error for these buffers."""
    largest = options.device.capabilities.max_allocation
    return sum(buffers) <= options.memory and max(buffers, default=0) <= largest
