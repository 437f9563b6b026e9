"""The figures that the papers give, from ``data/papers``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

__all__ = ["Published"]

_PACKAGE = Path(__file__).resolve().parents[2]


@cache
def _table(name: str) -> pd.DataFrame:
    # an installed package has the data inside, a checkout beside it
    folders = (_PACKAGE / "_data", _PACKAGE.parent / "data")
    path = next(p for folder in folders if (p := folder / "papers" / f"{name}.csv").is_file())
    table = pd.read_csv(path, keep_default_na=False)
    return table.map(_number)


def _number(cell: Any) -> Any:
    """Turn a cell into a number where it is one."""
    if not isinstance(cell, str):
        return cell
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
        self._table = _table(name)

    def rows(self, **where: Any) -> list[dict[str, Any]]:
        """Return the rows that have these values."""
        found = self._table
        for column, value in where.items():
            found = found[found[column] == value]
        rows: list[dict[str, Any]] = found.to_dict("records")
        return rows

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
