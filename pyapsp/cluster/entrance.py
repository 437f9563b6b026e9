"""The argument ``comm`` of functions that give every rank the same answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from pyapsp.cluster.devices import own_device
from pyapsp.cluster.ranks import Ranks
from pyapsp.graph import as_graph

__all__ = ["on_ranks"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def on_ranks(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a function of a graph with the keyword ``comm`` run on the ranks of a communicator.

    The function is called with the graph of rank 0, the device of each rank, and `Ranks` in place
    of the communicator. Rank 0 alone tells of progress.
    """

    @wraps(function)
    def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
        comm: Any = options.get("comm")
        if comm is None or isinstance(comm, Ranks):
            return function(*arguments, **options)
        with Ranks(comm) as ranks:
            told: dict[str, Any] = dict(options)
            given = list(arguments)
            graph = given.pop(0) if given else told.pop("graph")
            graph = ranks.share(as_graph(graph, copy=False) if ranks.rank == 0 else None)
            own = own_device(ranks, told.get("device"))
            limit = own.limit(told.get("memory_limit"))
            told |= {"device": own.device, "memory_limit": limit}
            told["comm"] = ranks
            if ranks.rank > 0:
                told.pop("progress", None)
            untyped: Callable[..., _R] = function
            return untyped(graph, *given, **told)

    return call
