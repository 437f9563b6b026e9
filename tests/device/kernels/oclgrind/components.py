"""Strongly connected components: against SciPy, with work-items that share arcs and without."""

import numpy as np

import pyapsp
from pyapsp.graph import Graph
from pyapsp.registry import problem

SETS = {
    "scc-colouring": [
        {"width": 1, "group": 1, "sweeps": 1},
        {"width": 4, "group": 64, "sweeps": 1},
        {"width": 16, "group": 64, "sweeps": 16},
    ],
    "scc-forward-backward": [
        {"width": 1, "group": 1, "trim": 0},
        {"width": 4, "group": 32, "trim": "full"},
        {"width": 64, "group": 64, "trim": 1},
    ],
    "scc-hooking": [{"group": 1}, {"group": 64}],
    "scc-multi-step": [
        {"searches": 1, "search": "linear", "colour_search": "linear", "width": 4, "group": 32},
        {"searches": 0, "colour_search": "quadratic", "width": 4, "group": 32},
        {"searches": 2, "search": "virtual-warp", "colour_search": "virtual-warp", "group": 32},
    ],
    "scc-tarjan": [{}],
}
scc = problem("scc")
cycles = [v + (v % 3 < 2) - 2 * (v % 3 == 2) for v in range(36)]
joined = Graph.from_arcs(
    40, [*range(36), *range(2, 36, 3), 36, 37], [*cycles, *range(3, 37, 3), 37, 38]
)
star = Graph.from_arcs(67, [*[0] * 66, *range(1, 67, 2)], [*range(1, 67), *[0] * 33])
graphs = [joined, star, Graph.from_arcs(3, [0, 1], [1, 2], directed=False)]
graphs += [scc.sample(60, family, 1, None) for family in scc.families]
for method in pyapsp.methods("scc"):
    for graph in graphs:
        request = scc.ask(graph, method(), weak=method.requires.symmetric)
        right = scc.oracle(graph, request.options)
        for parameters in SETS[method.id]:
            chosen = method(**parameters)
            right(chosen.run(chosen.plan(graph, request.options))).require()
assert np.array_equal(pyapsp.strongly_connected_components(joined).sizes, [3] * 12 + [1] * 4)
