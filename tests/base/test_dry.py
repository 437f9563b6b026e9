"""Dry runs tell what a call would need, and do not use the device."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.all_pairs import summaries
from pyapsp.all_pairs.summaries import betweenness
from pyapsp.base import host
from pyapsp.base.dry import needed
from pyapsp.base.errors import DeviceMemoryError, HostMemoryError, ParameterError
from pyapsp.device import Device
from pyapsp.graph import Graph, generators
from pyapsp.queries import range_rows

GRAPH = generators.random_graph(60, 240, 9, seed=3)
# A call and the bytes of its answer.
CALLS = {
    "within": (pyapsp.within, ([1, 2], 9), None),
    "reach": (pyapsp.reach, ([1, 2], 9), 2 * 8),
    "accessibility": (pyapsp.accessibility, (np.ones((60, 3)),), 60 * 3 * 8),
    "nearest": (pyapsp.nearest, ([1, 2, 3], 2), 60 * 2 * (8 + 4)),
    "pairs": (pyapsp.pairs, ([1, 2, 3], 4), 3 * 8),
    "distances": (pyapsp.distances, ([1, 2], [3, 4, 5]), 6 * 8),
    "count": (pyapsp.count_shortest_paths, ([1, 2, 3], 4), 3 * 8),
    "all": (pyapsp.all_shortest_paths, ([1, 2, 3], 4), None),
    "betweenness": (pyapsp.betweenness_centrality, (), 60 * 8),
    "edges": (pyapsp.edge_betweenness_centrality, (), GRAPH.m * 8),
    "closeness": (pyapsp.closeness_centrality, (), 60 * 8),
    "harmonic": (pyapsp.harmonic_centrality, (), 60 * 8),
    "few targets": (pyapsp.nearest, ([1, 2, 3], 10), 60 * 10 * (8 + 4)),
    "average": (pyapsp.average_shortest_path_length, (), 8),
    "histogram": (pyapsp.distance_histogram, (1,), None),
    "blocks": (pyapsp.within_blocks, ([1, 2], 9), None),
}


@pytest.fixture
def full(monkeypatch):
    """A device whose driver has no memory; short searches run there, too, not on the host."""
    monkeypatch.setattr(range_rows, "_DENSE", 0)

    def refuse(self, size, *_):
        raise cl.MemoryError("create_buffer", -4, "full")

    monkeypatch.setattr(Device, "buffer", refuse)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("full")
def test_the_memory_is_what_the_call_asks_for(name, device):
    function, arguments, answer = CALLS[name]
    memory = pyapsp.dry_run(function, GRAPH, *arguments, device=device)
    assert memory.answer_bytes == answer

    def run():
        found = function(GRAPH, *arguments, device=device)
        return next(found) if name == "blocks" else found

    with pytest.raises(DeviceMemoryError) as raised:
        run()
    assert raised.value.needed == memory.device_bytes > 0


def test_the_second_part_of_yen_counts(device, monkeypatch):
    def refuse(self):
        raise cl.MemoryError("create_buffer", -4, "full")

    memory = pyapsp.dry_run(pyapsp.yen, GRAPH, 1, 4, 2, device=device)
    monkeypatch.setattr("pyapsp.queries.ranked._Search.allocate", refuse)
    with pytest.raises(DeviceMemoryError) as raised:
        pyapsp.yen(GRAPH, 1, 4, 2, device=device)
    assert memory.device_bytes >= raised.value.needed
    assert memory.answer_bytes is None


def test_paths_are_as_long_as_they_are_found(device):
    options = {"device": device, "paths": True}
    assert pyapsp.dry_run(pyapsp.pairs, GRAPH, 1, 2, **options).answer_bytes is None


def test_the_largest_part_counts(device):
    """The harmonic centrality searches components one after the other."""
    large = generators.path(1500, max_weight=1)
    tails, heads, _ = large.arcs()
    both = np.append(tails, [1500]), np.append(heads, [1501])
    whole = Graph.from_arcs(1502, *both, directed=False)
    alone = pyapsp.dry_run(pyapsp.harmonic_centrality, large, device=device)
    found = pyapsp.dry_run(pyapsp.harmonic_centrality, whole, device=device)
    assert found.device_bytes >= alone.device_bytes


def test_what_is_not_known_before_is_refused(device):
    with pytest.raises(ParameterError, match="memory of diameter is not known"):
        pyapsp.dry_run(summaries.diameter, GRAPH, device=device)
    with pytest.raises(ParameterError, match="knows its memory before"):
        pyapsp.dry_run(pyapsp.solve_many, [GRAPH, GRAPH], device=device)


@pytest.mark.parametrize("method", ["fw-naive", "auto"])
def test_functions_of_problems(method, device):
    memory = pyapsp.dry_run(pyapsp.solve, GRAPH, method, device=device)
    stats = pyapsp.solve(GRAPH, method, device=device).stats
    assert memory.device_bytes == stats["peak_device_bytes"]
    assert memory.answer_bytes == 60 * 60 * 8


def test_answers_of_searches(device):
    answer = {"dtype": "float32", "predecessors": True, "device": device}
    assert pyapsp.dry_run(pyapsp.sssp, GRAPH, [1, 2], **answer).answer_bytes == 2 * 60 * (4 + 4)
    assert pyapsp.dry_run(pyapsp.bfs, GRAPH, 1, parents=False, device=device).answer_bytes == 60 * 4
    blocks = pyapsp.dry_run(pyapsp.row_blocks, GRAPH, "near-far", block=7, device=device)
    assert blocks.answer_bytes == 7 * 60 * 8
    assert blocks.device_bytes > 0


def test_an_answer_that_the_host_cannot_hold_is_told(device, monkeypatch):
    monkeypatch.setattr(host, "available_memory", lambda: 0)
    monkeypatch.setattr(host, "installed_memory", lambda: 16)
    ends = np.arange(60)
    assert pyapsp.dry_run(pyapsp.distances, GRAPH, ends, ends, device=device).answer_bytes == 28800
    with pytest.raises(HostMemoryError):
        pyapsp.distances(GRAPH, ends, ends, device=device)


def test_errors_of_arguments_are_those_of_the_call(device):
    with pytest.raises(ParameterError, match="'targets' parameter of pairs must"):
        pyapsp.dry_run(pyapsp.pairs, GRAPH, 1, 60, device=device)
    with pytest.raises(DeviceMemoryError):
        pyapsp.dry_run(pyapsp.nearest, GRAPH, 1, memory_limit=64, device=device)


def test_calls_without_the_device(device):
    assert pyapsp.dry_run(pyapsp.pairs, GRAPH, [], [], device=device) == pyapsp.Memory(0, None)


def test_the_next_call_runs(device):
    pyapsp.dry_run(pyapsp.distances, GRAPH, 1, device=device)
    assert pyapsp.distances(GRAPH, 1, 1, device=device)[0, 0] == 0


def test_a_method_that_measures_its_device_does_not(device):
    memory = pyapsp.dry_run(pyapsp.solve, GRAPH, "fw-outofcore", device=device)
    assert memory.device_bytes > 0
    assert memory.answer_bytes == 60 * 60 * 8


def test_a_file_of_an_answer_is_not_made(device, monkeypatch):
    monkeypatch.setattr("pyapsp.all_pairs.solver.reserve", None)
    out = np.empty((60, 60))
    assert pyapsp.dry_run(pyapsp.solve, GRAPH, out=out, device=device).device_bytes > 0


@pytest.mark.parametrize(("levels", "distances"), [(5, 9), (9, 5)])
def test_betweenness_needs_the_larger_of_its_ways(levels, distances, device, monkeypatch):
    """Sources may be left to the other way."""
    parts = {"_together": levels, "_by_distances": distances}
    for name, size in parts.items():
        monkeypatch.setattr(betweenness, name, lambda *_, size=size, **__: needed(size, None))
    found = pyapsp.dry_run(pyapsp.betweenness_centrality, GRAPH, device=device)
    assert found == pyapsp.Memory(9, 60 * 8)
