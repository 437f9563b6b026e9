"""The choices of a problem whose methods have an order of preference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from pyapsp.base.errors import ParameterError
from pyapsp.registry.algorithm import Method
from pyapsp.registry.descriptor import Choice, Request
from pyapsp.registry.index import methods

__all__ = ["in_order"]


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

    known, refused = methods(request.problem.id), []
    for each in (cls() for cls in _ordered(tuple(known), tuple(preferred), tuple(last))):
        error = each.unmet(request.input, request.options)
        if error is None:
            yield Choice(each, request.options, "auto, the first that can answer")
        else:
            refused.append(error)
    if len(refused) == len(known):
        raise refused[0] if refused else ParameterError(f"{request.problem.id} has no methods")


@cache
def _ordered(
    known: tuple[type[Method], ...], preferred: tuple[str, ...], last: tuple[str, ...]
) -> list[type[Method]]:
    """Return methods in the order in which `in_order` tries them."""

    def place(cls: type[Method]) -> int:
        name = cls.id
        return preferred.index(name) if name in preferred else len(preferred) + (name in last)

    return sorted(known, key=place)
