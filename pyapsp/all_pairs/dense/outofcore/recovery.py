"""Predecessors of distances in host memory or in a file."""

from __future__ import annotations

import numpy as np

from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.all_pairs.dense.predecessors import Recovery
from pyapsp.device import device_errors
from pyapsp.device.kernels import Stopwatch
from pyapsp.paths import AllPairsOptions

__all__ = ["recover"]


def recover(
    recovery: Recovery,
    matrix: Matrix,
    predecessors: np.ndarray,
    options: AllPairsOptions,
    largest: float,
) -> float:
    """Compute the predecessors, and return the seconds that the device took for them.

    Parameters
    ----------
    recovery : Recovery
    matrix : Matrix
        The distances.
    predecessors : (n, n) int32 ndarray
        Array for the predecessors, in memory or mapped.
    options : AllPairsOptions
    largest : float
        The largest finite distance, if they are floats.
    """
    queue, watch = options.device.queue(), Stopwatch()
    with Matrix(predecessors) as file, device_errors(options.device, sum(recovery.buffers)):
        recovery.run_slabs(queue, matrix.read, file.write, watch, largest_distance=largest)
    return watch.seconds("recovery")
