"""The problem ``partition`` of the registry: the owner of each unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pyapsp.device import choose
from pyapsp.numbers.precision import only_int32
from pyapsp.registry import (
    Check,
    Choice,
    Method,
    Options,
    Problem,
    Request,
    check_limits,
    in_order,
    method_of,
    problem,
    register_problem,
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
    offsets: Any,
    method: str | Method = "auto",
    *,
    dtype: Any = None,
    device: Any = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Request:
    """Check the arguments of `pyapsp.traversal.partition`.

    Parameters
    ----------
    dtype : dtype-like, optional
        Type of the owners: int32.
    """
    held = only_int32(dtype, _OWNER)
    given = as_offsets(offsets)
    memory_limit = check_limits(memory_limit, progress, _OWNER)
    options = Options(choose(device), held, memory_limit=memory_limit, progress=progress)
    return Request(problem(_OWNER), given, method_of(_OWNER, method, _OWNER), options)


def _choices(request: Request) -> Iterator[Choice]:
    """Yield the techniques, first that which suits the device and the sizes.

    Marks are fastest on GPUs for all sizes. On CPUs two phases give all work-items the same work;
    if no item is much larger than the others, virtual warps need no search.
    """
    given = request.input
    even = given.largest <= 4 * max(given.mean, 8)
    first = "partition-virtual-warp" if even else "partition-two-phase"
    if not request.options.device.traits.scalar_groups:
        first = "partition-multi-phase"
    return in_order(request, [first])


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
