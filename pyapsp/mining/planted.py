"""Traces like those of table 20.2, which are not published: random ones, and planted invariants.

Traces 1 and 3 are random: every template is contradicted soon. In traces 2 and 4 all numbers differ
at every instant, the first ones are in ranges of increasing order, and the first Booleans are
constant. This gives the numbers of invariants of template set I that were published. Other Booleans
are random. A scale of the numbers makes those of set II similar.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyapsp.base.errors import ParameterError
from pyapsp.mining.trace import Trace

__all__ = ["LENGTH", "TRACES", "Recipe", "planted"]

#: Instants of the published traces.
LENGTH = 5_000_000
# Values of a range, which are _APART apart, so that each variable has its own remainder.
_LEVELS, _APART = 10_000, 64
# Values of random numbers are in +- this.
_LARGEST = 100


@dataclass(frozen=True)
class Recipe:
    """How a trace is made."""

    variables: int  # number of Boolean and of numeric variables
    # Numbers in ranges of increasing order; 0: all numbers are random.
    ordered: int
    constant: int  # constant Booleans
    scale: float  # factor of all numbers, a power of two
    published: dict[str, int]  # published number of invariants of each template set


#: The traces of table 20.2.
TRACES = {
    1: Recipe(15, 0, 0, 1, {"I": 0, "II": 0}),
    2: Recipe(15, 6, 7, 2**-3, {"I": 142, "II": 964}),
    3: Recipe(50, 0, 0, 1, {"I": 0, "II": 0}),
    4: Recipe(50, 24, 11, 2**-5, {"I": 1788, "II": 42371}),
}


def planted(number: int, n: int = LENGTH, seed: int = 0) -> Trace:
    """Make a trace of table 20.2.

    Parameters
    ----------
    number : {1, 2, 3, 4}
    n : int
        Instants.
    seed : int

    Raises
    ------
    ParameterError
        There is no such trace, or n is not positive.
    """
    if number not in TRACES:
        raise ParameterError.of("number", "planted", f"one of {tuple(TRACES)}", number)
    if n < 1:
        raise ParameterError.of("n", "planted", "positive", n)
    recipe, random = TRACES[number], np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {}
    for k in range(recipe.variables):
        if not recipe.ordered:
            drawn = random.integers(-_LARGEST, _LARGEST + 1, n, np.int32)
        else:
            within = (k, k + 1) if k < recipe.ordered else (0, recipe.ordered)
            low, high = (bound * _LEVELS for bound in within)
            drawn = random.integers(low, high, n, np.int32) * np.int32(_APART) + np.int32(k + 1)
        columns[f"x{k}"] = drawn.astype(np.float32) * np.float32(recipe.scale)
    for k in range(recipe.variables):
        bits = random.integers(0, 256, -(-n // 8), np.uint8)
        coin = np.unpackbits(bits)[:n].view(bool)
        columns[f"b{k}"] = np.full(n, k % 2 == 0) if k < recipe.constant else coin
    return Trace.of(columns, facts={"trace": number, "seed": seed})
