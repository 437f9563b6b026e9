"""Work at the same time, a part for each device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from threading import Event, Lock
from typing import TypeAlias, TypeVar

__all__ = ["Tell", "in_turns", "together"]

#: Is called with the work that is done, and all work.
Tell: TypeAlias = Callable[[int, int], None]

_R = TypeVar("_R")

# Seconds between two looks at the progress.
_LOOK = 0.05


class _StoppedError(Exception):
    """Ends a part because another one failed, or the caller was interrupted."""


def together(
    parts: Sequence[Callable[[Tell | None], _R]], tell: Tell | None = None, total: int = 0
) -> list[_R]:
    """Do parts of some work at the same time, each in a thread; return what they return, in order.

    After an exception, also one of `tell`, it is raised when all parts have ended.

    Parameters
    ----------
    parts : sequence of callable
        Each is called with a function that it tells its progress. This function ends a part after
        an exception of another one. A single part is called in this thread with `tell` itself.
    tell : callable or None
        Is called in this thread with the work that all parts have done.
    total : int
        The work of all parts.
    """
    if len(parts) == 1:
        return [parts[0](tell)]
    done, stop = [0] * len(parts), Event()

    def of(number: int) -> Tell:
        def note(count: int, _: int) -> None:
            if stop.is_set():
                raise _StoppedError
            done[number] = count

        return note

    with ThreadPoolExecutor(len(parts)) as pool:
        running = [pool.submit(part, of(number)) for number, part in enumerate(parts)]
        try:
            told, left = 0, set(running)
            while left:
                ended, left = wait(left, _LOOK, FIRST_EXCEPTION)
                for each in ended:
                    each.result()
                if tell is not None and sum(done) > told:
                    told = sum(done)
                    tell(told, total)
        except BaseException:
            stop.set()
            raise
    return [each.result() for each in running]


def in_turns(
    workers: Sequence[Callable[[Iterator[slice]], _R]],
    sizes: Sequence[int],
    total: int,
    tell: Tell | None = None,
) -> list[_R]:
    """Share some items: a worker takes the next ones when it is done, until there are no more.

    Threads, exceptions and the order of what is returned are those of `together`.

    Parameters
    ----------
    workers : sequence of callable
        Each is called with an iterator of the items that it takes. After an exception of another
        worker, the iterator raises one.
    sizes : sequence of int
        The number of items that each worker takes at a time.
    total : int
        The number of items.
    tell : callable or None
        Is called in this thread with the items that are done, and `total`.
    """
    first, lock = 0, Lock()

    def taken(size: int, note: Tell | None) -> Iterator[slice]:
        nonlocal first
        done = 0
        while True:
            with lock:
                some = slice(first, min(first + size, total))
                first = some.stop
            if some.start == some.stop:
                return
            yield some
            done += some.stop - some.start
            if note is not None:
                note(done, total)

    # no closure of a worker: the frames of a stored error would keep it, and its device memory
    def run(worker: Callable[[Iterator[slice]], _R], size: int, note: Tell | None) -> _R:
        return worker(taken(size, note))

    parts = [partial(run, *each) for each in zip(workers, sizes, strict=True)]
    return together(parts, tell, total)
