"""A graph that changes, random calls on it, and what must come of each.

`World` keeps the arcs in a dictionary and knows the answer by brute force. All is drawn from a
`random.Random`. A call gives the right answer, or raises an error for which there is a reason, and
leaves its arguments as they were.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import networkx
import numpy as np
from expected import reasons_for, resolved, rounding, shortest
from scipy.sparse import csgraph, csr_array

import pyapsp
from pyapsp import errors
from pyapsp.graph import Graph
from pyapsp.numbers.precision import DTYPES, infinity
from pyapsp.paths.result import NO_PREDECESSOR, Result

WEIGHTS = {
    "ones": lambda random: 1,
    "small": lambda random: random.randint(1, 9),
    "zeros": lambda random: random.randint(0, 3),
    "negative": lambda random: random.randint(0, 9),  # and potentials, see `World.graph`
    "cycles": lambda random: random.randint(-1, 12),
    "wide": lambda random: random.randint(1, 2 ** random.choice([9, 13, 15, 24, 40])),
    "quarters": lambda random: random.randint(0, 40) / 4,
    "rough": lambda random: random.randint(1, 997) / 101,
}
TEXT = (".mtx", ".gr", ".npz", ".mtx.gz")  # the formats that keep vertices without arcs


class World:
    """What the calls are about.

    Parameters
    ----------
    devices : list of Device
    folder : Path
        Files go here.
    methods, dtypes : sequence, optional
        Those that may be drawn; every method and type unless given. Fewer need fewer kernels.
    """

    def __init__(self, devices, folder: Path, methods=None, dtypes=None) -> None:
        self.devices, self.folder = list(devices), Path(folder)
        known = {each.id: each for each in pyapsp.methods("all-pairs")}
        known = dict(sorted(known.items()))
        self.known = {name: known[name] for name in (methods or known)}
        self.dtypes = tuple(dtypes or (None, "auto", *DTYPES))
        self.n, self.kind, self.arcs = 0, "small", {}
        self.potential: list[int] = []
        self.seen: dict[str, int] = {}

    # -- the graph -----------------------------------------------------------------------------

    def start(self, random: Random, most: int = 24) -> None:
        """Begin with another graph."""
        self.n = random.choice([0, 1, 2, 3, 5, 8, 13, 16, 17, 24, random.randint(0, 24)])
        self.n = min(self.n, most)
        self.kind = random.choice(list(WEIGHTS))
        self.potential = [random.randint(0, 9) for _ in range(self.n)]
        self.arcs = {}
        self.add(random, random.choice([0, self.n, 3 * self.n, self.n**2 // 2]))

    def add(self, random: Random, count: int = 1) -> None:
        """Add arcs, or give those that are there another weight."""
        for _ in range(count if self.n else 0):
            ends = random.randrange(self.n), random.randrange(self.n)
            self.arcs[ends] = WEIGHTS[self.kind](random)

    def remove(self, random: Random) -> None:
        """Remove an arc."""
        if self.arcs:
            del self.arcs[random.choice(sorted(self.arcs))]

    def relabel(self, random: Random) -> None:
        """Give the vertices other numbers."""
        order = list(range(self.n))
        random.shuffle(order)
        self.arcs = {(order[i], order[j]): weight for (i, j), weight in self.arcs.items()}
        self.potential = [each for _, each in sorted(zip(order, self.potential, strict=True))]

    def graph(self, directed: bool = True) -> dict[tuple[int, int], int | float]:
        """The arcs as the methods see them."""
        arcs = dict(self.arcs)
        if self.kind == "negative":  # arcs below zero, and no negative cycle
            up = self.potential
            arcs = {(i, j): weight + up[i] - up[j] for (i, j), weight in arcs.items()}
        if not directed:
            backwards = {(j, i): weight for (i, j), weight in arcs.items()}
            ends = arcs.keys() | backwards.keys()
            arcs = {
                each: min(side[each] for side in (arcs, backwards) if each in side) for each in ends
            }
        return arcs

    def argument(self, random: Random):
        """The graph in one of the forms that are taken."""
        arcs = self.graph()
        tails, heads = [i for i, _ in arcs], [j for _, j in arcs]
        kind = np.float64 if self.kind in ("quarters", "rough") else np.int64
        weights = np.array(list(arcs.values()), kind)
        form = random.choice(["graph", "masked", "sparse", "networkx"])
        self.note(f"form {form}")
        if form == "graph":
            return Graph.from_arcs(self.n, tails, heads, weights)
        if form == "masked":
            matrix = np.ma.masked_all((self.n, self.n), kind)
            matrix[tails, heads] = weights
            return matrix
        if form == "sparse" and self.n:
            return csr_array((weights, (tails, heads)), shape=(self.n, self.n))
        named = networkx.DiGraph()
        named.add_nodes_from(range(self.n))
        named.add_weighted_edges_from(
            (i, j, weight) for (i, j), weight in zip(arcs, weights.tolist(), strict=True)
        )
        return named

    def note(self, what: str) -> None:
        """Count what happened."""
        self.seen[what] = self.seen.get(what, 0) + 1

    # -- calls ---------------------------------------------------------------------------------

    def options(self, random: Random) -> dict:
        """Arguments of `solve` that several functions share."""
        options = {
            "method": random.choice(["auto", *self.known]),
            "directed": random.random() < 0.7,
            "dtype": random.choice(self.dtypes),
            "predecessors": random.random() < 0.4,
            "device": random.choice(self.devices),
            "check": random.random() < 0.9,
        }
        if random.random() < 0.15:
            options["memory_limit"] = random.choice([1, 10**3, 10**5, 10**9])
        return options

    def solve(self, random: Random) -> Result | None:
        """Call `solve` with random options; the result is right, or the error has a reason."""
        options = self.options(random)
        if random.random() < 0.3:
            count = random.randint(0, 5) if self.n else 0
            options["sources"] = [random.randrange(self.n) for _ in range(count)]
        if random.random() < 0.25:
            options["cutoff"] = random.choice([0, 1, 3.5, 12, 10**5])
        if random.random() < 0.05:
            options["device"] = [random.choice(self.devices) for _ in range(2)]
        if random.random() < 0.05:
            options["checkpoint"] = self.folder / "checkpoint"
        if options["dtype"] != "auto" and random.random() < 0.2:
            rows = len(options["sources"]) if "sources" in options else self.n
            options["out"] = self._out(random, (rows, self.n), options["dtype"])
        self.note(f"method {options['method']}")
        self.note(f"dtype {options['dtype']}")
        graph = self.argument(random)
        before = _copy(graph)
        result = self.attempt(lambda: pyapsp.solve(graph, **options), options)
        assert _equal(graph, before), "the graph was changed"
        if result is None:
            return None
        if "out" in options:
            assert result.distances is options["out"]
        self.check(result, random, options)
        return result

    def rows(self, random: Random) -> None:
        """Call `row_blocks`, and forget the rest of some."""
        options = self.options(random)
        block = random.choice([None, 1, 2, 7])
        graph = self.argument(random)
        last = random.choice([1, 10**6])

        def blocks():
            found, generator = [], pyapsp.row_blocks(graph, block=block, **options)
            for rows in generator:
                found.append(rows)
                if len(found) == last:
                    generator.close()
            return found

        for rows in self.attempt(blocks, options) or ():
            self.check(rows, random, {**options, "sources": rows.sources.tolist()})

    def interrupted(self, random: Random) -> None:
        """End a run from `progress`; what it says is what comes out, and nothing is broken."""
        options = self.options(random)

        def progress(done: int, total: int) -> None:
            raise KeyboardInterrupt

        try:
            graph = self.argument(random)
            result = self.attempt(
                lambda: pyapsp.solve(graph, progress=progress, **options), options
            )
        except KeyboardInterrupt:
            self.note("interrupted")
        else:
            if result is not None:
                self.check(result, random, options)

    def batch(self, random: Random) -> None:
        """Solve the graph several times in one call, together with one that has no arcs."""
        options = self.options(random)
        options["method"] = random.choice(["auto", "fw-onegroup", options["method"]])
        graphs = [self.argument(random) for _ in range(random.randint(0, 3))]
        graphs.append(Graph.from_arcs(self.n, [], []))
        if len(graphs) == 1:
            return
        results = self.attempt(lambda: list(pyapsp.solve_many(graphs, **options)), options)
        for result in (results or [])[:-1]:
            self.check(result, random, options)

    def summaries(self, random: Random) -> None:
        """Eccentricities and what follows from them are those of the matrix."""
        directed, graph = random.random() < 0.7, self.argument(random)
        options = {"directed": directed, "device": random.choice(self.devices)}
        found = self.attempt(lambda: pyapsp.eccentricity(graph, **options), options)
        expected = self.distances(directed)
        if found is None or expected is None:
            return
        reached = np.where(np.isinf(expected), 0, expected)
        # a vertex reaches itself
        farthest = np.maximum(reached.max(axis=1, initial=0), 0)
        np.testing.assert_allclose(found, farthest, rtol=self._rounding(np.float64), atol=1e-12)
        if self.n:
            diameter = pyapsp.diameter(graph, **options)
            np.testing.assert_allclose(diameter, farthest.max(), rtol=1e-12, atol=1e-12)

    def scipy(self, random: Random) -> None:
        """The functions with SciPy's signatures."""
        arcs = self.graph()
        if not self.n or self.distances(True) is None:
            return
        weights, ends = np.array(list(arcs.values()), float), np.array(list(arcs), int)
        matrix = csr_array((weights, ends.reshape(-1, 2).T), shape=(self.n, self.n))
        found = pyapsp.csgraph.shortest_path(matrix)
        np.testing.assert_allclose(found, csgraph.johnson(matrix), rtol=1e-12, atol=1e-12)

    def saved(self, result: Result) -> None:
        """Save a result and load it."""
        path = self.folder / "result.npz"
        result.save(path)
        loaded = Result.load(path)
        assert loaded.distances.dtype == result.distances.dtype
        np.testing.assert_array_equal(loaded.distances, result.distances)
        np.testing.assert_array_equal(loaded.sources, result.sources)
        assert (loaded.predecessors is None) == (result.predecessors is None)
        if result.predecessors is not None:
            np.testing.assert_array_equal(loaded.predecessors, result.predecessors)
        assert loaded.explain() == result.explain()

    def file(self, random: Random) -> None:
        """Write the graph, read it, and read what is left after a cut."""
        arcs = self.graph()
        graph = Graph.from_arcs(
            self.n, [i for i, _ in arcs], [j for _, j in arcs], list(arcs.values())
        )
        path = self.folder / f"graph{random.choice(TEXT)}"
        pyapsp.write(graph, path)
        read = pyapsp.read(path)
        assert (read.n, list(read.indices)) == (graph.n, list(graph.indices))
        np.testing.assert_array_equal(read.weights, graph.weights)
        content = path.read_bytes()
        path.write_bytes(content[: random.randint(0, len(content))])
        try:
            pyapsp.read(path)
        except errors.GraphError:
            self.note("cut file refused")

    # -- what must come of them ----------------------------------------------------------------

    def distances(self, directed: bool) -> np.ndarray | None:
        """All distances; None if there is a negative cycle."""
        return shortest(self.n, self.graph(directed))

    def _rounding(self, dtype) -> float:
        return rounding(self.n, self.graph(False), np.dtype(dtype), exact=self.kind != "rough")

    def attempt(self, call, options: dict):
        """Return what a call gives, or None for an error that has a reason."""
        arcs = self.graph(options.get("directed", True))
        reasons = reasons_for(self.n, arcs, self.known.get(options.get("method")), options)
        try:
            answer = call()
        except errors.PyApspError as error:
            self._refused(error, reasons, arcs)
            return None
        missed = [error for error, certain in reasons.items() if certain]
        assert not missed, f"{missed} expected"
        self.note("answers")
        return answer

    def _refused(self, error: Exception, reasons: dict, arcs: dict) -> None:
        """There is a reason for an error, and a negative cycle is one."""
        self.note(f"error {type(error).__name__}")
        if not isinstance(error, tuple(reasons)):
            raise AssertionError(f"no reason for {error!r}; for {reasons}") from error
        if isinstance(error, errors.NegativeCycleError):
            cycle = error.cycle
            assert cycle[0] == cycle[-1]
            assert sum(arcs[ends] for ends in pairwise(cycle)) == error.weight < 0

    def check(self, result: Result, random: Random, options: dict) -> None:
        """Compare distances with brute force, and walk along the predecessors."""
        directed, cutoff = options.get("directed", True), options.get("cutoff")
        arcs, everything = self.graph(directed), self.distances(directed)
        sources = options.get("sources", range(self.n))
        assert result.sources.tolist() == list(sources)
        expected = everything[list(sources)] if len(sources) else everything[:0]
        kind = result.distances.dtype
        assert resolved(options) in (None, kind)
        limit = infinity(kind) if kind.kind in "iu" else float(np.finfo(kind).max)
        largest = max((abs(each) for each in arcs.values()), default=0) * max(self.n, 2)
        method = self.known.get(options.get("method"))
        if method is not None and method.requires.largest_distance is not None:
            limit = min(limit, method.requires.largest_distance + 1)
        if not options.get("check", True) and largest >= limit:
            return  # nobody looked whether all distances are in range
        found = result.distances.astype(np.float64)
        found[result.distances == infinity(kind)] = np.inf
        finite = np.isfinite(expected)
        allowed = self._rounding(kind) * np.abs(expected[finite]).max(initial=0)
        compared = np.ones_like(finite)
        if cutoff is not None:
            compared = ~finite | (np.abs(expected - cutoff) > allowed) | (allowed == 0)
            expected = np.where(expected > cutoff, np.inf, expected)
        np.testing.assert_allclose(found[compared], expected[compared], rtol=0, atol=allowed)
        assert (result.predecessors is not None) == options.get("predecessors", False)
        if result.predecessors is not None:
            self._walk(result, random, found, arcs, allowed, cutoff)

    def _walk(self, result: Result, random: Random, distances, arcs, allowed, cutoff) -> None:
        """Follow some paths."""
        for row, i in enumerate(result.sources.tolist()):
            assert result.predecessors[row, i] == NO_PREDECESSOR
            for j in random.sample(range(self.n), min(self.n, 4)):
                try:
                    path = result.path(i, j)
                except errors.ParameterError as error:
                    if cutoff is None or min(arcs.values()) >= 0 or "cutoff" not in str(error):
                        raise
                    continue  # it leads over a vertex that is reported unreachable
                # of a source that comes twice `path` takes the first row; they are equal
                if np.isinf(distances[row, j]):
                    assert path == []
                    continue
                assert path, f"no path from {i} to {j}"
                assert (path[0], path[-1]) == (i, j)
                length = sum(arcs[ends] for ends in pairwise(path))
                assert abs(length - distances[row, j]) <= allowed
        self.note("predecessors")

    def _out(self, random: Random, shape: tuple[int, int], dtype) -> np.ndarray:
        kind = np.dtype(dtype or random.choice(["float64", "float32", "int32"]))
        if random.random() < 0.5 or 0 in shape:
            return np.full(shape, 77, kind)
        path = self.folder / f"out{random.randrange(4)}.bin"
        path.unlink(missing_ok=True)  # a shorter file would end a process that has mapped it
        return np.memmap(path, kind, "w+", shape=shape)


def _copy(graph):
    return graph.copy() if hasattr(graph, "copy") else graph


def _equal(graph, before) -> bool:
    if isinstance(graph, networkx.DiGraph):
        return networkx.utils.graphs_equal(graph, before)
    if isinstance(graph, np.ndarray):
        return bool(np.ma.allequal(graph, before)) and np.array_equal(
            np.ma.getmaskarray(graph), np.ma.getmaskarray(before)
        )
    if isinstance(graph, csr_array):
        return all(
            np.array_equal(getattr(graph, each), getattr(before, each))
            for each in ("indptr", "indices", "data")
        )
    return graph == before
