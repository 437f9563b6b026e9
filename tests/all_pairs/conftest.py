"""Fixtures of the tests of all pairs."""

from __future__ import annotations

from dataclasses import replace

import pytest


@pytest.fixture
def assert_cancels():
    """Check that an exception of `progress` ends a call."""

    class StopError(Exception):
        pass

    def stop(done, total):
        raise StopError

    def check(function, *arguments, **options):
        with pytest.raises(StopError):
            function(*arguments, progress=stop, **options)

    return check


@pytest.fixture
def set_scalar(device, monkeypatch):
    """Return a function that says whether groups have one work-item, as on CPUs."""

    def change(scalar):
        monkeypatch.setattr(type(device), "traits", replace(device.traits, scalar_groups=scalar))

    return change
