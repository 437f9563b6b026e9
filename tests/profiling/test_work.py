"""The work of groups on cores: counts and rates that are made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.profiling.blocks import Block, Branch
from pyapsp.profiling.characterisation import Core
from pyapsp.profiling.traces import AddressTrace
from pyapsp.profiling.work import Work, far_accesses, makespan, shared_accesses, work_of

# Powers of two, so that sums are exact.
CORE = Core(
    scalar=2.0**-10,
    vectors={"float": 2.0**-12},
    surprise=2.0**-4,
    far=((64.0, 0.0), (4096.0, 2.0**-6)),
    atomic=2.0**-5,
    barrier=2.0**-7,
    group=2.0**-3,
    transfer=2.0**-9,
    saved=((64.0, 0.0), (4096.0, 2.0**-8)),
)


def block(operations, branch=None, vectors=None, saved=0):
    return Block("k", "k.cl", 1, operations, vectors or {}, branch, saved)


def work(counts, blocks, in_group=1, groups=None, far=0.0):
    counts = np.array(counts)
    return work_of(counts, blocks, in_group, groups or len(counts) // in_group, far, 0.0)


def idle(groups=1, **some):
    """Return the work of groups that do nothing but this."""
    none = np.zeros(groups)
    names = ("scalars", "surprises", "atomics", "barriers", "saved")
    given = {**dict.fromkeys(names, none), **some}
    return Work(
        **{"vectors": {}, "far": 0.0, "shared": 0.0, "groups": groups, "state": 4096.0, **given}
    )


@pytest.mark.parametrize(
    ("some", "part", "expected"),
    [
        ({"surprises": np.array([48.0])}, "branches", 48 * CORE.surprise),
        ({"atomics": np.array([48.0])}, "atomics", 48 * CORE.atomic),
        ({"barriers": np.array([48.0])}, "barriers", 48 * CORE.barrier),
        ({"saved": np.array([48.0])}, "barriers", 48 * CORE.saved[1][1]),
        # in the middle of the logarithms of the sizes
        ({"saved": np.array([48.0]), "state": 512.0}, "barriers", 24 * CORE.saved[1][1]),
        ({"far": 48.0}, "caches", 48 * CORE.far[1][1]),
        ({"scalars": np.array([48.0])}, "arithmetic", 48 * CORE.scalar),
        ({"vectors": {"float": np.array([48.0])}}, "arithmetic", 48 * CORE.vectors["float"]),
        # of a class without a rate: as slow as single values
        ({"vectors": {"half": np.array([48.0])}}, "arithmetic", 48 * CORE.scalar),
        # both at the same time: 8 of one class take as long as 2 others
        (
            {"scalars": np.array([48.0]), "vectors": {"float": np.array([256.0])}},
            "arithmetic",
            256 * CORE.vectors["float"],
        ),
    ],
)
def test_each_part_takes_its_number_times_its_seconds(some, part, expected):
    found = idle(**some).seconds(CORE, 4096.0, units=1)
    assert found[part] == pytest.approx(expected)
    assert found["groups"] == CORE.group
    assert found["cores"] == pytest.approx(expected + CORE.group)


def test_far_accesses_cost_what_the_footprint_makes_them_cost():
    far = idle(far=64.0)
    assert far.seconds(CORE, 64.0, 1)["caches"] == 0
    assert far.seconds(CORE, 512.0, 1)["caches"] == pytest.approx(32 * CORE.far[1][1])
    assert far.seconds(CORE, 2.0**20, 1)["caches"] == 64 * CORE.far[1][1]


def test_the_longest_core_decides():
    uneven = idle(4, surprises=np.array([64.0, 0.0, 0.0, 0.0]))
    found = uneven.seconds(CORE, 1.0, units=2)
    assert found["cores"] == 64 * CORE.surprise + CORE.group  # the others run beside it
    alone = uneven.seconds(CORE, 1.0, units=1)
    assert alone["cores"] == 64 * CORE.surprise + 4 * CORE.group
    assert alone["groups"] == 4 * CORE.group


def test_groups_that_were_not_recorded_take_as_long_as_the_others():
    half = Work(**{**idle(2, surprises=np.array([8.0, 8.0])).__dict__, "groups": 4, "far": 16.0})
    found = half.seconds(CORE, 4096.0, units=1)
    assert found["branches"] == 4 * 8 * CORE.surprise
    assert found["groups"] == 4 * CORE.group
    assert found["caches"] == 16 * CORE.far[1][1]


@pytest.mark.parametrize(
    ("seconds", "units", "expected"),
    [([1, 1, 1], 2, 2), ([1, 1, 3], 2, 4), ([3, 1, 1], 2, 3), ([2], 4, 2), ([1, 2, 3], 1, 6)],
)
def test_cores_take_the_next_group_when_they_are_free(seconds, units, expected):
    assert makespan(np.array(seconds, float), units) == expected


def test_operations_by_kind():
    blocks = [
        block(
            {"int": 3, "load": 5, "branch": 1, "float": 9, "barrier": 2, "atomic": 1,
             "local atomic": 3, "store": 4},
            vectors={"float": 8, "store": 4},
        ),
        block({"local load": 2}),
    ]  # fmt: skip
    found = work([[1, 0], [2, 1], [0, 3], [1, 0]], blocks, in_group=2)
    assert found.scalars.tolist() == [3 * 10 + 2, 10 + 3 * 2]
    assert {name: each.tolist() for name, each in found.vectors.items()} == {"float": [24, 8]}
    assert found.atomics.tolist() == [12, 4]
    assert found.barriers.tolist() == [6, 2]
    # the loop over the items of a group is none in a group of one
    assert work([[1, 0], [2, 1]], blocks).barriers.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("counts", "in_group", "expected"),
    [
        ([[10, 3]], 1, [3]),
        ([[10, 8]], 1, [2]),
        ([[10, 0], [10, 10]], 1, [0, 0]),  # each group always goes one way
        ([[10, 0], [10, 10]], 2, [10]),  # one group goes both ways
    ],
)
def test_a_branch_surprises_as_often_as_it_goes_its_rarer_way(counts, in_group, expected):
    blocks = [block({}), block({}, Branch(0))]
    assert work(counts, blocks, in_group).surprises.tolist() == expected


@pytest.mark.parametrize(
    ("counts", "in_group", "expected"),
    [
        ([[10, 40], [5, 20]], 1, [0, 0]),  # four turns each time
        ([[10, 40], [5, 25]], 1, [10, 5]),  # each loop ends once
        ([[10, 41]], 1, [10]),
        ([[10, 4]], 1, [4]),
        ([[1, 3], [1, 4], [0, 0], [0, 0]], 2, [2, 0]),
        ([[0, 0]], 1, [0]),
    ],
)
def test_a_loop_surprises_when_it_ends_unless_its_turns_are_always_the_same(
    counts, in_group, expected
):
    blocks = [block({}), block({}, Branch(0, loop=True))]
    assert work(counts, blocks, in_group).surprises.tolist() == expected


def test_accesses_to_lines_of_other_groups():
    """The other group ran on another core with a probability of 3/4; the work of four is even."""
    found = idle(4, shared=48.0).seconds(CORE, 4096.0, units=4)
    assert found["sharing"] == 48 * 3 / 4 * CORE.transfer / 4
    assert found["cores"] == found["sharing"] + CORE.group
    assert idle(shared=48.0).seconds(CORE, 4096.0, units=1)["sharing"] == 0


def test_surprises_of_all_branches_add_up():
    blocks = [block({}), block({}, Branch(0)), block({}, Branch(1, loop=True))]
    assert work([[10, 4, 9]], blocks).surprises.tolist() == [4 + 4]


def accesses(*rows):
    """Return the trace of accesses (site, warp, address), and their sites."""
    site, warp, address = np.array(rows, np.int64).reshape(-1, 3).T
    none = np.zeros(len(rows), np.int64)
    return AddressTrace(warp, none, address, none + 4, none.astype(bool)), site


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], 0),
        ([(0, 0, 0), (0, 0, 60), (0, 0, 64), (0, 0, 128)], 1),  # lines 0 0 1 2
        ([(0, 0, 0), (0, 0, 128), (0, 0, 64)], 3),  # two lines on, and one back
        ([(0, 0, 0), (1, 0, 0), (0, 0, 64), (1, 0, 64)], 2),  # two places
        ([(0, 0, 0), (0, 1, 64), (0, 0, 64)], 2),  # two warps
    ],
)
def test_far_accesses(rows, expected):
    assert len(far_accesses(*accesses(*rows))) == expected


def test_a_core_runs_the_warps_of_a_group_one_after_the_other():
    rows = [(0, 0, 0), (0, 1, 64), (0, 2, 128), (0, 3, 192)]
    assert len(far_accesses(*accesses(*rows), warps=2)) == 2
    assert len(far_accesses(*accesses(*rows), warps=4)) == 1


@pytest.mark.parametrize(
    ("rows", "writes", "expected"),
    [
        ([(0, 0, 0), (1, 1, 60), (2, 2, 8)], [1, 0, 0], [1]),  # only the first writes
        ([(0, 0, 0), (1, 1, 60), (2, 2, 8)], [0, 0, 1], [2]),
        ([(0, 0, 0), (1, 1, 64)], [1, 1], []),  # two lines
        ([(0, 0, 0), (1, 0, 0), (2, 3, 0), (3, 0, 0)], [1, 1, 1, 1], [2, 3]),  # by group
        ([(0, 0, 0), (1, 1, 0)], [1, 1], [1]),
    ],
)
def test_accesses_to_lines_that_another_group_has(rows, writes, expected):
    trace, site = accesses(*rows)
    found = shared_accesses(trace, site, np.array(writes, bool))
    assert found.tolist() == expected
    # warps of one group share a core
    assert shared_accesses(trace, site, np.array(writes, bool), warps=4).tolist() == []


def test_accesses_to_local_memory_are_not_far():
    trace, site = accesses((0, 0, 0), (0, 0, 4096))
    local = AddressTrace(*(getattr(trace, name) for name in ("warp", "moment", "address", "size")),
                         np.array([False, True]))  # fmt: skip
    assert len(far_accesses(local, site)) == 1
