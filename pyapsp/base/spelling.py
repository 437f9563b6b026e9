"""How names and numbers are written: the name that was probably meant, and plain numbers."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["is_plain", "meant"]

# Names of methods differ in whole words: below this likeness there are false friends.
_LIKE = 0.6


def meant(given: object, known: Iterable[str]) -> str:
    """Return a sentence with the known name that is most like a given one.

    Parameters
    ----------
    given : object
        What the user wrote.
    known : iterable of str

    Returns
    -------
    str
        For example ``" Did you mean 'solve'?"``; empty if no name is like it.
    """
    from difflib import get_close_matches  # its import is for errors only

    if not isinstance(given, str):
        return ""
    by_case = {name.lower().replace("_", "-"): name for name in known}
    found = get_close_matches(given.lower().replace("_", "-"), by_case, 1, _LIKE)
    return f" Did you mean {by_case[found[0]]!r}?" if found else ""


def is_plain(text: str) -> bool:
    """Return whether a number has no ``_`` and no digits of other scripts.

    Python and NumPy read ``1_0`` as 10, where a file may have lost a point or a blank.
    """
    return text.isascii() and "_" not in text
