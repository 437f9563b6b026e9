"""Searches through a graph from some of its vertices, and what they find."""

from pyapsp.traversal.scc import SccForwardBackward

__all__ = ["SccForwardBackward"]
