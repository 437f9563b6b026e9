"""fw-outofcore: blocked Floyd-Warshall on a matrix that no device has to hold."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pyapsp.dense.fw_minplus import FORMS, FwMinplus
from pyapsp.dense.outofcore.checkpoint import Checkpoint, Interval
from pyapsp.dense.outofcore.engine import Engine
from pyapsp.dense.outofcore.planner import (
    Cut,
    Speeds,
    best_cut,
    helper_gain,
    helper_shape,
    measure,
    required_bandwidth,
)
from pyapsp.dense.outofcore.storage import Matrix, fill
from pyapsp.dense.outofcore.worker import Shape, Worker
from pyapsp.dense.predecessors import Recovery
from pyapsp.dense.product import Product
from pyapsp.device import Device, device_errors
from pyapsp.errors import CapabilityError, CheckpointError, DeviceMemoryError
from pyapsp.graph import Graph
from pyapsp.host import available_memory
from pyapsp.kernels import Stopwatch
from pyapsp.paths import AllPairsMethod, AllPairsOptions, Rows
from pyapsp.precision import check_answer, check_diagonal, check_weights, largest_finite
from pyapsp.registry import Plan, register

__all__ = ["FwOutofcore"]

# The part of a device's memory that may be used: the driver needs some as well.
_USABLE = 0.9
# What a helper must add to the speed, by the model.
_GAIN = 0.02
# Bytes of rows that are looked through at a time.
_LOOK = 2**25
_INTERVALS = ("auto", 0, 1, 10, 60, 600, 3600)


@dataclass(frozen=True)
class _Member:
    """A device that takes part."""

    device: Device
    product: Product
    speeds: Speeds
    shape: Shape


@dataclass(frozen=True)
class _Prepared:
    """What a plan holds.

    Attributes
    ----------
    array : (n, n) ndarray
        For the distances.
    members : tuple
        The devices, the first one leads.
    closer : int
        Which of them closes the pivot blocks.
    cut : Cut
    seconds : float
        Predicted for all of them.
    decisive : dict
        What a checkpoint has to tell a run that goes on from it.
    """

    array: np.ndarray
    members: tuple[_Member, ...]
    closer: int
    cut: Cut
    seconds: float
    decisive: dict[str, Any]


@register
class FwOutofcore(AllPairsMethod):
    """Blocked Floyd-Warshall with the matrix in host memory or in a file: any n, any device.

    A pass closes a block of pivots and its rows, which stay on the device as the right factor of a
    min-plus product; then all other rows go through the device, some at a time: their part in the
    pivot columns, multiplied by the closed pivot, is the left factor. One part comes in while the
    one before is computed and the one before that goes out. Rows do not depend on each other, so
    several devices share them.

    Source: K. Matsumoto, N. Nakasato and S. G. Sedukhin, Blocked united algorithm for the all-pairs
    shortest paths problem on hybrid CPU-GPU systems, 2012, and their poster at SC 2012. Their b x b
    blocks are ``block=b, rows=b, columns=b``.

    Parameters
    ----------
    block : int, optional
        Pivots of a pass. What is not given is chosen by a model (`outofcore.planner`) from the
        speeds that are measured first.
    rows, columns : int, optional
        Of the part that travels to the (main) device and back; all columns by default.
    split : {"fused", "separated"}, optional
        Whether the device takes the minimum with the matrix, which then has to travel there, or
        only multiplies, and the host takes the minimum.
    pivot : {"device", "host"}, optional
        Who closes the pivot blocks: the main device (the default), or a CPU among the devices.
    helpers : {"auto", "all", "none"}, optional
        Whether devices beside the first are used; "auto" asks the model.
    interval : {"auto", 0, 1, 10, 60, 600, 3600}, optional
        Seconds between checkpoints. "auto" saves as often as costs 3 % of the time.
    """

    id = "fw-outofcore"
    area = "dense"
    summary = "blocked Floyd-Warshall on a matrix larger than the device, several devices"
    source = "Matsumoto, Nakasato and Sedukhin 2012"
    choices: ClassVar[Mapping[str, Sequence[Any]]] = {
        "block": range(16, 2**20 + 1, 16),
        "rows": range(16, 2**20 + 1, 16),
        "columns": range(16, 2**20 + 1, 16),
        "split": ("fused", "separated"),
        "pivot": ("device", "host"),
        "helpers": ("auto", "all", "none"),
        "interval": _INTERVALS,
    }
    outofcore = True

    def plan(self, graph: Graph, options: AllPairsOptions) -> Plan:
        """Measure speeds, cut the matrix, check memory and disk.

        Raises
        ------
        CheckpointError
            If the checkpoint is of another run, or damaged.
        DiskSpaceError
            If there is no room for the checkpoints.
        """
        check_weights(graph, options.dtype)
        started = time.perf_counter()
        if graph.n == 0:
            _product(graph, options, None, tuned=True)  # the device must have the type
            return Plan(graph, options, dict(self.parameters), 0)
        given, state = dict(self.parameters), None
        if options.checkpoint is not None:
            with _checkpoint(graph, options) as checkpoint:
                state = checkpoint.state
                checkpoint.check_space(graph.n**2 * options.dtype.itemsize)
        if state is not None:
            _agree(given, state, graph.n, options)
        recovery = None
        if options.predecessors:
            recovery = Recovery.within(graph, options, _limits(options.device, options)[0])
        array = _allocate(graph.n, options) if options.out is None else options.out
        arguments = (graph, options, given, state, array)
        tuned = state is None or state["tuned"]
        try:
            prepared, notes = self._prepare(*arguments, tuned=tuned)
        except DeviceMemoryError as tuned_needs:
            if not tuned:
                raise
            # what was tuned may want more memory than the candidates
            try:
                prepared, notes = self._prepare(*arguments, tuned=False)
            except DeviceMemoryError as needs:
                raise min(needs, tuned_needs, key=lambda error: error.needed) from None
            notes = (*notes, "untuned kernels, because the tuned ones need more memory")
        shape = prepared.cut.shape
        parameters = {
            "block": shape.block,
            "rows": shape.rows,
            "columns": shape.columns,
            "split": "separated" if prepared.cut.separated else "fused",
            "pivot": given.get("pivot", "device"),
            "helpers": "all" if len(prepared.members) > 1 else "none",
            "interval": given.get("interval", "auto"),
        }
        return Plan(
            graph,
            options,
            parameters,
            prepared.cut.device_bytes,
            (prepared, recovery),
            time.perf_counter() - started,
            notes=notes,
        )

    def _prepare(
        self,
        graph: Graph,
        options: AllPairsOptions,
        given: Mapping[str, Any],
        state: Mapping[str, Any] | None,
        array: np.ndarray,
        *,
        tuned: bool,
    ) -> tuple[_Prepared, tuple[str, ...]]:
        """Measure the devices, cut the matrix, and decide who takes part.

        Kernels that are not of a checkpoint are those of tuning rows, if `tuned`.
        """
        devices = (options.device, *options.helpers)
        closing = 0 if state is None else min(state["closer"], len(devices) - 1)
        products = [
            _product(
                graph,
                replace(options, device=device),
                state if number == closing else None,
                tuned=tuned,
            )
            for number, device in enumerate(devices)
        ]
        unit = math.lcm(*(product.unit(product.p) for product in products))
        with Matrix(array) as matrix:
            speeds = [
                measure(device, product, matrix, _limits(device, options)[0])
                for device, product in zip(devices, products, strict=True)
            ]
        cut = best_cut(
            graph.n,
            unit,
            products[0],
            speeds[0],
            *_limits(devices[0], options),
            block=given.get("block"),
            rows=given.get("rows"),
            columns=given.get("columns"),
            separated={"fused": False, "separated": True}.get(given.get("split", "")),
        )
        members = [_Member(devices[0], products[0], speeds[0], cut.shape)]
        closer, notes, gain = 0, [], 0.0
        for device, product, speed in zip(devices[1:], products[1:], speeds[1:], strict=True):
            closes = given.get("pivot") == "host" and device.kind == "cpu" and closer == 0
            shape = helper_shape(cut, unit, product, speed, speeds[0], *_limits(device, options))
            here = helper_gain(cut, speed, speeds[0])
            asked = given.get("helpers", "auto")
            useful = asked == "all" or closes or (asked == "auto" and here > _GAIN)
            verb = "helps" if useful and shape is not None else "does not help"
            why = f"it would add {100 * here:.1f} % to the updates of the first"
            if shape is None:
                why = "its memory does not hold the rows of a pivot block"
            notes.append(f"{device.name} {verb}: {why}")
            if useful and shape is not None:
                closer = len(members) if closes else closer
                members.append(_Member(device, product, speed, shape))
                gain += here
        if given.get("pivot") == "host" and closer == 0 and devices[0].kind != "cpu":
            raise CapabilityError("fw-outofcore with pivot=host needs a CPU among the devices")
        seconds = cut.seconds - cut.shared * (1 - 1 / (1 + gain))
        lead, item = speeds[0], options.dtype.itemsize
        needed = required_bandwidth(cut, lead, item)
        travel = (
            f"{_rate(lead.up)} up, {_rate(lead.down)} down, "
            if math.isfinite(lead.up)
            else "memory shared with the host, "
        )
        notes[:0] = [
            f"{-(-graph.n // cut.shape.block)} passes over {cut.shape.block:,} pivots, "
            f"{cut.shape.rows:,} x {min(cut.shape.columns, graph.n):,} values at a time, "
            f"{'separated' if cut.separated else 'fused'}",
            f"predicted: {seconds:,.3g} s, {cut.moved / 2**30:,.3g} GiB to and from the device, "
            f"bound by {cut.bound}",
            f"measured: {lead.product_of(cut.shape.rows) / 1e9:,.4g} G updates/s, {travel}"
            f"{_rate(lead.read)} from and {_rate(lead.write)} to the matrix; the kernels need "
            f"{_rate(needed)}",
        ]
        first = members[closer].product
        decisive = {
            "block": cut.shape.block,
            "unit": unit if state is None else state["unit"],
            "pivot": given.get("pivot", "device"),
            "closer": products.index(first),
            "closing": dict(first.p),
            "tuned": tuned,
        }
        if state is not None:
            _check_same(graph.n, decisive, state, options)
        return _Prepared(array, tuple(members), closer, cut, seconds, decisive), tuple(notes)

    def run(self, plan: Plan) -> Rows:
        """Fill the matrix, or load it from the checkpoint, and run the passes.

        Raises
        ------
        NegativeCycleError, PrecisionError
            As `pyapsp.solve`; the checkpoint is then removed, because a resumed run ends alike.
        """
        graph, options = plan.input, plan.options
        if graph.n == 0:
            empty = np.empty((0, 0), options.dtype) if options.out is None else options.out
            before = np.empty((0, 0), np.int32) if options.predecessors else None
            stats = {"kernel_seconds": 0.0, "transfer_seconds": 0.0, "kernel_hash": ""}
            return Rows(empty, before, stats=stats)
        prepared: _Prepared
        prepared, recovery = plan.state
        with ExitStack() as stack:
            matrix = stack.enter_context(Matrix(prepared.array))
            checkpoint = None
            if options.checkpoint is not None:
                checkpoint = stack.enter_context(_checkpoint(graph, options))
            started = time.perf_counter()
            state = None if checkpoint is None else checkpoint.load(matrix)
            if state is None:
                fill(matrix, graph)
            filled = time.perf_counter()
            workers = [
                stack.enter_context(
                    Worker(
                        member.device,
                        member.product,
                        member.shape,
                        matrix,
                        separated=prepared.cut.separated and number == 0,
                    )
                )
                for number, member in enumerate(prepared.members)
            ]
            engine = Engine(
                matrix,
                workers,
                [member.speeds.product for member in prepared.members],
                workers[prepared.closer],
                prepared.cut.shape.block,
                checkpoint=checkpoint,
                interval=_interval(plan, checkpoint, matrix),
                decisive=prepared.decisive,
                progress=options.progress,
            )
            engine.run(state)
            seconds = time.perf_counter() - filled
            check_diagonal(graph, matrix.diagonal())
            largest = _look(graph, matrix, options)
            predecessors = None
            if recovery is not None:
                predecessors = _predecessors_beside(prepared.array, matrix)
                file = stack.enter_context(Matrix(predecessors))
                queue, watch = options.device.queue(), Stopwatch()
                with device_errors(options.device, sum(recovery.buffers)):
                    recovery.run_slabs(
                        queue, matrix.read, file.write, watch, largest_distance=largest
                    )
                seconds += watch.seconds("recovery")
            if checkpoint is not None:
                matrix.flush()
                checkpoint.remove()
        return Rows(
            prepared.array,
            predecessors,
            stats={
                # what overlaps cannot be told apart: the time of the passes, transfers included
                "kernel_seconds": seconds,
                "transfer_seconds": filled - started,
                "kernel_hash": prepared.members[0].product.program.hash,
                "more": {
                    "predicted_seconds": prepared.seconds,
                    "moved_bytes": sum(worker.moved for worker in workers),
                    "devices": [member.device.name for member in prepared.members],
                    "resumed": state is not None,
                },
            },
            checked=True,
        )


def _checkpoint(graph: Graph, options: AllPairsOptions) -> Checkpoint:
    subject = {
        "method": FwOutofcore.id,
        "graph": graph.content_hash,
        "n": graph.n,
        "dtype": options.dtype.name,
    }
    assert options.checkpoint is not None
    return Checkpoint(options.checkpoint, subject)


def _agree(
    given: dict[str, Any], state: Mapping[str, Any], n: int, options: AllPairsOptions
) -> None:
    """Take from a checkpoint what decides the result, and refuse what was asked for instead."""
    asked = {name: given.get(name, state[name]) for name in ("block", "pivot")}
    unit = state["unit"]
    block = -(-asked["block"] // unit) * unit  # all blocks of more than n vertices are one
    same = {
        "block": min(block, n) == min(state["block"], n),
        "pivot": asked["pivot"] == state["pivot"],
    }
    for name, agrees in same.items():
        if not agrees:
            raise CheckpointError(
                f"{options.checkpoint} was made with {name}={state[name]}, not {asked[name]}"
            )
        given[name] = state[name]


def _check_same(
    n: int, decisive: Mapping[str, Any], state: Mapping[str, Any], options: AllPairsOptions
) -> None:
    """Refuse a checkpoint from which these devices would go on in other steps."""
    blocks = [min(each["block"], n) for each in (state, decisive)]
    if blocks[0] != blocks[1] or decisive["closing"] != state["closing"]:
        raise CheckpointError(
            f"{options.checkpoint} was made in blocks of {blocks[0]} with kernels "
            f"{state['closing']}: these devices would take {blocks[1]} with {decisive['closing']}"
        )


def _look(graph: Graph, matrix: Matrix, options: AllPairsOptions) -> float:
    """Look for clipped distances, if that was asked for, and return the largest distance."""
    largest = 0.0
    matters = options.predecessors and options.dtype.kind == "f"
    if options.check or matters:
        for _, block in matrix.rows(max(1, _LOOK // (graph.n * options.dtype.itemsize))):
            if options.check:
                check_answer(graph, block)
            if matters:
                largest = max(largest, largest_finite(block))
    return largest


def _predecessors_beside(array: np.ndarray, matrix: Matrix) -> np.ndarray:
    """Return where predecessors go: memory, or a file beside that of the distances."""
    if not matrix.on_disk:
        return np.empty(array.shape, np.int32)
    path = Path(matrix.filename)
    return np.lib.format.open_memmap(
        path.with_name(f"{path.name}.predecessors.npy"), "w+", np.int32, array.shape
    )


def _allocate(n: int, options: AllPairsOptions) -> np.ndarray:
    """Return memory for the distances, if there is as much."""
    needed = n * n * options.dtype.itemsize
    available = available_memory()
    if available is not None and needed > available:
        hint = "give a mapped file as out (numpy.lib.format.open_memmap) or use a narrower dtype"
        raise DeviceMemoryError(needed, available, f"the host cannot hold the distances: {hint}")
    return np.empty((n, n), options.dtype)


def _product(
    graph: Graph, options: AllPairsOptions, state: Mapping[str, Any] | None, *, tuned: bool
) -> Product:
    """Return the product for a device: of a checkpoint, of tuning rows, or else untuned."""
    if state is not None:
        parameters = state["closing"]
        if not FORMS[parameters["form"]].fits(parameters, options):
            raise CheckpointError(
                f"{options.checkpoint} was made with kernels that do not fit {options.device.name}"
            )
    else:
        parameters, _ = FwMinplus().choose_parameters(graph, options, rows=tuned)
    return FORMS[parameters["form"]](options, parameters, negative=graph.has_negative)


def _limits(device: Device, options: AllPairsOptions) -> tuple[int, int]:
    """Return the bytes that may be used on a device, and in one buffer."""
    capabilities = device.capabilities
    memory = int(_USABLE * capabilities.global_memory)
    if options.memory_limit is not None:
        memory = min(memory, options.memory_limit)
    return memory, capabilities.max_allocation


def _interval(plan: Plan, checkpoint: Checkpoint | None, matrix: Matrix) -> Interval | None:
    if checkpoint is None:
        return None
    asked, now = plan.parameters["interval"], time.monotonic()
    if asked == "auto":
        return Interval(checkpoint.predict(matrix), now)
    return Interval(0.0, now, seconds=asked)


def _rate(bytes_a_second: float) -> str:
    return f"{bytes_a_second / 1e9:,.3g} GB/s"
