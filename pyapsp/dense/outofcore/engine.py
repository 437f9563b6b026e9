"""The passes over a matrix in host memory: the work of each device, and the checkpoints.

A pass runs Floyd-Warshall on a pivot block and multiplies its rows by it (the *row panel*). Then it
updates all other rows in any order, on all devices in parallel. After the row panel the state of a
run is the matrix and the list of rows that this pass has not updated yet. A checkpoint stores both.

Each pass of b pivots copies every value to the device and back once, so that a larger b needs less
bandwidth. The result does not depend on the order of the rows. So a run that continues from a
checkpoint gives the same bits as one without an interruption.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

from pyapsp.dense.outofcore.checkpoint import Checkpoint
from pyapsp.dense.outofcore.interval import Interval
from pyapsp.dense.outofcore.schedule import Schedule
from pyapsp.dense.outofcore.storage import Matrix
from pyapsp.dense.outofcore.worker import Worker

__all__ = ["Engine"]

# Seconds between two checks of the progress of the devices.
_LOOK = 0.05


class Engine:
    """Floyd-Warshall, pass by pass.

    Parameters
    ----------
    matrix : Matrix
    workers : sequence of Worker
        The first computes the row panels.
    rates : sequence of float
        Updates a second of each.
    closer : Worker
        Which of them closes the pivot blocks.
    block : int
        Pivots of a pass; a multiple of the unit of each worker.
    checkpoint : Checkpoint or None
    interval : Interval or None
        When to save.
    decisive : dict
        Further data for the state of a checkpoint.
    progress : callable or None
        Called as ``progress(done, total)``, with rows times passes.
    """

    def __init__(
        self,
        matrix: Matrix,
        workers: Sequence[Worker],
        rates: Sequence[float],
        closer: Worker,
        block: int,
        *,
        checkpoint: Checkpoint | None = None,
        interval: Interval | None = None,
        decisive: Mapping[str, Any] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._matrix, self._workers, self._closer = matrix, workers, closer
        self._rates: dict[object, float] = dict(zip(map(id, workers), rates, strict=True))
        self._block, self._progress = block, progress
        self._checkpoint, self._interval = checkpoint, interval
        self._decisive = dict(decisive or {})
        self.passes = -(-matrix.n // block)
        self._unit = math.lcm(*(worker.unit for worker in workers))
        self._number = 0
        self._schedule: Schedule | None = None
        self._opening: Future[None] | None = None
        self._running: list[Future[None]] = []

    def run(self, state: Mapping[str, Any] | None = None) -> None:
        """Run the passes that are left.

        Parameters
        ----------
        state : dict, optional
            Of the checkpoint that the matrix was loaded from.

        Raises
        ------
        DeviceError
            If a device fails; the last checkpoint is as it was.
        BaseException
            What `progress` raises, and KeyboardInterrupt. The rows at hand are finished first, and
            a checkpoint is saved.
        """
        left = None
        if state is not None:
            self._number, left = state["pass"], state["left"]
        try:
            with ThreadPoolExecutor(len(self._workers)) as pool:
                try:
                    while self._number < self.passes:
                        self._pass(pool, left)
                        left = None
                        self._number += 1
                        self._schedule = self._opening = None
                        if self._interval is not None and self._interval.due(time.monotonic()):
                            self._save()
                except BaseException:
                    if self._schedule is not None:
                        self._schedule.stop()
                    raise
            self._tell()
        except BaseException:
            # no thread is at work any more
            if all(each.exception() is None for each in self._running):
                self._save()
            raise

    def _pass(self, pool: ThreadPoolExecutor, left: list[list[int]] | None) -> None:
        n, first = self._matrix.n, self._number * self._block
        depth = min(self._block, -(-(n - first) // self._unit) * self._unit)
        rows = [(0, first), (min(first + depth, n), n)]
        main, *others = self._workers
        if left is not None:
            rows, others = [(low, high) for low, high in left], list(self._workers)
        self._schedule = schedule = Schedule(rows, self._rates)

        def opened() -> None:
            if left is None:
                self._closer.close(first, depth)
                main.panel(first, depth)

        self._opening = pool.submit(opened)
        self._wait([self._opening])
        self._wait([pool.submit(worker.fetch, first, depth) for worker in others])
        self._wait([pool.submit(each.update, schedule, id(each)) for each in self._workers])
        while schedule.left:  # what one device left to another that had ended already
            self._wait([pool.submit(main.update, schedule, id(main))])

    def _wait(self, running: list[Future[None]]) -> None:
        """Wait for the devices, and meanwhile tell of progress and save what is due."""
        self._running = running
        while True:
            done, rest = wait(running, _LOOK, FIRST_EXCEPTION)
            for each in done:
                each.result()
            self._tell()
            if not rest:
                return
            self._save_if_due()

    def _tell(self) -> None:
        if self._progress is not None:
            n = self._matrix.n
            left = 0
            if self._schedule is not None:
                left = n if not self._is_open else sum(b - a for a, b in self._schedule.left)
                left -= n
            self._progress(self._number * n - left, self.passes * n)

    @property
    def _is_open(self) -> bool:
        """Whether the row panel of the pass at hand is in the matrix."""
        opening = self._opening
        return opening is not None and opening.done() and opening.exception() is None

    def _save_if_due(self) -> None:
        schedule = self._schedule
        if self._interval is None or schedule is None or not self._is_open:
            return
        if schedule.quiet:
            self._save()
            schedule.release()
        elif self._interval.due(time.monotonic()):
            schedule.hold()

    def _save(self) -> None:
        if self._checkpoint is None or self._interval is None:
            return
        left = self._schedule.left if self._schedule is not None and self._is_open else None
        state = {**self._decisive, "pass": self._number, "left": left}
        cost = self._checkpoint.save(self._matrix, state)
        self._interval.saved(cost, time.monotonic())
