"""The work of groups on cores: counts and rates that are made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pyapsp.profiling.benchmarks.characterisation import Core
from pyapsp.profiling.probes.blocks import Block, Branch
from pyapsp.profiling.traces.reduction import AddressTrace
from pyapsp.profiling.traces.work import Work, far_accesses, makespan, shared_accesses, work_of

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
    shared=2.0**-11,
    saved=((64.0, 0.0), (4096.0, 2.0**-8)),
    loads=((64.0, 2.0**-6), (4096.0, 2.0**-2)),
    chained={"int": 2.0**-8, "double": 2.0**-6},
    division=2.0**-7,
)


def block(operations, branch=None, vectors=None, saved=0, **more):
    return Block("k", "k.cl", 1, operations, vectors or {}, branch, saved, **more)


def work(counts, blocks, in_group=1, groups=None, wrong=None, loads=None):
    counts = np.array(counts)
    return work_of(
        *(counts, blocks, in_group, groups or len(counts) // in_group),
        np.zeros(len(blocks)) if wrong is None else np.array(wrong),
        loads or [{} for _ in blocks],
        {},
        0.0,
        0.0,
    )


def idle(groups=1, **some):
    """Return the work of groups that do nothing but this."""
    none = np.zeros(groups)
    names = ("scalars", "divisions", "surprises", "atomics", "barriers", "saved")
    given = {**dict.fromkeys(names, none), "groups": groups, "state": 4096.0, **some}
    empty = {
        "vectors": {},
        "carried": (none, none),
        "awaited": {},
        "computed": {},
        "far": {},
        "shared": 0.0,
        "contended": 0.0,
    }
    return Work(**{**empty, **given})


@pytest.mark.parametrize(
    ("some", "part", "expected"),
    [
        ({"surprises": np.array([48.0])}, "branches", 48 * CORE.surprise),
        ({"atomics": np.array([48.0])}, "atomics", 48 * CORE.atomic),
        ({"barriers": np.array([48.0])}, "barriers", 48 * CORE.barrier),
        ({"saved": np.array([48.0])}, "barriers", 48 * CORE.saved[1][1]),
        # in the middle of the logarithms of the sizes
        ({"saved": np.array([48.0]), "state": 512.0}, "barriers", 24 * CORE.saved[1][1]),
        ({"far": {4096.0: 48.0}}, "caches", 48 * CORE.far[1][1]),
        ({"far": {64.0: 9.0, 512.0: 16.0, 2.0**20: 8.0}}, "caches", (8 + 8) * CORE.far[1][1]),
        # each of 8 waits for a load from the first cache, and for half a one from the second
        (
            {"surprises": np.array([8.0]), "awaited": {0.0: 1.0, 4096.0: 0.5}},
            "branches",
            8 * (CORE.surprise + CORE.loads[0][1] + 0.5 * CORE.loads[1][1]),
        ),
        # of a class without a latency: that of integers
        (
            {"surprises": np.array([8.0]), "computed": {"double": 2.0, "half": 1.0}},
            "branches",
            8 * (CORE.surprise + 2 * CORE.chained["double"] + CORE.chained["int"]),
        ),
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
        (
            {"scalars": np.array([63.0]), "divisions": np.array([8.0])},
            "arithmetic",
            8 * CORE.division,
        ),
        # turns that wait for each other take longer than their operations
        (
            {"scalars": np.array([48.0]), "carried": (np.array([8.0]), np.array([16.0]))},
            "arithmetic",
            8 * CORE.loads[0][1] + 16 * CORE.chained["int"],
        ),
        (
            {"scalars": np.array([4096.0]), "carried": (np.array([8.0]), np.array([16.0]))},
            "arithmetic",
            4096 * CORE.scalar,
        ),
    ],
)
def test_each_part_takes_its_number_times_its_seconds(some, part, expected):
    found = idle(**some).seconds(CORE, units=1)
    assert found[part] == pytest.approx(expected)
    assert found["groups"] == CORE.group
    assert found["cores"] == pytest.approx(expected + CORE.group)


def test_the_longest_core_decides():
    uneven = idle(4, surprises=np.array([64.0, 0.0, 0.0, 0.0]))
    found = uneven.seconds(CORE, units=2)
    assert found["cores"] == 64 * CORE.surprise + CORE.group  # the others run beside it
    alone = uneven.seconds(CORE, units=1)
    assert alone["cores"] == 64 * CORE.surprise + 4 * CORE.group
    assert alone["groups"] == 4 * CORE.group


@pytest.mark.parametrize(("surprises", "together"), [(1.0, 1), (8.0, 1.5), (256.0, 2)])
def test_in_short_launches_fewer_cores_take_part(surprises, together):
    """Those of the work of a launch for one core; by its logarithm between two of these."""
    core = replace(CORE, group=0.0, cores=((0.25, 1.0), (16.0, 2.0)))
    even = idle(4, surprises=np.full(4, surprises))
    alone = 4 * surprises * core.surprise
    expected = alone / together
    assert even.seconds(core, units=4)["cores"] == pytest.approx(expected)
    assert even.seconds(replace(core, cores=()), units=4)["cores"] == pytest.approx(alone / 4)
    # a group that takes longest is not divided
    assert idle(surprises=np.array([surprises])).seconds(core, units=4)["cores"] == alone / 4


def test_groups_that_were_not_recorded_take_as_long_as_the_others():
    some = idle(2, surprises=np.array([8.0, 8.0])).__dict__
    half = Work(**{**some, "groups": 4, "far": {4096.0: 16.0}})
    found = half.seconds(CORE, units=1)
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


def test_a_minimum_of_vectors_is_one_operation():
    """The comparison, the choice and another operation, for eight elements."""
    both = block({"float": 24}, vectors={"float": 24}, minima={"float": 8})
    assert work([[3]], [both]).vectors["float"].tolist() == [48]
    assert work([[3]], [both]).scalars.tolist() == [0]


def test_divisions():
    blocks = [block({"int": 3}, divisions=2), block({"int": 1})]
    assert work([[3, 1], [1, 0]], blocks).divisions.tolist() == [6, 2]


def test_decisions_that_are_predicted_wrongly():
    """Of a branch each execution of the block before decides, of a loop also each turn."""
    blocks = [block({}), block({}, Branch(0)), block({}, Branch(1, loop=True))]
    found = work([[16, 4, 12], [8, 0, 0]], blocks, wrong=[0, 0.5, 0.25])
    assert found.surprises.tolist() == [8 + 4, 4]
    assert work([[16, 4, 12], [8, 0, 0]], blocks, in_group=2, wrong=[0, 0.5, 0.25]).surprises == 16


def test_what_wrong_predictions_wait_for():
    """Loads by the sizes of those of each site, and operations."""
    awaits = (1, "int", 2, "int")
    blocks = [block({}), block({}, Branch(0, awaits=(0,))), block({}, Branch(1, True, awaits))]
    loads = [{0.0: 1.0}, {0.0: 0.25, 4096.0: 0.75}, {0.0: 0.25, 4096.0: 0.75}]
    counts = [[16, 4, 12]]
    assert work(counts, blocks, wrong=[0, 0.5, 0], loads=loads).awaited == {0.0: 1.0}
    found = work(counts, blocks, wrong=[0, 0.5, 0.5], loads=loads)
    assert found.surprises.tolist() == [8 + 8]
    # half of them wait for each
    assert found.awaited == {0.0: 0.5 * 1.0 + 0.5 * 0.5, 4096.0: 0.5 * 1.5}
    assert found.computed == {"int": 0.5 * 2}
    assert work(counts, blocks, loads=loads).awaited == {}


def test_turns_that_wait_for_each_other():
    """All but the first of each loop."""
    blocks = [block({}), block({}, Branch(0, loop=True), carried=(2.0, 0.5))]
    loads, operations = work([[4, 10], [4, 4], [8, 2]], blocks).carried
    assert loads.tolist() == [2 * 6, 0, 0]
    assert operations.tolist() == [0.5 * 6, 0, 0]


@pytest.mark.parametrize(
    ("some", "expected"),
    [
        ({"contended": 48.0}, 48 * CORE.transfer),
        ({"shared": 48.0}, 48 * CORE.shared),
        ({"contended": 48.0, "shared": 16.0}, 48 * CORE.transfer + 16 * CORE.shared),
    ],
)
def test_accesses_to_lines_of_other_groups(some, expected):
    """The other group ran on another core with a probability of 3/4; the work of four is even."""
    found = idle(4, **some).seconds(CORE, units=4)
    assert found["sharing"] == expected * 3 / 4 / 4
    assert found["cores"] == found["sharing"] + CORE.group
    assert idle(**some).seconds(CORE, units=1)["sharing"] == 0
    # three of four cores sleep
    alone = replace(CORE, cores=((1.0, 1.0), (2.0, 1.0)))
    assert idle(4, **some).seconds(alone, units=4)["sharing"] == 0


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
    assert len(far_accesses(*accesses(*rows))[0]) == expected


def test_a_core_runs_the_warps_of_a_group_one_after_the_other():
    rows = [(0, 0, 0), (0, 1, 64), (0, 2, 128), (0, 3, 192)]
    assert len(far_accesses(*accesses(*rows), warps=2)[0]) == 2
    assert len(far_accesses(*accesses(*rows), warps=4)[0]) == 1


def test_how_much_was_accessed_since_the_last_access_to_a_line():
    """The second group runs after the first, though its accesses were recorded before."""
    rows = [(1, 1, 0), *[(0, 0, 0), (0, 0, 640), (0, 0, 1280)] * 2]
    site, size = far_accesses(*accesses(*rows))
    assert site.tolist() == [0, 0, 0, 0, 0, 0, 1]
    # round and round in three lines
    assert size == pytest.approx(np.full(7, 3 * 64))


@pytest.mark.parametrize(
    ("rows", "kinds", "expected"),
    [
        ([(0, 0, 0), (1, 1, 60), (2, 2, 8)], "store load load", [1]),  # only the first writes
        ([(0, 0, 0), (1, 1, 60), (2, 2, 8)], "load load atomic", [2]),
        ([(0, 0, 0), (1, 1, 60), (2, 2, 8)], "load load store", []),  # which nobody waits for
        ([(0, 0, 0), (1, 1, 60), (2, 2, 8)], "update update load", [1, 2]),
        ([(0, 0, 0), (1, 1, 64)], "store load", []),  # two lines
        ([(0, 0, 0), (1, 0, 0), (2, 3, 0), (3, 0, 0)], "atomic atomic atomic atomic", [2, 3]),
        ([(0, 0, 0), (1, 1, 0)], "atomic atomic", [1]),
    ],
)
def test_accesses_to_lines_that_another_group_has(rows, kinds, expected):
    trace, site = accesses(*rows)
    kinds = np.array(kinds.split())
    assert shared_accesses(trace, site, kinds)[0].tolist() == expected
    # warps of one group share a core
    assert shared_accesses(trace, site, kinds, warps=4)[0].tolist() == []


def test_accesses_that_wait_for_the_last_one_at_the_same_place():
    """A counter, and words of two lines in turns."""
    rows = [(0, 0, 0), (1, 0, 64), (1, 0, 128), (0, 1, 0), (1, 1, 64), (1, 1, 128), (0, 2, 4)]
    trace, site = accesses(*rows)
    found = shared_accesses(trace, site, np.full(len(rows), "atomic"))
    assert dict(zip(*map(np.ndarray.tolist, found), strict=True)) == {0: True, 1: False}
    assert len(found[0]) == 4


def test_accesses_to_local_memory_are_not_far():
    trace, site = accesses((0, 0, 0), (0, 0, 4096))
    local = AddressTrace(*(getattr(trace, name) for name in ("warp", "moment", "address", "size")),
                         np.array([False, True]))  # fmt: skip
    assert len(far_accesses(local, site)[0]) == 1
