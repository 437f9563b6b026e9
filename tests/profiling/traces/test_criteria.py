"""The criteria on traces that are made by hand."""

import dataclasses

import numpy as np
import pytest

from pyapsp.base.errors import ParameterError
from pyapsp.profiling import weights
from pyapsp.profiling.traces import reduction
from pyapsp.profiling.traces.criteria import (
    WEIGHTS,
    Criteria,
    Launch,
    Span,
    Units,
    device_sync,
    granularity,
    host_sync,
    intensity,
    local_efficiency,
    occupancy,
    occupancy_as_printed,
    quality,
    resident_groups,
    transfer,
    unit_balance,
    warp_balance,
)

KEPLER = Units(12, 2048, 16, 32, 49152, registers=65536, register_step=256)
ALL = [each.name for each in dataclasses.fields(Criteria)]


def ints(*values):
    return np.array(values, np.int64)


def test_two_kernels_with_a_gap():
    assert host_sync([Span(0, 3), Span(5, 8)]) == 6 / 8
    assert host_sync([Span(2, 9)]) == 1
    assert host_sync([Span(4, 4)]) == 1
    assert host_sync([Span(0, 4), Span(1, 5)]) == 1  # two queues


def test_warps_with_known_intervals():
    """Unit 0: warps at 0-10 and 5-15, none until a third at 20-30. Unit 7: one at 100-110."""
    found = reduction.activities(ints(0, 0, 7, 0), ints(0, 5, 100, 20), ints(10, 15, 110, 30))
    assert [dataclasses.astuple(each) for each in found] == [(30, 25, 30), (10, 10, 10)]
    assert unit_balance(found, 2) == 17.5 / 25
    assert unit_balance(found, 5) == 7 / 25  # three units did nothing
    assert warp_balance(found, group=64, width=32, resident=1) == 40 / 35 / 2
    assert device_sync(found, 2, 0.0) == 1
    assert device_sync(found, 2, 0.5) == 1 - (1 - 40 / 2 / 30) * 0.5


@pytest.mark.parametrize(
    ("lanes", "expected"),
    [
        (32, 1.0),
        (16, 0.5),
        (1, 1 / 32),
    ],
)
def test_lanes_in_a_branch(lanes, expected):
    counts = np.zeros((64, 2), np.int64)
    counts[:lanes, 1] = counts[32 : 32 + lanes, 1] = 1
    assert reduction.divergence(counts, np.array([0.0, 4.0]), 64, 32) == expected


def test_two_sides_of_a_branch():
    counts = np.zeros((32, 2), np.int64)
    counts[:16, 0] = counts[16:, 1] = 3
    assert reduction.divergence(counts, np.array([5.0, 5.0]), 32, 32) == 0.5


def test_lanes_that_a_group_lacks():
    """A group of 48 has a warp with half of its lanes, and groups do not share warps."""
    counts = np.ones((96, 1), np.int64)
    assert reduction.divergence(counts, np.ones(1), 48, 32) == 0.75


def trace(addresses, size=4, local=False):
    addresses = np.asarray(addresses, np.int64)
    count = len(addresses)
    return reduction.AddressTrace(
        np.arange(count) // 32,
        np.zeros(count, np.int64),
        addresses,
        np.full(count, size, np.int64),
        np.full(count, local),
    )


def accesses_of(trace):
    (found,) = reduction.accesses(trace, 128, 32, 32)
    return found


@pytest.mark.parametrize(
    ("stride", "lines", "sectors"), [(1, 1, 1), (2, 1 / 2, 1 / 2), (8, 1 / 8, 1 / 8)]
)
def test_strides_in_global_memory(stride, lines, sectors):
    found = accesses_of(trace(4096 + 4 * stride * np.arange(64)))
    assert granularity(found.useful, found.lines, 128) == lines
    assert granularity(found.useful, found.sectors, 32) == sectors


def test_a_line_for_each_lane():
    found = accesses_of(trace(4 * 32 * np.arange(32)))
    assert granularity(found.useful, found.lines, 128) == 1 / 32
    assert granularity(found.useful, found.sectors, 32) == 1 / 8


def test_broadcast_and_crossing():
    found = accesses_of(trace(np.full(32, 128)))
    assert (found.lines, found.sectors) == (1, 1)
    assert granularity(found.useful, found.lines, 128) == 1
    crossing = accesses_of(trace([120], 16))
    assert (crossing.lines, crossing.sectors) == (2, 2)


@pytest.mark.parametrize(
    ("stride", "taken"), [(0, 1), (1, 1), (2, 2), (3, 1), (8, 8), (32, 32), (33, 1)]
)
def test_strides_in_local_memory(stride, taken):
    found = accesses_of(trace(4 * stride * np.arange(32), local=True))
    assert found.useful == found.lines == 0
    assert (found.ideal_local, found.local) == (1, taken)
    assert local_efficiency(found.ideal_local, found.local) == 1 / taken


def test_wide_accesses_need_more_passes():
    found = accesses_of(trace(16 * np.arange(32), 16, local=True))
    assert (found.ideal_local, found.local) == (4, 4)


def test_accesses_at_other_moments_are_not_together():
    one = trace(4 * np.arange(32))
    apart = dataclasses.replace(one, moment=np.arange(32) % 2)
    assert accesses_of(apart).lines == 2


def test_nothing_is_accessed():
    found = accesses_of(trace([]))
    assert granularity(found.useful, found.lines, 128) == 1
    assert local_efficiency(found.ideal_local, found.local) == 1


def test_accesses_of_sites():
    """Those of both memories, at moments of their own; a site without accesses has none."""
    parts = [trace(4 * np.arange(64)), trace(16 * np.arange(32), local=True), trace([100], 40)]
    whole = reduction.AddressTrace(
        *(
            np.concatenate([getattr(part, field.name) for part in parts])
            for field in dataclasses.fields(reduction.AddressTrace)
        )
    )
    site = np.repeat([0, 2, 3], [len(part.warp) for part in parts])
    found = reduction.accesses(
        dataclasses.replace(whole, moment=site), 128, 32, 32, site=site, sites=4
    )
    assert [each.useful for each in found] == [256, 0, 0, 40]
    assert [each.lines for each in found] == [2, 0, 0, 2]
    assert [each.sectors for each in found] == [8, 0, 0, 2]
    assert [(each.ideal_local, each.local) for each in found] == [(0, 0), (0, 0), (1, 4), (0, 0)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([0, 1, 2, 3], 1),  # a stream
        ([0, 0, 0, 0], 1 / 4),
        ([0, 5, 0, 5], 1 / 2),  # the cache holds both
    ],
)
def test_accesses_that_miss_the_first_cache(lines, expected):
    """Two warps, which do the same at other moments; site 1 is local memory, 2 is not executed."""
    count = len(lines)
    address = 128 * np.tile(lines, 2) + 4
    columns = np.arange(2 * count) // count, np.tile(np.arange(count), 2), address
    one = reduction.AddressTrace(*columns, np.full(2 * count, 4), np.zeros(2 * count, bool))
    inside = dataclasses.replace(one, local=~one.local, moment=one.moment + count)
    names = [each.name for each in dataclasses.fields(one)]
    both = reduction.AddressTrace(
        *(np.concatenate([getattr(one, name), getattr(inside, name)]) for name in names)
    )
    site = np.repeat([0, 1], 2 * count)
    assert reduction.misses(both, 128, site, 3).tolist() == [expected, 0, 0]


def test_addresses_far_apart():
    """Numbers of accesses times pieces that do not fit in 64 bits."""
    many = trace(np.tile([0, 2**62], 200))
    many = dataclasses.replace(many, warp=np.repeat(np.arange(200), 2))
    first = (many.warp < 10).astype(np.int64)
    found = reduction.accesses(many, 128, 32, 32, site=first, sites=2)
    assert [each.sectors for each in found] == [380, 20]
    assert reduction.footprint(many, 32) == 64


@pytest.mark.parametrize(
    ("launch", "resident", "expected"),
    [
        (Launch(256, 1200), 8, 1.0),
        (Launch(32, 12000), 16, 0.25),  # the number of groups
        (Launch(256, 1200, local_bytes=16384), 3, 0.375),
        (Launch(256, 1200, registers=64), 4, 0.5),
        (Launch(256, 1200, registers=63), 4, 0.5),  # registers come in steps
        (Launch(256, 12), 8, 0.125),  # a group for each unit
        (Launch(40, 12000), 16, 0.5),  # the lanes of a second warp
        (Launch(200, 12000), 9, 9 * 224 / 2048),  # and of a seventh
        (Launch(256, 100, local_bytes=50000), 0, 0.0),
    ],
)
def test_occupancy(launch, resident, expected):
    assert resident_groups(launch, KEPLER) == resident
    assert occupancy(launch, KEPLER) == expected


def test_occupancy_as_printed_has_no_values_between():
    """Its terms are numbers of groups, and the inverse of a share, rounded down."""
    assert occupancy_as_printed(Launch(256, 1200), KEPLER) == 1
    assert occupancy_as_printed(Launch(256, 1200, registers=64), KEPLER) == 0
    assert occupancy_as_printed(Launch(256, 12), KEPLER) == 0.125


def test_copies_that_overlap():
    kernels = [Span(0, 4), Span(3, 6), Span(8, 9)]
    assert reduction.overlapping([(Span(5, 9), 400.0)], kernels) == 200
    assert reduction.overlapping([(Span(7, 8), 400.0), (Span(2, 2), 1.0)], kernels) == 0
    assert transfer(0, 0, 100) == transfer(0, 0, 0) == 0.5
    assert transfer(100, 100, 100) == 0.5
    assert transfer(100, 0, 100) == 0
    assert transfer(100, 50, 100) == 0.25


def test_quality():
    assert sum(WEIGHTS.values()) == 585
    assert list(WEIGHTS) == ALL
    assert quality(Criteria(**dict.fromkeys(ALL, 1.0))) == 1
    assert quality(Criteria(occupancy=1.0, intensity=0.0)) == 30 / 130
    normal = [round(WEIGHTS[name] / 585, 3) for name in ("occupancy", "intensity", "transfer")]
    assert normal == [0.051, 0.171, 0.085]
    assert intensity(0.5, 3.0) == 0.75


def samples(truth, speedups):
    drawn = np.random.default_rng(7)
    for primitive, scale in speedups.items():
        for each in range(5):
            values = drawn.uniform(0.05, 1, len(ALL))
            good = values @ truth / truth.sum()
            yield weights.Sample(
                primitive, str(each), Criteria(*(float(v) for v in values)), float(scale * good)
            )


def test_weights_are_found_again():
    truth = np.array([WEIGHTS[name] for name in ALL], float)
    made = list(samples(truth, {"scan": 30.0, "sort": 5.0, "merge": 80.0, "reduce": 900.0}))
    found = weights.fit(made)
    assert found.weights == WEIGHTS
    assert found.r2 > 0.9999
    assert found.left_out < 0.01
    assert found.ranks == pytest.approx(dict.fromkeys(("merge", "reduce", "scan", "sort"), 1.0))


def test_equal_implementations_have_no_rank():
    made = list(samples(np.ones(len(ALL)), {"scan": 30.0, "sort": 5.0, "merge": 80.0}))
    same = [
        dataclasses.replace(each, criteria=made[0].criteria, speedup=1.0)
        if each.primitive == "scan"
        else each
        for each in made
    ]
    ranks = weights.fit(same).ranks
    assert ranks["scan"] is None
    assert ranks["sort"] == pytest.approx(1.0)


def test_weights_need_samples():
    truth = np.ones(len(ALL))
    made = list(samples(truth, {"scan": 30.0}))
    with pytest.raises(ParameterError, match="there are 1 primitives"):
        weights.fit(made)
    with pytest.raises(ParameterError, match="sort has one"):
        weights.fit([*made, next(iter(samples(truth, {"sort": 2.0})))])
    partial = dataclasses.replace(made[0], criteria=Criteria(occupancy=1.0))
    with pytest.raises(ParameterError, match="no value of host_sync"):
        weights.fit([partial, *made])
