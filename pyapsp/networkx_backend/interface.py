"""The interface that NetworkX loads: functions, conversion, and the choice of calls."""

from __future__ import annotations

from collections.abc import Callable

from pyapsp.networkx_backend import centrality, components, lengths, measures, searches, trusses
from pyapsp.networkx_backend.converted import convert_from_nx, convert_to_nx
from pyapsp.networkx_backend.fitness import can_run, function, should_run

__all__ = ["can_run", "convert_from_nx", "convert_to_nx", "should_run"]
__all__ += centrality.__all__
__all__ += components.__all__
__all__ += lengths.__all__
__all__ += measures.__all__
__all__ += searches.__all__
__all__ += trusses.__all__


def __getattr__(name: str) -> Callable[..., object]:
    if name not in __all__:
        raise AttributeError(f"module 'pyapsp.networkx_backend.interface' has no {name!r}")
    return function(name)
