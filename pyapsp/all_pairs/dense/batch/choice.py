"""The choice of the form for a batch."""

from __future__ import annotations

from collections.abc import Callable

from pyapsp.all_pairs.dense.batch.form import Form
from pyapsp.all_pairs.dense.batch.onegroup import OneGroup, most_vertices
from pyapsp.all_pairs.dense.batch.rounds import Rounds
from pyapsp.all_pairs.dense.floyd_warshall import FloydWarshall
from pyapsp.all_pairs.dense.fw_minplus import FwMinplus
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Method

__all__ = ["ONE_GROUP", "automatic", "maker"]

#: The form that exists only for batches.
ONE_GROUP = "fw-onegroup"
# From this number of vertices one graph uses the whole device: a GPU, or all cores of a CPU.
_LARGE_GPU, _LARGE_CPU = 4096, 1024
# Up to this number of vertices one core is faster than several, which must be started first.
_SMALL = 128


def automatic(n: int, graphs: int, options: AllPairsOptions) -> tuple[str | None, str]:
    """Choose a form for many graphs of n vertices.

    On GPUs a graph is solved in the registers of a work-group if its matrix fits there; this is the
    fastest form. Larger graphs use the product of ``fw-minplus``, all in one launch. On CPUs each
    core solves one graph after the other, if there are enough graphs for all cores, and a graph is
    not much larger than the caches of one core.

    Parameters
    ----------
    n, graphs : int
    options : AllPairsOptions

    Returns
    -------
    form : str or None
        None: one after the other by `solve`.
    reason : str
    """
    device = options.device
    if device.traits.scalar_groups:
        if n <= _SMALL or (n <= _LARGE_CPU and graphs >= device.capabilities.compute_units):
            return ONE_GROUP, "each core takes one graph after the other"
        return None, "all cores solve one graph after the other"
    if n <= most_vertices(device):
        return ONE_GROUP, "the registers of a work-group hold a graph"
    if n <= _LARGE_GPU and graphs > 1:
        return FwMinplus.id, "every launch is one for all graphs of a group"
    return None, "each graph keeps the device busy by itself"


def maker(method: str | Method, n: int, options: AllPairsOptions) -> Callable[[bool], Form] | None:
    """Return a function that builds the form; its argument tells if there are negative weights.

    Parameters
    ----------
    method : str or Method
        `ONE_GROUP`, or a method.
    n : int
    options : AllPairsOptions

    Returns
    -------
    callable or None
        None if the launches of this method do not take many graphs.
    """
    if method == ONE_GROUP:
        return lambda negative: OneGroup(n, options, negative=negative)
    if not (isinstance(method, FloydWarshall) and method.batched):
        return None
    if isinstance(method, FwMinplus):
        method = FwMinplus(**{**_tiles(n), **method.parameters})
        if method.parameters["form"] != "tiles" or method.parameters["ahead"]:
            return None
    of_method = method
    return lambda negative: Rounds(of_method, n, options, negative=negative)


def _tiles(n: int) -> dict[str, int | str]:
    """Return the parameters of a product of many small matrices."""
    chosen: dict[str, int | str] = {"form": "tiles", "ahead": 0, "separate": 0}
    wide, narrow = (-(-n // tile) * tile for tile in (128, 64))
    # if the usual tiles are mostly padding, smaller ones are faster
    return {**chosen, "tile": 64} if wide**3 > 1.5 * narrow**3 else chosen
