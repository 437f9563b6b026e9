"""Graphs that change, in the memory of a device.

:class:`Hornet` is a container to which edges and vertices are added, and from which they are
deleted, in batches. :mod:`~pyapsp.dynamic.analytics` has searches, products, ranks and components,
with the same kernels for a container and for compressed sparse rows. :mod:`~pyapsp.dynamic.formats`
has other formats with the same methods, to compare the time of updates.
"""

from pyapsp.dynamic import analytics, formats
from pyapsp.dynamic.answers import Memory, Snapshot, TriangleChange
from pyapsp.dynamic.hornet import Hornet
from pyapsp.dynamic.paths import PathRows
from pyapsp.dynamic.triangles import TriangleCounts

__all__ = [
    "Hornet",
    "Memory",
    "PathRows",
    "Snapshot",
    "TriangleChange",
    "TriangleCounts",
    "analytics",
    "formats",
]
