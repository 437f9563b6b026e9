"""Methods, number types and devices timed against each other, the roof and other packages.

All contenders take turns on the same graph, and so does the loop that measures the roof: what else
the machine does meets all of them alike. Medians are compared. The first turn is a warm-up, in
which kernels are compiled. Every answer of every turn is compared with one reference.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from scipy.sparse import csgraph

from pyapsp.device import Device, choose
from pyapsp.distances.solver import solve
from pyapsp.errors import NegativeCycleError, ParameterError, PyApspError
from pyapsp.graph import Graph, generators
from pyapsp.precision import infinity
from pyapsp.profiling.peers import Peer, peer
from pyapsp.profiling.roofs import Meter, Roof, with_roof
from pyapsp.registry import Method
from pyapsp.result import Result
from pyapsp.verify import against_distances, certificate

__all__ = ["Outcome", "dense_graph", "run"]

# Up to this n SciPy, and the certificate for predecessors, say what is right; it takes a second.
_ORACLE = 1024
# Rows are compared in blocks of about this many bytes.
_BLOCK_BYTES = 64 * 2**20
# The answer of the first of these types is what the others are compared with.
_BY_RANGE = ("int64", "float64", "int32", "float32", "uint16", "int16", "float16")


@dataclass
class Outcome:
    """What was measured on one graph.

    Attributes
    ----------
    graph : Graph
    runs : list of dict
        The record of each method, dtype and device: that of `solve` for its last turn, with the
        medians of all turns in place of its times, and ``device_seconds`` (upload, kernels,
        download), ``median_seconds`` (the whole call), ``ratios`` (how many times as long each
        peer took), ``times`` (of every turn), the roof, ``verified`` and ``max_error``.
    peers : list of dict
        ``name``, ``version``, ``what``, ``calls``, ``dtype``, ``median_seconds``,
        ``rate``, ``verified``.
    left_out : dict of str to str
        What did not run, and why.
    devices : dict of str to str
        Their ids, as in ``runs``, and their names.
    """

    graph: Graph
    runs: list[dict[str, Any]] = field(default_factory=list)
    peers: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether every answer was right."""
        return all(each["verified"] for each in [*self.runs, *self.peers])


def dense_graph(
    n: int, density: float | None = None, seed: int = 0, max_weight: int = 100
) -> Graph:
    """Return a random graph of n vertices for the dense methods.

    The work of the dense methods does not depend on the density.

    Parameters
    ----------
    n : int
    density : float, optional
        In [0, 1]: arcs, of n (n - 1). None is 0.1, but no more than 2^20 arcs: to make and hold
        more takes longer than to solve the graph on a fast device.
    seed : int
    max_weight : int
        Weights are uniform in 1..max_weight.
    """
    if density is None:
        m = min(n * (n - 1) // 10, 2**20)
    elif 0 <= density <= 1:
        m = round(density * n * (n - 1))
    else:
        raise ParameterError.of("density", "bench", "in [0, 1]", density)
    return generators.random_graph(n, m, max_weight, seed)


def run(
    graph: Graph,
    methods: Sequence[str | Method],
    dtypes: Sequence[str],
    devices: Sequence[Any] = (None,),
    *,
    predecessors: bool = False,
    repeat: int = 3,
    peers: Sequence[str] = (),
    sources: np.ndarray | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Time every method with every dtype on every device, and the peers, on one graph.

    Parameters
    ----------
    graph : Graph
    methods, dtypes, devices : sequence
        As the arguments of `solve`.
    predecessors : bool
        Compute the paths, too; peers that cannot do so compute the distances alone.
    repeat : int
        Timed turns.
    peers : sequence of str
        Names of `PEERS`; those that are not installed are left out.
    sources : (k,) int64 ndarray, optional
        Only the rows of these vertices; peers that cannot do so are left out.
    progress : callable
        Told what runs next.

    Returns
    -------
    Outcome

    Raises
    ------
    PyApspError
        If nothing at all could run: what the first of the contenders raised.
    NegativeCycleError
        If there is a negative cycle.
    """
    if repeat < 1:
        raise ParameterError.of("repeat", "bench", "at least 1", repeat)
    outcome = Outcome(graph)
    contenders = [
        _Own(graph, method, dtype, device, predecessors, sources)
        for method, dtype, device in product(methods, dtypes, map(choose, devices))
    ]
    reference = _warm_up(contenders, outcome, sources, progress)
    own = [each for each in contenders if each.name not in outcome.left_out]
    for each in own:
        name, platform = each.device.name, each.device.platform_name
        outcome.devices[each.device.id] = f"{name}, {platform}"
    meters = {each.key: Meter(each.device, each.key[1]) for each in own}
    # after ours: a negative cycle is told in our words
    present = _present(graph, peers, sources, outcome)
    others = [_Other(graph, each, predecessors, sources) for each in present]
    for other in others:
        progress(f"{graph.name}: warm-up: {other.name}")
        other.turn()
        other.settle(reference)
    everybody: list[_Contender] = [*own, *others]
    for contender in everybody:
        contender.seconds.clear()
    for number in range(repeat):
        for contender in everybody:
            progress(f"{graph.name}: turn {number + 1} of {repeat}: {contender.name}")
            contender.turn()
            contender.settle(reference)
        for meter in meters.values():
            meter.turn()
    outcome.peers = [other.record() for other in others]
    outcome.runs = [each.record(meters[each.key].roof(), outcome.peers) for each in own]
    return outcome


class _Contender(ABC):
    """Something that takes turns."""

    name: str
    graph: Graph

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.verified = True
        self.max_error = 0.0

    @abstractmethod
    def turn(self) -> None:
        """Run once, and remember how long it took."""

    @abstractmethod
    def settle(self, reference: np.ndarray) -> None:
        """Compare the last answer, and let go of it."""

    def _compare(self, result: Result, reference: np.ndarray) -> None:
        ok, error = _agrees(self.graph, result, reference)
        self.verified &= ok
        self.max_error = max(self.max_error, error)


class _Own(_Contender):
    """A method with a dtype on a device."""

    def __init__(
        self,
        graph: Graph,
        method: str | Method,
        dtype: str,
        device: Device,
        predecessors: bool,
        sources: np.ndarray | None,
    ) -> None:
        super().__init__()
        id_ = method if isinstance(method, str) else method.id
        self.graph, self.method, self.dtype, self.device = graph, method, dtype, device
        self.predecessors, self.sources = predecessors, sources
        self.name = f"{id_} {dtype} on {device.id}"
        self.result: Result | None = None
        self.stats: list[dict[str, Any]] = []

    @property
    def key(self) -> tuple[Device, str]:
        """What the roof depends on: the device, and the type that it computed in."""
        return (self.device, self.stats[0]["held_dtype"])

    def turn(self) -> None:
        self.result = None  # its memory is for the next
        started = time.perf_counter()
        self.result = solve(
            self.graph,
            self.method,
            dtype=self.dtype,
            predecessors=self.predecessors,
            sources=self.sources,
            device=self.device,
        )
        self.seconds.append(time.perf_counter() - started)
        self.stats.append(self.result.stats)

    def settle(self, reference: np.ndarray) -> None:
        assert self.result is not None
        self._compare(self.result, reference)
        looked_at = len(self.stats) > 1
        if self.result.predecessors is not None and self.graph.n <= _ORACLE and not looked_at:
            self.verified &= certificate(self.graph, self.result, device=self.device).ok
        self.result = None

    def record(self, roof: Roof, peers: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the record: medians of the turns after the warm-up."""
        turns = self.stats[-len(self.seconds) :]
        times = {
            "kernel": [stats["kernel_seconds"] for stats in turns],
            "transfer": [stats["transfer_seconds"] for stats in turns],
            "wall": self.seconds,
        }
        times["device"] = [
            sum(pair) for pair in zip(times["kernel"], times["transfer"], strict=True)
        ]
        medians = {f"{phase}_seconds": median(values) for phase, values in times.items()}
        updates = self.graph.n**3

        def speed(seconds: float) -> float | None:
            return updates / seconds if seconds > 0 else None

        record = {
            **turns[-1],
            "device": {"id": self.device.id, **turns[-1]["device"]},
            **medians,
            "build_seconds": self.stats[0]["build_seconds"],
            "rate": speed(medians["kernel_seconds"]),
            "device_rate": speed(medians["device_seconds"]),
            "median_seconds": medians["wall_seconds"],
            "repeat": len(turns),
            "times": times,
            "ratios": {
                each["name"]: each["median_seconds"] / medians["wall_seconds"] for each in peers
            },
            "verified": self.verified,
            "max_error": self.max_error,
        }
        return with_roof(record, roof) | {"roof_forms": roof.forms}


class _Other(_Contender):
    """Another package."""

    def __init__(
        self, graph: Graph, chosen: Peer, predecessors: bool, sources: np.ndarray | None
    ) -> None:
        super().__init__()
        self.graph, self.peer, self.name = graph, chosen, chosen.name
        self._sources = np.arange(graph.n) if sources is None else sources
        wanted = predecessors and chosen.predecessors
        arguments = (graph, wanted, sources) if chosen.some else (graph, wanted)
        self._call, self._distances = chosen.prepare(*arguments)
        self._answer: Any = None

    def turn(self) -> None:
        self._answer = None
        started = time.perf_counter()
        self._answer = self._call()
        self.seconds.append(time.perf_counter() - started)

    def settle(self, reference: np.ndarray) -> None:
        answer, self._answer = self._distances(self._answer), None
        if self.peer.what == "product":
            # of the matrix with itself: no longer than the arcs, no shorter than the distances
            self.verified &= answer.shape == reference.shape and all(
                bool(np.all(answer[rows] >= _in_float64(reference[rows])))
                for rows in _blocks(reference)
            )
        else:
            self._compare(Result(answer, None, self._sources), reference)

    def record(self) -> dict[str, Any]:
        """Return what was measured."""
        seconds = median(self.seconds)
        return {
            "name": self.name,
            "version": self.peer.version,
            "what": self.peer.what,
            "calls": self.peer.calls,
            "dtype": self.peer.dtype,
            "median_seconds": seconds,
            "rate": self.graph.n**3 / seconds,
            "times": {"wall": self.seconds},
            "verified": self.verified,
        }


def _present(
    graph: Graph, names: Sequence[str], sources: np.ndarray | None, outcome: Outcome
) -> Iterator[Peer]:
    """Yield the peers that can take part."""
    for chosen in map(peer, names):
        if chosen.version is None:
            outcome.left_out[chosen.name] = "not installed"
        elif graph.n == 0:
            outcome.left_out[chosen.name] = "nothing to do"
        elif sources is not None and not chosen.some:
            outcome.left_out[chosen.name] = "computes all rows"
        elif chosen.unweighted and not graph.is_unweighted:
            outcome.left_out[chosen.name] = "counts arcs"
        else:
            yield chosen


def _warm_up(
    contenders: list[_Own],
    outcome: Outcome,
    sources: np.ndarray | None,
    progress: Callable[[str], None],
) -> np.ndarray:
    """Let each solve the graph once, leave out those that cannot, and return what is right.

    That is SciPy's answer, and for large graphs the one in the widest type.
    """
    graph, reference = outcome.graph, None
    first: PyApspError | None = None
    for each in sorted(contenders, key=_range):
        progress(f"{graph.name}: warm-up: {each.name}")
        try:
            each.turn()
        except NegativeCycleError:
            raise
        except PyApspError as error:
            first = first or error
            outcome.left_out[each.name] = str(error)
            continue
        if reference is None:
            assert each.result is not None
            reference = each.result.distances
            if graph.n <= _ORACLE:
                reference = _oracle(graph) if sources is None else _oracle(graph)[sources]
        each.settle(reference)
    if reference is None:
        raise first or ParameterError("there is nothing to time")
    return reference


def _range(contender: _Own) -> int:
    """Return the place of its type among the types, the widest first."""
    return _BY_RANGE.index(contender.dtype) if contender.dtype in _BY_RANGE else -1


def _oracle(graph: Graph) -> np.ndarray:
    if graph.m == 0:  # SciPy takes no matrix without arcs
        return np.where(np.eye(graph.n, dtype=bool), 0.0, np.inf)
    return np.asarray(csgraph.floyd_warshall(graph.to_scipy().astype(np.float64)))


def _blocks(matrix: np.ndarray) -> Iterator[slice]:
    each = max(_BLOCK_BYTES // max(8 * matrix.shape[1], 1), 1)
    for start in range(0, len(matrix), each):
        yield slice(start, start + each)


def _in_float64(distances: np.ndarray) -> np.ndarray:
    """Return distances of any type as float64, inf where there is no path."""
    return np.where(distances < infinity(distances.dtype), distances.astype(np.float64), np.inf)


def _agrees(graph: Graph, result: Result, reference: np.ndarray) -> tuple[bool, float]:
    """Return whether the distances are those of the reference, and the largest difference."""
    if result.distances.shape != reference.shape:
        return False, float("inf")
    outcomes = [
        against_distances(
            graph,
            replace(result, distances=result.distances[rows], predecessors=None),
            _in_float64(reference[rows]),
        )
        for rows in _blocks(reference)
    ]
    return all(each.ok for each in outcomes), max((e.max_error for e in outcomes), default=0.0)
