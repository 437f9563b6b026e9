"""Searches from one source: levels and shortest paths, against SciPy and their certificates.

Oclgrind has no 64-bit atomics, so that words of 64 bits are lowered by halves.
"""

import importlib

import numpy as np

import pyapsp
from pyapsp import verify
from pyapsp.graph import Graph, generators

random = generators.random_graph(37, seed=1)
star = Graph.from_arcs(41, [0] * 40, range(1, 41), directed=False)
line = Graph.from_arcs(9, range(8), range(1, 9))
loops = Graph.from_arcs(6, [0, 0, 1, 1, 4], [0, 1, 1, 0, 5], [0, 0, 3, 0, 0])
shapes = [{}, {"group": 64}, {"width": 4, "group": 32}]


def check(graph, rows):
    assert verify.certificate(graph, rows).ok
    assert verify.against_scipy(graph, rows).ok


def fitting(cls):
    """Methods with those of these parameters that they have."""
    return [pyapsp.method(cls.id, **each) for each in shapes if each.keys() <= cls.choices.keys()]


for cls in pyapsp.methods("bfs"):
    for method in fitting(cls):
        for graph in (random, star, line, loops):
            found = pyapsp.bfs(graph, [0, graph.n - 1], method)
            check(graph.with_weights(np.ones(graph.m, np.int64)), found.rows)
    assert pyapsp.bfs(random, 0, cls.id, parents=False).parents is None

# push, pull and walk, by one work-item and by groups; vertices in pieces; a test of symmetry
module = importlib.import_module("pyapsp.traversal.bfs.bfs_direction_optimising")
module._CHUNK = module._SCALAR_CHUNK = 5
module._LARGE = module._DENSE = 0
mesh = generators.grid_2d(7, 9, 1)
lists = random.symmetrized(), random, star, line, loops, mesh, generators.rmat(7, seed=1)
for group in (1, 32, 64):
    for forced in ((0, 0, 1), (0, 10**9, 10**9), (0, 10**9, 1), (1024, 15, 18)):
        limits = dict(zip(("walk", "alpha", "beta"), forced, strict=True))
        method = pyapsp.method("bfs-direction-optimising", group=group, **limits)
        for graph in lists:
            again = Graph(graph.indptr, graph.indices, graph.weights)
            found = pyapsp.bfs(again, graph.n - 1, method)
            check(graph.with_weights(np.ones(graph.m, np.int64)), found.rows)

zeros = random.with_weights(random.weights % 3)
wide = random.with_weights(2**32 * random.weights + random.weights % 2)
tails, heads, weights = random.arcs()
potential = np.random.default_rng(0).integers(0, 40, random.n)
lowered = random.with_weights(weights + potential[tails] - potential[heads])
for cls in pyapsp.methods("sssp"):
    graphs = [random, zeros, star, line, loops, *([] if cls.requires.non_negative else [lowered])]
    for method in fitting(cls):
        for graph in graphs:
            for dtype in ("int32", "float32", "int16"):
                found = pyapsp.sssp(graph, [0, graph.n - 1], method, dtype=dtype, predecessors=True)
                check(graph, found.rows)
        for dtype in ("int64", "float64"):
            if cls.id not in ("sssp-delta-stepping", "sssp-h-bf"):  # they need 64-bit atomics
                check(wide, pyapsp.sssp(wide, 3, method, dtype=dtype, predecessors=True).rows)
    check(random, pyapsp.sssp(random, 5, cls.id, predecessors=True).rows)
# vertices in pieces, full lists, heavy vertices, all forms of the options
module = importlib.import_module("pyapsp.traversal.sssp.sssp_delta_stepping")
module._CHUNK = module._SCALAR_CHUNK = 5
module._HELD = module._SCALAR_HELD = 16
module._ROOM = 0
for room in (4, 100):
    module._LEAST_ROOM = room
    for group in (1, 32):
        for walk in (0, 65536):
            for graph in (random, star, loops):
                method = pyapsp.method("sssp-delta-stepping", group=group, walk=walk, delta=1)
                check(graph, pyapsp.sssp(graph, 0, method, dtype="int32", predecessors=True).rows)
for duplicates in ("kept", "tag32"):
    for width in (0, 1):
        options = {"duplicates": duplicates, "width": width, "staged": width, "heavy": 256}
        method = pyapsp.method("sssp-h-bf", group=32, load=1, **options)
        for graph in (random, star, loops, lowered, Graph.from_arcs(300, [0] * 299, range(1, 300))):
            check(graph, pyapsp.sssp(graph, 0, method, dtype="int32", predecessors=True).rows)
for duplicates in ("table", "tag32"):
    merged = pyapsp.method("sssp-h-bf", split="merge-path", group=32, duplicates=duplicates)
    for graph in (random, star, loops, lowered):
        check(graph, pyapsp.sssp(graph, 0, merged, dtype="int32", predecessors=True).rows)

slow = pyapsp.method("sssp-near-far", delta=25)
check(wide, pyapsp.sssp(wide, 3, slow, dtype="int64", predecessors=True).rows)
near = pyapsp.sssp(random, 0, slow, dtype="int32", cutoff=30, predecessors=True)
assert 1 < (near.predecessors >= 0).sum() < 37
try:
    pyapsp.sssp(random.with_weights(weights - 30), 0, dtype="int32")
except pyapsp.errors.NegativeCycleError:
    pass
else:
    raise AssertionError("a negative cycle was not seen")
