"""[B] chapter 8: H-BF and its rivals, its optimisations one by one, and relaxations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import csgraph, csr_array

from papers.busato_paths.searches import sequential
from papers.busato_paths.searches.stand_ins import FIRST, SECOND, StandIn, stand_in
from papers.experiment import Case, InTurns, Request, Settings
from papers.runner import Label, Runner, require_equal
from papers.values import Parameters, Value
from pyapsp.device import Device
from pyapsp.registry import Method, method
from pyapsp.registry.timing import Turn
from pyapsp.traversal.sssp.sssp import sssp
from pyapsp.traversal.sssp.sssp_h_bf import SsspHBf

__all__ = ["COUNTED", "EXPERIMENTS", "OPTIMISATIONS"]

# Searches of a turn, each from another source; the thesis has 100.
_SOURCES = 3
# H-BF without optimisations: a frontier, and warps of a fixed width.
_BASIC: Mapping[str, int | str] = {
    "classes": 0,
    "duplicates": "kept",
    "staged": 1,
    "width": 4,
    "load": 1,
    "heavy": 0,
    "read": "plain",
}
#: The optimisations of table 8.3. Names as in published.csv.
OPTIMISATIONS: dict[str, Parameters] = {
    "warp workload": {"load": 32},
    "classes of arcs": {"classes": 1},
    "dynamic warps and heavy list": {"width": 0, "heavy": 4096},
    "removal of duplicates": {"duplicates": "atomic64"},
}
#: The searches of figure 8.9, and the optimisations that they have; None for a sequential one.
COUNTED: dict[str, tuple[str, ...] | None] = {
    "queue-less": None,
    "queue": None,
    "H-BF, no optimisation": (),
    "H-BF, classes of arcs": ("classes of arcs",),
    "H-BF, removal of duplicates": ("removal of duplicates",),
    "H-BF": tuple(OPTIMISATIONS),
}
# With fewer vertices than this, the threshold of the heavy list is smaller, so that a stand-in has
# heavy vertices.
_LARGE = 500_000


@dataclass(frozen=True)
class _Input:
    """A stand-in, some sources, and the distances from them."""

    name: str
    drawn: StandIn
    sources: list[int]
    right: np.ndarray
    device: Device

    @classmethod
    def of(cls, name: str, n: int, device: Device) -> _Input:
        drawn = stand_in(name, n)
        sources = drawn.sources(_SOURCES)
        return cls(name, drawn, sources, drawn.distances(sources), device)

    def runner(self, label: Label, chosen: Method, *, counted: bool = False) -> Runner:
        """Return a search from each source; its seconds are those of one search."""

        def turn() -> Turn:
            counts: list[dict[str, int]] = []
            if counted:
                assert isinstance(chosen, SsspHBf)
                chosen.on_counts = counts.append
            started = time.perf_counter()
            answer = sssp(self.drawn.graph, self.sources, chosen, dtype="int32", device=self.device)
            wall = time.perf_counter() - started
            distances = np.where(answer.distances < answer.infinity, answer.distances, np.inf)
            require_equal(distances, self.right, f"{chosen!r} on {self.name}")
            stats, count = answer.stats, len(self.sources)
            seconds = {"kernel": stats["kernel_seconds"] / count, "wall": wall / count}
            about = {name: stats[name] for name in ("method", "parameters", "rounds")}
            sums = {name: sum(each[name] for each in counts) / count for name in _keys(counts)}
            return Turn(seconds, {**about, **sums})

        return Runner({"graph": self.name, **label}, turn)

    def by_the_host(self, label: Label, search: Callable[[int], tuple[np.ndarray, int]]) -> Runner:
        """Return a search on the host from each source."""

        def turn() -> Turn:
            started = time.perf_counter()
            answer = [search(source) for source in self.sources]
            wall = (time.perf_counter() - started) / len(answer)
            rows = np.array([row for row, _ in answer])
            require_equal(rows, self.right, f"{label} on {self.name}")
            relaxations = float(np.mean([count for _, count in answer]))
            return Turn({"kernel": wall, "wall": wall}, {"relaxations": relaxations})

        return Runner({"graph": self.name, **label}, turn)

    def sequential(self, label: Label, name: str) -> Runner:
        """Return a sequential search of this name."""
        return self.by_the_host(
            label, lambda source: sequential.search(name, self.drawn.graph, source)
        )

    def case(self, runners: list[Runner], **label: Value) -> Case:
        """Return a case with the statistics of table 8.1."""
        facts = self.drawn.facts(self.sources)
        about = {"n": self.drawn.graph.n, "graph": self.drawn.graph.name, **facts}
        label = {"graph": self.name, **label}
        return Case({"label": label, "reference": {"what": "SciPy"}, **about}, runners)


def _keys(counts: list[dict[str, int]]) -> list[str]:
    return list(counts[0]) if counts else []


def _searches(n: int, request: Request) -> Iterator[Case]:
    """Yield the searches of table 8.2, and ours, for each graph of the first set."""
    sweep = {**_BASIC, "staged": 0, "width": 1, "duplicates": "table", "split": "merge-path"}
    for name in FIRST:
        subject = _Input.of(name, n, request.device)
        matrix = subject.drawn.graph.to_scipy()
        runners = [
            subject.sequential({"method": "queue"}, "queue"),
            subject.by_the_host(
                {"method": "dijkstra"},
                partial(_dijkstra, matrix),
            ),
            subject.runner({"method": "sssp-bellman-ford"}, method("sssp-bellman-ford")),
            subject.runner({"method": "workfront sweep"}, method("sssp-h-bf", **sweep)),
            subject.runner({"method": "sssp-near-far"}, method("sssp-near-far")),
            subject.runner({"method": "sssp-bucketing"}, method("sssp-bucketing")),
            subject.runner({"method": "frontier"}, _form(request.device, n)),
            subject.runner({"method": "sssp-h-bf"}, method("sssp-h-bf")),
            subject.runner({"method": "sssp-delta-stepping"}, method("sssp-delta-stepping")),
        ]
        yield subject.case(runners)


def _dijkstra(matrix: csr_array, source: int) -> tuple[np.ndarray, int]:
    """Return SciPy's distances; it does not count relaxations."""
    return csgraph.dijkstra(matrix, indices=source), 0


def _form(device: Device, n: int, *optimisations: str) -> Method:
    """Return H-BF with these optimisations; on CPUs with groups of 32, which are loops there."""
    parameters = dict(_BASIC)
    for each in optimisations:
        parameters |= OPTIMISATIONS[each]
    if parameters["heavy"] and n < _LARGE:
        parameters["heavy"] = 256
    if parameters["duplicates"] == "atomic64" and not device.capabilities.int64_atomics:
        parameters["duplicates"] = "tag32"
    group = 32 if device.traits.scalar_groups else 128
    return method("sssp-h-bf", **parameters, group=group)


def _optimisations(n: int, request: Request) -> Iterator[Case]:
    """Yield H-BF with one optimisation, without one, with none and all; and relaxations."""
    every = tuple(OPTIMISATIONS)
    forms = {("none", "alone"): (), ("all", "alone"): every}
    forms |= {(each, "alone"): (each,) for each in every}
    forms |= {(each, "missing"): tuple(other for other in every if other != each) for each in every}
    device = request.device
    for name in SECOND:
        subject = _Input.of(name, n, device)
        runners = [subject.sequential({"optimisation": "queue", "form": "alone"}, "queue")]
        for (each, form), chosen in forms.items():
            label: Label = {"optimisation": each, "form": form}
            runners.append(subject.runner(label, _form(device, n, *chosen)))
        yield subject.case(runners)
    subject = _Input.of("msdoor", n, device)
    runners = []
    for search, some in COUNTED.items():
        label = {"search": search}
        runners.append(
            subject.sequential(label, search)
            if some is None
            else subject.runner(label, _form(device, n, *some), counted=True)
        )
    yield subject.case(runners)


def _memory(n: int, settings: Settings) -> float:
    """Return an estimate of the host memory: 64 arcs for each vertex, several times."""
    return 1e9 + 10_000 * n


_experiment = partial(InTurns, sizes=(20_000,), least=100, memory=_memory)
EXPERIMENTS = {
    "busato-paths-searches": _experiment(
        exhibits="tables 8.1 and 8.2, figure 8.8",
        methods=(
            *("sssp-h-bf", "sssp-near-far", "sssp-bucketing", "sssp-bellman-ford"),
            "sssp-delta-stepping",
        ),
        make=_searches,
    ),
    "busato-paths-optimisations": _experiment(
        exhibits="table 8.3, figure 8.9", methods=("sssp-h-bf",), make=_optimisations
    ),
}
