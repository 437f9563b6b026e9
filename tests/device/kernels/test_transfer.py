"""Arrays whose memory a device uses as its own."""

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.device.kernels import transfer
from pyapsp.device.kernels.transfer import hand_back, in_place, read_back, shared


@pytest.mark.parametrize("n", [1, 5, 1000])
@pytest.mark.parametrize("first", [0, 1])
def test_a_shared_array_gets_what_the_device_wrote(device, n, first):
    if not in_place(device.handle):
        pytest.skip("this device has memory of its own")
    queue, values = device.queue(), np.zeros((2, n + 16), np.int32)
    arrays = [row[first : first + n] for row in values]
    buffers = [shared(queue, array) for array in arrays]
    for number in (7, 8):
        for buffer in buffers:
            cl.enqueue_fill_buffer(queue, buffer, np.int32(number), 0, 4 * n)
        hand_back(queue, buffers[0], arrays[0])
        read_back(queue, buffers[1], arrays[1])
        assert (np.array(arrays) == number).all()
    assert values.sum() == 2 * n * 8


def test_only_large_new_buffers_are_allocated_at_once(device, monkeypatch):
    moved, move = [], cl.enqueue_migrate_mem_objects

    def noted(queue, buffers, flags):
        moved.append(sum(each.size for each in buffers))
        return move(queue, buffers, flags)

    monkeypatch.setattr(cl, "enqueue_migrate_mem_objects", noted)
    half = transfer._ALLOCATED // 2
    for sizes in ([half], [half, half - 4], [half, half]):
        transfer.settled(device.queue(), *(device.buffer(size) for size in sizes))
    assert moved == [transfer._ALLOCATED]
