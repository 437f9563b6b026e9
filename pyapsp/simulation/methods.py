"""Explicit Runge-Kutta methods as tableaus of numbers.

Source: E. Hairer, S. P. Norsett and G. Wanner, Solving ordinary differential equations I, 1993,
sections II.1 and II.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["METHODS", "Reals", "Tableau"]

#: States and outputs: in the number type of a simulation.
Reals: TypeAlias = NDArray[np.float64] | NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Tableau:
    """An explicit method of s stages."""

    name: str
    nodes: NDArray[np.float64]  # (s,): the time of each stage, in steps
    # (s, s): row i has the weights of slopes 0 to i: in the state of stage i + 1, and in the last
    # row in the state after the step.
    rows: NDArray[np.float64]
    # (s,): weights of the slopes in the estimate of the error. Then the last stage is at the state
    # after the step, which row s - 2 gives, and is the first stage of the next step.
    error: NDArray[np.float64] | None = None

    @property
    def stages(self) -> int:
        """The number of stages, s."""
        return len(self.nodes)


def _tableau(
    name: str, nodes: list[float], rows: list[list[float]], error: list[float] | None = None
) -> Tableau:
    square = np.zeros((len(nodes), len(nodes)))
    for number, row in enumerate(rows):
        square[number, : len(row)] = row
    weights = None if error is None else np.array(error)
    return Tableau(name, np.array(nodes, np.float64), square, weights)


_FIFTH = [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]
#: The methods by name.
METHODS = {
    each.name: each
    for each in (
        _tableau("euler", [0], [[1]]),
        _tableau(
            "rk4",
            [0, 1 / 2, 1 / 2, 1],
            [[1 / 2], [0, 1 / 2], [0, 0, 1], [1 / 6, 1 / 3, 1 / 3, 1 / 6]],
        ),
        _tableau(
            "dopri5",
            [0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1],
            [
                [1 / 5],
                [3 / 40, 9 / 40],
                [44 / 45, -56 / 15, 32 / 9],
                [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
                [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
                _FIFTH,
                _FIFTH,
            ],
            [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40],
        ),
    )
}
