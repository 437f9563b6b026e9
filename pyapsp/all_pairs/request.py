"""The request of `solve`: checks of the arguments, and the conversion of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import cast

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.base.errors import ParameterError
from pyapsp.base.files import check_name
from pyapsp.base.host import shares_memory
from pyapsp.base.json import Record
from pyapsp.device import Device, DeviceLike, choose
from pyapsp.graph import Graph, GraphLike, Vertices, Weight, as_graph
from pyapsp.graph.device_graph import devices_for
from pyapsp.graph.device_matrix import sent, should_be_sent
from pyapsp.graph.validation import choice, flag, output
from pyapsp.numbers.precision import name_of, resolve
from pyapsp.paths import KEEPS, AllPairsOptions, farthest, vertices_of
from pyapsp.registry import Method, Request, check_limits, method_of, problem

__all__ = ["Arguments", "requested"]

# The area of the methods that compute a matrix on the device.
_MATRIX_METHODS = "all_pairs/dense"


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The arguments of `solve` beside the graph, as the caller gave them."""

    method: str | Method = "auto"
    directed: bool = True
    weight: Weight = ...
    sources: Vertices | None = None
    cutoff: float | None = None
    dtype: DTypeLike | None = None
    predecessors: bool = False
    out: np.ndarray | str | PathLike[str] | None = None
    device: DeviceLike | Sequence[DeviceLike] = None
    memory_limit: int | None = None
    checkpoint: str | PathLike[str] | None = None
    progress: Callable[[int, int], None] | None = None
    check: bool = True
    keep: str = "host"
    fallback: bool = True


def requested(
    graph: GraphLike,
    arguments: Arguments,
    owner: str = "solve",
    *,
    copy: bool = False,
    sends: bool = False,
) -> Request:
    """Check the arguments of a function; errors are those of `solve`.

    Parameters
    ----------
    graph : Graph or graph-like
    arguments : Arguments
    owner : str
        Name of the function, for messages.
    copy : bool
        Whether the caller may change `graph` before the request is answered.
    sends : bool
        Whether a matrix may be copied to the device now. The request then has a `DeviceMatrix`,
        which is to be released.
    """
    out = arguments.out
    cutoff = farthest(arguments.cutoff, owner)
    if out is not None and (not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray)):
        raise ParameterError.of("out", owner, "a NumPy array without a mask", type(out).__name__)
    graph = _converted(graph, arguments, owner, copy=copy, sends=sends)
    rows = None if arguments.sources is None else vertices_of(graph, arguments.sources, owner)
    memory_limit = check_limits(arguments.memory_limit, arguments.progress, owner)
    method = method_of("all-pairs", arguments.method, owner)
    device, *helpers = devices_for(graph, arguments.device, owner)
    dtype = out.dtype if arguments.dtype is None and out is not None else arguments.dtype
    answer_dtype, reason = resolve(graph, dtype, owner)
    predecessors = flag("predecessors", owner, arguments.predecessors)
    keep = choice("keep", owner, arguments.keep, KEEPS)
    if keep == "device" and out is not None:
        raise ParameterError(f"{owner} takes either out or keep='device', not both")
    folder = arguments.checkpoint
    options = AllPairsOptions(
        device=device,
        dtype=answer_dtype,
        predecessors=predecessors,
        memory_limit=memory_limit,
        out=out,
        progress=arguments.progress,
        helpers=tuple(helpers),
        checkpoint=None if folder is None else check_name(folder, owner, "checkpoint"),
        check=flag("check", owner, arguments.check),
        sources=rows,
        cutoff=cutoff,
    ).computed_in(answer_dtype)
    if keep == "device":
        options = options.on_device(graph.n)
    if out is not None:
        output(owner, out, (options.count(graph.n), graph.n), answer_dtype)
    about: Record = {
        "predecessors": predecessors,
        "cutoff": cutoff,
        "sources": None if rows is None else rows.size,
    }
    reasons = [f"dtype {name_of(answer_dtype)}: {reason}"]
    if rows is not None:
        reasons.append(f"sources: {rows.size:,}")
    fallback = flag("fallback", owner, arguments.fallback)
    return Request(problem("all-pairs"), graph, method, options, about, tuple(reasons), fallback)


def _converted(
    graph: GraphLike, arguments: Arguments, owner: str, *, copy: bool, sends: bool
) -> Graph:
    """Return the graph of the call, on the device if it may be sent there and that is worth it."""
    device = _device_for_facts(graph, arguments) if sends else None
    # if `out` shares memory with the weights, the graph needs a copy
    out = arguments.out
    shared = isinstance(out, np.ndarray) and shares_memory(graph, out)
    directed = flag("directed", owner, arguments.directed)
    if device is not None and not shared:
        return sent(cast("np.ndarray", graph), device)
    return as_graph(graph, directed, weight=arguments.weight, copy=copy or shared)


def _device_for_facts(graph: GraphLike, arguments: Arguments) -> Device | None:
    """Return the device to which a matrix is copied before its facts are known; None for none.

    The methods that compute the matrix begin with this copy. Predecessors and searches need the
    arcs on the host.
    """
    plain = arguments.directed is True and arguments.weight is ... and arguments.sources is None
    alone = not isinstance(arguments.device, list | tuple) and arguments.memory_limit is None
    if not (type(graph) is np.ndarray and plain and alone) or arguments.predecessors:
        return None
    method = method_of("all-pairs", arguments.method, "solve")
    if not isinstance(method, str) and method.area != _MATRIX_METHODS:
        return None
    device = choose(cast("DeviceLike", arguments.device))
    return device if should_be_sent(graph, device) else None
