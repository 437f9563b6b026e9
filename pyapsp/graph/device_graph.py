"""`DeviceGraph`: a graph whose arrays stay on a device while it is used."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import ParameterError
from pyapsp.device import Device, DeviceLike, choose
from pyapsp.device.kernels.residents import residents
from pyapsp.graph.attributes import Weight
from pyapsp.graph.coerce import GraphLike, as_graph
from pyapsp.graph.convert import is_kind
from pyapsp.graph.device_matrix import DeviceMatrix
from pyapsp.graph.model import DERIVED, Graph

if TYPE_CHECKING:
    import pyopencl.array as cl_array
    from typing_extensions import Self

__all__ = ["DeviceGraph", "device_for", "devices_for"]

# The attributes of this class.
_OWN = "device", "plans", "_unpin"


class DeviceGraph(Graph):
    """A graph whose arrays stay on a device until `release`, or until the graph is deleted.

    Every function takes it for a `Graph`, and without ``device=`` runs on its device. An array is
    copied at the first call that needs it: row pointers, heads, weights in each type that is asked
    for, the reversed graph, the undirected graph. If a call needs the memory, arrays are removed
    from the device, and copied again by a later call.

    A plain `Graph` stays on a device, too, but only within a budget that all graphs share: a
    quarter of the memory of the device, or as many megabytes as the environment variable
    ``PYAPSP_RESIDENT`` says.

    Parameters
    ----------
    graph : graph-like
        As for `solve`.
    device : device-like, optional
        As for `solve`, but one device.
    weight : hashable, callable or None, optional
        As for `solve`.

    Raises
    ------
    GraphError, FormatError, ParameterError, NoDeviceError
        As for `solve`.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(4, [0, 0, 2], [1, 2, 1], [7, 1, 2])
    >>> with pyapsp.DeviceGraph(graph) as there:
    ...     pyapsp.sssp(there, 0).distances, pyapsp.bfs(there, 0).levels
    (array([ 0.,  3.,  1., inf]), array([ 0,  1,  1, -1], dtype=int32))
    """

    device: Device
    # the plans of calls, which later calls use again: see `pyapsp.registry.planning`
    plans: dict[Hashable, Any]
    _stores = sys.maxsize

    def __init__(
        self, graph: GraphLike, device: DeviceLike = None, *, weight: Weight = ...
    ) -> None:
        self._put(as_graph(graph, weight=weight), choose(device))

    @classmethod
    def from_arrays(
        cls,
        indptr: cl_array.Array,
        indices: cl_array.Array,
        weights: cl_array.Array | None = None,
        *,
        directed: bool = True,
    ) -> Self:
        """Return the graph of compressed rows that are on a device.

        Kernels read these arrays where they are, if types are the right ones: int32 for row
        pointers and heads, and for weights the type of the distances. Their content must not change
        while the graph is used. Checks, and the choice of parameters, use a copy on the host.

        Parameters
        ----------
        indptr, indices, weights : pyopencl.array.Array
            As for `Graph`, in one context; without weights all are 1.
        directed : bool
            As for `Graph`.

        Raises
        ------
        GraphError
            As `Graph`.
        ParameterError
            If an array is none of PyOpenCL, or of another context.

        Examples
        --------
        >>> import numpy as np, pyapsp, pyopencl.array
        >>> queue = pyapsp.device.choose().queue()
        >>> rows = np.array([0, 2, 2, 3], np.int32), np.array([1, 2, 1], np.int32)
        >>> there = [pyopencl.array.to_device(queue, each) for each in rows]
        >>> pyapsp.bfs(pyapsp.DeviceGraph.from_arrays(*there), 0).levels
        array([0, 1, 1], dtype=int32)
        """
        names = "indptr", "indices", "weights"
        given: dict[str, Any] = dict(zip(names, (indptr, indices, weights), strict=True))
        if weights is None:
            del given["weights"]
        context = getattr(indptr, "context", None)
        for name, each in given.items():
            there = is_kind(each, "pyopencl.array", "Array")
            if not (there and each.context == context):
                rule = "a pyopencl array, and all in one context"
                raise ParameterError.of(name, "DeviceGraph.from_arrays", rule, type(each).__name__)
            each.finish()  # commands of its queue may still write to it
        lengths = np.ones(indices.size, np.int64) if weights is None else weights.get()
        rows = indptr.get(), indices.get(), lengths
        graph, made = Graph(*rows, directed=directed), object.__new__(cls)
        made._put(graph, choose(context))
        if graph.m == indices.size:  # no arc of infinite weight has been removed
            for own, each in zip(made._arrays, given.values(), strict=False):
                if _is_whole(each):
                    residents(made.device.context).add(own, each.dtype, each.base_data)
        return made

    def _put(self, graph: Graph, device: Device) -> None:
        """Share the arrays and the facts of a graph, and let its arrays stay on a device."""
        if "indptr" not in graph.__dict__:  # a matrix, whose arcs are listed at need
            rows = graph.indptr, graph.indices, graph.weights
            graph = Graph(*rows, directed=graph.directed, labels=graph.labels, name=graph.name)
        self.__dict__.update(_facts(graph), device=device, plans={})
        there, arrays = residents(device.context), self._arrays
        there.pin(arrays)
        # it refers to the arrays, not to this object
        self.__dict__["_unpin"] = weakref.finalize(self, there.unpin, arrays)

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.indptr, self.indices, self.weights

    @property
    def _derived(self) -> list[DeviceGraph]:
        """The reversed, the undirected and the unweighted graph, if they have been made."""
        made = [self.__dict__.get(name) for name in DERIVED]
        return [each for each in made if isinstance(each, DeviceGraph)]

    @property
    def nbytes(self) -> int:
        """The bytes that the arrays take on the device now, with those of derived graphs."""
        mine = residents(self.device.context).bytes_of(self._arrays)
        return mine + sum(each.nbytes for each in self._derived)

    def release(self) -> None:
        """Remove the arrays from the device.

        The graph can still be used. Then its arrays stay on the device within the budget only.
        """
        for each in self._derived:
            each.release()
        self.plans.clear()
        self.__dict__["_unpin"]()
        residents(self.device.context).remove(self._arrays)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], Graph], tuple[dict[str, Any]]]:
        # a device belongs to its process: a pickle, or a copy, is a plain graph
        return _plain, (_facts(self),)

    def _sharing(self, directed: bool) -> Graph:
        graph = super()._sharing(directed)
        for name in _OWN:
            graph.__dict__.pop(name, None)
        return graph

    def reversed(self) -> Graph:
        """Return the graph with every arc reversed, on the same device; it is made once."""
        return self._beside("_reversed", super().reversed())

    def symmetrized(self) -> Graph:
        """Return the undirected graph, on the same device; it is made once."""
        made: Graph | None = self.__dict__.get("_symmetrized")
        return self._beside("_symmetrized", super().symmetrized()) if made is None else made

    def unweighted(self) -> Graph:
        """Return the graph with all weights 1, on the same device; it is made once."""
        return self._beside("_unweighted", super().unweighted())

    def _beside(self, name: str, graph: Graph) -> Graph:
        """Return a derived graph on the same device, which stays with this one."""
        if isinstance(graph, DeviceGraph):
            return graph
        derived = object.__new__(DeviceGraph)
        derived._put(graph, self.device)
        self.__dict__[name] = derived
        return derived


def _is_whole(array: cl_array.Array) -> bool:
    """Return whether an array is all of its memory from the start, without steps."""
    starts = array.offset == 0 and array.flags.c_contiguous
    return starts and isinstance(array.base_data, cl.MemoryObjectHolder)


def device_for(graph: object, device: DeviceLike) -> Device:
    """Return the device that a call asks for, or else that of its graph, or else the default.

    Raises
    ------
    NoDeviceError, ParameterError
        As `choose`; or the graph is a matrix in another context.
    """
    if device is None and isinstance(graph, DeviceGraph | DeviceMatrix):
        return graph.device
    chosen = choose(device)
    if isinstance(graph, DeviceMatrix) and chosen.context != graph.device.context:
        raise ParameterError(
            f"the matrix is on {graph.device.name} in another context than that of the device of "
            f"this call, {chosen.name}: leave out device, or give a copy on the host, array.get()"
        )
    return chosen


def devices_for(
    graph: object, device: DeviceLike | Sequence[DeviceLike], owner: str
) -> list[Device]:
    """Return the devices of a call that may use several, the main one first.

    Raises
    ------
    ParameterError
        If there is none; or as `device_for`.
    NoDeviceError
        As `device_for`.
    """
    if not isinstance(device, list | tuple):
        return [device_for(graph, cast("DeviceLike", device))]
    if not device:
        raise ParameterError.of("device", owner, "at least one device", device)
    return [device_for(graph, each) for each in device]


def _plain(facts: dict[str, Any]) -> Graph:
    """Return the graph with these attributes."""
    graph = object.__new__(Graph)
    graph.__setstate__(facts)
    return graph


def _facts(graph: Graph) -> dict[str, Any]:
    """Return the attributes of a graph that do not depend on a device."""
    left_out = *_OWN, *DERIVED
    return {name: value for name, value in graph.__dict__.items() if name not in left_out}
