"""The arcs of a frontier of H-BF, divided over all groups by merge path."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels.scan import Scan
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters
from pyapsp.traversal.kernels import Launcher

__all__ = ["Chunks", "chunk", "chunk_buffers"]

# Entries of a work-item: vertices and arcs. A group of one work-item takes more.
_EACH, _EACH_ALONE = 8, 1024
# Groups for each compute unit that share the chunks.
_SHARES = 16


def chunk(parameters: Parameters) -> int:
    """Return the vertices and arcs of a chunk."""
    group = parameters.integer("group")
    return group * (_EACH if group > 1 else _EACH_ALONE)


def _scan(device: Device, parameters: Parameters) -> Scan:
    group = parameters.integer("group")
    return Scan(device, group, _EACH if group > 1 else _EACH_ALONE)


def chunk_buffers(graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
    """Return the bytes of degrees, parts and sums; none if warps share the arcs."""
    if parameters.word("split") == "warps":
        return []
    parts = (graph.n + graph.m) // chunk(parameters) + 2
    return [4 * graph.n, 4 * parts, *_scan(options.device, parameters).buffers(graph.n)]


class Chunks:
    """Divides the arcs of a frontier.

    Parameters
    ----------
    graph : Graph
    options : PathOptions
    parameters : Parameters
    launch : Launcher
    queue : pyopencl.CommandQueue
        That of `launch`.

    Attributes
    ----------
    items : int
        Work-items that share the chunks.
    """

    def __init__(
        self,
        graph: Graph,
        options: PathOptions,
        parameters: Parameters,
        launch: Launcher,
        queue: cl.CommandQueue,
    ) -> None:
        device = options.device
        self._queue, self._launch = queue, launch
        units = device.capabilities.compute_units
        self.items: int = _SHARES * units * parameters.integer("group")
        self._scan = _scan(device, parameters)
        sizes = [max(size, 4) for size in chunk_buffers(graph, options, parameters)]
        self._degrees, self._parts, *self._memory = map(device.buffer, sizes)

    def of(self, first: cl.Buffer, now: cl.Buffer, size: int) -> tuple[cl.Buffer, cl.Buffer]:
        """Return the sums of the degrees of a frontier, and where chunks of its arcs begin."""
        count = np.int32(size)
        self._launch("hbf_count", size, first, now, self._degrees, count)
        sums = self._scan(self._queue, self._degrees, size, memory=self._memory)
        self._launch("hbf_divide", self.items, sums, self._parts, count)
        return sums, self._parts
