"""Front ends: from the file of a model to a :class:`~pyapsp.simulation.system.System`."""

from __future__ import annotations

from pyapsp.simulation.frontend.reading import read_model

__all__ = ["read_model"]
