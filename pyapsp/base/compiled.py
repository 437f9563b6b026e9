"""Functions compiled by Numba, whose code is kept for other processes.

Numba keeps it in ``__pycache__`` beside the source, or in the folder of the user's caches. Where
neither can be written, each process compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

__all__ = ["compiled"]

_F = TypeVar("_F", bound=Callable[..., object])


def compiled(function: _F) -> _F:
    """Compile a function of a module when it is first called.

    Raises
    ------
    ImportError
        Numba is not installed.
    """
    import numba

    compile_ = numba.njit(nogil=True)
    dispatcher = compile_(function)
    with suppress(RuntimeError):  # no folder can be written
        dispatcher.enable_caching()
    return cast("_F", dispatcher)
