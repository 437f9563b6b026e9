"""A source: a thesis, a poster or a paper, with its experiments and exhibits."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyapsp.papers.exhibits import Exhibit, Measured
    from pyapsp.papers.experiment import Experiment

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """What was published, and what is measured for it.

    A source with several topics has a folder for each. A folder has ``experiments.py``, whose
    ``EXPERIMENTS`` are the experiments by their names; ``exhibits.py``, whose ``EXHIBITS`` are what
    makes each table and figure, with the experiment that it is made from; and ``published.csv``.

    Attributes
    ----------
    name : str
        Of its folder; names of experiments begin with it.
    title : str
    topics : tuple of str
        Folders in its folder; without any it is one itself.
    """

    name: str
    title: str
    topics: tuple[str, ...] = ()

    @cached_property
    def experiments(self) -> dict[str, Experiment]:
        """The experiments by their names."""
        found: dict[str, Experiment] = {}
        for module in self._modules("experiments"):
            found |= module.EXPERIMENTS
        return found

    @cached_property
    def exhibits(self) -> tuple[tuple[str, Callable[[Measured], Exhibit]], ...]:
        """The experiment and the maker of each table and figure; needs the extra ``report``."""
        return tuple(each for module in self._modules("exhibits") for each in module.EXHIBITS)

    def _modules(self, name: str) -> list[ModuleType]:
        folders = [f"{self.name}.{topic}" for topic in self.topics] or [self.name]
        return [importlib.import_module(f"pyapsp.papers.{folder}.{name}") for folder in folders]
