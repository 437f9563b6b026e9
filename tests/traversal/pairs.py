"""Combinations of values such that every two values of different names occur together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np


def pairwise(
    values: Mapping[str, Sequence[Any]], legal: Callable[[dict[str, Any]], bool]
) -> Iterator[dict[str, Any]]:
    """Yield legal sets that together have every pair which a legal set has; always the same ones.

    The set with the most new pairs comes next; of equal ones the first in a pseudo-random order.
    """
    names = list(values)
    sets = [dict(zip(names, each, strict=True)) for each in product(*values.values())]
    sets = [each for each in sets if legal(each)]
    shuffled = [sets[place] for place in np.random.default_rng(0).permutation(len(sets))]
    pairs = [set(combinations(each.items(), 2)) for each in shuffled]
    missing = set().union(*pairs)
    while missing:
        best = max(range(len(pairs)), key=lambda number: len(pairs[number] & missing))
        missing -= pairs[best]
        yield shuffled[best]
