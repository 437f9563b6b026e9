"""Decide which calls can run here, and which are likely faster here.

NetworkX itself runs a call in three cases: if its results for these weights differ (None, Fraction,
float32), if sums here would be rounded, or if the graph has fewer nodes than ``min_nodes``, so that
it would not be faster here. Integer weights give integer distances.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import networkx as nx
import numpy as np

from pyapsp.networkx_backend import (
    centrality,
    components,
    efficiencies,
    lengths,
    measures,
    searches,
    trusses,
)
from pyapsp.networkx_backend.converted import ConvertedGraph, weights_of

__all__ = ["can_run", "function", "should_run"]

# Functions that use Dijkstra's order, so that no weight may be negative.
_DIJKSTRA = {
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "dijkstra_path",
    "dijkstra_path_length",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    *centrality.__all__,
}
# Functions that search once, in about the time that the conversion of the graph takes.
_SEARCHED_ONCE = {
    "connected_components",
    "dijkstra_path",
    "dijkstra_path_length",
    "is_connected",
    "is_weakly_connected",
    "node_connected_component",
    "number_connected_components",
    "number_weakly_connected_components",
    "single_source_shortest_path_length",
    "voronoi_cells",
    "weakly_connected_components",
}
# Functions that search once if a node is given.
_OF_A_NODE = {"shortest_path", "shortest_path_length"}
# Functions that count paths: of arcs of length 0, there may be infinitely many.
_COUNTED = {"betweenness_centrality", "edge_betweenness_centrality"}
# Functions of eccentricities.
_OF_FARTHEST = {"center", "diameter", "eccentricity", "periphery", "radius"}
# Functions that compare sums: the second is the name of the first before NetworkX 3.7.
_CENTROIDS = {"centroid", "barycenter"}
# Whole numbers up to here are floats without rounding; sums of a row are in 64 bits.
_EXACT, _LARGEST = 2**53, 2**63


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return whether a call can run here with the results of NetworkX, or why not.

    Parameters
    ----------
    name : str
        Name of the function.
    args, kwargs : tuple, dict
        Its arguments, with a graph of NetworkX or one that was converted.

    Returns
    -------
    bool or str
    """
    try:
        call = _call(name, args, kwargs)
    except TypeError as error:  # NetworkX has bound the arguments: this one is newer
        return f"{name} has another signature here: {error}"
    graph = call["G"]
    weight = call.get("weight", call.get("distance"))
    if callable(weight):
        return "a weight function would have to be called for every edge"
    if call.get("sp") is not None or call.get("e") is not None:
        return "the distances are given: there is nothing to compute"
    if call.get("attr") is not None:
        return "the sums of distances would have to be stored in the nodes"
    if call.get("scc") is not None:
        return "the components are given: there is nothing to compute"
    if name in _OF_FARTHEST and len(graph) == 0:
        return "the answer for the null graph depends on the version of NetworkX"
    if name in trusses.__all__:
        return _unfit_for_triangles(call) or True
    cutoff = call.get("cutoff")
    number = isinstance(cutoff, int | float) and not isinstance(cutoff, bool)
    if not (cutoff is None or (number and cutoff >= 0)):
        return "the cutoff is no number from zero up"
    if name in _COUNTED and call["k"] == 0:
        return "no node is searched from"
    if name == "centroid" and not hasattr(nx, "centroid"):
        return "before NetworkX 3.7, centroids are those of trees"
    if name == "edge_betweenness_centrality" and graph.is_multigraph():
        return "parallel edges share their betweenness"
    of_trees = name in _CENTROIDS or (name == "center" and not call["usebounds"])
    if of_trees and weight is None and _may_be_tree(graph):
        return "the center of a tree is found without distances"
    try:
        weights = _weights(graph, weight)
    except NotImplementedError as error:
        return str(error)
    return _unfit(name, call, weights) or True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return whether a call that can run here is likely to be faster, or why not.

    Parameters and values are those of `can_run`.
    """
    call = _call(name, args, kwargs)
    graph = call["G"]
    least = nx.config.backends.pyapsp.min_nodes
    if len(graph) < least:
        return f"{len(graph)} nodes are fewer than the setting min_nodes={least}"
    once = name in _SEARCHED_ONCE or _is_of_a_node(name, call)
    if once and not _is_converted(graph):
        return "one search takes less time than the conversion of the graph"
    return True


def _call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by their names."""
    bound = inspect.signature(function(name)).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def _is_of_a_node(name: str, call: Mapping[str, Any]) -> bool:
    """Return whether a call for all pairs or for a node is for a node."""
    ends = call.get("source"), call.get("target")
    return name in _OF_A_NODE and any(end is not None for end in ends)


def _is_converted(graph: nx.Graph | ConvertedGraph) -> bool:
    """Return whether the graph is converted, or NetworkX has a conversion in its cache."""
    backends = getattr(graph, "__networkx_cache__", {}).get("backends", {})
    return isinstance(graph, ConvertedGraph) or bool(backends.get("pyapsp"))


def function(name: str) -> Callable[..., object]:
    """Return the function of this package with a name of NetworkX."""
    modules = lengths, measures, centrality, searches, components, trusses, efficiencies
    module = next(each for each in modules if name in each.__all__)
    named: Callable[..., object] = getattr(module, name)
    return named


def _weights(graph: nx.Graph | ConvertedGraph, weight: Hashable | None) -> np.ndarray:
    if isinstance(graph, ConvertedGraph):
        return graph.weighted(weight).weights
    return weights_of(graph, weight)[0]


def _may_be_tree(graph: nx.Graph | ConvertedGraph) -> bool:
    return not graph.is_directed() and graph.number_of_edges() == max(len(graph) - 1, 0)


def _unfit_for_triangles(call: Mapping[str, Any]) -> str | None:
    """Return why triangles are not counted as NetworkX does, or None if they are."""
    if call["G"].is_directed():
        return "triangles with directions are of several kinds"
    if call["G"].is_multigraph():
        return "NetworkX counts no triangles with parallel edges"
    if call.get("weight") is not None:
        return "triangles would have to be weighted"
    if not isinstance(call.get("k", 2), int):
        return "k is no integer"
    return None


def _unfit(name: str, call: Mapping[str, Any], weights: np.ndarray) -> str | None:
    """Return why a function cannot use the weights, or None if it can."""
    if weights.size == 0:
        return None
    if name in _COUNTED and weights.min() <= 0:
        return "shortest paths are counted, and a weight is not above zero"
    sums, method, n = name in measures.__all__, call.get("method"), len(call["G"])
    searched = name in _DIJKSTRA or ((sums or name in _OF_A_NODE) and method in (None, "dijkstra"))
    if searched and weights.min() < 0:
        return "Dijkstra's algorithm is undefined for the negative weights"
    if _is_of_a_node(name, call) and weights.min() < 0:
        return "a negative cycle that the node does not reach is no error"
    longest = float(np.abs(weights).max()) * max(n - 1, 1)
    if sums and weights.dtype.kind == "i" and longest * n >= _LARGEST:
        return "the sum of the distances from a node may not fit into 64 bits"
    if name in _CENTROIDS and weights.dtype.kind == "f" and np.any(weights % 1):
        return "sums are rounded, and decide which nodes have the least"
    if sums and weights.dtype.kind == "f" and longest >= _EXACT:
        return "distances may be so large that sums are rounded"
    return None if math.isfinite(longest) else "distances may be infinite"
