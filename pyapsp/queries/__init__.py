"""Questions about few of the distances: searches whose time depends on what they reach."""

from pyapsp.queries.access import accessibility, reach
from pyapsp.queries.cells import Nearest, nearest
from pyapsp.queries.ranges import Within, within, within_blocks
from pyapsp.queries.targets import Pairs, distances, pairs

__all__ = [
    "Nearest",
    "Pairs",
    "Within",
    "accessibility",
    "distances",
    "nearest",
    "pairs",
    "reach",
    "within",
    "within_blocks",
]
