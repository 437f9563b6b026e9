"""[B]: F. Busato's thesis, 2018, chapters 3 to 7: formats, partitions of work, searches."""

from papers.source import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "busato-traversal",
    "Busato 2018, chapters 3 to 7: formats of graphs, partitions of work, searches",
    ("partition", "bfs_4k", "helix"),
)
