"""Strongly connected components, as the rest of the package sees the problem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.csgraph import connected_components

from pyapsp.graph import Graph, read
from pyapsp.graph.families import FAMILIES
from pyapsp.paths import Weights, about
from pyapsp.paths import sample as sample_paths
from pyapsp.registry import Check, Options, Problem, Requirements, register_problem
from pyapsp.traversal.components import requested
from pyapsp.traversal.scc import Labels

__all__ = ["SCC"]


def _sample(size: int, family: str, seed: int, requires: Requirements) -> Graph:
    """Return a random directed graph with components of several sizes.

    That of shortest paths, where some vertices have no entering arc. Edges of a mesh become an arc
    each, in a random direction.
    """
    graph = sample_paths(size, family, seed, Weights(unweighted=True))
    if family != "mesh":
        return graph
    tails, heads, _ = graph.arcs()
    ends = np.unique(np.sort(np.stack([tails, heads], axis=1), axis=1), axis=0)
    turned = np.random.default_rng(seed).random(len(ends)) < 0.5
    ends[turned] = ends[turned, ::-1]
    return Graph.from_arcs(graph.n, ends[:, 0], ends[:, 1], name=graph.name)


def _oracle(graph: Graph, options: Options) -> Callable[[Labels], Check]:
    """Return what compares labels with SciPy's components, in the order of smallest vertices."""
    labels = np.zeros(0, np.int32)
    if graph.n:
        labels = connected_components(graph.to_scipy(), connection="strong")[1]
    _, smallest, each = np.unique(labels, return_index=True, return_inverse=True)
    expected = np.argsort(np.argsort(smallest))[each]

    def check(answer: Labels) -> Check:
        fault = None
        if answer.labels.shape != expected.shape or answer.labels.dtype != np.int32:
            fault = f"its labels are {answer.labels.dtype} {answer.labels.shape}"
        else:
            wrong = np.flatnonzero(answer.labels != expected)
            if wrong.size:
                v = wrong[0]
                fault = f"vertex {v} is in component {answer.labels[v]}, not {expected[v]}"
        return Check(fault is None, fault, "SciPy")

    return check


SCC = register_problem(
    Problem(
        id="scc",
        summary="strongly connected components",
        unit="arcs",
        dtypes=("int32",),
        areas=("pyapsp.traversal",),
        families=FAMILIES,
        read=read,
        sample=_sample,
        about=about,
        ask=requested,
        work=lambda graph, options, answer: graph.m,
        oracle=_oracle,
    )
)
