"""DCSR: compressed sparse rows with more segments behind them; see `dcsr.cl`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike, NDArray

from papers.busato_dynamic.rivals import Batch, Rival, built
from pyapsp.device import DeviceLike, device_errors
from pyapsp.device.kernels import Program, fill
from pyapsp.device.kernels.source import flattened
from pyapsp.dynamic.calls import Run
from pyapsp.dynamic.rows import Rows
from pyapsp.errors import CapabilityError
from pyapsp.graph import Graph, GraphLike, as_structure

__all__ = ["Dcsr"]

_TEXT = Path(__file__).with_name("dcsr.cl")
# Batches between two times at which all rows are packed.
_BATCHES = 4
_EDGES = 2**31


class Dcsr(Rival):
    """Compressed sparse rows, and segments of rows behind them (DCSR).

    No look for duplicates is possible, and no deletion.

    Parameters
    ----------
    graph, device
        As for `Rival`.
    batches : int, optional
        Segments of a row behind its first one: after so many batches all rows are packed.
    spare : int, optional
        Edges that there is room for beside those of the graph, and again when rows are packed; as
        many as the graph has by default.

    Attributes
    ----------
    rebuilt : int
        How often all edges were written.
    """

    duplicates = ("keep",)

    def __init__(
        self,
        graph: GraphLike,
        *,
        batches: int = _BATCHES,
        spare: int | None = None,
        device: DeviceLike = None,
    ) -> None:
        source: Graph = as_structure(graph)
        self._most, self.rebuilt = batches, 0
        self._spare = source.m if spare is None else spare
        super().__init__(source, device=device)

    def product(self, x: ArrayLike) -> NDArray[np.float32]:
        """Return the product of the adjacency matrix and a vector, in float32."""
        vector = np.ascontiguousarray(x, np.float32)
        with device_errors(self.device, 2 * vector.nbytes):
            self._launches.m = self.m
            run = Run(self._launches, self._program)
            sent, answer = run.upload(vector), run.buffer(vector.nbytes)
            run.over_rows("dcsr_sum", sent, answer)
            return run.fetch(answer, self.n, np.float32)

    def _build(self) -> Program:
        text = flattened("dynamic/analytics.cl") + "\n" + _TEXT.read_text("utf-8")
        self._launches = _Segments(self)
        group = self._launches.group
        defines = ("PYAPSP_GROUP", group), ("PYAPSP_WARP", min(group, 32)), ("PYAPSP_HORNET", 0)
        optimise = group == 1 or self.device.traits.optimises_barriers
        return built(self.device, text, defines, optimise)

    def _load(self, graph: Graph) -> None:
        self._fresh = self._new(np.zeros(self.n, np.int32))
        self._sizes = self._new(np.diff(graph.indptr).astype(np.int32))
        self._counts = self._new(np.zeros(self.n, np.int32))
        self._segments = self.device.buffer(max(8 * self.n * (self._most + 1), 8))
        self._content = self._new(graph.indices.astype(np.int32), room=self._spare)
        self._begin_anew(self._sent("first", graph.indptr.astype(np.int64)))

    def _begin_anew(self, first: cl.Buffer) -> None:
        """Let rows be one segment each."""
        self._launch("dcsr_segments", self.n, first, *self._rows)
        self._batches, self._end = 0, self.m
        self.rebuilt += 1

    def _insert(self, batch: Batch) -> int:
        tails, heads, count = batch
        with device_errors(self.device, 4 * count):
            ranks = self._room("ranks", 4 * count)
            counted = tails, heads, np.int32(count), np.int32(self.n), self._fresh, ranks
            self._launch("dcsr_count", count, *counted, self._state)
            try:
                _ = self._read_state(batch)
                if self._batches == self._most or self._end + count > self._content.size // 4:
                    self._rebuild(count)
            except BaseException:
                fill(self.device, self._queue, self._fresh, np.int32(0))
                raise
            end = self._sent("end", np.array([self._end], np.int32))
            appended = tails, np.int32(count), ranks, self._fresh, end
            self._launch("dcsr_append", count, *appended, *self._rows)
            written = tails, heads, np.int32(count), ranks, self._fresh
            self._launch("dcsr_write", count, *written, *self._rows)
            self._queue.finish()
        self._batches += 1
        self._end += count
        return count

    def _rebuild(self, count: int) -> None:
        """Pack all rows, with room for a batch and as much spare room as at first."""
        edges = self.m + count + self._spare
        if edges >= _EDGES:
            raise CapabilityError(f"{edges:,} edges, and places of 32 bits")
        first = self._sent("first", self._first())
        content = self.device.buffer(4 * edges)
        self._packed(first, content)
        self._content = content
        self._begin_anew(first)

    def _packed(self, first: cl.Buffer, heads: cl.Buffer) -> None:
        lanes = min(self._group, 32)
        self._launch("dcsr_pack", self.n * lanes, first, heads, *self._rows)

    @property
    def _rows(self) -> list[Any]:
        """The arguments ROWS of the kernels."""
        own = [self._sizes, self._counts, self._segments, self._content]
        return [np.int32(self.n), *own]

    @property
    def _buffers(self) -> list[cl.Buffer]:
        return [self._sizes, self._counts, self._segments, self._content, self._fresh]


class _Segments(Rows):
    """The rows of a DCSR for the launches over rows of any kind."""

    weight = None

    def __init__(self, graph: Dcsr) -> None:
        self.device, self.queue, self._graph = graph.device, graph._queue, graph
        self.n, self.m, self.symmetric = graph.n, graph.m, False
        self.there = np.ones(self.n, bool)

    def arguments(self, *, weights: bool = False) -> list[Any]:
        return self._graph._rows

    def defines(self) -> dict[str, str | int]:
        return {}

    def structure(self) -> tuple[np.ndarray, np.ndarray]:
        matrix = self._graph.to_csr()
        return matrix.indptr, matrix.indices
