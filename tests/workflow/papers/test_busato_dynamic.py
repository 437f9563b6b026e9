"""Experiments and tables of F. Busato's thesis, 2018, chapters 17 to 19."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import papers
import pytest
from papers.busato_dynamic import experiments, triangles
from papers.busato_dynamic.dcsr import Dcsr
from papers.busato_dynamic.inputs import GRAPHS, power_graph, stand_in
from papers.busato_dynamic.lists import Aim, Custinger
from papers.published import Published

from pyapsp.dynamic import Hornet, analytics
from pyapsp.errors import VerificationError
from pyapsp.graph import Graph

CHOSEN = ("dblp-2010", "Wind")


@pytest.fixture
def few(monkeypatch):
    """Two graphs, and containers that share their kernels."""
    monkeypatch.setattr(experiments, "GRAPHS", {name: GRAPHS[name] for name in CHOSEN})
    monkeypatch.setattr(experiments, "UPDATED", CHOSEN[:1])
    for options in (experiments.HORNETS, experiments.BLOCKS):
        for each in options.values():
            monkeypatch.setitem(each, "block_array", 1024)


def test_published_values_agree():
    paper = Published("busato_dynamic")
    for name, about in GRAPHS.items():
        given = {
            what: paper.value(exhibit="table 18.2", quantity=what, graph=name)
            for what in ("rows", "entries")
        }
        assert given["entries"] == about.entries
        assert name in ("dblp-2010", "Protein") or given["rows"] == about.rows
    times = {
        (row["graph"], row["method"]): row["value"]
        for row in paper.rows(exhibit="table 19.3", quantity="time, k = 3")
    }
    assert round(times["scale 13", "Graphulo"] / times["scale 13", "truss-delta"]) == 886


def test_stand_ins_have_the_published_means():
    for name, about in GRAPHS.items():
        graph = stand_in(name, 200_000)
        degrees, mean = np.diff(graph.indptr), about.entries / about.rows
        assert degrees.mean() == pytest.approx(mean, rel=0.25)
        tails = np.repeat(np.arange(graph.n), degrees)
        assert (np.diff(tails << 32 | graph.indices) > 0).all()  # sorted, and different
        if about.matrix:
            assert degrees.std() == pytest.approx(about.deviation, rel=0.1, abs=0.2)
    graph = power_graph(8)
    assert graph.n == 256
    assert 1000 < graph.m // 2 <= 16 * 256


def test_blocks_of_powers_of_two_are_used_in_part():
    # an edge, 2 of 2, 3 of 4, and 5 of 8; a vertex without edges has no block
    assert experiments._used(np.array([0, 1, 2, 3, 5])) == pytest.approx(11 / 15)


@pytest.mark.slow
def test_everything_is_beside_the_published_values(device, few, written):
    documents = []
    for name in ("formats", "updates", "analytics", "triangles", "trusses"):
        document = papers.measure(f"busato-dynamic-{name}", 3000, device=device, repeat=1)
        assert document["left_out"] == []
        assert all(run["verified"] for run in document["runs"])
        documents.append(document)
    tables = written("busato-dynamic", documents)
    assert len(tables) == 12
    formats = tables["table-17.1"].set_index("format")
    times = formats.filter(like="ms: ours")
    assert (times.drop("DCSR") > 0).all(axis=None)
    assert (times.loc["DCSR"] > 0).tolist() == [True, False]  # it cannot delete
    assert formats.loc["CSR", "all edges written: ours"] == 3
    assert formats.loc["CSR", "memory over CSR, mean: ours"] == pytest.approx(1, rel=0.02)
    memory = tables["figure-18.5"].set_index("graph")
    assert memory.loc["dblp-2010", "utilisation of blocks, %: thesis"] == 78
    assert (memory.filter(like="utilisation, %: ours") <= 100).all(axis=None)
    assert memory["utilisation of blocks, %: ours"].between(50, 100).all()
    # twice the edges, at least 8 for each vertex, and 20 bytes of it
    assert (memory["cuSTINGER, over CSR: ours"] > 2).all()
    made = tables["figure-18.6"].dropna()
    assert len(made) == len(CHOSEN)
    assert (made.filter(like=": ours") > 0).all(axis=None)
    rates = tables["figures-18.7-18.8"]
    assert set(rates["duplicates"]) == {"ignore", "keep"}
    assert set(rates["distribution"]) == {"uniform", "by degree"}
    assert (rates.filter(like="million/s: ours") > 0).all(axis=None)
    compared = rates[rates["insertion, system over its blocks: ours"].notna()]
    assert set(compared["blocks"]) == set(experiments.UPDATERS.values())
    assert set(compared["duplicates"]) == {"ignore"}
    assert len(compared) == 2 * len(experiments.UPDATERS) * rates["batch"].nunique()
    changed = tables["section-18.4.4"]
    assert set(changed["graph"]) == {"scale 7", *triangles.OF_TABLE}
    assert (changed.filter(like=": ours") > 0).all(axis=None)
    assert (changed["triangles of the batch"] <= changed["triangles"]).all()
    # an edge in each triangle of a batch
    assert changed.groupby("graph")["triangles of the batch"].max().min() > 0
    both = tables["figures-18.9-18.10"].filter(like="over Hornet: ours")
    assert both.shape[1] == 4
    assert (both > 0).all(axis=None)
    fixed = tables["table-19.3"]
    assert set(fixed["k"]) == {3, 4}
    assert {"truss-delta, ms: P100", "Graphulo, ms: thesis, Accumulo"} <= set(fixed.columns)
    trusses = tables["table-19.2"].set_index("graph")
    assert (trusses[trusses["k_max: ours"].notna()].filter(like="ms: ours") > 0).all(axis=None)
    assert trusses["k_max: thesis"].count() == 20
    wang = trusses.loc["Amazon", "Wang and Cheng, ms: thesis, one core"]
    assert round(wang / trusses.loc["Amazon", "Delta on cuSTINGER, ms: P100"]) == 72
    each_k = tables["figure-19.1d"]
    largest = trusses["k_max: ours"].max()
    assert each_k["k"].tolist() == list(range(3, int(largest) + 2))
    assert (each_k.filter(like="ms: ours") > 0).all(axis=None)
    assert each_k.shape[1] == 1 + len(experiments.TRUSSES) - 1  # peeling is not by k
    # records of before the other systems were measured
    for document in documents:
        document["runs"] = [run for run in document["runs"] if is_of_before(run["label"])]
    older = written("busato-dynamic", documents)
    assert older.keys() == tables.keys()
    assert set(older["figures-18.7-18.8"]["distribution"]) == {"uniform"}
    claims = older["claims"].set_index("claim")["here: ours"]
    assert set(claims[claims == "not decided"].index) == {f"DY{number}" for number in range(9, 16)}


def is_of_before(label):
    """Return whether a run is one of a Hornet or a format of the library; forget how it drew."""
    others = {*experiments.RIVALS, experiments.SEGMENTS}
    drawn = label.pop("distribution", "uniform")
    return drawn == "uniform" and others.isdisjoint((label.get("format"), label.get("blocks")))


@pytest.mark.parametrize("way", [triangles.UPDATE, triangles.AGAIN])
def test_wrong_triangles_are_refused(way, device):
    graph = power_graph(6)
    edges = triangles._edges(graph)
    ends, stays = ([each[part] for each in edges] for part in (slice(20), slice(20, None)))
    left = Graph.from_arcs(graph.n, *stays, directed=False)
    change, whole = triangles._WAYS[way](graph, device), triangles._by_products(graph, device)
    right = triangles._by_products(left, device), whole
    assert (triangles._by_method(left, device) == right[0]).all()
    turn = triangles._turn(change, ends, right)
    assert turn.facts == {"edges": 20, "triangles": int((whole - right[0]).sum()) // 3}
    for place in (0, 1):
        wrong = [each.copy() for each in right]
        wrong[place][7] += 3
        with pytest.raises(VerificationError, match="the triangles after"):
            triangles._turn(change, ends, tuple(wrong))
        change(ends, deleting=False)


def test_ends_by_degree_are_those_of_edges():
    graph = stand_in("in-2004", 20_000)
    degrees = np.diff(graph.indptr)
    known = set(zip(*(each.tolist() for each in graph.arcs()[:2]), strict=True))
    means = {}
    for distribution in experiments.DISTRIBUTIONS:
        ends = experiments._fresh(graph, 2000, 1, distribution)
        pairs = set(zip(*(each.tolist() for each in ends), strict=True))
        assert len(pairs) == 2000
        assert not pairs & known
        means[distribution] = degrees[ends[0]].mean() / degrees.mean()
    assert means["uniform"] == pytest.approx(1, rel=0.1)
    # the mean of degrees that are drawn by degree
    by_degree = (degrees**2).mean() / degrees.mean() ** 2
    assert by_degree > 3
    assert means["by degree"] == pytest.approx(by_degree, rel=0.1)


def with_a_clique(folder, size):
    """Write a graph of table 19.2 as a file of SNAP: a clique, and a path from it."""
    pairs = [*combinations(range(size), 2), (0, size), (size, size + 1)]
    lines = [f"{tail}\t{head}\n" for tail, head in pairs]
    (folder / "ca-HepTh.txt").write_text("# Nodes, edges\n" + "".join(lines))


def test_a_public_graph_must_have_the_published_largest_truss(
    device, tmp_path, monkeypatch, written
):
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", str(tmp_path))
    monkeypatch.setattr(experiments, "TRUSSES", {"peeling": ("truss-peeling", {})})
    with_a_clique(tmp_path, 32)
    document = papers.measure("busato-dynamic-trusses", 500, device=device, repeat=1)
    table = written("busato-dynamic", [document])["table-19.2"].set_index("graph")
    assert table.loc["ca-HepTh", ["k_max: ours", "k_max: thesis"]].tolist() == [32, 32]
    assert table.loc["ca-HepTh", "Delta on cuSTINGER, ms: P100"] == 5
    # larger graphs than n are left out
    small = papers.measure("busato-dynamic-trusses", 490, device=device, repeat=1)
    assert {each["label"]["graph"] for each in small["inputs"]} == {"scale 4"}
    with_a_clique(tmp_path, 31)
    with pytest.raises(VerificationError, match="k = 31, and 32 is published"):
        papers.measure("busato-dynamic-trusses", 500, device=device, repeat=1)


def test_searches_on_rows_are_compared_with_scipy(device, few, monkeypatch):
    """A search that is wrong in the same way on both formats."""
    search = analytics.bfs
    monkeypatch.setattr(analytics, "bfs", lambda *given: np.maximum(search(*given), 0))
    with pytest.raises(VerificationError):
        papers.measure("busato-dynamic-analytics", 3000, device=device, repeat=1)


@pytest.mark.parametrize("container", [Hornet, Custinger, Aim, Dcsr])
def test_a_container_that_loses_an_edge_ends_the_experiment(container, device, few, monkeypatch):
    insert = container.insert_edges

    def loses(self, tails, heads, **given):
        new = insert(self, tails[1:], heads[1:], **given)
        return new + (new > 0)

    monkeypatch.setattr(container, "insert_edges", loses)
    for name in ("formats", "analytics" if container is Dcsr else "updates"):
        with pytest.raises(VerificationError):
            papers.measure(f"busato-dynamic-{name}", 3000, device=device, repeat=1)


def test_a_deletion_of_too_much_ends_the_experiment(device, few, monkeypatch):
    delete = Custinger.delete_edges

    def greedy(self, tails, heads):
        gone = delete(self, tails, heads)
        more = self.to_csr()
        delete(self, [np.flatnonzero(np.diff(more.indptr))[0]], more.indices[:1])
        return gone

    monkeypatch.setattr(Custinger, "delete_edges", greedy)
    with pytest.raises(VerificationError, match="degrees"):
        papers.measure("busato-dynamic-updates", 3000, device=device, repeat=1)
