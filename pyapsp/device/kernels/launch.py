"""Event timing: the time that a run spent in kernels and in transfers, by the device's clock."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import pyopencl as cl

from pyapsp.device import event_times

__all__ = ["Stopwatch"]

# Events that are not read yet, at most; half of them are read at a time, while the later commands
# run. To read them all at the end took 5 ms of a run of 170 ms.
_PENDING = 64


class Stopwatch:
    """Sum of the device times of commands, by phase.

    The commands' queue must have profiling enabled, as that of `Device.queue` has.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> watch.add("kernel", kernel(queue, (n, n), (32, 4), buffer))  # doctest: +SKIP
    >>> watch.seconds("kernel")  # doctest: +SKIP
    0.0123
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._spans: dict[str, tuple[int, int]] = {}
        self._pending: list[tuple[str, cl.Event]] = []

    def add(self, phase: str, event: cl.Event) -> cl.Event:
        """Add the time of this command to a phase, and return its event."""
        self._pending.append((phase, event))
        if len(self._pending) >= _PENDING:
            self._settle(_PENDING // 2)
        return event

    @property
    def pending(self) -> cl.Event | None:
        """The event of the first command whose time has not been read."""
        return self._pending[0][1] if self._pending else None

    @contextmanager
    def by_the_host(self, phase: str) -> Iterator[None]:
        """Add the wall time of the block to a phase.

        Use it for blocking transfers: most of their time may be page faults on the host.
        """
        started = time.perf_counter()
        yield
        self._seconds[phase] += time.perf_counter() - started

    def seconds(self, phase: str) -> float:
        """Wait for the commands of a phase, and return its seconds so far."""
        self._settle()
        return self._seconds[phase]

    def since(self, started: float) -> dict[str, float]:
        """Return the seconds of kernels and of transfers in a run.

        Kernels are by the clock of the host, without transfers: what the host reads and decides
        between launches counts as well.

        Parameters
        ----------
        started : float
            The value of `time.perf_counter` at the start.
        """
        transfers = self.seconds("transfer")
        kernels = max(time.perf_counter() - started - transfers, 0.0)
        return {"kernel_seconds": kernels, "transfer_seconds": transfers}

    def span(self, phase: str) -> float:
        """Return the seconds from the start of a phase's first command to the end of its last.

        Unlike `seconds` it counts the time between commands, and commands that overlap once.
        """
        self._settle()
        start, end = self._spans.get(phase, (0, 0))
        return (end - start) * 1e-9

    def _settle(self, count: int | None = None) -> None:
        """Wait for the first commands, or for all, and add their times."""
        for phase, event in self._pending[:count]:
            first, last = event_times(event)
            self._seconds[phase] += (last - first) * 1e-9
            start, end = self._spans.get(phase, (first, last))
            self._spans[phase] = (min(start, first), max(end, last))
        del self._pending[:count]
