"""Time methods, number types and devices, and compare them with the roof and other packages.

All contenders, and the loop that measures the roof, run in turns on the same input. Whole calls are
timed, from the input to the answer on the host. The oracle of the problem checks every answer.

The energy of a call is measured after the turns, in a train of calls of each method; or that of its
kernels alone, in a train of runs with the input on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypedDict

from pyapsp.base.errors import ParameterError, SensorError
from pyapsp.base.json import Record
from pyapsp.bench.contenders import Argument, Judge, MethodContender, PeerContender, PeerRecord
from pyapsp.bench.peers import Peer, peer
from pyapsp.bench.shortlist import UNLISTED, shortlist
from pyapsp.device import Device, DeviceLike, choose
from pyapsp.device.energy import EnergyMeter
from pyapsp.graph import Graph, generators
from pyapsp.registry import Method, Problem
from pyapsp.registry.roofs import METERS, Meter, has_roof
from pyapsp.registry.timing import take_turns, warm_up

__all__ = ["SHORTLIST", "Argument", "Comparison", "Outcome", "dense_graph", "run"]

#: In place of a method: those of `shortlist`.
SHORTLIST = "shortlist"


class Comparison(TypedDict):
    """A run with ``"auto"``, beside the fastest of the methods that were named."""

    dtype: str
    device: str  # its id
    method: str  # the method that was chosen
    seconds: float  # of the whole call
    predicted_seconds: float | None
    # The fastest method that was named.
    best: str
    best_seconds: float
    ratio: float  # of the two times


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
    outcome, judge = Outcome(problem, about), Judge(problem)
    chosen, arguments = [choose(device) for device in devices], arguments or {}
    if SHORTLIST in methods:
        some, unlisted = shortlist(problem, data, dtypes, chosen, arguments)
        outcome.left_out |= dict.fromkeys(
            (each for each in unlisted if each not in methods), UNLISTED
        )
        methods = list(dict.fromkeys([*(each for each in methods if each != SHORTLIST), *some]))
    everybody = [
        MethodContender(problem, data, method, dtype, device, arguments, judge, kernels)
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
    others = warm_up([PeerContender(problem, each, judge) for each in present], report)
    finished = take_turns([*own, *others], repeat, meters=meters.values(), progress=report)
    for each in everybody:
        if each.error is not None:
            outcome.left_out[each.name] = str(each.error)
    own = [each for each in finished if isinstance(each, MethodContender)]
    for contender in own:
        if (sensing := sensors.get(contender.device)) is not None:
            report(f"energy: {contender.name}")
            try:
                contender.measure_energy(sensing)
            except SensorError as error:
                outcome.sensor_error = error
    outcome.peers = [each.record() for each in finished if isinstance(each, PeerContender)]
    outcome.runs = [each.record(meters.get(each.key), outcome.peers) for each in own]
    return outcome


def _meters(
    problem: Problem, contenders: Sequence[MethodContender]
) -> dict[tuple[Device, str], Meter]:
    """Return the meter of the roof for each device and type, if unit and type have a roof."""
    kind = METERS.get(problem.unit)
    keys = {each.key for each in contenders if has_roof(each.key[1])}
    return {} if kind is None else {key: kind(*key) for key in keys}


def _present(
    problem: Problem, judge: Judge, names: Sequence[str], outcome: Outcome
) -> Iterator[Peer]:
    """Yield the peers that can run on this input."""
    for chosen in (peer(problem.id, name) for name in names):
        why = chosen.unfit(judge.request.input, judge.request.options)
        if why is None:
            yield chosen
        else:
            outcome.left_out[chosen.name] = why
