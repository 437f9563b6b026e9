"""bfs-helix: the registered method, its plan and its buffers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

import numpy as np

from pyapsp.base.errors import CapabilityError, ParameterError
from pyapsp.device.kernels import Program, Stopwatch, build_warps
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters, ParameterValues, Plan, register
from pyapsp.traversal.bfs.helix import dimensions, form
from pyapsp.traversal.bfs.helix.automatic import RULES, Facts, facts_of, wanted
from pyapsp.traversal.bfs.helix.chunks import ChunkSearch
from pyapsp.traversal.bfs.helix.lists import ListSearch
from pyapsp.traversal.kernels import MOST_COUNTED, resident, search_defines, standard_of_fences
from pyapsp.traversal.request import sourced
from pyapsp.traversal.search import Search, Searcher

__all__ = ["BfsHelix"]


@register
class BfsHelix(Search[Program]):
    """Breadth-first search over a frontier, with many forms of each step.

    Without parameters the configuration is chosen for the graph and the device: on GPUs by the
    published decision tree, from the mean, the largest and the Gini coefficient of the degrees, or
    with ``rules="fitted"`` by one that was fitted to measurements on a newer GPU; on CPUs groups of
    one work-item, and rules are refused. Values that are given are kept, and the others fitted to
    them.

    Source: F. Busato, High-Performance and Power-Aware Graph Processing on GPUs, thesis, Verona
    2018, chapter 7.

    Attributes
    ----------
    on_mask : callable or None
        If it is given, and there is a bitmask, it is called after each search with the part of the
        vertices whose bit is set.
    """

    id = "bfs-helix"
    problem = "bfs"
    carries_predecessors = True
    summary = "a list of frontier vertices or arcs; each step can be chosen, or follows the degrees"
    source = (
        "Busato 2018, High-Performance and Power-Aware Graph Processing on GPUs, chapter 7, "
        "https://iris.univr.it/handle/11562/979445"
    )
    choices: ClassVar[ParameterValues] = {**dimensions.CHOICES, "rules": RULES}
    on_mask: Callable[[float], None] | None = None
    _facts: Facts | None = None

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield the configuration for the graph of the plan, completed around given values."""
        device, fixed = options.device, dict(self.parameters)
        rules = str(fixed.pop("rules", RULES[0]))
        best = wanted(device, self._facts, resident(device), rules)
        yield {**(dimensions.completed(fixed, best, device) or best), "rules": rules}

    def fits(self, parameters: Parameters, options: PathOptions) -> bool:
        """Return whether the values go together; see `pyapsp.traversal.bfs.helix.dimensions`.

        On CPUs groups of several work-items must be asked for: they are slower.
        """
        persistent = (
            self.parameters.get("sync") == "persistent" or parameters.word("rules") == "fitted"
        )
        alone = parameters.integer("group") == 1 or not options.device.traits.scalar_groups
        return (
            (persistent or parameters.word("sync") != "persistent")
            and (alone or "group" in self.parameters)
            and dimensions.fits(parameters, options.device)
            and form.local_bytes(parameters, options.predecessors)
            <= options.device.capabilities.local_memory
        )

    def idle(self, parameters: Parameters, options: PathOptions) -> Mapping[str, int | str]:
        """Return the rules on a CPU, where the configuration does not depend on the graph."""
        return {"rules": RULES[0]} if options.device.traits.scalar_groups else {}

    def rule(self, options: PathOptions) -> str:
        """Return the conditions of `fits`."""
        limit = f"{super().rule(options)}, with its local memory in that of the device"
        return f"{limit}; {dimensions.RULE}"

    def check(self, graph: Graph, options: PathOptions) -> None:
        """Raise an error if the number of an arc, or of a work-item beyond the last, is no int."""
        if graph.m > MOST_COUNTED:
            raise CapabilityError(
                f"{self.id} takes at most {MOST_COUNTED:,} arcs, and there are {graph.m:,}"
            )

    def plan(self, graph: Graph, options: PathOptions) -> Plan[Graph, PathOptions, Program]:
        """Choose the configuration for the graph, check memory and build the kernels."""
        chosen = copy.copy(self)
        chosen._facts = facts_of(graph)
        return Search.plan(chosen, graph, sourced(graph, options))

    def buffers(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer."""
        return form.buffers(graph, options, parameters)

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> Program:
        """Build the kernels."""
        group, most = parameters.integer("group"), np.diff(graph.indptr).max(initial=0)
        numbered = parameters.word("balance") not in ("node", "node-shuffle")
        if numbered and parameters.word("duplicates") != "cas" and int(most) * group >= 2**31:
            raise ParameterError(
                f"balance={parameters['balance']} numbers the arcs of a group, which may have one "
                f"vertex of {most:,} arcs many times: use duplicates=cas"
            )
        defines = form.defines(graph, options, parameters) | search_defines(options)
        # relaxed loads and stores in place of read-modify-write operations
        standard = standard_of_fences(options.device)
        optimise = group == 1 or options.device.traits.optimises_barriers
        name = f"traversal/bfs/{form.kernel_file(parameters)}"
        return build_warps(options.device, name, defines, standard=standard, optimise=optimise)

    def open(self, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch) -> Searcher:
        """Copy the graph to the device."""
        by_chunks = plan.parameters.word("balance") == "device"
        search = ChunkSearch(plan, watch) if by_chunks else ListSearch(plan, watch)
        search.on_mask = self.on_mask
        return search
