"""Whether a method is right on a driver: tried on small inputs before "auto" takes it.

A compiler may get a kernel wrong that others get right. So a method runs on a small input of each
family, with predecessors and without, before it is first chosen for a driver and a number type. The
verdict is kept in the cache folder (`pyapsp.device.verdicts`). What a caller asks for by name runs
without it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial

import numpy as np

from pyapsp import __version__
from pyapsp.device import verdicts
from pyapsp.device.verdicts import verdict
from pyapsp.errors import CapabilityError, DeviceError, DiskSpaceError, ParameterError, PyApspError
from pyapsp.kernels import source
from pyapsp.registry import Choice, Method, Options, Plan, Problem, Request

__all__ = ["code", "fault_of", "refusal", "remember"]

_log = logging.getLogger(__name__)

# No multiple of the lanes of a vector, so that kernels get to what remains at the end of a row.
_SIZE = 37


def refusal(request: Request, choice: Choice, plan: Plan) -> DeviceError | None:
    """Return why "auto" does not take a method on a device, if it does not.

    Parameters
    ----------
    request : Request
        One for a method by name is never refused.
    choice : Choice
        What would be taken: it is tried unless that was done before.
    plan : Plan
        Its plan: the kernels that are built for it are those that are tried.
    """
    if isinstance(request.method, Method):
        return None
    method = choice.method
    trial = partial(_trial, request.problem, method, plan)
    try:
        fault = fault_of(method.id, plan.options, trial)
    except DeviceError as error:
        return error
    return None if fault is None else CapabilityError(f"{method.id} failed its self test: {fault}")


def fault_of(method: str, options: Options, trial: Callable[[], str | None]) -> str | None:
    """Return what is wrong with a method on the device of the options, tried once per driver.

    Parameters
    ----------
    method : str
        Its id.
    options : Options
    trial : callable
        Returns what is wrong, or None.
    """
    device = options.device

    def warned() -> str | None:
        fault = trial()
        if fault is not None:
            _log.warning("%s failed its self test on %s: %s", method, device, fault)
        return fault

    subject = _subject(method, options.dtype, _asked(options))
    return verdict(device.identity, subject, code(), warned)


def remember(method: str, options: Options, fault: str) -> None:
    """Keep that a method is wrong, as the command ``pyapsp selftest`` found."""
    subject = _subject(method, options.dtype, _asked(options))
    verdicts.remember(options.device.identity, subject, code(), fault)


@cache
def code() -> str:
    """Return what verdicts are about: the version of the package, and the text of its kernels."""
    text = hashlib.sha256()
    for path in sorted(source.root().rglob("*.[ch]*")):
        text.update(path.read_bytes())
    return f"{__version__} {text.hexdigest()[:16]}"


def _asked(options: Options) -> dict[str, bool]:
    """Return what decides which kernels run, beside method and type."""
    return {"predecessors": True} if getattr(options, "predecessors", False) else {}


def _subject(method: str, dtype: np.dtype, asked: dict[str, bool]) -> str:
    return " ".join([method, str(dtype), *asked])


def _trial(problem: Problem, method: Method, plan: Plan) -> str | None:
    """Run the kernels of a plan on a small input of each family; return what is wrong."""
    options, known = plan.options, type(method).choices
    given = {name: value for name, value in plan.parameters.items() if name in known}
    for family in problem.families:
        some, fault = problem.sample(_SIZE, family, 0, method.requires), None
        for parameters in (given, method.parameters):
            request = problem.ask(
                some,
                type(method)(**parameters),
                dtype=options.dtype,
                device=options.device,
                **_asked(options),
            )
            with suppress(ParameterError):  # those of the plan may be none for a small input
                fault = _fault(request)
                break
        if fault is not None:
            return f"{family}, {options.dtype}: {fault}"
    return None


def _fault(request: Request) -> str | None:
    """Run a request for a method, and return what is wrong with its answer."""
    problem = request.problem
    try:
        choice = next(problem.choices(request))
        plan = choice.method.plan(request.input, choice.options)
        answer = problem.settle(request, plan, choice.method.run(plan))
    except (DeviceError, DiskSpaceError, ParameterError):
        raise  # what may be so at this moment alone is no verdict
    except PyApspError as error:
        return f"{type(error).__name__}: {error}"
    fault: str | None = problem.oracle(request.input, request.options)(answer).fault
    return fault
