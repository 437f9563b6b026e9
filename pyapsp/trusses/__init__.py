"""Triangles and trusses: the problems ``triangles`` and ``truss``.

Importing this package registers the methods.
"""

from pyapsp.trusses.triangles_bitmap import TrianglesBitmap
from pyapsp.trusses.triangles_hash import TrianglesHash
from pyapsp.trusses.triangles_intersect import TrianglesIntersect
from pyapsp.trusses.truss_delta import TrussDelta
from pyapsp.trusses.truss_iterative import TrussIterative
from pyapsp.trusses.truss_peeling import TrussPeeling
from pyapsp.trusses.truss_serial import TrussSerial

__all__ = [
    "TrianglesBitmap",
    "TrianglesHash",
    "TrianglesIntersect",
    "TrussDelta",
    "TrussIterative",
    "TrussPeeling",
    "TrussSerial",
]
