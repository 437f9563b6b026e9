"""[O], chapter 5: lines of cells and networks, by each engine and with each optimisation."""

from __future__ import annotations

import os
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from papers.experiment import Case, InTurns, Request
from papers.runner import Label, Runner, require_equal
from pyapsp.base.json import Record
from pyapsp.registry.timing import Turn
from pyapsp.simulation.engine import DeviceEngine
from pyapsp.simulation.frontend import read_model
from pyapsp.simulation.generators import (
    join,
    luo_rudy,
    luo_rudy_line,
    luo_rudy_ring,
    wang_buzsaki,
)
from pyapsp.simulation.host import HostEngine
from pyapsp.simulation.image import encode
from pyapsp.simulation.integrate import Plan
from pyapsp.simulation.interpreter import InterpretedEngine, warp_of
from pyapsp.simulation.layout import Layout, Optimisations, arrange
from pyapsp.simulation.methods import METHODS
from pyapsp.simulation.schedule import compile_model
from pyapsp.simulation.system import System
from pyapsp.simulation.translated import TranslatedEngine
from pyapsp.simulation.values import at_start

__all__ = ["EXPERIMENTS"]

# [O] 5.6: Euler's method with steps of 0.01 ms
_STEP, _STEPS = 0.01, 100
# Naive programs of more cells take hours to compile in the paper.
_NAIVE = 10
# [O] figure 5.10: each optimisation is added to those before it.
_ADDED = ("reorder", "remap", "redundant", "unify", "merge", "sum")
# [O] table 5.1: neurons or cells of the networks; and what a ring needs at least.
_PUBLISHED, _SHORTEST_RING = 100, 18
# Flint's examples in the folder that PYAPSP_DATA_MIRROR names, and the network of Rybak in them.
_MODELS = "models.tar.xz"
_RYBAK = "models/Rybak_2006_with_static_instance_and_multiple_input.phml"
# What two orders of additions and two libraries of functions may change in 100 steps.
_TOLERANCE = 1e-9


class _Model:
    """A system with its bytecodes; the last time of their compilation is kept."""

    def __init__(self, system: System) -> None:
        self.system = system
        values, initial = at_start(system)
        constants = {name: float(value) for name, value in values.items()}
        self.initial = {name: float(value) for name, value in initial.items()}
        self.models = {}
        for merge, sums in ((False, False), (True, False), (True, True)):
            started = time.perf_counter()
            self.models[merge, sums] = compile_model(system, constants, merge=merge, sums=sums)
            self.seconds = time.perf_counter() - started

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
        states = dict(zip(order, engine.get(), strict=True))
        return seconds, np.array([states[name] for name in self.initial])


def _case(label: Label, system: System, naive: bool, request: Request) -> Case:
    """Return the runs of a system; `naive` is whether naive programs of it are compiled."""
    model = _Model(system)
    plain = model.layout(Optimisations.none(), 1)
    common: tuple[Any, ...] = METHODS["euler"], np.dtype(np.float64)
    plan = Plan(system.start, _STEP, _STEPS, _STEPS)
    silent: tuple[Any, ...] = (*common, [], plan)
    right = model.run(HostEngine(plain, *silent), plain)[1]

    def runner(more: Label, make: Callable[[], Any], layout: Layout) -> Runner:
        engine = cache(make)

        def turn() -> Turn:
            seconds, states = model.run(engine(), layout)
            require_equal(*_relative(states, right), str(more), _TOLERANCE)
            error = np.sqrt(np.mean((states - right) ** 2) / np.mean(right**2))
            facts: Record = {"error": float(error)}
            facts["bytecodes"] = [phase.count for phase in layout.every]
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

    def sampled(name: str, arrange: Callable[[], Layout], make: Callable[..., Any]) -> Runner:
        """Return a run that returns all variables each `_STEPS` steps."""

        @cache
        def engine() -> tuple[float, Layout, Any]:
            started = time.perf_counter()
            layout = arrange()
            slots = range(layout.states + layout.functions)
            made = make(layout, *common, slots, plan)
            return model.seconds + time.perf_counter() - started, layout, made

        def turn() -> Turn:
            setup, layout, made = engine()
            seconds, states = model.run(made, layout)
            require_equal(*_relative(states, right), f"{name} with output", _TOLERANCE)
            return Turn({"step": seconds}, {"setup_seconds": setup})

        return Runner({**label, "output": name}, turn)

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
    full = partial(model.layout, Optimisations(), warp_of(request.device))
    runners.append(sampled("host", lambda: plain, HostEngine))
    runners.append(sampled("interpreter", full, partial(InterpretedEngine, request.device)))
    runners.append(sampled("translator", full, partial(TranslatedEngine, request.device)))
    about: Record = {
        "label": label,
        "functions": len(system.functions),
        "equations": len(system.derivatives),
        "steps": _STEPS,
        "reference": {"what": "the interpreter on one core"},
    }
    return Case(about, runners)


def _relative(states: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both in units of the right ones; a right 0 is 0."""
    unit = np.where(right == 0, 1, right)
    return states / unit, right / unit


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
    yield _case({}, luo_rudy_line(n) if n > 1 else luo_rudy(), n <= _NAIVE, request)


def _networks(n: int, request: Request) -> Iterator[Case]:
    """Yield networks of n neurons or about as many cells; with n = 100 those of the thesis."""
    wang, line = wang_buzsaki(n), luo_rudy_line(n)
    systems = {"Wang": wang, "LR-Ring": luo_rudy_ring(max(4 * n // 5, _SHORTEST_RING))}
    rybak = _rybak() if n == _PUBLISHED else None
    if rybak is not None:
        systems |= {"Rybak": rybak, "Mix": join(wang=wang, rybak=rybak, line=line)}
    else:
        systems["Wang and line"] = join(wang=wang, line=line)
    for name, system in systems.items():
        yield _case({"model": name}, system, n <= _NAIVE, request)


def _rybak() -> System | None:
    """Return the model of Rybak from Flint's examples; None if they are not there."""
    archive = Path(os.environ.get("PYAPSP_DATA_MIRROR", ""), _MODELS)
    if not archive.is_file():
        return None
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4
        packed.extract(_RYBAK, folder)
        return replace(read_model(Path(folder, _RYBAK)), time_unit="ms")


_experiment = partial(InTurns, methods=())
EXPERIMENTS = {
    "okuyama-flint": _experiment(
        exhibits="tables 5.1 to 5.9 and figures 5.10 to 5.12, of lines of cells",
        sizes=(1, 10, 100),
        least=1,
        make=_flint,
    ),
    "okuyama-flint-networks": _experiment(
        exhibits="tables 5.1 to 5.9, of networks", sizes=(20,), least=2, make=_networks
    ),
}
