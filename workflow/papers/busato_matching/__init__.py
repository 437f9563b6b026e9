"""[B]: F. Busato's thesis, 2018, chapter 10: approximate subgraph isomorphism."""

from papers.source import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "busato-matching", "Busato 2018, chapter 10: approximate subgraph isomorphism, APPAGATO"
)
