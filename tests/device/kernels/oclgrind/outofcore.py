"""A matrix larger than a device: both forms of the product on rectangles, against SciPy."""

import functools

from tiles import TILES

import pyapsp
from pyapsp import verify
from pyapsp.all_pairs.dense.fw_minplus import FwMinplus
from pyapsp.all_pairs.dense.outofcore import speeds, team
from pyapsp.device.kernels import filling
from pyapsp.graph import generators

# an interpreter takes seconds for what a device does meanwhile
speeds._TURNS, speeds._SAMPLE, speeds._SAMPLED = 1, 2**16, (32,)
filling._COUNTED = 100  # a kernel fills what has more values
graph = generators.random_graph(70, seed=1)
tails, heads, weights = graph.arcs()
broken = graph.with_weights(weights - 30)
forms = [
    dict(**TILES, block=32, ahead=0, separate=0),
    dict(**TILES, block=32, ahead=0, separate=1),
    {"form": "panels", "block": 32, "tile": 16, "rows": 4, "strips": 2, "width": 4},
]
for form in forms:
    team.FwMinplus = functools.partial(FwMinplus, **form)
    for cut in ({"block": 64, "rows": 32}, {"block": 32, "rows": 32, "columns": 32}):
        for split in ("fused", "separated"):
            method = pyapsp.method("fw-outofcore", split=split, **cut)
            result = pyapsp.solve(graph, method, dtype="float32", predecessors=True)
            assert verify.certificate(graph, result).ok, (form, cut, split)
            assert verify.against_scipy(graph, result).ok, (form, cut, split)
    # one device, because the tool runs one kernel at a time
    result = pyapsp.solve(graph, pyapsp.method("fw-multidevice", block=32), dtype="float32")
    assert verify.against_scipy(graph, result).ok, form
    try:
        pyapsp.solve(broken, pyapsp.method("fw-outofcore", block=32, rows=32), dtype="int32")
    except pyapsp.errors.NegativeCycleError:
        continue
    raise AssertionError(form)
