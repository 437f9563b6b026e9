"""Questions about few of the distances: searches whose time depends on what they reach."""

from pyapsp.queries.ranges import Within, within, within_blocks

__all__ = ["Within", "within", "within_blocks"]
