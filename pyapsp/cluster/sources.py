"""Functions whose sources the ranks share: each searches from a part of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pyapsp.cluster.calls import all_arguments, own_arguments
from pyapsp.cluster.ranks import Ranks
from pyapsp.graph.names import by_number
from pyapsp.paths import vertices_or_all
from pyapsp.queries.targets import ends_of
from pyapsp.registry.ranks import register_on_ranks

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["on_sources"]


@register_on_ranks("sources")
def on_sources(
    comm: MPI.Comm | Ranks,
    function: Callable[..., Any],
    arguments: Sequence[object],
    options: Mapping[str, object],
    *,
    pairs: bool,
    gathered: bool,
) -> Any:
    """Call a function on each rank for a part of its sources.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm or Ranks
        `Ranks` if the other arguments are already those of this rank.
    function, arguments, options
        The call.
    pairs, gathered : bool
        As for `pyapsp.registry.ranks.sources_on_ranks`.

    Returns
    -------
    object
        What the function returns for the part, or for all sources if it is `gathered`.

    Raises
    ------
    PyApspError
        As the function; `RankError` if another rank has failed.
    """
    with ExitStack() as stack:
        if isinstance(comm, Ranks):
            ranks, given = comm, all_arguments(function, arguments, options)
        else:
            ranks = stack.enter_context(Ranks(comm, function.__name__))
            given = own_arguments(ranks, function, arguments, options)
        graph, owner = given["graph"], function.__name__
        if pairs:
            sources, targets, by_label = ends_of(given["sources"], given["targets"], graph, owner)
        else:
            sources = vertices_or_all(graph, given["sources"], owner)
        mine = _part(sources, ranks.rank, ranks.size)
        given["sources"] = sources[mine]
        if pairs:
            given["targets"] = targets[mine]
        by_number(graph)
        answer = function(**given)
        if pairs and not gathered:
            answer = replace(answer, by_label=by_label)
        if gathered:
            parts = ranks.all((mine, answer))
            answer = np.empty((sources.size, *answer.shape[1:]), answer.dtype)
            for places, rows in parts:
                answer[places] = rows
        return answer


def _part(sources: np.ndarray, rank: int, size: int) -> np.ndarray:
    """Return the places of the sources of a rank: a part of the different ones, in their order."""
    _, first, same = np.unique(sources, return_index=True, return_inverse=True)
    number = np.empty(first.size, np.int64)  # of each different source, as they appear
    number[np.argsort(first)] = np.arange(first.size)
    owner: np.ndarray = number[same] * size // max(first.size, 1)
    return np.flatnonzero(owner == rank)
