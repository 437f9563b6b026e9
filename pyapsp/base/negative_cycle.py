"""The error of a negative cycle; in its own module, because the import of its base takes long."""

from __future__ import annotations

from collections.abc import Hashable

from scipy.sparse.csgraph import NegativeCycleError as SciPyNegativeCycleError

from pyapsp.base.error import PyApspError

__all__ = ["NegativeCycleError"]


class NegativeCycleError(PyApspError, SciPyNegativeCycleError):  # type: ignore[misc]
    """The graph has a cycle of negative weight, so shortest paths do not exist.

    Parameters
    ----------
    cycle : list of int
        The vertices of one such cycle in order, the first one repeated at the end.
    weight : int or float
        The sum of the weights along it.
    labels : list, optional
        The names of these vertices in the file the graph came from, for the message.
    """

    __module__ = "pyapsp.errors"

    def __init__(
        self, cycle: list[int], weight: float, labels: list[Hashable] | None = None
    ) -> None:
        self.cycle = cycle
        self.weight = weight
        shown = [str(label) for label in (labels if labels is not None else cycle)]
        if len(shown) > 12:
            shown = [*shown[:11], f"… {len(shown) - 12} more …", shown[-1]]
        super().__init__(f"negative cycle of weight {weight}: {' -> '.join(shown)}")
