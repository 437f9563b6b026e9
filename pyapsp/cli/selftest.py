"""Run every method of every problem on small inputs, on every device, and check every answer.

The inputs are random graphs and graphs that come with the package. Distances and predecessors are
compared with SciPy, or checked by a certificate. Batches, summaries and runs of the other areas are
compared with oracles of their own. A check that needs a missing package or capability is left out,
with the reason. Exit code 1 when an answer is wrong; "auto" then no longer uses that method on this
driver. The first run takes about a minute, because it builds the kernels.

For example:
  pyapsp selftest
  pyapsp selftest --device cpu --json
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from pyapsp.cli.areas import AREAS, fault_of
from pyapsp.cli.options import add_device, add_json
from pyapsp.cli.output import print_json, printer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from pyapsp.device import Device
    from pyapsp.graph import Graph
    from pyapsp.registry import Method, Problem, Requirements

__all__ = ["configure", "run"]

# Graphs that come with the package, and the type in which each is solved. They have unreachable
# pairs, weights 1, 0 and below 0; some are undirected.
_GRAPHS = (
    ("random-60", "float32"),
    ("rmat-7", "int32"),
    ("small-world-50", "uint16"),
    ("negative-weights", "int16"),
    ("disconnected", "float64"),
)
# Vertices of a random input.
_SIZE = 60
_OK, _FAILED, _LEFT_OUT = "ok", "FAILED", "left out"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_device(parser, several="default: every device")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the checks on each device, and print a line for each."""
    import pyapsp
    from pyapsp.device import choose, no_device

    wanted = pyapsp.devices() if arguments.device is None else map(choose, arguments.device)
    tested = list(dict.fromkeys(wanted))
    if not tested:
        raise no_device()
    say = printer(arguments)
    tested_devices, states = [], []
    for device in tested:
        say(f"device {device}")
        checks = []
        for name, check in _checks():
            started = time.perf_counter()
            state, detail = _outcome(check, device)
            seconds = time.perf_counter() - started
            checks.append({"name": name, "state": state, "detail": detail, "seconds": seconds})
            say(f"  {state:<8}  {name:<20}  {detail or f'{seconds:.2f} s'}")
        tested_devices.append({"id": device.id, "name": device.name, "checks": checks})
        states += [each["state"] for each in checks]
    count = {state: states.count(state) for state in (_OK, _FAILED, _LEFT_OUT)}
    if arguments.json:
        print_json(
            {"ok": not count[_FAILED], "pyapsp": pyapsp.__version__, "devices": tested_devices}
        )
    say(", ".join(f"{number} {state}" for state, number in count.items()))
    return 1 if count[_FAILED] else 0


def _checks() -> Iterator[tuple[str, Callable[[Device], str | None]]]:
    """Yield the name and the function of each check.

    The function takes a device, and returns what is wrong there, or None.
    """
    import pyapsp

    yield "driver", _driver
    for method in pyapsp.methods():
        yield method.id, partial(_method, method)
    yield "negative cycle", _negative_cycle
    yield "batches", _batches
    yield "summaries", _summaries
    for area in AREAS.values():
        yield area.id, partial(fault_of, area)


def _outcome(check: Callable[[Device], str | None], device: Device) -> tuple[str, str | None]:
    """Run a check; return its state, and the reason if that is not ok."""
    from pyapsp.base.errors import CapabilityError

    try:
        fault = check(device)
    except CapabilityError as missing:
        return _LEFT_OUT, str(missing)
    except Exception as error:  # after any error the other checks still run
        return _FAILED, f"{type(error).__name__}: {error}"
    return (_OK, None) if fault is None else (_FAILED, fault)


def _driver(device: Device) -> str | None:
    from pyapsp.device import selftest

    error: str | None = selftest.check(device.id)["error"]
    return error


def _method(cls: type[Method], device: Device) -> str | None:
    """Run a method on all inputs that meet its requirements."""
    from pyapsp.base.errors import CapabilityError
    from pyapsp.registry import problem as find_problem
    from pyapsp.registry import runs, trials

    problem = find_problem(cls.problem)
    options = {"predecessors": True} if "predecessors" in problem.asks else {}
    solved = 0
    left: Exception | None = None
    for name, data, dtype in _inputs(problem, cls.requires):
        if dtype == "float64" and not device.capabilities.fp64:
            dtype = "float32"
        request = problem.ask(data, cls(), dtype=dtype, device=device, **options)
        left = cls().unmet(request.input, request.options)
        if left is not None:
            continue
        check = problem.oracle(request.input, request.options)(runs.solve(request).answer)
        if not check.ok:
            trials.remember(cls.id, request.options, str(check.fault))
            return f"{name}, {dtype}: {check.fault}"
        solved += 1
    if not solved and isinstance(left, CapabilityError):
        raise left
    return None if solved else "no input to solve"


def _inputs(problem: Problem, requires: Requirements) -> Iterator[tuple[str, Any, str]]:
    """Yield inputs for a method, each with its name and a type that can represent the answer."""
    import numpy as np

    from pyapsp.graph import datasets

    for seed, family in enumerate(problem.families):
        yield family, problem.sample(_SIZE, family, seed, requires), problem.dtypes[0]
    for name, dtype in _GRAPHS:
        if not problem.fits(requires, dataclasses.asdict(datasets.get(name))):
            continue
        graph = _graph(name)
        if getattr(requires, "unweighted", False):
            graph = graph.with_weights(np.ones(graph.m, np.int64))
        yield name, graph, dtype if dtype in problem.dtypes else problem.dtypes[0]


def _negative_cycle(device: Device) -> str | None:
    import pyapsp
    from pyapsp.base.errors import NegativeCycleError

    try:
        pyapsp.solve(_graph("negative-cycle"), device=device)
    except NegativeCycleError:
        return None
    return "a negative cycle was not found"


def _batches(device: Device) -> str | None:
    """Solve many graphs at once, with a work-group for each and with one launch for all."""
    import numpy as np

    import pyapsp

    random = np.random.default_rng(0)
    weights = random.integers(1, 9, (40, 12, 12)) * (random.random((40, 12, 12)) < 0.3)
    expected = np.stack([_distances(each) for each in weights])
    for method in ("auto", "fw-onegroup", "fw-minplus"):
        distances = pyapsp.solve_many(weights, method, dtype="float32", device=device)
        if not np.array_equal(distances, expected):
            return f"{method}: other distances than SciPy's"
    return None


def _summaries(device: Device) -> str | None:
    """Compute summaries of distances, and blocks of rows, of graphs with and without weights."""
    import numpy as np

    import pyapsp

    for name in ("grid-8x8", "small-world-50"):
        graph = _graph(name)
        distances = _distances(graph)
        farthest, total = distances.max(axis=1), distances.sum()
        others = graph.n - 1
        histogram = np.bincount(distances.astype(int).ravel())
        histogram[0] -= graph.n
        rows = [block.distances for block in pyapsp.row_blocks(graph, block=9, device=device)]
        answers: list[tuple[str, ArrayLike, ArrayLike]] = [
            ("row_blocks", np.concatenate(rows), distances),
            ("diameter", pyapsp.diameter(graph, device=device), farthest.max()),
            ("radius", pyapsp.radius(graph, device=device), farthest.min()),
            ("eccentricity", pyapsp.eccentricity(graph, device=device), farthest),
            ("wiener_index", pyapsp.wiener_index(graph, device=device), total / 2),
            (
                "average_shortest_path_length",
                pyapsp.average_shortest_path_length(graph, device=device),
                total / (graph.n * others),
            ),
            (
                "closeness_centrality",
                pyapsp.closeness_centrality(graph, device=device),
                others / distances.sum(axis=0),
            ),
            ("distance_histogram", pyapsp.distance_histogram(graph, device=device), histogram),
            *_centralities(graph, device),
        ]
        for what, answer, expected in answers:
            if not (
                np.shape(answer) == np.shape(expected) and np.allclose(answer, expected, 1e-12)
            ):
                return f"{what} of {name}: not what SciPy's distances give"
    return None


def _centralities(graph: Graph, device: Device) -> list[tuple[str, ArrayLike, ArrayLike]]:
    """Return sums over shortest paths or distances, and what they are by their definition."""
    import numpy as np

    import pyapsp

    n = graph.n
    arcs = (graph.to_scipy() != 0).toarray().astype(float)
    hops = _distances(arcs)
    # a path of as many arcs as the distance is a shortest one
    counts, paths = np.eye(n), np.eye(n)
    for length in range(1, int(hops.max()) + 1):
        paths = paths @ arcs
        counts += paths * (hops == length)
    pairs = ~np.eye(n, dtype=bool)

    def through(u: int, v: int, length: int) -> float:
        """Return the sum of the parts of shortest paths that take an arc, or visit u = v."""
        on = pairs & (hops[:, u, None] + length + hops[None, v] == hops)
        return float((np.outer(counts[:, u], counts[v]) / counts)[on].sum())

    ends = 2 * (n - 1)  # paths from and to a vertex are not counted as through it
    vertices = [(through(v, v, 0) - ends) / ((n - 1) * (n - 2)) for v in range(n)]
    tails, heads, _ = graph.arcs()
    edges = [
        (through(u, v, 1) + (0 if graph.directed else through(v, u, 1))) / (n * (n - 1))
        for u, v in zip(tails.tolist(), heads.tolist(), strict=True)
    ]
    inverse = np.zeros((n, n))
    inverse[pairs] = 1 / _distances(graph)[pairs]
    return [
        ("betweenness_centrality", pyapsp.betweenness_centrality(graph, device=device), vertices),
        (
            "edge_betweenness_centrality",
            pyapsp.edge_betweenness_centrality(graph, device=device),
            edges,
        ),
        (
            "harmonic_centrality",
            pyapsp.harmonic_centrality(graph, device=device),
            inverse.sum(axis=0),
        ),
    ]


def _graph(name: str) -> Graph:
    from pyapsp.graph import datasets

    return datasets.load(name)


def _distances(graph: Graph | np.ndarray) -> np.ndarray:
    """Return the distances of all pairs, computed by SciPy."""
    import numpy as np
    from scipy.sparse.csgraph import johnson

    matrix = graph if isinstance(graph, np.ndarray) else graph.to_scipy()
    distances: np.ndarray = johnson(matrix.astype(float))
    return distances
