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
    "Ranking",
    "RankingKey",
    "candidates",
    "choices",
    "ranked",
    "suited",
    "suits_host_search",
]

# The methods for a device without tuning rows: for the matrix, and for selected rows; and that for
# several devices. The last method is used if no other can run.
_DEFAULT, _DEFAULT_ROWS, _SEVERAL, _LAST = "fw-minplus", "johnson", "fw-multidevice", "fw-outofcore"
# The method for few rows up to a cutoff if the device is a CPU, and what few means. It rounds
# float16 sums otherwise than kernels do.
_HOST_METHOD, _FEW_ROWS = "dijkstra-cpu", 16
# It is also the method for more rows if all searches visit at most so many vertices, or this part
# of all that rows have: the vectors of near-far are faster from four times as many on. As many of
# the searches as the last number says tell how many vertices are visited.
_FEW_VISITS, _FEW_VISITS_PART, _SAMPLE = 2**14, 64, 4
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
_CONVERSION, _CONVERSION_VALUE, _CONVERSION_BYTE = 4e-5, 1e-9, 6.5e-11
# The seconds of the searches by which the host estimates reach and depth of a graph
# (`Graph.sounded`): a constant, for each arc, for each vertex.
_SOUNDING, _SOUNDING_ARC, _SOUNDING_VERTEX = 1.5e-4, 6e-9, 5e-8
# `Graph.sounded_within` takes up to this multiple of it.
_SOUNDING_WITHIN = 3
# They are worth it if to solve takes at least this multiple of their time.
_SOUNDING_WORTH = 8


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


class RankingKey(NamedTuple):
    """All on which a ranking depends, beside a bound of the distances: the key of its cache."""

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
    few_rows: bool  # whether a search from each source is probably faster than the matrix
    only_rows: bool  # whether rows are selected, and the memory of the host is too small for all
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
    if suits_host_search(graph, options):  # before the facts, which may take longer than the search
        method = _method(_HOST_METHOD)
        what = "sources" if options.count(graph.n) <= _FEW_ROWS else "vertices"
        rule = f"few {what} and a cutoff on a CPU, where a search may take less time than a launch"
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
    selected, rows = options.sources is not None, options.count(graph.n)
    key = RankingKey(
        methods=_methods(),
        databases=databases(),
        facts=graph.facts,
        device=options.device,
        dtype=options.dtype,
        predecessors=options.predecessors,
        helpers=options.helpers,
        checkpoints=options.checkpoint is not None,
        rows=rows,
        few_rows=selected and _UPDATES * rows * graph.m < graph.n**3,
        only_rows=selected and not _host_holds_all(graph, options),
        on_host=options.device_rows is None,
    )
    bound = distance_bound(graph)
    ranking = _ranking(key, bound)
    if ranking.depends and ranking.seconds > _SOUNDING_WORTH * _sounding_seconds(graph, options):
        cutoff = options.cutoff
        sounded = graph.sounded if cutoff is None else graph.sounded_within(cutoff)
        key = key._replace(facts=sounded)
        ranking = _ranking(key, bound)
    for proof, seconds in PROOFS if ranking.gain else ():
        if ranking.gain > seconds(graph):
            proved = proof(graph)
            if proved < bound:
                bound, ranking = proved, _ranking(key, proved)
    return ranking


def suits_host_search(graph: Graph | SearchRows, options: AllPairsOptions) -> bool:
    """Return whether little is to be found up to a cutoff, the device is a CPU, and the host can.

    That is few rows, or few vertices in all rows.
    """
    return (
        options.cutoff is not None
        and options.device.kind == "cpu"
        and options.dtype != np.float16
        # it asks rows for nothing but negative weights
        and _method(_HOST_METHOD).unmet(cast("Graph", graph), options) is None
        and (options.count(graph.n) <= _FEW_ROWS or _visits_few(graph, options))
    )


def _visits_few(graph: Graph | SearchRows, options: AllPairsOptions) -> bool:
    """Return whether the searches visit few vertices, if those from some of the sources do."""
    sources = options.rows(graph.n)
    most = max(_FEW_VISITS, sources.size * graph.n // _FEW_VISITS_PART) * _SAMPLE // sources.size
    sample = sources[np.arange(_SAMPLE) * sources.size // _SAMPLE, None]
    rows = np.empty((_SAMPLE, graph.n), options.dtype)
    return HostSearch(graph, options).fill(sample, rows, None, most=most + 1) <= most


def _sounding_seconds(graph: Graph, options: AllPairsOptions) -> float:
    seconds = _SOUNDING + _SOUNDING_ARC * graph.m + _SOUNDING_VERTEX * graph.n
    return seconds if options.cutoff is None else _SOUNDING_WITHIN * seconds


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
def _ranking(key: RankingKey, bound: int | float) -> Ranking:
    """Rank the candidates, if no distance exceeds a bound."""
    facts, options = key.facts, key.computed_in(key.dtype)
    searches = key.only_rows or key.few_rows
    default = _method(_DEFAULT_ROWS if searches else _SEVERAL if key.helpers else _DEFAULT)
    able = [each for each in _variants(key, default, options) if not default.unmet(facts, each)]
    options = (able or [options])[0]
    types = [Candidate(default, options.dtype, helpers=options.helpers)]
    narrow = narrower(facts, options.dtype, bound)
    if narrow is not None:
        types.insert(0, replace(types[0], dtype=narrow, proof=f"no distance exceeds {bound:g}"))
    # the narrowest type that a proof could allow for a graph with these facts
    shortest = narrower(facts, options.dtype, 0) or options.dtype
    known = {
        dtype: _predictions(key, dtype) for dtype in {shortest, *(kind.dtype for kind in types)}
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
    predicted = {(choice.method.id, choice.dtype) for choice in choices}
    unknown = [kind for kind in types if able and (kind.method.id, kind.dtype) not in predicted]
    first = key.few_rows and not any(choice.method.by_source for choice in choices)
    choices = [*unknown, *choices] if first else [*choices, *unknown]
    # its rows are in the memory of the host, or in a file in the folder of checkpoints
    stored = not key.only_rows or options.checkpoint is not None
    if stored and (_LAST, options.dtype) not in predicted:
        last = Candidate(_method(_LAST), options.dtype, helpers=key.helpers)
        choices.append(last)
    return Ranking(_in_order(choices), gain)


def _in_order(choices: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates, each with the next ones as text."""
    choices = list(choices)
    texts = tuple(map(str, choices))
    return tuple(replace(each, others=texts[place:]) for place, each in enumerate(choices, start=1))


def _variants(
    key: RankingKey, method: AllPairsMethod, options: AllPairsOptions
) -> list[AllPairsOptions]:
    """Return the options for all devices; of a search then those for the main one alone.

    Too little work is done sooner by one device. A matrix method itself decides who takes part.
    """
    if not (method.by_source and key.helpers):
        return [options]
    alone = [replace(options, helpers=())]
    return [options, *alone] if key.on_host and method.multidevice else alone


def _predictions(key: RankingKey, dtype: np.dtype) -> list[Candidate]:
    """Return the methods with a prediction in this type, each with the devices that suit it."""
    options, choices = key.computed_in(dtype), []
    conversion, values = 0.0, key.rows * key.facts.n
    if dtype != key.dtype:
        on_the_way = staging.suits(options.device.handle, values * key.dtype.itemsize)
        wider = key.dtype.itemsize - dtype.itemsize
        per_value = wider * _CONVERSION_BYTE if on_the_way else _CONVERSION_VALUE
        conversion = _CONVERSION + values * per_value
    with Unchanging(key.databases):
        for method in (cls() for cls in key.methods):
            if key.only_rows and not method.by_source:
                continue
            found = []
            for used in _variants(key, method, options):
                if method.unmet(key.facts, used) is not None:
                    continue
                seconds = method.predicted(key.facts, used, key.rows)
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
