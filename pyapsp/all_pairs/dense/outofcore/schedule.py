"""The rows of a pass that are not updated yet, and their distribution to devices."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Iterator
from itertools import pairwise

__all__ = ["Schedule"]


class Schedule:
    """Distributes ranges of rows to several devices until none are left.

    The first device takes urgent rows first, and so do others at least half as fast. Then it takes
    rows from the front, the others from the back. A device gets no range if the other devices could
    update all remaining rows in less time than it needs for this range.

    Parameters
    ----------
    ranges : iterable of (int, int)
        Rows to be updated: first, and one past the last.
    rates : dict
        Rows a second of each device, by what it calls itself; any unit. The first is the main one.
    urgent : (int, int), optional
        Those of the rows that are updated before the others.
    """

    def __init__(
        self,
        ranges: Iterable[tuple[int, int]],
        rates: dict[Hashable, float],
        urgent: tuple[int, int] = (0, 0),
    ) -> None:
        self._urgent = urgent
        self._left = _sooner([(first, last) for first, last in ranges if first < last], *urgent)
        self._rates, self._main = rates, next(iter(rates))
        self._busy: set[tuple[int, int]] = set()
        self._changed = threading.Condition()
        self._paused = self._stopped = self._opening = False
        self._retired: set[Hashable] = set()

    @property
    def left(self) -> list[tuple[int, int]]:
        """Rows that nobody has updated yet, in order."""
        with self._changed:
            return _merged([*self._left, *self._busy])

    def more(self, who: Hashable) -> bool:
        """Wait while the schedule is on hold, and return whether there may be work for a device."""
        with self._changed:
            self._changed.wait_for(lambda: not self._paused or self._stopped)
            return bool(self._left) and not self._stopped and who not in self._retired

    def ranges(self, count: int, who: Hashable) -> Iterator[tuple[int, int]]:
        """Yield ranges of at most `count` rows.

        Ends when there are no more, when a hold begins, or when another device is better.
        """
        while (rows := self._take(count, who)) is not None:
            yield rows

    def done(self, first: int, last: int) -> None:
        """Note that the rows of a range are updated."""
        with self._changed:
            self._busy.remove((first, last))
            self._changed.notify_all()

    def begin(self) -> bool:
        """Wait until the urgent rows are updated, and return whether they may be used.

        Whoever uses them is at work until `end`. The answer is no after `stop`.
        """

        def ready() -> bool:
            return not self._paused and not any(map(self._is_urgent, (*self._left, *self._busy)))

        with self._changed:
            self._changed.wait_for(lambda: self._stopped or ready())
            self._opening = not self._stopped
            return self._opening

    def end(self) -> None:
        """Note that the urgent rows have been used."""
        with self._changed:
            self._opening = False

    @property
    def quiet(self) -> bool:
        """Whether it is on hold and nobody is at work any more."""
        with self._changed:
            return self._paused and not self._busy and not self._opening

    def hold(self) -> None:
        """Hand out nothing more for the time being."""
        with self._changed:
            self._paused = True

    def release(self) -> None:
        """End a hold."""
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    def stop(self) -> None:
        """Hand out nothing more, ever."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _take(self, count: int, who: Hashable) -> tuple[int, int] | None:
        with self._changed:
            if self._paused or self._stopped or not self._left:
                return None
            fast = 2 * self._rates[who] >= self._rates[self._main]
            front = who == self._main or (fast and self._is_urgent(self._left[0]))
            first, last = self._left.pop(0 if front else -1)
            if not front:
                rest = sum(b - a for a, b in self._left) + last - first
                others = sum(rate for name, rate in self._rates.items() if name != who)
                wanted = min(count, last - first)
                if wanted / self._rates[who] > rest / others:
                    self._left.append((first, last))
                    self._retired.add(who)
                    return None
            if last - first > count:
                if front:
                    self._left.insert(0, (first + count, last))
                    last = first + count
                else:
                    middle = last - count
                    self._left.append((first, middle))
                    first = middle
            self._busy.add((first, last))
            return (first, last)

    def _is_urgent(self, rows: tuple[int, int]) -> bool:
        return rows[0] < self._urgent[1] and self._urgent[0] < rows[1]


def _sooner(rows: Iterable[tuple[int, int]], low: int, high: int) -> list[tuple[int, int]]:
    """Put those of some rows that are in a range before the others."""
    inside, others = [], []
    for first, last in rows:
        cuts = [min(max(each, first), last) for each in (first, low, high, last)]
        before, within, after = pairwise(cuts)
        inside.append(within)
        others += [before, after]
    return [(first, last) for first, last in inside + others if first < last]


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Put ranges in order, and join those that touch."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and merged[-1][1] == first:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged
