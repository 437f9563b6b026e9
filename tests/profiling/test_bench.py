"""The bench: what takes part, what is compared, and what the records say."""

from __future__ import annotations

import dataclasses
from statistics import median

import numpy as np
import pytest
from scipy.sparse import csgraph

from pyapsp.errors import NegativeCycleError, ParameterError
from pyapsp.graph import Graph, generators
from pyapsp.profiling import bench, peers


@pytest.fixture(scope="module")
def graph():
    return generators.random_graph(60, max_weight=50, seed=3)


def test_every_combination_has_a_record(graph, device):
    outcome = bench.run(
        graph, ["fw-naive", "fw-blocked"], ["int32", "float32"], [device], repeat=2, peers=["scipy"]
    )
    assert outcome.ok
    assert outcome.left_out == {}
    assert outcome.devices == {device.id: f"{device.name}, {device.platform_name}"}
    assert [(row["method"], row["dtype"]) for row in outcome.runs] == [
        ("fw-naive", "int32"),
        ("fw-naive", "float32"),
        ("fw-blocked", "int32"),
        ("fw-blocked", "float32"),
    ]
    (scipy,) = outcome.peers
    assert scipy["name"] == "scipy"
    assert scipy["rate"] == pytest.approx(60**3 / scipy["median_seconds"])
    for row in outcome.runs:
        assert row["verified"] is True
        assert row["max_error"] == 0
        assert row["device"]["id"] == device.id
        assert row["graph"]["n"] == 60
        times = row["times"]
        assert {len(values) for values in times.values()} == {2}
        for phase in ("kernel", "transfer", "wall", "device"):
            assert row[f"{phase}_seconds"] == pytest.approx(median(times[phase]))
        assert times["device"][0] == times["kernel"][0] + times["transfer"][0]
        assert row["kernel_seconds"] < row["device_seconds"] < row["median_seconds"]
        assert row["rate"] == pytest.approx(60**3 / row["kernel_seconds"])
        assert row["device_rate"] == pytest.approx(60**3 / row["device_seconds"])
        assert row["roof_rate"] == max(row["roof_forms"].values())
        assert row["fraction_of_roof"] == (row["rate"] / row["roof_rate"])
        assert row["ratios"] == {"scipy": scipy["median_seconds"] / row["median_seconds"]}


def test_all_take_turns_and_the_first_is_not_counted(graph, device, monkeypatch):
    turns = []
    monkeypatch.setattr(bench.Meter, "turn", recorded(turns, "roof", bench.Meter.turn))
    monkeypatch.setattr(bench._Other, "turn", recorded(turns, "peer", bench._Other.turn))
    monkeypatch.setattr(bench._Own, "turn", recorded(turns, lambda own: own.name, bench._Own.turn))
    outcome = bench.run(
        graph, ["fw-naive", "fw-blocked"], ["int32"], [device], repeat=2, peers=["scipy"]
    )
    own = [f"{method} int32 on {device.id}" for method in ("fw-naive", "fw-blocked")]
    assert turns == [*own, "peer", *2 * [*own, "peer", "roof"]]
    assert all(len(row["times"]["wall"]) == 2 for row in [*outcome.runs, *outcome.peers])


def recorded(into, name, call):
    def wrapper(self):
        into.append(name if isinstance(name, str) else name(self))
        return call(self)

    return wrapper


@pytest.mark.parametrize("oracle", [1024, 0])
@pytest.mark.parametrize("turn", [0, 2])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_one_wrong_answer_in_any_turn_is_noticed(graph, device, oracle, turn, dtype, monkeypatch):
    solve, calls = bench.solve, []

    def wrong(graph, method, **keywords):
        result = solve(graph, method, **keywords)
        if method == "fw-naive":
            calls.append(method)
            if len(calls) == turn + 1:
                result.distances[5, 7] += 1
        return result

    monkeypatch.setattr(bench, "solve", wrong)
    monkeypatch.setattr(bench, "_ORACLE", oracle)
    outcome = bench.run(graph, ["fw-blocked", "fw-naive"], [dtype], [device], repeat=3)
    assert not outcome.ok
    assert [row["verified"] for row in outcome.runs] == [True, False]
    assert outcome.runs[1]["max_error"] == 1


def test_wrong_predecessors_are_noticed(graph, device, monkeypatch):
    solve = bench.solve

    def wrong(*arguments, **keywords):
        result = solve(*arguments, **keywords)
        result.predecessors[5, 7] = 7
        return result

    assert bench.run(graph, ["auto"], ["int32"], [device], predecessors=True, repeat=1).ok
    monkeypatch.setattr(bench, "solve", wrong)
    assert not bench.run(graph, ["auto"], ["int32"], [device], predecessors=True, repeat=1).ok


def test_rows_are_compared_in_blocks(graph, device, monkeypatch):
    monkeypatch.setattr(bench, "_BLOCK_BYTES", 7 * 8 * graph.n)
    monkeypatch.setattr(bench, "_ORACLE", 0)
    outcome = bench.run(
        graph, ["fw-blocked"], ["uint16", "int32", "float32"], [device], repeat=1, peers=["scipy"]
    )
    assert outcome.ok
    reference = csgraph.dijkstra(graph.to_scipy())
    result = bench.solve(graph, dtype="float64", device=device)
    assert bench._agrees(graph, result, reference) == (True, 0.0)
    reference[-1, -1] += 2
    assert bench._agrees(graph, result, reference) == (False, 2.0)
    assert not bench._agrees(graph, result, reference[1:])[0]


def test_what_cannot_run_is_left_out_with_the_reason(device):
    negative = Graph.from_arcs(3, [0, 1], [1, 2], [4, -2])
    outcome = bench.run(negative, ["fw-blocked"], ["uint16", "int16"], [device], repeat=1)
    assert [row["dtype"] for row in outcome.runs] == ["int16"]
    (name,) = outcome.left_out
    assert name == f"fw-blocked uint16 on {device.id}"
    assert "negative weight -2" in outcome.left_out[name]
    with pytest.raises(Exception, match="negative weight -2"):
        bench.run(negative, ["fw-blocked"], ["uint16"], [device], repeat=1)
    with pytest.raises(NegativeCycleError):
        bench.run(negative.reversed().symmetrized(), ["fw-blocked"], ["int16"], [device])


def test_a_peer_that_is_not_installed_is_left_out(graph, device, monkeypatch):
    absent = tuple(
        dataclasses.replace(each, name="no-such-package") if each.name == "numba" else each
        for each in peers.PEERS
    )
    monkeypatch.setattr(peers, "PEERS", absent)
    outcome = bench.run(
        graph, ["auto"], ["int32"], [device], repeat=1, peers=["scipy", "no-such-package"]
    )
    assert outcome.left_out == {"no-such-package": "not installed"}
    assert [row["name"] for row in outcome.peers] == ["scipy"]
    with pytest.raises(ParameterError, match="'peers' parameter of bench"):
        bench.run(graph, ["auto"], ["int32"], [device], peers=["numpy"])


def test_the_type_behind_auto_has_the_roof(graph, device):
    outcome = bench.run(graph, ["auto"], ["auto"], [device], repeat=1)
    assert outcome.runs[0]["dtype"] == "uint16"
    assert outcome.runs[0]["fraction_of_roof"] > 0


@pytest.mark.parametrize("n", [0, 1])
def test_trivial_graphs(n, device):
    outcome = bench.run(
        Graph.from_arcs(n, [], []), ["fw-blocked"], ["int32"], [device], repeat=1, peers=["scipy"]
    )
    assert outcome.ok


def test_at_least_one_turn(graph):
    with pytest.raises(ParameterError, match="repeat"):
        bench.run(graph, ["auto"], ["int32"], repeat=0)


def test_dense_graphs_come_from_a_seed():
    graph = bench.dense_graph(50, 0.3, 7)
    assert graph == bench.dense_graph(50, 0.3, 7) != bench.dense_graph(50, 0.3, 8)
    assert graph.m == round(0.3 * 50 * 49)
    assert (bench.dense_graph(50).m, bench.dense_graph(5000).m) == (245, 2**20)
    assert 1 <= graph.min_weight <= graph.max_weight <= 100
    with pytest.raises(ParameterError, match="density"):
        bench.dense_graph(50, 1.5)


@pytest.mark.parametrize("peer", peers.installed(), ids=lambda peer: peer.name)
def test_peers_compute_what_they_say(peer):
    graph = generators.random_graph(150, m=2000, max_weight=30, seed=9)
    if peer.unweighted:
        graph = graph.with_weights(np.ones(graph.m))
    call, as_array = peer.prepare(graph, False, *[None] * peer.some)
    found = [as_array(call()) for _ in range(2)]
    np.testing.assert_array_equal(found[0], found[1])  # a call leaves its input as it was
    assert found[0].dtype == peer.dtype
    if peer.what == "distances":
        np.testing.assert_array_equal(found[0], csgraph.dijkstra(graph.to_scipy()))
        if peer.some:
            call, as_array = peer.prepare(graph, False, np.array([5, 3]))
            rows = csgraph.dijkstra(graph.to_scipy(), indices=[5, 3])
            np.testing.assert_array_equal(as_array(call()), rows)
    else:
        matrix = graph.to_dense()
        np.fill_diagonal(matrix, 0)
        product = (matrix[:, :, None] + matrix[None, :, :]).min(axis=1)
        np.testing.assert_array_equal(found[0], product)


def test_scipy_and_igraph_are_always_there():
    assert {"scipy", "igraph"} <= {each.name for each in peers.installed()}
