"""Parts of the package that need modules of an extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyapsp.base.errors import PyApspError

__all__ = ["extra"]


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Around imports: if a module is missing, say which extra installs it.

    Parameters
    ----------
    name : str
        Of the extra.
    what : str
        What needs the module, for the message.

    Raises
    ------
    PyApspError
        If a module is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise PyApspError(
            f"{what} needs {error.name}; install the extra {name!r} of pyapsp"
        ) from None
