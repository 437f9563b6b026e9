"""Ranks of vertices: PageRank and Katz centrality."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.device import device_errors
from pyapsp.dynamic.calls import Run
from pyapsp.dynamic.rows import Rows, RowsLike, rows_of
from pyapsp.graph import validation

__all__ = ["katz", "pagerank"]


def pagerank(
    graph: RowsLike, *, damping: float = 0.85, tolerance: float = 1e-6, limit: int = 100
) -> NDArray[np.float32]:
    """Return the PageRank of every vertex, from edges without weights; their sum is 1.

    Parameters
    ----------
    graph : Hornet, CsrRows or graph-like
        A directed one is reversed first, on the host.
    damping : float
        In [0, 1].
    tolerance : float
        The iteration ends if the sum of all changes is at most this.
    limit : int
        The most iterations.

    Returns
    -------
    (n,) float32 ndarray
        0 for deleted vertices.

    Source: L. Page, S. Brin, R. Motwani, T. Winograd, The PageRank citation ranking, Stanford 1999.
    """
    rows = rows_of(graph, weights=False)
    damping = validation.probability("damping", "pagerank", damping)
    limit = validation.integer("limit", "pagerank", limit, 1)
    if not validation.is_real(tolerance) or not tolerance >= 0:
        raise ParameterError.of("tolerance", "pagerank", "a number of at least 0", tolerance)
    count = int(np.count_nonzero(rows.there))
    if count == 0:
        return np.zeros(rows.n, np.float32)
    with device_errors(rows.device, 12 * rows.n):
        ranks = _Ranks(rows, whole=False)
        _, hanging = ranks.renew(1 / count, 0)
        for _ in range(limit):
            ranks.give()
            change, hanging = ranks.renew((1 - damping + damping * hanging) / count, damping)
            if change <= tolerance:
                break
        return ranks.fetch()


def katz(
    graph: RowsLike,
    *,
    alpha: float = 0.1,
    beta: float = 1.0,
    tolerance: float = 1e-6,
    limit: int = 1000,
) -> NDArray[np.float32]:
    """Return the Katz centrality of every vertex, from edges without weights.

    It is the x with x = alpha A' x + beta, where A' is the transpose of the adjacency matrix.

    Source: L. Katz, Psychometrika 18, 1953, doi:10.1007/BF02289026.

    Parameters
    ----------
    graph : Hornet, CsrRows or graph-like
        A directed one is reversed first, on the host.
    alpha : float
        Positive, and less than the reciprocal of the largest eigenvalue of A.
    beta : float
        Positive.
    tolerance : float
        The iteration ends if the sum of all changes is at most this part of the sum of all values.
    limit : int
        The most iterations.

    Returns
    -------
    (n,) float32 ndarray
        Scaled to a Euclidean length of 1. 0 for deleted vertices.

    Raises
    ------
    ParameterError
        The values do not settle: alpha is too large for this graph, or the limit too small.
    """
    rows = rows_of(graph, weights=False)
    limit = validation.integer("limit", "katz", limit, 1)
    for name, value in (("alpha", alpha), ("beta", beta), ("tolerance", tolerance)):
        if not validation.is_real(value) or not 0 < value < np.inf:
            raise ParameterError.of(name, "katz", "a positive number", value)
    if not rows.there.any():
        return np.zeros(rows.n, np.float32)
    with device_errors(rows.device, 12 * rows.n):
        ranks = _Ranks(rows, whole=True)
        ranks.renew(beta, 0)
        for _ in range(limit):
            ranks.give()
            change, whole = ranks.renew(beta, alpha)
            if not np.isfinite(change + whole) or change <= tolerance * whole:
                break
        ranked = ranks.fetch().astype(float)
    length = np.linalg.norm(ranked)
    if not (np.isfinite(change + whole + length) and change <= tolerance * whole):
        rule = f"so small that the values settle in {limit} iterations"
        raise ParameterError.of("alpha", "katz", rule, alpha)
    scaled: NDArray[np.float32] = (ranked / length).astype(np.float32)
    return scaled


class _Ranks:
    """Ranks that vertices give to their neighbours."""

    def __init__(self, rows: Rows, *, whole: bool) -> None:
        self._rows, self._whole = rows, np.int32(whole)
        self._run = self._givers = run = Run(rows, rows.program())
        if not rows.symmetric:
            entering = rows.reversed()
            self._givers = Run(entering, entering.program())
        self._rank, self._given = (run.filled(0, rows.n, np.float32) for _ in range(2))
        self._share = run.buffer(4 * rows.n)
        self._groups = min(-(-rows.n // rows.group), rows.items // rows.group)
        self._sums = run.buffer(8 * self._groups)

    def give(self) -> None:
        """Add up what the neighbours of each vertex give, always in the same order."""
        self._givers.over_rows("rows_sum", self._share, self._given)

    def renew(self, base: float, factor: float) -> tuple[float, float]:
        """Make new ranks; return the sum of the changes, and that of the ranks without neighbours.

        With `whole` the second sum is that of all ranks.
        """
        rows = self._rows
        sizes = np.int32(rows.n), np.float32(base), np.float32(factor), self._whole
        own = self._given, self._rank, self._share, self._sums
        self._run.launch("rows_rank", rows.n, *own, *sizes, *rows.arguments())
        parts = self._run.fetch(self._sums, 2 * self._groups, np.float32).astype(float)
        return parts[::2].sum(), parts[1::2].sum()

    def fetch(self) -> NDArray[np.float32]:
        """Return the ranks."""
        return self._run.fetch(self._rank, self._rows.n, np.float32)
