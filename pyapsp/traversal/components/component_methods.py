"""What the methods for components share: answers, options, requirements, numbers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from pyapsp.base.changed import changed
from pyapsp.base.errors import GraphError, ParameterError, PyApspError
from pyapsp.base.reuse import empty
from pyapsp.graph import Graph
from pyapsp.paths.device_rows import DeviceRows, HostOrDevice
from pyapsp.registry import Answer, AnyPlan, Options, Request, Requirements, check_memory
from pyapsp.registry.tuning.method import BufferedMethod
from pyapsp.traversal.symmetry import known_symmetric

__all__ = [
    "Arcs",
    "ComponentMethod",
    "ComponentOptions",
    "Labels",
    "numbered",
    "rows_for",
    "settle",
]


@dataclass(frozen=True)
class Labels(Answer):
    """The component of each vertex."""

    # (n,) int32: components are numbered from 0 in the order of their smallest vertices.
    # `DeviceRows`, one row, only if they are `ComponentOptions.device_labels`.
    labels: Any = field(kw_only=True)


@dataclass(frozen=True)
class ComponentOptions(Options):
    """The checked arguments of a call for components."""

    weak: bool = False  # whether the directions of arcs are ignored
    # The labels, one row, if they stay on the device. A method may return them as its labels;
    # otherwise the labels are copied to them.
    device_labels: DeviceRows | None = None

    @property
    def decisive(self) -> Hashable:
        """The values on which a plan depends."""
        stays = self.device_labels is not None
        return self.device, self.dtype, self.memory_limit, self.weak, stays

    def on_device(self, n: int) -> ComponentOptions:
        """Return the options of labels that stay on the device; the run has the memory left.

        Raises
        ------
        DeviceMemoryError
            If the memory of the device is too small.
        """
        rows = DeviceRows(self.device, (1, n), np.dtype(np.int32))
        check_memory([rows.nbytes], self)
        return changed(self, device_labels=rows, memory_limit=self.memory - rows.nbytes)


@dataclass(frozen=True)
class Arcs(Requirements):
    """The requirements of a method for arcs."""

    # Whether every arc must have its reverse, unless directions are ignored.
    symmetric: bool = False


class ComponentMethod(BufferedMethod):
    """Base of the methods for components."""

    problem = "scc"
    requires: ClassVar[Arcs] = Arcs()

    def unmet(self, about: Graph, options: Options) -> PyApspError | None:
        """Return the error of the first requirement that the graph or the device does not meet."""
        if isinstance(options, ComponentOptions) and options.weak:
            if not self.requires.symmetric:
                return ParameterError(f"{self.id} does not ignore the directions of arcs")
        elif self.requires.symmetric and not known_symmetric(about):
            return GraphError(f"{self.id} takes graphs that are known to be symmetric")
        return super().unmet(about, options)


def rows_for(options: Options, n: int) -> HostOrDevice:
    """Return the memory for the labels: those that stay on the device, or a new array (n,)."""
    stays = options.device_labels if isinstance(options, ComponentOptions) else None
    return empty((n,), np.int32) if stays is None else stays


def settle(request: Request, plan: AnyPlan, answer: Labels) -> Labels:
    """Copy the labels to the device, if they are to stay there and the method has not done so."""
    rows = request.options.device_labels
    if rows is None or isinstance(answer.labels, DeviceRows):
        return answer
    rows.put(answer.labels[np.newaxis])
    return replace(answer, labels=rows)


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
