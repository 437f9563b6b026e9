"""Tables, figures and pages say what the records say."""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from pyapsp.bench.report import comparison, figures, tables, whole_calls, write_report
from pyapsp.bench.report.by_input import by_input
from pyapsp.bench.report.drawing import svg
from pyapsp.bench.report.kinds import kinds
from pyapsp.bench.report.records import collect
from pyapsp.cli import report as command
from pyapsp.errors import FormatError, PyApspError

SVG = "{http://www.w3.org/2000/svg}"


class Page(HTMLParser):
    """What a page consists of: its tables, every element, and that they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[dict]]] = {}
        self.elements: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.cell: dict | None = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag not in ("meta", "input", "wbr"):
            self.open.append(tag)
        if tag == "table":
            self.rows = self.tables[attributes["id"]] = []
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.cell = {"tag": tag, "text": "", **attributes}
            self.rows[-1].append(self.cell)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell["text"] += data

    def texts(self, table: str) -> list[list[str]]:
        return [[cell["text"] for cell in row] for row in self.tables[table]]


UNITS = {"": 1, "s": 1, "ms": 1e-3, "µs": 1e-6, "%": 0.01, "k": 1e3, "M": 1e6, "G": 1e9}


def number(text):
    """The number that a cell of a formatted table shows."""
    value, _, unit = text.partition(" ")
    return float(value) * UNITS[unit]


def read(path):
    return path.read_text(encoding="utf-8")


def cells(page, table, *headings):
    """The texts of some columns of a table of a page."""
    heads, *rows = page.texts(table)
    return [[row[heads.index(heading)] for heading in headings] for row in rows]


def csv_rows(path):
    return list(csv.DictReader(read(path).splitlines()))


def markdown_rows(path):
    lines = [line for line in read(path).splitlines() if line.startswith("|")]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    rows = [[cell.strip().replace("\\|", "|") for cell in row] for row in rows]
    assert all(set(cell) <= set(":-") for cell in rows[1])
    return [rows[0], *rows[2:]]


@pytest.fixture
def runs(make):
    return collect(make.save(*make.several())).runs


def test_csv_holds_the_values_of_the_records_ordered_by_size(make, tmp_path):
    write_report(make.save(*make.several()), tmp_path, ["tables"])
    rows = csv_rows(tmp_path / "tables" / "all-pairs.csv")
    assert [(row["input"], row["method"], row["dtype"]) for row in rows] == [
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
        assert float(row["rate"]) == 2e9
        assert float(row["max_error"]) == (0 if row["dtype"] == "int32" else 1.25e-6)
        assert row["verified"] == "True"
        assert row["turns"] == row["fraction_of_roof"] == ""


def test_csv_markdown_and_page_agree(whole):
    in_csv, in_markdown = (
        csv_rows(whole / "tables" / "all-pairs.csv"),
        markdown_rows(whole / "runs.md"),
    )
    in_page = Page(read(whole / "index.html"))
    assert in_page.texts("runs-all-pairs") == in_markdown
    for row in in_csv:
        assert (row.pop("problem"), row.pop("unit")) == ("all-pairs", "updates")
        assert row.pop("held_dtype") == row["dtype"]
        assert row.pop("automatic") == "False"
        states = {"True": "ok", "False": "wrong", "": "unchecked"}
        assert row["status"] == states[row.pop("verified")]
        assert row.pop("options") == row.pop("verified_by") == row.pop("why") == ""
    names = list(in_csv[0])
    beside = "times as fast as scipy.sparse.csgraph.floyd_warshall (float64)"
    headings = [tables.RUNS[name].heading if name in tables.RUNS else beside for name in names]
    headings[names.index("rate")] = "updates/s"
    assert headings[:5] == ["input", "n", "method", "type", "device"]
    assert in_markdown[0] == headings
    assert len(in_markdown) - 1 == len(in_csv) == 18
    for in_row, row in zip(in_page.tables["runs-all-pairs"][1:], in_csv, strict=True):
        for cell, (name, value) in zip(in_row, row.items(), strict=True):
            text = cell["text"]
            if name in ("input", "method", "dtype", "device", "platform", "status"):
                assert text == value
                assert "data-value" not in cell
            elif value == "":
                assert text == cell["data-value"] == ""
            else:
                # the order is that of the value in full
                assert float(cell["data-value"]) == float(value)
                assert number(text) == pytest.approx(float(value), rel=0.05)
                assert "e+" not in text
    shown = {
        row[0]: row for row in cells(in_page, "runs-all-pairs", "input", "status", "max error")
    }
    assert shown["unchecked"] == ["unchecked", "unchecked", ""]
    assert shown["wrong"] == ["wrong", "wrong", "17"]


def test_a_run_that_was_solved_and_timed_is_one_row(make):
    solved, failed, alone = (make.record(graph, 50 + n) for n, graph in enumerate("abc"))
    failed |= {"verified": False, "max_error": 3.0}
    bench = make.bench([solved, failed | {"verified": True, "max_error": 0.0}, make.record("d")])
    found = collect(make.save(solved, failed, alone, bench)).runs.set_index("input")
    assert list(found.index) == ["a", "b", "c", "d"]
    assert list(found.turns.fillna(0)) == [3, 3, 0, 3]
    assert found.wall_seconds["a"] == solved["wall_seconds"] / 2
    assert found.rate["a"] == 4e9
    assert found.fraction_of_roof["a"] == 0.7
    assert found.over_scipy["a"] == 2.5
    assert found.wall_seconds["c"] == alone["wall_seconds"]
    assert found.isna().loc["c", ["turns", "fraction_of_roof", "over_scipy"]].all()
    # one wrong answer of two is enough
    assert list(found.verified) == [True, False, True, True]
    assert list(found.max_error) == [1.25e-6, 3.0, 1.25e-6, 1.25e-6]


def test_auto_and_the_method_that_it_chose_are_one_run_of_a_bench(make):
    def run(kernel, wall, **changes):
        phases = {"kernel": kernel, "wall": wall, "transfer": [0.5] * len(wall)}
        medians = {f"{name}_seconds": float(np.median(each)) for name, each in phases.items()}
        # ten units of work; another package takes eight seconds
        ratios = {"rate": 10 / medians["kernel_seconds"], "fraction_of_roof": 0.2}
        ratios["ratios"] = {"scipy": 8 / medians["wall_seconds"]}
        return make.record(times=phases, repeat=len(wall), **medians, **ratios) | changes

    named, chosen = run([1, 2, 4], [1, 3, 5]), run([2, 6, 6], [7, 9, 11], automatic=True)
    bench = make.bench([]) | {"runs": [chosen, named]}
    (row,) = collect(make.save(bench)).runs.itertuples()
    assert (row.turns, row.kernel_seconds, row.wall_seconds) == (6, 3, 6)
    assert (row.least_seconds, row.greatest_seconds, row.transfer_seconds) == (1, 11, 0.5)
    assert row.rate == pytest.approx(10 / 3)
    assert row.over_scipy == pytest.approx(8 / 6)
    assert row.fraction_of_roof == pytest.approx((0.2 * 2 + 0.2 * 6) / 2 / 3)
    # a wrong answer of one of them is one of the run
    for each in (chosen, named):
        each["verified"] = False
        (row,) = collect(make.save(bench)).runs.itertuples()
        assert (row.status, row.verified) == ("wrong", False)
        each["verified"] = True
    # without the turns of both, the last one counts
    del chosen["times"]
    (row,) = collect(make.save(bench)).runs.itertuples()
    assert (row.turns, row.wall_seconds) == (3, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"predecessors": False},
        {"sources": 5},
        {"cutoff": 9.0},
        {"dtype": "float32"},
        {"input": {"name": "grid", "n": 100, "m": 400, "hash": "another"}},
    ],
)
def test_different_runs_stay_two_rows(make, change):
    found = collect(make.save(make.record(), make.bench([make.record() | change]))).runs
    assert sorted(found.turns.fillna(0)) == [0, 3]


def test_runs_that_nobody_looked_at_stay_unchecked(make):
    solved = make.record(verified=None, max_error=None)
    (row,) = collect(make.save(solved, make.bench([make.record()]))).runs.itertuples()
    assert row.verified is None


def test_peers_devices_software_and_what_was_left_out(make):
    left_out = {
        "problem": "all-pairs",
        "input": "grid",
        "n": 100,
        "what": "igraph",
        "why": "not installed",
    }
    older = {"commit": None, "pyapsp": "0.0.9"}
    found = collect(
        make.save(
            make.record(**older),
            make.record(dtype="int32", device=make.gpu),
            make.bench([make.record()], ["scipy", "numba"], [left_out]),
        )
    )
    assert found.peers[["name", "version", "median_seconds", "verified"]].values.tolist() == [
        ["scipy", "1.17.1", 1.5, True],
        ["numba", "1.17.1", 1.5, True],
    ]
    assert [tuple(row) for row in found.devices.values] == [
        tuple(make.cpu.values()),
        tuple(make.gpu.values()),
    ]
    assert found.left_out.to_dict("records") == [left_out]
    assert sorted(map(tuple, found.software.values)) == [
        ("commit", "0123456789ab"),
        ("numpy", "2.4.6"),
        ("os", "Linux"),
        ("pyapsp", "0.0.9"),
        ("pyapsp", "0.1.0"),
        ("python", "3.11.7"),
    ]


def test_a_device_is_listed_once_whatever_memory_is_free(make):
    more, less = make.cpu | {"memory": 9 * 2**30}, make.cpu | {"memory": 7 * 2**30}
    runs = [
        make.record(f"g{n}", device=each) for n, each in enumerate([make.cpu, more, less, make.gpu])
    ]
    found = collect(make.save(*runs)).devices
    assert found[["name", "memory"]].values.tolist() == [
        ["A CPU", 9 * 2**30],
        ["Board | 2", make.gpu["memory"]],
    ]
    assert len(Page(make.page(*runs)).texts("devices")[1:]) == 2


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("{\n  'schema': 1}", 2, "not JSON"),
        ("[1, 2]", None, "no 'problem'"),
        ("no device", None, "no 'device.name'"),
        ("no verdict in a bench", None, "no 'verified'"),
        (b"\xff\xfe", None, "decode"),
        ("", 1, "not JSON"),
    ],
)
def test_what_is_not_a_record_is_named(make, tmp_path, content, line, message):
    if content == "no device":
        content = json.dumps(make.record(device=None))
    elif content == "no verdict in a bench":
        bench = make.bench([make.record()])
        del bench["runs"][0]["verified"]
        content = json.dumps(bench)
    path = tmp_path / "r.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FormatError, match=message) as caught:
        write_report([path], tmp_path / "out")
    assert caught.value.path == str(path)
    assert caught.value.line == line
    assert not (tmp_path / "out").exists()


def lines_of(axes):
    """The points of each line of a panel, by method; those of methods with several follow."""
    found = {}
    for line in axes.lines:
        found.setdefault(line.get_label(), []).append(line.get_xydata().tolist())
    return {name: [line for line in lines if line] for name, lines in found.items()}


def test_every_method_is_a_line_and_every_dtype_and_device_a_panel(make):
    sizes = (7, 50, 100, 3353)
    records = [
        make.record(f"ring-{n}", n, method, dtype)
        for n in sizes
        for method in ("fw-naive", "fw-blocked")
        for dtype in ("int32", "float64")
    ]
    records += [make.record(f"ring-{n}", n, device=make.gpu) for n in (9, 33)]
    figure = by_input(collect(make.save(*records)).runs, "kernel_seconds", "seconds")
    expected = [[[n, n**3 / 2e9] for n in sizes]]
    on_cpu = {"fw-naive": expected, "fw-blocked": expected}
    assert {axes.get_title(): lines_of(axes) for axes in figure.axes} == {
        "float64 on A CPU (P driver)": on_cpu,
        "int32 on A CPU (P driver)": on_cpu,
        "float64 on Board | 2 (<Q> driver)": {"fw-naive": [[[n, n**3 / 2e9] for n in (9, 33)]]},
        "int32 on Board | 2 (<Q> driver)": {},
    }
    assert {axes.get_xscale() for axes in figure.axes} == {"log"}
    assert {axes.get_yscale() for axes in figure.axes} == {"log"}
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["fw-blocked", "fw-naive"]


def test_lines_connect_only_inputs_that_can_be_compared(make):
    inputs = [
        ("rome99", 3353),
        ("grid-8x8", 64),
        ("other", 70),
        ("grid-50x50", 2500),
        ("big", 4000),
    ]
    runs = collect(make.save(*(make.record(name, n) for name, n in inputs))).runs
    figure = by_input(runs, "rate", "updates/s")
    # else each has a panel, the largest first
    assert [axes.get_title("left") for axes in figure.axes] == [
        *("big (n = 4000)", "rome99 (n = 3353)", "grid-50x50 (n = 2500)"),
        *("other (n = 70)", "grid-8x8 (n = 64)"),
    ]
    assert [lines_of(axes) for axes in figure.axes] == [{"float64": [[[2e9, 0]]]}] * 5


@pytest.mark.parametrize(
    ("inputs", "together"),
    [
        ([("grid-8x8", 64, 224), ("grid-50x50", 2500, 9800)], True),
        ([("rmat-10-16", 1024, 12000), ("rmat-11-16", 2048, 25409)], True),
        ([("complete-64", 64, 4032), ("complete-1024", 1024, 1047552)], True),
        ([("rmat-7", 128, 392), ("rmat-11-16", 2048, 25409)], False),  # another name
        ([("rmat-10-16", 1024, 12000), ("rmat-11-32", 2048, 50000)], False),  # denser
        ([("rmat-11-16", 2048, 25409), ("rmat-11-15", 2048, 25000)], False),  # of one size
        ([("random-32-128-0", 32, 122), ("random-128-512-0", 128, 488)], True),
        ([("random-64-400", 64, 400), ("random-128-9000", 128, 9000)], False),  # denser
        ([("day-1", 100, 400), ("day-2", 200, 800)], False),  # the names say no size
    ],
)
def test_inputs_are_of_one_kind_if_they_differ_in_size_alone(inputs, together):
    runs = pd.DataFrame(inputs, columns=["input", "n", "m"])
    assert (len(kinds(runs)) == 1) is together


def test_of_runs_on_one_input_the_median_is_drawn(make):
    records = [make.record(rate=u, sources=u) for u in (1, 5, 30)]
    figure = by_input(collect(make.save(*records)).runs, "rate", "updates/s")
    assert lines_of(figure.axes[0]) == {"float64": [[[5, 0]]]}


@pytest.mark.parametrize("many", [7, 8])
def test_lines_that_cannot_be_told_apart_are_named_marks(make, many):
    """Each of a few methods has a colour and a marker; many have their names beside the marks."""
    names = [f"m{number}" for number in range(many)]
    records = [
        make.record(f"ring-{n}", n, name, rate=float(n + place))
        for n in (50, 100)
        for place, name in enumerate(names)
    ]
    figure = by_input(collect(make.save(*records)).runs, "rate", "updates/s")
    if many <= 7:
        (axes,) = figure.axes
        looks = [(line.get_color(), line.get_marker()) for line in axes.lines]
        assert len({*looks}) == len({colour for colour, _ in looks}) == many
        return
    assert [axes.get_title("left") for axes in figure.axes] == [
        *("ring-100 (n = 100)", "ring-50 (n = 50)")
    ]
    for axes, n in zip(figure.axes, (100, 50), strict=True):
        # the best one first
        assert [label.get_text() for label in axes.get_yticklabels()] == names[::-1]
        points = {tuple(*line.get_xydata().tolist()) for line in axes.lines}
        assert points == {(n + place, many - 1 - place) for place in range(many)}


def test_figures_are_of_what_was_measured(make):
    solved = collect(make.save(*make.several())).runs
    no_peers = collect(make.save(make.record())).peers
    nothing = comparison.fastest(solved, no_peers).assign(wall_seconds=np.nan)
    assert list(figures.drawn(solved, no_peers, nothing)) == ["all-pairs-speed"]
    alone = solved[solved["input"].eq("grid") & solved["method"].eq("fw-naive")]
    assert list(figures.drawn(alone, no_peers, nothing)) == []
    timed = collect(make.save(make.bench(make.several(), ["scipy", "igraph"])))
    best = comparison.fastest(timed.runs, timed.peers)
    drawn = figures.drawn(timed.runs, timed.peers, best)
    assert list(drawn) == [
        "fastest",
        *(f"all-pairs-{name}" for name in ("speed", "roof", "speed-up-scipy", "speed-up-igraph")),
    ]
    del drawn["fastest"]
    values = {
        name: {x for axes in each.figure.axes for line in axes.lines for x in line.get_xdata()}
        for name, each in drawn.items()
    }
    # with a line at one, where the roof and the other package are
    assert values == {
        "all-pairs-speed": {4e9},
        "all-pairs-roof": {0.7, 1},
        "all-pairs-speed-up-scipy": {2.5, 1},
        "all-pairs-speed-up-igraph": {3.5, 1},
    }


@pytest.mark.every(2)
@pytest.mark.parametrize("graphs", [["ring-8", "ring-90"], ["a", "long-name-of-a-graph"]])
def test_the_first_figure_is_also_drawn_for_a_phone(make, graphs):
    runs = [
        make.record(graph, n, method, dtype, device=device)
        for graph, n in zip(graphs, (8, 90), strict=True)
        for method in ("fw-naive", "a-method-that-has-a-long-name")
        for dtype in ("float64", "int32")
        for device in (make.cpu, make.gpu)
    ]
    found = collect(make.save(make.bench(runs)))
    drawn = figures.drawn(found.runs, found.peers, comparison.fastest(found.runs, found.peers))
    assert [name for name, each in drawn.items() if each.narrow] == ["fastest"]
    values, words, sizes = [], [], []
    for figure in (drawn["fastest"].figure, drawn["fastest"].narrow):
        lines = [line for axes in figure.axes for line in axes.lines]
        values.append(Counter(tuple(map(float, line.get_xdata())) for line in lines))
        root = ElementTree.fromstring(svg(figure))
        sizes.append([float(root.get(side).removesuffix("pt")) for side in ("width", "height")])
        texts = ("".join(text.itertext()) for text in root.iter(f"{SVG}text"))
        words.append(set(" ".join(texts).replace(",", "").split()))
    assert values[0] == values[1]
    assert {word for word in words[0] if "-" in word} <= words[1]
    # pixels; the screen of a phone has 390 with the margins, and a browser scales to them
    assert sizes[1][0] / 0.75 <= 1.25 * (390 - 32)
    assert sizes[1][0] < sizes[0][0]
    assert sizes[1][1] > sizes[0][1]


def test_figures_are_svg_and_reproducible(runs):
    one, other = (svg(by_input(runs, "wall_seconds", "s")) for _ in range(2))
    root = ElementTree.fromstring(one)
    assert root.tag == f"{SVG}svg"
    words = " ".join("".join(element.itertext()) for element in root.iter(f"{SVG}text"))
    assert "fw-blocked" in words
    assert "int32" in words
    assert "date>" not in one
    assert one == other


def test_the_last_bits_of_a_layout_are_not_in_the_file():
    """The solver that lays out a figure rounds in another way from run to run."""
    documents = set()
    for height in (0.3, 0.3 + 1e-14):
        figure = Figure()
        figure.add_axes((0.1, 0.1, 0.8, height)).plot([1, 2])
        documents.add(svg(figure))
    assert len(documents) == 1


def test_ids_of_figures_on_one_page_differ(whole):
    page = Page(read(whole / "index.html"))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    uses = [attributes.get("xlink:href", "") for _, attributes in page.elements]
    uses = [each[1:] for each in uses if each]
    clips = [attributes.get("clip-path", "") for _, attributes in page.elements]
    uses += [each[5:-1] for each in clips if each]
    assert uses
    assert set(uses) <= set(ids)


def test_links_of_the_page_lead_to_a_place_on_it(whole):
    page = Page(read(whole / "index.html"))
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    links = {attributes["href"] for tag, attributes in page.elements if tag == "a"}
    assert {"#section-graphs", "#section-software", "#runs-of-all-pairs"} <= links
    assert {each[1:] for each in links} <= ids


def test_the_page_needs_no_other_file_and_no_network(whole):
    text = read(whole / "index.html")
    page = Page(text)
    tags = [tag for tag, _ in page.elements]
    assert not {"link", "img", "iframe", "object", "embed", "base"} & set(tags)
    for _, attributes in page.elements:
        assert "src" not in attributes
        assert all(
            value.startswith("#") for name, value in attributes.items() if name.endswith("href")
        )
    assert "@import" not in text
    assert re.findall(r"url\((?!#)", text) == []
    policies = [
        attributes["content"]
        for _, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"]
    assert tags.count("figure") == 4
    assert tags.count("svg") == 5  # the first one for two widths
    assert list(page.tables) == [
        "fastest",
        "graphs",
        "devices",
        "runs-all-pairs",
        "peers",
        "left-out",
        "software",
    ]
    for rows in page.tables.values():
        heads, *rows = rows
        assert {head["scope"] for head in heads} == {"col"}
        for row in rows:
            # a column of numbers knows all of them
            assert [head.get("class") for head in heads] == [
                "number" if "data-value" in cell else None for cell in row
            ]


def test_names_cannot_become_markup(make):
    graph, method = "<script>alert(1)</script>", '"><b>'
    left_out = {"problem": "all-pairs", "n": 1, "input": graph, "what": "<i>", "why": "</table>"}
    bench = make.bench([make.record(graph, method=method)], left_out=[left_out])
    page = Page(make.page(bench))
    assert {row[0] for row in page.texts("runs-all-pairs")[1:]} == {graph}
    assert {row[2] for row in page.texts("runs-all-pairs")[1:]} == {method}
    assert page.texts("left-out")[1] == ["all-pairs", graph, "1", "<i>", "</table>"]
    assert [tag for tag, _ in page.elements].count("script") == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ([{}], ["All verified."]),
        ([{"verified": False}], ["Wrong: 1."]),
        ([{"verified": None}, {"verified": None}], ["Not verified: 2."]),
        ([{"verified": None}, {"verified": False}], ["Not verified: 1.", "Wrong: 1."]),
    ],
)
def test_the_page_says_first_what_is_wrong_or_not_verified(make, changes, says):
    runs = [make.record(f"graph {number}", **each) for number, each in enumerate(changes)]
    text = make.page(*runs, make.record())
    found = re.findall(r"<strong[^>]*>(.*?)</strong>", text)
    assert sorted(found) == says


REFUSED = {
    "status": "refused",
    "why": "the device has no fp16",
    "verified": None,
    "problem": "all-pairs",
    "unit": "updates",
    "method": "fw-mm",
    "set": {"selector": "AT"},
    "dtype": "float16",
    "input": {"name": "grid", "n": 100, "m": 400},
}
FAILED = {
    "status": "failed",
    "why": "exit code 9",
    "verified": None,
    "problem": "all-pairs",
    "method": "fw-mm",
    "dtype": "int32",
    "input": {"name": "grid"},
    "device": {"name": "auto"},
}


def test_runs_without_an_answer_are_rows_with_the_reason(make):
    refused = REFUSED | {"device": make.cpu}
    elsewhere = FAILED | {"input": {"name": "elsewhere"}, "problem": "bfs"}
    right = make.record(status="ok", oracle="SciPy, all rows")
    folder = make.report(right, refused, FAILED, elsewhere)
    rows = csv_rows(folder / "tables" / "all-pairs.csv")
    names = ("method", "options", "status", "verified_by", "why", "n", "m", "unit")
    assert [[row[name] for name in names] for row in rows] == [
        ["fw-mm", "", "failed", "", "exit code 9", "100", "400", "updates"],
        ["fw-mm", "selector=AT", "refused", "", REFUSED["why"], "100", "400", "updates"],
        ["fw-naive", "", "ok", "SciPy, all rows", "", "100", "400", "updates"],
    ]
    (row,) = csv_rows(folder / "tables" / "bfs.csv")
    assert (row["input"], row["n"], row["status"]) == ("elsewhere", "", "failed")
    text = read(folder / "summary.txt")
    assert "runs: 1 ok, 0 wrong, 0 unchecked, 1 refused, 2 failed." in text
    outcomes = [re.split("  +", line)[-1] for line in text.splitlines()[2:6]]
    assert outcomes == ["0 of 1, 1 refused", "1 of 1", *["0 of 1, 1 failed"] * 2]
    page = read(folder / "index.html")
    assert re.findall(r"<strong[^>]*>(.*?)</strong>", page) == ["Failed: 2.", "Refused: 1."]
    assert page.count('<tr class="failed">') == 2
    assert Page(page).texts("devices")[1:][0][0] == "A CPU"
    assert len(Page(page).tables["devices"]) == 2


def test_a_report_of_runs_without_any_answer(make):
    folder = make.report(FAILED)
    assert csv_rows(folder / "tables" / "all-pairs.csv")[0]["why"] == "exit code 9"
    assert "runs: 0 ok, 0 wrong, 0 unchecked, 0 refused, 1 failed." in read(folder / "summary.txt")


def fastest(make, *documents):
    """The table of the fastest of these, as a dictionary for each row."""
    found = collect(make.save(*documents))
    return comparison.fastest(found.runs, found.peers)


def test_the_fastest_was_verified(make):
    runs = [
        make.record("a", 10, "slow", wall_seconds=3.0),
        make.record("a", 10, "fast", wall_seconds=2.0),
        make.record("a", 10, "wrong", wall_seconds=1.0, verified=False),
        make.record("a", 10, "unchecked", wall_seconds=1.5, verified=None),
        make.record("b", 20, "unchecked", verified=None),
        make.record("c", 5, "only"),
    ]
    best = fastest(make, *runs)
    # the largest first
    assert best[["input", "right", "count"]].values.tolist() == [
        ["b", 0, 1],
        ["a", 2, 4],
        ["c", 1, 1],
    ]
    assert best["method"].fillna("none").tolist() == ["none", "fast", "only"]
    page = Page(make.page(*runs))
    assert cells(page, "fastest", "input", "fastest method", "configurations right") == [
        ["b", "none", "0 of 1, 1 unchecked"],
        ["a", "fast", "2 of 4, 1 wrong, 1 unchecked"],
        ["c", "only", "1 of 1"],
    ]


def test_the_fastest_is_put_beside_the_fastest_right_answer_of_others(make):
    run = make.record("a", 10, "near-far", wall_seconds=4.0)  # 2 s in the turns of the bench
    bench = make.bench([run], ["wrong", "product", "slow", "quick"])
    for peer, changes in zip(
        bench["peers"], ({"verified": False}, {"what": "product"}, {}, {}), strict=True
    ):
        peer |= changes
    ratios = {"wrong": 0.1, "product": 0.2, "slow": 30.0, "quick": 2.5}
    bench["runs"][0] |= {"ratios": ratios}
    (row,) = fastest(make, bench).itertuples()
    assert (row.method, row.wall_seconds) == ("near-far", 2)
    assert (row.calls, row.ratio, row.peer_seconds) == ("scipy.sparse.csgraph.quick", 2.5, 5)


def test_times_are_drawn_beside_those_of_other_functions(make):
    runs = [make.record("a", 10, name, wall_seconds=2 * t) for name, t in (("x", 0.4), ("y", 0.2))]
    found = collect(make.save(make.bench(runs)))  # half as long, and 1.5 s of SciPy
    figure = whole_calls.times(found.runs, found.peers)
    (axes,) = figure.axes
    assert axes.get_title("left") == "a (n = 10)"
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        *("y", "x", "scipy.sparse.csgraph.floyd_warshall")
    ]
    marks = [line.get_xydata().tolist() for line in axes.lines]
    assert marks == [[[0.2, 0]], [[0.4, 1]], [[1.5, 2]]]
    words = "".join(ElementTree.fromstring(svg(figure)).itertext())
    assert "10^" not in words
    assert "400 ms" in words


def test_each_device_has_its_fastest_method(make):
    runs = [
        make.record("a", 10, "slow", device=make.cpu, wall_seconds=3.0),
        make.record("a", 10, "fast", device=make.cpu, wall_seconds=2.0),
        make.record("a", 10, "slow", device=make.gpu, wall_seconds=0.1),
        # it is not known where this one would have run
        FAILED | {"input": {"name": "a", "n": 10}, "dtype": "float64"},
    ]
    best = fastest(make, *runs)
    places = ["A CPU (P driver)", "Board | 2 (<Q> driver)"]
    assert best[["place", "shown", "outcomes"]].values.tolist() == [
        [places[0], "fast", "2 of 3, 1 failed"],
        [places[1], "slow", "1 of 2, 1 failed"],
    ]
    assert cells(Page(make.page(*runs)), "fastest", "device") == [[each] for each in places]
    assert "device" in summary(make, *runs).splitlines()[0]


def test_each_number_type_has_its_fastest_method(make):
    times = {("slow", "float64"): 3.0, ("fast", "float64"): 2.0, ("slow", "int32"): 1.0}
    runs = [make.record("a", 10, name, dtype, wall_seconds=t) for (name, dtype), t in times.items()]
    page = Page(make.page(make.bench(runs)))
    scipy = "scipy.sparse.csgraph.floyd_warshall"
    # of a function that computes in another type, it is said
    assert cells(page, "fastest", "type", "fastest method", "time (turns)", "compared with") == [
        ["float64", "fast", "1 s (800 ms to 1.2 s)", scipy],
        ["int32", "slow", "500 ms (400 to 600 ms)", f"{scipy} (float64)"],
    ]
    head, _, *rows = summary(make, *runs).splitlines()[:4]
    assert "type" in head.split()
    assert [row.split()[3] for row in rows] == ["float64", "int32"]


def test_two_drivers_of_one_processor_are_said_to_be_that(make):
    pocl = make.cpu | {"name": "pthread-A CPU", "platform": "PoCL"}
    text = make.page(make.record(), make.record(device=pocl), make.record(device=make.gpu))
    assert "A CPU and pthread-A CPU are one processor" in text
    assert text.count("one processor") == 1
    assert "one processor" not in make.page(make.record(), make.record(device=make.gpu))


def test_methods_whose_medians_are_within_the_turns_of_each_other_are_tied(make):
    # the turns of a bench are from 0.8 to 1.2 times its median
    seconds = {"fast": 1.0, "near": 1.15, "overlaps": 1.4, "far": 1.6}
    runs = [make.record("a", 10, name, wall_seconds=2 * t) for name, t in seconds.items()]
    page = Page(make.page(make.bench(runs)))
    assert cells(page, "fastest", "fastest method", "tied with", "time (turns)") == [
        ["fast", "near", "1 s (800 ms to 1.2 s)"]
    ]
    text = summary(make, make.bench(runs))
    assert text.splitlines()[2].split()[3:6] == ["fast", "+1", "1"]
    assert "+1: one more method is as fast" in text
    figure = whole_calls.fastest(fastest(make, make.bench(runs)))
    assert "fast (+1 as fast) 1 s; 2.5 s" in [text.get_text() for text in figure.axes[0].texts]
    turns = cells(page, "runs-all-pairs", "method", "shortest turn", "longest turn")
    assert turns[0] == ["far", "1.28 s", "1.92 s"]
    # runs without turns are called what they are
    page = Page(make.page(*runs))
    assert "tied with" not in page.texts("fastest")[0]
    assert cells(page, "fastest", "time (turns)") == [["2 s (one run)"]]
    assert "2 s°" in summary(make, *runs)
    assert "°: one run" in summary(make, *runs)
    figure = whole_calls.fastest(fastest(make, *runs))
    assert [text.get_text() for text in figure.axes[0].texts] == ["fast 2 s, one run"]


def test_a_slow_turn_does_not_make_a_tie(make):
    """The longest turn of the fastest method is longer than all turns of the other."""
    bench = make.bench([make.record("a", 10, name, wall_seconds=2.0) for name in ("one", "two")])
    for run, times in zip(bench["runs"], ([1, 1, 1, 9], [3, 3, 3, 4]), strict=True):
        run["times"]["wall"], run["wall_seconds"] = times, times[1]
    assert cells(Page(make.page(bench)), "fastest", "fastest method") == [["one"]]
    assert "tied with" not in Page(make.page(bench)).texts("fastest")[0]


def test_turns_that_are_far_apart_are_said(make):
    bench = make.bench([make.record("a", 10, wall_seconds=2.0), make.record("b", 20)])
    text = make.page(bench)
    assert "Wide spread" not in text
    assert "called wide" not in text
    assert "!" not in summary(make, bench)
    bench["runs"][0]["times"]["wall"] = [0.9, 1.0, 1.4]
    text = make.page(bench)
    assert "Wide spread: 1 of 2." in text
    assert "called wide" in text
    assert cells(Page(text), "fastest", "input", "time (turns)")[1] == [
        "a",
        "1 s (900 ms to 1.4 s, wide)",
    ]
    row = summary(make, bench).splitlines()[3]
    assert "1 s!" in row
    assert "!: the longest turn took more than 1.5 times" in summary(make, bench)


def test_graphs_are_described(make):
    def of(name, n, m, directed=True, problem="all-pairs"):
        about = {"name": name, "n": n, "m": m, "directed": directed}
        return make.record(problem=problem, input=about)

    partition = make.record(problem="partition", input={"name": "rmat-7", "n": 128, "units": 392})
    known = "a sample that comes with pyapsp: data/samples/README.md"
    made = "pyapsp.graph.generators.grid_2d(rows=50, columns=50, seed=1)"
    runs = [
        partition,
        of("rmat-7", 128, 392),
        of("rmat-7", 128, 684, False, "truss"),
        of("rmat-7", 128, 684, False, "triangles"),
        of("negative-weights", 6, 9, problem="sssp"),
        of("small-world-50", 50, 200, False, "bfs"),
        of("grid-50x50", 2500, 9800, False),
        of("ring-40", 41, 40),  # another one by this name
        of("mine", 7, 9),
    ]
    page = Page(make.page(*runs))
    assert page.texts("graphs")[1:] == [
        ["grid-50x50", "2500", "9800", "no", "yes", "10231", made, "all-pairs"],
        ["rmat-7", "128", "392", "yes", "yes", "367", known, "all-pairs, partition"],
        ["rmat-7", "128", "684", "no", "yes", "", known, "triangles, truss"],
        ["small-world-50", "50", "200", "no", "no", "8", known, "bfs"],
        ["ring-40", "41", "40", "yes", "", "", "", "all-pairs"],
        ["mine", "7", "9", "yes", "", "", "", "all-pairs"],
        ["negative-weights", "6", "9", "yes", "yes, some negative", "", known, "sssp"],
    ]
    assert "A graph in two rows is directed" in make.page(*runs)
    assert "A graph in two rows" not in make.page(*runs[3:])
    # one that only a partition has
    assert Page(make.page(partition)).texts("graphs")[1][:4] == ["rmat-7", "128", "392", ""]


def test_the_page_names_the_methods_of_the_largest_graphs_and_what_was_not_run(make):
    runs = [make.record("a", 10, "one"), make.record("a", 10, "two"), make.record("b", 90, "two")]
    text = make.page(*runs)
    assert "<li>all-pairs: two on b, in float64</li>" in text
    assert "Not every method of a problem was run on every graph" in text
    assert cells(Page(text), "left-out", "input", "what", "why") == [
        ["b", "one", "cannot solve it, or was not asked to"]
    ]
    # where a bench says why, that is the reason
    slow = {"problem": "all-pairs", "input": "b", "n": 90, "what": "one", "why": "slow"}
    text = make.page(*runs, make.bench([runs[2]], left_out=[slow]))
    assert cells(Page(text), "left-out", "input", "what", "why") == [["b", "one", "slow"]]
    assert "Not every method" not in make.page(*runs[:2])


def test_the_page_says_what_was_asked_for(make):
    one = make.record(sources=1, cutoff=2.5, predecessors=False)
    assert "; here with predecessors.</p>" in make.page(make.record())
    assert "; here from one vertex, up to the distance 2.5.</p>" in make.page(one)
    both = make.page(make.record(), make.record("b", sources=3000, predecessors=False))
    assert "; here with predecessors or from 3,000 vertices.</p>" in both
    assert "; here" not in make.page(make.record(predecessors=False))


def test_the_method_that_auto_takes_is_named_beside_the_fastest(make):
    named = [make.record("a", 10, name, wall_seconds=t) for name, t in (("x", 2.0), ("y", 5.0))]
    assert "auto takes" not in Page(make.page(make.bench(named))).texts("fastest")[0]
    for method, seconds, taken in (
        ("x", 2.0, "the fastest"),
        ("y", 5.0, "y (2.5 x)"),
        ("z", 3.0, "z (1.5 x)"),
    ):
        chosen = make.record("a", 10, method, wall_seconds=seconds, automatic=True)
        for runs in ([*named, chosen], [chosen, *named]):
            page = Page(make.page(make.bench(runs)))
            assert cells(page, "fastest", "fastest method", "auto takes") == [["x", taken]]
    other = make.record("b", 10, "x", wall_seconds=2.0)
    page = Page(make.page(make.bench([*named, chosen, other])))
    assert cells(page, "fastest", "auto takes") == [["z (1.5 x)"], ["not run"]]
    # a run that "auto" chose may be solved alone, and timed by its name
    solved = make.record("a", 10, "x", wall_seconds=9.0, automatic=True)
    page = Page(make.page(solved, make.bench(named)))
    assert cells(page, "fastest", "fastest method", "auto takes") == [["x", "the fastest"]]


def test_of_many_ties_a_few_are_named(make):
    runs = [make.record("a", 10, f"m{number}", wall_seconds=2.0) for number in range(6)]
    page = Page(make.page(make.bench(runs)))
    assert cells(page, "fastest", "fastest method", "tied with") == [["m0", "m1, m2 and 3 more"]]
    page = Page(make.page(make.bench(runs[:4])))
    assert cells(page, "fastest", "tied with") == [["m1, m2, m3"]]


def test_a_peer_is_even_if_each_median_is_within_the_turns_of_the_other(make):
    bench = make.bench([make.record("a", 10, wall_seconds=2.0)])  # turns of 0.8 to 1.2 s
    for turns, word, why in (
        ([0.9, 1.3], "1.1 (even)", ""),
        ([1.1, 1.3], "1.2", ""),
        ([0.7, 1.1], "0.9 (even)", "as fast: within the turns"),
        (
            [0.7, 0.9],
            "0.8 (slower)",
            "1 s are outside kernels (123 µs in transfers, the rest on the host)",
        ),
        (
            [0.5, 0.7],
            "0.6 (slower)",
            "1 s are outside kernels (123 µs in transfers, the rest on the host)",
        ),
        ([1.3, 1.5], "1.4", ""),
    ):
        bench["peers"][0]["times"]["wall"] = turns
        bench["runs"][0]["ratios"] = {"scipy": float(word.split()[0])}
        text = make.page(bench)
        (row,) = cells(Page(text), "fastest", "times as fast")
        assert row == [word]
        assert ("if slower, why" in Page(text).texts("fastest")[0]) is bool(why)
        if why:
            assert cells(Page(text), "fastest", "if slower, why") == [[why]]
        marks = summary(make, bench).splitlines()[2].split()
        assert (f"{row[0].split()[0]}~" in marks) is ("even" in word)
        assert ("On 1 it is as fast: each median is" in text) is ("even" in word)
        figure = whole_calls.fastest(fastest(make, bench))
        assert ("~" in figure.axes[0].texts[0].get_text()) is ("even" in word)
    # records without turns say nothing of it
    del bench["peers"][0]["times"], bench["runs"][0]["times"]
    assert cells(Page(make.page(bench)), "fastest", "times as fast") == [["1.4"]]


def test_a_peer_is_that_of_the_same_bench(make):
    """Two benches of one graph, one for each device, have each package twice."""
    first = make.bench([make.record("a", 10, wall_seconds=2.0)])  # turns of 0.8 to 1.2 s
    second = make.bench([make.record("a", 10, wall_seconds=2.0, device=make.gpu)])
    for bench, turns in ((first, [1.05, 1.15]), (second, [0.9, 1.3])):
        bench["peers"][0]["times"]["wall"] = turns
        bench["runs"][0]["ratios"] = {"scipy": 1.1}
    for documents in ([first, second, first], [second, first]):
        first["peers"][0]["verified"] = True
        even = fastest(make, *documents).set_index("device")["even"]
        assert even.to_dict() == {"A CPU": False, "Board | 2": True}
        first["peers"][0]["verified"] = False
        ratios = fastest(make, *documents).set_index("device")["ratio"].dropna()
        assert ratios.to_dict() == {"Board | 2": 1.1}


def test_a_peer_of_the_same_type_comes_first(make):
    runs = [make.record("a", 10, dtype=dtype) for dtype in ("float64", "int32")]
    bench = make.bench(runs, ["wide", "whole"])
    bench["peers"][1]["dtype"] = "int32"
    for run in bench["runs"]:
        run["ratios"] = {"wide": 7.0, "whole": 3.0}
    text = make.page(bench)
    assert cells(Page(text), "fastest", "type", "times as fast", "compared with") == [
        ["float64", "7", "scipy.sparse.csgraph.wide"],
        ["int32", "3", "scipy.sparse.csgraph.whole"],
    ]
    assert "*" not in summary(make, bench)
    # without one, it is said, and the row does not count
    bench["peers"] = bench["peers"][:1]
    text = make.page(bench)
    assert cells(Page(text), "fastest", "type", "times as fast", "compared with") == [
        ["float64", "7", "scipy.sparse.csgraph.wide"],
        ["int32", "7", "scipy.sparse.csgraph.wide (float64)"],
    ]
    words = words_of(text)
    assert "Compared with a function that answers in the same number type: 1 row." in words
    assert "because the function answers in another number type: 1 row." in words
    assert "*: the other answers in another type." in summary(make, bench)
    bench["runs"] = bench["runs"][1:]
    words = words_of(make.page(bench))
    assert "Compared with a function that answers in another number type: 1 row." in words
    assert "Not counted" not in words


def test_examples_of_areas_are_neither_methods_nor_graphs(make):
    area = make.record("squares", 9, "sweep", problem="sweep", oracle="NumPy", status="ok")
    text = make.page(make.record(), area)
    page = Page(text)
    assert [row[1] for row in page.texts("fastest")] == ["n", "100"]
    assert "runs-sweep" not in page.tables
    assert cells(page, "areas", "area", "example", "status", "verified by") == [
        ["sweep", "squares", "ok", "NumPy"]
    ]
    assert "<title>pyapsp: 1 method on 1 graph, timed and checked</title>" in text
    assert "1 graph, and 1 example of other areas" in words_of(text)
    assert "2 of 2 runs gave the right answer" in words_of(text)
    assert "areas, an example of each, one run: sweep ok." in summary(make, make.record(), area)
    assert "areas" not in summary(make, make.record())
    assert "areas" not in Page(make.page(make.record())).tables
    # a report of them alone
    assert "areas" in Page(make.page(area)).tables


def test_the_page_says_when_and_where(make):
    host = {"environment": {"processor": "AMD EPYC, 2 cores"}}
    text = words_of(make.page(make.record("a", **host), make.bench([make.record("b", **host)])))
    assert "measured on" not in text
    assert "2 graphs on a host with AMD EPYC, 2 cores." in text
    days = [
        make.record("a", date="2026-11-28"),
        make.bench([make.record()]) | {"date": "2026-11-29"},
    ]
    assert "measured on 2026-11-28 to 2026-11-29." in words_of(make.page(*days))
    assert "measured on 2026-11-28." in words_of(make.page(days[0]))


def test_the_page_says_what_verified_a_peer(make):
    bench = make.bench([make.record()])
    bench["peers"][0]["oracle"] = "SciPy, all rows"
    assert cells(Page(make.page(bench)), "peers", "verified", "verified by") == [
        ["yes", "SciPy, all rows"]
    ]


@pytest.mark.parametrize(
    ("times", "shown", "why"),
    [
        # whole call, in kernels, of the other function
        ((2.0, 1.0, 3.0), "1.5", None),
        ((2e-3, 504e-6, 137e-6), "0.0685 (slower)", "the kernels alone take 504 µs"),
        ((2e-3, 1e-4, 1e-3), "0.5 (slower)", "1.9 ms are outside kernels"),
        ((2.0, 0.5, 1.0), "0.5 (slower)", "1.5 s are outside kernels"),
        ((2.0, 1.5, 1.0), "0.5 (slower)", "the kernels alone take 1.5 s"),
    ],
)
def test_a_ratio_below_one_has_its_reason(make, times, shown, why):
    whole, kernels, other = times
    bench = make.bench([make.record()])
    bench["runs"][0] |= {"wall_seconds": whole, "kernel_seconds": kernels}
    bench["runs"][0]["ratios"] = {"scipy": other / whole}
    page = Page(make.page(bench))
    heads, row = page.texts("fastest")
    shown_cells = dict(zip(heads, row, strict=True))
    assert shown_cells["times as fast"] == shown
    assert shown_cells["compared with"] == "scipy.sparse.csgraph.floyd_warshall"
    assert ("if slower, why" in shown_cells) is (why is not None)
    assert shown_cells.get("if slower, why", "").startswith(why or "")
    # the table of runs says it of every run
    heads, row = page.texts("runs-all-pairs")
    assert ("why" in heads) is (why is not None)
    assert dict(zip(heads, row, strict=True)).get("why", "").startswith(why or "")
    # the sentence at the top counts by the same numbers
    if why is not None:
        inside = "alone" in why
        counted = f"On 1 it is slower: on {inside:d} because of its kernels, which alone take"
        words = words_of(make.page(bench))
        assert counted in words
        assert f"and on {not inside:d} because of the rest of the call." in words


def test_the_page_opens_with_the_answers(make):
    bench = make.bench([make.record("a", 10), make.record("b", 20)])
    for run, ratio in zip(bench["runs"], (0.5, 40.0), strict=True):
        run |= {"wall_seconds": 1e-3, "kernel_seconds": 1e-4, "ratios": {"scipy": ratio}}
        run |= {"times": {"wall": [1e-3] * 3}}
    owners = make.record("c", 50, "partition-two-phase", problem="partition", unit="units")
    text = make.page(bench, owners, FAILED)
    start = " ".join(re.sub("<[^>]+>", " ", text[text.index("<h1") : text.index("<h2")]).split())
    assert start.startswith("Which method is fastest, and was it right?")
    assert "Failed: 1. 3 of 4 runs" in start
    assert "0 wrong, 0 not verified, 1 failed, 0 refused" in start
    assert "All ran on one device: A CPU (P driver, cpu)." in start
    assert "answers in the same number type: 2 rows." in start
    assert "0.5 times as fast as" in start
    assert "40 times as fast as scipy.sparse.csgraph.floyd_warshall (all-pairs, b)" in start
    assert "On 1 it is slower: on 0 because of its kernels" in start
    # what a problem asks for is said where it is first named
    assert "which vertex each arc belongs to" in text[: text.index(">Devices</h2>")]
    assert "No other package was timed." in make.page(owners)
    for run, ratio in zip(bench["runs"], (7.0, 40.0), strict=True):
        run["ratios"] = {"scipy": ratio}
    assert re.search("between 7 times as fast .* and 40 times as fast", make.page(bench))


def words_of(page):
    return " ".join(re.sub("<[^>]+>", " ", page).split())


def test_what_a_page_explains_is_what_it_has(make):
    """Each of these words is explained where it is used, and nowhere else."""
    solved = make.record()
    narrow = make.record(held_dtype="uint16", oracle="a certificate")
    search = make.record(problem="bfs", method="bfs-edge", unit="arcs", verified=False)
    refused = REFUSED | {"device": make.cpu}
    slower = make.bench([make.record()])
    slower["runs"][0] |= {"ratios": {"scipy": 0.5}, "fraction_of_roof": 1.05}
    pages = {
        "solved": words_of(make.page(solved)),
        "timed": words_of(make.page(make.bench([narrow]))),
        "slower": words_of(make.page(slower)),
        "more": words_of(make.page(search, refused)),
    }
    explained = {
        "in brackets": {"timed"},
        "A certificate": {"timed"},
        "median of the turns": {"timed", "slower"},
        "compiled its kernels": {"solved", "more"},
        "took no longer than the longest": set(),
        "min(d, a + b)": {"solved", "timed", "slower", "more"},
        "a search reached": {"more"},
        "in registers": {"timed", "slower"},
        "above 100 %": {"slower"},
        "There were 3": {"timed", "slower"},
        "what takes the time": {"slower"},
        "is refused if": {"more"},
    }
    found = {words: {name for name in pages if words in pages[name]} for words in explained}
    assert found == explained


def test_the_example_of_a_filter_finds_a_row(make):
    page = Page(make.page(make.bench(make.several())))
    fields = [attributes for tag, attributes in page.elements if tag == "input"]
    assert len(fields) == 2
    for field in fields:
        rows = [" ".join(row) for row in page.texts(field["data-table"])[1:]]
        words = field["placeholder"].split()
        assert words
        assert 0 < sum(all(word in row for word in words) for row in rows) < len(rows)


def test_a_function_that_two_benches_called_has_one_row(make):
    first = make.bench([make.record()], ["scipy", "igraph"])
    second = make.bench([make.record(device=make.gpu)])
    second["peers"][0] |= {"median_seconds": 2.5, "times": {"wall": [0.5, 2.5, 4.0]}}
    text = make.page(first, second)
    names = ("package", "whole call", "shortest turn", "longest turn", "verified")
    assert cells(Page(text), "peers", *names) == [
        ["scipy", "2 s", "500 ms", "4 s", "yes"],
        ["igraph", "1.5 s", "1.5 s", "1.5 s", "yes"],
    ]
    assert "the time is the median of theirs" in text
    assert "the time is the median of theirs" not in make.page(first)
    for verdict, shown in ((None, "not checked"), (False, "no")):
        second["peers"][0]["verified"] = verdict
        assert cells(Page(make.page(first, second)), "peers", "verified")[0] == [shown]


def test_other_packages_are_counted_in_the_unit_of_the_runs(make):
    bench = make.bench([make.record()])
    assert "updates/s" in Page(make.page(bench)).texts("peers")[0]
    search = make.record(problem="bfs", method="bfs-edge", unit="arcs")
    assert cells(Page(make.page(bench, search)), "peers", "unit") == [["updates"]]


def test_methods_that_leave_out_updates_have_no_fraction_of_the_roof(make):
    names = ("fw-blocked", "near-far", "ms-bfs")
    bench = make.bench([make.record(method=name, fraction_of_roof=1) for name in names])
    found = collect(make.save(bench)).runs.set_index("method").fraction_of_roof
    assert found.dropna().to_dict() == {"fw-blocked": 0.7}


def test_one_method_in_two_types_is_two_runs(make):
    wide, narrow = (make.record(held_dtype=name) for name in ("float64", "uint16"))
    found = collect(make.save(make.bench([wide, narrow | {"wall_seconds": 0.1}]))).runs
    assert sorted(found["held_dtype"]) == ["float64", "uint16"]
    assert "computed in" in Page(make.page(wide, narrow)).texts("runs-all-pairs")[0]


def summary(make, *documents):
    """The summary of these."""
    found = collect(make.save(*documents))
    best, states = comparison.fastest(found.runs, found.peers), comparison.count_states(found.runs)
    return tables.summary(best, states, found.runs[comparison.of_areas(found.runs)])


def test_the_summary_fits_a_terminal(make):
    graphs = [("grid-8x8", 64), ("complete-1024", 1024), ("connected-131072", 131072)]
    changes = {"held_dtype": "uint16", "wall_seconds": 0.8}
    runs = [make.record(graph, n, "fw-multikernel", **changes) for graph, n in graphs]
    wrong = make.record("wrong", 2**17, "scc-forward-backward", verified=False)
    text = summary(make, make.bench(runs), wrong)
    (head, rule, *rows), notes = (part.splitlines() for part in text.split("\n\n"))
    assert head.split()[:3] == ["problem", "graph", "n"]
    assert " other " in head
    assert set(rule) == {"-", " "}
    assert max(map(len, text.splitlines())) <= 100
    shown = [re.split("  +", row.strip()) for row in rows]
    # of one size, in the order of names
    assert shown[2] == [
        *("all-pairs", "complete-1024", "1024", "fw-multikernel (uint16)"),
        *("400 ms", "1 s", "2.5", "1 of 1"),
    ]
    assert shown[1] == ["all-pairs", "wrong", "131072", "none", "0 of 1, 1 wrong"]
    assert [note.split(":")[0] for note in notes] == [*("runs", "n", "other", "ratio", "(type)")]
    assert notes[0] == "runs: 3 ok, 1 wrong, 0 unchecked, 0 refused, 0 failed."
    assert notes[2] == "other: scipy.sparse.csgraph.floyd_warshall (all-pairs)."
    assert "time of the other / time of the method" in notes[3]
    documents = make.bench(runs[:1], ["scipy"]), make.bench(runs[1:], ["igraph"])
    several = " ".join(summary(make, *documents).split())
    assert "igraph (all-pairs), scipy.sparse.csgraph.floyd_warshall (all-pairs)." in several
    alone = summary(make, wrong).split("\n\n")[1]
    assert [note.split(":")[0] for note in alone.splitlines()] == ["runs", "n"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(83.0, "83 s"), (0.99961, "1 s"), (0.0295, "29.5 ms"), (2.5e-4, "250 µs"), (3e-9, "0.003 µs")],
)
def test_times_have_three_digits_and_a_unit(value, text):
    assert comparison.seconds(value) == text


def test_the_first_figure_has_a_row_for_each_input(make):
    graphs = [("a", 10), ("b", 300)]
    runs = [make.record(*graph, method) for graph in graphs for method in ("slow", "fast")]
    for run in runs:
        run["wall_seconds"] = run["input"]["n"] * {"slow": 2e-3, "fast": 1e-3}[run["method"]]
    other = make.record("c", 50, "scc-forward-backward", problem="scc", wall_seconds=1.0)
    figure = whole_calls.fastest(fastest(make, make.bench(runs), other))
    first, second = figure.axes
    assert [axes.get_title("left") for axes in (first, second)] == [
        "all-pairs, beside scipy.sparse.csgraph.floyd_warshall",
        "scc",
    ]
    assert [label.get_text() for label in first.get_yticklabels()] == ["b (n = 300)", "a (n = 10)"]
    marks = {line.get_label(): [] for line in first.lines if not line.get_label().startswith("_")}
    for line in first.lines:
        if line.get_label() in marks:
            marks[line.get_label()] += line.get_xydata().tolist()
    # half of the recorded time in the bench, and two and a half times as long
    assert marks == {
        "fastest method": [[0.15, 0], [0.005, 1]],
        "fastest function of another package": [[0.375, 0], [0.0125, 1]],
    }
    words = [text.get_text() for text in first.texts]
    assert words == ["2.5 x", "fast 150 ms; 375 ms", "2.5 x", "fast 5 ms; 12.5 ms"]
    assert [text.get_text() for text in second.texts] == ["scc-forward-backward 1 s, one run"]


def test_a_report_of_one_run_that_took_no_time(make):
    nothing = make.record(n=0, kernel_seconds=0.0, rate=None, verified=None)
    del nothing["environment"], nothing["commit"]
    page = Page(read(make.report(nothing) / "index.html"))
    assert list(page.tables) == ["fastest", "graphs", "devices", "runs-all-pairs", "software"]
    assert page.texts("software")[1:] == [["pyapsp", "0.1.0"]]


@pytest.mark.parametrize("graph", [{"n": 100}, {"n": 0, "rate": None}], ids=["arcless", "empty"])
def test_values_that_cannot_be_drawn_make_no_figure(make, graph):
    """Axes are logarithmic: a graph without arcs has a rate of 0, and none of n is 0."""
    runs = [make.record("a", method=name, **{"rate": 0.0, **graph}) for name in ("x", "y")]
    bench = make.bench([run | {"rate": 0.0} for run in runs])
    for run in bench["runs"]:
        run |= {"fraction_of_roof": 0.0, "ratios": {"scipy": 2.5 * min(graph["n"], 1)}}
    found = collect(make.save(bench))
    best = comparison.fastest(found.runs, found.peers)
    expected = ["all-pairs-speed-up-scipy"] if graph["n"] else []
    assert list(figures.drawn(found.runs, found.peers, best)) == ["fastest", *expected]


@pytest.mark.slow
def test_a_report_of_two_hundred_runs_on_several_devices(make):
    runs = [
        make.record(f"g{n}", n, method, dtype, device=device)
        for n in (64, 128, 256, 512, 1024)
        for method in [f"method-{number}" for number in range(10)]
        for dtype in ("int32", "float64")
        for device in (make.cpu, make.gpu)
    ]
    folder = make.report(make.bench(runs))
    assert len(Page(read(folder / "index.html")).tables["runs-all-pairs"]) == 201
    assert (folder / "index.html").stat().st_size < 2**20


def call(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args([str(argument) for argument in arguments]))


def test_the_command_writes_every_part_and_names_the_files(make, tmp_path, capsys):
    paths = make.save(*make.several(), make.bench(make.several()))
    assert call(*paths, "-o", tmp_path / "a" / "b") == 0
    names = [
        *("tables/all-pairs.csv", "runs.md", "summary.txt", "figures/fastest.svg"),
        *(f"figures/all-pairs-{name}.svg" for name in ("speed", "roof", "speed-up-scipy")),
        "index.html",
    ]
    expected = [str(tmp_path / "a" / "b" / name) for name in names]
    assert capsys.readouterr().out.splitlines() == expected
    found = [path for path in (tmp_path / "a" / "b").rglob("*") if path.is_file()]
    assert sorted(map(str, found)) == sorted(expected)


def test_the_command_writes_the_tables_alone(make, tmp_path):
    assert call(*make.save(make.record()), "-o", tmp_path / "out", "--only", "tables") == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"tables", "runs.md", "summary.txt"}


def test_the_same_records_make_the_same_report(make, tmp_path):
    paths = make.save(*make.several(), make.bench(make.several()))
    one, other = (write_report(paths, tmp_path / name) for name in "ab")
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_the_command_names_the_missing_extra(make, tmp_path, monkeypatch):
    for module in [name for name in sys.modules if name.startswith("pyapsp.bench.report")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(PyApspError, match=r"pandas.*'report'"):
        call(*make.save(make.record()), "-o", tmp_path / "out")
