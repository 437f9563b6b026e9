"""Blocked Floyd-Warshall over ranks: each has some rows, and the pivot rows are broadcast.

A pass over a block of pivots has three steps. Its owner runs Floyd-Warshall inside the block and
multiplies its rows by it; these rows are the *panel*. The panel is broadcast. Each rank updates its
other rows with it. The steps of a rank are those of `fw-outofcore` (`Worker`), so that the result
has the same bits as that of one process with the same blocks.

Look-ahead: in a pass, the owner of the next block updates these rows first, makes the next panel of
them, and starts its broadcast. All ranks still update their other rows meanwhile. So the broadcast
and the work on the pivot block overlap with the product:

    owner of k+1   | rows of k+1 | close, panel k+1 |
                   |             | update the other rows with panel k   | update with k+1 ...
    broadcast                                       | panel k+1    |
    other ranks    | update all rows with panel k                       | update with k+1 ...

Two workers on the device, for even and odd passes, each have a right factor: one is in use while
the other receives the next panel.

Source of the scheme: P. Sao et al., Scalable all-pairs shortest paths for huge graphs on multi-GPU
clusters, HPDC 2021, doi:10.1145/3431379.3460651.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from pyapsp.all_pairs.dense.outofcore.schedule import Schedule
from pyapsp.all_pairs.dense.outofcore.worker import Worker
from pyapsp.cluster.band import Band
from pyapsp.cluster.ranks import Ranks
from pyapsp.cluster.resident import ResidentWorker
from pyapsp.cluster.window import Broadcast

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Passes"]


class Passes:
    """The passes of a rank.

    Parameters
    ----------
    ranks : Ranks
    band : Band
    panel : callable
        ``panel(first, depth)`` returns the memory of pivot rows for their broadcast.
    workers : (Worker, Worker) or (ResidentWorker, ResidentWorker)
        On the same device; for even and odd passes.
    owners : sequence of int
        The rank of each pivot block.
    block : int
    due : callable or None
        Called on rank 0 in each pass; returns whether a checkpoint follows the pass. None if no
        checkpoints are written.
    save : callable
        Called on all ranks with the number of the next pass, to write a checkpoint.
    progress : callable or None
        Called on rank 0 as ``progress(done, total)`` with passes.
    """

    def __init__(
        self,
        ranks: Ranks,
        band: Band,
        panel: Callable[[int, int], np.ndarray],
        workers: tuple[Worker, Worker] | tuple[ResidentWorker, ResidentWorker],
        owners: Sequence[int],
        block: int,
        *,
        due: Callable[[], bool] | None = None,
        save: Callable[[int], None] = lambda number: None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._ranks, self._band, self._panel, self._workers = ranks, band, panel, workers
        self._owners, self._block = owners, block
        self._due, self._save, self._progress = due, save, progress
        self._unit = workers[0].unit

    def run(self, start: int = 0) -> None:
        """Run the passes from a number on.

        Raises
        ------
        RankError
            If another rank has failed.
        DeviceError
            If the device fails.
        """
        total = len(self._owners)
        with ThreadPoolExecutor(2, "pyapsp-rank") as pool:
            ready = False
            for number in range(start, total):
                if not ready:
                    self._open(pool, number)
                last = number + 1 == total
                # with a checkpoint after this pass, the next pivot block is not yet touched
                pause = self._due is not None and self._ranks.share(self._due())
                ready = not (last or pause)
                if self._mine(number + 1) and ready:
                    self._update_and_open(pool, number)
                else:
                    self._update(pool, number, ahead=ready)
                if self._progress is not None and self._ranks.rank == 0:
                    self._progress(number + 1, total)
                if pause and not last:
                    self._save(number + 1)

    def _mine(self, number: int) -> bool:
        return number < len(self._owners) and self._owners[number] == self._ranks.rank

    def _rows(self, number: int) -> tuple[int, int]:
        """Return the rows of a pivot block."""
        first = number * self._block
        return first, min(first + self._block, self._band.n)

    def _pivot(self, number: int) -> tuple[int, int]:
        """Return the first pivot, and their number with the padding."""
        first, last = self._rows(number)
        return first, min(self._block, -(-(last - first) // self._unit) * self._unit)

    def _worker(self, number: int) -> Worker | ResidentWorker:
        return self._workers[number % 2]

    def _broadcast(self, number: int) -> list[MPI.Request | Broadcast]:
        """Start the broadcast of a panel."""
        rows = self._panel(*self._pivot(number))
        return self._ranks.start_broadcast(rows, self._owners[number])

    def _make(self, number: int) -> None:
        """Make a panel of the rows of this rank."""
        worker, pivot = self._worker(number), self._pivot(number)
        worker.close_pivot(*pivot)
        worker.panel(*pivot)

    def _publish(self, number: int) -> None:
        """Bring a panel from the device for its broadcast, if it is still there."""
        worker = self._worker(number)
        if isinstance(worker, ResidentWorker) and self._ranks.size > 1:
            worker.publish(*self._pivot(number))

    def _open(self, pool: ThreadPoolExecutor, number: int) -> None:
        """Make a panel or receive it, with nothing to overlap."""
        if self._mine(number):
            self._wait([pool.submit(self._make, number)])
            self._publish(number)
        self._ranks.wait(self._broadcast(number))
        if not self._mine(number):
            self._wait([pool.submit(self._worker(number).fetch, *self._pivot(number))])

    def _ranges(self, number: int, *, without: int | None = None) -> Schedule:
        """Return the rows of this rank that a pass updates: all but the pivots, and some others."""
        own = self._band.own
        taken = sorted(
            (max(low, own.first), min(high, own.last))
            for low, high in map(self._rows, {number, number if without is None else without})
            if low < own.last and high > own.first
        )
        ranges, begin = [], own.first
        for low, high in taken:
            ranges.append((begin, low))
            begin = high
        return Schedule([*ranges, (begin, own.last)], {self: 1.0})

    def _updating(self, pool: ThreadPoolExecutor, number: int, rows: Schedule) -> Future[None]:
        return pool.submit(self._worker(number).update, rows, self)

    def _update(self, pool: ThreadPoolExecutor, number: int, *, ahead: bool) -> None:
        """Update the rows of this rank, and receive the next panel."""
        requests = self._broadcast(number + 1) if ahead else []
        rows = self._ranges(number)
        running = [self._updating(pool, number, rows)]
        try:
            self._ranks.wait(requests)
            if ahead:
                fetch = self._worker(number + 1).fetch
                running.append(pool.submit(fetch, *self._pivot(number + 1)))
            self._wait(running)
        except BaseException:
            rows.stop()
            raise

    def _update_and_open(self, pool: ThreadPoolExecutor, number: int) -> None:
        """Update the next pivot rows first, and make and send their panel beside the others."""
        urgent = Schedule([self._rows(number + 1)], {self: 1.0})
        rest = self._ranges(number, without=number + 1)
        try:
            self._wait([self._updating(pool, number, urgent)])
            running = []
            if isinstance(self._worker(number), Worker):  # it copies: kernels of both fit together
                running.append(self._updating(pool, number, rest))
            self._wait([pool.submit(self._make, number + 1)])
            if not running:
                running.append(self._updating(pool, number, rest))
            self._publish(number + 1)
            self._ranks.wait(self._broadcast(number + 1))
            self._wait(running)
        except BaseException:
            rest.stop()
            raise

    def _wait(self, running: list[Future[None]]) -> None:
        """Wait for work on the device, and for its errors."""

        def done() -> bool:
            for each in running:
                if each.done():
                    each.result()
            return all(each.done() for each in running)

        self._ranks.wait_for(done)
