"""What a caller asks for: checked, resolved, planned; and what is said of it afterwards."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np

from pyapsp import __version__
from pyapsp.choice import candidates, suited, unmet
from pyapsp.device import choose
from pyapsp.errors import DeviceError, DeviceMemoryError, ParameterError
from pyapsp.graph import Graph, as_graph
from pyapsp.precision import resolve
from pyapsp.registry import Method, Options, Plan
from pyapsp.registry import method as find_method
from pyapsp.tuning.database import Unchanging, databases

__all__ = ["Planned", "Request", "least", "plans", "reasons", "record", "requested", "vertices"]


@dataclass(frozen=True)
class Request:
    """What was asked for.

    Attributes
    ----------
    graph : Graph
        Undirected, if it is to be.
    method : Method or str
        ``"auto"``, or the one asked for.
    options : Options
        With the type of the answer, and with sources and cutoff whatever the method.
    cutoff : float or None
        As it was given: that of the options is None where the type holds nothing beyond.
    dtype_reason : str
        Why this type.
    """

    graph: Graph
    method: Method | str
    options: Options
    cutoff: float | None
    dtype_reason: str


@dataclass(frozen=True)
class Planned:
    """A plan for a request.

    Attributes
    ----------
    plan : Plan
        Its options are those for this method, see `choice.suited`.
    method : Method
    reason : str
        Why this method.
    seconds : float or None
        Predicted, where that decided; None when nothing is known.
    """

    plan: Plan
    method: Method
    reason: str
    seconds: float | None = None


def requested(
    graph: Any,
    method: str | Method,
    owner: str = "solve",
    *,
    directed: bool = True,
    sources: Sequence[int] | np.ndarray | None = None,
    cutoff: float | None = None,
    dtype: Any = None,
    predecessors: bool = False,
    out: np.ndarray | None = None,
    device: Any = None,
    memory_limit: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    check: bool = True,
) -> Request:
    """Check what a function was asked for; the parameters and errors are those of `solve`.

    Parameters
    ----------
    owner : str
        The function, for messages.
    """
    if cutoff is not None and not (isinstance(cutoff, Real) and cutoff >= 0):
        raise ParameterError.of("cutoff", owner, "a non-negative number", cutoff)
    graph = as_graph(graph)
    if not directed:
        graph = graph.symmetrized()
    rows = None if sources is None else vertices(sources, graph.n, owner)
    if memory_limit is not None and not (isinstance(memory_limit, Integral) and memory_limit > 0):
        raise ParameterError.of("memory_limit", owner, "a positive number of bytes", memory_limit)
    if progress is not None and not callable(progress):
        raise ParameterError.of("progress", owner, "a function of (done, total)", progress)
    if out is not None and not isinstance(out, np.ndarray):
        raise ParameterError.of("out", owner, "a NumPy array", type(out).__name__)
    asked = method if isinstance(method, Method) or method == "auto" else find_method(method)
    chosen_device, *helpers = [choose(each) for each in _listed(device, owner)]
    chosen_dtype, reason = resolve(graph, out.dtype if dtype is None and out is not None else dtype)
    options = Options(
        device=chosen_device,
        dtype=chosen_dtype,
        predecessors=bool(predecessors),
        memory_limit=memory_limit,
        out=out,
        progress=progress,
        helpers=tuple(helpers),
        checkpoint=checkpoint,
        check=check,
        sources=rows,
        cutoff=cutoff,
    ).held_in(chosen_dtype)
    if out is not None:
        _check_out(out, (options.count(graph.n), graph.n), chosen_dtype, owner)
    return Request(graph, asked, options, cutoff, reason)


def vertices(sources: Sequence[int] | np.ndarray, n: int, owner: str) -> np.ndarray:
    """Return sources that a function was given as int64, if they are vertices."""
    rows = np.atleast_1d(np.asarray(sources))
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ParameterError.of("sources", owner, "a sequence of vertices", sources)
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        outside = rows[(rows < 0) | (rows >= n)][0]
        raise ParameterError.of("sources", owner, f"vertices in [0, {n})", int(outside))
    return rows.astype(np.int64)


def _listed(device: Any, owner: str) -> list[Any]:
    """Return the devices that were asked for, the main one first."""
    several = isinstance(device, list | tuple)
    if several and not device:
        raise ParameterError.of("device", owner, "at least one device", device)
    return list(device) if several else [device]


def _check_out(out: np.ndarray, shape: tuple[int, int], dtype: np.dtype, owner: str) -> None:
    fits = (
        out.shape == shape and out.dtype == dtype and out.flags.c_contiguous and out.flags.writeable
    )
    if not fits:
        rule = f"a writeable C-contiguous {dtype} array of shape {shape}"
        raise ParameterError.of("out", owner, rule, f"{out.dtype} {out.shape}")


def plans(
    request: Request, refused: list[DeviceError], block: int | None = None
) -> Iterator[Planned]:
    """Yield the plan of the method asked for, or one after the other of those "auto" may take.

    Parameters
    ----------
    request : Request
    refused : list of DeviceError
        Gets the errors of those that want more memory than there is; see `least`.
    block : int, optional
        How many of the rows will be asked for at a time: the plan is for the first of them, of a
        method that is right for all.
    """
    graph, options, asked = request.graph, request.options, request.method
    first = options
    if block is not None:
        first = replace(options, sources=options.rows(graph.n)[:block])
    if isinstance(asked, Method):
        error = unmet(asked, graph.facts, options)
        if error is not None:
            raise error
        plan = asked.plan(graph, suited(asked, graph, first, options.dtype))
        yield Planned(plan, asked, "as asked")
        return
    looked = databases()
    for choice in candidates(graph, options, looked):
        try:
            with Unchanging(looked):
                plan = choice.method.plan(graph, suited(choice.method, graph, first, choice.dtype))
        except DeviceMemoryError as error:
            refused.append(error)
            continue
        yield Planned(plan, choice.method, choice.reason, choice.seconds)


def least(refused: list[DeviceError]) -> DeviceError:
    """Return the error that asks for the least memory."""
    return min(refused, key=lambda error: getattr(error, "needed", math.inf))


def reasons(request: Request, planned: Planned) -> tuple[str, ...]:
    """Say what was chosen and why."""
    plan, options = planned.plan, request.options
    device, sources = plan.options.device, ""
    if options.sources is not None:
        sources = f", {options.sources.size:,} sources"
    return (
        f"method {planned.method.id}: {planned.reason}",
        f"dtype {options.dtype}: {request.dtype_reason}",
        f"device {device.id} ({device.name}, {device.platform_name})",
        f"parameters: {_parameters(planned.method, plan)}",
        f"device memory: {plan.device_bytes / 2**20:,.1f} MiB for n = {plan.graph.n:,}{sources}",
        *plan.notes,
    )


def _parameters(method: Method, plan: Plan) -> str:
    """Say which parameters were taken, and where from."""
    if not plan.parameters:
        return "none"
    listed = ", ".join(f"{name}={value}" for name, value in plan.parameters.items())
    if method.parameters.keys() == plan.parameters.keys():
        return f"{listed} (as asked)"
    row, origin = plan.tuning, "the default of the method, not tuned"
    if row is not None:
        near = {"device": "this device", "architecture": "this architecture"}
        where = near.get(row["level"], "this kind of device")
        origin = f"tuned for {where}: {row['device']}, {row['dtype']}, n = {row['n']:,}"
    asked = ", ".join(method.parameters)
    return f"{listed} ({f'{asked} as asked; ' if asked else ''}{origin})"


def record(
    request: Request,
    planned: Planned,
    stats: dict[str, Any],
    wall_seconds: float,
    rows: int | None = None,
) -> dict[str, Any]:
    """Return the record of the run (design: what `solve`, the workflow and the bench write).

    Parameters
    ----------
    stats : dict
        As `Answer.stats`.
    wall_seconds : float
        Since the call.
    rows : int, optional
        How many rows there are so far, if they are not all that were asked for.
    """
    plan, options = planned.plan, request.options
    graph, device = plan.graph, options.device
    if rows is None and options.sources is not None:
        rows = options.sources.size
    computed = graph.n if rows is None or plan.options.sources is None else rows
    updates = computed * graph.n**2
    seconds = stats["kernel_seconds"]
    return {
        "schema": 3,
        "pyapsp": __version__,
        "method": planned.method.id,
        "parameters": plan.parameters,
        "tuning": plan.tuning,
        "dtype": options.dtype.name,
        "held_dtype": plan.options.dtype.name,
        "predecessors": options.predecessors,
        "device": {
            **device.identity,
            "units": device.capabilities.compute_units,
            "memory": device.capabilities.global_memory,
        },
        "environment": _environment(),
        "kernel_hash": stats["kernel_hash"],
        "graph": {
            "name": graph.name,
            "n": graph.n,
            "m": graph.m,
            "directed": graph.directed,
            "hash": graph.content_hash,
        },
        "build_seconds": plan.build_seconds,
        "kernel_seconds": seconds,
        "transfer_seconds": stats["transfer_seconds"],
        **stats.get("more", {}),
        "wall_seconds": wall_seconds,
        "updates": updates,
        "updates_per_second": updates / seconds if seconds > 0 else None,
        "roof_updates_per_second": None,
        "fraction_of_roof": None,
        "peak_device_bytes": plan.device_bytes,
        "verified": None,
        "sources": rows,
        "cutoff": request.cutoff,
    }


@cache
def _environment() -> dict[str, str]:
    """Return the versions of what else a run depends on."""
    packages = {name: version(name) for name in ("numpy", "scipy", "pyopencl")}
    return {"python": platform.python_version(), **packages, "os": platform.platform()}
