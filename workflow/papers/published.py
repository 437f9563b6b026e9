"""The figures that the papers give: ``published.csv`` of a source or one of its topics."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

from papers.values import Value

__all__ = ["Published"]

_HERE = Path(__file__).parent


@cache
def _rows(folder: str) -> list[dict[str, Any]]:
    with open(_HERE / folder / "published.csv", encoding="utf-8", newline="") as file:
        return [
            {column: _number(cell) for column, cell in row.items()} for row in csv.DictReader(file)
        ]


def _number(cell: str) -> int | float | str:
    """Return the number in a cell, or its text."""
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return cell


class Published:
    """The figures of a source, or of one of its topics.

    Parameters
    ----------
    folder : str
        Folder of the source or topic, e.g. ``"okuyama/blocked"``.
    """

    def __init__(self, folder: str) -> None:
        self._rows = _rows(folder)

    def rows(self, **where: Value) -> list[dict[str, Any]]:
        """Return the rows with these values."""
        return [
            row
            for row in self._rows
            if all(row[column] == value for column, value in where.items())
        ]

    def value(self, **where: Value) -> float | None:
        """Return the value of the only row with these values; None if there is none.

        Raises
        ------
        LookupError
            If there are several.
        """
        rows = self.rows(**where)
        if len(rows) > 1:
            raise LookupError(f"{len(rows)} rows for {where}")
        return rows[0]["value"] if rows else None

    def sizes(self, **where: Value) -> set[int]:
        """Return every n of the rows with these values."""
        return {row["n"] for row in self.rows(**where)}
