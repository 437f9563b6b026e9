"""Sums over distances against NetworkX, igraph and SciPy's rows; what is asked wrongly."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

import pyapsp
from pyapsp.all_pairs import summaries
from pyapsp.all_pairs.summaries import searches
from pyapsp.errors import (
    DeviceMemoryError,
    GraphError,
    NegativeCycleError,
    NegativeWeightError,
    ParameterError,
    PrecisionError,
)
from pyapsp.graph import Graph, as_graph, generators
from pyapsp.graph.exports import edges_of

BY_SOURCE = [each for each in pyapsp.methods("all-pairs") if each.by_source]
METHODS = [each.id for each in BY_SOURCE if not each.requires.unweighted]


def whole(seed, n, m, low=0, high=9, directed=True):
    """Make a graph of random arcs, self-loops and parallel arcs among them."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, m))
    weights = rng.integers(low, high, m, endpoint=True)
    return Graph.from_arcs(n, tails, heads, weights, directed=directed)


def unweighted(seed, n, m, directed=True):
    return whole(seed, n, m, 1, 1, directed)


GRAPHS = {
    "weighted": whole(1, 60, 220),
    "weighted both ways": whole(2, 60, 120, directed=False),
    "falling apart": whole(3, 80, 60, directed=False),
    "one way": whole(4, 50, 60),
    "zeros": whole(5, 50, 200, 0, 1),
    "unweighted": unweighted(6, 60, 150),
    "unweighted both ways": unweighted(7, 90, 100, directed=False),
    "isolated": Graph.from_arcs(5, [1], [2]),
    "no arcs": Graph.from_arcs(4, [], []),
    "alone": Graph.from_arcs(1, [], []),
    "quarters": whole(8, 60, 220, 1).with_weights(whole(8, 60, 220, 1).weights / 4),
}


@pytest.fixture(params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]


def rows_of(graph):
    return csgraph.johnson(graph.to_scipy().astype(float))


def near_of(graph):
    rows = rows_of(graph)
    return np.where(np.isfinite(rows), rows, 0)


# -- against other packages --------------------------------------------------------------------


def test_eccentricity_and_radius(graph, device):
    eccentricities = summaries.eccentricity(graph, device=device)
    assert eccentricities.dtype == (np.int64 if graph.is_integer else np.float64)
    np.testing.assert_array_equal(eccentricities, near_of(graph).max(axis=1))
    radius = summaries.radius(graph, device=device)
    assert radius == near_of(graph).max(axis=1).min()
    assert type(radius) is (int if graph.is_integer else float)
    if graph.is_unweighted:
        np.testing.assert_array_equal(eccentricities, graph.to_igraph().eccentricity(mode="out"))


def test_average_shortest_path_length(graph, device):
    mean = summaries.average_shortest_path_length(graph, device=device)
    theirs = graph.to_igraph()
    weights = None if graph.m == 0 else edges_of(graph)[2].tolist()
    expected = theirs.average_path_length(directed=graph.directed, unconn=True, weights=weights)
    np.testing.assert_allclose(mean, expected, rtol=1e-13)


def test_wiener_index(graph, device):
    total = summaries.wiener_index(graph, device=device)
    expected = networkx.wiener_index(graph.to_networkx(), weight="weight")
    assert total == expected
    exact = graph.is_integer and np.isfinite(expected)
    assert type(total) is (int if exact else float)


@pytest.mark.parametrize("directed", [False, True])
def test_wiener_index_of_what_hangs_together(directed, device):
    graph = generators.connected_graph(40, 70, 9, seed=1)
    graph = Graph.from_arcs(40, *graph.arcs()) if directed else graph
    total = summaries.wiener_index(graph, device=device)
    assert total == networkx.wiener_index(graph.to_networkx(), weight="weight")
    halves = graph.with_weights(graph.weights / 2)
    assert summaries.wiener_index(halves, device=device) == total / 2


@pytest.mark.parametrize("improved", [False, True])
def test_closeness(graph, improved, device):
    closeness = summaries.closeness_centrality(graph, improved=improved, device=device)
    expected = networkx.closeness_centrality(
        graph.to_networkx(), distance="weight", wf_improved=improved
    )
    np.testing.assert_allclose(closeness, [expected[v] for v in range(graph.n)], rtol=1e-13)


@pytest.mark.parametrize("width", [1, 2, 7])
def test_distance_histogram(graph, width, device):
    counts = summaries.distance_histogram(graph, width=width, device=device)
    assert counts.dtype == np.int64
    rows = rows_of(graph)
    counted = np.isfinite(rows) & ~np.eye(graph.n, dtype=bool)
    bins = np.floor(rows[counted] / width).astype(int)
    np.testing.assert_array_equal(counts, np.bincount(bins, minlength=1))


def test_a_fraction_as_width(device):
    graph = GRAPHS["quarters"]
    counts = summaries.distance_histogram(graph, width=0.5, device=device)
    rows = rows_of(graph)
    counted = np.isfinite(rows) & ~np.eye(graph.n, dtype=bool)
    np.testing.assert_array_equal(counts, np.bincount(np.floor(rows[counted] * 2).astype(int)))


ARC = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([0, 1, 1, 2, 9]))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arcs=st.lists(ARC, max_size=30), directed=st.booleans(), weighted=st.booleans())
def test_any_small_graph(device, arcs, directed, weighted):
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    weights = np.array(weights, np.int64) if weighted else np.ones(len(arcs), np.int64)
    graph = Graph.from_arcs(10, tails, heads, weights, directed=directed)
    rows, near = rows_of(graph), near_of(graph)
    pairs = np.isfinite(rows).sum() - 10
    np.testing.assert_array_equal(summaries.eccentricity(graph, device=device), near.max(axis=1))
    expected = near.sum() / pairs if pairs else np.nan
    np.testing.assert_equal(summaries.average_shortest_path_length(graph, device=device), expected)
    assert summaries.distance_histogram(graph, device=device).sum() == pairs
    total = rows.sum() if directed else rows.sum() / 2
    assert summaries.wiener_index(graph, device=device) == total


# -- what is asked for -------------------------------------------------------------------------


def test_some_sources_in_their_order(graph, device):
    sources = [graph.n - 1, 0, graph.n - 1]
    options = {"sources": sources, "device": device}
    answer = summaries.eccentricity(graph, device=device)
    np.testing.assert_array_equal(summaries.eccentricity(graph, **options), answer[sources])
    answer = summaries.closeness_centrality(graph, device=device)
    np.testing.assert_array_equal(summaries.closeness_centrality(graph, **options), answer[sources])
    rows = rows_of(graph)[sources]
    others = np.isfinite(rows)
    others[np.arange(3), sources] = False
    summary = summaries.distance_histogram(graph, width=3, **options)
    bins = np.floor(rows[others] / 3).astype(int)
    np.testing.assert_array_equal(summary, np.bincount(bins, minlength=1))
    expected = rows[others].mean() if others.any() else np.nan
    summary = summaries.average_shortest_path_length(graph, **options)
    np.testing.assert_allclose(summary, expected, rtol=1e-13)


def test_arcs_walked_both_ways(device):
    graph = whole(9, 40, 60)
    near = near_of(graph.symmetrized())
    answer = summaries.eccentricity(graph, directed=False, device=device)
    np.testing.assert_array_equal(answer, near.max(axis=1))
    answer = summaries.closeness_centrality(graph, directed=False, device=device)
    expected = networkx.closeness_centrality(graph.symmetrized().to_networkx(), distance="weight")
    np.testing.assert_allclose(answer, [expected[v] for v in range(40)], rtol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_says_the_same(method, device):
    graph = GRAPHS["weighted"]
    answer = summaries.eccentricity(graph, method=method, device=device)
    np.testing.assert_array_equal(answer, near_of(graph).max(axis=1))
    answer = summaries.distance_histogram(graph, method=method, device=device)
    np.testing.assert_array_equal(answer, summaries.distance_histogram(graph, device=device))


@pytest.mark.parametrize("method", [each.id for each in BY_SOURCE if each.requires.unweighted])
def test_methods_for_arcs_of_one(method, device):
    graph = GRAPHS["unweighted both ways"]
    chosen = pyapsp.method(method)
    mean = summaries.average_shortest_path_length(graph, method=chosen, device=device)
    assert mean == summaries.average_shortest_path_length(graph, device=device)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (GRAPHS["unweighted"], "ms-bfs"),
        (GRAPHS["weighted"], "near-far"),
        (GRAPHS["no arcs"], "near-far"),
        (Graph.from_arcs(3, [0, 1], [1, 2], [4, -1]), "johnson"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_method_that_is_taken(graph, expected, device, monkeypatch):
    taken = []
    real = searches._method

    def spy(*arguments):
        answer = real(*arguments)
        taken.append(answer.id)
        return answer

    monkeypatch.setattr(searches, "_method", spy)
    np.testing.assert_array_equal(
        summaries.eccentricity(graph, device=device), near_of(graph).max(axis=1)
    )
    assert taken == [expected]


def test_negative_weights(device):
    rng = np.random.default_rng(10)
    graph = whole(10, 40, 160)
    tails, heads, weights = graph.arcs()
    potential = rng.integers(0, 9, 40)
    graph = graph.with_weights(weights + potential[tails] - potential[heads])
    rows = rows_of(graph)
    reached = np.isfinite(rows)
    near = np.where(reached, rows, 0)
    np.testing.assert_array_equal(summaries.eccentricity(graph, device=device), near.max(axis=1))
    mean = summaries.average_shortest_path_length(graph, device=device)
    assert mean == near.sum() / (reached.sum() - 40)


def test_neighbours_are_brought_together(device, monkeypatch):
    """Vertices in an order that keeps neighbours together; answers in the caller's."""
    taken = []
    real = searches._permuted
    monkeypatch.setattr(searches, "_SOURCES", 20)
    monkeypatch.setattr(searches, "_permuted", lambda *a: taken.append(a) or real(*a))
    grid = generators.grid_2d(12, 12, seed=1)
    mixed = np.random.default_rng(0).permutation(144)
    tails, heads, weights = grid.arcs()
    graph = Graph.from_arcs(144, mixed[tails], mixed[heads], weights)
    sources = mixed[:50]
    answer = summaries.eccentricity(graph, sources, device=device)
    np.testing.assert_array_equal(answer, near_of(graph).max(axis=1)[sources])
    assert len(taken) == 1
    answer = summaries.closeness_centrality(graph, sources, device=device)
    expected = networkx.closeness_centrality(graph.to_networkx(), distance="weight")
    np.testing.assert_allclose(answer, [expected[v] for v in sources], rtol=1e-13)
    assert len(taken) == 2
    summaries.eccentricity(grid, device=device)  # which is in a good order
    assert len(taken) == 2


def test_the_matrix_is_never_there(device):
    """A limit far below n x n values, on the device; the host is left with n."""
    graph = whole(11, 900, 3000)
    limit = 900 * 900 * 4 // 4
    eccentricities = summaries.eccentricity(graph, memory_limit=limit, device=device)
    np.testing.assert_array_equal(eccentricities, near_of(graph).max(axis=1))
    with pytest.raises(DeviceMemoryError):
        summaries.eccentricity(graph, memory_limit=20_000, device=device)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_paths_past_the_range_of_the_type(kind, device):
    """No distance exceeds the range, but a bound does, so the rows are searched."""
    heavy = 2**61 if kind is np.int64 else 1.1e308 / 3
    n = 300
    weights = np.append(np.full(n - 2, kind(0.5) if kind is np.float64 else 1), kind(heavy))
    graph = Graph.from_arcs(n, range(n - 1), range(1, n), weights)
    eccentricities = summaries.eccentricity(graph, device=device)
    expected = np.append(weights[::-1].cumsum()[::-1], 0)
    np.testing.assert_allclose(eccentricities, expected, rtol=0 if kind is np.int64 else 1e-12)
    assert summaries.diameter(graph, device=device) == eccentricities.max()
    with pytest.raises(PrecisionError, match="a distance is too large"):
        summaries.eccentricity(Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [2**61] * 3), device=device)


def test_whole_floats_past_int64(device):
    """Floats of 2^53 and more are all whole numbers: float64 holds what int64 does not."""
    graph = Graph.from_arcs(4, [0, 1, 2, 3], [1, 2, 3, 0], [1e300, 2.0, 3.0, 1.0])
    assert summaries.diameter(graph, device=device) == 1e300
    assert summaries.radius(graph, device=device) == 6
    eccentricities = summaries.eccentricity(graph, device=device)
    np.testing.assert_array_equal(eccentricities, [1e300, 6, 1e300, 1e300])
    assert summaries.wiener_index(graph, device=device) == pytest.approx(6e300, rel=1e-15)
    mean = summaries.average_shortest_path_length(graph, device=device)
    assert mean == pytest.approx(6e300 / 12, rel=1e-15)
    close = summaries.closeness_centrality(graph, device=device)
    np.testing.assert_allclose(close, [3 / 11, 3 / 3e300, 3 / 2e300, 3 / 1e300], rtol=1e-15)
    counts = summaries.distance_histogram(graph, width=1e300, device=device)
    assert counts.tolist() == [6, 6]
    # no weight is too large for int64, but a path is
    path = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [2.0**61] * 3)
    assert summaries.diameter(path, device=device) == 3 * 2.0**61


def test_the_type_of_an_answer_does_not_depend_on_earlier_calls(device):
    graph = Graph.from_arcs(800, range(799), range(1, 800), [2.0**53] + [1.0] * 798)
    first = summaries.eccentricity(graph, device=device)
    pyapsp.solve(graph, dtype="auto", device=device)  # finds better bounds
    assert summaries.eccentricity(graph, device=device).dtype == first.dtype == np.float64


def test_sums_past_float64(device):
    graph = Graph.from_arcs(4, [0, 0, 0], [1, 2, 3], [1e308, 1e308, 0.5])
    assert summaries.diameter(graph, device=device) == 1e308
    for summary in (summaries.average_shortest_path_length, summaries.wiener_index):
        with pytest.raises(PrecisionError, match=r"1e\+308 do not add up in float64: divide the"):
            summary(graph, device=device)
    with pytest.raises(PrecisionError, match="do not add up in float64"):
        summaries.closeness_centrality(graph.reversed(), device=device)
    path = Graph.from_arcs(3, [0, 1], [1, 2], [1e308, 1e308])
    message = r"too large for float64, with weights of up to 1e\+308: divide the weights"
    for summary in (*ALL, summaries.wiener_index, summaries.diameter):
        with pytest.raises(PrecisionError, match=message):
            summary(path, device=device)


def test_weights_that_int64_does_not_hold(device):
    graph = Graph.from_arcs(2, [0], [1], [2**62])
    with pytest.raises(PrecisionError, match=r"weight of .* for int64: .*weights of that type"):
        summaries.diameter(graph, device=device)
    assert summaries.diameter(graph.with_weights([2.0**62]), device=device) == 2.0**62


def test_sums_past_a_word(device):
    """The sum for one source fits in 64 bits, that for all does not; then not even one fits."""
    chain = Graph.from_arcs(40, range(39), range(1, 40), [2**55] + [0] * 38, directed=False)
    stars = Graph.from_arcs(40, [0] * 39, range(1, 40), [2**56] * 39, directed=False)
    assert summaries.wiener_index(chain, device=device) == 39 * 2**55
    pairs = 39 * 38 // 2
    assert summaries.wiener_index(stars, device=device) == (39 + 2 * pairs) * 2**56
    with pytest.raises(PrecisionError, match="do not add up in int64"):
        summaries.closeness_centrality(stars.with_weights(stars.weights * 8), device=device)
    mean = summaries.average_shortest_path_length(stars, device=device)
    np.testing.assert_allclose(mean, (39 + 2 * pairs) * 2**56 / (39 * 20), rtol=1e-15)


# -- errors ------------------------------------------------------------------------------------

ALL = [
    summaries.eccentricity,
    summaries.radius,
    summaries.average_shortest_path_length,
    summaries.closeness_centrality,
    summaries.distance_histogram,
]


@pytest.mark.parametrize("sources", [[60], [-1], [0.5], [[0]], "ab", [True]], ids=str)
@pytest.mark.parametrize("summary", ALL, ids=lambda each: each.__name__)
def test_sources_that_are_none(summary, sources, device):
    with pytest.raises(ParameterError, match="'sources' parameter of a summary"):
        summary(GRAPHS["weighted"], sources=sources, device=device)


@pytest.mark.parametrize("method", ["fw-minplus", "fw-blocked", "nothing"])
@pytest.mark.parametrize("summary", [*ALL, summaries.wiener_index, summaries.diameter])
def test_methods_that_do_not_search(summary, method, device):
    with pytest.raises(ParameterError, match="'method' parameter"):
        summary(GRAPHS["weighted"], method=method, device=device)


def test_methods_that_the_graph_does_not_suit(device):
    with pytest.raises(GraphError, match="ms-bfs needs an unweighted graph"):
        summaries.eccentricity(GRAPHS["weighted"], method="ms-bfs", device=device)
    negative = Graph.from_arcs(2, [0], [1], [-1])
    with pytest.raises(NegativeWeightError, match="near-far"):
        summaries.eccentricity(negative, method="near-far", device=device)
    for summary in (*ALL, summaries.wiener_index, summaries.diameter):
        refused = summary is summaries.distance_histogram  # it takes no negative weight
        with pytest.raises(NegativeWeightError if refused else NegativeCycleError):
            summary(Graph.from_arcs(2, [0, 1], [1, 0], [-2, 1]), device=device)


@pytest.mark.parametrize(
    "width", [0, -1, 1.5, float("nan"), float("inf"), "3", None, np.timedelta64(2, "s")]
)
def test_widths_of_no_meaning(width, device):
    with pytest.raises(ParameterError, match="a positive number, whole where the weights are"):
        summaries.distance_histogram(GRAPHS["weighted"], width=width, device=device)
    if width != 1.5:
        with pytest.raises(ParameterError, match="a positive number"):
            summaries.distance_histogram(GRAPHS["quarters"], width=width, device=device)


@pytest.mark.parametrize("method", ["auto", "dijkstra-cpu"])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_bins_without_number(kind, method, device):
    far = Graph.from_arcs(3, [0, 1], [1, 2], np.array([2.0**33, 2.0**40]).astype(kind) / kind(1))
    with pytest.raises(ParameterError, match="so wide that"):
        summaries.distance_histogram(far, method=method, device=device)
    counts = summaries.distance_histogram(far, width=2**34, method=method, device=device)
    assert (counts[0], counts.sum(), counts.size) == (1, 3, 65)
    for width in (2**40, 2**70, 1e300):
        near = GRAPHS["weighted"]
        counts = summaries.distance_histogram(near, width=width, method=method, device=device)
        assert counts.tolist() == [np.isfinite(rows_of(near)).sum() - near.n]


@pytest.mark.parametrize("method", ["auto", "dijkstra-cpu"])
def test_a_distance_has_the_same_bin_beside_any_other(method, device):
    # 1 / 0.1 rounds to 10, while ten times the float 0.1 is more than 1
    for lengths in ([0.5, 0.5], [0.5, 0.5, 0.25]):
        n = len(lengths) + 1
        graph = Graph.from_arcs(n, range(n - 1), range(1, n), lengths)
        counts = summaries.distance_histogram(graph, [0], width=0.1, method=method, device=device)
        assert np.flatnonzero(counts).tolist() == [5, 10, 12][: n - 1]


def test_negative_distances_have_no_bins(device):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [4, -7])
    with pytest.raises(NegativeWeightError, match="distance_histogram"):
        summaries.distance_histogram(graph, device=device)


def test_graphs_without_vertices(device):
    empty = Graph.from_arcs(0, [], [])
    for summary in (
        summaries.eccentricity,
        summaries.closeness_centrality,
        summaries.distance_histogram,
    ):
        assert summary(empty, device=device).shape == (0,)
    assert np.isnan(summaries.average_shortest_path_length(empty, device=device))
    for summary in (summaries.radius, summaries.diameter):
        with pytest.raises(ParameterError, match="without vertices has no"):
            summary(empty, device=device)


@pytest.mark.parametrize("summary", [*ALL, summaries.wiener_index, summaries.diameter])
def test_an_option_that_is_none_is_named_with_the_function_called(summary, device):
    with pytest.raises(TypeError, match=rf"^{summary.__name__}\(\) got .* argument 'dtype'"):
        summary(GRAPHS["weighted"], dtype=np.int32, device=device)


@pytest.mark.parametrize("summary", [*ALL, summaries.wiener_index, summaries.diameter])
def test_a_limit_that_is_none(summary, device):
    with pytest.raises(ParameterError, match="'memory_limit' parameter"):
        summary(GRAPHS["weighted"], memory_limit="1G", device=device)


def test_no_sources(device):
    options = {"sources": [], "device": device}
    assert summaries.eccentricity(GRAPHS["weighted"], **options).shape == (0,)
    assert summaries.distance_histogram(GRAPHS["weighted"], **options).shape == (0,)
    assert np.isnan(summaries.average_shortest_path_length(GRAPHS["weighted"], **options))


def test_graphs_of_other_packages(device):
    path = networkx.path_graph(5)
    assert summaries.eccentricity(path, device=device).tolist() == [4, 3, 2, 3, 4]
    assert summaries.wiener_index(path, device=device) == networkx.wiener_index(path)
    assert summaries.diameter(path, device=device) == 4


@pytest.mark.parametrize("weights", [(1, 1), (1, 7)])
@pytest.mark.parametrize("first", ["star", "path"])
def test_diameter_over_components(weights, first, device):
    """The longest is not where the first search begins; more vertices than go in a batch."""
    star, path, ring = networkx.star_graph(1200), networkx.path_graph(900), networkx.cycle_graph(75)
    graph = networkx.disjoint_union_all([star, ring, networkx.empty_graph(3), path, ring])
    if first == "path":  # a hub in the path's component
        graph.add_edges_from((1400, 10_000 + leaf) for leaf in range(1300))
    rng = np.random.default_rng(len(graph))
    for *_, data in graph.edges(data=True):
        data["weight"] = int(rng.integers(*weights, endpoint=True))
    ours = as_graph(graph)
    expected = max(
        networkx.diameter(graph.subgraph(part), weight="weight")
        if len(part) < 100
        else _of_a_tree(graph.subgraph(part))
        for part in networkx.connected_components(graph)
    )
    assert summaries.diameter(ours, device=device) == expected


def _of_a_tree(tree):
    """Two searches find the diameter of a tree."""
    lengths = networkx.single_source_dijkstra_path_length(tree, next(iter(tree)))
    end = max(lengths, key=lengths.get)
    return max(networkx.single_source_dijkstra_path_length(tree, end).values())
