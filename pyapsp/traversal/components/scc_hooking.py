"""scc-hooking: components of symmetric graphs, and weak components of all, by growing trees."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pyapsp.base.errors import CapabilityError, PyApspError
from pyapsp.device import device_errors
from pyapsp.device.kernels import Stopwatch
from pyapsp.device.kernels.residents import scratch, scratches
from pyapsp.device.kernels.transfer import hand_back, in_place, settled, shared, uploaded
from pyapsp.graph import Graph
from pyapsp.paths.device_rows import DeviceRows, HostOrDevice
from pyapsp.paths.landing import deliver
from pyapsp.registry import Options, Parameters, ParameterValues, Plan, Stats, register
from pyapsp.traversal.components.component_methods import Arcs, ComponentMethod, Labels, rows_for
from pyapsp.traversal.components.hooking import Hooking
from pyapsp.traversal.components.numbering import Numbering
from pyapsp.traversal.kernels import MOST_COUNTED, offset_type
from pyapsp.traversal.symmetry import known_symmetric

__all__ = ["SccHooking"]


@dataclass(frozen=True)
class _Programs:
    """The kernels."""

    hooking: Hooking
    numbering: Numbering


@register
class SccHooking(ComponentMethod):
    """Every vertex points to a smaller one; arcs join trees until each is a component.

    Source: Y. Shiloach, U. Vishkin, 1982; M. Sutton, T. Ben-Nun, A. Barak, IPDPS 2018.
    """

    id = "scc-hooking"
    summary = "trees joined along arcs, for symmetric graphs or weak components"
    source = "Shiloach and Vishkin 1982; Sutton et al. 2018, doi:10.1109/IPDPS.2018.00012"
    requires = Arcs(symmetric=True)
    choices: ClassVar[ParameterValues] = {"group": (1, 64, 256, 1024)}

    def unmet(self, about: Graph, options: Options) -> PyApspError | None:
        """Return the error of a graph with nearly 2^31 arcs, or one that is not symmetric."""
        if about.m > MOST_COUNTED:
            return CapabilityError(
                f"{self.id} takes at most {MOST_COUNTED:,} arcs, not {about.m:,}"
            )
        return super().unmet(about, options)

    def candidates(self, options: Options) -> Iterator[Mapping[str, int | str]]:
        """Yield large groups, and on CPUs one work-item."""
        for group in (1,) if options.device.traits.scalar_groups else (1024, 256, 64, 1):
            yield {"group": group}

    def buffers(self, graph: Graph, options: Options, parameters: Parameters) -> list[int]:
        """Return the bytes of the arcs, of those of the trees, and of the numbers."""
        n, numbering = graph.n, Numbering(options.device, parameters.integer("group"))
        arcs = [offset_type(options.device).itemsize * (n + 1), 4 * graph.m]
        sizes = [*arcs, *Hooking.buffers(n), 4 * n, *numbering.buffers(n)]
        return [max(size, 4) for size in sizes]

    def prepare(self, graph: Graph, options: Options, parameters: Parameters) -> _Programs:
        """Build the kernels."""
        device, group = options.device, parameters.integer("group")
        return _Programs(Hooking(device, group), Numbering(device, group))

    def run(self, plan: Plan[Graph, Options, _Programs]) -> Labels:
        """Find the components."""
        graph, options, watch = plan.input, plan.options, Stopwatch()
        labels, seconds = rows_for(options, graph.n), 0.0
        if graph.n:
            with device_errors(options.device, plan.device_bytes):
                seconds = _search(plan, watch, labels)
        if options.progress is not None:
            options.progress(graph.n, graph.n)
        stats: Stats = {
            "kernel_seconds": seconds,
            "transfer_seconds": watch.seconds("transfer"),
            "kernel_hash": plan.state.hooking.hash,
        }
        return Labels(labels=labels, stats=stats)


def _search(plan: Plan[Graph, Options, _Programs], watch: Stopwatch, labels: HostOrDevice) -> float:
    """Fill the labels, and return the seconds of the kernels by the clock of the host."""
    graph, device = plan.input, plan.options.device
    queue, n = device.own_queue(), graph.n
    arcs = uploaded(queue, watch, (graph.indptr, offset_type(device)), (graph.indices, None))
    trees = scratches(device, Hooking.buffers(n))
    sums = scratches(device, plan.state.numbering.buffers(n))
    own, here = [*trees, *sums], in_place(device.handle)
    if isinstance(labels, DeviceRows):
        numbers = labels.buffer  # which is allocated while the first kernels run
    else:
        numbers = shared(queue, labels) if here else scratch(device, 4 * n)
        own.append(numbers)
    settled(queue, *own)
    started = time.perf_counter()
    symmetric = bool(known_symmetric(graph))
    plan.state.hooking(queue, arcs, (n, graph.m), trees, symmetric=symmetric)
    plan.state.numbering(queue, trees[0], trees[0], numbers, n, sums)
    if here and isinstance(labels, np.ndarray):
        hand_back(queue, numbers, labels)
    queue.finish()
    seconds = time.perf_counter() - started
    if not here and isinstance(labels, np.ndarray):
        deliver(queue, numbers, labels, watch)
    return seconds
