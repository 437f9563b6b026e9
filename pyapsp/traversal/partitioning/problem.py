"""The problem ``partition`` of the registry: the owner of each unit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyapsp.registry import Choice, Options, Problem, Request, in_order, register_problem
from pyapsp.traversal.comparison import Comparison, compared
from pyapsp.traversal.partitioning.offsets import FAMILIES, Offsets, draw, read_offsets
from pyapsp.traversal.partitioning.partition import requested

__all__ = ["PARTITION"]


def _choices(call: Request) -> Iterator[Choice]:
    """Yield the techniques, first that which suits the device and the sizes.

    Marks are fastest on GPUs for all sizes. On CPUs two phases give all work-items the same work;
    if no item is much larger than the others, virtual warps need no search.
    """
    data = call.input
    even = data.largest <= 4 * max(data.mean, 8)
    first = "partition-virtual-warp" if even else "partition-two-phase"
    if not call.options.device.traits.scalar_groups:
        first = "partition-multi-phase"
    return in_order(call, [first])


def _oracle(data: Offsets, options: Options) -> Comparison:
    expected = np.repeat(np.arange(data.n, dtype=np.int32), data.sizes)
    return compared(expected, "owners", "unit {} is of item", "numpy.repeat")


PARTITION = register_problem(
    Problem(
        "partition",
        "which vertex each arc belongs to: the step by which searches share out their work",
        unit="units",
        dtypes=("int32",),
        packages=("pyapsp.traversal.partitioning",),
        families=FAMILIES,
        read=read_offsets,
        sample=draw,
        about=Offsets.about,
        ask=requested,
        work=lambda data, options, answer: data.units,
        oracle=_oracle,
        choices=_choices,
    )
)
