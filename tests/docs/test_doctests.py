"""The examples in docstrings say what really comes out."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path

import networkx
import pytest

import pyapsp

PACKAGE = Path(__file__).resolve().parents[2] / "pyapsp"
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if re.search(r"^ *>>> (?!.*SKIP)", path.read_text(encoding="utf-8"), re.MULTILINE)
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, device, monkeypatch):
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    with networkx.config(backend_priority=[]):  # which one of the examples changes
        found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0


def test_the_central_functions_have_examples():
    assert {"pyapsp.all_pairs.solver", "pyapsp.all_pairs.rows", "pyapsp.all_pairs.many"} <= set(
        MODULES
    )


def test_every_public_function_has_an_example():
    site = [PACKAGE.parent / "README.md", *(PACKAGE.parent / "docs").rglob("*.md")]
    pages = "\n".join(page.read_text(encoding="utf-8") for page in site)
    for name in pyapsp.__all__:
        public = getattr(pyapsp, name)
        if inspect.isfunction(public):
            assert ">>>" in (public.__doc__ or "") or f"pyapsp.{name}(" in pages, name
