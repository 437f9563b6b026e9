"""What truss-delta and truss-iterative share: steps that remove all edges of too little support."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.base.json import Json
from pyapsp.graph import Graph
from pyapsp.registry import Options, Parameters, ParameterValues, Plan
from pyapsp.traversal.kernels import Launcher
from pyapsp.trusses import intersections
from pyapsp.trusses.counting import EDGES
from pyapsp.trusses.decomposition import Removal, RemovalMethod, TrussOptions
from pyapsp.trusses.intersections import CHOICES
from pyapsp.trusses.remaining import RemainingInHornet
from pyapsp.trusses.rows import Rows, Selection, buffer, zeros
from pyapsp.trusses.step_programs import StepPrograms
from pyapsp.trusses.triangles_intersect import IntersectCounter, longest_row

__all__ = ["ALIVE", "StepMethod", "Steps"]

#: The mark of an edge that is left, in the kernels.
ALIVE = 2**31 - 1


@dataclass
class Steps:
    """The edges that are left, on the device."""

    plan: Plan[Graph, TrussOptions, StepPrograms]
    queue: cl.CommandQueue
    rows: Rows  # both arcs of each edge that is left, with its number
    up: Rows  # one arc of each edge that is left, with its number
    # The vertices of each edge of the graph.
    tails: cl.Buffer
    ends: cl.Buffer
    # The triangles of each edge, its mark and its trussness.
    supports: cl.Buffer
    marks: cl.Buffer
    values: cl.Buffer
    list: cl.Buffer  # the edges that the step removed
    # Edges of the graph; how many are left; the number of the step.
    edges: int
    left: int
    step: int = 0
    remaining: RemainingInHornet | None = None  # what is left, if it is in a Hornet

    def find(self, least: int, value: int) -> int:
        """Mark the edges with less than `least` triangles, and return their number."""
        self.step += 1
        program, group = self.plan.state.weak, self.plan.parameters.integer("group")
        launch, count = Launcher(self.queue, program, group), zeros(self.queue, 1)
        numbers = map(np.int32, (self.edges, least, self.step, value))
        arrays = self.supports, self.marks, self.values, self.list, count
        items = min(self.edges, self.plan.state.items)
        launch("weak_edges", items, *arrays, *numbers)
        marked = np.empty(1, np.int32)
        cl.enqueue_copy(self.queue, marked, count)
        self.left -= int(marked[0])
        return int(marked[0])


class StepMethod(RemovalMethod[StepPrograms]):
    """Base of the published methods. A subclass removes the edges that a step has marked."""

    choices: ClassVar[ParameterValues] = {
        **CHOICES,
        "container": ("csr", "hornet"),
    }

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield the usual sets."""
        return ({**each, "container": "csr"} for each in intersections.candidates(options))

    def fits(self, parameters: Parameters, options: Options) -> bool:
        """Return whether parameters go together on the device."""
        return intersections.fits(parameters, options)

    def rule(self, options: Options) -> str:
        """Return the conditions of `fits`."""
        return intersections.rule(options)

    @abstractmethod
    def take(self, steps: Steps, removed: int) -> None:
        """Remove the marked edges, of which there are so many, and update the supports."""

    def further(self, graph: Graph, options: TrussOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of supports, marks and lists, of units, and of two sets of rows."""
        n, m = graph.n, graph.m
        select, edges = Selection(options.device, oriented=False), 4 * (m // 2)
        counter = IntersectCounter(options.device, EDGES, parameters)
        rows = [4 * (n + 1), 4 * m, 4 * m] * 3
        hornet = parameters.word("container") == "hornet"
        container = RemainingInHornet.buffers(n, m) if hornet else []
        return [*[edges] * 4, 8, *rows, *select.buffers(n, m), *counter.buffers(m), *container]

    def remove(
        self, plan: Plan[Graph, TrussOptions, StepPrograms], state: Removal
    ) -> dict[str, Json]:
        """Remove edges until none, or the truss, is left; report the seconds of each k from 3."""
        queue, up, edges = state.queue, state.up, state.up.m
        assert up.values is not None
        ids, marks = buffer(queue, edges), buffer(queue, edges)
        cl.enqueue_copy(queue, ids, np.arange(edges, dtype=np.int32))
        cl.enqueue_fill_buffer(queue, marks, np.full(1, ALIVE, np.int32), 0, 4 * edges)
        steps = Steps(
            plan,
            queue,
            state.rows,
            Rows(up.first, up.heads, up.n, edges, ids),
            tails=up.values,
            ends=up.heads,
            supports=zeros(queue, edges),
            marks=marks,
            values=state.values,
            list=buffer(queue, edges),
            edges=edges,
            left=edges,
        )
        if plan.parameters.word("container") == "hornet":
            ends = steps.tails, steps.ends, steps.marks, steps.supports, steps.list
            steps.remaining = RemainingInHornet(plan, queue, state.rows, edges, *ends)
        clock = [time.perf_counter()]
        self.count(steps)
        wanted, removals = plan.options.k, 0
        k = 3 if wanted is None else wanted
        while steps.left:
            removed = steps.find(k - 2, 0 if wanted is not None else k - 1)
            if removed:
                removals += 1
                if steps.left:
                    self.take(steps, removed)
            elif wanted is not None:
                break
            else:
                k += 1
                clock.append(time.perf_counter())
        clock.append(time.perf_counter())
        return {"steps": removals, "k_seconds": np.diff(clock).tolist()}

    @staticmethod
    def count(steps: Steps) -> None:
        """Count the triangles of each edge that is left; the supports are 0 before."""
        if steps.remaining is not None:
            steps.remaining.count(steps.left)
            return
        longest = longest_row(steps.plan.input.m)
        counter = steps.plan.state.counter
        counter.of_edges(steps.queue, steps.up, steps.tails, steps.supports, longest)
