"""Names of the library that pages mention in their text or in tables; blocks of code are run."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / page for page in ("README.md", "CONTRIBUTING.md", "pyapsp/README.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
]


def is_there(name):
    """Whether attributes and imports lead to a name."""
    found, words = importlib.import_module("pyapsp"), name.split(".")
    for place, word in enumerate(words[1:], 1):
        try:
            found = getattr(found, word)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(words[: place + 1]))
            except ModuleNotFoundError:
                return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_name_exists(page):
    names = re.findall(r"`(pyapsp(?:\.[A-Za-z]\w*)+)", page.read_text(encoding="utf-8"))
    assert [name for name in sorted(set(names)) if not is_there(name)] == []


def test_names_in_readme_need_no_import_but_that_of_the_package():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names = sorted(set(re.findall(r"`(pyapsp(?:\.[A-Za-z]\w*)+)", text)))
    assert "pyapsp.traversal.partition" in names
    code = f"import pyapsp\nfor name in {names}: eval(name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_name_that_is_none():
    assert is_there("pyapsp.traversal.partition")
    assert not is_there("pyapsp.partition")
    assert not is_there("pyapsp.solve.distance")
