"""`solve_many` and `solve_each` on ranks.

A rank takes the next graphs when it has solved its last ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

import numpy as np

from pyapsp.all_pairs.batch import check_nameless
from pyapsp.all_pairs.dense.batch.jobs import array_dtype, packed_dtype
from pyapsp.all_pairs.many import arrays_of, solve_each
from pyapsp.base.errors import ParameterError, PyApspError
from pyapsp.cluster.devices import own_device
from pyapsp.cluster.ranks import Ranks, joined
from pyapsp.device import DeviceLike
from pyapsp.graph import Graph, GraphLike, Graphs
from pyapsp.paths.result import Result
from pyapsp.registry.ranks import register_on_ranks

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["collected", "each_of", "solve_each_on_ranks", "solve_many_on_ranks"]

_T = TypeVar("_T")
# The graphs of a rank are taken in at least so many parts.
_PARTS = 4


def each_of(
    ranks: Ranks,
    graphs: Sequence[GraphLike] | np.ndarray,
    work: Callable[[slice], Iterator[tuple[int, _T]]],
) -> Iterator[tuple[int, _T]]:
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
            for number, result in work(slice(*taken)):
                yield taken[0] + number, result
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


def _content(graphs: Sequence[GraphLike] | np.ndarray) -> str:
    """Return the number of the graphs, and a checksum of those that need no conversion."""
    checksum = 0
    parts: Iterable[GraphLike] = graphs
    if isinstance(graphs, np.ndarray):
        parts = [graphs]
    elif isinstance(graphs, Graphs):
        arcs = graphs.tails, graphs.heads, graphs.weights
        parts = [np.array(graphs.directed), graphs.sizes, graphs.counts, *arcs]
    for each in parts:
        if isinstance(each, np.ndarray) and each.dtype.kind in "biuf":
            checksum = crc32(f"{each.dtype} {each.shape}".encode(), checksum)
            checksum = crc32(np.ascontiguousarray(each).data, checksum)
        elif isinstance(each, Graph):
            checksum = crc32(each.content_hash.encode(), checksum)
    return f"{len(graphs)} graphs with the checksum {checksum:08x}"


@register_on_ranks("solve_each")
def solve_each_on_ranks(
    comm: MPI.Comm | Ranks,
    graphs: np.ndarray | Iterable[GraphLike],
    device: DeviceLike,
    options: dict[str, Any],
) -> Iterator[tuple[int, Result]]:
    """Yield the graphs that this rank solves."""
    with joined(comm, "solve_each") as ranks:
        dtype = options["dtype"]  # one for all graphs of an array or of `Graphs`
        if isinstance(graphs, np.ndarray):
            dtype = array_dtype(graphs, dtype)
        elif isinstance(graphs, Graphs):
            dtype = packed_dtype(graphs, dtype)
        else:
            graphs = list(graphs)
        if not isinstance(graphs, list):
            check_nameless(options["weight"])
        options = {**options, "dtype": dtype}
        # the text of a function has an address, which may differ
        weight = "a function" if callable(options["weight"]) else options["weight"]
        ranks.same("solve_each", **{**options, "weight": weight}, graphs=_content(graphs))
        own = own_device(ranks, device)
        options = {**options, "memory_limit": own.limit(options["memory_limit"])}

        def work(some: slice) -> Iterator[tuple[int, Result]]:
            return solve_each(graphs[some], device=own.device, **options)

        yield from each_of(ranks, graphs, work)


@register_on_ranks("solve_many")
def solve_many_on_ranks(
    comm: MPI.Comm | Ranks,
    graphs: np.ndarray | Iterable[GraphLike],
    out: np.ndarray | None,
    device: DeviceLike,
    options: dict[str, Any],
) -> list[Result] | np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Return the answers for all graphs on all ranks."""
    with joined(comm, "solve_many") as ranks:
        if not isinstance(graphs, np.ndarray):
            if out is not None:
                raise ParameterError("only the distances of a 3-D array go into 'out'")
            mine = dict(solve_each_on_ranks(ranks, graphs, device, options))
            results = {number: each for some in ranks.all(mine) for number, each in some.items()}
            return [results[number] for number in range(len(results))]
        dtype, predecessors = options["dtype"], options["predecessors"]
        graphs, distances, before = arrays_of(graphs, out, dtype, predecessors)
        numbers = []
        for number, each in solve_each_on_ranks(ranks, graphs, device, options):
            numbers.append(number)
            distances[number] = each.distances
            if before is not None:
                before[number] = each.predecessors
        collected(ranks, numbers, distances, before)
        return distances if before is None else (distances, before)
