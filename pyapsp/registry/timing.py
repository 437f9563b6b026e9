"""Timing in turns, so that times can be compared.

Contenders run one after the other: once each to warm up, then in rounds, each round in another
order. So other load on the machine affects all of them equally, and so does the content of caches
and memory after the previous run. Medians are compared.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import median
from typing import Any, Protocol, TypeVar

from pyapsp.base import errors
from pyapsp.base.errors import ParameterError, PyApspError, VerificationError

__all__ = ["Contender", "Meter", "Turn", "enough", "in_turns", "take_turns", "warm_up"]

# A turn that takes more than this many seconds is not repeated, and needs no warm-up.
_LONG = 20.0
# Calls are repeated until they have taken this many seconds in total.
_LONG_ENOUGH = 0.1
_TURNS = 5


@dataclass(frozen=True)
class Turn:
    """The seconds of each phase of a turn, and further facts of the turn.

    Phases are ``wall``, ``kernel`` and others. They may overlap.
    """

    seconds: dict[str, float]
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Contender:
    """Something that is timed, for instance a method."""

    name: str  # name for progress messages
    # Runs once, checks the answer and returns a `Turn`. A `VerificationError` or a
    # `NegativeCycleError` ends the timing of all contenders, which have the same input. Another
    # `PyApspError` excludes this contender.
    turn: Callable[[], Turn]
    # The turns so far; the first is the warm-up.
    turns: list[Turn] = field(default_factory=list, init=False, repr=False)
    # The error that excluded this contender.
    error: PyApspError | None = field(default=None, init=False, repr=False)

    @property
    def timed(self) -> list[Turn]:
        """The timed turns: those after the warm-up, or the only one if that took long."""
        return self.turns[1:] or self.turns

    @property
    def times(self) -> dict[str, list[float]]:
        """The seconds of every timed turn, by phase."""
        return {phase: [turn.seconds[phase] for turn in self.timed] for phase in self._phases}

    @property
    def medians(self) -> dict[str, float]:
        """The median seconds of the timed turns, by phase."""
        return {phase: median(values) for phase, values in self.times.items()}

    @property
    def _phases(self) -> list[str]:
        return list(self.timed[-1].seconds)

    @property
    def _settled(self) -> bool:
        """Whether the first turn took so long that no other is needed."""
        return bool(self.turns) and max(self.turns[0].seconds.values(), default=0.0) > _LONG

    def _take(self) -> None:
        try:
            self.turns.append(self.turn())
        except (VerificationError, errors.NegativeCycleError):
            raise
        except PyApspError as error:
            self.error = error


class Meter(Protocol):
    """A further measurement in the same rounds, for instance of a roof."""

    def turn(self) -> None:
        """Measure once."""


_C = TypeVar("_C", bound=Contender)


def warm_up(
    contenders: Iterable[_C], progress: Callable[[str], None] = lambda text: None
) -> list[_C]:
    """Run each contender once, in the given order; this turn is not timed.

    Parameters
    ----------
    contenders : iterable of Contender
        Those that fail get an `error`.
    progress : callable
        Called with the name of the next contender.

    Returns
    -------
    list of Contender
        The contenders without an error.

    Raises
    ------
    VerificationError
        If an answer is wrong.
    NegativeCycleError
        If the input has no answer.
    """
    taking_part = []
    for each in contenders:
        progress(f"warm-up: {each.name}")
        each._take()
        if each.error is None:
            taking_part.append(each)
    return taking_part


def take_turns(
    contenders: Sequence[_C],
    repeat: int,
    *,
    meters: Iterable[Meter] = (),
    progress: Callable[[str], None] = lambda text: None,
) -> list[_C]:
    """Time contenders in turns, after the warm-up.

    If the first turn took more than 20 s, it is used as the only timed turn.

    Parameters
    ----------
    contenders : list of Contender
        Those that `warm_up` returned.
    repeat : int
        Number of timed turns of each.
    meters : iterable of Meter
        Further measurements in each round.
    progress : callable
        As for `warm_up`.

    Returns
    -------
    list of Contender
        Those without an error, as of `warm_up`.

    Raises
    ------
    ParameterError
        If `repeat` is below 1.
    VerificationError, NegativeCycleError
        As `warm_up`.
    """
    if repeat < 1:
        raise ParameterError.of("repeat", "timing", "at least 1", repeat)
    everybody: list[_C | Meter] = [*contenders, *meters]
    for number, order in zip(range(1, repeat + 1), _orders(len(everybody)), strict=False):
        for place in order:
            each = everybody[place]
            if not isinstance(each, Contender):
                each.turn()
            elif each.error is None and not each._settled:
                progress(f"turn {number} of {repeat}: {each.name}")
                each._take()
    return [each for each in contenders if each.error is None]


def in_turns(
    calls: Sequence[Callable[[], object]], repeat: int, *, ends: float = math.inf
) -> list[float]:
    """Return the median seconds of each call; the calls take turns until each was timed enough.

    Times are by the clock of the host, because on some devices many launches take long to enqueue.
    The first call of each may build kernels, and is not timed. An error ends the timing.

    Parameters
    ----------
    calls : sequence of callable
    repeat : int
        The least number of timed calls of each.
    ends : float
        The time of `time.perf_counter` after which no round begins, except the first.

    Returns
    -------
    list of float
    """
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for order in _orders(len(calls)):
        if all(len(each) >= _TURNS and enough(each, repeat) for each in times):
            break
        if all(times) and time.perf_counter() >= ends:
            break
        for number in order:
            started = time.perf_counter()
            calls[number]()
            times[number].append(time.perf_counter() - started)
    return [median(each) for each in times]


def enough(times: Sequence[float], repeat: int) -> bool:
    """Return whether a call was timed often enough; short calls are timed more often."""
    runs = len(times)
    return runs >= repeat and (sum(times) >= _LONG_ENOUGH or runs >= 5 * repeat)


def _orders(count: int) -> Iterator[list[int]]:
    """Yield random orders of `count` items without end; always the same sequence of orders."""
    order, random = list(range(count)), Random(0)
    while True:
        random.shuffle(order)
        yield order
