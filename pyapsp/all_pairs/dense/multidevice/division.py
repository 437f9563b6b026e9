"""Which device has which rows, and how many pivots a pass has.

The matrix is cut into blocks of b rows, which are the pivot blocks. Devices get blocks in turns, in
proportion to their speed, so that each of them makes its part of the row panels.

A pass over b pivots updates n rows of n values with b steps each. It cannot be shorter than the
chain that leads from a row panel to the next one: b rows are updated, Floyd-Warshall runs on their
block, they are multiplied by it, and they travel to the other devices through the host. With a
small b this chain is short; with a large b there are few passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyapsp.all_pairs.dense.outofcore.shape import up_to

__all__ = ["Division", "Rate", "divided"]

# Seconds that a pass costs beside, and those of each block that the product closes inside a pivot
# block: their kernels are short. The speed of Floyd-Warshall inside such a block.
_PASS, _CLOSE, _CLOSING = 1e-3, 6e-5, 0.8


@dataclass(frozen=True)
class Rate:
    """The speed of a device."""

    product: float  # updates of min-plus products a second
    # Bytes a second between the device and the host; infinite if they share memory.
    link: float


@dataclass(frozen=True)
class Division:
    """Rows of the matrix, cut into blocks, and the device of each block."""

    # Vertices, and columns of the matrix on the devices: n, padded.
    n: int
    size: int
    # Rows of a block, and pivots of a pass; a multiple of the unit.
    block: int
    unit: int  # what the pivots of the last block are padded to a multiple of
    members: tuple[int, ...]  # the numbers of the devices that have rows
    owners: tuple[int, ...]  # the device of each block: its place in `members`
    seconds: float  # predicted for all passes

    def blocks(self, member: int) -> list[int]:
        """Return the numbers of the blocks of a device, by its place in `members`."""
        return [number for number, owner in enumerate(self.owners) if owner == member]

    def rows(self, number: int) -> tuple[int, int]:
        """Return the rows of a block: the first, and one past the last."""
        first = number * self.block
        return first, min(first + self.block, self.n)

    def pivots(self, number: int) -> tuple[int, int]:
        """Return the first pivot of a block, and how many there are with padding."""
        first, last = self.rows(number)
        return first, up_to(last - first, self.unit)


def divided(
    n: int,
    size: int,
    item: int,
    rates: Sequence[Rate],
    *,
    unit: int,
    step: int,
    block: int | None = None,
    everyone: bool = False,
) -> Division:
    """Return the fastest division, by the model.

    Parameters
    ----------
    n, size, item : int
        Vertices, padded columns, bytes of a distance.
    rates : sequence of Rate
        Of the devices; the first is the main one.
    unit, step : int
        What a block is a multiple of, and the pivots that the product takes at a time.
    block : int, optional
        The rows of a block, if they were asked for.
    everyone : bool
        Whether as many devices as possible must have rows. Otherwise the fastest division may leave
        out some of the slowest, but not the main one.
    """
    blocks = _blocks(n, unit, step) if block is None else [up_to(min(block, n), unit)]
    fastest = sorted(range(1, len(rates)), key=lambda number: -rates[number].product)
    candidates: list[Division] = []
    for count in range(len(rates), 0, -1):
        members = tuple(sorted([0, *fastest[: count - 1]]))
        divisions = (_division(n, size, item, rates, members, each, unit, step) for each in blocks)
        # a block may be too large, or a device too slow, for each to have one
        candidates += [each for each in divisions if len(set(each.owners)) == count]
        if candidates and everyone:
            break
    return min(candidates, key=lambda each: each.seconds)


def _blocks(n: int, unit: int, step: int) -> list[int]:
    """Return the blocks that are worth trying."""
    wanted = {-(-n // round(1.5**power)) for power in range(24)}
    return sorted({min(up_to(b, step if b > step else unit), up_to(n, unit)) for b in wanted})


def _division(
    n: int,
    size: int,
    item: int,
    rates: Sequence[Rate],
    members: tuple[int, ...],
    block: int,
    unit: int,
    step: int,
) -> Division:
    """Return the division into blocks of some rows, with the seconds that it takes."""
    count, several = -(-n // block), len(members) > 1
    owners = _owners(count, [rates[number].product for number in members])
    # as long as the slowest; what it makes of the panels is in proportion to its rows
    update = opening = travel = 0.0
    for place, number in enumerate(members):
        rate, part = rates[number], owners.count(place) / count
        opens = block**2 * (block / _CLOSING + size) / rate.product + _CLOSE * -(-block // step)
        update = max(update, part * (size**2 * block / rate.product + opens))
        opening = max(opening, opens + block**2 * size / rate.product)
        travel = max(travel, 2 * block * size * item / rate.link)
    chain = opening + travel if several else opening
    seconds = count * (max(update, chain if several else 0.0) + _PASS) + chain
    return Division(n, size, block, unit, members, owners, seconds)


def _owners(count: int, rates: Sequence[float]) -> tuple[int, ...]:
    """Share blocks among devices in proportion to rates: each goes to whom it makes least late."""
    counts, owners = [0] * len(rates), []
    for _ in range(count):
        owner = min(range(len(rates)), key=lambda who: (counts[who] + 1) / rates[who])
        counts[owner] += 1
        owners.append(owner)
    return tuple(owners)
