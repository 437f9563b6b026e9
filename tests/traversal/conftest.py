"""Fixtures of the searches."""

from __future__ import annotations

import pytest


@pytest.fixture
def quick(monkeypatch):
    """Compile without optimisation: kernels with many barriers take seconds otherwise."""
    monkeypatch.setenv("PYOPENCL_BUILD_OPTIONS", "-cl-opt-disable")
