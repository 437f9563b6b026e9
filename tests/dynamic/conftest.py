"""Fixtures: containers in the form for CPUs, and in that for GPUs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyapsp.device import Device
from pyapsp.dynamic import rows, store


@pytest.fixture(params=["items", "groups"])
def form(request, device, monkeypatch):
    """Groups of one work-item, and groups whose work-items share rows."""
    traits = replace(device.traits, scalar_groups=request.param == "items")
    monkeypatch.setattr(Device, "traits", traits)
    for module in (store, rows):
        monkeypatch.setattr(module, "_GROUP", 32)
    monkeypatch.setattr(rows, "_LONG", 2)
    return request.param
