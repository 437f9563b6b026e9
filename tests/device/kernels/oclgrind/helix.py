"""Helix: forms that cover its kernels and steps, with and without lists that are too short."""

import numpy as np
from scipy.sparse import csgraph

import pyapsp
from pyapsp.graph import Graph
from pyapsp.traversal.bfs.helix import dimensions, form
from pyapsp.traversal.bfs.helix.automatic import on_a_cpu

rng = np.random.default_rng(0)
# a hub with 70 arcs, a clique of 12, a path
arcs = [(0, v) for v in range(1, 71)]
arcs += [(u, v) for u in range(71, 83) for v in range(71, 83) if u != v]
arcs += [(70, 71), (82, 83), *((v, v + 1) for v in range(83, 90))]
tails, heads = np.array(arcs).T
graph = Graph.from_arcs(91, tails, heads, directed=False)
expected = csgraph.dijkstra(graph.to_scipy().astype(float), unweighted=True, indices=[1, 90])
device = pyapsp.devices()[0]
SMALL = {"group": 32, "warp": 8, "base": 6}


def search(**asked):
    given = dimensions.completed({**SMALL, **asked}, {**on_a_cpu(), "width": 4}, device)
    assert given is not None, asked
    found = pyapsp.bfs(graph, [1, 90], pyapsp.method("bfs-helix", **given), device=device)
    np.testing.assert_array_equal(found.levels, expected, err_msg=str(given))


def forms():
    search(balance="node", gather="both", scan="unordered", bitmask="32", update="ballot")
    search(balance="node-shuffle", heavy="bins", duplicates="load-warp", sync="batched")
    search(balance="scan-warp", queue="edge", duplicates="load-block", sync="single-group")
    search(balance="search-block", queue="two-phase", scan="unordered", duplicates="lookup-block")
    search(balance="naive-warp", duplicates="lookup-warp", bitmask="8", rows="csr")
    search(balance="scan-block", heavy="relaunch", duplicates="cas", bitmask="atomic")


forms()
search(balance="device", prefix="two-pass", duplicates="none", chunk="dynamic")
search(balance="device", leaves="drop", duplicates="lookup-warp", bitmask="32")
if device.capabilities.int64_atomics:
    search(balance="device", prefix="packed", duplicates="cas")
defines = form.defines
form.defines = lambda *given: defines(*given) | {"PYAPSP_SHORT": 8}
search(balance="node", heavy="bins", base=6)
search(balance="node", queue="edge")
