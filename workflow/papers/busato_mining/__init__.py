"""[B]: F. Busato's thesis, 2018, chapter 20: likely invariants of traces."""

from papers.source import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "busato-mining", "Busato 2018, chapter 20: Mangrove, likely invariants of execution traces"
)
