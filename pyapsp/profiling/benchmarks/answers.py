"""Answers of benchmarks: where they differ from what is expected."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

__all__ = ["difference", "read_back"]


def read_back(queue: cl.CommandQueue, buffer: cl.Buffer, count: int) -> np.ndarray:
    """Copy the first `count` 32-bit words of a buffer to the host."""
    values = np.empty(count, np.uint32)
    cl.enqueue_copy(queue, values, buffer)
    return values


def difference(answers: np.ndarray, expected: np.ndarray) -> str | None:
    """Say where an answer is wrong; None if it is right.

    Parameters
    ----------
    answers, expected : (n,) ndarray
    """
    wrong = answers != expected
    if not wrong.any():
        return None
    first = int(wrong.argmax())
    return f"place {first} has {answers[first]}, and not {expected[first]}"
