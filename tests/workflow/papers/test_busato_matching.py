"""The experiments on matching, and their tables and figures."""

from __future__ import annotations

import tarfile

import numpy as np
import papers
import pytest
from papers.busato_matching import SOURCE, experiments, inputs
from papers.experiment import Request
from papers.measured import Measured

from pyapsp.errors import VerificationError
from pyapsp.matching import Matches, Network
from pyapsp.matching.reading import write_network

SIZES = {"queries": 80, "levels": 64, "scores": 64, "perturbed": 128, "complexes": 64}


@pytest.fixture(scope="module")
def measured(device):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments, "LABELS", (32, 250))
        patch.setattr(experiments, "NODES", (4, 8, 16))
        patch.delenv("PYAPSP_DATA_MIRROR", raising=False)
        documents = {
            name: {
                n: papers.measure(
                    name,
                    n,
                    device=device,
                    repeat=1,
                    settings={} if name.endswith("complexes") else {"counts": [2]},
                )
            }
            for name, n in ((f"busato-matching-{each}", n) for each, n in SIZES.items())
        }
    return Measured(documents)


@pytest.mark.slow
def test_every_exhibit_has_values(measured):
    made = {each.name: each for _, make in SOURCE.exhibits for each in [make(measured)]}
    assert len(made) == len(SOURCE.exhibits)
    for name, exhibit in made.items():
        ours = [column for column in exhibit.table if "ours" in column]
        assert ours, name
        assert exhibit.table[ours].notna().any().all(), name
    table = made["table-10.1"].table
    assert table["arcs: thesis"].notna().sum() == 7
    assert table["arcs: ours"].notna().sum() == 2  # a stand-in for each kind
    assert made["table-10.2"].table["arcs: thesis"].sum() == 72 * 3 + 182 + 90 + 40 + 156 + 140 + 58
    times = made["figures-10.3-10.16"].table
    assert (times["queries: ours"] == 2).all()
    assert (times["queries: thesis"] == 100).all()
    others = [name for name in times.columns if ":" not in name and name != "search"]
    costs = times.pivot_table("top ten, cost: ours", others, "search")
    assert len(costs) > 0
    assert (costs["refined"] <= costs["published"]).all()
    assert set(times["matches"]) == {10, 50, 100}
    perturbed = made["figures-10.10-10.11"].table
    assert perturbed["increase, %: thesis"].notna().sum() == len(perturbed) / 5
    answers = made["claims"].table.set_index("claim")["here: ours"]
    assert answers.pop("M3") == "not decided"  # its network is smaller than those of the thesis
    assert set(answers) <= {"yes", "no"}
    assert {experiment for experiment, _ in SOURCE.exhibits} == set(SOURCE.experiments)


def test_parts_of_perturbed_nodes_differ(device, monkeypatch):
    monkeypatch.setattr(experiments, "LABELS", (32,))
    seen = {}

    def noted(query, part, seed, known):
        seen.setdefault(query.n, {}).setdefault(part, changed_nodes(query, part, seed, known))
        return query

    def changed_nodes(query, part, seed, known):
        changed = perturb(query, part, seed, known)
        return int((changed.labels != query.labels).sum())

    perturb = experiments.perturbed
    monkeypatch.setattr(experiments, "perturbed", noted)
    monkeypatch.setattr(experiments, "SEARCHES", {"one pass": experiments.SEARCHES["one pass"]})
    papers.measure(
        "busato-matching-perturbed", 128, device=device, repeat=1, settings={"counts": [1]}
    )
    assert seen == {16: {0.0: 0, 0.05: 1, 0.1: 2, 0.2: 3, 0.5: 8}}


def test_facts_of_matches():
    """Of four matches, two have the same vertices in another order, and one costs nothing."""
    partners = np.array([[0, 1], [1, 0], [2, 3], [0, 1]], np.int32)
    query = Network.from_edges([(0, 1)], labels=["a", "a"])
    target = Network.from_edges([(0, 1), (2, 3)], labels=["a"] * 4)
    matches = Matches(query, target, partners, np.array([65_536, 65_536, 0, 65_536]))
    facts = experiments._facts([matches])
    assert (facts["exact"], facts["queries"]) == (1, 1)
    assert facts["without_cost"] == 1 / 4
    assert facts["distinct"] == 3 / 4
    assert facts["distinct_sets"] == 2 / 4
    assert facts["cost"] == pytest.approx(1 / 3)


def test_a_wrong_match_ends_the_experiment(device, monkeypatch):
    find = experiments.match_many

    def wrong(*arguments, method, **options):
        found = find(*arguments, method=method, **options)
        if method == "device":
            found[-1].partners[0, 0] ^= 1
        return found

    monkeypatch.setattr(experiments, "match_many", wrong)
    with pytest.raises(VerificationError, match="the answer is wrong"):
        papers.measure(
            "busato-matching-levels", 64, device=device, repeat=1, settings={"counts": [1]}
        )


def asked(name, n, device, monkeypatch, **settings):
    """The numbers of queries of the groups that an experiment makes."""
    seen = []
    monkeypatch.setattr(experiments, "LABELS", (32,))
    monkeypatch.setattr(
        experiments,
        "_runners",
        lambda request, label, queries, *more, **options: iter([len(queries)]),
    )
    for case in papers.EXPERIMENTS[name].cases(n, Request(device, settings)):
        seen += case.runners
    return set(seen)


@pytest.mark.parametrize(("name", "n"), [("queries", 80), ("levels", 64), ("perturbed", 128)])
def test_a_size_has_as_many_queries_as_in_the_thesis(name, n, device, monkeypatch):
    monkeypatch.delenv("PYAPSP_DATA_MIRROR", raising=False)
    name = f"busato-matching-{name}"
    assert asked(name, n, device, monkeypatch) == {100}
    assert asked(name, n, device, monkeypatch, counts=[2, 3]) == {3}


def test_the_files_of_the_authors_are_used_if_they_are_there(tmp_path, monkeypatch):
    target, what = inputs.physical(5720, 32, None)
    assert what.startswith("stand-in")
    query = inputs.part(target, 6, 1)
    folder = tmp_path / "a"
    for each in ("PPI/32", "CORUM"):
        (folder / each).mkdir(parents=True)
    write_network(target, folder / "PPI" / "32" / "Danio_rerio.gfu")
    shipped = folder / "PPI" / "32" / "queries" / "danio_rerio_udistr_32_6"
    shipped.mkdir(parents=True)
    write_network(query, shipped / "Danio_rerio_32_9.gfu")
    small, _, _ = inputs.complexes(1572, None)
    write_network(small, folder / "CORUM" / "10090_minimum.gfu")
    write_network(query, folder / "CORUM" / "77.9606_full.gfu")
    np.savetxt(folder / "CORUM" / "77.10090_minimum", np.eye(6, 1572))
    with tarfile.open(tmp_path / "matching.tar.xz", "w:xz", preset=0) as packed:
        packed.add(folder, "matching")
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", str(tmp_path))
    with inputs.unpacked(5720) as there:
        found, what = inputs.physical(5720, 32, there)
        assert what == "Danio_rerio, file of the authors"
        assert np.array_equal(found.labels, target.labels)
        assert "drawn again" in inputs.physical(5720, 64, there)[1]
        [theirs] = inputs.queries(found, 6, 32, 100, there)  # all that there are
        assert np.array_equal(theirs.labels, query.labels)
        # none of theirs has this size, or these labels
        for nodes, labels in ((5, 32), (6, 64)):
            assert len(inputs.queries(found, nodes, labels, 4, there)) == 4
        _, [(named, matrix)], _ = inputs.complexes(1572, there)
        assert (named.name, named.n, matrix.sum()) == ("77", 6, 6)
    with inputs.unpacked(600) as nothing:
        assert nothing is None
