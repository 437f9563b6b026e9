"""Random numbers and logarithms of kernels and reference, and the distribution of draws."""

from __future__ import annotations

import math

import numpy as np
import pyopencl as cl
import pytest
from scipy.stats import chisquare

from pyapsp.device.kernels.program import Program
from pyapsp.device.kernels.source import flattened
from pyapsp.matching import draws, reference
from pyapsp.matching.prepared import log_table

KERNEL = """
__kernel void numbers(__global uint *out)
{
    const uint a = 0xffffffffu;
    out[0] = philox(0, 0, 0, 0, 0);
    out[1] = philox(a, a, a, a, 0xfffffffffffffffful);
    out[2] = philox(0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u, 0x299f31d0a4093822ul);
}
__kernel void logs(__global const ulong *x, __global const uint *table, __global long *out)
{
    const size_t i = get_global_id(0);
    out[2 * i] = log_or_least(x[i], table);
    out[2 * i + 1] = raced(fixed_log2(7, table), 700, (uint)x[i], table);
}
"""
# The test vectors of the authors of Philox, their first words.
VECTORS = [0x6627E8D5, 0x408F276D, 0xD16CFE09]
ALL = 2**32 - 1


@pytest.fixture(scope="module")
def program(device):
    return Program(device, flattened("matching/draws.h") + KERNEL)


def test_philox_has_the_numbers_of_its_authors(program, device):
    out = np.empty(3, np.uint32)
    buffer, queue = device.buffer(12), device.queue()
    program.kernel("numbers")(queue, (1,), None, buffer)
    cl.enqueue_copy(queue, out, buffer)
    assert out.tolist() == VECTORS
    words = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
    found = [
        draws.philox(0, 0, 0, 0, np.uint64(0)),
        draws.philox(ALL, ALL, ALL, ALL, np.uint64(2**64 - 1)),
        draws.philox(*words, np.uint64(0x299F31D0A4093822)),
    ]
    assert found == VECTORS


def test_logarithms_are_the_same_and_right(program, device):
    random = np.random.default_rng(3)
    values = np.concatenate(
        [
            np.arange(70),
            2 ** np.arange(35),
            2 ** np.arange(1, 35) - 1,
            random.integers(1, 2**34, 500),
        ]
    )
    values = values[values < 2**34].astype(np.uint64)
    queue = device.queue()
    given = [device.buffer(each.nbytes) for each in (values, log_table())]
    for buffer, array in zip(given, (values, log_table()), strict=True):
        cl.enqueue_copy(queue, buffer, array)
    out = np.empty((values.size, 2), np.int64)
    buffer = device.buffer(out.nbytes)
    program.kernel("logs")(queue, (values.size,), None, *given, buffer)
    cl.enqueue_copy(queue, out, buffer)
    for value, (log, key) in zip(values.tolist(), out.tolist(), strict=True):
        assert log == draws.fixed_log2(value, log_table())
        seven = draws.fixed_log2(7, log_table())
        assert key == draws.raced(seven, 700, value & ALL, log_table())
        assert log / 2**28 == (pytest.approx(math.log2(value), abs=1e-6) if value else -1024)


@pytest.mark.parametrize("power", [1, 3])
def test_draws_follow_the_weights(power):
    """The weights of the example of the paper."""
    weights = np.array([0.1, 0.9, 0.8, 0.2])
    scores = np.round(weights * 65536).astype(np.uint32)[None, :]
    pairs = reference.seeded(scores, np.arange(20_000), 256 * power, np.uint64(5), log_table())
    expected = weights**power / (weights**power).sum()
    found = np.bincount(pairs[:, 1], minlength=4)
    assert chisquare(found, 20_000 * expected).pvalue > 0.001


def test_rows_are_drawn_alike_and_zeros_only_among_zeros():
    scores = np.zeros((3, 50), np.uint32)
    scores[0, 7] = 1  # however small
    pairs = reference.seeded(scores, np.arange(9000), 256, np.uint64(1), log_table())
    assert chisquare(np.bincount(pairs[:, 0])).pvalue > 0.001
    assert set(pairs[pairs[:, 0] == 0, 1].tolist()) == {7}
    assert chisquare(np.bincount(pairs[pairs[:, 0] == 1, 1])).pvalue > 0.001
