"""What the methods for components share: answers, options, requirements, numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from pyapsp.base.errors import GraphError, ParameterError, PyApspError
from pyapsp.graph import Graph
from pyapsp.registry import Answer, Options, Requirements
from pyapsp.registry.tuning.method import BufferedMethod
from pyapsp.traversal.symmetry import known_symmetric

__all__ = ["Arcs", "ComponentMethod", "ComponentOptions", "Labels", "numbered"]


@dataclass(frozen=True)
class Labels(Answer):
    """The component of each vertex.

    Attributes
    ----------
    labels : (n,) int32 ndarray
        Components are numbered from 0 in the order of their smallest vertices.
    """

    labels: np.ndarray = field(kw_only=True)


@dataclass(frozen=True)
class ComponentOptions(Options):
    """The checked arguments of a call for components.

    Attributes
    ----------
    weak : bool
        Whether the directions of arcs are ignored.
    """

    weak: bool = False


@dataclass(frozen=True)
class Arcs(Requirements):
    """The requirements of a method for arcs.

    Attributes
    ----------
    symmetric : bool
        Whether every arc must have its reverse, unless directions are ignored.
    """

    symmetric: bool = False


class ComponentMethod(BufferedMethod):
    """Base of the methods for components."""

    problem = "scc"
    area = "traversal"
    requires: ClassVar[Arcs] = Arcs()

    def unmet(self, about: Graph, options: Options) -> PyApspError | None:
        """Return the error of the first requirement that the graph or the device does not meet."""
        if isinstance(options, ComponentOptions) and options.weak:
            if not self.requires.symmetric:
                return ParameterError(f"{self.id} does not ignore the directions of arcs")
        elif self.requires.symmetric and not known_symmetric(about):
            return GraphError(f"{self.id} takes graphs that are known to be symmetric")
        return super().unmet(about, options)


def numbered(roots: np.ndarray) -> np.ndarray:
    """Return the numbers of components, from 0 in the order of their smallest vertices.

    Parameters
    ----------
    roots : (n,) integer ndarray
        A number in [0, n) for each vertex; two vertices have the same if and only if they are in
        the same component.

    Returns
    -------
    (n,) int32 ndarray
    """
    vertices = np.arange(roots.size, dtype=np.int32)
    smallest = np.empty(roots.size, np.int32)
    smallest[roots[::-1]] = vertices[::-1]  # if an index occurs twice, NumPy keeps the last value
    first = smallest[roots]
    numbers: np.ndarray = np.cumsum(first == vertices, dtype=np.int32) - np.int32(1)
    labels: np.ndarray = numbers[first]
    return labels
