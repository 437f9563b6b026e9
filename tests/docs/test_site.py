"""The site is built without a warning, and has every public name.

Notebooks are not run here: test_notebooks.py does that, and `make docs`.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
MODULES = (
    "pyapsp",
    "pyapsp.bulk",
    "pyapsp.csgraph",
    "pyapsp.dynamic",
    "pyapsp.errors",
    "pyapsp.graph.generators",
    "pyapsp.mining",
    "pyapsp.matching",
    "pyapsp.sweep",
    "pyapsp.verify",
)
OFFLINE = ("nb_execution_mode=off", "suppress_warnings=myst-nb.lexer")


def documented(site):
    """Return the names of the inventory that other sites look into."""
    _, _, _, _, packed = (site / "objects.inv").read_bytes().split(b"\n", 4)
    lines = zlib.decompress(packed).decode().splitlines()
    return {line.split()[0] for line in lines if line.split()[1].startswith("py:")}


def public():
    """Yield every public name."""
    for name in MODULES:
        yield from (f"{name}.{attribute}" for attribute in importlib.import_module(name).__all__)


@pytest.mark.slow
def test_site(tmp_path):
    settings = [part for setting in OFFLINE for part in ("-D", setting)]
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", *settings]
    command += ["-d", tmp_path / "doctrees", TOP / "docs", tmp_path / "site"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=550)
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""

    missing = set(public()) - documented(tmp_path / "site")
    assert not missing

    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text(encoding="utf-8")
        # everything that a page loads comes with it
        assert not re.findall(r'<(?:script|img|link)\b[^>]*(?:src|href)="https?:[^"]*"', text), page
