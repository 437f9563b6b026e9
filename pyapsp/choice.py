"""What `method="auto"` takes: the method, and the type to hold distances in, predicted fastest."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pyapsp.errors import (
    CapabilityError,
    GraphError,
    NegativeWeightError,
    PrecisionError,
    PyApspError,
)
from pyapsp.graph import Graph
from pyapsp.host import available_memory
from pyapsp.precision import distance_bound, eccentricity_bound, narrower
from pyapsp.registry import Method, Options, methods
from pyapsp.registry import method as find_method
from pyapsp.sparse.source_blocks import SourceBlocks

__all__ = ["Choice", "candidates", "suited", "unmet"]

# What runs when nothing is known about the device: for the matrix, and for some rows of it. What
# runs when nothing else can.
_DEFAULT, _DEFAULT_ROWS, _LAST = "fw-minplus", "johnson", "fw-outofcore"
# Where nothing is known: how many updates of a matrix take as long as an arc and a source.
_UPDATES = 64
# Seconds of the host for an arc and for a vertex, in a proof that distances are short; and the type
# that it is for.
_ARC, _VERTEX, _SHORT = 4.5e-8, 6e-7, np.dtype(np.uint16)


@dataclass(frozen=True)
class Choice:
    """A method that may run, and the number type of the distances while it does.

    Attributes
    ----------
    method : Method
    dtype : numpy.dtype
        The one asked for, or a narrower integer type that is proved exact for the graph.
    seconds : float or None
        Predicted, with transfers; None when nothing is known.
    proof : str
        Why the type holds every distance; empty for the one that was asked for.
    """

    method: Method
    dtype: np.dtype
    seconds: float | None = None
    proof: str = ""

    def __str__(self) -> str:
        held = f" in {self.dtype}" if self.proof else ""
        time = "not known" if self.seconds is None else f"{self.seconds * 1e3:.3g} ms"
        return f"{self.method.id}{held} {time}"


def unmet(method: Method, graph: Graph, options: Options) -> PyApspError | None:
    """Return the error of what the method needs, and this graph or device does not have."""
    requires, device = method.requires, options.device
    if requires.non_negative and graph.has_negative:
        return NegativeWeightError(f"{method.id} needs non-negative weights")
    if requires.integer and not graph.is_integer:
        return PrecisionError(f"{method.id} needs weights that are whole numbers")
    if requires.unweighted and not graph.is_unweighted:
        return GraphError(f"{method.id} needs an unweighted graph: every weight 1")
    if options.checkpoint is not None and not method.outofcore:
        return CapabilityError(f"{method.id} writes no checkpoints")
    if options.helpers and not method.outofcore:
        return CapabilityError(f"{method.id} uses one device")
    for capability in requires.capabilities:
        if not getattr(device.capabilities, capability):
            return CapabilityError(f"{method.id} needs {capability}: {device.name} has none")
    return None


def suited(method: Method, graph: Graph, options: Options, dtype: np.dtype) -> Options:
    """Return what a method is told, if it holds the distances in this type.

    One that computes all rows at once is told of all. Its answer is cut down afterwards.
    """
    held = options.held_in(dtype)
    if isinstance(method, SourceBlocks):
        return held
    out = options.out if options.sources is None and dtype == options.dtype else None
    check = options.must_check(graph)
    return replace(held, sources=None, cutoff=None, out=out, check=check)


def candidates(graph: Graph, options: Options) -> list[Choice]:
    """Return what can solve a graph, the shortest predicted time first.

    Every method that knows what it takes on such a device (`Method.predict`), in the dtype asked
    for and in a narrower one that holds every distance; then the default, if it does not know; last
    what needs neither a device that holds the matrix nor one alone. A
    proof that is not free is looked for only where the host takes less time for it than it gains.

    Where some rows are wanted and the host cannot hold all, only methods that compute these alone;
    and where they are wanted of a graph with few arcs, such a method comes before those that are
    not known to be faster.
    """
    some = options.sources is not None
    alone = some and not _host_holds_all(graph, options)
    few = some and _UPDATES * options.count(graph.n) * graph.m < graph.n**3
    able = [
        each
        for each in (cls() for cls in methods())
        if unmet(each, graph, options) is None and (isinstance(each, SourceBlocks) or not alone)
    ]
    asked = Choice(find_method(_DEFAULT_ROWS if alone or few else _DEFAULT), options.dtype)
    bound = distance_bound(graph)
    known = {kind: _predictions(able, graph, options, kind) for kind in (options.dtype, _SHORT)}
    gain = _quickest(known[options.dtype], graph, bound) - _quickest(known[_SHORT], graph, 0)
    if gain > graph.m * _ARC + graph.n * _VERTEX:
        bound = eccentricity_bound(graph)
    types = [asked]
    held = narrower(graph, options.dtype, bound)
    if held is not None:
        types.insert(0, replace(asked, dtype=held, proof=f"no distance exceeds {bound:g}"))
    for kind in types:
        if kind.dtype not in known:
            known[kind.dtype] = _predictions(able, graph, options, kind.dtype)
    found = [
        replace(kind, method=method, seconds=seconds)
        for kind in types
        for method, seconds in known[kind.dtype]
        if _holds(method, graph, bound)
    ]
    found.sort(key=lambda choice: choice.seconds or 0.0)
    there = {(choice.method.id, choice.dtype) for choice in found}
    unknown = [kind for kind in types if (kind.method.id, kind.dtype) not in there]
    if unmet(asked.method, graph, options) is not None:
        unknown = []
    first = few and not any(isinstance(choice.method, SourceBlocks) for choice in found)
    found = [*unknown, *found] if first else [*found, *unknown]
    return found if alone else [*found, Choice(find_method(_LAST), options.dtype)]


def _host_holds_all(graph: Graph, options: Options) -> bool:
    """Return whether the host has memory for all rows."""
    available = available_memory()
    each = options.dtype.itemsize + (4 if options.predecessors else 0)
    return available is None or graph.n**2 * each <= available


def _predictions(
    able: list[Method], graph: Graph, options: Options, dtype: np.dtype
) -> list[tuple[Method, float]]:
    """Return the methods with a prediction in this type, and the prediction."""
    options = replace(options, dtype=dtype)
    predicted = ((method, method.predict(graph, options)) for method in able)
    return [(method, seconds) for method, seconds in predicted if seconds is not None]


def _holds(method: Method, graph: Graph, bound: int | float) -> bool:
    """Return whether a method holds distances up to the bound."""
    limit = method.requires.largest_distance
    return limit is None or max(bound, graph.max_magnitude) <= limit


def _quickest(known: list[tuple[Method, float]], graph: Graph, bound: int | float) -> float:
    """Return the shortest prediction, 0 without any."""
    times = (seconds for method, seconds in known if _holds(method, graph, bound))
    return min(times, default=0.0)
