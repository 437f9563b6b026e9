"""The answer of a method, converted to the rows, type and cutoff that were asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pyapsp.numbers.checks import check_answer, check_diagonal, converted
from pyapsp.paths import AllPairsOptions, Rows
from pyapsp.paths.device_rows import DeviceRows, may_be_clipped
from pyapsp.registry import AnyPlan, Request

__all__ = ["check_rows", "rows_of", "settle"]


def settle(request: Request, plan: AnyPlan, answer: Rows) -> Rows:
    """Convert an answer to the rows, type and cutoff that were asked for.

    Raises
    ------
    NegativeCycleError, PrecisionError
        As `solve`.
    """
    check_rows(request, answer)
    if isinstance(answer.distances, DeviceRows):
        return answer
    rows = request.options.sources if plan.options.sources is None else None
    distances, before = rows_of(request, plan.options, answer, rows, request.options.out)
    device_rows = request.options.device_rows
    if device_rows is not None:
        device_rows.put(distances)
        distances = device_rows
    if distances is answer.distances and before is answer.predecessors:
        return answer
    return replace(answer, distances=distances, predecessors=before)


def check_rows(request: Request, answer: Rows) -> None:
    """Check for negative cycles and clipped distances, unless the method has done so.

    Raises
    ------
    NegativeCycleError, PrecisionError
        As `solve`.
    """
    graph, distances, sources = request.input, answer.distances, request.options.sources
    if answer.checked:
        return
    if graph.has_negative:  # as a negative cycle has
        check_diagonal(graph, distances.diagonal())
    if isinstance(distances, DeviceRows):
        if not request.options.must_check(graph) or not may_be_clipped(graph, distances):
            return
        distances = distances.get()
    if request.options.must_check(graph):
        # Without negative weights, a clipped distance in one row cannot make another row wrong.
        everything = sources is None or graph.has_negative
        check_answer(graph, distances if everything else distances[sources])


def rows_of(
    request: Request,
    options_of_run: AllPairsOptions,
    answer: Rows,
    rows: np.ndarray | None = None,
    out: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return distances and predecessors in the type and up to the cutoff asked for.

    Parameters
    ----------
    request : Request
    options_of_run : AllPairsOptions
        The options of the plan.
    answer : Rows
        The answer of a method to this plan.
    rows : (k,) int64 ndarray, optional
        The rows of the answer to return; by default all.
    out : (k, n) ndarray, optional
        Array for the distances.
    """
    options, distances, before = request.options, answer.distances, answer.predecessors
    if rows is not None:
        here = out if distances.dtype == options.dtype else None
        # the row numbers are in range; without "clip", `take` makes a copy to check that
        distances = np.take(distances, rows, axis=0, out=here, mode="clip")
        before = None if before is None else before[rows]
    if distances.dtype != options.dtype:
        distances = converted(distances, options.dtype, out)
    if options_of_run.cutoff is None:
        options.hide(distances, before)
    return distances, before
