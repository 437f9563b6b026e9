"""The rates of the slowest rank, for the command that predicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pyapsp.all_pairs.dense.outofcore.team import product_for
from pyapsp.cluster.devices import own_device
from pyapsp.cluster.measure import disk_of, rates_of
from pyapsp.cluster.model import Rates, slowest
from pyapsp.cluster.ranks import Ranks
from pyapsp.device import DeviceLike
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions

__all__ = ["measured"]


def measured(ranks: Ranks, n: int, dtype: np.dtype, device: DeviceLike, folder: str) -> Rates:
    """Return the rates of the slowest rank.

    Parameters
    ----------
    ranks : Ranks
    n : int
        Vertices.
    dtype : numpy.dtype
    device : optional
        As for `pyapsp.solve`.
    folder : str
        A file is written there for a moment.
    """
    own = own_device(ranks, device)
    options = AllPairsOptions(own.device, dtype, memory_limit=own.memory)
    product = product_for(Graph.from_arcs(n, [], []), options)
    rates, _ = rates_of(ranks, product, options, n)
    return slowest(ranks.all(replace(rates, disk=disk_of(ranks, folder))))
