"""Short roofs: how fast a device is does not matter here."""

from __future__ import annotations

import pytest

from pyapsp.registry import roofs


@pytest.fixture(autouse=True)
def short_roofs(monkeypatch):
    """Measure roofs for a fraction of the usual time."""
    monkeypatch.setattr(roofs, "_SECONDS", roofs._SECONDS / 50)
