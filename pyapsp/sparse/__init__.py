"""Sparse all-pairs shortest paths: blocks of N sources, in O(n N + m) device memory.

Each published algorithm is one module and one kernel file of the same name.
"""

from pyapsp.sparse.apsp_bfs import ApspBfs
from pyapsp.sparse.dijkstra_cpu import DijkstraCpu
from pyapsp.sparse.johnson import Johnson
from pyapsp.sparse.ms_bfs import MsBfs
from pyapsp.sparse.near_far import NearFar
from pyapsp.sparse.scattering import ApspIterative, ApspTasks, ApspTasksUnshared

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
