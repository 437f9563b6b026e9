"""The results of calls of a container: memory in use, rows, changes of triangles."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Memory", "Snapshot", "TriangleChange"]


@dataclass(frozen=True)
class Memory:
    """The device memory of a container, in bytes.

    Attributes
    ----------
    edges : int
        Of the arenas.
    block_arrays : int
        The part of it that belongs to block arrays.
    vertices : int
        Of degrees and places of the vertices. Their properties are in the memory of the host.
    management : int
        Of Vec-Trees and tables.
    scratch : int
        For batches. `Hornet.release_scratch` frees it.
    """

    edges: int
    block_arrays: int
    vertices: int
    management: int
    scratch: int

    @property
    def total(self) -> int:
        """All but the memory for batches."""
        return self.edges + self.vertices + self.management


@dataclass(frozen=True)
class Snapshot:
    """A graph at one time, in the memory of the host: compressed sparse rows.

    Attributes
    ----------
    indptr : (n + 1,) int64 ndarray
    indices : (m,) int32 ndarray
        Heads, ascending in each row.
    values : dict of str to (m,) ndarray
        Weights ("weight") and properties.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class TriangleChange:
    """What an update of edges has changed.

    Attributes
    ----------
    edges : int
        Number of stored edges that were inserted or deleted.
    one, two, three : int
        Number of triangles with one, two and three of these edges.
    """

    edges: int
    one: int
    two: int
    three: int

    @property
    def triangles(self) -> int:
        """Number of triangles that were made or broken."""
        return self.one + self.two + self.three
