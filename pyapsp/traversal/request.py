"""The request of `bfs` or `sssp`: checks of the arguments, and the default source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.base.errors import CapabilityError, ParameterError
from pyapsp.base.json import Json
from pyapsp.device import Device, DeviceLike
from pyapsp.graph import Graph, GraphLike, Vertices, Weight, as_graph, as_structure
from pyapsp.graph.device_graph import devices_for
from pyapsp.graph.validation import choice, flag
from pyapsp.numbers.precision import name_of, only_int32, resolve
from pyapsp.paths import KEEPS, PathOptions, farthest, vertices_of
from pyapsp.registry import Limits, Method, Request, request

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["NO_LEVEL", "SearchArguments", "default_source", "requested", "sourced"]

#: The level of a vertex without a path.
NO_LEVEL = -1


class SearchArguments(Limits, total=False):
    """The arguments of `requested` after the sources."""

    device: DeviceLike | Sequence[DeviceLike]
    directed: bool
    weight: Weight
    dtype: DTypeLike | None
    predecessors: bool
    cutoff: float | None
    targets: Vertices | None
    check: bool
    keep: str


def requested(
    name: str,
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    sources: Vertices | None = None,
    directed: bool = True,
    weight: Weight = ...,
    dtype: DTypeLike | None = None,
    predecessors: bool = False,
    cutoff: float | None = None,
    targets: Vertices | None = None,
    check: bool = True,
    keep: str = "host",
    device: DeviceLike | Sequence[DeviceLike] = None,
    **limits: Unpack[Limits],
) -> Request:
    """Check the arguments of a search; parameters and errors are those of `bfs` and `sssp`.

    Parameters
    ----------
    name : str
        The id of the problem, which is the name of its function: ``"bfs"`` or ``"sssp"``.
    sources : int or sequence of int, optional
        By default the vertex with the most leaving arcs.
    weight : hashable, callable or None, optional
        Where the weights are; ``"bfs"`` uses none.
    dtype : dtype-like or "auto", optional
        Type of the distances; levels are int32.
    targets : int or sequence of int, optional
        Vertices; the search may stop when their distances are known.
    keep : {"host", "device"}
        Where the answer is after the run. On the device, ``"bfs"`` has levels, -1 without a path.
    """
    cutoff = farthest(cutoff, name)
    directed = flag("directed", name, directed)
    if name == "bfs":
        graph = as_structure(graph, directed)
    else:
        graph = as_graph(graph, directed, weight=weight, copy=False)
    if sources is None:
        sources = default_source(graph)
    rows = vertices_of(graph, sources, name, "source")
    ends = None if targets is None else vertices_of(graph, targets, name, "targets")
    if ends is not None and ends.size == 0:
        raise ParameterError.of("targets", name, "at least one vertex", targets)
    chosen_dtype, reason = _dtype(name, graph, dtype)
    predecessors = flag("predecessors", name, predecessors)
    main, *helpers = devices_for(graph, device, name)
    stays = choice("keep", name, keep, KEEPS) == "device"
    if stays and helpers:
        raise CapabilityError(f"{name} takes one device with keep='device'")
    check = flag("check", name, check)

    def options(device: Device, dtype: np.dtype, **more: Any) -> PathOptions:
        checked = PathOptions(
            device,
            dtype,
            predecessors,
            sources=rows,
            cutoff=cutoff,
            targets=ends,
            check=check,
            helpers=tuple(helpers),
            **more,
        ).computed_in(dtype)
        if not stays:
            return checked
        none = NO_LEVEL if name == "bfs" else None
        return checked.on_device(graph.n, none=none, predecessors=predecessors)

    arguments: dict[str, Json] = {
        "predecessors": predecessors,
        "cutoff": cutoff,
        "sources": rows.size,
        "source": int(rows[0]) if rows.size == 1 else None,
    }
    if ends is not None:
        arguments["targets"] = ends.size
    reasons = f"dtype {name_of(chosen_dtype)}: {reason}", f"sources: {rows.size:,}"
    return request(
        name,
        graph,
        options,
        chosen_dtype,
        method,
        device=main,
        **limits,
        arguments=arguments,
        reasons=reasons,
    )


def _dtype(name: str, graph: Graph, dtype: DTypeLike | None) -> tuple[np.dtype, str]:
    """Return the type of the distances, and why."""
    if name == "sssp":
        return resolve(graph, dtype, name)
    # int32 holds every level: a shortest path has fewer arcs than the graph has vertices
    return only_int32(dtype, name), "levels are whole numbers"


def default_source(graph: Graph) -> np.ndarray:
    """Return the first vertex with the most leaving arcs; an empty array for an empty graph.

    Returns
    -------
    (1,) or (0,) int64 ndarray
    """
    most = [np.diff(graph.indptr).argmax()] if graph.n else []
    return np.array(most, np.int64)


def sourced(graph: Graph, options: PathOptions) -> PathOptions:
    """Return options with sources: the default source if there are none."""
    if options.sources is not None:
        return options
    return replace(options, sources=default_source(graph))
