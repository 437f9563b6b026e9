"""Every search from one source against SciPy: sizes, shapes, sources, parameters, types."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

import pyapsp
from pyapsp import verify
from pyapsp.device import Device
from pyapsp.device.kernels import residents
from pyapsp.errors import CapabilityError, DeviceMemoryError, ParameterError
from pyapsp.graph import Graph, generators
from pyapsp.numbers.precision import DTYPES
from pyapsp.paths import PathOptions
from pyapsp.paths.result import NO_PREDECESSOR, Result
from pyapsp.registry import problem
from pyapsp.registry.tuning import Space
from pyapsp.traversal.request import default_source

METHODS = [cls.id for name in ("bfs", "sssp") for cls in pyapsp.methods(name)]
BFS = [cls.id for cls in pyapsp.methods("bfs")]
SSSP = [cls.id for cls in pyapsp.methods("sssp")]


def is_plain(method):
    """Whether a method has only these parameters; others have tests of their own, of pairs."""
    return pyapsp.method(method).choices.keys() <= {"group", "width", "delta"}


def whole(seed, n, m, low, high):
    """Make a graph of random arcs, self-loops and parallel arcs among them."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, m)) if n else np.empty((2, 0), int)
    return Graph.from_arcs(n, tails, heads, rng.integers(low, high, len(tails), endpoint=True))


def found_by(graph, source, method, device, *, dtype="int32", predecessors=True, **options):
    """The rows that a method of either problem finds."""
    if (method if isinstance(method, str) else method.id) in BFS:
        return pyapsp.bfs(
            graph, source, method, parents=predecessors, device=device, **options
        ).rows
    return pyapsp.sssp(
        graph, source, method, dtype=dtype, predecessors=predecessors, device=device, **options
    ).rows


def assert_right(graph, rows, method):
    """Distances are SciPy's; every vertex reached has a parent that is one tight arc nearer."""
    counted = graph.with_weights(np.ones(graph.m, np.int64)) if method in BFS else graph
    expected = np.where(rows.sources[:, None] == np.arange(graph.n), 0.0, np.inf)
    if graph.m and rows.sources.size:
        matrix = counted.to_scipy().astype(float)
        expected = csgraph.johnson(matrix, indices=rows.sources)
    distances = np.where(rows.distances < rows.infinity, rows.distances.astype(float), np.inf)
    np.testing.assert_array_equal(distances, expected)
    if rows.predecessors is None:
        return
    length = {(u, v): w for u, v, w in zip(*(a.tolist() for a in counted.arcs()), strict=True)}
    for source, row, before in zip(rows.sources, distances, rows.predecessors, strict=True):
        inner = np.isfinite(row) & (np.arange(graph.n) != source)
        np.testing.assert_array_equal(before != NO_PREDECESSOR, inner)
        for v in np.flatnonzero(inner).tolist():
            u = int(before[v])
            assert row[u] + length[u, v] == row[v]
        for v in np.flatnonzero(inner).tolist():
            steps = 0
            while v != source:
                v, steps = int(before[v]), steps + 1
                assert steps < graph.n


@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 67])
@pytest.mark.parametrize("method", METHODS)
def test_sizes(method, n, device):
    graph = whole(n, n, 3 * n, 0, 20)
    sources = sorted({0, n // 2, n - 1}) if n else []
    rows = found_by(graph, sources, method, device)
    assert rows.distances.shape == (len(sources), n)
    assert_right(graph, rows, method)
    without = found_by(graph, sources, method, device, predecessors=False)
    assert without.predecessors is None
    np.testing.assert_array_equal(without.distances, rows.distances)


SHAPES = {
    "path": Graph.from_arcs(70, range(69), range(1, 70), range(69)),
    "path both ways": Graph.from_arcs(70, range(69), range(1, 70), range(69), directed=False),
    "star": Graph.from_arcs(90, [0] * 89, range(1, 90), range(89), directed=False),
    "star inwards": Graph.from_arcs(90, range(1, 90), [0] * 89, range(89)),
    "grid": generators.grid_2d(9, 7, 1),
    "clique": generators.complete(40, seed=1),
    "no arcs": Graph.from_arcs(5, [], []),
    "self-loops": Graph.from_arcs(4, [0, 1, 1, 2, 3], [0, 1, 2, 2, 3], [0, 3, 4, 0, 1]),
    "two parts": Graph.from_arcs(70, range(0, 68), range(2, 70), [1] * 68, directed=False),
    "sinks": Graph.from_arcs(80, np.repeat(range(10), 8), range(80), np.arange(80) % 5),
    "zero weights": Graph.from_arcs(60, [*range(60)] * 2, [*range(1, 60), 0, *[0] * 60], [0] * 120),
    "zeros and ones": generators.random_graph(60, 240, 1, seed=3),
}
SHAPES["zeros and ones"] = SHAPES["zeros and ones"].with_weights(np.arange(240) % 3 // 2)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_shapes(method, shape, device):
    graph = SHAPES[shape]
    sources = [0, graph.n - 1, graph.n // 2, 0]
    assert_right(graph, found_by(graph, sources, method, device), method)
    floats = found_by(graph, sources, method, device, dtype="float32")
    assert_right(graph, floats, method)


ARC = st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from([0, 0, 1, 2, 7]))


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arcs=st.lists(ARC, max_size=30), source=st.integers(0, 8))
def test_any_small_graph(method, device, arcs, source):
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    graph = Graph.from_arcs(9, tails, heads, np.array(weights, np.int64))
    assert_right(graph, found_by(graph, source, method, device), method)


@pytest.mark.every(8)
@pytest.mark.parametrize("method", [each for each in METHODS if is_plain(each)])
def test_parameters(method, device):
    """All sets of widths, groups and steps, but for groups between the extremes."""
    graph = whole(1, 100, 500, 0, 9)
    options = PathOptions(device, np.dtype(np.int32), True)
    legal = list(Space(pyapsp.method(method), options))
    assert all(set(each) == set(pyapsp.method(method).choices) for each in legal)
    largest = max(each.get("group", 1) for each in legal)
    steps, widths = set(), set()
    for parameters in legal:
        step = parameters.get("delta", 25)
        group = parameters.get("group", 1)
        if group not in (1, 64, largest):
            continue
        if step != 25 and group > 1:  # the step does not change the kernels
            continue
        asked = pyapsp.method(method, **parameters)
        assert_right(graph, found_by(graph, [0, 99], asked, device), method)
        steps.add(step)
        widths.add(parameters.get("width"))
    choices = pyapsp.method(method).choices
    assert steps == set(choices.get("delta", [25]))
    assert widths == set(choices.get("width", [None]))


@pytest.mark.every(5)
@pytest.mark.parametrize(
    "method", [each for each in METHODS if "group" in pyapsp.method(each).choices]
)
def test_parameters_that_do_not_fit(method, device, monkeypatch):
    with pytest.raises(ParameterError, match=f"'group' parameter of {method} must be one of"):
        pyapsp.method(method, group=3)
    graph = Graph.from_arcs(2, [0], [1])
    if 64 in pyapsp.method(method).choices.get("width", ()):
        asked = pyapsp.method(method, width=64, group=32)
        with pytest.raises(ParameterError, match="at least width"):
            found_by(graph, 0, asked, device)
    few = dataclasses.replace(device.capabilities, max_work_group_size=32)
    monkeypatch.setattr(Device, "capabilities", few)
    with pytest.raises(ParameterError, match="at most 32"):
        found_by(graph, 0, pyapsp.method(method, group=64), device)
    assert found_by(graph, 0, method, device).stats["parameters"]["group"] <= 32


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", SSSP)
def test_types(method, dtype, device):
    graph = whole(5, 67, 300, 0, 20)
    if dtype == "float16" and not device.capabilities.fp16:
        with pytest.raises(CapabilityError, match="has no float16"):
            found_by(graph, 0, method, device, dtype=dtype)
        return
    rows = found_by(graph, [0, 66, 5], method, device, dtype=dtype)
    assert rows.distances.dtype == dtype
    assert_right(graph, rows, method)


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["float64", "int64"])
@pytest.mark.parametrize("method", SSSP)
def test_without_64_bit_atomics(method, kind, device, monkeypatch):
    """Wide words are lowered by halves: also where only low, or only high halves differ."""
    poor = dataclasses.replace(device.capabilities, int64_atomics=False)
    monkeypatch.setattr(Device, "capabilities", poor)
    rng = np.random.default_rng(1)
    for weights in (
        rng.integers(1, 5, 400),
        rng.integers(0, 2**44, 400),
        2**32 * rng.integers(0, 9, 400) + 2**32 - 1,
    ):
        graph = generators.random_graph(60, 400, seed=2).with_weights(weights)
        if method in ("sssp-delta-stepping", "sssp-h-bf") and weights.max() > 2**30:
            with pytest.raises(CapabilityError, match=f"has no 64-bit atomics.* for {kind}"):
                found_by(graph, [0, 7], method, device, dtype=kind)
            continue
        rows = found_by(graph, [0, 7], method, device, dtype=kind)
        assert_right(graph, rows, method)


@pytest.mark.parametrize("method", METHODS)
def test_memory_is_checked_before_the_run(method, device):
    graph = whole(0, 1000, 3000, 0, 9)
    with pytest.raises(DeviceMemoryError, match="raise memory_limit"):
        found_by(graph, 0, method, device, memory_limit=4000)
    allowed = found_by(graph, 0, method, device, memory_limit=2**20)
    assert 4000 < allowed.stats["peak_device_bytes"] <= 2**20


@pytest.mark.parametrize("method", METHODS)
def test_no_more_memory_than_planned(method, device, monkeypatch):
    import pyopencl as cl

    made = []
    buffer = cl.Buffer

    def counted(context, flags, size=0, hostbuf=None):
        made.append(size or hostbuf.nbytes)
        return buffer(context, flags, size, hostbuf)

    monkeypatch.setattr(cl, "Buffer", counted)
    # the pool of a GPU has some of the memory already
    monkeypatch.setattr(residents, "_pools", lambda device: False)
    graph = whole(0, 300, 900, 0, 9)
    for predecessors in (False, True):
        made.clear()
        rows = found_by(graph, [0], method, device, predecessors=predecessors)
        assert sum(made) == rows.stats["peak_device_bytes"]


@pytest.mark.parametrize("name", ["bfs", "sssp"])
def test_the_default_source(name, device):
    graph = Graph.from_arcs(6, [1, 1, 3, 3, 5], [0, 2, 4, 5, 0])
    assert default_source(graph).tolist() == [1]
    assert default_source(Graph.from_arcs(0, [], [])).tolist() == []
    each = problem(name)
    assert each.ask(graph, device=device).options.sources.tolist() == [1]
    # what plans without naming sources gets it as well, and the oracle and the work agree
    options = PathOptions(device, np.dtype(each.dtypes[0]))
    method = pyapsp.methods(name)[0]()
    plan = method.plan(graph, options)
    answer = method.run(plan)
    assert answer.distances.shape == (1, 6)
    assert each.oracle(graph, options)(answer).ok
    assert each.work(graph, plan.options, answer) == 2
    wrong = dataclasses.replace(answer, distances=answer.distances + 1)
    assert not each.oracle(graph, options)(wrong).ok


@pytest.mark.parametrize("name", ["bfs", "sssp"])
def test_work_is_the_arcs_of_what_is_reached(name, device):
    graph = Graph.from_arcs(5, [0, 0, 1, 3, 3, 3], [1, 2, 0, 0, 1, 4])
    ask = getattr(pyapsp, name)
    assert ask(graph, 0, device=device).stats["work"] == 3
    assert ask(graph, [0, 3, 4], device=device).stats["work"] == 3 + 6 + 0


def test_predecessors_where_rounding_swallows_weights(device):
    """Arcs that add nothing lead round and round; the tree must not."""
    n = 40
    tails, heads = [0, *range(1, n), *range(2, n)], [1, *range(2, n), 1, *range(1, n - 1)]
    weights = [1e8, *[1e-3] * (n - 1), *[0.0] * (n - 2)]
    graph = Graph.from_arcs(n, tails, heads, np.array(weights))
    for method in SSSP:
        for dtype in ("float32", "float64"):
            rows = found_by(graph, [0, 5], method, device, dtype=dtype)
            check = verify.certificate(graph, rows, device=device)
            assert check.ok, check.fault
            for v in range(1, n):
                assert rows.path(0, v)[0] == 0


def test_no_distance_is_looked_at_twice_where_weights_span_nine_decades(device):
    """The threshold rises above the smallest distance that waits, not by delta alone."""
    n = 30
    weights = np.array([1.0, 1e9] * n)[: n - 1]
    graph = Graph.from_arcs(n, range(n - 1), range(1, n), weights)
    asked = pyapsp.method("sssp-near-far", delta=25)
    rows = found_by(graph, 0, asked, device, dtype="float64")
    assert_right(graph, rows, "sssp-near-far")
    assert rows.stats["rounds"] <= n


def test_rounds_of_a_search_are_its_levels(device):
    graph = SHAPES["path"]
    for method in BFS:
        assert found_by(graph, 0, method, device).stats["rounds"] == 70
        assert found_by(graph, [60, 69], method, device).stats["rounds"] == 10 + 1


def test_the_result_is_that_of_solve(device):
    graph = whole(4, 50, 200, 0, 9)
    rows = found_by(graph, [3, 9], "sssp-near-far", device)
    assert isinstance(rows, Result)
    solved = pyapsp.solve(graph, sources=[3, 9], dtype="int32", device=device)
    np.testing.assert_array_equal(rows.distances, solved.distances)
