"""Owners of units by every technique, rows of CSR-M, prefix sums: against NumPy."""

import numpy as np
import pyopencl as cl
from papers.representations import csr_m_on_device, represent

import pyapsp
from pyapsp.device.kernels.scan import Scan
from pyapsp.graph import generators
from pyapsp.registry import problem
from pyapsp.traversal.partitioning.offsets import Offsets

partition = problem("partition")
gaps = np.concatenate([np.zeros(90), [3], np.zeros(70), np.full(20, 2), [0, 60, 0]])
inputs = [Offsets.of_sizes(gaps.astype(int)), Offsets.of_sizes([0, 5, 1, 0, 70, 2] * 4)]
sets = {
    "partition-virtual-warp": [{"warp": 4, "items": 4, "group": 16}],
    "partition-dynamic-warp": [
        {"heavy": heavy, "threshold": threshold, "each": each, "group": 16}
        for heavy, threshold, each in (
            ("none", 4096, 8),
            ("relaunch", 4, 4),
            ("relaunch-fused", 4, 4),
            ("group-strip", 4, 8),
        )
    ],
    "partition-cta-warp-scan": [{"large": 1, "medium": 1, "slots": 1, "warp": 8, "group": 16}],
    "partition-local-warp": [
        {"held": held, "warp": 8, "group": 16} for held in ("local", "registers")
    ],
    "partition-block": [{"items": 16, "group": 16}],
    "partition-two-phase": [
        {"form": "chunks", "search": "interpolation", "each": 3, "group": 16},
        {"form": "merge-path", "each": 3, "group": 16},
    ],
    "partition-multi-phase": [
        {"search": "hybrid", "each": 4, "rounds": 2, "warp": 8, "group": 16, "staging": staging}
        for staging in ("warp", "group")
    ]
    + [{"find": "marks", "each": 4, "rounds": 2, "group": 16}],
}
for cls in pyapsp.methods("partition"):
    for parameters in sets.get(cls.id, [{"group": 16}]):
        method = cls(**parameters)
        for given in inputs:
            options = partition.ask(given, method).options
            right = partition.oracle(given, options)
            right(method.run(method.plan(given, options))).require()

graph = generators.random_graph(70, seed=1)
rows = csr_m_on_device(graph, pyapsp.devices()[0]).arrays["rows"]
assert np.array_equal(rows, represent(graph, "csr-m").arrays["rows"])

queue = pyapsp.devices()[0].queue()
numbers = np.arange(100, dtype=np.int32)
given = cl.Buffer(queue.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=numbers)
found = np.empty(101, np.int32)
cl.enqueue_copy(queue, found, Scan(pyapsp.devices()[0], 8, 2, 4)(queue, given, 100))
assert np.array_equal(found, [0, *np.cumsum(numbers)])
