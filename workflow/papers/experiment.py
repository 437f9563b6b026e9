"""Experiments: methods on graphs, or other programs that are timed in turns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from papers.contender import Contender, Judge, Solver
from papers.runner import Label, Runner, take_turns
from pyapsp.base.json import Json, Record
from pyapsp.device import Device
from pyapsp.device.energy import EnergyMeter
from pyapsp.errors import ParameterError
from pyapsp.graph import Graph, generators
from pyapsp.paths import AllPairsMethod, AllPairsOptions
from pyapsp.registry import Method, methods

__all__ = [
    "SETTINGS",
    "Case",
    "Experiment",
    "InTurns",
    "OnGraphs",
    "Request",
    "Setting",
    "Settings",
    "Task",
    "contender",
    "one",
    "random_below",
    "search",
]

Settings = Mapping[str, Sequence[float]]
#: ``inputs``, ``runs`` and ``left_out`` of an experiment.
Found = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Setting:
    """A setting of experiments: values that a user can choose."""

    summary: str  # the meaning of the values, and the default
    kind: type[int] | type[float] = int  # type of the values: int, or float
    most: float = float("inf")  # the largest value
    several: bool = True  # whether there may be more than one

    def check(self, name: str, owner: str, values: Sequence[float]) -> None:
        """Check values.

        Raises
        ------
        ParameterError
            If there are none or too many, or one is out of range or not a number.
        """
        for value in values:
            legal = isinstance(value, (int, self.kind)) and not isinstance(value, bool)
            if not (legal and (self.kind is float or value >= 1) and 0 < value <= self.most):
                rule = "a positive whole number" if self.kind is int else f"in (0, {self.most:g}]"
                raise ParameterError.of(name, owner, rule, value)
        if not values or (len(values) > 1 and not self.several):
            rule = "one or more numbers" if self.several else "one number"
            raise ParameterError.of(name, owner, rule, list(values))


#: All settings of experiments.
SETTINGS = {
    "threads": Setting("work-items of a group (default: chosen for the device)"),
    "items": Setting(
        "work-items of a group of a tuned program, powers of two from 2 (default: several)"
    ),
    "cores": Setting("compute units (default: powers of two, and all of the device)"),
    "sides": Setting("rows and columns of a tile (default: 1, 2, 4 and 8)"),
    "blocks": Setting("blocking factors (default: n/10, n/8 and n/6)"),
    "degrees": Setting("arcs of each vertex (default: powers of two, and n - 1)"),
    "weights": Setting("largest weights (default: powers of four up to 65536)"),
    "densities": Setting(
        "per cent of all edges (default: those of the thesis, 0.05 to 50)", kind=float, most=100
    ),
    "counts": Setting(
        "graphs or instances at once, or queries (default: those of the thesis, or for the device)"
    ),
    "groups": Setting("instances of a group (default: chosen for the device)"),
    "steps": Setting(
        "steps of a simulation (default: those of the thesis, 100000 or 10000)", several=False
    ),
    "tasks": Setting("largest number of sources (default: 2048)", several=False),
    "pixels": Setting(
        "width and height of a slice (default: 512 as in the paper, 128 on a CPU)", several=False
    ),
}


@dataclass(frozen=True)
class Request:
    """The options of a run of an experiment."""

    device: Device
    settings: Settings = field(default_factory=dict)  # name of a setting -> values
    repeat: int = 3  # number of timed turns
    # Seconds after which a search from sources is stopped, and no further profile of a kernel is
    # begun.
    limit: float | None = None
    progress: Callable[[str], None] = lambda text: None  # called with the name of what runs next
    # Measures the energy of experiments that are `Experiment.metered`.
    meter: EnergyMeter | None = None

    def chosen(self, name: str, default: Sequence[int]) -> list[int]:
        """Return a setting, or the default when there is none."""
        return [int(each) for each in self.settings.get(name) or default]


@dataclass(frozen=True)
class Case:
    """Runners with the same input."""

    # Facts about the input; `reference` names the reference of the answers.
    about: Mapping[str, Json]
    runners: Sequence[Runner]
    # Takes the records of the runs, and returns further facts.
    conclusion: Callable[[list[dict[str, Any]]], Mapping[str, Json]] = lambda runs: {}


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC):
    """One set of runs, for some tables and figures of a paper."""

    exhibits: str  # the names of these tables and figures
    # Ids of the methods that are timed, or names of bulk programs or of sweeps.
    methods: tuple[str, ...]
    # The default values of n in the workflow; they are for a CPU.
    sizes: tuple[int, ...]
    settings: tuple[str, ...] = ()  # names, of `SETTINGS`, of its settings
    least: int = 2  # the smallest n
    metered: bool = False  # whether it measures energy, if there is a sensor
    # Whether the workflow measures it if the config does not name it.
    by_default: bool = True

    @abstractmethod
    def cases(self, n: int, request: Request) -> Iterator[Case]:
        """Yield the cases to be timed for a size n."""

    @abstractmethod
    def needs(self, n: int, settings: Settings, limit: float) -> tuple[float, float]:
        """Return estimates of the host memory in bytes and of the longest time in seconds."""

    def check(self, name: str, n: int, settings: Settings) -> None:
        """Check a size and settings.

        Parameters
        ----------
        name : str
            Name of the experiment.
        n : int
        settings : mapping of str to sequence

        Raises
        ------
        ParameterError
            If one is wrong, or the experiment has no such setting.
        """
        if n < self.least:
            raise ParameterError.of("n", name, f"at least {self.least}", n)
        for setting, values in settings.items():
            if setting not in self.settings:
                raise ParameterError.of(setting, name, "absent: it has no such setting", values)
            SETTINGS[setting].check(setting, name, values)

    def known(self, settings: Settings) -> dict[str, Sequence[float]]:
        """Return those of the settings that this experiment has."""
        return {name: settings[name] for name in self.settings if name in settings}

    def measure(self, n: int, request: Request) -> Found:
        """Run all cases."""
        measured: Found = {"inputs": [], "runs": [], "left_out": []}
        for case in self.cases(n, request):
            runs, left_out = take_turns(case.runners, request.repeat, request.progress)
            about: Record = {"label": {}, "n": n, **case.about}
            measured["inputs"].append({**about, **case.conclusion(runs)})
            measured["runs"] += runs
            measured["left_out"] += left_out
        return measured


@dataclass(frozen=True)
class Task:
    """The input and options of the contenders of an experiment."""

    graph: Graph
    options: AllPairsOptions
    settings: Settings  # name of a setting -> values
    limit: float | None = None  # seconds after which a search from sources is stopped

    @property
    def device(self) -> Device:
        """The default device of contenders."""
        return self.options.device

    def chosen(self, name: str, default: Sequence[int]) -> list[int]:
        """Return a setting, or the default when there is none."""
        return [int(each) for each in self.settings.get(name) or default]


@dataclass(frozen=True, kw_only=True)
class OnGraphs(Experiment):
    """Methods on graphs of n vertices."""

    # Takes n and the settings, and yields the graphs, each with its coordinates in a table.
    graphs: Callable[[int, Settings], Iterator[tuple[Label, Graph]]]
    dtype: str
    contenders: Callable[[Task], Iterator[Contender]]  # yields the contenders for a graph
    extra: Callable[[Task], Record] = lambda task: {}  # returns further facts about a graph
    # Returns facts about its distances.
    facts: Callable[[np.ndarray], Record] = lambda distances: {}

    def cases(self, n: int, request: Request) -> Iterator[Case]:
        """Yield a case for each graph."""
        options = AllPairsOptions(request.device, np.dtype(self.dtype))
        for label, graph in self.graphs(n, request.settings):
            task = Task(graph, options, request.settings, request.limit)
            judge = Judge(graph, options, self.facts)
            runners = [
                Solver(each, graph, label, self.dtype, judge) for each in self.contenders(task)
            ]
            about: Record = {"label": label, "n": graph.n, "m": graph.m}
            yield Case(about, runners, partial(self._conclusion, task, judge))

    def _conclusion(self, task: Task, judge: Judge, runs: list[dict[str, Any]]) -> Record:
        return {"reference": {"what": judge.what}, **judge.facts, **self.extra(task)}

    def needs(self, n: int, settings: Settings, limit: float) -> tuple[float, float]:
        """Return the bytes of some matrices, and the time of 100 runs at 10^9 updates per second.

        A search from sources takes no longer than the limit.
        """
        seconds = n**3 / 1e9
        known = {each.id: each for each in methods("all-pairs")}
        kinds = [known[name] for name in self.methods]
        if any(issubclass(kind, AllPairsMethod) and kind.by_source for kind in kinds):
            seconds = min(seconds, limit)
        return 1e9 + 50 * n**2, 1200 + 100 * seconds


@dataclass(frozen=True, kw_only=True)
class InTurns(Experiment):
    """An experiment without graphs, of a size n."""

    make: Callable[[int, Request], Iterator[Case]]  # takes n and the request, and yields the cases
    # Takes n and the settings, and returns an estimate of the host memory in bytes.
    memory: Callable[[int, Settings], float] = lambda n, settings: 16e9

    def cases(self, n: int, request: Request) -> Iterator[Case]:
        """Yield the cases of `make`."""
        return self.make(n, request)

    def needs(self, n: int, settings: Settings, limit: float) -> tuple[float, float]:
        """Return the result of `memory`, and an hour."""
        return self.memory(n, settings), 3600


def one(
    make: Callable[[int], Graph],
) -> Callable[[int, Settings], Iterator[tuple[Label, Graph]]]:
    """Return a function that yields one graph of n vertices, without coordinates."""

    def graphs(n: int, settings: Settings) -> Iterator[tuple[Label, Graph]]:
        yield {}, make(n)

    return graphs


def random_below(n: int) -> Graph:
    """Return a graph as in [O] 4.5.1: m = 4n, positive weights below n."""
    return generators.random_graph(n, max_weight=n - 1)


def contender(task: Task, label: Label, solver: Method, **more: Any) -> Contender:
    """Make a `Contender` whose label also has the method."""
    return Contender({"method": solver.id, **label}, solver, **{"device": task.device} | more)


def search(task: Task, solver: Method, **more: Any) -> Contender:
    """Make a contender that searches from sources: it has no roof, and a time limit."""
    return contender(task, {}, solver, roof=False, limit=task.limit, **more)
