"""Check the arguments of a container."""

from __future__ import annotations

from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.graph import validation

__all__ = ["logarithm", "vertex_there"]


def vertex_there(parameter: str, owner: str, value: SupportsIndex, there: NDArray[np.bool_]) -> int:
    """Return the number of a vertex, given which numbers are vertices.

    Raises
    ------
    ParameterError
        It is no vertex, or it was deleted.
    """
    number = validation.vertex(parameter, owner, value, there.size)
    if not there[number]:
        raise ParameterError.of(parameter, owner, "a vertex that is not deleted", number)
    return number


def logarithm(parameter: str, value: int, low: int, high: int) -> int:
    """Return the binary logarithm of an argument that must be a power of two."""
    number = validation.integer(parameter, "Hornet", value, 1, high)
    if number & (number - 1) or number < low:
        raise ParameterError.of(parameter, "Hornet", "a power of two", value)
    return number.bit_length() - 1
