"""The rows of ms-bfs: parameters of the kernels that convert bits to numbers, and the levels."""

from __future__ import annotations

from pyapsp.device import Device
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions

__all__ = ["longest_of", "row_defines", "strips_of", "vertices_of"]

# Bytes that a work-item of a CPU writes to a row, one page of memory; and at most so many vertices,
# because their bits are in its stack.
_PAGE, _VERTICES = 4096, 1024
# Bytes of the smallest values that are written past the caches. Lines of smaller ones would have to
# be filled value by value at both ends of too many short pieces.
_STREAMED = 4


def vertices_of(graph: Graph, device: Device) -> tuple[int, int]:
    """Return the number of vertices whose bits are in a vector, and the bits of a distance."""
    if not device.traits.scalar_groups:
        return 1, 32
    bits = 16 if graph.n <= 2**15 else 32
    return device.traits.lanes(bits // 8), bits


def strips_of(graph: Graph, options: AllPairsOptions) -> int:
    """Return the number of such vectors for which a work-item writes distances."""
    if not options.device.traits.scalar_groups:
        return 1
    vertices = min(_PAGE // options.dtype.itemsize, _VERTICES)
    return vertices // vertices_of(graph, options.device)[0]


def row_defines(graph: Graph, options: AllPairsOptions, words: int) -> dict[str, str | int]:
    """Return the macros of ``ms_bfs_rows.h`` for rows of so many words."""
    device, itemsize = options.device, options.dtype.itemsize
    vertices, bits = vertices_of(graph, device)
    width = min(device.traits.lanes(itemsize), vertices)
    streams = device.traits.scalar_groups and device.traits.prefetches and itemsize >= _STREAMED
    return arithmetic_defines(device, options.dtype, width=width) | {
        "PYAPSP_WORDS": words,
        "PYAPSP_VERTICES": vertices,
        "PYAPSP_STRIPS": strips_of(graph, options),
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
