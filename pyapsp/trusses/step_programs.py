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
    """The kernels of a method that removes edges in steps.

    Attributes
    ----------
    weak : Program
        With the kernel of ``cl/trusses/weak.h``.
    counter : IntersectCounter
    left : Selection
    items : int
        Work-items of a launch that goes over all edges.
    longest : int
        No row of the graph is longer.
    passes : tuple of Intersections
        Both passes of truss-delta over the removed edges.
    """

    weak: Program
    counter: IntersectCounter
    left: Selection
    items: int
    longest: int
    passes: tuple[Intersections, ...] = ()

    @property
    def hash(self) -> str:
        """The hash of the kernels."""
        return self.weak.hash
