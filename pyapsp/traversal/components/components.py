"""`strongly_connected_components`: the sets of vertices that reach each other."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.base.errors import ParameterError
from pyapsp.base.files import check_name, check_suffix
from pyapsp.base.json import Record
from pyapsp.device import DeviceLike
from pyapsp.graph import GraphLike, as_structure
from pyapsp.graph.device_graph import device_for
from pyapsp.graph.frames import Tabular
from pyapsp.graph.io import archive
from pyapsp.graph.names import check_savable
from pyapsp.graph.validation import choice, is_real
from pyapsp.numbers.precision import only_int32
from pyapsp.paths import KEEPS
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.paths.result import REASONED, RECORDED, Explained, Reasoned, Recorded
from pyapsp.registry import Limits, Method, Request, request, runs
from pyapsp.traversal.components.component_methods import ComponentOptions

if TYPE_CHECKING:
    import pyopencl.array as cl_array
    from typing_extensions import Unpack

__all__ = [
    "Components",
    "requested",
    "strongly_connected_components",
    "weakly_connected_components",
]

_SCHEMA = 1
_STRONG, _WEAK = "strongly_connected_components", "weakly_connected_components"


@dataclass(frozen=True, eq=False, repr=False)
class Components(Explained, Tabular):
    """The strongly or weakly connected components of a graph.

    Attributes
    ----------
    labels : (n,) int32 ndarray
        The component of each vertex. Components are numbered from 0 in the order of their smallest
        vertices.
    names : (n,) ndarray or None
        The labels of the vertices, for instance their ids in the graph file.
    stats : dict
        The record of the run: method, device, times in seconds, arcs per second, bytes.
    reasons : tuple of str
        What was chosen and why; `explain` returns them as text.
    """

    labels: np.ndarray
    names: np.ndarray | None = None
    stats: Recorded = RECORDED
    reasons: Reasoned = REASONED

    @property
    def device_labels(self) -> cl_array.Array | None:
        """The labels in the memory of the device; None without ``keep="device"``."""
        return None

    def _facts(self) -> dict[str, object]:
        about = {"count": self.count, "largest": self.largest, "n": self.labels.size}
        return about | self._run()

    @property
    def count(self) -> int:
        """The number of components."""
        return self.sizes.size

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of vertices of each component, (count,) int64."""
        return np.bincount(self.labels)

    @property
    def largest(self) -> int:
        """The number of vertices of the largest component; 0 for a graph without vertices."""
        return int(self.sizes.max(initial=0))

    def vertices(self, component: int) -> np.ndarray:
        """Return the vertices of a component in increasing order, int64.

        Raises
        ------
        ParameterError
            If there is no such component.
        """
        whole = isinstance(component, Integral) and is_real(component)
        if not (whole and 0 <= component < self.count):
            rule = f"a component in [0, {self.count})"
            raise ParameterError.of("component", "Components.vertices", rule, component)
        return np.flatnonzero(self.labels == component)

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return the columns ``vertex``, by name, and ``component``, each of shape (n,)."""
        names = np.arange(self.labels.size) if self.names is None else self.names
        return {"vertex": names, "component": self.labels}

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a NumPy ``.npz`` file. After an error there is no incomplete file.

        Errors are those of `Result.save`: names must be all integers or all strings.
        """
        check_suffix(path, "Components.save", ".npz", others="to_frame().to_csv")
        check_savable(self.names, "names", "components")
        about = {"schema": _SCHEMA, "stats": self.stats, "reasons": self.reasons}
        text = np.array(json.dumps(about))
        archive.write(path, components=text, labels=self.labels, names=self.names)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Components:
        """Read a file written by `save`.

        Raises
        ------
        FormatError
            If the file holds no saved components, or is damaged.
        ParameterError
            If `path` is no name of a file.
        """
        path = check_name(path, "Components.load")

        def make(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Components:
            labels, names = arrays["labels"], arrays.get("names")
            if labels.ndim != 1 or labels.dtype != np.int32 or not _is_canonical(labels):
                raise ValueError("its labels are not those of components")
            if names is not None and names.shape != labels.shape:
                raise ValueError(f"there are not {labels.size} names")
            return cls(labels, names, dict(about["stats"]), tuple(map(str, about["reasons"])))

        return archive.restored(path, "not saved components", "components", _SCHEMA, make)


class DeviceComponents(Components):
    """Components whose labels are in the memory of a device.

    `labels` copies them to the host at its first use. `pickle` makes `Components`.
    """

    _rows: DeviceRows

    def __init__(
        self,
        rows: DeviceRows,
        names: np.ndarray | None,
        stats: dict[str, Any] | Callable[[], Record],
        reasons: tuple[str, ...] | Callable[[], tuple[str, ...]],
    ) -> None:
        # the fields of a frozen class; `labels` is not one of them here
        self.__dict__.update(_rows=rows, names=names, stats=stats, reasons=reasons)

    @cached_property
    def labels(self) -> np.ndarray:
        """The labels on the host, (n,) int32."""
        found: np.ndarray = self._rows.get()[0]
        return found

    @property
    def device_labels(self) -> cl_array.Array:
        """The labels on the device, (n,) int32."""
        self._rows.device.check_process()  # the array has a queue
        labels: cl_array.Array = self._rows.array[0]
        return labels

    def __reduce__(self) -> tuple[type[Components], tuple[object, ...]]:
        # the memory of a device belongs to a process
        return Components, tuple(getattr(self, each.name) for each in fields(Components))


def strongly_connected_components(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    keep: Literal["host", "device"] = "host",
) -> Components:
    """Find the strongly connected components: two vertices are in one if each reaches the other.

    Errors are those of `solve`.

    Parameters
    ----------
    graph : Graph or graph-like
        Anything that `solve` takes; n vertices. Weights are ignored. For an undirected graph the
        results are the connected components.
    method : str or Method
        ``"auto"``, a method id (see ``pyapsp.methods("scc")``), or
        ``pyapsp.method(id, group=64, ...)``.
    device, memory_limit
        As for `solve`, but for one device.
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of vertices whose component is known;
        an exception that it raises ends the run.
    keep : {"host", "device"}
        ``"device"``: the labels stay in the memory of the device, as ``device_labels`` of the
        result, a `pyopencl.array.Array`. Then ``labels`` copies them to the host at its first use.

    Returns
    -------
    Components

    Examples
    --------
    >>> import numpy as np, pyapsp
    >>> arcs = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
    >>> found = pyapsp.strongly_connected_components(arcs)
    >>> found.labels, found.count, found.largest
    (array([0, 0, 0, 1], dtype=int32), 2, 3)
    """
    started = time.perf_counter()
    limits: Limits = {"memory_limit": memory_limit, "progress": progress}
    call = requested(graph, method, keep=keep, device=device, **limits)
    return _solved(graph, call, started)


def weakly_connected_components(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    keep: Literal["host", "device"] = "host",
) -> Components:
    """Find the weakly connected components: the components if arcs had no directions.

    Parameters and errors are those of `strongly_connected_components`.

    Returns
    -------
    Components

    Examples
    --------
    >>> import numpy as np, pyapsp
    >>> arcs = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    >>> pyapsp.weakly_connected_components(arcs).labels
    array([0, 0, 0, 1], dtype=int32)
    """
    started = time.perf_counter()
    limits: Limits = {"memory_limit": memory_limit, "progress": progress}
    call = requested(graph, method, weak=True, keep=keep, device=device, **limits)
    return _solved(graph, call, started)


def _solved(graph: GraphLike, call: Request, started: float) -> Components:
    solved = runs.solve(call, started)
    labels, about = solved.answer.labels, (solved.record_of(graph), solved.reasons)
    kind = DeviceComponents if isinstance(labels, DeviceRows) else Components
    return kind(labels, call.input.labels, *about)


def requested(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    dtype: DTypeLike | None = None,
    weak: bool = False,
    keep: str = "host",
    device: DeviceLike = None,
    **limits: Unpack[Limits],
) -> Request:
    """Check the arguments of `strongly_connected_components`, or of the weakly connected ones.

    `dtype` is the type of the labels, int32.
    """
    owner = _WEAK if weak else _STRONG
    labels = only_int32(dtype, owner)
    stays = choice("keep", owner, keep, KEEPS) == "device"
    given = as_structure(graph)
    call = request(
        "scc",
        given,
        partial(ComponentOptions, weak=weak),
        labels,
        method,
        owner=owner,
        device=device_for(given, device),
        **limits,
    )
    return replace(call, options=call.options.on_device(call.input.n)) if stays else call


def _is_canonical(labels: np.ndarray) -> bool:
    """Return whether components are numbered in the order of their smallest vertices."""
    before = np.maximum.accumulate(np.concatenate([[-1], labels]))[:-1]
    return bool(np.all(labels >= 0) and np.all(labels <= before + 1))
