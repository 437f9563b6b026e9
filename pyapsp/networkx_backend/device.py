"""The device in the settings, and translation of errors into those of NetworkX."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import networkx as nx

from pyapsp.base.errors import DeviceError, NegativeCycleError, PrecisionError
from pyapsp.device import DeviceLike

__all__ = ["device", "networkx_errors"]

_log = logging.getLogger(__name__)


def device() -> DeviceLike:
    """Return the setting ``nx.config.backends.pyapsp.device``."""
    setting: DeviceLike = nx.config.backends.pyapsp.device
    return setting


@contextmanager
def networkx_errors() -> Iterator[None]:
    """Translate errors into those of NetworkX, or into one after which NetworkX runs itself.

    Raises
    ------
    NetworkXUnbounded
        For a negative cycle.
    NotImplementedError
        If there is no device, or it lacks a capability or memory. NetworkX then runs itself.
    """
    try:
        yield
    except NegativeCycleError as error:
        # its text numbers the vertices of the converted graph
        raise nx.NetworkXUnbounded("Negative cycle detected.") from error
    except (DeviceError, PrecisionError) as error:
        _log.info("NetworkX runs a call, because pyapsp cannot: %s", error)
        raise NotImplementedError(str(error)) from error
