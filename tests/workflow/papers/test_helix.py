"""Chapter 7 of [B]: experiments on small graphs, the tree, and the tables of known times."""

from __future__ import annotations

import json
import math

import papers
import pytest
from papers.busato_traversal.helix import experiments, tree

from pyapsp.device import Device
from pyapsp.errors import VerificationError
from pyapsp.graph import Graph

NAMES = ("configurations", "rivals", "ablations")


@pytest.fixture
def small(monkeypatch, device):
    """Two graphs, few forms, and kernels without optimisation."""
    monkeypatch.setattr(Device, "build_options", [*device.build_options, "-cl-opt-disable"])
    monkeypatch.setattr(
        experiments, "GRAPHS", {name: experiments.GRAPHS[name] for name in ("grid", "R-MAT")}
    )
    kept = ("node 1", "device-wide")
    monkeypatch.setattr(
        experiments, "BALANCES", {name: experiments.BALANCES[name] for name in kept}
    )
    monkeypatch.setattr(experiments, "QUEUES", ("vertex", "two-phase"))
    # a barrier of all groups waits for the other processes of a CPU
    monkeypatch.setattr(experiments, "SYNCS", ("multi", "batched", "single-group"))
    kept = ("CSR-M", "bins, not one list", "warp gathering", "dynamic chunk")
    monkeypatch.setattr(
        experiments, "ABLATIONS", {name: experiments.ABLATIONS[name] for name in kept}
    )


def measured(name, device):
    document = papers.measure(f"busato-traversal-{name}", 60, device=device, repeat=1)
    assert json.loads(json.dumps(document)) == document
    assert document["left_out"] == []
    return document


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_all_experiments_and_their_tables(device, written):
    documents = []
    for name in NAMES:
        document = measured(name, device)
        seen = [tuple(run["label"].items()) for run in document["runs"]]
        assert len(set(seen)) == len(seen)
        assert {given["label"]["graph"] for given in document["inputs"]} == {"grid", "R-MAT"}
        documents.append(document)
    tables = written("busato-traversal", documents)
    names = {"figure-7.4", "figure-7.6", "figure-7.7", "section-7.3", "section-7.3.8"}
    assert {*tables} >= names | {"section-7.4.2", "table-7.1", "table-7.2"}
    rows = tables["figure-7.6"]
    # node: two queues; two-phase has no single group; the device-wide form two of both
    assert len(rows) == 2 * (3 + 2) + 2
    assert (rows[rows.columns[4:]].min() == 1).all()


def test_a_wrong_search_ends_the_experiment(device, spoil, monkeypatch):
    def change(found):
        found.levels[0, -1] += 1

    spoil(experiments, "bfs", change)
    monkeypatch.setattr(experiments, "GRAPHS", {"path": path_of})
    with pytest.raises(VerificationError, match="on path"):
        measured("rivals", device)


def path_of(n):
    return Graph.from_arcs(n, range(n - 1), range(1, n))


ROWS = [
    ({"mean": 2, "gini": 0.1}, {"a": 1, "b": 3, "c": 9}),
    ({"mean": 4, "gini": 0.6}, {"a": 2, "b": 1, "c": 9}),
    ({"mean": 30, "gini": 0.2}, {"a": 5, "b": 6, "c": 1}),
    ({"mean": 40, "gini": 0.7}, {"a": 5, "b": 9, "c": 2}),
]


def test_all_groups_of_a_launch_can_stay(device):
    form = experiments._form(
        device, {"balance": "node", "sync": "persistent"}, {"group": 1, "warp": 1}
    )
    assert (form is not None) == device.capabilities.device_scope_fence


def test_the_tree_loses_least():
    alone = tree.fitted(ROWS, 0)
    assert alone.choice == "a"
    assert alone.cost == pytest.approx(math.log(2 * 5 * 2.5))
    one = tree.fitted(ROWS, 1)
    # a or b loses least below 17: factors 2 and 3; c is best above
    assert (one.fact, one.threshold, one.below.choice, one.above.choice) == ("mean", 17, "a", "c")
    assert one.cost == pytest.approx(math.log(2))
    two = tree.fitted(ROWS, 2)
    assert two.cost == 0
    assert [tree.chosen(two, facts) for facts, _ in ROWS] == ["a", "b", "c", "c"]
    assert tree.rules(one) == [("mean < 17", "a"), ("mean >= 17", "c")]
    assert [choice for _, choice in tree.rules(two)] == ["a", "b", "c"]
    # no split that gains nothing
    assert tree.fitted(ROWS, 5) == two
    # a choice that some input lacks cannot be a rule
    lacking = [*ROWS, ({"mean": 50, "gini": 0.7}, {"a": 1, "b": 2})]
    assert tree.fitted(lacking, 0).choice in "ab"
