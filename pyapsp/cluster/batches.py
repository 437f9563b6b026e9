"""Batches on ranks: a rank takes the next graphs when it has solved its last ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pyapsp.base.errors import PyApspError
from pyapsp.cluster.ranks import Ranks

__all__ = ["collected", "each_of"]

# The graphs of a rank are taken in at least so many parts.
_PARTS = 4


def each_of(
    ranks: Ranks, graphs: Sequence[Any] | np.ndarray, work: Callable[[slice], Iterator[Any]]
) -> Iterator[tuple[int, Any]]:
    """Yield what the graphs of this rank give, with their numbers.

    Parameters
    ----------
    ranks : Ranks
    graphs : sequence
        All graphs, the same on all ranks.
    work : callable
        Yields a pair of the number within a slice of the graphs and the result.

    Raises
    ------
    PyApspError
        Of a graph, with its number in the whole batch.
    """
    name, count = ranks.name(), len(graphs)
    unit = max(1, count // (_PARTS * ranks.size))
    while (taken := ranks.lifeline.take(name, count, unit))[0] < taken[1]:
        try:
            for number, found in work(slice(*taken)):
                yield taken[0] + number, found
        except PyApspError as error:
            if error.graph is not None:
                cause = str(error).removeprefix(f"graph {error.graph}: ")
                error.graph += taken[0]
                error.args = (f"graph {error.graph}: {cause}", *error.args[1:])
            raise
        ranks.lifeline.check()


def collected(ranks: Ranks, mine: Sequence[int], *arrays: np.ndarray | None) -> None:
    """Give all ranks the parts of arrays that one of them has.

    Parameters
    ----------
    ranks : Ranks
    mine : sequence of int
        The numbers along the first axis that this rank has.
    *arrays : ndarray or None
        C-contiguous.
    """
    for root, numbers in enumerate(ranks.all(np.sort(np.asarray(mine, np.int64)))):
        cuts = np.flatnonzero(np.diff(numbers) != 1) + 1
        for run in np.split(numbers, cuts):
            for array in arrays:
                if array is not None and run.size:
                    ranks.broadcast(array[run[0] : run[-1] + 1], root)
