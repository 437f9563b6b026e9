"""Searches on ranks: a rank takes the next sources when it is done, until there are no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from pyapsp.all_pairs.sparse.session import Session
from pyapsp.all_pairs.sparse.source_blocks import SourceBlocks
from pyapsp.all_pairs.sparse.totals import Totals, gathered
from pyapsp.all_pairs.summaries.sharing import Team
from pyapsp.base.progress import of_sources
from pyapsp.cluster.answers import Answers
from pyapsp.cluster.calls import own_arguments
from pyapsp.cluster.ranks import Ranks
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions
from pyapsp.paths.sharing import part_of
from pyapsp.registry import Plan, Stats
from pyapsp.registry.ranks import register_on_ranks

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["SummaryTeam", "solve_searches", "summary_on_ranks", "totals_of_all"]

_R = TypeVar("_R")
_Progress: TypeAlias = Callable[[int, int], None]

# Bytes of rows of a rank before they go to the answer.
_ROWS = 2**26


def solve_searches(
    ranks: Ranks,
    method: SourceBlocks,
    plan: Plan[Graph, AllPairsOptions, object],
    graph: Graph,
    answers: Answers,
) -> Stats:
    """Compute the rows of all sources, and hand those of this rank to the answer.

    Parameters
    ----------
    ranks : Ranks
    method : SourceBlocks
    plan : Plan
        Of this rank, for a part of the sources.
    graph : Graph
    answers : Answers

    Returns
    -------
    dict
        As `Session.stats`.
    """
    session, options, sources = method.start(plan), answers.options, answers.sources
    name, unit = ranks.name(), min(ranks.all(session.size))
    report = of_sources(options.progress)
    row = graph.n * (options.dtype.itemsize + 4 * options.predecessors)
    most = max(1, _ROWS // max(1, row * unit)) * unit
    for first, last in _taken(ranks, name, sources.size, unit, report):
        for start in range(first, last, most):
            places = np.arange(start, min(start + most, last))
            distances = np.empty((places.size, graph.n), options.dtype)
            before = np.empty((places.size, graph.n), np.int32) if options.predecessors else None
            session.fill(sources[places], distances, before)
            answers.put(places, distances, before)
            ranks.lifeline.check()
    return session.stats()


def _taken(
    ranks: Ranks, name: str, total: int, unit: int, report: _Progress | None
) -> Iterator[tuple[int, int]]:
    """Yield the ranges of sources that this rank takes. Rank 0 reports what all have taken."""
    served = 0
    while (taken := ranks.lifeline.take(name, total, unit))[0] < taken[1]:
        yield taken
        if report is not None and ranks.rank == 0:
            served = ranks.lifeline.served(name)
            report(served, total)
    # rank 0 may have got the last sources early, or none
    if report is not None and ranks.rank == 0 and served < total:
        report(total, total)


def totals_of_all(
    ranks: Ranks,
    session: Session,
    places: np.ndarray,
    width: float | None,
    report: _Progress | None = None,
) -> Iterator[tuple[slice, Totals]]:
    """Yield the sums over rows that one process would yield, in the same order, on all ranks.

    Counts of distances are in the first of them.

    Parameters
    ----------
    ranks : Ranks
    session : Session
        Of this rank.
    places : (k,) int64 ndarray
        The sources, the same on all ranks.
    width : number or None
        As for `Session.totals`.
    report : callable or None
        Called on rank 0 as ``report(done, total)``.
    """
    ranks.same("totals", sources=places, width=width)
    name, unit = ranks.name(), min(ranks.all(session.size))

    def blocks() -> Iterator[tuple[int, Totals]]:
        for first, last in _taken(ranks, name, places.size, unit, report):
            for start in range(first, last, unit):
                stop = min(start + unit, last)
                for some, totals in session.totals(places[start:stop], width):
                    yield start + some.start, totals
                ranks.lifeline.check()

    everything = chain.from_iterable(ranks.all(gathered(blocks())))
    for start, totals in gathered(everything):
        yield slice(start, start + totals.reached.size), totals


class SummaryTeam(Team):
    """The ranks of a communicator, for `pyapsp.all_pairs.summaries`."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self.rank, self.size = ranks.rank, ranks.size

    def same(self, **values: object) -> None:
        """Raise an error on all ranks if one has other values."""
        self._ranks.same("a summary", **values)

    def share(self, value: _R) -> _R:
        """Return the value of rank 0."""
        return self._ranks.share(value)

    def added(self, sums: np.ndarray) -> np.ndarray:
        """Return the sum of the arrays of all ranks, added in the order of ranks."""
        total, part = np.zeros_like(sums), np.empty_like(sums)
        for root in range(self.size):
            if root == self.rank:
                part[...] = sums
            total += self._ranks.broadcast(part, root)
        return total

    def part(self, options: AllPairsOptions, n: int) -> AllPairsOptions:
        """Return the options to plan with."""
        return part_of(options, n, self.size)

    def totals(
        self, session: Session, places: np.ndarray, width: float | None, tell: _Progress | None
    ) -> Iterator[tuple[slice, Totals]]:
        """Yield the sums over rows."""
        return totals_of_all(self._ranks, session, places, width, tell)


@register_on_ranks("summary")
def summary_on_ranks(
    comm: MPI.Comm | Ranks,
    function: Callable[..., _R],
    arguments: Sequence[object],
    options: Mapping[str, object],
) -> _R:
    """Call a summary on each rank with a `SummaryTeam`; if ``comm`` is `Ranks`, as it is called."""
    if isinstance(comm, Ranks):
        return function(*arguments, **{**options, "comm": SummaryTeam(comm)})
    with Ranks(comm, function.__name__) as ranks:
        given = own_arguments(ranks, function, arguments, options)
        return function(**given, comm=SummaryTeam(ranks))
