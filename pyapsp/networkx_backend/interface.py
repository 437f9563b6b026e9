"""The interface that NetworkX loads: functions, conversion, and the choice of calls."""

from __future__ import annotations

from pyapsp.networkx_backend.components import (
    condensation,
    is_strongly_connected,
    number_strongly_connected_components,
    strongly_connected_components,
)
from pyapsp.networkx_backend.converted import convert_from_nx, convert_to_nx
from pyapsp.networkx_backend.fitness import can_run, should_run
from pyapsp.networkx_backend.lengths import (
    all_pairs_bellman_ford_path,
    all_pairs_bellman_ford_path_length,
    all_pairs_dijkstra,
    all_pairs_dijkstra_path,
    all_pairs_dijkstra_path_length,
    all_pairs_shortest_path,
    all_pairs_shortest_path_length,
    floyd_warshall,
    floyd_warshall_numpy,
    floyd_warshall_predecessor_and_distance,
    johnson,
)
from pyapsp.networkx_backend.measures import (
    average_shortest_path_length,
    center,
    closeness_centrality,
    diameter,
    eccentricity,
    global_efficiency,
    periphery,
    radius,
    wiener_index,
)
from pyapsp.networkx_backend.searches import (
    single_source_dijkstra,
    single_source_dijkstra_path,
    single_source_dijkstra_path_length,
    single_source_shortest_path_length,
)
from pyapsp.networkx_backend.trusses import (
    average_clustering,
    clustering,
    k_truss,
    transitivity,
    triangles,
)

__all__ = [
    "all_pairs_bellman_ford_path",
    "all_pairs_bellman_ford_path_length",
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path",
    "all_pairs_shortest_path_length",
    "average_clustering",
    "average_shortest_path_length",
    "can_run",
    "center",
    "closeness_centrality",
    "clustering",
    "condensation",
    "convert_from_nx",
    "convert_to_nx",
    "diameter",
    "eccentricity",
    "floyd_warshall",
    "floyd_warshall_numpy",
    "floyd_warshall_predecessor_and_distance",
    "global_efficiency",
    "is_strongly_connected",
    "johnson",
    "k_truss",
    "number_strongly_connected_components",
    "periphery",
    "radius",
    "should_run",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    "single_source_shortest_path_length",
    "strongly_connected_components",
    "transitivity",
    "triangles",
    "wiener_index",
]
