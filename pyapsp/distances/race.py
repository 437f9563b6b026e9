"""The race of the close candidates of "auto": each solves a part of the problem.

Predictions err, for instance where searches share less work than in the graphs that were tuned. The
measured time of a part, divided by its predicted time, corrects the prediction of the whole. The
ratios are kept for later calls with the same facts and options.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from pyapsp.device import let_go
from pyapsp.distances.choice import Candidate, Ranking, ranked, suited, told
from pyapsp.distances.parts import Part, part_of, ratios
from pyapsp.errors import PyApspError
from pyapsp.paths import AllPairsMethod
from pyapsp.precision import is_exact
from pyapsp.registry import Choice, Request
from pyapsp.trials import refusal

__all__ = ["choices"]

# There is a race between candidates that are predicted to take at most _NEAR times the shortest
# time, if this is above _SHORT, and all calls so far took longer than _ENOUGH (seconds).
_NEAR, _SHORT, _ENOUGH = 3.0, 0.02, 1.0
# The first of the ranking loses to a candidate that takes less than this part of its time.
_CLEAR = 0.85
# Number of kept results.
_KEPT = 1024


@dataclass
class _Past:
    """The earlier calls with the same facts and options.

    Attributes
    ----------
    spent : float
        Predicted seconds of all calls.
    ratios : dict of str to float, or None
        The result of the race; None before it, empty if there was nothing to decide.
    """

    spent: float = 0.0
    ratios: Mapping[str, float] | None = None


_past = lru_cache(maxsize=_KEPT)(lambda asked: _Past())


def choices(request: Request) -> Iterator[Choice]:
    """Yield the method asked for, or the candidates of "auto", the fastest first.

    Raises
    ------
    PyApspError
        If the graph or the device does not meet the requirements of the method asked for.
    """
    graph, options, asked = request.input, request.options, request.method
    if isinstance(asked, AllPairsMethod):
        error = asked.unmet(graph.facts, options)
        if error is not None:
            raise error
        yield Choice(asked, suited(asked, graph, options, options.dtype), "as asked")
        return
    ranking = ranked(graph, options)
    found = ranking.choices
    if ranking.seconds > _SHORT:
        past: _Past = _past(ranking.asked)
        if options.cutoff is None:  # no prediction tells how much a cutoff saves
            past.spent += ranking.seconds
            if past.ratios is None and past.spent > _ENOUGH:
                past.ratios = _measured(request, ranking)
        if past.ratios:
            found = _corrected(request, ranking, past.ratios)
    for each in found:
        given = suited(each.method, graph, options, each.dtype)
        yield Choice(each.method, given, each.reason, each.seconds)


def _kind(method: AllPairsMethod) -> str:
    """Return a name for the methods whose predictions err together."""
    return method.id if method.by_source else "matrix"


def _measured(request: Request, ranking: Ranking) -> dict[str, float]:
    """Return measured by predicted time of a part for each kind of close candidates.

    Nothing is returned if there is nothing to decide, because no other kind is close, or the time
    of the first of the ranking cannot be told from a part.
    """
    first = ranking.choices[0]
    near: dict[str, Candidate] = {}
    for each in ranking.choices:
        close = each.seconds is not None and each.seconds <= _NEAR * (first.seconds or 0.0)
        if close and _comparable(request, each, first):
            near.setdefault(_kind(each.method), each)
    if len(near) < 2:
        return {}
    try:
        planned = {kind: _part(request, ranking, each) for kind, each in near.items()}
        parts = {kind: part for kind, part in planned.items() if part is not None}
        if _kind(first.method) not in parts or len(parts) < 2:
            return {}
        return dict(zip(parts, ratios(list(parts.values())), strict=True))
    except PyApspError as error:  # the run raises it again, unless it concerns the part alone
        let_go(error)
        return {}


def _part(request: Request, ranking: Ranking, each: Candidate) -> Part | None:
    """Plan a part of the problem for a candidate; None if it fails its self test."""
    method, asked = each.method, ranking.asked
    given = suited(method, request.input, request.options, each.dtype)
    plan = method.plan(request.input, given)
    if refusal(request, Choice(method, given, ""), plan) is not None:
        return None
    return part_of(plan, method, asked.facts, asked.rows)


def _comparable(request: Request, each: Candidate, first: Candidate) -> bool:
    """Return whether both candidates give the same numbers.

    If sums of weights are rounded, searches and updates of a matrix may give different numbers.
    Then times do not decide between them, so that a call always gives the same numbers.
    """
    dtype = request.options.dtype
    same = each.method.by_source == first.method.by_source
    return same or dtype.kind in "iu" or is_exact(request.input, dtype)


def _corrected(
    request: Request, ranking: Ranking, known: Mapping[str, float]
) -> tuple[Candidate, ...]:
    """Sort the candidates by the predicted times, multiplied by the ratio of their kind.

    Kinds without a ratio get the smallest, which tells the speed of the device.
    """
    first = ranking.choices[0]

    def seconds(each: Candidate) -> float | None:
        if each.seconds is None:
            return None
        return each.seconds * known.get(_kind(each.method), min(known.values()))

    def order(each: Candidate) -> tuple[bool, float]:
        time = seconds(each)
        weight = _CLEAR if each is first else 1.0
        return not _comparable(request, each, first), math.inf if time is None else weight * time

    return told(
        replace(each, seconds=seconds(each), ratio=known.get(_kind(each.method)))
        for each in sorted(ranking.choices, key=order)
    )
