"""ODE: trajectories of a dynamical system for many initial states and parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.base.errors import ParameterError
from pyapsp.sweep import Array, Step, Sweep

__all__ = ["METHODS", "SYSTEMS", "inputs", "right_hand_side", "sweep"]

#: The systems: variables, and the names of the parameters.
SYSTEMS: dict[str, tuple[int, tuple[str, ...]]] = {
    "lorenz": (3, ("sigma", "rho", "beta")),
    "van-der-pol": (2, ("mu",)),
}
#: The methods: with a fixed step size, or with step sizes that keep errors within tolerances.
METHODS = {"rk4": "runge_kutta", "dopri5": "dormand_prince"}


def sweep(
    system: str,
    method: str = "dopri5",
    *,
    samples: int = 1,
    dtype: DTypeLike = np.float32,
    **options: Any,
) -> Sweep:
    """Return the sweep with states and parameters as inputs and states at later times as outputs.

    The inputs are ``start`` (variables) and ``parameters``. The common arrays are ``times``, the
    time of the start and of each sample; ``steps``, for "rk4" the number of steps between two
    samples, for "dopri5" the largest number of all steps; and ``tolerances``, relative and
    absolute. The outputs are ``states`` (samples, variables) and ``evaluations``, the number of
    evaluations of the right-hand side. If "dopri5" needs more steps, ``evaluations`` is -1 and the
    remaining states are NaN.

    Parameters
    ----------
    system : {"lorenz", "van-der-pol"}
    method : {"rk4", "dopri5"}
    samples : int
    dtype : dtype-like
        float32 or float64.
    **options
        Options of `Sweep`.
    """
    if system not in SYSTEMS:
        raise ParameterError.of("system", "ode_ensemble", f"one of {', '.join(SYSTEMS)}", system)
    if method not in METHODS:
        raise ParameterError.of("method", "ode_ensemble", f"one of {', '.join(METHODS)}", method)
    real = np.dtype(dtype)
    if real.name not in ("float32", "float64"):
        raise ParameterError.of("dtype", "ode_ensemble", "float32 or float64", dtype)
    variables, parameters = SYSTEMS[system]
    arrays = (
        Array("start", "input", real, variables),
        Array("parameters", "input", real, len(parameters)),
        Array("times", "common", real, samples + 1),
        Array("steps", "common", np.int32),
        Array("tolerances", "common", real, 2),
        Array("states", "output", real, (samples, variables)),
        Array("evaluations", "output", np.int32),
    )
    defines = {
        "PYAPSP_REAL": "float" if real == np.float32 else "double",
        "PYAPSP_MASK": "int" if real == np.float32 else "long",
        "PYAPSP_SYSTEM": list(SYSTEMS).index(system),
        "PYAPSP_SAMPLES": samples,
    }
    body, step = Path("sweep/ode_ensemble.cl"), Step(METHODS[method])
    return Sweep(body, arrays, step, defines=defines, **{"vectors": True} | options)


def inputs(
    system: str,
    tasks: int,
    *,
    times: tuple[float, ...] = (0.0, 1.0),
    steps: int = 100,
    tolerances: tuple[float, float] = (1e-4, 1e-6),
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """Return random states and parameters near the usual ones, in double precision."""
    rng = np.random.default_rng(seed)
    if system == "lorenz":
        start = rng.normal((1, 1, 20), 2, (tasks, 3))
        parameters = np.column_stack(
            [np.full(tasks, 10.0), np.linspace(0, 50, tasks), np.full(tasks, 8 / 3)]
        )
    else:
        start = rng.uniform(-2, 2, (tasks, 2))
        parameters = np.linspace(0.1, 5, tasks)[:, None]
    return {
        "start": start,
        "parameters": parameters,
        "times": np.array(times),
        "steps": np.array(steps),
        "tolerances": np.array(tolerances),
    }


def right_hand_side(system: str, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the slopes of states y with parameters p; variables on the last axis."""
    if system == "lorenz":
        (x, y_, z), (sigma, rho, beta) = np.moveaxis(y, -1, 0), np.moveaxis(p, -1, 0)
        return np.stack([sigma * (y_ - x), x * (rho - z) - y_, x * y_ - beta * z], -1)
    x, v = np.moveaxis(y, -1, 0)
    return np.stack([v, p[..., 0] * (1 - x * x) * v - x], -1)
