"""[B] chapter 6: levels, features, knobs and rivals of BFS-4K, on stand-ins of its graphs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyopencl as cl
from scipy.sparse import csgraph

from papers import shapes
from papers.busato_traversal.bfs_4k.stand_ins import NAMES, stand_in
from papers.experiment import Case, InTurns, Request, Settings
from papers.runner import Label, Runner, require_equal
from papers.values import Parameters, Value
from pyapsp.device import Device
from pyapsp.device.kernels import Stopwatch
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Method, method
from pyapsp.registry.timing import Turn
from pyapsp.traversal.bfs.bfs import bfs
from pyapsp.traversal.bfs.bfs_4k import Bfs4K
from pyapsp.traversal.request import default_source

__all__ = [
    "COMPARED",
    "DEGREES",
    "EXPERIMENTS",
    "FEATURES",
    "FORMED",
    "FURTHER",
    "KNOBS",
    "MAPPINGS",
    "STORES",
    "TABLES",
]

#: Mappings of figure 6.11, and the parameters that fix them.
MAPPINGS: dict[str, Parameters] = {
    "virtual warp 1": {"least_width": 1, "resident": 16, "discover": 0},
    "virtual warp 4": {"least_width": 4, "resident": 16, "discover": 0},
    "edge-discover": {"resident": 2048, "discover": 1},
}
#: The tables of duplicates of figure 6.12, and ours.
TABLES = ("off", "per-warp", "hash64", "hash32")
#: When levels are stored: as in the thesis, and when vertices are appended to the frontier.
STORES = ("visit", "append")
#: The knobs, and the values that are tried; the others stay as they are.
KNOBS = {
    "least_width": (1, 2, 4, 8, 16, 32),
    "heavy": (0, 5, 15, 50, 200),
    "piece": (4, 16, 64),
    "discover": (0, 1, 2, 4),
    "single": (0, 1, 2, 4, 16),
    "group": (32, 64, 128, 256),
    "coalesce": (0, 1, 4, 10),
}
# A launch for each heavy vertex, as in the thesis: only then K3 decides how many there are.
_OTHERS: Parameters = {"single": 1, "discover": 2, "heavy": 15, "dynamic": "relaunch"}
#: The degrees of figure 6.5, whose arcs are those of one warp.
DEGREES, _WARP = (3, 1, 4, 6, 3, 3), 32
_NONE: Parameters = {
    **{"least_width": 1, "widths": "fixed", "single": 0, "discover": 0},
    **{"dynamic": "off", "duplicates": "off"},
}
_ADDED: dict[str, Parameters] = {
    "queues": {},
    "virtual warps of 4": {"least_width": 4},
    "and as wide as the frontier allows": {"widths": "dynamic"},
    "and edge-discover": {"discover": 2, "extended": 1},
    "and dynamic parallelism": {"dynamic": "relaunch-fused"},
    "and detection of duplicates": {"duplicates": "hash32"},
    "and the single-block kernel": {"single": 1},
}
#: Figure 6.14: features that are added one after the other.
FEATURES = tuple(_ADDED)
#: The searches of figure 6.13, in its order.
COMPARED = ("bfs-harish", "bfs-edge", "bfs-virtual-warp", "bfs-luo", "bfs-b40c", "bfs-4k")
#: Searches that table 6.2 shows beside those of the thesis.
FURTHER = ("bfs-sequential", "bfs-gunrock")
# The rivals of table 6.2; BFS-4K has the parameters that suit the device.
_RIVALS = (*FURTHER, "bfs-harish", "bfs-edge", "bfs-luo", "bfs-b40c", "bfs-4k")
_WIDTHS = (1, 2, 4, 16, 32)
# Published forms of rivals that are not their parameters for any device.
_FORMS: tuple[tuple[str, str, Parameters], ...] = (
    ("bfs-luo", "one launch for medium frontiers", {"middle": 1}),
    ("bfs-b40c", "expand-contract", {"frontier": "vertex"}),
    ("bfs-b40c", "contract-expand", {"frontier": "edge"}),
    ("bfs-b40c", "hybrid", {"frontier": "hybrid"}),
    ("bfs-gunrock", "by degrees", {"balance": "degrees"}),
    ("bfs-gunrock", "chunks of arcs", {"balance": "arcs"}),
)
#: The searches of which table 6.2 has the fastest form.
FORMED = tuple(dict.fromkeys(name for name, _, _ in _FORMS))


@dataclass(frozen=True)
class _Input:
    """A graph, the source with most arcs, and the levels that SciPy finds."""

    graph: Graph
    source: int
    right: np.ndarray
    device: Device

    @classmethod
    def of(cls, graph: Graph, request: Request) -> _Input:
        source = int(default_source(graph)[0])
        depths = csgraph.dijkstra(graph.to_scipy(), unweighted=True, indices=source)
        levels = np.where(np.isfinite(depths), depths, -1).astype(np.int32)
        return cls(graph, source, levels, request.device)

    def runner(self, label: Label, chosen: Method, *, counted: bool = False) -> Runner:
        """Return a search; if it is counted, with the statistics of its levels."""

        def turn() -> Turn:
            levels: list[list[dict[str, int | str]]] = []
            if counted:
                assert isinstance(chosen, Bfs4K)
                chosen.on_levels = levels.append
            started = time.perf_counter()
            answer = bfs(self.graph, self.source, chosen, parents=False, device=self.device)
            wall = time.perf_counter() - started
            require_equal(answer.levels, self.right, f"{chosen!r} on {self.graph.name}")
            stats = answer.stats
            seconds = {"kernel": stats["kernel_seconds"], "wall": wall}
            seconds["transfer"] = stats["transfer_seconds"]
            about = {name: stats[name] for name in ("method", "parameters", "rounds", "work")}
            about["bytes"] = stats["peak_device_bytes"]
            return Turn(seconds, {**about, "levels": levels[0] if levels else None})

        return Runner(label, turn)

    def case(self, runners: list[Runner], **label: Value) -> Case:
        """Return a case with the facts of the graph."""
        histogram = np.bincount(self.right[self.right >= 0]).tolist()
        about = {"graph": self.graph.name, **shapes.facts(self.graph), "depth": len(histogram) - 1}
        about |= {"n": self.graph.n, "reached": int((self.right >= 0).sum())}
        if len(histogram) <= 100:
            about["levels"] = histogram
        return Case({"label": label, "reference": {"what": "SciPy"}, **about}, runners)


def _form(device: Device, **parameters: Any) -> Method:
    """Return BFS-4K with groups of several work-items, also on a CPU, where they are loops."""
    cpu = device.traits.scalar_groups
    sizes = {"group": 32, "warp": 8} if cpu else {"group": 128, "warp": 32}
    if parameters.get("least_width", 1) > sizes["warp"]:
        sizes["warp"] = 32
    defaults = {"queue": 16, "least_width": 4, "resident": 16 if cpu else 2048, "coalesce": 10}
    return method("bfs-4k", **{**sizes, **defaults, **parameters})


def _lanes(device: Device) -> list[int]:
    """Return whose arc each lane of a warp gets in edge-discover, in the example of figure 6.5.

    A warp of one group finds a vertex for each lane, and appends them in the order of its lanes.
    """
    middle, leaves = len(DEGREES), sum(DEGREES)
    owners = np.repeat(np.arange(middle), DEGREES)
    tails = np.concatenate([np.zeros(middle, np.int64), 1 + owners])
    graph = Graph.from_arcs(1 + middle + leaves, tails, np.arange(1, 1 + middle + leaves))
    sizes = {"group": _WARP, "warp": _WARP, "queue": 1, "least_width": 1, "resident": 2048}
    plain = {"discover": 1, "extended": 0, "single": 0, "coalesce": 0}
    chosen = method("bfs-4k", **sizes, **plain, dynamic="off", duplicates="off")
    assert isinstance(chosen, Bfs4K)
    options = PathOptions(device, np.dtype(np.int32), sources=np.array([0]))
    search = chosen.open(chosen.plan(graph, options), Stopwatch())
    search.start(0)
    level, size = search.advance(1, 1)
    search.advance(level, size)
    queue = np.empty((2, graph.n), np.int32)
    cl.enqueue_copy(search.queue, queue, search.queues)
    return [int(owners[leaf - 1 - middle]) for leaf in queue[level % 2, :leaves]]


def _levels(n: int, request: Request) -> Iterator[Case]:
    """Yield a case for each mapping and table of duplicates, and the choice of kernels."""
    subject = _Input.of(stand_in("as-skitter", n), request)
    runners = []
    for mapping, table, store in product(MAPPINGS, TABLES, STORES):
        more: Parameters = {"single": 0, "dynamic": "off", "queue": 1, "duplicates": table}
        more["coalesce"] = 0  # a work-item keeps one vertex
        chosen = _form(request.device, store=store, **more, **MAPPINGS[mapping])
        label: Label = {"mapping": mapping, "table": table, "store": store}
        runners.append(subject.runner(label, chosen, counted=True))
    whole = _form(request.device, single=1, discover=1, duplicates="hash32", dynamic="off")
    label = {"mapping": "chosen by level", "table": "hash32"}
    case = subject.case([*runners, subject.runner(label, whole, counted=True)])
    yield replace(case, about={**case.about, "lanes": _lanes(request.device)})


def _features(n: int, request: Request) -> Iterator[Case]:
    """Yield the searches of figure 6.14, and those of figure 6.13 as they are by default."""
    subject = _Input.of(stand_in("as-skitter", n), request)
    names = ("bfs-sequential", "bfs-harish", "bfs-edge")
    runners = [subject.runner({"features": name}, method(name)) for name in names]
    parameters = dict(_NONE)
    for name, more in _ADDED.items():
        parameters |= more
        runners.append(subject.runner({"features": name}, _form(request.device, **parameters)))
    runners += [subject.runner({"search": name}, method(name)) for name in COMPARED]
    yield subject.case(runners)


def _searches(n: int, request: Request) -> Iterator[Case]:
    """Yield a case for each graph of table 6.1."""
    for name in NAMES:
        subject = _Input.of(stand_in(name, n), request)
        runners = [
            subject.runner({"graph": name, "method": each}, method(each)) for each in _RIVALS
        ]
        for each, form, parameters in _FORMS:
            if "middle" not in parameters or request.device.capabilities.device_scope_fence:
                runners.append(
                    subject.runner(
                        {"graph": name, "method": each, "form": form}, method(each, **parameters)
                    )
                )
        for width in _WIDTHS:
            label: Label = {"graph": name, "method": "bfs-virtual-warp", "width": width}
            runners.append(
                subject.runner(
                    label, method("bfs-virtual-warp", width=width, group=_group(request))
                )
            )
        yield subject.case(runners, graph=name)


def _group(request: Request) -> int:
    return min(64, request.device.capabilities.max_work_group_size)


def _knobs(n: int, request: Request) -> Iterator[Case]:
    """Yield a search for each value of each knob."""
    subject = _Input.of(stand_in("as-skitter", n), request)
    runners = [
        subject.runner(
            {"knob": knob, "value": value},
            _form(request.device, **{**_OTHERS, knob: value}),
        )
        for knob, values in KNOBS.items()
        for value in values
    ]
    yield subject.case(runners)


def _memory(n: int, settings: Settings) -> float:
    """Return an estimate of the host memory: 82 arcs for each vertex, several times."""
    return 1e9 + 20_000 * n


_SIZES = (20_000,)

_experiment = partial(InTurns, methods=("bfs-4k",), sizes=_SIZES, least=100, memory=_memory)
EXPERIMENTS = {
    "busato-traversal-bfs-levels": _experiment(
        exhibits="figures 6.5, 6.6, 6.11 and 6.12", make=_levels
    ),
    "busato-traversal-bfs-features": _experiment(
        exhibits="figures 6.13 and 6.14",
        methods=("bfs-sequential", *COMPARED),
        make=_features,
    ),
    "busato-traversal-bfs-rivals": _experiment(
        exhibits="tables 6.1 and 6.2, figure 6.15",
        methods=(*_RIVALS, "bfs-virtual-warp"),
        make=_searches,
    ),
    "busato-traversal-bfs-knobs": _experiment(exhibits="section 6.5", make=_knobs),
}
