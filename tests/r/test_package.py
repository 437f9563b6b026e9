"""The R package: its own tests, and the same answers as from Python.

To run: ``python -m pytest -m r``. R must have the packages reticulate and testthat (Debian:
r-cran-reticulate, r-cran-testthat).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import pyapsp
from pyapsp.graph import from_frame

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.r,
    pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no Rscript"),
]


def run(*words: str, folder: Path, **variables: str) -> str:
    """Run a program with this Python and this checkout, and return what it prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RETICULATE")}
    own = {"RETICULATE_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        words,
        cwd=folder,
        env=kept | own | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder in which the package is installed."""
    folder = tmp_path_factory.mktemp("library")
    run("R", "CMD", "INSTALL", f"--library={folder}", str(ROOT / "r"), folder=folder)
    return str(folder)


def test_its_own_tests(library: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "r" / "tests", tmp_path / "tests")
    told = run("Rscript", "testthat.R", folder=tmp_path / "tests", R_LIBS=library)
    passed = told.partition("PASS ")[2].partition(" ")[0]
    assert "FAIL 0 | WARN 0 | SKIP 0" in told
    assert int(passed) >= 50


def test_the_page_about_it(library: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "frames.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```{code-block} r\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    (tmp_path / "page.R").write_text("\n".join(blocks), encoding="utf-8")
    told = run("Rscript", "page.R", folder=tmp_path, R_LIBS=library)
    assert re.search(r" Rome  Lucca +376 +Pisa\n", told)
    assert "Got 'Milan' instead." in told


def test_the_version_is_that_of_python() -> None:
    described = (ROOT / "r" / "DESCRIPTION").read_text(encoding="utf-8")
    assert f"\nVersion: {pyapsp.__version__}\n" in described


@pytest.mark.parametrize("names", ["integers", "strings"])
def test_answers_are_those_of_python(library: str, names: str, tmp_path: Path) -> None:
    drawn = np.random.default_rng(5)
    ids = drawn.permutation(5000)[:200].tolist()
    ids = [f"ß{number}" for number in ids] if names == "strings" else ids
    ends = drawn.integers(200, size=(2, 420)).tolist()
    edges = {name: [ids[end] for end in side] for name, side in zip("st", ends, strict=True)}
    edges["w"] = drawn.integers(1, 50, 420).tolist()
    pandas.DataFrame(edges).to_csv(tmp_path / "edges", sep=" ", header=False, index=False)
    sources = edges["s"][:2]
    script, named = str(ROOT / "tests" / "r" / "answers.R"), ",".join(map(str, sources))
    run("Rscript", script, "edges", named, str(tmp_path), folder=tmp_path, R_LIBS=library)

    graph = from_frame(edges, source="s", target="t", weight="w")
    numbers = [graph.vertex(source) for source in sources]
    components = pyapsp.strongly_connected_components(graph).to_columns()
    components["component"] = components["component"] + 1  # R counts from 1
    assert read(tmp_path / "scc.csv") == rows_of(components)
    arcs = list(zip(*edges.values(), strict=True))
    ones = {(tail, head): 1 for tail, head, _ in arcs}
    check(tmp_path / "bfs.csv", pyapsp.bfs(graph, numbers).to_columns(), ones)
    shortest = {(tail, head): w for tail, head, w in sorted(arcs, key=lambda arc: -arc[2])}
    found = pyapsp.sssp(graph, numbers, predecessors=True)
    check(tmp_path / "sssp.csv", found.to_columns(), shortest)


def rows_of(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of columns, None where a value is missing."""
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of an answer of R."""
    frame = pandas.read_csv(path)
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def check(path: Path, columns: dict[str, Any], weights: dict[tuple[Any, Any], float]) -> None:
    """Compare a search with Python's; of several vertices before one, any is right."""
    length, before = list(columns)[2:]
    ours, theirs = read(path), rows_of(columns)
    assert list(ours[0]) == list(columns)
    assert [{**row, before: None} for row in ours] == [{**row, before: None} for row in theirs]
    lengths = {(row["source"], row["vertex"]): row[length] for row in ours}
    assert None in lengths.values()
    for row in ours:
        source, vertex, last = row["source"], row["vertex"], row[before]
        if row[length] is None or vertex == source:
            assert last is None
        else:
            assert lengths[source, last] + weights[last, vertex] == row[length]
