"""Sweeps of the paper, and one of ours, written with the public names of `pyapsp.sweep` only.

Each module has ``sweep``, which makes the `Sweep`, ``inputs``, which makes arguments for it, and a
function for the right results.
"""

from pyapsp.sweep.applications import (
    gaussian_filter,
    joint_histogram,
    neural_network,
    ode_ensemble,
    shortest_paths,
)

__all__ = ["gaussian_filter", "joint_histogram", "neural_network", "ode_ensemble", "shortest_paths"]
