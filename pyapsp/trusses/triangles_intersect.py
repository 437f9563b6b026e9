"""triangles-intersect: the rows of the ends of each oriented arc are intersected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.device import Device
from pyapsp.graph import Graph
from pyapsp.registry import Options, Parameters, ParameterValues, register
from pyapsp.trusses import intersections
from pyapsp.trusses.counting import ALL
from pyapsp.trusses.counts import TriangleMethod, TriangleOptions
from pyapsp.trusses.intersections import CHOICES, Intersections
from pyapsp.trusses.rows import Rows, zeros

__all__ = ["IntersectCounter", "TrianglesIntersect", "longest_row"]


def longest_row(m: int) -> int:
    """Return a bound of the length of oriented rows, in a graph with m arcs."""
    return int(np.sqrt(m)) + 1


class IntersectCounter:
    """Counts by intersections. Making it builds the kernels.

    Parameters
    ----------
    device : Device
    what : int
        What is counted, as in `pyapsp.trusses.counting`.
    parameters : mapping
        Those of `CHOICES`.
    """

    def __init__(self, device: Device, what: int, parameters: Parameters) -> None:
        self._what = what
        defines = {"PYAPSP_COUNT": what}
        self._each = Intersections(device, "trusses/triangles_intersect.cl", parameters, defines)
        self.hash, self.items = self._each.program.hash, self._each.items

    def buffers(self, m: int) -> list[int]:
        """Return the bytes of each buffer of a call beside the counts."""
        sums = [8 * self._each.items] if self._what == ALL else []
        return [4, *sums, *self._each.buffers(m // 2, longest_row(m))]

    def __call__(
        self, queue: cl.CommandQueue, rows: Rows, up: Rows, counts: cl.Buffer | None = None
    ) -> int:
        """Enqueue the kernels; arguments and value are those of `HashCounter`.

        To count those of edges, use `of_edges`.
        """
        # with self-loops, fewer arcs are left than there is space for
        end = np.empty(1, np.int32)
        cl.enqueue_copy(queue, end, up.first, src_offset=4 * up.n)
        items, longest = int(end[0]), longest_row(rows.m)
        assert up.values is not None
        sums = zeros(queue, 2 * self._each.items if self._what == ALL else 1)
        counted = sums if counts is None else counts
        arrays = up.first, up.heads, up.values, up.heads, counted, sums
        self._each(queue, arrays, items, longest)
        if self._what != ALL:
            return 0
        totals = np.empty(self._each.items, np.uint64)
        cl.enqueue_copy(queue, totals, sums)
        return int(totals.sum())

    def of_edges(
        self, queue: cl.CommandQueue, up: Rows, tails: cl.Buffer, counts: cl.Buffer, longest: int
    ) -> None:
        """Add the triangles of each edge to its count.

        Parameters
        ----------
        queue : pyopencl.CommandQueue
        up : Rows
            Oriented arcs with the numbers of their edges.
        tails : pyopencl.Buffer
            The tail of each edge.
        counts : pyopencl.Buffer
            An int for each edge.
        longest : int
            No row is longer.
        """
        assert up.values is not None
        arrays = up.first, up.heads, tails, up.values, counts, zeros(queue, 1)
        self._each(queue, arrays, up.m, longest)


@register
class TrianglesIntersect(TriangleMethod):
    """The rows of both ends of each oriented arc are intersected.

    Source: O. Green, P. Yalamanchili, L. M. Munguia, IA3 2014; L. Wang et al., HPGP 2016.
    """

    id = "triangles-intersect"
    summary = "merges, binary searches or intersect paths for each oriented arc"
    source = (
        "Green et al. 2014, doi:10.1109/IA3.2014.7 (intersect path); "
        "Wang et al. 2016, doi:10.1145/2915516.2915521"
    )
    choices: ClassVar[ParameterValues] = CHOICES

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield the usual sets."""
        return intersections.candidates(options)

    def fits(self, parameters: Parameters, options: Options) -> bool:
        """Return whether parameters go together on the device."""
        return intersections.fits(parameters, options)

    def rule(self, options: Options) -> str:
        """Return the conditions of `fits`."""
        return intersections.rule(options)

    def counter(self, options: TriangleOptions, parameters: Parameters) -> IntersectCounter:
        """Return the counter."""
        return IntersectCounter(options.device, options.what, parameters)

    def further(self, graph: Graph, options: TriangleOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of sums and units."""
        return self.counter(options, parameters).buffers(graph.m)
