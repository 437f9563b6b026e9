"""[I]: sweeps of four applications, one task at a time and many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from papers.experiment import Case, InTurns, Request
from papers.runner import Runner, require_equal
from pyapsp.base.json import Record
from pyapsp.registry.timing import Turn
from pyapsp.sweep import Sweep
from pyapsp.sweep.applications import (
    gaussian_filter,
    joint_histogram,
    neural_network,
    shortest_paths,
)
from pyapsp.verify import spread

__all__ = ["EXPERIMENTS"]

# [I] 5: V tasks at a time; the tasks of JH and GF; pixels of a slice of JH, and some for a CPU
_V, _TASKS, _PIXELS, _PIXELS_CPU = 32, 32, 512, 128
# Only a sample of tasks is run one at a time, or V at a time.
_SAMPLES = {1: 256, _V: 1024}
# Largest number of tasks of APSP, and of bytes of their costs.
_SOURCES, _COSTS = 2048, 2**31
# Tasks that are compared with the reference.
_CHECKED = 32
# Updates of SciPy's search that take a short time.
_SEARCHED = 2**23


@dataclass(frozen=True)
class _Application:
    """An application with its data."""

    make: Callable[..., Sweep]  # makes the sweep, with options of `Sweep`
    tasks: int
    # The arrays of each task, and the common arrays.
    own: dict[str, np.ndarray]
    common: dict[str, np.ndarray]
    output: str  # the output that is compared
    # The tasks whose outputs are compared, and their right outputs.
    checked: np.ndarray
    right: np.ndarray
    reference: str  # the package that computed these
    tolerance: float = 0.0
    facts: Record = field(default_factory=dict)

    def runner(self, request: Request, scheme: str, per_launch: int | None) -> Runner:
        """Return a scheme with a number of tasks at a time; None: as many as fit."""
        sweep = self.make(device=request.device, scheme=scheme, per_launch=per_launch)
        tasks = min(self.tasks, _SAMPLES[per_launch] if per_launch else self.tasks)

        def turn() -> Turn:
            own = {name: array[:tasks] for name, array in self.own.items()}
            outcome = sweep(None if own else tasks, **own, **self.common)
            within = self.checked < tasks
            outputs = outcome[self.output][self.checked[within]]
            require_equal(outputs, self.right[within], f"{self.output}, {scheme}", self.tolerance)
            facts = {
                "tasks": tasks,
                "scheme": outcome.scheme,
                "why": outcome.why,
                "lanes": outcome.lanes,
                "slices": outcome.slices,
                "device_bytes": outcome.device_bytes,
            }
            return Turn(outcome.seconds, facts)

        return Runner({"scheme": scheme, "at_once": per_launch or "all"}, turn)

    def case(self, request: Request) -> Case:
        """Return the published forms, those with as many tasks as fit, and the automatic choice."""
        forms: list[tuple[str, int | None]] = [("naive", 1), ("interleaved", _V)]
        forms += [(scheme, None) for scheme in ("naive", "interleaved", "auto")]
        about = {"tasks": self.tasks, "reference": {"what": self.reference}, **self.facts}
        return Case(about, [self.runner(request, *form) for form in forms])


def _some(arrays: dict[str, np.ndarray], name: str, tasks: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays with some of the tasks."""
    return arrays | {name: arrays[name][tasks]}


def _split(
    arrays: dict[str, np.ndarray], name: str
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return what each task has, and what all have."""
    return {name: arrays[name]}, {key: value for key, value in arrays.items() if key != name}


def _neural(n: int, request: Request) -> Iterator[Case]:
    arrays, checked = neural_network.inputs(n), spread(n, _CHECKED)
    right = neural_network.reference(_some(arrays, "image", checked))["scores"]
    own, common = _split(arrays, "image")
    yield _Application(
        neural_network.sweep, n, own, common, "scores", checked, right, "NumPy", tolerance=2e-5
    ).case(request)


def _paths(n: int, request: Request) -> Iterator[Case]:
    most = request.chosen("tasks", (_SOURCES,))[0]
    tasks = max(min(n, most, _COSTS // (4 * n)), 1)
    arrays = shortest_paths.inputs(n)
    checked = np.arange(min(tasks, _CHECKED, max(_SEARCHED // n, 1)))
    right = shortest_paths.reference(arrays, checked.size)["costs"]

    make = partial(shortest_paths.sweep, n, arrays["heads"].size)
    yield _Application(make, tasks, {}, arrays, "costs", checked, right, "SciPy's Dijkstra").case(
        request
    )


def _histogram(n: int, request: Request) -> Iterator[Case]:
    usual = _PIXELS_CPU if request.device.traits.scalar_groups else _PIXELS
    side = request.chosen("pixels", (usual,))[0]
    shape = (n, side, side)
    arrays, checked = joint_histogram.inputs(_TASKS, shape), spread(_TASKS, 4)
    right = joint_histogram.reference(_some(arrays, "moving", checked))["histogram"]
    own, common = _split(arrays, "moving")

    make = partial(joint_histogram.sweep, shape)
    yield _Application(
        make, _TASKS, own, common, "histogram", checked, right, "NumPy", facts={"pixels": side}
    ).case(request)


def _filter(n: int, request: Request) -> Iterator[Case]:
    arrays, checked = gaussian_filter.inputs(_TASKS, (n, n)), spread(_TASKS, 4)
    right = gaussian_filter.reference(_some(arrays, "image", checked))["result"]
    own, common = _split(arrays, "image")

    make = partial(gaussian_filter.sweep, (n, n))
    yield _Application(
        make, _TASKS, own, common, "result", checked, right, "SciPy's filter", tolerance=1e-5
    ).case(request)


EXPERIMENTS = {
    "ino-neural": InTurns(
        exhibits="figures 7a and 8a", methods=("neural_network",), sizes=(32, 512), make=_neural
    ),
    "ino-paths": InTurns(
        exhibits="figures 7b, 8b and 9",
        methods=("shortest_paths",),
        sizes=(32, 256, 1024),
        settings=("tasks",),
        make=_paths,
    ),
    "ino-histogram": InTurns(
        exhibits="figures 7c, 8c and 10",
        methods=("joint_histogram",),
        sizes=(1, 4, 16),
        settings=("pixels",),
        least=1,
        make=_histogram,
    ),
    "ino-filter": InTurns(
        exhibits="figures 7d, 8d and 11",
        methods=("gaussian_filter",),
        sizes=(64, 256),
        make=_filter,
    ),
}
