"""[O]: F. Okuyama's thesis, 2013, chapters 3 to 5."""

from papers.source import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "okuyama",
    "Okuyama 2013, chapters 3 to 5: searches from sources, blocked Floyd-Warshall, simulation",
    ("searches", "blocked", "flint"),
)
