"""The methods that are worth timing on an input, by their predicted times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from pyapsp.base.errors import PyApspError
from pyapsp.bench.contenders import Argument
from pyapsp.device import Device
from pyapsp.registry import Problem, methods

__all__ = ["UNLISTED", "shortlist"]

# A method is on the shortlist if it is predicted to take at most this many times the least time.
_WITHIN = 10
#: Why the others are not timed.
UNLISTED = (
    f"not on the shortlist: auto never takes it, or it is predicted to take more than {_WITHIN} "
    "times as long as the fastest method"
)


def shortlist(
    problem: Problem,
    data: Any,
    dtypes: Sequence[str],
    devices: Sequence[Device],
    arguments: Mapping[str, Argument],
) -> tuple[list[str], list[str]]:
    """Return "auto" and the methods predicted to take at most 10 times as long as the fastest.

    Methods whose times are not predicted are on the list, too, if they can answer.

    Parameters
    ----------
    problem, data, dtypes, devices, arguments
        As for `pyapsp.bench.measurement.run`.

    Returns
    -------
    list, list of str
        The shortlist, and the methods that can answer and are not on it.
    """
    listed, able = ["auto"], []
    for dtype, device in product(dtypes, devices):
        options = dict(arguments) | {"dtype": dtype, "device": device}
        try:
            request = problem.ask(data, "auto", **options)
            choices = list(problem.choices(request))
        except PyApspError:
            continue  # that of "auto" says why
        known = [each.seconds for each in choices if each.seconds is not None]
        every = methods(problem.id)
        able += [each.id for each in every if each().unmet(request.input, request.options) is None]
        listed += [
            each.method.id
            for each in choices
            if each.seconds is None or each.seconds <= _WITHIN * min(known)
        ]
    return list(dict.fromkeys(listed)), [each for each in dict.fromkeys(able) if each not in listed]
