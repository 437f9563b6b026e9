"""Graphs that change, in the memory of a device.

:class:`Hornet` is a container to which edges and vertices are added, and from which they are
deleted, in batches.
"""

from pyapsp.dynamic.hornet import Hornet, Memory, Snapshot

__all__ = ["Hornet", "Memory", "Snapshot"]
