"""The race of the close candidates of "auto": each solves the problem, or a part of it.

Predictions err, for instance where searches share less work than in the graphs that were tuned. The
measured time, divided by the predicted time, corrects the prediction. The ratios are kept for later
calls with the same facts and options.

If a problem takes long, all candidates solve a part of it before one solves the whole. A part of a
short problem would tell nothing, because it is mostly fixed costs. So after many such calls, each
candidate answers some of them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from pyapsp.all_pairs.choice import Candidate, Question, Ranking, in_order, ranked, suited
from pyapsp.all_pairs.parts import Part, part_of, ratios
from pyapsp.base.errors import PyApspError
from pyapsp.device import let_go
from pyapsp.numbers.precision import is_exact
from pyapsp.paths import AllPairsMethod
from pyapsp.registry import Choice, Request
from pyapsp.registry.trials import refusal

__all__ = ["choices"]

# There is a race between candidates that are predicted to take at most _NEAR times the shortest
# time, if all calls so far took longer than _ENOUGH (seconds): with parts if the shortest time is
# above _SHORT, else with up to _TURNS calls of each of the first _MOST candidates if it is above
# _TINY.
_NEAR, _SHORT, _ENOUGH = 3.0, 0.05, 1.0
_TINY, _TURNS, _MOST = 5e-4, 5, 4
# After two calls, of which the first may have built kernels, a candidate is out of the race if its
# best call took _LOST times as long as the best of another: five calls cost the user more than they
# tell.
_LOST = 1.25
# Calls after which the candidates are sorted again, by the times of the last ones; to sort takes as
# long as a tenth of a small call. The last of them is answered by the next candidate, if it is
# expected to take at most _RIVAL times as long: a machine that was busy during the race must not
# decide for ever.
_AGAIN, _RIVAL = 20, 1.5
# The first of the ranking loses to a candidate that takes less than this part of its time: by the
# time of a part, and of calls.
_CLEAR, _CLEAR_CALLS = 0.85, 0.95
# Number of kept results.
_CACHE_SIZE = 1024


@dataclass
class _Past:
    """The earlier calls with the same facts and options.

    Attributes
    ----------
    spent : float
        Seconds of all calls; predicted ones, if the candidates solve parts.
    ratios : dict of str to float, or None
        The result of the race with parts; None before it, empty if there was nothing to decide.
    times : dict of str to deque of float
        The seconds of the last calls that each form has answered.
    failed : set of str
        The forms that could not answer a call.
    settled : (Ranking, tuple of Candidate) or None
        The candidates of a ranking in the order of their times, after the race of calls; for
        `_AGAIN` calls.
    left : int
        The number of calls for which this order is kept.
    """

    spent: float = 0.0
    ratios: Mapping[str, float] | None = None
    times: dict[str, deque[float]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    settled: tuple[Ranking, tuple[Candidate, ...]] | None = None
    left: int = _AGAIN

    def add(self, form: str, seconds: float) -> None:
        """Add a call that a form has answered."""
        self.spent += seconds
        self.times.setdefault(form, deque(maxlen=_TURNS)).append(seconds)
        self.left -= 1
        if self.left <= 0:
            self.settled, self.left = None, _AGAIN

    def has_turns(self, form: str) -> bool:
        """Return whether a form is to answer further calls before the race is decided."""
        times = self.times.get(form, ())
        if len(times) < 2:
            return True
        best = min(min(each) for each in self.times.values())
        return len(times) < _TURNS and min(times) <= _LOST * best

    def fail(self, form: str) -> None:
        """Add a call that a form could not answer."""
        self.failed.add(form)
        self.settled = None


@lru_cache(maxsize=_CACHE_SIZE)
def _past(question: Question, on_device: bool) -> _Past:
    return _Past()


def choices(request: Request) -> Iterator[Choice]:
    """Yield the method asked for, or the candidates of "auto", the fastest first.

    Raises
    ------
    PyApspError
        If the graph or the device does not meet the requirements of the method asked for.
    """
    graph, options, method = request.input, request.options, request.method
    if isinstance(method, AllPairsMethod):
        error = method.unmet(graph, options)
        if error is not None:
            raise error
        yield Choice(method, suited(method, graph, options, options.dtype), "as asked")
        return
    ranking = ranked(graph, options)
    order, calls = ranking.choices, None
    if ranking.seconds > _SHORT:
        order = _after_parts(request, ranking, _past_of(request, ranking))
    elif ranking.seconds > _TINY and options.cutoff is None:
        calls = _past_of(request, ranking)
        order = _after_calls(request, ranking, calls)
    for each in order:
        adapted = suited(each.method, graph, options, each.dtype)
        tell = None if calls is None else partial(calls.add, _form(each))
        yield Choice(each.method, adapted, each.reason, each.seconds, tell)
        if calls is not None:  # the next one is asked for
            calls.fail(_form(each))


def _past_of(request: Request, ranking: Ranking) -> _Past:
    return _past(ranking.question, request.options.device_rows is not None)


def _after_parts(request: Request, ranking: Ranking, past: _Past) -> tuple[Candidate, ...]:
    """Sort the candidates by a race with parts."""
    if request.options.cutoff is None:  # no prediction tells how much a cutoff saves
        past.spent += ranking.seconds
        if past.ratios is None and past.spent > _ENOUGH:
            past.ratios = _measured(request, ranking)
    if not past.ratios:
        return ranking.choices
    return _corrected(request, ranking, past.ratios, lambda each: _kind(each.method), _CLEAR)


def _after_calls(request: Request, ranking: Ranking, past: _Past) -> tuple[Candidate, ...]:
    """Sort the candidates by a race of calls; until its end, by whose turn it is."""
    if past.settled is not None and past.settled[0] is ranking:
        order = past.settled[1]
        return _rival_first(request, past, order) if past.left == 1 else order
    if past.spent <= _ENOUGH:
        return ranking.choices
    near = {
        form: each
        for form, each in _near(request, ranking, _form).items()
        if form not in past.failed
    }
    if len(near) < 2:
        return ranking.choices
    for form, each in _rivals(near):
        if past.has_turns(form):
            others = (other for other in ranking.choices if other is not each)
            return in_order([each, *others])
    ratios: dict[str, float] = {}
    kinds: dict[str, list[float]] = {}
    for each in ranking.choices:
        if each.seconds and (form := _form(each)) in past.times:
            ratios[form] = min(past.times[form]) / each.seconds
            kinds.setdefault(_kind(each.method), []).append(ratios[form])
    # what answered no call is taken to err as the others of its kind; the matrix in host memory as
    # the slowest of them, so that it does not come before the same kernels
    for each in ranking.choices:
        if (kind := _kind(each.method)) in kinds:
            known = kinds[kind]
            ratios.setdefault(_form(each), max(known) if each.method.outofcore else min(known))
    order = _corrected(request, ranking, ratios, _form, _CLEAR_CALLS)
    past.settled, past.left = (ranking, order), _AGAIN
    return order


def _rival_first(
    request: Request, past: _Past, order: tuple[Candidate, ...]
) -> tuple[Candidate, ...]:
    """Put the next candidate first, if it may be as fast as the first."""
    first = order[0]
    for each in order[1:]:
        close = each.seconds is not None and each.seconds <= _RIVAL * (first.seconds or 0.0)
        able = not each.method.outofcore and _form(each) not in past.failed
        if close and able and _comparable(request, each, first):
            return in_order([each, *(other for other in order if other is not each)])
    return order


def _rivals(near: Mapping[str, Candidate]) -> list[tuple[str, Candidate]]:
    """Return the forms that answer calls in turns: the first of each kind, then the others."""
    kinds: dict[str, str] = {}
    for form, each in near.items():
        kinds.setdefault(_kind(each.method), form)
    forms = [*kinds.values(), *(form for form in near if form not in kinds.values())]
    return [(form, near[form]) for form in forms[:_MOST]]


def _form(each: Candidate) -> str:
    """Return a name for a method and its type."""
    return f"{each.method.id} {each.dtype}"


def _kind(method: AllPairsMethod) -> str:
    """Return a name for the methods whose predictions err together."""
    return method.id if method.by_source else "matrix"


def _measured(request: Request, ranking: Ranking) -> dict[str, float]:
    """Return measured by predicted time of a part for each kind of close candidates.

    Nothing is returned if there is nothing to decide, because no other kind is close, or the time
    of the first of the ranking cannot be told from a part.
    """
    first = ranking.choices[0]
    near = _near(request, ranking, lambda each: _kind(each.method))
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


def _near(
    request: Request, ranking: Ranking, kind: Callable[[Candidate], str]
) -> dict[str, Candidate]:
    """Return the first of each kind of close candidates that give the same numbers."""
    first, near = ranking.choices[0], dict[str, Candidate]()
    for each in ranking.choices:
        close = each.seconds is not None and each.seconds <= _NEAR * (first.seconds or 0.0)
        # the kernels of a matrix in host memory are those of another candidate, and cannot win
        close = close and (each is first or not each.method.outofcore)
        if close and _comparable(request, each, first):
            near.setdefault(kind(each), each)
    return near


def _part(request: Request, ranking: Ranking, each: Candidate) -> Part | None:
    """Plan a part of the problem for a candidate; None if it fails its self test."""
    method, question = each.method, ranking.question
    options = suited(method, request.input, request.options, each.dtype)
    plan = method.plan(request.input, options)
    if refusal(request, Choice(method, options, ""), plan) is not None:
        return None
    return part_of(plan, method, question.facts, question.rows)


def _comparable(request: Request, each: Candidate, first: Candidate) -> bool:
    """Return whether both candidates give the same numbers.

    If sums of weights are rounded, searches and updates of a matrix may give different numbers.
    Then times do not decide between them, so that a call always gives the same numbers.
    """
    dtype = request.options.dtype
    same = each.method.by_source == first.method.by_source
    return same or dtype.kind in "iu" or is_exact(request.input, dtype)


def _corrected(
    request: Request,
    ranking: Ranking,
    known: Mapping[str, float],
    kind: Callable[[Candidate], str],
    clear: float,
) -> tuple[Candidate, ...]:
    """Sort the candidates by the predicted times, multiplied by the ratio of their kind.

    Kinds without a ratio get the smallest, which tells the speed of the device.
    """
    first = ranking.choices[0]

    def seconds(each: Candidate) -> float | None:
        if each.seconds is None:
            return None
        return each.seconds * known.get(kind(each), min(known.values()))

    def order(each: Candidate) -> tuple[bool, float]:
        time = seconds(each)
        weight = clear if each is first else 1.0
        return not _comparable(request, each, first), math.inf if time is None else weight * time

    return in_order(
        replace(each, seconds=seconds(each), ratio=known.get(kind(each)))
        for each in sorted(ranking.choices, key=order)
    )
