"""A fixture that changes kernels, as a compiler would that removes work."""

from __future__ import annotations

import pytest

from pyapsp.device.kernels import program


@pytest.fixture
def build_without(monkeypatch):
    """Return a function that builds kernels with another text in place of one."""

    def change(text, instead):
        whole = program.flattened

        def changed(name):
            source = whole(name)
            return source.replace(text, instead)

        monkeypatch.setattr(program, "flattened", changed)

    return change
