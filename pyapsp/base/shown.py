"""How answers show themselves: in one line, and as a short table in notebooks."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Shown", "plain", "table"]


class Shown(ABC):
    """Base of objects with a line that names them, and a table in notebooks.

    A dataclass needs ``repr=False``, or it makes a line of its own from all its fields.
    """

    @abstractmethod
    def _facts(self) -> Mapping[str, object]:
        """Return what is shown, by name; None is left out."""

    def _known(self) -> dict[str, object]:
        return {name: value for name, value in self._facts().items() if value is not None}

    def __repr__(self) -> str:
        """Return one line."""
        facts = ", ".join(f"{name}={value}" for name, value in self._known().items())
        return f"<{type(self).__name__}: {facts}>"

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return table([type(self).__name__, ""], self._known().items())


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in HTML."""
    lines = [("th", heads), *(("td", row) for row in rows)]
    texts = (
        "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in row) for tag, row in lines
    )
    return f"<table>{''.join(f'<tr>{text}</tr>' for text in texts)}</table>"


def plain(value: object) -> object:
    """Return a text or number of NumPy as that of Python, whose repr is shorter."""
    # of no other type is the item the same value with the same digits
    same = {"str_", "bool", "bool_", "float64"}
    name = type(value).__name__
    if type(value).__module__ == "numpy" and (name in same or name.lstrip("u").startswith("int")):
        item: object = getattr(value, "item", lambda: value)()
        return item
    return value
