"""The comparison of an answer of int32 values with the expected ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pyapsp.registry import Answer, Check

__all__ = ["Comparison", "compared"]

#: Compares an answer.
Comparison: TypeAlias = Callable[[Answer], Check]


def compared(expected: np.ndarray, name: str, place: str, oracle: str) -> Comparison:
    """Return a function that compares an answer.

    Parameters
    ----------
    expected : ndarray
    name : str
        The attribute of the answer with its values, in the plural.
    place : str
        The text of a fault before the wrong value, with ``{}`` for its index.
    oracle : str
        What the expected values are from.
    """

    def check(answer: Answer) -> Check:
        values, fault = getattr(answer, name), None
        if values.shape != expected.shape or values.dtype != np.int32:
            fault = f"its {name} are {values.dtype} {values.shape}"
        elif (wrong := np.flatnonzero(values != expected)).size:
            i = int(wrong[0])
            fault = f"{place.format(i)} {values[i]}, not {expected[i]}"
        return Check(fault is None, fault, oracle)

    return check
