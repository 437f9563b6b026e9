"""From the start to the end of a simulation: steps, outputs, progress, checkpoints."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import CheckpointError, FormatError, PrecisionError
from pyapsp.graph.io import archive
from pyapsp.simulation.methods import Reals

__all__ = ["Course", "Engine", "Plan"]

# The bytes of outputs on the device, and the seconds between two reports of progress, at most.
_BYTES, _SECONDS = 2**25, 0.5
# How much a step may grow or shrink, and the safety factor: Hairer, Norsett and Wanner, II.4.
_GROWTH, _SHRINKAGE, _SAFETY = 5.0, 0.2, 0.9


class Engine(Protocol):
    """What integrates a system."""

    def put(self, states: Reals, /) -> None:
        """Set the states."""

    def get(self) -> Reals:
        """Return the states."""

    def advance(self, first: int, steps: int, /) -> Reals:
        """Take steps of equal length, and return the outputs before some of them."""

    def sample(self, time: float, /) -> Reals:
        """Return the outputs for the present states."""

    def begin(self, time: float, /) -> None:
        """Compute the first slope of an adaptive method."""

    def attempt(self, time: float, step: float, absolute: float, relative: float, /) -> float:
        """Try a step, and return its error."""

    def accept(self) -> None:
        """Go to the states of the last attempt."""


@dataclass(frozen=True)
class Plan:
    """The times of a simulation."""

    start: float
    step: float
    # The number of steps; for an adaptive method, of their longest length.
    steps: int
    every: int  # the steps from one output to the next
    # The steps after which outputs are read from the device; None: chosen.
    readback: int | None = None
    tolerances: tuple[float, float] | None = None  # absolute and relative, for an adaptive method

    @property
    def times(self) -> NDArray[np.float64]:
        """The times of the outputs."""
        return np.asarray(
            self.start + np.arange(0, self.steps + 1, self.every) * self.step, np.float64
        )


class Course:
    """One simulation, which can be interrupted and continued.

    Parameters
    ----------
    engine : Engine
        With its states at the start.
    plan : Plan
    names : sequence of str
        The names of the states, for errors.
    progress : callable or None
        Called with the number of steps done and of all.
    checkpoint : path-like or None
        The file of the checkpoint.
    identity : bytes
        What decides the result.
    """

    def __init__(
        self,
        engine: Engine,
        plan: Plan,
        names: list[str],
        progress: Callable[[int, int], None] | None,
        checkpoint: str | os.PathLike[str] | None,
        identity: bytes,
    ) -> None:
        self._engine, self._plan, self._names = engine, plan, names
        self._progress = progress
        self._path = None if checkpoint is None else Path(checkpoint)
        decisive = repr(replace(plan, readback=None))
        self._identity = hashlib.sha256(identity + decisive.encode()).hexdigest()
        self._rows: list[Reals] = []
        self._done = 0
        self._length = plan.step

    def run(self) -> Reals:
        """Integrate to the end.

        Returns
        -------
        (rows, outputs) ndarray

        Raises
        ------
        PrecisionError
            If a state is not finite, or the steps of an adaptive method vanish.
        CheckpointError
            If the checkpoint is damaged or of another run.
        """
        self._load()
        if self._plan.tolerances is None:
            self._fixed()
        else:
            self._adaptive(*self._plan.tolerances)
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        return cast("Reals", np.concatenate(self._rows))

    def _fixed(self) -> None:
        plan, engine = self._plan, self._engine
        block = plan.readback or plan.every
        while self._done < plan.steps:
            began = time.perf_counter()
            steps = min(block, plan.steps - self._done)
            rows = engine.advance(self._done, steps)
            self._rows.append(rows)
            self._done += steps
            self._note()
            if plan.readback is None and time.perf_counter() - began < _SECONDS / 2:
                row = max(rows[:1].nbytes, 1)
                block = max(min(2 * block, _BYTES // row * plan.every), plan.every)
        if plan.steps % plan.every == 0:
            self._rows.append(engine.sample(plan.start + plan.steps * plan.step)[None])

    def _adaptive(self, absolute: float, relative: float) -> None:
        plan, engine = self._plan, self._engine
        now = plan.start + self._done * plan.step
        if self._done == 0:
            self._rows.append(engine.sample(now)[None])
        engine.begin(now)
        shown = time.perf_counter()
        while self._done + plan.every <= plan.steps:
            end = plan.start + (self._done + plan.every) * plan.step
            while now < end:
                left = end - now
                last = left <= self._length * (1 + 1e-9)
                step = left if last else self._length
                error = engine.attempt(now, step, absolute, relative)
                factor = _SAFETY * error**-0.2 if error > 0 else _GROWTH
                factor = min(max(factor, _SHRINKAGE), _GROWTH) if error == error else _SHRINKAGE
                if error <= 1:
                    engine.accept()
                    now = end if last else now + step
                    # a step that was shortened to end at an output is no estimate for the next one
                    if not last or factor < 1:
                        self._length = step * factor
                else:
                    self._length = step * min(factor, 1.0)
                    if now + self._length / 16 == now:
                        raise PrecisionError(
                            f"the steps vanish at time {now:.6g}: the tolerances cannot be met"
                        )
            self._done += plan.every
            self._rows.append(engine.sample(now)[None])
            if time.perf_counter() - shown > _SECONDS or self._done + plan.every > plan.steps:
                self._note()
                shown = time.perf_counter()

    def _note(self) -> None:
        """Check the states, write the checkpoint, and report progress."""
        states = self._engine.get()
        if not np.isfinite(states).all():
            name = self._names[int(np.flatnonzero(~np.isfinite(states))[0])]
            raise PrecisionError(
                f"state {name!r} is not finite before time "
                f"{self._plan.start + self._done * self._plan.step:.6g}: take smaller steps or "
                "another method"
            )
        if self._path is not None:
            archive.write(
                self._path,
                identity=np.array(self._identity),
                done=np.array(self._done),
                length=np.array(self._length),
                states=states,
                rows=np.concatenate(self._rows),
            )
        if self._progress is not None:
            self._progress(self._done, self._plan.steps)

    def _load(self) -> None:
        """Continue from the checkpoint, if there is one."""
        if self._path is None or not self._path.exists():
            return
        fault = "damaged, or no checkpoint"
        try:
            snapshot = archive.load(self._path, fault)
            same = str(snapshot["identity"]) == self._identity
            states, rows = snapshot["states"], snapshot["rows"]
            done, length = int(snapshot["done"].item()), float(snapshot["length"].item())
        except FormatError as error:
            raise CheckpointError(str(error)) from None
        except (OSError, LookupError, TypeError, ValueError, OverflowError) as error:
            raise CheckpointError(f"{self._path}: {fault}: {error}") from None
        if not same:
            raise CheckpointError(f"{self._path}: the checkpoint of another simulation")
        now = self._engine.get()
        inside = 0 <= done <= self._plan.steps and 0 < length < np.inf
        if not inside or rows.ndim != 2 or (states.shape, states.dtype) != (now.shape, now.dtype):
            raise CheckpointError(f"{self._path}: {fault}: numbers of another run")
        self._done, self._length = done, length
        self._engine.put(states)
        self._rows.append(rows)
