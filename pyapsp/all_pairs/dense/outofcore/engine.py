"""The passes over a matrix in host memory: the work of each device, and the checkpoints.

A pass *opens* a pivot block: it runs Floyd-Warshall on the block and multiplies its rows by it (the
*row panel*). Then it updates all other rows in any order, on all devices in parallel. After the
opening, the state of a run is the matrix and the list of rows that this pass has not updated yet. A
checkpoint stores both.

Look-ahead: the rows of the next pivot block are updated first, and that block is opened while all
devices update the other rows:

    first device   | rows of k+1 | close, panel k+1, beside the update with panel k | update, k+1
    other devices  | rows of k+1 | update with panel k                  | fetch k+1 | update, k+1

Each device then has two workers, for even and odd passes, since it has two row panels at once.

Each pass of b pivots copies every value to the device and back once, so that a larger b needs less
bandwidth. The result does not depend on the order of the rows. So a run that continues from a
checkpoint gives the same bits as one without an interruption.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeAlias

from pyapsp.all_pairs.dense.outofcore.checkpoint import Checkpoint
from pyapsp.all_pairs.dense.outofcore.interval import Interval
from pyapsp.all_pairs.dense.outofcore.manifest import Decisive, Ranges, State
from pyapsp.all_pairs.dense.outofcore.schedule import Schedule
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.all_pairs.dense.outofcore.worker import Worker

__all__ = ["Engine"]

# Seconds between two checks of the progress of the devices.
_LOOK = 0.05

#: The workers of a device: one, or with look-ahead one for even and one for odd passes.
Turns: TypeAlias = Sequence[Worker]


class Engine:
    """Floyd-Warshall, pass by pass.

    Parameters
    ----------
    matrix : Matrix
    devices : sequence of sequences of Worker
        The workers of each device: one, or two for look-ahead. The first device computes the row
        panels.
    rates : sequence of float
        Updates a second of each device.
    closer : int
        Which of them closes the pivot blocks.
    block : int
        Pivots of a pass; a multiple of the unit of each worker.
    checkpoint : Checkpoint or None
    interval : Interval or None
        When to save.
    decisive : Decisive or None
        Further data for the state of a checkpoint, if there is one.
    progress : callable or None
        Called as ``progress(done, total)``, with rows times passes.
    """

    def __init__(
        self,
        matrix: Matrix,
        devices: Sequence[Turns],
        rates: Sequence[float],
        closer: int,
        block: int,
        *,
        checkpoint: Checkpoint | None = None,
        interval: Interval | None = None,
        decisive: Decisive | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._matrix, self._devices, self._closer = matrix, devices, closer
        self._rates = rates
        self._block, self._progress = block, progress
        self._checkpoint, self._interval = checkpoint, interval
        self._decisive = decisive
        self.passes = -(-matrix.n // block)
        self._unit = math.lcm(*(workers[0].unit for workers in devices))
        self._ahead = len(devices[0]) > 1
        self._number = 0
        # how many pivot blocks are open: that of the pass at hand, and perhaps the next one
        self._opened = 0
        self._schedule: Schedule | None = None
        self._running: list[Future[None]] = []

    def run(self, state: State | None = None) -> None:
        """Run the passes that are left.

        Parameters
        ----------
        state : State, optional
            Of the checkpoint that the matrix was loaded from.

        Raises
        ------
        DeviceError
            If a device fails; the last checkpoint is as it was.
        BaseException
            What `progress` raises, and KeyboardInterrupt. The rows at hand are finished first, and
            a checkpoint is saved.
        """
        left: Ranges | None = None
        if state is not None:
            self._number, left = state["pass"], state["left"]
            self._opened = state.get("opened", self._number + (left is not None))
        try:
            # for each device one that updates and one that brings rows, and one that opens a block
            with ThreadPoolExecutor(2 * len(self._devices) + 1) as pool:
                try:
                    self._passes(pool, left)
                except BaseException:
                    if self._schedule is not None:
                        self._schedule.stop()
                    wait(self._running)  # the opening of a block submits more to the pool
                    raise
            self._tell()
        except BaseException:
            # no thread is at work any more
            if all(each.exception() is None for each in self._running):
                self._save()
            raise

    def _passes(self, pool: ThreadPoolExecutor, left: Ranges | None) -> None:
        """Run the passes that are left; of the first one only these rows, if they are given."""
        ready = False
        while self._number < self.passes:
            ahead = self._ahead and self._number + 1 < self.passes
            first, last = self._pivots(self._number)
            rows = [(0, first), (last, self._matrix.n)]
            if left is not None:
                rows, left = [(low, high) for low, high in left], None
            urgent = self._pivots(self._number + 1) if ahead else (0, 0)
            self._schedule = schedule = Schedule(rows, dict(enumerate(self._rates)), urgent)
            if not ready:
                self._wait([pool.submit(self._open, pool, self._number)])
            running = [
                pool.submit(self._worker(device, self._number).update, schedule, device)
                for device in range(len(self._devices))
            ]
            if ahead:
                running.append(pool.submit(self._open_next, pool, schedule, self._number + 1))
            self._wait(running)
            while schedule.left:  # what one device left to another that had ended already
                main = self._worker(0, self._number)
                self._wait([pool.submit(main.update, schedule, 0)])
            ready = ahead
            self._number += 1
            self._schedule = None
            if self._interval is not None and self._interval.due(time.monotonic()):
                self._save()

    def _worker(self, device: int, number: int) -> Worker:
        workers = self._devices[device]
        return workers[number % len(workers)]

    def _pivots(self, number: int) -> tuple[int, int]:
        """Return the rows of a pivot block: the first, and one past the last."""
        first = number * self._block
        return first, min(first + self._block, self._matrix.n)

    def _open(self, pool: ThreadPoolExecutor, number: int) -> None:
        """Make a row panel, unless it is in the matrix, and bring it to all devices."""
        first, last = self._pivots(number)
        depth = min(self._block, -(-(last - first) // self._unit) * self._unit)
        lacking = range(len(self._devices))
        if number >= self._opened:
            self._worker(self._closer, number).close_pivot(first, depth)
            self._worker(0, number).panel(first, depth)
            self._opened = number + 1
            lacking = lacking[1:]
        bringing = [
            pool.submit(self._worker(device, number).fetch, first, depth) for device in lacking
        ]
        wait(bringing)
        for each in bringing:
            each.result()

    def _open_next(self, pool: ThreadPoolExecutor, schedule: Schedule, number: int) -> None:
        """Open the block of the next pass, as soon as its rows are updated."""
        if schedule.begin():
            try:
                self._open(pool, number)
            finally:
                schedule.end()

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
        return self._opened > self._number

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
        if self._checkpoint is None or self._interval is None or self._decisive is None:
            return
        left = self._schedule.left if self._schedule is not None and self._is_open else None
        state: State = {
            **self._decisive,
            "pass": self._number,
            "left": left,
            "opened": self._opened,
        }
        cost = self._checkpoint.save(self._matrix, state)
        self._interval.saved(cost, time.monotonic())
