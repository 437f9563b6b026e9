"""The undirected graph with the arcs of a directed one: its weights are made when they are read."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

from pyapsp.graph import Graph, both_ways, generators
from pyapsp.graph.both_ways import both_ways as undirected

KINDS = np.int64, np.float32, np.float64


def drawn(kind: type, like: bool) -> Graph:
    """Return a directed graph with both arcs of each edge, of like weights or of other ones."""
    shape = generators.random_graph(60, 400, seed=1).symmetrized()
    weights = np.random.default_rng(2).integers(-9, 9, shape.m).astype(kind)
    if like:
        weights = np.minimum(*shape.arcs()[:2]).astype(kind)
    labels = [f"v{number}" for number in range(60)]
    return Graph(shape.indptr, shape.indices, weights, labels=labels, name="drawn")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("like", [False, True])
def test_it_is_the_undirected_graph(kind: type, like: bool) -> None:
    graph = drawn(kind, like)
    both = undirected(graph)
    assert undirected(graph) is both
    assert undirected(both) is both
    assert both.dtype == kind
    assert "weights" not in vars(both)
    assert both == graph.symmetrized()
    assert (both.weights is graph.weights) == like
    assert (both.name, both.min_weight) == (graph.name, graph.min_weight)
    assert both.indices is graph.indices
    with pytest.raises(ValueError, match="read-only"):
        both.weights[0] = 1
    for made in (pickle.loads(pickle.dumps(both)), copy.copy(both)):
        assert type(made) is Graph
        assert made == both
        assert made.name == both.name


def test_equal_weights_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = drawn(np.int64, like=True)
    graph = shape.with_weights(np.full(shape.m, 7))
    monkeypatch.setattr(both_ways, "is_symmetric", None)
    assert undirected(graph).weights is graph.weights


def test_both_graphs_leave_memory_without_a_search_for_cycles() -> None:
    gc.disable()
    try:
        graph = drawn(np.int64, like=False)
        undirected(graph)
        gone = weakref.ref(graph.indices)
        del graph
        assert gone() is None
    finally:
        gc.enable()


def test_a_pickle_does_not_have_it() -> None:
    graph = drawn(np.int64, like=False)
    undirected(graph)
    assert "_both_ways" not in vars(pickle.loads(pickle.dumps(graph)))
