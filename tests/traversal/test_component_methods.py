"""Strongly connected components: every method and its parameters, the problem, the function."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

import pyapsp
from pyapsp.errors import (
    CapabilityError,
    DeviceMemoryError,
    FormatError,
    GraphError,
    ParameterError,
    VerificationError,
)
from pyapsp.graph import Graph
from pyapsp.registry import Options, problem
from pyapsp.registry.tuning import Space
from pyapsp.traversal.components import scc_colouring, scc_hooking
from pyapsp.traversal.components.component_methods import Labels
from pyapsp.traversal.components.scc_multi_step import DEVSHATWAR

from .covering import covering

METHODS = [cls.id for cls in pyapsp.methods("scc") if not cls.requires.symmetric]
PROBLEM = problem("scc")


def digraph(n, arcs, weights=None):
    tails, heads = zip(*arcs, strict=True) if arcs else ((), ())
    return Graph.from_arcs(n, np.array(tails, int), np.array(heads, int), weights)


def path(n):
    return [(v, v + 1) for v in range(n - 1)]


def cycle(vertices):
    return list(zip(vertices, [*vertices[1:], vertices[0]], strict=True))


def chain_of_cycles(count, length):
    """Cycles one after the other, each with an arc to the next."""
    cycles = [list(range(length * c, length * (c + 1))) for c in range(count)]
    joints = [(here[-1], there[0]) for here, there in pairwise(cycles)]
    return [arc for each in cycles for arc in cycle(each)] + joints


GRAPHS = {
    "nothing": digraph(0, []),
    "a vertex": digraph(1, []),
    "a loop": digraph(1, [(0, 0)]),
    "two": digraph(2, [(1, 0)]),
    "two both ways": digraph(2, [(1, 0), (0, 1)]),
    "isolated": digraph(33, []),
    "loops alone": digraph(33, [(v, v) for v in range(33)]),
    "path": digraph(67, path(67)),
    "path backwards": digraph(67, [(b, a) for a, b in path(67)]),
    "cycle": digraph(67, cycle(list(range(67)))),
    "cycle in any order": digraph(31, cycle(np.random.default_rng(7).permutation(31).tolist())),
    "two cycles joined": digraph(8, [*cycle([0, 2, 4, 6]), *cycle([1, 3, 5, 7]), (6, 1)]),
    "two cycles with a vertex in common": digraph(7, [*cycle([0, 1, 2, 3]), *cycle([3, 4, 5, 6])]),
    "two cycles apart": digraph(64, [*cycle(list(range(32))), *cycle(list(range(32, 64)))]),
    "many cycles": digraph(60, chain_of_cycles(20, 3)),
    "path between cycles": digraph(
        20, [*cycle([0, 1, 2]), *path(20), *cycle([17, 18, 19]), (9, 9)]
    ),
    "clique": digraph(32, [(a, b) for a in range(32) for b in range(32) if a != b]),
    "order": digraph(31, [(a, b) for a in range(31) for b in range(a)]),
    "star outwards": digraph(128, [(50, v) for v in range(128) if v != 50]),
    "star, some both ways": digraph(
        40, [(7, v) for v in range(0, 40, 2)] + [(v, 7) for v in range(0, 40, 4)]
    ),
    "zero weights": digraph(3, cycle([0, 1, 2]), [0, 0, 0]),
    "undirected": Graph.from_arcs(9, [0, 1, 4, 5, 8], [1, 2, 5, 6, 8], directed=False),
}


def assert_components(labels, graph, connection="strong"):
    """Compare with SciPy: the same classes, numbered in the order of their smallest vertices."""
    assert labels.shape == (graph.n,)
    assert labels.dtype == np.int32
    if graph.n == 0:
        return
    matrix = graph.with_weights(np.ones(graph.m, np.int64)).to_scipy()
    count, expected = connected_components(matrix, connection=connection)
    pairs = set(zip(labels.tolist(), expected.tolist(), strict=True))
    assert len(pairs) == count
    assert sorted(number for number, _ in pairs) == list(range(count))
    assert sorted(number for _, number in pairs) == list(range(count))
    firsts = [labels.tolist().index(number) for number in range(count)]
    assert firsts == sorted(firsts)


def labels_of(graph, device, name="auto", **parameters):
    method = pyapsp.method(name, **parameters) if parameters else name
    return pyapsp.strongly_connected_components(graph, method, device=device).labels


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("shape", GRAPHS)
def test_shapes(shape, name, device):
    assert_components(labels_of(GRAPHS[shape], device, name), GRAPHS[shape])


@st.composite
def digraphs(draw):
    n = draw(st.integers(0, 40))
    vertex = st.integers(0, max(n - 1, 0))
    arcs = draw(st.lists(st.tuples(vertex, vertex), max_size=3 * n)) if n else []
    # cycles make components that are neither trivial nor nearly everything
    for _ in range(draw(st.integers(0, 3)) if n else 0):
        arcs += cycle(draw(st.lists(vertex, min_size=1, max_size=8, unique=True)))
    return digraph(n, arcs)


@pytest.mark.parametrize("name", METHODS)
@settings(deadline=None, max_examples=60)
@given(graph=digraphs())
def test_random_graphs(name, device, graph):
    assert_components(labels_of(graph, device, name), graph)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
@settings(deadline=None, max_examples=20)
@given(graph=digraphs(), data=st.data())
def test_any_parameters_on_random_graphs(name, device, graph, data):
    space = list(Space(pyapsp.method(name), Options(device, np.dtype(np.int32))))
    assert_components(labels_of(graph, device, name, **data.draw(st.sampled_from(space))), graph)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_every_legal_pair_of_parameters(name, device):
    graph = digraph(
        53, chain_of_cycles(9, 4) + [(36 + a, 36 + b) for a, b in path(17)] + [(40, 0), (52, 36)]
    )
    method = pyapsp.method(name)
    space = Space(method, Options(device, np.dtype(np.int32)))
    assert space.candidates()
    sets = list(space)

    def legal(some):
        return any(some.items() <= each.items() for each in sets)

    for parameters in covering(method.choices, legal) if method.choices else sets:
        assert_components(labels_of(graph, device, name, **parameters), graph)


@pytest.mark.parametrize("family", PROBLEM.families)
@pytest.mark.parametrize("name", METHODS)
def test_samples_satisfy_the_oracle(name, family, device):
    method = pyapsp.method(name)
    for size, seed in ((1, 0), (33, 1), (2000, 2)):
        graph = PROBLEM.sample(size, family, seed, method.requires)
        options = PROBLEM.ask(graph, method, device=device).options
        answer = method.run(method.plan(graph, options))
        PROBLEM.oracle(graph, options)(answer).require()
        assert_components(answer.labels, graph)
        assert PROBLEM.work(graph, options, answer) == graph.m
    sizes = np.bincount(answer.labels)
    assert graph.directed
    assert np.count_nonzero(sizes == 1) > 10
    assert sizes.max() > 10


@pytest.mark.parametrize("family", PROBLEM.families)
def test_samples_of_symmetric_graphs(family, device):
    method = pyapsp.method("scc-hooking")
    graph = PROBLEM.sample(500, family, 2, method.requires)
    assert not graph.directed
    options = PROBLEM.ask(graph, method, device=device).options
    PROBLEM.oracle(graph, options)(method.run(method.plan(graph, options))).require()


def tied(graph):
    """Return the graph without directions."""
    tails, heads, _ = graph.arcs()
    return Graph.from_arcs(graph.n, tails, heads, directed=False)


# trees of the first arcs that are as deep as can be, and arcs that join them late
DEEP = {
    "path": path(3000),
    "path backwards": [(b, a) for a, b in path(3000)],
    "path in any order": cycle(np.random.default_rng(4).permutation(3000).tolist())[1:],
    "combs": [(v, v + 50) for v in range(2950)] + [(v, v + 1) for v in range(2000, 2049)],
}


@pytest.mark.every(2)
@pytest.mark.parametrize("group", [1, 64])
def test_weak_components(group, device):
    deep = {name: digraph(3000, arcs) for name, arcs in DEEP.items()}
    for name, graph in (GRAPHS | deep).items():
        method = pyapsp.method("scc-hooking", group=group)
        found = pyapsp.weakly_connected_components(graph, method, device=device)
        assert_components(found.labels, graph, "weak")
        assert found.stats.get("rounds", 0) <= 8, name
        strong = pyapsp.strongly_connected_components(tied(graph), method, device=device)
        assert np.array_equal(strong.labels, found.labels)


@settings(deadline=None, max_examples=60)
@given(graph=digraphs())
def test_weak_components_of_random_graphs(device, graph):
    found = pyapsp.weakly_connected_components(graph, device=device)
    assert_components(found.labels, graph, "weak")
    symmetric = labels_of(tied(graph), device, "scc-hooking")
    assert np.array_equal(symmetric, found.labels)
    request = PROBLEM.ask(graph, device=device, weak=True)
    PROBLEM.oracle(graph, request.options)(Labels(labels=found.labels)).require()


@pytest.mark.parametrize("seed", range(16))
def test_no_join_is_lost_to_another_at_the_same_time(seed, device):
    """Each arc of a path is needed, and no first arc leads to a smaller vertex."""
    path = np.random.default_rng(seed).permutation(2**18)
    ends = np.sort([path[:-1], path[1:]], axis=0)
    graph = Graph.from_arcs(path.size, *ends)
    assert pyapsp.weakly_connected_components(graph, "scc-hooking", device=device).count == 1


def test_methods_for_strong_or_weak_components_alone(device):
    with pytest.raises(GraphError, match="known to be symmetric"):
        labels_of(GRAPHS["two"], device, "scc-hooking")
    with pytest.raises(ParameterError, match="does not ignore the directions"):
        pyapsp.weakly_connected_components(GRAPHS["two"], "scc-tarjan", device=device)


def test_the_oracle_says_what_is_wrong(device):
    graph = GRAPHS["two cycles joined"]
    oracle = PROBLEM.oracle(graph, Options(device, np.dtype(np.int32)))
    right = np.tile(np.array([0, 1], np.int32), 4)
    assert oracle(Labels(labels=right)).ok
    assert oracle(Labels(labels=1 - right)).fault == "vertex 0 is in component 1, not 0"
    joined = right.copy()
    joined[5] = 0
    with pytest.raises(VerificationError, match="vertex 5 is in component 0, not 1"):
        oracle(Labels(labels=joined)).require()
    assert not oracle(Labels(labels=right.astype(np.int64))).ok
    assert not oracle(Labels(labels=right[:-1])).ok


def test_the_steps_of_the_multi_step_method(device):
    def steps(graph, **parameters):
        method = pyapsp.method("scc-multi-step", **parameters)
        found = pyapsp.strongly_connected_components(graph, method, device=device)
        assert_components(found.labels, graph)
        return tuple(found.stats[name] for name in ("trims", "rounds", "colourings"))

    # one turn of trimming takes both ends; every colour of a path reaches to its end
    assert steps(GRAPHS["path"], trim=0, searches=0)[:2] == (0, 0)
    assert steps(GRAPHS["path"], trim=5, searches=2)[:2] == (5, 2)
    assert steps(GRAPHS["path"], trim="full", searches=2)[1:] == (0, 0)
    # the first search takes the whole cycle, and so does the first colour
    assert steps(GRAPHS["cycle in any order"], trim=1, searches=1) == (1, 1, 0)
    assert steps(GRAPHS["cycle in any order"], trim=1, searches=0) == (1, 0, 1)
    # trimming marks first, and applies then, so that every run has the same counts
    mesh = PROBLEM.sample(600, "mesh", 3, None)
    for strategy in ("quadratic", "virtual-warp", "linear"):
        chosen = {"trim": 2, "searches": 2, "search": strategy, "colour_search": strategy}
        counts = {steps(mesh, **chosen, group=group) for group in (32, 128)}
        assert len(counts) == 1
    assert steps(mesh, **DEVSHATWAR)[:2] == (1, 1)


@pytest.mark.parametrize("name", METHODS)
def test_names_of_vertices_make_no_difference(name, device):
    graph = PROBLEM.sample(300, "mesh", 3, None)
    places = np.random.default_rng(1).permutation(graph.n)
    tails, heads, _ = graph.arcs()
    moved = Graph.from_arcs(graph.n, places[tails], places[heads])
    before, after = labels_of(graph, device, name), labels_of(moved, device, name)[places]
    assert len(set(zip(before.tolist(), after.tolist(), strict=True))) == before.max() + 1


def test_trimming_takes_what_is_on_no_cycle(device):
    stats = {}
    for trim in (0, 2, "full"):
        method = pyapsp.method("scc-forward-backward", trim=trim)
        found = pyapsp.strongly_connected_components(GRAPHS["path"], method, device=device)
        assert found.count == 67
        stats[trim] = found.stats
    assert stats[0]["trims"] == 0
    # a turn takes both ends of each part; some are launched before the host looks
    assert stats["full"]["rounds"] == 0
    assert 34 <= stats["full"]["trims"] < 34 + 16
    # parts are divided about in the middle
    assert 0 < stats[2]["rounds"] < stats[0]["rounds"] < 12
    assert 2 * stats[2]["rounds"] <= stats[2]["trims"] <= 2 * (stats[2]["rounds"] + 1)
    # an arc from a vertex to itself keeps nothing together
    loops = pyapsp.strongly_connected_components(GRAPHS["loops alone"], method, device=device)
    assert loops.stats["rounds"] == 0


def test_a_chain_of_cycles_is_divided_in_its_middle(device):
    graph = digraph(1000, chain_of_cycles(500, 2))
    found = pyapsp.strongly_connected_components(graph, "scc-forward-backward", device=device)
    assert found.count == 500
    # the logarithm of 500 is 9; with one component a round it would be 500
    assert found.stats["rounds"] < 40


def test_the_function(device):
    names = ["a", "b", "c", "d", "e"]
    graph = Graph.from_arcs(5, [0, 1, 2, 2, 4], [1, 2, 0, 3, 4], labels=names, name="five")
    found = pyapsp.strongly_connected_components(graph, device=device)
    assert found.labels.tolist() == [0, 0, 0, 1, 2]
    assert (found.count, found.largest) == (3, 3)
    assert found.sizes.tolist() == [3, 1, 1]
    assert found.vertices(0).tolist() == [0, 1, 2]
    assert found.vertices(np.int64(2)).tolist() == [4]
    assert found.names.tolist() == names
    first = "scc-tarjan" if device.traits.scalar_groups else "scc-colouring"
    assert found.explain().startswith(f"method {first}: auto")
    stats = found.stats
    assert (stats["problem"], stats["method"]) == ("scc", first)
    assert (stats["unit"], stats["work"], stats["input"]["name"]) == ("arcs", 5, "five")
    assert stats["kernel_seconds"] > 0
    assert stats["peak_device_bytes"] > 0
    for component in (-1, 3, 0.5, "a"):
        with pytest.raises(ParameterError, match=r"a component in \[0, 3\)"):
            found.vertices(component)


def test_anything_that_is_a_graph(device, tmp_path):
    matrix = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]])
    file = tmp_path / "g.npz"
    pyapsp.write(Graph.from_dense(matrix), file)
    for graph in (matrix, file, Graph.from_dense(matrix).to_networkx()):
        assert labels_of(graph, device).tolist() == [0, 0, 1]


def test_what_was_saved_comes_back(device, tmp_path):
    file = tmp_path / "c.npz"
    for graph in (GRAPHS["many cycles"], GRAPHS["nothing"]):
        found = pyapsp.strongly_connected_components(graph, device=device)
        found.save(file)
        again = pyapsp.Components.load(file)
        assert np.array_equal(again.labels, found.labels)
        assert again.labels.dtype == np.int32
        assert (again.names, again.stats) == (None, found.stats)
        assert again.explain() == found.explain()
    named = replace(found, labels=np.zeros(2, np.int32), names=np.array(["x", "y"]))
    named.save(file)
    assert pyapsp.Components.load(file).names.tolist() == ["x", "y"]
    with pytest.raises(GraphError, match="names that are neither"):
        replace(named, names=np.array([("x",), None], object)).save(file)


def test_what_is_no_saved_answer_is_refused(device, tmp_path):
    file = tmp_path / "c.npz"
    good = pyapsp.strongly_connected_components(GRAPHS["two"], device=device)
    pyapsp.solve(np.eye(2), device=device).save(file)
    with pytest.raises(FormatError, match="not saved components"):
        pyapsp.Components.load(file)
    wrong = [
        {"labels": np.array([1, 0], np.int32)},
        {"labels": np.array([0, 2], np.int32)},
        {"labels": np.array([-1, 0], np.int32)},
        {"labels": np.array([0, 1], np.int64)},
        {"labels": np.zeros((1, 2), np.int32)},
        {"names": np.array(["a"])},
    ]
    for change in wrong:
        replace(good, **change).save(file)
        with pytest.raises(FormatError, match="not saved components"):
            pyapsp.Components.load(file)
    good.save(file)
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(FormatError, match="not saved components"):
        pyapsp.Components.load(file)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"method": "scc-nothing"}, "scc-forward-backward"),
        ({"method": pyapsp.method("fw-naive")}, "scc-forward-backward"),
        ({"memory_limit": 0}, "a positive number of bytes"),
        ({"memory_limit": 2.5}, "a positive number of bytes"),
        ({"progress": 3}, r"a function of \(done, total\)"),
    ],
)
def test_arguments_outside_their_rules(arguments, rule, device):
    with pytest.raises(ParameterError, match=rule):
        pyapsp.strongly_connected_components(GRAPHS["two"], **{"device": device, **arguments})


def test_parameters_outside_their_rules(device):
    method = pyapsp.method("scc-forward-backward", width=64, group=32)
    with pytest.raises(ParameterError, match="at least width"):
        pyapsp.strongly_connected_components(GRAPHS["two"], method, device=device)
    with pytest.raises(ParameterError, match="one of 0, 1, 2, 3, full"):
        pyapsp.method("scc-forward-backward", trim=4)
    with pytest.raises(ParameterError, match="int32"):
        PROBLEM.ask(GRAPHS["two"], dtype="float32", device=device)


def test_memory(device):
    with pytest.raises(DeviceMemoryError):
        pyapsp.strongly_connected_components(GRAPHS["path"], device=device, memory_limit=2000)
    found = pyapsp.strongly_connected_components(GRAPHS["path"], device=device, memory_limit=10**4)
    assert found.stats["peak_device_bytes"] <= 10**4


@pytest.mark.parametrize(
    ("name", "most"), [("scc-colouring", 2**30 - 1), ("scc-hooking", 2**31 - 2**20)]
)
def test_more_arcs_than_are_counted(name, most, device):
    method, options = pyapsp.method(name), Options(device, np.dtype(np.int32))
    assert method.unmet(SimpleNamespace(n=9, m=most, directed=False), options) is None
    error = method.unmet(SimpleNamespace(n=9, m=most + 1, directed=False), options)
    assert isinstance(error, CapabilityError)
    assert f"at most {most:,}" in str(error)


def test_hooking_where_the_device_has_memory_of_its_own(device, monkeypatch):
    monkeypatch.setattr(scc_hooking, "in_place", lambda device: False)
    graph = Graph.from_arcs(90, range(0, 88, 2), range(2, 90, 2), directed=False)
    found = pyapsp.weakly_connected_components(graph, "scc-hooking", device=device)
    assert_components(found.labels, graph, "weak")


def test_more_vertices_than_parts_have_numbers(device):
    method, options = pyapsp.method("scc-forward-backward"), Options(device, np.dtype(np.int32))
    most = (2**31 - 2) // 3  # parts have the numbers 0..3 n
    assert method.unmet(SimpleNamespace(n=most), options) is None
    assert isinstance(method.unmet(SimpleNamespace(n=most + 1), options), GraphError)


@pytest.mark.parametrize("name", METHODS)
def test_progress(name, device):
    told = []
    graph = GRAPHS["path between cycles"]
    pyapsp.strongly_connected_components(
        graph, name, device=device, progress=lambda done, total: told.append((done, total))
    )
    assert told == sorted(told)
    assert len(told) > (name in ("scc-forward-backward", "scc-multi-step"))
    assert {total for _, total in told} == {graph.n}
    assert told[-1] == (graph.n, graph.n)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pyapsp.strongly_connected_components(graph, name, device=device, progress=stop)


@pytest.mark.every(2)
@pytest.mark.parametrize("group", [1, 64])
def test_the_queue_finishes_deep_rounds(group, device):
    # a cycle of 2,000 vertices in any order is deeper than the sweeps, and a torus has components
    # of all sizes
    order = np.random.default_rng(2).permutation(2000).tolist()
    both = digraph(2300, [*cycle(order), *cycle(list(range(2000, 2300))), (0, 2000)])
    graphs = [both, PROBLEM.sample(2000, "mesh", 3, None)]
    method = pyapsp.method("scc-colouring", sweeps=1, group=group)
    for graph in graphs:
        found = pyapsp.strongly_connected_components(graph, method, device=device)
        assert_components(found.labels, graph)
        assert found.stats["levels"] > 0
        assert found.stats["rounds"] < 20


@pytest.mark.parametrize("group", [1, 64])
def test_more_sides_than_a_group_holds(group, device, monkeypatch):
    build = scc_colouring.build
    held = {"PYAPSP_HELD": 2}
    monkeypatch.setattr(
        scc_colouring, "build", lambda to, file, defines: build(to, file, defines | held)
    )
    random = np.random.default_rng(2)
    arcs = [*cycle(random.permutation(300).tolist()), *random.integers(0, 400, (500, 2)).tolist()]
    for graph in digraph(400, arcs), PROBLEM.sample(400, "mesh", 3, None):
        method = pyapsp.method("scc-colouring", sweeps=1, group=group)
        found = pyapsp.strongly_connected_components(graph, method, device=device)
        assert_components(found.labels, graph)
        assert found.stats["levels"] > 0


def test_the_search_from_the_pivot_settles_a_shallow_component(device):
    # what is left has no arc, so the first round is the last, and needs no queue
    found = pyapsp.strongly_connected_components(
        GRAPHS["star, some both ways"], pyapsp.method("scc-colouring", sweeps=1), device=device
    )
    assert_components(found.labels, GRAPHS["star, some both ways"])
    assert (found.stats["rounds"], found.stats["levels"]) == (1, 0)
