"""The choice of `method="auto"`: the method and distance type with the shortest predicted time.

It depends on the graph, the options, the device, the tuning databases, the installed packages and
the installed memory alone, never on the clock or on earlier calls: methods may round sums
differently, and a call must always give the same bits.
On a CPU one rule comes before times, because the constant time of kernels decides there: few rows
up to a cutoff, or few vertices in all rows, of a graph without negative weights, are searched by
``dijkstra-cpu``, if Numba is installed. Their distances have the same bits: sums of a path are made
from the source on.

The ranking is cached by graph facts, options and database version. A method predicts its time from
the rates of the tuning rows around n. The rate of a row is n^3 by the seconds for a graph of 4 n
arcs, also for methods that search from sources: for k sources these take about k m n / (4 rate),
on CPUs more for few sources, and less for many arcs (`TunableBlocks`, `NearFar`).

A device may hold distances in a narrower integer type than that of the answer, if it is proved that
the numbers are the same (`pyapsp.numbers.bounds`). A proof is only tried if it takes less time than
it saves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import NamedTuple, cast

import numpy as np

from pyapsp.all_pairs.sparse.dijkstra_cpu import HostSearch
from pyapsp.base.host import installed_memory
from pyapsp.device import Device
from pyapsp.device.kernels import staging
from pyapsp.graph import Facts, Graph
from pyapsp.graph.compressed import SearchRows
from pyapsp.numbers.bounds import PROOFS, distance_bound
from pyapsp.numbers.precision import narrower
from pyapsp.paths import AllPairsMethod, AllPairsOptions
from pyapsp.registry import Choice, Request, methods
from pyapsp.registry import method as find_method
from pyapsp.registry.tuning.database import Databases, Unchanging, databases

__all__ = [
    "Candidate",
    "Question",
    "Ranking",
    "candidates",
    "choices",
    "is_near",
    "ranked",
    "suited",
]

# The methods for a device without tuning rows: for the matrix, and for selected rows; and that for
# several devices. The last method is used if no other can run.
_DEFAULT, _DEFAULT_ROWS, _SEVERAL, _LAST = "fw-minplus", "johnson", "fw-multidevice", "fw-outofcore"
# The method for few rows up to a cutoff if the device is a CPU, and what few means. It rounds
# float16 sums otherwise than kernels do.
_NEARBY, _FEW = "dijkstra-cpu", 16
# It is also the method for more rows if all searches visit at most so many vertices, or this part
# of all that rows have: the vectors of near-far are faster from four times as many on. As many of
# the searches as the last number tell.
_VISITS, _VISITED, _TOLD = 2**14, 64, 4
_RULES = {
    few: f"few {what} and a cutoff on a CPU, where a search may take less time than a launch"
    for few, what in ((True, "sources"), (False, "vertices"))
}
# For a device without tuning rows: a search spends the time of this many updates of a matrix on
# one arc and one source.
_UPDATES = 64
# The next candidates that a reason lists.
_SHOWN = 3
# Number of cached rankings.
_CACHE_SIZE = 1024
# Seconds that the host takes to convert an answer: a constant, and for each distance. If the answer
# is converted while it comes from a device with its own memory, only the bytes count by which the
# host writes more than comes.
_CALL, _VALUE, _BYTE = 4e-5, 1e-9, 6.5e-11
# Proofs of an upper bound of distances, and their time.
_PROOFS = PROOFS
# The seconds that the host takes for `Graph.sounded`: a constant, for each arc, for each vertex.
# `sounded_within` takes up to three times as long. Solving must take this multiple of it.
_SOUNDING, _WITHIN, _WORTH = (1.5e-4, 6e-9, 5e-8), 3, 8


@dataclass(frozen=True)
class Candidate:
    """A method that may run, and the type of the distances during the run."""

    method: AllPairsMethod
    # The type asked for, or a narrower integer type that is proved exact for the graph.
    dtype: np.dtype
    # Predicted time, with planning, transfers and conversion; None if there is no prediction.
    seconds: float | None = None
    # Why the type holds every distance; empty for the type that was asked for.
    proof: str = ""
    helpers: tuple[Device, ...] = ()  # the devices beside the main one
    others: tuple[str, ...] = ()  # the next candidates of the ranking, as text

    @cached_property
    def reason(self) -> str:
        """What decided, as text."""
        decided = f"the shortest predicted time: {self}"
        if self.seconds is None:
            decided = "the default method, of which the tuning database has no rate on this device"
        following = list(self.others[:_SHOWN])
        if len(self.others) > _SHOWN:
            following.append(f"{len(self.others) - _SHOWN} more")
        then = f" (then {'; '.join(following)})" if following else ""
        narrow = f"; {self.dtype} is exact because {self.proof}" if self.proof else ""
        return f"auto, {decided}{then}{narrow}"

    def __str__(self) -> str:
        narrow = f" in {self.dtype}" if self.proof else ""
        time = "without a prediction" if self.seconds is None else f"{self.seconds * 1e3:.3g} ms"
        return f"{self.method.id}{narrow} {time}"


class Question(NamedTuple):
    """The arguments of a ranking, and the key of its cache."""

    methods: tuple[type[AllPairsMethod], ...]
    databases: Databases
    facts: Facts  # facts of the graph
    # As in `AllPairsOptions`.
    device: Device
    dtype: np.dtype
    predecessors: bool
    helpers: tuple[Device, ...]
    checkpoints: bool  # whether checkpoints are to be written
    rows: int  # number of rows to compute
    few: bool  # whether the rows are so few that a search from each source is probably fastest
    alone: bool  # whether rows are selected, and the memory of the host is too small for all rows
    on_host: bool  # whether the host has the rows, so that several devices may search for them

    def computed_in(self, dtype: np.dtype) -> AllPairsOptions:
        """Return the options of a prediction for this type."""
        return AllPairsOptions(
            self.device,
            dtype,
            self.predecessors,
            helpers=self.helpers,
            checkpoint="" if self.checkpoints else None,
            answer=self.dtype,
        )


@dataclass(frozen=True)
class Ranking:
    """The candidates for graphs with the same facts."""

    question: Question  # the facts and options that decide, hashable
    choices: tuple[Candidate, ...]  # the best first
    gain: float  # the seconds that a proof of short distances can save

    @cached_property
    def seconds(self) -> float:
        """The shortest predicted time; 0 without predictions."""
        return min((each.seconds for each in self.choices if each.seconds is not None), default=0.0)

    @cached_property
    def depends(self) -> bool:
        """Whether there are several methods, and one searches, so that reach and depth count."""
        known = [each.method for each in self.choices if each.seconds is not None]
        several = len({method.id for method in known}) > 1
        return several and any(method.by_source for method in known)


def suited(
    method: AllPairsMethod, graph: Graph, options: AllPairsOptions, dtype: np.dtype
) -> AllPairsOptions:
    """Return the options for a method that computes distances in this type.

    A method that computes all rows at once gets no sources and no cutoff. `settle.settle` selects
    the rows of its answer.
    """
    whole = options.sources is None and options.cutoff is None
    if (whole or method.by_source) and dtype == options.dtype:
        return options
    if method.by_source:
        return replace(options.computed_in(dtype), answer=options.dtype)
    return replace(
        options,
        dtype=dtype,
        answer=options.dtype,
        sources=None,
        cutoff=None,
        out=options.out if options.sources is None else None,
        device_rows=options.device_rows if whole else None,
        check=options.must_check(graph),
    )


def choices(request: Request) -> Iterator[Choice]:
    """Yield the method of the call, or the candidates of "auto", the fastest first.

    Raises
    ------
    PyApspError
        If the graph or the device does not meet the requirements of the method of the call.
    """
    graph, options, method = request.input, request.options, request.method
    if isinstance(method, AllPairsMethod):
        error = method.unmet(graph, options)
        if error is not None:
            raise error
        yield Choice(method, suited(method, graph, options, options.dtype), "as asked")
        return
    if is_near(graph, options):  # before the facts, which may take longer than such a search
        method = _method(_NEARBY)
        rule = _RULES[options.count(graph.n) <= _FEW]
        yield Choice(method, suited(method, graph, options, options.dtype), f"auto, {rule}")
    for each in candidates(graph, options):
        used = options if each.helpers else replace(options, helpers=())
        adapted = suited(each.method, graph, used, each.dtype)
        yield Choice(each.method, adapted, each.reason, each.seconds)


def candidates(graph: Graph, options: AllPairsOptions) -> tuple[Candidate, ...]:
    """Return the methods that can solve a graph, the shortest predicted time first.

    First come the methods with a prediction for this device (`Method.predict`), in the dtype asked
    for and in a narrower type that holds every distance. Then comes the default method, if it has
    no prediction. The method whose matrix need not fit on the device comes last if it has none. A
    proof of short distances is computed only if that takes less time than the narrower type saves.
    Reach and depth are estimated by a few searches, up to the cutoff, if these take little time
    beside the solution.

    If selected rows are wanted and the host cannot hold all rows, only methods that compute just
    these rows are returned. If few rows of a graph with few arcs are wanted, and no such method has
    a prediction, the default one comes first.

    Parameters
    ----------
    graph : Graph
    options : AllPairsOptions
    """
    return ranked(graph, options).choices


def ranked(graph: Graph, options: AllPairsOptions) -> Ranking:
    """Return the ranking of the candidates; see `candidates`."""
    some, rows = options.sources is not None, options.count(graph.n)
    question = Question(
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
        options.device_rows is None,
    )
    bound = distance_bound(graph)
    ranking = _ranking(question, bound)
    near, enough = options.cutoff, _WORTH * _sounding_seconds(graph)
    if ranking.depends and ranking.seconds > (enough if near is None else _WITHIN * enough):
        sounded = graph.sounded if near is None else graph.sounded_within(near)
        question = question._replace(facts=sounded)
        ranking = _ranking(question, bound)
    for proof, price in _PROOFS if ranking.gain else ():
        if ranking.gain > price(graph):
            proved = proof(graph)
            if proved < bound:
                bound, ranking = proved, _ranking(question, proved)
    return ranking


def is_near(graph: Graph | SearchRows, options: AllPairsOptions) -> bool:
    """Return whether little is to be found up to a cutoff, the device is a CPU, and the host can.

    That is few rows, or few vertices in all rows.
    """
    return (
        options.cutoff is not None
        and options.device.kind == "cpu"
        and options.dtype != np.float16
        # it asks rows for nothing but negative weights
        and _method(_NEARBY).unmet(cast("Graph", graph), options) is None
        and (options.count(graph.n) <= _FEW or _visits_few(graph, options))
    )


def _visits_few(graph: Graph | SearchRows, options: AllPairsOptions) -> bool:
    """Return whether the searches visit few vertices, if those from some of the sources do."""
    sources = options.rows(graph.n)
    most = max(_VISITS, sources.size * graph.n // _VISITED) * _TOLD // sources.size
    some = sources[np.arange(_TOLD) * sources.size // _TOLD, None]
    rows = np.empty((_TOLD, graph.n), options.dtype)
    return HostSearch(graph, options).fill(some, rows, None, most=most + 1) <= most


def _sounding_seconds(graph: Graph) -> float:
    constant, arc, vertex = _SOUNDING
    return constant + arc * graph.m + vertex * graph.n


def _methods() -> tuple[type[AllPairsMethod], ...]:
    return cast("tuple[type[AllPairsMethod], ...]", methods("all-pairs"))


def _method(name: str) -> AllPairsMethod:
    return cast("AllPairsMethod", find_method(name))


def _host_holds_all(graph: Graph, options: AllPairsOptions) -> bool:
    """Return whether all rows take at most half of the memory of the host.

    How much of it is free now must not decide which method runs.
    """
    memory = installed_memory()
    rows = graph.n**2 * (options.dtype.itemsize + (4 if options.predecessors else 0))
    return memory is None or 2 * rows <= memory


# Predictions take as long as solving a small graph, and graphs with equal facts are common.
@lru_cache(maxsize=_CACHE_SIZE)
def _ranking(question: Question, bound: int | float) -> Ranking:
    """Rank the candidates, if no distance exceeds a bound."""
    facts, options = question.facts, question.computed_in(question.dtype)
    searches = question.alone or question.few
    default = _method(_DEFAULT_ROWS if searches else _SEVERAL if question.helpers else _DEFAULT)
    options = _variants(question, default, options)[0]
    types = [Candidate(default, options.dtype, helpers=options.helpers)]
    narrow = narrower(facts, options.dtype, bound)
    if narrow is not None:
        types.insert(0, replace(types[0], dtype=narrow, proof=f"no distance exceeds {bound:g}"))
    # the narrowest type that a proof could allow for a graph with these facts
    shortest = narrower(facts, options.dtype, 0) or options.dtype
    known = {
        dtype: _predictions(question, dtype)
        for dtype in {shortest, *(kind.dtype for kind in types)}
    }
    choices = [
        replace(kind, method=each.method, seconds=each.seconds, helpers=each.helpers)
        for kind in types
        for each in known[kind.dtype]
        if _holds(each.method, facts, bound)
    ]
    choices.sort(key=lambda choice: choice.seconds or 0.0)
    gain = 0.0
    if choices and not facts.has_negative:
        now = choices[0].seconds or 0.0
        hoped = (each.seconds or 0.0 for each in known[shortest] if _holds(each.method, facts, 0))
        gain = now - min(hoped, default=now)
    there = {(choice.method.id, choice.dtype) for choice in choices}
    unknown = [kind for kind in types if (kind.method.id, kind.dtype) not in there]
    if default.unmet(facts, options) is not None:
        unknown = []
    first = question.few and not any(choice.method.by_source for choice in choices)
    choices = [*unknown, *choices] if first else [*choices, *unknown]
    # its rows are in the memory of the host, or in a file in the folder of checkpoints
    stored = not question.alone or options.checkpoint is not None
    if stored and (_LAST, options.dtype) not in there:
        last = Candidate(_method(_LAST), options.dtype, helpers=question.helpers)
        choices.append(last)
    return Ranking(question, _in_order(choices), gain)


def _in_order(choices: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates, each with the next ones as text."""
    choices = list(choices)
    texts = tuple(map(str, choices))
    return tuple(replace(each, others=texts[place:]) for place, each in enumerate(choices, start=1))


def _variants(
    question: Question, method: AllPairsMethod, options: AllPairsOptions
) -> list[AllPairsOptions]:
    """Return the options for all devices; of a search then those for the main one alone.

    Too little work is done sooner by one device. A matrix method itself decides who takes part.
    """
    if not (method.by_source and question.helpers):
        return [options]
    alone = [replace(options, helpers=())]
    return [options, *alone] if question.on_host and method.multidevice else alone


def _predictions(question: Question, dtype: np.dtype) -> list[Candidate]:
    """Return the methods with a prediction in this type, each with the devices that suit it."""
    options, choices = question.computed_in(dtype), []
    conversion, values = 0.0, question.rows * question.facts.n
    if dtype != question.dtype:
        on_the_way = staging.suits(options.device.handle, values * question.dtype.itemsize)
        wider = question.dtype.itemsize - dtype.itemsize
        conversion = _CALL + values * (wider * _BYTE if on_the_way else _VALUE)
    with Unchanging(question.databases):
        for method in (cls() for cls in question.methods):
            if question.alone and not method.by_source:
                continue
            found = []
            for used in _variants(question, method, options):
                if method.unmet(question.facts, used) is not None:
                    continue
                seconds = method.predicted(question.facts, used, question.rows)
                if seconds is not None:
                    found.append((seconds + conversion, used.helpers))
            if found:
                seconds, helpers = min(found, key=itemgetter(0))
                choices.append(Candidate(method, dtype, seconds, helpers=helpers))
    return choices


def _holds(method: AllPairsMethod, graph: Facts, bound: int | float) -> bool:
    """Return whether a method holds distances up to the bound."""
    limit = method.requires.largest_distance
    return limit is None or max(bound, graph.max_magnitude) <= limit
