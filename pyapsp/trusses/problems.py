"""The problems `triangles` and `truss` of the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from pyapsp.graph import Graph, read
from pyapsp.graph.families import FAMILIES
from pyapsp.paths import about
from pyapsp.registry import Check, Choice, Problem, Request, in_order, register_problem
from pyapsp.trusses import triangles, truss, truss_serial
from pyapsp.trusses.counts import Counts, TriangleOptions
from pyapsp.trusses.decomposition import Trussness, TrussOptions
from pyapsp.trusses.sets import triangles_by_sets, trussness_by_sets
from pyapsp.trusses.simple import edge_count, sample

__all__ = ["TRIANGLES", "TRUSS"]


# What answers are compared with.
_ORACLE = "sets of neighbours, in Python"


def _triangle_choices(request: Request) -> Iterator[Choice]:
    """Yield the methods that can solve the problem, the fastest for the kind of device first."""
    scalar = request.options.device.traits.scalar_groups
    return in_order(request, ["triangles-bitmap" if scalar else "triangles-hash"])


def _truss_choices(request: Request) -> Iterator[Choice]:
    """Yield the methods that can solve the problem, the fastest for the size of the graph first."""
    if truss_serial.suits(request.input, request.options):
        return in_order(request, ["truss-serial", "truss-peeling"])
    return in_order(request, ["truss-peeling"], last=["truss-serial"])


def _is_like(values: np.ndarray, expected: np.ndarray, dtype: type) -> bool:
    """Return whether an answer has the shape of another one, and this type."""
    return values.shape == expected.shape and values.dtype == dtype


def _triangles_oracle(graph: Graph, options: TriangleOptions) -> Callable[[Counts], Check]:
    """Return a function that compares counts with those by sets."""
    expected = triangles_by_sets(graph)

    def check(answer: Counts) -> Check:
        fault, values = None, answer.per_vertex
        if answer.total != expected.sum() // 3:
            fault = f"there are {expected.sum() // 3} triangles, not {answer.total}"
        elif values is not None and not _is_like(values, expected, np.int64):
            fault = f"its counts are {values.dtype} {values.shape}"
        elif values is not None and (wrong := np.flatnonzero(values != expected)).size:
            v = wrong[0]
            fault = f"vertex {v} is in {expected[v]} triangles, not {values[v]}"
        return Check(fault is None, fault, _ORACLE)

    return check


def _truss_oracle(graph: Graph, options: TrussOptions) -> Callable[[Trussness], Check]:
    """Return a function that compares the trussness with that by sets."""
    expected = trussness_by_sets(graph, options.k)
    tails, heads, _ = graph.arcs()

    def check(answer: Trussness) -> Check:
        fault, values = None, answer.values
        if not _is_like(values, expected, np.int32):
            fault = f"its trussness is {values.dtype} {values.shape}"
        elif (wrong := np.flatnonzero(values != expected)).size:
            a = wrong[0]
            fault = f"edge {tails[a]}-{heads[a]} has trussness {expected[a]}, not {values[a]}"
        return Check(fault is None, fault, _ORACLE)

    return check


_of_edges = partial(
    Problem,
    unit="edges",
    packages=("pyapsp.trusses",),
    families=FAMILIES,
    read=read,
    sample=sample,
    about=about,
    work=lambda graph, options, answer: edge_count(graph),
)

TRIANGLES = register_problem(
    _of_edges(
        "triangles",
        "triangles, in all and at each vertex",
        dtypes=("int64",),
        ask=triangles.requested,
        oracle=_triangles_oracle,
        choices=_triangle_choices,
    )
)

TRUSS = register_problem(
    _of_edges(
        "truss",
        "the trussness of each edge, or one k-truss",
        dtypes=("int32",),
        ask=truss.requested,
        oracle=_truss_oracle,
        choices=_truss_choices,
    )
)
