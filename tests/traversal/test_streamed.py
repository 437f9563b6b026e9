"""bfs-streamed: blocks of arcs, and graphs whose arcs do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import pyapsp
from pyapsp.errors import DeviceMemoryError
from pyapsp.graph import Graph, generators
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.traversal.bfs import bfs_streamed
from pyapsp.traversal.bfs.bfs_streamed import blocks_of

GRAPHS = {
    "power law": generators.rmat(11, seed=4).symmetrized(),
    "grid": generators.grid_2d(31, 29, 1),
    # a vertex has the arcs of many blocks, and thousands of vertices have none
    "star": Graph.from_arcs(5000, [2500] * 999, range(0, 4995, 5), directed=False),
    "path": Graph.from_arcs(70, range(69), range(1, 70)),
    "no arcs": Graph.from_arcs(5, [], []),
    "first and last": Graph.from_arcs(3000, [0, 2999], [2999, 0]),
}


@pytest.mark.parametrize("size", [1, 2, 7, 256])
@pytest.mark.parametrize("name", GRAPHS)
def test_blocks_have_all_arcs_once(name, size):
    indptr = GRAPHS[name].indptr
    place = 0
    for block in blocks_of(indptr, size):
        assert block.begin == place < block.end <= place + size
        assert block.last - block.first < size
        assert indptr[block.first] <= block.begin < indptr[block.first + 1]
        assert indptr[block.last] < block.end <= indptr[block.last + 1]
        place = block.end
    assert place == indptr[-1]
    count = len(blocks_of(indptr, size))
    assert count <= -(-indptr[-1] // size) - (-(indptr.size - 1) // size)


@pytest.mark.parametrize("name", GRAPHS)
def test_levels_and_parents(name, device, monkeypatch):
    monkeypatch.setitem(bfs_streamed.BfsStreamed.choices, "block", (16, 256))
    graph = GRAPHS[name]
    source = int(np.diff(graph.indptr).argmax())
    expected = pyapsp.bfs(graph, source, "bfs-sequential", device=device).levels
    for block in (16, 256):
        method = pyapsp.method("bfs-streamed", block=block)
        found = pyapsp.bfs(graph, source, method, device=device)
        np.testing.assert_array_equal(found.levels, expected)
        inner = np.flatnonzero(expected > 0)
        before = found.parents[inner].astype(np.int64)
        assert (expected[before] == expected[inner] - 1).all()
        tails, heads, _ = graph.arcs()
        arcs = tails.astype(np.int64) * graph.n + heads
        assert np.isin(before * graph.n + inner, arcs).all()
        assert (np.delete(found.parents, inner) == NO_PREDECESSOR).all()


def test_the_automatic_choice_streams_what_does_not_fit(device):
    graph = GRAPHS["power law"]
    rows, arcs = 8 * graph.n, 4 * graph.m
    limit = rows + arcs // 4
    found = pyapsp.bfs(graph, [0, 5], device=device, memory_limit=limit)
    assert found.stats["method"] == "bfs-streamed"
    assert found.stats["peak_device_bytes"] <= limit
    expected = pyapsp.bfs(graph, [0, 5], device=device)
    assert expected.stats["method"] == "bfs-direction-optimising"
    np.testing.assert_array_equal(found.levels, expected.levels)
    with pytest.raises(DeviceMemoryError):
        pyapsp.bfs(graph, 0, device=device, memory_limit=rows)
