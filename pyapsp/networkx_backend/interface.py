"""The interface that NetworkX loads: functions, conversion, and the choice of calls."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from pyapsp.networkx_backend import (
    centrality,
    components,
    efficiencies,
    fitness,
    lengths,
    measures,
    searches,
    trusses,
)
from pyapsp.networkx_backend.converted import convert_from_nx, convert_to_nx

__all__ = ["can_run", "convert_from_nx", "convert_to_nx", "should_run"]
__all__ += centrality.__all__
__all__ += components.__all__
__all__ += efficiencies.__all__
__all__ += lengths.__all__
__all__ += measures.__all__
__all__ += searches.__all__
__all__ += trusses.__all__

_log = logging.getLogger(__name__)


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return whether a call can run here with the results of NetworkX, or log and return why not.

    Parameters and values are those of `fitness.can_run`.
    """
    return _logged(name, fitness.can_run(name, args, kwargs))


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return whether a call is likely to be faster here, or log and return why not.

    Parameters and values are those of `fitness.should_run`.
    """
    return _logged(name, fitness.should_run(name, args, kwargs))


def _logged(name: str, verdict: bool | str) -> bool | str:
    if isinstance(verdict, str):
        _log.info("%s: NetworkX, because %s", name, verdict)
    return verdict


def __getattr__(name: str) -> Callable[..., object]:
    if name not in __all__:
        raise AttributeError(f"module 'pyapsp.networkx_backend.interface' has no {name!r}")
    return fitness.function(name)
