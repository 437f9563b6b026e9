"""[O], chapter 4: iterative blocked Floyd-Warshall, and the choice of l by a model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from papers.contender import Contender
from papers.experiment import OnGraphs, Task, contender, one, random_below
from papers.runner import Label
from pyapsp.all_pairs.dense import performance_model
from pyapsp.all_pairs.dense.performance_model import Inputs, Instructions
from pyapsp.all_pairs.dense.register_tiles import Iterative
from pyapsp.registry import method

__all__ = ["EXPERIMENTS"]

# [O] 4.5.1 and table 4.4: h of the pivot tile for each t, h of the panels, t' of two-level tiles.
_H_PIVOT = {16: 16, 32: 8, 64: 4}
_H_PANEL = 4
_SUBTILE = {16: 4, 32: 2, 64: 4}
# [O] 4.5.3
_TUNED = {"tile": 32, "h_pivot": 8, "h_panel": 4}


def _launches(launches: int) -> list[str]:
    """Name the launches of a round of fw-mm and fw-twolevel."""
    return ["pivot", "panels", "others"][:launches]


def _times(task: Task) -> Iterator[Contender]:
    for tile, height in _H_PIVOT.items():
        label: Label = {"tile": tile}
        rows = {"tile": tile, "h_pivot": height}
        panels = {**rows, "h_panel": _H_PANEL}
        mm = method("fw-mm", **panels, selector="AT")
        # its l was found by experiment
        twolevel = method("fw-twolevel", **panels, subtile=_SUBTILE[tile], selector="MT")
        yield contender(task, label, mm, phases=_launches)
        yield contender(task, label, twolevel, phases=_launches)
        yield contender(task, label, method("fw-recursive", **rows, merged=0))
    yield contender(task, {}, method("fw-minplus"))


def _gtx280(size: int) -> Inputs:
    """Return the inputs of [O]'s model for t = 32 on its GPU: (4.9), tables 4.2 and 4.4."""
    return Inputs(
        size=size,
        tile=32,
        instructions=Instructions(84, 1166),
        group=64,
        resident=6,  # 12 warps, of which a group has two
        units=30,
        rate=8 * 1296e6,
    )


def _estimates(inputs: Inputs) -> dict[str, dict[int, float]]:
    return {
        model: {
            count: performance_model.estimate(inputs, count, model)
            for count in performance_model.choices(inputs.size)
        }
        for model in performance_model.MODELS
    }


def _selected(task: Task) -> dict[str, Any]:
    """Return for each l the estimated seconds of a launch, and the l that each selector chooses."""
    solver = method("fw-mm", **_TUNED)
    assert isinstance(solver, Iterative)
    ours = {
        model: solver.times(task.graph, task.options, model) for model in performance_model.MODELS
    }
    size = -(-task.graph.n // _TUNED["tile"]) * _TUNED["tile"]
    published = _estimates(_gtx280(size))
    best = performance_model.best
    return {
        "estimates": ours,
        "selected": {model: best(times) if times else 1 for model, times in ours.items()},
        "published_estimates": published,
        "published_selected": {model: best(times) for model, times in published.items()},
    }


def _tuning(task: Task) -> Iterator[Contender]:
    chosen = _selected(task)
    size = -(-task.graph.n // _TUNED["tile"]) * _TUNED["tile"]
    counts = {1, *performance_model.choices(size, distinct=True)}
    counts |= {*chosen["selected"].values(), chosen["published_selected"]["AT"]}
    for count in sorted(counts):
        yield contender(task, {"l": count}, method("fw-mm", **_TUNED, l=count), phases=_launches)


_experiment = partial(OnGraphs, graphs=one(random_below), dtype="int32")
EXPERIMENTS = {
    "okuyama-times": _experiment(
        exhibits="tables 4.6 to 4.8, figures 4.13 and 4.16",
        methods=("fw-mm", "fw-twolevel", "fw-recursive", "fw-minplus"),
        sizes=(128, 256, 512),
        contenders=_times,
    ),
    "okuyama-tuning": _experiment(
        exhibits="figures 4.18 to 4.20",
        methods=("fw-mm",),
        sizes=(256, 512),
        contenders=_tuning,
        extra=_selected,
    ),
}
