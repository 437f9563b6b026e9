"""Minimum spanning forests: the problem, its function, and its method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike
from pyapsp.forest.boruvka import Boruvka, Forest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from pyapsp.device import DeviceLike
from pyapsp.graph import Graph, GraphLike, Weight, as_graph, read
from pyapsp.graph.families import FAMILIES, draw
from pyapsp.numbers.precision import named
from pyapsp.paths import about
from pyapsp.registry import (
    Check,
    Method,
    Options,
    Problem,
    Request,
    in_order,
    register_problem,
    request,
    runs,
)

__all__ = ["Boruvka", "Forest", "minimum_spanning_forest"]


def minimum_spanning_forest(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    weight: Weight = ...,
    device: DeviceLike = None,
    memory_limit: int | None = None,
) -> Graph:
    """Return the edges of least weight that connect all vertices of each component.

    Of edges with the same weight, those come first whose smaller end has the smaller number, then
    those whose larger end has. So the forest does not depend on the device.

    Parameters
    ----------
    graph : Graph or graph-like
        As for `solve`, with weights of any sign. An arc is an edge; of two arcs between the same
        vertices it is the lighter one.
    method : str or Method
    weight, device, memory_limit
        As for `solve`.

    Returns
    -------
    Graph
        Undirected, with the same vertices and labels.
    """
    graph = as_graph(graph, weight=weight, copy=False)
    asked = _ask(graph, method, device=device, memory_limit=memory_limit)
    tails, heads, weights = asked.input.arcs()
    chosen = runs.solve(asked).answer.arcs
    edges = tails[chosen], heads[chosen], weights[chosen]
    return Graph.from_arcs(graph.n, *edges, directed=False, labels=graph.labels)


def _ask(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Request:
    """Check the arguments; weights are compared in their own type by default."""
    given = as_graph(graph, directed=False, copy=False)
    kind = given.dtype if dtype is None else named(dtype, "minimum_spanning_forest")
    limits = {"device": device, "memory_limit": memory_limit, "progress": progress}
    return request("spanning-forest", given, Options, kind, method, **limits)


def _oracle(graph: Graph, options: Options) -> Callable[[Forest], Check]:
    """Return the comparison with SciPy.

    All minimum spanning forests have the same weights. SciPy takes a weight of zero for no edge, so
    that it gets the ranks of the weights, from 1.
    """
    tails, heads, weights = graph.arcs()
    different, ranks = np.unique(weights, return_inverse=True)
    shape = graph.n, graph.n
    right = minimum_spanning_tree(csr_array((ranks + 1.0, (tails, heads)), shape=shape)).data

    def check(answer: Forest) -> Check:
        arcs = answer.arcs
        edges = csr_array((np.ones(arcs.size), (tails[arcs], heads[arcs])), shape=shape)
        trees = graph.n - connected_components(edges, directed=False)[0]
        fault = None
        if trees < arcs.size:
            fault = f"{arcs.size - trees} edges close cycles"
        elif not np.array_equal(np.sort(weights[arcs]), different[np.sort(right).astype(int) - 1]):
            fault = f"{arcs.size} edges are not the {right.size} lightest"
        return Check(fault is None, fault, "SciPy's minimum_spanning_tree")

    return check


register_problem(
    Problem(
        id="spanning-forest",
        summary="the lightest edges that connect all vertices of each component",
        unit="arcs",
        dtypes=("float64", "float32", "int64", "int32"),
        packages=("pyapsp.forest",),
        families=FAMILIES,
        read=read,
        sample=lambda size, family, seed, requires: draw(family, size, seed).symmetrized(),
        about=about,
        ask=_ask,
        work=lambda graph, options, answer: graph.m,
        oracle=_oracle,
        choices=in_order,
    )
)
