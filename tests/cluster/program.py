"""What each rank runs: the answers of all ranks together are the bits of one process.

``mpiexec -n P python program.py FOLDER [PART ...]`` prints the number of comparisons, on rank 0.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas
from mpi4py import MPI
from scipy.sparse import vstack

import pyapsp
from pyapsp.all_pairs.summaries import searches
from pyapsp.cluster import answers, measure, ranks, window
from pyapsp.cluster import solve as entrance
from pyapsp.cluster.lifeline import Lifeline
from pyapsp.errors import (
    DeviceMemoryError,
    NegativeCycleError,
    ParameterError,
    PrecisionError,
    RankError,
)
from pyapsp.graph import Graph, Graphs, generators

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])
N = 150
# with rows these go to the device and back in each pass, without they stay there
DENSE = pyapsp.method("fw-outofcore", block=32, rows=16)
RESIDENT = pyapsp.method("fw-outofcore", block=32)
# bytes of a device that do not hold the rows of a rank, but tiles of the widest vectors
LITTLE = 290_000
SUMMARIES = (
    "eccentricity",
    "radius",
    "average_shortest_path_length",
    "wiener_index",
    "closeness_centrality",
    "distance_histogram",
    "diameter",
    "harmonic_centrality",
)
compared = 0


def same(mine, one) -> None:
    """Compare two arrays or numbers, their types and every bit."""
    global compared
    mine, one = np.asarray(mine), np.asarray(one)
    assert mine.dtype == one.dtype, (mine.dtype, one.dtype)
    assert mine.shape == one.shape, (mine.shape, one.shape)
    assert mine.tobytes() == one.tobytes(), np.argwhere(mine != one)[:5]
    compared += 1


def drawn(seed: int, *, real: bool = False, negative: bool = False) -> Graph:
    """Draw a graph in which some vertices cannot be reached."""
    draw = np.random.default_rng(seed)
    tails, heads = draw.integers(0, N, (2, 6 * N))
    heads = np.where(heads % 7 == 0, (heads + 1) % N, heads)
    weights = draw.random(tails.size) if real else draw.integers(1, 100, tails.size)
    if negative:
        height = draw.integers(0, 50, N)
        weights = weights + height[tails] - height[heads]
    return Graph.from_arcs(N, tails, heads, weights)


def solved(graph: Graph, method, **options) -> None:
    """Solve on all ranks and on one, and compare."""
    mine = pyapsp.solve(graph if COMM.rank == 0 else None, method, comm=COMM, **options)
    parts = COMM.gather((mine.sources, mine.distances, mine.predecessors))
    if COMM.rank == 0:
        one = pyapsp.solve(graph, method, **options)
        ordered = sorted((part for part in parts if len(part[0])), key=lambda part: part[0][0])
        if options.get("sources") is None and method is DENSE:
            same(np.concatenate([part[0] for part in ordered]), one.sources)
        for sources, distances, before in parts:
            where = [np.flatnonzero(one.sources == source)[0] for source in sources]
            same(distances, one.distances[where])
            assert (before is None) == (one.predecessors is None)
            if before is not None:
                same(before, one.predecessors[where])
        assert sum(len(part[0]) for part in parts) == len(one.sources)


def filed(graph: Graph, method, name: str, **options) -> None:
    """Solve into files, and compare what `open_rows` reads."""
    path = FOLDER / name
    pyapsp.solve(graph if COMM.rank == 0 else None, method, comm=COMM, out=path, **options)
    rows = pyapsp.open_rows(path)
    if COMM.rank == 0:
        one = pyapsp.solve(graph, method, **options)
        same(rows[:], one.distances)
        same(rows[3], one.distances[3])
        same(rows[[5, 0, -1]], one.distances[[5, 0, -1]])
        same(rows[1:60], one.distances[1:60])
        assert (rows.predecessors is None) == (one.predecessors is None)
        if one.predecessors is not None:
            same(rows.predecessors[:], one.predecessors)
    COMM.Barrier()


def dense() -> None:
    solved(drawn(1), DENSE, predecessors=True)
    # sums are rounded: every bit depends on the blocks
    solved(drawn(2, real=True), DENSE, predecessors=True)
    solved(drawn(3, negative=True), DENSE, dtype="int32", predecessors=True, cutoff=60)
    solved(drawn(4), DENSE, dtype="int16", sources=[7, 140, 7, 0])
    solved(drawn(1), RESIDENT, predecessors=True)
    solved(drawn(2, real=True), RESIDENT)
    solved(drawn(3, negative=True), RESIDENT, dtype="float32", cutoff=60)
    filed(drawn(5), RESIDENT, "dense.npy", dtype="int32", predecessors=True)
    filed(drawn(5), DENSE, "dense.rows", dtype="float32", cutoff=90)


def little_memory() -> None:
    """The rows of a rank do not stay on its device, and nobody says how many go there at a time."""
    more = {"comm": COMM, "memory_limit": LITTLE}
    mine = pyapsp.solve(drawn(2, real=True) if COMM.rank == 0 else None, RESIDENT, **more)
    assert "at a time" in mine.explain()
    parts = COMM.gather((mine.sources, mine.distances))
    if COMM.rank == 0:
        one = pyapsp.solve(drawn(2, real=True), RESIDENT)
        for sources, distances in parts:
            same(distances, one.distances[sources])


def out_of_core() -> None:
    """The rows of a rank stay in its file."""
    kept, answers._PART = answers._PART, 0.0
    filed(drawn(6, real=True), DENSE, "large.npy", predecessors=True, cutoff=0.7)
    filed(drawn(6), DENSE, "large.rows", dtype="int32", predecessors=True)
    answers._PART = kept


def shared_memory() -> None:
    """Panels go through shared memory in pieces, also those that are small."""
    kept = ranks.LEAST, window._SLOT, measure._SAMPLE
    ranks.LEAST, window._SLOT, measure._SAMPLE = 1, 4096, 2**14
    solved(drawn(13, real=True), RESIDENT)
    solved(drawn(14), DENSE, dtype="int32")
    ranks.LEAST, window._SLOT, measure._SAMPLE = kept


def searching() -> None:
    solved(drawn(7), "near-far", predecessors=True)
    solved(drawn(8, real=True), "near-far", cutoff=0.5, sources=np.arange(N)[::-1])
    solved(drawn(9, negative=True), "johnson", dtype="int64")
    solved(generators.random_graph(N, 3 * N, seed=1, max_weight=1), "ms-bfs", dtype="uint16")
    filed(drawn(7), "near-far", "searches.npy", dtype="int32", predecessors=True)
    filed(drawn(7), "near-far", "searches.rows", predecessors=True, sources=np.arange(0, N, 2))


def summaries() -> None:
    for graph in (drawn(10), drawn(11, real=True)):
        for name in SUMMARIES:
            more = {"width": 0.25} if name == "distance_histogram" and not graph.is_integer else {}
            function = getattr(pyapsp, name)
            mine = function(graph if COMM.rank == 0 else None, comm=COMM, **more)
            one = COMM.bcast(function(graph, **more) if COMM.rank == 0 else None)
            same(mine, one)


def centralities() -> None:
    """Sums of ranks are added in their order; all ranks have the same bits, in each call."""
    graph = drawn(21)
    function = pyapsp.betweenness_centrality
    for function, options in (
        *((function, each) for each in ({}, {"weight": ...}, {"sources": [7, 149]}, {"k": 20})),
        (pyapsp.edge_betweenness_centrality, {}),
    ):
        mine = function(graph if COMM.rank == 0 else None, comm=COMM, **options)
        same(mine, COMM.bcast(mine))
        if "k" in options:  # each rank would draw others
            assert mine.any()
            continue
        same(mine, function(graph if COMM.rank == 0 else None, comm=COMM, **options))
        np.testing.assert_allclose(mine, function(graph, **options), 1e-12, 1e-15)
    # weights that have no names here are not read, and not asked for
    table = {"source": [0, 1, 1], "target": [1, 2, 3], "km": [1, 2, 3], "h": [1, 1, 1]}
    mine = pyapsp.betweenness_centrality(pandas.DataFrame(table), comm=COMM)
    same(mine, pyapsp.betweenness_centrality(pandas.DataFrame(table)))


def queries() -> None:
    """Each rank has the rows, or the pairs, of its part of the sources; numbers are on all."""
    graph, far = drawn(23, real=True), 0.9
    sources = np.random.default_rng(24).permutation(N)[:70]
    mine = graph if COMM.rank == 0 else None
    found = pyapsp.within(mine, sources, far, predecessors=True, comm=COMM)
    one = pyapsp.within(graph, sources, far, predecessors=True)
    same(np.concatenate(COMM.allgather(found.sources)), sources)
    for name in ("distances", "predecessors"):
        whole = vstack(COMM.allgather(getattr(found, name)), "csr")
        for array in ("data", "indices", "indptr"):
            same(getattr(whole, array), getattr(getattr(one, name), array))
    blocks = list(pyapsp.within_blocks(mine, sources, far, comm=COMM))
    parts = COMM.allgather([block.distances for block in blocks])
    same(vstack([each for some in parts for each in some], "csr").data, one.distances.data)
    parts = COMM.allgather(pyapsp.distances(mine, sources, [4, 4, 99], comm=COMM))
    same(np.concatenate(parts), pyapsp.distances(graph, sources, [4, 4, 99]))
    numbers(graph, mine, np.append(sources, sources[::-1]), far)
    graph = drawn(22)
    paths(graph, graph if COMM.rank == 0 else None)


def numbers(graph: Graph, mine: Graph | None, twice: np.ndarray, far: float) -> None:
    """What has one number, or row of numbers, for each source."""
    shops = np.random.default_rng(25).random((N, 2))
    for function, arguments, options in (
        (pyapsp.reach, (twice, far), {}),
        (pyapsp.reach, (None, far), {}),
        (pyapsp.accessibility, (shops, far), {"decay": lambda lengths: 1 / (1 + lengths)}),
        (pyapsp.accessibility, (shops[:, 0], far), {"sources": twice}),
        (pyapsp.harmonic_centrality, (twice,), {}),
    ):
        found = function(mine, *arguments, comm=COMM, **options)
        same(found, function(graph, *arguments, **options))


def paths(graph: Graph, mine: Graph | None) -> None:
    """The pairs of a source are those of one rank, wherever they are."""
    tails, heads = np.random.default_rng(26).integers(0, 20, (2, 90))
    second = graph.with_weights(graph.weights * 2)
    options = {"paths": True, "along": second if COMM.rank == 0 else None}
    found = pyapsp.pairs(mine, tails, heads, comm=COMM, **options)
    one = pyapsp.pairs(graph, tails, heads, paths=True, along=second)
    everything = COMM.allgather(found)
    owners = [set(each.sources.tolist()) for each in everything]
    assert sum(map(len, owners)) == np.unique(tails).size
    for each, own in zip(everything, owners, strict=True):
        places = np.flatnonzero(np.isin(tails, list(own)))
        for name in ("sources", "targets", "distances", "along"):
            same(getattr(each, name), getattr(one, name)[places])
        for number, place in enumerate(places):
            assert each.path(number) == one.path(place)
    found = pyapsp.count_shortest_paths(mine, tails, heads, comm=COMM)
    same(found, pyapsp.count_shortest_paths(graph, tails, heads))
    for function, more in ((pyapsp.yen, (3,)), (pyapsp.all_shortest_paths, (2,))):
        found = function(mine, tails, heads, *more, comm=COMM)
        one = function(graph, tails, heads, *more)
        places = np.flatnonzero(np.isin(tails, found.sources))
        same(found.targets, heads[places])
        for number, place in enumerate(places):
            assert found.paths(number) == one.paths(place)


def labels() -> None:
    """Vertices are given by their labels, which may look like numbers."""
    table = pandas.DataFrame({"source": [3, 1, 2], "target": [1, 2, 3], "km": [1, 2, 4]})
    names = pandas.DataFrame({"source": ["c", "a"], "target": ["a", "b"], "weight": [1, 2]})
    for frame, given in ((table, [3, 3]), (names, ["c", "a"])):
        mine = frame if COMM.rank == 0 else None
        weight = None if frame is names else "km"
        found = pyapsp.reach(mine, given, 2, weight=weight, comm=COMM)
        same(found, pyapsp.reach(frame, given, 2, weight=weight))
        ends = given, given[0]
        found = COMM.allgather(pyapsp.pairs(mine, *ends, weight=weight, comm=COMM).distances)
        same(np.concatenate(found), pyapsp.pairs(frame, *ends, weight=weight).distances)
        here = pyapsp.pairs(mine, *ends, paths=True, weight=weight, comm=COMM)
        one = pyapsp.pairs(frame, *ends, paths=True, weight=weight)
        everything = COMM.allgather([here.path(each) for each in range(here.sources.size)])
        paths = [path for some in everything for path in some]
        assert sorted(paths) == sorted(one.path(each) for each in range(2))
        assert one.path(0)[0] == given[0]
        try:
            pyapsp.pairs(mine, *ends, paths=True, along=lambda *arc: 1, weight=weight, comm=COMM)
        except (ParameterError, RankError) as error:
            assert "The 'along' parameter of pairs must be a graph" in str(error), error
        else:
            raise AssertionError("no error")


def methods() -> None:
    """Each rank may search with another method, and not all of them reorder the vertices."""
    kept, searches._SOURCES = searches._SOURCES, 1
    names = np.random.default_rng(15).permutation(N)
    graph = Graph.from_arcs(N, names[:-1], names[1:], np.ones(N - 1, int))
    for ordered in (0, 1):
        method = "near-far" if COMM.rank % 2 == ordered else "ms-bfs"
        mine = pyapsp.eccentricity(graph, method=method, comm=COMM)
        same(mine, COMM.bcast(pyapsp.eccentricity(graph) if COMM.rank == 0 else None))
    searches._SOURCES = kept


def batches() -> None:
    weights = np.random.default_rng(12).integers(0, 9, (23, 20, 20)).astype(np.int32)
    mine = pyapsp.solve_many(weights, predecessors=True, comm=COMM)
    parts = dict(pyapsp.solve_each(list(weights[:9].astype(float)), comm=COMM))
    everything = COMM.gather(parts)
    if COMM.rank == 0:
        one = pyapsp.solve_many(weights, predecessors=True)
        same(mine[0], one[0])
        same(mine[1], one[1])
        assert sorted(number for part in everything for number in part) == list(range(9))
        for part in everything:
            for number, found in part.items():
                same(found.distances, one[0][number].astype(float))
    packed()
    weights = weights.astype(float)
    weights[17, 3, 3] = -1
    try:
        pyapsp.solve_many(weights, comm=COMM)
    except (NegativeCycleError, RankError) as error:
        assert "graph 17: negative cycle" in str(error)
    else:
        raise AssertionError("no error")


def packed() -> None:
    """`Graphs` stay packed: one type for all of them, and weights without names."""
    draw = np.random.default_rng(19)
    sizes = draw.integers(2, 20, 23)
    ends = np.repeat(sizes, 2 * sizes)
    # one graph needs more than 16 bits
    lengths = np.where(np.arange(ends.size) < ends.size - 1, 3, 70_000)
    graphs = Graphs(sizes, 2 * sizes, *draw.integers(0, ends, (2, ends.size)), lengths)
    mine = pyapsp.solve_many(graphs, dtype="auto", comm=COMM)
    one = pyapsp.solve_many(graphs, dtype="auto")
    assert {each.distances.dtype for each in mine} == {np.dtype(np.int32)}
    for found, expected in zip(mine, one, strict=True):
        same(found.distances, expected.distances)
    for some in (graphs, graphs[:0]):
        try:
            pyapsp.solve_many(some, weight="km", comm=COMM)
        except (ParameterError, RankError) as error:
            assert "absent for an array or `Graphs`" in str(error)
        else:
            raise AssertionError("no error")


def errors() -> None:
    """Every rank gets the error of one."""
    ring = Graph.from_arcs(40, np.arange(40), (np.arange(40) + 1) % 40, np.full(40, -1))
    for method, kind in ((DENSE, NegativeCycleError), ("johnson", NegativeCycleError)):
        try:
            pyapsp.solve(ring if COMM.rank == 0 else None, method, comm=COMM)
        except kind as error:
            assert error.cycle
        except RankError as error:
            assert error.kind == "NegativeCycleError"
        else:
            raise AssertionError("no error")
    path = Graph.from_arcs(60, np.arange(59), np.arange(1, 60), np.full(59, 3000))
    for options, kind in (({"dtype": "int16"}, PrecisionError), ({"method": "fw-naive"}, None)):
        try:
            pyapsp.solve(path, comm=COMM, **{"method": DENSE, **options})
        except RankError:
            pass
        except Exception as error:
            assert kind is None or isinstance(error, kind)
        else:
            raise AssertionError("no error")


def different() -> None:
    """Ranks that ask for different things are told which argument it is."""
    one, graph = COMM.rank, drawn(16)
    long = np.zeros(3000, int)
    long[1500] = one
    column = pandas.Series(long[1500 - N // 2 :][:N])  # pandas shows the first and the last ones
    matrices = np.random.default_rng(17).random((6, 9, 9))
    calls = [
        (pyapsp.solve, graph, {"cutoff": one}),
        (pyapsp.solve, graph, {"sources": [one]}),
        (pyapsp.solve, graph, {"sources": long}),
        (pyapsp.solve, graph, {"sources": None if one else [0]}),
        (pyapsp.solve, graph, {"fallback": one == 0}),
        (pyapsp.closeness_centrality, graph, {"sources": [one, 5]}),
        (pyapsp.distance_histogram, graph, {"width": 1 + one}),
        *((getattr(pyapsp, name), graph, {"directed": one == 0}) for name in SUMMARIES),
        (pyapsp.solve_many, matrices, {"directed": one == 0}),
        (pyapsp.within, graph, {"cutoff": one}),
        (pyapsp.reach, graph, {"sources": [one], "cutoff": 3}),
        (pyapsp.pairs, graph, {"targets": [one], "sources": [5]}),
        (pyapsp.accessibility, graph, {"opportunities": np.full(N, one)}),
        (pyapsp.accessibility, graph, {"opportunities": column}),
        (pyapsp.reach, graph, {"sources": column}),
        (pyapsp.betweenness_centrality, graph, {"endpoints": one == 0}),
        # one of them has the default
        (pyapsp.eccentricity, graph, {"sources": [0]} if one else {}),
        (pyapsp.distances, graph, {} if one else {"sources": [0]}),
    ]
    batches = (matrices + one, [matrices[0] + one], [drawn(18 + one)], matrices[: 6 - one])
    batches += (Graphs([3], [1], [0], [1 + (one > 0)]), Graphs([3 + one], [1], [0], [1]))
    batches += (Graphs([3], [1], [0], [1], directed=one == 0),)
    if COMM.size == 1:
        return
    for function, what, options in calls:
        expect(next(iter(options), "sources"), partial(function, what, comm=COMM, **options))
    for batch in batches:
        expect("graphs", partial(pyapsp.solve_many, batch, comm=COMM))
    functions = (pyapsp.solve, pyapsp.diameter, pyapsp.solve_many)
    try:
        functions[one % len(functions)]([matrices[0]] if one == 2 else graph, comm=COMM)
    except (ParameterError, RankError) as error:
        assert "All ranks must call solve, as rank 0 does, not " in str(error)
    else:
        raise AssertionError("different functions: no error")
    # the same numbers in other containers
    kinds = ([3, 7], (3, 7), np.array([3, 7], np.int16), range(3, 8, 4))
    solved(graph, "near-far", sources=kinds[one % len(kinds)])


def empty() -> None:
    """A graph without vertices gives what it gives without ranks, also in files."""
    nothing = Graph.from_arcs(0, [], [], [])
    for method in (DENSE, "auto", "near-far"):
        for options in ({}, {"predecessors": True, "sources": [], "dtype": "int32"}):
            mine, one = (
                pyapsp.solve(nothing, method, **options, **comm) for comm in ({"comm": COMM}, {})
            )
            same(mine.distances, one.distances)
            same(mine.sources, one.sources)
            assert (mine.predecessors is None) == (one.predecessors is None)
        for name in ("none.npy", "none.rows"):
            path = FOLDER / name
            pyapsp.solve(nothing, method, comm=COMM, out=path, predecessors=True, dtype="int32")
            COMM.Barrier()
            rows = pyapsp.open_rows(path)
            same(rows[:], np.empty((0, 0), np.int32))
            same(rows.predecessors[:], np.empty((0, 0), np.int32))
            COMM.Barrier()


def reported(call, **options) -> list[tuple[int, int]]:
    """Return what a call on all ranks reports to this one."""
    told: list[tuple[int, int]] = []
    call(drawn(19), comm=COMM, progress=lambda *done: told.append(done), **options)
    return told


def progress() -> None:
    """Rank 0 alone reports it, also if the others take all sources."""
    for method in (DENSE, RESIDENT, "near-far"):
        assert bool(reported(pyapsp.solve, method=method)) == (COMM.rank == 0)
    pyapsp.eccentricity(drawn(19), comm=COMM)
    assert bool(reported(pyapsp.closeness_centrality)) == (COMM.rank == 0)
    told = reported(pyapsp.harmonic_centrality)
    assert told[-1:] == [(-(-N // COMM.size),) * 2] * (COMM.rank == 0), told
    take = Lifeline.take
    if COMM.rank == 0 and COMM.size > 1:
        Lifeline.take = lambda _, name, total, unit: (total, total)
    try:
        for call in (partial(pyapsp.solve, method="near-far"), pyapsp.closeness_centrality):
            told = reported(call)
            assert told[-1:] == [(N, N)] * (COMM.rank == 0), told
            assert len(told) == len(set(told)), told
    finally:
        Lifeline.take = take


def dry() -> None:
    """A dry run would end some ranks while others wait for them."""
    for function in (pyapsp.reach, pyapsp.eccentricity, pyapsp.solve):
        try:
            pyapsp.dry_run(function, drawn(27), comm=COMM)
        except ParameterError as error:
            assert "dry_run is for one process" in str(error)
        else:
            raise AssertionError("no error")


def expect(name: str, call) -> None:
    """Check that every rank gets an error that names an argument."""
    try:
        call()
    except (ParameterError, RankError) as error:
        assert f"The '{name}' parameter of" in str(error), error
        assert "on all ranks" in str(error)
        assert COMM.rank > 0 or isinstance(error, RankError)
    else:
        raise AssertionError(f"{name}: no error")


def memory() -> None:
    """A rank keeps to its part of the memory of a device."""
    graph = generators.random_graph(200, 800, seed=1)
    own = entrance.own_device
    entrance.own_device = lambda *given: replace(own(*given), memory=1000)
    try:
        for method in (DENSE, "near-far", "johnson"):
            try:
                pyapsp.solve(graph, method, comm=COMM)
            except DeviceMemoryError as error:
                assert error.available <= 1000
            except RankError as error:
                assert error.kind == "DeviceMemoryError"
            else:
                raise AssertionError(f"{method}: no error")
    finally:
        entrance.own_device = own


PARTS = (
    *(dense, out_of_core, shared_memory, searching, summaries, methods, batches, errors, different),
    *(empty, progress, memory, little_memory, centralities, queries, labels, dry),
)
for part in PARTS:
    if len(sys.argv) < 3 or part.__name__ in sys.argv[2:]:
        part()
if COMM.rank == 0:
    print(f"compared {compared}")
