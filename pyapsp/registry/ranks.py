"""What functions do with the argument ``comm``: `pyapsp.cluster` registers it by name.

So no problem imports that package, which is in a higher layer.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from pyapsp.base.dry import is_dry
from pyapsp.base.errors import ParameterError

__all__ = ["on_ranks", "register_on_ranks", "sources_on_ranks"]

# The module whose import registers all functions.
_MODULE = "pyapsp.cluster.entrance"

_functions: dict[str, Callable[..., Any]] = {}
_F = TypeVar("_F", bound=Callable[..., object])
_P = ParamSpec("_P")
_R = TypeVar("_R")


def register_on_ranks(name: str) -> Callable[[_F], _F]:
    """Return a decorator that registers what the function of this name does on ranks."""

    def register(function: _F) -> _F:
        _functions[name] = function
        return function

    return register


def on_ranks(name: str) -> Callable[..., Any]:
    """Return the function that is registered under a name; its first argument is ``comm``.

    Raises
    ------
    ParameterError
        In a dry run, which would end some ranks while others wait for them.
    """
    if is_dry():
        raise ParameterError("dry_run is for one process: leave out comm")
    importlib.import_module(_MODULE)
    return _functions[name]


def sources_on_ranks(
    *, pairs: bool = False, gathered: bool = False
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator of functions with the arguments ``graph``, ``sources`` and ``comm``.

    With a communicator each rank calls the function for a part of the sources. What is found from a
    source must not depend on the other sources. Without one the function is called as it is.

    Parameters
    ----------
    pairs : bool
        Whether the i-th of the sources and of the ``targets`` belong together.
    gathered : bool
        Whether all ranks return the answer, an array with a row for each source. Otherwise each
        returns that for its part.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
            comm = options.get("comm")
            if comm is None:
                return function(*arguments, **options)
            run, how = on_ranks("sources"), {"pairs": pairs, "gathered": gathered}
            return cast("_R", run(comm, function, arguments, options, **how))

        return call

    return decorate
