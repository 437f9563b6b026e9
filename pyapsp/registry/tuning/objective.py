"""What the tuner minimises: the time of a run, its energy, or the product of both."""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["OBJECTIVES", "Cost"]

#: Time; energy; and their product, the energy-delay product.
OBJECTIVES = ("time", "energy", "edp")


class Cost(NamedTuple):
    """What a run takes."""

    seconds: float
    joules: float | None = None  # None: not measured

    def of(self, objective: str) -> float:
        """Return what an objective minimises; infinite if it was not measured."""
        if objective == "time":
            return self.seconds
        joules = math.inf if self.joules is None else self.joules
        return joules if objective == "energy" else joules * self.seconds
