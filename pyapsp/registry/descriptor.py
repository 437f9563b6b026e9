"""What a problem defines: its inputs, its unit of work, and how an answer is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyapsp.base.errors import ParameterError
from pyapsp.registry.algorithm import Method
from pyapsp.registry.index import methods
from pyapsp.registry.steps import Check, Choice, Plan, Request

__all__ = ["Problem", "in_order"]


def in_order(
    request: Request, preferred: Sequence[str] = (), last: Sequence[str] = ()
) -> Iterator[Choice]:
    """Yield the method asked for; for ``"auto"`` all that can run.

    Parameters
    ----------
    request : Request
    preferred, last : sequence of str
        Ids of methods that come first, in this order, and of those that come last. The others are
        in the order of `methods`.

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

    def place(cls: type[Method]) -> int:
        name = cls.id
        return preferred.index(name) if name in preferred else len(preferred) + (name in last)

    known, refused = methods(request.problem.id), []
    for each in (cls() for cls in sorted(known, key=place)):
        error = each.unmet(request.input, request.options)
        if error is None:
            yield Choice(each, request.options, "auto, the first that can answer")
        else:
            refused.append(error)
    if len(refused) == len(known):
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
