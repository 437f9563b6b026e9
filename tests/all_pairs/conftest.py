"""Fixtures of the tests of all pairs."""

from __future__ import annotations

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
