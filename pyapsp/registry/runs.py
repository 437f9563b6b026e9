"""The run of a request: plan, run, convert the answer, and write the record.

The public functions, the bench, the command line and the workflow all use this module. The choices
of a request are planned until one runs. The answer is converted to what was asked for. The record
has the method, the device, the times and the memory.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy

from pyapsp.base.errors import DeviceError, DeviceMemoryError, StallError
from pyapsp.base.version import __version__
from pyapsp.device import let_go
from pyapsp.device.loader import opencl
from pyapsp.numbers.precision import name_of
from pyapsp.registry import Choice, Method, Plan, Request
from pyapsp.registry.trials import refusal
from pyapsp.registry.tuning.database import Unchanging

__all__ = ["SCHEMA", "Planned", "Solved", "least", "plans", "reasons", "record", "run", "solve"]

#: Version of the record format.
SCHEMA = 4


@dataclass(frozen=True)
class Planned:
    """A choice with its plan."""

    choice: Choice
    plan: Plan

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
    record: dict[str, Any]
    reasons: tuple[str, ...]


def plans(
    request: Request,
    refused: list[DeviceError],
    part: Callable[[Any], Any] = lambda options: options,
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
    by which it chose, so after a race the prediction multiplied by the ratio that was measured.
    """
    started = time.perf_counter() if started is None else started
    planned, found = run(request)
    answer = request.problem.settle(request, planned.plan, found)
    work = request.problem.work(request.input, planned.plan.options, found)
    seconds = time.perf_counter() - started
    if planned.choice.told is not None:
        planned.choice.told(seconds)
    about = record(request, planned.method.id, planned.plan, found.stats, work, seconds)
    about["automatic"] = isinstance(request.method, str)
    about.setdefault("predicted_seconds", planned.choice.seconds)  # some methods predict it again
    return Solved(answer, about, reasons(request, planned))


def reasons(request: Request, planned: Planned) -> tuple[str, ...]:
    """Return what was chosen and why, as lines of text."""
    plan, device = planned.plan, planned.plan.options.device
    return (
        f"method {planned.method.id}: {planned.choice.reason}",
        *request.reasons,
        f"device {device.id} ({device.name}, {device.platform_name})",
        f"parameters: {_parameters(planned.method, plan)}",
        f"device memory: {plan.device_bytes / 2**20:,.1f} MiB",
        *plan.notes,
    )


def _parameters(method: Method, plan: Plan) -> str:
    """Return the parameters and where they are from, as text."""
    if not plan.parameters:
        return "none"
    listed = ", ".join(f"{name}={value}" for name, value in plan.parameters.items())
    if method.parameters.keys() == plan.parameters.keys():
        return f"{listed} (as asked)"
    row, origin = plan.tuning, "the default of the method, not tuned"
    if row is not None:
        near = {"device": "this device", "architecture": "this architecture"}
        where = near.get(str(row["level"]), "this kind of device")
        origin = f"tuned for {where}: {row['device']}, {row['dtype']}, n = {row['n']:,}"
    asked = ", ".join(method.parameters)
    return f"{listed} ({f'{asked} as asked; ' if asked else ''}{origin})"


def record(
    request: Request,
    method: str,
    plan: Plan,
    stats: dict[str, Any],
    work: int,
    wall_seconds: float | None,
    about: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the record of a run.

    Parameters
    ----------
    request : Request
    method : str
        The id of the method.
    plan : Plan
    stats : dict
        As in `Answer.stats`.
    work : int
        Units of work of the run.
    wall_seconds : float or None
        Seconds since the start of the call.
    about : dict, optional
        The facts of the input, if `Problem.about` cannot return them.
    """
    options = request.options
    device, seconds = options.device, stats["kernel_seconds"]
    return {
        "schema": SCHEMA,
        "pyapsp": __version__,
        "problem": request.problem.id,
        "method": method,
        "parameters": plan.parameters,
        "tuning": plan.tuning,
        "dtype": name_of(options.dtype),
        "held_dtype": name_of(plan.options.dtype),
        **request.asked,
        "device": {
            **device.identity,
            "units": device.capabilities.compute_units,
            "memory": device.capabilities.global_memory,
        },
        "environment": _environment(),
        "kernel_hash": stats["kernel_hash"],
        "input": request.problem.about(request.input) if about is None else about,
        "build_seconds": plan.build_seconds,
        "kernel_seconds": seconds,
        "transfer_seconds": stats["transfer_seconds"],
        **stats.get("more", {}),
        "wall_seconds": wall_seconds,
        "unit": request.problem.unit,
        "work": work,
        "rate": work / seconds if seconds > 0 else None,
        "roof_rate": None,
        "fraction_of_roof": None,
        "peak_device_bytes": plan.device_bytes,
        "verified": None,
    }


@cache
def _environment() -> dict[str, str]:
    """Return the versions of the software that a run depends on."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "pyopencl": opencl().VERSION_TEXT,
        "os": platform.platform(),
    }
