"""triangles-hash: a hash table for each vertex, in local memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pyapsp.graph import Graph
from pyapsp.registry import Options, Parameters, ParameterValues, register
from pyapsp.trusses.counting import HashCounter
from pyapsp.trusses.counts import TriangleMethod, TriangleOptions

__all__ = ["TrianglesHash", "tables"]

_GROUPS, _WIDTHS = (1, 32, 64, 128, 256, 512), (1, 2, 4, 8, 16, 32)


def tables(options: Options) -> Iterator[Parameters]:
    """Yield the usual groups and tables for a kind of device, then smaller ones."""
    if options.device.traits.scalar_groups:
        yield _tables(1, 1, 2048, 1, 1, 256)
    for slots in (2048, 1024, 512):
        yield _tables(256, 8, slots, 128, 8, 256)
    yield _tables(64, 8, 512, 64, 8, 64)
    yield _tables(1, 1, 512, 1, 1, 64)


def _tables(*values: int) -> Parameters:
    return Parameters(zip(TrianglesHash.choices, values, strict=True))


@register
class TrianglesHash(TriangleMethod):
    """A group puts the oriented row of a vertex in a table, and looks up those of its neighbours.

    Source: S. Pandey et al., TPDS 32, 2021.
    """

    id = "triangles-hash"
    summary = "a hash table in local memory for each vertex"
    source = (
        "Pandey et al. 2021, doi:10.1109/TPDS.2021.3064892; "
        "orientation on the device, the longer row as table: ours"
    )
    choices: ClassVar[ParameterValues] = {
        "group": _GROUPS,
        "width": _WIDTHS,
        "slots": (64, 512, 1024, 2048),
        "small_group": _GROUPS,
        "small_width": _WIDTHS,
        "small_slots": (64, 128, 256, 512),
    }

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield the usual tables."""
        return tables(options)

    def fits(self, parameters: Parameters, options: Options) -> bool:
        """Return whether the device has such groups, with this much local memory."""
        return HashCounter.fits(parameters, options.device)

    def rule(self, options: Options) -> str:
        """Return the conditions of `fits`."""
        limits = options.device.capabilities
        return (
            f"groups must be at most {limits.max_work_group_size} and multiples of the widths, and "
            f"12 bytes of {limits.local_memory} of local memory are needed for each slot"
        )

    def counter(self, options: TriangleOptions, parameters: Parameters) -> HashCounter:
        """Return the counter."""
        return HashCounter(options.device, options.what, parameters)

    def further(self, graph: Graph, options: TriangleOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of lists, counters and sums."""
        return self.counter(options, parameters).buffers(graph.n)
