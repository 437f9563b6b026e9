"""Run the contenders of an experiment in turns, and make their records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from pyapsp.device import Device
from pyapsp.errors import VerificationError
from pyapsp.registry import timing
from pyapsp.registry.roofs import Meter, with_roof
from pyapsp.registry.timing import Turn

__all__ = ["Label", "RunRecord", "Runner", "require_equal", "take_turns"]

#: Coordinates in a table.
Label = dict[str, int | float | str]
#: The record of a run, or facts about an input: a JSON object.
RunRecord: TypeAlias = dict[str, Any]


class Runner(timing.Contender):
    """A contender with a record.

    Parameters
    ----------
    label : dict
        Its coordinates in a table, by which it differs from the others.
    turn : callable
        Runs once and returns a `Turn`. Raises `VerificationError` if the answer is wrong, and
        another `PyApspError` if it cannot run.
    roof : (Device, str) or None
        The device and the number type of the roof for this runner.
    """

    def __init__(
        self, label: Label, turn: Callable[[], Turn], roof: tuple[Device, str] | None = None
    ) -> None:
        super().__init__(", ".join(f"{name} {value}" for name, value in label.items()), turn)
        self.label, self.roof = label, roof

    def record(self) -> dict[str, Any]:
        """Return the medians of the timed turns, and the facts of the last turn.

        A fact whose name ends with ``_seconds`` and that is a list has the medians, too, if all
        turns have as many.
        """
        return {
            **self.timed[-1].facts,
            **self._medians_of_lists(),
            "label": self.label,
            "seconds": self.medians,
            "times": self.times,
            "repeat": len(self.timed),
            "verified": True,
        }

    def _medians_of_lists(self) -> dict[str, list[float]]:
        last = self.timed[-1].facts
        names = [
            name for name in last if name.endswith("_seconds") and isinstance(last[name], list)
        ]
        found = {}
        for name in names:
            lists = [turn.facts[name] for turn in self.timed]
            if len({len(each) for each in lists}) == 1:
                found[name] = np.median(lists, 0).tolist()
        return found


def take_turns(
    runners: Iterable[Runner], repeat: int, progress: Callable[[str], None]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Time all runners in turns, and their roofs.

    Parameters
    ----------
    runners : iterable of Runner
    repeat : int
        Number of timed turns, after a warm-up.
    progress : callable
        Called with the name of what runs next.

    Returns
    -------
    runs : list of dict
        The record of each, with the roof if it has one.
    left_out : list of dict
        The labels of those that did not run, each with ``why``.

    Raises
    ------
    VerificationError
        If an answer is wrong.
    """
    everybody = list(runners)
    warm = timing.warm_up(everybody, progress)
    meters = {each.roof: Meter(*each.roof) for each in warm if each.roof is not None}
    done = timing.take_turns(warm, repeat, meters=meters.values(), progress=progress)
    records = [
        with_roof(each.record(), meters[each.roof].roof()) if each.roof else each.record()
        for each in done
    ]
    left_out = [{**each.label, "why": str(each.error)} for each in everybody if each.error]
    return records, left_out


def require_equal(answer: np.ndarray, right: np.ndarray, what: str, tolerance: float = 0) -> None:
    """Compare an answer.

    Raises
    ------
    VerificationError
        If it is wrong; the message names the run.
    """
    if answer.shape == right.shape and np.array_equal(answer, right):
        return
    wrong = f"{what}: the answer is wrong"
    if answer.shape != right.shape:
        raise VerificationError(f"{wrong}, of shape {answer.shape} instead of {right.shape}")
    with np.errstate(invalid="ignore"):
        difference = float(np.abs(answer.astype(float) - right.astype(float)).max())
    if not difference <= tolerance:
        raise VerificationError(f"{wrong}, with a difference of {difference:g}")
