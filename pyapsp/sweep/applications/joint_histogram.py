"""JH: joint histograms of many volumes with one reference, one volume for each task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pyapsp.sweep import Array, Step, Sweep

__all__ = ["inputs", "reference", "sweep"]


def sweep(shape: tuple[int, int, int], bins: int = 256, **options: Any) -> Sweep:
    """Return the sweep with inputs ``moving`` and ``reference`` and the output ``histogram``.

    Parameters
    ----------
    shape : tuple of int
        Slices, height and width of a volume.
    bins : int
        Number of intensities; larger intensities are counted in the last bin.
    **options
        Options of `Sweep`.
    """
    slices, height, width = shape
    arrays = (
        Array("moving", "input", np.uint16, shape),
        Array("reference", "common", np.uint16, shape),
        Array("histogram", "output", np.int32, (bins, bins), fill=0),
    )
    defines = {
        "PYAPSP_WIDTH": width,
        "PYAPSP_HEIGHT": height,
        "PYAPSP_SLICES": slices,
        "PYAPSP_BINS": bins,
    }
    step = Step("count", (width, height))
    return Sweep(Path("sweep/joint_histogram.cl"), arrays, step, defines=defines, **options)


def inputs(
    tasks: int, shape: tuple[int, int, int], bins: int = 256, *, seed: int = 0
) -> dict[str, np.ndarray]:
    """Return volumes in which neighbouring intensities are similar, as in medical images."""
    rng = np.random.default_rng(seed)
    slices, height, width = shape
    z, y, x = np.ogrid[:slices, :height, :width]
    body = np.sin(z / 5) * np.sin(y * 6 / height) * np.sin(x * 6 / width)
    smooth = (body + 1) * (bins / 2 - 8)

    def noisy() -> np.ndarray:
        return np.asarray(smooth + rng.integers(0, 16, shape, np.uint16)).astype(np.uint16)

    return {"reference": noisy(), "moving": np.stack([noisy() for _ in range(tasks)])}


def reference(arrays: dict[str, np.ndarray], bins: int = 256) -> dict[str, np.ndarray]:
    """Return the right outputs of the sweep, computed by NumPy."""
    fixed = np.minimum(arrays["reference"].ravel(), bins - 1).astype(np.intp)
    counts = [
        np.bincount(
            np.minimum(volume.ravel(), bins - 1).astype(np.intp) * bins + fixed, minlength=bins**2
        ).reshape(bins, bins)
        for volume in arrays["moving"]
    ]
    return {"histogram": np.array(counts, np.int32).reshape(-1, bins, bins)}
