"""What must come of a call: distances by brute force, the errors for which there is a reason."""

from __future__ import annotations

import numpy as np

from pyapsp import errors
from pyapsp.numbers.precision import infinity

ENOUGH = 10**8  # bytes of device memory for any of these graphs


def shortest(n: int, arcs: dict) -> np.ndarray | None:
    """Return all distances; None if there is a negative cycle."""
    found = np.full((n, n), np.inf)
    for (i, j), weight in arcs.items():
        found[i, j] = weight
    for i in range(n):
        found[i, i] = min(found[i, i], 0)
    for k in range(n):
        np.minimum(found, found[:, k, None] + found[None, k], out=found)
    return None if np.any(np.diagonal(found) < 0) else found


def resolved(options: dict) -> np.dtype | None:
    """Return the type of the answer; None if it may be any."""
    dtype = options.get("dtype")
    if dtype is None:
        out = options.get("out")
        return np.dtype(np.float64) if out is None else out.dtype
    return None if dtype == "auto" else np.dtype(dtype)


def rounding(n: int, arcs: dict, dtype: np.dtype, *, exact: bool) -> float:
    """Return what n roundings can do, relative to the largest distance; exact: quarters at most."""
    if dtype.kind in "iu":
        return 0.0
    largest = 4 * max((abs(each) for each in arcs.values()), default=0) * n
    if exact and largest < 2 ** (np.finfo(dtype).nmant + 1):
        return 0.0
    return 4 * (n + 1) * float(np.finfo(dtype).eps)


def reasons_for(n: int, arcs: dict, method, options: dict) -> dict[type[Exception], bool]:
    """Return the errors for which there is a reason, and whether one must come.

    Parameters
    ----------
    n : int
    arcs : dict
        (tail, head) -> weight, both ways if the graph is undirected.
    method : type of Method or None
        None is "auto".
    options : dict
        Of `solve`.
    """
    weights = list(arcs.values())
    whole, negative = all(int(each) == each for each in weights), min(weights, default=0) < 0
    heaviest = max(map(abs, weights), default=0)
    longest = heaviest * max(n, 2)
    device, kind = options["device"], resolved(options)
    leader = device[0] if isinstance(device, list) else device
    found: dict[type[Exception], bool] = {}

    def because(holds: bool, error: type[Exception], *, certain: bool = True) -> None:
        if holds:
            found[error] = found.get(error, False) or certain

    because(shortest(n, arcs) is None, errors.NegativeCycleError)
    little = options.get("memory_limit", ENOUGH) < ENOUGH
    because(little, errors.DeviceMemoryError, certain=False)
    if method is not None:
        needs = method.requires
        because(needs.non_negative and negative, errors.NegativeWeightError)
        because(needs.integer and not whole, errors.PrecisionError)
        because(needs.unweighted and any(each != 1 for each in weights), errors.GraphError)
        because(leader is not device and not method.multidevice, errors.CapabilityError)
        because("checkpoint" in options and not method.outofcore, errors.CapabilityError)
        for each in needs.capabilities:
            because(not getattr(leader.capabilities, each), errors.CapabilityError)
        if needs.largest_distance is not None:
            because(longest > needs.largest_distance, errors.PrecisionError, certain=False)
    if kind is not None and kind.kind in "iu":
        because(not whole or heaviest >= infinity(kind), errors.PrecisionError)
        because(kind.kind == "u" and negative, errors.PrecisionError)
        because(longest >= infinity(kind), errors.PrecisionError, certain=False)
    elif kind is not None:
        because(kind == np.float16, errors.CapabilityError, certain=False)
        because(longest >= float(np.finfo(kind).max), errors.PrecisionError, certain=False)
        rounded = any(
            isinstance(each, int) and abs(each) > 2 ** (np.finfo(kind).nmant + 1)
            for each in weights
        )
        because(rounded, errors.PrecisionError, certain=False)
    return found
