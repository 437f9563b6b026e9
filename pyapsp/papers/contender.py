"""Many parameter sets of methods timed against each other on one graph, each answer checked.

What `pyapsp.profiling.bench` does for methods as they are, this does for chosen parameters, and it
tells what the kernels of some methods are for. All contenders take turns, the roof among them;
the first turn is a warm-up, and medians of the others are recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
import pyopencl as cl
from scipy.sparse import csgraph

from pyapsp.dense.floyd_warshall import Configuration, FloydWarshall
from pyapsp.device import Device, event_seconds
from pyapsp.distances.solver import solve
from pyapsp.errors import ParameterError, PyApspError, VerificationError
from pyapsp.graph import Graph
from pyapsp.precision import infinity
from pyapsp.profiling.roofs import Meter, with_roof
from pyapsp.registry import Method
from pyapsp.result import Result
from pyapsp.verify import against_distances, certificate

__all__ = ["Contender", "Label", "Phases", "Reference", "reference", "run"]

#: Coordinates in a table.
Label = dict[str, int | float | str]

# Up to this n, and this n x m, SciPy says what is right, in half a minute at most.
_ORACLE = 4096
_ORACLE_ARCS = 3 * 10**8
# A turn that takes more than so many seconds is not repeated: it needs no warm-up.
_LONG = 20.0
# Rows are compared in blocks of about this many bytes.
_BLOCK_BYTES = 64 * 2**20


class Phases:
    """Adds up the seconds of a method's kernels by what they are for, call by call.

    Parameters
    ----------
    method : FloydWarshall
        Its `enqueue_round` is listened to from now on.
    names : callable
        Gets the number of launches in a round and returns what each is for.

    Attributes
    ----------
    calls : list of dict of str to float
        The seconds of each finished call.
    """

    def __init__(self, method: FloydWarshall, names: Callable[[int], Sequence[str]]) -> None:
        self.calls: list[dict[str, float]] = []
        self._names, self._events = names, list[tuple[str, cl.Event]]()
        self._enqueue = method.enqueue_round
        vars(method)["enqueue_round"] = self._listen

    def _listen(
        self,
        configuration: Configuration,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        number: int,
    ) -> list[cl.Event]:
        if number == 0:
            self._events.clear()
        events = self._enqueue(configuration, queue, buffers, number)
        self._events += zip(self._names(len(events)), events, strict=True)
        return events

    def settle(self) -> None:
        """Count the call that has just ended."""
        seconds: dict[str, float] = {}
        for name, event in self._events:
            seconds[name] = seconds.get(name, 0.0) + event_seconds(event)
        self._events.clear()
        self.calls.append(seconds)


@dataclass
class Contender:
    """A method with its parameters.

    Attributes
    ----------
    label : dict
        What tells it from the others: its coordinates in a table.
    method : Method
    device : Device
    phases : callable or None
        Names for the launches of a round, for `Phases`; the method is then a `FloydWarshall`.
    roof : bool
        Whether the roof of the number type on the device is one for this contender, too.
    helpers : tuple of Device
        Further devices, for a method that uses several.
    memory_limit : int or None
        Bytes that it may use on each device.
    predecessors : bool
        Whether it finds predecessors, too.
    limit : float or None
        Seconds after which a turn is ended, where the method tells how far it is.
    """

    label: Label
    method: Method
    device: Device
    phases: Callable[[int], Sequence[str]] | None = None
    roof: bool = True
    helpers: tuple[Device, ...] = ()
    memory_limit: int | None = None
    predecessors: bool = False
    limit: float | None = None
    _turns: list[tuple[float, dict[str, Any]]] = field(default_factory=list, repr=False)
    _listener: Phases | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.phases is not None:
            assert isinstance(self.method, FloydWarshall)
            self._listener = Phases(self.method, self.phases)

    def turn(self, graph: Graph, dtype: str, right: Reference) -> None:
        """Solve the graph once, and compare the answer.

        Raises
        ------
        VerificationError
            If the answer is wrong.
        PyApspError
            If it takes longer than the limit.
        """
        started = time.perf_counter()
        result = solve(
            graph,
            self.method,
            dtype=dtype,
            predecessors=self.predecessors,
            device=[self.device, *self.helpers],
            memory_limit=self.memory_limit,
            progress=None if self.limit is None else self._within(self.limit),
        )
        self._turns.append((time.perf_counter() - started, result.stats))
        if self._listener is not None:
            self._listener.settle()
        difference = right.difference(graph, result)
        if difference is not None:
            raise VerificationError(
                f"{self.method!r} on {self.device.name}: the answer for {graph.name} is wrong, "
                f"with a difference of {difference:g}"
            )
        if self.predecessors:
            certificate(graph, result, device=self.device).require()

    @property
    def settled(self) -> bool:
        """Whether one turn was enough."""
        return self._turns[0][0] > _LONG

    def _within(self, limit: float) -> Callable[[int, int], None]:
        """Return what ends a turn, and says how long it would have taken."""
        started = time.perf_counter()

        def check(done: int, total: int) -> None:
            seconds = time.perf_counter() - started
            if seconds > limit and done < total:
                raise PyApspError(
                    f"{done:,} of {total:,} parts done when {limit:g} s were over: about "
                    f"{seconds * total / done:.3g} s in all"
                )

        return check

    def record(self, meter: Meter | None) -> dict[str, Any]:
        """Return the record of `solve`, with medians of the turns after the warm-up.

        Where there is only one, it is that one.
        """
        turns = self._turns[1:] or self._turns
        last = turns[-1][1]
        times = {
            "kernel": [stats["kernel_seconds"] for _, stats in turns],
            "transfer": [stats["transfer_seconds"] for _, stats in turns],
            "wall": [seconds for seconds, _ in turns],
        }
        seconds = {f"{phase}_seconds": median(values) for phase, values in times.items()}
        kernels = seconds["kernel_seconds"]
        record = {
            **last,
            **seconds,
            "label": self.label,
            "build_seconds": self._turns[0][1]["build_seconds"],
            "rate": last["updates"] / kernels if kernels > 0 else None,
            "repeat": len(turns),
            "times": times,
            "phases": self._phases(),
            "verified": True,
        }
        return record if meter is None else with_roof(record, meter.roof())

    def _phases(self) -> dict[str, float] | None:
        if self._listener is None:
            return None
        calls = self._listener.calls[1:] or self._listener.calls
        return {name: median(call[name] for call in calls) for name in calls[-1]}


@dataclass(frozen=True)
class Reference:
    """Distances that are known to be right.

    Attributes
    ----------
    what : str
        Why: whose they are, or how they were checked.
    seconds : float or None
        How long SciPy took for them.
    distances : ndarray
        Infinity as in their type.
    """

    what: str
    seconds: float | None
    distances: np.ndarray

    def difference(self, graph: Graph, result: Result) -> float | None:
        """Return None if an answer agrees, or else the largest difference."""
        given = result.distances
        if given.shape != self.distances.shape:
            return float("inf")
        if given.dtype == self.distances.dtype and np.array_equal(given, self.distances):
            return None
        worst = None
        each = max(_BLOCK_BYTES // (8 * max(graph.n, 1)), 1)
        for start in range(0, graph.n, each):
            rows = slice(start, start + each)
            part = Result(given[rows], None, result.sources[rows])
            right = self.distances[rows]
            right = np.where(right < infinity(right.dtype), right.astype(np.float64), np.inf)
            compared = against_distances(graph, part, right)
            if not compared.ok:
                worst = max(compared.max_error, worst or 0.0)
        return worst


def reference(graph: Graph, dtype: str, device: Device) -> Reference:
    """Find out what is right: ask SciPy, or for large graphs check an answer by its certificate.

    Parameters
    ----------
    graph : Graph
    dtype : str
        Of the answers that will be compared.
    device : Device
        Where to solve and check large graphs.

    Raises
    ------
    VerificationError
        If the certificate does not hold.
    """
    if graph.n > _ORACLE or graph.n * graph.m > _ORACLE_ARCS:
        result = solve(graph, "fw-minplus", dtype=dtype, device=device)
        certificate(graph, result, device=device).require()
        return Reference("an answer with a certificate", None, result.distances)
    matrix = graph.to_scipy().astype(np.float64)
    started = time.perf_counter()
    distances = csgraph.dijkstra(matrix, directed=True) if graph.n else np.empty((0, 0))
    return Reference("SciPy's Dijkstra", time.perf_counter() - started, distances)


def run(
    graph: Graph,
    contenders: Sequence[Contender],
    dtype: str,
    right: Reference,
    *,
    repeat: int = 3,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Time all contenders in turns, and compare every answer.

    Parameters
    ----------
    graph : Graph
        Without negative weights.
    contenders : sequence of Contender
    dtype : str
    right : Reference
    repeat : int
        Timed turns, after one for warming up. What takes long has the one turn.
    progress : callable
        Told what runs next.

    Returns
    -------
    dict
        ``runs``: the record of each, with its label; ``left_out``: the labels of those that did
        not run, each with ``why``; ``reference``: what the answers were compared with.

    Raises
    ------
    VerificationError
        If an answer is wrong.
    """
    if repeat < 1:
        raise ParameterError.of("repeat", "papers", "at least 1", repeat)
    left_out: list[dict[str, Any]] = []
    taking_part: list[Contender] = []
    meters: dict[Device, Meter] = {}

    def attempt(contender: Contender) -> bool:
        try:
            contender.turn(graph, dtype, right)
        except VerificationError:
            raise
        except PyApspError as error:
            left_out.append({**contender.label, "why": str(error)})
            return False
        return True

    for contender in contenders:
        progress(f"{graph.name}: warm-up: {contender.method!r}")
        if attempt(contender):
            taking_part.append(contender)
            if contender.roof and contender.device not in meters:
                meters[contender.device] = Meter(contender.device, dtype)
    for number in range(repeat):
        progress(f"{graph.name}: turn {number + 1} of {repeat}")
        taking_part = [each for each in taking_part if each.settled or attempt(each)]
        for meter in meters.values():
            meter.turn()
    return {
        "reference": {"what": right.what, "seconds": right.seconds},
        "runs": list(_records(taking_part, meters)),
        "left_out": left_out,
    }


def _records(
    contenders: Sequence[Contender], meters: Mapping[Device, Meter]
) -> Iterator[dict[str, Any]]:
    for contender in contenders:
        yield contender.record(meters[contender.device] if contender.roof else None)
