"""Condensation and bow tie, against NetworkX and the definition."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import pyapsp
from pyapsp.errors import ParameterError
from pyapsp.traversal.components.structure import PARTS


def drawn(seed, n=40, m=45):
    rng = np.random.default_rng(seed)
    return pyapsp.Graph.from_arcs(n, *rng.integers(0, n, (2, m)))


def expected_parts(graph, core):
    """By the definition, from what each vertex reaches."""
    digraph = nx.DiGraph()
    digraph.add_nodes_from(range(graph.n))
    digraph.add_edges_from(zip(*(each.tolist() for each in graph.arcs()[:2]), strict=True))
    after = {v: nx.descendants(digraph, v) | {v} for v in digraph}
    into = {v for v in digraph if after[v] & core} - core
    out = {v for v in digraph if any(v in after[c] for c in core)} - core
    from_in = {w for v in into for w in after[v]} - into - out - core
    to_out = {v for v in digraph if after[v] & out} - into - out - core
    others = set(digraph) - core - into - out - from_in - to_out
    return [core, into, out, from_in & to_out, from_in ^ to_out, others]


def test_bow_ties_follow_the_definition(device):
    seen = set()
    for seed in range(8):
        graph = drawn(seed)
        found = pyapsp.bow_tie(graph, device=device)
        sizes = found.components.sizes
        core = set(found.components.vertices(int(sizes.argmax())).tolist())
        expected = expected_parts(graph, core)
        for name, vertices in zip(PARTS, expected, strict=True):
            assert found.vertices(name).tolist() == sorted(vertices), (seed, name)
            assert found.sizes[name] == len(vertices)
            seen |= {name} if vertices else set()
    assert seen == set(PARTS)
    with pytest.raises(ParameterError, match="BowTie"):
        found.vertices("middle")


def test_condensations_are_those_of_networkx(device):
    for seed in range(5):
        graph = drawn(seed)
        found = pyapsp.condensation(graph, "scc-tarjan", device=device)
        labels, smaller = found.components.labels, found.graph
        tails, heads, counts = (each.tolist() for each in smaller.arcs())
        ends = [(labels[a], labels[b]) for a, b in zip(*graph.arcs()[:2], strict=True)]
        assert all(ends.count((a, b)) == c for a, b, c in zip(tails, heads, counts, strict=True))
        assert sum(counts) == sum(a != b for a, b in ends)
        assert smaller.n == found.components.count
        assert nx.is_directed_acyclic_graph(nx.DiGraph(zip(tails, heads, strict=True)))


def test_graphs_without_arcs_and_with_names(device):
    empty = pyapsp.bow_tie(pyapsp.Graph.from_arcs(0, [], []), device=device)
    assert empty.sizes == dict.fromkeys(PARTS, 0)
    assert empty.parts.shape == (0,)
    assert pyapsp.condensation(pyapsp.Graph.from_arcs(0, [], []), device=device).graph.n == 0
    lone = pyapsp.bow_tie(pyapsp.Graph.from_arcs(3, [], []), device=device)
    assert lone.parts.tolist() == [0, 5, 5]
    named = pyapsp.Graph.from_arcs(4, [0, 1, 2, 1], [1, 2, 1, 3], labels=list("abcd"))
    frame = pyapsp.bow_tie(named, device=device).to_frame()
    assert frame.to_dict("list") == {
        "vertex": list("abcd"),
        "part": ["in", "core", "core", "out"],
        "component": [0, 1, 1, 2],
    }
