"""Searches by lists and by bits, their sums, and summaries: against SciPy and each other."""

import numpy as np

import pyapsp
from pyapsp import verify
from pyapsp.all_pairs import summaries
from pyapsp.all_pairs.sparse import ms_bfs
from pyapsp.all_pairs.sparse.totals import totals_of
from pyapsp.graph import Graph, generators
from pyapsp.paths import AllPairsOptions

(device,) = pyapsp.devices()


def check(graph, method, dtype, sources):
    result = pyapsp.solve(graph, method, dtype=dtype, sources=sources, predecessors=True)
    assert verify.certificate(graph, result).ok, (method, dtype)
    assert verify.against_scipy(graph, result).ok, (method, dtype)
    options = AllPairsOptions(device, np.dtype(dtype), sources=np.array(sources), totals=True)
    session = method.start(method.plan(graph, options))
    for some, found in session.totals(options.sources, 2):
        expected = totals_of(result.distances[some], 2)
        for name in ("largest", "total", "reached", "counts"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


random = generators.random_graph(37, seed=1)
star = Graph.from_arcs(301, [0] * 300, range(1, 301), directed=False)
zeros = random.with_weights(random.weights % 3)
crews = [(8, 32), (32, 64), (8, 1)]
for sources, group in crews:
    method = pyapsp.method("near-far", sources=sources, group=group)
    for dtype in ("float32", "uint16", "int32", "float64", "int64"):
        if group > 1 and np.dtype(dtype).itemsize == 8:
            continue
        check(random, method, dtype, [*range(0, 37, 3), 3])
        check(zeros, method, dtype, range(5))
    check(star, method, "int32", [0, 7, 300])
long = star.with_weights(np.full(star.m, 3000))
check(long, pyapsp.method("near-far"), "int32", [0, 7])

ones = random.with_weights(np.ones(random.m, np.int64))
line = Graph.from_arcs(40, range(39), range(1, 40), directed=False)
cases = (ones, [*range(37), 3]), (line, [0, 20]), (star, [0, 7, 300])
for few in ((1e-9, 2**31), (2**62, 0), (3, 9)):
    ms_bfs._FEW = {False: few}
    for words in (1, 4, 32):
        method = pyapsp.method("ms-bfs", words=words)
        for graph, sources in cases:
            check(graph, method, "uint16" if words == 4 else "int32", sources)

for graph in (random, ones):
    rows = pyapsp.solve(graph, "dijkstra-cpu", dtype="int64").distances
    near = np.where(rows < 2**62 - 1, rows, 0)
    assert summaries.diameter(graph) == near.max()
    assert (summaries.eccentricity(graph) == near.max(axis=1)).all()
    assert summaries.distance_histogram(graph).sum() == (rows < 2**62 - 1).sum() - 37
