"""`solve_many` and `solve_each`: shortest paths of many graphs, given as array or iterable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from os import PathLike
from typing import Any, Literal, overload

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from pyapsp.checks import check_weights
from pyapsp.cluster.batches import collected, each_of
from pyapsp.cluster.devices import own_device
from pyapsp.cluster.ranks import joined
from pyapsp.dense.batch import ONE_GROUP, Done, Pipeline, Remark, automatic, maker
from pyapsp.dense.batch.jobs import Group, Listed, Part, array_dtype, check_out, padded
from pyapsp.dense.batch.pinned import is_pinned
from pyapsp.dense.batch.predecessors import find_predecessors
from pyapsp.dense.fw_packed import lost
from pyapsp.device import Device, choose
from pyapsp.distances.solver import solve
from pyapsp.errors import ParameterError, PyApspError
from pyapsp.graph import Graph, as_graph
from pyapsp.graph.families import FAMILIES
from pyapsp.graph.validation import flag, integer
from pyapsp.host import shares_memory
from pyapsp.paths import AllPairsMethod, AllPairsOptions, Rows, Weights, sample
from pyapsp.precision import infinity, resolve
from pyapsp.registry import Method, Plan, Request, check_limits, method_of, problem
from pyapsp.registry import method as find_method
from pyapsp.result import Result
from pyapsp.runs import record
from pyapsp.trials import fault_of
from pyapsp.verify import oracle

__all__ = ["solve_each", "solve_many"]

# Graphs of an iterable are collected until their distances take this many bytes.
_WINDOW = 2**28
# Number of vertices of the graphs of the self test. It is no multiple of a vector width.
_SIZE = 37


@overload
def solve_many(  # type: ignore[overload-overlap]  # an array is an iterable, too
    graphs: NDArray[Any],
    method: str | Method = ...,
    *,
    directed: bool = ...,
    dtype: Any = ...,
    predecessors: Literal[False] = ...,
    out: np.ndarray | None = ...,
    device: Any = ...,
    memory_limit: int | None = ...,
    group: int | None = ...,
    check: bool = ...,
    comm: Any = ...,
) -> NDArray[Any]: ...


@overload
def solve_many(  # type: ignore[overload-overlap]  # an array is an iterable, too
    graphs: NDArray[Any],
    method: str | Method = ...,
    *,
    directed: bool = ...,
    dtype: Any = ...,
    predecessors: Literal[True],
    out: np.ndarray | None = ...,
    device: Any = ...,
    memory_limit: int | None = ...,
    group: int | None = ...,
    check: bool = ...,
    comm: Any = ...,
) -> tuple[NDArray[Any], NDArray[np.int32]]: ...


@overload
def solve_many(  # type: ignore[overload-overlap]  # an array is an iterable, too
    graphs: NDArray[Any],
    method: str | Method = ...,
    *,
    directed: bool = ...,
    dtype: Any = ...,
    predecessors: bool,
    out: np.ndarray | None = ...,
    device: Any = ...,
    memory_limit: int | None = ...,
    group: int | None = ...,
    check: bool = ...,
    comm: Any = ...,
) -> NDArray[Any] | tuple[NDArray[Any], NDArray[np.int32]]: ...


@overload
def solve_many(
    graphs: Iterable[Any],
    method: str | Method = ...,
    *,
    directed: bool = ...,
    dtype: Any = ...,
    predecessors: bool = ...,
    out: None = ...,
    device: Any = ...,
    memory_limit: int | None = ...,
    group: int | None = ...,
    check: bool = ...,
    comm: Any = ...,
) -> list[Result]: ...


def solve_many(
    graphs: NDArray[Any] | Iterable[Any],
    method: str | Method = "auto",
    *,
    directed: bool = True,
    dtype: Any = None,
    predecessors: bool = False,
    out: np.ndarray | None = None,
    device: Any = None,
    memory_limit: int | None = None,
    group: int | None = None,
    check: bool = True,
    comm: Any = None,
) -> NDArray[Any] | tuple[NDArray[Any], NDArray[np.int32]] | list[Result]:
    """Compute shortest paths between all pairs of vertices, of many graphs.

    The answers are those of `solve` for each graph. For small graphs this is many times faster
    than one call of `solve` for each. Distances may differ from those of `solve` by rounding,
    unless sums are exact.

    Parameters
    ----------
    graphs : (m, n, n) ndarray, or iterable of graphs
        An array of weights, where 0 and inf mean "no arc", as in `solve`; or anything that
        `solve` takes, of equal or different sizes.
    method : str or Method
        ``"auto"``; ``"fw-onegroup"``, which solves each graph in one work-group;
        ``fw-multikernel``, ``fw-singlekernel``, ``fw-packed4``, ``8``, ``16`` or ``fw-minplus``,
        which compute many graphs in a kernel launch; or any other method, which solves one graph
        after the other.
    directed : bool
        False: an arc may be walked both ways, at the smaller of the two weights.
    dtype : dtype-like or "auto", optional
        As for `solve`. ``"auto"`` selects one type for all graphs of an array, and a type for each
        graph of an iterable.
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
        asked = {
            "method": method,
            "directed": directed,
            "dtype": out.dtype if dtype is None and isinstance(out, np.ndarray) else dtype,
            "predecessors": predecessors,
            "memory_limit": memory_limit,
            "group": group,
            "check": check,
        }
        answers: list[Result] = _all_of(comm, graphs, out, device, asked)
        return answers
    batch = _batch(method, directed, predecessors, device, memory_limit, group, check)
    if not isinstance(graphs, np.ndarray):
        if out is not None:
            raise ParameterError("only the distances of a 3-D array go into 'out'")
        found = {n: each for some in batch.graphs(graphs, dtype) for n, each in some.results()}
        return [found[number] for number in range(len(found))]
    if dtype is None and isinstance(out, np.ndarray):
        dtype = out.dtype
    chosen = array_dtype(graphs, dtype)
    distances = np.empty(graphs.shape, chosen) if out is None else out
    check_out(distances, graphs.shape, chosen)
    if shares_memory(graphs, distances):
        graphs = graphs.copy()
    before = np.empty(graphs.shape, np.int32) if predecessors else None
    for _ in batch.array(graphs, distances, before):
        pass
    return distances if before is None else (distances, before)


def solve_each(
    graphs: NDArray[Any] | Iterable[Any],
    method: str | Method = "auto",
    *,
    directed: bool = True,
    dtype: Any = None,
    predecessors: bool = False,
    device: Any = None,
    memory_limit: int | None = None,
    group: int | None = None,
    check: bool = True,
    comm: Any = None,
) -> Iterator[tuple[int, Result]]:
    """Solve many graphs, and yield results as they finish.

    Parameters
    ----------
    graphs : (m, n, n) ndarray, or iterable of graphs
        As for `solve_many`. An iterable may be infinite: it is read ahead until the distances take
        256 MiB. Graphs of about the same size are solved together. An array must not change before
        the last result.
    method, directed, dtype, predecessors, device, memory_limit, group, check
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
        asked = {
            "method": method,
            "directed": directed,
            "dtype": dtype,
            "predecessors": predecessors,
            "memory_limit": memory_limit,
            "group": group,
            "check": check,
        }
        return _some_of(comm, graphs, device, asked)
    batch = _batch(method, directed, predecessors, device, memory_limit, group, check)
    if isinstance(graphs, np.ndarray):
        distances = np.empty(graphs.shape, array_dtype(graphs, dtype))
        before = np.empty(graphs.shape, np.int32) if predecessors else None
        solved = batch.array(graphs, distances, before)
    else:
        solved = batch.graphs(graphs, dtype)
    return (each for some in solved for each in some.results())


def _some_of(
    comm: Any, graphs: Any, device: Any, asked: dict[str, Any]
) -> Iterator[tuple[int, Result]]:
    """Yield the graphs that this rank solves."""
    with joined(comm) as ranks:
        if not isinstance(graphs, np.ndarray):
            graphs = list(graphs)
        elif asked["dtype"] is None or isinstance(asked["dtype"], str):
            asked = {**asked, "dtype": array_dtype(graphs, asked["dtype"])}  # one for all
        ranks.same(**asked, graphs=len(graphs))
        own = own_device(ranks, device)
        if own.memory is not None:
            asked = {**asked, "memory_limit": min(own.memory, asked["memory_limit"] or own.memory)}

        def work(some: slice) -> Iterator[tuple[int, Result]]:
            return solve_each(graphs[some], device=own.device, **asked)

        yield from each_of(ranks, graphs, work)


def _all_of(
    comm: Any, graphs: Any, out: np.ndarray | None, device: Any, asked: dict[str, Any]
) -> Any:
    """Return the answers for all graphs on all ranks."""
    with joined(comm) as ranks:
        if not isinstance(graphs, np.ndarray):
            if out is not None:
                raise ParameterError("only the distances of a 3-D array go into 'out'")
            mine = dict(_some_of(ranks, graphs, device, asked))
            found = {number: each for some in ranks.all(mine) for number, each in some.items()}
            return [found[number] for number in range(len(found))]
        chosen = array_dtype(graphs, asked["dtype"])
        distances = np.empty(graphs.shape, chosen) if out is None else out
        check_out(distances, graphs.shape, chosen)
        if shares_memory(graphs, distances):
            graphs = graphs.copy()
        before = np.empty(graphs.shape, np.int32) if asked["predecessors"] else None
        numbers = []
        for number, each in _some_of(ranks, graphs, device, asked):
            numbers.append(number)
            distances[number] = each.distances
            if before is not None:
                before[number] = each.predecessors
        collected(ranks, numbers, distances, before)
        return distances if before is None else (distances, before)


@dataclass(frozen=True)
class _Solved:
    """A group of graphs with final distances and predecessors."""

    group: Group
    stats: dict[str, Any]
    reasons: tuple[str, ...]

    def results(self) -> Iterator[tuple[int, Result]]:
        """Yield the number and the result of each graph."""
        for place, number in enumerate(self.group.numbers):
            distances, before = self.group.answer(place)
            labels, rows = self.group.labels(place), np.arange(len(distances))
            yield number, Result(distances, before, rows, labels, self.stats, self.reasons)


@dataclass(frozen=True)
class _Batch:
    """The checked arguments of a call."""

    method: str | Method
    directed: bool
    predecessors: bool
    device: Device
    memory_limit: int | None
    size: int | None
    check: bool

    def array(
        self, weights: np.ndarray, distances: np.ndarray, before: np.ndarray | None
    ) -> Iterator[_Solved]:
        """Solve the graphs of a 3-D array."""
        m, n = weights.shape[:2]

        def parts(size: int) -> Iterator[Group]:
            for start in range(0, m, size):
                part = slice(start, min(start + size, m))
                tails = None if before is None else before[part]
                yield Part(weights, part, distances[part], tails, directed=self.directed)

        pinned = all(map(is_pinned, (weights, distances))) and before is None
        return self._solved(m, n, distances.dtype, parts, pinned=pinned)

    def graphs(self, graphs: Iterable[Any], dtype: Any) -> Iterator[_Solved]:
        """Solve an iterable of graph-like objects, a window of them at a time."""
        single = isinstance(graphs, Graph | str | PathLike) or scipy.sparse.issparse(graphs)
        if single or not isinstance(graphs, Iterable):
            rule = "a 3-D array or an iterable of graphs"
            raise ParameterError.of("graphs", "solve_many", rule, type(graphs).__name__)
        return self._windows(graphs, dtype)

    def _windows(self, graphs: Iterable[Any], dtype: Any) -> Iterator[_Solved]:
        window: list[tuple[tuple[int, str], int, Graph]] = []
        held = 0
        for number, source in enumerate(graphs):
            with _named(number):
                # an iterator may fill the same array again for the next graph
                graph = as_graph(source, self.directed)
                chosen, _ = resolve(graph, dtype, "solve_many")
                check_weights(graph, chosen)
            window.append(((padded(graph.n), chosen.name), number, graph))
            held += chosen.itemsize * graph.n**2
            if held >= _WINDOW:
                yield from self._window(window)
                window, held = [], 0
        yield from self._window(window)

    def _window(self, window: list[tuple[tuple[int, str], int, Graph]]) -> Iterator[_Solved]:
        """Solve the graphs of a window; those of about the same size are solved together."""
        for (_, name), entries in groupby(sorted(window, key=lambda each: each[:2]), _key):
            _, numbers, graphs = zip(*entries, strict=True)
            n, dtype = max(graph.n for graph in graphs), np.dtype(name)
            groups = partial(_lists, numbers, graphs, n, dtype, self.predecessors)
            yield from self._solved(len(graphs), n, dtype, groups)

    def _solved(
        self,
        m: int,
        n: int,
        dtype: np.dtype,
        groups: Callable[[int], Iterator[Group]],
        *,
        pinned: bool = False,
    ) -> Iterator[_Solved]:
        """Solve m graphs of n vertices; `groups` yields groups of a given number of graphs."""
        options = AllPairsOptions(
            self.device,
            dtype,
            self.predecessors,
            memory_limit=self.memory_limit,
            check=self.check,
        )
        asked, reason = self.method, "as asked"
        if asked == "auto":
            chosen, reason = automatic(n, m, options)
            if chosen and (fault := _fault(chosen, options)):
                chosen, reason = None, f"{chosen} failed its self test for batches: {fault}"
            asked = ONE_GROUP if chosen == ONE_GROUP else find_method(chosen) if chosen else "auto"
            reason = f"auto: {reason}"
        if isinstance(asked, AllPairsMethod):
            error = asked.unmet(Graph.from_arcs(1, [], []).facts, options)
            if error is not None:
                raise error
        make = maker(asked, n, options) if m and n else None
        if make is None:
            for group in groups(1):
                yield self._alone(group, asked, options)
            return
        pipeline = Pipeline(make, n, options, m, group=self.size, pinned=pinned)
        for done in pipeline.run(groups(pipeline.group)):
            self._settle(done, options)
            yield self._described(done, pipeline, asked, reason, options)

    def _settle(self, done: Done[Group], options: AllPairsOptions) -> None:
        """Solve graphs with remarks again with `solve`, which raises the error of each."""
        group, remarks = done.job, done.remarks
        doubtful = set(np.flatnonzero(remarks & (Remark.BAD | Remark.CYCLE)).tolist())
        doubtful |= group.suspects
        if self.check:
            for place in np.flatnonzero(remarks & Remark.LONG).tolist():
                distances, _ = group.answer(place)
                clipped = bool(np.any(distances <= -infinity(options.dtype)))
                if clipped or lost(group.graph(place), distances):
                    doubtful.add(place)
        for place in sorted(doubtful):
            self._solve(group, place, self.method, options)
        for place in np.flatnonzero(remarks & Remark.UNSOUND).tolist():
            distances, before = group.answer(place)
            if before is not None and place not in doubtful:
                before[...] = find_predecessors(group.graph(place), options, distances)

    def _solve(
        self, group: Group, place: int, method: str | Method, options: AllPairsOptions
    ) -> Result:
        """Solve one graph by itself."""
        with _named(group.numbers[place]):
            result = solve(
                group.graph(place),
                "auto" if method == ONE_GROUP else method,
                dtype=options.dtype,
                predecessors=options.predecessors,
                device=options.device,
                memory_limit=options.memory_limit,
                check=options.check,
            )
        distances, before = group.answer(place)
        distances[...] = result.distances
        if before is not None:
            before[...] = result.predecessors
        return result

    def _alone(self, group: Group, method: str | Method, options: AllPairsOptions) -> _Solved:
        """Solve the one graph of a group by itself."""
        result = self._solve(group, 0, method, options)
        return _Solved(group, result.stats, result.reasons)

    def _described(
        self,
        done: Done[Group],
        pipeline: Pipeline,
        method: str | Method,
        reason: str,
        options: AllPairsOptions,
    ) -> _Solved:
        """Add the record and the reasons of a group."""
        m = len(done.remarks)
        name = method if isinstance(method, str) else method.id
        n, seconds, device = done.job.distances.shape[1], done.kernel_seconds / m, self.device
        request = Request(
            problem("all-pairs"), None, method, options, {"predecessors": self.predecessors}
        )
        plan = Plan(None, options, done.form.parameters, pipeline.device_bytes)
        # values of one graph are means over its group
        spent = {"kernel_seconds": seconds, "transfer_seconds": None, "kernel_hash": done.form.hash}
        about = {"name": None, "n": n, "graphs": m, "hash": None}
        stats = record(request, name, plan, spent, n**3, None, about)
        reasons = (
            f"method {name}: {reason}",
            f"{m:,} graphs of up to {n:,} vertices together, of {options.dtype}",
            f"device {device.id} ({device.name}, {device.platform_name})",
        )
        return _Solved(done.job, stats, reasons)


def _fault(form: str, options: AllPairsOptions) -> str | None:
    """Return the fault that the self test of a form found, or None; tested once per driver."""

    def trial() -> str | None:
        graphs = [sample(_SIZE, family, 0, Weights()) for family in FAMILIES]
        solved = solve_each(
            graphs,
            form,
            dtype=options.dtype,
            predecessors=options.predecessors,
            device=options.device,
        )
        for number, found in solved:
            answer = Rows(found.distances, found.predecessors)
            check = oracle(graphs[number], options)(answer)
            if not check.ok:
                return f"{FAMILIES[number]}, {options.dtype}: {check.fault}"
        return None

    return fault_of(f"{form} for batches", options, trial)


def _lists(
    numbers: Sequence[int],
    graphs: Sequence[Graph],
    n: int,
    dtype: np.dtype,
    predecessors: bool,
    size: int,
) -> Iterator[Group]:
    """Yield groups of `size` graphs."""
    for start in range(0, len(graphs), size):
        some = slice(start, start + size)
        yield Listed(numbers[some], graphs[some], n, dtype, predecessors=predecessors)


def _key(entry: tuple[tuple[int, str], int, Graph]) -> tuple[int, str]:
    return entry[0]


def _batch(
    method: str | Method,
    directed: bool,
    predecessors: bool,
    device: Any,
    memory_limit: int | None,
    group: int | None,
    check: bool,
) -> _Batch:
    """Check the arguments of a call."""
    memory_limit = check_limits(memory_limit, None, "solve_many")
    if group is not None:
        group = integer("group", "solve_many", group, 1)
    directed, predecessors, check = (
        flag(name, "solve_many", value)
        for name, value in (
            ("directed", directed),
            ("predecessors", predecessors),
            ("check", check),
        )
    )
    one_group = isinstance(method, str) and method == ONE_GROUP
    asked = method if one_group else method_of("all-pairs", method, "solve_many")
    return _Batch(asked, directed, predecessors, choose(device), memory_limit, group, check)


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Add the number of the graph to an error."""
    try:
        yield
    except PyApspError as error:
        error.args = (f"graph {number}: {error}", *error.args[1:])
        error.graph = number
        raise
