"""[O] section 5.6.4: what the order of additions and the number type change in 10,000 steps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from papers.experiment import Case, Request
from papers.okuyama.flint.models import STEP, Model, about_model, of_size
from papers.runner import Label, Runner, require_equal
from pyapsp.base.json import Record
from pyapsp.registry.timing import Turn
from pyapsp.simulation.engine import DeviceEngine
from pyapsp.simulation.host import HostEngine
from pyapsp.simulation.integrate import Plan
from pyapsp.simulation.interpreter import InterpretedEngine, warp_of
from pyapsp.simulation.layout import SUMS, Layout, Optimisations
from pyapsp.simulation.methods import METHODS
from pyapsp.simulation.system import System
from pyapsp.simulation.translated import TranslatedEngine

__all__ = ["DTYPES", "ENGINES", "WITHOUT", "accuracy"]

ENGINES: dict[str, type[DeviceEngine]] = {
    "interpreter": InterpretedEngine,
    "translator": TranslatedEngine,
}
DTYPES = ("float64", "float32")
#: The name of `SUMS[0]` in labels.
WITHOUT = "by one work-item"
# The sums of the thesis.
_TREE = "tree"
# The lanes that add a sum: those of the thesis, also where a warp is a single work-item.
_LANES = 32
# The steps of the thesis, and how often the states are compared.
_STEPS, _SAMPLES = 10_000, 20
# What the first sample must have at most: a wrong program is further away.
_MOST = {"float64": 1e-9, "float32": 1e-3}


def accuracy(n: int, request: Request) -> Iterator[Case]:
    """Yield the models of a size with each engine, number type and way of summing."""
    [steps] = request.chosen("steps", (_STEPS,))
    for label, system in of_size(n):
        yield _case(label, system, steps, request)


def _case(label: Label, system: System, steps: int, request: Request) -> Case:
    model, ends = Model(system), _ends(steps)
    single = model.layout(Optimisations.none(), 1)

    @cache
    def right() -> np.ndarray:
        engine = HostEngine(single, *_options("float64", system, steps))
        return _course(model, engine, single, ends)

    def runner(name: str, dtype: str, kind: str) -> Runner:
        # the translator adds by lanes only where work-items are lanes
        width = _LANES if name == "interpreter" else warp_of(request.device)
        layout = model.layout(Optimisations(sum=kind), width)

        @cache
        def engine() -> DeviceEngine:
            return ENGINES[name](request.device, layout, *_options(dtype, system, steps))

        def turn() -> Turn:
            seconds, states = _timed(model, engine(), layout, ends)
            errors = [_error(row, other) for row, other in zip(states, right(), strict=True)]
            what = f"{label}, {name}, {dtype}, {kind}: the first sample"
            require_equal(np.array(errors[:1]), np.zeros(1), what, _MOST[dtype])
            facts: Record = {"error": _error(states, right()), "errors": errors, "ends": ends}
            return Turn({"step": seconds / steps}, facts)

        own: Label = {"engine": name, "dtype": dtype, "sum": kind or WITHOUT}
        return Runner({**label, **own}, turn)

    about = about_model(label, system, steps, "the interpreter on one core, float64")
    # without a sum by a warp, all are the same
    kinds = SUMS if _has_sums(model.layout(Optimisations(), 1)) else (_TREE,)
    return Case(about, [runner(*each) for each in product(ENGINES, DTYPES, kinds)])


def _has_sums(layout: Layout) -> bool:
    return any(bundle.shape.terms for phase in layout.every for bundle in phase.bundles)


def _options(dtype: str, system: System, steps: int) -> tuple[Any, ...]:
    plan = Plan(system.start, STEP, steps, steps)
    return METHODS["euler"], np.dtype(dtype), [], plan


def _ends(steps: int) -> list[int]:
    """Return the steps after which states are compared."""
    return sorted({max(steps * part // _SAMPLES, 1) for part in range(1, _SAMPLES + 1)})


def _timed(
    model: Model, engine: DeviceEngine, layout: Layout, ends: list[int]
) -> tuple[float, np.ndarray]:
    started = time.perf_counter()
    states = _course(model, engine, layout, ends)
    return time.perf_counter() - started, states


def _course(
    model: Model, engine: HostEngine | DeviceEngine, layout: Layout, ends: list[int]
) -> np.ndarray:
    """Return the states after some numbers of steps."""
    model.begin(engine, layout)
    rows = []
    for first, end in zip([0, *ends], ends, strict=False):
        engine.advance(first, end - first)
        rows.append(model.states(engine, layout))
    return np.array(rows)


def _error(states: np.ndarray, right: np.ndarray) -> float:
    """Return the relative root mean square error, to four digits."""
    return float(f"{np.sqrt(np.mean((states - right) ** 2) / np.mean(right**2)):.3e}")
