"""What the text of a paper says about its figures, answered by our measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from papers.tables import table_of

__all__ = ["Claim", "claims_table", "told"]


@dataclass(frozen=True)
class Claim:
    """A statement, and whether it holds.

    Attributes
    ----------
    id, text : str
    holds : bool or None
        None if it was not measured, or one device cannot tell.
    numbers : str
    """

    id: str
    text: str
    holds: bool | None
    numbers: str


def claims_table(claims: Iterable[Claim]) -> pd.DataFrame:
    """Return a table of statements and answers."""
    return table_of(
        {
            "claim": each.id,
            "the text says": each.text,
            "here: ours": {True: "yes", False: "no", None: "not measured"}[each.holds],
            "numbers: ours": each.numbers,
        }
        for each in claims
    )


def told(values: Mapping[str, float]) -> str:
    """Return numbers with their names, as a text."""
    return ", ".join(f"{name} {value:.3g}" for name, value in values.items())
