"""Breadth-first searches with queues, every kernel of them, against SciPy and their certificates.

Oclgrind has no 64-bit atomics, which the table hash64 needs.
"""

import numpy as np

import pyapsp
from pyapsp import verify
from pyapsp.graph import Graph, generators
from pyapsp.traversal.bfs import bfs_4k

random = generators.random_graph(60, 240, seed=1)
star = Graph.from_arcs(80, [0] * 79, range(1, 80), directed=False)
line = Graph.from_arcs(9, range(8), range(1, 9))
small = {"group": 32, "warp": 8, "queue": 4, "least_width": 1, "resident": 16, "single": 0}
small |= {"duplicates": "hash32", "dynamic": "off", "coalesce": 1, "discover": 0}


def check(method, graphs=(random, star, line)):
    for graph in graphs:
        found = pyapsp.bfs(graph, [0, graph.n - 1], method)
        ones = graph.with_weights(np.ones(graph.m, np.int64))
        assert verify.certificate(ones, found.rows).ok
        assert verify.against_scipy(ones, found.rows).ok


for more in (
    {"single": 1},
    {"single": 1, "discover": 1},
    {"least_width": 8, "resident": 16},
    {"resident": 256, "discover": 1, "extended": 1},
    {"heavy": 200, "piece": 4, "dynamic": "relaunch"},
    {"dynamic": "group-strip", "heavy": 200, "piece": 4, "duplicates": "per-warp"},
    {"duplicates": "off"},
    {"duplicates": "per-warp", "queue": 1},
):
    check(pyapsp.method("bfs-4k", **{**small, **more}))
statistics = pyapsp.method("bfs-4k", **small)
statistics.on_levels = lambda levels: None
check(statistics, [random])
bfs_4k._capacity = lambda n: 4
check(pyapsp.method("bfs-4k", **small), [random])

for frontier in ("vertex", "edge", "two-phase"):
    check(pyapsp.method("bfs-b40c", frontier=frontier, group=32, warp=8))
check(pyapsp.method("bfs-b40c", frontier="hybrid", resident=16, group=32, warp=8))
for balance in ("degrees", "vertices", "arcs"):
    check(pyapsp.method("bfs-gunrock", balance=balance, group=32, warp=8))
check(pyapsp.method("bfs-luo", group=32, buckets=8, room=8))
check(pyapsp.method("bfs-frontier", group=32, width=4))
check(pyapsp.method("bfs-sequential"))
check(pyapsp.method("bfs-streamed", block=2**8, group=32, width=4))
