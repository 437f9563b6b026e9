"""The argument ``comm`` of the summaries, and what they need of the processes behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import numpy as np

from pyapsp.all_pairs.sparse.session import Session
from pyapsp.all_pairs.sparse.totals import Totals
from pyapsp.paths import AllPairsOptions
from pyapsp.registry.ranks import on_ranks

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Team", "shared", "team_of"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Team(ABC):
    """Processes that share the sources of a summary; all of them have the same graph.

    Attributes
    ----------
    rank : int
        The number of this process.
    size : int
        The number of processes.
    """

    rank: int
    size: int

    @abstractmethod
    def same(self, **values: object) -> None:
        """Raise an error on all processes if one has other values."""

    @abstractmethod
    def share(self, value: _R) -> _R:
        """Return the value of process 0."""

    @abstractmethod
    def added(self, sums: np.ndarray) -> np.ndarray:
        """Return the sum of the arrays of all processes, added in their order."""

    @abstractmethod
    def part(self, options: AllPairsOptions, n: int) -> AllPairsOptions:
        """Return the options to plan with: blocks so small that each process has some."""

    @abstractmethod
    def totals(
        self,
        session: Session,
        places: np.ndarray,
        width: float | None,
        tell: Callable[[int, int], None] | None,
    ) -> Iterator[tuple[slice, Totals]]:
        """Yield the sums over rows that one process would yield, in the same order, on all."""


def team_of(comm: MPI.Comm | Team | None) -> Team | None:
    """Return the team that a function has got from `shared`."""
    assert comm is None or isinstance(comm, Team)
    return comm


def shared(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a function of a graph with the keyword ``comm`` run on the ranks of a communicator.

    It is called with a `Team` in place of the communicator.
    """

    @wraps(function)
    def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
        comm = options.get("comm")
        if comm is None or isinstance(comm, Team):
            return function(*arguments, **options)
        return cast("_R", on_ranks("summary")(comm, function, arguments, options))

    return call
