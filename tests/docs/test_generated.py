"""The table of methods, the help of the commands, the pictures."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest
from papers import EXPERIMENTS, SOURCES

import pyapsp
from pyapsp import bulk, cli
from pyapsp.sweep import applications

TOP = Path(__file__).resolve().parents[2]
PAGES = sorted((TOP / "docs").rglob("*.md"))
# runs on the host, compiled by Numba
WITHOUT_KERNEL = {"dijkstra-cpu"}
# They convert and change graphs, simulate models, mine traces, match graphs, and measure devices.
WITHOUT_METHOD = {
    "busato-traversal-formats",
    "okuyama-flint",
    *(f"okuyama-flint-{name}" for name in ("networks", "output", "accuracy")),
    *(f"busato-dynamic-{name}" for name in ("formats", "updates", "analytics", "triangles")),
    *(f"busato-mining-{name}" for name in ("miners", "parts", "designs", "overlap")),
    *(
        f"busato-profiling-{name}"
        for name in ("device", "primitives", "criteria", "reduction", "transpose")
    ),
    *(
        f"busato-matching-{name}"
        for name in ("queries", "levels", "scores", "perturbed", "complexes")
    ),
}


@pytest.mark.parametrize("method", pyapsp.methods(), ids=lambda method: method.id)
def test_method_has_source_kernel_and_test(method, generated):
    kernels, tests = generated.files(method)
    assert re.search(r"\b(19|20)\d\d\b", method.source)
    assert bool(kernels) == (method.id not in WITHOUT_KERNEL)
    assert tests
    for path in (*kernels, *tests):
        assert (TOP / path).is_file()
    text = "".join((TOP / path).read_text(encoding="utf-8") for path in tests)
    assert method.id in text or re.search(r"methods\(", text)


def test_table_has_a_row_for_each_method(generated):
    rows = generated.methods_table().splitlines()[2:]
    assert sorted(row.split("`")[1] for row in rows) == sorted(m.id for m in pyapsp.methods())
    assert {row.count("|") for row in rows} == {5}


def test_table_has_a_row_for_each_program_and_sweep(generated):
    rows = generated.programs_table().splitlines()[2:]
    names = {row.split("`")[1]: row for row in rows}
    assert len(names) == len(rows)
    assert names.keys() == {*bulk.programs(), *applications.__all__}
    for path in re.findall(r"</\.\./([^>]+)>", "".join(rows)):
        assert (TOP / path).is_file()
    assert "figure 4.10" in names["bitonic_sort"]
    assert "figures 7a and 8a" in names["neural_network"]


def test_published_methods_are_measured_again(generated):
    """What a paper gives a figure for takes part in the target of that paper."""
    exhibits = {method.id: generated.exhibits(method.id) for method in pyapsp.methods()}
    checked = 0
    folder = TOP / "workflow" / "papers"
    for path in sorted(folder.rglob("published.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            published = {row.get("method") for row in csv.DictReader(file)} & exhibits.keys()
        for name in published:
            source = path.relative_to(folder).parts[0].replace("_", "-")
            assert source in exhibits[name], (path, name)
            checked += 1
    assert checked > 10


def test_what_experiments_time_has_a_row(generated):
    """Every name that they declare is one of a method, a program or a sweep."""
    tables = generated.methods_table() + generated.programs_table()
    for name, experiment in EXPERIMENTS.items():
        assert experiment.methods or name in WITHOUT_METHOD
        for each in experiment.methods:
            row = next(line for line in tables.splitlines() if line.startswith(f"| `{each}` "))
            source = next(each for each in SOURCES.values() if name in each.experiments)
            assert f"`{source.name}`: " in row
            assert experiment.exhibits in row


def test_exhibits_are_those_of_the_method_alone(generated):
    found = {method.id: generated.exhibits(method.id) for method in pyapsp.methods()}
    assert found["fw-multidevice"] == {}
    assert found["apsp-bfs"] == {"takafuji": ["tables 3.4 and 3.5"]}
    assert "table 3.10" in found["fw-packed8"]["takafuji"]
    assert "table 3.10" not in found["fw-packed4"]["takafuji"]


def test_help_of_every_command(generated, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "96")
    monkeypatch.setenv("NO_COLOR", "1")
    page = generated.commands()
    [commands] = (action for action in cli.parser()._actions if action.dest == "command")
    assert re.findall(r"^### pyapsp (\S+)$", page, re.MULTILINE) == list(commands.choices)
    for name in commands.choices:
        with pytest.raises(SystemExit):
            cli.main([name, "--help"])
        assert capsys.readouterr().out.strip() in page


def test_pictures_are_drawn_and_shown(pictures):
    shown = [name for page in PAGES for name in re.findall(r"\{picture\} (\S+)", page.read_text())]
    assert sorted(shown) == sorted(pictures.PICTURES)
    for name in pictures.PICTURES:
        element = ElementTree.fromstring(pictures.svg(name, 'what "it" shows'))
        _, _, width, height = map(float, element.get("viewBox").split())
        assert element.get("aria-label") == 'what "it" shows'
        for part in element.iter():
            kind = part.tag.rpartition("}")[2]
            if kind == "text":
                # ink of the page, inside the frame
                assert part.get("fill") == "currentColor"
                assert 0 <= float(part.get("x")) <= width
                assert 0 <= float(part.get("y")) <= height
            elif kind == "rect":
                assert float(part.get("x")) + float(part.get("width")) <= width
                assert float(part.get("y")) + float(part.get("height")) <= height


def test_picture_of_a_round_writes_every_tile_once(pictures):
    drawn = pictures.svg("blocked", "")
    counts = Counter(re.findall(r'<rect [^>]*fill="(#\w+)"', drawn))
    # 6 x 6 tiles: pivot, its row and column, all others; grey is what is read
    assert sorted(counts.values()) == [1, 10, 1 + 11, 25]
