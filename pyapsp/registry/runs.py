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
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar, cast

import numpy as np

from pyapsp.base.changed import changed
from pyapsp.base.dry import needed
from pyapsp.base.errors import (
    CapabilityError,
    DeviceError,
    DeviceMemoryError,
    FallbackWarning,
    StallError,
)
from pyapsp.base.json import Json, Record
from pyapsp.device import clear_locals
from pyapsp.device.kernels.residents import Residents, released_for, residents
from pyapsp.graph import Graph
from pyapsp.registry.algorithm import Method
from pyapsp.registry.descriptor import Choice, Request
from pyapsp.registry.planning import plan_for
from pyapsp.registry.record import reasons, record
from pyapsp.registry.steps import AnyPlan, Loaded, Options
from pyapsp.registry.trials import refusal
from pyapsp.registry.tuning.database import Unchanging

__all__ = ["Candidates", "Planned", "Solved", "load", "run", "solve"]

_Answer = TypeVar("_Answer")

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

    def run(self) -> Any:
        """Return the answer of the method."""
        return self.in_room(lambda: self.method.run(self.plan))

    def in_room(self, run: Callable[[], _Answer]) -> _Answer:
        """Return what a run of the plan returns; arrays that stay on devices make room for it."""
        used = self._make_room()
        try:
            return released_for(run)
        finally:
            for each in used:
                each.trim()

    def load(self) -> Loaded:
        """Return the input on the device, ready for runs of the kernels alone."""
        self._make_room()
        return self.method.load(self.plan)

    def _make_room(self) -> list[Residents]:
        """Release arrays that stay on the devices as far as the plan needs their memory.

        Returns
        -------
        list of Residents
            Those of the devices of the plan.
        """
        plan = self.plan
        if not plan.device_bytes:
            return []
        used = []
        for device in plan.options.devices:
            resident = residents(device.context)
            options = plan.options
            if device is not options.device:
                options = replace(options, device=device)
            spare = max(options.memory - plan.device_bytes, 0)
            if resident.nbytes > spare:
                # arrays of the input may be on the device already
                attributes = getattr(plan.input, "__dict__", {}).values()
                own = resident.bytes_of(each for each in attributes if isinstance(each, np.ndarray))
                resident.shrink(spare + own)
            used.append(resident)
        return used


class Candidates:
    """The plans of a request: of the method that it names, or of the candidates of "auto".

    Iteration plans one after the other. If the run of a plan fails, `refuse` decides whether the
    next is tried. Which candidates need more memory than the device has, or fail their self test,
    depends on the device alone. A stall, or a driver that lacks memory, may be a matter of the
    moment.

    Parameters
    ----------
    request : Request
    part : callable
        Converts the options of a choice to the options of the part of the request that is planned
        first.
    """

    def __init__(
        self, request: Request, part: Callable[[Any], Options] = lambda options: options
    ) -> None:
        self._request, self._part = request, part
        self._errors: list[tuple[Method, DeviceError]] = []
        self._last: Method | None = None  # the method of the plan that is tried

    def __iter__(self) -> Iterator[Planned]:
        """Yield plans that the memory is enough for, of methods that pass their self test.

        Raises
        ------
        PyApspError
            If the method that the request names cannot be planned. If no choice is left: the error
            of the plan that needs the least memory. If there was no choice.
        """
        request = self._request
        unchanging, choices = Unchanging(), request.problem.choices(request)
        while True:
            with unchanging:
                choice = next(choices, None)
                if choice is None:
                    raise min(
                        (error for _, error in self._errors),
                        key=lambda error: getattr(error, "needed", math.inf),
                        default=CapabilityError(f"no method of {request.problem.id} can run"),
                    )
                self._last = choice.method
                try:
                    plan = plan_for(choice.method, request.input, self._part(choice.options))
                except DeviceMemoryError as error:
                    if not request.is_automatic:
                        raise
                    self._errors.append((choice.method, error))
                    continue
            needed(plan.device_bytes, plan.answer_bytes)
            wrong = refusal(choice.method, plan) if request.is_automatic else None
            if wrong is None:
                yield Planned(choice, plan)
            elif isinstance(wrong, _TEMPORARY):
                self.refuse(wrong)
            else:
                self._errors.append((choice.method, wrong))

    def refuse(self, error: DeviceError) -> None:
        """Add the error of the last plan, and warn that another method takes over, or raise it.

        Raises
        ------
        DeviceError
            The error, if no other method may run for this request, or it is of another kind than a
            stall or a lack of memory.
        """
        clear_locals(error)
        method = self._last
        if method is None or not self._request.may_fall_back or not isinstance(error, _TEMPORARY):
            raise error
        self._errors.append((method, error))
        warnings.warn(
            f"{method.id} could not run, and another method takes over: {error}",
            FallbackWarning,
            stacklevel=2,
        )

    def refused(self) -> list[str]:
        """Return a line for each candidate that did not run."""
        return [f"{method.id}: {error}" for method, error in self._errors]


@dataclass(frozen=True)
class Solved:
    """The result of a request."""

    answer: Any  # the answer, in the form that was asked for
    describe: Callable[[], Record]  # makes the record
    reasons: Callable[[], tuple[str, ...]]  # makes the lines that say what was chosen and why

    @cached_property
    def record(self) -> Record:
        """The record, which is made when it is first read: it may take as long as the run."""
        return self.describe()

    def record_of(self, given: object) -> Record | Callable[[], Record]:
        """Return the record, or what makes it if a call was given a graph, which cannot change.

        Until then, a result keeps the graph: one that was converted for the call would stay for it.
        """
        return (lambda: self.record) if isinstance(given, Graph) else self.record


def run(request: Request) -> tuple[Planned, Any]:
    """Run the first plan that neither stalls nor needs too much memory."""
    return _first(Candidates(request))


def load(request: Request) -> tuple[AnyPlan, Loaded]:
    """Return the plan of the method that runs, and its input on the device.

    Raises
    ------
    PyApspError
        If the method cannot run, or not without the copies of a call.
    """
    planned = next(iter(Candidates(request)))
    return planned.plan, planned.load()


def _first(candidates: Candidates) -> tuple[Planned, Any]:
    plans = iter(candidates)
    while True:
        planned = next(plans)
        try:
            return planned, planned.run()
        except DeviceError as error:
            candidates.refuse(error)


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
    candidates = Candidates(request)
    planned, found = _first(candidates)
    choice, plan = planned.choice, planned.plan
    answer = request.problem.settle(request, plan, found)
    seconds, refused = time.perf_counter() - started, candidates.refused()
    stats, work_of = found.stats, partial(request.problem.work, request.input, plan.options)
    # the record keeps neither an answer that was converted, nor what the method has prepared
    work = partial(work_of, found) if answer is found else partial(int, work_of(found))
    bare = changed(plan, state=None)

    def describe() -> Record:
        about = record(request, choice.method.id, bare, stats, work(), seconds)
        about["automatic"] = request.is_automatic
        about["refused"] = cast("list[Json]", refused)
        about.setdefault("predicted_seconds", choice.seconds)  # some methods predict it again
        return about

    # until they are read, the reasons do not keep the graph
    chosen = changed(request, input=None), choice, changed(bare, input=None), refused
    return Solved(answer, describe, partial(reasons, *chosen))
