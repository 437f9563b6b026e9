"""Distances along a cortex, of neuromaps.

neuromaps calls `dijkstra` of SciPy for one vertex of the surface after the other, and so does
brainsmash. A call for one vertex is too short for a device. So pyapsp gets the graph of the
surface, and all vertices in one call. neuromaps returns float32, too.
"""

import nibabel
import numpy as np
from neuromaps.images import load_gifti
from neuromaps.points import get_surface_distance, make_surf_graph
from scipy.spatial import ConvexHull

import pyapsp


def data(small):
    count = np.arange(200 if small else 10_242) + 0.5
    turn, height = np.pi * (1 + 5**0.5) * count, 1 - 2 * count / len(count)
    ring = np.sqrt(1 - height**2)
    points = 100 * np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)
    surface = nibabel.GiftiImage()
    for values, intent in ((points, "pointset"), (ConvexHull(points).simplices, "triangle")):
        kind = {"pointset": np.float32, "triangle": np.int32}[intent]
        array = nibabel.gifti.GiftiDataArray(values.astype(kind), f"NIFTI_INTENT_{intent.upper()}")
        surface.add_gifti_data_array(array)
    return (surface,)


def before(surface):
    return get_surface_distance(surface)


def after(surface):
    graph = make_surf_graph(*load_gifti(surface).agg_data())
    return pyapsp.solve(graph, directed=False, dtype=np.float32).distances


def same(one, other):
    return np.allclose(one, other)
