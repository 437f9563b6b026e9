"""A package to compare with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from pyapsp.graph import Graph
from pyapsp.registry import Answer, Check, Options

if TYPE_CHECKING:
    import networkit

__all__ = ["Peer", "Prepared", "networkit_graph"]

#: A call, and a function that makes an answer from its result.
Prepared = tuple[Callable[[], Any], Callable[[Any], Answer]]


@dataclass(frozen=True)
class Peer:
    """A package to compare with."""

    name: str  # its name in tables
    dtype: str  # the number type in which it computes
    # The function, with its package and module; or what was written for the comparison, if the
    # package has no such function. Tables show it.
    calls: str
    # Takes an input and the options of a request; returns the call to be timed, and a function that
    # makes an `Answer` from its result.
    prepare: Callable[..., Prepared]
    problem: str = "all-pairs"  # the id of the problem that it solves
    # "answer" or "product". What a call computes: the answer, or one min-plus product of two n x n
    # matrices. Floyd-Warshall needs at least as many updates as the product.
    what: str = "answer"
    # Its name on PyPI. Default: `name`.
    package: str = ""
    some: bool = False  # whether it can compute only the rows of some sources
    unweighted: bool = False  # whether it counts arcs, so that all weights must be 1
    non_negative: bool = False  # whether it is only right without negative weights
    # A function like `Problem.oracle`, if a call computes something other than the answer.
    oracle: Callable[..., Callable[..., Check]] | None = None

    @property
    def version(self) -> str | None:
        """The installed version; None if it is not installed."""
        try:
            return version(self.package or self.name)
        except PackageNotFoundError:
            return None

    def unfit(self, graph: Graph, options: Options) -> str | None:
        """Return why it cannot run on this input; None if it can."""
        if self.version is None:
            return "not installed"
        if graph.n == 0:
            return "nothing to do"
        if getattr(options, "sources", None) is not None and not self.some:
            return "computes all rows"
        if self.unweighted and not graph.is_unweighted:
            return "counts arcs"
        if self.non_negative and graph.has_negative:
            return f"{self.calls} is not for negative weights"
        return None


def networkit_graph(graph: Graph, *, weighted: bool) -> networkit.Graph:
    """Return the graph in the form of NetworKit."""
    import networkit

    tails, heads, weights = graph.arcs()
    arcs = weights.astype(np.float64), (tails.astype(np.uint64), heads.astype(np.uint64))
    return networkit.GraphFromCoo(arcs, n=graph.n, weighted=weighted, directed=True)
