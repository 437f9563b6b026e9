"""What an experiment is: methods on graphs, or anything else that takes turns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyapsp.device import Device
from pyapsp.graph import Graph, generators
from pyapsp.paths import AllPairsOptions
from pyapsp.profiling import sweeps
from pyapsp.profiling.papers.turns import Runner, take_turns
from pyapsp.profiling.sweeps import Contender, Label, Reference
from pyapsp.registry import Method

__all__ = [
    "Case",
    "Experiment",
    "InTurns",
    "OnGraphs",
    "Request",
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


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC):
    """One set of runs.

    Attributes
    ----------
    summary : str
        What they are for.
    settings : frozenset of str
        Names of the settings it knows.
    least : int
        The smallest n.
    """

    summary: str
    settings: frozenset[str] = frozenset()
    least: int = 2

    @abstractmethod
    def measure(self, n: int, request: Request) -> Found:
        """Run them."""


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
    """

    graphs: Callable[[int, Settings], Iterator[tuple[Label, Graph]]]
    dtype: str
    contenders: Callable[[Task], Iterator[Contender]]
    extra: Callable[[Task, Reference], dict[str, Any]] = lambda task, right: {}

    def measure(self, n: int, request: Request) -> Found:
        """Run them."""
        options = AllPairsOptions(request.device, np.dtype(self.dtype))
        found: Found = {"inputs": [], "runs": [], "left_out": []}
        for label, graph in self.graphs(n, request.settings):
            task = Task(graph, options, request.settings, request.limit)
            right = sweeps.reference(graph, self.dtype, options.device)
            measured = sweeps.run(
                graph,
                list(self.contenders(task)),
                self.dtype,
                right,
                repeat=request.repeat,
                progress=request.progress,
            )
            about = {"label": label, "n": graph.n, "m": graph.m}
            about["reference"] = measured["reference"]
            found["inputs"].append({**about, **self.extra(task, right)})
            found["runs"] += [{**run, "label": label | run["label"]} for run in measured["runs"]]
            found["left_out"] += [label | each for each in measured["left_out"]]
        return found


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
    runners: list[Runner]
    conclusion: Callable[[list[dict[str, Any]]], dict[str, Any]] = lambda runs: {}


@dataclass(frozen=True, kw_only=True)
class InTurns(Experiment):
    """Anything else, of a size n.

    Attributes
    ----------
    cases : callable
        Gets n and the request, and yields the cases.
    """

    cases: Callable[[int, Request], Iterator[Case]]

    def measure(self, n: int, request: Request) -> Found:
        """Run them."""
        found: Found = {"inputs": [], "runs": [], "left_out": []}
        for case in self.cases(n, request):
            runs, left_out = take_turns(case.runners, request.repeat, request.progress)
            about = {"label": {}, "n": n, **case.about}
            found["inputs"].append({**about, **case.conclusion(runs)})
            found["runs"] += runs
            found["left_out"] += left_out
        return found


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


def contender(
    task: Task,
    label: Label,
    solver: Method,
    *,
    phases: Callable[[int], Sequence[str]] | None = None,
    roof: bool = True,
) -> Contender:
    """Make a contender, whose label tells the method, too."""
    return Contender({"method": solver.id, **label}, solver, task.device, phases, roof)


def search(task: Task, solver: Method) -> Contender:
    """Make a contender that searches from sources, which has no roof and may take too long."""
    made = contender(task, {}, solver, roof=False)
    made.limit = task.limit
    return made
