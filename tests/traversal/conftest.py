"""Fixtures of the searches."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def quick(monkeypatch, device):
    """Compile without optimisation on PoCL: kernels with many barriers take seconds otherwise.

    Elsewhere not: Intel's compiler crashes on some of these kernels if it may not optimise.
    """
    if device.platform_name == "Portable Computing Language":
        monkeypatch.setenv("PYOPENCL_BUILD_OPTIONS", "-cl-opt-disable")


@pytest.fixture
def fenced(device):
    """A device whose groups can wait for each other."""
    if not device.capabilities.device_scope_fence:
        pytest.skip("this device has no fence of its own")
    return device


@pytest.fixture
def withhold(monkeypatch) -> Callable[[object], None]:
    """Return a function after which a group never comes to a meeting, and the others give up soon.

    Its argument is what has the function `defines` of the kernels: a method or a module.
    """

    def withheld(owner: object) -> None:
        defines = owner.defines
        limits = {"PYAPSP_WITHHOLD": 1, "PYAPSP_PATIENCE": 1000}
        monkeypatch.setattr(owner, "defines", lambda *given: defines(*given) | limits)

    return withheld
