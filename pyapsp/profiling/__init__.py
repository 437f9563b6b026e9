"""How fast a device could be, how fast the methods are on it, and how fast others are."""

from pyapsp.profiling.roofs import Roof, copy_bandwidth, measure

__all__ = ["Roof", "copy_bandwidth", "measure"]
