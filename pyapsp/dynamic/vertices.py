"""The vertices of a container, and their properties, in the memory of the host."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.dynamic.columns import columns_of, values_of
from pyapsp.graph import validation

__all__ = ["Vertices"]


class Vertices:
    """Which vertices there are, with their properties; at first there are none.

    Parameters
    ----------
    properties : mapping of str to dtype-like

    Attributes
    ----------
    there : (n,) bool ndarray
        Which numbers are vertices.
    item : int
        Bytes of a vertex.
    """

    def __init__(self, properties: Mapping[str, DTypeLike]) -> None:
        columns = columns_of("Hornet", None, properties, "arrays")
        self.there = np.zeros(0, bool)
        self._values = {column.names[0]: np.zeros(0, column.dtype) for column in columns}
        self.item = 1 + sum(column.dtype.itemsize for column in columns)

    @property
    def n(self) -> int:
        """Number of numbers."""
        return self.there.size

    def numbers(self, owner: str, vertices: ArrayLike) -> NDArray[np.int64]:
        """Return the numbers of some vertices, all of which must be there."""
        array = np.atleast_1d(validation.array("the vertices", vertices))
        numbers = validation.integers("the vertices", array).astype(np.int64)
        outside = (numbers < 0) | (numbers >= self.n)
        if outside.any():
            rule = f"vertices in 0..{self.n - 1}" if self.n else "vertices, and there is none"
            first = array[outside][0].item()
            raise ParameterError.of("vertices", f"Hornet.{owner}", rule, first)
        absent = ~self.there[numbers]
        if absent.any():
            deleted, rule = int(numbers[absent][0]), "vertices of the graph"
            raise ParameterError.of("vertices", f"Hornet.{owner}", rule, deleted)
        return numbers

    def values(self, name: str) -> np.ndarray:
        """Return a property of all vertices."""
        if not isinstance(name, str) or name not in self._values:
            raise self._unknown("vertex_property", name)
        return self._values[name]

    def checked(
        self, owner: str, properties: Mapping[str, ArrayLike], count: int
    ) -> dict[str, np.ndarray]:
        """Return the properties of `count` vertices in their types."""
        checked = {}
        for name, values in properties.items():
            if name not in self._values:
                raise self._unknown(owner, name)
            checked[name] = values_of(f"Hornet.{owner}", name, self._values[name].dtype, values)
            if checked[name].shape not in ((), (count,)):
                raise GraphError(f"{count} vertices and {name!r} of shape {checked[name].shape}")
        return checked

    def n_with(self, count: int) -> int:
        """Return the number of numbers when there are so many more vertices."""
        return self.n + max(count - int(np.count_nonzero(~self.there)), 0)

    def next(self, count: int) -> NDArray[np.int64]:
        """Return numbers for new vertices: those of deleted vertices first."""
        unused = np.flatnonzero(~self.there)[:count]
        return np.concatenate([unused, np.arange(self.n, self.n_with(count))])

    def extended(
        self, n: int, numbers: NDArray[np.int64] | slice, properties: Mapping[str, np.ndarray]
    ) -> Vertices:
        """Return these and more vertices; 0 for properties that are not given; n numbers in all."""
        more, extended = n - self.n, copy.copy(self)
        extended.there = np.concatenate([self.there, np.zeros(more, bool)])
        extended.there[numbers] = True
        extended._values = {}
        for name, array in self._values.items():
            longer = np.concatenate([array, np.zeros(more, array.dtype)])
            longer[numbers] = properties.get(name, 0)
            extended._values[name] = longer
        return extended

    def _unknown(self, owner: str, name: str) -> ParameterError:
        known = ", ".join(self._values) or "none"
        return ParameterError(
            f"Hornet.{owner} got the vertex property {name!r}, and there are: {known}"
        )
