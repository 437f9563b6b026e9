"""Contenders on a graph: what is recorded, what is listened to, and that nothing wrong is."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from papers.contender import Contender, Judge, Solver
from papers.runner import take_turns

import pyapsp
from pyapsp.errors import DeviceError, ParameterError, VerificationError
from pyapsp.graph import Graph, generators
from pyapsp.paths import AllPairsOptions, Rows
from pyapsp.registry import timing

N = 70
SOLVE = "papers.contender.solve"


@pytest.fixture(scope="module")
def graph():
    return generators.random_graph(N, max_weight=50, seed=3)


@pytest.fixture
def solvers(graph, device):
    """Make solvers of contenders, with a judge of their own."""

    def make(contenders, dtype="int32"):
        judge = Judge(graph, AllPairsOptions(device, np.dtype(dtype)))
        return [Solver(each, graph, {"graph": "g"}, dtype, judge) for each in contenders]

    return make


def run(solvers, repeat=1):
    return take_turns(solvers, repeat, lambda text: None)


def names(launches):
    return ["pivot", "panels", "others"][:launches]


def contenders(device, **more):
    """Two of fw-mm, on five tiles of 16."""
    return [
        Contender({"l": count}, pyapsp.method("fw-mm", tile=16, l=count), device, **more)
        for count in (1, 2)
    ]


def spoiled(number, spoil):
    """Solve, but spoil the result of one call."""
    calls = []

    def solve(*arguments, **options):
        result = pyapsp.solve(*arguments, **options)
        calls.append(result)
        if len(calls) == number:
            spoil(result)
        return result

    return solve


def test_each_has_a_record_of_the_medians_of_its_turns(device, solvers):
    taking_part = solvers(contenders(device, phases=names))
    records, left_out = run(taking_part, 3)
    assert left_out == []
    assert [record["label"] for record in records] == [
        {"graph": "g", "l": count} for count in (1, 2)
    ]
    for record, solver in zip(records, taking_part, strict=True):
        assert record["verified"] is True
        assert record["parameters"]["l"] == record["label"]["l"]
        assert record["dtype"] == "int32"
        assert record["repeat"] == 3
        assert record["build_seconds"] == solver.turns[0].facts["build_seconds"]
        for phase in ("kernel", "transfer", "wall"):
            assert len(record["times"][phase]) == 3
            assert record[f"{phase}_seconds"] == median(record["times"][phase])
        assert record["rate"] == pytest.approx(N**3 / record["kernel_seconds"])
        assert record["fraction_of_roof"] == record["rate"] / record["roof_rate"]
        turns = [turn.facts["phases"] for turn in solver.turns]
        assert len(turns) == 4
        assert record["phases"].keys() == {"pivot", "panels", "others"}
        for name, seconds in record["phases"].items():
            assert seconds == median(turn[name] for turn in turns[1:]) > 0
        # the kernels of a call run one after the other
        assert all(
            sum(turn.values()) <= 1.01 * seconds
            for turn, seconds in zip(turns[1:], record["times"]["kernel"], strict=True)
        )


def test_launches_are_counted_by_what_they_are_for(device):
    seen = []
    contender = contenders(device)[0]
    listened = replace(contender, phases=lambda count: seen.append(count) or names(count))
    for graph, phases in (
        (generators.random_graph(N), {"pivot", "panels", "others"}),
        (generators.ring(10), {"pivot"}),
    ):
        judge = Judge(graph, AllPairsOptions(device, np.dtype("int32")))
        (record,), _ = run([Solver(listened, graph, {}, "int32", judge)])
        assert record["phases"].keys() == phases
    assert seen == [3] * 5 * 2 + [1] * 2


def test_a_wrong_answer_ends_all(graph, device, solvers, monkeypatch):
    def shorter(result):
        result.distances[0, -1] -= 2

    for number in (1, 3):  # of a warm-up, and of the first turn after two of these
        monkeypatch.setattr(SOLVE, spoiled(number, shorter))
        with pytest.raises(VerificationError, match=r"fw-mm.*answer is wrong: from 0 to 69"):
            run(solvers(contenders(device)))


def test_what_cannot_run_is_left_out_with_the_reason(device, solvers, monkeypatch):
    first, second = contenders(device)
    third = Contender({"l": 3}, pyapsp.method("fw-mm", tile=16, l=3), device, roof=False)
    calls = []

    def fail(*arguments):
        raise ParameterError("does not fit")

    def stall(*arguments):
        calls.append(arguments)
        if len(calls) > 1:
            raise DeviceError("stalled")
        return run_second(*arguments)

    run_second = second.method.run
    monkeypatch.setattr(first.method, "plan", fail)
    monkeypatch.setattr(second.method, "run", stall)
    (record,), left_out = run(solvers([first, second, third]), 2)
    assert left_out == [
        {"graph": "g", "l": 1, "why": "does not fit"},
        {"graph": "g", "l": 2, "why": "stalled"},
    ]
    assert record["label"] == {"graph": "g", "l": 3}
    assert record["phases"] is None
    assert record["fraction_of_roof"] is None


def test_what_distances_tell_is_told_of_a_right_answer(graph, device):
    told = []
    options = AllPairsOptions(device, np.dtype("int32"))
    judge = Judge(graph, options, lambda distances: {"sum": told.append(1) or distances.sum()})
    assert judge.what is None
    right = pyapsp.solve(graph, dtype="int32", device=device)
    wrong = right.distances.copy()
    wrong[3, 4] += 1
    with pytest.raises(VerificationError, match="whose: the answer is wrong: from 3 to 4"):
        judge.require(Rows(wrong, None), "whose")
    assert (judge.what, judge.facts) == (None, {})
    for _ in range(2):
        judge.require(Rows(right.distances, None), "whose")
    assert judge.what == "SciPy, all rows"
    assert judge.facts == {"sum": right.distances.sum()}
    assert told == [1]


def test_unreachable_pairs_are_compared_too(device):
    graph = Graph.from_arcs(3, tails=[0], heads=[1], weights=[4])
    judge = Judge(graph, AllPairsOptions(device, np.dtype("int32")))
    result = pyapsp.solve(graph, dtype="int32", device=device)
    judge.require(Rows(result.distances, None), "x")
    result.distances[2, 0] = 7
    with pytest.raises(VerificationError, match="from 2 to 0"):
        judge.require(Rows(result.distances, None), "x")


def search(device, **more):
    return Contender({}, pyapsp.method("apsp-iterative"), device, roof=False, **more)


def test_predecessors_are_found_and_checked(device, solvers, monkeypatch):
    taking_part = [search(device), search(device, predecessors=True)]
    records, _ = run(solvers(taking_part))
    assert [record["predecessors"] for record in records] == [False, True]

    def astray(*arguments, **options):
        result = pyapsp.solve(*arguments, **options)
        if result.predecessors is not None:
            result.predecessors[3, 5] = 5
        return result

    monkeypatch.setattr(SOLVE, astray)
    run(solvers(taking_part[:1]))
    with pytest.raises(VerificationError, match="no shortest path: row 3, column 5"):
        run(solvers(taking_part))


def test_what_takes_longer_than_its_limit_is_left_out(device, solvers):
    patient = replace(search(device, limit=1000.0), label={"limit": "far"})
    hasty = replace(search(device, limit=1e-9), label={"limit": "near"})
    (record,), (left_out,) = run(solvers([patient, hasty]))
    assert record["label"]["limit"] == "far"
    assert left_out["limit"] == "near"
    assert left_out["why"].startswith(f"1 of {N} parts done when 1e-09 s were over: about ")


def test_a_long_turn_is_the_record(device, solvers, monkeypatch):
    monkeypatch.setattr(timing, "_LONG", 0.0)
    taking_part = solvers(contenders(device, phases=names))
    (record, _), _ = run(taking_part, 3)
    assert record["repeat"] == 1
    assert record["times"]["kernel"] == [record["kernel_seconds"]]
    (turn,) = taking_part[0].turns
    assert record["phases"] == turn.facts["phases"]
