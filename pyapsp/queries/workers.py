"""A graph on the device, with memory for work-items that each run Dijkstra's algorithm."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyopencl as cl
from numpy.typing import DTypeLike

from pyapsp.base.errors import (
    CapabilityError,
    DeviceError,
    DeviceMemoryError,
    NegativeWeightError,
    ParameterError,
)
from pyapsp.device import Device, DeviceLike, device_errors
from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.graph import Graph, GraphLike, Weight, as_graph
from pyapsp.graph.device_graph import devices_for
from pyapsp.graph.validation import flag
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.checks import check_positive, check_weights
from pyapsp.numbers.precision import resolve
from pyapsp.paths import PathOptions, farthest
from pyapsp.registry import check_limits

__all__ = [
    "LOST",
    "STATE",
    "USED",
    "Workers",
    "arcs_bytes",
    "asked",
    "longer",
    "values_of",
]

_R = TypeVar("_R")

#: Places in the state of ``cl/queries/search.h``, and its size.
USED, LOST, STATE = 1, 3, 4
# Work-items of a group and groups for each compute unit, on devices whose groups are not scalar;
# and the part of the memory that the work-items may have together.
_GROUP, _GROUPS, _PART = 32, 4, 4
# The part of the memory that a buffer for answers may have.
_PART_OF_BUFFER = 16
# Seconds of a launch: shorter ones are followed by longer ones.
_SHORT, _LONG = 0.025, 0.2


def asked(
    owner: str,
    graph: GraphLike,
    cutoff: float | None,
    directed: bool,
    weight: Weight,
    dtype: DTypeLike | None,
    device: DeviceLike | Sequence[DeviceLike],
    memory_limit: int | None,
    progress: Callable[[int, int], None] | None = None,
    *,
    several: bool = False,
    predecessors: bool = False,
    sparse: bool = False,
    positive: bool = False,
    copy: bool = False,
) -> tuple[Graph, PathOptions]:
    """Check the arguments that all functions here have; return the graph and the options.

    Parameters
    ----------
    owner : str
        Name of the function, for messages.
    graph, cutoff, directed, weight, dtype, device, memory_limit, progress, predecessors
        As for `within`.
    several : bool
        Whether `device` may be a list.
    sparse : bool
        Whether the answer comes as sparse rows, which have no float16: SciPy does not hold it.
    positive : bool
        Whether weights must be above zero.
    copy : bool
        Whether the caller may write to the arrays of the graph.

    Raises
    ------
    NegativeWeightError
        If there is a negative weight.
    GraphError
        If there is a weight of zero, and weights must be `positive`.
    PrecisionError
        If the type does not hold the weights.
    PyApspError
        As `within`.
    """
    cutoff = farthest(cutoff, owner)
    memory_limit = check_limits(memory_limit, progress, owner)
    graph = as_graph(graph, flag("directed", owner, directed), weight=weight, copy=copy)
    kind = resolve(graph, dtype, owner)[0]
    if sparse and kind == np.float16:
        raise ParameterError.of("dtype", owner, "a type that sparse arrays of SciPy hold", kind)
    if graph.has_negative:
        raise NegativeWeightError(
            f"{owner} needs non-negative weights, and one is {graph.min_weight}: use solve"
        )
    check_weights(graph, kind)
    if positive:
        check_positive(graph, owner)
    first, *others = devices_for(graph, device, owner)
    if others and not several:
        raise CapabilityError(f"{owner} uses one device")
    options = PathOptions(
        first,
        kind,
        predecessors=flag("predecessors", owner, predecessors),
        memory_limit=memory_limit,
        cutoff=cutoff,
        helpers=tuple(others),
    )
    return graph, options.computed_in(kind)


class Workers(ABC):
    """A graph on the device, and the memory of its work-items, from `start` on.

    Attributes
    ----------
    count, group : int
        The work-items, and those of a group.
    wanted : int
        The searches of the next launch.
    bytes : int
        What the graph, the work-items and `spare` take.

    Parameters
    ----------
    graph : Graph
    options : PathOptions
    file : str
        The kernels, which include ``queries/search.h``.
    searches : int
        The number of searches to come; there need not be more work-items.
    spare : int
        Bytes that the caller needs beside.
    defines : mapping, optional
        More macros of the kernels.
    wanted : bool
        Whether a work-item also has a bit for each vertex, in a buffer of its own.
    counts : bool
        Whether paths are counted.
    first : int
        The searches of the first launch for a work-item.

    Raises
    ------
    DeviceMemoryError
        If the memory of the device is too small for one group of work-items.
    """

    def __init__(
        self,
        graph: Graph,
        options: PathOptions,
        file: str,
        searches: int,
        spare: int,
        defines: Mapping[str, int] | None = None,
        wanted: bool = False,
        counts: bool = False,
        *,
        first: int,
    ) -> None:
        self.device: Device = options.device
        self.n = np.int32(graph.n)
        self.farthest = options.farthest_in(options.dtype)
        # beyond the cutoff, no distance need fit in the type
        self.checks = np.int32(options.cutoff is None)
        scalar, dtype = self.device.traits.scalar_groups, options.dtype
        self.group = 1 if scalar else min(_GROUP, self.device.capabilities.max_work_group_size)
        macros = arithmetic_defines(self.device, dtype) | {
            "PYAPSP_GROUP": self.group,
            "PYAPSP_PREDECESSORS": int(options.predecessors),
            "PYAPSP_COUNTS": int(counts),
        }
        self._kernels = file, {**macros, **(defines or {})}
        self.graph, self.options = graph, options
        self._one, arcs = _one(graph.n, dtype, wanted, counts), arcs_bytes(graph, dtype)
        self.count = self._workers(options, self._one, arcs + spare, searches)
        self.bytes = arcs + spare + self.count * self._one.total
        self.wanted = first * self.count

    def start(self) -> None:
        """Build the kernels, copy the graph, and allocate the memory."""
        graph, sizes = self.graph, self._one.sizes
        self.program: Program = build(self.device, *self._kernels)
        self.queue = self.device.queue()
        self.watch = Stopwatch()
        with self.at_work():
            weights = upload(self.queue, graph.weights, self.watch, self.options.dtype)
            offsets = upload(self.queue, graph.indptr, self.watch)
            self.arcs = offsets, upload(self.queue, graph.indices, self.watch), weights
            self.memory = tuple(self.device.buffer(max(self.count * each, 4)) for each in sizes)
            nodes, _, *marks = self.memory
            for buffer, size in zip(marks, sizes[2:], strict=True):
                cleared = np.int64(self.count * graph.n), np.int64(self.count * size // 8)
                self.launch("clear_memory", self.count, nodes, buffer, *cleared)
            self.allocate()

    @abstractmethod
    def allocate(self) -> None:
        """Allocate the `spare` bytes."""

    def _workers(self, options: PathOptions, one: _One, rest: int, searches: int) -> int:
        """Return the number of work-items: as many as the device runs, and as fit."""
        capabilities, memory = self.device.capabilities, options.memory
        hint = "use a narrower dtype"
        if memory < capabilities.global_memory:
            hint = f"raise memory_limit or {hint}"
        units = capabilities.compute_units
        wanted = units if self.group == 1 else units * self.group * _GROUPS
        fits = min((memory - rest) // _PART, int(capabilities.max_allocation)) // max(one.total, 1)
        groups = min(wanted, fits, max(searches, 1)) // self.group
        count = max(groups, 1) * self.group
        if rest + count * one.total > memory:
            raise DeviceMemoryError(rest + count * one.total, memory, hint)
        return count

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Convert errors of the driver; after one, this object cannot be used any more."""
        try:
            with device_errors(self.device, self.bytes):
                yield
        except DeviceError:
            self.__dict__.clear()  # a stored error refers to this object, and so to its buffers
            raise

    def timed(self, work: Callable[[], _R], searches: int) -> _R:
        """Do the work of a launch of so many searches, and decide how many the next one has."""
        started = time.perf_counter()
        with self.at_work():
            found = work()
        self.wanted = longer(searches, time.perf_counter() - started)
        return found

    def launch(self, name: str, items: int, *arguments: cl.Buffer | np.generic) -> None:
        """Launch a kernel with this number of work-items, a multiple of the group."""
        kernel = self.program.kernel(name)
        kernel(self.queue, (items,), (self.group,), *arguments)


def values_of(options: PathOptions, wanted: int, least: int, each: int) -> int:
    """Return the number of values of a buffer: as many as are wanted if these take a small part.

    Parameters
    ----------
    options : PathOptions
    wanted, least : int
    each : int
        Bytes of a value.
    """
    return max(min(wanted, options.memory // _PART_OF_BUFFER // each), least)


def longer(count: int, seconds: float) -> int:
    """Return the number of searches of the next launch, after one of so many seconds.

    The host cannot stop a launch, so that it should be short.
    """
    return count * (1 if seconds > _LONG else 4 if seconds < _SHORT else 2)


@dataclass(frozen=True)
class _One:
    """The memory of one work-item, in bytes: nodes, heap, marks, wanted."""

    sizes: tuple[int, ...]

    @property
    def total(self) -> int:
        """The sum."""
        return sum(self.sizes)


def _one(n: int, dtype: np.dtype, wanted: bool, counts: bool) -> _One:
    """Return the memory of one work-item; see ``cl/queries/search.h``."""
    wide, words = max(dtype.itemsize, 4), -(-n // 64)
    node = 16 if counts else wide + 8
    sizes = node * n, 2 * (16 if wide == 8 else 8) * n, 8 * (words + -(-words // 64))
    return _One((*sizes, 8 * words) if wanted else sizes)


def arcs_bytes(graph: Graph, dtype: np.dtype) -> int:
    """Return the bytes of the graph on the device."""
    return 8 * (graph.n + 1) + (4 + dtype.itemsize) * graph.m
