"""The run of a request: plan, run, convert the answer, and make the record.

The public functions, the bench, the command line and the workflow all use this module. The choices
of a request are planned until one runs. The answer is converted to what was asked for. The record
has the method, the device, the times and the memory.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyapsp.base.errors import DeviceError, DeviceMemoryError, StallError
from pyapsp.base.json import Record
from pyapsp.device import let_go
from pyapsp.registry.algorithm import Method
from pyapsp.registry.descriptor import Choice, Request
from pyapsp.registry.record import reasons, record
from pyapsp.registry.steps import AnyPlan, Options
from pyapsp.registry.trials import refusal
from pyapsp.registry.tuning.database import Unchanging

__all__ = ["Planned", "Solved", "least", "plans", "run", "solve"]


@dataclass(frozen=True)
class Planned:
    """A choice with its plan."""

    choice: Choice
    plan: AnyPlan

    @property
    def method(self) -> Method:
        """The method that will run."""
        return self.choice.method


@dataclass(frozen=True)
class Solved:
    """The result of a request.

    Attributes
    ----------
    answer : Answer
        The answer, in the form that was asked for.
    record : dict
    reasons : tuple of str
        What was chosen and why.
    """

    answer: Any
    record: Record
    reasons: tuple[str, ...]


def plans(
    request: Request,
    refused: list[DeviceError],
    part: Callable[[Any], Options] = lambda options: options,
) -> Iterator[Planned]:
    """Yield the plan of the method asked for, or the plans of the candidates of "auto".

    Parameters
    ----------
    request : Request
    refused : list of DeviceError
        The errors of plans that need too much memory, or of failed self tests, are appended to it;
        see `least`.
    part : callable
        Converts the options of a choice to the options of the part of the request that is planned
        first.

    Raises
    ------
    PyApspError
        If the method asked for cannot run; for "auto" if no method can.
    """
    unchanging, choices = Unchanging(), request.problem.choices(request)
    while True:
        with unchanging:
            choice = next(choices, None)
            if choice is None:
                return
            try:
                plan = choice.method.plan(request.input, part(choice.options))
            except DeviceMemoryError as error:
                if isinstance(request.method, Method):
                    raise
                refused.append(error)
                continue
        if (wrong := refusal(request, choice, plan)) is None:
            yield Planned(choice, plan)
        else:
            refused.append(wrong)


def least(refused: list[DeviceError]) -> DeviceError:
    """Return the error of the plan that needs the least memory."""
    return min(refused, key=lambda error: getattr(error, "needed", math.inf))


def run(request: Request) -> tuple[Planned, Any]:
    """Run the first plan that neither stalls nor needs too much memory."""
    refused: list[DeviceError] = []
    for planned in plans(request, refused):
        try:
            return planned, planned.method.run(planned.plan)
        except DeviceError as error:
            let_go(error)
            if not isinstance(error, DeviceMemoryError | StallError):
                raise
            refused.append(error)
    raise least(refused)


def solve(request: Request, started: float | None = None) -> Solved:
    """Run a request, convert the answer, and make the record.

    Parameters
    ----------
    request : Request
    started : float, optional
        Start time of the call, by `time.perf_counter`; now by default.

    Notes
    -----
    To the record it adds ``automatic``, whether "auto" chose, and ``predicted_seconds``: the time
    by which it chose.
    """
    started = time.perf_counter() if started is None else started
    planned, found = run(request)
    answer = request.problem.settle(request, planned.plan, found)
    work = request.problem.work(request.input, planned.plan.options, found)
    seconds = time.perf_counter() - started
    about = record(request, planned.method.id, planned.plan, found.stats, work, seconds)
    about["automatic"] = isinstance(request.method, str)
    about.setdefault("predicted_seconds", planned.choice.seconds)  # some methods predict it again
    return Solved(answer, about, reasons(request, planned.choice, planned.plan))
