"""The kernels of truss-delta and truss-iterative."""

from __future__ import annotations

from dataclasses import dataclass

from pyapsp.device.kernels import Program
from pyapsp.trusses.intersections import Intersections
from pyapsp.trusses.rows import Selection
from pyapsp.trusses.triangles_intersect import IntersectCounter

__all__ = ["StepPrograms"]


@dataclass(frozen=True)
class StepPrograms:
    """The kernels of a method that removes edges in steps."""

    weak: Program  # with the kernel of `cl/trusses/weak.h`
    counter: IntersectCounter
    left: Selection
    items: int  # work-items of a launch that goes over all edges
    longest: int  # no row of the graph is longer
    passes: tuple[Intersections, ...] = ()  # both passes of truss-delta over the removed edges

    @property
    def hash(self) -> str:
        """The hash of the kernels."""
        return self.weak.hash
