"""The base class of the forms of a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntFlag

import numpy as np
import pyopencl as cl

from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions

__all__ = ["Buffers", "Form", "Remark", "raw_defines"]


class Remark(IntFlag):
    """Flags that a kernel sets for a graph; see ``cl/all_pairs/dense/batch.h``."""

    BAD = 1
    NEGATIVE = 2
    LONG = 4
    CYCLE = 8
    UNSOUND = 16


@dataclass(frozen=True)
class Buffers:
    """Device buffers of some graphs."""

    # n x n values of each graph. They may be the same.
    weights: cl.Buffer
    distances: cl.Buffer
    remarks: cl.Buffer  # an int for each graph, 0 before
    scratch: list[cl.Buffer]
    # Predecessors, n x n ints of each graph, if they are wanted. Then weights and distances have
    # separate buffers.
    before: cl.Buffer | None = None


class Form(ABC):
    """One way to solve many graphs of n vertices, built for a device and a number type.

    It is built for graphs with, or without, negative weights. Without, the distances of a graph
    with negative weights are undefined, and the kernel sets `Remark.NEGATIVE`.

    Parameters
    ----------
    n : int
        Vertices of each graph, at least 1.
    options : AllPairsOptions
        Device and dtype.

    Attributes
    ----------
    parameters : mapping of str to int or str
        Every one, resolved.
    limit : int or float
        Distances are below it.
    most : int
        Graphs in one call of `enqueue`, at most.
    hash : str
        Of the kernels.
    """

    parameters: Mapping[str, int | str]
    most: int
    hash: str

    def __init__(self, n: int, options: AllPairsOptions) -> None:
        self.n, self.dtype = n, options.dtype
        is_float = options.dtype.kind == "f"
        self.limit = float(np.finfo(options.dtype).max) if is_float else infinity(options.dtype)

    @abstractmethod
    def scratch(self, graphs: int) -> tuple[int, ...]:
        """Return the bytes of each further buffer."""

    @abstractmethod
    def enqueue(
        self, queue: cl.CommandQueue, buffers: Buffers, graphs: int, *, zero_is_arc: bool
    ) -> list[cl.Event]:
        """Enqueue all kernels that compute distances from the weights of a group of graphs.

        A weight of infinity is no arc; zero is none either, unless `zero_is_arc`.
        """

    def finish(self, queue: cl.CommandQueue, buffers: Buffers) -> None:  # noqa: B027
        """Check the scratch buffers after a run; a `StallError` ends the batch."""

    def longest(self) -> np.float32:
        """Return a bound: if all weights are below it, all paths are below the limit."""
        with np.errstate(over="ignore"):
            # a little less: the kernel compares weights that are rounded to float
            return np.float32(self.limit / max(self.n - 1, 1) * (1 - 1e-6))


def raw_defines(options: AllPairsOptions) -> dict[str, str | int]:
    """Return the macros of ``cl/all_pairs/dense/batch.h``."""
    arithmetic = arithmetic_defines(options.device, options.dtype)
    return {
        "PYAPSP_RAW": arithmetic["PYAPSP_VALUE"],
        "PYAPSP_RAW_INTEGER": arithmetic["PYAPSP_INTEGER"],
        "PYAPSP_RAW_INFINITY": arithmetic["PYAPSP_INFINITY"],
    }
