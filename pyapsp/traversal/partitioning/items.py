"""partition-items: a work-item for each item."""

from __future__ import annotations

from typing import ClassVar

from pyapsp.registry import ParameterValues, register
from pyapsp.traversal.partitioning.technique import GROUPS, Run, Technique

__all__ = ["PartitionItems"]


@register
class PartitionItems(Technique):
    """A work-item writes the units of an item, one after the other.

    Source: P. Harish, P. J. Narayanan, HiPC 2007.
    """

    id = "partition-items"
    summary = "a work-item for each item"
    source = "Harish and Narayanan 2007, doi:10.1007/978-3-540-77220-0_21"
    choices: ClassVar[ParameterValues] = {"group": GROUPS}

    def expand(self, run: Run) -> None:
        """Write the owners."""
        run.items("expansion", "partition_items", run.n, run.offsets, run.owners, run.n)
