"""Analytics on a container and on compressed sparse rows, after updates, against other packages."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas
import pytest
from scipy.sparse import csgraph

from pyapsp.dynamic import Hornet, analytics
from pyapsp.dynamic.calls import Run
from pyapsp.dynamic.rows import HornetRows
from pyapsp.errors import GraphError, ParameterError, PrecisionError
from pyapsp.graph import Graph


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def pair(request, device, form):
    """A container after updates and the same graph, with a hub and vertices that are deleted."""
    random = np.random.default_rng(8)
    held = Hornet(400, directed=request.param, weight="float32", block_array=64, device=device)
    held.insert_edges(*random.integers(0, 400, (2, 500)), random.random(500))
    held.insert_edges(np.full(400, 7), np.arange(400), 2.5, duplicates="update")
    held.delete_edges(*random.integers(0, 400, (2, 3000)))
    held.delete_vertices(random.integers(0, 400, 30))
    return held, held.to_graph()


@pytest.mark.every(2)
def test_both_hold_the_same_rows(pair, device):
    held, graph = pair
    csr = analytics.CsrRows(graph, device=device)
    matrix = held.to_csr()
    x = np.random.default_rng(1).random(400).astype(np.float32)
    for rows in (held, csr):
        assert np.allclose(analytics.spmv(rows, x), matrix @ x, rtol=1e-5)
        dense = np.full((400, 400), np.inf)
        dense[matrix.nonzero()] = matrix.data
        least = (dense + x[None, :]).min(axis=1)
        assert np.allclose(analytics.spmv(rows, x, semiring="min-plus"), least, rtol=1e-6)
        levels = csgraph.dijkstra(matrix, unweighted=True, indices=7)
        levels[np.isinf(levels)] = -1
        source = int(held.vertices[0])
        for start, right in ((7, levels), (source, None)):
            if right is None:
                right = csgraph.dijkstra(matrix, unweighted=True, indices=start)
                right[np.isinf(right)] = -1
            assert (analytics.bfs(rows, start) == right).all()
        _, labels = csgraph.connected_components(matrix, directed=False)
        least_of = np.full(labels.max() + 1, 400)
        np.minimum.at(least_of, labels, np.arange(400))
        assert (analytics.connected_components(rows) == least_of[labels]).all()


@pytest.mark.every(2)
def test_ranks(pair, device):
    held, _ = pair
    matrix = held.to_csr()
    there = held.vertices
    graph = nx.DiGraph(zip(*matrix.nonzero(), strict=True))
    graph.add_nodes_from(there.tolist())
    right = nx.pagerank(graph, tol=1e-9, weight=None)
    found = analytics.pagerank(held)
    assert found.sum() == pytest.approx(1, abs=1e-4)
    assert np.allclose(found[there], [right[vertex] for vertex in there], rtol=1e-3, atol=1e-7)
    gone = np.setdiff1d(np.arange(400), there)
    assert (found[gone] == 0).all()
    for _ in range(5):
        assert (analytics.pagerank(HornetRows(held)) == found).all()


def test_katz(pair, device):
    held, _ = pair
    matrix, there = held.to_csr(), held.vertices
    graph = nx.DiGraph(zip(*matrix.nonzero(), strict=True))
    graph.add_nodes_from(there.tolist())
    right = nx.katz_centrality(graph, alpha=0.02, tol=1e-9, weight=None)
    found = analytics.katz(held, alpha=0.02)
    assert np.allclose(found[there], [right[vertex] for vertex in there], rtol=1e-4)
    assert (np.delete(found, there) == 0).all()
    assert (analytics.katz(HornetRows(held), alpha=0.02) == found).all()
    assert analytics.katz(Hornet(0, device=device)).size == 0
    for wrong in ({"alpha": 10.0}, {"alpha": 0.02, "limit": 2}):
        with pytest.raises(ParameterError, match="settle"):
            analytics.katz(held, **wrong)
    with pytest.raises(ParameterError, match="beta"):
        analytics.katz(held, beta=-1)


def test_katz_reads_ranks_once(pair, monkeypatch):
    held, _ = pair
    counts, fetch = [], Run.fetch
    monkeypatch.setattr(
        Run, "fetch", lambda run, *given: counts.append(given[1]) or fetch(run, *given)
    )
    analytics.katz(held, alpha=0.02)
    assert counts.count(held.n) == 1


def test_whole_numbers(device):
    graph = Graph.from_arcs(4, [0, 0, 1], [1, 2, 2], [5, 7, -3])
    for rows in (graph, Hornet.from_graph(graph, device=device)):
        x = np.array([1, 2, 2**31 - 1, 4], np.int32)
        none = 2**31 - 1
        assert analytics.spmv(rows, x, semiring="min-plus").tolist() == [7, none, none, none]
        assert analytics.spmv(rows, x.astype(np.int64)).tolist() == [
            10 + 7 * (2**31 - 1),
            -3 * (2**31 - 1),
            0,
            0,
        ]


@pytest.mark.every(2)
@pytest.mark.parametrize("directed", [True, False])
def test_weights_of_half_precision(directed, device, form):
    """A half is only loaded: arithmetic with it is an extension of OpenCL."""
    random = np.random.default_rng(4)
    ends, weights = random.integers(0, 90, (2, 600)), random.integers(1, 512, 600) / 4
    narrow, wide = (
        Hornet(90, directed=directed, weight=kind, block_array=64, device=device)
        for kind in ("float16", "float32")
    )
    for held in (narrow, wide):
        held.insert_edges(*ends, weights)
    csr = analytics.CsrRows(wide.to_graph(), weight="float16", device=device)
    x = random.random(90).astype(np.float32)
    for rows in (narrow, csr):
        assert (analytics.bfs(rows, 3) == analytics.bfs(wide, 3)).all()
        for semiring in analytics.SEMIRINGS:
            right = analytics.spmv(wide, x, semiring=semiring)
            assert np.allclose(analytics.spmv(rows, x, semiring=semiring), right, rtol=1e-5)
        with pytest.raises(ParameterError, match="integer weights"):
            analytics.distances(rows, 3)


def test_arguments(device):
    held = Hornet(3, device=device)
    with pytest.raises(GraphError, match="3 vertices"):
        analytics.spmv(held, [1.0, 2])
    with pytest.raises(ParameterError, match="one of plus-times, min-plus"):
        analytics.spmv(held, [1.0, 2, 3], semiring="max")
    with pytest.raises(ParameterError, match="float32"):
        analytics.spmv(held, ["a", "b", "c"])
    with pytest.raises(ParameterError, match="source"):
        analytics.bfs(held, 3)
    with pytest.raises(ParameterError, match="tolerance"):
        analytics.pagerank(held, tolerance=-1)
    assert analytics.pagerank(held).tolist() == pytest.approx([1 / 3] * 3)
    assert analytics.pagerank(Hornet(0, device=device)).size == 0
    assert analytics.connected_components(held).tolist() == [0, 1, 2]


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", [">i4", ">u8", ">f4", ">f2"])
def test_weights_in_the_byte_order_of_others(device, kind):
    held = Hornet(3, weight=kind, edge_properties={"at": ">i4"}, device=device)
    held.insert_edges([0, 1], [1, 2], [258, 5], properties={"at": [258, 1]})
    assert held.row(0)["weight"].tolist() == held.row(0)["at"].tolist() == [258]
    x = np.array([1, 2, 3], ">f4")
    for rows in (held, analytics.CsrRows(held.to_graph(), weight=kind, device=device)):
        assert analytics.spmv(rows, x).tolist() == [516, 15, 0]
        if "f" not in kind:
            assert analytics.distances(rows, 0).tolist() == [0, 258, 263]


@pytest.mark.every(2)
def test_weights_that_give_no_lengths(device, form):
    """Not even a negative cycle goes on for ever."""
    for weights in ([3, -2, 1], [1, -5, 1]):
        held = Hornet(3, weight="int32", device=device)
        held.insert_edges([0, 1, 2], [1, 2, 0], weights)
        with pytest.raises(PrecisionError, match="negative"):
            analytics.distances(held, 0)
    far = Graph.from_arcs(4, [0, 1, 0], [1, 2, 2], [2**31 - 4, 3, 7])
    assert analytics.distances(far, 0).tolist() == [0, 2**31 - 4, 7, -1]
    for kind in ("int32", "int64", "uint64"):
        held = Hornet(4, weight=kind, device=device)
        held.insert_edges([0, 1, 2], [1, 2, 3], [2**31 - 4, 3, 0])
        with pytest.raises(PrecisionError, match="2\\^31"):
            analytics.distances(held, 0)
        assert analytics.distances(held, 1).tolist() == [-1, 0, 3, 3]


def test_sums_that_integers_do_not_hold(device):
    graph = Graph.from_arcs(3, [0, 1, 1], [1, 2, 0], [2**31 - 2, 5, 6])
    x = np.array([1, 2**31 - 2, 2**31 - 3], np.int32)
    assert analytics.spmv(graph, x, semiring="min-plus").tolist() == [2**31 - 1, 7, 2**31 - 1]
    half = Graph.from_arcs(3, [0], [1], [1.5])
    for rows in (half, Hornet.from_graph(half, device=device)):
        with pytest.raises(ParameterError, match="of floats, as the weights are"):
            analytics.spmv(rows, x)


def forms(graph, device):
    """The graph as compressed rows and as a container."""
    return analytics.CsrRows(graph, device=device), Hornet.from_graph(graph, device=device)


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("degree", [3, 100, 5000])
@pytest.mark.parametrize("sign", [1, -1])
def test_products_add_up_to_the_largest_integer_and_no_further(device, form, kind, degree, sign):
    """Also in long rows, whose terms are divided between work-items."""
    most = np.iinfo(kind).max
    x = np.full(degree + 1, sign * (most // degree), kind)
    x[1] += sign * (most % degree)
    graph = Graph.from_arcs(degree + 1, np.zeros(degree, int), np.arange(1, degree + 1))
    signs = np.where(np.arange(degree) % 2, 1, -1)
    for weights in (np.ones(degree, int), signs):
        expected = sum(w * v for w, v in zip(weights.tolist(), x[1:].tolist(), strict=True))
        for rows in forms(graph.with_weights(weights), device):
            assert analytics.spmv(rows, x).tolist() == [expected] + [0] * degree
            beyond = x.copy()
            beyond[2] += sign
            with pytest.raises(PrecisionError, match=f"may not fit into {kind}"):
                analytics.spmv(rows, beyond)


@pytest.mark.every(6)
@pytest.mark.parametrize("kind", ["uint64", "int64", "int8", "uint8", "bool"])
def test_products_with_weights_of_other_types(device, form, kind):
    """Weights need not fit into the type of the vector where nothing is multiplied."""
    most = int(np.iinfo(kind).max) if kind != "bool" else 1
    held = Hornet(3, weight=kind, device=device)
    held.insert_edges([0, 0], [1, 2], np.array([most, 1], kind))
    both = [held]
    if kind != "uint64":  # a Graph has no such weights
        both.append(analytics.CsrRows(held.to_graph(), weight=kind, device=device))
    for rows in both:
        for dtype in (np.int32, np.int64):
            assert analytics.spmv(rows, np.array([1, 0, -7], dtype)).tolist() == [-7, 0, 0]
            x, right = np.array([1, 9, -7], dtype), 9 * most - 7
            if 9 * most + 7 <= np.iinfo(dtype).max:
                assert analytics.spmv(rows, x).tolist() == [right, 0, 0]
            else:
                with pytest.raises(PrecisionError, match="may not fit"):
                    analytics.spmv(rows, x)


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_least_sums_of_integers(device, form, kind):
    most = int(np.iinfo(kind).max)
    cases = [
        (most, 0, most),  # infinity
        (5, most - 6, most - 1),
        (5, most - 5, most),
        (-5, -most + 5, -most),
        (-5, -most + 4, None),
        (-5, 3, -2),
        (3, -5, -2),
        (-5, most, most),
    ]
    if kind == "int32":
        # weights of int64 that do not fit
        cases += [(2**40, 3, most), (2**40, -3, None), (-(2**40), 3, None), (-(2**40), most, most)]
    for weight, value, expected in cases:
        graph = Graph.from_arcs(2, [0], [1], [weight])
        x = np.array([0, value], kind)
        for rows in forms(graph, device):
            if expected is None:
                with pytest.raises(PrecisionError, match=f"may not fit into {kind}"):
                    analytics.spmv(rows, x, semiring="min-plus")
            else:
                found = analytics.spmv(rows, x, semiring="min-plus")
                assert found.tolist() == [expected, most], (weight, value)


def test_weights_of_rows_that_a_type_cannot_hold(device):
    graph = Graph.from_arcs(3, [0], [1], [1.5])
    for weights, kind in (([1.5], "int32"), ([300], "int8"), ([1e-300], "float32")):
        with pytest.raises(ParameterError, match="can hold"):
            analytics.CsrRows(graph.with_weights(weights), weight=kind, device=device)
    with pytest.raises(ParameterError, match="can hold"):
        Hornet(3, weight="float32", device=device).insert_edges([0], [1], [1e-300])


def test_searches_without_weights_do_not_ask_for_one(device):
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, 2.5, "length")
    assert analytics.bfs(graph, 0).tolist() == [0, 1, 2, 3]
    assert analytics.connected_components(graph).tolist() == [0] * 4
    with pytest.raises(GraphError, match="give the name of the weight"):
        analytics.distances(graph, 0)


def test_the_weight_has_a_name_where_weights_are_used(device):
    """As the error says that asks for it."""
    graph = nx.path_graph(4, nx.DiGraph)
    nx.set_edge_attributes(graph, 2, "length")
    for weight, step in (("length", 2), (lambda *edge: 3, 3), (None, 1)):
        assert analytics.distances(graph, 0, weight=weight).tolist() == [step * k for k in range(4)]
        assert analytics.spmv(graph, np.ones(4), weight=weight).tolist() == [step] * 3 + [0]
    for rows in (Hornet(4, device=device), analytics.CsrRows(Graph.from_arcs(4, [0], [1]))):
        for call in (
            lambda rows=rows: analytics.distances(rows, 0, weight="length"),
            lambda rows=rows: analytics.spmv(rows, np.ones(4), weight=None),
        ):
            with pytest.raises(ParameterError, match=r"'weight'.* absent for what has its weights"):
                call()


def test_a_vector_of_pandas_is_in_the_order_of_the_vertices(device):
    edges = pandas.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "weight": [1, 1]})
    for x in (pandas.Series([1.0, 2, 4]), pandas.Series({"a": 1.0, "b": 2, "c": 4})):
        assert analytics.spmv(edges, x).tolist() == [2, 4, 0]
    for x in (pandas.Series({"c": 1.0, "b": 2, "a": 4}), pandas.Series([1.0, 2, 4], [2, 1, 0])):
        with pytest.raises(ParameterError, match=r"'x' .* order of the vertices"):
            analytics.spmv(edges, x)
    held = Hornet.from_graph(edges, device=device)
    with pytest.raises(ParameterError, match=r"'x' .* order of the vertices"):
        analytics.spmv(held, pandas.Series([1.0, 2, 4], [2, 1, 0]))
