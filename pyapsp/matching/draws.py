"""Random draws of the reference: the functions of ``cl/matching/draws.h``, compiled by Numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.compiled import compiled
from pyapsp.base.errors import CapabilityError

try:
    import numba  # noqa: F401
except ImportError:  # pragma: no cover
    raise CapabilityError(
        "method='reference' needs Numba; install the extra 'matching' of pyapsp"
    ) from None

__all__ = ["ZERO", "fixed_log2", "philox", "raced"]

_BITS = 28
#: The logarithm of 0.
ZERO = -(1024 << _BITS)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@compiled
def philox(item: int, step: int, chain: np.int64, purpose: int, seed: np.uint64) -> np.int64:
    """Return the number of an item."""
    a, b, c, d = np.uint64(item), np.uint64(step), np.uint64(chain), np.uint64(purpose)
    k, m = np.uint64(seed) & _LOW, np.uint64(seed) >> _HALF
    for _ in range(10):
        first = np.uint64(0xD2511F53) * a
        second = np.uint64(0xCD9E8D57) * c
        a = (second >> _HALF) ^ b ^ k
        b = second & _LOW
        c = (first >> _HALF) ^ d ^ m
        d = first & _LOW
        k = (k + np.uint64(0x9E3779B9)) & _LOW
        m = (m + np.uint64(0xBB67AE85)) & _LOW
    return np.int64(a)


@compiled
def fixed_log2(x: np.int64 | int, table: NDArray[np.uint32]) -> np.int64:
    """Return log2 of x with 28 bits after the point; a very small number for 0."""
    if x == 0:
        return np.int64(ZERO)
    power, rest = 0, x
    for shift in (32, 16, 8, 4, 2, 1):
        if rest >> shift:
            rest >>= shift
            power += shift
    part = (x << (32 - power) if power <= 32 else x >> (power - 32)) - (1 << 32)
    at, rest = part >> 22, part & 0x3FFFFF
    low = np.int64(table[at])
    return (power << _BITS) + low + ((np.int64(table[at + 1]) - low) * rest >> 22)


@compiled
def raced(weight: np.int64, power: int, number: np.int64, table: NDArray[np.uint32]) -> np.int64:
    """Return the key of an item; the largest wins."""
    waiting = (33 << _BITS) - fixed_log2(2 * number + 1, table)
    return power * weight - (fixed_log2(waiting, table) << 8)
