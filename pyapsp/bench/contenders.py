"""What runs in turns in a bench: methods and other packages, whose answers are checked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypedDict

import numpy as np

from pyapsp.base.json import Json, Record
from pyapsp.bench.peers import Peer
from pyapsp.device import Device
from pyapsp.device.energy import Energy, EnergyMeter
from pyapsp.registry import Answer, Check, Method, Problem, Request, runs
from pyapsp.registry.roofs import Meter, with_roof
from pyapsp.registry.timing import Contender, Turn

__all__ = ["Argument", "Judge", "MethodContender", "PeerContender", "PeerRecord"]

#: The value of an argument of `Problem.ask`.
Argument: TypeAlias = Json | np.ndarray

_ENERGY = (
    *("joules", "idle_joules", "watts", "peak_watts", "joules_per_unit", "joules_per_distance"),
    *("energy_seconds", "energy_runs", "energy_error"),
)


class PeerRecord(TypedDict):
    """The measurements of another package."""

    name: str
    version: str | None
    what: str
    calls: str
    dtype: str
    median_seconds: float
    rate: float
    times: dict[str, list[float]]
    verified: bool
    oracle: str


class Judge:
    """Compares all answers with one oracle, which is made when the first answer is checked.

    It is not made earlier, because an input without an answer has no oracle.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._oracle: Callable[[Answer], Check] | None = None
        self._request: Request | None = None

    def ask(self, request: Request) -> None:
        """Store the first request."""
        self._request = self._request or request

    @property
    def request(self) -> Request:
        """The first request."""
        assert self._request is not None
        return self._request

    def __call__(self, answer: Answer) -> Check:
        """Compare an answer."""
        if self._oracle is None:
            self._oracle = self._problem.oracle(self.request.input, self.request.options)
        return self._oracle(answer)


class _Checked(Contender):
    """A contender whose answers are checked; after a wrong answer the timing continues."""

    @property
    def checks(self) -> list[Check]:
        """The checks of all answers."""
        return [turn.facts["check"] for turn in self.turns]

    @property
    def verified(self) -> bool:
        """Whether every answer was right."""
        return all(check.ok for check in self.checks)

    @property
    def max_error(self) -> float | None:
        """The largest difference from the oracle, where it is a number."""
        errors = [check.max_error for check in self.checks]
        return max((error for error in errors if error is not None), default=None)


def _seconds(record: Record, phase: str) -> float:
    """Return the time of a phase of a run."""
    seconds = record[f"{phase}_seconds"]
    assert isinstance(seconds, int | float)
    return seconds


def _energy_columns(energy: Energy, facts: Mapping[str, Any]) -> Record:
    """Return the columns of energy of a run; see `Outcome.runs`."""
    joules = energy.joules

    def each(count: int | None) -> float | None:
        return joules / count if joules is not None and count else None

    work, distances = facts["record"]["work"], facts["distances"]
    values = (
        *(joules, energy.idle_joules, energy.watts, energy.peak_watts, each(work)),
        *(each(distances), energy.seconds, energy.launches, energy.error),
    )
    return dict(zip(_ENERGY, values, strict=True))


class MethodContender(_Checked):
    """A method with a dtype on a device."""

    def __init__(
        self,
        problem: Problem,
        data: Any,
        method: str | Method,
        dtype: str,
        device: Device,
        arguments: Mapping[str, Argument],
        judge: Judge,
        kernels: bool,
    ) -> None:
        id_ = method if isinstance(method, str) else method.id
        super().__init__(f"{id_} {dtype} on {device.id}", self._solve)
        self.device = device
        self._problem, self._data, self._method, self._judge = problem, data, method, judge
        self._arguments = dict(arguments) | {"dtype": dtype, "device": device}
        self._kernels, self._energy = kernels, dict[str, Json]()
        self._further: list[Check] = []

    def _ask(self) -> Request:
        return self._problem.ask(self._data, self._method, **self._arguments)

    def _call(self) -> tuple[Request, runs.Solved]:
        started = time.perf_counter()
        request = self._ask()
        return request, runs.solve(request, started)

    @property
    def checks(self) -> list[Check]:
        """The checks of the turns, and of the answer at the end of a train."""
        return [*super().checks, *self._further]

    def measure_energy(self, meter: EnergyMeter) -> None:
        """Measure the energy of a call, or of its kernels."""
        of = "kernels" if self._kernels else "calls"
        self._energy = {"energy_of": of, **dict.fromkeys(_ENERGY)}
        if not meter.shows:
            return
        if not self._kernels:
            energy = meter.measure(self._call)
        else:
            request = self._ask()
            plan, loaded = runs.load(request)
            energy = meter.measure_runs(loaded.run)
            self._further.append(
                self._judge(request.problem.settle(request, plan, loaded.answer()))
            )
        self._energy |= _energy_columns(energy, self.turns[-1].facts)

    def _solve(self) -> Turn:
        if self._kernels and not self.turns:
            runs.load(self._ask())  # what cannot run without copies is refused now
        started = time.perf_counter()
        request, solved = self._call()
        wall = time.perf_counter() - started
        kernel = _seconds(solved.record, "kernel")
        transfer = _seconds(solved.record, "transfer")
        self._judge.ask(request)
        distances = getattr(solved.answer, "distances", None)
        facts = {
            "record": solved.record,
            "check": self._judge(solved.answer),
            "distances": None if distances is None else math.prod(distances.shape),
        }
        seconds = {"kernel": kernel, "transfer": transfer, "device": kernel + transfer}
        return Turn({**seconds, "wall": wall}, facts)

    @property
    def key(self) -> tuple[Device, str]:
        """The key of the roof: the device, and the type in which it computed."""
        return (self.device, self.turns[0].facts["record"]["held_dtype"])

    def record(self, meter: Meter | None, peers: list[PeerRecord]) -> dict[str, Any]:
        """Return the record: medians of the turns after the warm-up."""
        medians = {f"{phase}_seconds": value for phase, value in self.medians.items()}
        last = self.turns[-1].facts["record"]

        def speed(seconds: float) -> float | None:
            return last["work"] / seconds if seconds > 0 else None

        record = {
            **last,
            "device": {"id": self.device.id, **last["device"]},
            **medians,
            "build_seconds": self.turns[0].facts["record"]["build_seconds"],
            "rate": speed(medians["kernel_seconds"]),
            "device_rate": speed(medians["device_seconds"]),
            "median_seconds": medians["wall_seconds"],
            "repeat": len(self.timed),
            "times": self.times,
            "ratios": {
                each["name"]: each["median_seconds"] / medians["wall_seconds"] for each in peers
            },
            "verified": self.verified,
            "oracle": self.turns[-1].facts["check"].oracle,
            "max_error": self.max_error,
            **self._energy,
        }
        if meter is None:
            return record
        roof = meter.roof()
        return with_roof(record, roof) | {"roof_forms": roof.forms}


class PeerContender(_Checked):
    """Another package."""

    def __init__(self, problem: Problem, chosen: Peer, judge: Judge) -> None:
        super().__init__(chosen.name, self._solve)
        self.peer, self._problem, self._judge = chosen, problem, judge
        question = judge.request.input, judge.request.options
        self._call, self._answer = chosen.prepare(*question)
        self._compare = judge if chosen.oracle is None else chosen.oracle(*question)
        self._work = 0

    def _solve(self) -> Turn:
        started = time.perf_counter()
        output = self._call()
        wall = time.perf_counter() - started
        answer, request = self._answer(output), self._judge.request
        self._work = self._problem.work(request.input, request.options, answer)
        return Turn({"wall": wall}, {"check": self._compare(answer)})

    def record(self) -> PeerRecord:
        """Return the measurements."""
        seconds = self.medians["wall"]
        return {
            "name": self.name,
            "version": self.peer.version,
            "what": self.peer.what,
            "calls": self.peer.calls,
            "dtype": self.peer.dtype,
            "median_seconds": seconds,
            "rate": self._work / seconds,
            "times": self.times,
            "verified": self.verified,
            "oracle": self.turns[-1].facts["check"].oracle,
        }
