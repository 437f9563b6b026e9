"""[O] table 5.2: whole simulations whose results are written to a file."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

from papers.experiment import Case, Request
from papers.okuyama.flint.models import STEP, about_model, of_size, relative
from papers.runner import Label, Runner, require_equal
from pyapsp.errors import VerificationError
from pyapsp.registry.timing import Turn
from pyapsp.simulation.simulate import simulate
from pyapsp.simulation.system import System

__all__ = ["ENGINES", "STEPS", "output"]

ENGINES = ("host", "interpreter", "translator")
#: The steps of the thesis.
STEPS = 100_000
# [O] 5.6.1: steps from one sample of all variables to the next, and to the next transfer.
_EVERY, _READBACK = 100, 1000
# What two libraries of functions may change up to the first sample after the start, and at all.
_FIRST, _MOST = 1e-9, 1e-3


def output(n: int, request: Request) -> Iterator[Case]:
    """Yield the models of a size with each engine."""
    [steps] = request.chosen("steps", (STEPS,))
    for label, system in of_size(n):
        yield _case(label, system, steps, request)


def _case(label: Label, system: System, steps: int, request: Request) -> Case:
    names = [*system.initial, *system.functions]
    rows, columns = steps // _EVERY + 1, 1 + len(names)

    def written(engine: str, path: Path) -> tuple[float, float]:
        """Simulate, write time and variables of each sample; return the seconds of both."""
        started = time.perf_counter()
        frame = simulate(
            system,
            duration=steps * STEP,
            step=STEP,
            method="euler",
            output=names,
            every=_EVERY,
            readback=_READBACK,
            engine=engine,
            device=None if engine == "host" else request.device,
        )
        simulated = time.perf_counter()
        frame.to_numpy().tofile(path)
        return simulated - started, time.perf_counter() - simulated

    def states(path: Path) -> np.ndarray:
        """Return the states of the samples in a file."""
        return np.fromfile(path).reshape(rows, columns)[:, 1 : 1 + len(system.initial)]

    @cache
    def right() -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "states")
            written("host", path)
            return states(path)

    def check(found: np.ndarray, what: str) -> None:
        require_equal(*relative(found[:2], right()[:2]), f"{what}: the first samples", _FIRST)
        scale = np.abs(right()).max(axis=0, initial=1e-30)
        require_equal(found / scale, right() / scale, what, _MOST)

    def turn(engine: str) -> Turn:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "results")
            simulation, file = written(engine, path)
            size = path.stat().st_size
            if size != 8 * rows * columns:
                raise VerificationError(f"{label}, {engine}: a file of {size} bytes")
            check(states(path), f"{label}, {engine}")
        seconds = {"total": simulation + file, "simulation": simulation, "file": file}
        return Turn(seconds, {"bytes": size})

    about = about_model(label, system, steps, "the interpreter on one core")
    runners = [Runner({**label, "engine": engine}, partial(turn, engine)) for engine in ENGINES]
    return Case(about, runners)
