"""What a problem defines: its inputs, its unit of work, how an answer is checked; a call of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyapsp.base.json import Json, Record
from pyapsp.base.shown import Shown
from pyapsp.registry.algorithm import Method
from pyapsp.registry.steps import AnyPlan, Check

__all__ = ["Choice", "Problem", "Request"]


@dataclass(frozen=True, repr=False)
class Problem(Shown):
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
    packages : tuple of str
        The packages whose import registers its methods.
    families : tuple of str
        The kinds of input that `sample` draws; tuning rows are kept for each.
    read : callable
        ``read(path, format=None)`` reads an input from a file; see `pyapsp.read`.
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
    packages: tuple[str, ...]
    families: tuple[str, ...]
    read: Callable[..., Any]
    sample: Callable[[int, str, int, Any], Any]
    about: Callable[[Any], Record]
    ask: Callable[..., Request]
    work: Callable[[Any, Any, Any], int]
    oracle: Callable[[Any, Any], Callable[[Any], Check]]
    choices: Callable[[Request], Iterator[Choice]]
    settle: Callable[[Request, AnyPlan, Any], Any] = lambda request, plan, answer: answer
    fits: Callable[[Any, Mapping[str, Json]], bool] = lambda requires, about: True
    asks: tuple[str, ...] = ()

    def _facts(self) -> dict[str, object]:
        return {"id": self.id, "unit": self.unit, "dtypes": " ".join(self.dtypes)}


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
    arguments : dict
        Arguments for the record of the run, in addition to method and dtype.
    reasons : tuple of str
        The decisions so far, for ``explain``.
    fallback : bool
        Whether the next candidate of "auto" may run if one stalls or the driver lacks memory.
    """

    problem: Problem
    input: Any
    method: Method | str
    options: Any
    arguments: dict[str, Json] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    fallback: bool = True

    @property
    def is_automatic(self) -> bool:
        """Whether the methods are those of "auto"."""
        return not isinstance(self.method, Method)

    @property
    def may_fall_back(self) -> bool:
        """Whether another method may run in place of one that could not."""
        return self.is_automatic and self.fallback


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
        The predicted time, if methods are ranked by it: ``predicted_seconds`` of the record.
    """

    method: Method
    options: Any
    reason: str
    seconds: float | None = None
