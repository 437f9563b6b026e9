"""[T]: D. Takafuji's thesis, 2020, chapters 3 and 4."""

from papers.source import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "takafuji",
    "Takafuji 2020, chapters 3 and 4: blocked Floyd-Warshall in one launch, on packed words, "
    "for many graphs; bulk execution",
    ("blocked", "diameter", "batches", "bulk"),
)
