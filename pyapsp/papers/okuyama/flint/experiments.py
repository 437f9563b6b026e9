"""[O], chapter 5: lines of Luo-Rudy cells, by each engine and with each optimisation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from pyapsp.papers.experiment import Case, InTurns, Request
from pyapsp.papers.runner import Runner, require_equal
from pyapsp.simulation.engine import DeviceEngine
from pyapsp.simulation.generators import luo_rudy, luo_rudy_line
from pyapsp.simulation.host import HostEngine
from pyapsp.simulation.interpreter import InterpretedEngine, warp_of
from pyapsp.simulation.layout import Layout, Optimisations, arrange
from pyapsp.simulation.methods import METHODS
from pyapsp.simulation.schedule import compile_model
from pyapsp.simulation.system import System
from pyapsp.simulation.translated import TranslatedEngine
from pyapsp.simulation.values import at_start
from pyapsp.timing import Turn

__all__ = ["EXPERIMENTS"]

# [O] 5.6: Euler's method with steps of 0.01 ms
_STEP, _STEPS = 0.01, 100
# Naive programs of more cells take hours to compile in the paper.
_NAIVE = 10
# [O] figure 5.10: each optimisation is added to those before it.
_ADDED = ("reorder", "remap", "redundant", "unify", "merge", "sum")
# What two orders of additions and two libraries of functions may change in 100 steps.
_TOLERANCE = 1e-9


class _Model:
    """A line of cells with its bytecodes."""

    def __init__(self, system: System) -> None:
        self.system = system
        values, self.initial = at_start(system)
        self.models = {
            (merge, sums): compile_model(system, values, merge=merge, sums=sums)
            for merge, sums in ((False, False), (True, False), (True, True))
        }

    def layout(self, options: Optimisations, width: int) -> Layout:
        """Return the layout with some optimisations."""
        return arrange(self.models[options.merge, bool(options.sum)], options, width)

    def run(self, engine: HostEngine | DeviceEngine, layout: Layout) -> tuple[float, np.ndarray]:
        """Take the steps, and return the seconds of each and the states, in order of names."""
        order = sorted(self.initial, key=layout.slots.__getitem__)
        engine.put(np.array([self.initial[name] for name in order]))
        started = time.perf_counter()
        engine.advance(0, _STEPS)
        seconds = (time.perf_counter() - started) / _STEPS
        found = dict(zip(order, engine.get(), strict=True))
        return seconds, np.array([found[name] for name in self.initial])


def _flint(n: int, request: Request) -> Iterator[Case]:
    model = _Model(luo_rudy_line(n) if n > 1 else luo_rudy())
    plain = model.layout(Optimisations.none(), 1)
    common: tuple[Any, ...] = METHODS["euler"], np.dtype(np.float64), [], 0.0, _STEP, _STEPS
    right = model.run(HostEngine(plain, *common), plain)[1]

    def runner(label: dict[str, Any], make: Callable[[], Any], layout: Layout) -> Runner:
        engine = cache(make)

        def turn() -> Turn:
            seconds, found = model.run(engine(), layout)
            require_equal(found / right, np.ones(right.size), str(label), _TOLERANCE)
            error = np.sqrt(np.mean((found - right) ** 2) / np.mean(right**2))
            facts: dict[str, Any] = {"error": float(error)}
            facts["bytecodes"] = [phase.count for phase in layout.every]
            facts["shapes"] = [len(phase.bundles) for phase in layout.every]
            if isinstance(engine(), TranslatedEngine):
                facts["compile_seconds"] = engine().build_seconds
                facts["characters"] = len(engine().source)
                facts["groups"] = [group.size for group in engine().groups]
            return Turn({"step": seconds}, facts)

        return Runner(label, turn)

    def device(kind: type[DeviceEngine], label: dict[str, Any], options: Optimisations) -> Runner:
        layout = model.layout(options, warp_of(request.device))
        return runner(label, lambda: kind(request.device, layout, *common), layout)

    runners = [runner({"engine": "host"}, lambda: HostEngine(plain, *common), plain)]
    for count in range(len(_ADDED) + 1):
        on: dict[str, Any] = dict.fromkeys(_ADDED[:count], True)
        if "sum" in on:
            on["sum"] = "ordered"
        options = Optimisations(**{**vars(Optimisations.none()), **on})
        label = {"engine": "interpreter", "with": _ADDED[count - 1] if count else "base"}
        runners.append(device(InterpretedEngine, label, options))
    naive = {"unify": False, "export": False}
    programs: dict[str, dict[str, Any]] = {"export": {}, "unify": {"export": False}} | (
        {"base": naive} if n <= _NAIVE else {}
    )
    for name, off in programs.items():
        label = {"engine": "translator", "program": name}
        runners.append(device(TranslatedEngine, label, Optimisations(**off)))
    system = model.system
    about = {
        "functions": len(system.functions),
        "equations": len(system.derivatives),
        "steps": _STEPS,
        "reference": {"what": "the interpreter on one core"},
    }
    yield Case(about, runners)


EXPERIMENTS = {
    "okuyama-flint": InTurns(
        exhibits="tables 5.1, 5.4 and 5.6 to 5.9, figures 5.10 to 5.12",
        methods=(),
        sizes=(1, 10, 100),
        least=1,
        make=_flint,
    )
}
