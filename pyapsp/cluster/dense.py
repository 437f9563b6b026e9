"""fw-outofcore on ranks: its plan, its run and its answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from pyapsp.all_pairs.dense.outofcore.initial import fill
from pyapsp.all_pairs.dense.outofcore.interval import Interval
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.all_pairs.dense.outofcore.team import limits
from pyapsp.all_pairs.dense.outofcore.worker import Worker
from pyapsp.all_pairs.dense.predecessors import Recovery
from pyapsp.base.errors import CapabilityError
from pyapsp.base.json import Record
from pyapsp.cluster.answers import Answers
from pyapsp.cluster.band import Band
from pyapsp.cluster.checkpoint import SharedCheckpoint
from pyapsp.cluster.devices import Own
from pyapsp.cluster.passes import Passes
from pyapsp.cluster.plan import DensePlan, notes_of, planned
from pyapsp.cluster.ranks import Ranks
from pyapsp.cluster.resident import Residence, ResidentWorker
from pyapsp.device import device_errors
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.numbers.checks import check_answer, check_diagonal, check_weights
from pyapsp.numbers.precision import largest_finite
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters, Plan, Stats

__all__ = ["solve_dense"]

# Bytes of rows that are copied or checked at once.
_LOOK = 2**25
# Parameters of fw-outofcore that mean nothing here.
_OTHERS = ("columns", "split", "pivot", "helpers", "lookahead")


def solve_dense(
    ranks: Ranks,
    own: Own,
    graph: Graph,
    options: AllPairsOptions,
    parameters: Parameters,
    answers: Answers,
    outside: ExitStack,
) -> tuple[Plan[Graph, AllPairsOptions, None], Stats]:
    """Run Floyd-Warshall on all ranks, and hand the rows of this rank to the answer.

    Parameters
    ----------
    ranks : Ranks
    own : Own
    graph : Graph
    options : AllPairsOptions
        For the device of this rank; with the sources and the cutoff that were asked for.
    parameters : Parameters
        The parameters of fw-outofcore that were asked for: block, rows and interval.
    answers : Answers
        Takes the rows.
    outside : ExitStack
        Gets the checkpoint: the snapshot must exist until the answer has its name.

    Returns
    -------
    Plan, Stats
        For the record of the run.

    Raises
    ------
    NegativeCycleError, PrecisionError, DeviceError, CheckpointError, DiskSpaceError
        As `pyapsp.solve`.
    """
    for name in _OTHERS:
        if name in parameters:
            raise CapabilityError(f"fw-outofcore on several ranks has no parameter {name!r}")
    check_weights(graph, options.dtype)
    started = time.perf_counter()
    limit = own.limit(options.memory_limit)
    own_options = replace(options, sources=None, cutoff=None, out=None, memory_limit=limit)
    with ExitStack() as stack:
        checkpoint = None
        if options.checkpoint is not None:
            subject: Record = {
                "method": "fw-outofcore",
                "graph": graph.content_hash,
                "n": graph.n,
                "dtype": options.dtype.name,
            }
            checkpoint = outside.enter_context(SharedCheckpoint(ranks, options.checkpoint, subject))
            checkpoint.check_space(graph.n**2 * options.dtype.itemsize)
        state = None if checkpoint is None else checkpoint.state
        plan = planned(ranks, graph, own_options, parameters, state, own.neighbours)
        first, last = plan.spans[ranks.rank]
        matrix = stack.enter_context(Matrix(answers.room(first, last, own.neighbours), first=first))
        recovery = None
        if options.predecessors:
            recovery = Recovery.within(
                graph, own_options, limits(own_options.device, own_options)[0]
            )
        ready = time.perf_counter()
        ranks.barrier()  # whoever looks whether the matrix is a file touches the rows beside
        if checkpoint is not None and state is not None:
            checkpoint.load(matrix)
        else:
            fill(matrix, graph)
        moved, passes = _run(ranks, plan, own_options, matrix, checkpoint, parameters, state)
        ranks.barrier()
        done = time.perf_counter()
        check_diagonal(graph, np.concatenate(ranks.all(matrix.diagonal())))
        largest = _look(ranks, graph, matrix, own_options, options)
        before = None
        if recovery is not None:
            before = _recover(ranks, recovery, graph, matrix, own_options, answers, largest)
        answers.take(matrix, before)
    rows, cut = [high - low for low, high in plan.spans], plan.cut
    run = Plan(
        graph,
        options,
        Parameters(block=plan.block, **({} if cut is None else {"rows": cut.shape.rows})),
        plan.device_bytes,
        None,
        build_seconds=ready - started,
        notes=tuple(notes_of(plan)),
    )
    return run, Stats(
        kernel_seconds=passes,
        transfer_seconds=done - ready - passes,
        kernel_hash=plan.product.program.hash,
        more={
            "predicted_seconds": plan.predicted.seconds,
            "moved_bytes": moved,
            "rows_of_ranks": rows,
            "resumed": state is not None,
            "link_bytes_per_second": plan.rates.link if ranks.size > 1 else None,
        },
    )


def _run(
    ranks: Ranks,
    plan: DensePlan,
    options: AllPairsOptions,
    matrix: Matrix,
    checkpoint: SharedCheckpoint | None,
    parameters: Parameters,
    state: Mapping[str, Any] | None,
) -> tuple[int, float]:
    """Run the passes; return the bytes to and from the device, and the seconds of the passes."""
    starts = range(0, matrix.n, plan.block)
    owners = [_owner(plan.spans, first) for first in starts]
    band = Band(matrix, plan.block)
    decisive: Record = {"block": plan.block, "closing": dict(plan.product.parameters)}
    interval: Interval | None = None
    if checkpoint is not None:
        wanted = parameters.get("interval", "auto")
        seconds = None if wanted == "auto" else float(wanted)
        # of a snapshot nothing is known but that it takes time: the first one comes soon
        interval = Interval(1.0, time.monotonic(), seconds=seconds)

    def due() -> bool:
        assert interval is not None
        return bool(interval.due(time.monotonic()))

    def save(number: int) -> None:
        assert checkpoint is not None
        assert interval is not None
        if residence is not None:
            residence.download()
        cost = checkpoint.save(matrix, {**decisive, "pass": number})
        interval.saved(cost, time.monotonic())

    with ExitStack() as stack:
        residence, workers = None, None
        if plan.cut is None:
            product, block = plan.product, plan.block
            residence = stack.enter_context(Residence(ranks, options.device, product, band, block))
            workers = (ResidentWorker(residence), ResidentWorker(residence))
        else:
            # Band has the methods of a matrix that a worker uses
            matrix_like: Any = band
            even, odd = (
                Worker(options.device, plan.product, plan.cut.shape, matrix_like) for _ in range(2)
            )
            streaming = (stack.enter_context(even), stack.enter_context(odd))
        ranks.barrier()
        started = time.perf_counter()
        Passes(
            ranks,
            band,
            band.panel if residence is None else residence.panel,
            streaming if workers is None else workers,
            owners,
            plan.block,
            due=None if checkpoint is None else due,
            save=save,
            progress=options.progress,
        ).run(0 if state is None else state["pass"])
        ranks.barrier()
        seconds = time.perf_counter() - started
        if residence is None:
            return even.moved + odd.moved, seconds
        residence.download()
        return residence.moved, seconds


def _owner(spans: list[tuple[int, int]], row: int) -> int:
    return next(number for number, (low, high) in enumerate(spans) if low <= row < high)


def _look(
    ranks: Ranks,
    graph: Graph,
    matrix: Matrix,
    own_options: AllPairsOptions,
    options: AllPairsOptions,
) -> float:
    """Check for clipped distances, and return the largest distance of all ranks."""
    largest, check = 0.0, options.must_check(graph)
    matters = options.predecessors and options.dtype.kind == "f"
    if check or matters:
        count = (
            max(1, _LOOK // (graph.n * own_options.dtype.itemsize)) if matrix.on_disk else matrix.n
        )
        for _, block in matrix.rows(count):
            if check:
                check_answer(graph, block)
            if matters:
                largest = max(largest, largest_finite(block))
    return ranks.largest(largest) if matters else largest


def _recover(
    ranks: Ranks,
    recovery: Recovery,
    graph: Graph,
    matrix: Matrix,
    options: AllPairsOptions,
    answers: Answers,
    largest: float,
) -> np.ndarray:
    """Return the predecessors of the rows of this rank."""
    before = answers.room_before(matrix)

    def merged(arcs: np.ndarray) -> np.ndarray:
        return np.concatenate(ranks.all(arcs))

    def write(first: int, last: int, rows: np.ndarray) -> None:
        before[first - matrix.first : last - matrix.first] = rows

    with device_errors(options.device, sum(recovery.buffers)):
        recovery.run_slabs(
            options.device.queue(),
            matrix.read,
            write,
            Stopwatch(),
            largest_distance=largest,
            rows=(matrix.first, matrix.last),
            merged=merged,
        )
    return before
