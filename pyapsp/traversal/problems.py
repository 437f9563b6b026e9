"""Breadth-first search and single-source shortest paths, as the rest of the package sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from pyapsp import verify
from pyapsp.graph import Graph, read
from pyapsp.graph.families import FAMILIES
from pyapsp.paths import PathOptions, Rows, Weights, about, fits, sample
from pyapsp.precision import DTYPES, infinity
from pyapsp.registry import Check, Choice, Problem, Request, in_order, register_problem
from pyapsp.traversal.request import requested
from pyapsp.traversal.search import sourced

__all__ = ["BFS", "SSSP"]

# What "auto" takes, the first of these that can answer.
_PREFERRED = ("bfs-virtual-warp", "sssp-near-far")


def _work(graph: Graph, options: PathOptions, answer: Rows) -> int:
    """Return the arcs that leave the vertices reached, summed over the sources."""
    reached = answer.distances < infinity(answer.distances.dtype)
    return int((reached.sum(axis=0) * np.diff(graph.indptr)).sum())


def _choices(request: Request) -> Iterator[Choice]:
    """Yield what can answer, the preferred methods first."""
    found = in_order(request)
    return iter(sorted(found, key=lambda choice: choice.method.id not in _PREFERRED))


def _unweighted_oracle(graph: Graph, options: PathOptions) -> Callable[[Rows], Check]:
    ones = graph.with_weights(np.ones(graph.m, np.int64))
    return verify.oracle(ones, sourced(graph, options))


def _oracle(graph: Graph, options: PathOptions) -> Callable[[Rows], Check]:
    return verify.oracle(graph, sourced(graph, options))


def _fits_all(requires: Weights, row: Mapping[str, Any]) -> bool:
    """Return True: weights do not count."""
    return True


BFS = register_problem(
    Problem(
        id="bfs",
        summary="levels of the vertices around a source, where every arc counts 1",
        unit="arcs",
        dtypes=("int32",),
        areas=("pyapsp.traversal",),
        families=FAMILIES,
        read=read,
        sample=sample,
        about=about,
        ask=partial(requested, "bfs"),
        work=_work,
        oracle=_unweighted_oracle,
        choices=_choices,
        fits=_fits_all,
        asks=("sources", "predecessors"),
    )
)

SSSP = register_problem(
    Problem(
        id="sssp",
        summary="shortest paths from a source",
        unit="arcs",
        dtypes=("float64", *(name for name in DTYPES if name != "float64")),
        areas=("pyapsp.traversal",),
        families=FAMILIES,
        read=read,
        sample=sample,
        about=about,
        ask=partial(requested, "sssp"),
        work=_work,
        oracle=_oracle,
        choices=_choices,
        fits=fits,
        asks=("sources", "predecessors"),
    )
)
