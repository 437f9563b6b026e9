"""Betweenness and harmonic centrality against NetworkX and igraph; same bits, wrong arguments."""

from __future__ import annotations

from dataclasses import replace

import networkx
import numpy as np
import pytest

import pyapsp
from pyapsp.all_pairs.summaries import betweenness, counting, lanes, launches, levels
from pyapsp.errors import DeviceMemoryError, GraphError, ParameterError, PrecisionError
from pyapsp.graph import Graph, generators
from pyapsp.registry import Options


def drawn(seed, n=30, degree=1.6, weighted=False):
    """Make a graph with loops, parallel arcs, ties and vertices that are not reached."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, int(degree * n)))
    weights = rng.integers(1, 4, tails.size) if weighted else None
    return Graph.from_arcs(n, tails, heads, weights, directed=bool(seed % 2))


def of_networkx(function, graph, weighted=False, **options):
    """Return the values of vertices, or of arcs, in the order of the graph."""
    other = networkx.DiGraph() if graph.directed else networkx.Graph()
    other.add_nodes_from(range(graph.n))
    tails, heads, weights = (each.tolist() for each in graph.arcs())
    other.add_weighted_edges_from(zip(tails, heads, weights, strict=True))
    weight = {"weight": "weight"} if weighted else {}
    found = function(other, **weight, **options)
    if function is networkx.betweenness_centrality:
        return [found[v] for v in range(graph.n)]
    both = found if graph.directed else found | {(v, u): found[u, v] for u, v in found}
    return [both[arc] for arc in zip(tails, heads, strict=True)]


@pytest.fixture
def wide(device, monkeypatch):
    """Let kernels have groups of many work-items, as on a GPU; searches of one are an error."""
    monkeypatch.setattr(type(device), "traits", replace(device.traits, scalar_groups=False))
    monkeypatch.setattr(betweenness, "_added", None)


@pytest.fixture
def by_lanes(device, monkeypatch):
    """Let kernels have groups as on a CPU; sources are searched together, however few or far."""
    monkeypatch.setattr(type(device), "traits", replace(device.traits, scalar_groups=True))
    monkeypatch.setattr(lanes, "_FEW", 1)
    monkeypatch.setattr(lanes, "_TOGETHER", 0)


@pytest.fixture(params=["own groups", "by lanes", "by levels", "by rows"])
def form(request, monkeypatch):
    """Let kernels have groups as on the device, a CPU or a GPU, with searches of any depth."""
    if request.param == "by lanes":
        request.getfixturevalue("by_lanes")
    elif request.param != "own groups":
        request.getfixturevalue("wide")
        monkeypatch.setattr(levels, "_LEVELS", 2000 if request.param == "by levels" else 0)


@pytest.mark.usefixtures("form")
@pytest.mark.every(2)
@pytest.mark.parametrize("weighted", [False, True])
def test_many_graphs_as_networkx_does(weighted, device):
    given = {"weight": ...} if weighted else {}
    for seed in range(60):
        graph = drawn(seed, n=1 + seed, degree=0.5 + seed % 5, weighted=weighted)
        for normalized, endpoints in ((True, False), (False, True), (True, True), (False, False)):
            options = {"normalized": normalized, "endpoints": endpoints}
            found = pyapsp.betweenness_centrality(graph, **given, **options, device=device)
            expected = of_networkx(networkx.betweenness_centrality, graph, weighted, **options)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        for normalized in (True, False):
            found = pyapsp.edge_betweenness_centrality(
                graph, normalized=normalized, **given, device=device
            )
            expected = of_networkx(
                networkx.edge_betweenness_centrality, graph, weighted, normalized=normalized
            )
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("k", [1, 2, 7, 30])
def test_sampled_sources_as_networkx_does(k, device):
    for seed in range(8):
        graph = drawn(seed)
        for normalized, endpoints in ((True, False), (False, True), (True, True), (False, False)):
            options = {"k": k, "seed": seed, "normalized": normalized, "endpoints": endpoints}
            found = pyapsp.betweenness_centrality(graph, **options, device=device)
            expected = of_networkx(networkx.betweenness_centrality, graph, **options)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        options = {"k": k, "seed": seed}
        found = pyapsp.edge_betweenness_centrality(graph, **options, device=device)
        expected = of_networkx(networkx.edge_betweenness_centrality, graph, **options)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_named_sources(device):
    graph = drawn(4)
    drawn_ones = pyapsp.all_pairs.summaries.betweenness.sampled(30, 7, 3)
    found = pyapsp.betweenness_centrality(graph, sources=drawn_ones, device=device)
    expected = pyapsp.betweenness_centrality(graph, 7, seed=3, device=device)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("longest", [0, 2])
def test_long_rows_have_several_slices(longest, device, monkeypatch):
    graph = generators.power_law(300, seed=2)
    expected = pyapsp.betweenness_centrality(graph, device=device)
    monkeypatch.setattr(levels, "_LONGEST", longest)
    monkeypatch.setattr(betweenness, "sums_by_rows", None)
    found = pyapsp.betweenness_centrality(graph, device=device)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(("last", "left"), [(69, []), (68, range(64, 70)), (60, range(70))])
def test_many_levels_are_searched_by_distances(last, left, device, monkeypatch):
    """From the first batch that has a search with too many."""
    graph, called, told = generators.path(70), [], []
    sources = [*range(3, 67), 0, 1, 2, 67, 68, 69]
    expected = of_networkx(networkx.betweenness_centrality, graph)

    def by_rows(graph, sources, *others):
        called.extend(sources.tolist())
        return counting.sums_by_rows(graph, sources, *others)

    monkeypatch.setattr(levels, "_LEVELS", last + 1)
    monkeypatch.setattr(betweenness, "sums_by_rows", by_rows)
    found = pyapsp.betweenness_centrality(
        graph, sources=sources, device=device, progress=lambda *now: told.append(now)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert called == [sources[place] for place in left]
    assert told == sorted(told)
    assert told[-1] == (70, 70)


@pytest.mark.usefixtures("wide")
def test_rows_in_several_launches(device, monkeypatch):
    graph = drawn(3, n=50, degree=3, weighted=True)
    functions = pyapsp.betweenness_centrality, pyapsp.edge_betweenness_centrality
    expected = [each(graph, weight=..., device=device) for each in functions]
    monkeypatch.setattr(counting, "_GROUPS", 1)
    monkeypatch.setattr(counting, "_ROWS", 2)
    for function, values in zip(functions, expected, strict=True):
        found = function(graph, weight=..., device=device)
        np.testing.assert_allclose(found, values, rtol=1e-12)


@pytest.mark.usefixtures("by_lanes")
@pytest.mark.parametrize("directed", [True, False])
def test_sources_near_each_other_are_searched_together(directed, device, monkeypatch):
    """Also if the last vector is not full, and if some sources reach nothing."""
    graph = generators.small_world(330, 4, seed=3)
    tails, heads, _ = graph.arcs()
    graph = Graph.from_arcs(350, tails, heads, directed=directed)
    functions = pyapsp.betweenness_centrality, pyapsp.edge_betweenness_centrality
    sources = np.random.default_rng(0).permutation(350)[:299]
    monkeypatch.setattr(lanes, "_FEW", 300)
    expected = [each(graph, sources=sources, device=device) for each in functions]
    monkeypatch.setattr(lanes, "_FEW", 299)
    monkeypatch.setattr(lanes, "_TOGETHER", 1)
    monkeypatch.setattr(betweenness, "_by_distances", None)
    for function, values in zip(functions, expected, strict=True):
        told = []
        found = function(
            graph, sources=sources, device=device, progress=lambda *now, told=told: told.append(now)
        )
        np.testing.assert_allclose(found, values, rtol=1e-12, atol=1e-15)
        assert told == sorted(told)
        assert told[-1] == (299, 299)


@pytest.mark.usefixtures("by_lanes")
def test_sources_are_ordered_and_the_first_launch_is_a_sample(device, monkeypatch):
    """Neighbours have far numbers, and those in small components reach little together."""
    place = np.random.default_rng(0).permutation(1201)
    at, step = np.arange(900), np.arange(1, 11)[:, None]
    three = 900 + np.arange(300)
    tails = [*np.tile(at, 10), *three, 0]
    heads = [*((at + step) % 900).ravel(), *(three // 3 * 3 + (three + 1) % 3), 1200]
    graph = Graph.from_arcs(1201, place[tails], place[heads], directed=False)
    monkeypatch.setattr(lanes, "_FEW", 1202)
    expected = pyapsp.betweenness_centrality(graph, device=device)
    monkeypatch.setattr(lanes, "_FEW", 1201)
    monkeypatch.setattr(lanes, "_TOGETHER", 2)
    monkeypatch.setattr(betweenness, "_by_distances", None)
    found = pyapsp.betweenness_centrality(graph, device=device)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("by_lanes")
def test_sources_far_from_each_other_are_searched_alone(device, monkeypatch):
    """Those of a path reach each vertex in different levels. The first launch finds it."""
    graph, called, told = generators.path(400), [], []
    by_distances = betweenness._by_distances

    def alone(graph, sources, *others):
        called.extend(sources.tolist())
        return by_distances(graph, sources, *others)

    monkeypatch.setattr(lanes, "_TOGETHER", 2)
    monkeypatch.setattr(betweenness, "_by_distances", alone)
    found = pyapsp.betweenness_centrality(
        graph, normalized=False, device=device, progress=lambda *now: told.append(now)
    )
    np.testing.assert_array_equal(found, np.arange(400) * np.arange(399, -1, -1))
    assert 320 < len(set(called)) == len(called) < 400
    assert told == sorted(told)
    assert told[-1] == (400, 400)


@pytest.mark.usefixtures("by_lanes")
def test_vectors_need_more_memory_than_single_searches(device, monkeypatch):
    graph = generators.small_world(300, 4, seed=3)
    expected = pyapsp.betweenness_centrality(graph, device=device)
    single, limit = betweenness._by_distances, 120 * 300
    monkeypatch.setattr(betweenness, "_by_distances", None)
    with pytest.raises(TypeError):
        pyapsp.betweenness_centrality(graph, device=device, memory_limit=limit)
    monkeypatch.setattr(betweenness, "_by_distances", single)
    found = pyapsp.betweenness_centrality(graph, device=device, memory_limit=limit)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_searches_have_half_of_the_memory(device, monkeypatch):
    float64 = np.dtype(np.float64)
    options = Options(device, float64, memory_limit=1000)
    assert launches.fitting(options, [30, 20]) == 10
    assert launches.fitting(options, [30, 21]) == 9
    short = replace(device.capabilities, max_allocation=89)  # of three searches
    monkeypatch.setattr(type(device), "capabilities", short)
    assert launches.fitting(options, [30, 20]) == 2


def test_as_igraph_does(device):
    graph = generators.small_world(300, 6, seed=1).symmetrized()
    found = pyapsp.betweenness_centrality(graph, normalized=False, weight=..., device=device)
    other = graph.to_igraph()
    expected = other.betweenness(directed=False, weights="weight")
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("form")
def test_the_same_bits(monkeypatch, device):
    """Neither the length of launches nor a repetition changes a bit."""
    graph = generators.power_law(400, seed=2)
    first = pyapsp.betweenness_centrality(graph, device=device)
    np.testing.assert_array_equal(pyapsp.betweenness_centrality(graph, device=device), first)
    monkeypatch.setattr(launches, "_LONG", 0.0)
    told = []
    found = pyapsp.betweenness_centrality(
        graph, device=device, progress=lambda *each: told.append(each)
    )
    np.testing.assert_array_equal(found, first)
    assert told[-1] == (400, 400)


def test_a_full_heap_is_tidied(device):
    """Every vertex is found by ever shorter paths, so that most entries are out of date."""
    n = 60
    tails = np.repeat(np.arange(n - 1), np.arange(n - 1, 0, -1))
    heads = np.concatenate([np.arange(v + 1, n) for v in range(n - 1)])
    graph = Graph.from_arcs(n, tails, heads, (heads - tails) * (n - tails))
    found = pyapsp.betweenness_centrality(graph, weight=..., device=device)
    expected = of_networkx(networkx.betweenness_centrality, graph, True)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def layers(count, width=2):
    """Make layers of vertices with all arcs between neighbours: width^count paths."""
    ends = [
        (layer * width + i, (layer + 1) * width + j)
        for layer in range(count)
        for i in range(width)
        for j in range(width)
    ]
    return Graph.from_arcs((count + 1) * width, *np.array(ends).T)


@pytest.mark.usefixtures("form")
def test_as_many_paths_as_a_double_counts(device):
    found = pyapsp.betweenness_centrality(layers(200), normalized=False, device=device)
    # half of the paths between the layers around a vertex lead over it, or fewer
    assert found[200] == pytest.approx((2 * 100 * 2 * 100) / 2)
    with pytest.raises(PrecisionError, match="more shortest paths"):
        pyapsp.betweenness_centrality(layers(350, 8), sources=[0], device=device)


@pytest.mark.usefixtures("form")
def test_directions(device):
    graph = pyapsp.graph.from_frame({"source": ["a", "b", "c"], "target": ["b", "c", "d"]})
    for directed in (True, False):
        found = pyapsp.betweenness_centrality(
            graph, directed=directed, normalized=False, device=device
        )
        assert found.tolist() == [0, 2, 2, 0]
    found = pyapsp.edge_betweenness_centrality(graph, normalized=False, device=device)
    assert found.tolist() == [3, 4, 3]


@pytest.mark.usefixtures("form")
def test_nothing_to_do(device):
    for n in range(3):
        graph = Graph.from_arcs(n, [], [])
        assert pyapsp.betweenness_centrality(graph, device=device).tolist() == [0] * n
        assert pyapsp.edge_betweenness_centrality(graph, device=device).tolist() == []
        assert pyapsp.harmonic_centrality(graph, device=device).tolist() == [0] * n


def test_wrong_arguments(device):
    graph = drawn(1)
    with pytest.raises(ParameterError, match="either k or sources"):
        pyapsp.betweenness_centrality(graph, 3, sources=[1])
    with pytest.raises(ParameterError, match="different vertices"):
        pyapsp.betweenness_centrality(graph, sources=[1, 1])
    with pytest.raises(ParameterError, match="'k' parameter of betweenness_centrality must"):
        pyapsp.betweenness_centrality(graph, 31)
    with pytest.raises(ParameterError, match="'k' parameter of betweenness_centrality must"):
        pyapsp.betweenness_centrality(graph, 0)
    with pytest.raises(ParameterError, match="at least one"):
        pyapsp.betweenness_centrality(graph, sources=[])
    with pytest.raises(ParameterError, match="seed only with k"):
        pyapsp.betweenness_centrality(graph, seed=3)
    with pytest.raises(ParameterError, match="seed only with k"):
        pyapsp.edge_betweenness_centrality(graph, sources=[1], seed=3)
    with pytest.raises(ParameterError, match="'progress' parameter of harmonic_centrality"):
        pyapsp.harmonic_centrality(graph, progress="x", device=device)
    zero = Graph.from_arcs(2, [0], [1], [0])
    with pytest.raises(GraphError, match="above zero, and one is 0"):
        pyapsp.edge_betweenness_centrality(zero, weight=..., device=device)
    assert pyapsp.betweenness_centrality(zero, device=device).tolist() == [0, 0]
    with pytest.raises(DeviceMemoryError, match="memory_limit"):
        pyapsp.betweenness_centrality(graph, memory_limit=500, device=device)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("weights", [[1e20, 1, 1e20], [1e20, 1, 1]])
def test_a_weight_that_is_lost_in_a_distance_is_told(weights, device):
    graph = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], weights)
    with pytest.raises(PrecisionError, match="lost in the sum"):
        pyapsp.betweenness_centrality(graph, weight=..., device=device)
    # it is not needed: a shorter way is exact
    graph = Graph.from_arcs(4, [0, 1, 2, 0], [1, 2, 3, 2], [1e20, 1, 1, 1])
    found = pyapsp.betweenness_centrality(graph, weight=..., normalized=False, device=device)
    assert found.tolist() == [0, 0, 2, 0]


@pytest.mark.parametrize("weighted", [False, True])
def test_harmonic_centrality_as_networkx_does(weighted, device):
    for seed in range(20):
        graph = drawn(seed, weighted=weighted)
        other = networkx.DiGraph() if graph.directed else networkx.Graph()
        other.add_nodes_from(range(graph.n))
        other.add_weighted_edges_from(zip(*(each.tolist() for each in graph.arcs()), strict=True))
        expected = networkx.harmonic_centrality(other, distance="weight")
        found = pyapsp.harmonic_centrality(graph, device=device)
        np.testing.assert_allclose(found, [expected[v] for v in range(graph.n)], rtol=1e-12)
        some = pyapsp.harmonic_centrality(graph, [7, 3], device=device)
        np.testing.assert_array_equal(some, found[[7, 3]])


@pytest.mark.parametrize("directed", [False, True])
def test_harmonic_centrality_of_small_components(directed, device, monkeypatch):
    """Components are searched without the others, and the answers are those of the whole."""
    sizes, seen = [], []
    rng = np.random.default_rng(0)
    tails, heads = rng.integers(0, 60, (2, 45))
    weights = rng.integers(1, 9, 45)
    graph = Graph.from_arcs(60, tails, heads, weights, directed=directed)
    some = [59, 3, 3, 17]
    options = {"directed": directed, "device": device}
    expected = pyapsp.harmonic_centrality(graph, device=device)
    monkeypatch.setattr("pyapsp.all_pairs.summaries.harmonic._TOGETHER", 8)
    searches = pyapsp.all_pairs.summaries.harmonic.Searches

    def counted(part, *args, **kwargs):
        sizes.append(part.n)
        return searches(part, *args, **kwargs)

    monkeypatch.setattr("pyapsp.all_pairs.summaries.harmonic.Searches", counted)
    found = pyapsp.harmonic_centrality(graph, progress=lambda *now: seen.append(now), **options)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert sum(sizes) == 60
    assert len(sizes) > 3
    assert seen[-1] == (60, 60)
    sizes.clear()
    np.testing.assert_array_equal(pyapsp.harmonic_centrality(graph, some, **options), found[some])
    assert len(sizes) <= 3


def test_harmonic_centrality_ignores_distance_zero(device):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [0, 4], directed=False)
    assert pyapsp.harmonic_centrality(graph, device=device).tolist() == [0.25, 0.25, 0.5]


@pytest.mark.parametrize(
    "method", [pyapsp.betweenness_centrality, pyapsp.edge_betweenness_centrality]
)
def test_sums_of_weights_that_float64_does_not_hold_are_refused(method, device):
    """A vertex at infinity would look reached by an arc from another one at infinity."""
    chain = pyapsp.Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [1e308] * 3)
    with pytest.raises(PrecisionError, match="exceeds float64"):
        method(chain, weight=..., device=device)
    half = chain.with_weights(chain.weights * 2.0**-3)
    assert method(half, weight=..., device=device).max() > 0
