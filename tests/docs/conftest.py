"""The modules that pages are made from."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


# they import each other
sys.path[:0] = [str(DOCS), str(DOCS.parent / "tests" / "architecture")]


def _load(name):
    spec = importlib.util.spec_from_file_location(f"pyapsp_docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def generated():
    return _load("generated")


@pytest.fixture(scope="session")
def pictures():
    return _load("pictures")


@pytest.fixture(scope="session")
def records():
    return _load("records")


@pytest.fixture
def measured(records, monkeypatch):
    module = _load("measured")
    monkeypatch.setattr(module, "records", records)
    return module
