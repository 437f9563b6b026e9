"""The figures that the papers give, from ``data/papers``."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Published"]

_PACKAGE = Path(__file__).resolve().parents[2]


@cache
def _rows(name: str) -> list[dict[str, Any]]:
    # an installed package has the data inside, a checkout beside it
    folders = (_PACKAGE / "_data", _PACKAGE.parent / "data")
    path = next(p for folder in folders if (p := folder / "papers" / f"{name}.csv").is_file())
    with open(path, encoding="utf-8", newline="") as file:
        return [
            {column: _number(cell) for column, cell in row.items()} for row in csv.DictReader(file)
        ]


def _number(cell: str) -> Any:
    """Turn a cell into a number where it is one."""
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return cell


class Published:
    """The figures of one paper.

    Parameters
    ----------
    name : str
        Of the file, without suffix.
    """

    def __init__(self, name: str) -> None:
        self._rows = _rows(name)

    def rows(self, **where: Any) -> list[dict[str, Any]]:
        """Return the rows that have these values."""
        return [
            row
            for row in self._rows
            if all(row[column] == value for column, value in where.items())
        ]

    def value(self, **where: Any) -> float | None:
        """Return the value of the one row that has these values, None when there is none.

        Raises
        ------
        LookupError
            If there are several.
        """
        rows = self.rows(**where)
        if len(rows) > 1:
            raise LookupError(f"{len(rows)} rows for {where}")
        return rows[0]["value"] if rows else None

    def sizes(self, **where: Any) -> set[int]:
        """Return every n of the rows that have these values."""
        return {row["n"] for row in self.rows(**where)}
