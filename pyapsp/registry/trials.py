"""The self test of a method on a driver, before "auto" uses the method for the first time.

A compiler may have a bug that makes a kernel wrong. So before a method is first chosen for a driver
and a number type, it runs on a small input of each family, with predecessors and without. The
result is stored in the cache folder (`pyapsp.device.verdicts`). A method that the caller names runs
without this test.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from pyapsp.base.errors import (
    CapabilityError,
    DeviceError,
    DiskSpaceError,
    HostMemoryError,
    ParameterError,
    PyApspError,
)
from pyapsp.base.version import __version__
from pyapsp.device import verdicts
from pyapsp.device.kernels import source
from pyapsp.device.kernels.residents import released_for
from pyapsp.device.verdicts import verdict
from pyapsp.registry import Method, OpaquePlan, Options, Problem, Request
from pyapsp.registry import problem as problem_of

__all__ = ["code", "fault_of", "refusal", "remember"]

_log = logging.getLogger(__name__)

# No multiple of a vector width, so that the test includes the remainder at the end of a row.
_SIZE = 37


def refusal(method: Method, plan: OpaquePlan) -> DeviceError | None:
    """Return the error if "auto" must not use a method on a device of the plan, else None.

    Parameters
    ----------
    method : Method
        The method to test, unless the result of an earlier test is stored.
    plan : Plan
        A plan of this method; the test runs its kernels.
    """
    problem = problem_of(method.problem)
    for device in plan.options.devices:
        on_device = plan
        if device is not plan.options.device:
            on_device = replace(plan, options=replace(plan.options, device=device))
        trial = partial(_trial, problem, method, on_device)
        try:
            fault = fault_of(method.id, on_device.options, trial)
        except DeviceError as error:
            return error
        if fault is not None:
            return CapabilityError(f"{method.id} failed its self test: {fault}")
    return None


def fault_of(method: str, options: Options, trial: Callable[[], str | None]) -> str | None:
    """Return the fault of a method on the device of the options, or None; tested once per driver.

    Parameters
    ----------
    method : str
        The id of the method.
    options : Options
    trial : callable
        Runs the test and returns the fault, or None.
    """
    device = options.device

    def warned() -> str | None:
        fault = released_for(trial)
        if fault is not None:
            _log.warning("%s failed its self test on %s: %s", method, device, fault)
        return fault

    subject = _subject(method, options)
    return verdict(device.identity, subject, code(), warned)


def remember(method: str, options: Options, fault: str) -> None:
    """Store the fault of a method that the command ``pyapsp selftest`` found."""
    subject = _subject(method, options)
    verdicts.remember(options.device.identity, subject, code(), fault)


@cache
def code() -> str:
    """Return the key of stored results: the version of the package and a hash of its kernels."""
    text = hashlib.sha256()
    for path in sorted(source.root().rglob("*.[ch]*")):
        text.update(path.read_bytes())
    return f"{__version__} {text.hexdigest()[:16]}"


def _deciding(options: Options) -> dict[str, bool]:
    """Return the options that decide which kernels run, in addition to method and type."""
    return {"predecessors": True} if getattr(options, "predecessors", False) else {}


def _subject(method: str, options: Options) -> str:
    """Return the name of a test, under which its result is stored."""
    return " ".join([method, options.dtype_name, *_deciding(options)])


def _trial(problem: Problem, method: Method, plan: OpaquePlan) -> str | None:
    """Run the kernels of a plan on a small input of each family; return the fault, or None."""
    options, known = plan.options, type(method).choices
    given = {name: value for name, value in plan.parameters.items() if name in known}
    for family in problem.families:
        sample = problem.sample(_SIZE, family, 0, method.requires)
        fault: str | None = None
        for parameters in (given, method.parameters):
            try:
                request = problem.ask(
                    sample,
                    type(method)(**parameters),
                    dtype=options.dtype,
                    device=options.device,
                    **_deciding(options),
                )
                fault = _fault(request)
                break
            except ParameterError as error:
                # a small input may not allow the plan's parameters, and a plan may have other
                # values than a user may give; a method that has not run is not known to be right
                fault = f"it did not run: {error}"
        if fault is not None:
            return f"{family}, {options.dtype}: {fault}"
    return None


def _fault(request: Request) -> str | None:
    """Run a request for a method, and return the fault of its answer, or None."""
    problem = request.problem
    try:
        choice = next(problem.choices(request))
        plan = choice.method.plan(request.input, choice.options)
        answer = problem.settle(request, plan, choice.method.run(plan))
    except (DeviceError, DiskSpaceError, HostMemoryError, ParameterError):
        raise  # the cause may be temporary, so that no result is stored
    except PyApspError as error:
        return f"{type(error).__name__}: {error}"
    fault: str | None = problem.oracle(request.input, request.options)(answer).fault
    return fault
