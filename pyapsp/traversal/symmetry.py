"""Whether every arc of a graph has its reverse, whatever the weights: a randomised test."""

from __future__ import annotations

import secrets

import numpy as np
import pyopencl as cl

from pyapsp.base.dry import is_dry
from pyapsp.base.errors import DeviceMemoryError
from pyapsp.device import Device, device_errors
from pyapsp.device.kernels import Program, Stopwatch, build
from pyapsp.device.kernels.residents import scratch
from pyapsp.device.kernels.transfer import uploaded
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import C_TYPES
from pyapsp.registry import Options, check_memory
from pyapsp.traversal.kernels import MOST_COUNTED, offset_type

__all__ = ["Symmetry", "has_every_reverse", "known_symmetric"]

# Arcs that are tried before all of them are read.
_TRIED = 64
# Work-groups for each compute unit, on CPUs and on GPUs. The more there are, the closer are the
# arcs that work-items read at the same time.
_CPU_GROUPS, _GPU_GROUPS = 4, 32
# Work-items of a group of `has_every_reverse`, and the arcs from which it takes less time than the
# test of the host.
_GROUP, _LARGE = 256, 2**18
# The name under which the answer is kept with the graph.
_ATTRIBUTE = "_has_every_reverse"


def known_symmetric(graph: Graph) -> bool | None:
    """Return whether every arc has its reverse; None if that is not known."""
    if not graph.directed or graph.__dict__.get("is_symmetric", False):
        return True
    known: bool | None = graph.__dict__.get(_ATTRIBUTE)
    return known


def has_every_reverse(graph: Graph, options: Options) -> bool | None:
    """Return whether every arc has its reverse, by a test on the device if it is not known.

    The arcs stay there for the call. None without a test: the graph has few arcs, nearly 2^31, or
    more than the memory holds, or the run is dry.
    """
    known = known_symmetric(graph)
    if known is not None or not _LARGE <= graph.m <= MOST_COUNTED or is_dry():
        return known
    device, offsets = options.device, offset_type(options.device)
    scalar, most = device.traits.scalar_groups, device.capabilities.max_work_group_size
    sizes = [offsets.itemsize * (graph.n + 1), 4 * graph.m, Symmetry.bytes(device)]
    try:
        check_memory(sizes, options)
        test = Symmetry(device, 1 if scalar else min(_GROUP, most), offsets)
        with device_errors(device, sum(sizes)):
            queue, watch = device.own_queue(), Stopwatch()
            arcs = uploaded(queue, watch, (graph.indptr, offsets), (graph.indices, None))
            return test.holds(graph, queue, arcs, scratch(device, sizes[-1]))
    except DeviceMemoryError:
        return None


class Symmetry:
    """The test on a device, which reads the arcs once.

    It is wrong with a probability of less than 2^-58, and then calls symmetric what is not.

    Parameters
    ----------
    device : Device
    group : int
        Work-items of a group.
    offsets : numpy.dtype
        Type of the offsets on the device.
    """

    def __init__(self, device: Device, group: int, offsets: np.dtype) -> None:
        self._group, self._groups = group, _groups(device)
        # a GPU reads all arcs in less time than the host takes to try some
        self._tries = device.traits.scalar_groups
        offset = C_TYPES[offsets.name]
        defines: dict[str, str | int] = {"PYAPSP_GROUP": group, "PYAPSP_OFFSET": offset}
        self._program: Program = build(device, "traversal/symmetry.cl", defines)

    @staticmethod
    def bytes(device: Device) -> int:
        """Return the bytes of the buffer of sums."""
        return 8 * _groups(device)

    def holds(
        self, graph: Graph, queue: cl.CommandQueue, arcs: list[cl.Buffer], partial: cl.Buffer
    ) -> bool:
        """Return whether every arc has its reverse. The answer is kept with the graph.

        Parameters
        ----------
        graph : Graph
            With fewer than 2^31 arcs.
        queue : pyopencl.CommandQueue
        arcs : list of pyopencl.Buffer
            Its rows: the offsets, and the heads.
        partial : pyopencl.Buffer
            Of at least `bytes` bytes; it is overwritten.
        """
        known = known_symmetric(graph)
        if known is None:
            tried = not self._tries or _tried(graph)
            known = tried and self._sums_vanish(graph, queue, arcs, partial)
            graph.__dict__[_ATTRIBUTE] = known
            if not known:
                graph.__dict__["is_symmetric"] = False  # whatever the weights
        return known

    def _sums_vanish(
        self, graph: Graph, queue: cl.CommandQueue, arcs: list[cl.Buffer], partial: cl.Buffer
    ) -> bool:
        key = np.uint64(secrets.randbits(64))
        shape = (self._groups * self._group,), (self._group,)
        sizes = np.int32(graph.n), np.int32(graph.m)
        self._program.kernel("symmetry")(queue, *shape, *arcs, partial, *sizes, key)
        sums = np.empty(self._groups, np.uint64)
        cl.enqueue_copy(queue, sums, partial)
        return not sums.sum()


def _groups(device: Device) -> int:
    """Return the number of work-groups."""
    each = _CPU_GROUPS if device.traits.scalar_groups else _GPU_GROUPS
    return each * device.capabilities.compute_units


def _tried(graph: Graph) -> bool:
    """Return whether some of the arcs have their reverse."""
    for place in np.linspace(0, graph.m - 1, min(_TRIED, graph.m)).astype(np.int64):
        tail = int(np.searchsorted(graph.indptr, place, side="right")) - 1
        row = slice(*graph.indptr[graph.indices[place] : graph.indices[place] + 2])
        heads = graph.indices[row]
        place_of_tail = int(np.searchsorted(heads, tail))
        if place_of_tail == heads.size or heads[place_of_tail] != tail:
            return False
    return True
