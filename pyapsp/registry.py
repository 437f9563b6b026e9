"""Problems and the methods that answer them.

A `Problem` says what every part of the package needs to know of a question: how inputs are made,
how much work a run did, whether an answer is right. A `Method` answers one problem. Both are
registered here; tests, tuner, bench, command line, workflow, tables and documentation enumerate
them.
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

# The module that registers each problem; it is imported when the problem is first asked for.
_ROOMS = {
    "all-pairs": "pyapsp.distances.problem",
    "bfs": "pyapsp.traversal.problems",
    "sssp": "pyapsp.traversal.problems",
    "scc": "pyapsp.traversal.problems",
}
# Methods that had another name.
_RENAMED = {
    "bfs-all": "apsp-bfs",
    "sssp-iterative": "apsp-iterative",
    "sssp-tasks": "apsp-tasks",
    "sssp-tasks-unshared": "apsp-tasks-unshared",
}


@dataclass(frozen=True)
class Requirements:
    """What a method needs of an input and of a device.

    Attributes
    ----------
    capabilities : tuple of str
        Names of `Capabilities` that the device must have, beside those of the dtype.
    """

    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True)
class Options:
    """What the caller asked for, resolved. A problem with more to ask for has a subclass.

    Attributes
    ----------
    device : Device
    dtype : numpy.dtype
        Of the answer.
    memory_limit : int or None
        Bytes of device memory that may be used; None is all of it.
    progress : callable or None
        Called as ``progress(done, total)``; an exception from it ends the run.
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
        What is solved: a graph, or what else the problem is about.
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
        The tuning row that parameters were taken from: level, database, device, dtype, n, family.
    notes : tuple of str
        What else the plan comes to, for ``explain``.
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
    """What a method computed. Each problem has a subclass with the values.

    Attributes
    ----------
    stats : dict
        ``kernel_seconds``, ``transfer_seconds``, ``kernel_hash``; ``more`` is what only this method
        reports.
    """

    stats: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """Whether an answer is right.

    Attributes
    ----------
    ok : bool
    fault : str or None
        The first fault: what, where, and the value there.
    oracle : str
        What the answer was compared with.
    max_error : float or None
        The largest difference from the oracle, where it is a number.
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
    """A problem with its input, and what was asked for.

    Attributes
    ----------
    problem : Problem
    input : object
    method : Method or str
        ``"auto"``, or the one asked for.
    options : Options
    asked : dict
        What records keep of what was asked for, beside method and dtype.
    reasons : tuple of str
        What was decided so far, for ``explain``.
    """

    problem: Problem
    input: Any
    method: Method | str
    options: Any
    asked: dict[str, Any] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """A method that may run, and what it is told.

    Attributes
    ----------
    method : Method
    options : Options
        Those of the request, as this method needs them.
    reason : str
        Why this method.
    seconds : float or None
        Predicted, where that decided.
    """

    method: Method
    options: Any
    reason: str
    seconds: float | None = None


def in_order(request: Request) -> Iterator[Choice]:
    """Yield the method asked for; for ``"auto"`` all that can answer, in order of registration.

    Raises
    ------
    PyApspError
        If the method asked for, or each of all, cannot answer: why the first cannot.
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
    """A question that methods answer.

    Attributes
    ----------
    id : str
        The short name, e.g. ``"bfs"``.
    summary : str
        One line for tables.
    unit : str
        What the work of a run is counted in, in the plural: rates are given in it per second.
    dtypes : tuple of str
        Number types of answers, the default first.
    areas : tuple of str
        The modules whose import registers its methods.
    families : tuple of str
        The kinds of input that `sample` draws; tuning rows are kept for each.
    read : callable
        ``read(path)`` returns the input that a file holds.
    sample : callable
        ``sample(size, family, seed, requires)`` draws an input that a method with these
        requirements takes: what tests, tuner and bench use.
    about : callable
        ``about(input)`` returns what records say of it: at least ``name``, ``n`` and ``hash``.
    ask : callable
        ``ask(input, method, *, dtype, device, memory_limit, progress, **more)`` checks what a
        caller asks for and returns the `Request`.
    work : callable
        ``work(input, options, answer)`` returns how many units the run did.
    oracle : callable
        ``oracle(input, options)`` returns a function from an `Answer` to a `Check`. What it
        compares with is computed once, for any number of answers.
    choices : callable
        ``choices(request)`` yields each `Choice` in the order in which they are to be tried.
    settle : callable
        ``settle(request, plan, answer)`` returns the answer as it was asked for, or raises what is
        wrong with the input.
    reusing : callable
        ``reusing(input, options)`` returns options whose answers go into memory that was used
        before, where that is a part of what a run takes; for the tuner.
    fits : callable
        ``fits(requires, about)`` says whether a method with these requirements takes the input of
        a row of ``data/datasets.csv``, for the workflow.
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


def check_limits(memory_limit: int | None, progress: Any, owner: str) -> None:
    """Refuse what is no limit of memory, or nothing that can be told of progress.

    Parameters
    ----------
    memory_limit : int or None
    progress : callable or None
    owner : str
        The function that was given them, for messages.

    Raises
    ------
    ParameterError
    """
    if memory_limit is not None and not (isinstance(memory_limit, Integral) and memory_limit > 0):
        raise ParameterError.of("memory_limit", owner, "a positive number of bytes", memory_limit)
    if progress is not None and not callable(progress):
        raise ParameterError.of("progress", owner, "a function of (done, total)", progress)


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
    """One algorithm for a problem, with its parameters.

    Parameters
    ----------
    **parameters : int or str
        Values for names in `choices`; what is not given is chosen for the device.

    Attributes
    ----------
    id : str
        The short name, e.g. ``"fw-blocked"``.
    problem : str
        The id of the `Problem` that it answers.
    area : str
        The room it lives in.
    summary : str
        One line for tables.
    source : str
        Paper and section.
    requires : Requirements
    choices : mapping of str to sequence of int or str
        The legal values of each parameter; a range has too many to list.
    tunable : bool
        Whether the tuner can choose among them: it is a `pyapsp.tuning.method.TunableMethod`.

    Raises
    ------
    ParameterError
        If a parameter does not exist or has no legal value.
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
        """Return the error of what the method needs, and this input or device does not have.

        Parameters
        ----------
        about : object
            The input, or what is known of it.
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
            If the given parameters do not fit together or do not fit the device.
        DeviceMemoryError
            If the run needs more memory than there is, or than allowed.
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
    """Class decorator: make a method known under its id."""
    _methods[cls.id] = cls
    return cls


def register_problem(new: Problem) -> Problem:
    """Make a problem known under its id."""
    _problems[new.id] = new
    return new


def problems() -> tuple[Problem, ...]:
    """Return all problems: what there are methods for.

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
        If there is none of this name.
    """
    if name not in _problems and name in _ROOMS:
        importlib.import_module(_ROOMS[name])
    if name not in _problems:
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
        The id of a problem, e.g. ``"all-pairs"``; all problems unless given.

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
        For the ``method`` argument of `solve` and of the other functions that answer a problem.

    Raises
    ------
    ParameterError
        If there is no such method, parameter or value.
    """
    for each in problems() if name not in _methods else ():
        methods(each.id)
        if name in _methods:
            break
    if name not in _methods:
        raise _unknown(name, "method", _methods)
    return _methods[name](**parameters)


def method_of(problem: str, asked: str | Method, owner: str) -> str | Method:
    """Return the method that a function of a problem was asked for: ``"auto"`` or an instance.

    Parameters
    ----------
    problem : str
        The id of the problem.
    asked : str or Method
    owner : str
        The function, for messages.

    Raises
    ------
    ParameterError
        If there is no such method, or it answers another problem.
    """
    if asked == "auto":
        return "auto"
    known = [cls.id for cls in methods(problem)]
    name = asked.id if isinstance(asked, Method) else asked
    if isinstance(asked, Method) and asked.problem == problem:
        return asked
    if name not in known:
        raise _unknown(name, owner, known)
    return method(name)


def _unknown(name: object, owner: str, known: Sequence[str] | Mapping[str, Any]) -> ParameterError:
    if name in _RENAMED:
        return ParameterError(f"the method {name!r} is called {_RENAMED[str(name)]!r} now")
    return ParameterError.of("method", owner, f"'auto' or one of {', '.join(known)}", name)
