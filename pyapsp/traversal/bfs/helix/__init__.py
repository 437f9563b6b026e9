"""bfs-helix: a breadth-first search whose steps can be chosen one by one.

``dimensions`` has the parameters and which go together. ``automatic`` chooses them for a graph.
``method`` has the registered method, ``lists`` and ``chunks`` its searches.
"""

from pyapsp.traversal.bfs.helix.method import BfsHelix

__all__ = ["BfsHelix"]
