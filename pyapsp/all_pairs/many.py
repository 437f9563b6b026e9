"""`solve_many` and `solve_each`: shortest paths of many graphs, given as array or iterable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pyapsp.all_pairs.batch import batch_of, check_nameless
from pyapsp.all_pairs.dense.batch.jobs import array_dtype
from pyapsp.base.errors import ParameterError
from pyapsp.base.host import shares_memory
from pyapsp.device import DeviceLike
from pyapsp.graph import GraphLike, Weight
from pyapsp.graph.validation import output
from pyapsp.paths.result import Result
from pyapsp.registry import Method
from pyapsp.registry.ranks import on_ranks

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["arrays_of", "solve_each", "solve_many"]


@overload
def solve_many(  # type: ignore[overload-overlap]  # an array is an iterable, too
    graphs: np.ndarray,
    method: str | Method = ...,
    *,
    directed: bool = ...,
    weight: Weight = ...,
    dtype: DTypeLike | None = ...,
    predecessors: Literal[False] = ...,
    out: np.ndarray | None = ...,
    device: DeviceLike = ...,
    memory_limit: int | None = ...,
    group: int | None = ...,
    check: bool = ...,
    comm: MPI.Comm | None = ...,
) -> np.ndarray: ...


@overload
def solve_many(  # type: ignore[overload-overlap]  # an array is an iterable, too
    graphs: np.ndarray,
    method: str | Method = ...,
    *,
    directed: bool = ...,
    weight: Weight = ...,
    dtype: DTypeLike | None = ...,
    predecessors: Literal[True],
    out: np.ndarray | None = ...,
    device: DeviceLike = ...,
    memory_limit: int | None = ...,
    group: int | None = ...,
    check: bool = ...,
    comm: MPI.Comm | None = ...,
) -> tuple[np.ndarray, NDArray[np.int32]]: ...


@overload
def solve_many(  # type: ignore[overload-overlap]  # an array is an iterable, too
    graphs: np.ndarray,
    method: str | Method = ...,
    *,
    directed: bool = ...,
    weight: Weight = ...,
    dtype: DTypeLike | None = ...,
    predecessors: bool,
    out: np.ndarray | None = ...,
    device: DeviceLike = ...,
    memory_limit: int | None = ...,
    group: int | None = ...,
    check: bool = ...,
    comm: MPI.Comm | None = ...,
) -> np.ndarray | tuple[np.ndarray, NDArray[np.int32]]: ...


@overload
def solve_many(
    graphs: Iterable[GraphLike],
    method: str | Method = ...,
    *,
    directed: bool = ...,
    weight: Weight = ...,
    dtype: DTypeLike | None = ...,
    predecessors: bool = ...,
    out: None = ...,
    device: DeviceLike = ...,
    memory_limit: int | None = ...,
    group: int | None = ...,
    check: bool = ...,
    comm: MPI.Comm | None = ...,
) -> list[Result]: ...


def solve_many(
    graphs: np.ndarray | Iterable[GraphLike],
    method: str | Method = "auto",
    *,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    predecessors: bool = False,
    out: np.ndarray | None = None,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    group: int | None = None,
    check: bool = True,
    comm: MPI.Comm | None = None,
) -> np.ndarray | tuple[np.ndarray, NDArray[np.int32]] | list[Result]:
    """Compute shortest paths between all pairs of vertices, of many graphs.

    The answers are those of `solve` for each graph. For small graphs this is many times faster
    than one call of `solve` for each. Distances may differ from those of `solve` by rounding,
    unless sums are exact.

    Parameters
    ----------
    graphs : (m, n, n) ndarray, or iterable of graphs
        An array of weights, where 0 and inf mean "no arc", as in `solve`; or anything that
        `solve` takes, of equal or different sizes. `Graphs` is the fastest to make.
    method : str or Method
        ``"auto"``; ``"fw-onegroup"``, which solves each graph in one work-group;
        ``fw-multikernel``, ``fw-singlekernel``, ``fw-packed4``, ``8``, ``16`` or ``fw-minplus``,
        which compute many graphs in a kernel launch; or any other method, which solves one graph
        after the other.
    directed : bool
        False: an arc may be walked both ways, at the smaller of the two weights.
    weight : hashable, callable or None, optional
        As for `solve`; absent for an array or `Graphs`.
    dtype : dtype-like or "auto", optional
        As for `solve`. ``"auto"`` selects one type for all graphs of an array or of `Graphs`, and a
        type for each graph of another iterable.
    predecessors : bool
        Also compute the last vertex before j on each path.
    out : (m, n, n) ndarray, optional
        Array for the distances if `graphs` is an array: C-contiguous, of the dtype of the
        distances. If `dtype` is None, the dtype of this array is used. After an error the content
        is undefined.
    device : str, int, Device or pyopencl object, optional
        Which device; see `pyapsp.device.choose`.
    memory_limit : int, optional
        Bytes of device memory the run may use.
    group : int, optional
        Number of graphs that are copied to the device together; None: chosen automatically. One
        group is uploaded while another is computed and a third is downloaded. With all graphs in
        one group nothing overlaps.
    check : bool
        Check whether a distance is too large for its type, as in `solve`.
    comm : mpi4py.MPI.Comm, optional
        Share the graphs among the ranks of this communicator: all of them make this call, with the
        same graphs, and all return all answers.

    Returns
    -------
    ndarray, tuple of ndarray, or list of Result
        For an array: the (m, n, n) distances and, with `predecessors`, the (m, n, n) int32
        predecessors. For an iterable: a list with the `Result` of each graph, in order.

    Raises
    ------
    GraphError, ParameterError, NegativeCycleError, PrecisionError, DeviceError
        As `solve`. If one graph causes the error, the message begins with the number of the graph,
        ``graph 17: ``, and the attribute ``graph`` of the error is that number.

    See Also
    --------
    solve_each : yields results as they finish.

    Examples
    --------
    >>> import numpy as np, pyapsp
    >>> weights = np.array([[[0, 7, 1], [0, 0, 0], [0, 2, 0]]] * 1000)
    >>> pyapsp.solve_many(weights)[999]
    array([[ 0.,  3.,  1.],
           [inf,  0., inf],
           [inf,  2.,  0.]])
    """
    if comm is not None:
        options = {
            "method": method,
            "directed": directed,
            "weight": weight,
            "dtype": out.dtype if dtype is None and isinstance(out, np.ndarray) else dtype,
            "predecessors": predecessors,
            "memory_limit": memory_limit,
            "group": group,
            "check": check,
        }
        answers: list[Result] = on_ranks("solve_many")(comm, graphs, out, device, options)
        return answers
    batch = batch_of(method, directed, weight, predecessors, device, memory_limit, group, check)
    if not isinstance(graphs, np.ndarray):
        if out is not None:
            raise ParameterError("only the distances of a 3-D array go into 'out'")
        # an iterator may fill the same array again for the next graph
        solved = batch.graphs(graphs, dtype, copy=not isinstance(graphs, list | tuple))
        results = {n: each for some in solved for n, each in some.results()}
        return [results[number] for number in range(len(results))]
    check_nameless(weight)
    if dtype is None and isinstance(out, np.ndarray):
        dtype = out.dtype
    graphs, distances, before = arrays_of(graphs, out, dtype, predecessors)
    for _ in batch.array(graphs, distances, before):
        pass
    return distances if before is None else (distances, before)


def solve_each(
    graphs: np.ndarray | Iterable[GraphLike],
    method: str | Method = "auto",
    *,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    predecessors: bool = False,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    group: int | None = None,
    check: bool = True,
    comm: MPI.Comm | None = None,
) -> Iterator[tuple[int, Result]]:
    """Solve many graphs, and yield results as they finish.

    Parameters
    ----------
    graphs : (m, n, n) ndarray, or iterable of graphs
        As for `solve_many`. An iterable may be infinite: it is read ahead until the distances take
        256 MiB. Graphs of about the same size are solved together. An array must not change before
        the last result.
    method, directed, weight, dtype, predecessors, device, memory_limit, group, check
        As for `solve_many`.
    comm : mpi4py.MPI.Comm, optional
        As for `solve_many`. Each rank yields the graphs that it has solved.

    Yields
    ------
    number : int
        The place of the graph in the batch.
    result : Result

    Raises
    ------
    GraphError, ParameterError, NegativeCycleError, PrecisionError, DeviceError
        As `solve_many`.

    Examples
    --------
    >>> for number, result in pyapsp.solve_each(graphs):  # doctest: +SKIP
    ...     print(number, result.diameter())
    """
    if comm is not None:
        options = {
            "method": method,
            "directed": directed,
            "weight": weight,
            "dtype": dtype,
            "predecessors": predecessors,
            "memory_limit": memory_limit,
            "group": group,
            "check": check,
        }
        some: Iterator[tuple[int, Result]] = on_ranks("solve_each")(comm, graphs, device, options)
        return some
    batch = batch_of(method, directed, weight, predecessors, device, memory_limit, group, check)
    if isinstance(graphs, np.ndarray):
        check_nameless(weight)
        solved = batch.array(*arrays_of(graphs, None, dtype, predecessors))
    else:
        solved = batch.graphs(graphs, dtype)
    return (each for some in solved for each in some.results())


def arrays_of(
    graphs: np.ndarray, out: np.ndarray | None, dtype: DTypeLike | None, predecessors: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return weights that share no memory with the answers, and the arrays of the answers."""
    chosen = array_dtype(graphs, dtype)
    distances = np.empty(graphs.shape, chosen) if out is None else out
    output("solve_many", distances, graphs.shape, chosen)
    weights = graphs.copy() if shares_memory(graphs, distances) else graphs
    return weights, distances, np.empty(graphs.shape, np.int32) if predecessors else None
