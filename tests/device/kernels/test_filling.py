"""Buffers filled with a value by commands, and by a kernel where commands do not reach."""

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.device.kernels import fill, filling


@pytest.mark.parametrize("counted", [2**31, 100], ids=["command", "kernel"])
@pytest.mark.parametrize("dtype", ["uint16", "int32", "float32", "float64", "int64"])
@pytest.mark.parametrize(("first", "last"), [(0, None), (0, 1), (37, 301), (200, 200), (999, 1000)])
def test_values_of_a_range(first, last, dtype, counted, device, monkeypatch):
    monkeypatch.setattr(filling, "_COUNTED", counted)
    monkeypatch.setattr(filling, "_FILLED", 128)
    monkeypatch.setattr(filling, "_ITEMS", 128)  # each sets several
    queue, values = device.queue(), np.arange(1000, dtype=dtype)
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, values.nbytes)
    cl.enqueue_copy(queue, buffer, values)
    if counted == 100 and (last is None or last > counted):
        monkeypatch.setattr(cl, "enqueue_fill_buffer", None)
    fill(device, queue, buffer, values.dtype.type(60_000), first, last)
    found = np.empty_like(values)
    cl.enqueue_copy(queue, found, buffer)
    values[first:last] = 60_000
    np.testing.assert_array_equal(found, values)
