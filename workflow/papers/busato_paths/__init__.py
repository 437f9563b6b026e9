"""[B]: F. Busato's thesis, 2018, chapters 8, 9 and 21: H-BF, components, cuRnet."""

from papers.source import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "busato-paths",
    "Busato 2018, chapters 8, 9 and 21: shortest paths from a source, components, cuRnet",
    ("searches", "components", "curnet"),
)
