"""The device of the settings, and its errors in the words of NetworkX."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import networkx as nx

from pyapsp.errors import DeviceError, NegativeCycleError, PrecisionError

__all__ = ["device", "networkx_errors"]


def device() -> Any:
    """Return the setting ``nx.config.backends.pyapsp.device``."""
    return nx.config.backends.pyapsp.device


@contextmanager
def networkx_errors() -> Iterator[None]:
    """Raise what NetworkX would; where this package cannot run, what makes NetworkX run itself.

    Raises
    ------
    NetworkXUnbounded
        For a negative cycle.
    NotImplementedError
        For a device that is missing, or cannot do this, or not in its memory.
    """
    try:
        yield
    except NegativeCycleError as error:
        raise nx.NetworkXUnbounded(f"Negative cycle detected: {error}.") from error
    except (DeviceError, PrecisionError) as error:
        raise NotImplementedError(str(error)) from error
