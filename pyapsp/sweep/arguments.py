"""Check and convert the arguments of a sweep for the kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.graph import validation
from pyapsp.sweep.arrays import Array
from pyapsp.sweep.run import Slice

__all__ = ["checked", "count", "stacked"]

_OWNER, _MOST = "the sweep", 2**31 - 1


def checked(
    arrays: Sequence[Array],
    data: Mapping[str, ArrayLike],
    roles: tuple[str, ...] = ("input", "common"),
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return inputs and common arrays in the types and shapes of the kernels.

    Parameters
    ----------
    arrays : sequence of Array
    data : mapping of str to array-like
    roles : tuple of str
        Roles of the arrays that must be given.

    Raises
    ------
    ParameterError
        An array is missing, unknown, of another shape, or not of its type.
    """
    wanted = {array.name: array for array in arrays if array.role in roles}
    for name in data:
        if name not in wanted:
            raise ParameterError.of(name, _OWNER, f"one of {', '.join(wanted)}", name)
    values = {}
    for name, array in wanted.items():
        if name not in data:
            raise ParameterError.of(name, _OWNER, "given", None)
        values[name] = _converted(array, data[name])
    inputs = {name: value for name, value in values.items() if wanted[name].role == "input"}
    return inputs, {name: value for name, value in values.items() if name not in inputs}


def count(tasks: int | None, inputs: Mapping[str, np.ndarray]) -> int:
    """Return the number of tasks, which must be the same in all inputs.

    Raises
    ------
    ParameterError
        It is not the same, or out of range; or there are no inputs and `tasks` is None.
    """
    counts: dict[str, int] = {name: value.shape[0] for name, value in inputs.items()}
    if tasks is not None:
        counts["tasks"] = validation.integer("tasks", _OWNER, tasks, 0, _MOST)
    if not counts:
        raise ParameterError.of("tasks", _OWNER, "given, as there are no inputs", tasks)
    if len(set(counts.values())) > 1:
        raise ParameterError.of("tasks", _OWNER, "the same for all inputs", counts)
    number = next(iter(counts.values()))
    if number > _MOST:
        raise ParameterError.of("tasks", _OWNER, f"at most {_MOST}", number)
    return number


def stacked(arrays: Sequence[Array], first: int, tasks: Sequence[Mapping[str, ArrayLike]]) -> Slice:
    """Return a slice made from single tasks, with memory for their outputs.

    Raises
    ------
    ParameterError
        An input of a task is missing, of another shape, or not of its type.
    """
    inputs = {array.name: array for array in arrays if array.role == "input"}
    for number, task in enumerate(tasks, start=first):
        if set(task) != set(inputs):
            rule = f"of {', '.join(inputs)}"
            raise ParameterError.of(f"task {number}", _OWNER, rule, list(task))
    values = {}
    for array in arrays:
        if array.role == "input":
            rows = [_array(array, task[array.name]) for task in tasks]
            for number, row in enumerate(rows, start=first):
                if row.shape != array.shape:
                    rule = f"of shape {array.shape} in task {number}"
                    raise ParameterError.of(array.name, _OWNER, rule, row.shape)
            values[array.name] = _converted(array, np.stack(rows))
        elif array.role == "output":
            values[array.name] = np.empty((len(tasks), *array.shape), array.dtype)
    return Slice(first, len(tasks), values)


def _array(array: Array, values: ArrayLike) -> np.ndarray:
    """Return what was given as an array; no value of it may be masked or missing."""
    try:
        return validation.array(f"the values of {array.name!r}", values)
    except GraphError as error:
        rule = f"an array of numbers ({error})"
        raise ParameterError.of(array.name, _OWNER, rule, type(values).__name__) from None


def _converted(array: Array, values: ArrayLike) -> np.ndarray:
    """Return a C-contiguous array of the right shape and type, or raise an error."""
    value = _array(array, values)
    integer = array.dtype.kind in "iu"
    if value.dtype.kind not in ("biu" if integer else "biuf"):
        rule = f"of numbers that {array.dtype} can hold"
        raise ParameterError.of(array.name, _OWNER, rule, value.dtype.name)
    with np.errstate(over="ignore"):
        cast = value.astype(array.dtype, copy=False)
    if value.dtype != array.dtype and (lost := validation.lost(value, cast)).any():
        rule = f"within the range of {array.dtype}" if integer else f"held by {array.dtype}"
        first = f"{value[lost][0]} of {value.dtype.name}"
        raise ParameterError.of(array.name, _OWNER, rule, first)
    common = array.role == "common"
    expected = array.shape if common else value.shape[:1] + array.shape
    if value.shape != expected or not (common or value.ndim):
        rule = f"of shape ({'' if common else 'tasks, '}{', '.join(map(str, array.shape))})"
        raise ParameterError.of(array.name, _OWNER, rule, value.shape)
    return np.ascontiguousarray(cast).reshape(expected)
