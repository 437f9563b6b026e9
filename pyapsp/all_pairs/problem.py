"""The problem `all-pairs` of the registry."""

from __future__ import annotations

from typing import Any

from pyapsp.all_pairs.choice import choices
from pyapsp.all_pairs.request import Arguments, requested
from pyapsp.all_pairs.settle import settle
from pyapsp.graph import Graph, GraphLike, read
from pyapsp.graph.families import FAMILIES
from pyapsp.numbers.precision import DTYPES
from pyapsp.paths import AllPairsOptions, Rows, about, fits, sample
from pyapsp.paths.certificate import oracle
from pyapsp.registry import Method, Problem, Request, register_problem

__all__ = ["ALL_PAIRS"]


def _ask(graph: GraphLike, method: str | Method = "auto", **options: Any) -> Request:
    return requested(graph, Arguments(method=method, **options))


def _work(graph: Graph, options: AllPairsOptions, answer: Rows) -> int:
    """Return the updates d = min(d, a + b): n^2 for each row that the method computed."""
    return options.count(graph.n) * graph.n**2


ALL_PAIRS = register_problem(
    Problem(
        id="all-pairs",
        summary="shortest paths between all pairs of vertices, or from many",
        unit="updates",
        dtypes=("float64", *(name for name in DTYPES if name != "float64")),
        packages=("pyapsp.all_pairs.dense", "pyapsp.all_pairs.sparse"),
        families=FAMILIES,
        read=read,
        sample=sample,
        about=about,
        ask=_ask,
        work=_work,
        oracle=oracle,
        choices=choices,
        settle=settle,
        fits=fits,
        asks=("predecessors", "sources"),
    )
)
