"""What the tests of papers share. Roofs are short: how fast a device is does not matter here."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from papers.report import write_source

from pyapsp.registry import roofs


@pytest.fixture(autouse=True)
def short_roofs(monkeypatch):
    """Measure roofs for a fraction of the usual time."""
    monkeypatch.setattr(roofs, "_SECONDS", roofs._SECONDS / 50)


@pytest.fixture
def spoil(monkeypatch):
    """Return a function that lets a function of a module give answers that are then changed."""

    def spoil(module, name, change):
        right = getattr(module, name)

        def wrong(*arguments, **options):
            found = right(*arguments, **options)
            change(found)
            return found

        monkeypatch.setattr(module, name, wrong)

    return spoil


@pytest.fixture
def written(tmp_path):
    """Return a function that writes the exhibits of some documents, and returns their tables."""

    def write(source, documents):
        paths = []
        for document in documents:
            paths.append(tmp_path / f"{document['experiment']}.json")
            paths[-1].write_text(json.dumps(document))
        write_source(source, paths, tmp_path / "out")
        folder = tmp_path / "out" / "exhibits"
        return {path.stem: pd.read_csv(path) for path in folder.glob("*.csv")}

    return write
