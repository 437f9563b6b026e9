"""Searches that scatter costs: against SciPy.

Oclgrind has no 64-bit atomics, so that words of 64 bits are lowered by halves.
"""

import itertools

import numpy as np

import pyapsp
import pyapsp.all_pairs.sparse
from pyapsp import verify
from pyapsp.graph import Graph, generators

random = generators.random_graph(37, seed=1)
star = Graph.from_arcs(21, [0] * 20 + [*range(1, 21)], [*range(1, 21)] + [0] * 20)
graphs = {"positive": random, "zeros": random.with_weights(random.weights % 3), "star": star}
methods = [
    pyapsp.method("apsp-iterative", vertices=32),
    pyapsp.method("apsp-tasks", sources=8, vertices=4),
    pyapsp.method("apsp-tasks", sources=32, vertices=2),
    pyapsp.method("apsp-tasks", sources=1, vertices=4),
    pyapsp.method("apsp-tasks-unshared", sources=8, vertices=4),
    pyapsp.method("apsp-bfs", sources=16, group=8),
]
for name, graph in graphs.items():
    for method, dtype, paths in itertools.product(
        methods, ("float32", "int64", "uint16"), (False, True)
    ):
        if method.id == "apsp-bfs":
            graph = graph.with_weights(np.ones(graph.m))
        result = pyapsp.solve(graph, method, dtype=dtype, predecessors=paths)
        assert verify.certificate(graph, result).ok, (name, method, dtype, paths)
        assert verify.against_scipy(graph, result).ok, (name, method, dtype, paths)
tails, heads, weights = random.arcs()
potential = np.random.default_rng(0).integers(0, 40, random.n)
lowered = random.with_weights(weights + potential[tails] - potential[heads])
for dtype in ("float32", "int16"):
    result = pyapsp.solve(lowered, "johnson", dtype=dtype, predecessors=True)
    assert verify.certificate(lowered, result).ok
    assert verify.against_scipy(lowered, result).ok
try:
    pyapsp.solve(random.with_weights(weights - 30), "johnson", dtype="int32")
except pyapsp.errors.NegativeCycleError:
    pass
else:
    raise AssertionError("a negative cycle was not seen")
