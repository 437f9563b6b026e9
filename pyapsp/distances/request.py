"""What a caller of `solve` asks for, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np

from pyapsp.device import choose
from pyapsp.errors import ParameterError
from pyapsp.graph import as_graph
from pyapsp.graph.validation import flag
from pyapsp.paths import AllPairsOptions, vertices
from pyapsp.precision import resolve
from pyapsp.registry import Method, Request, check_limits, method_of, problem

__all__ = ["requested"]


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
    graph = as_graph(graph, flag("directed", owner, directed))
    rows = None if sources is None else vertices(sources, graph.n, owner)
    check_limits(memory_limit, progress, owner)
    if out is not None and not isinstance(out, np.ndarray):
        raise ParameterError.of("out", owner, "a NumPy array", type(out).__name__)
    asked = method_of("all-pairs", method, owner)
    chosen_device, *helpers = [choose(each) for each in _listed(device, owner)]
    chosen_dtype, reason = resolve(graph, out.dtype if dtype is None and out is not None else dtype)
    options = AllPairsOptions(
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
    about = {
        "predecessors": bool(predecessors),
        "cutoff": cutoff,
        "sources": None if rows is None else rows.size,
    }
    reasons = [f"dtype {chosen_dtype}: {reason}"]
    if rows is not None:
        reasons.append(f"sources: {rows.size:,}")
    return Request(problem("all-pairs"), graph, asked, options, about, tuple(reasons))


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
