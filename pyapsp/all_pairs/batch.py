"""A batch of graphs, as array or iterable: groups of them are solved together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from os import PathLike
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.all_pairs.dense.batch import ONE_GROUP, Done, Pipeline, Remark, automatic, maker
from pyapsp.all_pairs.dense.batch.jobs import (
    Group,
    Listed,
    Packed,
    Part,
    Stacked,
    common_dtype,
    packed_dtype,
    padded,
)
from pyapsp.all_pairs.dense.batch.pinned import is_pinned
from pyapsp.all_pairs.dense.batch.predecessors import find_predecessors
from pyapsp.all_pairs.dense.fw_packed import lost
from pyapsp.all_pairs.solver import solve
from pyapsp.base.errors import ParameterError
from pyapsp.base.json import Json, Record
from pyapsp.device import Device, DeviceLike, choose
from pyapsp.graph import Graph, GraphLike, Weight, as_graph
from pyapsp.graph.convert import is_sparse
from pyapsp.graph.families import FAMILIES
from pyapsp.graph.graphs import Graphs, numbered
from pyapsp.graph.validation import flag, integer
from pyapsp.numbers.checks import check_weights
from pyapsp.numbers.precision import infinity, resolve
from pyapsp.paths import AllPairsMethod, AllPairsOptions, Rows, Weights, sample
from pyapsp.paths.certificate import oracle
from pyapsp.paths.result import Result
from pyapsp.registry import (
    Method,
    Parameters,
    Plan,
    Request,
    Stats,
    check_limits,
    method_of,
    problem,
)
from pyapsp.registry import method as find_method
from pyapsp.registry.record import record
from pyapsp.registry.trials import fault_of

__all__ = ["Batch", "Solved", "batch_of", "check_nameless"]

#: The padded size, the names of the types of distances and of weights, the place, the graph.
_Entry: TypeAlias = tuple[tuple[int, str, str], int, Any]

# Graphs of an iterable are collected until their distances take this many bytes.
_WINDOW = 2**28
# Number of vertices of the graphs of the self test. It is no multiple of a vector width.
_SIZE = 37


@dataclass(frozen=True)
class Solved:
    """A group of graphs with final distances and predecessors."""

    group: Group
    stats: Record | Callable[[], Record]  # the record of a graph, or what makes it
    reasons: tuple[str, ...]

    def results(self) -> Iterator[tuple[int, Result]]:
        """Yield the number and the result of each graph."""
        group, every = self.group, np.arange(self.group.distances.shape[1])
        every.flags.writeable = False
        rows = [every[:size] for size in range(every.size + 1)]
        shared: dict[str, object] = {"stats": self.stats, "reasons": self.reasons}
        for place, number in enumerate(group.numbers):
            distances, before = group.answer(place)
            labels, converted = group.names(place)
            own: dict[str, object] = {
                "distances": distances,
                "predecessors": before,
                "sources": rows[len(distances)],
                "labels": labels,
                "is_converted": converted,
            }
            yield number, Result.of(own | shared)


@dataclass(frozen=True)
class Batch:
    """The checked arguments of a call."""

    method: str | Method
    directed: bool
    weight: Weight
    predecessors: bool
    device: Device
    memory_limit: int | None
    size: int | None
    check: bool

    def array(
        self, weights: np.ndarray, distances: np.ndarray, before: np.ndarray | None
    ) -> Iterator[Solved]:
        """Solve the graphs of a 3-D array."""
        m, n = weights.shape[:2]

        def parts(size: int) -> Iterator[Group]:
            for start in range(0, m, size):
                part = slice(start, min(start + size, m))
                tails = None if before is None else before[part]
                yield Part(weights, part, distances[part], tails, directed=self.directed)

        pinned = all(map(is_pinned, (weights, distances))) and before is None
        return self._solved(m, n, distances.dtype, parts, pinned=pinned)

    def graphs(
        self, graphs: Iterable[GraphLike], dtype: DTypeLike | None, *, copy: bool = True
    ) -> Iterator[Solved]:
        """Solve an iterable of graph-like objects, a window of them at a time.

        `copy` is whether an array may change before the last graph is solved.
        """
        single = isinstance(graphs, Graph | str | PathLike) or is_sparse(graphs)
        if single or not isinstance(graphs, Iterable):
            rule = "a 3-D array or an iterable of graphs"
            raise ParameterError.of("graphs", "solve_many", rule, type(graphs).__name__)
        if isinstance(graphs, Graphs):
            check_nameless(self.weight)
            return self._packed(graphs, dtype)
        return self._windows(graphs, dtype, copy)

    def _packed(self, graphs: Graphs, dtype: DTypeLike | None) -> Iterator[Solved]:
        """Solve graphs that are arrays of their arcs; those of about the same size together."""
        chosen = packed_dtype(graphs, dtype)
        sizes = np.unique(graphs.sizes)
        lengths = np.array(list(map(padded, sizes.tolist())))[sizes.searchsorted(graphs.sizes)]
        order = np.argsort(lengths, kind="stable")
        for numbers in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
            if numbers.size:
                most = int(graphs.sizes[numbers].max())
                make = partial(
                    Packed,
                    graphs=graphs,
                    n=most,
                    dtype=chosen,
                    directed=self.directed,
                    predecessors=self.predecessors,
                )
                yield from self._solved(numbers.size, most, chosen, _slices(make, numbers))

    def _windows(
        self, graphs: Iterable[GraphLike], dtype: DTypeLike | None, copy: bool
    ) -> Iterator[Solved]:
        window: list[_Entry] = []
        size = 0
        same = common_dtype(dtype)
        for number, source in enumerate(graphs):
            if same is not None and self.weight is ... and _is_plain(source):
                entry: np.ndarray | Graph = source.copy() if copy else source
                n, chosen, kind = len(source), same, source.dtype.str
            else:
                with numbered(number):
                    graph = as_graph(source, self.directed, weight=self.weight)
                    chosen, _ = resolve(graph, dtype, "solve_many")
                    check_weights(graph, chosen)
                entry, n, kind = graph, graph.n, ""
            window.append(((padded(n), chosen.str, kind), number, entry))
            size += chosen.itemsize * n**2
            if size >= _WINDOW:
                yield from self._window(window)
                window, size = [], 0
        yield from self._window(window)

    def _window(self, window: list[_Entry]) -> Iterator[Solved]:
        """Solve the graphs of a window; those of about the same size are solved together."""
        for (_, name, kind), entries in groupby(
            sorted(window, key=lambda each: each[:2]), itemgetter(0)
        ):
            _, numbers, graphs = zip(*entries, strict=True)
            n = max(map(len, graphs)) if kind else max(graph.n for graph in graphs)
            common = {"n": n, "dtype": np.dtype(name), "predecessors": self.predecessors}
            make = partial(Stacked, directed=self.directed) if kind else Listed
            groups = _slices(partial(make, **common), numbers, graphs)
            yield from self._solved(len(graphs), n, np.dtype(name), groups)

    def _solved(
        self,
        m: int,
        n: int,
        dtype: np.dtype,
        groups: Callable[[int], Iterator[Group]],
        *,
        pinned: bool = False,
    ) -> Iterator[Solved]:
        """Solve m graphs of n vertices; `groups` yields groups of a given number of graphs."""
        options = AllPairsOptions(
            self.device,
            dtype,
            self.predecessors,
            memory_limit=self.memory_limit,
            check=self.check,
        )
        method, reason = self.method, "as asked"
        if method == "auto":
            chosen, reason = automatic(n, m, options)
            if chosen and (fault := _fault(chosen, options)):
                chosen, reason = None, f"{chosen} failed its self test for batches: {fault}"
            method = ONE_GROUP if chosen == ONE_GROUP else find_method(chosen) if chosen else "auto"
            reason = f"auto: {reason}"
        if isinstance(method, AllPairsMethod):
            error = method.unmet(Graph.from_arcs(1, [], []).facts, options)
            if error is not None:
                raise error
        make = maker(method, n, options) if m and n else None
        if make is None:
            for group in groups(1):
                result = self._solve(group, 0, method, options)
                yield Solved(group, result.stats, result.reasons)
            return
        pipeline = Pipeline(make, n, options, m, group=self.size, pinned=pinned)
        for done in pipeline.run(groups(pipeline.group)):
            self._settle(done, options)
            yield self._described(done, pipeline, method, reason, options)

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
        with numbered(group.numbers[place]):
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

    def _described(
        self,
        done: Done[Group],
        pipeline: Pipeline,
        method: str | Method,
        reason: str,
        options: AllPairsOptions,
    ) -> Solved:
        """Add the record and the reasons of a group."""
        m = len(done.remarks)
        name = method if isinstance(method, str) else method.id
        n, seconds, device = done.job.distances.shape[1], done.kernel_seconds / m, self.device
        parameters, kernel_hash = Parameters(done.form.parameters), done.form.hash
        device_bytes = pipeline.device_bytes
        arguments: dict[str, Json] = {"predecessors": self.predecessors}

        @cache
        def described() -> Record:
            # when it is first read, because the problem imports all its methods
            request = Request(problem("all-pairs"), None, method, options, arguments)
            plan = Plan(None, options, parameters, device_bytes, None)
            # values of one graph are means over its group
            spent = Stats(kernel_seconds=seconds, transfer_seconds=None, kernel_hash=kernel_hash)
            about: Record = {"name": None, "n": n, "graphs": m, "hash": None}
            return record(request, name, plan, spent, n**3, None, about)

        reasons = (
            f"method {name}: {reason}",
            f"{m:,} graphs of up to {n:,} vertices together, of {options.dtype}",
            f"device {device.id} ({device.name}, {device.platform_name})",
        )
        return Solved(done.job, described, reasons)


def _fault(form: str, options: AllPairsOptions) -> str | None:
    """Return the fault that the self test of a form found, or None; tested once per driver."""

    def trial() -> str | None:
        graphs = [sample(_SIZE, family, 0, Weights()) for family in FAMILIES]
        batch = batch_of(form, True, ..., options.predecessors, options.device, None, None, True)
        solved = batch.graphs(graphs, options.dtype)
        for number, result in (each for some in solved for each in some.results()):
            answer = Rows(result.distances, result.predecessors)
            check = oracle(graphs[number], options)(answer)
            if not check.ok:
                return f"{FAMILIES[number]}, {options.dtype}: {check.fault}"
        return None

    return fault_of(f"{form} for batches", options, trial)


def _slices(
    make: Callable[..., Group], *lists: Sequence[Any] | np.ndarray
) -> Callable[[int], Iterator[Group]]:
    """Return a function that yields groups of a given number of graphs, made of parts of lists."""

    def groups(size: int) -> Iterator[Group]:
        for start in range(0, len(lists[0]), size):
            yield make(*(each[start : start + size] for each in lists))

    return groups


def _is_plain(source: GraphLike) -> TypeGuard[np.ndarray]:
    """Return whether a graph is a matrix that the kernels read as `Graph.from_dense` does."""
    return (
        type(source) is np.ndarray
        and source.ndim == 2
        and source.shape[0] == source.shape[1]
        and source.dtype.kind in "biuf"
        and source.dtype.itemsize <= 8
    )


def batch_of(
    method: str | Method,
    directed: bool,
    weight: Weight,
    predecessors: bool,
    device: DeviceLike,
    memory_limit: int | None,
    group: int | None,
    check: bool,
) -> Batch:
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
    checked = method if one_group else method_of("all-pairs", method, "solve_many")
    return Batch(
        checked, directed, weight, predecessors, choose(device), memory_limit, group, check
    )


def check_nameless(weight: Weight) -> None:
    """Raise an error for the name of a weight beside an array or `Graphs`."""
    if weight is not ...:
        rule = "absent for an array or `Graphs`, whose weights have no names"
        raise ParameterError.of("weight", "solve_many", rule, weight)
