"""Kernels of queries stay within their buffers."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.device import Device
from pyapsp.graph import Graph

from .drawn import drawn

BEHIND = np.full(64, 0xA5, np.uint8)


@pytest.fixture
def behind(device, monkeypatch):
    """Make buffers longer; yield a function that returns those written behind their end."""
    buffer, made = Device.buffer, []

    def longer(self, size):
        whole = buffer(self, size + BEHIND.nbytes)
        cl.enqueue_copy(device.queue(), whole, BEHIND, dst_offset=size)
        made.append((whole, size))
        return whole

    def written():
        tail, sizes = np.empty_like(BEHIND), []
        for whole, size in made:
            cl.enqueue_copy(device.queue(), tail, whole, src_offset=size)
            if (tail != BEHIND).any():
                sizes.append(size)
        return sizes

    monkeypatch.setattr(Device, "buffer", longer)
    return written


def test_labels_that_are_displaced_again_and_again(behind, device):
    # targets 0 to 3 offer vertices 4 to 11 their labels the farthest first
    tails = [0] * 6 + [1, 2, 3, *range(4, 11)]
    heads = [*range(5, 11)] + [4] * 3 + [*range(5, 12)]
    weights = [1000] * 6 + [10, 20, 30] + [1] * 7
    graph = Graph.from_arcs(12, heads, tails, weights)
    found = pyapsp.nearest(graph, [0, 1, 2, 3], 4, device=device)
    rows = pyapsp.distances(graph, targets=[0, 1, 2, 3], device=device)
    np.testing.assert_array_equal(found.distances, np.sort(rows, axis=1))
    assert behind() == []


@pytest.mark.parametrize("k", [1, 3, 6])
def test_nearest(k, behind, device):
    for seed in range(20):
        graph = drawn(seed, n=5 + 3 * seed, degree=4)
        pyapsp.nearest(graph, range(0, graph.n, 2), k, device=device)
    assert behind() == []


def test_searches(behind, device):
    for seed in range(12):
        graph = drawn(seed, n=5 + 5 * seed, degree=6, kind="real" if seed % 2 else "whole")
        some = np.random.default_rng(seed).integers(0, graph.n, (2, 40))
        pyapsp.within(graph, cutoff=seed % 3 or None, predecessors=True, device=device)
        pyapsp.pairs(graph, *some, paths=True, device=device)
        pyapsp.distances(graph, *some, device=device)
        positive = graph.with_weights(graph.weights + 1)
        pyapsp.betweenness_centrality(positive, weight=..., device=device)
    assert behind() == []


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_counts(dtype, behind, device):
    for n in (3, 65, 200):
        graph = drawn(5, n=n)
        graph = graph.with_weights(graph.weights + 1)
        every = np.arange(n)
        pyapsp.count_shortest_paths(graph, every, every[::-1], dtype=dtype, device=device)
        assert behind() == []


@pytest.mark.parametrize("dtype", ["int16", "float64"])
def test_spurs(dtype, behind, device):
    for n in (3, 65, 130):
        graph = drawn(5, n=n)
        pyapsp.yen(graph, range(n), range(n)[::-1], 3, dtype=dtype, device=device)
        assert behind() == []
