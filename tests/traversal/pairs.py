"""Combinations of values such that every two values of different names occur together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any


def pairwise(
    values: Mapping[str, Sequence[Any]], legal: Callable[[dict[str, Any]], bool]
) -> Iterator[dict[str, Any]]:
    """Yield legal sets that together have every pair which a legal set has; always the same ones.

    Sets come from the product in a fixed pseudo-random order; of some hundred at a time the one
    with the most new pairs is taken.
    """
    import numpy as np

    names = list(values)
    every = [dict(zip(names, each, strict=True)) for each in product(*values.values())]
    every = [each for each in every if legal(each)]
    order = np.random.default_rng(0).permutation(len(every))
    sets = [(every[place], pairs_of(every[place])) for place in order]
    missing = set().union(*(pairs for _, pairs in sets))
    while missing:
        best = max(sets, key=lambda each: len(each[1] & missing))
        missing -= best[1]
        yield best[0]


def pairs_of(chosen: Mapping[str, Any]) -> set[tuple[tuple[str, Any], tuple[str, Any]]]:
    return set(combinations(sorted(chosen.items(), key=lambda each: each[0]), 2))
