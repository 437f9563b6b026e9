"""What functions do with the argument ``comm``: `pyapsp.cluster` registers it by name.

So no problem imports that package, which is in a higher layer.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["on_ranks", "register_on_ranks"]

# The module whose import registers all functions.
_MODULE = "pyapsp.cluster.entrance"

_functions: dict[str, Callable[..., Any]] = {}
_F = TypeVar("_F", bound=Callable[..., object])


def register_on_ranks(name: str) -> Callable[[_F], _F]:
    """Return a decorator that registers what the function of this name does on ranks."""

    def register(function: _F) -> _F:
        _functions[name] = function
        return function

    return register


def on_ranks(name: str) -> Callable[..., Any]:
    """Return the function that is registered under a name; its first argument is ``comm``."""
    importlib.import_module(_MODULE)
    return _functions[name]
