"""The device that the functions take, and the marker of a difference from SciPy."""

from __future__ import annotations

import pytest


def pytest_configure(config):
    text = "difference(kind, sentence): pins a difference from SciPy; docs/differences.md lists it"
    config.addinivalue_line("markers", text)


@pytest.fixture(autouse=True)
def _on_device(device, monkeypatch):
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
