"""Every kind of intersection with every division of the work, for triangles and for Delta."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.graph import Graph
from pyapsp.registry import problem
from pyapsp.trusses import TrussDelta, intersections

# each legal pair of intersection and partition, with groups of one work-item and of several
PAIRS = [
    ("merge", "items", {}),
    ("binary-search", "items", {}),
    ("intersect-path", "items", {}),
    ("binary-search", "virtual-warp", {"width": 8}),
    ("intersect-path", "virtual-warp", {"width": 8}),
    ("binary-search", "two-phase", {"step": 4}),
    ("intersect-path", "two-phase", {"step": 4}),
]
GROUPED = [
    {"intersection": intersection, "partition": partition, "group": group, **more}
    for intersection, partition, more in PAIRS
    for group in (1, 64)
    if more.get("width", 1) <= group
]


def hub_and_clique():
    """A row that is much longer than the others, a clique, and vertices without edges."""
    edges = [(0, v) for v in range(1, 600)] + [(v, v + 1) for v in range(1, 599, 3)]
    edges += combinations(range(600, 670), 2)
    tails, heads = np.array([*edges, (5, 600), (0, 601), (2, 2)]).T
    return Graph.from_arcs(800, tails, heads, directed=False)


GRAPHS = [hub_and_clique(), problem("truss").sample(300, "power-law", 2, None)]


@pytest.mark.every(8)
@pytest.mark.parametrize("parameters", GROUPED, ids=lambda each: "-".join(map(str, each.values())))
def test_every_pair(parameters, device):
    for name, asked in (("triangles-intersect", {}), ("truss-delta", {"k": 4})):
        method = pyapsp.method(name, **parameters)
        of = problem(method.problem)
        for graph in GRAPHS:
            request = of.ask(graph, method, device=device, **asked)
            answer = method.run(method.plan(graph, request.options))
            of.oracle(graph, request.options)(answer).require()


@pytest.mark.parametrize("pair", [PAIRS[5], PAIRS[6]], ids=lambda pair: pair[0])
def test_work_beyond_32_bits_is_done_in_several_launches(pair, device, monkeypatch):
    intersection, partition, more = pair
    shape = {"intersection": intersection, "partition": partition, "group": 1, **more}
    monkeypatch.setattr(intersections, "_MOST", 20_000)  # some arcs at a time
    of = problem("triangles")
    method = pyapsp.method("triangles-intersect", **shape)
    for per_vertex in (True, False):
        request = of.ask(GRAPHS[0], method, device=device, per_vertex=per_vertex)
        answer = method.run(method.plan(GRAPHS[0], request.options))
        of.oracle(GRAPHS[0], request.options)(answer).require()


def test_supports_are_those_of_a_recount_after_every_step(device, monkeypatch):
    """Delta's supports of the edges that are left, after each of its steps."""
    take, graph, seen = TrussDelta.take, GRAPHS[1], []

    def compared(self, steps, removed):
        take(self, steps, removed)
        read = {
            name: np.empty(steps.edges, np.int32) for name in ("supports", "marks", "tails", "ends")
        }
        for name, values in read.items():
            cl.enqueue_copy(steps.queue, values, getattr(steps, name))
        left = read["marks"] == 2**31 - 1
        ends = np.stack([read["tails"][left], read["ends"][left]])
        matrix = Graph.from_arcs(graph.n, *ends, directed=False).to_scipy()
        expected = np.asarray((matrix @ matrix)[ends[0], ends[1]]).ravel()
        np.testing.assert_array_equal(read["supports"][left], expected)
        seen.append(int(left.sum()))

    monkeypatch.setattr(TrussDelta, "take", compared)
    pyapsp.truss_decomposition(graph, "truss-delta", device=device)
    assert len(seen) > 3
    assert seen == sorted(seen, reverse=True)
