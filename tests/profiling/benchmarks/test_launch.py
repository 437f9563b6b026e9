"""The empty kernel."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from pyapsp.device.kernels import build


def test_the_empty_kernel_writes_its_number_of_work_items(device):
    queue, out = device.queue(), np.zeros(1, np.int32)
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4)
    build(device, "profiling/launch.cl", {}).kernel("profiling_empty")(queue, (6,), (1,), buffer)
    cl.enqueue_copy(queue, out, buffer)
    assert out[0] == 6
