"""Groups that wait for each other, and packed words: against SciPy.

To be run with one worker thread: the first group takes every ticket, so that what the detector
reports lies inside a group. It knows no order between groups of one launch and would report every
tile that one wrote and another read; that order is tested in tests/all_pairs/dense, with the
functions that make it. Oclgrind has no device-wide fence and needs none for one thread.
"""

import dataclasses
import itertools

import numpy as np

import pyapsp
from pyapsp import verify
from pyapsp.device import model
from pyapsp.graph import generators

(device,) = pyapsp.devices()
able = {"device_scope_fence": True, "c_standard": "CL1.2"}
model._capabilities[device.handle] = dataclasses.replace(device.capabilities, **able)
random = generators.random_graph(37, seed=1)
potential = np.random.default_rng(0).integers(0, 40, random.n)
tails, heads, weights = random.arcs()
zeros = random.with_weights(weights % 3)
negative = random.with_weights(weights + potential[tails] - potential[heads])
small = random.with_weights(weights % 2)
broken = random.with_weights(weights - 30)
shape = {"tile": 16, "rows": 2, "group_x": 8, "group_y": 4}
words = {"tile": 32, "rows": 2, "group_x": 2, "group_y": 8}
tiled = [
    pyapsp.method("fw-multikernel", tile=16, width=1, rows=4, group_x=16, group_y=4),
    pyapsp.method("fw-multikernel", tile=16, width=8, rows=16, group_x=1, group_y=1),
    pyapsp.method("fw-multikernel", width=2, contiguous=1, **shape),
    pyapsp.method("fw-singlekernel", width=1, order=0, groups=2, **shape),
    pyapsp.method("fw-singlekernel", width=2, order=1, groups=1, contiguous=1, **shape),
]
packed = [
    pyapsp.method("fw-packed4", single=0, width=1, **words),
    pyapsp.method("fw-packed4", single=1, width=2, **words),
    pyapsp.method("fw-packed8", form=0, width=2, contiguous=1, **words),
    pyapsp.method("fw-packed8", form=1, single=1, width=8, **words),
    pyapsp.method("fw-packed16", form=0, single=1, width=4, **words),
    pyapsp.method("fw-packed16", form=1, width=4, **words),
]
runs = [*itertools.product(tiled, (zeros, negative), ("float32", "int64"))]
runs += [*itertools.product(packed, (small,), ("int32",))]
for method, graph, dtype in runs:
    result = pyapsp.solve(graph, method, dtype=dtype)
    assert verify.against_scipy(graph, result).ok, (method, dtype)
for method in tiled:
    try:
        pyapsp.solve(broken, method, dtype="int32")
    except pyapsp.errors.NegativeCycleError:
        print("cycle", method)
