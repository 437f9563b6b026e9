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
    from papers.tables import Exhibit

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """A publication, with the experiments that repeat its measurements.

    A source with several topics has a folder for each. A folder has ``experiments.py`` with
    ``EXPERIMENTS``, name -> experiment; ``exhibits.py`` with ``EXHIBITS``, a row for each table
    and figure; and ``published.csv``.

    Attributes
    ----------
    name : str
        Name of its folder, with hyphens; names of experiments begin with it.
    title : str
    topics : tuple of str
        Subfolders of its folder, one for each topic; empty if there are no topics.
    """

    name: str
    title: str
    topics: tuple[str, ...] = ()

    @cached_property
    def experiments(self) -> dict[str, Experiment]:
        """Name -> experiment."""
        found: dict[str, Experiment] = {}
        for module in self._modules("experiments"):
            found |= module.EXPERIMENTS
        return found

    @cached_property
    def exhibits(self) -> tuple[tuple[str, Callable[[Measured], Exhibit]], ...]:
        """Experiment and function of each table and figure; needs the extra ``report``."""
        return tuple(
            (each.experiment, each.make)
            for module in self._modules("exhibits")
            for each in module.EXHIBITS
        )

    def _modules(self, name: str) -> list[ModuleType]:
        own = self.name.replace("-", "_")
        folders = [f"{own}.{topic}" for topic in self.topics] or [own]
        return [importlib.import_module(f"papers.{folder}.{name}") for folder in folders]
