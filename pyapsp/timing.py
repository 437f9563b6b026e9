"""Timing in turns, so that times compare.

What is compared takes turns: once each to warm up, then round after round, each round in an order
of its own. What else the machine does then meets all alike, and so does what a run leaves in caches
and memory for the next. Medians are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import median
from typing import Any, Protocol, TypeVar

from pyapsp.errors import NegativeCycleError, ParameterError, PyApspError, VerificationError

__all__ = ["Contender", "Meter", "Turn", "enough", "in_turns", "take_turns", "warm_up"]

# A turn of more than so many seconds is not repeated: it needs no warm-up.
_LONG = 20.0
# Calls are timed for so many seconds in all, and at least so often.
_LONG_ENOUGH = 0.1
_TURNS = 5


@dataclass(frozen=True)
class Turn:
    """What one turn took.

    Attributes
    ----------
    seconds : dict of str to float
        By phase: ``wall``, ``kernel`` and others. Phases may be parts of each other.
    facts : dict
        What else there is to tell.
    """

    seconds: dict[str, float]
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Contender:
    """What is timed.

    Attributes
    ----------
    name : str
        For texts of progress.
    turn : callable
        Runs once, checks the answer and returns a `Turn`. A `VerificationError` or a
        `NegativeCycleError` from it ends the timing: all have the same input. Another `PyApspError`
        leaves this contender out.
    turns : list of Turn
        Those that were taken; the first is the warm-up.
    error : PyApspError or None
        Why it was left out.
    """

    name: str
    turn: Callable[[], Turn]
    turns: list[Turn] = field(default_factory=list, init=False, repr=False)
    error: PyApspError | None = field(default=None, init=False, repr=False)

    @property
    def timed(self) -> list[Turn]:
        """The turns that count: those after the warm-up, or the only one if that took long."""
        return self.turns[1:] or self.turns

    @property
    def times(self) -> dict[str, list[float]]:
        """The seconds of every turn that counts, by phase."""
        return {phase: [turn.seconds[phase] for turn in self.timed] for phase in self._phases}

    @property
    def medians(self) -> dict[str, float]:
        """The median seconds of the turns that count, by phase."""
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
        except (VerificationError, NegativeCycleError):
            raise
        except PyApspError as error:
            self.error = error


class Meter(Protocol):
    """What is measured beside the contenders, in the same rounds: a roof."""

    def turn(self) -> None:
        """Measure once."""


_C = TypeVar("_C", bound=Contender)


def warm_up(
    contenders: Iterable[_C], progress: Callable[[str], None] = lambda text: None
) -> list[_C]:
    """Let each take one turn that is not timed, in the order given.

    Parameters
    ----------
    contenders : iterable of Contender
    progress : callable
        Told what runs next.

    Returns
    -------
    list of Contender
        Those that ran; the others have an `error`.

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
    """Time contenders that are warm, in turns.

    One whose first turn took more than 20 s takes no other: that one counts.

    Parameters
    ----------
    contenders : sequence of Contender
        What `warm_up` returned.
    repeat : int
        Timed turns of each.
    meters : iterable of Meter
        What else takes turns.
    progress : callable
        Told what runs next.

    Returns
    -------
    list of Contender
        Those that took all their turns; the others have an `error`.

    Raises
    ------
    ParameterError
        If there is no turn to take.
    VerificationError
        If an answer is wrong.
    NegativeCycleError
        If the input has no answer.
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


def in_turns(calls: Sequence[Callable[[], object]], repeat: int) -> list[float]:
    """Return the median seconds of each call; all take turns until each was timed enough.

    By the clock of the host: many launches take long to enqueue on some devices. The first call of
    each, which may build its kernels, is not timed. Errors end the timing.

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
    for call in calls:
        call()
    for order in _orders(len(calls)):
        if all(len(each) >= _TURNS and enough(each, repeat) for each in times):
            break
        for number in order:
            started = time.perf_counter()
            calls[number]()
            times[number].append(time.perf_counter() - started)
    return [median(each) for each in times]


def enough(times: Sequence[float], repeat: int) -> bool:
    """Return whether something was timed often enough: what is short is timed more often."""
    runs = len(times)
    return runs >= repeat and (sum(times) >= _LONG_ENOUGH or runs >= 5 * repeat)


def _orders(count: int) -> Iterator[list[int]]:
    """Yield orders of so many, always the same ones, without end."""
    order, random = list(range(count)), Random(0)
    while True:
        random.shuffle(order)
        yield order
