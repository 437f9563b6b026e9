"""Exact summaries of the distances, computed without the n x n matrix."""

from pyapsp.all_pairs.summaries.betweenness import (
    betweenness_centrality,
    edge_betweenness_centrality,
)
from pyapsp.all_pairs.summaries.farthest import diameter
from pyapsp.all_pairs.summaries.harmonic import harmonic_centrality
from pyapsp.all_pairs.summaries.sums import (
    average_shortest_path_length,
    closeness_centrality,
    distance_histogram,
    eccentricity,
    radius,
    wiener_index,
)

__all__ = [
    "average_shortest_path_length",
    "betweenness_centrality",
    "closeness_centrality",
    "diameter",
    "distance_histogram",
    "eccentricity",
    "edge_betweenness_centrality",
    "harmonic_centrality",
    "radius",
    "wiener_index",
]
