"""How long calls take, so that they compare: in turns, until each was timed often enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np

__all__ = ["enough", "in_turns"]

# Timing ends with this many seconds in all.
_LONG_ENOUGH = 0.1
# How often all calls take turns, at least.
_TURNS = 5


def in_turns(calls: Sequence[Callable[[], object]], repeat: int) -> list[float]:
    """Return the median seconds of each call; all take turns until each was timed enough.

    By the clock of the host: many launches are dear on some devices. In another order each time,
    because a call leaves caches and memory behind for the next. The first call of each, which may
    build its kernels, is not timed.

    Parameters
    ----------
    calls : sequence of callable
    repeat : int
        How often each is timed, at least.

    Returns
    -------
    list of float
    """
    times: list[list[float]] = [[] for _ in calls]
    order = np.random.default_rng(0)
    for call in calls:
        call()
    while len(times[0]) < _TURNS or not all(enough(each, repeat) for each in times):
        for number in order.permutation(len(calls)):
            started = time.perf_counter()
            calls[number]()
            times[number].append(time.perf_counter() - started)
    return [median(each) for each in times]


def enough(times: Sequence[float], repeat: int) -> bool:
    """Whether something was timed often enough: what is short is timed more often."""
    runs = len(times)
    return runs >= repeat and (sum(times) >= _LONG_ENOUGH or runs >= 5 * repeat)
