"""sssp-h-bf: H-BF of Busato and Bombieri, frontiers of Bellman-Ford with all their options.

A marked graph has the class of each arc in its head, so the kernels hold at most 2^30 vertices.
Distances of 8 bytes are computed in int32 where that is proved exact. Where it is not, they do not
fit beside a round in one word, and duplicates are removed by tags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import ClassVar

import numpy as np

from pyapsp.base.errors import CapabilityError, KernelBuildError, ParameterError, PyApspError
from pyapsp.device.kernels import Program, Stopwatch, build
from pyapsp.graph import Facts, Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters, ParameterValues, Plan, Thresholds, register
from pyapsp.traversal.kernels import standard_of_fences
from pyapsp.traversal.search import Search
from pyapsp.traversal.sssp.h_bf import NARROWEST, PACKED, Frontiers, entering_leaves, own_buffers
from pyapsp.traversal.sssp.merged import chunk, chunk_buffers
from pyapsp.traversal.sssp.tree import type_on_device, without_atomics

__all__ = ["SsspHBf"]

# Two bits of a head are the class of the arc.
_LARGEST = 2**30 - 1
# Vertices that a group collects.
_COLLECTED = 1024
# The forms of `duplicates`, as the kernels number them.
_FORMS = ("kept", "atomic64", "cas64", "tag32", "table")
# The forms of `read`.
_READS = ("plain", "read-only", "streamed")


@register
class SsspHBf(Search[Program]):
    """Bellman-Ford from a frontier; each optimisation is a parameter.

    ``classes``: arcs to vertices with one entering or no leaving arc, and self-loops, take no
    atomic. ``duplicates``: how vertices are kept from entering a frontier twice. ``staged``:
    vertices are collected in local memory. ``width``: work-items of a vertex, 0 to choose them in
    each round. ``load``: vertices that a warp takes in turn. ``heavy``: vertices with more arcs are
    relaxed by all groups together; 0 for none. ``split``: warps share the arcs of each vertex, or
    groups those of the whole frontier by merge path; then there are no classes and no duplicates.
    ``read``: whether arcs are read through the cache for constant data, and frontiers and rows are
    streamed past the caches.

    With ``duplicates="table"`` and ``split="merge-path"`` it is the workfront sweep of Davidson et
    al., IPDPS 2014.

    Attributes
    ----------
    on_counts : callable or None
        If it is given, kernels count, and it is called after each search with a dict:
        ``relaxations`` (arcs that were tried with an atomic), ``entries`` of all frontiers, and
        ``duplicates`` that entered none.

    Source: F. Busato, N. Bombieri, IEEE TPDS 27(8), 2016.
    """

    id = "sssp-h-bf"
    problem = "sssp"
    summary = "Bellman-Ford from a frontier: classes of arcs, no duplicates, dynamic warps"
    source = "Busato and Bombieri 2016, doi:10.1109/TPDS.2015.2485994"
    weighted = True
    fills_device_rows = False
    choices: ClassVar[ParameterValues] = {
        **Search.choices,
        "classes": (0, 1),
        "duplicates": _FORMS,
        "staged": (0, 1),
        "width": (0, 1, 2, 4, 8, 16, 32, 64),
        "load": (1, 8, 32, 128),
        "heavy": Thresholds((0, 256, 1024, 4096, 16384)),
        "split": ("warps", "merge-path"),
        "read": _READS,
    }
    on_counts: Callable[[dict[str, int]], None] | None = None

    def candidates(self, options: PathOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield the values of the thesis; on CPUs one work-item for each vertex."""
        scalar = options.device.traits.scalar_groups
        form = "atomic64" if options.device.capabilities.int64_atomics else "tag32"
        for candidate in super().candidates(options):
            yield {
                **candidate,
                "classes": 1,
                "duplicates": form,
                "staged": 1,
                "width": 1 if scalar or Parameters(candidate).integer("group") < NARROWEST else 0,
                "load": 1 if scalar else 32,
                "heavy": 0 if scalar else 4096,
                "split": "warps",
                "read": "plain" if scalar else "read-only",
            }

    def fits(self, parameters: Parameters, options: PathOptions) -> bool:
        """Return whether no warp is split between groups, and the device has the atomics."""
        atomics = options.device.capabilities.int64_atomics
        packed = parameters.word("duplicates") in PACKED
        width = parameters.integer("width") or NARROWEST
        fitting = width <= parameters.integer("group") and (atomics or not packed)
        if parameters.word("split") == "merge-path":
            room = options.device.capabilities.local_memory
            fitting &= parameters.word("duplicates") != "kept"
            fitting &= 4 * (_COLLECTED + 2 * chunk(parameters) + 8) <= room
        return fitting and super().fits(parameters, options)

    def idle(self, parameters: Parameters, options: PathOptions) -> Mapping[str, int | str]:
        """Return what there is only beside warps."""
        if parameters.word("split") == "warps":
            return {}
        return {"classes": 0, "width": 1, "load": 1, "heavy": 0}

    def rule(self, options: PathOptions) -> str:
        """Return the limits."""
        return (
            f"{super().rule(options)}, and at least width; atomic64 and cas64 need 64-bit atomics; "
            "merge-path removes duplicates, and its chunks must fit "
            f"{options.device.capabilities.local_memory:,} bytes"
        )

    def unmet(self, about: Graph | Facts, options: PathOptions) -> PyApspError | None:
        """Return the error of a graph that is too large, or of distances that need wide atomics."""
        if about.n > _LARGEST or about.m > 2**31 - 1:
            return CapabilityError(
                f"{self.id} counts in 32 bits and keeps two of a vertex, and the graph has "
                f"{about.n:,} vertices and {about.m:,} arcs"
            )
        error = without_atomics(self.id, about, options, "sssp-bellman-ford")
        return super().unmet(about, options) if error is None else error

    def plan(self, graph: Graph, options: PathOptions) -> Plan[Graph, PathOptions, Program]:
        """Choose the parameters: a word has no place for a distance of 8 bytes and a round.

        Raises
        ------
        ParameterError
            If the caller asks for such a word.
        """
        dtype = type_on_device(graph, options.dtype)
        if dtype.itemsize < 8:
            return super().plan(graph, options)
        form = self.parameters.get("duplicates", "tag32")
        if form in PACKED:
            legal = f"kept, tag32 or table for distances in {dtype}"
            raise ParameterError.of("duplicates", self.id, legal, form)
        unpacked = copy(self)
        unpacked.parameters = Parameters({**self.parameters, "duplicates": form})
        return super(SsspHBf, unpacked).plan(graph, options)

    def buffers(self, graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
        """Return the bytes of each buffer: arcs, arcs that enter leaves, and those of `_own`."""
        item = type_on_device(graph, options.dtype).itemsize
        sizes = [8 * (graph.n + 1), 4 * graph.m, item * graph.m]
        if parameters.integer("classes") and graph.m:
            leaves, _, tails, _ = entering_leaves(graph)
            leaf = [4 * leaves.size, 4 * (leaves.size + 1), 4 * tails.size, item * tails.size]
            sizes += [4 * graph.m, 4 * graph.n, *(leaf if leaves.size else [])]
        sizes += own_buffers(graph, options, parameters)
        sizes += chunk_buffers(graph, options, parameters)
        return [max(size, 4) for size in sizes]

    def prepare(self, graph: Graph, options: PathOptions, parameters: Parameters) -> Program:
        """Build the kernels.

        Raises
        ------
        CapabilityError
            If reads are to be streamed, and the compiler of the device has no such reads.
        """
        device, dtype = options.device, type_on_device(graph, options.dtype)
        defines = arithmetic_defines(device, dtype, guard=graph.has_negative) | {
            **parameters.macros("group", "classes", "staged"),
            "PYAPSP_DUPLICATES": _FORMS.index(parameters.word("duplicates")),
            "PYAPSP_WIDE": int(dtype.itemsize == 8),
            "PYAPSP_HALF": int(dtype == np.float16),
            "PYAPSP_HELD": _COLLECTED,
            "PYAPSP_READ": _READS.index(parameters.word("read")),
            "PYAPSP_COUNTED": int(self.on_counts is not None),
        }
        if parameters.word("split") == "merge-path":
            each = chunk(parameters) // parameters.integer("group")
            defines |= {"PYAPSP_MERGED": 1, "PYAPSP_EACH": each}
        file, standard = "traversal/sssp/sssp_h_bf.cl", standard_of_fences(device)
        try:
            return build(device, file, defines, standard=standard)
        except KernelBuildError as error:
            if "no __builtin_nontemporal_load" not in str(error):
                raise
            raise CapabilityError(
                f"read=streamed of {self.id} needs __builtin_nontemporal_load, which the compiler "
                f"of {device.name} does not have: use read-only or plain"
            ) from None

    def open(self, plan: Plan[Graph, PathOptions, Program], watch: Stopwatch) -> Frontiers:
        """Copy the graph to the device, and set the classes of arcs."""
        return Frontiers(plan, watch, self.on_counts)
