"""Several devices share the sources, and find the bits that one finds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import pyapsp
from pyapsp.errors import CapabilityError, DeviceError, GraphError, ParameterError, PrecisionError
from pyapsp.graph import Graph
from pyapsp.queries import range_rows, ranked, searches
from pyapsp.queries.sharing import launched, start

from .drawn import drawn

RANDOM = np.random.default_rng(4)
SOURCES, TARGETS = RANDOM.integers(0, 150, (2, 70))


@pytest.fixture(scope="module")
def graph():
    return drawn(7, n=150)


def test_within(graph, several, device):
    options = {"cutoff": 9, "predecessors": True}
    one, found = (
        pyapsp.within(graph, SOURCES, **options, device=each) for each in (device, several)
    )
    assert (one.distances != found.distances).nnz == 0
    assert (one.predecessors != found.predecessors).nnz == 0
    assert found.sources.tolist() == SOURCES.tolist()


def test_rows_without_room_are_searched_again(graph, several, monkeypatch, device):
    one, told = pyapsp.within(graph, cutoff=9, device=device), []
    monkeypatch.setattr("pyapsp.queries.range_rows._VALUES", dict.fromkeys((True, False), 900))
    blocks = pyapsp.within_blocks(
        graph, cutoff=9, device=several, progress=lambda *each: told.append(each)
    )
    rows = [block.distances.toarray() for block in blocks]
    assert len(rows) > len(several)
    np.testing.assert_array_equal(np.concatenate(rows), one.distances.toarray())
    assert told == sorted(told)
    assert told[-1] == (150, 150)


@pytest.mark.parametrize("room", [2**20, 60])
def test_pairs(graph, several, room, monkeypatch, device):
    one, told = pyapsp.pairs(graph, SOURCES, TARGETS, paths=True, device=device), []
    monkeypatch.setattr(searches, "_VALUES", room)
    options = {"device": several, "progress": lambda *each: told.append(each)}
    found = pyapsp.pairs(graph, SOURCES, TARGETS, paths=True, **options)
    count = np.unique(SOURCES).size
    assert (told, told[-1]) == (sorted(told), (count, count))
    np.testing.assert_array_equal(one.distances, found.distances)
    np.testing.assert_array_equal(one.starts, found.starts)
    np.testing.assert_array_equal(one.vertices, found.vertices)


def test_pairs_of_one_source_that_need_several_launches(graph, several, monkeypatch, device):
    one = pyapsp.pairs(graph, 5, TARGETS, device=device)
    monkeypatch.setattr(searches, "_DISTANCES", 9)
    found = pyapsp.pairs(graph, 5, TARGETS, device=several)
    np.testing.assert_array_equal(one.distances, found.distances)


@pytest.mark.parametrize("room", [2**20, 60])
def test_ranked_paths(graph, several, room, monkeypatch, device):
    one = pyapsp.yen(graph, SOURCES[:9], TARGETS[:9], 4, device=device)
    monkeypatch.setattr(ranked, "_VALUES", room)
    found = pyapsp.yen(graph, SOURCES[:9], TARGETS[:9], 4, device=several)
    assert max(map(len, (one.paths(pair) for pair in range(9)))) == 4
    for pair in range(9):
        assert found.paths(pair) == one.paths(pair)
        assert found.distances(pair).tolist() == one.distances(pair).tolist()


def test_distances(graph, several, device):
    for ends in ((SOURCES, TARGETS), (SOURCES, TARGETS[:3]), (5, TARGETS)):
        one, found = (pyapsp.distances(graph, *ends, device=each) for each in (device, several))
        np.testing.assert_array_equal(one, found)


def test_what_is_made_of_them(several, device):
    graph = drawn(3, n=60)
    graph = graph.with_weights(graph.weights + 1)
    calls = (
        (pyapsp.reach, (None, 9)),
        (pyapsp.accessibility, (np.arange(60) / 7, 9)),
        (pyapsp.count_shortest_paths, (np.arange(60), 3)),
    )
    for function, arguments in calls:
        one, found = (function(graph, *arguments, device=each) for each in (device, several))
        np.testing.assert_array_equal(one, found)
    one, found = (
        pyapsp.all_shortest_paths(graph, np.arange(60), 3, device=each)
        for each in (device, several)
    )
    assert one.to_columns()["vertex"].tolist() == found.to_columns()["vertex"].tolist()


@pytest.mark.parametrize("count", [2, 3])
def test_betweenness(graph, count, device):
    """Sums are added in another order, but always in the same one."""
    graph, told = graph.with_weights(graph.weights + 1), []
    several = [device] * count
    for function in (pyapsp.betweenness_centrality, pyapsp.edge_betweenness_centrality):
        for options in ({}, {"weight": ...}, {"sources": [3, 140, 9]}):
            one = function(graph, **options, device=device)
            found = function(
                graph, **options, device=several, progress=lambda *each: told.append(each)
            )
            np.testing.assert_allclose(found, one, 1e-12, 1e-15)
            np.testing.assert_array_equal(found, function(graph, **options, device=several))
    assert told[-1] == (3, 3)
    lonely = pyapsp.betweenness_centrality(graph, sources=[5], device=several)
    np.testing.assert_array_equal(
        lonely, pyapsp.betweenness_centrality(graph, sources=[5], device=device)
    )


def test_errors(device):
    several = [device, device]
    line = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [9000, 9000, 9000])
    with pytest.raises(PrecisionError, match="too large for int16"):
        pyapsp.within(line, dtype="int16", device=several)
    with pytest.raises(PrecisionError, match="too large for int16"):
        pyapsp.distances(line, dtype="int16", device=several)
    with pytest.raises(ParameterError, match="at least one device"):
        pyapsp.pairs(line, 0, 1, device=[])
    with pytest.raises(CapabilityError, match="nearest uses one device"):
        pyapsp.nearest(line, 0, device=several)
    assert pyapsp.nearest(line, 0, device=[device]).distances[0] == 0
    zero = Graph.from_arcs(2, [0], [1], [0])
    with pytest.raises(GraphError):
        pyapsp.betweenness_centrality(zero, weight=..., device=several)


def test_an_exception_of_progress_ends_the_run(graph, device):
    def stop(done, total):
        raise ZeroDivisionError

    for function, ends in ((pyapsp.within, ()), (pyapsp.pairs, (SOURCES, TARGETS))):
        with pytest.raises(ZeroDivisionError):
            function(graph, *ends, device=[device, device], progress=stop)
    assert pyapsp.distances(graph, 1, 1, device=[device, device])[0, 0] == 0


def test_a_dry_run_of_a_device_that_is_named_twice(graph, device):
    """It has the memory of both parts; betweenness divides five sources into three and two."""
    for function, parts, whole in (
        (pyapsp.reach, ((), ()), ()),
        (pyapsp.betweenness_centrality, ((3,), (2,)), (5,)),
    ):
        alone = [pyapsp.dry_run(function, graph, *part, device=device) for part in parts]
        both = pyapsp.dry_run(function, graph, *whole, device=[device] * 2)
        assert both.device_bytes == sum(each.device_bytes for each in alone)
        assert both.answer_bytes == alone[0].answer_bytes


def test_a_dry_run_is_that_of_the_device_that_needs_most(graph, device, monkeypatch):
    sizes = [("a", 3), ("b", 8), ("a", 4)]
    workers = [SimpleNamespace(device=name, bytes=size) for name, size in sizes]
    monkeypatch.setattr("pyapsp.queries.sharing.is_dry", lambda: True)
    monkeypatch.setattr("pyapsp.queries.sharing.needed", lambda *each: told.append(each))
    for worker in workers:
        worker.start = lambda: None
    told = []
    start(workers, 5)
    start(workers[:1], 5, workers[1:])
    assert told == [(8, 5), (8, 5)]
    workers[1].bytes = 6
    start(workers, None)
    assert told[-1] == (7, None)


def test_after_an_error_no_worker_refers_to_its_buffers():
    """Also those of the devices that did not fail: a stored error refers to all of them."""

    def work(worker, part):
        if part:
            raise DeviceError("lost")

    workers = [SimpleNamespace(buffer=number) for number in range(3)]
    assert launched(workers, work, [0, 0]) == [None, None]
    assert all(vars(each) for each in workers)
    with pytest.raises(DeviceError, match="lost"):
        launched(workers, work, [0, 1])
    assert not any(vars(each) for each in workers)


def test_each_device_has_the_searches_that_it_wants(graph, device, monkeypatch):
    made, did, launch = range_rows.on_each_device, [], range_rows.launched
    one = pyapsp.within(graph, cutoff=9, device=device)

    def unlike(*arguments):
        workers = made(*arguments)
        workers[0].wanted, workers[1].wanted = 4, 60
        return workers

    def counted(workers, work, parts):
        did.append([(each.wanted, part.size) for each, part in zip(workers, parts, strict=False)])
        return launch(workers, work, parts)

    monkeypatch.setattr(range_rows, "on_each_device", unlike)
    monkeypatch.setattr(range_rows, "launched", counted)
    found = pyapsp.within(graph, cutoff=9, device=[device, device])
    assert (found.distances != one.distances).nnz == 0
    (few, first), (many, second) = did[0]
    assert 0 < first <= few < second <= many
