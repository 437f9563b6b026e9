"""The bandwidth model against the numbers of the poster, and against sums done by hand."""

from __future__ import annotations

import pytest

from pyapsp.all_pairs.dense import bandwidth_model as model


def test_tiles_by_hand():
    # 3 + 5 values of 4 bytes for 15 updates of two operations
    assert model.tile_intensity(3, 5) == 30 / 32
    assert model.tile_intensity(3, 5, item_bytes=8) == 30 / 64
    assert model.required_for_tile(600.0, 3, 5) == pytest.approx(640)
    assert model.required_for_tile(600.0, 5, 3) == model.required_for_tile(600.0, 3, 5)


def test_the_tiles_of_the_poster():
    peak, cache = 1360e9, 1088e9
    sizes = [(1, 1), (1, 8), (2, 2), (2, 8), (4, 4), (4, 8), (8, 8)]
    fits = [size for size in sizes if model.required_for_tile(peak, *size) <= cache]
    assert fits == [(4, 8), (8, 8)]


def test_blocks_by_hand():
    # two blocks of 100 x 100 values of 4 bytes for 100^3 updates
    assert model.block_intensity(100) == 2 * 100**3 / (2 * 100**2 * 4)
    assert model.block_intensity(100, item_bytes=2) == 50
    assert model.required_for_block(1000.0, 100) == 40
    assert model.attainable(1000.0, 10.0, 100) == 250
    assert model.attainable(1000.0, 40.0, 100) == 1000
    assert model.attainable(1000.0, 400.0, 100) == 1000


def test_the_blocks_of_the_poster():
    blocks = range(256, 4097, 256)
    assert model.sufficient_block(1068e9, 3e9, blocks) == 1536
    assert model.attainable(1068e9, 3e9, 1536) == 1068e9
    assert model.attainable(1068e9, 3e9, 1280) < 1068e9
    assert model.sufficient_block(1068e9, 1e6, blocks) is None


def test_the_best_block_is_the_fastest_then_the_smallest():
    assert model.best_block({256: 2.0, 64: 3.0, 128: 2.0}) == 128
    assert model.best_block({64: 1.0}) == 64
