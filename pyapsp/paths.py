"""What the problems of shortest paths share: rows of distances, one for each source.

All pairs, single-source shortest paths and breadth-first search differ in which rows they are asked
for. Their methods need the same things of weights, and their answers are rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, TypeVar

import numpy as np

from pyapsp.device import Device
from pyapsp.errors import (
    CapabilityError,
    GraphError,
    NegativeWeightError,
    ParameterError,
    PrecisionError,
    PyApspError,
)
from pyapsp.graph import Facts, Graph
from pyapsp.graph.families import ARCS, draw
from pyapsp.graph.validation import is_real
from pyapsp.precision import infinity
from pyapsp.registry import Answer, Method, Options, Requirements
from pyapsp.result import NO_PREDECESSOR

__all__ = [
    "AllPairsMethod",
    "AllPairsOptions",
    "PathMethod",
    "PathOptions",
    "Rows",
    "Weights",
    "about",
    "farthest",
    "fits",
    "sample",
    "vertices",
]

# Distances that are compared with a cutoff at a time.
_VALUES = 2**20
# The largest weight of samples. Distances stay below 2^11, up to which every type is exact, half
# precision included; methods that hold small distances only get more arcs and smaller weights.
_MAX_WEIGHT = 20
_MORE_ARCS, _PART_OF_LIMIT, _LOW = 32, 8, 2**11
# Every so many vertices of a sample one that cannot be reached.
_UNREACHED = 17

_Options = TypeVar("_Options", bound="PathOptions")


@dataclass(frozen=True)
class Weights(Requirements):
    """What a method needs of the weights, beside what it needs of a device.

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
    """What the caller of a function for shortest paths asked for.

    Attributes
    ----------
    predecessors : bool
    sources : (k,) int64 ndarray or None
        The vertices whose rows are wanted, in any order and maybe repeated; None is all of them in
        order. Methods that compute all rows at once are given None.
    cutoff : float or None
        Larger distances need not be found: they are reported as unreachable. Smaller than the
        largest that the type holds. Methods that compute all rows at once are given None.
    check : bool
        Whether to look for distances past the range of their type.
    """

    predecessors: bool = False
    sources: np.ndarray | None = field(default=None, kw_only=True)
    cutoff: float | None = field(default=None, kw_only=True)
    check: bool = field(default=True, kw_only=True)

    def rows(self, n: int) -> np.ndarray:
        """Return the vertices of the rows that are wanted, int64."""
        return np.arange(n) if self.sources is None else self.sources

    def count(self, n: int) -> int:
        """Return how many rows are wanted."""
        return n if self.sources is None else self.sources.size

    def must_check(self, graph: Graph) -> bool:
        """Return whether a distance past the range of the type would make the answer wrong.

        Not if it is past the cutoff as well, when without negative weights nothing comes back.
        """
        return self.check and (self.cutoff is None or graph.has_negative)

    def held_in(self: _Options, dtype: np.dtype) -> _Options:
        """Return the options of a run that holds the distances in this type."""
        if self.cutoff is None and dtype == self.dtype:
            return self
        largest = infinity(dtype) - 1 if dtype.kind in "iu" else float(np.finfo(dtype).max)
        hides = self.cutoff is not None and self.cutoff < largest
        return replace(self, dtype=dtype, cutoff=self.cutoff if hides else None)

    def hide(self, distances: np.ndarray, predecessors: np.ndarray | None) -> None:
        """Report what is beyond the cutoff as unreachable, in rows of the answer."""
        if self.cutoff is None:
            return
        # a float type must not round the cutoff, and whole numbers not be rounded to compare them
        is_float = distances.dtype.kind == "f"
        exact = np.float64(self.cutoff) if is_float else math.floor(self.cutoff)
        rows = max(1, _VALUES // max(distances.shape[1], 1))
        for start in range(0, len(distances), rows):
            some = slice(start, start + rows)
            beyond = distances[some] > exact
            distances[some][beyond] = infinity(distances.dtype)
            if predecessors is not None:
                predecessors[some][beyond] = NO_PREDECESSOR


@dataclass(frozen=True)
class AllPairsOptions(PathOptions):
    """What the caller of `solve` asked for.

    Attributes
    ----------
    out : ndarray or None
        Where to put the distances, one row for each source. Of another type only for the methods
        that compute the sources alone: they convert row by row.
    totals : bool
        Whether only sums over rows are wanted, so that no memory for rows is needed.
    helpers : tuple of Device
        Further devices, for the methods that use several.
    checkpoint : path-like or None
        Folder for checkpoints, for the methods that write them.
    """

    out: np.ndarray | None = field(default=None, kw_only=True)
    totals: bool = field(default=False, kw_only=True)
    helpers: tuple[Device, ...] = field(default=(), kw_only=True)
    checkpoint: str | PathLike[str] | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Rows(Answer):
    """Rows of distances.

    Attributes
    ----------
    distances : (k, n) ndarray
        The rows of the `PathOptions.sources` of the plan: k is n where these are None.
    predecessors : (k, n) int32 ndarray or None
    checked : bool
        Whether the method has looked for negative cycles and clipped distances itself.
    """

    distances: np.ndarray
    predecessors: np.ndarray | None
    checked: bool = field(default=False, kw_only=True)


class PathMethod(Method):
    """Base of the methods that compute rows of distances."""

    requires: ClassVar[Weights] = Weights()

    def unmet(self, about: Graph | Facts, options: Any) -> PyApspError | None:
        """Return the error of what the method needs, and this graph or device does not have."""
        requires = self.requires
        if requires.non_negative and about.has_negative:
            return NegativeWeightError(f"{self.id} needs non-negative weights")
        if requires.integer and not about.is_integer:
            return PrecisionError(f"{self.id} needs weights that are whole numbers")
        if requires.unweighted and not about.is_unweighted:
            return GraphError(f"{self.id} needs an unweighted graph: every weight 1")
        return super().unmet(about, options)


class AllPairsMethod(PathMethod):
    """Base of the methods that compute all pairs, or the rows of many sources.

    Attributes
    ----------
    outofcore : bool
        Whether it takes several devices, writes checkpoints, and leaves a mapped file on disk.
    by_source : bool
        Whether it computes the rows of any sources alone, some at a time: it is a
        `pyapsp.sparse.source_blocks.SourceBlocks`.
    batched : bool
        Whether its launches can take many graphs of the same size: it is a `FloydWarshall` with
        rounds for `Configuration.graphs` graphs, each with its own part of every buffer.
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
        if error is None and options.helpers and not self.outofcore:
            return CapabilityError(f"{self.id} uses one device")
        return error

    def predict(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Return the seconds of planning and a run with its transfers; None if nothing is known.

        Parameters
        ----------
        graph : Facts
        options : AllPairsOptions
            Without sources and cutoff.
        rows : int
            How many rows are wanted: all that a method computes which computes sources alone.
        """
        return None


def sample(size: int, family: str, seed: int, requires: Weights) -> Graph:
    """Return a random graph that a method with these requirements takes.

    Weights are small whole numbers, so that sums are exact in every type. Some vertices cannot be
    reached. A method that takes negative weights gets some with odd seeds; no cycle is negative.

    Parameters
    ----------
    size : int
        Vertices, about.
    family : str
        One of `pyapsp.graph.families.FAMILIES`.
    seed : int
    requires : Weights
    """
    arcs, heaviest, limit = ARCS, _MAX_WEIGHT, requires.largest_distance
    if limit is not None and limit < _LOW:
        # distances in a mesh would be as long as its sides
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
        # a potential changes the signs of arcs, and the length of no cycle
        potential = np.random.default_rng(seed).integers(0, _MAX_WEIGHT, graph.n)
        weights = weights + potential[tails] - potential[heads]
    return Graph.from_arcs(graph.n, tails, heads, weights, name=f"{graph.name}-{seed}")


def about(graph: Graph) -> dict[str, Any]:
    """Return what records say of a graph.

    Files, generators and the bench give names; the hash of a graph without one is not computed,
    which for an array handed to `solve` would take longer than a search.
    """
    return {
        "name": graph.name,
        "n": graph.n,
        "m": graph.m,
        "directed": graph.directed,
        "hash": None if graph.name is None else graph.content_hash,
    }


def fits(requires: Weights, row: Mapping[str, Any]) -> bool:
    """Return whether a method takes the graph of a row of ``data/datasets.csv``.

    The register knows no longest distance where there are negative weights.
    """
    limit: float | None = requires.largest_distance
    if limit is None and requires.non_negative:
        limit = float("inf")
    longest = float("nan") if row["longest"] is None else row["longest"]
    return (limit is None or longest <= limit) and not (requires.unweighted and row["weighted"])


def farthest(cutoff: Any, owner: str) -> int | float | None:
    """Return a cutoff that a function was given as a number of Python's.

    Raises
    ------
    ParameterError
        If it is no number from zero up.
    """
    if cutoff is None:
        return None
    if is_real(cutoff):
        number = int(cutoff) if isinstance(cutoff, Integral) else float(cutoff)
        if number >= 0:
            return number
    raise ParameterError.of("cutoff", owner, "a non-negative number", cutoff)


def vertices(
    given: int | Sequence[int] | np.ndarray, n: int, owner: str, name: str = "sources"
) -> np.ndarray:
    """Return vertices that a function was given, as int64; one of them alone is a sequence of one.

    Parameters
    ----------
    given : int, or sequence of int
    n : int
        Vertices of the graph.
    owner, name : str
        The function and the parameter, for messages.

    Raises
    ------
    ParameterError
        If one is no vertex.
    """
    try:
        found = np.atleast_1d(np.asarray(given))
    except (TypeError, ValueError):  # rows of different lengths, for instance
        raise ParameterError.of(name, owner, "a sequence of vertices", given) from None
    if np.ma.is_masked(given) or found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ParameterError.of(name, owner, "a sequence of vertices", given)
    if found.size and (found.min() < 0 or found.max() >= n):
        outside = found[(found < 0) | (found >= n)][0]
        raise ParameterError.of(name, owner, f"vertices in [0, {n})", int(outside))
    return found.astype(np.int64)
