"""Anything that answers, timed in turns.

What `pyapsp.profiling.sweeps` does for methods on graphs, this does for everything else: all take
turns, the first is a warm-up, and medians of the others are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from pyapsp.errors import ParameterError, PyApspError, VerificationError
from pyapsp.profiling.sweeps import Label

__all__ = ["Runner", "Turn", "require_equal", "spread", "take_turns"]

# A turn that takes more than so many seconds is not repeated: it needs no warm-up.
_LONG = 20.0


@dataclass(frozen=True)
class Turn:
    """What one turn took.

    Attributes
    ----------
    seconds : dict of str to float
        By phase; ``total`` is the clock of the host where there is one.
    facts : dict
        What else there is to tell.
    """

    seconds: dict[str, float]
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Runner:
    """What takes part.

    Attributes
    ----------
    label : dict
        What tells it from the others: its coordinates in a table.
    turn : callable
        Runs once, and raises `VerificationError` if the answer is wrong.
    """

    label: Label
    turn: Callable[[], Turn]
    _turns: list[Turn] = field(default_factory=list, repr=False)

    def take_turn(self) -> None:
        """Run once, unless that takes so long that once is enough."""
        if not (self._turns and sum(self._turns[0].seconds.values()) > _LONG):
            self._turns.append(self.turn())

    def record(self) -> dict[str, Any]:
        """Return the medians of the turns after the warm-up, or of the only one."""
        turns = self._turns[1:] or self._turns
        times = {name: [turn.seconds[name] for turn in turns] for name in turns[-1].seconds}
        return {
            **turns[-1].facts,
            "label": self.label,
            "seconds": {name: median(values) for name, values in times.items()},
            "times": times,
            "repeat": len(turns),
            "verified": True,
        }


def take_turns(
    runners: Iterable[Runner], repeat: int, progress: Callable[[str], None]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Time all runners in turns.

    Parameters
    ----------
    runners : iterable of Runner
    repeat : int
        Timed turns, after one for warming up. What takes long has the one turn.
    progress : callable
        Told what runs next.

    Returns
    -------
    runs : list of dict
        The record of each.
    left_out : list of dict
        The labels of those that did not run, each with ``why``.

    Raises
    ------
    VerificationError
        If an answer is wrong.
    """
    if repeat < 1:
        raise ParameterError.of("repeat", "papers", "at least 1", repeat)
    left_out: list[dict[str, Any]] = []
    taking_part = list(runners)
    for number in range(repeat + 1):
        for runner in list(taking_part):
            label = ", ".join(f"{name} {value}" for name, value in runner.label.items())
            progress(f"turn {number} of {repeat}: {label}")
            try:
                runner.take_turn()
            except VerificationError:
                raise
            except PyApspError as error:
                left_out.append({**runner.label, "why": str(error)})
                taking_part.remove(runner)
    return [runner.record() for runner in taking_part], left_out


def spread(count: int, most: int) -> np.ndarray:
    """Return at most so many of the numbers below `count`, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


def require_equal(found: np.ndarray, right: np.ndarray, what: str, tolerance: float = 0) -> None:
    """Compare an answer.

    Raises
    ------
    VerificationError
        If it is wrong; says what it is the answer of.
    """
    if found.shape == right.shape and np.array_equal(found, right):
        return
    wrong = f"{what}: the answer is wrong"
    if found.shape != right.shape:
        raise VerificationError(f"{wrong}, of shape {found.shape} instead of {right.shape}")
    with np.errstate(invalid="ignore"):
        difference = float(np.abs(found.astype(float) - right.astype(float)).max())
    if not difference <= tolerance:
        raise VerificationError(f"{wrong}, with a difference of {difference:g}")
