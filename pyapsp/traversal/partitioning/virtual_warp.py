"""partition-virtual-warp: neighbouring work-items for each item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pyapsp.device import Device
from pyapsp.device.kernels import WIDTHS
from pyapsp.registry import ParameterValues, register
from pyapsp.traversal.partitioning.technique import GROUPS, Run, Technique

__all__ = ["PartitionVirtualWarp"]


@register
class PartitionVirtualWarp(Technique):
    """A virtual warp of `warp` work-items writes the units of `items` items, one after the other.

    Source: S. Hong et al., PPoPP 2011.
    """

    id = "partition-virtual-warp"
    summary = "`warp` work-items for each item"
    source = "Hong et al. 2011, doi:10.1145/1941553.1941590"
    choices: ClassVar[ParameterValues] = {
        "warp": WIDTHS,
        "items": (1, 2, 4, 8, 16, 32, 64),
        "group": GROUPS,
    }
    macros = ("warp", "items", "group")

    def shapes(self, device: Device) -> Iterator[Mapping[str, int | str]]:
        """Yield warps of 8 for an item; on CPUs warps of 1 for many items."""
        scalar = device.traits.scalar_groups
        for group in (16, 1) if scalar else (256, 128, 64, 32, 16, 1):
            warp = 1 if scalar else min(8, group)
            yield {"warp": warp, "items": 64 if scalar else 1, "group": group}

    def expand(self, run: Run) -> None:
        """Write the owners."""
        warps = -(-int(run.n) // run.parameters.integer("items"))
        items = warps * run.parameters.integer("warp")
        run.items("expansion", "partition_virtual_warp", items, run.offsets, run.owners, run.n)
