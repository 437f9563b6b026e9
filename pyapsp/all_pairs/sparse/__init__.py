"""Sparse all-pairs shortest paths: blocks of N sources, in O(n N + m) device memory.

Each published algorithm is one module and one kernel file of the same name.
"""

from pyapsp.all_pairs.sparse.apsp_bfs import ApspBfs
from pyapsp.all_pairs.sparse.dijkstra_cpu import DijkstraCpu
from pyapsp.all_pairs.sparse.johnson import Johnson
from pyapsp.all_pairs.sparse.ms_bfs import MsBfs
from pyapsp.all_pairs.sparse.near_far import NearFar
from pyapsp.all_pairs.sparse.scattering import ApspIterative, ApspTasks, ApspTasksUnshared

__all__ = [
    "ApspBfs",
    "ApspIterative",
    "ApspTasks",
    "ApspTasksUnshared",
    "DijkstraCpu",
    "Johnson",
    "MsBfs",
    "NearFar",
]
