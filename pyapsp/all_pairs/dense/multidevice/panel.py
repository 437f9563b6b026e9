"""The rows of a pivot block on a device, and the steps of a pass that use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pyopencl as cl

from pyapsp.all_pairs.dense.product import Product, Rectangle, RightFactor

__all__ = ["Lane", "RowPanel", "panel_values"]


@dataclass(frozen=True)
class Lane:
    """A queue for updates, and the memory of their left factor."""

    queue: cl.CommandQueue
    left: cl.Buffer


def panel_values(product: Product, size: int, depth: int) -> list[int]:
    """Return the values in each buffer of a `RowPanel`."""
    return [depth * size, depth * depth, depth * depth, *product.scratch(depth)]


class RowPanel:
    """The rows of a pivot block, as the right factor of products.

    All methods enqueue commands, and do not wait for them.

    Parameters
    ----------
    product : Product
    size, depth : int
        Columns of the matrix on the device, and pivots of a block at most.
    buffer : callable
        ``buffer(values)`` allocates device memory.
    """

    def __init__(
        self, product: Product, size: int, depth: int, buffer: Callable[[int], cl.Buffer]
    ) -> None:
        self._product, self._size = product, size
        self._right = buffer(depth * size)
        self._pivot, self._left = (buffer(depth * depth) for _ in range(2))
        self._scratch = [buffer(count) for count in product.scratch(depth)]
        self._first = self._depth = 0

    def close_pivot(self, queue: cl.CommandQueue, rows: Rectangle, first: int, depth: int) -> None:
        """Run Floyd-Warshall inside the pivot block of some rows."""
        product, block = self._product, replace(rows.part(first, depth), rows=depth)
        self._first, self._depth = first, depth
        pivot = self._closed
        product.copy(queue, block, pivot)
        product.rounds(queue, [self._pivot, *self._scratch], depth)
        product.copy(queue, pivot, block)

    def multiply(self, queue: cl.CommandQueue, rows: Rectangle) -> list[cl.Event]:
        """Multiply the rows of the closed block by it, and keep them as the right factor."""
        product = self._product
        product.pack_left(queue, self._closed, self._left)
        product.pack_right(queue, rows, self._factor)
        for low, width in self._beside():
            product.multiply(queue, rows.part(low, width), self._left, self._factor.at(0, low))
        return product.pack_right(queue, rows, self._factor)

    def take(
        self, queue: cl.CommandQueue, rows: Rectangle, first: int, depth: int
    ) -> list[cl.Event]:
        """Keep rows that were closed and multiplied elsewhere as the right factor."""
        self._first, self._depth = first, depth
        return self._product.pack_right(queue, rows, self._factor)

    def update(self, lane: Lane, rows: Rectangle) -> list[cl.Event]:
        """Update other rows."""
        product, queue, factor = self._product, lane.queue, self._factor
        columns = rows.part(self._first, self._depth)
        product.pack_left(queue, columns, lane.left)
        product.multiply(queue, columns, lane.left, factor.at(0, self._first))
        events = product.pack_left(queue, columns, lane.left)
        for low, width in self._beside():
            part = rows.part(low, width)
            events = product.multiply(queue, part, lane.left, factor.at(0, low))
        return events

    @property
    def _closed(self) -> Rectangle:
        return Rectangle(self._pivot, self._depth, self._depth, self._depth)

    @property
    def _factor(self) -> RightFactor:
        return RightFactor(self._right, self._depth, self._size)

    def _beside(self) -> Iterator[tuple[int, int]]:
        """Yield the columns beside the pivots: the first, how many."""
        end = self._first + self._depth
        for low, width in ((0, self._first), (end, self._size - end)):
            if width > 0:
                yield low, width
