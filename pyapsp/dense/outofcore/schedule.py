"""The rows of a pass that are not updated yet, and their distribution to devices."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from pyapsp.dense.outofcore.shape import up_to

__all__ = ["Schedule"]


class Schedule:
    """Distributes ranges of rows to several devices until none are left.

    The first device takes rows from the front, the others from the back. Near the end ranges get
    shorter. A device gets no range if the other devices could update all remaining rows in less
    time than it needs for this range.

    Parameters
    ----------
    ranges : iterable of (int, int)
        Rows to be updated: first, and one past the last.
    rates : dict
        Rows a second of each device, by what it calls itself; any unit. The first is the main one.
    """

    def __init__(self, ranges: Iterable[tuple[int, int]], rates: dict[object, float]) -> None:
        self._left = [(first, last) for first, last in ranges if first < last]
        self._rates = rates
        self._busy: set[tuple[int, int]] = set()
        self._changed = threading.Condition()
        self._held = self._stopped = self._opening = False
        self._retired: set[object] = set()

    @property
    def left(self) -> list[tuple[int, int]]:
        """Rows that nobody has updated yet, in order."""
        with self._changed:
            return _merged([*self._left, *self._busy])

    def more(self, who: object) -> bool:
        """Wait while the schedule is on hold, and return whether there may be work for a device."""
        with self._changed:
            self._changed.wait_for(lambda: not self._held or self._stopped)
            return bool(self._left) and not self._stopped and who not in self._retired

    def ranges(self, count: int, unit: int, who: object) -> Iterator[tuple[int, int]]:
        """Yield ranges of at most `count` rows, a multiple of `unit` but for what is left over.

        Ends when there are no more, when a hold begins, or when another device is better.
        """
        while (rows := self._take(count, unit, who)) is not None:
            yield rows

    def done(self, first: int, last: int) -> None:
        """Note that the rows of a range are updated."""
        with self._changed:
            self._busy.remove((first, last))
            self._changed.notify_all()

    def begin(self, first: int, last: int) -> bool:
        """Wait until some rows are updated, and return whether their pivot block may be opened.

        Whoever opens it is at work until `end`. The answer is no after `stop`.
        """

        def updated() -> bool:
            return all(high <= first or last <= low for low, high in (*self._left, *self._busy))

        with self._changed:
            self._changed.wait_for(lambda: self._stopped or (not self._held and updated()))
            self._opening = not self._stopped
            return self._opening

    def end(self) -> None:
        """Note that the pivot block is open."""
        with self._changed:
            self._opening = False

    @property
    def quiet(self) -> bool:
        """Whether it is on hold and nobody is at work any more."""
        with self._changed:
            return self._held and not self._busy and not self._opening

    def hold(self) -> None:
        """Hand out nothing more for the time being."""
        with self._changed:
            self._held = True

    def release(self) -> None:
        """End a hold."""
        with self._changed:
            self._held = False
            self._changed.notify_all()

    def stop(self) -> None:
        """Hand out nothing more, ever."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _take(self, count: int, unit: int, who: object) -> tuple[int, int] | None:
        with self._changed:
            if self._held or self._stopped or not self._left:
                return None
            main = who == next(iter(self._rates))
            rest = sum(b - a for a, b in self._left)
            count = self._fewer(count, unit, who, rest)
            first, last = self._left.pop(0 if main else -1)
            if not main:
                others = sum(rate for name, rate in self._rates.items() if name != who)
                wanted = min(count, last - first)
                if wanted / self._rates[who] > rest / others:
                    self._left.append((first, last))
                    self._retired.add(who)
                    return None
            if last - first > count:
                if main:
                    self._left.insert(0, (first + count, last))
                    last = first + count
                else:
                    # what stays begins at a multiple of the unit, so that no rows are padded twice
                    middle = last - count
                    self._left.append((first, middle))
                    first = middle
            self._busy.add((first, last))
            return (first, last)

    def _fewer(self, count: int, unit: int, who: object, rest: int) -> int:
        """Return how many rows a device takes: near the end fewer, so that all end together."""
        share = int(rest * self._rates[who] / sum(self._rates.values()))
        if len(self._rates) == 1 or share >= 2 * count:
            return count
        return up_to(max(share // 2, count // 4), unit)


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Put ranges in order, and join those that touch."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and merged[-1][1] == first:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged
