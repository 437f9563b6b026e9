"""Questions about few of the distances: searches whose time depends on what they reach."""

from pyapsp.queries.access import accessibility, reach
from pyapsp.queries.cells import Nearest, nearest
from pyapsp.queries.ranges import Within, within, within_blocks
from pyapsp.queries.ranked import RankedPaths, yen
from pyapsp.queries.targets import Pairs, distances, pairs
from pyapsp.queries.tied import (
    AllPaths,
    all_shortest_paths,
    count_shortest_paths,
    shortest_path_dag,
)

__all__ = [
    "AllPaths",
    "Nearest",
    "Pairs",
    "RankedPaths",
    "Within",
    "accessibility",
    "all_shortest_paths",
    "count_shortest_paths",
    "distances",
    "nearest",
    "pairs",
    "reach",
    "shortest_path_dag",
    "within",
    "within_blocks",
    "yen",
]
