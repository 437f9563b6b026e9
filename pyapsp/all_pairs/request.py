"""Checks of the arguments of `solve`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from pyapsp.base.errors import ParameterError
from pyapsp.base.files import check_name
from pyapsp.base.host import shares_memory
from pyapsp.device import choose
from pyapsp.graph import as_graph
from pyapsp.graph.validation import choice, flag
from pyapsp.numbers.precision import name_of, resolve
from pyapsp.paths import AllPairsOptions, farthest, vertices
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.registry import (
    Method,
    Request,
    check_limits,
    check_memory,
    method_of,
    problem,
)

__all__ = ["requested"]

#: Where the distances may be after the run.
KEEPS = ("host", "device")


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
    keep: str = "host",
    copy: bool = False,
) -> Request:
    """Check the arguments of a function; parameters and errors are those of `solve`.

    Parameters
    ----------
    owner : str
        Name of the function, for messages.
    copy : bool
        Whether the caller may change `graph` before the request is answered.
    """
    cutoff = farthest(cutoff, owner)
    if out is not None and (not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray)):
        raise ParameterError.of("out", owner, "a NumPy array without a mask", type(out).__name__)
    # if `out` shares memory with the weights, the graph needs a copy
    shared = out is not None and shares_memory(graph, out)
    graph = as_graph(graph, flag("directed", owner, directed), copy=copy or shared)
    rows = None if sources is None else vertices(sources, graph.n, owner)
    memory_limit = check_limits(memory_limit, progress, owner)
    asked = method_of("all-pairs", method, owner)
    chosen_device, *helpers = [choose(each) for each in _listed(device, owner)]
    dtype = out.dtype if dtype is None and out is not None else dtype
    chosen_dtype, reason = resolve(graph, dtype, owner)
    predecessors = flag("predecessors", owner, predecessors)
    keep = choice("keep", owner, keep, KEEPS)
    if keep == "device" and out is not None:
        raise ParameterError(f"{owner} takes either out or keep='device', not both")
    options = AllPairsOptions(
        device=chosen_device,
        dtype=chosen_dtype,
        predecessors=predecessors,
        memory_limit=memory_limit,
        out=out,
        progress=progress,
        helpers=tuple(helpers),
        checkpoint=None if checkpoint is None else check_name(checkpoint, owner, "checkpoint"),
        check=flag("check", owner, check),
        sources=rows,
        cutoff=cutoff,
    ).held_in(chosen_dtype)
    if keep == "device":
        options = _kept(options, graph.n)
    if out is not None:
        _check_out(out, (options.count(graph.n), graph.n), chosen_dtype, owner)
    about = {
        "predecessors": predecessors,
        "cutoff": cutoff,
        "sources": None if rows is None else rows.size,
    }
    reasons = [f"dtype {name_of(chosen_dtype)}: {reason}"]
    if rows is not None:
        reasons.append(f"sources: {rows.size:,}")
    return Request(problem("all-pairs"), graph, asked, options, about, tuple(reasons))


def _kept(options: AllPairsOptions, n: int) -> AllPairsOptions:
    """Return the options of an answer that stays on the device; the run has the memory left."""
    rows = DeviceRows(options.device, (options.count(n), n), options.dtype)
    check_memory([rows.nbytes], options)
    memory = options.device.capabilities.global_memory
    limit = memory if options.memory_limit is None else min(options.memory_limit, memory)
    return replace(options, kept=rows, memory_limit=limit - rows.nbytes)


def _listed(device: Any, owner: str) -> list[Any]:
    """Return the devices as a list, the main one first."""
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
