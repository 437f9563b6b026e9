"""How a matrix is cut for a device that does not hold it."""

from __future__ import annotations

from dataclasses import dataclass

from pyapsp.all_pairs.dense.product import Product

__all__ = ["Shape", "up_to"]


@dataclass(frozen=True)
class Shape:
    """How a matrix is cut for one device; all in values."""

    n: int  # rows and columns of the matrix
    size: int  # the same, padded to what the kernels need
    block: int  # pivots of a pass
    rows: int  # rows that are updated at a time
    columns: int  # columns that are updated at a time: `size`, or fewer
    # Parts of the matrix that are on the device at once: one comes in, one is computed, one goes
    # out. Where the device is the host, copies beside kernels would only take their cores.
    slots: int = 3
    # One, or with look-ahead two, for even and odd passes; each has all these buffers.
    workers: int = 1

    @property
    def slot(self) -> int:
        """Values in a slot: a part of rows, and at least a few columns of a pivot block."""
        return max(self.rows * self.columns, self.rows * self.block)

    @property
    def queues(self) -> int:
        """Queues for kernels: with two the next part fills the groups that end early in a part."""
        return min(self.slots, 2)

    @property
    def block_fits_slot(self) -> bool:
        """Whether a pivot block fits in a slot."""
        return self.block**2 <= self.slot

    def panel_columns(self, unit: int) -> int:
        """Return how many columns of the pivot rows are multiplied at a time."""
        return min(max(self.slot // (4 * self.block) // unit, 1) * unit, self.size)

    def values(self, product: Product) -> dict[str, int]:
        """Return the values in each device buffer of a worker, by what it is for."""
        # a pivot block is closed, and then its rows are multiplied by it
        closing = self.block**2 + sum(product.scratch(self.block))
        multiplying = self.block * (self.block + self.panel_columns(product.unit))
        if not self.block_fits_slot:
            multiplying += self.block**2
        return {
            "right": self.block * self.size,
            "slots": self.slots * self.slot,
            "lefts": self.queues * self.rows * self.block,
            "pivot": max(closing, multiplying),
        }


def up_to(value: int, unit: int) -> int:
    """Return the next multiple of a unit."""
    return -(-value // unit) * unit
