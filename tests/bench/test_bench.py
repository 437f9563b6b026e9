"""The bench: what takes part, what is compared, and what the records say."""

from __future__ import annotations

import dataclasses
import operator
import pkgutil
from statistics import median

import numpy as np
import pytest
import scipy.sparse.csgraph

from pyapsp import registry
from pyapsp.all_pairs.problem import ALL_PAIRS
from pyapsp.bench import measurement as bench
from pyapsp.bench import peers
from pyapsp.bench.contenders import MethodContender, PeerContender
from pyapsp.bench.peers import all_pairs
from pyapsp.bench.shortlist import shortlist
from pyapsp.errors import NegativeCycleError, ParameterError
from pyapsp.graph import Graph, generators
from pyapsp.paths import Rows
from pyapsp.paths import certificate as verify
from pyapsp.registry import runs
from pyapsp.registry.roofs import Meter


@pytest.fixture(scope="module")
def graph():
    return generators.random_graph(60, max_weight=50, seed=3)


@pytest.mark.parametrize("problem", ["triangles", "truss"])
def test_all_peers_have_the_right_answer(problem, device):
    triangular = registry.problem(problem).sample(80, "power-law", 2, None)
    names = [each.name for each in peers.PEERS if each.problem == problem]
    outcome = bench.run(
        registry.problem(problem), triangular, ["auto"], [None], [device], repeat=1, peers=names
    )
    assert outcome.ok
    assert [row["name"] for row in outcome.peers if row["verified"]] == [
        name for name in names if name not in outcome.left_out
    ]
    assert {row["oracle"] for row in outcome.peers} == {"sets of neighbours, in Python"}


def test_a_package_is_named_with_a_function_that_it_has():
    for each in peers.installed():
        name, *words = each.calls.split()
        package = (each.package or each.name).replace("-", "_")
        if name.startswith(f"{package}."):
            assert callable(pkgutil.resolve_name(name)), each
        else:  # the package has no such function: the words say what was written with it
            assert words, each
            assert package in each.calls, each


def test_every_combination_has_a_record(graph, device):
    outcome = bench.run(
        ALL_PAIRS,
        graph,
        ["fw-naive", "fw-blocked"],
        ["int32", "float32"],
        [device],
        repeat=2,
        peers=["scipy"],
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
        assert row["input"]["n"] == 60
        times = row["times"]
        assert {len(values) for values in times.values()} == {2}
        for phase in ("kernel", "transfer", "wall", "device"):
            assert row[f"{phase}_seconds"] == pytest.approx(median(times[phase]))
        assert times["device"][0] == times["kernel"][0] + times["transfer"][0]
        # a device that shares the memory of the host may transfer nothing
        assert row["kernel_seconds"] <= row["device_seconds"] < row["median_seconds"]
        assert row["rate"] == pytest.approx(60**3 / row["kernel_seconds"])
        assert row["device_rate"] == pytest.approx(60**3 / row["device_seconds"])
        assert row["roof_rate"] == max(row["roof_forms"].values())
        assert row["fraction_of_roof"] == (row["rate"] / row["roof_rate"])
        assert row["ratios"] == {"scipy": scipy["median_seconds"] / row["median_seconds"]}


def test_all_take_turns_and_the_first_is_not_counted(graph, device, monkeypatch):
    turns = []
    own_name = operator.attrgetter("name")
    for cls, method, name in (
        (Meter, "turn", "roof"),
        (PeerContender, "_solve", "peer"),
        (MethodContender, "_solve", own_name),
    ):
        monkeypatch.setattr(cls, method, recorded(turns, name, getattr(cls, method)))
    outcome = bench.run(
        ALL_PAIRS,
        graph,
        ["fw-naive", "fw-blocked"],
        ["int32"],
        [device],
        repeat=2,
        peers=["scipy"],
    )
    own = [f"{method} int32 on {device.id}" for method in ("fw-naive", "fw-blocked")]
    assert turns[:3] == [*own, "peer"]
    assert sorted(turns[3:7]) == sorted(turns[7:]) == sorted([*own, "peer", "roof"])
    assert all(len(row["times"]["wall"]) == 2 for row in [*outcome.runs, *outcome.peers])


def recorded(into, name, call):
    def wrapper(self):
        into.append(name if isinstance(name, str) else name(self))
        return call(self)

    return wrapper


@pytest.mark.parametrize("arcs", [10**8, 0])
@pytest.mark.parametrize("turn", [0, 2])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_one_wrong_answer_in_any_turn_is_noticed(graph, device, arcs, turn, dtype, monkeypatch):
    solve, calls = runs.solve, []

    def wrong(request, started):
        solved = solve(request, started)
        if solved.record["method"] == "fw-naive":
            calls.append(request)
            if len(calls) == turn + 1:
                solved.answer.distances[5, 7] += 1
        return solved

    monkeypatch.setattr(runs, "solve", wrong)
    monkeypatch.setattr(verify, "_ORACLE_ARCS", arcs)
    outcome = bench.run(ALL_PAIRS, graph, ["fw-blocked", "fw-naive"], [dtype], [device], repeat=3)
    assert not outcome.ok
    assert [row["verified"] for row in outcome.runs] == [True, False]
    if arcs:
        assert outcome.runs[1]["max_error"] == 1


@pytest.mark.parametrize("turn", [0, 2])
def test_wrong_predecessors_in_any_turn_are_noticed(graph, device, turn, monkeypatch):
    solve, calls = runs.solve, []

    def wrong(request, started):
        solved = solve(request, started)
        calls.append(request)
        if len(calls) == turn + 1:
            solved.answer.predecessors[5, 7] = 7
        return solved

    more = {"arguments": {"predecessors": True}}
    assert bench.run(ALL_PAIRS, graph, ["auto"], ["int32"], [device], **more, repeat=1).ok
    monkeypatch.setattr(runs, "solve", wrong)
    assert not bench.run(ALL_PAIRS, graph, ["auto"], ["int32"], [device], **more, repeat=2).ok


def test_what_cannot_run_is_left_out_with_the_reason(device):
    negative = Graph.from_arcs(3, [0, 1], [1, 2], [4, -2])
    outcome = bench.run(
        ALL_PAIRS, negative, ["fw-blocked"], ["uint16", "int16"], [device], repeat=1
    )
    assert [row["dtype"] for row in outcome.runs] == ["int16"]
    (name,) = outcome.left_out
    assert name == f"fw-blocked uint16 on {device.id}"
    assert "negative weight -2" in outcome.left_out[name]
    with pytest.raises(Exception, match="negative weight -2"):
        bench.run(ALL_PAIRS, negative, ["fw-blocked"], ["uint16"], [device], repeat=1)
    with pytest.raises(NegativeCycleError):
        bench.run(ALL_PAIRS, negative.reversed().symmetrized(), ["fw-blocked"], ["int16"], [device])


@pytest.mark.parametrize(
    ("problem", "name", "stays"),
    [
        ("all-pairs", "scipy", True),  # Johnson, then
        ("all-pairs", "scipy-dijkstra", False),
        ("all-pairs", "igraph", True),
        ("sssp", "scipy", False),
        ("sssp", "igraph", True),
    ],
)
def test_a_search_that_negative_weights_mislead_is_left_out(problem, name, stays, device):
    negative = Graph.from_arcs(4, [0, 0, 1, 2], [1, 2, 3, 1], [4, 5, 1, -3])
    outcome = bench.run(
        registry.problem(problem), negative, ["auto"], ["float64"], [device], repeat=1, peers=[name]
    )
    assert outcome.ok
    assert [row["name"] for row in outcome.peers] == [name] * stays
    calls = peers.peer(problem, name).calls
    assert outcome.left_out == ({} if stays else {name: f"{calls} is not for negative weights"})


def test_the_shortlist_has_the_methods_that_auto_predicts_to_be_fast(graph, device, monkeypatch):
    def choices(request):
        assert request.method == "auto"
        times = {"fw-mm": 1.0, "fw-blocked": 9.9, "fw-naive": 10.1, "near-far": 30.0}
        if request.options.dtype == np.int32:
            times |= {"near-far": 2.0}
        for name, seconds in sorted(times.items(), key=operator.itemgetter(1)):
            yield registry.Choice(registry.method(name), request.options, "", seconds)

    weighed = dataclasses.replace(ALL_PAIRS, choices=choices)

    def listed(*dtypes):
        return shortlist(weighed, graph, dtypes, [device], {})

    for dtypes, more in ((["float32"], []), (["float32", "int32"], ["near-far"])):
        some, slow = listed(*dtypes)
        assert some == ["auto", "fw-mm", "fw-blocked", *more]
        # what can answer and is not on the list, known to "auto" or not; ms-bfs needs weights of 1
        assert {"fw-naive", "fw-recursive"} <= set(slow)
        assert ("near-far" in slow) is not bool(more)
        assert not {*some, "ms-bfs"} & set(slow)
    slow = ["fw-naive", "near-far"]
    monkeypatch.setattr(bench, "shortlist", lambda *asked: (["auto", "fw-mm"], slow))
    outcome = bench.run(ALL_PAIRS, graph, ["fw-naive", "shortlist"], ["int32"], [device], repeat=1)
    assert [run["method"] for run in outcome.runs][::2] == ["fw-naive", "fw-mm"]
    assert [run["automatic"] for run in outcome.runs] == [False, True, False]
    # what is slow and was named is timed
    assert outcome.left_out.keys() == {"near-far"}
    assert outcome.left_out["near-far"].startswith("not on the shortlist: auto never takes it, or")


def test_the_shortlist_without_predictions_has_all_that_can_answer(device):
    scc = registry.problem("scc")
    names = [each.id for each in registry.methods("scc")]
    found, slow = shortlist(scc, generators.ring(9).symmetrized(), ["int32"], [device], {})
    assert (found[0], slow) == ("auto", [])
    assert sorted(found[1:]) == sorted(names)
    # a type that cannot be asked for is the error of "auto"
    assert shortlist(scc, generators.ring(9), ["float64"], [device], {}) == (["auto"], [])


def test_a_peer_that_is_not_installed_is_left_out(graph, device, monkeypatch):
    absent = tuple(
        dataclasses.replace(each, name="no-such-package") if each.name == "numba" else each
        for each in peers.PEERS
    )
    monkeypatch.setattr(peers, "PEERS", absent)
    outcome = bench.run(
        ALL_PAIRS,
        graph,
        ["auto"],
        ["int32"],
        [device],
        repeat=1,
        peers=["scipy", "no-such-package"],
    )
    assert outcome.left_out == {"no-such-package": "not installed"}
    assert [row["name"] for row in outcome.peers] == ["scipy"]
    with pytest.raises(ParameterError, match="'peers' parameter of bench"):
        bench.run(ALL_PAIRS, graph, ["auto"], ["int32"], [device], peers=["numpy"])


def test_the_type_behind_auto_has_the_roof(graph, device):
    outcome = bench.run(ALL_PAIRS, graph, ["auto"], ["auto"], [device], repeat=1)
    assert outcome.runs[0]["dtype"] == "uint16"
    assert outcome.runs[0]["fraction_of_roof"] > 0


def test_the_roof_of_packed_distances_is_that_of_their_fields(device):
    """Whatever the type of the answer; values of 4 and 8 bits have no roof."""
    methods = [f"fw-packed{bits}" for bits in (4, 8, 16)]
    ring = generators.ring(9).unweighted()
    outcome = bench.run(ALL_PAIRS, ring, methods, ["float64"], [device], repeat=1)
    assert [run["held_dtype"] for run in outcome.runs] == ["uint4", "uint8", "uint16"]
    assert [run["fraction_of_roof"] is None for run in outcome.runs] == [True, True, False]
    assert "bits" not in outcome.runs[2]["roof_forms"]  # a form of floats alone


@pytest.mark.parametrize("n", [0, 1])
def test_trivial_graphs(n, device):
    outcome = bench.run(
        ALL_PAIRS,
        Graph.from_arcs(n, [], []),
        ["fw-blocked"],
        ["int32"],
        [device],
        repeat=1,
        peers=["scipy"],
    )
    assert outcome.ok


def test_at_least_one_turn(graph):
    with pytest.raises(ParameterError, match="repeat"):
        bench.run(ALL_PAIRS, graph, ["auto"], ["int32"], repeat=0)


def test_dense_graphs_come_from_a_seed():
    graph = bench.dense_graph(50, 0.3, 7)
    assert graph == bench.dense_graph(50, 0.3, 7) != bench.dense_graph(50, 0.3, 8)
    assert graph.m == round(0.3 * 50 * 49)
    assert (bench.dense_graph(50).m, bench.dense_graph(5000).m) == (245, 2**20)
    assert 1 <= graph.min_weight <= graph.max_weight <= 100
    with pytest.raises(ParameterError, match="density"):
        bench.dense_graph(50, 1.5)


@pytest.mark.parametrize("peer", peers.installed(), ids=lambda each: f"{each.problem}-{each.name}")
def test_peers_compute_what_they_say(peer):
    problem = registry.problem(peer.problem)
    graph = problem.sample(150, "uniform", 3, registry.methods(problem.id)[0].requires)
    if isinstance(graph, Graph):
        graph = graph.with_weights(np.ones(graph.m) if peer.unweighted else np.abs(graph.weights))
    arguments = [{}, {"sources": [5, 3]}] if peer.some else [{}]
    for each in arguments:
        request = problem.ask(graph, "auto", **each)
        oracle = (peer.oracle or problem.oracle)(request.input, request.options)
        call, as_answer = peer.prepare(request.input, request.options)
        for _ in range(2):  # a call leaves its input as it was
            check = oracle(as_answer(call()))
            assert check.ok, check.fault


def test_scipy_chooses_its_own_method(monkeypatch):
    """The peer is the call that a user makes, without a method."""
    called = []
    own = scipy.sparse.csgraph.shortest_path
    monkeypatch.setattr(
        scipy.sparse.csgraph,
        "shortest_path",
        lambda matrix, **options: called.append(options) or own(matrix, **options),
    )
    peer = peers.peer("all-pairs", "scipy")
    request = ALL_PAIRS.ask(generators.ring(30), "auto")
    call, as_answer = peer.prepare(request.input, request.options)
    assert ALL_PAIRS.oracle(request.input, request.options)(as_answer(call())).ok
    assert len(called) == 1
    assert "method" not in called[0]


def test_a_wrong_product_is_noticed():
    graph = generators.random_graph(90, seed=9)
    matrix = graph.to_dense().astype(np.float32)
    np.fill_diagonal(matrix, 0)
    product = (matrix[:, :, None] + matrix[None, :, :]).min(axis=1)
    oracle = all_pairs._product(graph, None)
    assert oracle(Rows(product, None)).ok
    product[-1, -1] += 1
    assert not oracle(Rows(product, None)).ok


def test_scipy_and_igraph_are_always_there():
    assert {"scipy", "igraph"} <= {each.name for each in peers.installed()}


def test_the_automatic_choice_is_compared_with_the_methods_that_are_named(graph, device):
    named = ["fw-naive", "fw-blocked"]
    dtypes = ["int32", "float32"]
    outcome = bench.run(ALL_PAIRS, graph, ["auto", *named], dtypes, [device], repeat=2)
    assert [row["dtype"] for row in outcome.automatic] == dtypes
    for row in outcome.automatic:
        mine = [run for run in outcome.runs if run["dtype"] == row["dtype"]]
        (chosen,) = [run for run in mine if run["automatic"]]
        times = {run["method"]: run["wall_seconds"] for run in mine if not run["automatic"]}
        assert list(times) == named
        assert row["best"] == min(times, key=times.get)
        assert row["best_seconds"] == times[row["best"]]
        assert (row["method"], row["seconds"]) == (chosen["method"], chosen["wall_seconds"])
        assert row["predicted_seconds"] == chosen["predicted_seconds"]
        assert row["ratio"] == row["seconds"] / row["best_seconds"]


@pytest.mark.parametrize("methods", [["auto"], ["fw-naive"]])
def test_without_both_there_is_nothing_to_compare(graph, device, methods):
    assert bench.run(ALL_PAIRS, graph, methods, ["int32"], [device], repeat=1).automatic == []
