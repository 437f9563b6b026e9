"""`sssp`: negative weights and cycles, cutoffs, types that are too narrow, arguments and errors."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

import pyapsp
from pyapsp import SsspResult, errors, verify
from pyapsp.graph import Graph, generators
from pyapsp.paths.result import NO_PREDECESSOR

METHODS = [cls.id for cls in pyapsp.methods("sssp")]
GRAPH = generators.random_graph(60, 150, seed=2)


def signed(graph, seed=1):
    """The same shortest paths, with weights of both signs."""
    tails, heads, weights = graph.arcs()
    potential = np.random.default_rng(seed).integers(0, 30, graph.n)
    return graph.with_weights(weights + potential[tails] - potential[heads])


def expected(graph, source):
    return csgraph.johnson(graph.to_scipy().astype(float), indices=source)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("method", ["sssp-near-far", "sssp-delta-stepping", "sssp-h-bf"])
def test_of_many_possible_predecessors_one_rule_takes_one(method, dtype, device):
    graph = generators.random_graph(300, 6000, 2, seed=3)
    weights = np.random.default_rng(5).integers(0, 3, graph.m)
    graph = graph.with_weights(weights)
    tails, heads, weights = graph.arcs()
    for source in (7, 299):
        found = pyapsp.sssp(graph, source, method, dtype=dtype, predecessors=True, device=device)
        row = found.distances
        tight = (row[tails] + weights == row[heads]) & (row[tails] < 9999)
        # over arcs that are not zero, all vertices at once, and then round after round
        falls = tight & (weights > 0) & (method != "sssp-h-bf")
        parents = np.full(graph.n, graph.n)
        np.minimum.at(parents, heads[falls], tails[falls])
        parents[parents == graph.n] = NO_PREDECESSOR
        rest = tight & ~falls
        np.testing.assert_array_equal(
            found.predecessors, in_rounds(graph, source, parents, tails[rest], heads[rest])
        )


def in_rounds(graph, source, parents, tails, heads):
    """Give each vertex without a parent the smallest one of the round in which it gets one."""
    settled = parents >= 0
    settled[source] = True
    while True:
        new = settled[tails] & ~settled[heads]
        least = np.full(graph.n, graph.n)
        np.minimum.at(least, heads[new], tails[new])
        found = least < graph.n
        if not found.any():
            return parents
        parents[found], settled[found] = least[found], True


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_distances_and_predecessors(method, device):
    found = pyapsp.sssp(GRAPH, 4, method, predecessors=True, device=device)
    assert isinstance(found, SsspResult)
    assert found.distances.dtype == np.float64
    np.testing.assert_array_equal(found.distances, expected(GRAPH, 4))
    assert verify.certificate(GRAPH, found.rows, device=device).ok
    np.testing.assert_array_equal(
        found.predecessors,
        pyapsp.sssp(GRAPH, [4], method, predecessors=True, device=device).predecessors[0],
    )
    assert pyapsp.sssp(GRAPH, 4, method, device=device).predecessors is None


def test_auto_takes_what_the_weights_allow(device):
    for graph, method in ((GRAPH, "sssp-delta-stepping"), (signed(GRAPH), "sssp-bellman-ford")):
        assert pyapsp.sssp(graph, 0, device=device).stats["method"] == method
    for method in ("sssp-near-far", "sssp-delta-stepping"):
        with pytest.raises(errors.NegativeWeightError, match=f"{method} needs non-negative"):
            pyapsp.sssp(signed(GRAPH), 0, method, device=device)


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int16"])
def test_negative_weights(dtype, device):
    graph = signed(GRAPH)
    assert graph.has_negative
    found = pyapsp.sssp(graph, [4, 9], dtype=dtype, predecessors=True, device=device)
    distances = np.where(found.distances < found.infinity, found.distances.astype(float), np.inf)
    np.testing.assert_array_equal(distances, expected(graph, [4, 9]))
    assert verify.certificate(graph, found.rows, device=device).ok


ARC = st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(-2, 5))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arcs=st.lists(ARC, max_size=20), source=st.integers(0, 6))
def test_any_small_graph_with_or_without_a_negative_cycle(device, arcs, source):
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    graph = Graph.from_arcs(7, tails, heads, np.array(weights, np.int64))
    try:
        lengths = nx.single_source_bellman_ford_path_length(graph.to_networkx(), source)
    except nx.NetworkXUnbounded:
        with pytest.raises(errors.NegativeCycleError) as caught:
            pyapsp.sssp(graph, source, device=device)
        cycle = caught.value.cycle
        matrix = dict(
            zip(
                zip(*(a.tolist() for a in graph.arcs()[:2]), strict=True),
                graph.weights.tolist(),
                strict=True,
            )
        )
        steps = list(itertools.pairwise(cycle))
        assert cycle[0] == cycle[-1]
        assert sum(matrix[step] for step in steps) == caught.value.weight < 0
        reached = pyapsp.bfs(graph, source, device=device).levels >= 0
        assert reached[cycle].all()
        return
    found = pyapsp.sssp(graph, source, predecessors=True, device=device)
    for v in range(7):
        assert found.distances[v] == lengths.get(v, np.inf)
    if graph.has_negative:
        found = pyapsp.sssp(graph, source, "sssp-bellman-ford", predecessors=True, device=device)
    assert verify.certificate(graph, found.rows, device=device).ok
    for v in range(7):
        path = found.path(v)
        assert bool(path) == (v in lengths)
        total = sum(graph.to_scipy()[step] for step in itertools.pairwise(path))
        assert not path or total == lengths[v]


def test_a_negative_cycle_that_no_source_reaches(device):
    graph = Graph.from_arcs(6, [0, 2, 3, 4], [1, 3, 4, 2], [1, 1, -5, 1], labels=[*"abcdef"])
    np.testing.assert_array_equal(
        pyapsp.sssp(graph, [0, 5], device=device).distances[0], [0, 1, *[np.inf] * 4]
    )
    with pytest.raises(errors.NegativeCycleError, match=r"weight -3: [cde] -> ") as caught:
        pyapsp.sssp(graph, [0, 2], device=device)
    assert sorted(set(caught.value.cycle)) == [2, 3, 4]
    with pytest.raises(errors.NegativeCycleError):
        pyapsp.sssp(graph, 4, dtype="int16", device=device)


def test_the_cycle_that_is_named_is_one_that_the_source_reaches(device):
    graph = Graph.from_arcs(7, [0, 1, 2, 3, 4, 5, 6], [1, 0, 3, 4, 3, 6, 5], [-1] * 7)
    with pytest.raises(errors.NegativeCycleError) as caught:
        pyapsp.sssp(graph, 2, device=device)
    assert sorted(set(caught.value.cycle)) == [3, 4]


def test_zero_cycles_of_negative_arcs_make_a_tree(device):
    """Such a cycle has tight arcs, too."""
    tails, heads, weights = [0, 1, 2, 3, 3], [1, 2, 3, 1, 4], [5, -2, 4, -2, 1]
    graph = Graph.from_arcs(5, tails, heads, weights)
    found = pyapsp.sssp(graph, 0, predecessors=True, device=device)
    assert found.distances.tolist() == [0, 5, 3, 7, 8]
    assert found.path(4) == [0, 1, 2, 3, 4]
    assert verify.certificate(graph, found.rows, device=device).ok


# a small step, so that the search ends between two thresholds
SLOW = pyapsp.method("sssp-near-far", delta=25)


@pytest.mark.parametrize("method", [*METHODS, SLOW], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "int32", "uint16"])
def test_cutoff(method, dtype, device):
    limit = float(np.sort(expected(GRAPH, 4))[20])
    options = {"dtype": dtype, "predecessors": True, "device": device}
    everything = pyapsp.sssp(GRAPH, 4, method, **options)
    near = pyapsp.sssp(GRAPH, 4, method, cutoff=limit, **options)
    inside = everything.distances <= limit
    assert 0 < inside.sum() < (everything.distances < everything.infinity).sum()
    np.testing.assert_array_equal(
        near.distances, np.where(inside, everything.distances, everything.infinity)
    )
    np.testing.assert_array_equal(near.predecessors >= 0, inside & (np.arange(60) != 4))
    for v in np.flatnonzero(inside):
        assert near.path(v)[0] == 4
    for v in np.flatnonzero(~inside):
        assert near.path(v) == []


def test_a_cutoff_ends_the_search(device):
    graph = generators.grid_2d(40, 40, 1)
    whole = pyapsp.sssp(graph, 0, SLOW, device=device)
    near = pyapsp.sssp(graph, 0, SLOW, cutoff=whole.distances.max() / 8, device=device)
    assert near.stats["rounds"] < whole.stats["rounds"] / 4


def test_a_path_that_comes_back_from_beyond_the_cutoff(device):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [9, -8])
    found = pyapsp.sssp(graph, 0, cutoff=3, predecessors=True, device=device)
    assert found.distances.tolist() == [0, np.inf, 1]
    assert found.predecessors.tolist() == [-9999, -9999, 1]
    with pytest.raises(errors.ParameterError, match="over vertex 1, which is beyond the cutoff"):
        found.path(2)


@pytest.mark.parametrize("method", METHODS)
def test_distances_past_the_range_of_their_type(method, device):
    graph = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [9000] * 3)
    with pytest.raises(errors.PrecisionError, match="too large for int16"):
        pyapsp.sssp(graph, 0, method, dtype="int16", device=device)
    unchecked = pyapsp.sssp(graph, 0, method, dtype="int16", check=False, device=device)
    assert unchecked.distances[:2].tolist() == [0, 9000]
    near = pyapsp.sssp(graph, 0, method, dtype="int16", cutoff=10000, device=device)
    assert near.distances.tolist() == [0, 9000, near.infinity, near.infinity]
    # a cutoff that the type does not hold is none
    with pytest.raises(errors.PrecisionError):
        pyapsp.sssp(graph, 0, method, dtype="int16", cutoff=1e9, device=device)
    assert pyapsp.sssp(graph, 2, method, dtype="int16", device=device).distances[3] == 9000
    huge = graph.with_weights([3e38] * 3)
    with pytest.raises(errors.PrecisionError, match="too large for float32"):
        pyapsp.sssp(huge, 0, method, dtype="float32", device=device)


def test_distances_below_the_range_of_their_type(device):
    graph = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [-9000] * 3)
    with pytest.raises(errors.PrecisionError, match="too large for int16"):
        pyapsp.sssp(graph, 0, dtype="int16", device=device)
    assert pyapsp.sssp(graph, 0, dtype="int32", device=device).distances[3] == -27000


@pytest.mark.parametrize("method", METHODS)
def test_weights_that_the_type_does_not_hold(method, device):
    for weights, dtype in (([0.5], "int32"), ([2**20], "int16"), ([2**60 + 1], "float64")):
        graph = Graph.from_arcs(2, [0], [1], np.array(weights))
        with pytest.raises(errors.PrecisionError):
            pyapsp.sssp(graph, 0, method, dtype=dtype, device=device)


def test_undirected_takes_the_smaller_weight(device):
    graph = Graph.from_arcs(3, [0, 1, 1], [1, 0, 2], [5, 2, 1])
    found = pyapsp.sssp(graph, 2, directed=False, device=device)
    assert found.distances.tolist() == [3, 1, 0]


def test_dtype_auto_is_the_narrowest_exact_type(device):
    found = pyapsp.sssp(GRAPH, 4, dtype="auto", device=device)
    assert found.distances.dtype == np.uint16
    held = np.where(found.distances < found.infinity, found.distances.astype(float), np.inf)
    np.testing.assert_array_equal(held, expected(GRAPH, 4))


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"source": 60}, "source"),
        ({"source": "a"}, "source"),
        ({"cutoff": -1}, "cutoff"),
        ({"cutoff": "far"}, "cutoff"),
        ({"method": "bfs-edge"}, "method"),
        ({"dtype": "int8"}, "dtype"),
        ({"memory_limit": -1}, "memory_limit"),
    ],
)
def test_arguments_outside_their_rule(arguments, parameter, device):
    with pytest.raises(errors.ParameterError, match=f"'{parameter}' parameter of sssp"):
        pyapsp.sssp(GRAPH, **{"source": 0, "device": device, **arguments})


def test_any_graph_like(device):
    matrix = np.array([[0, 7, 1], [0, 0, 0], [0, 2, 0]])
    for graph in (matrix, GRAPH.to_networkx()):
        assert pyapsp.sssp(graph, 0, device=device).distances[0] == 0
    assert pyapsp.sssp(matrix, 0, device=device).distances.tolist() == [0, 3, 1]


@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("dtype", [None, "int16", "float32"])
def test_targets(method, dtype, device):
    """What is not farther than the farthest target is there, and the rest is not."""
    graph = generators.grid_2d(14, 11, 3)
    whole = expected(graph, 30)
    options = {"dtype": dtype, "predecessors": True, "device": device}
    for targets in (31, [45], [33, 30, 5], list(range(0, 40))):
        found = pyapsp.sssp(graph, 30, method, targets=targets, **options)
        farthest = whole[np.atleast_1d(targets)].max()
        right = np.where(whole <= farthest, whole, np.inf)
        held = np.where(found.distances < found.infinity, found.distances.astype(float), np.inf)
        np.testing.assert_array_equal(held, right)
        np.testing.assert_array_equal(found.predecessors < 0, np.isinf(right) | (right == 0))
        for target in np.atleast_1d(targets)[:3].tolist():
            path = found.path(target)
            arcs = graph.to_scipy()
            length = sum(arcs[a, b] for a, b in itertools.pairwise(path))
            assert (path[0], path[-1], length) == (30, target, whole[target])
    both = pyapsp.sssp(graph, [0, 30], method, targets=[1], cutoff=5, **options)
    for row, source in zip(both.rows.distances, (0, 30), strict=True):
        near = expected(graph, source)
        near[near > 5] = np.inf
        if np.isfinite(near[1]):
            near[near > near[1]] = np.inf
        held = np.where(row < both.infinity, row.astype(float), np.inf)
        np.testing.assert_array_equal(held, near)


def test_a_target_that_cannot_be_reached_hides_nothing(device):
    graph = Graph.from_arcs(5, [0, 1, 3], [1, 2, 4], [5, 1, 1])
    found = pyapsp.sssp(graph, 0, targets=[1, 4], device=device)
    assert found.distances.tolist() == [0, 5, 6, np.inf, np.inf]
    for targets, words in (([], "at least one"), ([5], "target"), (0.5, "target")):
        with pytest.raises(errors.ParameterError, match=words):
            pyapsp.sssp(graph, 0, targets=targets, device=device)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_a_search_for_near_targets_stops_early(dtype, device):
    grid = generators.grid_2d(90, 90, 1)
    # few long arcs, so that what a search has found may be far from the shortest path
    weights = np.random.default_rng(2).choice([1, 2, 3, 90], grid.m, p=[0.3, 0.3, 0.2, 0.2])
    tails, heads, _ = grid.arcs()
    graph = Graph.from_arcs(grid.n, tails, heads, weights)
    whole = expected(graph, 0)
    for delta in (1, 64):
        method = pyapsp.method("sssp-delta-stepping", walk=0, delta=delta)
        options = {"dtype": dtype, "predecessors": True, "device": device}
        rounds = [pyapsp.sssp(graph, 0, method, **options).stats["rounds"]]
        for target in (1, 400, 3000):
            found = pyapsp.sssp(graph, 0, method, targets=[target, 2], **options)
            right = np.where(whole <= max(whole[target], whole[2]), whole, np.inf)
            held = np.where(found.distances < found.infinity, found.distances.astype(float), np.inf)
            np.testing.assert_array_equal(held, right, err_msg=str(target))
            assert ((found.predecessors < 0) == (np.isinf(right) | (right == 0))).all()
            rounds.append(found.stats["rounds"])
        # with the larger delta, the first threshold is beyond all vertices
        assert (rounds[1] < rounds[0] / 2) == (delta == 1)
