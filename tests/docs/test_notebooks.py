"""Every tutorial runs, cell by cell, on every device."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

TUTORIALS = sorted((Path(__file__).resolve().parents[2] / "docs" / "tutorials").glob("*.md"))
CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def cells_of(path):
    """Yield the code cells of a notebook, each with its line numbers in the file."""
    text = path.read_text(encoding="utf-8")
    for found in CELL.finditer(text):
        line = text.count("\n", 0, found.start(1))
        yield compile("\n" * line + found[1], path, "exec")


def test_cells_keep_their_lines(tmp_path):
    notebook = tmp_path / "some.md"
    notebook.write_text(
        "# Title\n\n```{code-cell} python\nx = 1\n```\n\n```{code-cell} python\n1 / 0\n```\n"
    )
    one, other = cells_of(notebook)
    exec(one, {})
    with pytest.raises(ZeroDivisionError) as caught:
        exec(other, {})
    assert caught.traceback[-1].lineno == 7


@pytest.mark.every(6)
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_runs(path, device, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    mpl.use("agg")
    cells = list(cells_of(path))
    assert len(cells) == path.read_text(encoding="utf-8").count("{code-cell}") > 5
    names = {"__name__": path.stem}
    for cell in cells:
        exec(cell, names)
    sys.modules["matplotlib.pyplot"].close("all")
