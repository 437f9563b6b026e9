"""How far back the accesses of a launch find their lines: which cache of a processor has them.

The cache that has a line depends on the bytes that were accessed since the line was accessed last.
Counting these takes long; their mean over all periods of the same length does not: X. Xiang, B.
Bao, C. Ding, Y. Gao, Linear-time modeling of program working set in shared cache, PACT 2011,
doi:10.1109/PACT.2011.66.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["lines_between", "working_sets"]

_Whole = NDArray[np.int64]


def lines_between(line: _Whole) -> NDArray[np.float64]:
    """Return how many lines were accessed since each access to the same line, in the mean.

    Parameters
    ----------
    line : ndarray of int64
        The line of each access, in the order of the accesses.

    Returns
    -------
    ndarray of float64
        All lines where there was no access to the line before.
    """
    order = np.argsort(line, kind="stable")
    again = np.diff(line[order], prepend=line[order][:1] - 1) == 0
    found = np.full(len(line), float(np.count_nonzero(~again)))
    periods = np.diff(order, prepend=0)[again]
    found[order[again]] = working_sets(line)[periods]
    return found


def working_sets(line: _Whole) -> NDArray[np.float64]:
    """Return how many lines 0, 1, 2 ... successive accesses are to, in the mean.

    It is the number of lines less, for each period in which a line is not accessed, the part of the
    places for so many accesses that are within the period.
    """
    number = len(line)
    order = np.argsort(line, kind="stable")
    first = np.diff(line[order], prepend=line[order][:1] - 1) != 0
    periods = np.diff(order, prepend=0)
    # before the first access to a line, between two, and after the last
    gaps = np.where(first, order, periods - 1)
    last = number - 1 - order[np.append(first[1:], True)[:number]]
    lengths = np.bincount(np.append(gaps, last), minlength=number + 1)
    # a period of so many accesses is within a longer one at (longer - length + 1) places
    longer = np.cumsum(lengths[::-1])[::-1]
    within = np.cumsum(longer[::-1])[::-1]
    length = np.arange(number + 1)
    return np.asarray(np.count_nonzero(first) - within / np.maximum(number - length + 1, 1))
