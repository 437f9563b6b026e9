"""[O]: F. Okuyama's thesis, 2013, chapters 3 and 4."""

from pyapsp.papers.source import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "okuyama",
    "Okuyama 2013, chapters 3 and 4: searches from sources, iterative blocked Floyd-Warshall",
    ("searches", "blocked"),
)
