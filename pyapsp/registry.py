"""The methods: what each needs, how it is planned and run, and where it comes from.

An area registers its method classes here; `solve`, the workflow and the tables enumerate them.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, TypeVar

import numpy as np

from pyapsp.device import Device
from pyapsp.errors import DeviceMemoryError, ParameterError
from pyapsp.graph import Facts, Graph
from pyapsp.precision import infinity
from pyapsp.result import NO_PREDECESSOR

__all__ = [
    "Answer",
    "Method",
    "Options",
    "Plan",
    "Requirements",
    "check_memory",
    "method",
    "methods",
    "register",
]

# The areas that hold methods. Importing one registers them.
_AREAS = ("pyapsp.dense", "pyapsp.sparse")
# Distances that are compared with a cutoff at a time.
_VALUES = 2**20


@dataclass(frozen=True)
class Requirements:
    """What a method needs of a graph and of a device.

    Attributes
    ----------
    non_negative : bool
        Negative weights are refused.
    integer : bool
        Weights that are not whole numbers are refused.
    unweighted : bool
        Weights other than 1 are refused.
    largest_distance : int or None
        The largest distance that the method can hold, whatever the dtype of the answer. Larger
        weights are refused before the run, larger distances after it.
    capabilities : tuple of str
        Names of `Capabilities` that the device must have, beside those of the dtype.
    """

    non_negative: bool = False
    integer: bool = False
    unweighted: bool = False
    largest_distance: int | None = None
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True)
class Options:
    """What the caller of `solve` asked for, resolved.

    Attributes
    ----------
    device : Device
    dtype : numpy.dtype
        Of the distances.
    predecessors : bool
    memory_limit : int or None
        Bytes of device memory that may be used; None is all of it.
    out : ndarray or None
        Where to put the distances, one row for each source. Of another type only for the methods
        that compute the sources alone: they convert row by row.
    sources : (k,) int64 ndarray or None
        The vertices whose rows are wanted, in any order and maybe repeated; None is all of them in
        order. Methods that compute all rows at once are given None.
    cutoff : float or None
        Larger distances need not be found: they are reported as unreachable. Smaller than the
        largest that the type holds. Methods that compute all rows at once are given None.
    totals : bool
        Whether only sums over rows are wanted, so that no memory for rows is needed.
    progress : callable or None
        Called as ``progress(done, total)``, by the methods that search from sources with the
        number of sources; an exception from it ends the run.
    helpers : tuple of Device
        Further devices, for the methods that use several.
    checkpoint : path-like or None
        Folder for checkpoints, for the methods that write them.
    check : bool
        Whether to look for distances past the range of their type.
    """

    device: Device
    dtype: np.dtype
    predecessors: bool = False
    memory_limit: int | None = None
    out: np.ndarray | None = None
    progress: Callable[[int, int], None] | None = None
    helpers: tuple[Device, ...] = ()
    checkpoint: str | PathLike[str] | None = None
    check: bool = True
    sources: np.ndarray | None = None
    cutoff: float | None = None
    totals: bool = False

    def rows(self, n: int) -> np.ndarray:
        """Return the vertices of the rows that are wanted, int64."""
        return np.arange(n) if self.sources is None else self.sources

    def count(self, n: int) -> int:
        """Return how many rows are wanted."""
        return n if self.sources is None else self.sources.size

    def held_in(self, dtype: np.dtype) -> Options:
        """Return the options of a run that holds the distances in this type."""
        if self.cutoff is None and dtype == self.dtype:
            return self
        largest = infinity(dtype) - 1 if dtype.kind in "iu" else float(np.finfo(dtype).max)
        hides = self.cutoff is not None and self.cutoff < largest
        return replace(self, dtype=dtype, cutoff=self.cutoff if hides else None)

    def must_check(self, graph: Graph) -> bool:
        """Return whether a distance past the range of the type would make the answer wrong.

        Not if it is past the cutoff as well, when without negative weights nothing comes back.
        """
        return self.check and (self.cutoff is None or graph.has_negative)

    def hide(self, distances: np.ndarray, predecessors: np.ndarray | None) -> None:
        """Report what is beyond the cutoff as unreachable, in rows of the answer."""
        if self.cutoff is None:
            return
        # a float type must not round the cutoff
        exact = np.float64(self.cutoff) if distances.dtype.kind == "f" else self.cutoff
        rows = max(1, _VALUES // max(distances.shape[1], 1))
        for start in range(0, len(distances), rows):
            some = slice(start, start + rows)
            beyond = distances[some] > exact
            distances[some][beyond] = infinity(distances.dtype)
            if predecessors is not None:
                predecessors[some][beyond] = NO_PREDECESSOR


@dataclass(frozen=True)
class Plan:
    """A run that has been checked against the device but not started.

    Attributes
    ----------
    graph : Graph
    options : Options
    parameters : dict
        The method's parameters, every one resolved.
    device_bytes : int
        Device memory that the run will allocate.
    state : object
        What the method prepared: built programs.
    build_seconds : float
        Time spent on building them.
    tuning : dict or None
        The tuning row that parameters were taken from: level, database, device, dtype, n.
    notes : tuple of str
        What else the plan comes to, for `Result.explain`.
    """

    graph: Graph
    options: Options
    parameters: dict[str, Any]
    device_bytes: int
    state: Any = None
    build_seconds: float = 0.0
    tuning: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a method computed.

    Attributes
    ----------
    distances : (k, n) ndarray
        The rows of the `Options.sources` of the plan: k is n where these are None.
    predecessors : (k, n) int32 ndarray or None
    stats : dict
        ``kernel_seconds``, ``transfer_seconds``, ``kernel_hash``; ``more`` is what only this method
        has to tell.
    checked : bool
        Whether the method has looked for negative cycles and clipped distances itself.
    """

    distances: np.ndarray
    predecessors: np.ndarray | None
    stats: dict[str, Any] = field(default_factory=dict)
    checked: bool = False


def check_memory(buffers: Sequence[int], options: Options) -> None:
    """Refuse a run whose buffers do not fit, before anything is allocated.

    Parameters
    ----------
    buffers : sequence of int
        Their bytes.
    options : Options

    Raises
    ------
    DeviceMemoryError
        If all are more than the device has, or than allowed, or one is larger than it can be.
    """
    capabilities = options.device.capabilities
    available = capabilities.global_memory
    hint = f"use a narrower dtype or a device with more memory than {options.device.name}"
    if options.memory_limit is not None and options.memory_limit < available:
        available, hint = options.memory_limit, "raise memory_limit or use a narrower dtype"
    if sum(buffers) > available:
        raise DeviceMemoryError(sum(buffers), available, hint)
    if max(buffers, default=0) > capabilities.max_allocation:
        raise DeviceMemoryError(
            max(buffers),
            capabilities.max_allocation,
            f"that is the largest single allocation of {options.device.name}",
        )


class Method(ABC):
    """One published algorithm, with its parameters.

    Parameters
    ----------
    **parameters : int or str
        Values for names in `choices`; what is not given is chosen for the device.

    Attributes
    ----------
    id : str
        The short name, e.g. ``"fw-blocked"``.
    area : str
        The room it lives in.
    summary : str
        One line for tables.
    source : str
        Paper and section.
    requires : Requirements
    choices : mapping of str to tuple of int or str
        The legal values of each parameter; a range has too many to list.
    outofcore : bool
        Whether it takes several devices, writes checkpoints, and leaves a mapped file on disk.

    Raises
    ------
    ParameterError
        If a parameter does not exist or has no legal value.
    """

    id: ClassVar[str]
    area: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    requires: ClassVar[Requirements] = Requirements()
    choices: ClassVar[Mapping[str, Sequence[Any]]] = {}
    outofcore: ClassVar[bool] = False

    def __init__(self, **parameters: int | str) -> None:
        for name, value in parameters.items():
            if name not in self.choices:
                known = ", ".join(self.choices) or "none"
                raise ParameterError(f"{self.id} has no parameter {name!r}; it has: {known}")
            is_integer = isinstance(value, Integral) and not isinstance(value, bool)
            if not (is_integer or isinstance(value, str)) or value not in self.choices[name]:
                raise ParameterError.of(name, self.id, _legal(self.choices[name]), value)
        self.parameters: dict[str, Any] = {
            name: value if isinstance(value, str) else int(value)
            for name, value in parameters.items()
        }

    def __repr__(self) -> str:
        given = "".join(f", {name}={value}" for name, value in self.parameters.items())
        return f"method({self.id!r}{given})"

    @abstractmethod
    def plan(self, graph: Graph, options: Options) -> Plan:
        """Check the request against the device, choose parameters and build the kernels.

        Raises
        ------
        ParameterError
            If the given parameters do not fit together or do not fit the device.
        DeviceMemoryError
            If the run needs more memory than there is, or than allowed.
        """

    @abstractmethod
    def run(self, plan: Plan) -> Answer:
        """Run a plan of this method."""

    def predict(self, graph: Facts, options: Options, rows: int) -> float | None:
        """Return the seconds of planning and a run with its transfers; None if nothing is known.

        Parameters
        ----------
        graph : Facts
        options : Options
            Without sources and cutoff.
        rows : int
            How many rows are wanted: all that a method computes which computes sources alone.
        """
        return None


def _legal(values: Sequence[Any]) -> str:
    if isinstance(values, range):
        return f"a multiple of {values.step} in [{values[0]}, {values[-1]}]"
    return f"one of {', '.join(map(str, values))}"


_registered: dict[str, type[Method]] = {}
_M = TypeVar("_M", bound=type[Method])


def register(cls: _M) -> _M:
    """Class decorator: make a method known under its id."""
    _registered[cls.id] = cls
    return cls


@cache
def _import_areas() -> None:
    for area in _AREAS:
        importlib.import_module(area)


def methods() -> tuple[type[Method], ...]:
    """Return the classes of all methods, in the order in which the areas list them.

    Each has ``id``, ``area``, ``summary``, ``source``, ``requires`` and ``choices``.
    """
    _import_areas()
    return tuple(_registered.values())


def method(name: str, **parameters: int | str) -> Method:
    """Return a method, with parameters of your own choice.

    Parameters
    ----------
    name : str
        A method id, see `methods`.
    **parameters : int or str
        For example ``tile=16``; what is not given is chosen for the device.

    Returns
    -------
    Method
        For the ``method`` argument of `solve`.

    Raises
    ------
    ParameterError
        If there is no such method, parameter or value.
    """
    known = {cls.id: cls for cls in methods()}
    if name not in known:
        raise ParameterError.of("method", "solve", f"'auto' or one of {', '.join(known)}", name)
    return known[name](**parameters)
