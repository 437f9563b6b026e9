"""The model: what it counts, what it prefers, what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pyapsp.all_pairs.dense.fw_minplus import FORMS, FwMinplus
from pyapsp.all_pairs.dense.outofcore import planner, team
from pyapsp.all_pairs.dense.outofcore import speeds as module
from pyapsp.all_pairs.dense.outofcore.planner import CutOptions, Machine, best_cut, predict
from pyapsp.all_pairs.dense.outofcore.shape import Shape
from pyapsp.all_pairs.dense.outofcore.speeds import Speeds, measure
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.errors import DeviceMemoryError
from pyapsp.graph import generators
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters

FAST = Speeds(((16, 1e12),), 50e9, 50e9, 40e9, 40e9, shared=False)
FREE = Speeds(((16, 1e12),), 50e9, 50e9, 1e12, 1e12, shared=False)  # of the host
UNIT = 64


@pytest.fixture
def product(device):
    options = AllPairsOptions(device, np.dtype("float32"))
    graph = generators.random_graph(100, seed=1)
    parameters, _ = FwMinplus().choose_parameters(graph, options, rows=False)
    return FORMS[parameters["form"]](options, parameters, negative=False)


def cut_of(product, speeds=FAST, *, separated=False, **shape):
    machine = Machine(product, speeds, 2**30, 2**30)
    return predict(Shape(**shape), machine, separated=separated)


@pytest.mark.parametrize("last", [512, 64])
def test_all_updates_and_all_bytes_are_counted(last, product):
    n, depths = 3584 + last, [512] * 7 + [last]
    slow = Speeds(((16, 1e9),), math.inf, math.inf, math.inf, math.inf, shared=True)
    cut = cut_of(product, slow, n=n, size=n, block=512, rows=64, columns=n)
    closing = sum(depth**3 for depth in depths) * (1 / planner._CLOSING - 1)
    parts = sum((n - depth) // 64 for depth in depths)
    beside = 8 * planner._PASS + parts * planner._PART_SHARED
    assert cut.seconds == pytest.approx((n**3 + closing) / 1e9 + beside)
    assert cut.bound == "kernels"
    rows = sum((n - depth) * n for depth in depths)  # they come and go
    panels = 2 * n * n
    pivots = 2 * sum(depth**2 for depth in depths)
    assert cut.moved == 4 * (2 * rows + panels + pivots)


def test_separated_moves_half_and_fused_blocks_move_their_left_factor(product):
    n, block = 4096, 512
    same = {"n": n, "size": n, "block": block, "rows": block}
    whole = cut_of(product, **same, columns=n).moved
    blocks = cut_of(product, **same, columns=block).moved
    assert blocks - whole == 4 * 8 * (n - block) * block
    apart = cut_of(product, **same, columns=n, separated=True).moved
    assert whole - apart == 4 * 8 * (n - block) * (n - block)


def test_a_slow_bus_wants_larger_blocks_and_the_bound_says_so(product):
    slow = Speeds(((16, 1e12),), 1e9, 1e9, 40e9, 40e9, shared=False)
    small = cut_of(product, slow, n=8192, size=8192, block=256, rows=64, columns=8192)
    large = cut_of(product, slow, n=8192, size=8192, block=2048, rows=64, columns=8192)
    assert small.bound == large.bound == "transfers"
    assert large.seconds < small.seconds / 4
    chosen = best_cut(8192, UNIT, Machine(product, slow, 2**30, 2**30), CutOptions())
    assert chosen.shape.block >= 2048
    assert chosen.separated  # half the way


def test_the_cut_keeps_to_the_memory(product):
    for memory in (2**23, 2**24, 2**26, 2**28):
        cut = best_cut(4096, UNIT, Machine(product, FAST, memory, memory), CutOptions())
        assert cut.device_bytes <= memory
        buffers = cut.shape.values(product).values()
        assert cut.device_bytes == 4 * cut.shape.workers * sum(buffers)
        for count in (cut.shape.block, cut.shape.rows, cut.shape.columns, cut.shape.size):
            assert count % UNIT == 0
    largest = 2**21  # of one buffer
    cut = best_cut(4096, UNIT, Machine(product, FAST, 2**28, largest), CutOptions())
    assert 4 * cut.shape.block * cut.shape.size <= largest
    with pytest.raises(DeviceMemoryError) as caught:
        best_cut(4096, UNIT, Machine(product, FAST, 2**16, 2**16), CutOptions())
    assert caught.value.available == 2**16
    assert 2**16 < caught.value.needed <= 2**23


def test_rows_of_the_factor_do_not_meet_in_the_caches(product):
    best = best_cut(4090, UNIT, Machine(product, FAST, 2**28, 2**28), CutOptions()).shape
    assert best.size == 4096 + (UNIT if product.pitch(4096) > 4096 else 0)


def test_what_was_asked_for_is_rounded_up_to_the_unit(product):
    options = {"block": 100, "rows": 48, "columns": 1000, "separated": True}
    cut = best_cut(1900, UNIT, Machine(product, FAST, 2**28, 2**28), CutOptions(**options))
    shape = cut.shape
    assert (shape.block, shape.rows, shape.columns, shape.size) == (128, 64, 1024, 1920)
    assert cut.separated
    assert (
        best_cut(
            100, UNIT, Machine(product, FAST, 2**28, 2**28), CutOptions(block=4096)
        ).shape.block
        == 128
    )


def test_the_speed_of_the_bus_is_that_of_the_best_turn(device, monkeypatch):
    seconds = iter([9.0, 8.0, 1.0, 4.0, 6.0, 2.0])  # there and back, in turns
    monkeypatch.setattr(module, "event_seconds", lambda event: event.wait() or next(seconds))
    up, down = module._bus_rates(device.queue())
    assert (up, down) == (module._SAMPLE / 1.0, module._SAMPLE / 2.0)


def test_helpers_want_smaller_blocks_without_look_ahead(product):
    """While the first device multiplies the rows of a block, the others wait."""
    machine, options = Machine(product, FREE, 2**30, 2**30), CutOptions(ahead=False)
    alone, helped = (best_cut(16384, UNIT, machine, options, gain) for gain in (0.0, 3.0))
    assert helped.shape.block < alone.shape.block
    again = [
        predict(cut.shape, machine, separated=cut.separated, gain=3.0) for cut in (alone, helped)
    ]
    assert again[1] == helped
    assert helped.seconds < again[0].seconds < alone.seconds


def test_helpers_share_the_kernels_of_updates_and_the_memory_of_the_host(product):
    n, block = 8192, 1024
    shape = {"n": n, "size": n, "block": block, "rows": 64, "columns": n}
    bound_by = {
        "kernels": Speeds(((16, 1e10),), 1e12, 1e12, 1e12, 1e12, shared=False),
        "host": Speeds(((16, 1e13),), 1e12, 1e12, 1e9, 1e9, shared=False),
    }
    gained = {}
    for name, speeds in bound_by.items():
        machine = Machine(product, speeds, 2**32, 2**32)
        alone, helped = (
            predict(Shape(**shape), machine, separated=False, gain=gain).seconds
            for gain in (0.0, 1.0)
        )
        gained[name] = alone / helped
    # the rows of a block, an eighth of the updates, are multiplied by one
    assert gained["kernels"] == pytest.approx(2 / (1 + 1 / 8), rel=0.03)
    assert gained["host"] < 1.1


def test_look_ahead_hides_what_a_block_takes(product):
    n, block = 8192, 1024
    speeds = replace(FREE, products=((16, 1e11),))
    machine = Machine(product, speeds, 2**32, 2**32)
    shape = {"n": n, "size": n, "block": block, "rows": 256, "columns": n}
    plain, ahead = (
        predict(Shape(**shape, workers=workers), machine, separated=False, gain=1.0)
        for workers in (1, 2)
    )
    assert ahead.device_bytes == 2 * plain.device_bytes
    assert ahead.moved == plain.moved
    ideal = (n**3) / 2e11
    assert ideal < ahead.seconds < 0.92 * plain.seconds
    small = Machine(product, speeds, ahead.device_bytes - 1, 2**32)
    given = {"block": block, "rows": 256, "separated": False}
    assert best_cut(n, UNIT, machine, CutOptions(**given), 1.0).shape.workers == 2
    assert best_cut(n, UNIT, small, CutOptions(**given), 1.0).shape.workers == 1
    with pytest.raises(DeviceMemoryError):
        best_cut(n, UNIT, small, CutOptions(**given, ahead=True), 1.0)


def test_look_ahead_takes_as_long_as_its_own_block(product):
    """With many helpers a pass is short, and the next block is not open in time."""
    n, block = 8192, 2048
    speeds = replace(FREE, products=((16, 1e11),))
    machine = Machine(product, speeds, 2**32, 2**32)
    shape = Shape(n=n, size=n, block=block, rows=256, columns=n, workers=2)
    alone, helped = (
        predict(shape, machine, separated=False, gain=gain).seconds for gain in (0.0, 1e6)
    )
    panel = block * block * (n - block) / 1e11
    assert 3 * 2 * panel < helped < alone


def test_the_host_has_no_work_with_pinned_rows_unless_it_takes_minima(product):
    slow = Speeds(((16, 1e12),), 50e9, 50e9, 1e9, 1e9, shared=False)
    shape = Shape(n=8192, size=8192, block=1024, rows=512, columns=8192)
    seconds = {
        (pins, separated): predict(
            shape, Machine(product, slow, 2**32, 2**32, pins=pins), separated=separated
        ).seconds
        for pins in (False, True)
        for separated in (False, True)
    }
    assert seconds[True, False] < seconds[False, False] / 4
    assert seconds[True, True] == seconds[False, True]


def test_look_ahead_is_not_for_a_device_that_is_the_host(product):
    own = Speeds(((16, 1e11),), math.inf, math.inf, 40e9, 40e9, shared=True)
    machine = Machine(product, own, 2**30, 2**30)
    assert best_cut(4096, UNIT, machine, CutOptions()).shape.workers == 1
    assert best_cut(4096, UNIT, machine, CutOptions(ahead=True)).shape.workers == 2


def test_a_helper_gets_parts_that_take_as_long(product):
    cut = cut_of(product, n=8192, size=8192, block=512, rows=1024, columns=8192)
    slow = Speeds(((16, 1e11),), math.inf, math.inf, 40e9, 40e9, shared=False)
    shape = planner.helper_shape(cut, UNIT, Machine(product, slow, 2**30, 2**30), FAST)
    assert shape.rows == UNIT
    assert (shape.block, shape.columns, shape.size) == (512, 8192, 8192)
    assert planner.helper_gain(cut, slow, FAST) == pytest.approx(0.1)
    assert planner.helper_shape(cut, UNIT, Machine(product, slow, 2**20, 2**30), FAST) is None


def test_measured_speeds_are_finite_and_leave_the_matrix_alone(product, device):
    array = np.random.default_rng(1).random((300, 300), np.float32)
    before = array.copy()
    with Matrix(array) as matrix:
        speeds = measure(device, product, matrix, 2**24)
    np.testing.assert_array_equal(array, before)
    assert speeds.product > 0
    assert 0 < speeds.read < math.inf
    assert 0 < speeds.write < math.inf
    assert math.isinf(speeds.up) == device.capabilities.unified_memory
    assert speeds.shared == (device.kind == "cpu")


def test_the_block_does_not_depend_on_measured_speeds(product, device, monkeypatch):
    slow = Speeds(((16, 1e8),), 1e6, 1e6, 1e5, 1e5, shared=False)
    fast = Speeds(((16, 1e15),), 1e12, 1e12, 1e12, 1e12, shared=False)
    options = AllPairsOptions(device, np.dtype("float32"), memory_limit=2**30)
    cuts = []
    for measured in (slow, FREE, fast):
        monkeypatch.setattr(team, "measure", lambda *_, speeds=measured: speeds)
        with Matrix(np.empty((16384, 16384), np.float32)) as matrix:  # never touched
            planned = team.team_of(matrix, options, [product], [FREE], Parameters())
        cuts.append(planned.cut)
    assert len({cut.shape.block for cut in cuts}) == 1
    assert len({(cut.shape.rows, cut.shape.workers) for cut in cuts}) > 1


def test_a_team_is_planned_with_its_helpers(product, device, monkeypatch):
    monkeypatch.setattr(team, "measure", lambda *_: FREE)
    helpers = (device,) * 3
    options = AllPairsOptions(device, np.dtype("float32"), helpers=helpers, memory_limit=2**30)
    with Matrix(np.empty((16384, 16384), np.float32)) as matrix:  # never touched
        teams = {
            asked: team.team_of(matrix, options, [product] * 4, [FREE] * 4, given)
            for asked in ("none", "all")
            for given in [Parameters(helpers=asked, lookahead="off")]
        }
    assert [len(each.members) for each in teams.values()] == [1, 4]
    assert teams["all"].cut.shape.block < teams["none"].cut.shape.block
    for each, gain in (("none", 0.0), ("all", 3.0)):
        seconds, cut = teams[each].seconds, teams[each].cut
        machine = teams[each].members[0].machine
        again = predict(cut.shape, machine, separated=cut.separated, gain=gain)
        assert seconds == again.seconds
