"""Several devices that share the sources of a call: each takes the next ones when it is done.

What is found from a source does not depend on the device, so that the bits are those of one device.
A method plans for each device (`shared`), opens the plans, and lets the devices take sources with
`pyapsp.base.together.in_turns`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pyapsp.base.json import Json
from pyapsp.device import Device
from pyapsp.graph import Graph
from pyapsp.paths.method import PathOptions
from pyapsp.registry import AnyPlan, Plan, Stats

__all__ = ["Parts", "each_plan", "largest", "part_of", "shared", "stats_of"]

# Parts of the sources that each device takes, at the least.
_TURNS = 2

_Options = TypeVar("_Options", bound=PathOptions)


@dataclass(frozen=True)
class Parts:
    """The state of a plan for several devices: a plan for each of them."""

    plans: tuple[AnyPlan, ...]

    @property
    def hash(self) -> str:
        """The hash of the kernels of the main device."""
        found: str = self.plans[0].state.hash
        return found


def part_of(options: _Options, n: int, count: int) -> _Options:
    """Return options to plan with: blocks of sources so small that each of `count` takes some."""
    sources = options.rows(n)
    return replace(options, sources=sources[: max(1, -(-sources.size // (_TURNS * count)))])


def shared(
    plan: Callable[[Graph, _Options], AnyPlan],
    graph: Graph,
    options: _Options,
    *,
    blocks: bool = False,
) -> AnyPlan:
    """Plan for each device of a call; without others, and for one source, for the main one.

    Parameters
    ----------
    plan : callable
        Plans for one device.
    graph : Graph
    options : PathOptions
    blocks : bool
        Whether a device solves a block of sources at once. Then a plan has a part of the sources.

    Returns
    -------
    Plan
        Of several devices its state is `Parts`, and its memory that of the device that needs most.
    """
    devices = options.devices[: max(options.count(graph.n), 1)]
    if len(devices) == 1:
        return plan(graph, replace(options, helpers=()) if options.helpers else options)
    used = replace(options, helpers=devices[1:])
    part = part_of(used, graph.n, len(devices)) if blocks else used
    whole = graph.keeping()
    plans = tuple(plan(whole, each) for each in part.of_each_device())
    first, names = plans[0], ", ".join(each.name for each in devices)
    return Plan(
        graph,
        used,
        first.parameters,
        largest((each.options.device, each.device_bytes) for each in plans),
        Parts(plans),
        sum(each.build_seconds for each in plans),
        first.tuning,
        (*first.notes, f"{len(devices)} devices share the sources: {names}"),
        first.packed,
    )


def each_plan(plan: AnyPlan) -> tuple[AnyPlan, ...]:
    """Return the plans of the devices of a plan."""
    return plan.state.plans if isinstance(plan.state, Parts) else (plan,)


def largest(sizes: Iterable[tuple[Device, int]]) -> int:
    """Return the bytes of the device that needs most; a device may have several sizes."""
    total = Counter[Device]()
    for device, size in sizes:
        total[device] += size
    return max(total.values(), default=0)


def stats_of(plans: Sequence[AnyPlan], each: Sequence[Stats], sources: Sequence[int]) -> Stats:
    """Return the stats of a run on several devices, with the part of each; of one its own.

    Parameters
    ----------
    plans : sequence of Plan
    each : sequence of Stats
    sources : sequence of int
        The number of sources that each device has done.
    """
    if len(plans) == 1:
        return each[0]
    kernels = [one["kernel_seconds"] for one in each]
    transfers = [one["transfer_seconds"] or 0.0 for one in each]
    more: dict[str, Json] = {
        "devices": [plan.options.device.name for plan in plans],
        "device_sources": list(sources),
        "device_seconds": [sum(times) for times in zip(kernels, transfers, strict=True)],
    }
    return {
        "kernel_seconds": max(kernels),
        "transfer_seconds": max(transfers),
        "kernel_hash": each[0]["kernel_hash"],
        "more": more,
    }
