"""Problems, and the methods that solve them.

A `Problem` defines how inputs are made, how much work a run did, and whether an answer is right. A
`Method` is an algorithm for one problem. Both are registered here. Tests, tuner, bench, command
line, workflow, tables and documentation enumerate the registry.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from numbers import Integral
from typing import Any, ClassVar, TypeVar

import numpy as np

from pyapsp.device import Device
from pyapsp.errors import (
    CapabilityError,
    DeviceMemoryError,
    ParameterError,
    PyApspError,
    VerificationError,
)

__all__ = [
    "Answer",
    "Check",
    "Choice",
    "Method",
    "Options",
    "Plan",
    "Problem",
    "Request",
    "Requirements",
    "check_limits",
    "check_memory",
    "method",
    "methods",
    "problem",
    "problems",
    "register",
    "register_problem",
]

# The module that registers each problem. It is imported when the problem is first used.
_ROOMS = {
    "all-pairs": "pyapsp.distances.problem",
    "bfs": "pyapsp.traversal.problems",
    "sssp": "pyapsp.traversal.problems",
    "scc": "pyapsp.traversal.problems",
    "partition": "pyapsp.traversal.partitioning.problem",
    "triangles": "pyapsp.trusses.problems",
    "truss": "pyapsp.trusses.problems",
}
# Former names of methods, and their present names.
_RENAMED = {
    "bfs-all": "apsp-bfs",
    "sssp-iterative": "apsp-iterative",
    "sssp-tasks": "apsp-tasks",
    "sssp-tasks-unshared": "apsp-tasks-unshared",
}


@dataclass(frozen=True)
class Requirements:
    """The requirements of a method for inputs and devices.

    Attributes
    ----------
    capabilities : tuple of str
        Names of `Capabilities` that the device must have, in addition to those of the dtype.
    """

    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True)
class Options:
    """The checked arguments of a call. A problem with more arguments has a subclass.

    Attributes
    ----------
    device : Device
    dtype : numpy.dtype
        Type of the answer.
    memory_limit : int or None
        Bytes of device memory that may be used; None is all of it.
    progress : callable or None
        Called as ``progress(done, total)``; an exception that it raises ends the run.
    """

    device: Device
    dtype: np.dtype
    memory_limit: int | None = field(default=None, kw_only=True)
    progress: Callable[[int, int], None] | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Plan:
    """A run that has been checked against the device but not started.

    Attributes
    ----------
    input : object
        The input to solve, for most problems a graph.
    options : Options
    parameters : dict
        The parameters of the method, all with values.
    device_bytes : int
        Device memory that the run will allocate.
    state : object
        What the method has prepared, for instance built programs.
    build_seconds : float
        Time to build them.
    tuning : dict or None
        The tuning row that parameters were taken from: level, database, device, dtype, n, family.
    notes : tuple of str
        Further lines for ``explain``.
    """

    input: Any
    options: Any
    parameters: dict[str, Any]
    device_bytes: int
    state: Any = None
    build_seconds: float = 0.0
    tuning: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of a method. Each problem has a subclass with the values.

    Attributes
    ----------
    stats : dict
        ``kernel_seconds``, ``transfer_seconds``, ``kernel_hash``, and in ``more`` the values that
        only this method reports.
    """

    stats: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """The result of checking an answer.

    Attributes
    ----------
    ok : bool
    fault : str or None
        The first fault: what, where, and the value there.
    oracle : str
        What the answer was compared with.
    max_error : float or None
        The largest difference from the oracle; None if there is no number for it.
    """

    ok: bool
    fault: str | None
    oracle: str
    max_error: float | None = None

    def require(self) -> None:
        """Raise `VerificationError` unless `ok`."""
        if not self.ok:
            raise VerificationError(self.fault)


@dataclass(frozen=True)
class Request:
    """A problem with its input and the checked arguments.

    Attributes
    ----------
    problem : Problem
    input : object
    method : Method or str
        ``"auto"``, or the method asked for.
    options : Options
    asked : dict
        Arguments for the record of the run, in addition to method and dtype.
    reasons : tuple of str
        The decisions so far, for ``explain``.
    """

    problem: Problem
    input: Any
    method: Method | str
    options: Any
    asked: dict[str, Any] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """A method that may run, and its options.

    Attributes
    ----------
    method : Method
    options : Options
        The options of the request, adapted to this method.
    reason : str
        Why this method was chosen.
    seconds : float or None
        The predicted time, if methods are ranked by it.
    """

    method: Method
    options: Any
    reason: str
    seconds: float | None = None


def in_order(request: Request) -> Iterator[Choice]:
    """Yield the method asked for; for ``"auto"`` all that can run, in order of registration.

    Raises
    ------
    PyApspError
        If the method asked for cannot run; for ``"auto"`` if no method can: the error of the first.
    """
    asked = request.method
    if isinstance(asked, Method):
        error = asked.unmet(request.input, request.options)
        if error is not None:
            raise error
        yield Choice(asked, request.options, "as asked")
        return
    refused = []
    for each in (cls() for cls in methods(request.problem.id)):
        error = each.unmet(request.input, request.options)
        if error is None:
            yield Choice(each, request.options, "auto, the first that can answer")
        else:
            refused.append(error)
    if len(refused) == len(methods(request.problem.id)):
        raise refused[0] if refused else ParameterError(f"{request.problem.id} has no methods")


@dataclass(frozen=True)
class Problem:
    """A problem that methods solve.

    Attributes
    ----------
    id : str
        The short name, e.g. ``"bfs"``.
    summary : str
        One line for tables.
    unit : str
        The unit of work, in the plural. Rates are units per second.
    dtypes : tuple of str
        Number types of answers, the default first.
    areas : tuple of str
        The modules whose import registers its methods.
    families : tuple of str
        The kinds of input that `sample` draws; tuning rows are kept for each.
    read : callable
        ``read(path)`` reads an input from a file.
    sample : callable
        ``sample(size, family, seed, requires)`` returns a random input that meets these
        requirements, for tests, tuner and bench.
    about : callable
        ``about(input)`` returns the facts of an input for records: at least ``name``, ``n`` and
        ``hash``.
    ask : callable
        ``ask(input, method, *, dtype, device, memory_limit, progress, **more)`` checks the
        arguments of a call and returns the `Request`.
    work : callable
        ``work(input, options, answer)`` returns the units of work of the run.
    oracle : callable
        ``oracle(input, options)`` returns a function from an `Answer` to a `Check`. The expected
        answer is computed once, for any number of answers.
    choices : callable
        ``choices(request)`` yields each `Choice` in the order in which they are to be tried.
    settle : callable
        ``settle(request, plan, answer)`` converts the answer to the rows and type that were asked
        for, or raises the error of the input.
    reusing : callable
        ``reusing(input, options)`` returns options that write answers into memory which was used
        before, for the tuner. Touching new memory would be a part of the measured time.
    fits : callable
        ``fits(requires, about)`` returns whether the input of a row of ``data/datasets.csv`` meets
        these requirements, for the workflow.
    asks : tuple of str
        Options of `ask` that the command line and the workflow can set: ``predecessors``,
        ``sources``.
    """

    id: str
    summary: str
    unit: str
    dtypes: tuple[str, ...]
    areas: tuple[str, ...]
    families: tuple[str, ...]
    read: Callable[[str], Any]
    sample: Callable[[int, str, int, Any], Any]
    about: Callable[[Any], dict[str, Any]]
    ask: Callable[..., Request]
    work: Callable[[Any, Any, Any], int]
    oracle: Callable[[Any, Any], Callable[[Any], Check]]
    choices: Callable[[Request], Iterator[Choice]] = in_order
    settle: Callable[[Request, Plan, Any], Any] = lambda request, plan, answer: answer
    reusing: Callable[[Any, Any], Any] = lambda given, options: options
    fits: Callable[[Any, Mapping[str, Any]], bool] = lambda requires, about: True
    asks: tuple[str, ...] = ()


def check_limits(memory_limit: int | None, progress: Any, owner: str) -> int | None:
    """Check the arguments `memory_limit` and `progress`.

    Parameters
    ----------
    memory_limit : int or None
    progress : callable or None
    owner : str
        Name of the function, for messages.

    Returns
    -------
    int or None
        The memory limit. A NumPy integer would overflow in sums.

    Raises
    ------
    ParameterError
    """
    if memory_limit is not None and not (isinstance(memory_limit, Integral) and memory_limit > 0):
        raise ParameterError.of("memory_limit", owner, "a positive number of bytes", memory_limit)
    if progress is not None and not callable(progress):
        raise ParameterError.of("progress", owner, "a function of (done, total)", progress)
    return None if memory_limit is None else int(memory_limit)


def check_memory(buffers: Sequence[int], options: Options) -> None:
    """Raise an error if the buffers of a run do not fit, before any is allocated.

    Parameters
    ----------
    buffers : sequence of int
        The bytes of each buffer.
    options : Options

    Raises
    ------
    DeviceMemoryError
        If their sum is above the memory of the device or the limit, or one is above the largest
        allocation.
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
    """One algorithm for a problem, with its parameters.

    Parameters
    ----------
    **parameters : int or str
        Values of parameters in `choices`. The others are chosen for the device.

    Attributes
    ----------
    id : str
        The short name, e.g. ``"fw-blocked"``.
    problem : str
        The id of the `Problem` that it solves.
    area : str
        The folder of its module: ``dense``, ``sparse`` or ``traversal``.
    summary : str
        One line for tables.
    source : str
        Paper and section.
    requires : Requirements
    choices : mapping of str to sequence of int or str
        The allowed values of each parameter: a list or a range.
    tunable : bool
        Whether the tuner can choose parameters. It is a `pyapsp.tuning.method.TunableMethod`.

    Raises
    ------
    ParameterError
        If a parameter does not exist, or its value is not allowed.
    """

    id: ClassVar[str]
    problem: ClassVar[str]
    area: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    requires: ClassVar[Requirements] = Requirements()
    choices: ClassVar[Mapping[str, Sequence[Any]]] = {}
    tunable: ClassVar[bool] = False

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

    def unmet(self, about: Any, options: Any) -> PyApspError | None:
        """Return the error of the first requirement that the input or the device does not meet.

        Parameters
        ----------
        about : object
            The input, or its facts.
        options : Options
        """
        device = options.device
        for capability in self.requires.capabilities:
            if not getattr(device.capabilities, capability):
                return CapabilityError(
                    f"{self.id} needs {capability}: {device.without(capability)}"
                )
        return None

    @abstractmethod
    def plan(self, given: Any, options: Any) -> Plan:
        """Check the request against the device, choose parameters and build the kernels.

        Parameters
        ----------
        given : object
            The input.
        options : Options

        Raises
        ------
        ParameterError
            If the given parameters contradict each other, or the device does not support them.
        DeviceMemoryError
            If the run needs more memory than the device has, or than the limit.
        """

    @abstractmethod
    def run(self, plan: Plan) -> Answer:
        """Run a plan of this method."""


def _legal(values: Sequence[Any]) -> str:
    if isinstance(values, range):
        return f"a multiple of {values.step} in [{values[0]}, {values[-1]}]"
    return f"one of {', '.join(map(str, values))}"


_methods: dict[str, type[Method]] = {}
_problems: dict[str, Problem] = {}
_M = TypeVar("_M", bound=type[Method])


def register(cls: _M) -> _M:
    """Class decorator: register a method under its id."""
    _methods[cls.id] = cls
    return cls


def register_problem(new: Problem) -> Problem:
    """Register a problem under its id."""
    _problems[new.id] = new
    return new


def problems() -> tuple[Problem, ...]:
    """Return all problems, for instance all-pairs shortest paths.

    Returns
    -------
    tuple of Problem
        Each has ``id``, ``summary``, ``unit`` (of work), ``dtypes`` and ``families``.
    """
    return tuple(problem(name) for name in dict.fromkeys([*_ROOMS, *_problems]))


def problem(name: str) -> Problem:
    """Return a problem by its id, e.g. ``"bfs"``.

    Raises
    ------
    ParameterError
        If there is no problem of this name.
    """
    given = isinstance(name, str)  # else it may be in no dictionary
    if given and name not in _problems and name in _ROOMS:
        importlib.import_module(_ROOMS[name])
    if not given or name not in _problems:
        known = ", ".join(dict.fromkeys([*_ROOMS, *_problems]))
        raise ParameterError.of("problem", "registry", f"one of {known}", name)
    return _problems[name]


@cache
def _import_areas(areas: tuple[str, ...]) -> None:
    for area in areas:
        importlib.import_module(area)


def methods(problem: str | None = None) -> tuple[type[Method], ...]:
    """Return the classes of the methods of a problem, in the order in which the areas list them.

    Parameters
    ----------
    problem : str, optional
        The id of a problem, e.g. ``"all-pairs"``; by default all problems.

    Returns
    -------
    tuple of Method classes
        Each has ``id``, ``problem``, ``area``, ``summary``, ``source``, ``requires`` and
        ``choices``.

    Raises
    ------
    ParameterError
        If there is no such problem.
    """
    if problem is None:
        return tuple(cls for each in problems() for cls in methods(each.id))
    _import_areas(_problem_of(problem).areas)
    return tuple(cls for cls in _methods.values() if cls.problem == problem)


_problem_of = problem


def method(name: str, **parameters: int | str) -> Method:
    """Return a method with given parameters.

    Parameters
    ----------
    name : str
        A method id, see `methods`.
    **parameters : int or str
        For example ``tile=16``. The other parameters are chosen for the device.

    Returns
    -------
    Method
        For the ``method`` argument of `solve` and of the functions of the other problems.

    Raises
    ------
    ParameterError
        If there is no such method, parameter or value.
    """
    for each in problems():
        if isinstance(name, str) and name in _methods:
            return _methods[name](**parameters)
        methods(each.id)
    if not isinstance(name, str) or name not in _methods:
        raise _unknown(name, "method", _methods)
    return _methods[name](**parameters)


def method_of(problem: str, asked: str | Method, owner: str) -> str | Method:
    """Return the `method` argument of a function: ``"auto"`` or an instance of a method.

    Parameters
    ----------
    problem : str
        The id of the problem.
    asked : str or Method
    owner : str
        Name of the function, for messages.

    Raises
    ------
    ParameterError
        If there is no such method, or it is a method of another problem.
    """
    known = [cls.id for cls in methods(problem)]
    if isinstance(asked, Method):
        if asked.problem == problem:
            return asked
        raise _unknown(asked.id, owner, known)
    if not isinstance(asked, str) or asked not in ("auto", *known):
        raise _unknown(asked, owner, known)
    return "auto" if asked == "auto" else method(asked)


def _unknown(name: object, owner: str, known: Sequence[str] | Mapping[str, Any]) -> ParameterError:
    if isinstance(name, str) and name in _RENAMED:
        return ParameterError(f"the method {name!r} is called {_RENAMED[name]!r} now")
    return ParameterError.of("method", owner, f"'auto' or one of {', '.join(known)}", name)
