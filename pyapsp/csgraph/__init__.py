"""SciPy's `scipy.sparse.csgraph`, with its shortest paths and components on an OpenCL device.

The functions take SciPy's arguments, and return what SciPy returns: float64 distances, inf if there
is no path, int32 predecessors, -9999 for none. The device is the one that `pyapsp.device.choose`
selects (``PYAPSP_DEVICE``). All other names of SciPy's module are imported from SciPy, so that this
module can replace it. `NegativeCycleError` is SciPy's, and the base class of the one of pyapsp.

``docs/differences.md`` lists all differences from SciPy 1.17. It is generated from the tests in
``tests/csgraph/test_differences.py``.

A function need not use the algorithm of its name: `pyapsp.solve` selects the method with the
shortest predicted time. If there are several shortest paths, or several nearest sources, SciPy may
return another one. ``directed=False`` always takes the smaller of the two weights. SciPy 1.17 does
so too, but its documentation does not guarantee it.

``breadth_first_order`` is SciPy's, because it is faster than the conversion to a `Graph`.
"""

from __future__ import annotations

from typing import Any

from scipy.sparse import csgraph as scipy_csgraph

from pyapsp.csgraph.components import connected_components
from pyapsp.csgraph.paths import bellman_ford, dijkstra, floyd_warshall, johnson, shortest_path

__all__ = [
    "bellman_ford",
    "connected_components",
    "dijkstra",
    "floyd_warshall",
    "johnson",
    "shortest_path",
]


def __getattr__(name: str) -> Any:
    if name in scipy_csgraph.__all__:
        return getattr(scipy_csgraph, name)
    raise AttributeError(f"module 'pyapsp.csgraph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *scipy_csgraph.__all__})
