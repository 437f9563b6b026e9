"""Representations of graphs: each has the arcs of the graph, and the bytes that it says."""

from __future__ import annotations

import numpy as np
import pytest
from papers.reading import READ, Reader
from papers.representations import FORMATS, csr_m_on_device, pitch, represent

from pyapsp.errors import GraphError
from pyapsp.graph import Graph, generators

GRAPHS = {
    "random": generators.random_graph(37, seed=3),
    "undirected": Graph.from_arcs(9, [0, 0, 5, 8], [1, 5, 7, 0], [4, 3, 2, 9], directed=False),
    "fractions": Graph.from_arcs(3, [0, 2], [1, 0], [0.5, 2.25]),
    "wide": Graph.from_arcs(3, [0, 2], [1, 0], [2**40, 1]),
    "no arcs": Graph.from_arcs(4, [], []),
    "no vertices": Graph.from_arcs(0, [], []),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("of", GRAPHS)
def test_every_format_has_the_arcs(name, of):
    graph = GRAPHS[of]
    if name == "half coo" and graph.directed:
        with pytest.raises(GraphError, match="undirected"):
            represent(graph, name)
        return
    found = represent(graph, name)
    tails, heads, _ = graph.arcs()
    np.testing.assert_array_equal(found.arcs(), [tails, heads])
    assert found.bytes == sum(array.nbytes for array in found.arrays.values())


def test_the_bytes_are_those_of_the_orders():
    graph, undirected = GRAPHS["random"], GRAPHS["undirected"]
    n, m = graph.n, graph.m
    expected = {
        "matrix": n * n,
        "weighted matrix": 4 * n * n,
        "pitched matrix": 4 * n * 64,
        "csr": 4 * (n + 1 + m),
        "weighted csr": 4 * (n + 1 + 2 * m),
        "csr of records": 4 * (n + 1 + 2 * m),
        "csr and reverse": 8 * (n + 1 + m),
        "csr-m": 4 * (2 * n + m),
        "coo": 8 * m,
        "coo of records": 12 * m,
    }
    assert {name: represent(graph, name).bytes for name in expected} == expected
    assert represent(undirected, "half coo").bytes == 4 * undirected.m
    assert set(FORMATS) == {*expected, "half coo"}


def test_weights_are_kept():
    for of in ("random", "fractions", "wide"):
        graph = GRAPHS[of]
        for name in ("csr of records", "coo of records"):
            np.testing.assert_array_equal(
                represent(graph, name).arrays["arcs"]["weight"], graph.weights
            )
    matrix = represent(GRAPHS["fractions"], "pitched matrix").arrays["weights"]
    assert matrix.shape == (3, 32)
    assert matrix[2, :3].tolist() == [2.25, np.inf, 0]


def test_the_pitch():
    assert [pitch(n, 4) for n in (1, 32, 33, 100)] == [32, 32, 64, 128]
    assert pitch(100, 1) == 128


def test_large_matrices_are_refused():
    large = Graph.from_arcs(2**15 + 1, [0], [1])
    with pytest.raises(GraphError, match="at most 32,768"):
        represent(large, "matrix")


@pytest.mark.parametrize("of", GRAPHS)
def test_csr_m_is_built_on_the_device(of, device):
    made, right = csr_m_on_device(GRAPHS[of], device), represent(GRAPHS[of], "csr-m")
    for name, array in right.arrays.items():
        np.testing.assert_array_equal(made.arrays[name], array)


WEIGHTED = ("weighted matrix", "pitched matrix", "weighted csr", "csr of records", "coo of records")
NONE = 2**31 - 1


def least(graph, name, x):
    """Return the least x + weight over the arcs of each vertex."""
    best = [NONE] * graph.n
    for tail, head, weight in zip(*(each.tolist() for each in graph.arcs()), strict=True):
        if tail != head or "matrix" not in name or name == "matrix":
            best[tail] = min(best[tail], x[head] + (weight if name in WEIGHTED else 1))
    return best


@pytest.mark.every(4)
@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("of", ["random", "undirected", "loop"])
def test_kernels_read_every_format(device, of, name):
    graph = {**GRAPHS, "loop": Graph.from_arcs(3, [0, 2], [1, 2], [4, 6])}[of]
    if name == "half coo" and graph.directed:
        graph = graph.symmetrized()
    reader = Reader(device, represent(graph, name))
    x = np.random.default_rng(5).integers(0, 50, graph.n, np.int32)
    assert reader.relax(x)[0].tolist() == least(graph, name, x.tolist())
    pairs = np.argwhere(np.ones((graph.n, graph.n)))
    found = reader.has(pairs.astype(np.int32))[0]
    ends = {(tail, head) for tail, head in zip(*graph.arcs()[:2], strict=True)}
    if "matrix" in name and name != "matrix":
        ends = {(tail, head) for tail, head in ends if tail != head}
    assert 0 < len(ends) < len(pairs)
    assert {tuple(pair) for pair in pairs[found].tolist()} == ends


@pytest.mark.parametrize("group", [2, 16])
def test_items_share_the_row_of_a_matrix(device, group):
    graph = GRAPHS["random"]
    x = np.arange(graph.n, 0, -1, dtype=np.int32)
    found, _ = Reader(device, represent(graph, "pitched matrix"), group).relax(x)
    assert found.tolist() == least(graph, "pitched matrix", x.tolist())


@pytest.mark.parametrize("name", sorted(WEIGHTED))
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_kernels_read_whole_weights_of_four_bytes(device, name, dtype):
    weights = np.array([2**40, 1] if dtype is np.int64 else [2.5, 1], dtype)
    graph = Graph.from_arcs(3, [0, 2], [1, 0], weights)
    with pytest.raises(GraphError, match="int32"):
        Reader(device, represent(graph, name))
