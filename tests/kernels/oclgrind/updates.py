"""A graph that changes: every kernel of batches and of columns, against a set of edges."""

import numpy as np

from pyapsp.dynamic import Hornet
from pyapsp.graph import Graph

random = np.random.default_rng(3)
for directed in (True, False):
    ends = random.integers(0, 30, (2, 150))
    given = Graph.from_arcs(30, *ends, np.arange(1, 151), directed=directed)
    graph = Hornet.from_graph(given, weight="int32", block_array=16)
    model = set(zip(*map(np.ndarray.tolist, graph.to_csr().nonzero()), strict=True))
    for duplicates in ("ignore", "update", "keep"):
        more = random.integers(0, 30, (2, 120))
        both = set(zip(*more.tolist(), strict=True))
        both |= set() if directed else {(head, tail) for tail, head in both}
        graph.insert_edges(*more, 7, duplicates=duplicates)
        model |= both
        assert graph.has_edges(*more).all()
        assert set(zip(*map(np.ndarray.tolist, graph.to_csr().nonzero()), strict=True)) == model
    graph.delete_edges(*more)
    model -= both
    assert set(zip(*map(np.ndarray.tolist, graph.to_csr().nonzero()), strict=True)) == model
    graph.delete_vertices([3, 4, 5])
    model = {edge for edge in model if not set(edge) & {3, 4, 5}}
    graph.insert_vertices(2)
    assert set(zip(*map(np.ndarray.tolist, graph.to_csr().nonzero()), strict=True)) == model
    tails, heads = zip(*model, strict=True)
    graph.delete_edges(tails, heads)
    assert (graph.m, graph.memory.edges) == (0, 0)
