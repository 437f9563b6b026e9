"""The choice of the devices of a run, from measured speeds; of its block, from nominal ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace

import pyopencl as cl

from pyapsp.all_pairs.dense.fw_minplus import FORMS, FwMinplus
from pyapsp.all_pairs.dense.outofcore.manifest import State
from pyapsp.all_pairs.dense.outofcore.pinning import PinnedRows, can_pin
from pyapsp.all_pairs.dense.outofcore.planner import (
    Cut,
    CutOptions,
    Machine,
    best_cut,
    helper_gain,
    helper_shape,
    predict,
    required_bandwidth,
)
from pyapsp.all_pairs.dense.outofcore.shape import Shape
from pyapsp.all_pairs.dense.outofcore.speeds import Speeds, measure
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.all_pairs.dense.outofcore.worker import Worker
from pyapsp.all_pairs.dense.product import Product
from pyapsp.base.dry import is_dry
from pyapsp.base.errors import CapabilityError, CheckpointError
from pyapsp.device import Device
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters

__all__ = ["Member", "Team", "limits", "product_for", "products_for", "team_of"]

# The part of a device's memory that may be used: the driver needs some as well.
_USABLE = 0.9
# The least part by which a helper must increase the speed, by the model.
_GAIN = 0.02


@dataclass(frozen=True)
class Member:
    """A device that takes part, and how it cuts its rows."""

    device: Device
    machine: Machine
    shape: Shape


@dataclass(frozen=True)
class Team:
    """The devices of a run, and their work."""

    members: tuple[Member, ...]  # the first one leads
    closer: int  # which of them closes the pivot blocks
    cut: Cut  # of the first
    unit: int  # what every number of a cut is a multiple of
    seconds: float  # predicted for all of them
    notes: tuple[str, ...]  # what was measured and why it was decided so

    def workers(self, matrix: Matrix, stack: ExitStack) -> list[list[Worker]]:
        """Return the workers of each member, ready for as long as a stack is open."""
        with ThreadPoolExecutor(len(self.members)) as pool:
            pinned = list(pool.map(lambda member: self._pinned(member, matrix), self.members))
        for rows in pinned:
            if rows is not None:
                stack.callback(rows.release)
        return [
            [
                stack.enter_context(
                    Worker(
                        member.device,
                        member.machine.product,
                        member.shape,
                        matrix,
                        separated=self._separates(member),
                        pinned=rows,
                    )
                )
                for _ in range(member.shape.workers)
            ]
            for member, rows in zip(self.members, pinned, strict=True)
        ]

    def _separates(self, member: Member) -> bool:
        return self.cut.separated and member is self.members[0]

    def _pinned(self, member: Member, matrix: Matrix) -> PinnedRows | None:
        """Pin the rows for a member, unless the host takes minima, or the driver refuses."""
        if self._separates(member) or not can_pin(member.device, matrix):
            return None
        try:
            return PinnedRows(member.device, matrix)
        except cl.Error:
            return None

    @property
    def closing(self) -> Product:
        """The product that closes the pivot blocks."""
        return self.members[self.closer].machine.product


def limits(device: Device, options: AllPairsOptions) -> tuple[int, int]:
    """Return the bytes that may be used on a device, and in one buffer."""
    capabilities = device.capabilities
    memory = int(_USABLE * capabilities.global_memory)
    if options.memory_limit is not None:
        memory = min(memory, options.memory_limit)
    return memory, capabilities.max_allocation


def product_for(
    graph: Graph,
    options: AllPairsOptions,
    closing: Mapping[str, int | str] | None = None,
    *,
    tuned: bool = True,
) -> Product:
    """Return the product for a device: of a checkpoint, of tuning rows, or else untuned.

    Parameters
    ----------
    graph : Graph
    options : AllPairsOptions
    closing : mapping, optional
        The parameters of the product of the checkpoint.
    tuned : bool
        Whether tuning rows are used.

    Raises
    ------
    CapabilityError
        If the device does not have the type.
    CheckpointError
        If the kernels of the checkpoint do not fit the device.
    """
    if closing is not None:
        parameters = Parameters(closing)
        if not FORMS[parameters.word("form")].fits(parameters, options):
            raise CheckpointError(
                f"{options.checkpoint} was made with kernels that do not fit {options.device.name}"
            )
    else:
        parameters, _ = FwMinplus().choose_parameters(graph, options, rows=tuned)
    return FORMS[parameters.word("form")](options, parameters, negative=graph.has_negative)


def products_for(
    graph: Graph, options: AllPairsOptions, state: State | None, *, tuned: bool
) -> list[Product]:
    """Return the products for all devices; a checkpoint says which kernels close pivot blocks."""
    devices = options.devices
    closing: dict[int, dict[str, int | str]] = {}
    if state is not None:
        closing = {min(state["closer"], len(devices) - 1): state["closing"]}
    return [
        product_for(graph, replace(options, device=device), closing.get(number), tuned=tuned)
        for number, device in enumerate(devices)
    ]


def team_of(
    matrix: Matrix,
    options: AllPairsOptions,
    products: Sequence[Product],
    nominal: Sequence[Speeds],
    parameters: Parameters,
) -> Team:
    """Measure the devices, cut the matrix, and decide who takes part.

    Parameters
    ----------
    matrix : Matrix
        What it holds stays as it is.
    options : AllPairsOptions
        With the devices.
    products : sequence of Product
        For each of them.
    nominal : sequence of Speeds
        Those by which the pivots of a pass are counted, for each device.
    parameters : Parameters
        The parameters of the method that were asked for.

    Raises
    ------
    CapabilityError
        If pivot blocks are to be closed by a CPU and there is none.
    DeviceMemoryError
        If the first device does not hold the smallest cut.
    """
    devices = options.devices
    unit = math.lcm(*(product.unit for product in products))
    machines = []
    for device, product, usual in zip(devices, products, nominal, strict=True):
        memory, largest = limits(device, options)
        # a dry run does not use the device
        speeds = usual if is_dry() else measure(device, product, matrix, memory)
        pins = can_pin(device, matrix)
        machines.append(Machine(product, speeds, memory, largest, pins=pins))
    lead, expected = machines[0], replace(machines[0], speeds=nominal[0])
    sizes = {
        name: parameters.integer(name)
        for name in ("block", "rows", "columns")
        if name in parameters
    }
    separated = parameters["split"] == "separated" if "split" in parameters else None
    ahead = {"on": True, "off": False}.get(str(parameters.get("lookahead")))
    helpers, hoped = parameters.get("helpers", "auto"), 0.0
    if helpers != "none":
        hoped = sum(each.product / nominal[0].product for each in nominal[1:])
    wishes = CutOptions(**sizes, separated=separated, ahead=ahead)
    # first the block, which decides the rounding of sums; then what only decides the time
    block = best_cut(matrix.n, unit, expected, wishes, hoped).shape.block
    cut = best_cut(matrix.n, unit, lead, replace(wishes, block=block), hoped)
    members, closer, gain, why = [Member(devices[0], lead, cut.shape)], 0, 0.0, []
    for device, machine in zip(devices[1:], machines[1:], strict=True):
        closes = parameters.get("pivot") == "host" and device.kind == "cpu" and closer == 0
        shape = helper_shape(cut, unit, machine, lead.speeds)
        adds = helper_gain(cut, machine.speeds, lead.speeds)
        useful = helpers == "all" or closes or (helpers == "auto" and adds > _GAIN)
        helps = useful and shape is not None
        reason = f"it would add {100 * adds:.1f} % to the updates of the first"
        if shape is None:
            reason = "its memory does not hold the rows of a pivot block"
        why.append(f"{device.name} {'helps' if helps else 'does not help'}: {reason}")
        if useful and shape is not None:
            closer = len(members) if closes else closer
            members.append(Member(device, machine, shape))
            gain += adds
    if parameters.get("pivot") == "host" and closer == 0 and devices[0].kind != "cpu":
        raise CapabilityError("fw-outofcore with pivot=host needs a CPU among the devices")
    seconds = predict(cut.shape, lead, separated=cut.separated, gain=gain).seconds
    notes = (*_notes(cut, lead, seconds), *why)
    return Team(tuple(members), closer, cut, unit, seconds, notes)


def _notes(cut: Cut, lead: Machine, seconds: float) -> Iterator[str]:
    """Say how the matrix is cut, what that will cost, and what was measured."""
    shape, speeds = cut.shape, lead.speeds
    yield (
        f"{-(-shape.n // shape.block)} passes over {shape.block:,} pivots, "
        f"{shape.rows:,} x {min(shape.columns, shape.n):,} values at a time, "
        f"{'separated' if cut.separated else 'fused'}"
        f"{', with look-ahead' if shape.workers > 1 else ''}"
    )
    yield (
        f"predicted: {seconds:,.3g} s, {cut.moved / 2**30:,.3g} GiB to and from the device, "
        f"bound by {cut.bound}"
    )
    travel = "memory shared with the host"
    if math.isfinite(speeds.up):
        travel = f"{_rate(speeds.up)} up, {_rate(speeds.down)} down"
    yield (
        f"measured: {speeds.product_of(shape.rows) / 1e9:,.4g} G updates/s, {travel}, "
        f"{_rate(speeds.read)} from and {_rate(speeds.write)} to the matrix; the kernels need "
        f"{_rate(required_bandwidth(cut, lead))}"
    )


def _rate(bytes_a_second: float) -> str:
    return f"{bytes_a_second / 1e9:,.3g} GB/s"
