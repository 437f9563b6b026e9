"""[B] chapters 8, 9 and 21: stand-ins, experiments on small graphs, tables and claims."""

from __future__ import annotations

import json

import numpy as np
import papers
import pytest
from papers.busato_paths.components import experiments as components
from papers.busato_paths.components import stand_ins as directed
from papers.busato_paths.components.claims import CLAIMS as OF_COMPONENTS
from papers.busato_paths.curnet import experiments as curnet
from papers.busato_paths.curnet import networks
from papers.busato_paths.searches import experiments, sequential, stand_ins
from papers.claims import judged, listed
from papers.measured import Measured
from papers.published import Published
from scipy.sparse import csgraph

from pyapsp.device import Device
from pyapsp.errors import VerificationError
from pyapsp.graph import Graph

NAMES = ("searches", "optimisations", "components", "curnet")


@pytest.fixture
def quick(monkeypatch, device):
    """Kernels without optimisation, which compile faster."""
    monkeypatch.setattr(Device, "build_options", [*device.build_options, "-cl-opt-disable"])


def test_numbers_of_claims_can_be_read():
    assert listed({"few": 0.0123456, "many": 43987654.0}) == "few 0.0123, many 44,000,000"


@pytest.mark.parametrize("name", stand_ins.NAMES)
def test_stand_ins_of_searches(name):
    given = stand_ins.stand_in(name, 3000)
    sources = given.sources(2)
    facts, paper = given.facts(sources), Published("busato_paths/searches")
    mean = paper.value(exhibit="table 8.1", quantity="average degree", graph=name)
    assert 0.5 * mean < facts["average degree"] < 1.05 * mean
    assert given.graph.has_negative == (name in stand_ins.SECOND)
    loops = (given.graph.arcs()[0] == given.graph.arcs()[1]).sum()
    assert loops == given.graph.n * (name in ("msdoor", "circuit5M_dc"))
    # the potential leaves every path what it is, so SciPy's other algorithm agrees
    matrix = given.graph.to_scipy().astype(float)
    matrix.data[matrix.data == 0] = 1e-30
    if name in ("wiki-talk", "flickr"):
        right = csgraph.bellman_ford(matrix, indices=sources).round()
        np.testing.assert_array_equal(given.distances(sources), right)
    if stand_ins.NAMES[name].kind == "chains":
        assert facts["depth"] > 60


@pytest.mark.parametrize("n", [60, 900])
def test_stand_ins_have_the_components_that_are_told(n):
    paper = Published("busato_paths/components")
    for name in directed.NAMES:
        graph, labels = directed.stand_in(name, n)
        _, found = csgraph.connected_components(graph.to_scipy(), connection="strong")
        assert len({*zip(labels, found, strict=True)}) == labels.max() + 1 == found.max() + 1
        largest, trivial = (
            paper.value(exhibit="table 9.1", quantity=f"vertices in {what}", graph=name) / 100
            for what in ("the largest component", "components of one")
        )
        sizes = np.bincount(labels)
        if n > 100 and largest:
            assert sizes.max() / n == pytest.approx(largest, abs=0.05)
            assert (sizes == 1).sum() / n == pytest.approx(trivial, abs=0.05)


def test_published_values_agree():
    paper = Published("busato_paths/searches")
    for name in stand_ins.FIRST:
        arcs = paper.value(exhibit="table 8.1", quantity="arcs", graph=name)
        for row in paper.rows(exhibit="table 8.2", quantity="time", graph=name):
            rate = paper.value(
                exhibit="table 8.2", quantity="rate", graph=name, method=row["method"]
            )
            assert arcs / row["value"] * 1e3 == pytest.approx(rate, rel=0.15, abs=0.06)
    for name in stand_ins.SECOND:
        (one,) = paper.rows(exhibit="table 8.3", quantity="speedup with", graph=name)
        assert one["optimisation"] in experiments.OPTIMISATIONS
    paper = Published("busato_paths/components")
    for name in directed.NAMES:
        best = components.published(name)
        assert best["trim"] in components.TRIMS
        assert best["searches"] in components.SEARCHES
        assert {best["search"], best["colour_search"]} <= set(components.STRATEGIES)
        times = {
            row["method"]: row["value"]
            for row in paper.rows(exhibit="table 9.2", quantity="time", graph=name)
        }
        speedup = paper.value(exhibit="table 9.3", quantity="speedup over devshatwar", graph=name)
        assert times["devshatwar"] / times["scc-multi-step"] == pytest.approx(speedup, rel=0.07)


def test_sequential_searches_count_relaxations():
    # vertex 1 is lowered again after it was in the queue, and so is 3
    graph = Graph.from_arcs(5, [0, 0, 2, 1, 3], [1, 2, 1, 3, 0], [9, 1, -3, 2, 4])
    for name, count in (("queue", 2 + 5), ("queue-less", 3 * 5)):
        distances, relaxations = sequential.search(name, graph, 0)
        assert distances.tolist() == [0, -2, 1, 0, np.inf]
        assert relaxations == count


def test_networks():
    frames = {each: networks.interactions(2000, each) for each in networks.THRESHOLDS}
    assert len(frames[0]) > len(frames[200]) > len(frames[900])
    for frame in frames.values():
        assert (frame["source"] < frame["target"]).all()
        assert not frame.duplicated(["source", "target"]).any()
        assert set(frame["source"]) | set(frame["target"]) == set(range(2000))
    few, many = (networks.homologues(1000, each) for each in (8, 114))
    assert 800 < many[["source", "target"]].to_numpy().max() < 1200
    # of a protein, at most one arc to each other species
    assert few.groupby("source").size().max() <= 7
    assert many.groupby("source").size().max() <= 113


def measured(name, device, n=100):
    document = papers.measure(f"busato-paths-{name}", n, device=device, repeat=1)
    assert json.loads(json.dumps(document)) == document
    assert document["left_out"] == []
    seen = [tuple(run["label"].items()) for run in document["runs"]]
    assert len(set(seen)) == len(seen)
    return document


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_all_experiments_and_their_tables(device, written, monkeypatch):
    assert papers.SOURCES["busato-paths"].exhibits  # imported before constants are changed
    for module, attribute, kept in (
        (experiments, "FIRST", ["asia.osm", "flickr"]),
        (experiments, "SECOND", ["wiki-talk"]),
        (components, "NAMES", ["Random", "web-Berkstan"]),
        (components, "MAPPED", ["Random"]),
    ):
        monkeypatch.setattr(module, attribute, kept)
    monkeypatch.setattr(curnet, "THRESHOLDS", (900,))
    documents = [measured(name, device) for name in NAMES]
    tables = written("busato-paths", documents)
    assert len(tables) == 16
    counted = tables["figure-8.9"].set_index("search")["relaxations: ours"]
    assert counted["Dijkstra"] <= counted["queue"] <= counted["queue-less"]
    # by how much depends on the schedule
    assert counted["Dijkstra"] / 2 < counted["H-BF"]
    rows = tables["table-9.3"].dropna(subset="trim: ours")
    assert rows["graph"].tolist() == ["Random", "web-Berkstan"]
    assert (rows["speedup over devshatwar: ours"] >= 1).all()
    every = Measured({each["experiment"]: {100: each} for each in documents})
    # parts of the tables are not measured here: no claim about all graphs is answered
    unanswered = {each.id for each in judged(OF_COMPONENTS, every) if each.holds is None}
    assert unanswered >= {"SC1", "SC2", "SC3", "SC4", "SC8", "SC9", "SC10"}
    assert {each.id for each in judged(OF_COMPONENTS, every)} >= {f"SC{i}" for i in range(1, 11)}


def test_a_wrong_answer_ends_the_experiment(device, spoil, monkeypatch):
    def change(found):
        found.distances[0, -1] += 1

    spoil(experiments, "sssp", change)
    monkeypatch.setattr(experiments, "FIRST", ["flickr"])
    with pytest.raises(VerificationError, match="on flickr"):
        measured("searches", device)
