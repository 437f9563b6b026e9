"""Parts of the package that need modules of an extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyapsp.base.errors import PyApspError

__all__ = ["extra"]


@contextmanager
def extra(name: str | None, what: str) -> Iterator[None]:
    """Around imports: if a module is missing, say how to install it.

    Parameters
    ----------
    name : str or None
        Of the extra that installs it. None: there is none, and the package has the name of the
        module.
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
        how = f"; install the extra {name!r} of pyapsp" if name else f": pip install {error.name}"
        raise PyApspError(f"{what} needs {error.name}{how}") from None
