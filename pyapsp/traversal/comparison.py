"""The comparison of an answer of int32 with the expected one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyapsp.registry import Check

__all__ = ["compared"]


def compared(
    values: np.ndarray, expected: np.ndarray, name: str, place: Callable[[int], str], oracle: str
) -> Check:
    """Return the check of an answer.

    Parameters
    ----------
    values : int32 ndarray
    expected : ndarray
    name : str
        What the values are, in the plural.
    place : callable
        Returns the text of a fault before the wrong value, from its index.
    oracle : str
        What the expected values are from.
    """
    fault = None
    if values.shape != expected.shape or values.dtype != np.int32:
        fault = f"its {name} are {values.dtype} {values.shape}"
    elif (wrong := np.flatnonzero(values != expected)).size:
        i = int(wrong[0])
        fault = f"{place(i)} {values[i]}, not {expected[i]}"
    return Check(fault is None, fault, oracle)
