"""Where the answers differ from SciPy's: each test shows both, and carries the sentence for it.

``python docs/differences.py`` makes docs/differences.md of the sentences.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy
from scipy import sparse
from scipy.sparse import csgraph as scipy_csgraph

from pyapsp import Graph, csgraph, errors

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["floyd_warshall", "dijkstra", "bellman_ford", "johnson"]
INF = np.inf

LINE = np.array([[0, 2.0, 0], [0, 0, 3], [0, 0, 0]])
SOLVED = [[0, 2, 5], [INF, 0, 3], [INF, INF, 0]]


def both(name):
    return getattr(csgraph, name), getattr(scipy_csgraph, name)


EVERY_FUNCTION = pytest.mark.parametrize(
    ("ours", "theirs"), [pytest.param(*both(name), id=name) for name in NAMES]
)


# -- other answers -------------------------------------------------------------------------------


@pytest.mark.difference("other", "dense weights below 1e-8 are arcs; SciPy drops them")
@EVERY_FUNCTION
def test_tiny_dense_weights(ours, theirs):
    matrix = np.array([[0, 1e-9], [0, 0]])
    assert ours(matrix)[0, 1] == 1e-9
    assert theirs(matrix)[0, 1] == INF


@pytest.mark.difference(
    "other",
    "an unmasked zero of a masked array is an arc of weight zero in every function; SciPy drops it"
    " in `floyd_warshall` and keeps it in `dijkstra`",
)
def test_unmasked_zeros():
    matrix = np.ma.masked_equal(np.array([[9, 7, 9], [9, 9, 0], [9, 9, 9]]), 9)
    expected = [[0, 7, 7], [INF, 0, 0], [INF, INF, 0]]
    for answer in (
        csgraph.floyd_warshall(matrix), csgraph.dijkstra(matrix), scipy_csgraph.dijkstra(matrix)
    ):  # fmt: skip
        np.testing.assert_array_equal(answer, expected)
    assert scipy_csgraph.floyd_warshall(matrix)[0, 2] == INF


@pytest.mark.difference(
    "other",
    "an unmasked NaN of a masked array is no arc in every function; SciPy's `floyd_warshall` "
    "returns NaN",
)
def test_unmasked_nan():
    matrix = np.ma.array([[0, np.nan], [5, 0]], mask=[[True, False], [False, True]])
    for answer in (
        csgraph.floyd_warshall(matrix), csgraph.dijkstra(matrix), scipy_csgraph.dijkstra(matrix)
    ):  # fmt: skip
        np.testing.assert_array_equal(answer, [[0, INF], [5, 0]])
    assert np.isnan(scipy_csgraph.floyd_warshall(matrix)[0, 1])


@pytest.mark.difference(
    "other",
    "an inf of a sparse or masked array is no arc, also with `unweighted=True`; then SciPy counts "
    "it as an arc in all functions except `floyd_warshall`",
)
@pytest.mark.parametrize("name", NAMES)
def test_unweighted_inf(name):
    ours, theirs = both(name)
    for matrix in (
        sparse.csr_array(([INF], ([0], [1])), shape=(2, 2)),
        np.ma.array([[0, INF], [0, 0]], mask=[[True, False], [True, True]]),
    ):
        assert ours(matrix, unweighted=True)[0, 1] == INF
        assert theirs(matrix, unweighted=True)[0, 1] == (INF if name == "floyd_warshall" else 1)


@pytest.mark.difference(
    "other",
    "duplicate entries of a COO array are parallel arcs, and the shortest is used; SciPy needs "
    "CSR, and `tocsr` adds duplicates",
)
@EVERY_FUNCTION
def test_duplicates(ours, theirs):
    matrix = sparse.coo_array(([3.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert ours(matrix)[0, 1] == 2
    assert theirs(matrix.tocsr())[0, 1] == 5
    # duplicates that CSR has kept are parallel arcs in both
    kept = sparse.csr_array(([3.0, 2.0], [1, 1], [0, 2, 2]), shape=(2, 2))
    assert ours(kept)[0, 1] == theirs(kept)[0, 1] == 2


@pytest.mark.difference(
    "other",
    "`floyd_warshall` solves arrays in Fortran order; SciPy returns the weights, with a message on"
    " stderr",
)
@pytest.mark.parametrize("directed", [True, False])
def test_fortran_order(directed, monkeypatch):
    said = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: said.append(str(args.exc_value)))
    matrix = np.asfortranarray(LINE)
    expected = csgraph.dijkstra(LINE, directed=directed)
    np.testing.assert_array_equal(csgraph.floyd_warshall(matrix, directed), expected)
    assert said == []
    got = scipy_csgraph.floyd_warshall(matrix, directed)
    np.testing.assert_array_equal(got, np.where(LINE == 0, INF, LINE))
    assert said == ["ndarray is not C-contiguous"]


@pytest.mark.difference(
    "other",
    "with `overwrite=True` an array is changed only if the distances are written to it; SciPy's "
    "other methods replace its zeros by inf",
)
@pytest.mark.parametrize("method", ["D", "BF", "J"])
def test_overwriting_of_zeros(method):
    for function, expected in (
        (csgraph.shortest_path, LINE),
        (scipy_csgraph.shortest_path, np.where(LINE == 0, INF, LINE)),
    ):
        matrix = LINE.copy()
        np.testing.assert_array_equal(function(matrix, method, overwrite=True), SOLVED)
        np.testing.assert_array_equal(matrix, expected)


@pytest.mark.difference(
    "other",
    "zeros that fill the blocks of a BSR array are no arcs; before SciPy 1.18 they are arcs of "
    "weight zero",
)
@pytest.mark.parametrize("name", NAMES[1:])
def test_zeros_that_fill_a_block(name):
    ours, theirs = both(name)
    matrix = sparse.bsr_array(np.array([[1.0, 2], [0, 3]]), blocksize=(2, 2))
    np.testing.assert_array_equal(ours(matrix), [[0, 2], [INF, 0]])
    since = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 18)
    np.testing.assert_array_equal(theirs(matrix), [[0, 2], [INF if since else 0, 0]])
    assert csgraph.connected_components(matrix, connection="strong", return_labels=False) == 2


@pytest.mark.difference(
    "other",
    "`connected_components` numbers strong components in the order of their smallest vertices;"
    " SciPy numbers those that can be reached from a component before it",
)
def test_numbers_of_components():
    for ours, theirs in ((csgraph, [0, 1, 2]), (scipy_csgraph, [2, 1, 0])):
        count, labels = ours.connected_components(LINE, connection="strong")
        assert (count, labels.tolist()) == (3, theirs)


@pytest.mark.difference("other", "`NegativeCycleError`, a subclass of SciPy's, lists one cycle")
def test_negative_cycles_are_named():
    matrix = np.array([[0, 1.0, 0], [0, 0, -3.0], [1.0, 0, 0]])
    with pytest.raises(scipy_csgraph.NegativeCycleError) as caught:
        csgraph.shortest_path(matrix)
    assert sorted(caught.value.cycle[1:]) == [0, 1, 2]
    assert caught.value.weight == -1
    with pytest.raises(scipy_csgraph.NegativeCycleError) as caught:
        scipy_csgraph.shortest_path(matrix)
    assert not hasattr(caught.value, "cycle")


@pytest.mark.difference(
    "other",
    "`unweighted=True` ignores the weights; SciPy's `dijkstra` and `johnson` still warn of "
    "negative weights",
)
@pytest.mark.parametrize("name", ["dijkstra", "johnson"])
def test_unweighted_negative_weights(name):
    ours, theirs = both(name)
    expected = [[0, 1, 2], [INF, 0, 1], [INF, INF, 0]]
    np.testing.assert_array_equal(ours(-LINE, unweighted=True), expected)
    with pytest.warns(UserWarning, match="negative weights"):
        np.testing.assert_array_equal(theirs(-LINE, unweighted=True), expected)


# -- errors where SciPy answers ------------------------------------------------------------------


@pytest.mark.difference(
    "refused",
    "a negative self-loop is a negative cycle in every function; SciPy's `floyd_warshall` ignores "
    "it",
)
@pytest.mark.parametrize("name", ["floyd_warshall", "bellman_ford", "johnson"])
def test_negative_self_loops(name):
    ours, theirs = both(name)
    matrix = np.array([[-1.0, 2.0], [0, 0]])
    with pytest.raises(errors.NegativeCycleError) as caught:
        ours(matrix)
    assert caught.value.cycle == [0, 0]
    if name == "floyd_warshall":
        np.testing.assert_array_equal(theirs(matrix), [[0, 2], [INF, 0]])
    else:
        with pytest.raises(scipy_csgraph.NegativeCycleError):
            theirs(matrix)


@pytest.mark.difference(
    "refused",
    "`dijkstra` refuses every negative weight; SciPy warns and continues, with wrong distances or "
    "without end",
)
@pytest.mark.parametrize("indices", [None, 0])
def test_dijkstra_with_negative_weights(indices):
    matrix = np.array([[0, 2.0, 0], [0, 0, 0], [0, -3.0, 0]])
    for call in (
        lambda: csgraph.dijkstra(matrix, indices=indices),
        lambda: csgraph.dijkstra(matrix, indices=indices, min_only=True),
        lambda: csgraph.shortest_path(matrix, "D", indices=indices),
    ):
        with pytest.raises(errors.NegativeWeightError, match=r"one is -3\.0: use johnson"):
            call()
    with pytest.warns(UserWarning, match="negative weights"):
        scipy_csgraph.dijkstra(matrix, indices=indices)


@pytest.mark.difference(
    "refused", "NaN in a sparse array, and -inf in any array, are errors; to SciPy they are no arcs"
)
@pytest.mark.parametrize("name", ["floyd_warshall", "bellman_ford", "johnson"])
def test_nan_and_minus_inf(name):
    ours, theirs = both(name)
    for matrix, weight in (
        (sparse.csr_array(([np.nan], ([0], [1])), shape=(2, 2)), "nan"),
        (np.array([[0, -INF], [0, 0]]), "-inf"),
    ):
        with pytest.raises(errors.GraphError, match=f"weight of the arc 0 -> 1 is {weight}"):
            ours(matrix)
        np.testing.assert_array_equal(theirs(matrix), [[0, INF], [INF, 0]])


@pytest.mark.difference(
    "refused", "complex weights are errors; SciPy drops their imaginary parts, with a warning"
)
@EVERY_FUNCTION
def test_complex_weights(ours, theirs):
    with pytest.raises(errors.GraphError, match="complex128"):
        ours(LINE + 1j)
    with pytest.warns(np.exceptions.ComplexWarning):
        theirs(LINE + 1j)


@pytest.mark.difference(
    "refused", "a distance too large for float64 is a `PrecisionError`; SciPy returns inf"
)
@EVERY_FUNCTION
def test_distances_beyond_float64(ours, theirs):
    with pytest.raises(errors.PrecisionError, match="too large for float64"):
        ours(LINE * 0.5e308)
    assert theirs(LINE * 0.5e308)[0, 2] == INF


@pytest.mark.difference(
    "refused",
    "`indices` must be integers; SciPy truncates fractions, and converts booleans and strings to "
    "numbers",
)
@pytest.mark.parametrize("indices", [1.5, "1", True])
@pytest.mark.parametrize("name", NAMES[1:])
def test_indices_that_are_no_integers(name, indices):
    ours, theirs = both(name)
    with pytest.raises(errors.ParameterError, match="integers"):
        ours(LINE, indices=indices)
    np.testing.assert_array_equal(theirs(LINE, indices=indices), SOLVED[1])


@pytest.mark.difference(
    "refused", "`indices` beyond int32 are out of range; in SciPy they overflow to other vertices"
)
@pytest.mark.parametrize("name", NAMES[1:])
def test_indices_beyond_int32(name):
    ours, theirs = both(name)
    indices = np.array([2**32 + 1])
    with pytest.raises(errors.ParameterError, match="vertices in"):
        ours(LINE, indices=indices)
    np.testing.assert_array_equal(theirs(LINE, indices=indices), SOLVED[1:2])


@pytest.mark.difference(
    "refused", "a `limit` of NaN is an error; in SciPy every vertex is beyond it"
)
def test_a_limit_of_nan():
    with pytest.raises(errors.ParameterError, match="limit"):
        csgraph.dijkstra(LINE, limit=np.nan)
    np.testing.assert_array_equal(
        scipy_csgraph.dijkstra(LINE, limit=np.nan), [[0, INF, INF], [INF, 0, INF], [INF, INF, 0]]
    )


# -- answers where SciPy refuses -----------------------------------------------------------------


@pytest.mark.difference(
    "accepted",
    "every function accepts every sparse format; SciPy's `floyd_warshall` and `shortest_path` "
    "accept LIL, CSR and CSC",
)
@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.coo_matrix])
def test_sparse_formats(kind, form):
    matrix = kind(LINE).asformat(form)
    for name in NAMES:
        np.testing.assert_array_equal(getattr(csgraph, name)(matrix), SOLVED)
    if form in ("csc", "csr", "lil"):
        np.testing.assert_array_equal(scipy_csgraph.floyd_warshall(matrix), SOLVED)
    else:
        with pytest.raises(ValueError, match="must be lil, csr, or csc format"):
            scipy_csgraph.floyd_warshall(matrix)
        with pytest.raises(ValueError, match="must be lil, csr, or csc format"):
            scipy_csgraph.shortest_path(matrix, "FW")


@pytest.mark.difference("accepted", '`indices` can be used with `method="FW"`')
def test_indices_with_fw():
    np.testing.assert_array_equal(csgraph.shortest_path(LINE, "FW", indices=[1]), SOLVED[1:2])
    with pytest.raises(ValueError, match="Cannot specify indices"):
        scipy_csgraph.shortest_path(LINE, "FW", indices=[1])


@pytest.mark.difference("accepted", '`shortest_path` accepts lists with `method="auto"`')
def test_lists():
    np.testing.assert_array_equal(csgraph.shortest_path(LINE.tolist()), SOLVED)
    with pytest.raises(AttributeError, match="'list' object"):
        scipy_csgraph.shortest_path(LINE.tolist())


@pytest.mark.difference("accepted", "a masked array may have no mask")
@pytest.mark.parametrize("name", NAMES[1:])
def test_no_mask(name):
    ours, theirs = both(name)
    matrix = np.ma.array(LINE + 1)
    np.testing.assert_array_equal(ours(matrix), csgraph.floyd_warshall(LINE + 1))
    with pytest.raises(np.exceptions.AxisError):
        theirs(matrix)


@pytest.mark.difference(
    "accepted",
    "`overwrite=True` is accepted for every input; it has no effect where it cannot be used",
)
def test_overwriting_of_what_cannot_hold_distances():
    given = LINE.tolist()
    np.testing.assert_array_equal(csgraph.floyd_warshall(given, overwrite=True), SOLVED)
    assert given == LINE.tolist()
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        scipy_csgraph.floyd_warshall(given, overwrite=True)


@pytest.mark.difference("accepted", "a `pyapsp.Graph` is accepted as a graph")
def test_graphs():
    graph = Graph.from_dense(LINE.astype(np.int8))
    for name in NAMES:
        np.testing.assert_array_equal(getattr(csgraph, name)(graph), SOLVED)
    with pytest.raises(ValueError, match="two dimensions"):
        scipy_csgraph.floyd_warshall(graph)


# -- the page ------------------------------------------------------------------------------------


def test_the_page_is_made_of_these():
    page = runpy.run_path(str(ROOT / "docs" / "differences.py"))["page"]()
    written = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
    assert written == page, "out of date: python docs/differences.py"
    assert page.count("\n- ") == page.count("`test_") > 20
