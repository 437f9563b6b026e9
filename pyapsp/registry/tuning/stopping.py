"""The ends of runs that take too long: of a slow one by its progress, of a stalled one by force."""

from __future__ import annotations

import faulthandler
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Hopeless", "Pace", "watched"]

# Only runs longer than this are stopped: wall time also contains work other than kernels.
_GRACE_SECONDS = 0.25


class Hopeless(Exception):  # noqa: N818 - it is a signal, not an error
    """A run was stopped because its progress showed that it is slow."""


class Pace:
    """A progress function that stops a run which will take longer than some seconds."""

    def __init__(self, allowed: float) -> None:
        self._allowed, self._started = allowed, 0.0
        self.projected = 0.0

    def __call__(self, done: int, total: int) -> None:
        """Raise Hopeless if the run will take too long."""
        now = time.perf_counter()
        if done == 1:
            self._started = now
            return
        elapsed = now - self._started
        self.projected = elapsed / (done - 1) * total
        if elapsed > _GRACE_SECONDS and self.projected > self._allowed:
            raise Hopeless


@contextmanager
def watched(seconds: float | None) -> Iterator[None]:
    """End the process if the block takes longer, even if a driver holds the interpreter."""
    if seconds is None:
        yield
        return
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
