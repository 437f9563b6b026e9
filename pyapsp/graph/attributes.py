"""Which attribute of edges, or which column, is the weight."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from types import EllipsisType
from typing import TypeAlias

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.graph.columns import may_be_weight

__all__ = ["Weight", "WeightFunction", "check_weight", "default_of"]

#: A function of both ends of an edge and its attributes. None: there is no edge.
WeightFunction: TypeAlias = (
    "Callable[[Hashable, Hashable, Mapping[Hashable, object]], float | None]"
)

#: What says where the weights are: a name, a function, None (all are 1), or ... (the default).
Weight: TypeAlias = "Hashable | WeightFunction | EllipsisType | None"

_DEFAULT = "weight"


def check_weight(weight: Weight, owner: str) -> None:
    """Raise a ParameterError for a weight that can be no name.

    Parameters
    ----------
    weight : object
    owner : str
        The function with the argument, for messages.
    """
    try:
        hash(weight)
    except TypeError:
        rule = "a name, a function or None"
        raise ParameterError.of("weight", owner, rule, weight) from None


def default_of(names: Iterable[Hashable], numbers: Callable[[], Iterable[Hashable]]) -> str | None:
    """Return the default name of the weight if there is such an attribute, else None.

    Parameters
    ----------
    names : iterable of hashable
        The attributes that there are.
    numbers : callable
        Returns those of them whose values are numbers.

    Raises
    ------
    GraphError
        There is none of this name, but others that may be the weight.
    """
    if any(name == _DEFAULT for name in names):
        return _DEFAULT
    others = [name for name in numbers() if not isinstance(name, str) or may_be_weight(name)]
    if others:
        shown = ", ".join(repr(name) for name in others)
        raise GraphError(
            f"the edges have no {_DEFAULT!r}, but the numbers {shown}: give the name of the "
            "weight, or None if every edge has length 1"
        )
    return None
