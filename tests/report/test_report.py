"""Tables, figures and pages say what the records say."""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import pytest

from pyapsp.cli import report as command
from pyapsp.errors import FormatError, PyApspError
from pyapsp.report import PARTS, figures, tables, write_report

HEADINGS = [column.heading for column in tables.COLUMNS.values()]
SVG = "{http://www.w3.org/2000/svg}"


def record(graph="grid", n=100, method="fw-naive", dtype="float64", **changes):
    seconds = n**3 / 2e9
    device = {"name": "A CPU", "platform": "P", "kind": "cpu"}
    return {
        "schema": 2,
        "method": method,
        "dtype": dtype,
        "device": device,
        "graph": {"name": graph, "n": n, "m": 4 * n, "directed": True, "hash": "0"},
        "kernel_seconds": seconds,
        "transfer_seconds": 0.00012345678,
        "wall_seconds": seconds + 0.25,
        "updates_per_second": 2e9,
        "fraction_of_roof": 0.7,
        "verified": True,
        "max_error": 0.0 if dtype.startswith("int") else 1.25e-6,
    } | changes


RECORDS = [
    record(graph, n, method, dtype)
    for graph, n in (("ring", 50), ("grid", 100), ("rome99", 3353), ("a<b", 7))
    for method in ("fw-naive", "fw-blocked")
    for dtype in ("int32", "float64")
]


def save(directory: Path, records) -> list[Path]:
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / f"{number}.json" for number in range(len(records))]
    for path, content in zip(paths, records, strict=True):
        path.write_text(json.dumps(content), encoding="utf-8")
    return paths


def csv_rows(text):
    return list(csv.DictReader(text.splitlines()))


def markdown_rows(text):
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines()]
    rows = [[cell.strip().replace("\\|", "|") for cell in row] for row in rows]
    assert all(set(cell) <= set(":-") for cell in rows[1])
    return [rows[0], *rows[2:]]


def html_rows(text):
    table = ElementTree.fromstring(text[text.index("<table") : text.index("</table>") + 8])
    return [[cell.text or "" for cell in row] for row in table.iter("tr")]


def test_csv_holds_the_values_of_the_records_ordered_by_size(tmp_path):
    write_report(save(tmp_path, RECORDS), tmp_path / "out", ["tables"])
    rows = csv_rows((tmp_path / "out" / "runs.csv").read_text(encoding="utf-8"))
    assert [(row["graph"], row["method"], row["dtype"]) for row in rows] == [
        (graph, method, dtype)
        for graph in ("a<b", "ring", "grid", "rome99")
        for method in ("fw-blocked", "fw-naive")
        for dtype in ("float64", "int32")
    ]
    for row in rows:
        n = int(row["n"])
        assert int(row["m"]) == 4 * n
        assert (row["device"], row["platform"]) == ("A CPU", "P")
        assert float(row["kernel_seconds"]) == n**3 / 2e9
        assert float(row["transfer_seconds"]) == 0.00012345678
        assert float(row["wall_seconds"]) == n**3 / 2e9 + 0.25
        assert float(row["updates_per_second"]) == 2e9
        assert float(row["fraction_of_roof"]) == 0.7
        assert float(row["max_error"]) == (0 if row["dtype"] == "int32" else 1.25e-6)
        assert row["verified"] == "True"


def test_csv_markdown_and_html_agree(tmp_path):
    records = [
        *RECORDS,
        record("unchecked", 0, updates_per_second=None, verified=None),
        record(
            "wrong", verified=False, max_error=17.0, device={"name": "Board | 2", "platform": "<P>"}
        ),
    ]
    del records[-2]["max_error"], records[-2]["fraction_of_roof"]
    written = write_report(save(tmp_path, records), tmp_path / "out", ["tables"])
    in_csv, in_markdown, in_html = [
        reader(path.read_text(encoding="utf-8"))
        for reader, path in zip((csv_rows, markdown_rows, html_rows), written, strict=True)
    ]
    assert in_markdown == in_html
    assert in_markdown[0] == HEADINGS
    assert len(in_markdown) - 1 == len(in_csv) == len(records)
    verdicts = {"True": "yes", "False": "no", "": "not checked"}
    for cells, row in zip(in_markdown[1:], in_csv, strict=True):
        for cell, (name, value) in zip(cells, row.items(), strict=True):
            if name == "verified":
                assert cell == verdicts[value]
            elif (
                name in ("graph", "n", "m", "method", "dtype", "device", "platform") or value == ""
            ):
                assert cell == value
            else:
                assert float(cell) == pytest.approx(float(value), rel=0.05)
    shown = {row[0]: row[-2:] for row in in_html[1:]}
    assert shown["unchecked"] == ["", "not checked"]
    assert shown["wrong"] == ["17", "no"]


def test_a_collected_table_makes_the_same_report_as_its_records(tmp_path):
    records = [*RECORDS, record("new", verified=None, max_error=None)]
    from_records = write_report(save(tmp_path, records), tmp_path / "a")
    from_table = write_report([tmp_path / "a" / "runs.csv"], tmp_path / "b")
    assert [path.name for path in from_table] == [path.name for path in from_records]
    for one, other in zip(from_records, from_table, strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "line", "message"),
    [
        ("r.json", "{\n  'schema': 1}", 2, "not JSON"),
        ("r.json", "[1, 2]", None, "no 'graph.name'"),
        ("r.json", json.dumps(record(device=None)), None, "no 'device.name'"),
        ("r.json", b"\xff\xfe", None, "decode"),
        ("r.csv", "graph,n\nring,3\n", 1, "columns"),
        ("r.csv", "", None, "No columns"),
    ],
)
def test_what_is_not_a_record_is_named(tmp_path, name, content, line, message):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FormatError, match=message) as caught:
        write_report([path], tmp_path / "out")
    assert caught.value.path == str(path)
    assert caught.value.line == line
    assert not (tmp_path / "out").exists()


@pytest.fixture
def runs(tmp_path):
    return tables.load_runs(save(tmp_path, RECORDS))


def test_every_run_is_a_bar_of_its_speed(tmp_path):
    records = [
        record("ring", 50, "fw-naive", "int32", updates_per_second=1e9),
        record("ring", 50, "fw-naive", "float64", updates_per_second=2e9),
        record("ring", 50, "fw-blocked", "int32", updates_per_second=3e9),
        record("ring", 50, "fw-blocked", "float64", updates_per_second=4e9),
        record("grid", 60, "fw-naive", "int32", updates_per_second=5e9),
    ]
    figure = figures.speed_figure(tables.load_runs(save(tmp_path, records)))
    ring, grid = figure.axes
    assert ring.get_title() == "ring (n = 50)"
    assert [text.get_text() for text in ring.get_yticklabels()] == ["fw-blocked", "fw-naive"]
    bars = {
        (of_dtype.get_label(), round(bar.get_center()[1])): bar
        for of_dtype in ring.containers
        for bar in of_dtype
    }
    assert {key: bar.get_width() for key, bar in bars.items()} == {
        ("int32", 0): 3e9,
        ("int32", 1): 1e9,
        ("float64", 0): 4e9,
        ("float64", 1): 2e9,
    }
    edges = sorted(bar.get_bbox().intervaly.tolist() for bar in bars.values())
    assert all(below[1] <= above[0] + 1e-9 for below, above in pairwise(edges))
    assert [bar.get_width() for of_dtype in grid.containers for bar in of_dtype] == [5e9]


def test_every_method_and_dtype_is_a_line_of_its_times(runs):
    (axes,) = figures.times_figure(runs).axes
    assert axes.get_xscale() == axes.get_yscale() == "log"
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}
    expected = [[n, n**3 / 2e9] for n in (7, 50, 100, 3353)]
    assert lines == {
        f"{method} {dtype}": expected
        for method in ("fw-naive", "fw-blocked")
        for dtype in ("int32", "float64")
    }


def test_devices_are_told_apart(tmp_path):
    records = [record(device={"name": "A CPU", "platform": platform}) for platform in "PQ"]
    loaded = tables.load_runs(save(tmp_path, records))
    (axes,) = figures.times_figure(loaded).axes
    assert [line.get_label() for line in axes.get_lines()] == [
        "fw-naive on A CPU, P float64",
        "fw-naive on A CPU, Q float64",
    ]
    (panel,) = figures.speed_figure(loaded).axes
    assert len(panel.get_yticklabels()) == 2


@pytest.mark.parametrize("draw", [figures.speed_figure, figures.times_figure])
def test_figures_are_svg_and_reproducible(runs, draw):
    text = figures.svg(draw(runs))
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    words = " ".join("".join(element.itertext()) for element in root.iter(f"{SVG}text"))
    assert "fw-blocked" in words
    assert "int32" in words
    assert "date>" not in text
    assert figures.svg(draw(runs)) == text


@pytest.mark.parametrize("draw", [figures.speed_figure, figures.times_figure])
def test_runs_without_times_draw_empty_figures(tmp_path, draw):
    nothing = record(n=0, kernel_seconds=0.0, updates_per_second=None)
    text = figures.svg(draw(tables.load_runs(save(tmp_path, [nothing]))))
    assert ElementTree.fromstring(text).tag == f"{SVG}svg"


def test_the_page_needs_no_other_file(tmp_path):
    write_report(save(tmp_path, RECORDS), tmp_path / "out", ["page"])
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert len(html_rows(page)) == 1 + len(RECORDS)
    assert page.count("<svg") == page.count("</svg>") == 2
    assert not re.search(r"<(script|link|img|iframe|object)\b", page)
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert "All verified." in page


@pytest.mark.parametrize("verified", [False, None])
def test_the_page_counts_what_is_not_verified(tmp_path, verified):
    paths = save(tmp_path, [*RECORDS, record("wrong", verified=verified)])
    write_report(paths, tmp_path / "out", ["page"])
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "1 not verified." in page
    assert "All verified." not in page


def call(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args([str(argument) for argument in arguments]))


def test_the_command_writes_every_part_and_names_the_files(tmp_path, capsys):
    assert call(*save(tmp_path, RECORDS), "-o", tmp_path / "a" / "b") == 0
    names = {name for files in PARTS.values() for name in files}
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == names
    assert {Path(line).name for line in capsys.readouterr().out.splitlines()} == names


@pytest.mark.parametrize("part", PARTS)
def test_the_command_writes_one_part(tmp_path, part):
    assert call(*save(tmp_path, RECORDS), "-o", tmp_path / "out", "--only", part) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(PARTS[part])


def test_the_command_names_the_missing_extra(tmp_path, monkeypatch):
    for module in [name for name in sys.modules if name.startswith("pyapsp.report")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(PyApspError, match=r"pandas.*'report'"):
        call(*save(tmp_path, RECORDS), "-o", tmp_path / "out")
