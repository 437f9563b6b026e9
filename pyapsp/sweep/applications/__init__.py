"""Sweeps of the paper, and one of ours, made of nothing but the public names of `pyapsp.sweep`.

Each module has ``sweep``, which makes the `Sweep`, ``inputs``, which makes arguments for it, and
what the results are checked against.
"""

from pyapsp.sweep.applications import (
    gaussian_filter,
    joint_histogram,
    neural_network,
    ode_ensemble,
    shortest_paths,
)

__all__ = [
    "gaussian_filter",
    "joint_histogram",
    "neural_network",
    "ode_ensemble",
    "shortest_paths",
]
