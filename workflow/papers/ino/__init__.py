"""[I]: F. Ino, K. Shigeoka, T. Okuyama, M. Motokubota and K. Hagihara, 2013."""

from papers.source import Source

__all__ = ["SOURCE"]

SOURCE = Source("ino", "Ino et al. 2013: parameter sweeps with one task or many tasks at a time")
