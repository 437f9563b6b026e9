"""A graph that changes: every kernel of batches, columns and triangles, against a set of edges."""

import numpy as np
from scipy.sparse import csgraph

from pyapsp.dynamic import Hornet, TriangleCounts, analytics
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
    graph.insert_edges(*more, 9, duplicates="update")  # all equal edges
    now = graph.snapshot()
    tails = np.repeat(np.arange(30), np.diff(now.indptr)).tolist()
    found = zip(tails, now.indices.tolist(), now.values["weight"].tolist(), strict=True)
    assert {weight for tail, head, weight in found if (tail, head) in both} == {9}
    lengths = csgraph.dijkstra(graph.to_graph().to_scipy(), indices=0)
    assert (analytics.distances(graph, 0) == np.where(np.isinf(lengths), -1, lengths)).all()
    graph.delete_edges(*more)
    model -= both
    assert set(zip(*map(np.ndarray.tolist, graph.to_csr().nonzero()), strict=True)) == model
    graph.delete_vertices([3, 4, 5])
    model = {edge for edge in model if not set(edge) & {3, 4, 5}}
    graph.insert_vertices(2)
    assert set(zip(*map(np.ndarray.tolist, graph.to_csr().nonzero()), strict=True)) == model
    matrix, x = graph.to_csr(), np.arange(30, dtype=np.float32)
    for rows in (graph, analytics.CsrRows(graph.to_graph())):
        assert np.allclose(analytics.spmv(rows, x), matrix @ x)
        levels = csgraph.dijkstra(matrix, unweighted=True, indices=0)
        assert (analytics.bfs(rows, 0) == np.where(np.isinf(levels), -1, levels)).all()
        count, labels = csgraph.connected_components(matrix, directed=False)
        assert np.unique(analytics.connected_components(rows)).size == count
        assert abs(analytics.pagerank(rows, limit=3).sum() - 1) < 1e-4
    plain_graph = Graph(matrix.indptr, matrix.indices, np.ones(matrix.nnz))
    plain = analytics.CsrRows(plain_graph)
    assert np.allclose(analytics.spmv(plain, x), (matrix != 0) @ x)
    doubled = analytics.CsrRows(plain_graph.with_weights(np.full(matrix.nnz, 2)))
    whole = np.arange(30, dtype=np.int32)
    assert (analytics.spmv(doubled, whole) == 2 * ((matrix != 0) @ whole)).all()
    tails, heads = zip(*model, strict=True)
    graph.delete_edges(tails, heads)
    assert (graph.m, graph.memory.edges) == (0, 0)

graph = Hornet(20, directed=False, block_array=16)
counts = TriangleCounts(graph)
for _ in range(3):
    counts.insert_edges(*random.integers(0, 20, (2, 40)))
    counts.delete_edges(*random.integers(0, 20, (2, 40)))
    matrix = graph.to_csr()
    matrix.setdiag(0)
    right = (matrix @ matrix @ matrix).diagonal() // 2
    assert counts.per_vertex.tolist() == right.tolist()
    assert 3 * counts.total == right.sum() > 0
