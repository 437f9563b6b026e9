"""Time methods, number types and devices, and compare them with the roof and other packages.

All contenders, and the loop that measures the roof, run in turns on the same input. Whole calls are
timed, from the input to the answer on the host. The oracle of the problem checks every answer.

The energy of a call is measured after the turns, in a train of calls of each method; or that of its
kernels alone, in a train of runs with the input on the device.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias, TypedDict

import numpy as np

from pyapsp.base.errors import ParameterError, PyApspError, SensorError
from pyapsp.base.json import Json, Record
from pyapsp.bench.peers import Peer, peer
from pyapsp.device import Device, DeviceLike, choose
from pyapsp.device.energy import Energy, EnergyMeter
from pyapsp.graph import Graph, generators
from pyapsp.registry import Answer, Check, Method, Problem, Request, runs
from pyapsp.registry import methods as methods_of
from pyapsp.registry.roofs import METERS, Meter, has_roof, with_roof
from pyapsp.registry.timing import Contender, Turn, take_turns, warm_up

__all__ = [
    "SHORTLIST",
    "Argument",
    "Comparison",
    "Outcome",
    "PeerRecord",
    "dense_graph",
    "run",
    "shortlist",
]

#: The value of an argument of `Problem.ask`.
Argument: TypeAlias = Json | np.ndarray

#: In place of a method: those of `shortlist`.
SHORTLIST = "shortlist"
# A method is on the shortlist if it is predicted to take at most this many times the least time.
_WITHIN = 10
_UNLISTED = (
    f"not on the shortlist: auto never takes it, or it is predicted to take more than {_WITHIN} "
    "times as long as the fastest method"
)

_ENERGY = (
    *("joules", "idle_joules", "watts", "peak_watts", "joules_per_unit", "joules_per_distance"),
    *("energy_seconds", "energy_runs", "energy_error"),
)


class Comparison(TypedDict):
    """A run with ``"auto"``, beside the fastest of the methods that were named."""

    dtype: str
    device: str  # its id
    method: str  # the method that was chosen
    # Of the whole call; None: no prediction; after a race it is corrected.
    seconds: float
    predicted_seconds: float | None
    # The fastest method that was named.
    best: str
    best_seconds: float
    ratio: float  # of the two times


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


@dataclass
class Outcome:
    """The measurements on one input."""

    problem: Problem
    about: Record  # facts about the input
    # The record of each method, dtype and device: that of its last turn, with the medians of all
    # turns in place of its times. Added are `device_seconds` (upload, kernels, download),
    # `device_rate`, `median_seconds` (the whole call), `ratios` (the time of each peer divided by
    # this one), `times` (of every turn), the roof, `verified` and `max_error`. With `energy` also
    # `energy_of`, "calls" or "kernels"; `joules` and `idle_joules` of one of these, `watts`,
    # `peak_watts`, `joules_per_unit` of work, `joules_per_distance`, `energy_seconds` of one,
    # `energy_runs` in the train, and `energy_error`, as in `Energy`; they are None without a
    # sensor.
    runs: list[dict[str, Any]] = field(default_factory=list)
    # `name`, `version`, `what`, `calls`, `dtype`, `median_seconds`, `rate`, `times`, `verified`,
    # `oracle`.
    peers: list[PeerRecord] = field(default_factory=list)
    # Contenders that did not run -> the reason.
    left_out: dict[str, str] = field(default_factory=dict)
    # Ids of the devices, as in `runs` -> their names.
    devices: dict[str, str] = field(default_factory=dict)
    sensor_error: SensorError | None = None  # why the energy of some runs could not be measured

    @property
    def ok(self) -> bool:
        """Whether every answer was right."""
        return all(each["verified"] for each in [*self.runs, *self.peers])

    @property
    def automatic(self) -> list[Comparison]:
        """The runs with ``"auto"``, beside the fastest of the methods that were named."""
        rows: list[Comparison] = []
        for run in (each for each in self.runs if each["automatic"]):
            place = run["dtype"], run["device"]["id"]
            named = [
                each
                for each in self.runs
                if not each["automatic"] and (each["dtype"], each["device"]["id"]) == place
            ]
            if named:
                best = min(named, key=lambda each: each["wall_seconds"])
                rows.append(
                    {
                        "dtype": run["dtype"],
                        "device": run["device"]["id"],
                        "method": run["method"],
                        "seconds": run["wall_seconds"],
                        "predicted_seconds": run["predicted_seconds"],
                        "best": best["method"],
                        "best_seconds": best["wall_seconds"],
                        "ratio": run["wall_seconds"] / best["wall_seconds"],
                    }
                )
        return rows


def dense_graph(
    n: int, density: float | None = None, seed: int = 0, max_weight: int = 100
) -> Graph:
    """Return a random graph of n vertices for the dense methods.

    The work of the dense methods does not depend on the density.

    Parameters
    ----------
    n : int
    density : float, optional
        Number of arcs divided by n (n - 1), in [0, 1]. None: 0.1, but at most 2^20 arcs, because
        making more takes longer than solving the graph on a fast device.
    seed : int
    max_weight : int
        Weights are uniform in 1..max_weight.
    """
    if density is None:
        m = min(n * (n - 1) // 10, 2**20)
    elif 0 <= density <= 1:
        m = round(density * n * (n - 1))
    else:
        raise ParameterError.of("density", "bench", "in [0, 1]", density)
    return generators.random_graph(n, m, max_weight, seed)


def run(
    problem: Problem,
    data: Any,
    methods: Sequence[str | Method],
    dtypes: Sequence[str],
    devices: Sequence[DeviceLike] = (None,),
    *,
    arguments: Mapping[str, Argument] | None = None,
    repeat: int = 3,
    peers: Sequence[str] = (),
    energy: Callable[[Device], EnergyMeter] | None = None,
    kernels: bool = False,
    progress: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Time every method with every dtype on every device, and the peers, on one input.

    Parameters
    ----------
    problem : Problem
    data : object
        The input.
    methods : sequence of str or Method
        ``"auto"``, methods of the problem, or ``"shortlist"`` for those of `shortlist`.
    dtypes : sequence of str
        Number types of the answers.
    devices : sequence
        See `pyapsp.device.choose`.
    arguments : mapping, optional
        Other options of `Problem.ask`: ``predecessors``, ``sources``. Peers without predecessors
        compute distances only. Peers that cannot compute single rows are left out if `sources` is
        given.
    repeat : int
        Number of timed turns.
    peers : sequence of str
        Names of `PEERS`; those that are not installed are left out.
    energy : callable, optional
        Returns what measures the energy of a device. If its sensor cannot be read any more, the
        rest of the measurements are complete, and `Outcome.sensor_error` says so.
    kernels : bool
        Whether energy is that of the kernels alone (`Method.load`). Methods that do not run without
        copies are left out.
    progress : callable
        Called with the name of what runs next.

    Returns
    -------
    Outcome

    Raises
    ------
    PyApspError
        If no contender could run: the error of the first.
    NegativeCycleError
        If there is a negative cycle.
    """
    if repeat < 1:
        raise ParameterError.of("repeat", "bench", "at least 1", repeat)
    about = problem.about(data)
    outcome, judge = Outcome(problem, about), _Judge(problem)
    chosen, arguments = [choose(device) for device in devices], arguments or {}
    if SHORTLIST in methods:
        some, unlisted = shortlist(problem, data, dtypes, chosen, arguments)
        outcome.left_out |= dict.fromkeys(
            (each for each in unlisted if each not in methods), _UNLISTED
        )
        methods = list(dict.fromkeys([*(each for each in methods if each != SHORTLIST), *some]))
    everybody = [
        _Own(problem, data, method, dtype, device, arguments, judge, kernels)
        for method, dtype, device in product(methods, dtypes, chosen)
    ]

    def report(text: str) -> None:
        progress(f"{about['name']}: {text}")

    # before the turns: a sensor that cannot be read is an error now
    there = {each.device for each in everybody}
    sensors = {} if energy is None else {device: energy(device) for device in there}
    own = warm_up(everybody, report)
    if not own:
        raise next(
            (each.error for each in everybody if each.error is not None),
            ParameterError("there is nothing to time"),
        )
    for each in own:
        name, platform = each.device.name, each.device.platform_name
        outcome.devices[each.device.id] = f"{name}, {platform}"
    meters = _meters(problem, own)
    # after our methods, so that a negative cycle raises our error
    present = _present(problem, judge, peers, outcome)
    others = warm_up([_Other(problem, each, judge) for each in present], report)
    finished = take_turns([*own, *others], repeat, meters=meters.values(), progress=report)
    for each in everybody:
        if each.error is not None:
            outcome.left_out[each.name] = str(each.error)
    for contender in (each for each in finished if isinstance(each, _Own)):
        if (sensing := sensors.get(contender.device)) is not None:
            report(f"energy: {contender.name}")
            try:
                contender.measure_energy(sensing)
            except SensorError as error:
                outcome.sensor_error = error
    outcome.peers = [each.record() for each in finished if isinstance(each, _Other)]
    outcome.runs = [
        each.record(meters.get(each.key), outcome.peers)
        for each in finished
        if isinstance(each, _Own)
    ]
    return outcome


def shortlist(
    problem: Problem,
    data: Any,
    dtypes: Sequence[str],
    devices: Sequence[Device],
    arguments: Mapping[str, Argument],
) -> tuple[list[str], list[str]]:
    """Return "auto" and the methods predicted to take at most 10 times as long as the fastest.

    Methods whose times are not predicted are on the list, too, if they can answer.

    Parameters
    ----------
    problem, data, dtypes, devices, arguments
        As for `run`.

    Returns
    -------
    list, list of str
        The shortlist, and the methods that can answer and are not on it.
    """
    found, able = ["auto"], []
    for dtype, device in product(dtypes, devices):
        asked = dict(arguments) | {"dtype": dtype, "device": device}
        try:
            request = problem.ask(data, "auto", **asked)
            choices = list(problem.choices(request))
        except PyApspError:
            continue  # that of "auto" says why
        known = [each.seconds for each in choices if each.seconds is not None]
        every = methods_of(problem.id)
        able += [each.id for each in every if each().unmet(request.input, request.options) is None]
        found += [
            each.method.id
            for each in choices
            if each.seconds is None or each.seconds <= _WITHIN * min(known)
        ]
    return list(dict.fromkeys(found)), [each for each in dict.fromkeys(able) if each not in found]


class _Judge:
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


class _Own(_Checked):
    """A method with a dtype on a device."""

    def __init__(
        self,
        problem: Problem,
        data: Any,
        method: str | Method,
        dtype: str,
        device: Device,
        arguments: Mapping[str, Argument],
        judge: _Judge,
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


class _Other(_Checked):
    """Another package."""

    def __init__(self, problem: Problem, chosen: Peer, judge: _Judge) -> None:
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


def _meters(problem: Problem, contenders: Sequence[_Own]) -> dict[tuple[Device, str], Meter]:
    """Return the meter of the roof for each device and type, if unit and type have a roof."""
    kind = METERS.get(problem.unit)
    keys = {each.key for each in contenders if has_roof(each.key[1])}
    return {} if kind is None else {key: kind(*key) for key in keys}


def _present(
    problem: Problem, judge: _Judge, names: Sequence[str], outcome: Outcome
) -> Iterator[Peer]:
    """Yield the peers that can run on this input."""
    for chosen in (peer(problem.id, name) for name in names):
        why = chosen.unfit(judge.request.input, judge.request.options)
        if why is None:
            yield chosen
        else:
            outcome.left_out[chosen.name] = why
