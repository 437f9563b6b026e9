"""Any input that SciPy takes gives SciPy's answer, but for what test_differences.py pins."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph as scipy_csgraph

from pyapsp import csgraph

FORMATS = ["csr", "csc", "lil"]
OTHER_FORMATS = ["coo", "dok", "bsr", "dia"]  # which SciPy's floyd_warshall refuses
TYPES = ["f8", ">f8", "f4", "f2", "g", "i1", "u2", "i8", "u8", "?"]
INDICES = [0, -1, [0, -1], [0, 0], [[0], [-1]], [], np.int8(0), np.array([0], np.uint64), range(1)]
BAD_INDICES = [99, -99, [0, 99]]
LIMITS = [0, 2, 5.5, np.inf, np.float32(2.5), np.int16(4), -1, -np.inf]


@st.composite
def calls(draw):
    """Draw the name of a function, a function that makes its input anew, and keywords."""
    name = draw(
        st.sampled_from([each for each in csgraph.__all__ if each != "connected_components"])
    )
    keywords = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "directed": st.booleans(),
                "unweighted": st.booleans(),
                "return_predecessors": st.booleans(),
            },
        )
    )
    if name == "shortest_path":
        keywords["method"] = draw(st.sampled_from(["auto", "FW", "D", "BF", "J", "no such"]))
    if name == "dijkstra":
        keywords["limit"] = draw(st.sampled_from(LIMITS))
        keywords["min_only"] = draw(st.booleans())
    matrix_wide = name == "floyd_warshall" or keywords.get("method") in ("auto", "FW")
    if not matrix_wide and draw(st.booleans()):
        keywords["indices"] = draw(st.sampled_from(INDICES * 2 + BAD_INDICES))
    n = draw(st.integers(0, 6))
    kind = np.dtype(draw(st.sampled_from(TYPES)))
    place = st.tuples(*[st.integers(0, max(n - 1, 0))] * 2)
    found = draw(st.dictionaries(place, st.integers(1, 9), max_size=n and 4 * n))
    values = np.zeros((n, n), kind)
    for (tail, head), weight in found.items():
        values[tail, head] = weight
    masked = values == 0
    if kind.kind == "f" and not keywords.get("unweighted") and n > 1:
        values[0, 1] = draw(st.sampled_from([0, 2, np.inf]))
        masked[0, 1] = values[0, 1] == 0
    forms = [*FORMATS, *([] if matrix_wide else OTHER_FORMATS)]
    form = draw(st.sampled_from(["C", "F", "matrix", "list", "masked", "nan", *forms * 2]))
    as_matrix = draw(st.booleans())

    def make():
        if form in FORMATS + OTHER_FORMATS:
            to = sparse.coo_matrix if as_matrix else sparse.coo_array
            wide = kind.char if kind.char not in "eg" and kind.isnative else "f8"
            entries = to(values.astype(wide))
            return entries.tobsr((1, 1)) if form == "bsr" else entries.asformat(form)
        if form == "masked" and masked.any():
            return np.ma.array(values, mask=masked)
        if form == "nan" and kind.kind == "f":
            return np.where(masked, np.nan, values)
        if form == "list" and keywords.get("method") != "auto" and name != "shortest_path":
            return values.tolist()
        if form == "matrix":
            return values.view(np.matrix)
        return np.array(values, order="F" if form == "F" and not matrix_wide else "C")

    return name, make, keywords


def outcome(function, graph, keywords):
    """Return the arrays, or the built-in class of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            answer = function(graph, **keywords)
        except (ValueError, TypeError):
            return ValueError
    return answer if isinstance(answer, tuple) else (answer,)


def arcs(graph, directed=True, unweighted=False):
    """The matrix of weights, inf where there is no arc."""
    if sparse.issparse(graph):
        weights = np.full(graph.shape, np.inf)
        entries = graph.tocoo()
        stored = entries.data != 0 if graph.format in ("bsr", "dia") else slice(None)
        weights[entries.row[stored], entries.col[stored]] = entries.data[stored]
    else:
        weights = np.ma.asarray(graph).astype(float).filled(np.inf)
        weights = np.where(np.isnan(weights) | (weights == 0), np.inf, weights)
    weights = np.where(np.isfinite(weights) & unweighted, 1, weights)
    return weights if directed else np.minimum(weights, weights.T)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(call=calls())
def test_any_call_answers_as_scipy_does(call):
    name, make, keywords = call
    got = outcome(getattr(csgraph, name), make(), keywords)
    expected = outcome(getattr(scipy_csgraph, name), make(), keywords)
    if ValueError in (got, expected):
        assert got is expected
        return
    assert [each.dtype for each in got] == [each.dtype for each in expected]
    assert [each.shape for each in got] == [each.shape for each in expected]
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-12)
    for ours, theirs in zip(got[1:], expected[1:], strict=True):
        np.testing.assert_array_equal(ours == -9999, theirs == -9999)
    if len(got) == 2 and got[0].size:
        distances, before = (each.reshape(-1, each.shape[-1]) for each in got)
        weights = arcs(make(), keywords.get("directed", True), keywords.get("unweighted", False))
        for row, column in zip(*np.nonzero(before >= 0), strict=True):
            last = before[row, column]
            expected_length = distances[row, last] + weights[last, column]
            np.testing.assert_allclose(distances[row, column], expected_length, rtol=1e-12)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(call=calls(), connection=st.sampled_from(["weak", "strong"]), directed=st.booleans())
def test_any_graph_has_the_components_that_scipy_finds(call, connection, directed):
    _, make, _ = call
    assume(not isinstance(make(), list))  # which SciPy refuses with an AttributeError
    keywords = {"connection": connection, "directed": directed}
    got = outcome(csgraph.connected_components, make(), keywords)
    expected = outcome(scipy_csgraph.connected_components, make(), keywords)
    if ValueError in (got, expected):
        assert got is expected
        return
    assert got[0] == expected[0]
    assert got[1].dtype == expected[1].dtype
    assert len({*zip(got[1].tolist(), expected[1].tolist(), strict=True)}) == got[0]
