"""Searches of few distances, and betweenness, in groups of GPUs and of CPUs.

Needs one worker thread: Oclgrind takes the atomic operations on counters in different groups for
data races.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csgraph

import pyapsp
from pyapsp.all_pairs.summaries import lanes
from pyapsp.device import model, quirks
from pyapsp.graph import generators
from pyapsp.queries import range_rows

range_rows._DENSE = 0  # the device searches
graph = generators.random_graph(40, 110, seed=3, max_weight=9)
rows = csgraph.dijkstra(graph.to_scipy().astype(float))
rng = np.random.default_rng(1)
tails, heads = rng.integers(0, graph.n, (2, 30))
once = None
for scalar in (True, False):
    traits = quirks.Traits("builtin", "builtin", max_vector_bytes=8, scalar_groups=scalar)
    model.traits_of = lambda *who, traits=traits: traits
    for predecessors in (False, True):
        near = pyapsp.within(graph, cutoff=12, predecessors=predecessors)
        assert near.distances.nnz == (rows <= 12).sum()
        entries = near.distances.tocoo()
        assert (rows[entries.row, entries.col] == entries.data).all()
        found = pyapsp.pairs(graph, tails, heads, paths=predecessors)
        assert (found.distances == rows[tails, heads]).all()
    assert (
        pyapsp.distances(graph, tails[:9], heads[:5]) == rows[np.ix_(tails[:9], heads[:5])]
    ).all()
    counts = pyapsp.count_shortest_paths(graph, tails, heads)
    paths = pyapsp.all_shortest_paths(graph, tails, heads)
    assert counts.tolist() == [len(paths.paths(pair)) for pair in range(tails.size)]
    ranked = pyapsp.yen(graph, tails[:4], heads[:4], 3)
    assert ranked.distances(0)[0] == rows[tails[0], heads[0]]
    found = pyapsp.nearest(graph.reversed(), range(0, 40, 7), 3)
    assert (found.distances == np.sort(rows[::7].T, axis=1)[:, :3]).all()
    between = [
        pyapsp.betweenness_centrality(graph),
        pyapsp.betweenness_centrality(graph, weight=...),
        pyapsp.edge_betweenness_centrality(graph),
    ]
    once = between if once is None else once
    for one, other in zip(once, between, strict=True):
        np.testing.assert_allclose(one, other)
    if scalar:
        lanes._FEW, lanes._TOGETHER = 1, 0
        np.testing.assert_allclose(pyapsp.betweenness_centrality(graph), once[0])
        np.testing.assert_allclose(pyapsp.edge_betweenness_centrality(graph), once[2])
