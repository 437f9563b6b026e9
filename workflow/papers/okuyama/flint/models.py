"""The models of chapter 5: lines and rings of cells, networks of neurons, and files of Flint."""

from __future__ import annotations

import os
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from papers.runner import Label
from pyapsp.base.json import Record
from pyapsp.simulation.engine import DeviceEngine
from pyapsp.simulation.frontend import read_model
from pyapsp.simulation.generators import (
    join,
    luo_rudy,
    luo_rudy_line,
    luo_rudy_ring,
    wang_buzsaki,
)
from pyapsp.simulation.host import HostEngine
from pyapsp.simulation.layout import Layout, Optimisations, arrange
from pyapsp.simulation.schedule import compile_model
from pyapsp.simulation.system import System
from pyapsp.simulation.values import at_start

__all__ = [
    "FILE",
    "STEP",
    "Model",
    "about_model",
    "line",
    "networks",
    "of_size",
    "relative",
    "shipped",
]

#: [O] 5.6: Euler's method with steps of 0.01 ms.
STEP = 0.01
#: A single cell in ISML, of Flint's examples.
FILE = "luo_rudy_1991.isml"
# [O] table 5.1: neurons or cells of the networks; and what a ring needs at least.
_PUBLISHED, _SHORTEST_RING = 100, 18
# Flint's examples, in the folder that PYAPSP_DATA_MIRROR names, and the network of Rybak in them.
_ARCHIVE = "models.tar.xz"
_RYBAK = "Rybak_2006_with_static_instance_and_multiple_input.phml"


class Model:
    """A system with its bytecodes."""

    def __init__(self, system: System) -> None:
        self.system = system
        values, initial = at_start(system)
        constants = {name: float(value) for name, value in values.items()}
        self.initial = {name: float(value) for name, value in initial.items()}
        self._models = {
            (merge, sums): compile_model(system, constants, merge=merge, sums=sums)
            for merge, sums in ((False, False), (True, False), (True, True))
        }

    def layout(self, options: Optimisations, width: int) -> Layout:
        """Return the layout with some optimisations."""
        return arrange(self._models[options.merge, bool(options.sum)], options, width)

    def begin(self, engine: HostEngine | DeviceEngine, layout: Layout) -> None:
        """Set the states of an engine to the initial ones."""
        engine.put(np.array([self.initial[name] for name in self._order(layout)]))

    def states(self, engine: HostEngine | DeviceEngine, layout: Layout) -> np.ndarray:
        """Return the states of an engine in float64, in the order of names."""
        states = dict(zip(self._order(layout), engine.get(), strict=True))
        return np.array([states[name] for name in self.initial], np.float64)

    def _order(self, layout: Layout) -> list[str]:
        return sorted(self.initial, key=layout.slots.__getitem__)


def about_model(label: Label, system: System, steps: int, reference: str) -> Record:
    """Return the facts of an input: a system, its steps, and what computes the right answer."""
    return {
        "label": label,
        "functions": len(system.functions),
        "equations": len(system.derivatives),
        "steps": steps,
        "reference": {"what": reference},
    }


def relative(states: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both in units of the right ones; a right 0 is 0."""
    unit = np.where(right == 0, 1, right)
    return states / unit, right / unit


def line(n: int) -> System:
    """Return a line of n cells, or a single cell."""
    return luo_rudy_line(n) if n > 1 else luo_rudy()


def networks(n: int) -> dict[str, System]:
    """Return networks of n neurons or about as many cells; with n = 100 those of the thesis."""
    wang, cells = wang_buzsaki(n), luo_rudy_line(n)
    systems = {"Wang": wang, "LR-Ring": luo_rudy_ring(max(4 * n // 5, _SHORTEST_RING))}
    rybak = shipped(_RYBAK) if n == _PUBLISHED else None
    if rybak is not None:
        rybak = replace(rybak, time_unit="ms")
        systems |= {"Rybak": rybak, "Mix": join(wang=wang, rybak=rybak, line=cells)}
    else:
        systems["Wang and line"] = join(wang=wang, line=cells)
    return systems


def of_size(n: int) -> list[tuple[Label, System]]:
    """Return the line of n cells, and the networks unless they are larger than those published."""
    systems = {f"LR-{n}" if n > 1 else "Luo-Rudy": line(n)}
    if 1 < n <= _PUBLISHED:
        systems |= networks(n)
    return [({"model": name}, system) for name, system in systems.items()]


def shipped(name: str) -> System | None:
    """Return a model of Flint's examples; None if they are not there."""
    archive = Path(os.environ.get("PYAPSP_DATA_MIRROR", ""), _ARCHIVE)
    if not archive.is_file():
        return None
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4
        packed.extract(f"models/{name}", folder)
        return read_model(Path(folder, "models", name))
