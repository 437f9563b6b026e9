"""Whether every arc of a graph has its reverse, whatever the weights: a randomised test."""

from __future__ import annotations

import secrets

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels import Program, build
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import C_TYPES

__all__ = ["Symmetry", "known_symmetric"]

# Arcs that are tried before all of them are read.
_TRIED = 64
# Work-groups for each compute unit.
_GROUPS = 4
# The name under which the answer is kept with the graph.
_ATTRIBUTE = "_has_every_reverse"


def known_symmetric(graph: Graph) -> bool | None:
    """Return whether every arc has its reverse; None if that is not known."""
    if not graph.directed or graph.__dict__.get("is_symmetric", False):
        return True
    known: bool | None = graph.__dict__.get(_ATTRIBUTE)
    return known


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
        self._group, self._groups = group, _GROUPS * device.capabilities.compute_units
        offset = C_TYPES[offsets.name]
        defines: dict[str, str | int] = {"PYAPSP_GROUP": group, "PYAPSP_OFFSET": offset}
        self._program: Program = build(device, "traversal/symmetry.cl", defines)

    @staticmethod
    def bytes(device: Device) -> int:
        """Return the bytes of the buffer of sums."""
        return 8 * _GROUPS * device.capabilities.compute_units

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
            known = _tried(graph) and self._sums_vanish(graph, queue, arcs, partial)
            graph.__dict__[_ATTRIBUTE] = known
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
