"""`pyapsp.solve` on ranks: the method, its run, and the result of each rank."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from pyapsp.all_pairs.request import Arguments, requested
from pyapsp.all_pairs.sparse.source_blocks import SourceBlocks
from pyapsp.base.errors import CapabilityError, DeviceError, ParameterError
from pyapsp.base.host import cores
from pyapsp.cluster.answers import Answers
from pyapsp.cluster.dense import solve_dense
from pyapsp.cluster.devices import Own, own_device
from pyapsp.cluster.files import loaded, opened
from pyapsp.cluster.ranks import Ranks, joined
from pyapsp.cluster.searches import solve_searches
from pyapsp.graph import Graph, GraphLike, as_graph
from pyapsp.paths import AllPairsMethod, AllPairsOptions
from pyapsp.paths.result import Result
from pyapsp.paths.sharing import part_of
from pyapsp.registry import Choice, Plan, Request, Stats
from pyapsp.registry import method as find_method
from pyapsp.registry.ranks import register_on_ranks
from pyapsp.registry.record import reasons, record
from pyapsp.registry.trials import refusal

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["solve_on_ranks"]

_DENSE = "fw-outofcore"
# The arguments that all ranks must have alike.
_SAME = (
    "method",
    "directed",
    "sources",
    "cutoff",
    "dtype",
    "predecessors",
    "memory_limit",
    "checkpoint",
    "check",
    "fallback",
)


@register_on_ranks("solve")
def solve_on_ranks(
    comm: MPI.Comm, graph: GraphLike, arguments: Arguments, started: float
) -> Result:
    """Solve on the ranks of a communicator.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    graph : graph-like
        Only that of rank 0 is used.
    arguments : Arguments
        Of `solve`, the same on all ranks.
    started : float
        Start time of the call, by `time.perf_counter`.

    Returns
    -------
    Result
        The rows of this rank; with a file that all ranks see, all rows, mapped.

    Raises
    ------
    PyApspError
        As `pyapsp.solve`; `RankError` if another rank has failed.
    """
    out = arguments.out
    with joined(comm, "solve") as ranks:  # the others learn of an error in it
        if arguments.keep != "host":
            raise ParameterError.of("keep", "solve", "host, with comm", arguments.keep)
        if out is not None and not isinstance(out, str | os.PathLike):
            raise ParameterError.of("out", "solve", "the name of a file, with comm", type(out))
        ranks.same("solve", out=out, **{name: getattr(arguments, name) for name in _SAME})
        weight, first = arguments.weight, ranks.rank == 0
        whole = ranks.share(as_graph(graph, weight=weight, copy=False) if first else None)
        own = own_device(ranks, arguments.device)
        own_arguments = replace(arguments, weight=..., device=own.device, out=None)
        return _run(ranks, own, requested(whole, own_arguments), out, started)


def _run(
    ranks: Ranks,
    own: Own,
    request: Request,
    out: str | os.PathLike[str] | None,
    started: float,
) -> Result:
    """Answer a request on all ranks, for the device of this one."""
    graph, options = request.input, request.options
    choice = _chosen(ranks, request)
    method = cast("AllPairsMethod", choice.method)
    with ExitStack() as outside, opened(ranks, graph.n, options, out) as answers:
        if method.by_source:
            plan, stats = _searched(ranks, own, request, choice, answers)
        elif graph.n == 0:  # there are no rows to share: each rank answers as one process does
            told = options.progress if ranks.rank == 0 else None
            alone = replace(choice.options, checkpoint=None, progress=told)
            plan = method.plan(graph, alone)
            stats = method.run(plan).stats
        else:
            parameters = method.parameters
            plan, stats = solve_dense(ranks, own, graph, options, parameters, answers, outside)
    counted = options if method.by_source else replace(options, sources=None)
    work = request.problem.work(graph, counted, None)
    seconds = time.perf_counter() - started
    about = record(request, method.id, plan, stats, work, seconds)
    about |= {"ranks": ranks.size, "rank": ranks.rank, "hosts": sorted(set(ranks.hosts))}
    about["automatic"] = request.is_automatic
    lines = (
        *reasons(request, choice, plan),
        f"rank {ranks.rank} of {ranks.size} on {ranks.host}, with {cores()} of its "
        f"{os.cpu_count()} cores",
    )
    distances, before, places = _result(answers, out)
    names = graph.labels, about, lines, graph.is_converted
    return Result(distances, before, answers.sources[places], *names)


def _chosen(ranks: Ranks, request: Request) -> Choice:
    """Return the method that rank 0 takes.

    Raises
    ------
    CapabilityError
        If the method that was asked for does not run on ranks.
    """
    common = None
    if ranks.rank == 0:
        choice = next(request.problem.choices(request))
        first = cast("AllPairsMethod", choice.method)
        if not request.is_automatic:
            if not first.by_source and first.id != _DENSE:
                raise CapabilityError(
                    f"{first.id} runs on one rank: take {_DENSE}, or a method that searches from "
                    "sources"
                )
            common = (first.id, choice.options.dtype.name, dict(first.parameters), choice.reason)
        elif first.by_source:
            common = (first.id, choice.options.dtype.name, {}, choice.reason)
        else:
            common = (_DENSE, request.options.dtype.name, {}, f"{choice.reason}; on ranks {_DENSE}")
    name, dtype, parameters, reason = ranks.share(common)
    if request.is_automatic:
        for each in request.problem.choices(request):
            if each.method.id == name and each.options.dtype.name == dtype:
                return replace(each, reason=reason)
    method = find_method(name, **parameters)
    choice = next(request.problem.choices(replace(request, method=method)))
    return replace(choice, reason=reason)


def _searched(
    ranks: Ranks, own: Own, request: Request, choice: Choice, answers: Answers
) -> tuple[Plan[Graph, AllPairsOptions, object], Stats]:
    """Search from all sources."""
    method, graph = cast("SourceBlocks", choice.method), request.input
    limit = own.limit(choice.options.memory_limit)
    choice = replace(choice, options=replace(choice.options, memory_limit=limit))
    plan = method.plan(graph, part_of(choice.options, graph.n, ranks.size))
    wrong: DeviceError | None = None
    if request.is_automatic:
        wrong = refusal(method, plan)
    if wrong is not None:
        raise wrong
    return plan, solve_searches(ranks, method, plan, graph, answers)


def _result(
    answers: Answers, out: str | os.PathLike[str] | None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    if out is None:
        return answers.result()
    whole = loaded(out)
    if whole is None:  # a folder: open_rows reads it
        return np.empty((0, answers.n), answers.options.dtype), None, np.empty(0, np.int64)
    return (*whole, np.arange(len(whole[0])))
