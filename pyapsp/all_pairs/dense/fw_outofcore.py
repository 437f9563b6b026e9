"""fw-outofcore: blocked Floyd-Warshall on a matrix that need not fit in device memory."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from pyapsp.all_pairs.dense.fw_minplus import seconds_together
from pyapsp.all_pairs.dense.outofcore.checkpoint import Checkpoint
from pyapsp.all_pairs.dense.outofcore.engine import Engine
from pyapsp.all_pairs.dense.outofcore.initial import fill
from pyapsp.all_pairs.dense.outofcore.interval import Interval
from pyapsp.all_pairs.dense.outofcore.manifest import Decisive, State
from pyapsp.all_pairs.dense.outofcore.preparation import agreed, prepare
from pyapsp.all_pairs.dense.outofcore.recovery import recover
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.all_pairs.dense.outofcore.team import Team, limits, product_for
from pyapsp.all_pairs.dense.predecessors import Recovery
from pyapsp.base import errors
from pyapsp.base.errors import DeviceMemoryError, PrecisionError
from pyapsp.base.host import available_memory, installed_memory, mapped_file
from pyapsp.base.json import Record
from pyapsp.graph import Facts, Graph
from pyapsp.numbers.checks import check_answer, check_diagonal, check_weights
from pyapsp.numbers.precision import largest_finite
from pyapsp.paths import AllPairsMethod, AllPairsOptions, Rows
from pyapsp.registry import Parameters, ParameterValues, Plan, Stats, register

__all__ = ["FwOutofcore"]

# Bytes of rows of a file that are checked at once.
_LOOK = 2**25
# The time of a run by that of `fw-minplus`: 1.04 to 1.25 on GPUs and CPUs.
_COPIES = 1.2
_INTERVALS = ("auto", 0, 1, 10, 60, 600, 3600)


@dataclass(frozen=True)
class _Prepared:
    """The state of a plan."""

    array: np.ndarray  # (n, n): array for the distances
    team: Team
    decisive: Decisive  # the data of a checkpoint that a resumed run needs
    recovery: Recovery | None  # computes the predecessors


@register
class FwOutofcore(AllPairsMethod):
    """Blocked Floyd-Warshall with the matrix in host memory or in a file: any n, any device.

    A pass first updates a block of pivots and its rows. These stay on the device as the right
    factor of a min-plus product. Then all other rows are processed in parts: their pivot columns,
    multiplied by the pivot block, are the left factor. One part is uploaded while the previous one
    is computed and the one before that is downloaded. The other rows do not depend on each other,
    so that several devices can share them.

    Source: K. Matsumoto, N. Nakasato and S. G. Sedukhin, Blocked united algorithm for the all-pairs
    shortest paths problem on hybrid CPU-GPU systems, 2012, and their poster at SC 2012. Their b x b
    blocks are ``block=b, rows=b, columns=b``.

    Parameters
    ----------
    block : int, optional
        Pivots of a pass. Parameters that are not given are chosen by a model (`outofcore.planner`)
        from speeds that are measured during planning. The pivots of a pass decide how sums are
        rounded, so that they follow from nominal speeds.
    rows, columns : int, optional
        Size of the part that is copied to the (main) device and back; all columns by default.
    split : {"fused", "separated"}, optional
        ``"fused"``: the part of the matrix is uploaded, and the device takes the minimum with it.
        ``"separated"``: the device only multiplies, and the host takes the minimum.
    pivot : {"device", "host"}, optional
        Which device updates the pivot blocks: the main device (the default), or a CPU among the
        devices.
    helpers : {"auto", "all", "none"}, optional
        Whether the devices after the first are used; with "auto" the model decides.
    lookahead : {"auto", "on", "off"}, optional
        Whether the next pivot block is updated first and opened while the others are updated. This
        takes twice the device memory; with "auto" the model decides.
    interval : {"auto", 0, 1, 10, 60, 600, 3600}, optional
        Seconds between checkpoints. With "auto" checkpoints take 3 % of the time.
    """

    id = "fw-outofcore"
    summary = "blocked Floyd-Warshall on a matrix larger than the device, several devices"
    source = "Matsumoto, Nakasato and Sedukhin 2012, doi:10.1587/transinf.E95.D.2759"
    choices: ClassVar[ParameterValues] = {
        "block": range(16, 2**20 + 1, 16),
        "rows": range(16, 2**20 + 1, 16),
        "columns": range(16, 2**20 + 1, 16),
        "split": ("fused", "separated"),
        "pivot": ("device", "host"),
        "helpers": ("auto", "all", "none"),
        "lookahead": ("auto", "on", "off"),
        "interval": _INTERVALS,
    }
    multidevice = True
    outofcore = True

    def predict(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Return the time of ``fw-minplus`` on all devices, whose kernels it has, and of copies."""
        seconds = seconds_together(graph, options, rows)
        return None if seconds is None else _COPIES * seconds

    def plan(
        self, graph: Graph, options: AllPairsOptions
    ) -> Plan[Graph, AllPairsOptions, _Prepared | None]:
        """Measure speeds, divide the matrix, check memory and disk.

        Raises
        ------
        CheckpointError
            If the checkpoint is of another run, or damaged.
        DiskSpaceError
            If the disk is too small for the checkpoints.
        """
        check_weights(graph, options.dtype)
        started = time.perf_counter()
        if graph.n == 0:
            product_for(graph, options)  # checks that the device has the type
            return Plan(graph, options, self.parameters, 0, None)
        state = self._state(graph, options)
        wanted = self.parameters
        if state is not None:
            wanted = agreed(wanted, state, graph.n, options)
        recovery = None
        if options.predecessors:
            recovery = Recovery.within(graph, options, limits(options.device, options)[0])
        array = options.out
        if array is None or array.dtype != options.dtype:  # "auto" may hold narrower distances
            array = _allocate(graph.n, options)
        team, ours, notes = prepare(array, graph, options, wanted, state)
        shape = team.cut.shape
        parameters = Parameters(
            block=shape.block,
            rows=shape.rows,
            columns=shape.columns,
            split="separated" if team.cut.separated else "fused",
            pivot=wanted.get("pivot", "device"),
            helpers="all" if len(team.members) > 1 else "none",
            lookahead="on" if shape.workers > 1 else "off",
            interval=wanted.get("interval", "auto"),
        )
        prepared, seconds = _Prepared(array, team, ours, recovery), time.perf_counter() - started
        needed = team.cut.device_bytes
        return Plan(graph, options, parameters, needed, prepared, seconds, notes=notes)

    def _state(self, graph: Graph, options: AllPairsOptions) -> State | None:
        """Return the state of the checkpoint, or None; check that the disk has space for more."""
        checkpoint = _opened(graph, options)
        if checkpoint is None:
            return None
        with checkpoint:
            checkpoint.check_space(graph.n**2 * options.dtype.itemsize)
            return checkpoint.state

    def run(self, plan: Plan[Graph, AllPairsOptions, _Prepared | None]) -> Rows:
        """Fill the matrix, or load it from the checkpoint, and run the passes.

        Raises
        ------
        NegativeCycleError, PrecisionError
            As `pyapsp.solve`. The checkpoint is then removed, because a resumed run would raise the
            same error.
        DiskSpaceError
            If the disk is too small for the file of predecessors.
        """
        graph, options = plan.input, plan.options
        prepared = plan.state
        if prepared is None:
            return _nothing(options)
        with ExitStack() as stack:
            matrix = stack.enter_context(Matrix(prepared.array))
            if prepared.array is not options.out:
                # only now: what is free changes, and a run that falls back for it warns
                _check_host(prepared.array.nbytes, available_memory())
            checkpoint = _opened(graph, options)
            if checkpoint is not None:
                stack.enter_context(checkpoint)
            # reserve the disk space now, so that an error comes before the passes
            predecessors = None if prepared.recovery is None else _room(matrix)
            started = time.perf_counter()
            state = None if checkpoint is None else checkpoint.load(matrix)
            if state is None:
                fill(matrix, graph)
            workers = prepared.team.workers(matrix, stack)
            filled = time.perf_counter()
            engine = Engine(
                matrix,
                workers,
                [member.machine.speeds.product for member in prepared.team.members],
                prepared.team.closer,
                prepared.team.cut.shape.block,
                checkpoint=checkpoint,
                interval=_interval(plan, checkpoint, matrix),
                decisive=prepared.decisive,
                progress=options.progress,
            )
            try:
                engine.run(state)
                seconds = time.perf_counter() - filled
                check_diagonal(graph, matrix.diagonal())
                largest = _look(graph, matrix, options)
            except (errors.NegativeCycleError, PrecisionError):
                if checkpoint is not None:
                    checkpoint.remove()
                raise
            if prepared.recovery is not None and predecessors is not None:
                seconds += recover(prepared.recovery, matrix, predecessors, options, largest)
            if checkpoint is not None:
                matrix.flush()
                checkpoint.remove()
        return Rows(
            prepared.array,
            predecessors,
            stats={
                # kernels and transfers overlap, so this is the time of the passes with both
                "kernel_seconds": seconds,
                "transfer_seconds": filled - started,
                "kernel_hash": prepared.team.members[0].machine.product.program.hash,
                "more": {
                    "predicted_seconds": prepared.team.seconds,
                    "moved_bytes": sum(worker.moved for turns in workers for worker in turns),
                    "devices": [member.device.name for member in prepared.team.members],
                    "resumed": state is not None,
                },
            },
            checked=True,
        )


def _opened(graph: Graph, options: AllPairsOptions) -> Checkpoint | None:
    """Return the opened checkpoint of a run; None if it writes none."""
    if options.checkpoint is None:
        return None
    subject: Record = {
        "method": FwOutofcore.id,
        "graph": graph.content_hash,
        "n": graph.n,
        "dtype": options.dtype.name,
    }
    return Checkpoint(options.checkpoint, subject)


def _nothing(options: AllPairsOptions) -> Rows:
    """Return the answer for a graph without vertices."""
    empty = np.empty((0, 0), options.dtype) if options.out is None else options.out
    before = np.empty((0, 0), np.int32) if options.predecessors else None
    stats = Stats(kernel_seconds=0.0, transfer_seconds=0.0, kernel_hash="")
    return Rows(empty, before, stats=stats)


def _look(graph: Graph, matrix: Matrix, options: AllPairsOptions) -> float:
    """Check for clipped distances, if that was asked for, and return the largest distance."""
    largest = 0.0
    matters = options.predecessors and options.dtype.kind == "f"
    if options.check or matters:
        count = max(1, _LOOK // (graph.n * options.dtype.itemsize)) if matrix.on_disk else matrix.n
        for _, block in matrix.rows(count):
            if options.check:
                check_answer(graph, block)
            if matters:
                largest = max(largest, largest_finite(block))
    return largest


def _room(matrix: Matrix) -> np.ndarray:
    """Return an array for predecessors, in memory or in a file beside that of the distances."""
    if not matrix.on_disk:
        return np.empty(matrix.array.shape, np.int32)
    path = Path(matrix.filename)
    return mapped_file(
        path.with_name(f"{path.name}.predecessors.npy"), np.int32, matrix.array.shape
    )


def _allocate(n: int, options: AllPairsOptions) -> np.ndarray:
    """Return an array for the distances; raise an error if the host never has the memory."""
    _check_host(n * n * options.dtype.itemsize, installed_memory())
    return np.empty((n, n), options.dtype)


def _check_host(needed: int, memory: int | None) -> None:
    """Raise an error if so much memory of the host is too little for the distances."""
    if memory is not None and needed > memory:
        hint = "give a mapped file as out (numpy.lib.format.open_memmap) or use a narrower dtype"
        raise DeviceMemoryError(needed, memory, f"the host cannot hold the distances: {hint}")


def _interval(
    plan: Plan[Graph, AllPairsOptions, _Prepared | None],
    checkpoint: Checkpoint | None,
    matrix: Matrix,
) -> Interval | None:
    if checkpoint is None:
        return None
    now = time.monotonic()
    if plan.parameters["interval"] == "auto":
        return Interval(checkpoint.predict(matrix), now)
    return Interval(0.0, now, seconds=plan.parameters.integer("interval"))
