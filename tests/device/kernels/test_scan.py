"""Prefix sums over all groups, against NumPy."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.device.kernels.scan import Scan


@pytest.mark.parametrize(("group", "each", "warp"), [(1, 5, 1), (8, 3, 4)])
def test_sums_before_each_number(group, each, warp, device):
    scan, queue = Scan(device, group, each, warp), device.queue()
    chunk, rng = group * each, np.random.default_rng(0)
    sizes = [1, chunk - 1, chunk, chunk + 1, chunk**2 - 1, chunk**2, chunk**2 + chunk, 3000]
    for n in sizes:
        numbers = rng.integers(0, 100, n, np.int32)
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        events: list[cl.Event] = []
        sums = scan(queue, cl.Buffer(queue.context, flags, hostbuf=numbers), n, events.append)
        found = np.empty(n + 1, np.int32)
        cl.enqueue_copy(queue, found, sums)
        np.testing.assert_array_equal(found, [0, *np.cumsum(numbers)])
        # a launch for the chunks of each level, and one to add, but for the last
        levels = len(scan.buffers(n)) // 2
        assert len(events) == 2 * levels - 1
        assert scan.buffers(n)[0] == sums.size


def test_negative_numbers(device):
    scan, queue = Scan(device, 8, 2), device.queue()
    numbers = np.random.default_rng(1).integers(-100, 100, 500, np.int32)
    flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    sums = scan(queue, cl.Buffer(queue.context, flags, hostbuf=numbers), 500)
    found = np.empty(501, np.int32)
    cl.enqueue_copy(queue, found, sums)
    np.testing.assert_array_equal(found, [0, *np.cumsum(numbers)])
