"""The invariants of a trace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pyapsp.base.extras import extra
from pyapsp.base.files import atomic_write, check_suffix
from pyapsp.base.shown import Shown
from pyapsp.mining.inference import Survivors
from pyapsp.mining.templates import Batch, Statement

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Invariants"]


@dataclass(frozen=True, repr=False)
class Invariants(Shown):
    """Statements that hold at every instant of a trace: its likely invariants.

    Attributes
    ----------
    names : dict of str to tuple of str
        The variables of each kind, "boolean" and "numeric".
    n : int
        Number of instants.
    batches : list of (Batch, Survivors)
    facts : dict
        The options that were used; ``seconds`` ("kernel", "transfer", "read" and "total", which may
        overlap); ``checked`` and ``entries``: entries that the device checked, and all.
    """

    names: dict[str, tuple[str, ...]]
    n: int
    batches: list[tuple[Batch, Survivors]]
    facts: dict[str, Any] = field(default_factory=dict)

    def _facts(self) -> dict[str, object]:
        variables = sum(map(len, self.names.values()))
        return {"invariants": len(self), "variables": variables, "instants": self.n}

    def __len__(self) -> int:
        return sum(
            int((each.words >> np.uint32(bit) & np.uint32(1)).sum())
            for batch, each in self.batches
            for bit, statement in enumerate(batch.statements)
            if not statement.hidden
        )

    def __iter__(self) -> Iterator[str]:
        """Yield each invariant as a readable formula."""
        for _, statement, names in self._each():
            yield statement.about(names)

    def frame(self) -> pd.DataFrame:
        """Return the invariants as a data frame of pandas.

        Returns
        -------
        pandas.DataFrame
            Columns ``kind``, ``template``, ``formula``, and ``a``, ``b``, ``c``: the variables in
            the places of the template.
        """
        with extra("mining", "Invariants.frame"):
            import pandas as pd

        rows = []
        for batch, statement, names in self._each():
            actual = [names[place] for place in statement.order]
            filled = (*actual, *[None] * (3 - len(actual)))
            rows.append((batch.kind, statement.formula.text, statement.about(names), *filled))
        return pd.DataFrame(rows, columns=["kind", "template", "formula", "a", "b", "c"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one formula a line (``.txt``), or the data frame (``.csv``).

        Raises
        ------
        ParameterError
            If `path` is no name of a file, or has the suffix of another format.
        """
        check_suffix(path, "Invariants.save", ".txt", ".csv", others="frame()")
        with atomic_write(path) as file:
            if os.fspath(path).lower().endswith(".csv"):
                self.frame().to_csv(file, index=False)
            else:
                file.writelines(f"{formula}\n" for formula in self)

    def _each(self) -> Iterator[tuple[Batch, Statement, list[str]]]:
        for batch, survivors in self.batches:
            names = self.names[batch.kind]
            for bit, statement in enumerate(batch.statements):
                if statement.hidden:
                    continue
                holding = survivors.words >> np.uint32(bit) & np.uint32(1)
                for entry in survivors.entries[holding.astype(bool)].tolist():
                    yield batch, statement, [names[row] for row in entry]
