"""[B] chapter 6: stand-ins, experiments with BFS-4K, and its tables and figures."""

from __future__ import annotations

import json

import numpy as np
import pytest
from papers import shapes
from papers.busato_traversal.bfs_4k import exhibits, experiments, stand_ins
from papers.busato_traversal.bfs_4k.experiments import EXPERIMENTS, KNOBS, TABLES
from papers.exhibits import markdown
from papers.experiment import Request
from papers.measured import Measured
from papers.published import Published
from papers.tables import tables

from pyapsp.errors import VerificationError
from pyapsp.graph import Graph

DEVICE = {"name": "A GPU", "platform": "P", "driver": "1.0", "units": 2}
N = 150


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Compile without optimisation: kernels with many barriers take seconds otherwise."""
    monkeypatch.setenv("PYOPENCL_BUILD_OPTIONS", "-cl-opt-disable")


@pytest.mark.parametrize("name", stand_ins.NAMES)
def test_stand_ins_have_the_statistics(name):
    paper = Published("busato_traversal/bfs_4k")

    def published(quantity):
        return paper.value(exhibit="table 6.1", quantity=quantity, graph=name)

    n = 4000
    graph = stand_ins.stand_in(name, n)
    told = shapes.facts(graph)
    assert isinstance(graph, Graph)
    assert graph.name.startswith(f"stand-in of {name}")
    assert 0.9 * n <= told["vertices"] <= 1.1 * n
    mean = published("average degree")
    # parallel arcs of a graph with fewer vertices are one arc, and a mesh ends
    assert 0.4 * mean < told["average degree"] < 1.05 * mean
    assert told["largest degree"] <= n / 2
    if stand_ins.NAMES[name] is stand_ins._skewed:
        deviation = published("deviation of degrees")
        assert (deviation > mean) == (told["deviation of degrees"] > 0.8 * mean)
    else:
        assert told["deviation of degrees"] < 0.25 * mean
    assert np.array_equal(graph.indices, stand_ins.stand_in(name, n).indices)


def test_meshes_are_deep():
    depths = {}
    for name in ("roadNet-CA", "europe.osm", "nlpkkt160", "com-youtube"):
        graph = stand_ins.stand_in(name, 4000)
        ones = graph.with_weights(np.ones(graph.m, np.int64)).to_scipy()
        from scipy.sparse import csgraph

        levels = csgraph.dijkstra(
            ones, unweighted=True, indices=int(np.diff(graph.indptr).argmax())
        )
        depths[name] = levels[np.isfinite(levels)].max()
    assert depths["europe.osm"] > depths["roadNet-CA"] > 60
    assert depths["roadNet-CA"] > depths["nlpkkt160"] > depths["com-youtube"]


def test_published_values_agree():
    paper = Published("busato_traversal/bfs_4k")
    assert {row["graph"] for row in paper.rows(exhibit="table 6.1")} == set(stand_ins.NAMES)
    for name in stand_ins.NAMES:
        times = {
            row["method"]: row["value"]
            for row in paper.rows(exhibit="table 6.2", quantity="time", graph=name)
        }
        assert min(times, key=times.get) == "bfs-4k"
        # a virtual warp of one work-item is Harish's search
        width = paper.value(exhibit="table 6.2", quantity="width", graph=name)
        assert (width == 1) == (times["bfs-virtual-warp"] == times["bfs-harish"])


def document(name, device):
    found = EXPERIMENTS[name].measure(N, Request(device, repeat=1))
    made = {"experiment": name, "n": N, "device": DEVICE, **found}
    assert json.loads(json.dumps(made)) == made
    assert all(run["verified"] for run in made["runs"])
    return made


def exhibits_of(made):
    measured = Measured({made["experiment"]: {N: made}})
    found = [
        row.make(measured)
        for row in tables("busato_traversal/bfs_4k", exhibits.ROWS)
        if row.experiment == made["experiment"]
    ]
    assert "Left out" not in markdown("title", measured, found) or made["left_out"]
    return {each.name: each for each in found}


@pytest.mark.slow
def test_levels(device):
    made = document("busato-traversal-bfs-levels", device)
    atomics = device.capabilities.int64_atomics
    assert len(made["left_out"]) == (0 if atomics else 3)
    shown = exhibits_of(made)
    example = shown["figure-6.5"].table
    # what the kernel does, beside what the thesis prints
    assert example["first lane: ours"].tolist() == [0, 3, 4, 8, 14, 17]
    assert example["last lane: ours"].tolist() == [2, 3, 7, 13, 16, 19]
    for which in ("first lane", "last lane"):
        assert example[f"{which}: ours"].tolist() == example[f"{which}: thesis"].tolist()
    kernels = shown["figure-6.6"].table
    assert kernels["kernel"].str.startswith("single").iloc[0]
    assert not kernels["kernel"].str.startswith("single").all()
    levels = shown["figure-6.11"].table
    for column in levels.columns[2:]:
        assert (levels[column] >= levels["different vertices"]).all()
    for mapping in experiments.MAPPINGS:
        before = levels[f"{mapping}, before hash32"]
        assert (before >= levels[f"{mapping}, hash32"]).all()
    tables = shown["figure-6.12"].table
    assert set(tables["table"]) == set(TABLES) - (set() if atomics else {"hash64"})
    assert set(tables["levels stored"]) == {"visit", "append"}
    one = tables[tables["mapping"] == "virtual warp 1"]
    totals = one[one["levels stored"] == "append"].set_index("table")
    assert totals.loc["off", "detected: ours"] == 0
    assert totals.loc["hash32", "detected: ours"] > totals.loc["per-warp", "detected: ours"]
    assert "29221" in markdown(
        "t", Measured({made["experiment"]: {N: made}}), [shown["figure-6.12"]]
    )


@pytest.mark.slow
def test_features_and_knobs(device, monkeypatch):
    few = {"least_width": (1, 8), "heavy": (0, 200), "single": (0, 1), "coalesce": (0,)}
    for module in (experiments, exhibits):
        monkeypatch.setattr(module, "KNOBS", {**dict.fromkeys(KNOBS, ()), **few})
    made = document("busato-traversal-bfs-features", device)
    shown = exhibits_of(made)
    matrix = shown["figure-6.13"].table.set_index("search")
    [about] = made["inputs"]
    assert matrix.loc["bfs-harish", "memory, words of 4 bytes: thesis"] == (
        3 * about["n"] + about["arcs"]
    )
    # the arcs are there at least
    assert (matrix["memory, words of 4 bytes: ours"] > about["arcs"]).all()
    assert (matrix["levels: ours"] >= about["depth"]).all()
    table = shown["figure-6.14"].table
    assert table["search"].tolist()[:4] == ["bfs-sequential", "bfs-harish", "bfs-edge", "queues"]
    assert table["speedup over sequential: ours"].iloc[0] == 1
    made = document("busato-traversal-bfs-knobs", device)
    table = exhibits_of(made)["knobs"].table
    assert len(table) == sum(map(len, few.values()))
    assert table["ms: ours"].notna().all()


def test_searches(device, monkeypatch):
    some = ("com-youtube", "roadNet-CA")
    monkeypatch.setattr(experiments, "NAMES", {name: stand_ins.NAMES[name] for name in some})
    made = document("busato-traversal-bfs-rivals", device)
    shown = exhibits_of(made)
    assert shown["table-6.1"].table["graph"].tolist() == list(some)
    table = shown["table-6.2"].table.set_index("graph")
    for name in some:
        assert table.loc[name, "bfs-4k, ms: ours"] > 0
        assert table.loc[name, "bfs-4k over bfs-harish: ours"] > 0
        assert table.loc[name, "bfs-gunrock, ms: ours"] > 0
        runs = [run for run in made["runs"] if run["label"]["graph"] == name]
        for method, forms in (("bfs-b40c", 4), ("bfs-gunrock", 3)):
            seconds = {
                run["label"].get("form", "default"): run["seconds"]["kernel"]
                for run in runs
                if run["label"]["method"] == method
            }
            assert len(seconds) == forms
            best = table.loc[name, f"best form of {method}: ours"]
            assert seconds[best] == min(seconds.values())
            shown_ms = table.loc[name, f"{method}, ms: ours"]
            assert shown_ms == pytest.approx(1e3 * min(seconds.values()))
    assert table.loc["com-youtube", "bfs-4k over bfs-harish: GTX 780"] == pytest.approx(57 / 3.1)
    assert table.loc["com-youtube", "best width: GTX 780"] == 4


def test_wrong_levels_are_noticed(device, spoil):
    def change(found):
        found.levels[-1] += 1

    spoil(experiments, "bfs", change)
    with pytest.raises(VerificationError, match="answer is wrong"):
        EXPERIMENTS["busato-traversal-bfs-features"].measure(N, Request(device, repeat=1))
