"""NetworkX on an OpenCL device, without a change to the code that calls it.

    >>> import networkx as nx
    >>> nx.config.backend_priority = ["pyapsp"]  # or NETWORKX_BACKEND_PRIORITY=pyapsp
    >>> nx.diameter(nx.path_graph(1000))
    999

NetworkX finds this package by two entry points. Each import of NetworkX calls `get_info`, so this
module imports nothing. `pyapsp.networkx_backend.interface` is loaded with the first call that may
run here.
"""

from __future__ import annotations

__all__ = ["get_info"]

_TIES = "If several paths are equally short, another one than in NetworkX may be returned."
_SEARCHES = "Rows are computed in blocks while the result is iterated over."
_CYCLE = "A negative cycle raises NetworkXUnbounded."
_NEAREST = "Nodes are in order of distance, the nearest first."
_ONCE = "In a large graph the search stops at the target."
_CONVERTED = "Only if the graph is converted already: one search in NetworkX is faster."
_OF_A_NODE = (
    f"From or to a node: {_CONVERTED[0].lower()}{_CONVERTED[1:]} Weights must not be negative."
)
_SUMS = "Each row of distances is reduced to a few numbers; the matrix is not stored."

_PATHS = "Sums are added in a fixed order. Weights must be above zero."
_INVERSE = "Rows are computed in blocks, and each is reduced to a number."

_HOST = "Computed on the host by SciPy, not on the device."

_ALL_NODES = "The triangles of all nodes are counted, even if some are given."

_FUNCTIONS = {
    "all_pairs_bellman_ford_path": f"{_SEARCHES} {_TIES}",
    "all_pairs_bellman_ford_path_length": _SEARCHES,
    "all_pairs_dijkstra": f"{_SEARCHES} {_TIES}",
    "all_pairs_dijkstra_path": f"{_SEARCHES} {_TIES}",
    "all_pairs_dijkstra_path_length": _SEARCHES,
    "all_pairs_shortest_path": f"{_SEARCHES} {_TIES}",
    "all_pairs_shortest_path_length": _SEARCHES,
    "average_clustering": _ALL_NODES,
    "average_shortest_path_length": _SUMS,
    "barycenter": _SUMS,
    "betweenness_centrality": _PATHS,
    "center": _SUMS,
    "centroid": _SUMS,
    "closeness_centrality": _SUMS,
    "clustering": _ALL_NODES,
    "condensation": _HOST,
    "connected_components": _CONVERTED,
    "diameter": "Bounds exclude most nodes, so only a few searches are needed.",
    "dijkstra_path": f"{_CONVERTED} {_ONCE} {_TIES}",
    "dijkstra_path_length": f"{_CONVERTED} {_ONCE}",
    "eccentricity": _SUMS,
    "edge_betweenness_centrality": _PATHS,
    "floyd_warshall": _CYCLE,
    "floyd_warshall_numpy": _CYCLE,
    "floyd_warshall_predecessor_and_distance": f"{_CYCLE} {_TIES}",
    "global_efficiency": _SUMS,
    "harmonic_centrality": _INVERSE,
    "is_connected": _CONVERTED,
    "is_strongly_connected": _HOST,
    "is_weakly_connected": _CONVERTED,
    "johnson": _TIES,
    "node_connected_component": _CONVERTED,
    "local_efficiency": "The neighborhoods of many nodes are one graph, and searched at once.",
    "number_connected_components": _CONVERTED,
    "k_truss": "All edges of too little support are removed at once.",
    "number_strongly_connected_components": _HOST,
    "number_weakly_connected_components": _CONVERTED,
    "periphery": _SUMS,
    "radius": _SUMS,
    "shortest_path": f"{_OF_A_NODE} {_TIES}",
    "shortest_path_length": _OF_A_NODE,
    "single_source_dijkstra": f"{_ONCE} {_TIES}",
    "single_source_dijkstra_path": _TIES,
    "single_source_dijkstra_path_length": _NEAREST,
    "single_source_shortest_path_length": _CONVERTED,
    "strongly_connected_components": _HOST,
    "weakly_connected_components": _CONVERTED,
    "transitivity": "Only the number of all triangles is counted.",
    "triangles": _ALL_NODES,
    "voronoi_cells": f"{_CONVERTED} Of centers at one distance, the first in the graph is nearest.",
    "wiener_index": _SUMS,
}


def get_info() -> dict[str, object]:
    """Return the facts that NetworkX needs about a backend before it loads it.

    Returns
    -------
    dict
        The settings in ``default_config`` become ``nx.config.backends.pyapsp``: ``device``, as for
        `pyapsp.solve`, and ``min_nodes``. NetworkX itself computes graphs with fewer nodes, unless
        the call has ``backend="pyapsp"``.
    """
    return {
        "backend_name": "pyapsp",
        "project": "pyapsp",
        "package": "pyapsp",
        "short_summary": "All-pairs shortest paths on any OpenCL device.",
        "default_config": {"device": None, "min_nodes": 256},
        "functions": {name: {"additional_docs": docs} for name, docs in _FUNCTIONS.items()},
    }
