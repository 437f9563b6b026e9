"""Matches of device and reference: equal, valid, with the cost of the definition."""

from __future__ import annotations

import collections
import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

import pyapsp
from pyapsp.errors import CapabilityError, DeviceMemoryError, GraphError, ParameterError
from pyapsp.matching import Network, match, match_many, probabilities
from pyapsp.matching.chains import run_chains
from pyapsp.matching.options import MOST_MATCHES, options_of
from tests.matching.conftest import network, part

TARGET = network(300, 900, 4, 1)


def cost(query, target, partners, similarity=None):
    """The cost by its definition."""
    paid = 0.0
    for q, t in enumerate(partners):
        if t < 0:
            paid += 1
        elif similarity is not None:
            paid += 1 - similarity[q, t]
        else:
            paid += query.labels[q] != target.labels[t]
    edges = {frozenset(edge) for edge in target.edges.tolist()}
    for p, q in query.edges.tolist():
        paid += frozenset((partners[p], partners[q])) not in edges or min(partners[[p, q]]) < 0
    return paid / (query.n + query.m)


def expected_probabilities(query, target, similarity, levels, degrees, scores):
    """Phase 1 by its definition."""
    small, large = query.to_networkx(), target.to_networkx()
    near, far = (dict(nx.all_pairs_shortest_path_length(each)) for each in (small, large))

    def suits(u, x):
        return similarity[u, x] > 0 and (not degrees or small.degree(u) <= large.degree(x))

    found = np.zeros((query.n, target.n))
    for q, t in itertools.product(small, large):
        arcs = matchable = 0
        for level in range(1, levels + 1):
            there = [
                (x, y) for x in large if far[t].get(x) == level - 1 for y in large[x]
            ]  # the arcs of the level
            for u in (u for u in small if near[q].get(u) == level - 1):
                for v in small[u]:
                    arcs += level
                    matchable += level * any(suits(u, x) and suits(v, y) for x, y in there)
        found[q, t] += similarity[q, t] * ("label" in scores)
        found[q, t] += (small.degree(q) <= large.degree(t)) * ("degree" in scores)
        found[q, t] += (matchable / arcs if arcs else 0) * ("bfs" in scores)
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.every(6)
@pytest.mark.parametrize(
    ("levels", "degrees", "scores", "given"),
    [
        (1, True, ("label", "degree", "bfs"), False),
        (2, False, ("label", "degree", "bfs"), False),
        (2, True, ("label", "bfs"), True),
        (3, True, ("degree", "bfs"), False),
        (4, False, ("label", "degree", "bfs"), True),
    ],
)
def test_probabilities_are_those_of_the_definition(levels, degrees, scores, given, group, device):
    target, query = network(30, 45, 3, 2), network(6, 9, 3, 5)
    random = np.random.default_rng(levels)
    equal = (query.labels[:, None] == target.labels).astype(float)
    similarity = random.random(equal.shape) * (random.random(equal.shape) < 0.4) if given else equal
    options = {
        "levels": levels,
        "edge_degrees": degrees,
        "scores": scores,
        "similarity": similarity if given else None,
    }
    expected = expected_probabilities(query, target, similarity, levels, degrees, scores)
    found = probabilities(query, target, device=device, **options)
    assert np.allclose(found, expected, atol=1e-5)
    assert np.allclose(found.sum(axis=1), 1)
    assert np.array_equal(found, probabilities(query, target, method="reference", **options))


# every pair of values of two options is in a row
OPTIONS = [
    {"order": "random", "guided": False, "strict": False, "rounds": 0, "focus": 1, "levels": 1},
    {"order": "random", "guided": True, "strict": True, "rounds": 3, "focus": 2.5, "levels": 2},
    {"order": "connected", "guided": False, "strict": True, "rounds": 0, "focus": 64, "levels": 3},
    {"order": "connected", "guided": True, "strict": False, "rounds": 3, "focus": 1, "levels": 3},
    {"order": "random", "guided": False, "strict": False, "rounds": 3, "focus": 64, "levels": 2},
    {"order": "connected", "guided": False, "strict": True, "rounds": 3, "focus": 2.5, "levels": 1},
    {"order": "random", "guided": True, "strict": True, "rounds": 0, "focus": 64, "levels": 1},
    {"order": "connected", "guided": True, "strict": False, "rounds": 0, "focus": 2.5, "levels": 2},
]


@pytest.mark.every(5)
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_device_and_reference_find_the_same(options, given, group, device):
    queries = [part(TARGET, 12, 3), network(40, 60, 5, 4), network(5, 1, 9, 6), network(1, 0, 4, 7)]
    similarity = None
    if given:
        random = np.random.default_rng(8)
        shapes = [(query.n, TARGET.n) for query in queries]
        similarity = [random.random(each) * (random.random(each) < 0.2) for each in shapes]
    options = {**options, "matches": 8, "similarity": similarity, "seed": 2**63 + 5}
    found = match_many(queries, TARGET, device=device, **options)
    expected = match_many(queries, TARGET, method="reference", **options)
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert np.array_equal(one.partners, other.partners)
        assert np.array_equal(one.units, other.units)
        matrix = similarity[number] if given else None
        for row, paid in zip(one.partners, one.costs, strict=True):
            assert np.unique(row[row >= 0]).size == (row >= 0).sum() > 0
            assert paid == pytest.approx(cost(one.query, TARGET, row, matrix), abs=1e-5)
            if options["strict"]:
                # all but the seed are similar
                assert (one.node_similarities()[0][one.partners[0] >= 0] == 0).sum() <= 1


def test_a_query_is_found_alone_as_among_others(device):
    queries = [part(TARGET, nodes, nodes) for nodes in (3, 40, 9)]
    together = match_many(queries, TARGET, 10, device=device, seed=4)
    # a limit that makes a call of each query
    sliced = match_many(queries, TARGET, 10, device=device, seed=4, memory_limit=250_000)
    for query, one, other in zip(queries, together, sliced, strict=True):
        alone = match(query, TARGET, 10, device=device, seed=4)
        assert np.array_equal(alone.partners, one.partners)
        assert np.array_equal(alone.partners, other.partners)
    with pytest.raises(DeviceMemoryError, match="40 nodes"):
        match(queries[1], TARGET, 10, device=device, memory_limit=50_000)


def test_the_seed_decides(device):
    query = part(TARGET, 12, 1)
    found = [match(query, TARGET, 20, device=device, seed=seed, rounds=0) for seed in (1, 1, 2)]
    assert np.array_equal(found[0].partners, found[1].partners)
    assert not np.array_equal(found[0].partners, found[2].partners)


def test_matches_are_different_and_the_best_stay(group, device):
    queries = [part(TARGET, nodes, nodes) for nodes in (4, 8, 16)]
    plain = match_many(queries, TARGET, 40, device=device, distinct=False, seed=6)
    found = match_many(queries, TARGET, 40, device=device, seed=6)
    expected = match_many(queries, TARGET, 40, method="reference", seed=6)
    assert min(each.distinct for each in plain) < 0.95
    for query, one, other, before in zip(queries, found, expected, plain, strict=True):
        assert one.distinct == 1
        assert one.units.min() == before.units.min()
        # a chain keeps the match that no earlier chain has
        kept = np.sort(np.unique(before.partners, axis=0, return_index=True)[1])
        assert np.array_equal(one.partners[kept], before.partners[kept])
        for row, paid in zip(one.partners, one.costs, strict=True):
            assert paid == pytest.approx(cost(query, TARGET, row))
        assert np.array_equal(one.partners, other.partners)
        assert np.array_equal(one.units, other.units)
        # neither other queries nor K change the first matches
        alone = match(query, TARGET, 15, device=device, seed=6)
        assert np.array_equal(alone.partners, one.partners[:15])
        again = match(query, TARGET, 15, device=device, seed=7)
        assert not np.array_equal(alone.partners, again.partners)


@pytest.mark.parametrize("method", ["device", "reference"])
def test_a_target_with_few_matches_has_each_of_them(method, device):
    triangle = Network.from_edges([(0, 1), (1, 2), (0, 2)], "aab")
    for query, matches in (
        (triangle, 6),  # all permutations
        (Network.from_edges(np.zeros((0, 2), int), "a"), 3),
        (Network.from_edges([(0, 1)], "ab"), 6),
    ):
        found = match(query, triangle, 50, method=method, device=device)
        assert found.order.size == matches
        assert match(query, triangle, 1, method=method, device=device).distinct == 1


def matches_of_all_draws(query, target, first):
    """Each match of the published search with its probability, by going through all draws.

    `first` has the probability of each pair to be the first one. All labels are alike, and target
    vertices that no node can have are drawn only where there is no other.
    """
    small, large = query.to_networkx(), target.to_networkx()
    found = collections.Counter()

    def grow(match, probability):
        nodes = [q for q in small if q not in match and any(p in match for p in small[q])]
        if not nodes:
            found[tuple(match[q] for q in sorted(match))] += probability
            return
        used = set(match.values())
        beside = sorted({t for each in used for t in large[each]} - used)
        for q in nodes:
            agree = [
                sum((p in small[q]) == (s in large[t]) for p, s in match.items()) for t in beside
            ]
            weights = agree if any(agree) else [1] * len(beside)
            for t, weight in zip(beside, weights, strict=True):
                if weight:
                    part = weight / sum(weights) / len(nodes)
                    grow({**match, q: t}, probability * part)

    for (q, t), probability in np.ndenumerate(first):
        if probability:
            grow({q: t}, probability / query.n)
    return found


@pytest.mark.parametrize(
    "edges", [[(0, 1), (1, 2), (0, 2), (2, 3)], [(0, 1), (1, 2), (2, 3)]], ids=["tail", "path"]
)
def test_matches_are_as_frequent_as_an_enumeration_says(edges):
    """All three phases of the reference, as the thesis has them, without its code."""
    query = Network.from_edges(edges, ["a"] * 4)
    ends = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 0), (4, 5)]
    target = Network.from_edges(ends, ["a"] * 6)
    options = {"published": True, "method": "reference", "seed": 3}
    found = match(query, target, 20_000, **options).partners
    seen = collections.Counter(map(tuple, found.tolist()))
    alike = np.ones((query.n, target.n))
    first = expected_probabilities(query, target, alike, 2, True, ("label", "degree", "bfs"))
    expected = matches_of_all_draws(query, target, first)
    assert sum(expected.values()) == pytest.approx(1)
    assert seen.keys() <= expected.keys()
    chances = np.array([20_000 * each for each in expected.values()])
    counts, often = np.array([seen[each] for each in expected]), chances >= 20
    assert often.sum() > 50
    # the others are one class
    classes = [np.append(each[often], each[~often].sum()) for each in (counts, chances)]
    filled = classes[1] > 0
    assert chisquare(*(each[filled] for each in classes)).pvalue > 0.001


def test_chains_of_equal_matches_run_again():
    matches, calls = [np.zeros((3, 2), np.int32)], []

    def run(work, stream, options):
        calls.append((work.tolist(), stream))
        for _, chain in work:
            # nodes without a partner have different negative numbers
            matches[0][chain] = [chain if stream else 7, -1 - chain % 2]

    run_chains(matches, options_of({"matches": 3}), run)
    assert calls == [([[0, 0], [0, 1], [0, 2]], 0), ([[0, 1], [0, 2]], MOST_MATCHES)]


@pytest.mark.parametrize("nodes", [4, 16, 64])
def test_exact_queries_are_found(nodes, device):
    target = network(2000, 5000, 16, 9)
    queries = [part(target, nodes, seed) for seed in range(4)]
    for found in match_many(queries, target, device=device):
        assert found.units.min() == 0


def test_a_query_with_labels_of_its_own_is_found_in_its_place(device):
    target = Network.from_edges(TARGET.edges, range(TARGET.n))
    query = part(target, 20, 3)
    found = match(query, target, 5, device=device)
    assert found.best == {node: node for node in query.vertices.tolist()}
    # the published search, too: every draw has one candidate with the label
    published = match(query, target, 50, device=device, published=True, strict=True)
    own = target.labels[published.partners] == query.labels
    assert (own | (published.partners < 0)).sum(axis=1).min() >= query.n - 1


def test_the_published_search_is_the_default_without_its_additions(device):
    query = part(TARGET, 12, 1)
    found = match(query, TARGET, 50, device=device, published=True)
    plain = {"focus": 1, "guided": False, "order": "random", "rounds": 0, "distinct": False}
    same = match(query, TARGET, 50, device=device, **plain)
    assert np.array_equal(found.partners, same.partners)
    assert found.distinct > 0.9
    assert match(query, TARGET, 50, device=device).costs.mean() < found.costs.mean() / 2


def test_a_node_without_a_similar_vertex(device):
    query = Network.from_edges([(0, 1), (1, 2)], [*TARGET.labels[:1].tolist(), "other", "0"])
    strict = match(query, TARGET, 30, device=device, strict=True)
    free = match(query, TARGET, 30, device=device)
    seeded = strict.partners[:, 1] >= 0  # a seed is any pair
    assert seeded.sum() < 15
    assert (free.partners >= 0).all()


# edges and labels of a query -> the only match of cost 0
COMPONENTS = [
    ([(0, 1), (2, 3)], "0123", [0, 1, 2, 3]),
    ([(1, 2)], "x01", [6, 0, 1]),
    ([], "30x7", [3, 0, 6, 4]),
    ([(0, 1), (1, 2), (3, 4)], "32817", [3, 2, 5, 1, 4]),
]


@pytest.mark.every(2)
@pytest.mark.parametrize("options", [{}, {"strict": True}, {"published": True}])
@pytest.mark.parametrize(("edges", "labels", "partners"), COMPONENTS)
def test_every_component_of_a_query_is_matched(edges, labels, partners, options, group, device):
    target = Network.from_edges([(0, 1), (1, 4), (4, 5), (5, 2), (2, 3), (5, 6)], "012378x")
    query = Network.from_edges(edges, labels)
    for method in ("device", "reference"):
        found = match(query, target, 100, method=method, device=device, **options)
        assert found.costs.min() == 0
        assert list(found.best.values()) == partners
        # by similarities instead of labels
        given = (query.labels[:, None] == target.labels).astype(float)
        found = match(query, target, 100, method=method, device=device, similarity=given, **options)
        assert (found.costs.min(), list(found.best.values())) == (0, partners)


def test_exact_queries_of_several_components_are_found(device):
    target = network(2000, 5000, 16, 9)
    one, other = part(target, 12, 1), part(target, 5, 2)
    assert not set(one.vertices) & set(other.vertices)
    edges = np.concatenate([one.edges, other.edges + one.n])
    query = Network.from_edges(edges, [*one.labels, *other.labels, target.labels[0]])
    found = match(query, target, device=device, seed=1)
    again = match(query, target, method="reference", seed=1)
    assert np.array_equal(found.partners, again.partners)
    assert found.costs.min() == 0


def test_components_beyond_the_target(device):
    """All vertices of the target get a node, or nodes get all similar vertices if strict."""
    query = Network.from_edges([(0, 1), (2, 3)], "00000")
    small = Network.from_edges([(0, 1), (1, 2)], "001")
    for options, most in (({}, {3}), ({"strict": True}, {2, 3})):
        one, other = (
            match(query, small, 30, method=method, device=device, **options)
            for method in ("device", "reference")
        )
        assert np.array_equal(one.partners, other.partners)
        assert set((one.partners >= 0).sum(axis=1).tolist()) <= most


def test_graphs_of_networkx(device):
    graph = nx.Graph([("a", "b"), ("b", "c")])
    with pytest.raises(GraphError, match="node 'a' has no attribute 'label'"):
        pyapsp.match(graph, TARGET, device=device)
    nx.set_node_attributes(graph, {"a": "0", "b": "1", "c": "2"}, "label")
    found = pyapsp.match(graph, TARGET.to_networkx(), 5, device=device)
    assert set(found.best) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"matches": 0}, "'matches'.*from 1 to 1048576.*0"),
        ({"matches": 2.5}, "'matches'"),
        ({"levels": 9}, "'levels'.*from 1 to 8"),
        ({"scores": ()}, "'scores'"),
        ({"scores": ("labels",)}, "'scores'.*label, degree, bfs"),
        ({"focus": 0.5}, "'focus'.*from 1 to 1024"),
        ({"focus": float("nan")}, "'focus'"),
        ({"order": "best"}, "'order'"),
        ({"rounds": -1}, "'rounds'"),
        ({"seed": 2**64}, "'seed'"),
        ({"strict": 1}, "'strict'"),
        ({"distinct": "yes"}, "'distinct'"),
        ({"depth": 3}, "among matches, levels, .*'depth'"),
        ({"method": "gpu"}, "'method'"),
        ({"memory_limit": 0}, "'memory_limit'"),
        ({"threshold": 0.1}, "'threshold'.*without similarities"),
        ({"similarity": np.ones((2, 3))}, "'similarity'.*shape"),
        ({"similarity": np.full((3, 300), 1.5)}, r"entry \(0, 0\).*1.5"),
        ({"similarity": "abc"}, "'similarity'"),
        ({"similarity": np.ones((3, 300)), "threshold": 0}, "'threshold'"),
        ({"similarity": np.ones((3, 300)), "threshold": "a"}, "'threshold'"),
        ({"similarity": np.ma.array(np.ones((3, 300)), mask=True)}, "'similarity'.*masked"),
        ({"similarity": np.full((3, 300), 1j)}, "'similarity'.*real numbers"),
        ({"focus": "a"}, "'focus'.*'a'"),
        ({"published": "no"}, "'published'"),
        ({"memory_limit": 2.5}, "'memory_limit'"),
    ],
)
def test_wrong_arguments_are_named(options, message, device):
    query = Network.from_edges([(0, 1)], "010")
    with pytest.raises(ParameterError, match=message):
        match(query, TARGET, **{"device": device, **options})


def test_a_large_query_is_refused(device):
    with pytest.raises(CapabilityError, match="512 nodes"):
        match(network(513, 600, 2, 1), TARGET, device=device)
    with pytest.raises(ParameterError, match=r"'target'.*a Network"):
        match(TARGET, 3, device=device)
    assert match_many([], TARGET, device=device) == []


def test_a_threshold_keeps_the_most_similar(device):
    query = Network.from_edges([(0, 1)], "01")
    matrix = np.linspace(0, 0.5, 2 * TARGET.n).reshape(2, -1)
    found = match(query, TARGET, 5, similarity=matrix, threshold=0.01, device=device)
    kept = found.similarity > 0
    assert kept.sum(axis=1).tolist() == [3, 3]
    assert kept[:, -3:].all()
    assert found.similarity.max(axis=1).tolist() == [65536, 65536]


def test_the_smallest_similarity_is_not_zero(device):
    pair = Network.from_edges([(0, 1)], "ab")
    found = match(Network.from_edges([], "a"), pair, 1, similarity=[[1e-9, 0]], device=device)
    assert found.similarity.tolist() == [[1, 0]]


@pytest.mark.parametrize("method", ["device", "reference"])
def test_labels_are_equal_as_python_compares_them(method, device):
    """1 is 1.0 and not "1"; the right vertex is the only one of cost 0."""
    target = Network.from_edges([(0, 1), (1, 2), (2, 3)], [1, "1", 2, "2"])
    for label, vertex in ((1, 0), ("1", 1), (1.0, 0), (np.int16(2), 2), ("2", 3)):
        query = Network.from_edges([], [label])
        found = match(query, target, 4, method=method, device=device)
        assert (found.best, found.costs.min()) == ({0: vertex}, 0)
        assert np.array_equal(found.node_similarities(), found.partners == vertex)
        p = probabilities(query, target, method=method, device=device)
        assert p.argmax() == vertex
    pair = Network.from_edges([(0, 1)], ["1", 2])
    assert match(pair, target, 4, method=method, device=device).best == {0: 1, 1: 2}
    third = Network.from_edges([(0, 1)], [3, 1])
    assert match(third, target, 4, method=method, device=device).costs.min() > 0


def test_labels_that_differ_in_their_type_alone(device):
    texts = Network.from_edges([(0, 1), (1, 2)], ["1", "2", "3"])
    for search in (match, probabilities):
        with pytest.raises(GraphError, match="label 1 of the query and '1' of the target"):
            search(Network.from_edges([(0, 1)], [1, 9]), texts, device=device)
        search(Network.from_edges([(0, 1)], [1, "2"]), texts, device=device)
        search(Network.from_edges([(0, 1)], [7, 8]), texts, device=device)
    # similarities do not look at labels
    match(Network.from_edges([], [1]), texts, similarity=np.ones((1, 3)), device=device)


def test_similarities_of_pandas_are_in_the_order_of_the_vertices(device):
    query = Network.from_edges([(0, 1)], "XY", vertices=["p", "q"])
    target = Network.from_edges([(0, 1), (1, 2)], "ABC", vertices=["a", "b", "c"])
    values = pd.DataFrame([[1, 0, 0], [0, 1, 0]], ["p", "q"], ["a", "b", "c"], float)
    best = {"p": "a", "q": "b"}
    for same in (values, values.to_numpy(), values.reset_index(drop=True)):
        assert match(query, target, similarity=same, device=device).best == best
    for other in (values.loc[["q", "p"]], values[["c", "b", "a"]]):
        with pytest.raises(ParameterError, match=r"'similarity' .* in the order of the vertices"):
            match(query, target, similarity=other, device=device)
