"""Rows on the device: orientation, numbers of edges, what is left, and the support of edges."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.device import model
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.registry import Parameters, problem
from pyapsp.trusses.counting import EDGES, BitmapCounter, HashCounter
from pyapsp.trusses.rows import Selection, uploaded, zeros

SAMPLE = problem("truss").sample
GRAPHS = {
    family: SAMPLE(900, family, seed, None)
    for seed, family in enumerate(("uniform", "power-law", "mesh"))
}
# a few arcs among many vertices without any, so that chunks have slices that do not fit
GRAPHS["alone"] = Graph.from_arcs(40_000, [0, 0, 1, 9_000], [1, 39_999, 39_999, 9_000])
GRAPHS["alone"] = GRAPHS["alone"].symmetrized()


def ints(queue, buffer, count):
    found = np.empty(count, np.int32)
    if count:
        cl.enqueue_copy(queue, found, buffer)
    return found


def oriented(graph):
    """The tails and heads of the oriented arcs, in the order of the rows."""
    tails, heads, _ = graph.arcs()
    degrees = np.diff(graph.indptr)
    at = degrees[tails], degrees[heads]
    rising = (at[0] < at[1]) | ((at[0] == at[1]) & (tails < heads))
    return tails[rising], heads[rising]


def test_the_least_local_memory_is_enough(device, monkeypatch):
    """Devices have 32 KiB at least."""
    least = dataclasses.replace(device.capabilities, local_memory=2**15)
    monkeypatch.setitem(model._capabilities, device.handle, least)
    queue, select = device.queue(), Selection(device, oriented=True)
    for graph in (GRAPHS["alone"], GRAPHS["power-law"]):
        up = select(queue, uploaded(queue, graph, Stopwatch()), graph.m // 2)
        tails, heads = oriented(graph)
        np.testing.assert_array_equal(ints(queue, up.heads, tails.size), heads)


@pytest.mark.parametrize("name", GRAPHS)
def test_orientation_numbers_and_what_is_left(name, device):
    graph, queue = GRAPHS[name], device.queue()
    select, left = Selection(device, oriented=True), Selection(device, oriented=False)
    rows = uploaded(queue, graph, Stopwatch())
    up = select(queue, rows, graph.m // 2)
    tails, heads = oriented(graph)
    first = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=graph.n))])
    np.testing.assert_array_equal(ints(queue, up.first, graph.n + 1), first)
    np.testing.assert_array_equal(ints(queue, up.heads, tails.size), heads)
    np.testing.assert_array_equal(ints(queue, up.values, tails.size), tails)

    numbered = select.numbered(queue, rows, up)
    ids = ints(queue, numbered.values, graph.m)
    a, b, _ = graph.arcs()
    assert (ids[a == b] == -1).all()
    ends = np.stack([tails, heads], axis=1)[ids[a != b]]
    np.testing.assert_array_equal(np.sort(ends), np.sort(np.stack([a, b], axis=1)[a != b]))
    np.testing.assert_array_equal(np.bincount(ids[a != b]), np.full(tails.size, 2))

    marks = np.random.default_rng(1).integers(5, 8, tails.size, np.int32)
    given = zeros(queue, tails.size)
    cl.enqueue_copy(queue, given, marks)
    kept = left(queue, numbered, 2 * int((marks == 7).sum()), given, 7)
    alive = (ids >= 0) & (marks[ids] == 7)
    first = np.concatenate([[0], np.cumsum(np.bincount(a[alive], minlength=graph.n))])
    np.testing.assert_array_equal(ints(queue, kept.first, graph.n + 1), first)
    np.testing.assert_array_equal(ints(queue, kept.heads, kept.m), b[alive])
    np.testing.assert_array_equal(ints(queue, kept.values, kept.m), ids[alive])


COUNTERS = {
    "bitmap": (BitmapCounter, {"group": 1, "batch": 16}),
    "bitmap of a group": (BitmapCounter, {"group": 64, "batch": 1}),
    "hash": (
        HashCounter,
        {"group": 1, "width": 1, "slots": 64}
        | {"small_group": 1, "small_width": 1, "small_slots": 64},
    ),
    "hash of a group": (
        HashCounter,
        {"group": 64, "width": 8, "slots": 64}
        | {"small_group": 32, "small_width": 4, "small_slots": 64},
    ),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("name", COUNTERS)
def test_support_of_edges(name, device):
    kind, parameters = COUNTERS[name]
    count, queue = kind(device, EDGES, Parameters(parameters)), device.queue()
    select = Selection(device, oriented=True)
    clique = Graph.from_dense(np.ones((90, 90)), directed=False)  # with loops
    for graph in (*GRAPHS.values(), clique):
        rows = uploaded(queue, graph, Stopwatch())
        up = select(queue, rows, graph.m // 2)
        tails, heads = oriented(graph)
        supports = zeros(queue, tails.size)
        assert count(queue, select.numbered(queue, rows, up), up, supports) == 0
        matrix = graph.to_scipy().astype(bool).astype(np.int64)
        matrix.setdiag(0)
        expected = np.asarray((matrix @ matrix)[tails, heads]).ravel()
        np.testing.assert_array_equal(ints(queue, supports, tails.size), expected)
