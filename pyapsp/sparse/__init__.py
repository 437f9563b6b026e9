"""Sparse all-pairs shortest paths: a block of sources at a time, in O(n N + m) device memory.

Each published algorithm is one module and one kernel file of the same name.
"""

from pyapsp.sparse.bfs_all import BfsAll
from pyapsp.sparse.dijkstra_cpu import DijkstraCpu
from pyapsp.sparse.johnson import Johnson
from pyapsp.sparse.sssp import SsspIterative, SsspTasks, SsspTasksUnshared

__all__ = ["BfsAll", "DijkstraCpu", "Johnson", "SsspIterative", "SsspTasks", "SsspTasksUnshared"]
