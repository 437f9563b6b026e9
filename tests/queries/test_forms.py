"""The forms of searches that no CPU has: groups of work-items, memory of their own, full heaps."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.sparse import csgraph, csr_array

import pyapsp
from pyapsp.device import Device
from pyapsp.graph import Graph, generators

from .drawn import drawn


@pytest.fixture
def gpu(device, monkeypatch):
    """The device, treated as a GPU."""
    traits = dataclasses.replace(device.traits, scalar_groups=False)
    monkeypatch.setattr(Device, "traits", traits)
    monkeypatch.setattr("pyapsp.queries.range_rows.in_place", lambda handle: False)
    return device


@pytest.mark.parametrize("values", [70, 2**22])
def test_rows_are_packed_by_groups_and_copied(values, gpu, monkeypatch):
    monkeypatch.setattr("pyapsp.queries.range_rows._VALUES", {False: values})
    graph = drawn(7, n=70)
    found = pyapsp.within(graph, cutoff=5, predecessors=True, device=gpu)
    expected = csgraph.dijkstra(graph.to_scipy().astype(float), limit=5)
    rows = np.full(expected.shape, np.inf)
    rows[found.distances.tocoo().coords] = found.distances.data
    np.testing.assert_array_equal(rows, expected)
    assert (found.predecessors.indices == found.distances.indices).all()


@contextmanager
def _traced():
    """Yield a function that returns the most bytes of Python and NumPy since then."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield lambda: tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


# The memory of the process, as tracemalloc counts an array twice where NumPy resizes it, from 2.5
# on. A process of its own: after large arrays glibc keeps up to 64 MiB that was freed.
MEASURED = """
import dataclasses, sys
from pathlib import Path
import pyapsp
from pyapsp.device import Device, choose
from pyapsp.graph import generators
from pyapsp.queries import range_rows

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

device = choose(sys.argv[1])
Device.traits = dataclasses.replace(device.traits, scalar_groups=False)
range_rows.in_place = lambda handle: False
range_rows._VALUES = {False: int(sys.argv[2])}
graph = generators.grid_2d(70, 70, seed=1)
# what a process reads once, such as the tuning rows, is no part of the answer
pyapsp.within(graph, cutoff=1, device=device)
before = peak()
found = pyapsp.within(graph, cutoff=4000, device=device).distances
print(found.data.nbytes + found.indices.nbytes, peak() - before)
"""


def test_rows_come_into_the_memory_of_the_answer(gpu, tmp_path, monkeypatch):
    values = 2**18
    block = 12 * values  # at most
    words = [sys.executable, "-c", MEASURED, gpu.id, str(values)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    size, grown = map(int, done.stdout.split())
    assert grown < 1.5 * size
    assert block < size / 2
    monkeypatch.setattr("pyapsp.queries.range_rows._VALUES", {False: values})
    graph = generators.grid_2d(70, 70, seed=1)
    with _traced() as peak:
        pyapsp.within_blocks(graph, cutoff=1000, device=gpu).save(tmp_path / "rows.npz")
        assert peak() < 1.5 * block


def test_pairs_and_paths_in_groups(gpu):
    graph = drawn(7, n=70)
    expected = csgraph.dijkstra(graph.to_scipy().astype(float))
    ends = np.arange(70), (17 * np.arange(70) + 5) % 70
    found = pyapsp.pairs(graph, *ends, device=gpu)
    np.testing.assert_array_equal(found.distances, expected[ends])
    grid = generators.grid_2d(5, 5)
    ranked = csgraph.yen(csr_array(grid.to_dense(dtype=float, no_arc=0)), 0, 24, 9)
    np.testing.assert_array_equal(pyapsp.yen(grid, 0, 24, 9, device=gpu).distances(), ranked)


@pytest.mark.parametrize("dtype", ["float64", "uint16"])
def test_a_heap_that_is_full_loses_what_is_out_of_date(dtype, device):
    """Each vertex that is taken lowers all later ones: about n^2 / 4 entries would be needed."""
    n = 40
    tails, heads = np.triu_indices(n, 1)
    weights = np.where(heads == tails + 1, 1, 10 * (heads - tails))
    numbers = np.random.default_rng(0).permutation(n)
    graph = Graph.from_arcs(n, numbers[tails], numbers[heads], weights)
    expected = csgraph.dijkstra(graph.to_scipy().astype(float))
    found = pyapsp.within(graph, dtype=dtype, predecessors=True, device=device)
    rows = np.full((n, n), np.inf)
    rows[found.distances.tocoo().coords] = found.distances.data
    np.testing.assert_array_equal(rows, expected)
