"""Host memory that a CPU device uses as a buffer."""

from __future__ import annotations

import pytest

from pyapsp.base import host
from pyapsp.errors import HostMemoryError


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


def test_an_array_that_the_host_cannot_hold_is_refused(monkeypatch):
    with pytest.raises(HostMemoryError, match="which the host does not have"):
        host.aligned((2**59,), "uint8")
    monkeypatch.setattr(host, "installed_memory", lambda: 16 * 2**20)
    monkeypatch.setattr(host, "available_memory", lambda: 2**21)
    for size, fits in ((2**20, True), (2**21 - 128, True), (2**21, False)):
        if fits:
            assert host.aligned((size,), "uint8").size == size
        else:
            with pytest.raises(HostMemoryError, match="ask for fewer rows"):
                host.aligned((size,), "uint8")
    # the system is not asked before small arrays, which make most answers
    monkeypatch.setattr(host, "available_memory", lambda: 0)
    assert host.aligned((2**20 - 128,), "uint8").size == 2**20 - 128
