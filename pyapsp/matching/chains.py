"""Which chains of a search run, and which run again: the same for the device and the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pyapsp.matching.options import MOST_MATCHES, Options

__all__ = ["run_chains"]


def run_chains(
    matches: Sequence[NDArray[np.int32]],
    options: Options,
    run: Callable[[NDArray[np.int32], int, Options], None],
) -> None:
    """Run all chains, and again those whose match is that of an earlier chain of their query.

    Whether a chain runs again depends on earlier chains of the same query only. So a query has the
    same matches alone as among others, and the first ones do not depend on K.

    Parameters
    ----------
    matches : sequence of (K, nodes) int32 ndarray
        One array for each query.
    options : Options
    run : callable
        Runs chains, and writes their matches. Its arguments are the chains, rows of an int32 array
        with the numbers of a query and of a chain; what to add to the number of a chain for random
        numbers of its own; and the options.
    """
    again: list[Sequence[int]] = [range(options.matches) for _ in matches]
    for attempt, chosen in enumerate(options.attempts):
        work = [(query, chain) for query, chains in enumerate(again) for chain in chains]
        if not work:
            break
        run(np.array(work, np.int32), attempt * MOST_MATCHES, chosen)
        again = [
            _repeats(rows) if chains else [] for rows, chains in zip(matches, again, strict=True)
        ]


def _repeats(matches: NDArray[np.int32]) -> list[int]:
    """Return the rows that are equal to an earlier one."""
    first: dict[bytes, int] = {}
    # nodes without a partner have different negative numbers
    rows = np.maximum(matches, -1)
    return [
        number
        for number, row in enumerate(rows)
        if first.setdefault(row.tobytes(), number) != number
    ]
