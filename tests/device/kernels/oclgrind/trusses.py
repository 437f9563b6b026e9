"""Triangles and trusses: against SciPy, with one work-item for a row, several, and small tables."""

import pyapsp
from pyapsp.graph import Graph
from pyapsp.registry import problem

SMALL = {"small_group": 32, "small_width": 4, "small_slots": 64}
SETS = {
    "triangles-bitmap": [{"group": 1}, {"group": 32, "batch": 16}],
    "triangles-hash": [
        {"group": 1, "width": 1, "slots": 64, "small_group": 1, "small_width": 1},
        {"group": 32, "width": 8, "slots": 64, **SMALL},
    ],
    "triangles-intersect": [
        {"intersection": "merge", "partition": "items", "group": 32},
        {"intersection": "binary-search", "partition": "virtual-warp", "width": 8, "group": 32},
        {"intersection": "intersect-path", "partition": "two-phase", "step": 4, "group": 32},
    ],
    "truss-peeling": [
        {"group": 1, "width": 1, "ahead": 1},
        {"group": 32, "width": 8, "ahead": 4},
    ],
}
SETS["truss-serial"] = [{}]
clique = [(a, b) for a in range(40) for b in range(a)]
strip = [(v, v + d) for v in range(35, 57) for d in (0, 1, 2)]
both = Graph.from_arcs(60, *zip(*clique, *strip, strict=True))
# most of its edges are in no 5-truss
few = Graph.from_arcs(60, *zip(*clique[:28], *strip, strict=True))
SETS["truss-delta"] = SETS["truss-iterative"] = SETS["triangles-intersect"]
asked = {"triangles": [{"per_vertex": False}, {}], "truss": [{"k": 5}, {}]}
for name, arguments in asked.items():
    of = problem(name)
    for graph in [both, few, *(of.sample(60, family, 1, None) for family in of.families)]:
        for more in arguments:
            request = of.ask(graph, **more)
            right = of.oracle(request.input, request.options)
            for method in pyapsp.methods(name):
                for parameters in SETS[method.id]:
                    chosen = method(**parameters)
                    right(chosen.run(chosen.plan(request.input, request.options))).require()
