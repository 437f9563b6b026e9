"""What an experiment is: methods on graphs, or anything else that takes turns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pyapsp.device import Device
from pyapsp.errors import ParameterError
from pyapsp.graph import Graph, generators
from pyapsp.papers.contender import Contender, Judge, Solver
from pyapsp.papers.runner import Label, Runner, take_turns
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

Settings = Mapping[str, Sequence[Any]]
#: ``inputs``, ``runs`` and ``left_out`` of an experiment.
Found = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Setting:
    """What an experiment can be told to try.

    Attributes
    ----------
    summary : str
        What the values are, and what is tried without any.
    kind : type
        Of the values: int, or float.
    most : float
        The largest value.
    several : bool
        Whether there may be more than one.
    """

    summary: str
    kind: type[int] | type[float] = int
    most: float = float("inf")
    several: bool = True

    def check(self, name: str, owner: str, values: Sequence[Any]) -> None:
        """Refuse values that cannot be.

        Raises
        ------
        ParameterError
            If there are none, too many, or one is out of range or no number.
        """
        for value in values:
            legal = isinstance(value, (int, self.kind)) and not isinstance(value, bool)
            if not (legal and (self.kind is float or value >= 1) and 0 < value <= self.most):
                rule = "a positive whole number" if self.kind is int else f"in (0, {self.most:g}]"
                raise ParameterError.of(name, owner, rule, value)
        if not values or (len(values) > 1 and not self.several):
            rule = "one or more numbers" if self.several else "one number"
            raise ParameterError.of(name, owner, rule, list(values))


#: All that experiments know.
SETTINGS = {
    "threads": Setting("work-items of a group; else those that suit the device"),
    "cores": Setting("compute units; else the powers of two, and all there are"),
    "sides": Setting("rows and columns of a tile; else 1, 2, 4 and 8"),
    "blocks": Setting("blocking factors; else n/10, n/8 and n/6"),
    "degrees": Setting("arcs for each vertex; else the powers of two, and n - 1"),
    "weights": Setting("largest weights; else the powers of four up to 65536"),
    "densities": Setting(
        "per cent of all edges; else those of the thesis, 0.05 to 50", kind=float, most=100
    ),
    "counts": Setting("graphs or instances at once; else those of the thesis, or of the device"),
    "groups": Setting("instances of a group; else those that suit the device"),
    "tasks": Setting("sources at most; else 2048", several=False),
    "pixels": Setting(
        "width and height of a slice; else those of the paper, 512, or 128 on a CPU", several=False
    ),
}


@dataclass(frozen=True)
class Request:
    """What the caller of an experiment asks for.

    Attributes
    ----------
    device : Device
    settings : mapping
        What to try, by the name of the setting.
    repeat : int
        Timed turns.
    limit : float or None
        Seconds after which a search from sources is ended.
    progress : callable
        Told what runs next.
    """

    device: Device
    settings: Settings = field(default_factory=dict)
    repeat: int = 3
    limit: float | None = None
    progress: Callable[[str], None] = lambda text: None

    def chosen(self, name: str, default: Sequence[int]) -> Sequence[int]:
        """Return a setting, or the default when there is none."""
        return self.settings.get(name) or default


@dataclass(frozen=True)
class Case:
    """Runners with the same input.

    Attributes
    ----------
    about : dict
        What there is to tell of the input; ``reference`` says what answers are compared with.
    runners : list of Runner
    conclusion : callable
        Returns what else is to be told, from the records of the runs.
    """

    about: dict[str, Any]
    runners: Sequence[Runner]
    conclusion: Callable[[list[dict[str, Any]]], dict[str, Any]] = lambda runs: {}


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC):
    """One set of runs, those behind some tables and figures of a paper.

    Attributes
    ----------
    exhibits : str
        These tables and figures.
    methods : tuple of str
        Ids of the methods that are timed, or names of bulk programs or of sweeps.
    sizes : tuple of int
        The n of the workflow, unless its config has others: for a CPU.
    settings : tuple of str
        Names in `SETTINGS` that it knows.
    least : int
        The smallest n.
    """

    exhibits: str
    methods: tuple[str, ...]
    sizes: tuple[int, ...]
    settings: tuple[str, ...] = ()
    least: int = 2

    @abstractmethod
    def cases(self, n: int, request: Request) -> Iterator[Case]:
        """Yield what is timed, for a size n."""

    @abstractmethod
    def needs(self, n: int, settings: Settings, limit: float) -> tuple[float, float]:
        """Return about how many bytes of the host and how many seconds it takes at most."""

    def check(self, name: str, n: int, settings: Settings) -> None:
        """Refuse a size or settings that it does not know.

        Parameters
        ----------
        name : str
            Its own.
        n : int
        settings : mapping of str to sequence

        Raises
        ------
        ParameterError
            If one cannot be.
        """
        if n < self.least:
            raise ParameterError.of("n", name, f"at least {self.least}", n)
        for setting, values in settings.items():
            if setting not in self.settings:
                raise ParameterError.of(setting, name, "absent: it has no such setting", values)
            SETTINGS[setting].check(setting, name, values)

    def known(self, settings: Settings) -> dict[str, Sequence[Any]]:
        """Return the settings that it knows."""
        return {name: settings[name] for name in self.settings if name in settings}

    def measure(self, n: int, request: Request) -> Found:
        """Run all cases."""
        found: Found = {"inputs": [], "runs": [], "left_out": []}
        for case in self.cases(n, request):
            runs, left_out = take_turns(case.runners, request.repeat, request.progress)
            about = {"label": {}, "n": n, **case.about}
            found["inputs"].append({**about, **case.conclusion(runs)})
            found["runs"] += runs
            found["left_out"] += left_out
        return found


@dataclass(frozen=True)
class Task:
    """What the contenders of an experiment depend on.

    Attributes
    ----------
    graph : Graph
    options : AllPairsOptions
    settings : mapping
        What to try, by the name of the setting.
    limit : float or None
        Seconds after which a search from sources is ended.
    """

    graph: Graph
    options: AllPairsOptions
    settings: Settings
    limit: float | None = None

    @property
    def device(self) -> Device:
        """Where everything runs that does not say otherwise."""
        return self.options.device

    def chosen(self, name: str, default: Sequence[int]) -> Sequence[int]:
        """Return a setting, or the default when there is none."""
        return self.settings.get(name) or default


@dataclass(frozen=True, kw_only=True)
class OnGraphs(Experiment):
    """Methods on graphs of n vertices.

    Attributes
    ----------
    graphs : callable
        Gets n and the settings, and yields the graphs, each with its coordinates in a table.
    dtype : str
    contenders : callable
        Yields what takes part on a graph.
    extra : callable
        Returns what else is to be told of a graph.
    facts : callable
        Returns what is to be told of its distances.
    """

    graphs: Callable[[int, Settings], Iterator[tuple[Label, Graph]]]
    dtype: str
    contenders: Callable[[Task], Iterator[Contender]]
    extra: Callable[[Task], dict[str, Any]] = lambda task: {}
    facts: Callable[[np.ndarray], dict[str, Any]] = lambda distances: {}

    def cases(self, n: int, request: Request) -> Iterator[Case]:
        """Yield a case for each graph."""
        options = AllPairsOptions(request.device, np.dtype(self.dtype))
        for label, graph in self.graphs(n, request.settings):
            task = Task(graph, options, request.settings, request.limit)
            judge = Judge(graph, options, self.facts)
            runners = [
                Solver(each, graph, label, self.dtype, judge) for each in self.contenders(task)
            ]
            about = {"label": label, "n": graph.n, "m": graph.m}
            yield Case(about, runners, partial(self._told, task, judge))

    def _told(self, task: Task, judge: Judge, runs: list[dict[str, Any]]) -> dict[str, Any]:
        return {"reference": {"what": judge.what}, **judge.facts, **self.extra(task)}

    def needs(self, n: int, settings: Settings, limit: float) -> tuple[float, float]:
        """Return room for some matrices, and the time of a hundred runs at 10^9 updates a second.

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
    """Anything else, of a size n.

    Attributes
    ----------
    make : callable
        Gets n and the request, and yields the cases.
    memory : callable
        Gets n and the settings, and returns about how many bytes of the host are needed.
    """

    make: Callable[[int, Request], Iterator[Case]]
    memory: Callable[[int, Settings], float] = lambda n, settings: 16e9

    def cases(self, n: int, request: Request) -> Iterator[Case]:
        """Yield what `make` makes."""
        return self.make(n, request)

    def needs(self, n: int, settings: Settings, limit: float) -> tuple[float, float]:
        """Return the memory that it says, and an hour."""
        return self.memory(n, settings), 3600


def one(
    make: Callable[[int], Graph],
) -> Callable[[int, Settings], Iterator[tuple[Label, Graph]]]:
    """Return what yields the one graph of n vertices, without coordinates."""

    def graphs(n: int, settings: Settings) -> Iterator[tuple[Label, Graph]]:
        yield {}, make(n)

    return graphs


def random_below(n: int) -> Graph:
    """Return a graph as in [O] 4.5.1: m = 4n, positive weights below n."""
    return generators.random_graph(n, max_weight=n - 1)


def contender(task: Task, label: Label, solver: Method, **more: Any) -> Contender:
    """Make a contender, whose label tells the method, too; the rest as `Contender` has it."""
    return Contender({"method": solver.id, **label}, solver, **{"device": task.device} | more)


def search(task: Task, solver: Method, **more: Any) -> Contender:
    """Make a contender that searches from sources, which has no roof and may take too long."""
    return contender(task, {}, solver, roof=False, limit=task.limit, **more)
