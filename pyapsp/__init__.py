"""All-pairs shortest paths on any OpenCL device.

Importing this package needs no OpenCL driver and loads nothing but the standard library: the
public names below are imported from their modules on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyapsp import csgraph as csgraph
    from pyapsp import errors as errors
    from pyapsp import verify as verify
    from pyapsp.device import devices as devices
    from pyapsp.graph import Graph as Graph
    from pyapsp.graph import read as read
    from pyapsp.graph import write as write
    from pyapsp.registry import method as method
    from pyapsp.registry import methods as methods
    from pyapsp.result import Result as Result
    from pyapsp.solver import explain as explain
    from pyapsp.solver import solve as solve

__version__ = "0.1.0"

# public name -> (module, attribute there; None when the module itself is the public thing)
_PUBLIC: dict[str, tuple[str, str | None]] = {
    "Graph": ("pyapsp.graph", "Graph"),
    "Result": ("pyapsp.result", "Result"),
    "csgraph": ("pyapsp.csgraph", None),
    "devices": ("pyapsp.device", "devices"),
    "errors": ("pyapsp.errors", None),
    "explain": ("pyapsp.solver", "explain"),
    "method": ("pyapsp.registry", "method"),
    "methods": ("pyapsp.registry", "methods"),
    "read": ("pyapsp.graph", "read"),
    "solve": ("pyapsp.solver", "solve"),
    "verify": ("pyapsp.verify", None),
    "write": ("pyapsp.graph", "write"),
}

__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str) -> object:
    try:
        module, attribute = _PUBLIC[name]
    except KeyError:
        raise AttributeError(f"module 'pyapsp' has no attribute {name!r}") from None
    found = importlib.import_module(module)
    value = found if attribute is None else getattr(found, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
