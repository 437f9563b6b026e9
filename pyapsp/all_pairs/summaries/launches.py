"""Launches over many sources: what fits, and parts of a time for which the host may wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pyopencl as cl

from pyapsp.registry import Options

__all__ = ["fitting", "in_launches"]

# The part of the memory that searches have.
_PART = 2

# Seconds of a launch, which the host cannot stop: shorter ones are followed by longer ones.
_SHORT, _LONG = 0.05, 0.2


def fitting(options: Options, each: Sequence[int]) -> int:
    """Return how many searches at once the memory is enough for.

    Parameters
    ----------
    options : Options
    each : sequence of int
        The bytes that one of them has of each buffer.
    """
    largest = int(options.device.capabilities.max_allocation)
    return min(options.memory // _PART // sum(each), largest // max(each))


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
