"""Short roofs: only the tests of roofs need exact ones."""

from __future__ import annotations

import pytest

from pyapsp.registry import roofs


@pytest.fixture(autouse=True)
def short_roofs(request, monkeypatch):
    """Measure roofs for a fraction of the usual time."""
    if request.path.stem != "test_roofs":
        monkeypatch.setattr(roofs, "_SECONDS", roofs._SECONDS / 50)
