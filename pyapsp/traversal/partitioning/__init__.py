"""Techniques that divide the units of items among work-items, as the problem ``partition``.

An item owns a number of units: a vertex its arcs, a row its entries. `pyapsp.traversal.partition`
finds the owner of each unit. Importing this package registers the techniques. Each is one module
and one kernel file of the same name. Other kernels can use their parts:
``cl/traversal/partitioning/chunks.h`` for equal chunks, ``cl/common/logical_warp.h`` for scans and
searches in a group.

=========================  ====================================================  ==================
technique                  limited by                                            critical path
=========================  ====================================================  ==================
`PartitionItems`           scattered accesses, work-items of unequal length      largest item
`PartitionVirtualWarp`     the same, less; starts of groups; choice of the       largest item / warp
                           width
`PartitionDynamicWarp`     the same; for heavy items launches and a read-back    largest light item
                                                                                 / width
`PartitionCtaWarpScan`     barriers                                              largest group
`PartitionDirect`          scattered reads of offsets                            log N
`PartitionLocalWarp`       searches; warps of unequal length                     largest warp
`PartitionBlock`           scattered writes, groups of unequal length            largest group
`PartitionTwoPhase`        scattered writes, local memory                        log N + EACH
`PartitionMultiPhase`      local memory, registers                               log N + EACH ROUNDS
=========================  ====================================================  ==================
"""

from pyapsp.traversal.partitioning.block import PartitionBlock
from pyapsp.traversal.partitioning.cta_warp_scan import PartitionCtaWarpScan
from pyapsp.traversal.partitioning.direct import PartitionDirect
from pyapsp.traversal.partitioning.dynamic_warp import PartitionDynamicWarp
from pyapsp.traversal.partitioning.items import PartitionItems
from pyapsp.traversal.partitioning.local_warp import PartitionLocalWarp
from pyapsp.traversal.partitioning.multi_phase import PartitionMultiPhase
from pyapsp.traversal.partitioning.offsets import Offsets
from pyapsp.traversal.partitioning.two_phase import PartitionTwoPhase
from pyapsp.traversal.partitioning.virtual_warp import PartitionVirtualWarp

__all__ = [
    "Offsets",
    "PartitionBlock",
    "PartitionCtaWarpScan",
    "PartitionDirect",
    "PartitionDynamicWarp",
    "PartitionItems",
    "PartitionLocalWarp",
    "PartitionMultiPhase",
    "PartitionTwoPhase",
    "PartitionVirtualWarp",
]
