"""Candidates of "auto" that are measured on a part of the problem, or on calls."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp import errors
from pyapsp.all_pairs import choice, parts, race
from pyapsp.all_pairs.request import Arguments, requested
from pyapsp.all_pairs.sparse import source_blocks
from pyapsp.graph import Graph
from pyapsp.graph.generators import random_graph
from pyapsp.paths import AllPairsMethod
from pyapsp.registry import problem
from pyapsp.registry.tuning import database
from pyapsp.registry.tuning.database import Row, merge

N = 600


@pytest.fixture
def rows(tmp_path, monkeypatch, device):
    """Return a function that makes the only rows there are, for graphs of N vertices: rates."""
    monkeypatch.setattr(database, "shipped_databases", list)
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path))

    def make(dtype="float64", **rates):
        about = {
            "platform": device.platform_name,
            "kind": device.kind,
            "architecture": device.architecture,
            "device": device.plain_name,
            "dtype": dtype,
            "predecessors": False,
            "family": "uniform",
            "parameters": {},
        }
        answer = [
            Row(method=name.replace("_", "-"), n=n, rate=rate, **about)
            for name, rate in rates.items()
            for n in (N // 4, N)  # of a part of the vertices, and of all
        ]
        merge(tmp_path / "database.json", answer)

    return make


@pytest.fixture
def always(monkeypatch, device):
    """Measure before every first run, however short it is, on devices of any width."""
    monkeypatch.setattr(race, "_SHORT", 0.0)
    monkeypatch.setattr(race, "_ENOUGH", 0.0)
    monkeypatch.setattr(parts, "_MOST", 1)
    monkeypatch.setattr(source_blocks, "_GROUPS", 4 / device.capabilities.compute_units)
    race._past.cache_clear()
    yield
    race._past.cache_clear()


@pytest.fixture
def told(monkeypatch):
    """Return a dict of ratios that parts have from then on, by predicted seconds in order."""
    given = []
    monkeypatch.setattr(race, "ratios", lambda found: given[: len(found)])
    return given


@pytest.fixture
def slow(monkeypatch):
    """Make each block of apsp-tasks take long."""
    method = type(pyapsp.method("apsp-tasks"))
    opened = method.open

    def open_slowly(self, plan, watch):
        solver = opened(self, plan, watch)
        solve = solver.solve_block
        solver.solve_block = lambda *block: (time.sleep(0.2), solve(*block))[1]
        return solver

    monkeypatch.setattr(method, "open", open_slowly)


def whole(seed=1, m=4 * N):
    return random_graph(N, m, 9, seed=seed)


def halves():
    graph = whole()
    return graph.with_weights(graph.weights + 0.1)


def test_a_wrong_rate_is_corrected(rows, always, slow, device):
    """By its rate apsp-tasks is twice as fast."""
    rows(apsp_tasks=4e9, near_far=2e9)
    result = pyapsp.solve(halves(), device=device)
    assert result.stats["method"] == "near-far"
    assert "the shortest time, by a trial: near-far " in result.reasons[0]
    assert "(predicted 108 ms) (then apsp-tasks " in result.reasons[0]
    assert result.stats["predicted_seconds"] != pytest.approx(0.108, rel=1e-6)
    assert pyapsp.explain(halves(), device=device).splitlines()[0] == result.reasons[0]


@pytest.fixture
def calls(always, monkeypatch):
    """Let each candidate answer calls, however short they are."""
    monkeypatch.setattr(race, "_SHORT", 9.0)
    monkeypatch.setattr(race, "_TINY", 0.0)
    monkeypatch.setattr(race, "_TURNS", 2)
    monkeypatch.setattr(race, "ratios", lambda found: pytest.fail("a part was measured"))


def _asked(graph, device):
    """Return a request and its ranking."""
    request = requested(graph, Arguments(device=device))
    return request, choice.ranked(request.input, request.options)


def _methods(count, graph, **asked):
    return [pyapsp.solve(graph, **asked).stats["method"] for _ in range(count)]


def test_each_candidate_answers_calls_of_a_short_problem(rows, calls, slow, device):
    """By its rate apsp-tasks is twice as fast."""
    rows(apsp_tasks=4e9, near_far=2e9)
    graph, turns = halves(), race._TURNS
    methods = _methods(turns, graph, device=device)
    assert methods == ["apsp-tasks"] * turns  # the first call is before the race
    for _ in range(5):
        assert "the shortest predicted time: near-far" in pyapsp.explain(graph, device=device)
    assert _methods(turns + 2, graph, device=device) == ["near-far"] * (turns + 2)
    assert "by a trial: near-far " in pyapsp.explain(graph, device=device)
    # answers that stay on the device have times of their own
    assert _methods(1, graph, device=device, keep="device") == ["apsp-tasks"]


def test_each_kind_has_a_turn_before_others_of_a_kind(rows, calls, device, monkeypatch):
    """Four forms of a matrix are predicted to be faster than the search."""
    matrix = {"fw_minplus": 4e9, "fw_blocked": 3.9e9, "fw_mm": 3.8e9, "fw_recursive": 3.7e9}
    rows(**matrix, near_far=2e9)
    seconds = {"near-far": 0.1}
    add = race._Past.add
    monkeypatch.setattr(
        race._Past, "add", lambda past, form, _: add(past, form, seconds.get(form.split()[0], 1.0))
    )
    methods = _methods(2 * race._MOST + 3, whole(), device=device)
    assert methods[-2:] == ["near-far"] * 2
    # what had no turn is taken to be as slow as the others of its kind
    assert "fw-recursive" not in methods
    assert len(set(methods)) > 2


def test_a_matrix_in_host_memory_has_no_turn(rows, calls, device, monkeypatch):
    """Its kernels are those of fw-minplus, however fast another method was."""
    rows(fw_minplus=4e9)
    assert set(_methods(12, halves(), device=device)) == {"fw-minplus"}
    race._past.cache_clear()
    rows(fw_minplus=4e9, fw_blocked=2e9)
    add, seconds = race._Past.add, {"fw-minplus": 1.0, "fw-blocked": 1.2}
    monkeypatch.setattr(
        race._Past, "add", lambda past, form, _: add(past, form, seconds[form.split()[0]])
    )
    assert set(_methods(16, halves(), device=device)) == {"fw-minplus", "fw-blocked"}


@pytest.mark.parametrize(("slower", "turns"), [(1.3, 2), (1.2, 5)])
def test_what_is_clearly_slower_answers_two_calls(rows, calls, device, monkeypatch, slower, turns):
    monkeypatch.setattr(race, "_TURNS", 5)
    rows(apsp_tasks=4e9, near_far=2e9)
    seconds, add = {"apsp-tasks": 1.0, "near-far": slower}, race._Past.add
    monkeypatch.setattr(
        race._Past, "add", lambda past, form, _: add(past, form, seconds[form.split()[0]])
    )
    methods = _methods(13, halves(), device=device)
    assert methods == ["apsp-tasks"] * 5 + ["near-far"] * turns + ["apsp-tasks"] * (8 - turns)


def test_the_first_of_the_ranking_stays_if_it_is_nearly_as_fast(rows, calls, device, monkeypatch):
    rows(apsp_tasks=4e9, near_far=2e9)
    seconds = {"apsp-tasks": 1.0, "near-far": 0.96}
    add = race._Past.add
    monkeypatch.setattr(
        race._Past, "add", lambda past, form, _: add(past, form, seconds[form.split()[0]])
    )
    assert _methods(7, halves(), device=device)[-2:] == ["apsp-tasks"] * 2
    race._past.cache_clear()
    seconds["near-far"] = 0.94
    assert _methods(7, halves(), device=device)[-2:] == ["near-far"] * 2


def test_after_the_race_the_order_is_kept_for_some_calls(rows, calls, device, monkeypatch):
    """To sort the candidates takes as long as a tenth of a small call."""
    rows(apsp_tasks=4e9, near_far=2e9)
    seconds, sorts, add, again = {"apsp-tasks": 1.0, "near-far": 0.5}, [], race._Past.add, 6
    monkeypatch.setattr(race, "_AGAIN", again)
    monkeypatch.setattr(
        race._Past, "add", lambda past, form, _: add(past, form, seconds[form.split()[0]])
    )
    sort = race._corrected
    monkeypatch.setattr(race, "_corrected", lambda *given: (sorts.append(given), sort(*given))[1])
    graph = halves()
    _methods(2 * race._TURNS, graph, device=device)
    assert _methods(1, graph, device=device) == ["near-far"]
    assert len(sorts) == 1
    seconds["near-far"] = 3.0
    assert _methods(again - 1, graph, device=device) == ["near-far"] * (again - 1)
    assert len(sorts) == 1
    assert _methods(again - 1, graph, device=device) == ["apsp-tasks"] * (again - 1)
    assert len(sorts) == 2
    past = race._past_of(*_asked(graph, device))
    assert past.settled is not None
    past.fail("apsp-tasks float64")
    assert past.settled is None


def test_a_close_candidate_answers_a_call_now_and_then(rows, calls, device, monkeypatch):
    """The machine may have been busy during its turns."""
    rows(apsp_tasks=4e9, near_far=2e9)
    seconds, add, again = {"apsp-tasks": 1.0, "near-far": 1.4}, race._Past.add, 6
    monkeypatch.setattr(race, "_AGAIN", again)
    monkeypatch.setattr(
        race._Past, "add", lambda past, form, _: add(past, form, seconds[form.split()[0]])
    )
    graph = halves()
    _methods(2 * race._TURNS, graph, device=device)
    methods = _methods(2 * again, graph, device=device)
    assert methods == (["apsp-tasks"] * (again - 1) + ["near-far"]) * 2
    seconds["near-far"] = 0.5
    assert _methods(again, graph, device=device)[-1] == "near-far"
    assert _methods(again, graph, device=device) == ["near-far"] * again
    # far from the first, it has no further turn
    assert "apsp-tasks" not in _methods(2 * again, graph, device=device)


def test_what_fails_has_one_turn(rows, calls, device, monkeypatch):
    rows(apsp_tasks=4e9, near_far=2e9)
    method, tried = type(pyapsp.method("near-far")), []

    def plan(self, *given):
        tried.append(given)
        raise errors.DeviceMemoryError(9, 8, "too much")

    with monkeypatch.context() as patch:
        patch.setattr(method, "plan", plan)
        assert set(_methods(7, halves(), device=device)) == {"apsp-tasks"}
    assert len(tried) == 1


def test_calls_that_are_far_tiny_few_or_have_a_cutoff_are_no_race(rows, calls, device, monkeypatch):
    rows(apsp_tasks=7e9, near_far=2e9)
    assert set(_methods(5, halves(), device=device)) == {"apsp-tasks"}
    rows(apsp_tasks=4e9)
    assert set(_methods(5, halves(), device=device, cutoff=50)) == {"apsp-tasks"}
    for name, value in (("_TINY", 1.0), ("_ENOUGH", 99.0)):
        with monkeypatch.context() as patch:
            patch.setattr(race, name, value)
            assert set(_methods(5, halves(), device=device)) == {"apsp-tasks"}
    assert "near-far" in _methods(5, halves(), device=device)


def test_the_record_has_the_corrected_prediction(rows, always, told, device):
    rows(apsp_tasks=4e9, near_far=2e9)
    told[:] = [4.0, 0.5]
    result = pyapsp.solve(halves(), device=device)
    assert (result.stats["method"], result.stats["automatic"]) == ("near-far", True)
    assert result.stats["predicted_seconds"] == pytest.approx(0.5 * 0.108, rel=1e-6)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"sources": [5, 5, 3, *range(100, 400)]},
        {"predecessors": True},
        {"keep": "device"},
        {"dtype": "float32"},
    ],
)
def test_the_answer_is_that_of_one_method(rows, always, slow, device, asked):
    for dtype in ("float64", "float32"):
        rows(dtype, apsp_tasks=4e9, near_far=2e9)
    result = pyapsp.solve(halves(), device=device, **asked)
    assert result.stats["method"] == "near-far"
    assert "by a trial" in result.reasons[0]
    named = pyapsp.solve(halves(), "near-far", device=device, **asked)
    np.testing.assert_array_equal(result.distances, named.distances)
    if asked.get("predecessors"):
        np.testing.assert_array_equal(result.predecessors, named.predecessors)


def test_no_race_with_a_cutoff(rows, always, monkeypatch, device):
    """Parts would be faster than predicted, and later calls without a cutoff would be misled."""
    rows(near_far=2e9, fw_minplus=1.9e9)
    calls = []
    monkeypatch.setattr(race, "ratios", lambda found: [calls.append(found) or 1.0 for _ in found])
    pyapsp.solve(whole(), cutoff=5, device=device)
    assert not calls
    pyapsp.solve(whole(), device=device)
    assert calls
    assert "by a trial" in pyapsp.explain(whole(), cutoff=5, device=device)


@pytest.mark.parametrize("other", ["apsp_tasks", "fw_minplus"])
def test_only_the_run_writes_and_tells(rows, always, monkeypatch, device, tmp_path, other):
    rows(near_far=4e9, **{other: 1.9e9})

    def run_all(found):
        for each in found:
            each.run()
        return [1.0] * len(found)

    monkeypatch.setattr(race, "ratios", run_all)
    out = np.lib.format.open_memmap(tmp_path / "d.npy", "w+", "f8", (N, N))
    reported = []
    result = pyapsp.solve(
        whole(),
        device=device,
        out=out,
        predecessors=True,
        progress=lambda *done: reported.append(done),
    )
    assert "by a trial" in result.reasons[0]
    assert reported == sorted(reported)
    assert {total for _, total in reported} == {reported[-1][0]}
    assert {each.name for each in tmp_path.glob("*.npy")} == {"d.npy", "d.npy.predecessors.npy"}


def test_a_matrix_and_a_search(rows, always, device, told):
    """The slower by its rate is taken if parts say that it is clearly faster, and only then."""
    rows(fw_minplus=2e9, near_far=1e9)
    for ratios, expected in (
        ([1.0, 0.3], "near-far"),
        ([1.0, 0.45], "fw-minplus"),  # 0.9 of the time
        ([2.0, 1.0], "fw-minplus"),
        ([3.0, 1.0], "near-far"),
    ):
        race._past.cache_clear()
        told[:] = ratios
        assert pyapsp.solve(whole(), device=device).stats["method"] == expected


def test_what_is_not_measured_is_as_much_slower_as_the_fastest(rows, always, device, told):
    rows(near_far=1.9e9, apsp_tasks=2e9, fw_minplus=6e8)
    told[:] = [8.0, 2.0]
    request = problem("all-pairs").ask(whole(), "auto", device=device)
    answer = {}
    for each in request.problem.choices(request):
        answer.setdefault(each.method.id, (each.seconds or 0) * 1e3)
    assert list(answer)[:3] == ["near-far", "fw-minplus", "apsp-tasks"]
    assert answer["fw-minplus"] == pytest.approx(2 * N**3 / 6e5)
    assert answer["near-far"] == pytest.approx(2 * N**3 / 1.9e6)
    assert answer["apsp-tasks"] == pytest.approx(8 * N**3 / 2e6)


def test_time_does_not_decide_between_different_roundings(rows, always, device, told):
    rows(fw_minplus=2e9, near_far=1.9e9, apsp_tasks=1.8e9)
    told[:] = [9.0, 1.0, 1.0]
    assert pyapsp.solve(halves(), device=device).stats["method"] == "fw-minplus"
    rows(fw_minplus=1.5e9)
    race._past.cache_clear()
    told[:] = [9.0, 5.0]
    assert pyapsp.solve(halves(), device=device).stats["method"] == "apsp-tasks"


def test_it_is_measured_once_if_it_is_worth_it(rows, always, monkeypatch, device):
    rows(fw_minplus=2e9, near_far=1.9e9)  # 108 and 114 ms
    calls = []
    monkeypatch.setattr(race, "_ENOUGH", 0.25)
    monkeypatch.setattr(race, "ratios", lambda found: [calls.append(found) or 1.0 for _ in found])
    for runs in (1, 2, 3, 4):
        pyapsp.solve(whole(), device=device)
        assert len(calls) == (0 if runs < 3 else 2)
    monkeypatch.setattr(race, "_SHORT", 0.15)
    rows(fw_minplus=1.9e9)
    for _ in range(4):
        pyapsp.solve(whole(), device=device)
    assert len(calls) == 2


def test_far_from_the_fastest_is_not_measured(rows, always, monkeypatch, device):
    monkeypatch.setattr(race, "ratios", lambda found: pytest.fail("measured"))
    rows(fw_minplus=7e9, near_far=2e9)
    assert pyapsp.solve(whole(), device=device).stats["method"] == "fw-minplus"
    assert pyapsp.solve(whole(), "near-far", device=device).stats["method"] == "near-far"


def test_what_fails_its_self_test_or_a_part_is_not_measured(rows, always, monkeypatch, device):
    rows(fw_minplus=2e9, near_far=1.9e9)
    monkeypatch.setattr(race, "ratios", lambda found: pytest.fail("measured"))
    with monkeypatch.context() as patch:
        patch.setattr(race, "refusal", lambda *_: errors.CapabilityError("wrong"))
        assert pyapsp.solve(whole(), device=device).stats["method"] == "fw-minplus"

    def stalls(found):
        raise errors.StallError("nobody moves")

    monkeypatch.setattr(race, "ratios", stalls)
    assert pyapsp.solve(whole(2), device=device).stats["method"] == "fw-minplus"


def test_errors_of_the_graph_are_those_of_the_run(rows, always, device, monkeypatch):
    monkeypatch.setattr(race, "_NEAR", 9)
    rows(near_far=2e9, fw_minplus=1.9e9)
    rows("int32", near_far=2e9, fw_minplus=1.9e9)
    graph = whole()
    cycle = graph.with_weights(np.where(np.arange(graph.m) % 7, graph.weights, -9))
    for call in (pyapsp.solve, lambda *a, **k: next(pyapsp.row_blocks(*a, **k))):
        with pytest.raises(errors.NegativeCycleError):
            call(cycle, device=device)
    line = np.arange(N - 1)
    long = Graph.from_arcs(N, line, line + 1, np.full(N - 1, 2**24))
    assert "by a trial" in pyapsp.explain(long, dtype="int32", device=device)
    with pytest.raises(errors.PrecisionError):
        pyapsp.solve(long, dtype="int32", device=device)


def test_negative_weights(rows, always, device):
    rows(near_far=2e9, fw_minplus=1.9e9)
    graph = whole()
    lifted = graph.with_weights(graph.weights + graph.arcs()[0] % 5 - graph.indices % 5)
    result = pyapsp.solve(lifted, device=device)
    assert "by a trial" in result.reasons[0]
    np.testing.assert_array_equal(result.distances, csgraph.johnson(lifted.to_scipy()))


@pytest.mark.parametrize("name", ["near-far", "ms-bfs", "fw-minplus", "dijkstra-cpu"])
@pytest.mark.parametrize("predecessors", [False, True])
def test_a_part_has_the_kernels_of_the_whole(always, device, monkeypatch, name, predecessors):
    """Its prediction is a small part of that of the whole."""
    monkeypatch.setattr(AllPairsMethod, "predict", None)
    graph = whole().with_weights(np.ones(4 * N, np.int64))
    options = (
        problem("all-pairs")
        .ask(graph, pyapsp.method(name), device=device, predecessors=predecessors)
        .options
    )
    method = pyapsp.method(name)
    monkeypatch.setattr(
        type(method), "predict", lambda self, graph, options, rows: 1e-9 * graph.n**2 * rows
    )
    plan = method.plan(graph, options)
    part = parts.part_of(plan, method, graph.facts, N)
    assert part.predicted <= N**3 * 1e-9
    if name == "fw-minplus":
        assert part.predicted == pytest.approx(1e-9 * (N // 4) ** 3)
    part.run()
    (ratio,) = parts.ratios([part])
    assert ratio > 0


def test_a_part_has_runs_of_sources_from_everywhere(always, device, monkeypatch):
    """Sources side by side share work; all of them from one end may have little of it."""
    tried = []
    monkeypatch.setattr(
        source_blocks.Session, "fill", lambda self, sources, *_: tried.append(sources)
    )
    method = pyapsp.method("near-far", sources=16, group=1)
    monkeypatch.setattr(type(method), "predict", lambda self, graph, options, rows: 1e-6 * rows)
    wanted = np.arange(N)[::-1]
    options = problem("all-pairs").ask(whole(), method, device=device, sources=wanted).options
    part = parts.part_of(method.plan(whole(), options), method, whole().facts, N)
    part.run()
    (sources,) = tried
    runs = sources.reshape(-1, 16)
    assert part.predicted == pytest.approx(1e-6 * sources.size)
    assert np.all(np.diff(runs) == -1)
    assert runs[0, 0] == N - 1
    assert len(np.unique(sources)) == sources.size
    assert np.ptp(np.diff(runs[:, 0])) <= 1
    assert runs[-1, 0] < N // 2
