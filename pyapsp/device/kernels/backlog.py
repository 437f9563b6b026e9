"""A bound on the work that waits in a queue, so that an interrupted run ends soon."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import pyopencl as cl

from pyapsp.device import event_times

__all__ = ["Backlog"]

# Seconds of work that may wait in a queue, and the work of each compute unit that may wait before
# the rate is known: a slow unit does that much in less than these seconds.
_SECONDS, _START = 0.25, 2.0**27


class Backlog:
    """Lets the host wait before a queue holds too much work.

    A driver cannot drop what is enqueued, and a thread that waits for a queue sees no signal. So
    the seconds of work in the queue are those that Ctrl-C takes. One step runs in any case while
    another one is enqueued, so that the device has always something to do.

    The commands' queue must be in order and have profiling enabled, as that of `Device.queue`.

    Parameters
    ----------
    units : int
        Compute units of the device.

    Examples
    --------
    >>> backlog = Backlog(device.capabilities.compute_units)  # doctest: +SKIP
    >>> for _ in range(rounds):  # doctest: +SKIP
    ...     backlog.add([kernel(queue, (n, n), (32, 4), buffer)], n * n)
    """

    def __init__(self, units: int) -> None:
        self._waiting: deque[tuple[Sequence[cl.Event], float]] = deque()
        self._work, self._most = 0.0, _START * units
        self._since: int | None = None

    def add(self, events: Sequence[cl.Event], work: float) -> None:
        """Note the commands of a step; wait for earlier ones if the queue holds too much.

        Parameters
        ----------
        events : sequence of pyopencl.Event
            In order, at least one.
        work : float
            The work of the step, in a unit that is the same in all steps.
        """
        self._waiting.append((events, work))
        self._work += work
        if self._work <= self._most or len(self._waiting) == 1:
            return
        since = self._since
        if since is None:
            since = event_times(self._waiting[0][0][0])[0]
        # half of what may wait, because each wait costs the host some time
        done = 0.0
        while self._work > self._most / 2 and len(self._waiting) > 1:
            gone, work = self._waiting.popleft()
            done += work
            self._work -= work
        end = event_times(gone[-1])[1]
        seconds = (end - since) * 1e-9
        if seconds > 0:
            self._most = done / seconds * _SECONDS
        self._since = end
