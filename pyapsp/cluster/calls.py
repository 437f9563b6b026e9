"""The arguments with which each rank calls a function of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from pyapsp.base.progress import of_sources
from pyapsp.cluster.devices import own_device
from pyapsp.cluster.ranks import Ranks
from pyapsp.graph import as_graph
from pyapsp.registry import check_limits

__all__ = ["all_arguments", "own_arguments"]

# Arguments of which only those of rank 0 are used, and those that may differ.
_FIRST = ("graph", "weight", "along")
_OWN = ("method", "device", "memory_limit", "progress", "out")


def all_arguments(
    function: Callable[..., object],
    arguments: Sequence[object],
    options: Mapping[str, object],
) -> dict[str, Any]:
    """Return all arguments of a call by their names, also those left out, without ``comm``."""
    bound = signature(function).bind(*arguments, **options)
    bound.apply_defaults()
    return {name: each for name, each in bound.arguments.items() if name != "comm"}


def own_arguments(
    ranks: Ranks,
    function: Callable[..., object],
    arguments: Sequence[object],
    options: Mapping[str, object],
) -> dict[str, Any]:
    """Return the arguments of a call for this rank, as `all_arguments` does.

    They are the graph of rank 0, with its weights; the device of this rank, and its part of the
    memory; and a function of the progress that also raises the error of another rank. The function
    of rank 0 is called by it.

    Parameters
    ----------
    ranks : Ranks
    function : callable
    arguments, options
        With which it was called.

    Raises
    ------
    ParameterError
        If other arguments are not those of rank 0.
    """
    given, owner = all_arguments(function, arguments, options), function.__name__
    alike = {name: each for name, each in given.items() if name not in (*_FIRST, *_OWN)}
    # the text of a function has an address, which may differ
    ranks.same(owner, **{name: owner if callable(each) else each for name, each in alike.items()})
    if ranks.rank == 0:
        given["graph"] = as_graph(given["graph"], weight=given["weight"], copy=False)
        given["weight"] = ...  # those that it has now
    # functions cannot be sent, and are of no use for a graph without names
    sent = [name for name in _FIRST if name in given and not callable(given[name])]
    given |= ranks.share({name: given[name] for name in sent})
    progress = given.get("progress")
    memory_limit = check_limits(given["memory_limit"], progress, owner)
    own = own_device(ranks, given["device"])
    given |= {"device": own.device, "memory_limit": own.limit(memory_limit)}
    if "progress" in given:
        given["progress"] = _watched(ranks, of_sources(progress) if ranks.rank == 0 else None)
    return given


def _watched(ranks: Ranks, tell: Callable[[int, int], None] | None) -> Callable[[int, int], None]:
    def watch(done: int, total: int) -> None:
        ranks.lifeline.check()
        if tell is not None:
            tell(done, total)

    return watch
