"""Searches on several devices, which take the next sources in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from pyapsp.base.dry import needed
from pyapsp.base.together import together
from pyapsp.paths import PathOptions
from pyapsp.queries.workers import Workers

__all__ = ["launched", "on_each_device", "portions"]

_R = TypeVar("_R")
_Part = TypeVar("_Part")
_Workers = TypeVar("_Workers", bound=Workers)


def on_each_device(
    make: Callable[[PathOptions], _Workers],
    options: PathOptions,
    answer: int | None,
    least: int = 0,
) -> list[_Workers]:
    """Return workers on each device, which have started.

    Parameters
    ----------
    make : callable
        Returns the workers for options with one device.
    options : PathOptions
    answer : int or None
        Bytes of the answer, for dry runs.
    least : int
        What the call needs on a device at another time, for dry runs.
    """
    devices = options.device, *options.helpers
    workers = [make(replace(options, device=each, helpers=())) for each in devices]
    needed(max(least, *(each.bytes for each in workers)), answer)
    for each in workers:
        each.start()
    return workers


def portions(workers: Sequence[Workers], left: int) -> list[int]:
    """Return how many of the searches that are left each device does next."""
    counts = []
    for number, each in enumerate(workers):
        counts.append(min(each.wanted, -(-left // (len(workers) - number))))
        left -= counts[-1]
    return counts


def launched(
    workers: Sequence[_Workers], work: Callable[[_Workers, _Part], _R], parts: Sequence[_Part]
) -> list[_R]:
    """Do work for some parts at the same time, each on a device, and return what is found.

    There may be more workers than parts.
    """

    def of(worker: _Workers, part: _Part) -> Callable[[object], _R]:
        return lambda _: work(worker, part)

    return together([of(*each) for each in zip(workers, parts, strict=False)])
