"""The legal parameter sets of a method on a device, and the neighbours of a set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, product

import numpy as np

from pyapsp.registry import Options, Parameters
from pyapsp.registry.tuning.tunable import Tunable

__all__ = ["Key", "Space", "key"]

#: A hashable form of a parameter set.
Key = tuple[tuple[str, int | str], ...]

# Most combinations of values, legal or not, for which all sets can be enumerated.
_SMALL = 10**6


def key(parameters: Mapping[str, int | str]) -> Key:
    """Return a parameter set in hashable form, sorted by name."""
    return tuple(sorted(parameters.items()))


class Space:
    """The legal parameter sets of a method with some options.

    A method may have several forms with different parameters. A set has the parameter names of one
    of the method's candidates, so only forms with candidates for the device are included.

    Parameters
    ----------
    method : Tunable
    options : Options
        The legal sets depend on device, dtype and predecessors.
    """

    def __init__(self, method: Tunable, options: Options) -> None:
        self._method, self._options = method, options

    @cached_property
    def small(self) -> bool:
        """Whether all sets can be enumerated: there are at most 10^6 combinations."""
        return sum(self._sizes) <= _SMALL

    def __contains__(self, parameters: Mapping[str, int | str]) -> bool:
        """Whether a set is complete, without unknown names or values, and legal."""
        choices = self._method.choices
        return (
            any(parameters.keys() == each.keys() for each in self._completed())
            and all(value in choices[name] for name, value in parameters.items())
            and self._method.takes(Parameters(parameters), self._options)
        )

    def candidates(self) -> list[Parameters]:
        """Return those of the method's candidates that fit."""
        return [candidate for candidate in self._completed() if candidate in self]

    def __iter__(self) -> Iterator[Parameters]:
        """Yield every legal set."""
        for shape in self._shapes:
            for values in product(*self._values(shape)):
                yield from self._if_legal(shape, values)

    def shuffled(self, seed: int) -> Iterator[Parameters]:
        """Yield every legal set in a random order given by a seed."""
        ends = np.cumsum(self._sizes)
        for number in np.random.default_rng(seed).permutation(sum(self._sizes)):
            which = int(np.searchsorted(ends, number, side="right"))
            shape, values = self._shapes[which], self._values(self._shapes[which])
            places = np.unravel_index(ends[which] - 1 - number, tuple(map(len, values)))
            yield from self._if_legal(
                shape, [each[place] for each, place in zip(values, places, strict=True)]
            )

    def neighbours(
        self, parameters: Mapping[str, int | str], rng: np.random.Generator
    ) -> Iterator[Parameters]:
        """Yield the legal sets near this one, in random order.

        First those that differ in one parameter; then those that differ in two, each by one step,
        because often one alone cannot change (a tile must be a multiple of the group).
        """
        choices = {name: self._method.choices[name] for name in parameters}
        single = [
            {name: value}
            for name, values in choices.items()
            for value in values
            if value != parameters[name]
        ]
        steps = {name: _beside(parameters[name], values) for name, values in choices.items()}
        double = [
            {first: a, second: b}
            for first, second in combinations(choices, 2)
            for a, b in product(steps[first], steps[second])
        ]
        for changes in (single, double):
            for number in rng.permutation(len(changes)):
                changed = Parameters({**parameters, **changes[number]})
                if self._method.takes(changed, self._options):
                    yield changed

    def away(
        self, parameters: Mapping[str, int | str], rng: np.random.Generator, steps: int
    ) -> Parameters:
        """Return the legal set after some random steps from neighbour to neighbour."""
        end = Parameters(parameters)
        for _ in range(steps):
            end = next(self.neighbours(end, rng), end)
        return end

    def _completed(self) -> Iterator[Parameters]:
        """Yield the candidates of the method, with the given parameters."""
        for candidate in self._method.candidates(self._options):
            yield Parameters({**candidate, **self._method.parameters})

    @cached_property
    def _shapes(self) -> list[tuple[str, ...]]:
        """The names of parameters that candidates have, in order."""
        choices = self._method.choices
        shapes = [tuple(name for name in choices if name in each) for each in self._completed()]
        return list(dict.fromkeys(shapes))

    @cached_property
    def _sizes(self) -> list[int]:
        return [math.prod(map(len, self._values(shape))) for shape in self._shapes]

    def _values(self, shape: tuple[str, ...]) -> list[Sequence[int | str]]:
        given, choices = self._method.parameters, self._method.choices
        return [(given[name],) if name in given else choices[name] for name in shape]

    def _if_legal(
        self, shape: tuple[str, ...], values: Iterable[int | str]
    ) -> Iterator[Parameters]:
        parameters = Parameters(zip(shape, values, strict=True))
        if self._method.takes(parameters, self._options):
            yield parameters


def _beside(value: int | str, values: Sequence[int | str]) -> list[int | str]:
    place = values.index(value)
    return [values[other] for other in (place - 1, place + 1) if 0 <= other < len(values)]
