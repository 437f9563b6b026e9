"""Host memory that a CPU device uses as a buffer."""

from __future__ import annotations

import pytest

from pyapsp.base import host


@pytest.mark.parametrize("shape", [(1,), (7, 3), (129,)])
def test_new_arrays_are_aligned(shape):
    for dtype in ("float64", "int32", "uint16"):
        array = host.aligned(shape, dtype)
        assert (array.shape, array.dtype) == (shape, dtype)
        assert host.is_aligned(array)


def test_arrays_that_begin_elsewhere_or_have_gaps_are_not_aligned():
    array = host.aligned((8, 512), "float64")
    assert not host.is_aligned(array[0, 1:])
    assert not host.is_aligned(array[:, :256])
    assert not host.is_aligned(array.T)
    assert host.is_aligned(array[1:])
