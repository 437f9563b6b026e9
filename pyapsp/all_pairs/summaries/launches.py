"""Launches over many sources, each of a time for which the host may wait."""

from __future__ import annotations

import time
from collections.abc import Callable

import pyopencl as cl

__all__ = ["in_launches"]

# Seconds of a launch, which the host cannot stop: shorter ones are followed by longer ones.
_SHORT, _LONG = 0.05, 0.2


def in_launches(
    queue: cl.CommandQueue,
    size: int,
    slots: int,
    run: Callable[[int, int], None],
    tell: Callable[[int, int], None] | None,
    *,
    done: int = 0,
) -> None:
    """Call ``run(begin, end)`` for parts of a range, each of which enqueues a launch.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    size : int
        The end of the range.
    slots : int
        The number of work-items. Parts are multiples of it, so that an item has the same one
        whatever the times.
    run : callable
    tell : callable or None
        Called with the end of what is done, and with the size.
    done : int
        The begin of the range: a multiple of the slots.
    """
    wanted = slots
    while done < size:
        started, end = time.perf_counter(), min(done + wanted, size)
        run(done, end)
        queue.finish()
        seconds = time.perf_counter() - started
        done = end
        if seconds < _LONG:
            wanted *= 4 if seconds < _SHORT else 2
        if tell is not None:
            tell(done, size)
