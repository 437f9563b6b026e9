"""Sets of parameters with every legal pair of values, made without listing all combinations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any


def covering(
    values: Mapping[str, Sequence[Any]], legal: Callable[[dict[str, Any]], bool]
) -> Iterator[dict[str, Any]]:
    """Yield sets that together have every pair of values; always the same sets.

    `legal` takes sets without some of the names, and returns whether they can be completed. A set
    begins with a missing pair; each further value is the one with the most missing pairs.
    """
    missing = {
        frozenset([a, b])
        for one, other in combinations(values, 2)
        for a, b in product([(one, x) for x in values[one]], [(other, x) for x in values[other]])
        if legal(dict([a, b]))
    }
    while missing:
        chosen = dict(min(missing, key=sorted_text))
        for name in sorted(values.keys() - chosen.keys()):
            fitting = [each for each in values[name] if legal({**chosen, name: each})]
            gains = [
                sum(frozenset([(name, value), each]) in missing for each in chosen.items())
                for value in fitting
            ]
            chosen[name] = fitting[gains.index(max(gains))]
        found = {frozenset(pair) for pair in combinations(chosen.items(), 2)} & missing
        assert found
        missing -= found
        yield {name: chosen[name] for name in values}


def sorted_text(pair: frozenset[tuple[str, Any]]) -> list[str]:
    return sorted(map(repr, pair))
