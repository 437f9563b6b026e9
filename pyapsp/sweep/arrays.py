"""The description of a sweep: the arrays of a task, and the steps of its threads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.base.errors import ParameterError
from pyapsp.graph.validation import choice, is_real, lost

__all__ = ["C_TYPES", "ROLES", "Array", "Repeat", "Step", "check_arrays", "flattened"]

ROLES = ("input", "common", "output", "scratch")
C_TYPES = {
    "float64": "double",
    "float32": "float",
    "float16": "half",
    "int64": "long",
    "uint64": "ulong",
    "int32": "int",
    "uint32": "uint",
    "int16": "short",
    "uint16": "ushort",
    "int8": "char",
    "uint8": "uchar",
}
_NAME = re.compile(r"[A-Za-z]\w*")


@dataclass(frozen=True)
class Array:
    """One array of a task.

    Parameters
    ----------
    name : str
        Its name in the body and among the arguments of the sweep: a C identifier.
    role : {"input", "common", "output", "scratch"}
        Each task has its own input, output and scratch; all tasks share one common array. Scratch
        passes values from step to step and is never copied to the host.
    dtype : dtype-like
        A float or integer type.
    shape : int or tuple of int
        Shape for one task; ``()`` for a single value.
    fill : int, float or None
        The value of every entry of an output or scratch array before the first step; None:
        undefined.
    rows : str or None
        For a common array of rows of different lengths, one for each thread of a step: the name of
        the common integer array with the index at which each row begins, and one entry more, the
        end of the last row. A step that stages the array stages the rows of a group's threads.
    """

    name: str
    role: str
    dtype: np.dtype
    shape: tuple[int, ...]
    fill: float | None
    rows: str | None

    def __init__(
        self,
        name: str,
        role: str,
        dtype: DTypeLike,
        shape: int | Sequence[int] = (),
        *,
        fill: float | None = None,
        rows: str | None = None,
    ) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ParameterError.of(
                "name", "Array", "a C identifier that begins with a letter", name
            )
        choice("role", f"array {name!r}", role, ROLES)
        try:
            kind = np.dtype(object if dtype is None else dtype)  # None would be float64
        except (TypeError, ValueError):
            kind = np.dtype(object)
        if kind.name not in C_TYPES or not kind.isnative:
            rule = f"one of {', '.join(C_TYPES)}"
            raise ParameterError.of("dtype", f"array {name!r}", rule, dtype)
        try:
            extents = tuple(np.atleast_1d(np.asarray(shape)).tolist()) if shape != () else ()
        except ValueError:
            extents = (-1,)
        if not all(type(extent) is int and extent > 0 for extent in extents):
            raise ParameterError.of("shape", f"array {name!r}", "of positive integers", shape)
        if fill is not None and role not in ("output", "scratch"):
            raise ParameterError.of("fill", f"array {name!r}", f"None for {role}", fill)
        if fill is not None and (not is_real(fill) or _differs(fill, kind)):
            raise ParameterError.of("fill", f"array {name!r}", f"a number that {kind} holds", fill)
        if rows is not None and role != "common":
            raise ParameterError.of("rows", f"array {name!r}", f"None for {role}", rows)
        values = (name, role, kind, extents, fill, rows)
        for field, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, field, value)

    @property
    def size(self) -> int:
        """Number of entries of one task."""
        return prod(self.shape)

    @property
    def unknown(self) -> bool:
        """Whether its entries have no value before the first step."""
        return self.role in ("output", "scratch") and self.fill is None

    @property
    def nbytes(self) -> int:
        """Number of bytes of one task."""
        return self.size * self.dtype.itemsize


def _is_positive(value: object) -> bool:
    """Return whether a value is a positive integer, and no bool."""
    return isinstance(value, (int, np.integer)) and is_real(value) and bool(value > 0)


def _is_sequence(values: object) -> TypeGuard[Sequence[Any]]:
    """Return whether there are several values: text, and an array of one, are one."""
    several = isinstance(values, Sequence | np.ndarray) and getattr(values, "ndim", 1) == 1
    return several and not isinstance(values, str | bytes)


def _differs(number: float, kind: np.dtype) -> bool:
    """Return whether a number is another one in a type."""
    value = np.asarray(number)
    if value.dtype.kind not in "biuf":  # an integer beyond 64 bits, or a fraction
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(lost(value, value.astype(kind)).any())


@dataclass(frozen=True)
class Step:
    """A step of a task: every thread ends it before any thread begins the next step.

    Parameters
    ----------
    name : str
        Name of a ``STEP(name) { ... }`` in the body.
    threads : int or tuple of int
        Threads of a task, in up to three dimensions: x first, along which threads are neighbours.
    stage : sequence of str
        Common arrays, or arrays of rows, to be copied to local memory if they fit.
    """

    name: str
    threads: tuple[int, int, int]
    stage: tuple[str, ...]

    def __init__(
        self, name: str, threads: int | Sequence[int] = 1, *, stage: Sequence[str] = ()
    ) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ParameterError.of(
                "name", "Step", "a C identifier that begins with a letter", name
            )
        extents: tuple[Any, ...] = tuple(threads) if _is_sequence(threads) else (threads,)
        whole = all(_is_positive(extent) for extent in extents)
        if not (whole and 1 <= len(extents) <= 3 and prod(extents) < 2**31):
            rule = "one to three positive integers with a product below 2^31"
            raise ParameterError.of("threads", f"step {name!r}", rule, threads)
        if not (_is_sequence(stage) and all(isinstance(name, str) for name in stage)):
            raise ParameterError.of("stage", f"step {name!r}", "a sequence of names", stage)
        x, y, z = (*(int(extent) for extent in extents), 1, 1)[:3]
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "threads", (x, y, z))
        object.__setattr__(self, "stage", tuple(stage))

    @property
    def count(self) -> int:
        """Number of threads of a task."""
        return prod(self.threads)


@dataclass(frozen=True)
class Repeat:
    """Steps repeated until a round in which no thread of any task calls ``AGAIN()``.

    Parameters
    ----------
    *steps : Step
    limit : int
        Largest number of rounds; more are an error.
    """

    steps: tuple[Step, ...]
    limit: int

    def __init__(self, *steps: Step, limit: int = 1_000_000) -> None:
        if not steps or not all(isinstance(step, Step) for step in steps):
            raise ParameterError.of("steps", "Repeat", "one or more of Step", steps)
        if not _is_positive(limit):
            raise ParameterError.of("limit", "Repeat", "a positive integer", limit)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "limit", int(limit))


def flattened(steps: Sequence[Step | Repeat]) -> list[Step]:
    """Return every step once, in order of appearance."""
    listed = [each for one in steps for each in (one.steps if isinstance(one, Repeat) else (one,))]
    return list(dict.fromkeys(listed))


def check_arrays(arrays: Sequence[Array], steps: Sequence[Step | Repeat]) -> None:
    """Check that arrays and steps match.

    Raises
    ------
    ParameterError
        A name occurs twice, there is no output, or an array with rows or staging is not common.
    """
    if not all(isinstance(array, Array) for array in arrays):
        raise ParameterError.of("arrays", "Sweep", "a list of Array", arrays)
    if not steps or not all(isinstance(step, (Step, Repeat)) for step in steps):
        raise ParameterError.of("steps", "Sweep", "one or more of Step and Repeat", steps)
    names = [array.name for array in arrays]
    if len(set(names)) < len(names):
        raise ParameterError.of("arrays", "Sweep", "arrays of different names", names)
    if not any(array.role == "output" for array in arrays):
        raise ParameterError.of("arrays", "Sweep", "arrays with an output among them", names)
    listed = flattened(steps)
    if len({step.name for step in listed}) < len(listed):
        rule = "steps of different names, or the same step again"
        raise ParameterError.of("steps", "Sweep", rule, [step.name for step in listed])
    common = {array.name: array for array in arrays if array.role == "common"}
    for array in common.values():
        if array.rows is None:
            continue
        bounds = common.get(array.rows)
        if bounds is None or bounds.dtype.kind not in "iu":
            rule = "the name of a common integer array"
            raise ParameterError.of("rows", f"array {array.name!r}", rule, array.rows)
    for step in listed:
        for name in step.stage:
            if name not in common:
                rule = "names of common arrays"
                raise ParameterError.of("stage", f"step {step.name!r}", rule, name)
            rows = common[name].rows
            if rows is not None and common[rows].size != step.threads[0] + 1:
                rule = f"of {common[rows].size - 1} threads, the rows of {name!r}"
                raise ParameterError.of("threads", f"step {step.name!r}", rule, step.threads)
            if rows is not None and step.threads[1:] != (1, 1):
                rule = f"in one dimension, as {name!r} has rows"
                raise ParameterError.of("threads", f"step {step.name!r}", rule, step.threads)
