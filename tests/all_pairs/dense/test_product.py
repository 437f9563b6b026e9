"""The min-plus product of rectangles, in both forms, against NumPy."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.all_pairs.dense.fw_minplus import FORMS
from pyapsp.all_pairs.dense.product import Rectangle, RightFactor
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters

SETS = {
    "panels": {"block": 64, "tile": 32, "rows": 4, "strips": 2, "unroll": 1}
    | {"group_rows": 48, "group_columns": 48},
    "tiles": {"block": 32, "tile": 32, "rows": 2, "words": 2, "group_x": 8, "group_y": 8}
    | {"slice": 8, "vector": 2, "packed": 0, "ahead": 0, "separate": 0},
}
# the rectangle: rows and columns, from which column on, in rows of how many values
ROWS, COLUMNS, COLUMN, PITCH = 64, 96, 32, 160


@pytest.fixture(params=FORMS)
def form(request, device):
    """A product in one form, built."""
    options = AllPairsOptions(device, np.dtype("int32"))
    parameters = Parameters(SETS[request.param], form=request.param, bits=0)
    if request.param == "panels":
        parameters["width"] = min(4, device.traits.lanes(4))
    assert FORMS[request.param].fits(parameters, options)
    return FORMS[request.param](options, parameters, negative=False)


@pytest.fixture
def queue(device):
    return device.queue()


def values(rows, columns, seed):
    """Draw a matrix with some entries that are infinite."""
    generator = np.random.default_rng(seed)
    drawn = generator.integers(0, 1000, (rows, columns), np.int32)
    drawn[generator.random(drawn.shape) < 0.2] = infinity(drawn.dtype)
    return drawn


def on_device(queue, array):
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(queue.context, flags, hostbuf=array)


def from_device(queue, buffer, like):
    array = np.empty_like(like)
    cl.enqueue_copy(queue, array, buffer)
    return array


@pytest.mark.parametrize("depth", [64, 128])
def test_the_product_of_rectangles(depth, form, queue):
    """The columns of a wider matrix, by columns of a wider factor, from a place in each on."""
    target, lefts = values(ROWS, PITCH, 1), values(ROWS, depth + 64, 2)
    rights, at = values(depth, 192, 3), 64
    place = Rectangle(on_device(queue, target), PITCH, ROWS, COLUMNS, COLUMN)
    left = on_device(queue, np.zeros((depth, ROWS), np.int32))
    right = RightFactor(on_device(queue, np.zeros_like(rights)), depth, 192)
    wide = Rectangle(on_device(queue, lefts), depth + 64, ROWS, depth + 64)
    form.pack_left(queue, wide.part(32, depth), left)
    for row in range(0, depth, 32):
        slab = rights[row : row + 32]
        for column in (0, 96):
            whole = Rectangle(on_device(queue, slab), 192, 32, 192)
            form.pack_right(queue, whole.part(column, 96), right.at(row, column))
    form.multiply(queue, place, left, right.at(0, at))

    sums = lefts[:, 32 : 32 + depth, None] + rights[None, :, at : at + COLUMNS]
    expected, columns = target.copy(), slice(COLUMN, COLUMN + COLUMNS)
    expected[:, columns] = np.minimum(target[:, columns], sums.min(axis=1))
    np.testing.assert_array_equal(from_device(queue, place.buffer, target), expected)


def test_what_was_packed_comes_back(form, queue):
    rights, target = values(64, 128, 4), np.full((32, PITCH), -1, np.int32)
    right = RightFactor(on_device(queue, np.zeros_like(rights)), 64, 128)
    form.pack_right(queue, Rectangle(on_device(queue, rights), 128, 64, 128), right)
    place = Rectangle(on_device(queue, target), PITCH, 32, COLUMNS, COLUMN)
    form.unpack_right(queue, right.at(32, 32), place)
    expected = target.copy()
    expected[:, COLUMN : COLUMN + COLUMNS] = rights[32:, 32:]
    np.testing.assert_array_equal(from_device(queue, place.buffer, target), expected)


def test_a_copy_leaves_the_rest_alone(form, queue):
    source, target = values(ROWS, 128, 5), np.full((ROWS, PITCH), -1, np.int32)
    place = Rectangle(on_device(queue, target), PITCH, ROWS, COLUMNS, COLUMN)
    form.copy(queue, Rectangle(on_device(queue, source), 128, ROWS, COLUMNS, 16), place)
    expected = target.copy()
    expected[:, COLUMN : COLUMN + COLUMNS] = source[:, 16 : 16 + COLUMNS]
    np.testing.assert_array_equal(from_device(queue, place.buffer, target), expected)
