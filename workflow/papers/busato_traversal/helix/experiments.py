"""[B] chapter 7: configurations of Helix, rivals, and what each technique contributes."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import isqrt

import numpy as np
from scipy.sparse import csgraph

from papers.experiment import Case, InTurns, Request, Settings
from papers.runner import Label, Runner, require_equal
from papers.values import Parameters
from pyapsp.base.json import Json, Record
from pyapsp.device import Device
from pyapsp.graph import Graph, generators
from pyapsp.paths import PathOptions
from pyapsp.registry import Method, method, methods
from pyapsp.registry.timing import Turn
from pyapsp.traversal.bfs.bfs import bfs
from pyapsp.traversal.bfs.helix import dimensions
from pyapsp.traversal.bfs.helix.automatic import facts_of, on_a_cpu, published
from pyapsp.traversal.bfs.helix.method import BfsHelix
from pyapsp.traversal.kernels import resident

__all__ = [
    "ABLATIONS",
    "BALANCES",
    "DEVICE_WIDE",
    "EXPERIMENTS",
    "GRAPHS",
    "QUEUES",
    "SEQUENTIAL",
    "SYNCS",
    "UPDATES",
]

# Searches of a turn, each from another source.
_SOURCES = 3
#: The sequential search of the host.
SEQUENTIAL = "breadth_first_order (SciPy)"
#: Helix with the balance that Gunrock has, too.
DEVICE_WIDE = "bfs-helix, device-wide"
#: The dimensions of figure 7.6.
BALANCES: dict[str, Parameters] = {
    "node 1": {"balance": "node", "width": 1},
    "node 4": {"balance": "node", "width": 4},
    "node 8, shuffle": {"balance": "node-shuffle", "width": 8},
    "node 16, shuffle": {"balance": "node-shuffle", "width": 16},
    "node 32, shuffle": {"balance": "node-shuffle", "width": 32},
    "scan, warp": {"balance": "scan-warp"},
    "scan, block": {"balance": "scan-block"},
    "search, warp": {"balance": "search-warp"},
    "search, block": {"balance": "search-block"},
    "device-wide": {"balance": "device", "leaves": "drop", "chunk": "dynamic"},
}
QUEUES, SYNCS, UPDATES = (
    ("vertex", "edge", "two-phase"),
    ("multi", "batched", "single-group", "persistent"),
    ("ballot", "local"),
)
#: Section 7.3 and 7.4.2: pairs of forms that differ in one technique, the published choice last.
ABLATIONS: dict[str, tuple[Parameters, Parameters]] = {
    "search, indices in local memory": ({"balance": "naive-warp"}, {"balance": "search-warp"}),
    "CSR-M": ({"rows": "csr"}, {"rows": "csr-m"}),
    "unordered scan": (
        {"scan": "ordered", "balance": "scan-block"},
        {"scan": "unordered", "balance": "scan-block"},
    ),
    "bitmask of 8 bits": ({"bitmask": "none"}, {"bitmask": "8"}),
    "bitmask of 8 bits, not 32": ({"bitmask": "32"}, {"bitmask": "8"}),
    "bitmask of 8 bits, not atomic": ({"bitmask": "atomic"}, {"bitmask": "8"}),
    "leaves dropped": (
        {"balance": "device", "leaves": "keep"},
        {"balance": "device", "leaves": "drop"},
    ),
    "dynamic chunk": (
        {"balance": "device", "chunk": "fixed"},
        {"balance": "device", "chunk": "dynamic"},
    ),
    "packed prefix sum": (
        {"balance": "device", "prefix": "two-pass"},
        {"balance": "device", "prefix": "packed"},
    ),
    "bins, not one list": ({"heavy": "relaunch"}, {"heavy": "bins"}),
    "bins": ({"heavy": "none"}, {"heavy": "bins"}),
    "warp gathering": ({"gather": "none"}, {"gather": "warp"}),
    "block gathering": ({"gather": "none"}, {"gather": "block"}),
    "duplicates after load": ({"duplicates": "none"}, {"duplicates": "load-warp"}),
    "duplicates during lookup": ({"duplicates": "load-warp"}, {"duplicates": "lookup-warp"}),
    "compare-and-exchange": ({"duplicates": "load-warp"}, {"duplicates": "cas"}),
}


def _with_hub(n: int) -> Graph:
    """Return a grid and a vertex that has an arc to every second vertex, as in a circuit."""
    side = max(isqrt(n), 2)
    tails, heads, _ = generators.grid_2d(side, side).arcs()
    others = np.arange(1, side * side, 2)
    hub = np.zeros(others.size, np.int64)
    ends = np.concatenate([tails, hub, others]), np.concatenate([heads, others, hub])
    return Graph.from_arcs(side * side, *ends)


#: Stand-ins for the categories of table 7.1: function of about the number of vertices.
GRAPHS = {
    "grid": lambda n: generators.grid_2d(max(isqrt(n), 2), max(isqrt(n), 2)),
    "small world": lambda n: generators.small_world(max(n, 6), 4),
    "random, mean 4": lambda n: generators.random_graph(n, min(4 * n, n * (n - 1))),
    "random, mean 24": lambda n: generators.random_graph(n, min(24 * n, n * (n - 1))),
    "random, mean 80": lambda n: generators.random_graph(
        n // 2, min(40 * n, n // 2 * (n // 2 - 1))
    ),
    "power law": lambda n: generators.power_law(n, 8 * n),
    "R-MAT": lambda n: generators.rmat(max((n - 1).bit_length(), 3), 16),
    "grid with a hub": _with_hub,
}


@dataclass(frozen=True)
class _Input:
    """A graph, some sources, and the levels that SciPy finds from them."""

    name: str
    graph: Graph
    sources: list[int]
    right: np.ndarray
    device: Device

    @classmethod
    def of(cls, name: str, n: int, device: Device) -> _Input:
        graph = GRAPHS[name](n)
        leaving = np.flatnonzero(np.diff(graph.indptr))
        drawn = np.random.default_rng(7).choice(leaving, min(_SOURCES, leaving.size), replace=False)
        sources = [int(each) for each in drawn]
        depths = csgraph.dijkstra(graph.to_scipy(), unweighted=True, indices=sources)
        right = np.where(np.isfinite(depths), depths, -1).astype(np.int32)
        return cls(name, graph, sources, right, device)

    def runner(self, label: Label, chosen: Method) -> Runner:
        """Return a search from each source; its seconds are those of one search."""

        def turn() -> Turn:
            answer = bfs(self.graph, self.sources, chosen, parents=False, device=self.device)
            require_equal(answer.levels, self.right, f"{chosen!r} on {self.name}")
            seconds = {"kernel": answer.stats["kernel_seconds"] / len(self.sources)}
            about: Record = {name: answer.stats[name] for name in ("method", "parameters")}
            if isinstance(chosen, BfsHelix) and chosen.parameters.get("bitmask", "none") != "none":
                about["bits"] = self._bits(chosen)
            return Turn(seconds, about)

        return Runner({"graph": self.name, **label}, turn)

    def _bits(self, chosen: BfsHelix) -> float:
        """Return the part of the bitmask that is set after a search, on average."""
        told: list[float] = []
        watched = copy.copy(chosen)
        watched.on_mask = told.append
        bfs(self.graph, self.sources, watched, parents=False, device=self.device)
        return float(np.mean(told))

    def on_the_host(self) -> Runner:
        """Return SciPy's search from each source."""
        matrix = self.graph.to_scipy()

        def turn() -> Turn:
            started = time.perf_counter()
            answers = [csgraph.breadth_first_order(matrix, source) for source in self.sources]
            wall = (time.perf_counter() - started) / len(answers)
            for levels, (order, parents) in zip(self.right, answers, strict=True):
                require_equal(np.sort(order), np.flatnonzero(levels >= 0), SEQUENTIAL)
                require_equal(levels[parents[order[1:]]] + 1, levels[order[1:]], SEQUENTIAL)
            return Turn({"kernel": wall}, {})

        return Runner({"graph": self.name, "method": SEQUENTIAL}, turn)

    def case(self, runners: list[Runner], **more: Json) -> Case:
        """Return a case with the statistics of table 7.1 and the bins of figure 7.4, and more."""
        degrees, facts = np.diff(self.graph.indptr), facts_of(self.graph)
        depths = self.right.max(axis=1)
        largest = max(facts.most.bit_length(), 1)
        about: Record = {
            "arcs": self.graph.m,
            "mean": facts.mean,
            "deviation": float(degrees.std()),
            "gini": facts.gini,
            "largest": facts.most,
            "resident": resident(self.device),
            # of the sources: that of all vertices takes n searches
            "eccentricity": float(depths.mean()),
            "bins": np.histogram(degrees, 2 ** np.arange(largest + 1))[0].tolist(),
        }
        label = {"graph": self.name}
        return Case(
            {"label": label, "n": self.graph.n, "reference": {"what": "SciPy"}, **about, **more},
            runners,
        )


def _sizes(device: Device) -> dict[str, int]:
    return {"group": 1, "warp": 1} if device.traits.scalar_groups else {"group": 128, "warp": 32}


def _form(
    device: Device, values: Mapping[str, int | str], sizes: Mapping[str, int]
) -> Method | None:
    """Return Helix with these values and none that costs extra; None if they do not go together."""
    plain = {**on_a_cpu(), "duplicates": "none", "update": "ballot", **sizes}
    plain["scan"] = "unordered" if sizes["group"] > sizes["warp"] else "ordered"
    set_ = dimensions.completed({**sizes, **values}, plain, device)
    return None if set_ is None else method("bfs-helix", **set_)


def _configurations(n: int, request: Request) -> Iterator[Case]:
    """Yield the configurations of figure 7.6, for each graph."""
    device, sizes = request.device, _sizes(request.device)
    for name in GRAPHS:
        subject = _Input.of(name, n, device)
        runners = []
        for balance, parameters in BALANCES.items():
            for queue in QUEUES:
                for sync in SYNCS:
                    for update in UPDATES:
                        values = {**parameters, "queue": queue, "sync": sync, "update": update}
                        chosen = _form(device, values, sizes)
                        if chosen is not None:
                            label: Label = {"balance": balance, "queue": queue}
                            label |= {"sync": sync, "update": update}
                            runners.append(subject.runner(label, chosen))
        yield subject.case(runners, spaces=_spaces(device), **sizes)


def _spaces(device: Device) -> list[dict[str, int]]:
    """Count the legal configurations, with all bases of the bins, and with one."""
    spaces = []
    one: list[Parameters] = [{"heavy": "none"}, {"base": 10}]
    for sizes in ({"group": 1, "warp": 1}, {"group": 128, "warp": 32}):
        if sizes["group"] <= device.capabilities.max_work_group_size:
            spaces.append(
                {
                    "work-items of a group": sizes["group"],
                    "of a warp": sizes["warp"],
                    "configurations: ours": sum(
                        dimensions.count(device, {**sizes, **each}) for each in one
                    ),
                    "with all bases: ours": dimensions.count(device, sizes),
                }
            )
    return spaces


def _rivals(n: int, request: Request) -> Iterator[Case]:
    """Yield Helix as it is chosen, as published, all others and one of the host, for each graph."""
    device = request.device
    sizes = {"group": 32, "warp": 8} if device.traits.scalar_groups else {}
    for name in GRAPHS:
        subject = _Input.of(name, n, device)
        facts, most = facts_of(subject.graph), max(resident(device), 1024)
        runners = [subject.runner({"method": "bfs-helix"}, method("bfs-helix"))]
        forms: dict[str, Parameters] = {
            "bfs-helix, table 7.2": {},
            DEVICE_WIDE: BALANCES["device-wide"],
        }
        for form, fixed in forms.items():
            set_ = dimensions.completed(fixed, published(facts, resident=most, **sizes), device)
            assert set_ is not None
            runners.append(subject.runner({"method": form}, method("bfs-helix", **set_)))
        runners.append(subject.on_the_host())
        for other in methods("bfs"):
            if (
                other.id != "bfs-helix"
                and other().unmet(subject.graph, PathOptions(device, np.dtype(np.int32))) is None
            ):
                runners.append(subject.runner({"method": other.id}, other()))
        yield subject.case(runners)


def _ablations(n: int, request: Request) -> Iterator[Case]:
    """Yield both forms of each pair, for each graph; those of warps need groups of several."""
    device = request.device
    sizes = {"group": 32, "warp": 8} if device.traits.scalar_groups else _sizes(device)
    base = {"balance": "scan-warp"}
    for name in GRAPHS:
        subject = _Input.of(name, n, device)
        runners = []
        for technique, pair in ABLATIONS.items():
            forms = [_form(device, {**base, **each}, sizes) for each in pair]
            for side, each in zip(("without", "with"), forms, strict=True):
                if all(forms) and each is not None:
                    runners.append(subject.runner({"technique": technique, "form": side}, each))
        yield subject.case(runners, **sizes)


def _memory(n: int, settings: Settings) -> float:
    return 2e9 + 5e3 * n


_METHODS = ("bfs-helix",)

_experiment = partial(InTurns, methods=_METHODS, sizes=(20_000,), least=10, memory=_memory)
EXPERIMENTS = {
    "busato-traversal-configurations": _experiment(
        exhibits="figure 7.6, table 7.2, claims of section 7.4.2", make=_configurations
    ),
    "busato-traversal-rivals": _experiment(
        exhibits="figure 7.7, table 7.1, figure 7.4", make=_rivals
    ),
    "busato-traversal-ablations": _experiment(exhibits="sections 7.3 and 7.4.2", make=_ablations),
}
