"""The problem ``partition`` of the registry: the owner of each unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from pyapsp.device import DeviceLike
from pyapsp.numbers.precision import only_int32
from pyapsp.registry import (
    Check,
    Choice,
    Method,
    Options,
    Problem,
    Request,
    in_order,
    register_problem,
    request,
)
from pyapsp.traversal.partitioning.offsets import (
    FAMILIES,
    Offsets,
    as_offsets,
    draw,
    read_offsets,
)
from pyapsp.traversal.partitioning.technique import Owners

__all__ = ["PARTITION", "requested"]

_OWNER = "partition"


def requested(
    offsets: ArrayLike,
    method: str | Method = "auto",
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Request:
    """Check the arguments of `pyapsp.traversal.partition`.

    Parameters
    ----------
    dtype : dtype-like, optional
        Type of the owners: int32.
    """
    owners = only_int32(dtype, _OWNER)
    return request(
        _OWNER,
        as_offsets(offsets),
        Options,
        owners,
        method,
        device=device,
        memory_limit=memory_limit,
        progress=progress,
    )


def _choices(call: Request) -> Iterator[Choice]:
    """Yield the techniques, first that which suits the device and the sizes.

    Marks are fastest on GPUs for all sizes. On CPUs two phases give all work-items the same work;
    if no item is much larger than the others, virtual warps need no search.
    """
    given = call.input
    even = given.largest <= 4 * max(given.mean, 8)
    first = "partition-virtual-warp" if even else "partition-two-phase"
    if not call.options.device.traits.scalar_groups:
        first = "partition-multi-phase"
    return in_order(call, [first])


def _oracle(given: Offsets, options: Options) -> Callable[[Owners], Check]:
    expected = np.repeat(np.arange(given.n, dtype=np.int32), given.sizes)

    def check(answer: Owners) -> Check:
        fault = None
        if answer.owners.shape != expected.shape or answer.owners.dtype != np.int32:
            fault = f"its owners are {answer.owners.dtype} {answer.owners.shape}"
        else:
            wrong = np.flatnonzero(answer.owners != expected)
            if wrong.size:
                unit = wrong[0]
                fault = f"unit {unit} is of item {answer.owners[unit]}, not {expected[unit]}"
        return Check(fault is None, fault, "numpy.repeat")

    return check


PARTITION = register_problem(
    Problem(
        id=_OWNER,
        summary="the item that owns each unit, for items that own different numbers of units",
        unit="units",
        dtypes=("int32",),
        areas=("pyapsp.traversal.partitioning",),
        families=FAMILIES,
        read=read_offsets,
        sample=draw,
        about=Offsets.about,
        ask=requested,
        work=lambda given, options, answer: given.units,
        oracle=_oracle,
        choices=_choices,
    )
)
