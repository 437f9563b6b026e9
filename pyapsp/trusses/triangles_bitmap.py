"""triangles-bitmap: each worker marks the neighbours of a vertex in a bit map of all vertices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pyapsp.graph import Graph
from pyapsp.registry import Options, Parameters, ParameterValues, register
from pyapsp.trusses.counting import BitmapCounter
from pyapsp.trusses.counts import TriangleMethod, TriangleOptions

__all__ = ["TrianglesBitmap"]


@register
class TrianglesBitmap(TriangleMethod):
    """A worker marks the oriented row of a vertex in a map, and looks up those of its neighbours.

    Source: M. Bisson, M. Fatica, TPDS 28, 2017.
    """

    id = "triangles-bitmap"
    summary = "a bit map of all vertices for each worker"
    source = (
        "Bisson and Fatica 2017, doi:10.1109/TPDS.2017.2735405; "
        "orientation on the device, the longer row as map: ours"
    )
    choices: ClassVar[ParameterValues] = {
        "group": (1, 32, 64, 128, 256, 512),
        "batch": (1, 16, 64, 256),
    }

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield groups of one work-item on CPUs, larger ones elsewhere."""
        for group in (1,) if options.device.traits.scalar_groups else (256, 64, 32, 1):
            yield {"group": group, "batch": 64 if group == 1 else 1}

    def counter(self, options: TriangleOptions, parameters: Parameters) -> BitmapCounter:
        """Return the counter."""
        return BitmapCounter(options.device, options.what, parameters)

    def further(self, graph: Graph, options: TriangleOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of maps, hits, counter and sums."""
        return self.counter(options, parameters).buffers(graph.n, graph.m)
