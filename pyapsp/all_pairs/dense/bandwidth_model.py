"""A model of the bandwidth that blocked products need, and of the smallest sufficient block.

The number of updates for a tile or a block in fast memory grows with its area, the data to load
with its edges. So a larger block needs less bandwidth. The model is that of K. Matsumoto,
N. Nakasato and S. G. Sedukhin, SC 2012 (poster); it counts two operations for an update
d = min(d, a + b).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = [
    "attainable",
    "best_block",
    "block_intensity",
    "required_for_block",
    "required_for_tile",
    "sufficient_block",
    "tile_intensity",
]


def tile_intensity(rows: int, columns: int, item_bytes: int = 4) -> float:
    """Return the operations for a byte with a register tile: 2 r c / (4 (r + c)).

    Parameters
    ----------
    rows, columns : int
        Size of the tile of a work-item (t_r, t_c): for each step of the product it reads one value
        for each row and each column, and makes an update for each pair of them.
    item_bytes : int
        Size of a value.
    """
    return 2 * rows * columns / (item_bytes * (rows + columns))


def required_for_tile(peak: float, rows: int, columns: int, item_bytes: int = 4) -> float:
    """Return RB_kernel, the bytes a second that tiles need to compute at their peak.

    Parameters
    ----------
    peak : float
        Operations a second, two for an update.
    rows, columns, item_bytes : int
        As for `tile_intensity`.
    """
    return peak / tile_intensity(rows, columns, item_bytes)


def block_intensity(block: int, item_bytes: int = 4) -> float:
    """Return the operations for a byte with blocks in device memory: 2 b^3 / (4 x 2 b^2) = b / 4.

    Parameters
    ----------
    block : int
        Rows and columns (b): while one product of blocks is computed, two blocks are transferred.
    item_bytes : int
        Size of a value.
    """
    return block / item_bytes


def required_for_block(peak: float, block: int, item_bytes: int = 4) -> float:
    """Return RB_apsp, the bytes a second between host and device that keep the kernels at a peak.

    Parameters
    ----------
    peak : float
        Operations a second of the kernels.
    block, item_bytes : int
        As for `block_intensity`.
    """
    return peak / block_intensity(block, item_bytes)


def attainable(peak: float, bandwidth: float, block: int, item_bytes: int = 4) -> float:
    """Return the operations a second with this block: the peak, or less if transfers limit it.

    Parameters
    ----------
    peak : float
        Operations a second of the kernels.
    bandwidth : float
        Bytes a second between host and device.
    block, item_bytes : int
        As for `block_intensity`.
    """
    return min(peak, bandwidth * block_intensity(block, item_bytes))


def sufficient_block(
    peak: float, bandwidth: float, blocks: Iterable[int], item_bytes: int = 4
) -> int | None:
    """Return the smallest of these blocks for which the bandwidth is sufficient.

    Parameters
    ----------
    peak, bandwidth : float
        As for `attainable`.
    blocks : iterable of int
    item_bytes : int
        Size of a value.

    Returns
    -------
    int or None
        None if none is large enough.
    """
    enough = (b for b in blocks if required_for_block(peak, b, item_bytes) <= bandwidth)
    return min(enough, default=None)


def best_block(seconds: Mapping[int, float]) -> int:
    """Return the block with the least measured time; the smallest if times are equal.

    Parameters
    ----------
    seconds : mapping of int to float
        Time for each block, for one n; must not be empty.
    """
    return min(seconds, key=lambda block: (seconds[block], block))
