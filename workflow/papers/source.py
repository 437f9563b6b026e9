"""A source: a thesis, a poster or a paper, with its experiments and exhibits."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from papers.experiment import Experiment
    from papers.measured import Measured
    from papers.tables import Exhibit, Table

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """A publication, with the experiments that repeat its measurements.

    A source with several topics has a folder for each. A folder has ``experiments.py`` with
    ``EXPERIMENTS``, name -> experiment; ``exhibits.toml`` with the text and the figure of each
    exhibit; ``exhibits.py`` with ``ROWS``, name -> function of its rows; and ``published.csv``.
    """

    # Name of its folder, with hyphens; names of experiments begin with it.
    name: str
    title: str
    # Subfolders of its folder, one for each topic; empty if there are no topics.
    topics: tuple[str, ...] = ()

    @cached_property
    def experiments(self) -> dict[str, Experiment]:
        """Name -> experiment."""
        every: dict[str, Experiment] = {}
        for folder in self._folders:
            every |= _module(folder, "experiments").EXPERIMENTS
        return every

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The entries of ``exhibits.toml``; needs the extra ``report``."""
        from papers.tables import tables

        return tuple(
            each
            for folder in self._folders
            for each in tables(folder, _module(folder, "exhibits").ROWS)
        )

    @property
    def exhibits(self) -> tuple[tuple[str, Callable[[Measured], Exhibit]], ...]:
        """Experiment and function of each table and figure; needs the extra ``report``."""
        return tuple((each.experiment, each.make) for each in self.tables)

    @property
    def _folders(self) -> list[str]:
        own = self.name.replace("-", "_")
        return [f"{own}/{topic}" for topic in self.topics] or [own]


def _module(folder: str, name: str) -> ModuleType:
    return importlib.import_module(f"papers.{folder.replace('/', '.')}.{name}")
