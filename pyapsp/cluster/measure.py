"""Measurements of a rank, of the network between ranks, and of the disk that they write to."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from pyapsp.all_pairs.dense.outofcore.nominal import nominal_speeds
from pyapsp.all_pairs.dense.outofcore.planner import Machine
from pyapsp.all_pairs.dense.outofcore.speeds import measure
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.all_pairs.dense.outofcore.team import limits
from pyapsp.all_pairs.dense.product import Product
from pyapsp.cluster.model import Rates
from pyapsp.cluster.ranks import Ranks
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions

__all__ = ["assumed_rates", "disk_of", "rates_of"]

# Bytes that are broadcast, and written, to measure how long it takes.
_SAMPLE, _WRITTEN = 2**25, 2**27
# The bytes a second between ranks, and the seconds of an empty message, that are assumed.
_LINK, _LATENCY = 5e9, 2e-5


def rates_of(
    ranks: Ranks, product: Product, options: AllPairsOptions, n: int
) -> tuple[Rates, Machine]:
    """Return the rates of this rank, while all measure theirs; less than a second.

    Parameters
    ----------
    ranks : Ranks
    product : Product
        Built for the device.
    options : AllPairsOptions
    n : int
        Vertices.
    """
    memory, largest = limits(options.device, options)
    rows = max(1, min(n, _SAMPLE // (n * options.dtype.itemsize)))
    with Matrix(np.zeros((rows, n), options.dtype), first=0) as sample:
        ranks.barrier()
        speeds = measure(options.device, product, sample, memory)
    link, latency = _link_of(ranks)
    rates = Rates(
        speeds.product,
        speeds.up,
        speeds.down,
        2 / (1 / speeds.read + 1 / speeds.write),
        link,
        latency,
        float("inf"),
        memory,
        product.unit,
        speeds.shared,
    )
    # two workers share the memory
    return rates, Machine(product, speeds, memory // 2, largest)


def assumed_rates(measured: Rates, graph: Graph, options: AllPairsOptions) -> Rates:
    """Return the rates of a rank with nominal speeds instead of measured ones."""
    speeds = nominal_speeds(options.device, graph, options)
    return replace(
        measured,
        product=speeds.product,
        up=speeds.up,
        down=speeds.down,
        host=speeds.read,
        link=_LINK,
        latency=_LATENCY,
    )


def _link_of(ranks: Ranks) -> tuple[float, float]:
    """Return the bytes a second from rank to rank, and the seconds of an empty broadcast."""
    if ranks.size == 1:
        return float("inf"), 0.0

    def seconds(part: np.ndarray) -> float:
        ranks.barrier()
        started = time.perf_counter()
        ranks.broadcast(part)
        return ranks.largest(time.perf_counter() - started)

    sample = np.zeros(_SAMPLE, np.uint8)
    taken = ranks.tune(lambda: seconds(sample))
    latency = min(seconds(sample[:1]) for _ in range(2))
    travelled = sample.nbytes * 2 * (ranks.size - 1) / ranks.size
    return travelled / max(taken - latency, 1e-9), latency


def disk_of(ranks: Ranks, folder: str | os.PathLike[str]) -> float:
    """Return the bytes a second that each rank writes to a folder while all write."""
    sample = np.ones(_WRITTEN, np.uint8)
    with TemporaryFile(dir=Path(folder)) as file:
        ranks.barrier()
        started = time.perf_counter()
        file.write(sample.data)
        file.flush()
        os.fsync(file.fileno())
        return sample.nbytes / (time.perf_counter() - started)
