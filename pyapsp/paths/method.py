"""Base classes of all problems whose answer is rows of distances, one for each source.

These problems are all pairs, single-source shortest paths and breadth-first search. Their methods
have the same kinds of requirements for weights.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from pyapsp.base.changed import changed
from pyapsp.base.errors import (
    CapabilityError,
    GraphError,
    NegativeWeightError,
    ParameterError,
    PrecisionError,
    PyApspError,
)
from pyapsp.base.host import share
from pyapsp.base.json import Record
from pyapsp.device import Device
from pyapsp.graph import Facts, Graph, Vertices
from pyapsp.graph.families import ARCS, draw
from pyapsp.graph.names import numbered
from pyapsp.graph.validation import array, is_masked, is_real
from pyapsp.numbers.precision import infinity
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.registry import Answer, Method, Options, Requirements, check_memory

# Number of distances that are compared with a cutoff at once.
_VALUES = 2**20
# The largest weight of samples. Distances stay below 2^11, so that all types hold them exactly,
# also half precision. Methods with a largest distance get more arcs and smaller weights.
_MAX_WEIGHT = 20
_MORE_ARCS, _PART_OF_LIMIT, _LOW = 32, 8, 2**11
# In a sample, one of this many vertices cannot be reached.
_UNREACHED = 17

#: Where an answer may be after the run.
KEEPS = ("host", "device")

_Options = TypeVar("_Options", bound="PathOptions")


@dataclass(frozen=True)
class Weights(Requirements):
    """The requirements of a method for the weights, and those for the device.

    Attributes
    ----------
    non_negative : bool
        Negative weights are refused.
    integer : bool
        Weights that are not whole numbers are refused.
    unweighted : bool
        Weights other than 1 are refused.
    largest_distance : int or None
        The largest distance that the method can hold, whatever the dtype of the answer. Larger
        weights are refused before the run, larger distances after it.
    """

    non_negative: bool = False
    integer: bool = False
    unweighted: bool = False
    largest_distance: int | None = None


@dataclass(frozen=True)
class PathOptions(Options):
    """The checked arguments of a function for shortest paths.

    Attributes
    ----------
    predecessors : bool
    sources : (k,) int64 ndarray or None
        The vertices whose rows are wanted, in any order; a vertex may be repeated. None means all
        vertices in order. Methods that compute all rows at once get None.
    cutoff : float or None
        Larger distances are reported as unreachable, and need not be computed. It is a number of
        the type, and smaller than the largest one. Methods that compute all rows at once get None.
    targets : (t,) int64 ndarray or None
        Vertices, at least one. If all of them are reached, larger distances than theirs are
        reported as unreachable, and need not be computed. For methods that search from one source.
    check : bool
        Whether to check for distances that are too large for their type.
    device_rows : DeviceRows or None
        The rows of the answer, if they stay on the device. A method for all pairs may return them
        as its distances; otherwise the distances are copied to them.
    device_predecessors : DeviceRows or None
        The predecessors of the answer, if they stay on the device.
    helpers : tuple of Device
        The other devices, for methods and functions that use several.
    """

    predecessors: bool = False
    sources: np.ndarray | None = field(default=None, kw_only=True)
    cutoff: float | None = field(default=None, kw_only=True)
    targets: np.ndarray | None = field(default=None, kw_only=True)
    check: bool = field(default=True, kw_only=True)
    device_rows: DeviceRows | None = field(default=None, kw_only=True)
    device_predecessors: DeviceRows | None = field(default=None, kw_only=True)
    helpers: tuple[Device, ...] = field(default=(), kw_only=True)

    @property
    def devices(self) -> tuple[Device, ...]:
        """All devices of the call, the main one first."""
        return self.device, *self.helpers

    @property
    def decisive(self) -> Hashable | None:
        """The values on which the plan of a search from one source depends; otherwise None."""
        sources, ends = self.sources, self.targets
        one = sources is not None and sources.size == 1 and ends is None and self.cutoff is None
        if not one or self.helpers or type(self) is not PathOptions:
            return None
        stays = self.device_rows is not None
        return self.device, self.dtype, self.memory_limit, self.predecessors, self.check, stays

    def of_each_device(self: _Options) -> list[_Options]:
        """Return options with one device, for each; one that occurs twice has half its memory."""
        alone = [replace(self, device=each, helpers=()) for each in self.devices]
        times = map(self.devices.count, self.devices)
        return [
            one if count == 1 else replace(one, memory_limit=one.memory // count)
            for one, count in zip(alone, times, strict=True)
        ]

    def rows(self, n: int) -> np.ndarray:
        """Return the vertices of the rows that are wanted, int64."""
        return np.arange(n) if self.sources is None else self.sources

    def count(self, n: int) -> int:
        """Return the number of rows of the answer."""
        return n if self.sources is None else self.sources.size

    def answer_bytes(self, data: object) -> int:
        """Return the bytes of the rows of a graph, unless they stay on the device."""
        if self.device_rows is not None:
            return 0
        n = cast("Graph", data).n
        return self.count(n) * n * (self.dtype.itemsize + 4 * self.predecessors)

    def on_device(
        self: _Options, n: int, *, none: int | None = None, predecessors: bool = False
    ) -> _Options:
        """Return the options of an answer that stays on the device; the run has the memory left.

        Parameters
        ----------
        n : int
            Number of vertices.
        none : int, optional
            As for `DeviceRows`.
        predecessors : bool
            Whether there are predecessors, which stay too.

        Raises
        ------
        CapabilityError, DeviceMemoryError
            If the device does not support the type, or its memory is too small.
        """
        shape = self.count(n), n
        rows, before = DeviceRows(self.device, shape, self.dtype, none), None
        sizes = [rows.nbytes]
        if predecessors:
            before = DeviceRows(self.device, shape, np.dtype(np.int32))
            sizes.append(before.nbytes)
        check_memory(sizes, self)
        left = self.memory - sum(sizes)
        return changed(self, device_rows=rows, device_predecessors=before, memory_limit=left)

    def must_check(self, graph: Graph) -> bool:
        """Return whether a distance that is too large for its type would make the answer wrong.

        It would not if it is also above the cutoff and no weight is negative, because then all
        paths through that vertex are above the cutoff.
        """
        return self.check and (self.cutoff is None or graph.has_negative)

    def computed_in(self: _Options, dtype: np.dtype) -> _Options:
        """Return the options of a run that computes distances in this type.

        The cutoff is rounded as the weights are: a vertex at that distance is within the cutoff.
        """
        cutoff, whole = self.cutoff, dtype.kind in "iu"
        if cutoff is not None:
            if not cutoff < (infinity(dtype) - 1 if whole else float(np.finfo(dtype).max)):
                cutoff = None
            else:
                cutoff = math.floor(cutoff) if whole else float(dtype.type(cutoff))
        if (dtype, cutoff) == (self.dtype, self.cutoff):
            return self
        return changed(self, dtype=dtype, cutoff=cutoff)

    def farthest_in(self, dtype: np.dtype) -> np.generic:
        """Return the largest finite distance of a type that is within the cutoff."""
        whole = dtype.kind in "iu"
        largest = infinity(dtype) - 1 if whole else np.finfo(dtype).max
        farthest: np.generic
        if self.cutoff is None or self.cutoff >= float(largest):
            farthest = dtype.type(largest)
        else:
            farthest = dtype.type(math.floor(self.cutoff) if whole else self.cutoff)
        return farthest

    def reaches_targets(self, distances: np.ndarray) -> bool:
        """Return whether there are targets, and a row (n,) has the distances of all of them."""
        if self.targets is None:
            return False
        return bool((distances[self.targets] < infinity(distances.dtype)).all())

    def hide_beyond_targets(self, distances: np.ndarray) -> None:
        """Mark vertices of a row (n,) that are farther than all targets as unreachable."""
        if self.reaches_targets(distances):
            farthest = distances[self.targets].max()
            distances[distances > farthest] = infinity(distances.dtype)

    def hide(self, distances: np.ndarray, predecessors: np.ndarray | None) -> None:
        """Mark vertices beyond the cutoff as unreachable, in rows of the answer."""
        if self.cutoff is None:
            return
        # rows may have a type that does not hold the cutoff; integers are compared as integers
        is_float = distances.dtype.kind == "f"
        exact = np.float64(self.cutoff) if is_float else math.floor(self.cutoff)
        rows = max(1, _VALUES // max(distances.shape[1], 1))

        def hide(first: int, last: int) -> None:
            for start in range(first, last, rows):
                some = slice(start, min(start + rows, last))
                beyond = distances[some] > exact
                distances[some][beyond] = infinity(distances.dtype)
                if predecessors is not None:
                    predecessors[some][beyond] = NO_PREDECESSOR

        share(hide, len(distances), distances.nbytes)


@dataclass(frozen=True)
class AllPairsOptions(PathOptions):
    """The checked arguments of `solve`.

    Attributes
    ----------
    out : ndarray or None
        Array for the distances, one row for each source. Its type is that of the answer.
    answer : numpy.dtype or None
        The type of the answer, if it is not `dtype`, the type of the computation. A method may
        return distances of either type.
    totals : bool
        Whether only sums over rows are wanted. Then no memory for rows is needed.
    checkpoint : path-like or None
        Folder for checkpoints, for methods that write them.
    """

    out: np.ndarray | None = field(default=None, kw_only=True)
    answer: np.dtype | None = field(default=None, kw_only=True)
    totals: bool = field(default=False, kw_only=True)
    checkpoint: str | PathLike[str] | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Rows(Answer):
    """Rows of distances.

    Attributes
    ----------
    distances : (k, n) ndarray or DeviceRows
        The rows of the `PathOptions.sources` of the plan; all n rows if these are None.
        `DeviceRows` only if they are `PathOptions.device_rows`.
    predecessors : (k, n) int32 ndarray or DeviceRows or None
    checked : bool
        Whether the method itself has checked for negative cycles and clipped distances.
    """

    distances: Any
    predecessors: Any
    checked: bool = field(default=False, kw_only=True)


class PathMethod(Method):
    """Base of the methods that compute rows of distances.

    Attributes
    ----------
    multidevice : bool
        Whether it can use several devices.
    """

    requires: ClassVar[Weights] = Weights()
    multidevice: ClassVar[bool] = False

    def unmet(self, about: Graph | Facts, options: Any) -> PyApspError | None:
        """Return the error of what the method needs, and this graph or device does not have."""
        requires = self.requires
        if requires.non_negative and about.has_negative:
            return NegativeWeightError(f"{self.id} needs non-negative weights")
        if requires.integer and not about.is_integer:
            return PrecisionError(f"{self.id} needs weights that are whole numbers")
        if requires.unweighted and not about.is_unweighted:
            return GraphError(f"{self.id} needs an unweighted graph: every weight 1")
        if options.helpers and not self.multidevice:
            return CapabilityError(f"{self.id} uses one device")
        return super().unmet(about, options)


class AllPairsMethod(PathMethod):
    """Base of the methods that compute all pairs, or the rows of many sources.

    Attributes
    ----------
    outofcore : bool
        Whether it writes checkpoints, and keeps a memory-mapped matrix on disk.
    by_source : bool
        Whether it computes only the rows of the sources, a block at a time. It is a
        `pyapsp.all_pairs.sparse.source_blocks.SourceBlocks`.
    batched : bool
        Whether a kernel launch can compute many graphs of the same size. It is a `FloydWarshall`
        with rounds for `Configuration.graphs` graphs, each with its own part of every buffer.
    """

    problem = "all-pairs"
    outofcore: ClassVar[bool] = False
    by_source: ClassVar[bool] = False
    batched: ClassVar[bool] = False

    def unmet(self, about: Graph | Facts, options: AllPairsOptions) -> PyApspError | None:
        """Return the error of what the method needs, and this graph or device does not have."""
        error = super().unmet(about, options)
        if error is None and options.checkpoint is not None and not self.outofcore:
            return CapabilityError(f"{self.id} writes no checkpoints")
        return error

    def predict(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Return the predicted seconds of planning, run and transfers; None without a prediction.

        Parameters
        ----------
        graph : Facts
        options : AllPairsOptions
            They have no sources and no cutoff.
        rows : int
            Number of rows that are wanted. A method with `by_source` computes only these.
        """
        return None

    def predicted(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Return the prediction for all devices of the options; the parameters are the same."""
        return self.predict(graph, options, rows)


def sample(size: int, family: str, seed: int, requires: Weights) -> Graph:
    """Return a random graph that meets these requirements.

    Weights are small whole numbers, so that sums are exact in every type. Some vertices cannot be
    reached. With odd seeds some weights are negative, if the requirements allow that. No cycle is
    negative.

    Parameters
    ----------
    size : int
        Approximate number of vertices.
    family : str
        One of `pyapsp.graph.families.FAMILIES`.
    seed : int
    requires : Weights
    """
    arcs, heaviest, limit = ARCS, _MAX_WEIGHT, requires.largest_distance
    if limit is not None and limit < _LOW:
        # in a mesh, distances grow with the length of its sides
        arcs, heaviest, family = (
            _MORE_ARCS,
            max(1, min(heaviest, limit // _PART_OF_LIMIT)),
            "uniform",
        )
    graph = draw(family, size, seed, arcs=arcs, max_weight=1 if requires.unweighted else heaviest)
    tails, heads, weights = graph.arcs()
    kept = heads % _UNREACHED != _UNREACHED - 1
    tails, heads, weights = tails[kept], heads[kept], weights[kept]
    if seed % 2 and not requires.non_negative and not requires.unweighted:
        # a potential changes the signs of weights, but not the length of any cycle
        potential = np.random.default_rng(seed).integers(0, _MAX_WEIGHT, graph.n)
        weights = weights + potential[tails] - potential[heads]
    return Graph.from_arcs(graph.n, tails, heads, weights, name=f"{graph.name}-{seed}")


def about(graph: Graph) -> Record:
    """Return the facts of a graph for the record of a run.

    The hash is computed only for graphs with a name, which files, generators and the bench give.
    For an array that is passed to `solve` it would take longer than a search.
    """
    return {
        "name": graph.name,
        "n": graph.n,
        "m": graph.m,
        "directed": graph.directed,
        "hash": None if graph.name is None else graph.content_hash,
    }


def fits(requires: Weights, row: Mapping[str, Any]) -> bool:
    """Return whether a method can solve the graph of a row of ``data/datasets.csv``.

    The file has no longest distance for a graph with negative weights.
    """
    limit: float | None = requires.largest_distance
    if limit is None and requires.non_negative:
        limit = float("inf")
    longest = float("nan") if row["longest"] is None else row["longest"]
    return (limit is None or longest <= limit) and not (requires.unweighted and row["weighted"])


def farthest(cutoff: float | None, owner: str) -> int | float | None:
    """Return a cutoff as a Python int or float.

    Raises
    ------
    ParameterError
        If it is no non-negative number.
    """
    if cutoff is None:
        return None
    if is_real(cutoff):
        number = int(cutoff) if isinstance(cutoff, Integral) else float(cutoff)
        if number >= 0:
            return number
    raise ParameterError.of("cutoff", owner, "a non-negative number", cutoff)


def vertices_of(graph: Graph, given: Vertices, owner: str, name: str = "sources") -> np.ndarray:
    """Return vertices that are given by numbers or labels, as an array of numbers.

    Parameters and errors are those of `vertices`, and of `pyapsp.graph.names.numbered`.
    """
    return vertices(numbered(graph, given, owner, name), graph.n, owner, name)


def vertices_or_all(
    graph: Graph, given: Vertices | None, owner: str, name: str = "sources"
) -> np.ndarray:
    """Return vertices as `vertices_of` does; all of the graph for None."""
    return np.arange(graph.n) if given is None else vertices_of(graph, given, owner, name)


def vertices(given: Vertices, n: int, owner: str, name: str = "sources") -> np.ndarray:
    """Return vertices as an int64 array; a single vertex becomes an array of length one.

    Parameters
    ----------
    given : int, or sequence of int
    n : int
        Number of vertices of the graph.
    owner, name : str
        Names of the function and of the parameter, for messages.

    Raises
    ------
    ParameterError
        If a value is no vertex.
    """
    if type(given) is int and 0 <= given < n:  # the checks of arrays take 20 µs
        return np.array([given], np.int64)
    rule = "the number of a vertex, or a sequence of such numbers"
    try:
        found = np.atleast_1d(array(name, given))
    except GraphError:  # rows of different lengths, for instance
        raise ParameterError.of(name, owner, rule, given) from None
    if is_masked(given) or found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ParameterError.of(name, owner, rule, given)
    if found.size and (found.min() < 0 or found.max() >= n):
        outside = found[(found < 0) | (found >= n)][0]
        rule = f"vertices in [0, {n})" if n else "empty for a graph without vertices"
        raise ParameterError.of(name, owner, rule, int(outside))
    return found.astype(np.int64)
