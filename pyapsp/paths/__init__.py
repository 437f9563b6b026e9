"""What the problems with distances share: options, methods, results, rows on devices, checks.

These problems are all pairs, single-source shortest paths and breadth-first search.
"""

from pyapsp.paths.method import (
    KEEPS,
    AllPairsMethod,
    AllPairsOptions,
    PathMethod,
    PathOptions,
    Rows,
    Weights,
    about,
    farthest,
    fits,
    sample,
    vertices,
    vertices_of,
    vertices_or_all,
)

__all__ = [
    "KEEPS",
    "AllPairsMethod",
    "AllPairsOptions",
    "PathMethod",
    "PathOptions",
    "Rows",
    "Weights",
    "about",
    "farthest",
    "fits",
    "sample",
    "vertices",
    "vertices_of",
    "vertices_or_all",
]
