"""bfs-4k: every pair of its parameters on ten shapes of graphs, duplicates, and full queues."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.device import Device
from pyapsp.device.kernels import Stopwatch
from pyapsp.errors import ParameterError, StallError
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters
from pyapsp.traversal.bfs import bfs_4k
from pyapsp.traversal.bfs.bfs_4k import Bfs4K, heavy_degree

sys.path.insert(0, str(Path(__file__).parent))
from covering import covering
from shapes import (
    EXPECTED,
    GRAPH,
    SHAPES,
    SOURCES,
    arcs,
    assert_right,
    expected_levels,
    star_of_stars,
)

#: Values for all pairs: few of those that need another build.
FEW = {
    "build": ((1, 1, 16), (32, 8, 1), (32, 32, 4), (64, 8, 16)),
    "least_width": (1, 4, 8),
    "heavy": (0, 15, 200),
    "piece": (4, 16),
    "discover": (0, 1, 4),
    "single": (0, 1, 16),
    "coalesce": (0, 1, 4),
    "resident": (16, 2048),
    "extended": (0, 1),
    "widths": Bfs4K.choices["widths"],
    "store": Bfs4K.choices["store"],
    "duplicates": Bfs4K.choices["duplicates"],
    "dynamic": Bfs4K.choices["dynamic"],
}


def expanded(chosen):
    group, warp, queue = chosen.get("build", (64, 64, 16))
    rest = {name: value for name, value in chosen.items() if name != "build"}
    return {"group": group, "warp": warp, "queue": queue, **rest}


def legal(chosen):
    whole = expanded(chosen)
    coalesce, width = whole.get("coalesce", 0), whole.get("least_width", 1)
    return (
        width <= whole["warp"]
        and (not coalesce or (whole["warp"] > 1 and coalesce <= whole["queue"]))
        and (whole.get("widths") != "fixed" or 2 * width <= whole["warp"])
    )


PAIRS = [expanded(each) for each in covering(FEW, legal)]


@pytest.mark.every(12)
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_pairs_of_parameters(number, device):
    parameters = PAIRS[number]
    if parameters["duplicates"] == "hash64" and not device.capabilities.int64_atomics:
        pytest.skip("no 64-bit atomics")
    found = pyapsp.bfs(GRAPH, SOURCES, pyapsp.method("bfs-4k", **parameters), device=device)
    assert_right(GRAPH, SOURCES, found, EXPECTED)


def test_pairs_are_all_pairs():
    seen = {name: {each[name] for each in PAIRS} for name in PAIRS[0]}
    for name in ("duplicates", "dynamic"):
        assert seen[name] == set(Bfs4K.choices[name])
    for one, other in (("duplicates", "dynamic"), ("single", "discover"), ("heavy", "coalesce")):
        assert {(each[one], each[other]) for each in PAIRS} == {
            (x, y) for x in seen[one] for y in seen[other]
        }


@pytest.mark.nightly
def test_pairs_of_all_values(device):
    options = PathOptions(device, np.dtype(np.int32), True)
    method, default = Bfs4K(), next(Bfs4K().candidates(PathOptions(device, np.dtype(np.int32))))
    free = default | {"group": 1024, "warp": 1, "least_width": 1, "queue": 1, "single": 0}

    def fits(chosen):
        whole = {**free, **chosen}
        if "warp" not in chosen:
            whole["warp"] = max(1, chosen.get("least_width", 1))
        if whole["warp"] not in Bfs4K.choices["warp"]:
            whole["warp"] = 8
        if "group" not in chosen:
            whole["group"] = 64
        return method.takes(Parameters(whole), options)

    for parameters in covering(Bfs4K.choices, fits):
        found = pyapsp.bfs(GRAPH, SOURCES, pyapsp.method("bfs-4k", **parameters), device=device)
        assert_right(GRAPH, SOURCES, found, EXPECTED)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("group", "warp", "queue", "least_width", "discover", "single", "extended", "dynamic"),
    [
        (64, 8, 4, 4, 0, 2, 1, "group-strip"),
        (256, 16, 1, 2, 2, 1, 1, "group-strip"),
        (512, 32, 1, 4, 2, 1, 0, "off"),
    ],
)
def test_as_users_build_it(
    group, warp, queue, least_width, discover, single, extended, dynamic, device
):
    """As users build it: one compiler lost vertices here with optimisation."""
    sizes = {"group": group, "warp": warp, "queue": queue, "least_width": least_width}
    knobs = {"discover": discover, "single": single, "extended": extended, "dynamic": dynamic}
    fixed = {"heavy": 50, "piece": 4, "coalesce": 1, "resident": 16, "duplicates": "off"}
    method = pyapsp.method("bfs-4k", **sizes, **knobs, **fixed)
    found = pyapsp.bfs(GRAPH, SOURCES, method, device=device)
    assert_right(GRAPH, SOURCES, found, EXPECTED)


@pytest.mark.parametrize("shape", SHAPES)
def test_defaults(shape, device):
    graph, source = SHAPES[shape]
    found = pyapsp.bfs(graph, [source, graph.n - 1], "bfs-4k", device=device)
    expected = expected_levels(graph, [source, graph.n - 1])
    assert_right(graph, [source, graph.n - 1], found, expected)


WIDE = {"group": 64, "warp": 8, "queue": 16, "discover": 0, "resident": 256}


def levels_of(graph, source, device, **parameters):
    """The statistics of a search."""
    method, told = pyapsp.method("bfs-4k", **{**WIDE, **parameters}), []
    method.on_levels = told.append
    found = pyapsp.bfs(graph, source, method, device=device)
    np.testing.assert_array_equal(found.levels, expected_levels(graph, [source])[0])
    assert len(told) == 1
    return told[0]


# 0 -> 1..20 -> 21, 22: each of the last two is found by 20 work-items at once
FAN = arcs(
    23,
    [*[0] * 20, *np.repeat(range(1, 21), 2)],
    [*range(1, 21), *[21, 22] * 20],
)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("single", [0, 1])
def test_duplicates_are_counted(single, device):
    few = {"least_width": 1, "resident": 16}
    levels = levels_of(FAN, 0, device, duplicates="hash32", store="append", single=single, **few)
    assert [each["level"] for each in levels] == [1, 2]
    assert [each["vertices"] for each in levels] == [20, 2]
    for each in levels:
        assert each["undetected"] == each["frontier"] - each["vertices"] >= 0
        assert each["kernel"] == ("single_warps" if single else "warps")
    last = levels[1]
    assert last["dropped"] + last["undetected"] == 38
    assert last["dropped"] > 0
    assert levels[0]["dropped"] == 0


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("duplicates", ["off", "hash64", "per-warp"])
def test_duplicates_of_other_tables(duplicates, device):
    if duplicates == "hash64" and not device.capabilities.int64_atomics:
        pytest.skip("no 64-bit atomics")
    few = {"least_width": 1, "resident": 16}
    levels = levels_of(FAN, 0, device, duplicates=duplicates, store="append", single=0, **few)
    assert levels[1]["undetected"] == levels[1]["frontier"] - 2
    # whole warps have one vertex each, without duplicates
    if duplicates == "off" or levels[1]["width"] < 8:
        assert (levels[1]["dropped"] > 0) == (duplicates != "off")


@pytest.mark.usefixtures("quick")
def test_levels_that_are_stored_at_the_visit(device):
    """Only work-items that run at the same time enter a vertex twice; those of a CPU do not."""
    few = {"least_width": 1, "resident": 16, "single": 1}
    for duplicates in ("off", "hash32"):
        last = levels_of(FAN, 0, device, duplicates=duplicates, store="visit", **few)[1]
        assert last["dropped"] + last["undetected"] <= 38
        if device.traits.scalar_groups:
            assert last["dropped"] == last["undetected"] == 0


@pytest.mark.usefixtures("quick")
def test_the_kernel_follows_the_frontier(device, monkeypatch):
    """A star of stars: one vertex, then 60, which find 1,800."""
    two = dataclasses.replace(device.capabilities, compute_units=2)
    monkeypatch.setattr(Device, "capabilities", two)
    graph = star_of_stars(60, 30)

    def kernels(**parameters):
        found = levels_of(graph, 0, device, duplicates="hash32", dynamic="off", **parameters)
        return [(each["kernel"], each["width"]) for each in found]

    # resident / frontier work-items for a vertex: 32 / 1, at most a warp, and 32 / 60, at least 1
    assert kernels(single=0, resident=16, least_width=1) == [("warps", 8), ("warps", 1)]
    assert kernels(single=0, resident=256, least_width=1) == [("warps", 8), ("warps", 8)]
    assert kernels(single=0, resident=16, least_width=4) == [("warps", 8), ("warps", 4)]
    assert kernels(single=0, resident=256, least_width=1, widths="fixed") == [("warps", 1)] * 2
    # whole warps and more vertices than work-items
    assert kernels(single=0, resident=16, least_width=8) == [("warps", 8), ("shared", 8)]
    # fewer vertices than resident / discover
    assert kernels(single=0, resident=16, least_width=1, discover=1) == [("edges", 1), ("warps", 1)]
    assert kernels(single=0, resident=256, discover=4) == [("edges", 1)] * 2
    # at most 64 vertices; there, fewer than 64 / discover
    assert kernels(single=1, least_width=1) == [("single_warps", 0)] * 2
    assert kernels(single=1, discover=1) == [("single_edges", 0)] * 2


# Groups of one work-item, which wait for each other on CPUs, too.
MEETING = {"group": 1, "warp": 1, "queue": 4, "coalesce": 0, "least_width": 1, "dynamic": "off"}
MEETING |= {"sync": "persistent", "duplicates": "off", "resident": 16}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("dynamic", ["off", "group-strip"])
@pytest.mark.parametrize("discover", [0, 1])
@pytest.mark.parametrize("single", [0, 4])
def test_levels_in_one_launch(single, discover, dynamic, fenced):
    more = {"single": single, "discover": discover, "dynamic": dynamic, "heavy": 200, "piece": 4}
    method = pyapsp.method("bfs-4k", **{**MEETING, **more})
    found = pyapsp.bfs(GRAPH, SOURCES, method, device=fenced)
    assert_right(GRAPH, SOURCES, found, EXPECTED)


@pytest.mark.usefixtures("quick")
def test_groups_meet_instead_of_launches(fenced, monkeypatch):
    """A path from a star: one launch for all levels, or until one group can go on."""
    n, leaves = 60, 40
    graph = arcs(n + leaves, [*range(n - 1), *[0] * leaves], range(1, n + leaves))
    launched = []
    run = bfs_4k._Levels._run
    monkeypatch.setattr(
        bfs_4k._Levels, "_run", lambda self, *more: (launched.append(more[0]), run(self, *more))
    )
    for single, expected in ((0, ["together"]), (4, ["single_warps", "together", "single_warps"])):
        launched.clear()
        levels = levels_of(graph, 0, fenced, **{**MEETING, "single": single})
        assert launched == expected
        assert [each["frontier"] for each in levels] == [1 + leaves, *[1] * (n - 2)]


@pytest.mark.usefixtures("quick")
def test_groups_that_do_not_meet_are_an_error(fenced, withhold):
    withhold(Bfs4K)
    method = pyapsp.method("bfs-4k", **MEETING, single=0)
    with pytest.raises(StallError, match="use sync=multi"):
        pyapsp.bfs(GRAPH, SOURCES[0], method, device=fenced)


@pytest.mark.usefixtures("quick")
def test_a_queue_that_is_too_short_for_a_launch_of_several_levels(fenced, monkeypatch):
    monkeypatch.setattr(bfs_4k, "_capacity", lambda n: 6)
    for single in (0, 4):
        method = pyapsp.method("bfs-4k", **MEETING, single=single)
        found = pyapsp.bfs(GRAPH, SOURCES, method, device=fenced)
        assert_right(GRAPH, SOURCES, found, EXPECTED)


@pytest.mark.parametrize("wrong", [{"dynamic": "relaunch"}, {"group": 64, "warp": 8}])
def test_what_groups_that_meet_do_not_have(wrong, device, monkeypatch):
    # on a GPU, groups of several work-items may wait
    monkeypatch.setattr(type(device), "traits", replace(device.traits, scalar_groups=True))
    method = pyapsp.method("bfs-4k", **{**MEETING, **wrong})
    with pytest.raises(ParameterError, match="persistent must be asked for"):
        pyapsp.bfs(FAN, 0, method, device=device)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("duplicates", ["off", "hash32"])
def test_a_queue_that_is_too_short(duplicates, device, monkeypatch):
    """Frontiers that do not fit are made again from the levels."""
    monkeypatch.setattr(bfs_4k, "_capacity", lambda n: 6)
    for single in (0, 1):
        method = pyapsp.method("bfs-4k", **{**WIDE, "duplicates": duplicates, "single": single})
        found = pyapsp.bfs(GRAPH, SOURCES, method, device=device)
        assert_right(GRAPH, SOURCES, found, EXPECTED)


@pytest.mark.usefixtures("quick")
def test_more_heavy_vertices_than_the_list_holds(device, monkeypatch):
    monkeypatch.setattr(bfs_4k, "_MOST_HEAVY", 3)
    graph = star_of_stars(30, 300)
    method = pyapsp.method(
        "bfs-4k", **WIDE, single=0, heavy=200, piece=4, dynamic="relaunch", duplicates="hash32"
    )
    assert heavy_degree(graph, 200, 256) <= 301
    found = pyapsp.bfs(graph, [0, 1, 99], method, device=device)
    assert_right(graph, [0, 1, 99], found, expected_levels(graph, [0, 1, 99]))


def test_heavy_degrees():
    star = SHAPES["star"][0]
    assert heavy_degree(star, 15, 10) == 399
    assert heavy_degree(star, 15, 400) == 400
    assert heavy_degree(star, 200, 1) == 1  # eight vertices of 400, and all but one have one arc
    assert heavy_degree(star, 0, 10) == 2**31 - 1
    assert heavy_degree(arcs(0, [], []), 15, 10) == 2**31 - 1


def test_work_is_linear(device):
    """A path of 20,000 vertices, and stars: one launch, and a queue that holds each vertex once."""
    n = 20_000
    path = arcs(n, range(n - 1), range(1, n), directed=False)
    found = pyapsp.bfs(path, 0, "bfs-4k", device=device)
    np.testing.assert_array_equal(found.levels, np.arange(n))
    assert found.stats["rounds"] == n
    assert found.stats["kernel_seconds"] < 20
    star = arcs(n, [0] * (n - 1), range(1, n), directed=False)
    for source in (0, 1):
        found = pyapsp.bfs(star, source, "bfs-4k", device=device)
        expected = np.where(np.arange(n) == 0, 1, 2) if source else np.ones(n, int)
        expected[source] = 0
        np.testing.assert_array_equal(found.levels, expected)
        assert found.stats["kernel_seconds"] < 20


@pytest.mark.usefixtures("quick")
def test_the_host_reads_once_for_each_level(device, monkeypatch):
    reads = []
    read = bfs_4k._Levels.read_state

    def counted(levels):
        reads.append(levels)
        read(levels)

    monkeypatch.setattr(bfs_4k._Levels, "read_state", counted)
    for parameters in ({"single": 0}, {"single": 0, "heavy": 200, "piece": 4}, {"single": 1}):
        reads.clear()
        method = pyapsp.method("bfs-4k", **{**WIDE, "duplicates": "hash32", **parameters})
        rounds = pyapsp.bfs(GRAPH, SOURCES[2], method, device=device).stats["rounds"]
        assert len(reads) <= rounds
        assert parameters["single"] == 0 or len(reads) < rounds


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("coalesce", "together"), [(0, False), (1, True), (4, False)])
def test_the_order_in_which_a_warp_writes(coalesce, together, device):
    """Eight lanes find three vertices each: one of each lane at a time, if three are enough."""
    leaves = np.arange(9, 33)
    graph = arcs(33, [*[0] * 8, *np.repeat(range(1, 9), 3)], [*range(1, 9), *leaves])
    shape = {"group": 32, "warp": 8, "queue": 4, "least_width": 1, "widths": "fixed", "single": 0}
    method = pyapsp.method("bfs-4k", **shape, discover=0, duplicates="off", coalesce=coalesce)
    options = PathOptions(device, np.dtype(np.int32), sources=np.array([0]))
    search = method.open(method.plan(graph, options), Stopwatch())
    search.search(0)
    queues = np.empty(2 * graph.n, np.int32)
    cl.enqueue_copy(search.queue, queues, search.queues)
    # the row of even levels
    lanes = queues[: leaves.size].reshape((3, 8) if together else (8, 3))
    parents = (lanes - 9) // 3
    np.testing.assert_array_equal(np.sort(queues[: leaves.size]), leaves)
    assert (parents == (parents[:1] if together else parents[:, :1])).all()


def test_parameters_that_do_not_fit(device, monkeypatch):
    fixed = pyapsp.method("bfs-4k", warp=8, group=64, least_width=8, widths="fixed")
    with pytest.raises(ParameterError, match="widths=fixed of bfs-4k does nothing"):
        pyapsp.bfs(FAN, 0, fixed, device=device)
    for wrong in ({"group": 32, "warp": 64}, {"warp": 8, "group": 64, "least_width": 16}):
        with pytest.raises(ParameterError, match="multiple of warp; least_width"):
            pyapsp.bfs(FAN, 0, pyapsp.method("bfs-4k", **wrong), device=device)
    poor = dataclasses.replace(device.capabilities, int64_atomics=False)
    monkeypatch.setattr(Device, "capabilities", poor)
    with pytest.raises(ParameterError, match="hash64 needs int64_atomics"):
        pyapsp.bfs(FAN, 0, pyapsp.method("bfs-4k", duplicates="hash64"), device=device)
    little = dataclasses.replace(device.capabilities, local_memory=4000)
    monkeypatch.setattr(Device, "capabilities", little)
    with pytest.raises(ParameterError, match="4,000 bytes of local memory"):
        pyapsp.bfs(FAN, 0, pyapsp.method("bfs-4k", group=1024), device=device)


# The thesis' figure 6.5: six vertices with these degrees, and the vertex of each of 20 lanes.
DEGREES = [3, 1, 4, 6, 3, 3]
OWNERS = [0, 0, 0, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("extended", [0, 1])
def test_the_example_of_edge_discover(extended, device):
    """Each arc is visited by a lane whose search gives the vertex of the figure."""
    leaves = np.arange(7, 27)
    graph = arcs(27, [*[0] * 6, *np.add(OWNERS, 1)], [*range(1, 7), *leaves])
    method = pyapsp.method(
        "bfs-4k", group=32, warp=32, queue=4, single=0, discover=1, extended=extended, resident=2048
    )
    told = []
    method.on_levels = told.append
    found = pyapsp.bfs(graph, 0, method, device=device)
    assert [each["kernel"] for each in told[0]] == ["edges", "edges"]
    np.testing.assert_array_equal(found.parents[leaves] - 1, OWNERS)
    assert (np.bincount(OWNERS) == DEGREES).all()
