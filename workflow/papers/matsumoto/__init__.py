"""[M]: the poster of K. Matsumoto, N. Nakasato and S. G. Sedukhin, SC 2012."""

from papers.source import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "matsumoto",
    "Matsumoto, Nakasato and Sedukhin 2012: a matrix larger than the memory of the device",
)
