"""What is kept of measurements, and the pages made from it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from papers import SOURCES
from papers import measured as papers_measured
from papers.__main__ import main as papers
from papers.measured import Measured

from pyapsp.bench.report.records import collect
from pyapsp.cli import main
from pyapsp.registry import roofs

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def documents(tmp_path_factory, device):
    """A bench on one device, and an experiment of a paper."""
    folder = tmp_path_factory.mktemp("documents")
    bench, paper = folder / "dense.json", folder / "anything.json"
    words = ["bench", "dense", "--n", "40", "--method", "auto", "fw-naive", "fw-minplus"]
    words += ["--device", device.id, "--repeat", "2", "--peers", "scipy", "igraph"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roofs, "_SECONDS", roofs._SECONDS / 50)
        assert main([*words, "-o", str(bench)]) == 0
        words = ["measure", "takafuji-diameter", "-n", "64", "--repeat", "2"]
        assert papers([*words, "--device", device.id, "-o", str(paper)]) == 0
    return bench, paper


@pytest.fixture
def kept(records, documents, tmp_path, monkeypatch):
    """The files that are kept of them."""
    written = records.keep(documents, tmp_path)
    for name in ("benches", "papers"):
        function = getattr(records, name)
        monkeypatch.setattr(records, name, lambda what, get=function: get(what, tmp_path))
    return written


def test_documents_say_what_made_them(documents, device):
    for path in documents:
        document = json.loads(path.read_text(encoding="utf-8"))
        assert document["command"].startswith(("pyapsp ", "python -m papers "))
        assert f"--device {device.id}" in document["command"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", document["date"])
        assert "commit" in document


def test_a_record_of_a_bench_has_the_values_of_its_tables(documents, kept):
    before, after = collect([documents[0]]), collect([kept[0]])
    numbers = [name for name in before.runs if pd.api.types.is_float_dtype(before.runs[name])]
    # single turns are not kept
    numbers = [name for name in numbers if name not in ("least_seconds", "greatest_seconds")]
    words = before.runs.select_dtypes(exclude=float).columns
    pd.testing.assert_frame_equal(before.runs[words], after.runs[words])
    pd.testing.assert_frame_equal(before.runs[numbers], after.runs[numbers], rtol=1e-4)
    assert before.devices.equals(after.devices)
    assert kept[0].stat().st_size < documents[0].stat().st_size / 2


def test_a_record_of_an_experiment_makes_the_same_exhibits(documents, kept):
    before, after = (Measured.load("takafuji", [path]) for path in (documents[1], kept[1]))
    made = 0
    for experiment, make in SOURCES["takafuji"].exhibits:
        if experiment == "takafuji-diameter":
            old, new = make(before), make(after)
            pd.testing.assert_frame_equal(old.table, new.table, rtol=1e-3)
            assert (old.title, old.caption) == (new.title, new.caption)
            made += 1
    assert made
    assert kept[1].stat().st_size < documents[1].stat().st_size / 2


def test_no_exhibit_reads_what_is_left_out_of_runs(records, monkeypatch):
    [(source, left_out)] = records._SAID.items()

    class Run(dict):
        def get(self, key, default=None):
            assert key not in left_out
            return super().get(key, default)

        def __contains__(self, key):
            assert key not in left_out
            return super().__contains__(key)

    def read(path):
        document = json.loads(path.read_text(encoding="utf-8"))
        return document | {"runs": [Run(each) for each in document["runs"]]}

    monkeypatch.setattr(papers_measured, "_read", read)
    seen = 0
    for name in (each for each in SOURCES if each.startswith(source)):
        paths = max(records.papers(name), key=len)
        one = Measured.load(name, paths)
        assert not any(left_out & run.keys() for each in one.every for run in each["runs"])
        for experiment, make in SOURCES[name].exhibits:
            if experiment in one.documents:
                make(one)
                seen += 1
    assert seen > 70


def test_a_later_record_replaces_the_one_before(records, documents, kept):
    folder = kept[0].parents[1]
    assert records.keep(documents, folder) == kept
    files = [path.relative_to(folder).parts[1:] for path in folder.rglob("*.json")]
    assert sorted(files) == [("dense.json",), ("papers", "takafuji-diameter-64.json")]


def test_devices_of_a_bench_are_kept_apart(records, documents, tmp_path):
    document = json.loads(documents[0].read_text(encoding="utf-8"))
    second = document["runs"][1]
    second["device"]["name"] = "A Board(R) 2"
    (tmp_path / "dense.json").write_text(json.dumps(document), encoding="utf-8")
    one, other = records.keep([tmp_path / "dense.json"], tmp_path / "kept")
    assert other.parent.name.startswith("a-board-2-")
    sizes = [len(json.loads(path.read_text(encoding="utf-8"))["runs"]) for path in (one, other)]
    assert sizes == [2, 1]


def test_the_page_of_figures_says_what_was_measured_and_how(measured, kept, device):
    text = measured.benches("dense")
    # the figure, then the table, then where they come from
    figure, table, origin = (text.index(each) for each in ("<svg", "| input |", "`pyapsp bench"))
    assert figure < table < origin
    drawing, table, origin = text[figure:table], text[table:origin], text[origin:]
    for name in ("fw-minplus", "scipy.sparse.csgraph.shortest_path", "igraph.Graph.distances"):
        assert f">{name}</text>" in drawing
    assert origin.startswith(
        "`pyapsp bench dense --n 40 --method auto fw-naive fw-minplus --repeat 2 "
    )
    assert "--device" not in origin
    assert ".json" not in origin
    for fact in (device.name, device.platform_name, "commit `", "20"):
        assert fact in origin
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len({row.count("|") for row in rows}) == 1
    assert len(rows) == 5
    assert all("shortest_path (scipy 1" in row and "igraph" in row for row in rows[2:])
    assert measured.benches("nothing") == ""


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("overview", ()),
        ("automatic", ()),
        ("benches", ("small",)),
        ("benches", ("sources",)),
    ],
)
def test_figures_come_first_and_numbers_can_be_read(
    measured, records, name, arguments, monkeypatch
):
    # one device is enough: each figure takes a second
    for function in ("devices", "benches"):
        every = getattr(records, function)
        monkeypatch.setattr(records, function, lambda *which, every=every: every(*which)[:1])
    text = getattr(measured, name)(*arguments)
    words = re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)
    assert not re.search(r"\d+e\+\d", words)
    assert "No record" not in words
    assert "fraction of the roof" not in words
    # a roof bounds what it is given for
    assert all(float(each) <= 100 for each in re.findall(r"\| ([\d.]+) % \|", words))
    if name in ("overview", "benches"):
        assert text.index("<svg") < (text + "|").index("|")
        assert text.count("<svg") == 1
    if name == "overview":
        assert text.startswith("## ")
        assert "or faster, on " in text


def test_the_automatic_choice_is_shown_beside_the_fastest_method(measured, documents, kept):
    (row,) = json.loads(documents[0].read_text(encoding="utf-8"))["automatic"]
    text = measured.automatic()
    (line,) = [line for line in text.splitlines() if line.startswith("| dense | 40 | float32 |")]
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    assert cells[3] == row["method"]
    assert cells[6] == row["best"]
    assert cells[8] == f"{row['ratio']:.2f}"
    near = int(row["ratio"] <= 1.1)
    assert f"at most 1.1 times the fastest in {near} of 1 cases" in text


def test_the_page_of_a_paper_has_its_exhibits(measured, kept):
    text = measured.papers("takafuji")
    assert "`python -m papers measure takafuji-diameter -n 64 --repeat 2`" in text
    assert "### " in text
    assert "<svg" in text
    assert "table" in text.lower()
    assert measured.papers("ino").startswith(SOURCES["ino"].title)


def test_what_is_kept_in_the_repository_is_small_and_can_be_shown(records):
    files = sorted(records.RECORDS.rglob("*.json"))
    assert files
    sizes = [path.stat().st_size for path in files]
    # every exhibit of the papers on three devices
    assert max(sizes) < 300_000
    assert sum(sizes) < 5_000_000
    for path in files:
        document = json.loads(path.read_text(encoding="utf-8"))
        assert document["command"]
        assert document["commit"]
        assert document["date"]
        assert all(run["verified"] for run in document["runs"])


def test_what_the_page_shows_is_what_make_records_measures(records):
    page = (TOP / "docs" / "performance.md").read_text(encoding="utf-8")
    shown = {name for line in re.findall(r"\{records\} (.*)", page) for name in line.split()}
    for config in ("records", "records-gpu"):
        text = (TOP / "config" / f"{config}.yaml").read_text(encoding="utf-8")
        assert set(re.findall(r"^  (\S+):", text, re.MULTILINE)) == shown
    sources = re.findall(r"^measured/([\w-]+)$", page, re.MULTILINE)
    assert sorted(sources) == sorted(SOURCES)
    assert page.index("{overview}") < page.index("\n## ")
