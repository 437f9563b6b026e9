"""Breadth-first search, shortest paths from one source, strongly connected components.

Importing this package registers the methods. Each published algorithm is one module and one kernel
file of the same name.
"""

from pyapsp.traversal.bfs_direction_optimising import BfsDirectionOptimising
from pyapsp.traversal.bfs_edge import BfsEdge
from pyapsp.traversal.bfs_harish import BfsHarish
from pyapsp.traversal.bfs_spmv import BfsSpmv
from pyapsp.traversal.bfs_virtual_warp import BfsVirtualWarp
from pyapsp.traversal.scc import SccForwardBackward
from pyapsp.traversal.sssp_bellman_ford import SsspBellmanFord
from pyapsp.traversal.sssp_near_far import SsspNearFar

__all__ = [
    "BfsDirectionOptimising",
    "BfsEdge",
    "BfsHarish",
    "BfsSpmv",
    "BfsVirtualWarp",
    "SccForwardBackward",
    "SsspBellmanFord",
    "SsspNearFar",
]
