"""scc-colouring: components from the largest labels that reach a vertex and that it reaches.

Before that, one search forward and one backward find the component with most of the arcs, if they
are not deep. The kernel file describes the method and its cost. The whole graph is never reversed:
sweeps read a list of arcs, and rows are made of the arcs that remain.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import CapabilityError, PyApspError
from pyapsp.base.json import Json
from pyapsp.device import device_errors
from pyapsp.device.kernels import Program, Stopwatch, build
from pyapsp.device.kernels.residents import scratches
from pyapsp.device.kernels.scan import Scan
from pyapsp.device.kernels.transfer import settled, uploaded
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import C_TYPES
from pyapsp.paths.device_rows import DeviceRows, HostOrDevice
from pyapsp.paths.landing import deliver
from pyapsp.registry import Options, Parameters, ParameterValues, Plan, Stats, register
from pyapsp.traversal.components.component_methods import ComponentMethod, Labels, rows_for
from pyapsp.traversal.components.numbering import Numbering
from pyapsp.traversal.kernels import KernelArgument, WidthInGroup, offset_type

__all__ = ["SccColouring"]

# Sides of vertices, and of arcs, are counted in 32 bits.
_LARGEST = 2**30 - 1
# Work-items for each compute unit of a GPU.
_ITEMS = 2048
# Sweeps of the pivot's searches, after which they are given up.
_SWEEPS = 12
# The most work-items that share a vertex when its arcs are listed.
_LANES = 32
# Arcs of the sample that estimates how many arcs enter a vertex.
_SAMPLE = 2**18
# Launches of the first batch of levels. A batch is twice as long as the one before, up to the
# limit.
_BATCH, _LONGEST_BATCH = 8, 128
# The layout of the state, see the kernel file.
_STATE, _CHANGED, _SIZE, _KNOWN, _RECORDS, _RECORD = 16, 0, 3, 5, 8, 2


@dataclass(frozen=True)
class _Programs:
    """The kernels."""

    search: Program
    scan: Scan
    numbering: Numbering


@register
class SccColouring(WidthInGroup, ComponentMethod):
    """Largest labels in both directions; arcs between vertices with different ones are removed.

    Parameters: ``width`` work-items share the arcs of a vertex; after ``sweeps`` sweeps through all
    arcs, a round goes on with a queue of the vertices that change.

    Source: G. Alabandi, W. Sands, G. Biros, M. Burtscher, SC 2023.
    """

    id = "scc-colouring"
    summary = "a search from one pivot, then largest labels in both directions, all parts at once"
    source = "Alabandi et al. 2023, doi:10.1145/3581784.3607071"
    choices: ClassVar[ParameterValues] = {
        "width": (1, 4, 16),
        "group": (1, 64, 256, 1024),
        "sweeps": (1, 16, 64),
    }

    def unmet(self, about: Graph, options: Options) -> PyApspError | None:
        """Return the error of a graph whose vertices or arcs, counted twice, exceed 32 bits."""
        if max(about.n, about.m) > _LARGEST:
            return CapabilityError(
                f"{self.id} takes at most {_LARGEST:,} vertices and as many arcs, and the graph "
                f"has {about.n:,} and {about.m:,}"
            )
        return super().unmet(about, options)

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield large groups, and on CPUs one work-item."""
        scalar = options.device.traits.scalar_groups
        for group in (1,) if scalar else (1024, 256, 64, 1):
            yield {"width": 1 if group == 1 else 4, "group": group, "sweeps": 16}

    def buffers(self, graph: Graph, options: Options, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer of a run."""
        rows = Scan(options.device, parameters.integer("group")).buffers(2 * graph.n)
        arcs = [offset_type(options.device).itemsize * (graph.n + 1), 4 * graph.m]
        return [max(size, 4) for size in (*arcs, *_own(graph, options, parameters), *rows)]

    def prepare(self, graph: Graph, options: Options, parameters: Parameters) -> _Programs:
        """Build the kernels."""
        device, group = options.device, parameters.integer("group")
        offset = {"PYAPSP_OFFSET": C_TYPES[offset_type(device).name]}
        defines = parameters.macros("group", "width") | offset
        search = build(device, "traversal/components/scc_colouring.cl", defines)
        return _Programs(search, Scan(device, group), Numbering(device, group))

    def run(self, plan: Plan[Graph, Options, _Programs]) -> Labels:
        """Find the components."""
        watch = Stopwatch()
        labels = rows_for(plan.options, plan.input.n)
        seconds, more = 0.0, dict[str, Json]()
        if plan.input.n:
            with device_errors(plan.options.device, plan.device_bytes):
                search = _Search(plan, watch)
                seconds = search.run(labels)
            more = {"rounds": search.rounds, "sweeps": search.turn, "levels": search.levels}
        stats: Stats = {
            "kernel_seconds": seconds,
            "transfer_seconds": watch.seconds("transfer"),
            "kernel_hash": plan.state.search.hash,
            "more": more,
        }
        return Labels(labels=labels, stats=stats)


def _groups(options: Options, parameters: Parameters) -> int:
    """Return the number of groups of most launches."""
    units, group = options.device.capabilities.compute_units, parameters.integer("group")
    return units if group == 1 else max(units * _ITEMS // group, 1)


def _own(graph: Graph, options: Options, parameters: Parameters) -> list[int]:
    """Return the bytes of two lists, bit maps and labels, and of the other buffers of `_Search`."""
    bits, n = 4 * (2 * graph.n // 32 + 1), graph.n
    pairs = [8 * graph.m, bits, 8 * n]
    others = [4 * n, 8 * n, 8 * n, 16 * n, 8 * _groups(options, parameters), 4 * _STATE]
    return [*(size for size in pairs for _ in range(2)), *others]


class _Search:
    """A graph on the device, and the launches that find its components.

    Attributes
    ----------
    rounds, turn, levels : int
        Number of rounds, of sweeps, and of launches for levels of a queue.
    """

    def __init__(self, plan: Plan[Graph, Options, _Programs], watch: Stopwatch) -> None:
        graph, options, parameters = plan.input, plan.options, plan.parameters
        self._queue, self._watch = options.device.own_queue(), watch
        self._programs, self._progress = plan.state, options.progress
        self._n, self._m, self._sweeps = graph.n, graph.m, parameters.integer("sweeps")
        self._sizes = np.int32(graph.n), np.int32(graph.m)
        group, self._groups = parameters.integer("group"), _groups(options, parameters)
        self._shape = (self._groups * group,), (group,)
        self._lanes = min(1 << (2 * graph.m // graph.n).bit_length(), group, _LANES)
        offsets = graph.indptr, offset_type(options.device)
        arcs = uploaded(self._queue, watch, offsets, (graph.indices, None))
        self._first, self._heads = arcs
        sizes = [max(size, 4) for size in _own(graph, options, parameters)]
        own: list[cl.Buffer] = scratches(options.device, sizes)
        self._bytes = dict(zip(own, sizes, strict=True))  # a buffer of a pool may have more
        self._lists, self._bits, self._labels = own[:2], own[2:4], own[4:6]
        self._roots, self._counts, self._stamps, self._fronts, self._best, self._state = own[6:]
        rows = self._programs.scan.buffers(2 * graph.n)
        self._sums: list[cl.Buffer] = scratches(options.device, rows)
        settled(self._queue, *own, *self._sums)
        self._host = np.zeros(_STATE, np.int32)
        self.rounds = self.turn = self.levels = 0

    def run(self, labels: HostOrDevice) -> float:
        """Find the component of each vertex, and return the seconds of the search.

        They are by the clock of the host, because reading the state between launches counts as
        well.
        """
        started = time.perf_counter()
        self._search_from_pivot()
        place = 1
        while True:
            self._sweep(place)
            if self._host[_CHANGED + (self.turn + 2) % 3]:
                self._finish(place)
            place, self.rounds = 1 - place, self.rounds + 1
            left = self._host[_SIZE + place] > 0
            if self._progress is not None:
                self._progress(int(self._host[_KNOWN]) if left else self._n, self._n)
            if not left:
                break
        smallest, numbers = self._labels
        own = self._roots, smallest, numbers
        self._programs.numbering(self._queue, *own, self._n, self._sums)
        if isinstance(labels, DeviceRows):  # the copy follows without a wait
            labels.take(self._queue, numbers, labels.dtype, self._n)
            return time.perf_counter() - started
        self._queue.finish()
        seconds = time.perf_counter() - started
        deliver(self._queue, numbers, labels, self._watch)
        return seconds

    def _clear(self, buffer: cl.Buffer) -> None:
        """Fill a buffer with zeros."""
        size = self._bytes[buffer]
        cl.enqueue_fill_buffer(self._queue, buffer, np.zeros(1, np.int32), 0, size)

    def _search_from_pivot(self) -> None:
        """Find the component of a vertex with many arcs, unless it is deep."""
        n, m = self._sizes
        for buffer in (self._state, self._counts, *self._bits):
            self._clear(buffer)
        if self._m:
            size = 4 * self._m
            tails_and_heads = self._lists[0]
            cl.enqueue_copy(
                self._queue, tails_and_heads, self._heads, byte_count=size, dst_offset=size
            )
        self._launch("list", self._first, self._lists[0], n, np.int32(self._lanes))
        stride = np.int32(max(self._m // _SAMPLE, 1))
        self._launch("sample", self._heads, self._counts, m, stride)
        self._launch("elect", self._first, self._counts, self._best, n)
        kernel, group = self._programs.search.kernel("scc_pivot"), self._shape[1]
        groups = np.int32(self._groups)
        kernel(self._queue, group, group, self._best, *self._bits, self._state, groups, m)
        for _ in range(_SWEEPS):
            arrays = self._lists[0], *self._ordered(self._bits), self._state
            self._launch("reach", *arrays, n, m, np.int32(self.turn))
            self.turn += 1
        split = *self._lists, self._ordered(self._bits)[0], self._roots, self._state
        self._launch("split", *split, n, m, np.int32(self.turn))
        self._clear(self._counts)

    def _sweep(self, place: int) -> None:
        """Begin a round with the arcs of a list, and end it unless its labels still change."""
        n, m = self._sizes
        p, number = np.int32(place), np.uint32(self.rounds)
        labels = self._ordered(self._labels)
        self._launch("begin", *labels, self._state, n, np.int32(self.turn), p, number)
        for _ in range(self._sweeps):
            arrays = self._lists[place], *self._ordered(self._labels), self._state
            self._launch("spread", *arrays, n, m, np.int32(self.turn), p, number)
            self.turn += 1
        self._settle(place, complete=False)

    def _finish(self, place: int) -> None:
        """Complete the labels of a round by a queue of sides, and end the round."""
        n, m = self._sizes
        p, labels = np.int32(place), self._ordered(self._labels)
        arcs, ends = self._lists[place], self._lists[1 - place]
        self._launch("count", arcs, self._counts, self._state, m, p)
        rows = self._programs.scan(self._queue, self._counts, 2 * self._n, memory=self._sums)
        self._launch("place", arcs, rows, self._counts, ends, self._state, m, p)
        zero = np.zeros(1, np.int32)
        cl.enqueue_fill_buffer(self._queue, self._state, zero, 4 * _RECORDS, 16 * _RECORD)
        self._launch("collect", *labels, self._stamps, self._fronts, self._state, n)
        turn, batch = 0, _BATCH
        while True:
            for _ in range(batch):
                arrays = rows, ends, labels[0], self._stamps, self._fronts, self._state
                self._launch("step", *arrays, n, np.int32(turn))
                turn += 1
            self._read()
            if self._host[_RECORDS + turn % 4 * _RECORD] == 0:
                break
            batch = min(2 * batch, _LONGEST_BATCH)
        self.levels += turn
        self._settle(place, complete=True)

    def _settle(self, place: int, *, complete: bool) -> None:
        """End a round, and read the state."""
        arrays = self._lists[place], self._lists[1 - place], self._ordered(self._labels)[0]
        turn, p, number = np.int32(self.turn), np.int32(place), np.uint32(self.rounds)
        rest = *self._sizes, turn, p, number, np.int32(complete)
        self._launch("settle", *arrays, self._roots, self._state, *rest)
        self._read()

    def _ordered(self, pair: Sequence[cl.Buffer]) -> tuple[cl.Buffer, cl.Buffer]:
        """Return what the next sweep reads, and what it writes."""
        return pair[self.turn % 2], pair[1 - self.turn % 2]

    def _launch(self, name: str, *arguments: KernelArgument) -> None:
        self._programs.search.kernel(f"scc_{name}")(self._queue, *self._shape, *arguments)

    def _read(self) -> None:
        cl.enqueue_copy(self._queue, self._host, self._state)
