"""fw-multidevice: blocked Floyd-Warshall on several devices that hold the matrix together."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pyapsp.all_pairs.dense.fw_minplus import seconds_together
from pyapsp.all_pairs.dense.multidevice.division import Division, Rate, divided
from pyapsp.all_pairs.dense.multidevice.exchange import Exchange
from pyapsp.all_pairs.dense.multidevice.passes import each_share, run_passes
from pyapsp.all_pairs.dense.multidevice.share import Share, share_bytes
from pyapsp.all_pairs.dense.outofcore.nominal import nominal_speeds
from pyapsp.all_pairs.dense.outofcore.recovery import recover
from pyapsp.all_pairs.dense.outofcore.shape import up_to
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.all_pairs.dense.outofcore.team import limits, products_for
from pyapsp.all_pairs.dense.predecessors import Recovery
from pyapsp.all_pairs.dense.product import Product
from pyapsp.base.errors import DeviceMemoryError
from pyapsp.base.host import available_memory
from pyapsp.base.reuse import empty, empty_beside
from pyapsp.device import Device
from pyapsp.graph import Facts, Graph
from pyapsp.numbers.checks import check_weights
from pyapsp.numbers.precision import largest_finite
from pyapsp.paths import AllPairsMethod, AllPairsOptions, Rows
from pyapsp.paths.landing import expected
from pyapsp.registry import Parameters, ParameterValues, Plan, Stats, check_memory, register

__all__ = ["FwMultidevice"]


@dataclass(frozen=True)
class _Prepared:
    """The state of a plan."""

    division: Division
    devices: tuple[Device, ...]
    products: tuple[Product, ...]
    recovery: Recovery | None
    on_host: int  # bytes of the rows of devices that share the memory of the host


@register
class FwMultidevice(AllPairsMethod):
    """Blocked Floyd-Warshall on several devices: each keeps some rows of the matrix.

    The rows are cut into blocks, which devices have in turns, in proportion to their speed. In a
    pass, the owner of a block runs Floyd-Warshall inside it and multiplies its rows by it. These
    rows, the row panel, travel through the host to the other devices. All devices update their
    other rows with it. The next panel is made and travels meanwhile (look-ahead).

    Source: P. Sao et al., Scalable all-pairs shortest paths for huge graphs on multi-GPU clusters,
    HPDC 2021, doi:10.1145/3431379.3460651. They have a grid of processes; here each device has
    whole rows, because there are few devices.

    Parameters
    ----------
    block : int, optional
        Pivots of a pass, and rows of a block. By default a model chooses it, from nominal speeds
        (`multidevice.division`).
    helpers : {"auto", "all", "none"}, optional
        Whether the devices after the first are used; with "auto" the model decides.
    """

    id = "fw-multidevice"
    summary = "blocked Floyd-Warshall on several devices that hold the matrix together"
    source = "Sao et al. 2021, doi:10.1145/3431379.3460651"
    choices: ClassVar[ParameterValues] = {
        "block": range(16, 2**20 + 1, 16),
        "helpers": ("auto", "all", "none"),
    }
    multidevice = True

    def predict(self, graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
        """Return the time of ``fw-minplus`` on all devices, if there are several."""
        return seconds_together(graph, options, rows) if options.helpers else None

    def plan(
        self, graph: Graph, options: AllPairsOptions
    ) -> Plan[Graph, AllPairsOptions, _Prepared | None]:
        """Build the kernels, divide the rows, check the memory."""
        check_weights(graph, options.dtype)
        started = time.perf_counter()
        devices = options.devices
        helpers = self.parameters.get("helpers", "auto")
        if helpers == "none":
            devices = devices[:1]
        used = replace(options, helpers=devices[1:])
        products = tuple(products_for(graph, used, None, tuned=True))
        if graph.n == 0:
            return Plan(graph, options, self.parameters, 0, None)
        unit = math.lcm(*(product.unit for product in products))
        rates = _rates(graph, devices, options)
        size = up_to(graph.n, unit)
        if any(product.pitch(size) > size for product in products):
            size += unit
        division = divided(
            graph.n,
            size,
            options.dtype.itemsize,
            rates,
            unit=unit,
            step=math.lcm(*(product.turn[0] for product in products)),
            block=self.parameters.integer("block") if "block" in self.parameters else None,
            everyone=helpers == "all",
        )
        devices = tuple(devices[number] for number in division.members)
        products = tuple(products[number] for number in division.members)
        needed, on_host = [], 0
        for number, (device, product) in enumerate(zip(devices, products, strict=True)):
            each = share_bytes(product, division, device, number, graph)
            check_memory(each, replace(options, device=device))
            needed.append(sum(each))
            on_host += sum(each) if device.capabilities.unified_memory else 0
        recovery = None
        if options.predecessors:
            recovery = Recovery.within(graph, options, limits(options.device, options)[0])
        parameters = Parameters(block=division.block, helpers="all" if len(devices) > 1 else "none")
        return Plan(
            graph,
            options,
            parameters,
            max(needed),
            _Prepared(division, devices, products, recovery, on_host),
            time.perf_counter() - started,
            notes=tuple(_notes(division, devices, rates)),
        )

    def run(self, plan: Plan[Graph, AllPairsOptions, _Prepared | None]) -> Rows:
        """Fill the rows on the devices, run the passes, and copy the rows to the answer."""
        graph, options, n = plan.input, plan.options, plan.input.n
        # predecessors are found from distances of the type of the run
        dtype = options.dtype if options.predecessors else options.answer or options.dtype
        distances, prepared = options.out, plan.state
        if prepared is not None:
            # only now: what is free changes, and a run that falls back for it warns
            _check_host(prepared.on_host, n, options)
        if distances is None or distances.dtype != dtype:
            distances = empty((n, n), dtype)
        if prepared is None:
            before = np.empty((0, 0), np.int32) if options.predecessors else None
            nothing = Stats(kernel_seconds=0.0, transfer_seconds=0.0, kernel_hash="")
            return Rows(distances, before, stats=nothing)
        division, products = prepared.division, prepared.products
        started = time.perf_counter()
        with ExitStack() as stack:
            shares = [
                stack.enter_context(Share(device, product, division, number, plan.device_bytes))
                for number, (device, product) in enumerate(
                    zip(prepared.devices, products, strict=True)
                )
            ]
            panel = division.block * division.size
            exchange = stack.enter_context(Exchange(list(prepared.devices), panel, options.dtype))
            with expected(options.device, distances):
                each_share(shares, lambda _, share: share.fill(graph))
                filled = time.perf_counter()
                run_passes(shares, division, exchange, options.progress)
                ended = time.perf_counter()
            each_share(shares, lambda _, share: share.deliver(distances))
            transfers = filled - started + time.perf_counter() - ended
        seconds, before = ended - filled, None
        # a negative diagonal is a negative cycle, for which `solve` raises an error
        if prepared.recovery is not None and not np.any(distances.diagonal() < 0):
            before = empty_beside(distances, "predecessors", np.int32)
            largest = largest_finite(distances) if options.dtype.kind == "f" else 0.0
            with Matrix(distances) as matrix:
                seconds += recover(prepared.recovery, matrix, before, options, largest)
        return Rows(
            distances,
            before,
            stats={
                "kernel_seconds": seconds,
                "transfer_seconds": transfers,
                "kernel_hash": products[0].program.hash,
                "more": {
                    "predicted_seconds": division.seconds,
                    "devices": [device.name for device in prepared.devices],
                },
            },
        )


def _rates(graph: Graph, devices: Sequence[Device], options: AllPairsOptions) -> list[Rate]:
    """Return the nominal rates; a device that is listed twice is no faster."""
    speeds = [nominal_speeds(device, graph, options) for device in devices]
    return [
        Rate(each.product / devices.count(device), min(each.up, each.down))
        for device, each in zip(devices, speeds, strict=True)
    ]


def _check_host(shares: int, n: int, options: AllPairsOptions) -> None:
    """Raise an error if the host cannot hold the answer, beside the rows of devices without memory.

    Parameters
    ----------
    shares : int
        The bytes of these rows.
    n : int
    options : AllPairsOptions
    """
    available = available_memory()
    if options.out is None:
        shares += n * n * (options.answer or options.dtype).itemsize
    if available is not None and shares > available:
        hint = "the host cannot hold the matrix and the distances: use a narrower dtype"
        raise DeviceMemoryError(shares, available, hint)


def _notes(division: Division, devices: Sequence[Device], rates: Sequence[Rate]) -> list[str]:
    """Say who has which rows, and what that will cost at which speeds."""
    shared = []
    for number, device in enumerate(devices):
        rows = sum(last - first for first, last in map(division.rows, division.blocks(number)))
        shared.append(f"{device.name} {rows:,} rows")
    assumed = ", ".join(f"{rate.product / 1e9:,.4g} G updates/s" for rate in rates)
    return [
        f"{len(division.owners)} passes over {division.block:,} pivots; {', '.join(shared)}",
        f"predicted: {division.seconds:,.3g} s; assumed: {assumed}",
    ]
