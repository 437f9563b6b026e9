"""Many graphs at once: one group each, or launches for all, for GPUs and for CPUs."""

import dataclasses

import numpy as np
from scipy.sparse import csgraph

import pyapsp
from pyapsp.device import model
from pyapsp.graph import as_graph
from pyapsp.paths.result import Result
from pyapsp.verify import certificate

rng = np.random.default_rng(0)


def solved(weights, method="auto", **parameters):
    wide = [
        csgraph.csgraph_from_dense(np.where(each == 0, np.inf, each), np.inf) for each in weights
    ]
    expected = np.array([csgraph.floyd_warshall(each) for each in wide])
    found = pyapsp.solve_many(weights, method, predecessors=True, **parameters)
    np.testing.assert_array_equal(found[0], expected)
    for each, graph, distances, before in zip(weights, wide, *found, strict=True):
        rows = Result(distances, before, np.arange(len(each)), None, {}, ())
        assert certificate(as_graph(graph), rows).ok, (method, each)


def all_forms(methods, n=19):
    weights = rng.integers(1, 9, (3, n, n)) * (rng.random((3, n, n)) < 0.3)
    up = rng.integers(0, 9, (3, n))
    negative = np.where(weights == 0, 0, weights + up[:, :, None] - up[:, None, :])
    for method in methods:
        for dtype in ("float32", "int64"):
            solved(weights.astype(dtype), method)
        solved(negative.astype("float32"), method)


tiles = {"tile": 32, "block": 32}
all_forms(
    [
        "fw-onegroup",
        pyapsp.method("fw-multikernel", tile=16),
        pyapsp.method("fw-minplus", **tiles),
    ]
)
solved(rng.integers(0, 3, (3, 19, 19)).astype("int32"), pyapsp.method("fw-packed8", tile=32))
traits = model.traits_of
model.traits_of = lambda *who: dataclasses.replace(traits(*who), scalar_groups=True)
all_forms(["fw-onegroup"], 5)  # a graph in each lane
all_forms(["fw-onegroup"], 16)  # in rows
