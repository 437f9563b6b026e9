"""[B] chapters 3 and 5: bytes of formats; times of techniques that divide work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, cast

import numpy as np

from papers.busato_traversal.partition.stand_ins import NAMES, stand_in
from papers.experiment import Case, InTurns, Request
from papers.metered import LoadedKernels, Repeated
from papers.reading import READ, Reader
from papers.representations import FORMATS, represent
from papers.runner import Label, Runner, require_equal
from papers.values import Parameters
from pyapsp import registry
from pyapsp.base.json import Json, Record
from pyapsp.device.kernels import Stopwatch, build_warps
from pyapsp.graph import Graph
from pyapsp.graph.families import FAMILIES
from pyapsp.graph.families import draw as draw_graph
from pyapsp.registry import (
    AnyPlan,
    Check,
    Method,
    Options,
    method,
    problem,
)
from pyapsp.registry.timing import Turn
from pyapsp.traversal.partitioning.multi_phase import PartitionMultiPhase
from pyapsp.traversal.partitioning.offsets import Offsets
from pyapsp.traversal.partitioning.technique import Run

__all__ = [
    *("EXPERIMENTS", "GRIDS", "ROUNDS", "TECHNIQUES"),
    "techniques",
]

# Pairs of vertices that kernels look up in each format.
_PAIRS = 100_000
# [B] figure 5.10 does not give the range of the random sizes: ours
_LARGEST = 16
#: Values of IS in figure 5.12, and multiples of the resident groups.
ROUNDS = (1, 2, 3, 4, 5, 6, 7, 8, 10)
GRIDS = ("chunks", "resident", 2, 8, 32, 128)
_DYNAMIC = "partition-dynamic-warp"
# K1: the thesis takes a value that suits the input, from 4 to 32.
_LEAST = (4, 8, 16, 32)
#: Name in the exhibits -> method and parameters, without the group.
TECHNIQUES: dict[str, tuple[str, dict[str, Any]]] = {
    "work-items to threads": ("partition-items", {}),
    **{
        f"virtual warps of {warp}": ("partition-virtual-warp", {"warp": warp, "items": 1})
        for warp in (2, 4, 8, 16, 32)
    },
    "dynamic virtual warps": (_DYNAMIC, {"heavy": "none"}),
    "threads + relaunch": (_DYNAMIC, {"width": 1, "heavy": "relaunch"}),
    "dynamic + relaunch": (_DYNAMIC, {"heavy": "relaunch"}),
    "dynamic + fused relaunch": (_DYNAMIC, {"heavy": "relaunch-fused"}),
    "dynamic + group strip": (_DYNAMIC, {"heavy": "group-strip"}),
    "CTA + warp + scan": ("partition-cta-warp-scan", {"large": 1, "medium": 1}),
    "direct search": ("partition-direct", {}),
    "local warp search": ("partition-local-warp", {"held": "local"}),
    "local warp search, registers": ("partition-local-warp", {"held": "registers"}),
    "block search": ("partition-block", {"items": 2048}),
    "two-phase": ("partition-two-phase", {"form": "chunks"}),
    "two-phase, merge path": ("partition-two-phase", {"form": "merge-path"}),
    "Multi-phase": ("partition-multi-phase", {"find": "search"}),
    "Multi-phase, marks": ("partition-multi-phase", {"find": "marks"}),
}


def _completed(
    name: str, parameters: Mapping[str, int | str], group: int, request: Request
) -> Method:
    """Return a technique with a group, and values that suit it."""
    values: Parameters = {**parameters, "group": group}
    warp = min(8 if request.device.traits.scalar_groups else 32, group)
    if name in ("partition-cta-warp-scan", "partition-local-warp", "partition-multi-phase") and (
        values.get("find") != "marks"
    ):
        values["warp"] = warp
    if name == "partition-multi-phase":
        usual: Parameters = {"find": "search", "search": "hybrid", "multiple": 32, "rounds": 3}
        if values.get("find") == "marks":
            usual = {"each": 4, "search": "optimised", "multiple": 8, "rounds": 4}
        values = usual | values
    if name in ("partition-two-phase", "partition-multi-phase"):
        values.setdefault("each", 10 if group > 1 else 64)
    return method(name, **values)


def _groups(request: Request, on_cpu: tuple[int, ...], on_gpu: tuple[int, ...]) -> tuple[int, ...]:
    usual = on_cpu if request.device.traits.scalar_groups else on_gpu
    return tuple(request.chosen("threads", usual))


class _Judge:
    """The check of the owners for an input, made when it is first needed."""

    def __init__(self, offsets: Offsets, options: Options) -> None:
        self._make = cache(lambda: problem("partition").oracle(offsets, options))

    def require(self, answer: Any) -> None:
        check: Check = self._make()(answer)
        check.require()


def _phases(seconds: Json) -> dict[str, float]:
    return cast("dict[str, float]", seconds)


def _runner(
    label: Label, technique: Method, offsets: Offsets, options: Options, judge: _Judge
) -> Repeated:
    """Return a runner: the times of the kernels, of their phases, and of transfers."""
    plans: list[AnyPlan] = []

    def turn() -> Turn:
        if not plans:
            plans.append(technique.plan(offsets, options))
        answer = technique.run(plans[0])
        judge.require(answer)
        stats = answer.stats
        more = dict(stats["more"])
        seconds = {
            "kernel": stats["kernel_seconds"],
            "transfer": stats["transfer_seconds"] or 0.0,
            **_phases(more.pop("phase_seconds")),
        }
        facts = {
            "method": technique.id,
            "parameters": plans[0].parameters,
            "device_bytes": plans[0].device_bytes,
            **more,
        }
        return Turn(seconds, facts)

    def load() -> LoadedKernels:
        plan = plans[0] if plans else technique.plan(offsets, options)
        return LoadedKernels(technique.load(plan), judge.require)

    return Repeated(label, turn, load)


def _case(
    offsets: Offsets,
    request: Request,
    label: Label,
    contenders: Iterable[tuple[Mapping[str, int | float | str], Method]],
) -> Case:
    options = Options(request.device, np.dtype(np.int32))
    judge = _Judge(offsets, options)
    runners = [
        _runner({**label, **own}, each, offsets, options, judge)
        for own, each in contenders
        if _fits(each, options)
    ]
    about: Record = {"label": label, **offsets.about(), "reference": {"what": "numpy.repeat"}}
    return Case(about, runners)


def _fits(technique: Any, options: Options) -> bool:
    """Return whether any parameters of the technique fit the device."""
    return any(
        technique.fits(registry.Parameters({**each, **technique.parameters}), options)
        for each in technique.candidates(options)
    )


def _formats(n: int, request: Request) -> Iterator[Case]:
    draw = np.random.default_rng(31)
    for family in FAMILIES:
        graph = draw_graph(family, n, 3).symmetrized()
        arcs, chosen = graph.arcs(), draw.integers(0, graph.n, (_PAIRS, 2), np.int32)
        # half of the pairs are arcs
        some = draw.integers(0, graph.m, _PAIRS // 2)
        chosen[: some.size] = np.stack(arcs[:2], axis=1)[some]
        runners = [_format(name, graph, chosen, request, family) for name in FORMATS]
        about: Record = {
            "label": {"family": family},
            "n": graph.n,
            "m": graph.m,
            "pairs": _PAIRS,
            "reference": {"what": "the arcs of the graph"},
        }
        yield Case(about, runners)


def _format(name: str, graph: Graph, pairs: np.ndarray, request: Request, family: str) -> Runner:
    """Return a runner that converts a graph, and reads what it made in kernels."""
    tails, heads, weights = graph.arcs()
    x = np.random.default_rng(32).integers(0, 1000, graph.n, np.int32)
    there = np.isin(pairs @ [graph.n, 1], tails * np.int64(graph.n) + heads)

    def turn() -> Turn:
        started = time.perf_counter()
        made = represent(graph, name)
        seconds = {"conversion": time.perf_counter() - started}
        require_equal(np.stack(made.arcs()), np.stack([tails, heads]), name)
        if name in READ:
            reader = Reader(request.device, made)
            best = np.full(graph.n, np.iinfo(np.int32).max, np.int32)
            np.minimum.at(best, tails, x[heads] + (weights if made.is_weighted else 1))
            found, seconds["neighbours"] = reader.relax(x)
            require_equal(found, best, f"{name}: neighbours")
            found, seconds["pairs"] = reader.has(pairs)
            require_equal(found, there, f"{name}: pairs")
        return Turn(seconds, {"bytes": made.bytes})

    return Runner({"family": family, "format": name}, turn)


def techniques(n: int, request: Request, names: Sequence[str] = NAMES) -> Iterator[Case]:
    """Yield a case for each input, with n units at most, of all techniques in several groups."""
    groups = _groups(request, (1, 64), (64, 128, 256))
    for name in names:
        contenders: Iterable[tuple[Label, Method]] = (
            (
                {"technique": title, "group": group, **least},
                _completed(method_, {**parameters, **least}, group, request),
            )
            for title, (method_, parameters) in TECHNIQUES.items()
            for group in groups
            if parameters.get("warp", 1) <= group
            for least in _least_widths(method_, parameters, group)
        )
        yield _case(stand_in(name, n), request, {"input": name}, contenders)


def _least_widths(
    method_: str, parameters: Mapping[str, int | str], group: int
) -> list[dict[str, int]]:
    """Return the least widths of virtual warps that are tried, if their width is dynamic."""
    if method_ != _DYNAMIC or "width" in parameters:
        return [{}]
    return [{"least": least} for least in _LEAST if least <= group] or [{"least": 1}]


def _uniform(n: int) -> Offsets:
    sizes = np.random.default_rng(510).integers(0, _LARGEST + 1, n)
    sizes[0] = _LARGEST
    return Offsets.of_sizes(sizes, f"uniform-{n}")


def _multi(request: Request, group: int, **parameters: int | str) -> Method:
    return _completed("partition-multi-phase", parameters, group, request)


def _one(
    make: Callable[[Request], Iterator[tuple[Label, Method]]],
) -> Callable[[int, Request], Iterator[Case]]:
    """Return the cases of an experiment on n items of random sizes."""

    def cases(n: int, request: Request) -> Iterator[Case]:
        yield _case(_uniform(n), request, {}, make(request))

    return cases


def _by_group(request: Request) -> Iterator[tuple[Label, Method]]:
    for group in _groups(request, (1, 16, 64, 128, 256), (32, 64, 128, 256, 512, 1024)):
        yield {"group": group}, _multi(request, group, each=4)


def _by_rounds(request: Request) -> Iterator[tuple[Label, Method]]:
    for group in _groups(request, (1, 64), (128, 256)):
        for rounds in ROUNDS:
            each = 10 if group > 1 else 16
            label: Label = {"group": group, "rounds": rounds}
            yield label, _multi(request, group, each=each, rounds=rounds)


def _by_grid(request: Request) -> Iterator[tuple[Label, Method]]:
    for group in _groups(request, (1, 64), (128, 256)):
        for grid in GRIDS:
            named = {"grid": grid} if isinstance(grid, str) else {"grid": "multiple"}
            multiple = {} if isinstance(grid, str) else {"multiple": grid}
            label: Label = {"group": group, "grid": str(grid)}
            yield label, _multi(request, group, **named, **multiple)


def _searches(n: int, request: Request) -> Iterator[Case]:
    (group, *_) = _groups(request, (1,), (128,))
    for name in NAMES:
        forms: dict[str, Parameters] = {
            kind: {"search": kind} for kind in ("standard", "optimised", "interpolation")
        }
        for deviation, mean in ((8, 9), (5, 3)):
            chosen: Parameters = {"search": "hybrid", "deviation": deviation, "mean": mean}
            forms[f"hybrid {deviation} {mean}"] = chosen
        # one unit each, so that there are many searches
        contenders: Iterable[tuple[Label, Method]] = (
            ({"search": title, "group": group}, _multi(request, group, each=8, rounds=1, **form))
            for title, form in forms.items()
        )
        yield _case(stand_in(name, n), request, {"input": name}, contenders)


def _steps(n: int, request: Request) -> Iterator[Case]:
    offsets, options = _uniform(n), Options(request.device, np.dtype(np.int32))
    judge = _Judge(offsets, options)

    def runner(group: int) -> Runner:
        technique = _multi(request, group)
        assert isinstance(technique, PartitionMultiPhase)
        plans: list[AnyPlan] = []

        def turn() -> Turn:
            if not plans:
                plan = technique.plan(offsets, options)
                defines = technique.defines(plan.parameters)
                for steps in (1, 2):
                    some = {**defines, "PYAPSP_STEPS": steps}
                    program = build_warps(options.device, technique.file, some)
                    plans.append(replace(plan, state=program))
                plans.append(plan)
            seconds: dict[str, float] = {}
            for name, plan in zip(("load", "load and search"), plans, strict=False):
                run = Run(technique, plan, Stopwatch())
                technique.expand(run)
                run.queue.finish()
                seconds[name] = run.phase_seconds()["expansion"]
            answer = technique.run(plans[-1])
            judge.require(answer)
            seconds |= _phases(answer.stats["more"]["phase_seconds"])
            return Turn(seconds, {"parameters": plans[-1].parameters})

        return Runner({"group": group}, turn)

    about: Record = {"label": {}, **offsets.about(), "reference": {"what": "numpy.repeat"}}
    groups = _groups(request, (1, 64), (128, 256))
    yield Case(about, [runner(group) for group in groups])


_MULTI = ("partition-multi-phase",)
_experiment = partial(InTurns, methods=_MULTI, sizes=(2**17,))
EXPERIMENTS = {
    "busato-traversal-formats": _experiment(
        exhibits="table 3.1", methods=(), sizes=(1024,), make=_formats
    ),
    "busato-traversal-techniques": _experiment(
        exhibits="table 5.3, figures 5.6 to 5.9, claims",
        methods=tuple(dict.fromkeys(name for name, _ in TECHNIQUES.values())),
        sizes=(200_000,),
        settings=("threads",),
        least=100,
        make=techniques,
    ),
    "busato-traversal-groups": _experiment(
        exhibits="figure 5.10", settings=("threads",), make=_one(_by_group)
    ),
    "busato-traversal-steps": _experiment(
        exhibits="figure 5.11", settings=("threads",), make=_steps
    ),
    "busato-traversal-rounds": _experiment(
        exhibits="figure 5.12", settings=("threads",), make=_one(_by_rounds)
    ),
    "busato-traversal-grids": _experiment(
        exhibits="section 5.2: grids", settings=("threads",), make=_one(_by_grid)
    ),
    "busato-traversal-searches": _experiment(
        exhibits="section 5.2: searches",
        sizes=(200_000,),
        settings=("threads",),
        least=100,
        make=_searches,
    ),
}
