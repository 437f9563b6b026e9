"""Graphs of a user: the list of config, file and package, and what is measured at first use."""

from __future__ import annotations

import csv
import gzip
import http.server
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from pyapsp.errors import FormatError, ParameterError
from pyapsp.graph import Graph, datasets, generators, own_graphs, write

ARCS = "0,1,2\n1,2,3\n2,0,4\n"
SAID = {"directed": True, "weighted": True}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with graphs, and a cache that is empty."""
    monkeypatch.setenv("PYAPSP_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PYAPSP_DATA_MIRROR", raising=False)
    work = tmp_path / "work"
    (work / "data").mkdir(parents=True)
    monkeypatch.chdir(work)
    Path("mine.csv").write_text(ARCS)
    return work


def row(**said: str | bool) -> datasets.Dataset:
    """The row of an entry of the config, not yet measured."""
    names, rows = own_graphs.listed([said], "data/datasets.csv")
    return rows[names[0]]


def measured(**said: str | bool) -> datasets.Dataset:
    return own_graphs.measured(row(**said), "records/one.csv")


@pytest.mark.parametrize("name", ["ring-40", "grid-8x8", "disconnected", "small-world-50"])
def test_the_longest_distance_is_that_of_the_register(name, monkeypatch):
    graph, known = datasets.load(name), datasets.get(name).longest
    assert own_graphs.longest(graph) == known
    monkeypatch.setattr(own_graphs, "_ARCS", 0)
    assert known <= own_graphs.longest(graph) <= (graph.n - 1) * graph.max_weight


def test_negative_weights_have_no_longest_distance():
    assert own_graphs.longest(datasets.load("negative-weights")) is None
    assert own_graphs.longest(Graph.from_arcs(0, [], [], [])) == 0
    assert own_graphs.longest(Graph.from_arcs(2, [0], [1], [1.5])) == 2


def test_a_file_is_measured_and_recorded(folder):
    found = measured(name="mine", file="mine.csv", **SAID)
    assert (found.n, found.m, found.longest, found.weights) == (3, 3, 7, "as-is")
    words = {"directed": "true", "weighted": "false"}  # as the command line of Snakemake gives them
    assert row(name="mine", file="mine.csv", **words).weights == "unweighted"
    assert found.sha256 == datasets.digest(ARCS.encode()) == found.content_sha256
    assert datasets.read_register("records/one.csv") == {"mine": found}
    # with the record, the file is fetched, verified and read as a registered one
    copy = datasets.fetch("mine", "copy.csv", register="records/one.csv")
    assert copy.read_text() == ARCS
    assert datasets.load("mine", register="records/one.csv").m == 3
    assert datasets.names("records/one.csv") == ["mine", *datasets.names()]


def test_what_is_said_counts_and_not_the_file():
    found = measured(name="mine", file="mine.csv", directed=False, weighted=False)
    assert (found.m, found.longest, found.weights) == (6, 1, "unweighted")
    Path("mine.csv").rename("mine.data")
    with pytest.raises(ParameterError, match="'format' parameter of mine must be one of mtx"):
        row(name="mine", file="mine.data", **SAID)
    assert measured(name="mine", file="mine.data", format="csv", **SAID).longest == 7
    absolute = measured(
        name="mine", file="mine.data", format="csv", weights="subtract-from:9", **SAID
    )
    assert absolute.longest == 13


def test_a_record_is_used_until_the_file_or_the_words_change(monkeypatch):
    given = {"name": "mine", "file": "mine.csv", **SAID}
    first = measured(**given)
    with monkeypatch.context() as patch:
        patch.setattr(own_graphs, "_measured", lambda row: pytest.fail("it is measured again"))
        assert measured(**given) == first
    assert measured(**{**given, "directed": False}).m == 6
    assert measured(**given) == first
    Path("mine.csv").write_text(ARCS + "2,3,5\n")
    os.utime("mine.csv", (4e9, 4e9))
    assert measured(**given).n == 4
    Path("records/one.csv").write_text("damaged")
    assert measured(**given).n == 4


def test_a_changed_file_is_not_taken_for_the_recorded_one():
    measured(name="mine", file="mine.csv", **SAID)
    Path("mine.csv").write_text(ARCS + "2,3,5\n")
    with pytest.raises(FormatError, match="not the registered copy of mine"):
        datasets.fetch("mine", register="records/one.csv")


def test_compressed_files_and_folders(folder):
    (folder / "many").mkdir()
    (folder / "many" / "a b.csv.gz").write_bytes(gzip.compress(ARCS.encode()))
    (folder / "many" / "notes.md").write_text("no graph")
    write(generators.ring(5), folder / "many" / "ring.mtx")
    names, rows = own_graphs.listed([{"folder": "many", **SAID}], "none.csv")
    assert names == ["a-b", "ring"]
    found = own_graphs.measured(rows["a-b"], "a.csv")
    assert (found.n, found.format) == (3, "csv")
    assert datasets.fetch("a-b", "copy.csv", register="a.csv").read_text() == ARCS
    assert datasets.load("a-b", register="a.csv").m == 3


def test_a_generator_says_what_it_makes():
    found = measured(name="made", generator="small_world n=40 k=6 p=0.5 max_weight=1")
    assert (found.n, found.m, found.directed, found.weighted) == (40, 240, False, False)
    assert measured(name="made", generator="small_world n=40 k=6 p=0.5 max_weight=1") == found
    assert datasets.load("made", register="records/one.csv").m == 240
    for words, fault in (("tree n=4", "one of complete"), ("ring k=4", "missing a required|unexp")):
        with pytest.raises(ParameterError, match=fault):
            measured(name="made", generator=words)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    handler = partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_an_address_is_fetched_once_and_verified_later(address):
    found = measured(name="far", url=f"{address}/mine.csv?version=1", **SAID)
    assert (found.n, found.longest, found.file) == (3, 7, "mine.csv")
    Path("mine.csv").write_text("changed")
    assert datasets.load("far", register="records/one.csv").m == 3  # from the cache
    next(Path(os.environ["PYAPSP_CACHE"]).rglob("far.csv")).unlink()
    with pytest.raises(FormatError, match="not the registered copy of far"):
        datasets.fetch("far", register="records/one.csv")
    with pytest.raises(FileNotFoundError, match=f"{address}/none.csv"):
        own_graphs.measured(row(name="far", url=f"{address}/none.csv", **SAID), "other.csv")


def test_the_config_comes_before_the_file_and_the_file_before_the_package(folder):
    Path("data/datasets.csv").write_text(
        "name,file,directed,weighted\nmine,near.csv,true,true\nring-40,near.csv,true,false\n"
    )
    Path("data/near.csv").write_text("0,1,9\n")
    names, rows = own_graphs.listed(
        [{"name": "mine", "file": "mine.csv", **SAID}], "data/datasets.csv"
    )
    assert names == ["mine"]
    assert rows.keys() == {"mine", "ring-40"}
    assert own_graphs.measured(rows["mine"], "mine-record.csv").n == 3
    ring = own_graphs.measured(rows["ring-40"], "ring-record.csv")
    assert (ring.n, ring.longest) == (2, 1)
    assert datasets.get("ring-40", register="ring-record.csv") == ring
    assert datasets.get("ring-40").n == 40


def test_the_list_of_the_package_is_nothing_new():
    checkout = Path(__file__).parents[2] / "data" / "datasets.csv"
    assert own_graphs.listed([], checkout) == ([], {})


def test_a_complete_row_of_a_file_is_not_measured(folder, monkeypatch):
    known = measured(name="mine", file="mine.csv", **SAID)
    known = replace(known, longest=99)  # what the file says
    with open("data/datasets.csv", "w", newline="") as file:
        cells = {"directed": "true", "weighted": "true"}
        values = {**vars(known), **cells}
        writer = csv.DictWriter(file, values)
        writer.writeheader()
        writer.writerow(values)
    monkeypatch.setattr(own_graphs, "_measured", lambda row: pytest.fail("it is measured"))
    _, rows = own_graphs.listed([], "data/datasets.csv")
    assert own_graphs.measured(rows["mine"], "records/one.csv") == known
    assert datasets.load("mine", register="records/one.csv").m == 3


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        ({"name": "a b", "file": "mine.csv", **SAID}, ParameterError, "letters, digits, - and _"),
        ({"name": "a", **SAID}, ParameterError, "'a' needs a file, url or generator"),
        ({"name": "a", "file": "mine.csv", "weighted": True}, ParameterError, "needs directed"),
        ({"name": "a", "file": "none.csv", **SAID}, FileNotFoundError, "there is no file none.csv"),
        (
            {"name": "a", "file": "mine.csv", **SAID, "directed": "no"},
            ParameterError,
            "true or fal",
        ),
        ({"folder": "none", **SAID}, FileNotFoundError, "there is no folder none"),
        ({"folder": "data", **SAID}, FileNotFoundError, "data has no file of a graph: mtx"),
        ({"folder": ".", "name": "a", **SAID}, ParameterError, "have the names of their files"),
        ({"name": "a", "file": "mine.csv", "weights": "x", **SAID}, ParameterError, "as-is"),
    ],
)
def test_what_is_missing_is_named(said, error, words):
    with pytest.raises(error, match=words):
        row(**said)


def test_two_graphs_of_one_name_are_refused():
    entry = {"name": "mine", "file": "mine.csv", **SAID}
    with pytest.raises(ParameterError, match=r"two graphs are named 'mine': .*mine.csv and .*csv"):
        own_graphs.listed([entry, {"folder": ".", **SAID}], "none.csv")


def test_a_register_that_is_none_names_the_line(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text("name,file\na,b\n")
    with pytest.raises(FormatError, match=r"list\.csv:1: there is no column 'url'"):
        datasets.names(path)
    measured(name="mine", file="mine.csv", **SAID)
    text = Path("records/one.csv").read_text()
    path.write_text(text.replace(",3,3,7,", ",3,many,7,"))
    with pytest.raises(
        FormatError, match=r"list\.csv:2: column m: a whole number is expected, not 'many'"
    ):
        datasets.names(path)
