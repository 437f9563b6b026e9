"""[O], chapter 5: lines of cells and networks, by each engine and with each optimisation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from papers.experiment import Case, InTurns, Request
from papers.okuyama.flint import models
from papers.okuyama.flint.accuracy import accuracy
from papers.okuyama.flint.models import STEP, Model, relative
from papers.okuyama.flint.output import output
from papers.runner import Label, Runner, require_equal
from pyapsp.base.json import Record
from pyapsp.registry.timing import Turn
from pyapsp.simulation.engine import DeviceEngine
from pyapsp.simulation.host import HostEngine
from pyapsp.simulation.image import encode
from pyapsp.simulation.integrate import Plan
from pyapsp.simulation.interpreter import InterpretedEngine, warp_of
from pyapsp.simulation.layout import Layout, Optimisations
from pyapsp.simulation.methods import METHODS
from pyapsp.simulation.system import System
from pyapsp.simulation.translated import TranslatedEngine

__all__ = ["EXPERIMENTS"]

# Steps of a timed run.
_STEPS = 100
# Naive programs of more cells take hours to compile in the paper.
_NAIVE = 10
# [O] figure 5.10: each optimisation is added to those before it.
_ADDED = ("reorder", "remap", "redundant", "unify", "merge", "sum")
# What two orders of additions and two libraries of functions may change in 100 steps.
_TOLERANCE = 1e-9


def _run(
    model: Model, engine: HostEngine | DeviceEngine, layout: Layout
) -> tuple[float, np.ndarray]:
    """Take the steps, and return the seconds of each and the states, in order of names."""
    model.begin(engine, layout)
    started = time.perf_counter()
    engine.advance(0, _STEPS)
    seconds = (time.perf_counter() - started) / _STEPS
    return seconds, model.states(engine, layout)


def _case(label: Label, system: System, naive: bool, request: Request) -> Case:
    """Return the runs of a system; `naive` is whether naive programs of it are compiled."""
    model = Model(system)
    plain = model.layout(Optimisations.none(), 1)
    common: tuple[Any, ...] = METHODS["euler"], np.dtype(np.float64)
    plan = Plan(system.start, STEP, _STEPS, _STEPS)
    silent: tuple[Any, ...] = (*common, [], plan)
    right = _run(model, HostEngine(plain, *silent), plain)[1]

    def runner(more: Label, make: Callable[[], Any], layout: Layout) -> Runner:
        engine = cache(make)

        def turn() -> Turn:
            seconds, states = _run(model, engine(), layout)
            require_equal(*relative(states, right), str(more), _TOLERANCE)
            facts: Record = {"bytecodes": [phase.count for phase in layout.every]}
            facts["shapes"] = [len(phase.bundles) for phase in layout.every]
            facts["accesses"] = _accesses(layout)
            if isinstance(engine(), InterpretedEngine):
                facts["memory"] = _memory(layout)
            if isinstance(engine(), TranslatedEngine):
                facts["compile_seconds"] = engine().build_seconds
                facts["characters"] = len(engine().source)
                facts["groups"] = [group.size for group in engine().groups]
            return Turn({"step": seconds}, facts)

        return Runner({**label, **more}, turn)

    def device(kind: type[DeviceEngine], more: Label, options: Optimisations) -> Runner:
        layout = model.layout(options, warp_of(request.device))
        return runner(more, lambda: kind(request.device, layout, *silent), layout)

    runners = [runner({"engine": "host"}, lambda: HostEngine(plain, *silent), plain)]
    for count in range(len(_ADDED) + 1):
        on: dict[str, Any] = dict.fromkeys(_ADDED[:count], True)
        if "sum" in on:
            on["sum"] = "ordered"
        options = Optimisations(**{**vars(Optimisations.none()), **on})
        more: Label = {"engine": "interpreter", "with": _ADDED[count - 1] if count else "base"}
        runners.append(device(InterpretedEngine, more, options))
    off = {"unify": False, "export": False}
    programs: dict[str, dict[str, Any]] = {"export": {}, "unify": {"export": False}} | (
        {"base": off} if naive else {}
    )
    for name, switches in programs.items():
        more = {"engine": "translator", "program": name}
        runners.append(device(TranslatedEngine, more, Optimisations(**switches)))
    about = models.about_model(label, system, _STEPS, "the interpreter on one core")
    return Case(about, runners)


def _accesses(layout: Layout) -> int:
    """Return the bytes of the variables and constants that bytecodes load and store in a step."""
    bundles = [bundle for phase in layout.every for bundle in phase.bundles]
    return sum(8 * (bundle.slots.size + bundle.constants.size) for bundle in bundles)


def _memory(layout: Layout) -> dict[str, int]:
    """Return the bytes of the parts of table 5.3 on the device; `results` are those of a sample."""
    image, variables = encode(layout), layout.states + layout.functions
    return {
        "bytecodes": image.words.nbytes,
        "constant table": image.indices.nbytes + image.values.nbytes,
        "others": image.starts.nbytes + image.sums.nbytes + 8 * (variables + 3 * layout.states),
        "results": 8 * variables,
    }


def _flint(n: int, request: Request) -> Iterator[Case]:
    yield _case({}, models.line(n), n <= _NAIVE, request)


def _networks(n: int, request: Request) -> Iterator[Case]:
    """Yield the networks, and the thesis' single cell if its file is there."""
    systems = models.networks(n)
    cell = models.shipped(models.FILE)
    if cell is not None:
        systems[models.FILE] = cell
    for name, system in systems.items():
        yield _case({"model": name}, system, n <= _NAIVE, request)


_experiment = partial(InTurns, methods=())
EXPERIMENTS = {
    "okuyama-flint": _experiment(
        exhibits="tables 5.1 and 5.3 to 5.8 and figures 5.10 to 5.12, of lines of cells",
        sizes=(1, 10, 100),
        least=1,
        make=_flint,
    ),
    "okuyama-flint-networks": _experiment(
        exhibits="tables 5.1 and 5.3 to 5.8, of networks", sizes=(20,), make=_networks
    ),
    "okuyama-flint-output": _experiment(
        exhibits="table 5.2", sizes=(1, 20), settings=("steps",), least=1, make=output
    ),
    "okuyama-flint-accuracy": _experiment(
        exhibits="section 5.6.4, table 5.9",
        sizes=(40,),
        settings=("steps",),
        least=1,
        make=accuracy,
    ),
}
