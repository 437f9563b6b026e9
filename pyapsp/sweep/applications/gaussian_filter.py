"""GF: a separable Gaussian filter of 17 coefficients, one image for each task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from pyapsp.sweep import Array, Step, Sweep

__all__ = ["RADIUS", "inputs", "reference", "sweep"]

RADIUS = 8


def sweep(shape: tuple[int, int], **options: Any) -> Sweep:
    """Return the sweep with the inputs ``image`` and ``coefficients`` and the output ``result``.

    Parameters
    ----------
    shape : tuple of int
        Height and width of an image.
    **options
        Options of `Sweep`.
    """
    height, width = shape
    arrays = (
        Array("image", "input", np.float32, shape),
        Array("coefficients", "common", np.float32, 2 * RADIUS + 1),
        Array("rows", "scratch", np.float32, shape),
        Array("result", "output", np.float32, shape),
    )
    steps = [
        Step(name, (width, height), stage=["coefficients"])
        for name in ("along_rows", "along_columns")
    ]
    defines = {"PYAPSP_WIDTH": width, "PYAPSP_HEIGHT": height, "PYAPSP_RADIUS": RADIUS}
    return Sweep(Path("sweep/gaussian_filter.cl"), arrays, steps, defines=defines, **options)


def inputs(tasks: int, shape: tuple[int, int], *, seed: int = 0) -> dict[str, np.ndarray]:
    """Return random images, and coefficients that add up to 1."""
    rng = np.random.default_rng(seed)
    bell = np.exp(-0.5 * (np.arange(-RADIUS, RADIUS + 1) / (RADIUS / 3)) ** 2)
    return {
        "image": rng.random((tasks, *shape), np.float32),
        "coefficients": (bell / bell.sum()).astype(np.float32),
    }


def reference(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the right outputs of the sweep, computed by SciPy in double precision."""
    values = arrays["image"].astype(np.float64)
    for axis in (2, 1):
        values = ndimage.correlate1d(values, arrays["coefficients"], axis, mode="constant")
    return {"result": values}
