"""partition-block: a group takes a fixed number of items, and divides their units equally."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pyapsp.device import Device
from pyapsp.registry import Parameters, ParameterValues, register
from pyapsp.traversal.partitioning.technique import GROUPS, Run, Technique, narrow

__all__ = ["PartitionBlock"]


@register
class PartitionBlock(Technique):
    """The work-items of a group search the beginning of equal parts of the units of its items.

    Source: A. Davidson et al., IPDPS 2014.
    """

    id = "partition-block"
    summary = "a group divides the units of `items` items equally"
    source = "Davidson et al. 2014, doi:10.1109/IPDPS.2014.45"
    choices: ClassVar[ParameterValues] = {
        "items": (16, 64, 256, 1024, 2048, 4096, 6144),
        "group": GROUPS,
    }
    macros = ("items", "group")

    def shapes(self, device: Device) -> Iterator[Mapping[str, int | str]]:
        """Yield groups of 256 work-items, on CPUs of one."""
        for group in narrow(device, (256, 128, 64, 32, 16)):
            yield {"items": 2048, "group": group}

    def local_ints(self, parameters: Parameters) -> int:
        """Return the ints of the offsets of a group."""
        return parameters.integer("items") + 1

    def expand(self, run: Run) -> None:
        """Write the owners."""
        groups = -(-int(run.n) // run.parameters.integer("items"))
        run.launch("expansion", "partition_block", groups, run.offsets, run.owners, run.n)
