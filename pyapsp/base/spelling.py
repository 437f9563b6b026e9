"""The name that was probably meant, for messages about unknown names."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["meant"]

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
