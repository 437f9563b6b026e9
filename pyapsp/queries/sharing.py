"""Searches on several devices, which take the next sources in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pyapsp.base.dry import is_dry, needed
from pyapsp.base.errors import DeviceError
from pyapsp.base.together import together
from pyapsp.paths import PathOptions
from pyapsp.paths.sharing import largest
from pyapsp.queries.workers import Workers

__all__ = ["launched", "on_each_device", "portions", "start"]

_R = TypeVar("_R")
_Part = TypeVar("_Part")
_Workers = TypeVar("_Workers", bound=Workers)


def on_each_device(make: Callable[[PathOptions], _Workers], options: PathOptions) -> list[_Workers]:
    """Return the workers of each device, which have not started.

    Parameters
    ----------
    make : callable
        Returns the workers for options with one device.
    options : PathOptions
    """
    return [make(each) for each in options.of_each_device()]


def start(workers: Sequence[Workers], answer: int | None, others: Sequence[Workers] = ()) -> None:
    """Start workers on all devices; a dry run ends here.

    Parameters
    ----------
    workers : sequence of Workers
    answer : int or None
        Bytes of the answer.
    others : sequence of Workers
        Those that the call starts at another time.
    """
    if is_dry():
        sizes = [[(each.device, each.bytes) for each in some] for some in (workers, others)]
        needed(max(largest(some) for some in sizes), answer)
    for each in workers:
        each.start()


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

    try:
        return together([of(*each) for each in zip(workers, parts, strict=False)])
    except DeviceError:
        for each in workers:  # a stored error refers to them, and so to their buffers
            vars(each).clear()
        raise
