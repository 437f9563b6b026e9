"""A model that predicts the time of Floyd-Warshall on ranks, and chooses the pivot block.

A pass over b pivots, on P ranks with n / P rows each (`planner` has the terms of one device):

    update      (n / P) n b updates; or the copies of (n / P) n values there and back
    open        b^3 updates inside the block, b^2 n for the panel, and their copies
    broadcast   b n values to P - 1 ranks, in pieces that follow each other

The broadcast of a panel overlaps with the update, and so do the copies that open it; its kernels
use the device of the owner. A pass takes as long as the slowest of

    the update, and the kernels that open the next panel;
    the chain that leads to the next panel: b rows are updated, opened, broadcast and fetched.

**Rows or a grid.** With rows, each rank receives all n^2 values once. On a grid of R x C ranks it
receives only n^2 / C values of row panels and n^2 / R of column panels. But the owners of a panel
wait for each other, and answers, predecessors and files are divided in two directions. A grid saves
time only if the broadcast takes longer than the update: P > n rate / (bandwidth of a value). So
ranks have rows. `predict` computes both, to show where the grid would be faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyapsp.all_pairs.dense.outofcore.shape import up_to
from pyapsp.base.errors import ParameterError
from pyapsp.base.json import Json, Record

__all__ = ["Prediction", "Rates", "best", "predict"]

# Seconds that a pass costs beside, and the speed of Floyd-Warshall inside a block.
_PASS, _RESIDENT_PASS, _CLOSING = 1e-2, 3e-3, 0.8


@dataclass(frozen=True)
class Rates:
    """Measured rates of a rank; the rates of a run are those of its slowest rank."""

    product: float  # updates of min-plus products a second
    # Bytes between host and device a second; infinite if they share memory.
    up: float
    down: float
    host: float  # bytes of the matrix that the host copies a second
    link: float  # bytes a second from one rank to another
    latency: float  # seconds until the first byte
    disk: float  # bytes a second of each rank to the file of the answer
    memory: int  # bytes of the device
    unit: int = 64  # what a pivot block is a multiple of
    shared: bool = False  # whether kernels and copies use the same cores

    @classmethod
    def of(cls, content: Mapping[str, Json]) -> Rates:
        """Return the rates of a JSON document.

        Raises
        ------
        ParameterError
            If a value is missing or no positive number.
        """
        try:
            values: dict[str, Any] = {
                name: float("inf") if content[name] is None else type(default)(content[name])
                for name, default in asdict(_LIKE).items()
            }
            return cls(**values)
        except (KeyError, TypeError, ValueError) as error:
            raise ParameterError(f"these are no rates of 'pyapsp scale': {error!r}") from None

    def json(self) -> Record:
        """Return a JSON document: null is infinite."""
        return {
            name: None if isinstance(value, float) and math.isinf(value) else value
            for name, value in asdict(self).items()
        }


_LIKE = Rates(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1)


@dataclass(frozen=True)
class Prediction:
    """A predicted run."""

    n: int
    ranks: int
    block: int
    layout: str  # "rows" or "grid"
    resident: bool  # whether the rows stay on the device
    seconds: float  # of the passes
    # What each takes in all passes, also where it overlaps.
    update: float
    opening: float
    broadcast: float
    writing: float  # seconds to write the answer
    bound: str  # "product", "copies" or "chain"


def predict(
    n: int,
    ranks: int,
    block: int,
    item: int,
    rates: Rates,
    *,
    layout: str = "rows",
    resident: bool = False,
) -> Prediction:
    """Return the predicted run for one pivot block.

    Parameters
    ----------
    n, ranks, block, item : int
        Vertices, ranks, pivots of a pass, bytes of a distance.
    rates : Rates
    layout : {"rows", "grid"}
    resident : bool
        Whether the rows stay on the device.
    """
    across, down = (1, ranks) if layout == "rows" else _grid(ranks)
    passes = -(-n // block)
    if layout == "rows":
        height, width = min(n, -(-passes // down) * block), n
    else:
        height, width = min(n, up_to(-(-n // down), block)), min(n, up_to(-(-n // across), block))
    there = item * (1 / rates.up + 1 / rates.down)
    kernels = height * width * block / rates.product
    copies = 0.0 if resident else height * width * there
    host = 0.0 if resident else 2 * height * width * item / rates.host
    update = kernels + host if rates.shared else max(kernels, copies, host)
    opening = block**2 * (block / _CLOSING + width) / rates.product
    moved = (block**2 + block * width) * (there + 2 * item / rates.host)
    if resident:  # only for the broadcast
        moved = block * width * item / rates.down if ranks > 1 else 0.0
    sent = _sending(block * width * item, down, rates)
    fetched = block * width * item * (1 / rates.up + 1 / rates.host) if ranks > 1 else 0.0
    chain = update * block / height + opening + moved + sent + fetched
    if layout == "grid":
        # the pivot block goes to the owners of both panels; then these go to all
        sent += _sending(block * height * item, across, rates)
        chain += _sending(block * height * item, across, rates)
        chain += _sending(block**2 * item, max(across, down), rates)
        opening += block**2 * height / rates.product
    busy = update + opening + (moved if rates.shared else 0.0)
    slowest = max(busy, chain) + (_RESIDENT_PASS if resident else _PASS)
    bound = "chain" if chain > busy else "copies" if update > kernels else "product"
    total = passes * slowest + chain
    written = n * n * item / ranks / rates.disk
    return Prediction(
        n,
        ranks,
        block,
        layout,
        resident,
        total,
        passes * update,
        passes * opening,
        passes * sent,
        written,
        bound,
    )


def best(
    n: int,
    ranks: int,
    item: int,
    rates: Rates,
    *,
    layout: str = "rows",
    resident: bool | None = None,
) -> Prediction:
    """Return the prediction with the fastest pivot block of those for which there is memory.

    The rows stay on the device if `resident` is True, or if it is None and they fit.

    Raises
    ------
    ParameterError
        If the memory of the device holds none.
    """
    if resident is None:
        resident = item * (n * n / ranks + 3 * n * 1024) <= rates.memory
    predictions = [
        predict(n, ranks, block, item, rates, layout=layout, resident=resident)
        for block in _blocks(n, rates.unit)
        if item * _values(n, block) <= rates.memory
    ]
    if not predictions:
        raise ParameterError(f"{rates.memory:,} bytes of a device hold no rows of n = {n:,}")
    return min(predictions, key=lambda each: each.seconds)


def _blocks(n: int, unit: int) -> Iterator[int]:
    """Yield the pivot blocks that are worth trying."""
    seen = set()
    for power in range(48):
        block = min(up_to(-(-n // round(1.25**power)), unit), up_to(n, unit))
        if block not in seen:
            seen.add(block)
            yield block


def _values(n: int, block: int) -> int:
    """Return the values of the buffers of a rank, with few rows at a time."""
    rows = min(n, 128)
    # each of two workers has a right factor, three parts of rows, and two left factors
    return 2 * (block * n + 3 * rows * n + 2 * rows * block) + 4 * block * block


def _grid(ranks: int) -> tuple[int, int]:
    """Return the columns and rows of the grid that is closest to a square."""
    across = max(each for each in range(1, math.isqrt(ranks) + 1) if ranks % each == 0)
    return across, ranks // across


def _sending(size: float, ranks: int, rates: Rates) -> float:
    """Return the seconds of a broadcast: parts are scattered, then passed around."""
    if ranks < 2:
        return 0.0
    steps = math.ceil(math.log2(ranks))
    return steps * rates.latency + size * 2 * (ranks - 1) / ranks / rates.link


def slowest(rates: list[Rates]) -> Rates:
    """Return the rates that all of some ranks reach."""
    first = rates[0]
    least = {
        name: min(getattr(each, name) for each in rates)
        for name in ("product", "up", "down", "host", "link", "disk", "memory")
    }
    return replace(
        first,
        **least,
        latency=max(each.latency for each in rates),
        unit=math.lcm(*(each.unit for each in rates)),
        shared=any(each.shared for each in rates),
    )
