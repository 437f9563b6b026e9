"""Breadth-first search, shortest paths from one source, components, partitions of work.

Importing this package registers the methods. Each published algorithm is one module and one kernel
file of the same name.
"""

from pyapsp.traversal.bfs.bfs_4k import Bfs4K
from pyapsp.traversal.bfs.bfs_b40c import BfsB40C
from pyapsp.traversal.bfs.bfs_direction_optimising import BfsDirectionOptimising
from pyapsp.traversal.bfs.bfs_edge import BfsEdge
from pyapsp.traversal.bfs.bfs_frontier import BfsFrontier
from pyapsp.traversal.bfs.bfs_gunrock import BfsGunrock
from pyapsp.traversal.bfs.bfs_harish import BfsHarish
from pyapsp.traversal.bfs.bfs_luo import BfsLuo
from pyapsp.traversal.bfs.bfs_sequential import BfsSequential
from pyapsp.traversal.bfs.bfs_spmv import BfsSpmv
from pyapsp.traversal.bfs.bfs_streamed import BfsStreamed
from pyapsp.traversal.bfs.bfs_virtual_warp import BfsVirtualWarp
from pyapsp.traversal.bfs.helix import BfsHelix
from pyapsp.traversal.components.scc_colouring import SccColouring
from pyapsp.traversal.components.scc_forward_backward import SccForwardBackward
from pyapsp.traversal.components.scc_hooking import SccHooking
from pyapsp.traversal.components.scc_multi_step import SccMultiStep
from pyapsp.traversal.components.scc_tarjan import SccTarjan
from pyapsp.traversal.partitioning.partition import partition
from pyapsp.traversal.sssp.sssp_bellman_ford import SsspBellmanFord
from pyapsp.traversal.sssp.sssp_bucketing import SsspBucketing
from pyapsp.traversal.sssp.sssp_delta_stepping import SsspDeltaStepping
from pyapsp.traversal.sssp.sssp_h_bf import SsspHBf
from pyapsp.traversal.sssp.sssp_near_far import SsspNearFar

__all__ = [
    "Bfs4K",
    "BfsB40C",
    "BfsDirectionOptimising",
    "BfsEdge",
    "BfsFrontier",
    "BfsGunrock",
    "BfsHarish",
    "BfsHelix",
    "BfsLuo",
    "BfsSequential",
    "BfsSpmv",
    "BfsStreamed",
    "BfsVirtualWarp",
    "SccColouring",
    "SccForwardBackward",
    "SccHooking",
    "SccMultiStep",
    "SccTarjan",
    "SsspBellmanFord",
    "SsspBucketing",
    "SsspDeltaStepping",
    "SsspHBf",
    "SsspNearFar",
    "partition",
]
