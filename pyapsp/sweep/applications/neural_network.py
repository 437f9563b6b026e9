"""NN: recognition of handwritten digits by a convolutional network, one image for each task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pyapsp.sweep import Array, Step, Sweep

__all__ = ["inputs", "reference", "sweep"]

_ARRAYS = (
    Array("image", "input", np.float32, (29, 29)),
    Array("weights1", "common", np.float32, (6, 26)),
    Array("weights2", "common", np.float32, (50, 6, 26)),
    Array("weights3", "common", np.float32, (100, 1251)),
    Array("weights4", "common", np.float32, (10, 101)),
    Array("maps", "scratch", np.float32, (6, 13, 13)),
    Array("small", "scratch", np.float32, (50, 5, 5)),
    Array("hidden", "scratch", np.float32, 100),
    Array("scores", "output", np.float32, 10),
)
_STEPS = (
    Step("first_layer", (13, 13, 6), stage=["weights1"]),
    Step("second_layer", (5, 5, 50)),
    Step("third_layer", 100),
    Step("fourth_layer", 10, stage=["weights4"]),
)


def sweep(**options: Any) -> Sweep:
    """Return the sweep with inputs ``image`` and weights, and the ``scores`` of ten digits.

    Parameters
    ----------
    **options
        Options of `Sweep`.
    """
    return Sweep(Path("sweep/neural_network.cl"), _ARRAYS, _STEPS, **options)


def inputs(tasks: int, *, seed: int = 0) -> dict[str, np.ndarray]:
    """Return random images, and weights that keep the neurons out of saturation."""
    rng = np.random.default_rng(seed)
    arrays = {"image": rng.random((tasks, 29, 29), np.float32)}
    for array in _ARRAYS:
        if array.role == "common":
            inward = array.size / array.shape[0]
            arrays[array.name] = rng.normal(0, inward**-0.5, array.shape).astype(array.dtype)
    return arrays


def reference(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the right outputs of the sweep, computed by NumPy in double precision."""
    values = {name: array.astype(np.float64) for name, array in arrays.items()}

    def activation(sums: np.ndarray) -> np.ndarray:
        return np.asarray(1.7159 * np.tanh(2 / 3 * sums))

    def convolved(maps: np.ndarray, weights: np.ndarray) -> np.ndarray:
        windows = np.lib.stride_tricks.sliding_window_view(maps, (5, 5), (2, 3))[:, :, ::2, ::2]
        kernels = weights[..., 1:].reshape(*weights.shape[:-1], 5, 5)
        sums = np.einsum("tbyxij,mbij->tmyx", windows, kernels, optimize=True)
        return np.asarray(sums + weights[..., 0].sum(1)[:, None, None])

    maps = activation(convolved(values["image"][:, None], values["weights1"][:, None]))
    small = activation(convolved(maps, values["weights2"]))
    neurons = small.reshape(len(small), -1)
    for weights in (values["weights3"], values["weights4"]):
        neurons = activation(neurons @ weights[:, 1:].T + weights[:, 0])
    return {"scores": neurons}
