"""[B]: F. Busato's thesis, 2018, chapters 12 to 16: profiling, power, and energy."""

from papers.source import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "busato-profiling",
    "Busato 2018, chapters 12 to 16: microbenchmarks, criteria, power-aware tuning, and the energy "
    "of techniques that divide work",
)
