"""A part of a matrix, as it lies on a device."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.product import Rectangle

__all__ = ["Part"]


@dataclass(frozen=True)
class Part:
    """A rectangle of the matrix: rows first to last - 1, columns low to high - 1.

    It lies row-major in a slot, padded with infinity to `height` rows of `width` values.
    """

    first: int
    last: int
    low: int
    high: int
    height: int
    width: int

    def piece(self, low: int, high: int) -> Part:
        """Return the part that has some rows of the slot."""
        first, last = (min(self.first + row, self.last) for row in (low, high))
        return replace(self, first=first, last=last, height=high - low)

    @property
    def values(self) -> int:
        """Values that it takes in a slot."""
        return self.height * self.width

    def shaped(self, memory: np.ndarray) -> np.ndarray:
        """Return the begin of some memory as rows and columns."""
        return memory[: self.values].reshape(self.height, self.width)

    def on(self, block: cl.Buffer) -> Rectangle:
        """Return the part as it lies in a slot."""
        return Rectangle(block, self.width, self.height, self.width)
