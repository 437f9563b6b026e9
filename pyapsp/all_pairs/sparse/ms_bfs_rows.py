"""The rows of ms-bfs: parameters of the kernels that convert bits to numbers, and the levels."""

from __future__ import annotations

from pyapsp.device import Device
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions

__all__ = ["longest_of", "row_defines", "vertices_of"]

# Bytes of the smallest values that are written past the caches. Lines of smaller ones would have to
# be filled value by value at both ends of too many short pieces.
_STREAMED = 4


def vertices_of(graph: Graph, device: Device) -> tuple[int, int]:
    """Return the number of vertices whose bits are in a vector, and the bits of a distance."""
    if not device.traits.scalar_groups:
        return 1, 32
    bits = 16 if graph.n <= 2**15 else 32
    return device.traits.lanes(bits // 8), bits


def row_defines(
    graph: Graph, options: AllPairsOptions, words: int, strips: int
) -> dict[str, str | int]:
    """Return the macros of ``ms_bfs_rows.h``.

    Parameters
    ----------
    graph : Graph
    options : AllPairsOptions
    words : int
        Words of a row of bits.
    strips : int
        Vectors of vertices for which a work-item writes distances.
    """
    device, itemsize = options.device, options.dtype.itemsize
    vertices, bits = vertices_of(graph, device)
    width = min(device.traits.lanes(itemsize), vertices)
    streams = device.traits.scalar_groups and device.traits.prefetches and itemsize >= _STREAMED
    return arithmetic_defines(device, options.dtype, width=width) | {
        "PYAPSP_WORDS": words,
        "PYAPSP_VERTICES": vertices,
        "PYAPSP_STRIPS": strips,
        "PYAPSP_LANE": {16: "ushort", 32: "uint"}[bits],
        "PYAPSP_LANE_BITS": bits,
        "PYAPSP_STREAM": int(streams),
    }


def longest_of(options: AllPairsOptions, n: int) -> int:
    """Return the largest number of levels: up to the cutoff, or those that the type holds."""
    longest = int(infinity(options.dtype)) - 1 if options.dtype.kind in "iu" else n
    if options.cutoff is not None:
        longest = max(min(longest, int(options.cutoff)), 1)
    return min(longest, n)
