"""The run of a request: plan, run, convert the answer, and make the record.

The public functions, the bench, the command line and the workflow all use this module. The choices
of a request are planned until one runs. The answer is converted to what was asked for. The record
has the method, the device, the times and the memory.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from pyapsp.base.dry import needed
from pyapsp.base.errors import DeviceError, DeviceMemoryError, FallbackWarning, StallError
from pyapsp.base.json import Json, Record
from pyapsp.device import let_go
from pyapsp.device.kernels.residents import Residents, release_all, residents
from pyapsp.graph import Graph
from pyapsp.registry.algorithm import Method
from pyapsp.registry.descriptor import Choice, Request
from pyapsp.registry.record import reasons, record
from pyapsp.registry.steps import AnyPlan, Loaded, Options
from pyapsp.registry.trials import refusal
from pyapsp.registry.tuning.database import Unchanging

__all__ = ["Planned", "Refusals", "Solved", "load", "plans", "run", "solve"]

# Errors of a run whose cause may be gone in the next one.
_TEMPORARY = (DeviceMemoryError, StallError)


@dataclass(frozen=True)
class Planned:
    """A choice with its plan."""

    choice: Choice
    plan: AnyPlan

    @property
    def method(self) -> Method:
        """The method that will run."""
        return self.choice.method


@dataclass
class Refusals:
    """The candidates of "auto" that did not run.

    Which candidates need more memory than the device has, or fail their self test, depends on the
    device alone. A stall, or a driver that lacks memory, may be a matter of the moment.
    """

    # The id of each method, and why it did not run.
    errors: list[tuple[str, DeviceError]] = field(default_factory=list)

    def add(self, method: Method, error: DeviceError) -> None:
        """Add a candidate that cannot run on the device."""
        self.errors.append((method.id, error))

    def fall_back(self, request: Request, method: Method, error: DeviceError) -> None:
        """Add a candidate that could not run this time, and warn, or raise its error.

        Raises
        ------
        DeviceError
            The error, if no other method may run for this request, or it is of another kind than a
            stall or a lack of memory.
        """
        let_go(error)
        temporary = isinstance(error, _TEMPORARY)
        if not temporary or isinstance(request.method, Method) or not request.fallback:
            raise error
        self.add(method, error)
        warnings.warn(
            f"{method.id} could not run, and another method takes over: {error}",
            FallbackWarning,
            stacklevel=2,
        )

    def least(self) -> DeviceError:
        """Return the error of the plan that needs the least memory."""
        errors = [error for _, error in self.errors]
        return min(errors, key=lambda error: getattr(error, "needed", math.inf))

    def texts(self) -> list[str]:
        """Return a line for each candidate."""
        return [f"{method}: {error}" for method, error in self.errors]


@dataclass(frozen=True)
class Solved:
    """The result of a request."""

    answer: Any  # the answer, in the form that was asked for
    describe: Callable[[], Record]  # makes the record
    reasons: tuple[str, ...]  # what was chosen and why

    @cached_property
    def record(self) -> Record:
        """The record, which is made when it is first read: it may take as long as the run."""
        return self.describe()

    def record_of(self, given: object) -> Record | Callable[[], Record]:
        """Return the record, or what makes it if a call was given a graph, which cannot change.

        Until then, a result keeps the graph: one that was converted for the call would stay for it.
        """
        return (lambda: self.record) if isinstance(given, Graph) else self.record


def plans(
    request: Request,
    refusals: Refusals,
    part: Callable[[Any], Options] = lambda options: options,
) -> Iterator[Planned]:
    """Yield the plan of the method asked for, or the plans of the candidates of "auto".

    Parameters
    ----------
    request : Request
    refusals : Refusals
        Plans that need too much memory, and failed self tests, are added to it.
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
                refusals.add(choice.method, error)
                continue
        needed(plan.device_bytes, part(request.options).answer_bytes(request.input))
        wrong = refusal(request, choice, plan)
        if wrong is None:
            yield Planned(choice, plan)
        elif isinstance(wrong, _TEMPORARY):
            refusals.fall_back(request, choice.method, wrong)
        else:
            refusals.add(choice.method, wrong)


def run(request: Request, refusals: Refusals | None = None) -> tuple[Planned, Any]:
    """Run the first plan that neither stalls nor needs too much memory."""
    refusals = Refusals() if refusals is None else refusals
    for planned in plans(request, refusals):
        try:
            return planned, _run(planned)
        except DeviceError as error:
            refusals.fall_back(request, planned.method, error)
    raise refusals.least()


def load(request: Request) -> tuple[AnyPlan, Loaded]:
    """Return the plan of the method that runs, and its input on the device.

    Raises
    ------
    PyApspError
        If the method cannot run, or not without the copies of a call.
    """
    refusals = Refusals()
    for planned in plans(request, refusals):
        _make_room(planned)
        return planned.plan, planned.method.load(planned.plan)
    raise refusals.least()


def _make_room(planned: Planned) -> list[Residents]:
    """Release arrays that stay on the devices as far as a run needs their memory."""
    plan, all_of_them = planned.plan, []
    if not plan.device_bytes:
        return []
    for device in plan.options.devices:
        there = residents(device.context)
        # what the plan needs may be there already
        attributes = getattr(plan.input, "__dict__", {}).values()
        own = there.bytes_of(each for each in attributes if isinstance(each, np.ndarray))
        spare = replace(plan.options, device=device).memory - plan.device_bytes
        there.shrink(max(spare, 0) + own)
        all_of_them.append(there)
    return all_of_them


def _run(planned: Planned) -> Any:
    """Run a plan; arrays that stay on devices make room for it."""
    method, plan = planned.method, planned.plan
    used = _make_room(planned)
    try:
        return method.run(plan)
    except DeviceMemoryError as error:
        let_go(error)
        # other programs, or other devices of this run, may leave less memory than the plan assumes
        if not release_all():
            raise
        return method.run(plan)
    finally:
        for there in used:
            there.trim()


def solve(request: Request, started: float | None = None) -> Solved:
    """Run a request, convert the answer, and make the record.

    Parameters
    ----------
    request : Request
    started : float, optional
        Start time of the call, by `time.perf_counter`; now by default.

    Notes
    -----
    To the record it adds ``automatic``, whether "auto" chose; ``predicted_seconds``, the time by
    which it chose; and ``refused``, the candidates that could not run and why.
    """
    started = time.perf_counter() if started is None else started
    refusals = Refusals()
    planned, found = run(request, refusals)
    choice, plan = planned.choice, planned.plan
    answer = request.problem.settle(request, plan, found)
    seconds, refused = time.perf_counter() - started, refusals.texts()

    def describe() -> Record:
        work = request.problem.work(request.input, plan.options, found)
        about = record(request, choice.method.id, plan, found.stats, work, seconds)
        about["automatic"] = isinstance(request.method, str)
        about["refused"] = cast("list[Json]", refused)
        about.setdefault("predicted_seconds", choice.seconds)  # some methods predict it again
        return about

    return Solved(answer, describe, reasons(request, choice, plan, refused))
