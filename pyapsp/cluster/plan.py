"""The plan of Floyd-Warshall on ranks: blocks, rows of each rank, where they stay, and the time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyapsp.all_pairs.dense.outofcore.planner import Cut, CutOptions, best_cut
from pyapsp.all_pairs.dense.outofcore.shape import up_to
from pyapsp.all_pairs.dense.outofcore.team import limits, product_for
from pyapsp.all_pairs.dense.product import Product
from pyapsp.base.errors import CheckpointError
from pyapsp.base.host import installed_memory
from pyapsp.cluster.band import shares
from pyapsp.cluster.measure import assumed_rates, rates_of
from pyapsp.cluster.model import Prediction, Rates, best, predict, slowest
from pyapsp.cluster.ranks import Ranks
from pyapsp.cluster.resident import bytes_of
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters

__all__ = ["DensePlan", "notes_of", "planned"]

# Ranks whose speeds differ by less than this part have equally many rows.
_ALIKE = 0.25


@dataclass(frozen=True)
class DensePlan:
    """What the ranks have agreed on, and the cut of this one."""

    product: Product
    cut: Cut | None  # None: the rows of all ranks stay in the memory of their devices
    device_bytes: int
    block: int
    spans: list[tuple[int, int]]  # the rows of each rank
    predicted: Prediction
    rates: Rates  # of the slowest rank


def planned(
    ranks: Ranks,
    graph: Graph,
    options: AllPairsOptions,
    parameters: Parameters,
    state: Mapping[str, Any] | None,
    neighbours: int,
) -> DensePlan:
    """Measure this rank, and agree with the others on blocks and rows."""
    n, item = graph.n, options.dtype.itemsize
    # the tiles that close pivot blocks decide the rounding of sums: all ranks use the same
    product = product_for(graph, options, None if state is None else state["closing"])
    common = ranks.share(dict(product.parameters))
    if dict(product.parameters) != common:
        product = product_for(graph, options, common)
    memory, _ = limits(options.device, options)
    mine, machine = rates_of(ranks, product, options, n)
    everyone = ranks.all(mine)
    rates = slowest(everyone)
    # the block, which decides the rounding of sums, must not depend on measured rates
    assumed = slowest(ranks.all(assumed_rates(mine, graph, options)))
    block = parameters.integer("block") if "block" in parameters else None
    if block is not None:
        block = min(up_to(block, rates.unit), up_to(n, rates.unit))
    if state is not None:
        if block not in (None, state["block"]):
            raise CheckpointError(
                f"{options.checkpoint} was made with block={state['block']}, not {block}"
            )
        block = state["block"]
    weights = [each.product for each in everyone]
    if min(weights) > (1 - _ALIKE) * max(weights):
        weights = [1.0] * ranks.size
    rows = parameters.integer("rows") if "rows" in parameters else None
    if block is None:
        # whether rows stay on the devices follows from measured rates, so it has no part in this
        block = best(n, ranks.size, item, assumed, resident=rows is None).block
    if rows is None:
        spans = shares(n, block, weights)
        low, high = spans[ranks.rank]
        needed = bytes_of(product, high - low, n, block)
        if all(ranks.all(needed <= _for_rows(memory, options, neighbours))):
            prediction = predict(n, ranks.size, block, item, rates, resident=True)
            return DensePlan(product, None, needed, block, spans, prediction, rates)
    wishes = CutOptions(block=block, rows=rows, separated=False, ahead=False)
    cut = best_cut(n, rates.unit, machine, wishes)
    block = min(ranks.all(cut.shape.block))
    prediction = predict(n, ranks.size, block, item, rates)
    needed, spans = 2 * cut.device_bytes, shares(n, block, weights)
    return DensePlan(product, cut, needed, block, spans, prediction, rates)


def _for_rows(memory: int, options: AllPairsOptions, neighbours: int) -> int:
    """Return the bytes that the rows of a rank may take on its device."""
    installed = installed_memory()
    if options.device.capabilities.unified_memory and installed is not None:
        # the host needs as much again, and more; what is free now must not decide
        return min(memory, installed // (4 * neighbours))
    return memory


def notes_of(plan: DensePlan) -> Iterator[str]:
    """Say how the rows are shared and what that will cost."""
    predicted, ranks = plan.predicted, len(plan.spans)
    counts = sorted(high - low for low, high in plan.spans)
    where = "rows stay on the device"
    if plan.cut is not None:
        where = f"{plan.cut.shape.rows:,} rows at a time"
    yield (
        f"{ranks} ranks with {counts[0]:,} to {counts[-1]:,} rows, "
        f"{-(-predicted.n // plan.block)} passes over {plan.block:,} pivots, {where}"
    )
    yield (
        f"predicted: {predicted.seconds:,.3g} s, bound by {predicted.bound}; "
        f"update {predicted.update:,.3g} s, "
        f"pivots {predicted.opening:,.3g} s, broadcasts {predicted.broadcast:,.3g} s"
    )
    rates = plan.rates
    sent = f", {rates.link / 1e9:,.3g} GB/s between ranks" if ranks > 1 else ""
    yield f"measured on the slowest rank: {rates.product / 1e9:,.4g} G updates/s{sent}"
