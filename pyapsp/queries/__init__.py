"""Questions about few of the distances: searches whose time depends on what they reach."""

from pyapsp.queries.ranges import Within, within, within_blocks
from pyapsp.queries.targets import Pairs, distances, pairs

__all__ = ["Pairs", "Within", "distances", "pairs", "within", "within_blocks"]
