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
        yield _tables(group=1, width=1, slots=2048, small_slots=256)
    for slots in (2048, 1024, 512):
        yield _tables(group=256, width=8, slots=slots, small_group=128, small_slots=256)
    yield _tables(group=64, width=8, slots=512, small_slots=64)
    yield _tables(group=1, width=1, slots=512, small_slots=64)


def _tables(
    *, group: int, width: int, slots: int, small_slots: int, small_group: int | None = None
) -> Parameters:
    """Return parameters with the same width for short rows, and by default the same group."""
    return Parameters(
        group=group,
        width=width,
        slots=slots,
        small_group=group if small_group is None else small_group,
        small_width=width,
        small_slots=small_slots,
    )


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
        return HashCounter.rule(options.device)

    def counter(self, options: TriangleOptions, parameters: Parameters) -> HashCounter:
        """Return the counter."""
        return HashCounter(options.device, options.what, parameters)

    def further(self, graph: Graph, options: TriangleOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of lists, counters and sums."""
        return self.counter(options, parameters).buffers(graph.n)
