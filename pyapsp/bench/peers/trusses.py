"""Packages that count triangles and find trusses."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from pyapsp.bench.peers.peer import Peer, Prepared
from pyapsp.graph import Graph
from pyapsp.trusses.counts import Counts, TriangleOptions
from pyapsp.trusses.decomposition import Trussness, TrussOptions
from pyapsp.trusses.products import adjacency, triangles_by_products, trussness_by_products
from pyapsp.trusses.simple import edges

if TYPE_CHECKING:
    import networkit

__all__ = ["PEERS"]


def _scipy_triangles(graph: Graph, options: TriangleOptions) -> Prepared:
    matrix = adjacency(graph)
    return lambda: triangles_by_products(matrix), _counts


def _igraph_triangles(graph: Graph, options: TriangleOptions) -> Prepared:
    prepared = graph.to_igraph().simplify()

    def counts(triangles: list[tuple[int, int, int]]) -> Counts:
        corners = np.array(triangles, np.int64).reshape(-1)
        return _counts(np.bincount(corners, minlength=graph.n))

    return prepared.list_triangles, counts


def _networkit_triangles(graph: Graph, options: TriangleOptions) -> Prepared:
    import networkit

    (tails, heads, _), chosen = graph.arcs(), edges(graph)
    ends = tails[chosen].astype(np.uint64), heads[chosen].astype(np.uint64)
    arcs = np.ones(ends[0].size), ends
    prepared = networkit.GraphFromCoo(arcs, n=graph.n, weighted=False, directed=False)
    degrees = np.bincount(np.concatenate(ends).astype(np.int64), minlength=graph.n)

    def call() -> networkit.centrality.LocalClusteringCoefficient:
        return networkit.centrality.LocalClusteringCoefficient(prepared, turbo=True).run()

    def counts(coefficients: networkit.centrality.LocalClusteringCoefficient) -> Counts:
        pairs = np.array(coefficients.scores()) * (degrees * (degrees - 1) / 2)
        return _counts(np.rint(pairs).astype(np.int64))

    return call, counts


def _counts(of_vertices: np.ndarray) -> Counts:
    return Counts(total=int(of_vertices.sum()) // 3, per_vertex=of_vertices)


def _scipy_truss(graph: Graph, options: TrussOptions) -> Prepared:
    matrix = adjacency(graph)
    return (
        lambda: trussness_by_products(graph, matrix, options.k),
        lambda values: Trussness(values=values),
    )


def _networkx_truss(graph: Graph, options: TrussOptions) -> Prepared:
    import networkx as nx

    tails, heads, chosen = *(each.astype(np.int64) for each in graph.arcs()[:2]), edges(graph)
    prepared = nx.Graph()
    prepared.add_edges_from(zip(tails[chosen].tolist(), heads[chosen].tolist(), strict=True))

    def call() -> list[tuple[int, list[tuple[int, int]]]]:
        trusses, left = [], prepared
        for k in itertools.count(3) if options.k is None else (options.k,):
            left = nx.k_truss(left, k)  # trusses are nested
            if not left.size():
                break
            trusses.append((k, list(left.edges)))
        return trusses

    def answer(trusses: list[tuple[int, list[tuple[int, int]]]]) -> Trussness:
        places, is_edge = tails * graph.n + heads, tails != heads
        values = np.where(is_edge & (options.k in (None, 2)), 2, 0).astype(np.int32)
        for k, ends in trusses:
            pairs = np.array(ends, np.int64).T
            for low, high in (pairs, pairs[::-1]):
                values[np.searchsorted(places, low * graph.n + high)] = k
        return Trussness(values=values)

    return call, answer


PEERS = (
    Peer(
        "scipy", "int64", "products of scipy.sparse arrays", _scipy_triangles, problem="triangles"
    ),
    Peer("igraph", "int64", "igraph.Graph.list_triangles", _igraph_triangles, problem="triangles"),
    Peer(
        "networkit",
        "int64",
        "networkit.centrality.LocalClusteringCoefficient",
        _networkit_triangles,
        problem="triangles",
    ),
    Peer(
        "scipy", "int32", "a loop of products of scipy.sparse arrays", _scipy_truss, problem="truss"
    ),
    Peer("networkx", "int32", "networkx.k_truss for every k", _networkx_truss, problem="truss"),
)
