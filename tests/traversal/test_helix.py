"""bfs-helix: all forms against SciPy, which go together, the choice for a graph, faults.

Most kernels are built without optimisation here, which takes a tenth of the time; their code is the
same. ``PYAPSP_TEST_SHARE=7/1000`` selects the seventh of a thousand parts of all legal sets for the
nightly test; without it it takes some hundred of them, others each day.
"""

from __future__ import annotations

import datetime
import os
import shutil
from itertools import combinations, product

import numpy as np
import pyopencl as cl
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp.device import Device
from pyapsp.device.kernels import source, warps
from pyapsp.errors import CapabilityError, ParameterError, StallError
from pyapsp.graph import Graph, generators
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters
from pyapsp.traversal.bfs.helix import automatic, chunks, dimensions, form, lists
from pyapsp.traversal.bfs.helix import method as module
from pyapsp.traversal.bfs.helix.automatic import Facts
from pyapsp.traversal.kernels import MOST_COUNTED

CHOICES = dimensions.CHOICES


def together(*parts):
    """Put graphs side by side; return the union, and where each starts."""
    tails, heads, starts, n = [], [], [], 0
    for size, arcs in parts:
        arcs = np.array(arcs, np.int64).reshape(-1, 2)
        tails.append(arcs[:, 0] + n)
        heads.append(arcs[:, 1] + n)
        starts.append(n)
        n += size
    return Graph.from_arcs(n, np.concatenate(tails), np.concatenate(heads)), starts


def both(arcs):
    return [*arcs, *((v, u) for u, v in arcs)]


RNG = np.random.default_rng(0)
GRID = generators.grid_2d(9, 8, 1)
# Hubs of one level, several of them in each bin.
LEAVES = [12, 70, 70, 70, 140, 140]
HUBS = [(0, 1 + i) for i in range(6)]
HUBS += [(1 + i, 7 + sum(LEAVES[:i]) + j) for i in range(6) for j in range(LEAVES[i])]
# Degrees from 0 to 150 in one graph: below and above every threshold of groups of 32 and 64.
GRAPH, STARTS = together(
    (40, [(v, v + 1) for v in range(39)]),  # a path
    (151, both([(0, v) for v in range(1, 151)])),  # a star
    (7 + sum(LEAVES), both(HUBS)),  # a star of stars
    (GRID.n, np.stack(GRID.arcs()[:2], axis=1)),
    (45, [(u, v) for u in range(45) for v in range(45) if u != v]),  # a clique
    (5, []),  # isolated vertices
    (6, [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (3, 3), (3, 4)]),  # self-loops
    (8, [(0, 1), (0, 1), (0, 2), (1, 3), (1, 3), (2, 3), (5, 6)]),  # arcs that are there twice
    (60, [(u, v) for u in range(6) for v in range(6 + u, 60, 6)]),  # sinks
    (80, RNG.integers(0, 40, (120, 2))),  # a random graph, and vertices apart from it
)
SOURCES = [*STARTS, STARTS[2] - 1, STARTS[3] + 71]
EXPECTED = csgraph.dijkstra(GRAPH.to_scipy().astype(float), unweighted=True, indices=SOURCES)
ARCS = set(zip(*(a.tolist() for a in GRAPH.arcs()[:2]), strict=True))


def searched(device, graph=GRAPH, sources=SOURCES, parents=True, **parameters):
    method = pyapsp.method("bfs-helix", **parameters)
    return pyapsp.bfs(graph, sources, method, parents=parents, device=device)


def assert_right(device, **parameters):
    """Levels are SciPy's, and a parent is one level nearer to the source."""
    found = searched(device, **parameters)
    levels = np.where(np.isinf(EXPECTED), -1, EXPECTED)
    np.testing.assert_array_equal(found.levels, levels, err_msg=str(parameters))
    for row, before in zip(found.levels, found.parents, strict=True):
        inner = np.flatnonzero(row > 0)
        assert (row[before[inner]] == row[inner] - 1).all(), parameters
        assert ARCS.issuperset(zip(before[inner].tolist(), inner.tolist(), strict=True)), parameters
        assert (before[row <= 0] == -9999).all(), parameters
    return found


@pytest.fixture
def quickly(monkeypatch, device):
    """Build kernels without optimisation."""
    monkeypatch.setattr(Device, "build_options", [*device.build_options, "-cl-opt-disable"])


# Sizes at which every threshold lies within the degrees of GRAPH.
SMALL = {"group": (1, 32, 64), "warp": (1, 8, 16), "width": (1, 2, 8, 32), "base": (6,)}


def values(name):
    return SMALL.get(name, CHOICES[name])


def drawn(device, rng, given=()):
    """Draw a legal set with small sizes and some given values."""
    given = dict(given)
    chosen = {}
    for name in CHOICES:
        known = {**given, **chosen}
        known.pop(name, None)
        fitting = [v for v in dimensions.allowed(name, known, device) if v in values(name)]
        fitting = [v for v in fitting if given.get(name, v) == v]
        # what comes later must still go with it
        fitting = [
            v
            for v in fitting
            if all(w in dimensions.allowed(k, {**known, name: v}, device) for k, w in given.items())
        ]
        if not fitting:
            return None
        chosen[name] = fitting[rng.integers(len(fitting))]
    return chosen


def pairwise(device):
    """Return legal sets in which each legal pair of values occurs, always the same ones."""
    rng = np.random.default_rng(1)
    bits = {}

    def bit(pair):
        return 1 << bits.setdefault(pair, len(bits))

    def covered(chosen):
        return sum(bit(pair) for pair in combinations(chosen.items(), 2))

    pool = [(each, covered(each)) for each in (drawn(device, rng) for _ in range(1500))]
    for first, second in combinations(CHOICES, 2):
        for pair in product(
            ((first, a) for a in values(first)), ((second, b) for b in values(second))
        ):
            if pair not in bits:
                tries = (drawn(device, rng, pair) for _ in range(5))
                found = next((each for each in tries if each), None)
                pool += [(found, covered(found))] if found else []
    left, sets = (1 << len(bits)) - 1, []
    while left:
        best, covers = max(pool, key=lambda each: (each[1] & left).bit_count())
        sets.append(best)
        left &= ~covers
    return sets


@pytest.mark.nightly
@pytest.mark.usefixtures("quickly")
def test_every_pair_of_values(device):
    for parameters in pairwise(device):
        assert_right(device, **parameters)


@pytest.mark.nightly
@pytest.mark.usefixtures("quickly")
def test_all_sets(device):
    """A share of all sets with small sizes; see the head of this file."""
    given = {"group": 64, "warp": 16, "base": 6}
    total = dimensions.count(device, given)
    share = os.environ.get("PYAPSP_TEST_SHARE")
    days = datetime.date.today().toordinal()
    part, parts = map(int, share.split("/")) if share else (days, total // 400)
    for number, parameters in enumerate(dimensions.configurations(device, given)):
        # neighbours differ in the last parameters only, so take them from all over the list
        if number * 7919 % parts == part % parts:
            assert_right(device, **parameters)


@pytest.mark.parametrize("group", [1, 32])
def test_as_users_build_it(group, device):
    """With optimisation: the forms of the published rules, and that of CPUs."""
    if group == 1:
        assert_right(device, group=1)
        return
    for facts in (Facts(2, 9, 0.3), Facts(14, 2000, 0.7)):
        chosen = automatic.published(facts, group=32, warp=8, resident=512) | {"base": 6}
        assert_right(device, **chosen)


def test_warps_as_wide_as_the_widest(device):
    """Ranks of 64 lanes, which one compiler gets wrong if they are ballots of two words."""
    assert_right(device, group=64, warp=64, balance="node", width=1, gather="warp")


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("balance", ["search-warp", "search-block"])
@pytest.mark.parametrize("scan", ["ordered", "unordered"])
@pytest.mark.parametrize("update", ["ballot", "local"])
def test_searches_and_queues(balance, scan, update, device):
    assert_right(device, balance=balance, scan=scan, update=update, group=32, warp=8)


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("queue", ["vertex", "edge"])
def test_launches_for_heavy_vertices(queue, device, monkeypatch):
    """The star of stars: vertices in two bins at its second level, or five launches."""
    monkeypatch.setattr(lists, "_PIECE", 1)  # several groups for a vertex
    launched, launch = [], lists.ListSearch.launch

    def noted(self, kernel, groups, *arguments):
        launched.append((kernel, groups))
        launch(self, kernel, groups, *arguments)

    monkeypatch.setattr(lists.ListSearch, "launch", noted)
    large = {"group": 32, "warp": 8, "base": 6, "sync": "multi", "queue": queue}
    for heavy, count in (("none", 0), ("bins", 2), ("relaunch", 5)):
        launched.clear()
        found = searched(device, sources=SOURCES[2:3], parents=False, heavy=heavy, **large)
        np.testing.assert_array_equal(found.levels[0] >= 0, np.isfinite(EXPECTED[2]))
        groups = [number for kernel, number in launched if kernel == "helix_bins"]
        assert len(groups) == count
        assert heavy != "relaunch" or sorted(groups) == [3, 3, 3, 5, 5]
    assert_right(device, heavy="relaunch", **large)
    with pytest.raises(ParameterError, match="heavy=relaunch has no batched"):
        searched(device, heavy="relaunch", sync="batched", group=32)


@pytest.fixture
def steps(device, tmp_path, monkeypatch):
    """Return a function that builds a kernel which uses the steps of Helix, for warps of one."""
    for folder in ("common", "traversal/bfs"):
        shutil.copytree(source.root() / folder, tmp_path / folder)
    monkeypatch.setattr(source, "root", lambda: tmp_path)

    def built(text, macros):
        (tmp_path / "steps.cl").write_text(text)
        defines = {f"PYAPSP_{name}": value for name, value in macros.items()}
        return warps.build_warps(device, "steps.cl", {"PYAPSP_WARP": 1, **defines})

    return built


TURNS = """
#include "traversal/bfs/bfs_helix.h"

__kernel GROUP void turns(__global int *found)
{
    __local shared_t shared;
    found[GROUP_PLACE] = look_turns(GROUP_PLACE, shared.slots);
}
"""


@pytest.mark.parametrize(
    ("macros", "apart"),
    [
        ({"ORDERED": 0}, True),
        ({"ORDERED": 1}, False),  # the group claims room together
        ({"ORDERED": 0, "HASH": 8, "HASH_LOADED": 1}, True),
        ({"ORDERED": 0, "HASH": 8, "HASH_LOADED": 0}, False),  # and looks for duplicates together
        ({"ORDERED": 0, "HASH": 1, "HASH_LOADED": 0}, True),
    ],
)
def test_warps_do_not_wait_for_what_others_look_at(macros, apart, device, steps):
    """Warps of one work-item have no barriers, as those of sub-groups."""
    built = steps(TURNS, {"GROUP": 8, **macros})
    found, queue = np.empty(8, np.int32), device.queue()
    buffer = cl.Buffer(queue.context, cl.mem_flags.WRITE_ONLY, found.nbytes)
    built.kernel("turns")(queue, (8,), (8,), buffer)
    cl.enqueue_copy(queue, found, buffer)
    assert found.tolist() == (list(range(8)) if apart else [7] * 8)


QUEUES = """
#include "traversal/bfs/bfs_helix.h"

/* How many vertices wait after each of 40. */
__kernel GROUP void queues(__global int *waiting, __global int *listed, __global int *state)
{
    __local shared_t shared;
    const list_t list = {listed, 0, 40};
    int waits = 0;
    for (int v = 0; v < 40; v++) {
        waits = keep(v, 0, waits, &shared);
        waits = update_full(waits, list, state + 1, state, 1, &shared);
        waiting[v] = waits;
    }
}
"""


def test_queues_of_work_items_leave_when_they_are_nearly_full(device, steps):
    built, queue = steps(QUEUES, {"GROUP": 1, "LOCAL": 1, "TURNS": 2}), device.queue()
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    found = [np.full(40, -1, np.int32), np.full(40, -1, np.int32), np.zeros(2, np.int32)]
    buffers = [cl.Buffer(queue.context, flags, hostbuf=each) for each in found]
    built.kernel("queues")(queue, (1,), (1,), *buffers)
    for each, buffer in zip(found, buffers, strict=True):
        cl.enqueue_copy(queue, each, buffer)
    # a queue has room for 16, and two may come until it is looked at again
    assert found[0].tolist() == [*range(1, 15), 0, *range(1, 15), 0, *range(1, 11)]
    assert found[1].tolist() == [*range(30), *[-1] * 10]


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("balance", ["node", "node-shuffle", "scan-warp", "search-block"])
@pytest.mark.parametrize("update", ["ballot", "local"])
def test_warps_as_wide_as_sub_groups(balance, update, device):
    """Of 16 lanes, which one driver runs as sub-groups: their loops end when each warp is done."""
    width = {"node": 2, "node-shuffle": 4}.get(balance, 1)
    shape = {"balance": balance, "width": width, "group": 64, "warp": 16, "gather": "both"}
    assert_right(device, scan="unordered", update=update, **shape)


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("prefix", ["two-pass", "packed"])
@pytest.mark.parametrize("leaves", ["keep", "drop"])
@pytest.mark.parametrize("chunk", ["fixed", "dynamic"])
def test_the_device_wide_form(prefix, leaves, chunk, device, monkeypatch):
    """With packed sums of vertices and arcs no launch computes them but that for the source.

    Nor but that for a level whose list was too short: work-items that race list vertices twice.
    """
    if prefix == "packed" and not device.capabilities.int64_atomics:
        with pytest.raises(ParameterError, match="prefix=packed needs int64_atomics"):
            searched(device, balance="device", prefix=prefix)
        return
    launched, repeated = [], []
    launch, again = lists.Frontiers.launch, chunks.ChunkSearch._again

    def noted(self, kernel, groups, *arguments):
        launched.append(kernel)
        launch(self, kernel, groups, *arguments)

    def noted_again(self, level):
        repeated.append(level)
        return again(self, level)

    monkeypatch.setattr(lists.Frontiers, "launch", noted)
    monkeypatch.setattr(chunks.ChunkSearch, "_again", noted_again)
    assert_right(device, balance="device", prefix=prefix, leaves=leaves, chunk=chunk)
    sums, levels = launched.count("helix_offsets"), launched.count("helix_filter")
    expected = len(SOURCES) + len(repeated) + (0 if prefix == "packed" else levels)
    assert sums == expected
    if device.traits.scalar_groups:  # no two work-items race
        assert not repeated


@pytest.mark.usefixtures("quickly")
def test_without_predecessors(device):
    levels = np.where(np.isinf(EXPECTED), -1, EXPECTED)
    for asked in ({}, {"queue": "edge"}, {"queue": "two-phase"}, {"balance": "device"}):
        found = searched(device, parents=False, **asked)
        assert found.parents is None
        np.testing.assert_array_equal(found.levels, levels)


@pytest.mark.usefixtures("quickly")
def test_without_relaxed_atomics(device, monkeypatch):
    """As OpenCL C 1.2: reads are atomic_or, and writes atomic_xchg."""
    real = warps.build
    monkeypatch.setattr(
        warps, "build", lambda *given, **more: real(*given, **{**more, "standard": "CL1.2"})
    )
    for asked in ({"bitmask": "8"}, {"queue": "two-phase"}, {"balance": "device"}):
        assert_right(device, **asked)


def test_which_sets_are_legal(device):
    """`fits`, `allowed`, `configurations` and `count` agree; some sets that must not be legal."""
    given = {"group": 32, "warp": 8, "width": 8, "bitmask": "none", "rows": "csr"}
    found = list(dimensions.configurations(device, given))
    assert len(found) == dimensions.count(device, given)
    assert len({tuple(each.items()) for each in found}) == len(found)
    assert all(dimensions.fits(each, device) for each in found)
    for asked, reason in {
        ("balance=device", "queue=edge"): "balance=device goes with neither",
        ("balance=device", "heavy=bins"): "balance=device goes with neither",
        ("queue=two-phase", "sync=single-group"): "one kernel a level",
        ("queue=edge", "duplicates=lookup-warp"): "no duplicates=lookup",
        ("group=1", "gather=block"): "needs group above warp",
        ("balance=node", "chunk=dynamic"): "only with it",
    }.items():
        parameters = dict(each.split("=") for each in asked)
        if "group" in parameters:
            parameters["group"] = int(parameters["group"])
        with pytest.raises(ParameterError, match=reason):
            searched(device, sources=[0], **parameters)


def test_what_is_asked_for_is_completed(device):
    for name, choices in CHOICES.items():
        for value in choices:
            if value == "persistent" or value == 512 or (name, value) == ("prefix", "packed"):
                continue
            method = pyapsp.method("bfs-helix", **{name: value})
            options = PathOptions(device, np.dtype(np.int32))
            (candidate,) = method.candidates(options)
            assert candidate[name] == value
            # on CPUs groups of several work-items must be asked for
            alone = candidate["group"] == 1 or name == "group"
            fitting = alone or not device.traits.scalar_groups
            assert method.fits(Parameters(candidate), options) == fitting, (name, value)


def test_persistent_must_be_asked_for(fenced):
    device = fenced
    asked = {"sync": "persistent", "group": 1}
    set_ = dimensions.completed(asked, automatic.on_a_cpu(), device)
    set_["rules"] = "published"
    options = PathOptions(device, np.dtype(np.int32))
    assert dimensions.fits(set_, device)
    assert not pyapsp.method("bfs-helix").fits(Parameters(set_), options)
    assert pyapsp.method("bfs-helix", sync="persistent").fits(Parameters(set_), options)
    assert_right(device, sync="persistent")


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("bitmask", ["none", "8", "32", "atomic"])
def test_the_bits_that_are_set_are_told(bitmask, device):
    """Where bits are not lost, they are those of the vertices that are reached."""
    method, told = pyapsp.method("bfs-helix", bitmask=bitmask), []
    method.on_mask = told.append
    found = pyapsp.bfs(GRAPH, SOURCES, method, device=device)
    reached = (found.levels >= 0).sum(axis=1) / GRAPH.n
    if bitmask == "none":
        assert told == []
    elif bitmask == "atomic":
        assert told == pytest.approx(reached.tolist())
    else:
        assert len(told) == len(SOURCES)
        assert (np.array(told) <= reached).all()
        assert (np.array(told) > 0).all()


@pytest.mark.usefixtures("quickly")
def test_a_stall_is_an_error(fenced, withhold):
    """A group that never comes to the barrier: the others give up."""
    withhold(form)
    with pytest.raises(StallError, match="sync=batched"):
        searched(fenced, sync="persistent")


def shortened(room, monkeypatch):
    """Let so many entries fit in each list."""
    real = form.defines
    monkeypatch.setattr(form, "defines", lambda *given: real(*given) | {"PYAPSP_SHORT": room})


def levels_made_again(searches, monkeypatch):
    """Return a list of the levels that searches of a class make again from now on."""
    made, again = [], searches._again

    def noted(self, level):
        made.append(level)
        again(self, level)

    monkeypatch.setattr(searches, "_again", noted)
    return made


@pytest.mark.every(3)
@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("sync", ["multi", "batched", "single-group"])
def test_lists_that_were_too_short_are_made_again(sync, device, monkeypatch):
    """Lists have room for eight entries, and lose the others."""
    made = levels_made_again(lists.ListSearch, monkeypatch)
    shortened(8, monkeypatch)
    bins = {"heavy": "bins", "base": 6, "group": 64}
    for queue, more in product(("vertex", "edge", "two-phase"), ({}, bins)):
        if sync == "single-group" and queue == "two-phase":
            continue
        made.clear()
        assert_right(device, sync=sync, queue=queue, **more)
        assert made


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("sync", ["multi", "batched"])
def test_bins_that_were_too_short_are_made_again(sync, device, monkeypatch):
    """A bin has room for two of three hubs; no list is too short."""
    found_before = [(hub, v) for hub in range(3) for v in range(3, 70)]
    arcs = [*((70, v) for v in range(70)), *found_before, (0, 71), (1, 72), (2, 73)]
    shortened(2, monkeypatch)
    bins = {"heavy": "bins", "base": 6, "group": 64}
    found = searched(device, together((74, arcs))[0], [70], sync=sync, queue="vertex", **bins)
    assert found.levels.tolist() == [[*[1] * 70, 0, 2, 2, 2]]


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("sync", ["multi", "batched"])
@pytest.mark.parametrize("leaves", ["keep", "drop"])
def test_frontiers_of_chunks_that_were_too_short_are_made_again(leaves, sync, device, monkeypatch):
    """Frontiers have room for eight vertices, and lose the others."""
    made = levels_made_again(chunks.ChunkSearch, monkeypatch)
    shortened(8, monkeypatch)
    for prefix in dimensions.allowed("prefix", {"balance": "device"}, device):
        made.clear()
        assert_right(device, balance="device", sync=sync, leaves=leaves, prefix=prefix)
        assert made


def test_gini():
    assert automatic.gini(np.full(7, 3)) == 0
    assert automatic.gini(np.zeros(4, int)) == 0
    assert automatic.gini(np.zeros(0, int)) == 0
    assert automatic.gini(np.array([0] * 99 + [5])) == pytest.approx(0.99)
    degrees = np.random.default_rng(0).integers(0, 30, 50)
    differences = np.abs(degrees[:, None] - degrees).sum()
    expected = differences / (2 * 50**2 * degrees.mean())
    assert automatic.gini(degrees) == pytest.approx(expected)


# Table 7.1 of the thesis: mean, largest and Gini coefficient; table 7.2 gives the rest.
TABLE = {
    "asia_osm": (2.1, 9, 0.08, "node", 4, "none", "vertex", "single-group", "ballot"),
    "USA-road-d.USA": (2.4, 9, 0.21, "node", 1, "none", "edge", "single-group", "ballot"),
    "rgg_n.2.23_s0": (15.1, 40, 0.14, "scan-warp", 1, "warp", "vertex", "single-group", "ballot"),
    "ldoor": (49.9, 78, 0.13, "node-shuffle", 16, "warp", "vertex", "multi", "local"),
    "audikw_1": (83.3, 346, 0.23, "node-shuffle", 32, "both", "vertex", "multi", "local"),
    "circuit5M": (10.7, 1290501, 0.52, "scan-warp", 1, "both", "vertex", "single-group", "ballot"),
    "soc-pokec": (37.5, 20518, 0.62, "scan-warp", 1, "both", "vertex", "multi", "local"),
    "kron_g500": (86.8, 213906, 0.92, "scan-warp", 1, "both", "vertex", "multi", "ballot"),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_published_rules(name):
    mean, most, gini, *expected = TABLE[name]
    facts = Facts(mean, most, gini)
    found = automatic.published(facts, group=128, warp=32, resident=32768)
    names = ("balance", "width", "gather", "queue", "sync", "update")
    assert [found[each] for each in names] == expected
    assert found["heavy"] == ("bins" if most > 16384 else "none")
    by_warp = found["balance"] == "scan-warp"
    assert found["duplicates"] == ("load-warp" if by_warp else "load-block")


def test_the_published_rules_on_a_device_of_groups(device, monkeypatch):
    """The configuration follows the graph; on CPUs it is that of groups of one work-item."""
    options = PathOptions(device, np.dtype(np.int32))
    if device.traits.scalar_groups:
        assert pyapsp.method("bfs-helix").plan(GRAPH, options).parameters["group"] == 1
    monkeypatch.setattr(automatic, "on_a_cpu", lambda: automatic.published(FACTS, resident=512))
    parameters = pyapsp.method("bfs-helix", group=128).plan(GRAPH, options).parameters
    assert (parameters["group"], parameters["warp"]) == (128, 32)


FACTS = automatic.facts_of(GRAPH)


def test_the_fitted_rules(device, monkeypatch):
    """All groups stay for a deep graph; for others there are bins. Both give the levels."""
    deep = "persistent" if device.capabilities.device_scope_fence else "multi"
    options = PathOptions(device, np.dtype(np.int32))
    for facts, sync in ((Facts(2.0, 9, 0.1), deep), (Facts(16.0, 999, 0.6), "batched")):
        # so that devices of both kinds take them
        alone = automatic.fitted(facts, group=1, warp=1)
        monkeypatch.setattr(automatic, "on_a_cpu", lambda alone=alone: alone)
        monkeypatch.setattr(module, "facts_of", lambda graph, facts=facts: facts)
        monkeypatch.setattr(module.BfsHelix, "idle", lambda *given: {})
        asked = pyapsp.method("bfs-helix", rules="fitted")
        assert asked.plan(GRAPH, options).parameters["sync"] == sync
        assert_right(device, rules="fitted")


def test_rules_are_refused_where_the_configuration_is_one_for_all_graphs(device):
    options = PathOptions(device, np.dtype(np.int32))
    fitted = pyapsp.method("bfs-helix", rules="fitted")
    if device.traits.scalar_groups:
        with pytest.raises(ParameterError, match="rules=fitted of bfs-helix does nothing"):
            fitted.plan(GRAPH, options)
    else:
        assert fitted.plan(GRAPH, options).parameters["rules"] == "fitted"


def test_arcs_beyond_int_are_refused(device, monkeypatch):
    monkeypatch.setattr(Graph, "m", MOST_COUNTED + 1)
    with pytest.raises(CapabilityError, match="at most 2,146,435,072 arcs"):
        pyapsp.method("bfs-helix").plan(Graph.from_arcs(2, [0], [1]), PathOptions(device, np.int32))


def test_sizes_of_frontiers(device):
    """The frontiers of a search without duplicates are the levels."""
    for asked in ({}, {"sync": "batched"}):
        method = pyapsp.method("bfs-helix", queue="vertex", duplicates="cas", **asked)
        options = PathOptions(device, np.dtype(np.int32), sources=np.array([STARTS[2]]))
        plan = method.plan(GRAPH, options)
        search = method.open(plan, pyapsp.device.kernels.Stopwatch())
        levels = np.empty(GRAPH.n, np.int32)
        search.search(STARTS[2])
        search.read_distances(levels)
        assert search.sizes == [1, 6, 502, 0]


def test_groups_that_run_at_the_same_time(device):
    """Large frontiers, in which several groups work at once; small graphs do not show faults."""
    graph = generators.rmat(13, 16, seed=1).symmetrized()
    graph = graph.with_weights(np.ones(graph.m, np.int64))
    method = pyapsp.method(
        "bfs-helix", group=32, warp=8, balance="node", width=4, gather="both", update="local"
    )
    sources = np.random.default_rng(0).integers(0, graph.n, 40)
    found = pyapsp.bfs(graph, sources, method, parents=False, device=device).levels
    expected = csgraph.dijkstra(graph.to_scipy(), indices=sources, unweighted=True)
    expected[np.isinf(expected)] = -1
    np.testing.assert_array_equal(found, expected)
