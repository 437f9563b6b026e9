"""[B]: F. Busato's thesis, 2018, chapters 17 to 19: dynamic graphs, Hornet, k-truss."""

from papers.source import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "busato-dynamic", "Busato 2018, chapters 17 to 19: formats of dynamic graphs, Hornet, k-truss"
)
