"""The three phases of the algorithm on a device; many queries share each launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from pyapsp.base.errors import DeviceMemoryError
from pyapsp.device import Device, device_errors
from pyapsp.device.kernels import Program, Stopwatch, build
from pyapsp.matching.chains import run_chains
from pyapsp.matching.options import Options
from pyapsp.matching.prepared import Query, Target, log_table

__all__ = ["Searcher"]

_INFO = 8
_GROUP = 64
# Chains, and searches of phase 1, that run at a time on each compute unit: their scratch memory is
# a multiple of this.
_CHAINS, _SEARCHES = 16, 32
_ZERO = np.zeros(1, np.int32)


@dataclass(frozen=True)
class _Batch:
    """The arrays of some queries, one after the other."""

    info: NDArray[np.int32]
    offsets: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    similarities: NDArray[np.uint32]
    bits: NDArray[np.uint32]
    source_offsets: NDArray[np.int32]
    sources: NDArray[np.int32]
    arcs: NDArray[np.uint32]
    components: NDArray[np.int32]
    words: int

    @classmethod
    def of(cls, queries: Sequence[Query], levels: int) -> _Batch:
        info = np.zeros((len(queries), _INFO), np.int32)
        rows: list[NDArray[np.uint32]] = []
        counts: list[NDArray[np.int64]] = []
        sources: list[NDArray[np.int64]] = []
        arcs: list[NDArray[np.uint32]] = []
        node = word = bit = 0
        for number, query in enumerate(queries):
            words = -(-query.nodes // 32)
            info[number, :5] = query.nodes, node, words, word, bit
            node, word, bit = node + query.nodes, word + words, bit + query.nodes * words
            rows.append(query.bits().ravel())
            distances = query.distances(levels)
            # nodes in the order: node searched from, distance, node
            start, end = np.nonzero(distances < levels)
            order = np.lexsort((end, distances[start, end], start))
            start, end = start[order], end[order]
            level = distances[start, end]
            counts.append(np.bincount(start * levels + level, minlength=query.nodes * levels))
            sources.append(end)
            leaving = (level + 1) * query.network.degrees[end]
            total = np.bincount(start, weights=leaving, minlength=query.nodes)
            arcs.append(total.astype(np.uint32))
        graphs = [query.network for query in queries]
        ends = np.cumsum([0, *(graph.neighbours.size for graph in graphs)])
        offsets = [graph.offsets[:-1] + end for graph, end in zip(graphs, ends[:-1], strict=True)]
        similarities = [query.similarities for query in queries if query.similarities is not None]
        return cls(
            info,
            np.concatenate([*offsets, ends[-1:]]).astype(np.int32),
            np.concatenate([graph.neighbours for graph in graphs]),
            np.concatenate([query.low for query in queries]),
            np.concatenate([query.high for query in queries]),
            np.concatenate(similarities) if similarities else np.zeros(1, np.uint32),
            np.concatenate(rows),
            np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int32),
            np.concatenate(sources).astype(np.int32),
            np.concatenate(arcs),
            np.concatenate([query.components for query in queries]),
            word,
        )


def _group(device: Device) -> int:
    """Return the number of work-items of a group."""
    return (
        1 if device.traits.scalar_groups else min(_GROUP, device.capabilities.max_work_group_size)
    )


class Searcher:
    """The target on a device, and kernels for queries up to a size.

    Parameters
    ----------
    device : Device
    target : Target
    options : Options
    nodes : int
        The largest number of nodes of a query.
    with_similarities : bool
        Whether the queries have matrices of similarities.
    memory_limit : int or None
        Largest number of bytes of device memory to use.
    """

    def __init__(
        self,
        device: Device,
        target: Target,
        options: Options,
        nodes: int,
        with_similarities: bool,
        memory_limit: int | None,
    ) -> None:
        self.device, self.target, self.options = device, target, options
        free = device.capabilities.global_memory * 3 // 4
        self.limit = free if memory_limit is None else min(free, memory_limit)
        self.group = _group(device)
        self.units = device.capabilities.compute_units
        self._nodes = max(32, 1 << (nodes - 1).bit_length())
        self._with_similarities = with_similarities
        self.watch = Stopwatch()
        self._queue = device.queue()
        plain = self.group == 1 or device.traits.optimises_barriers
        shared: dict[str, str | int] = {
            "PYAPSP_GROUP": self.group,
            "PYAPSP_NODES": self._nodes,
            "PYAPSP_GIVEN": int(with_similarities),
        }
        self._scores: Program = build(
            device,
            "matching/scores.cl",
            {**shared, "PYAPSP_DEEP": int(options.levels > 2)},
            optimise=plain,
        )
        self._extension: Program = build(device, "matching/extension.cl", shared, optimise=plain)
        with device_errors(device, self.limit):
            self._offsets = self._bring(target.offsets)
            self._neighbours = self._bring(target.neighbours)
            self._table = self._bring(log_table())

    def need(self, queries: Sequence[Query]) -> int:
        """Return the bytes of device memory for queries in one call."""
        n, chains = self.target.n, self.options.matches
        nodes = sum(query.nodes for query in queries)
        words = sum(-(-query.nodes // 32) for query in queries)
        arcs = sum(query.network.neighbours.size for query in queries)
        each = 4 * n * nodes * (2 if self._with_similarities else 1)
        search = self._searches(len(queries)) * len(queries) * (4 * n + n // 8 + 4)
        scratch = max(8 * n * self._slots(len(queries)), search if self.options.levels > 2 else 0)
        target = 4 * (n + self.target.neighbours.size + 1026)
        small = 64 * nodes * self.options.levels + 64 * arcs + 4 * words * 32 * 512
        drawn = chains * (4 * nodes + 24 * len(queries))
        return each + 8 * n * words + scratch + target + small + drawn

    def slices(self, queries: Sequence[Query]) -> list[range]:
        """Divide queries into calls that fit into the memory.

        Raises
        ------
        DeviceMemoryError
            One query does not fit.
        """
        ranges, start = [], 0
        largest = self.device.capabilities.max_allocation
        for end in range(1, len(queries) + 1):
            some = queries[start:end]
            single = 4 * self.target.n * sum(query.nodes for query in some)
            if self.need(some) > self.limit or single > largest:
                if end - start == 1:
                    raise DeviceMemoryError(
                        self.need(some),
                        self.limit,
                        f"a query of {some[0].nodes} nodes needs it; ask for fewer matches, or use "
                        "method='reference'",
                    )
                ranges.append(range(start, end - 1))
                start = end - 1
        return [*ranges, range(start, len(queries))]

    def scores(self, queries: Sequence[Query]) -> NDArray[np.uint32]:
        """Return the scores of phase 1, one row for each node of the queries."""
        with device_errors(self.device, self.limit):
            batch = _Batch.of(queries, self.options.levels)
            buffers = self._phase_one(queries, batch)
            rows = np.empty((batch.low.size, self.target.n), np.uint32)
            cl.enqueue_copy(self._queue, rows, buffers[0])
            return rows

    def matches(
        self, queries: Sequence[Query]
    ) -> tuple[list[NDArray[np.int32]], NDArray[np.int64]]:
        """Return matches, for each query a (K, nodes) array, and costs: (queries, K)."""
        n, watch, chains = self.target.n, self.watch, self.options.matches
        with device_errors(self.device, self.limit):
            batch = _Batch.of(queries, self.options.levels)
            flat = np.empty(chains * batch.low.size, np.int32)
            paid = np.empty((len(queries), chains), np.int64)
            ends = np.cumsum([0, *(chains * query.nodes for query in queries)])
            matches = [
                flat[start:end].reshape(chains, -1) for start, end in pairwise(ends.tolist())
            ]
            # all buffers are kept until the copies below have ended
            buffers = self._phase_one(queries, batch)
            score, info, offsets, neighbours, low, high, similarities, bits = buffers[:8]
            components = self._bring(batch.components)
            work, pairs, costs = (self.device.buffer(8 * paid.size) for _ in range(3))
            partners = self.device.buffer(flat.nbytes)
            following = self.device.buffer(4)
            slots = self._slots(len(queries))
            seen, lists = (self.device.buffer(4 * n * slots) for _ in range(2))
            watch.add("kernel", cl.enqueue_fill_buffer(self._queue, seen, _ZERO, 0, 4 * n * slots))

            def run(those: NDArray[np.int32], stream: int, chosen: Options) -> None:
                cl.enqueue_copy(self._queue, work, those)
                power, seed = np.int32(chosen.power), np.uint64(chosen.seed)
                event = self._extension.kernel("seeds")(
                    self._queue, (len(those) * self.group,), (self.group,),
                    work, np.uint32(stream), info, np.int32(n), power, seed, score, self._table,
                    pairs,
                )  # fmt: skip
                watch.add("kernel", event)
                cl.enqueue_fill_buffer(self._queue, following, _ZERO, 0, 4)
                event = self._extension.kernel("extend")(
                    self._queue, (min(slots, len(those)) * self.group,), (self.group,),
                    work, np.uint32(stream), info, offsets, neighbours, self._offsets,
                    self._neighbours, np.int32(n), components, low, high, similarities, bits, score,
                    self._table, np.int32(len(those)), np.int32(chains), power,
                    np.int32(chosen.flags), np.int32(chosen.rounds), seed, pairs, seen,
                    lists, following, partners, costs,
                )  # fmt: skip
                watch.add("kernel", event)
                cl.enqueue_copy(self._queue, flat, partners)
                cl.enqueue_copy(self._queue, paid, costs)

            run_chains(matches, self.options, run)
        return matches, paid

    def _phase_one(self, queries: Sequence[Query], batch: _Batch) -> tuple[cl.Buffer, ...]:
        """Enqueue phase 1, and return its buffers: the scores, and seven that phase 3 reads."""
        n, queue, count = self.target.n, self._queue, len(queries)
        size = self.device.buffer
        info, offsets, neighbours, low, high, similarities, bits = map(
            self._bring,
            (batch.info, batch.offsets, batch.neighbours, batch.low, batch.high, batch.similarities,
             batch.bits),
        )  # fmt: skip
        source_offsets, sources, arcs = map(
            self._bring, (batch.source_offsets, batch.sources, batch.arcs)
        )
        mask, around = (size(4 * n * batch.words) for _ in range(2))
        local = (self.group, 1)
        items = (-(-n // self.group) * self.group, count)
        event = self._scores.kernel("masks")(
            queue, items, local, info, offsets, self._offsets, np.int32(n),
            np.int32(self.options.edge_degrees), low, high, similarities, mask,
        )  # fmt: skip
        self.watch.add("kernel", event)
        event = self._scores.kernel("surroundings")(
            queue, items, local, info, self._offsets, self._neighbours, np.int32(n), mask, around
        )
        self.watch.add("kernel", event)
        groups = self._searches(count)
        deep = self.options.levels > 2
        queues = size(4 * n * groups * count if deep else 4)
        bitmap = 4 * (-(-n // 32)) * groups * count if deep else 4
        seen = size(bitmap)
        cl.enqueue_fill_buffer(queue, seen, _ZERO, 0, bitmap)
        score = size(4 * n * batch.low.size)
        event = self._scores.kernel("scores")(
            queue, (groups * self.group, count), local, info, offsets, self._offsets,
            self._neighbours, np.int32(n), np.int32(self.options.levels),
            np.int32(self.options.parts), low, high, similarities, mask, around, bits,
            source_offsets, sources, arcs, queues, seen, score,
        )  # fmt: skip
        self.watch.add("kernel", event)
        inputs = info, offsets, neighbours, low, high, similarities, bits
        return score, *inputs, source_offsets, sources, arcs, mask, around, queues, seen

    def _searches(self, queries: int) -> int:
        """Return how many groups score the vertices for one query."""
        if self.options.levels <= 2 and self.group > 1:
            return self.target.n
        return max(1, min(self.target.n, -(-self.units * _SEARCHES // queries)))

    def _slots(self, queries: int) -> int:
        """Return how many chains run at a time."""
        many = self.units if self.group == 1 else self.units * _CHAINS
        return min(queries * self.options.matches, many)

    def _bring(self, array: np.ndarray) -> cl.Buffer:
        """Return a buffer with a copy of an array."""
        buffer = self.device.buffer(max(array.nbytes, 4))
        if array.size:
            with self.watch.by_the_host("transfer"):
                cl.enqueue_copy(self._queue, buffer, np.ascontiguousarray(array))
        return buffer
