"""Some rows of the answer: sources, cutoff, mapped output, and blocks of rows one after another."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
import weakref

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph, csr_array

import pyapsp
from pyapsp import errors, verify
from pyapsp.all_pairs import choice
from pyapsp.all_pairs.sparse import source_blocks
from pyapsp.all_pairs.sparse.session import Session
from pyapsp.all_pairs.sparse.source_blocks import SourceBlocks
from pyapsp.graph import Graph, generators
from pyapsp.graph.io import stores
from pyapsp.paths import AllPairsOptions
from pyapsp.paths.result import NO_PREDECESSOR

BY_SOURCE = [each for each in pyapsp.methods("all-pairs") if each.by_source]
ALONE = [each.id for each in BY_SOURCE if not each.requires.unweighted]
# One that computes all rows, and those that compute the sources alone.
METHODS = ["fw-blocked", *ALONE]


@pytest.fixture(scope="module")
def graph():
    return generators.random_graph(150, 700, 20, seed=5)


@pytest.fixture(scope="module")
def negative():
    """A graph with negative weights and no negative cycle: a potential moves the weights."""
    rng = np.random.default_rng(6)
    tails, heads = rng.integers(0, 120, (2, 600))
    potential = rng.integers(0, 15, 120)
    weights = rng.integers(0, 20, 600) + potential[tails] - potential[heads]
    return Graph.from_arcs(120, tails, heads, weights)


def expected_rows(graph, sources, cutoff=np.inf):
    rows = csgraph.johnson(graph.to_scipy().astype(float))[np.array(sources, int)]
    return np.where(rows > cutoff, np.inf, rows)


def in_floats(result):
    return np.where(result.distances < result.infinity, result.distances, np.inf)


# -- sources -----------------------------------------------------------------------------------


@pytest.mark.every(4)
@pytest.mark.parametrize("sources", [[0], [149, 0, 7, 7, 0], [], list(range(150))[::-1]], ids=len)
@pytest.mark.parametrize("method", METHODS)
def test_sources_in_any_order(graph, method, sources, device):
    result = pyapsp.solve(
        graph, method, sources=sources, dtype="int32", predecessors=True, device=device
    )
    assert result.distances.shape == result.predecessors.shape == (len(sources), 150)
    np.testing.assert_array_equal(result.sources, sources)
    np.testing.assert_array_equal(in_floats(result), expected_rows(graph, sources))
    assert verify.certificate(graph, result, device=device).ok
    assert result.stats["sources"] == len(sources)
    computed = 150 if method == "fw-blocked" else len(sources)
    assert result.stats["work"] == computed * 150**2
    assert f"sources: {len(sources)}" in result.explain()
    planned = pyapsp.explain(graph, method, sources=sources, dtype="int32", device=device)
    assert f"sources: {len(sources)}" in planned


def test_only_the_sources_are_searched_from(graph, monkeypatch, device):
    reported = []
    for kind in BY_SOURCE:
        searched = graph
        if kind.requires.unweighted:
            searched = graph.with_weights(np.ones(graph.m, int))
        seen, open_ = [], kind.open

        def spy(self, plan, watch, seen=seen, open_=open_):
            solver = open_(self, plan, watch)
            solve_block = solver.solve_block

            def noted(sources, *arrays):
                seen.extend(sources)
                solve_block(sources, *arrays)

            solver.solve_block = noted
            return solver

        with monkeypatch.context() as patched:
            patched.setattr(kind, "open", spy)
            pyapsp.solve(searched, kind.id, sources=[3, 149, 3], device=device)
        assert seen == [3, 149, 3]
        reported.append(kind.id)
    assert {"johnson", "apsp-tasks", "apsp-bfs", "dijkstra-cpu"} <= set(reported)


def test_negative_weights_and_cycles_among_others(negative, device):
    result = pyapsp.solve(negative, "johnson", sources=[5, 1], predecessors=True, device=device)
    np.testing.assert_array_equal(result.distances, expected_rows(negative, [5, 1]))
    assert verify.certificate(negative, result, device=device).ok
    loop = Graph.from_arcs(4, [0, 2, 3], [1, 3, 2], [1, 1, -2])  # out of reach of 0
    for method in ("johnson", "fw-blocked"):
        for sources in ([0], []):
            with pytest.raises(errors.NegativeCycleError):
                pyapsp.solve(loop, method, sources=sources, device=device)


@pytest.mark.parametrize("method", METHODS)
def test_only_the_rows_asked_for_must_fit(method, device):
    chain = Graph.from_arcs(6, np.arange(5), np.arange(1, 6), np.full(5, 2**29))
    options = {"dtype": "int32", "device": device}
    assert pyapsp.solve(chain, method, sources=[4], **options).distances[0, 5] == 2**29
    with pytest.raises(errors.PrecisionError, match="a distance is too large for int32"):
        pyapsp.solve(chain, method, sources=[4, 3], **options)
    wrong = pyapsp.solve(chain, method, sources=[4, 3], check=False, **options)
    assert wrong.distances[1, 5] == wrong.infinity


# -- cutoff ------------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
@pytest.mark.parametrize("cutoff", [0, 11, 11.5, 2**14, 1e300, float("inf")])
@pytest.mark.parametrize("method", METHODS)
def test_cutoff(graph, method, cutoff, dtype, device):
    for sources in (None, [3, 77]):
        result = pyapsp.solve(
            graph, method, sources=sources, cutoff=cutoff, dtype=dtype, predecessors=True,
            device=device,
        )  # fmt: skip
        rows = range(150) if sources is None else sources
        expected = expected_rows(graph, rows, cutoff)
        np.testing.assert_array_equal(in_floats(result), expected)
        none = np.isinf(expected) | (np.asarray(rows)[:, None] == np.arange(150))
        np.testing.assert_array_equal(result.predecessors == NO_PREDECESSOR, none)
        assert result.stats["cutoff"] == cutoff


@pytest.mark.parametrize("cutoff", [0, 9])
@pytest.mark.parametrize("method", ["johnson", "fw-blocked"])
def test_cutoff_with_negative_weights(negative, method, cutoff, device):
    """A path may exceed the cutoff and then get shorter, so a search must not stop there."""
    result = pyapsp.solve(
        negative, method, cutoff=cutoff, dtype="int32", predecessors=True, device=device
    )
    unreachable = result.distances == result.infinity
    assert (result.predecessors[unreachable] == NO_PREDECESSOR).all()
    np.testing.assert_array_equal(in_floats(result), expected_rows(negative, range(120), cutoff))
    # from 1 to 4 it is past the range, and from 0 by way of it
    steps = [2**30 - 2, *[-(2**29)] * 3]
    clamped = Graph.from_arcs(5, [0, 1, 2, 3], [1, 2, 3, 4], steps)
    options = {"dtype": "int32", "sources": [0], "cutoff": cutoff, "device": device}
    if method == "johnson":
        assert pyapsp.solve(clamped, method, **options).distances[0, 4] == sum(steps)
    else:
        with pytest.raises(errors.PrecisionError):
            pyapsp.solve(clamped, method, **options)


@pytest.mark.every(3)
@pytest.mark.parametrize("method", METHODS)
def test_what_the_cutoff_hides_need_not_fit(method, device):
    chain = Graph.from_arcs(5, np.arange(4), np.arange(1, 5), np.full(4, 20000))
    options = {"dtype": "uint16", "device": device}
    near = pyapsp.solve(chain, method, cutoff=20000, **options)
    assert near.distances[0].tolist() == [0, 20000, *[near.infinity] * 3]
    for cutoff in (32766, 40000):  # the type holds no distance above: nothing is hidden
        with pytest.raises(errors.PrecisionError, match="a distance is too large for uint16"):
            pyapsp.solve(chain, method, cutoff=cutoff, **options)


def test_a_method_is_told_what_it_can_use(graph, device):
    options = AllPairsOptions(
        device, np.dtype("int32"), sources=np.array([4]), cutoff=500.0, out=np.empty((1, 150))
    )
    dense, sparse = pyapsp.method("fw-blocked"), pyapsp.method("apsp-tasks")
    suited = choice.suited(sparse, graph, options, np.dtype("int32"))
    assert (suited.sources.tolist(), suited.cutoff, suited.out) == ([4], 500, options.out)
    for dtype, cutoff in (("int16", 500), ("float16", 500)):
        assert choice.suited(sparse, graph, options, np.dtype(dtype)).cutoff == cutoff
    beyond = AllPairsOptions(device, np.dtype("int32"), cutoff=2.0**15 - 2)
    assert beyond.computed_in(np.dtype("uint16")).cutoff is None
    assert beyond.computed_in(np.dtype("int32")).cutoff == 2.0**15 - 2
    suited = choice.suited(dense, graph, options, np.dtype("int32"))
    assert (suited.sources, suited.cutoff, suited.out, suited.check) == (
        None,
        None,
        None,
        False,
    )


# -- out ---------------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sources", [None, [9, 2, 9]])
def test_out_gets_the_rows(graph, method, sources, device, tmp_path):
    rows = range(150) if sources is None else sources
    out = np.lib.format.open_memmap(tmp_path / "d.npy", "w+", np.float32, (len(rows), 150))
    result = pyapsp.solve(
        graph, method, sources=sources, out=out, cutoff=25, predecessors=True, device=device
    )
    assert result.distances is out
    np.testing.assert_array_equal(np.load(tmp_path / "d.npy"), expected_rows(graph, rows, 25))
    if method != "fw-blocked":
        beside = np.load(tmp_path / "d.npy.predecessors.npy")
        np.testing.assert_array_equal(beside, result.predecessors)
        assert isinstance(result.predecessors, np.memmap)


def test_mapped_rows_are_written_while_the_run_goes_on(graph, monkeypatch, device, tmp_path):
    monkeypatch.setattr(source_blocks, "_UNWRITTEN", 40 * 150 * 8)
    written, flush = [], np.memmap.flush

    def noted(self):
        written.append(len(done))
        flush(self)

    monkeypatch.setattr(np.memmap, "flush", noted)
    done = []
    out = np.lib.format.open_memmap(tmp_path / "d.npy", "w+", np.float64, (150, 150))
    written.clear()
    pyapsp.solve(
        graph, "apsp-iterative", out=out, progress=lambda *step: done.append(step), device=device
    )
    assert written == [39, 79, 119, 149]


def test_out_of_a_narrow_run_is_converted_block_by_block(graph, monkeypatch, device):
    """What `auto` holds in 16 bits goes into the caller's floats, with no matrix between."""
    monkeypatch.setattr(choice, "_UPDATES", 0)  # it takes a sparse method
    monkeypatch.setattr(choice, "_FEW_VISITS", 0)  # of the device
    out = np.empty((150, 150))
    result = pyapsp.solve(
        graph, sources=np.arange(150), out=out, cutoff=30, predecessors=True, device=device
    )
    assert (result.stats["method"], result.stats["held_dtype"]) == ("johnson", "uint16")
    assert result.distances is out
    np.testing.assert_array_equal(out, expected_rows(graph, range(150), 30))
    again = pyapsp.solve(graph, sources=np.arange(150), cutoff=30, device=device)
    np.testing.assert_array_equal(again.distances, out)


# -- what auto takes ---------------------------------------------------------------------------


def taken(graph, device, **asked):
    options = AllPairsOptions(device, np.dtype("float64"), **asked)
    return [each.method.id for each in choice.candidates(graph, options)]


@pytest.fixture
def predict(monkeypatch):
    """Return a function that replaces what a class of methods predicts."""

    def replace(kind, prediction):
        monkeypatch.setattr(kind, "predict", lambda self, graph, options, rows: prediction(rows))
        choice._ranking.cache_clear()

    yield replace
    choice._ranking.cache_clear()


def test_auto_for_few_rows_of_a_sparse_graph(predict, device):
    sparse = generators.random_graph(400, 1000, 9, seed=1)
    few, none = np.arange(5), None
    # nothing is known here of how long a search takes
    for kind in BY_SOURCE:
        predict(kind, lambda rows: None)
    assert taken(sparse, device, sources=few)[0] == "johnson"
    assert taken(sparse, device, sources=none)[0] != "johnson"
    dense = generators.random_graph(60, 3000, 9, seed=1)
    assert taken(dense, device, sources=np.arange(60))[0] != "johnson"
    result = pyapsp.solve(sparse, sources=few, device=device)
    assert result.stats["method"] == "johnson"
    np.testing.assert_array_equal(result.distances, expected_rows(sparse, few))


def test_auto_knows_how_many_sources(graph, predict, device):
    reported = []
    kind = next(each for each in BY_SOURCE if each.id == "apsp-tasks")

    def proportional(rows):
        reported.append(rows)
        return 1e-12 * rows

    predict(kind, proportional)
    assert pyapsp.solve(graph, sources=[1, 2], device=device).stats["method"] == "apsp-tasks"
    assert set(reported) == {2}
    assert pyapsp.solve(graph, device=device).stats["sources"] is None
    assert set(reported) == {2, 150}


def test_auto_without_memory_for_the_matrix(graph, monkeypatch, device):
    monkeypatch.setattr(choice, "installed_memory", lambda: 2 * 8 * 150**2 - 1)
    alone = {each.id for each in BY_SOURCE}
    assert set(taken(graph, device, sources=np.arange(150))) <= alone
    assert "fw-outofcore" in taken(graph, device)
    monkeypatch.setattr(choice, "installed_memory", lambda: 2 * 8 * 150**2)
    assert not set(taken(graph, device, sources=np.arange(150))) <= alone


def test_some_rows_with_checkpoints_without_memory_for_the_matrix(
    graph, monkeypatch, device, tmp_path
):
    monkeypatch.setattr(choice, "installed_memory", lambda: 1000)
    result = pyapsp.solve(graph, sources=[3, 70], checkpoint=tmp_path, device=device)
    assert result.stats["method"] == "fw-outofcore"
    expected = pyapsp.solve(graph, "johnson", sources=[3, 70], device=device).distances
    assert np.array_equal(result.distances, expected)


# -- blocks of rows ----------------------------------------------------------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize("block", [None, 1, 7, 64, 1000])
@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_blocks_put_together_are_the_answer(graph, method, block, device):
    sources = [*range(40), 3, 3, 149, *range(100)]
    options = {"dtype": "int32", "predecessors": True, "cutoff": 40, "device": device}
    results = list(pyapsp.row_blocks(graph, method, sources=sources, block=block, **options))
    assert [each for result in results for each in result.sources] == sources
    if block is not None:
        assert {len(result.sources) for result in results[:-1]} <= {block}
    distances = np.concatenate([in_floats(result) for result in results])
    np.testing.assert_array_equal(distances, expected_rows(graph, sources, 40))
    whole = pyapsp.solve(graph, method, sources=sources, **options)
    before = np.concatenate([result.predecessors for result in results])
    np.testing.assert_array_equal(before == NO_PREDECESSOR, whole.predecessors == NO_PREDECESSOR)
    assert results[-1].stats["sources"] == len(sources)
    seconds = [result.stats["kernel_seconds"] for result in results]
    assert seconds == sorted(seconds)
    assert results[0].explain()


def test_all_rows_and_paths(graph, device):
    seen = 0
    for rows in pyapsp.row_blocks(graph, "apsp-tasks", block=50, predecessors=True, device=device):
        np.testing.assert_array_equal(rows.sources, np.arange(seen, seen + 50))
        assert verify.certificate(graph, rows, device=device).ok
        seen += 50
    assert seen == 150
    empty = Graph.from_arcs(0, [], [])
    assert list(pyapsp.row_blocks(empty, device=device)) == []
    assert list(pyapsp.row_blocks(graph, sources=[], device=device)) == []


ARC = st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from([0, 0, 1, 2, 7]))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    arcs=st.lists(ARC, max_size=30),
    sources=st.lists(st.integers(0, 8), max_size=12),
    block=st.integers(1, 5),
    cutoff=st.none() | st.sampled_from([0, 1, 3, 8]),
    method=st.sampled_from(METHODS),
)
def test_any_small_graph(arcs, sources, block, cutoff, method, device):
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    graph = Graph.from_arcs(9, tails, heads, np.array(weights, np.int64))
    options = {"sources": sources, "cutoff": cutoff, "dtype": "int16", "device": device}
    results = list(pyapsp.row_blocks(graph, method, block=block, **options))
    distances = np.concatenate([np.empty((0, 9)), *map(in_floats, results)])
    limit = np.inf if cutoff is None else cutoff
    np.testing.assert_array_equal(distances, expected_rows(graph, sources, limit))


def test_negative_cycles_and_clipped_rows(device):
    loop = Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], [1, 1, -3])
    for method in ("auto", "johnson", "fw-blocked"):
        with pytest.raises(errors.NegativeCycleError):
            next(pyapsp.row_blocks(loop, method, device=device))
    chain = Graph.from_arcs(6, np.arange(5), np.arange(1, 6), np.full(5, 2**29))
    options = {"sources": [4, 3], "block": 1, "dtype": "int32", "device": device}
    blocks = pyapsp.row_blocks(chain, "apsp-tasks", **options)
    assert next(blocks).distances[0, 5] == 2**29
    with pytest.raises(errors.PrecisionError, match="a distance is too large for int32"):
        next(blocks)


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"block": 0}, "block"),
        ({"block": 2.5}, "block"),
        ({"sources": [150]}, "sources"),
        ({"cutoff": -1}, "cutoff"),
        ({"memory_limit": -1}, "memory_limit"),
        ({"progress": 1}, "progress"),
    ],
)
def test_bad_arguments_are_named_at_once(graph, arguments, parameter, device):
    with pytest.raises(errors.ParameterError, match=f"'{parameter}' parameter of row_blocks"):
        pyapsp.row_blocks(graph, device=device, **arguments)


def test_progress_of_blocks(graph, device):
    seen = []
    options = {"block": 60, "progress": lambda *step: seen.append(step), "device": device}
    for _ in pyapsp.row_blocks(graph, "apsp-tasks", **options):
        pass
    assert seen == [(60, 150), (120, 150), (150, 150)]


@pytest.mark.parametrize("method", ["apsp-tasks", "auto"])
def test_one_plan_and_one_upload(graph, method, monkeypatch, predict, device):
    kind = next(each for each in BY_SOURCE if each.id == "apsp-tasks")
    predict(kind, lambda rows: 1e-12)
    pyapsp.solve(graph, method, device=device)  # the self test of "auto", which plans, too
    calls = []
    for name in ("plan", "open"):
        original = getattr(kind, name)

        def counted(self, *arguments, name=name, original=original):
            options = arguments[1] if name == "plan" else arguments[0].options
            calls.append((name, options.count(graph.n)))
            return original(self, *arguments)

        monkeypatch.setattr(kind, name, counted)
    assert len(list(pyapsp.row_blocks(graph, method, block=10, device=device))) == 15
    assert calls == [("plan", 10), ("open", 10)]  # for as many as are asked for at a time


@pytest.mark.parametrize("method", ["fw-blocked", "apsp-tasks"])
def test_rows_that_were_handed_out_are_not_kept(graph, method, device):
    blocks = pyapsp.row_blocks(graph, method, block=20, device=device)
    for _ in range(3):
        rows = next(blocks)
        assert rows.distances.base is None
        handed = weakref.ref(rows)
        del rows
        result = next(blocks)
        assert handed() is None
        assert result.distances.shape == (20, 150)


@pytest.mark.parametrize("end", ["close", "forget", "exhaust"])
def test_device_memory_is_free_afterwards(graph, monkeypatch, end, device):
    sessions, start = [], SourceBlocks.start

    def noted(self, plan):
        session = start(self, plan)
        sessions.extend([weakref.ref(session), weakref.ref(session._first.solver)])
        return session

    monkeypatch.setattr(SourceBlocks, "start", noted)
    blocks = pyapsp.row_blocks(graph, "apsp-tasks", block=20, device=device)
    next(blocks)
    assert all(isinstance(each(), Session) for each in sessions[:1])
    assert sessions[1]() is not None
    if end == "close":
        blocks.close()
    elif end == "exhaust":
        assert len(list(blocks)) == 7
    else:
        del blocks
        gc.collect()
    assert [each() for each in sessions] == [None, None]


def test_a_plan_without_memory_is_passed_over(graph, monkeypatch, predict, device):
    def full(self, plan, watch):
        raise errors.DeviceMemoryError(2, 1, "none left")

    kind = next(each for each in BY_SOURCE if each.id == "apsp-tasks")
    predict(kind, lambda rows: 1e-12)
    monkeypatch.setattr(kind, "open", full)
    with pytest.warns(errors.FallbackWarning, match="apsp-tasks could not run"):
        rows = next(pyapsp.row_blocks(graph, device=device))
    assert rows.stats["method"] != "apsp-tasks"
    with pytest.raises(errors.DeviceMemoryError, match="none left"):
        next(pyapsp.row_blocks(graph, "apsp-tasks", device=device))


@pytest.mark.parametrize("method", ["near-far", "fw-minplus"])
def test_a_block_without_memory_is_repeated_after_a_release(
    method, graph, there, monkeypatch, device
):
    expected = next(pyapsp.row_blocks(graph, method, device=device)).distances
    other = generators.random_graph(3000, seed=1)
    pyapsp.bfs(other, 0, "bfs-frontier", device=device)
    assert there.nbytes > 0
    kind = type(pyapsp.method(method))
    name = "start" if method == "near-far" else "run"
    real, left = getattr(kind, name), []

    def short(self, plan):
        left.append(there.nbytes)
        if len(left) == 1:
            raise errors.DeviceMemoryError(2, 1, "none left")
        return real(self, plan)

    monkeypatch.setattr(kind, name, short)
    rows = next(pyapsp.row_blocks(graph, method, device=device))
    np.testing.assert_array_equal(rows.distances, expected)
    assert left[0] > left[1] == 0


# -- memory of the host ------------------------------------------------------------------------


def peak_of(function):
    """Return the most bytes of arrays that there were at once."""
    function()  # kernels are built, and what is cached is cached
    gc.collect()
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.every(6)
@pytest.mark.parametrize("method", ALONE)
def test_blocks_take_the_memory_of_blocks(method, device):
    n, block = 1200, 40
    graph = generators.random_graph(n, 4000, 9, seed=3)
    options = {"sources": range(400), "block": block, "predecessors": True, "device": device}

    def follow():
        total = 0
        for rows in pyapsp.row_blocks(graph, method, **options):
            total += len(rows.sources)
        assert total == 400

    assert peak_of(follow) < 6 * block * n * 12 < 400 * n * 12


def test_mapped_rows_take_no_memory(device, tmp_path):
    n = 1500
    out = np.lib.format.open_memmap(tmp_path / "d.npy", "w+", np.float64, (n, n))
    graph = generators.random_graph(n, 3000, 9, seed=3)

    def solve():
        pyapsp.solve(graph, "dijkstra-cpu", predecessors=True, out=out, device=device)

    assert peak_of(solve) < n * n * 12 / 3
    some = [0, 700, n - 1]
    expected = csgraph.dijkstra(graph.to_scipy(), indices=some)
    np.testing.assert_array_equal(np.load(tmp_path / "d.npy", mmap_mode="r")[some], expected)


ALONE = """
import resource, sys
import numpy as np, pyapsp
from pyapsp.graph import generators

graph = generators.random_graph(20_000, 60_000, 100, seed=2)
rng = np.random.default_rng(1)
sources = rng.integers(0, graph.n, 64)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if sys.argv[1] == "solve":
    found = [pyapsp.solve(graph, sources=sources)]
else:
    found = pyapsp.row_blocks(graph, sources=sources, block=16)
total = 0
for each in found:
    assert each.distances.shape[1] == graph.n
    total += len(each.distances)
assert total == 64
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.every(2)
@pytest.mark.parametrize("way", ["solve", "row_blocks"])
def test_few_rows_of_many_take_no_matrix(way, device, monkeypatch):
    """n = 20,000: a matrix of float64 would be 3,052 MiB, of uint16 763."""
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    done = subprocess.run(
        [sys.executable, "-c", ALONE, way], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 400


@pytest.mark.parametrize("method", ["auto", "fw-minplus", "near-far"])
@pytest.mark.parametrize("form", [np.array, csr_array])
def test_a_graph_that_changes_between_blocks_is_the_one_that_was_given(form, method, device):
    random = np.random.default_rng(10)
    matrix = np.where(random.random((40, 40)) < 0.2, random.integers(1, 50, (40, 40)), 0.0)
    given = form(matrix)
    values = given if isinstance(given, np.ndarray) else given.data
    blocks = pyapsp.row_blocks(given, method, block=9, predecessors=True, device=device)
    values[...] = 1
    expected, seen = csgraph.floyd_warshall(matrix), 0
    for rows in blocks:
        values[...] = 2
        here = expected[rows.sources]
        np.testing.assert_array_equal(rows.distances, here)
        row, head = np.nonzero(rows.predecessors >= 0)
        tail = rows.predecessors[row, head]
        np.testing.assert_array_equal(here[row, tail] + matrix[tail, head], here[row, head])
        seen += row.size
    assert seen == np.isfinite(expected).sum() - 40


def test_two_answers_in_one_file_keep_their_predecessors(device, tmp_path):
    out = np.memmap(tmp_path / "rows", np.float64, "w+", shape=(8, 4))
    paths = [Graph.from_arcs(4, [0, 1, 2], [1, 2, 3]), Graph.from_arcs(4, [3, 2, 1], [2, 1, 0])]
    first, second = (
        pyapsp.solve(path, "near-far", predecessors=True, out=rows, device=device)
        for path, rows in zip(paths, (out[:4], out[4:]), strict=True)
    )
    assert first.path(0, 3) == [0, 1, 2, 3]
    assert second.path(3, 0) == [3, 2, 1, 0]


@pytest.mark.parametrize("method", ["near-far", "fw-naive"])
def test_blocks_are_saved_as_a_zarr_store(graph, method, tmp_path, device, zarr):
    labels = [f"v{each}" for each in range(graph.n)]
    named = Graph(graph.indptr, graph.indices, graph.weights, labels=labels)
    sources = [5, 0, 9, 7]
    options = {"sources": sources, "predecessors": True, "dtype": "int32", "device": device}
    whole = pyapsp.solve(named, method, **options)
    blocks = pyapsp.row_blocks(named, method, block=1, **options)
    np.testing.assert_array_equal(next(blocks).distances, whole.distances[:1])
    assert blocks.save(tmp_path / "a.zarr") == 3
    found = zarr.open_group(tmp_path / "a.zarr", mode="r")
    assert found.attrs.asdict() == {"infinity": whole.infinity}
    for name in ("distances", "predecessors"):
        assert found[name].attrs["_ARRAY_DIMENSIONS"] == ["source", "target"]
        np.testing.assert_array_equal(found[name][:], getattr(whole, name)[1:])
    assert found["source"][:].tolist() == ["v0", "v9", "v7"]
    assert found["target"][:].tolist() == named.labels.tolist()
    assert found["source"].attrs["_ARRAY_DIMENSIONS"] == ["source"]


def test_blocks_of_no_rows_are_saved_and_other_formats_refused(graph, tmp_path, device, zarr):
    blocks = pyapsp.row_blocks(graph, sources=[], device=device)
    assert blocks.save(tmp_path / "a.zarr") == 0
    found = zarr.open_group(tmp_path / "a.zarr", mode="r")
    assert (found["distances"].shape, found.attrs.asdict()) == ((0, graph.n), {})
    with pytest.raises(errors.ParameterError, match=r"a file \.zarr"):
        pyapsp.row_blocks(graph, device=device).save(tmp_path / "a.npz")


def test_blocks_are_a_generator(graph, device):
    blocks = pyapsp.row_blocks(graph, "near-far", block=50, device=device)
    assert next(blocks).distances.shape[0] == 50
    with pytest.raises(ZeroDivisionError):
        blocks.throw(ZeroDivisionError())
    assert list(blocks) == []


@pytest.mark.usefixtures("zarr")
def test_rows_that_were_lost_are_not_left_out(graph, tmp_path, monkeypatch, device):
    """A full disk at the second block; there is room again when the caller tries once more."""
    add, calls = stores.Store.add, []

    def full(self, **arrays):
        calls.append(arrays)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        add(self, **arrays)

    monkeypatch.setattr(stores.Store, "add", full)
    blocks = pyapsp.row_blocks(graph, block=1, device=device)
    with pytest.raises(OSError, match="No space left"):
        blocks.save(tmp_path / "a.zarr")
    for again in (lambda: blocks.save(tmp_path / "a.zarr"), lambda: next(blocks)):
        with pytest.raises(errors.ParameterError, match="rows are lost: call row_blocks again"):
            again()
    assert list(tmp_path.iterdir()) == []
