"""Runs of kernels that are repeated while a sensor of power is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from papers.experiment import Found, InTurns, Request
from papers.runner import Label, Runner, take_turns
from pyapsp.base.json import Record
from pyapsp.device.energy import EnergyMeter
from pyapsp.errors import SensorError
from pyapsp.registry import Answer, Loaded
from pyapsp.registry.timing import Turn

__all__ = ["COLUMNS", "Kernels", "LoadedKernels", "Metered", "Repeated", "about", "energy_of"]

#: What is measured of the energy of a run of kernels; see `pyapsp.device.energy.Energy`.
COLUMNS = ("joules", "idle_joules", "watts", "peak_watts", "seconds", "runs", "error")


class Kernels(Protocol):
    """Kernels whose input is on the device."""

    def run(self, times: int = 1) -> None:
        """Run them so many times, and wait for their end."""

    def check(self) -> None:
        """Raise a `VerificationError` if the answer of the last run is wrong."""


class LoadedKernels:
    """The kernels of a method.

    Parameters
    ----------
    loaded : Loaded
    require : callable
        Raises a `VerificationError` if an answer is wrong.
    """

    def __init__(self, loaded: Loaded, require: Callable[[Answer], None]) -> None:
        self.run, self._answer, self._require = loaded.run, loaded.answer, require

    def check(self) -> None:
        """Check the answer."""
        self._require(self._answer())


class Repeated(Runner):
    """A runner whose kernels can be repeated.

    Parameters
    ----------
    label, turn
        As for `Runner`.
    load : callable
        Returns the kernels with their input on the device.
    """

    def __init__(self, label: Label, turn: Callable[[], Turn], load: Callable[[], Kernels]) -> None:
        super().__init__(label, turn)
        self.load = load


def energy_of(kernels: Kernels, meter: EnergyMeter) -> Record:
    """Repeat kernels, and return the energy of a run; the answer at the end is checked.

    Raises
    ------
    SensorError
        If the sensor cannot be read any more.
    VerificationError
        If the answer is wrong.
    """
    energy = meter.measure_runs(kernels.run)
    kernels.check()
    values = (
        *(energy.joules, energy.idle_joules, energy.watts, energy.peak_watts),
        *(energy.seconds, energy.launches, energy.error),
    )
    return dict(zip(COLUMNS, values, strict=True))


@dataclass(frozen=True, kw_only=True)
class Metered(InTurns):
    """An experiment of `Repeated` runners, some of which are repeated after the turns.

    A record has ``energy``, with `COLUMNS`: None without a sensor.
    """

    metered: bool = True
    # Returns those of the runners whose energy is measured; by default all.
    chosen: Callable[[Sequence[Repeated]], Iterable[Repeated]] = tuple

    def measure(self, n: int, request: Request) -> Found:
        """Run all cases."""
        measured: Found = {"inputs": [], "runs": [], "left_out": []}
        meter, lost = request.meter, None
        for case in self.cases(n, request):
            runs, left_out = take_turns(case.runners, request.repeat, request.progress)
            done = {_key(run["label"]): run for run in runs}
            for run in runs:
                run["energy"] = dict.fromkeys(COLUMNS)
            finished = [
                each
                for each in case.runners
                if isinstance(each, Repeated) and _key(each.label) in done
            ]
            for each in self.chosen(finished) if meter is not None and meter.shows else ():
                if lost is None:
                    assert meter is not None
                    request.progress(f"energy: {each.name}")
                    try:
                        done[_key(each.label)]["energy"] = energy_of(each.load(), meter)
                    except SensorError as error:
                        lost = error
            facts: dict[str, Any] = {"label": {}, "n": n, **case.about}
            measured["inputs"].append({**facts, **case.conclusion(runs)})
            measured["runs"] += runs
            measured["left_out"] += left_out
        measured["sensors"] = [] if meter is None else [about(meter, lost)]
        return measured


def _key(label: Label) -> frozenset[tuple[str, int | float | str]]:
    return frozenset(label.items())


def about(meter: EnergyMeter, error: SensorError | None) -> Record:
    """Return what a document says of a sensor, with the error with which it ended."""
    return {
        "name": meter.sensor.name,
        "train_seconds": meter.seconds,
        "idle_watts": meter.idle_watts,
        "error": None if error is None else error.message,
    }
