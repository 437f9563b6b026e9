"""The check that the heads of each row rise, against a loop; also in blocks that threads share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from pyapsp.errors import GraphError
from pyapsp.graph import Graph, as_graph, compressed, facts, model, rows


def first_fall(starts, heads):
    begins = set(starts.tolist())
    falls = (arc for arc in range(1, heads.size) if heads[arc] <= heads[arc - 1])
    return next((arc for arc in falls if arc not in begins), None)


@pytest.mark.parametrize("large", [2**21, 10])
def test_falls_are_found(large, monkeypatch):
    monkeypatch.setattr(compressed, "_BLOCK", 7)
    monkeypatch.setattr(compressed, "_LARGE", large)
    rng, found = np.random.default_rng(0), 0
    for number in range(200):
        degrees = rng.integers(0, 5, rng.integers(0, 9))
        starts = np.concatenate([[0], np.cumsum(degrees)])
        rows = [np.sort(rng.choice(12, degree, replace=False)) for degree in degrees]
        heads = np.concatenate([*rows, []]).astype(np.int32)
        if heads.size and number % 3:
            heads[rng.integers(heads.size)] = rng.integers(12)
        expected = first_fall(starts, heads)
        for columns in (12, 9):
            inside = bool((heads < columns).all())
            assert compressed.rows(starts, heads, columns) == (inside, expected)
        found += expected is not None
    assert 20 < found < 180


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_row_pointers_that_fall_anywhere_are_refused(kind, monkeypatch):
    monkeypatch.setattr(compressed, "_BLOCK", 7)
    starts, heads, weights = np.arange(23, dtype=kind), np.zeros(22, kind), np.ones(22)
    assert (
        Graph(starts, heads, weights).m
        == as_graph(csr_array((weights, heads, starts), shape=(22, 22))).m
        == 22
    )
    for place in range(1, 22):
        falling = starts.copy()
        falling[place : place + 2] = place + 1, place
        matrix = csr_array((weights, heads, starts), shape=(22, 22))
        matrix.indptr = falling
        for refused in (lambda s=falling: Graph(s, heads, weights), lambda m=matrix: as_graph(m)):
            with pytest.raises(GraphError, match="indptr must rise"):
                refused()


@pytest.mark.parametrize("block", [7, 2**17])
def test_family_follows_the_degrees(block, monkeypatch):
    monkeypatch.setattr(compressed, "_BLOCK", block)
    rng, found = np.random.default_rng(1), []
    # from equal degrees to a few large ones
    for spread in np.linspace(0.0, 1.0, 60):
        degrees = rng.binomial(8, 0.5, 200) * (rng.random(200) < spread) + (spread < 0.5) * 2
        starts = np.concatenate([[0], np.cumsum(degrees)])
        heads = np.concatenate([np.arange(degree) for degree in degrees])
        graph = Graph(starts, heads, np.ones(heads.size))
        mesh = degrees.max() <= 8 and degrees.std() < 0.4 * degrees.mean()
        found.append(graph.family)
        assert graph.family == ("mesh" if mesh else "uniform")
    assert set(found) == {"mesh", "uniform"}
    for hub in (0, 299):
        star = Graph.from_arcs(300, [hub] * 299, np.delete(range(300), hub))
        assert star.family == "power-law"


@pytest.mark.parametrize(("hub", "looked"), [(3, [8]), (290, [8, 300])])
def test_a_vertex_of_many_arcs_ends_the_search_for_the_family(hub, looked, monkeypatch):
    monkeypatch.setattr(facts, "_SOME", 8)
    sizes, most = [], compressed.most_arcs
    monkeypatch.setattr(
        compressed, "most_arcs", lambda starts: sizes.append(starts.size - 1) or most(starts)
    )
    star = Graph.from_arcs(300, [hub] * 299, np.delete(range(300), hub))
    assert star.family == "power-law"
    assert sizes == looked


@pytest.mark.parametrize("m", [0, 5, 40, 41, 1000])
def test_the_mean_weight_is_that_of_runs(m, monkeypatch):
    monkeypatch.setattr(model, "_WEIGHTS", 40)
    monkeypatch.setattr(model, "_RUNS", 4)
    weights = np.random.default_rng(1).integers(0, 99, m)
    graph = Graph([0, *[m] * max(m, 1)], np.arange(m), weights)
    run = m // 4
    some = [weights[k * run : k * run + 10] for k in range(4)] if m > 40 else [weights]
    expected = np.concatenate(some).mean() if m else np.nan
    np.testing.assert_allclose(graph.mean_weight, expected)


def test_reverse_arcs_of_many_vertices():
    """Ends in int32, whose product does not fit into it."""
    n = 70_000
    tails = np.array([1, n - 1, n - 2, 61_356], np.int32)
    heads = np.array([n - 1, 1, n - 3, 5], np.int32)
    assert rows.has_reverse(tails, heads, n).tolist() == [True, True, False, False]
