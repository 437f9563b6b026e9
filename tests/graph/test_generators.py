"""The generators: what they promise, and that a seed always gives the same graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from pyapsp.errors import ParameterError
from pyapsp.graph import Graph, families
from pyapsp.graph.generators import (
    complete,
    connected_graph,
    grid_2d,
    path,
    power_law,
    random_graph,
    ring,
    rmat,
    small_world,
    star,
)

MAKERS: dict[str, Callable[[int], Graph]] = {
    "random": lambda seed: random_graph(50, seed=seed),
    "rmat": lambda seed: rmat(6, seed=seed),
    "ring": lambda seed: ring(50, seed=seed),
    "path": lambda seed: path(50, seed=seed),
    "star": lambda seed: star(50, seed=seed),
    "complete": lambda seed: complete(12, seed=seed),
    "grid": lambda seed: grid_2d(5, 7, seed=seed),
    "small-world": lambda seed: small_world(50, 6, 0.3, seed=seed),
    "connected": lambda seed: connected_graph(50, 60, seed=seed),
    "power-law": lambda seed: power_law(50, seed=seed),
}
PINNED = {
    "random": "63750cedaf6676e1",
    "rmat": "87da276ca4394016",
    "ring": "e7c24c0f1003a992",
    "path": "fdabb822680c7583",
    "star": "47f6fcb1ca18cd38",
    "complete": "51e75bc85f49ef39",
    "grid": "5d59f37651fa8051",
    "small-world": "bf3779caf176ee0f",
    "connected": "79a64ca94dfdd379",
    "power-law": "e1e69ccd4cca91a4",
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_seed_gives_the_same_graph(kind: str) -> None:
    first, second, other = (MAKERS[kind](seed) for seed in (1, 1, 2))
    assert first == second
    assert first != other
    assert first.content_hash[:16] == PINNED[kind]


@pytest.mark.parametrize("kind", MAKERS)
def test_common_promises(kind: str) -> None:
    graph = MAKERS[kind](5)
    tails, heads, weights = graph.arcs()
    assert (tails != heads).all()
    assert weights.dtype == np.int64
    assert weights.min() >= 1
    assert kind == "grid" or weights.max() <= graph.n
    assert graph.name
    assert graph.directed == (kind not in ("path", "star", "grid", "small-world", "connected"))


@pytest.mark.parametrize(
    ("n", "m", "expected"),
    [(0, None, 0), (1, None, 0), (2, None, 2), (5, None, 20), (100, None, 400), (10, 0, 0)]
    + [(10, m, m) for m in (1, 44, 45, 46, 89, 90)],
)
def test_random_graph_has_m_distinct_arcs(n: int, m: int | None, expected: int) -> None:
    graph = random_graph(n, m, seed=3)
    assert (graph.n, graph.m) == (n, expected)


def test_random_graph_is_uniform() -> None:
    counts = sum(random_graph(6, 12, seed=seed).to_dense(no_arc=0) > 0 for seed in range(2000))
    off_diagonal = counts[~np.eye(6, dtype=bool)]
    # each of the 30 arcs is in 12/30 of the graphs: 800 of 2000, standard deviation 22
    assert (np.diag(counts) == 0).all()
    assert abs(off_diagonal - 800).max() < 5 * 22


@pytest.mark.parametrize("max_weight", [1, 7])
def test_weights_cover_their_range(max_weight: int) -> None:
    for graph in (
        random_graph(60, max_weight=max_weight),
        rmat(6, max_weight=max_weight),
        ring(60, max_weight),
        path(60, max_weight),
        star(60, max_weight),
        complete(12, max_weight),
        small_world(60, max_weight=max_weight),
        connected_graph(60, max_weight=max_weight),
        power_law(60, max_weight=max_weight),
    ):
        assert np.unique(graph.weights).tolist() == list(range(1, max_weight + 1))


def test_ring_and_complete() -> None:
    assert [ring(n).m for n in (0, 1, 2, 3)] == [0, 0, 2, 3]
    assert [complete(n).m for n in (0, 1, 2, 9)] == [0, 0, 2, 72]
    assert ring(4).indices.tolist() == [1, 2, 3, 0]


def test_path_and_star() -> None:
    assert [path(n).m for n in (0, 1, 2, 9)] == [star(n).m for n in (0, 1, 2, 9)] == [0, 0, 2, 16]
    assert path(4).indices.tolist() == [1, 0, 2, 1, 3, 2]
    assert star(4).indices.tolist() == [1, 2, 3, 0, 0, 0]


def test_rmat_is_skewed_and_bounded() -> None:
    graph = rmat(9, 8, seed=1)
    assert graph.n == 512
    assert 512 * 8 * 0.6 < graph.m <= 512 * 8
    degrees = np.sort(np.diff(graph.indptr))[::-1]
    uniform = np.sort(np.diff(random_graph(512, graph.m, seed=1).indptr))[::-1]
    assert degrees[:26].sum() > 2 * uniform[:26].sum()
    # without skew it is an ordinary random graph
    flat = np.diff(rmat(9, 8, 0.25, 0.25, 0.25, seed=1).indptr)
    assert flat.max() < degrees[0] / 2
    assert rmat(0).m == rmat(3, 0).m == 0
    # all arcs in the upper right quadrant at every step: 0 -> n - 1 before the shuffle
    assert rmat(4, 4, 0, 1, 0).m == 1
    # a sum of 1 up to rounding is a sum of 1
    assert rmat(4, 4, 0.7, 0.1, 0.2 + 1e-16).m > 0


def test_grid_is_a_grid_of_streets() -> None:
    graph = grid_2d(4, 6, seed=1)
    tails, heads, _ = graph.arcs()
    assert (graph.n, graph.m) == (24, 2 * (2 * 24 - 4 - 6))
    assert set(np.abs(tails - heads).tolist()) == {1, 6}
    steps = abs(tails // 6 - heads // 6) + abs(tails % 6 - heads % 6)
    assert (steps == 1).all()
    large = grid_2d(40, 40).weights
    assert 110 < large.mean() < 130
    assert 30 < large.min() < 70
    assert 160 < large.max() < 260
    assert np.unique(large).size > 50
    assert (grid_2d(1, 1).n, grid_2d(1, 1).m) == (1, 0)


@pytest.mark.parametrize(("n", "k"), [(0, 0), (1, 0), (3, 2), (10, 4), (11, 10), (200, 8)])
@pytest.mark.parametrize("p", [0.0, 0.2, 1.0])
def test_small_world_keeps_the_number_of_edges(n: int, k: int, p: float) -> None:
    graph = small_world(n, k, p, seed=2)
    assert (graph.n, graph.m) == (n, n * k)
    assert graph.is_symmetric


def test_small_world_rewires_a_share_p() -> None:
    def near(p: float) -> float:
        tails, heads, _ = small_world(1000, 6, p, seed=1).arcs()
        distance = np.abs(tails - heads)
        return float((np.minimum(distance, 1000 - distance) <= 3).mean())

    assert near(0) == 1
    assert 0.66 < near(0.3) < 0.74
    assert near(1) < 0.02


@pytest.mark.parametrize("n", range(10))
def test_connected_graph_is_one(n: int) -> None:
    for edges in range(max(n - 1, 0), n * (n - 1) // 2 + 1):
        graph = connected_graph(n, edges, seed=edges)
        assert (graph.n, graph.m) == (n, 2 * edges)
        assert graph.is_symmetric
        assert n == 0 or connected_components(graph.to_scipy())[0] == 1
    assert connected_graph(n).m == 2 * min(2 * n, n * (n - 1) // 2)


def test_edges_beside_the_tree_are_uniform() -> None:
    counts = np.zeros((6, 6))
    for seed in range(2000):
        counts += connected_graph(6, 8, max_weight=1, seed=seed).to_dense(no_arc=0)
    upper = counts[np.triu_indices(6, 1)]
    # each of the 15 edges is in 8/15 of the graphs: 1067 of 2000, standard deviation 22
    assert abs(upper - 16000 / 15).max() < 5 * 22


def test_power_law_has_the_degrees_of_the_thesis() -> None:
    graph = power_law(4677, 16384)
    degrees = np.diff(graph.indptr)
    assert (graph.m, degrees.max(), degrees.min()) == (16384, 834, 0)
    assert np.mean(degrees <= 3) == pytest.approx(0.84, abs=0.005)
    # heads are uniform
    assert np.bincount(graph.indices).max() < 20
    # places of a ranking on logarithmic scales: a line
    ranked = np.sort(degrees)[::-1]
    slopes = np.diff(np.log(ranked[[0, 9, 99, 999]])) / np.log(10)
    assert slopes == pytest.approx([-0.82] * 3, abs=0.05)


@pytest.mark.parametrize(
    ("n", "m", "largest"),
    [(0, 0, 0), (1, 0, 0), (2, 1, 1), (2, 2, 1), (40, 40, 39), (40, 1560, 39), (40, 41, 40 // 2)],
)
def test_power_law_has_m_distinct_arcs(n: int, m: int, largest: int) -> None:
    graph = power_law(n, m, largest, seed=4)
    assert (graph.n, graph.m) == (n, m)
    assert np.diff(graph.indptr).max(initial=0) == largest
    tails, heads, _ = graph.arcs()
    assert len(set(zip(tails.tolist(), heads.tolist(), strict=True))) == m
    assert (tails != heads).all()
    assert [power_law(n).m for n in (0, 1, 2, 3, 50)] == [0, 0, 2, 6, 200]


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: connected_graph(5, 3), "edges"),
        (lambda: connected_graph(5, 11), "edges"),
        (lambda: connected_graph(-1), "n"),
        (lambda: power_law(5, 3, 4), "m"),
        (lambda: power_law(5, 9, 1), "m"),
        (lambda: power_law(5, 5, 5), "max_degree"),
        (lambda: random_graph(-1), "n"),
        (lambda: random_graph(3, 7), "m"),
        (lambda: random_graph(3, 2.5), "m"),
        (lambda: random_graph(3, max_weight=0), "max_weight"),
        (lambda: random_graph(3, seed=-1), "seed"),
        (lambda: random_graph("x"), "n"),
        (lambda: rmat(31), "scale"),
        (lambda: rmat(3, -1), "edge_factor"),
        (lambda: rmat(3, a=1.5), "a"),
        (lambda: rmat(3, a=0.5, b=0.4, c=0.2), "c"),
        (lambda: ring(-1), "n"),
        (lambda: path(-1), "n"),
        (lambda: star(2.5), "n"),
        (lambda: complete(2.0), "n"),
        (lambda: grid_2d(0, 3), "rows"),
        (lambda: grid_2d(3, 0), "columns"),
        (lambda: small_world(5, 3), "k"),
        (lambda: small_world(5, 6), "k"),
        (lambda: small_world(5, 2, 1.1), "p"),
        (lambda: small_world(5, 2, None), "p"),
    ],
)
def test_parameters_are_checked(make: Callable[[], Graph], parameter: str) -> None:
    with pytest.raises(ParameterError, match=f"^The '{parameter}' parameter of "):
        make()


def test_a_family_that_is_none() -> None:
    with pytest.raises(ParameterError, match=r"one of uniform, power-law, mesh\. Got 'road'"):
        families.draw("road", 100, 0)
    drawn = [families.draw(each, 100, 0) for each in families.FAMILIES]
    assert len({graph.name for graph in drawn}) == len(drawn)
