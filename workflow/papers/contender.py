"""A method with its parameters that solves the graph of an experiment in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import pyopencl as cl

from papers.runner import Label, Runner
from pyapsp.all_pairs.dense.floyd_warshall import FloydWarshall
from pyapsp.all_pairs.solver import solve
from pyapsp.base.json import Record
from pyapsp.device import Device, event_seconds
from pyapsp.errors import PyApspError, VerificationError
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions, Rows
from pyapsp.registry import Method
from pyapsp.registry.timing import Turn
from pyapsp.verify import oracle

__all__ = ["Contender", "Judge", "Solver"]


@dataclass(frozen=True)
class Contender:
    """A method with its parameters."""

    label: Label  # its coordinates in a table, by which it differs from the others
    method: Method
    device: Device
    # Takes the number of launches in a round and returns the name of each. If it is given, the
    # method is a `FloydWarshall`.
    phases: Callable[[int], Sequence[str]] | None = None
    # Whether the roof of the number type on the device is an upper bound for this contender.
    roof: bool = True
    helpers: tuple[Device, ...] = ()  # further devices, for a method that uses more than one
    memory_limit: int | None = None  # most bytes to use on each device
    predecessors: bool = False  # whether it also computes predecessors
    # Seconds after which a turn is stopped, if the method reports progress.
    limit: float | None = None


class Judge:
    """Checks the answers for a graph.

    Attributes
    ----------
    what : str or None
        The reference with which the first answer was compared.
    facts : dict
        Facts about the distances, which are the same for all answers.
    """

    def __init__(
        self,
        graph: Graph,
        options: AllPairsOptions,
        facts: Callable[[np.ndarray], Record] = lambda distances: {},
    ) -> None:
        self.what: str | None = None
        self.facts: Record = {}
        self._check, self._facts = oracle(graph, options), facts

    def require(self, answer: Rows, whose: str) -> None:
        """Check an answer.

        Raises
        ------
        VerificationError
            If it is wrong.
        """
        check = self._check(answer)
        if not check.ok:
            raise VerificationError(f"{whose}: the answer is wrong: {check.fault}")
        if self.what is None:
            self.what, self.facts = check.oracle, self._facts(answer.distances)


class Solver(Runner):
    """A contender on a graph.

    Parameters
    ----------
    contender : Contender
    graph : Graph
    label : dict
        The coordinates of the graph.
    dtype : str
        Number type of the distances.
    judge : Judge
    """

    def __init__(
        self, contender: Contender, graph: Graph, label: Label, dtype: str, judge: Judge
    ) -> None:
        roof = (contender.device, dtype) if contender.roof else None
        super().__init__(label | contender.label, self._solve, roof)
        self._contender, self._graph, self._dtype = contender, graph, dtype
        self._judge = judge
        self._rounds: list[list[cl.Event]] = []

    def _solve(self) -> Turn:
        contender, method = self._contender, self._contender.method
        if contender.phases is not None:
            assert isinstance(method, FloydWarshall)
            self._rounds.clear()
            method.on_round = self._rounds.append
        started = time.perf_counter()
        result = solve(
            self._graph,
            method,
            dtype=self._dtype,
            predecessors=contender.predecessors,
            device=[contender.device, *contender.helpers],
            memory_limit=contender.memory_limit,
            progress=None if contender.limit is None else _within(contender.limit),
        )
        seconds = {
            "kernel": result.stats["kernel_seconds"],
            "transfer": result.stats["transfer_seconds"],
            "wall": time.perf_counter() - started,
        }
        phases = self._seconds_by_phase()
        whose = f"{method!r} on {contender.device.name}, {self._graph.name}"
        self._judge.require(Rows(result.distances, result.predecessors), whose)
        return Turn(seconds, {**result.stats, "phases": phases})

    def _seconds_by_phase(self) -> dict[str, float] | None:
        """Return the seconds of the launches, summed up by their names."""
        names = self._contender.phases
        if names is None:
            return None
        seconds: dict[str, float] = {}
        for events in self._rounds:
            for name, event in zip(names(len(events)), events, strict=True):
                seconds[name] = seconds.get(name, 0.0) + event_seconds(event)
        return seconds

    def record(self) -> dict[str, Any]:
        """Return the record of `solve`, with medians of the timed turns."""
        last, medians = self.timed[-1].facts, self.medians
        kernels, phases = medians["kernel"], last["phases"]
        return {
            **last,
            **{f"{phase}_seconds": seconds for phase, seconds in medians.items()},
            "label": self.label,
            "build_seconds": self.turns[0].facts["build_seconds"],
            "rate": last["work"] / kernels if kernels > 0 else None,
            "repeat": len(self.timed),
            "times": self.times,
            "phases": phases
            and {
                name: median(turn.facts["phases"][name] for turn in self.timed) for name in phases
            },
            "verified": True,
        }


def _within(limit: float) -> Callable[[int, int], None]:
    """Return a progress function that stops a turn after some seconds with a predicted time."""
    started = time.perf_counter()

    def check(done: int, total: int) -> None:
        seconds = time.perf_counter() - started
        if seconds > limit and done < total:
            raise PyApspError(
                f"{done:,} of {total:,} parts done when {limit:g} s were over: about "
                f"{seconds * total / done:.3g} s in all"
            )

    return check
