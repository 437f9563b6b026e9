"""Sweeps: who takes part, what is listened to, and that nothing wrong is recorded."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from pyapsp.profiling.sweeps import Contender

import pyapsp
from pyapsp.errors import DeviceError, ParameterError, VerificationError
from pyapsp.graph import Graph, generators
from pyapsp.profiling import sweeps

N = 70


@pytest.fixture(scope="module")
def graph():
    return generators.random_graph(N, max_weight=50, seed=3)


def names(launches):
    return ["pivot", "panels", "others"][:launches]


def contenders(device, **more):
    """Two of fw-mm, on five tiles of 16."""
    return [
        Contender({"l": count}, pyapsp.method("fw-mm", tile=16, l=count), device, **more)
        for count in (1, 2)
    ]


def test_each_has_a_record_of_the_medians_of_its_turns(graph, device):
    taking_part = contenders(device, phases=names)
    right = sweeps.reference(graph, "int32", device)
    outcome = sweeps.run(graph, taking_part, "int32", right, repeat=3)
    assert outcome["left_out"] == []
    assert outcome["reference"]["what"] == "SciPy's Dijkstra"
    assert outcome["reference"]["seconds"] > 0
    assert [record["label"] for record in outcome["runs"]] == [{"l": 1}, {"l": 2}]
    for record, contender in zip(outcome["runs"], taking_part, strict=True):
        assert record["verified"] is True
        assert record["parameters"]["l"] == record["label"]["l"]
        assert record["dtype"] == "int32"
        assert record["repeat"] == 3
        for phase in ("kernel", "transfer", "wall"):
            assert len(record["times"][phase]) == 3
            assert record[f"{phase}_seconds"] == median(record["times"][phase])
        assert record["rate"] == pytest.approx(N**3 / record["kernel_seconds"])
        roof = record["roof_rate"]
        assert record["fraction_of_roof"] == record["rate"] / roof
        calls = contender._listener.calls
        assert len(calls) == 4
        assert record["phases"].keys() == {"pivot", "panels", "others"}
        for name, seconds in record["phases"].items():
            assert seconds == median(call[name] for call in calls[1:]) > 0
        # the kernels of a call run one after the other
        assert all(
            sum(call.values()) <= 1.01 * seconds
            for call, seconds in zip(calls[1:], record["times"]["kernel"], strict=True)
        )


def test_launches_are_counted_by_what_they_are_for(graph, device):
    method = pyapsp.method("fw-mm", tile=16, l=1)
    seen = []
    listener = sweeps.Phases(method, lambda launches: seen.append(launches) or names(launches))
    pyapsp.solve(graph, method, dtype="int32", device=device)
    listener.settle()
    assert seen == [3] * 5
    assert listener.calls[0].keys() == {"pivot", "panels", "others"}
    pyapsp.solve(generators.ring(10), method, dtype="int32", device=device)
    listener.settle()
    assert listener.calls[1].keys() == {"pivot"}


def test_a_wrong_answer_ends_the_sweep(graph, device):
    right = sweeps.reference(graph, "int32", device)
    distances = right.distances.copy()
    far = np.argwhere(np.isfinite(distances))[-1]
    distances[tuple(far)] += 2
    wrong = replace(right, distances=distances)
    with pytest.raises(VerificationError, match=r"fw-mm.* is wrong, with a difference of 2"):
        sweeps.run(graph, contenders(device), "int32", wrong, repeat=1)


def test_a_wrong_answer_of_a_later_turn_ends_the_sweep(graph, device, monkeypatch):
    right = sweeps.reference(graph, "int32", device)
    solved = []

    def solve(*arguments, **options):
        result = pyapsp.solve(*arguments, **options)
        solved.append(result)
        if len(solved) == 4:
            result.distances[0, -1] += 1
        return result

    monkeypatch.setattr(sweeps, "solve", solve)
    with pytest.raises(VerificationError, match="l=2"):
        sweeps.run(graph, contenders(device), "int32", right, repeat=1)
    assert len(solved) == 4


def test_what_cannot_run_is_left_out_with_the_reason(graph, device, monkeypatch):
    first, second = contenders(device)
    third = Contender({"l": 3}, pyapsp.method("fw-mm", tile=16, l=3), device, roof=False)
    calls = []

    def fail(*arguments):
        calls.append(arguments)
        raise ParameterError("does not fit")

    def stall(*arguments):
        if len(calls) > 1:
            raise DeviceError("stalled")
        calls.append(arguments)
        return run_second(*arguments)

    run_second = second.method.run
    monkeypatch.setattr(first.method, "plan", fail)
    monkeypatch.setattr(second.method, "run", stall)
    right = sweeps.reference(graph, "int32", device)
    outcome = sweeps.run(graph, [first, second, third], "int32", right, repeat=2)
    assert outcome["left_out"] == [
        {"l": 1, "why": "does not fit"},
        {"l": 2, "why": "stalled"},
    ]
    (record,) = outcome["runs"]
    assert record["label"] == {"l": 3}
    assert record["phases"] is None
    assert record["fraction_of_roof"] is None


def test_large_graphs_are_compared_with_a_certified_answer(graph, device, monkeypatch):
    monkeypatch.setattr(sweeps, "_ORACLE", N - 1)
    monkeypatch.setattr(sweeps, "_BLOCK_BYTES", 8 * N * 7)  # seven rows at a time
    right = sweeps.reference(graph, "float32", device)
    assert right.what == "an answer with a certificate"
    assert right.seconds is None
    for dtype in ("float32", "int32", "float64"):
        result = pyapsp.solve(graph, "fw-naive", dtype=dtype, device=device)
        assert right.difference(graph, result) is None
        result.distances[60, 3] += 5
        assert right.difference(graph, result) == 5
    shorter = pyapsp.solve(graph, dtype="int32", sources=[1, 2], device=device)
    assert right.difference(graph, shorter) == float("inf")

    def wrong(*arguments, **options):
        result = pyapsp.solve(*arguments, **options)
        result.distances[0, -1] -= 1
        return result

    monkeypatch.setattr(sweeps, "solve", wrong)
    with pytest.raises(VerificationError):
        sweeps.reference(graph, "float32", device)


def test_unreachable_pairs_are_compared_too(device):
    graph = Graph.from_arcs(3, tails=[0], heads=[1], weights=[4])
    right = sweeps.reference(graph, "int32", device)
    result = pyapsp.solve(graph, dtype="int32", device=device)
    assert right.difference(graph, result) is None
    result.distances[2, 0] = 7
    assert right.difference(graph, result) == float("inf")


def test_many_arcs_are_compared_with_a_certified_answer(graph, device, monkeypatch):
    monkeypatch.setattr(sweeps, "_ORACLE_ARCS", graph.n * graph.m)
    assert sweeps.reference(graph, "int32", device).what == "SciPy's Dijkstra"
    monkeypatch.setattr(sweeps, "_ORACLE_ARCS", graph.n * graph.m - 1)
    assert sweeps.reference(graph, "int32", device).what == "an answer with a certificate"


def search(device, **more):
    made = Contender({}, pyapsp.method("apsp-iterative"), device, roof=False)
    vars(made).update(more)
    return made


def test_predecessors_are_found_and_checked(graph, device, monkeypatch):
    right = sweeps.reference(graph, "int32", device)
    taking_part = [search(device), search(device, predecessors=True)]
    outcome = sweeps.run(graph, taking_part, "int32", right, repeat=1)
    assert [record["predecessors"] for record in outcome["runs"]] == [False, True]

    def astray(*arguments, **options):
        result = pyapsp.solve(*arguments, **options)
        if result.predecessors is not None:
            result.predecessors[3, 5] = 5
        return result

    monkeypatch.setattr(sweeps, "solve", astray)
    sweeps.run(graph, taking_part[:1], "int32", right, repeat=1)
    with pytest.raises(VerificationError, match="no shortest path: row 3, column 5"):
        sweeps.run(graph, taking_part, "int32", right, repeat=1)


def test_what_takes_longer_than_its_limit_is_left_out(graph, device):
    right = sweeps.reference(graph, "int32", device)
    patient = search(device, limit=1000.0, label={"limit": "far"})
    hasty = search(device, limit=1e-9, label={"limit": "near"})
    outcome = sweeps.run(graph, [patient, hasty], "int32", right, repeat=1)
    assert [record["label"] for record in outcome["runs"]] == [{"limit": "far"}]
    (left_out,) = outcome["left_out"]
    assert left_out["limit"] == "near"
    assert left_out["why"].startswith(f"1 of {N} parts done when 1e-09 s were over: about ")


def test_a_long_turn_is_not_repeated(graph, device, monkeypatch):
    monkeypatch.setattr(sweeps, "_LONG", 0.0)
    right = sweeps.reference(graph, "int32", device)
    first, second = contenders(device, phases=names)
    (record, _) = sweeps.run(graph, [first, second], "int32", right, repeat=3)["runs"]
    assert record["repeat"] == 1
    assert record["times"]["kernel"] == [record["kernel_seconds"]]
    assert len(first._listener.calls) == 1
    assert record["phases"] == first._listener.calls[0]


def test_a_sweep_needs_a_turn(graph, device):
    right = sweeps.reference(graph, "int32", device)
    with pytest.raises(ParameterError, match="repeat"):
        sweeps.run(graph, contenders(device), "int32", right, repeat=0)
