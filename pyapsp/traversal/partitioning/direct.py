"""partition-direct: a search for each unit."""

from __future__ import annotations

from typing import ClassVar

from pyapsp.registry import ParameterValues, register
from pyapsp.traversal.partitioning.technique import GROUPS, Run, Technique

__all__ = ["PartitionDirect"]


@register
class PartitionDirect(Technique):
    """A work-item for each unit searches its owner among all offsets.

    Source: F. Busato, N. Bombieri, TPDS 28, 2017.
    """

    id = "partition-direct"
    summary = "a work-item for each unit searches its owner"
    source = "Busato and Bombieri 2017, doi:10.1109/TPDS.2016.2631166"
    choices: ClassVar[ParameterValues] = {"group": GROUPS}

    def expand(self, run: Run) -> None:
        """Write the owners."""
        arrays = run.offsets, run.owners
        run.items("expansion", "partition_direct", run.units, *arrays, run.n, run.units)
