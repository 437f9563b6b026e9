"""bfs-direction-optimising: parameters in pairs, every change of direction, limits and memory."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from threading import Timer

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.base import reuse
from pyapsp.device.kernels import Stopwatch, transfer, upload
from pyapsp.errors import CapabilityError, DeviceError, ParameterError, StallError
from pyapsp.graph import Facts, Graph, generators
from pyapsp.paths import PathOptions, landing
from pyapsp.paths.leaving import Leaving
from pyapsp.paths.result import NO_PREDECESSOR
from pyapsp.registry import Parameters, problem, runs
from pyapsp.traversal import kernels, symmetry
from pyapsp.traversal.bfs import bfs_direction_optimising as module
from pyapsp.traversal.bfs.bfs import BfsResult
from pyapsp.traversal.kernels import MOST_COUNTED
from pyapsp.traversal.request import requested
from pyapsp.traversal.symmetry import Symmetry, known_symmetric

ID = "bfs-direction-optimising"
MANY = 10**9


def set_in_place(monkeypatch, here):
    for each in (module, kernels):
        monkeypatch.setattr(each, "in_place", lambda handle: here)


def hubs():
    """Stars whose centres are the leaves of a star; one centre has most of the leaves."""
    centres = np.arange(1, 9)
    sizes = [1, 2, 3, 5, 8, 40, 300, 1500]
    tails = [np.zeros(8, int), np.repeat(centres, sizes)]
    return tails, [centres, 9 + np.arange(sum(sizes))], 9 + sum(sizes)


def graphs():
    tails, heads, n = hubs()
    rng = np.random.default_rng(3)
    pairs = rng.integers(0, 90, (2, 300))
    return {
        "path": Graph.from_arcs(99, range(98), range(1, 99), directed=False),
        "star": Graph.from_arcs(2200, [7] * 2199, np.delete(range(2200), 7), directed=False),
        "star of stars": Graph.from_arcs(
            n, np.concatenate(tails), np.concatenate(heads), directed=False
        ),
        "grid": generators.grid_2d(13, 17, 1),
        "clique": generators.complete(70, seed=1).symmetrized(),
        "isolated": Graph.from_arcs(300, [1, 33, 64], [33, 64, 299], directed=False),
        "self-loops": Graph.from_arcs(40, [*range(40), *range(39)], [*range(40), *range(1, 40)]),
        "many arcs": Graph.from_arcs(90, *pairs, directed=False),
        "sinks": Graph.from_arcs(400, np.repeat(range(20), 20), range(400)),
        "two parts": Graph.from_arcs(131, range(0, 129), range(2, 131), directed=False),
        "power law": generators.rmat(8, seed=2),
        "power law both ways": generators.rmat(9, seed=2).symmetrized(),
    }


GRAPHS = graphs()


def levels_of(graph, source):
    """Level after level, by NumPy."""
    levels = np.full(graph.n, -1, np.int32)
    tails, heads, _ = graph.arcs()
    levels[source] = level = 0
    while (levels == level).any():
        found = heads[levels[tails] == level]
        levels[found[levels[found] < 0]] = level = level + 1
    return levels


EXPECTED = {
    (name, place): levels_of(graph, (0, graph.n // 2, graph.n - 1)[place])
    for name, graph in GRAPHS.items()
    for place in range(3)
}


def assert_right(graph, found, expected):
    np.testing.assert_array_equal(found.levels, expected)
    reached = expected >= 0
    assert found.stats["work"] == np.diff(graph.indptr)[reached].sum()
    if found.parents is None:
        return
    inner = np.flatnonzero(expected > 0)
    outer = np.flatnonzero(expected <= 0)
    assert (found.parents[outer] == NO_PREDECESSOR).all()
    before = found.parents[inner]
    assert (expected[before] == expected[inner] - 1).all()
    tails, heads, _ = graph.arcs()
    arcs = tails.astype(np.int64) * graph.n + heads
    assert np.isin(before.astype(np.int64) * graph.n + inner, arcs).all()


@pytest.fixture(autouse=True)
def more_values(monkeypatch):
    """Let a walk end on small graphs too."""
    choices = module.BfsDirectionOptimising.choices
    more = {"walk": (*choices["walk"], 9, 400), "march": (*choices["march"], 30)}
    monkeypatch.setattr(module.BfsDirectionOptimising, "choices", {**choices, **more})


def pairwise(**factors):
    """Rows in which every pair of values of two factors occurs; always the same ones."""
    names = list(factors)
    wanted = {
        (a, x, b, y)
        for a, b in combinations(names, 2)
        for x, y in product(range(len(factors[a])), range(len(factors[b])))
    }
    rng, rows = np.random.default_rng(0), []
    while wanted:
        tried = [{name: int(rng.integers(len(factors[name]))) for name in names} for _ in range(60)]
        a, x, b, y = min(wanted)
        for each in tried:
            each.update({a: x, b: y})

        met = [{(a, row[a], b, row[b]) for a, b in combinations(names, 2)} for row in tried]
        best = tried[max(range(60), key=lambda place: len(met[place] & wanted))]
        wanted -= met[tried.index(best)]
        rows.append({name: factors[name][best[name]] for name in names})
    return rows


ROWS = pairwise(
    group=(1, 32),
    alpha=(0, 15, MANY),
    beta=(1, 18, MANY),
    walk=(0, 9, 400),
    crew=(0, 4),
    march=(0, 30, 16384),
    pieces=(True, False),
    batch=(1, 3, 8),
    parents=(True, False),
    in_place=(True, False),
    narrow=(True, False),
    entering=("untold", "told", "tested", "turned"),
)


# Each form of the kernels takes seconds to compile for larger groups; the nightly tests have all.
ONE_FORM = {"pieces": True, "in_place": False, "parents": True}
NIGHTLY = [
    {**row, "group": group} for group in (64, 256, 1024) for row in ROWS[:: 1024 // group // 4 + 1]
]


@pytest.mark.every(20)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(map(str, row.values())))
def test_parameters_in_pairs(row, device, monkeypatch):
    if row["group"] > 1:
        row = {**row, **ONE_FORM}
    check_all(row, row["batch"] + row["walk"], device, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("row", NIGHTLY, ids=lambda row: "-".join(map(str, row.values())))
def test_large_groups(row, device, monkeypatch):
    if row["group"] > device.capabilities.max_work_group_size:
        pytest.skip("the device has no groups of this size")
    check_all(row, NIGHTLY.index(row), device, monkeypatch)


def check_all(row, turn, device, monkeypatch):
    row = dict(row)
    if row["group"] == 1 or not device.capabilities.device_scope_fence:
        row["crew"] = 0
    if row.pop("pieces"):
        in_pieces(monkeypatch)
    monkeypatch.setattr(module, "_BATCH", row.pop("batch"))
    if not row.pop("in_place"):
        set_in_place(monkeypatch, False)
    if row.pop("narrow"):
        monkeypatch.setattr(module, "_LONG", 1)
    parents, entering = row.pop("parents"), row.pop("entering")
    if entering == "tested":
        monkeypatch.setattr(module, "_DENSE", 0)
        monkeypatch.setattr(module, "_LARGE", 0)
    if entering == "turned":
        monkeypatch.setattr(module, "_MANY", 1)
    for number, (name, graph) in enumerate(GRAPHS.items()):
        fresh, place = graph if entering == "told" else untold(graph), (turn + number) % 3
        source = (0, graph.n // 2, graph.n - 1)[place]
        found = pyapsp.bfs(fresh, source, pyapsp.method(ID, **row), parents=parents, device=device)
        assert_right(graph, found, EXPECTED[name, place])
        assert found.stats["rounds"] == EXPECTED[name, place].max() + 1  # the last one is empty


def in_pieces(monkeypatch):
    """Let a vertex with more arcs than one of a grid be in pieces."""
    monkeypatch.setattr(module, "_CHUNK", 4)
    monkeypatch.setattr(module, "_SCALAR_CHUNK", 4)


def untold(graph):
    """The same arcs, of which nothing is known."""
    return Graph(graph.indptr, graph.indices, graph.weights)


PUSH, PULL, WALK, MARCH = (0, 0, 0, 1), (0, 0, MANY, MANY), (6, 0, 0, 1), (0, 40, 0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("group", [1, 32])
def test_every_change_of_direction(group, device, monkeypatch):
    """Launches push, pull, walk and march in every order."""
    kinds, pattern = [], ()
    crew = 4 * (group > 1 and device.capabilities.device_scope_fence)
    steps = (PUSH, PULL, WALK, MARCH)[: 4 if crew else 3]

    def advanced(self, arguments, rows, then):
        state, turn = np.empty((5, 16), np.int32), 0
        while True:
            limits = map(np.int32, pattern[turn % len(pattern)])
            self._step(self._queue, *self._shape, *arguments, np.int32(turn), *limits)
            turn += 1
            module.cl.enqueue_copy(self._queue, state, self._own[-1])
            kinds.append(int(state[turn % 4][11]))
            if state[turn % 4][2] == 0:
                return state[turn % 4]

    monkeypatch.setattr(module._Search, "_advanced", advanced)
    in_pieces(monkeypatch)
    set_in_place(monkeypatch, False)
    names = ("star of stars", "grid", "clique", "many arcs", "power law both ways")
    for number, order in enumerate(product(steps, repeat=3)):
        pattern = order
        for name in (names[number % 5], names[(number + 2) % 5]):
            method = pyapsp.method(ID, group=group, crew=crew)
            found = pyapsp.bfs(GRAPHS[name], 0, method, device=device)
            assert_right(GRAPHS[name], found, EXPECTED[name, 0])
    assert 50 < sum(kinds) < len(kinds) - 50


@pytest.mark.slow
def test_a_walk_leaves_large_levels_to_a_pull(device, monkeypatch):
    """It ends in the middle of a search, though the level is small enough for a walk."""
    copies = []
    monkeypatch.setattr(module, "_STROLL", 60)
    monkeypatch.setattr(module.cl, "enqueue_copy", counted(copies, module.cl.enqueue_copy))
    for name in ("power law both ways", "clique", "many arcs", "grid"):
        for alpha in (0, MANY):
            method = pyapsp.method(ID, group=1, walk=2**20, alpha=alpha)
            copies.clear()
            found = pyapsp.bfs(GRAPHS[name], 0, method, device=device)
            assert_right(GRAPHS[name], found, EXPECTED[name, 0])
            # the first batch is one launch, a walk; if it ends for a pull, others follow
            batches = sum(target.nbytes == 320 for target in copies)
            assert batches == 1 + (alpha > 0 and name != "grid")


@pytest.mark.every(2)
@pytest.mark.parametrize("group", [1, 32])
def test_a_grid_is_one_launch(group, device, monkeypatch):
    """One group finds levels until one is large, or empty; the others do nothing."""
    launches = []
    monkeypatch.setattr(module, "_BATCH", 1)
    monkeypatch.setattr(module.cl, "enqueue_copy", counted(launches, module.cl.enqueue_copy))
    in_pieces(monkeypatch)
    set_in_place(monkeypatch, False)
    method = pyapsp.method(ID, group=group, walk=2**20)
    found = pyapsp.bfs(GRAPHS["grid"], 0, method, device=device)
    assert found.stats["rounds"] == 13 + 17 - 1
    assert sum(target.nbytes == 320 for target in launches) == 1


@pytest.mark.every(2)
@pytest.mark.parametrize("parents", [False, True])
@pytest.mark.parametrize("longest", [126, 127, 128, 32767, 32768])
def test_levels_come_in_the_narrowest_type(longest, parents, device, monkeypatch):
    set_in_place(monkeypatch, False)
    monkeypatch.setattr(module, "_LONG", longest)
    last = longest + 9
    graph = Graph.from_arcs(last + 1, range(longest), range(1, longest + 1))
    expected = np.full((2, last + 1), -1)
    expected[0, : longest + 1], expected[1, last] = range(longest + 1), 0
    kinds, take = [], Leaving.take

    def noted(self, values, kind, ready, row):
        kinds.append(kind)
        return take(self, values, kind, ready, row)

    monkeypatch.setattr(Leaving, "take", noted)
    narrow = np.min_scalar_type(-longest - 1)
    alone = pyapsp.bfs(graph, 0, ID, parents=parents, device=device)
    assert alone.rows.narrow[0].values.dtype == narrow
    assert np.array_equal(alone.levels, expected[0])
    assert not kinds
    found = pyapsp.bfs(graph, [0, last], ID, parents=parents, device=device)
    # levels are sent while the next search runs, so after the parents
    assert kinds[parents :: 1 + parents] == [narrow, np.int8]
    assert "distances" not in vars(found.rows)
    assert found.levels.dtype == np.int32
    assert np.array_equal(found.levels, expected)
    assert (found.parents is None) != parents
    for rows in (pickle.loads(pickle.dumps(found.rows)), replace(found.rows, labels=None)):
        assert rows.distances.dtype == np.int32
        assert np.array_equal(rows.distances, np.where(expected < 0, rows.infinity, expected))
        assert np.array_equal(BfsResult(rows, False).levels, expected)
    assert found.rows.diameter() == longest
    assert not parents or found.path(longest, 0) == [*range(longest + 1)]


def test_levels_are_not_narrow_if_distances_are_asked_for(device, monkeypatch):
    set_in_place(monkeypatch, False)
    monkeypatch.setattr(module, "_LONG", 1)
    graph, expected = GRAPHS["grid"], EXPECTED["grid", 0]
    assert pyapsp.bfs(graph, [], ID, device=device).levels.shape == (0, graph.n)
    assert "narrow" in vars(pyapsp.bfs(graph, 0, ID, device=device).rows)
    for limits in ({"cutoff": 5}, {"targets": np.flatnonzero(expected <= 5)}):
        request = requested("bfs", graph, ID, sources=0, device=device, **limits)
        found = runs.solve(request).answer.distances[0]
        assert np.array_equal(found, np.where(expected > 5, 2**30 - 1, expected))


@pytest.mark.usefixtures("quick")
def test_a_crew_finds_more_than_its_groups_hold(device):
    """What a group cannot hold it puts into the queue at once, in levels of the crew."""
    ends = np.arange(400)
    tails, heads = np.r_[np.zeros(20, int), 1 + ends % 20], np.r_[1 + np.arange(20), 21 + ends]
    graph = Graph.from_arcs(421, tails, heads, directed=False)
    crew = 4 * device.capabilities.device_scope_fence
    method = pyapsp.method(ID, group=32, alpha=0, walk=0, crew=crew, march=16384 * (crew > 0))
    found = pyapsp.bfs(graph, 0, method, device=device)
    assert_right(graph, found, levels_of(graph, 0))


@pytest.mark.slow
def test_a_crew_that_waits_for_ever_stalls(device, monkeypatch):
    build = module.build

    def withheld(device, name, defines, **more):
        limits = {"PYAPSP_WITHHOLD": 1, "PYAPSP_PATIENCE": 1000}
        return build(device, name, defines | limits, **more)

    monkeypatch.setattr(module, "build", withheld)
    method = pyapsp.method(ID, group=32, walk=0, crew=4, march=16384)
    expected = (StallError, "use crew=0")
    if not device.capabilities.device_scope_fence:
        expected = (ParameterError, "crew=0 if group=1 or without device_scope_fence")
    with pytest.raises(expected[0], match=expected[1]):
        pyapsp.bfs(GRAPHS["grid"], 0, method, device=device)


def counted(calls, function):
    def call(queue, target, source, **more):
        if isinstance(target, np.ndarray):
            calls.append(target)
        return function(queue, target, source, **more)

    return call


def test_pulls_read_few_arcs_and_are_chosen(device, monkeypatch):
    """A dense graph of small diameter is pulled by default, a mesh is not."""
    pulled = []
    advance = module._Search._advanced

    def advanced(self, *arguments):
        state = advance(self, *arguments)
        every = np.empty((5, 16), np.int32)
        module.cl.enqueue_copy(self._queue, every, self._own[-1])
        pulled.append(bool(every[:4, 11].any()))
        return state

    monkeypatch.setattr(module._Search, "_advanced", advanced)
    for limit in ("_BATCH", "_LONGEST_BATCH"):
        monkeypatch.setattr(module, limit, 1)
    dense = generators.random_graph(6000, 150_000, seed=1).symmetrized()
    for graph in (dense, generators.grid_2d(200, 200, 1)):
        found = pyapsp.bfs(graph, 0, pyapsp.method(ID, walk=1024), device=device)
        assert_right(graph, found, levels_of(graph, 0))
    assert pulled == [True, False]


def test_more_arcs_than_32_bits_count(device):
    facts = Facts(9, 2**31, 1, False, True, True)
    options = PathOptions(device, np.dtype(np.int32))
    error = pyapsp.method(ID).unmet(facts, options)
    assert isinstance(error, CapabilityError)
    assert "2,147,483,648 arcs" in str(error)
    assert pyapsp.method(ID).unmet(Facts(9, MOST_COUNTED, 1, False, True, True), options) is None
    # arrays of this size that take no memory
    graph = object.__new__(Graph)
    heads = np.broadcast_to(np.zeros(1, np.int32), 2**31)
    starts = np.array([0, 2**31], np.int64)
    fields = {"indptr": starts, "indices": heads, "weights": heads, "labels": None, "name": None}
    graph.__dict__.update(fields, directed=True, _extremes=(1, 1))
    request = problem("bfs").ask(graph, sources=0, device=device)
    offered = [choice.method.id for choice in request.problem.choices(request)]
    assert ID not in offered
    assert offered[0] == "bfs-virtual-warp"
    with pytest.raises(CapabilityError, match="2,147,483,648 arcs"):
        runs.run(problem("bfs").ask(graph, ID, sources=0, device=device))


def test_memory_is_little_more_than_the_graph(device, monkeypatch):
    options = PathOptions(device, np.dtype(np.int32), True, sources=np.array([0]))
    for in_place, offset in ((True, 8), (False, 4)):
        set_in_place(monkeypatch, in_place)
        for graph in (generators.grid_2d(60, 60, 1), generators.rmat(11, seed=1)):
            for each in (graph, graph.symmetrized()):
                method = pyapsp.method(ID)
                for group in (1, 64):
                    parameters = Parameters({**next(method.candidates(options)), "group": group})
                    total = sum(method.buffers(each, options, parameters))
                    arcs = offset * (each.n + 1) + 4 * each.m
                    sums = Symmetry.bytes(device)  # of groups: more on larger devices
                    assert total <= 1.3 * arcs + 12 * each.n + sums + 4096


def test_reversed_for_many_sources_alone(device, monkeypatch):
    turned = []
    reverse = Graph.reversed
    monkeypatch.setattr(Graph, "reversed", lambda self: turned.append(self) or reverse(self))
    graph = generators.rmat(8, seed=4)
    sources = np.arange(20) * 3
    found = pyapsp.bfs(graph, sources, ID, device=device)
    assert turned == [graph]
    for source, levels in zip(sources, found.levels, strict=True):
        np.testing.assert_array_equal(levels, levels_of(graph, source))
    pyapsp.bfs(graph, sources[:3], ID, device=device)
    pyapsp.bfs(graph.symmetrized(), sources, ID, device=device)
    assert turned == [graph]


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("parents", [False, True])
def test_rows_that_the_device_writes(count, parents, device, monkeypatch):
    """Those of one source, if earlier answers were in the memory; others leave while it runs."""
    monkeypatch.setattr(reuse, "_LARGE", 64)
    monkeypatch.setattr(reuse, "_unused", {})
    monkeypatch.setattr(module, "_LONG", 0)
    for each in (module, landing, transfer):
        monkeypatch.setattr(each, "in_place", lambda handle: False)
    graph = generators.rmat(8, seed=4)
    sources = np.arange(count) * 3
    right = np.array([levels_of(graph, source) for source in sources])
    forms = []
    for _ in range(6):
        found = pyapsp.bfs(graph, sources, ID, device=device, parents=parents)
        np.testing.assert_array_equal(found.levels, right)
        assert (found.rows.distances == np.where(right < 0, found.rows.infinity, right)).all()
        np.testing.assert_array_equal(found.levels, right)
        forms.append(found.rows.wide is not None)
        del found
    assert forms[0] == (count > 1)
    assert forms[-1]

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pyapsp.bfs(graph, sources, ID, device=device, progress=stop)
    np.testing.assert_array_equal(pyapsp.bfs(graph, sources, ID, device=device).levels, right)


def test_the_first_error_counts(device, monkeypatch):
    """Rows that cannot leave after an error of the run are no error of their own."""
    set_in_place(monkeypatch, False)
    monkeypatch.setattr(module, "_LONG", 0)
    ends = []

    def fail(self):
        ends.append(finish(self))
        raise cl.RuntimeError("wait", -5, "out of resources")

    def stop(done, total):
        raise KeyboardInterrupt

    finish = Leaving.finish
    monkeypatch.setattr(Leaving, "finish", fail)
    search = partial(pyapsp.bfs, generators.rmat(7, seed=4), range(6), ID, device=device)
    with pytest.raises(KeyboardInterrupt):
        search(progress=stop)
    with pytest.raises(DeviceError, match="failed: wait"):
        search()
    assert len(ends) == 2


@pytest.mark.parametrize("parents", [False, True])
def test_rows_are_not_overwritten_before_they_have_left(parents, device, monkeypatch):
    set_in_place(monkeypatch, False)
    monkeypatch.setattr(module, "_LONG", 0)
    long = [cl.Buffer(device.context, cl.mem_flags.READ_WRITE, 2**24) for _ in "ab"]
    take = Leaving.take

    def late(self, *given):
        cl.enqueue_copy(self._link, *long)
        return take(self, *given)

    monkeypatch.setattr(Leaving, "take", late)
    graph, sources = generators.rmat(7, seed=4), range(0, 18, 3)
    search = partial(pyapsp.bfs, method=ID, parents=parents, device=device)
    found, alone = search(graph, sources), [search(graph, source) for source in sources]
    np.testing.assert_array_equal(found.levels, [each.levels for each in alone])
    if parents:
        np.testing.assert_array_equal(found.parents, [each.parents for each in alone])


def test_the_end_of_a_run_waits_for_levels_on_their_way(device, monkeypatch):
    set_in_place(monkeypatch, False)
    monkeypatch.setattr(module, "_LONG", 0)
    request = requested("bfs", generators.rmat(6, seed=4), ID, sources=[0, 1], device=device)
    planned = next(iter(runs.Candidates(request)))
    searcher = planned.method.open(planned.plan, Stopwatch())
    late, over = cl.UserEvent(device.context), []
    cl.enqueue_barrier(searcher._leaving._link, wait_for=[late])

    def end():
        over.append(True)
        late.set_status(cl.command_execution_status.COMPLETE)

    timer = Timer(0.2, end)
    timer.start()
    planned.method.finish(searcher)
    assert over
    timer.join()


@pytest.fixture(params=[1, 64])
def tells(request, device):
    """Whether all arcs of a graph have their reverse, by the sums alone."""
    test = Symmetry(device, request.param, np.dtype(np.int64))
    test._tries = False  # as on a GPU
    queue = device.queue()

    def tell(graph):
        arcs = [upload(queue, each, Stopwatch()) for each in (graph.indptr, graph.indices)]
        partial = device.buffer(Symmetry.bytes(device))
        return test.holds(graph, queue, arcs, partial)

    return tell


def test_symmetry_is_told_from_sums(tells):
    rng = np.random.default_rng(5)
    for n, m in ((2, 1), (3, 4), (50, 300), (1000, 9000)):
        both = untold(Graph.from_arcs(n, *rng.integers(0, n, (2, m)), directed=False))
        assert known_symmetric(both) is None
        assert tells(both)
        assert known_symmetric(both)
        tails, heads, _ = both.arcs()
        inner = np.flatnonzero(tails != heads)
        for lost in {inner[0], inner[inner.size // 2], inner[-1]} if inner.size else ():
            kept = np.arange(both.m) != lost
            assert not tells(Graph.from_arcs(n, tails[kept], heads[kept]))
    # the same degrees both ways
    ring = Graph.from_arcs(7, range(7), [*range(1, 7), 0])
    assert not tells(ring)
    assert known_symmetric(ring) is False
    assert tells(Graph.from_arcs(3, [1, 2], [1, 2]))


def test_some_arcs_are_tried_first():
    both = generators.rmat(7, seed=1).symmetrized()
    assert symmetry._tried(both)
    assert symmetry._tried(Graph.from_arcs(3, [], []))
    assert not symmetry._tried(Graph.from_arcs(9, range(8), range(1, 9)))


@pytest.mark.parametrize("tries", [False, True])
def test_a_gpu_reads_all_arcs_at_once(tries, device, monkeypatch):
    test = Symmetry(device, 1, np.dtype(np.int64))
    assert test._tries == device.traits.scalar_groups
    test._tries = tries
    monkeypatch.setattr(test, "_sums_vanish", lambda *_: True)
    one_way = Graph.from_arcs(9, range(8), range(1, 9))
    assert test.holds(one_way, device.queue(), [], device.buffer(4)) is not tries


def test_lines_are_prefetched_where_neighbours_have_close_numbers(device, monkeypatch):
    built = []
    build = module.build

    def noted(device, name, defines, **more):
        built.append(defines["PYAPSP_NEAR"])
        return build(device, name, defines, **more)

    monkeypatch.setattr(module, "build", noted)
    near = generators.grid_2d(30, 40)
    order = np.random.default_rng(2).permutation(near.n)
    tails, heads, weights = near.arcs()
    far = Graph.from_arcs(near.n, order[tails], order[heads], weights)
    alone = pyapsp.method("bfs-direction-optimising", group=1)

    def built_for(graph):
        pyapsp.bfs(graph, 0, alone, device=device)
        return built.pop()

    assert not built_for(near)  # a cache holds it
    monkeypatch.setattr(module, "_UNCACHED", 0)
    assert built_for(near) == pyapsp.device.choose(device).traits.prefetches
    assert not built_for(far)
    found = pyapsp.bfs(near, 7, alone, device=device)
    assert found.levels.tolist() == levels_of(near, 7).tolist()
