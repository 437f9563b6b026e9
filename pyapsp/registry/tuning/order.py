"""The orders in which the tuner tries parameter sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from pyapsp.registry import Parameters
from pyapsp.registry.tuning.space import Key, Space, key

__all__ = ["climb", "every"]

# Of a climb: the number of candidates at its start, the gain that ends a step, and the number of
# random sets at each distance from a local optimum.
_STARTS, _STEP, _WALKS = 4, 0.99, 50


def every(space: Space, seed: int) -> Iterator[Parameters]:
    """Yield the candidates of the method, then all sets in random order."""
    yield from space.candidates()
    yield from space.shuffled(seed)


def climb(
    space: Space, seconds_of: Callable[[Parameters], float], seed: int
) -> Iterator[Parameters]:
    """Yield sets; the choice of each depends on the times of those before."""
    rng = np.random.default_rng(seed)
    visited: dict[Key, Parameters] = {}
    for start in space.candidates()[:_STARTS]:
        visited[key(start)] = start
        yield start
    climbing = bool(visited)
    while climbing:
        best = min(visited.values(), key=seconds_of)
        for current in _around(space, best, visited, rng):
            visited[key(current)] = current
            yield current
            if seconds_of(current) < _STEP * seconds_of(best):
                break
        else:
            climbing = False
    if space.small:  # the sets that the climb did not reach
        yield from space.shuffled(seed)


def _around(
    space: Space,
    best: Parameters,
    visited: Mapping[Key, Parameters],
    rng: np.random.Generator,
) -> Iterator[Parameters]:
    """Yield sets that were not visited: neighbours of the best, then sets farther away."""
    yield from (each for each in space.neighbours(best, rng) if key(each) not in visited)
    for steps in range(2, 8):
        for _ in range(_WALKS):
            end = space.away(best, rng, steps)
            if key(end) not in visited:
                yield end
