"""The registered problems and methods."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from pyapsp.base.errors import ParameterError
from pyapsp.base.shown import table
from pyapsp.registry.algorithm import Method
from pyapsp.registry.descriptor import Problem

__all__ = ["method", "method_of", "methods", "problem", "problems", "register", "register_problem"]

# The module that registers each problem. It is imported when the problem is first used.
_MODULES = {
    "all-pairs": "pyapsp.all_pairs.problem",
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

_methods: dict[str, type[Method]] = {}
_problems: dict[str, Problem] = {}
_M = TypeVar("_M", bound=type[Method])


def register(cls: _M) -> _M:
    """Class decorator: register a method under its id. Its area is the folder of its module."""
    package = sys.modules[cls.__module__].__package__ or ""
    cls.area = "/".join(package.split(".")[1:3])
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

    Examples
    --------
    >>> import pyapsp
    >>> [problem.id for problem in pyapsp.problems()][:4]
    ['all-pairs', 'bfs', 'sssp', 'scc']
    """
    return tuple(problem(name) for name in dict.fromkeys([*_MODULES, *_problems]))


def problem(name: str) -> Problem:
    """Return a problem by its id.

    Parameters
    ----------
    name : str
        For example ``"bfs"``.

    Returns
    -------
    Problem

    Raises
    ------
    ParameterError
        If there is no problem of this name.

    Examples
    --------
    >>> import pyapsp
    >>> pyapsp.problem("bfs").unit
    'arcs'
    """
    given = isinstance(name, str)  # else it may be in no dictionary
    if given and name not in _problems and name in _MODULES:
        importlib.import_module(_MODULES[name])
    if not given or name not in _problems:
        known = list(dict.fromkeys([*_MODULES, *_problems]))
        raise ParameterError.of("problem", "pyapsp", f"one of {', '.join(known)}", name, known)
    return _problems[name]


@cache
def _import_packages(names: tuple[str, ...]) -> None:
    for name in names:
        importlib.import_module(name)


class Methods(tuple[type[Method], ...]):
    """A tuple of the classes of methods, which notebooks show as a table."""

    def _repr_html_(self) -> str:
        heads = ["method", "problem", "summary", "source"]
        return table(heads, ((each.id, each.problem, each.summary, each.source) for each in self))


def methods(problem: str | None = None) -> tuple[type[Method], ...]:
    """Return the classes of the methods of a problem, in the order of their areas and ids.

    All problems come in the order of `problems`.

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

    Examples
    --------
    >>> import pyapsp
    >>> [method.id for method in pyapsp.methods("triangles")]
    ['triangles-bitmap', 'triangles-hash', 'triangles-intersect']
    """
    if problem is None:
        return Methods(cls for each in problems() for cls in methods(each.id))
    _import_packages(_problem_of(problem).packages)
    return _sorted(problem, tuple(_methods.values()))


# Every call asks, and to sort takes a noticeable part of a small one.
@cache
def _sorted(problem: str, registered: tuple[type[Method], ...]) -> tuple[type[Method], ...]:
    """Sort the methods of a problem, whose registration depends on what was imported first."""
    found = (cls for cls in registered if cls.problem == problem)
    return Methods(sorted(found, key=lambda cls: (cls.area, cls.id)))


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
    if isinstance(name, str):
        for each in (*_MODULES, *_problems):
            if name in _methods:
                break
            methods(each)  # imports them
        if name in _methods:
            return _methods[name](**parameters)
    raise _unknown(name, "method", [cls.id for cls in methods()])


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
    if isinstance(asked, str) and asked == "auto":
        return "auto"
    if isinstance(asked, Method):
        if asked.problem == problem:
            return asked
        asked = asked.id
    known = [cls.id for cls in methods(problem)]
    if not isinstance(asked, str) or asked not in known:
        raise _unknown(asked, owner, known)
    return method(asked)


def _unknown(name: str, owner: str, known: Sequence[str]) -> ParameterError:
    if isinstance(name, str) and name in _RENAMED:
        return ParameterError(f"the method {name!r} is called {_RENAMED[name]!r} now")
    rule = f"'auto' or one of {', '.join(known)}"
    return ParameterError.of("method", owner, rule, name, ["auto", *known])
