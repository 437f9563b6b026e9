"""Few sources up to a cutoff: steps of `solve` that do no more than needed; rows without it."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp import csgraph as ours
from pyapsp.all_pairs import choice
from pyapsp.all_pairs.choice import suited
from pyapsp.csgraph import answers, paths
from pyapsp.graph import Graph, generators
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import runs, trials

GRAPH = generators.random_graph(300, 1200, 9, seed=1)
MATRIX = GRAPH.to_scipy().astype(float)


@pytest.fixture(autouse=True)
def cpu(monkeypatch, device):
    """The device is the default one, and a CPU."""
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    monkeypatch.setitem(vars(device), "kind", "cpu")


@pytest.mark.parametrize("cutoff", [3, 3.5, None])
def test_options_that_fit_are_not_made_again(cutoff, device):
    options = AllPairsOptions(device, np.dtype("f8"), sources=np.arange(3), cutoff=cutoff)
    assert options.computed_in(np.dtype("f8")) is options
    assert suited(pyapsp.method("dijkstra-cpu"), GRAPH, options, options.dtype) is options
    assert suited(pyapsp.method("fw-minplus"), GRAPH, options, options.dtype).sources is None


def test_a_run_without_memory_of_the_device_needs_no_room_and_no_family(device, monkeypatch):
    graph = GRAPH.with_weights(GRAPH.weights)
    expected = pyapsp.solve(graph, sources=[4], cutoff=9, device=device).distances
    for module in (runs, trials):
        monkeypatch.setattr(module, "replace", None)
    monkeypatch.setattr(runs, "residents", None)
    monkeypatch.setattr("pyapsp.registry.tuning.method.tuned", None)
    found = pyapsp.solve(graph, sources=[4], cutoff=9, device=device)
    assert found.stats["method"] == "dijkstra-cpu"
    assert "family" not in vars(graph)
    np.testing.assert_array_equal(found.distances, expected)


@pytest.mark.parametrize(
    "options",
    [
        {"indices": 7},
        {"indices": [[5, -1], [5, 0]]},
        {"indices": range(16), "directed": False},
        {"indices": -2, "unweighted": True},
        {"indices": []},
    ],
    ids=str,
)
def test_rows_without_a_record_are_those_of_solve(options, device, monkeypatch):
    given = {"limit": 8.5, "return_predecessors": True, **options}
    with monkeypatch.context() as patched:
        patched.setattr(answers, "near_rows", lambda *given, **options: None)
        expected = ours.dijkstra(MATRIX, **given)
    monkeypatch.setattr(answers, "solve", None)
    monkeypatch.setattr(answers, "from_one", None)
    found = ours.dijkstra(MATRIX, **given)
    for one, two in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (two.dtype, two.shape)
        np.testing.assert_array_equal(one, two)
    alone = ours.dijkstra(MATRIX, **given | {"return_predecessors": False})
    np.testing.assert_array_equal(alone, csgraph.dijkstra(MATRIX, **options, limit=8.5))


@pytest.mark.parametrize("why", ["many", "none", "GPU", "Numba", "dry"])
def test_other_rows_are_solved(why, device, monkeypatch):
    """Many vertices, no cutoff, a GPU, without Numba, and where only the memory is wanted."""
    asked, solve = [], answers.solve
    monkeypatch.setattr(
        answers,
        "solve",
        lambda *given, **options: asked.append(options) or solve(*given, **options),
    )
    indices, limit = range(17 if why == "many" else 16), np.inf if why == "none" else 8
    monkeypatch.setattr(choice, "_FEW_VISITS", 17)  # each visits more than one vertex
    if why == "GPU":
        monkeypatch.setitem(vars(device), "kind", "gpu")
    if why == "Numba":
        monkeypatch.setitem(sys.modules, "numba", None)
    if why == "dry":
        memory = pyapsp.dry_run(ours.dijkstra, MATRIX, indices=indices, limit=limit)
        assert memory.answer_bytes == 8 * 16 * 300
    else:
        found = ours.dijkstra(MATRIX, indices=indices, limit=limit)
        np.testing.assert_array_equal(found, csgraph.dijkstra(MATRIX, indices=indices, limit=limit))
    assert len(asked) == 1


def test_arcs_beyond_the_cutoff_are_not_walked():
    """Their sums would be too large for the type."""
    line = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [1.0, 1e308, 1e308])
    assert ours.dijkstra(line, indices=0, limit=5).tolist() == [0, 1, np.inf, np.inf]


@pytest.mark.parametrize("cutoff", [5, 80])
@pytest.mark.parametrize("sources", [17, 400, None])
def test_few_vertices_of_many_rows_are_searched_on_the_host(sources, cutoff, device, monkeypatch):
    """A vertex of a path has 2 cutoff + 1 near ones; the rows have 400 values each."""
    line = np.arange(399)
    path = Graph.from_arcs(400, line, line + 1, np.ones(399), directed=False)
    monkeypatch.setattr(choice, "_FEW_VISITS", 1)
    monkeypatch.setattr(choice, "_FEW_VISITS_PART", 20)
    rows = None if sources is None else np.arange(sources)[::-1]
    found = pyapsp.solve(path, sources=rows, cutoff=cutoff, device=device)
    assert (found.stats["method"] == "dijkstra-cpu") == (cutoff == 5)
    assert ("few vertices and a cutoff" in found.explain()) == (cutoff == 5)
    expected = csgraph.dijkstra(path.to_scipy(), indices=rows, limit=cutoff)
    np.testing.assert_array_equal(found.distances, expected)


def test_no_vertex_is_searched_to_choose_for_few_sources(device, monkeypatch):
    monkeypatch.setattr(choice, "HostSearch", None)
    found = ours.dijkstra(MATRIX, indices=range(16), limit=8)
    np.testing.assert_array_equal(found, csgraph.dijkstra(MATRIX, indices=range(16), limit=8))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("order", ["sorted", "unsorted", "twice"])
def test_rows_of_a_matrix_are_searched_as_they_are(order, index, monkeypatch):
    """No graph is made of them; columns need not be in order, and infinite weights are no arcs."""
    matrix = MATRIX.copy()
    matrix.data[::7], matrix.data[3::7] = np.inf, 0
    if order == "unsorted":
        for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
            matrix.indices[start:stop] = matrix.indices[start:stop][::-1]
        matrix.has_sorted_indices = False
    if order == "twice":
        matrix.indices[1::5] = matrix.indices[::5][: matrix.indices[1::5].size]
    matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
    arrays = [each.copy() for each in (matrix.indptr, matrix.indices, matrix.data)]
    expected = csgraph.dijkstra(matrix.copy(), indices=[[4], [-2]], limit=9)
    monkeypatch.setattr(paths, "graph_of", None)
    found = ours.dijkstra(matrix, indices=[[4], [-2]], limit=9)
    np.testing.assert_array_equal(found, expected)
    now = matrix.indptr, matrix.indices, matrix.data
    for one, two in zip(arrays, now, strict=True):
        assert two.flags.writeable
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "wrong",
    ["negative", "NaN", "-inf", "column", "below", "pointer", "first", "short", "oblong"],
)
def test_a_wrong_matrix_is_refused_wherever_it_is_wrong(wrong, device):
    """What is wrong is beyond the cutoff, where no search comes."""
    matrix, last = MATRIX.copy(), MATRIX.nnz - 1
    if wrong in ("negative", "NaN", "-inf"):
        matrix.data[last] = {"negative": -1.0, "NaN": np.nan, "-inf": -np.inf}[wrong]
    if wrong in ("column", "below"):
        matrix.indices[last] = 300 if wrong == "column" else -1
    if wrong == "pointer":
        matrix.indptr[-2] = matrix.indptr[-3] - 1
    if wrong == "first":
        matrix.indptr[0] = 1
    if wrong == "short":
        matrix.data = matrix.data[:-1]
    if wrong == "oblong":
        matrix.resize((300, 299))
    with pytest.raises(pyapsp.errors.GraphError) as error:
        ours.dijkstra(matrix, indices=0)
    with pytest.raises(type(error.value)) as near:
        ours.dijkstra(matrix, indices=0, limit=1)
    assert str(near.value) == str(error.value)


@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_other_weights_are_converted(dtype):
    matrix = MATRIX.astype(dtype)
    found = ours.dijkstra(matrix, indices=3, limit=7)
    np.testing.assert_array_equal(found, csgraph.dijkstra(matrix, indices=3, limit=7))


def test_no_arc_and_entries_that_are_not_used():
    empty = MATRIX.copy()
    empty.data[:] = 0
    empty.eliminate_zeros()
    assert np.isfinite(ours.dijkstra(empty, indices=3, limit=7)).sum() == 1
    longer = MATRIX.copy()
    longer.indices, longer.data = np.append(longer.indices, 0), np.append(longer.data, -1)
    found = ours.dijkstra(longer, indices=3, limit=7)
    np.testing.assert_array_equal(found, csgraph.dijkstra(MATRIX, indices=3, limit=7))
