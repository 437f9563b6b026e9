"""Floyd-Warshall in each of its shapes, predecessors, the certificate: against SciPy."""

import itertools

import numpy as np
from tiles import TILES

import pyapsp
from pyapsp import verify
from pyapsp.graph import generators

random = generators.random_graph(37, seed=1)
rng = np.random.default_rng(0)
potential = rng.integers(0, 40, random.n)
tails, heads, weights = random.arcs()
graphs = {
    "positive": random,
    "zeros": random.with_weights(weights % 3),
    "negative": random.with_weights(weights + potential[tails] - potential[heads]),
}
methods = [
    pyapsp.method("fw-naive"),
    pyapsp.method("fw-blocked", tile=16, width=1, rows=1, group_x=16, group_y=16),
    pyapsp.method("fw-blocked", tile=16, width=1, rows=2, group_x=8, group_y=4),
    pyapsp.method("fw-blocked", tile=16, width=4, rows=4, group_x=2, group_y=2),
    pyapsp.method("fw-blocked", tile=16, width=8, rows=8, group_x=1, group_y=1),
    pyapsp.method("fw-minplus", form="panels", block=32, tile=16, rows=4, strips=2, width=4),
    pyapsp.method("fw-minplus", **TILES, block=32, ahead=0),
    pyapsp.method("fw-minplus", **TILES, block=32, ahead=0, separate=1),
    pyapsp.method("fw-minplus", **TILES, block=64, ahead=1),
    pyapsp.method("fw-mm", tile=16),
    pyapsp.method("fw-mm", tile=16, width=2, group=4, h_pivot=2, h_panel=8, l=2),
    pyapsp.method("fw-twolevel", tile=16, subtile=4, l=2),
    pyapsp.method("fw-twolevel", tile=16, subtile=2, width=4, l=2),
    pyapsp.method("fw-recursive", tile=16),
    pyapsp.method("fw-recursive", tile=16, width=4, group=4, merged=0),
]
for name, graph in graphs.items():
    for method, dtype, paths in itertools.product(methods, ("float32", "int64"), (False, True)):
        result = pyapsp.solve(graph, method, dtype=dtype, predecessors=paths)
        assert verify.certificate(graph, result).ok, (name, method, dtype, paths)
        assert verify.against_scipy(graph, result).ok, (name, method, dtype, paths)
# a negative cycle makes row k and column k change in step k: still nobody reads what another writes
broken = random.with_weights(weights - 30)
for method in methods:
    try:
        pyapsp.solve(broken, method, dtype="int32")
    except pyapsp.errors.NegativeCycleError:
        print("cycle", method)
