"""partition-local-warp: a warp takes an item for each lane, and searches the owner of each unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pyapsp.device import Device
from pyapsp.device.kernels import WIDTHS
from pyapsp.registry import ParameterValues, register
from pyapsp.traversal.partitioning.technique import GROUPS, Run, Technique

__all__ = ["PartitionLocalWarp"]


@register
class PartitionLocalWarp(Technique):
    """Each lane searches the owner of a unit among the items of its warp.

    `held` says where the warp keeps its offsets.

    Source: F. Busato, N. Bombieri, TPDS 28, 2017.
    """

    id = "partition-local-warp"
    summary = "lanes search the owners of units among the `warp` items of their warp"
    source = "Busato and Bombieri 2017, doi:10.1109/TPDS.2016.2631166"
    choices: ClassVar[ParameterValues] = {
        "held": ("local", "registers"),
        "warp": WIDTHS,
        "group": GROUPS,
    }
    macros = ("held", "warp", "group")

    def shapes(self, device: Device) -> Iterator[Mapping[str, int | str]]:
        """Yield warps of 32 items, on CPUs of one."""
        warp = 1 if device.traits.scalar_groups else 32
        for group in (256, 128, 64, 32, 16, 1):
            yield {"held": "local", "warp": min(warp, group), "group": group}

    def expand(self, run: Run) -> None:
        """Write the owners."""
        run.items("expansion", "partition_local_warp", run.n, run.offsets, run.owners, run.n)
