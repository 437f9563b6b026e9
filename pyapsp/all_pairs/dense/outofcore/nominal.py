"""Nominal speeds: those by which the pivots of a pass are counted.

How many pivots a pass has decides in which order sums are rounded. So their number must not depend
on speeds that were just measured: the same call must give the same bits. It follows from speeds
that the device, the input, the options and the tuning database give.
"""

from __future__ import annotations

from dataclasses import replace

from pyapsp.all_pairs.dense.fw_minplus import FwMinplus
from pyapsp.all_pairs.dense.outofcore.speeds import Speeds
from pyapsp.device import Device
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions

__all__ = ["nominal_speeds"]

# Updates a second of a device without tuning rows, by kind; bytes a second between a device with
# its own memory and the host, and between the host and a matrix in memory, or in a file.
_UPDATES, _OTHER, _BUS, _MEMORY, _FILE = {"cpu": 1e10, "gpu": 2e12}, 1e11, 5e10, 2e10, 2e9


def nominal_speeds(
    device: Device, graph: Graph, options: AllPairsOptions, *, file: bool = False
) -> Speeds:
    """Return the nominal speeds of a device.

    Parameters
    ----------
    device : Device
    graph : Graph
    options : AllPairsOptions
        The type of the distances.
    file : bool
        Whether the matrix is in a file.
    """
    alone = replace(options, device=device, helpers=(), sources=None)
    seconds = FwMinplus().predict(graph.facts, alone, graph.n)
    rate = graph.n**3 / seconds if seconds else _UPDATES.get(device.kind, _OTHER)
    bus = float("inf") if device.capabilities.unified_memory else _BUS
    matrix = _FILE if file else _MEMORY
    return Speeds(((1, rate),), bus, bus, matrix, matrix, shared=device.kind == "cpu")
