"""Measure the peak rates of a device, the methods on it, and other packages."""

from pyapsp.registry.roofs import Roof, copy_bandwidth, measure

__all__ = ["Roof", "copy_bandwidth", "measure"]
