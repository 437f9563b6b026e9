"""What `method="auto"` takes: the method, and the type to hold distances in, predicted fastest.

The ranking is cached by graph facts, options and database version. A method predicts its time from
the rates of the tuning rows around n. The rate of a row is n^3 by the seconds for a graph of 4 n
arcs, also for methods that search from sources: for k sources these take k m n / (4 rate).

A device may hold distances in a narrower integer type than that of the answer, if it is proved that
the numbers are the same (`pyapsp.bounds`). A proof is only tried if it takes less time than it
saves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple, cast

import numpy as np

from pyapsp.bounds import distance_bound, eccentricity_bound, hop_bound
from pyapsp.device import Device
from pyapsp.graph import Facts, Graph
from pyapsp.host import available_memory
from pyapsp.paths import AllPairsMethod, AllPairsOptions
from pyapsp.precision import narrower
from pyapsp.registry import Choice, Request, methods
from pyapsp.registry import method as find_method
from pyapsp.tuning.database import Databases, Unchanging, databases

__all__ = ["Candidate", "candidates", "choices", "suited"]

# What runs when nothing is known about the device: for the matrix, and for some rows of it. What
# runs when nothing else can.
_DEFAULT, _DEFAULT_ROWS, _LAST = "fw-minplus", "johnson", "fw-outofcore"
# Where nothing is known: how many updates of a matrix take as long as an arc and a source.
_UPDATES = 64
# How many rankings are remembered.
_KEPT = 1024
# Seconds of the host to convert an answer, and beside them for each distance.
_CALL, _VALUE = 4e-5, 1e-9
# Proofs that distances are short, and the seconds of the host that these take: always, for each
# arc, for each vertex.
_PROOFS = ((hop_bound, 8e-5, 1.2e-8, 1e-7), (eccentricity_bound, 2.5e-4, 4.5e-8, 6e-7))


@dataclass(frozen=True)
class Candidate:
    """A method that may run, and the number type of the distances while it does.

    Attributes
    ----------
    method : AllPairsMethod
    dtype : numpy.dtype
        The one asked for, or a narrower integer type that is proved exact for the graph.
    seconds : float or None
        Predicted, with planning, transfers and conversion; None when nothing is known.
    proof : str
        Why the type holds every distance; empty for the one that was asked for.
    others : tuple of str
        What would be taken after it, as text.
    """

    method: AllPairsMethod
    dtype: np.dtype
    seconds: float | None = None
    proof: str = ""
    others: tuple[str, ...] = ()

    @cached_property
    def reason(self) -> str:
        """Why it was taken, in words."""
        others = "; ".join(self.others) or "no other"
        held = f"; held so, for {self.proof}" if self.proof else ""
        return f"auto, the shortest predicted time: {self} (then {others}){held}"

    def __str__(self) -> str:
        held = f" in {self.dtype}" if self.proof else ""
        time = "not known" if self.seconds is None else f"{self.seconds * 1e3:.3g} ms"
        return f"{self.method.id}{held} {time}"


class _Asked(NamedTuple):
    """All that predictions go by.

    Attributes
    ----------
    methods : tuple of AllPairsMethod classes
    databases : Databases
    facts : Facts
        Of the graph.
    device, dtype, predecessors, helpers
        As of the `Options`.
    checkpoints : bool
        Whether there is a folder for them.
    rows : int
        How many are wanted.
    few : bool
        Whether so few of them that only searches from sources are likely fast.
    alone : bool
        Whether the host can hold these rows, and not all.
    """

    methods: tuple[type[AllPairsMethod], ...]
    databases: Databases
    facts: Facts
    device: Device
    dtype: np.dtype
    predecessors: bool
    helpers: tuple[Device, ...]
    checkpoints: bool
    rows: int
    few: bool
    alone: bool

    def held_in(self, dtype: np.dtype) -> AllPairsOptions:
        """Return options to predict for, in a type."""
        return AllPairsOptions(
            self.device,
            dtype,
            self.predecessors,
            helpers=self.helpers,
            checkpoint="" if self.checkpoints else None,
        )


@dataclass(frozen=True)
class _Ranking:
    """The choices, best first, and the seconds to gain by a proof that distances are short."""

    choices: tuple[Candidate, ...]
    gain: float


def choices(request: Request) -> Iterator[Choice]:
    """Yield the method asked for, or those that "auto" may take, the fastest first.

    Raises
    ------
    PyApspError
        If the graph or the device does not have what the method asked for needs.
    """
    graph, options, asked = request.input, request.options, request.method
    if isinstance(asked, AllPairsMethod):
        error = asked.unmet(graph.facts, options)
        if error is not None:
            raise error
        yield Choice(asked, suited(asked, graph, options, options.dtype), "as asked")
        return
    for each in candidates(graph, options):
        told = suited(each.method, graph, options, each.dtype)
        yield Choice(each.method, told, each.reason, each.seconds)


def suited(
    method: AllPairsMethod, graph: Graph, options: AllPairsOptions, dtype: np.dtype
) -> AllPairsOptions:
    """Return what a method is told, if it holds the distances in this type.

    One that computes all rows at once is told of all. Its answer is cut down afterwards.
    """
    held = options.held_in(dtype)
    if method.by_source:
        return held
    out = options.out if options.sources is None and dtype == options.dtype else None
    check = options.must_check(graph)
    return replace(held, sources=None, cutoff=None, out=out, check=check)


def candidates(graph: Graph, options: AllPairsOptions) -> tuple[Candidate, ...]:
    """Return what can solve a graph, the shortest predicted time first.

    Every method that knows what it takes on such a device (`Method.predict`), in the dtype asked
    for and in a narrower one that holds every distance; then the default, if it does not know; last
    what needs neither a device that holds the matrix nor one alone. A
    proof that is not free is looked for only where the host takes less time for it than it gains.

    Where some rows are wanted and the host cannot hold all, only methods that compute these alone;
    and where they are wanted of a graph with few arcs, such a method comes before those that are
    not known to be faster.

    Parameters
    ----------
    graph : Graph
    options : AllPairsOptions
    """
    some, rows = options.sources is not None, options.count(graph.n)
    asked = _Asked(
        _methods(),
        databases(),
        graph.facts,
        options.device,
        options.dtype,
        options.predecessors,
        options.helpers,
        options.checkpoint is not None,
        rows,
        some and _UPDATES * rows * graph.m < graph.n**3,
        some and not _host_holds_all(graph, options),
    )
    bound = distance_bound(graph)
    ranking = _ranking(asked, bound)
    for proof, always, arc, vertex in _PROOFS if ranking.gain else ():
        if ranking.gain > always + graph.m * arc + graph.n * vertex:
            proved = proof(graph)
            if proved < bound:
                bound, ranking = proved, _ranking(asked, proved)
    return ranking.choices


def _methods() -> tuple[type[AllPairsMethod], ...]:
    return cast("tuple[type[AllPairsMethod], ...]", methods("all-pairs"))


def _method(name: str) -> AllPairsMethod:
    return cast("AllPairsMethod", find_method(name))


def _host_holds_all(graph: Graph, options: AllPairsOptions) -> bool:
    """Return whether the host has memory for all rows."""
    available = available_memory()
    each = options.dtype.itemsize + (4 if options.predecessors else 0)
    return available is None or graph.n**2 * each <= available


# Predictions cost as much as solving a small graph; one like it is often solved again.
@lru_cache(maxsize=_KEPT)
def _ranking(asked: _Asked, bound: int | float) -> _Ranking:
    """Rank the candidates, if no distance exceeds a bound."""
    facts, options = asked.facts, asked.held_in(asked.dtype)
    default = _method(_DEFAULT_ROWS if asked.alone or asked.few else _DEFAULT)
    types = [Candidate(default, options.dtype)]
    held = narrower(facts, options.dtype, bound)
    if held is not None:
        types.insert(0, Candidate(default, held, proof=f"no distance exceeds {bound:g}"))
    # of no graph with these facts is more to be proved
    shortest = narrower(facts, options.dtype, 0) or options.dtype
    known = {
        dtype: _predictions(asked, dtype) for dtype in {shortest, *(kind.dtype for kind in types)}
    }
    found = [
        replace(kind, method=method, seconds=seconds)
        for kind in types
        for method, seconds in known[kind.dtype]
        if _holds(method, facts, bound)
    ]
    found.sort(key=lambda choice: choice.seconds or 0.0)
    gain = 0.0
    if found and not facts.has_negative:
        now = found[0].seconds or 0.0
        hoped = (seconds for method, seconds in known[shortest] if _holds(method, facts, 0))
        gain = now - min(hoped, default=now)
    there = {(choice.method.id, choice.dtype) for choice in found}
    unknown = [kind for kind in types if (kind.method.id, kind.dtype) not in there]
    if default.unmet(facts, options) is not None:
        unknown = []
    first = asked.few and not any(choice.method.by_source for choice in found)
    found = [*unknown, *found] if first else [*found, *unknown]
    if not asked.alone:
        found.append(Candidate(_method(_LAST), options.dtype))
    texts = tuple(map(str, found))
    ranked = (replace(each, others=texts[place:]) for place, each in enumerate(found, start=1))
    return _Ranking(tuple(ranked), gain)


def _predictions(asked: _Asked, dtype: np.dtype) -> list[tuple[AllPairsMethod, float]]:
    """Return the methods with a prediction in this type, and the prediction."""
    options, found = asked.held_in(dtype), []
    conversion = _CALL + asked.rows * asked.facts.n * _VALUE if dtype != asked.dtype else 0
    with Unchanging(asked.databases):
        for method in (cls() for cls in asked.methods):
            suits = method.by_source or not asked.alone
            if not suits or method.unmet(asked.facts, options) is not None:
                continue
            seconds = method.predict(asked.facts, options, asked.rows)
            if seconds is not None:
                found.append((method, seconds + conversion))
    return found


def _holds(method: AllPairsMethod, graph: Facts, bound: int | float) -> bool:
    """Return whether a method holds distances up to the bound."""
    limit = method.requires.largest_distance
    return limit is None or max(bound, graph.max_magnitude) <= limit
