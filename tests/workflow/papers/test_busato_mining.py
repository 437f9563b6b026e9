"""Experiments and tables of F. Busato's thesis, 2018, chapter 20: Mangrove."""

from __future__ import annotations

import tarfile

import numpy as np
import papers
import pytest
from papers.busato_mining import designs, experiments
from papers.published import Published

from pyapsp.errors import VerificationError
from pyapsp.mining.inference import Survivors
from pyapsp.mining.planted import TRACES, planted

N = 600


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(experiments, "TRACES", {2: TRACES[2]})


def test_published_values_agree():
    paper = Published("busato_mining")
    times = {
        (row["set"], row["trace"], row["miner"]): row["value"]
        for row in paper.rows(exhibit="table 20.3")
    }
    assert len(times) == 2 * 4 * 4
    # the ratios of the text: up to four orders over Daikon, up to three over [80]
    assert times["I", 2, "Daikon"] / times["I", 2, "mangrove"] == 10_000
    assert times["II", 3, "parallel"] / times["II", 3, "mangrove"] == 3145
    for trace, recipe in TRACES.items():
        for name, published in recipe.published.items():
            row = {"quantity": "invariants", "trace": trace, "set": name}
            assert paper.value(exhibit="table 20.2", **row) == published


def test_planted_traces_have_the_published_invariants_of_set_i(device):
    from pyapsp.mining import mine

    for number, recipe in TRACES.items():
        trace = planted(number, 6000)
        assert (len(trace.numeric_names), len(trace.boolean_names)) == (recipe.variables,) * 2
        assert len(mine(trace, "I", device=device)) == recipe.published["I"]


@pytest.mark.slow
def test_miners_and_overlap_are_beside_the_published_values(device, few, written):
    documents = []
    for name in ("miners", "overlap"):
        document = papers.measure(f"busato-mining-{name}", N, device=device, repeat=1)
        assert document["left_out"] == []
        assert all(run["verified"] for run in document["runs"])
        documents.append(document)
    tables = written("busato-mining", documents)
    assert tables.keys() == {"table-20.2", "table-20.3", "figure-20.2", "claims"}
    row = tables["table-20.2"].set_index("trace").loc[2]
    assert (row["invariants of set I: ours"], row["invariants of set I: thesis"]) == (142, 142)
    times = tables["table-20.3"].set_index(["set", "trace"])
    for name in ("I", "II"):
        ours = times.loc[(name, 2)].filter(like=": ours").drop("mangrove, whole call, ms: ours")
        assert (ours.astype(float) > 0).all()
    assert times.loc[("II", 2), "mangrove, ms: GTX 780"] == "140"
    # these ran on a CPU
    assert int(times.loc[("I", 4), "Daikon, ms: thesis, CPU"]) == 1_366_000
    assert int(times.loc[("I", 4), "sequential, ms: thesis, CPU"]) == 52_160
    assert times.loc[("II", 3), "mangrove, ms: GTX 780"] == "< 1"
    assert tables["figure-20.2"]["overlap"].tolist() == ["on", "off"]


def test_parts_are_measured_one_by_one(device, monkeypatch):
    monkeypatch.setattr(
        experiments,
        "PARTS",
        {name: experiments.PARTS[name] for name in ("all parts", "no overlap")},
    )
    monkeypatch.setattr(experiments, "SETS", {"I": experiments.SETS["I"]})
    monkeypatch.setattr(experiments, "_SEQUENTIAL", 0)  # a sample of the entries is verified
    document = papers.measure("busato-mining-parts", N, device=device, repeat=1)
    assert {given["reference"]["what"] for given in document["inputs"]} == {
        "NumPy, for a sample of the entries"
    }
    assert {run["invariants"] for run in document["runs"]} == {142, 1788}


DUMP = """\
$scope module top $end
$var wire 1 a p $end
$var wire 1 b q $end
$var wire 8 c x $end
$upscope $end
$enddefinitions $end
#0
1a
xb
bx c
#1
0a
1b
b101 c
#2
1a
0b
#3
"""


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A folder with an archive of two dumps."""
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "one_bool.vcd").write_text(DUMP)
    (folder / "two_bool.vcd").write_text(DUMP.replace("#2\n1a", "#2"))
    with tarfile.open(tmp_path / "traces.tar.xz", "w:xz") as packed:
        packed.add(folder, "traces")
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", str(tmp_path))


def test_designs_are_read_from_the_archive(mirror):
    read = dict(designs.traces(3))
    assert list(read) == ["one_bool", "two_bool"]
    one = read["one_bool"]
    assert one.values("boolean").tolist() == [[True, False, True], [False, True, False]]
    # what is unknown is 0
    assert one.values("numeric").tolist() == [[0, 5, 5]]
    assert [trace.n for _, trace in designs.traces(10)] == [4, 4]


@pytest.mark.slow
def test_miners_of_designs_are_beside_the_sequential_one(device, mirror, written):
    document = papers.measure("busato-mining-designs", 100, device=device, repeat=1)
    assert document["left_out"] == []
    miners = ["mangrove", "a group for each entry", "parallel", "no inference", "sequential"]
    assert [run["label"]["miner"] for run in document["runs"]] == 4 * miners
    found = [about["invariants"] for about in document["inputs"]]
    # p != q in the first alone; x < 10 and x <= 10 in both
    assert found == [0, 3, 0, 2]
    table = written("busato-mining", [document])["designs"]
    assert table["invariants: ours"].astype(int).tolist() == found
    assert table["boolean variables"].astype(int).tolist() == [2] * 4
    assert (table.filter(like="ms: ours").astype(float) > 0).all().all()


def test_a_planted_trace_stands_in_for_designs(monkeypatch):
    monkeypatch.delenv("PYAPSP_DATA_MIRROR", raising=False)
    [(name, trace)] = designs.traces(50)
    assert name == "stand-in: planted trace 2"
    assert trace.n == 50


def invented(found):
    found.batches[0][1].words[0] ^= np.uint32(1)


def lost(count):
    """Remove invariants, as a miner that contradicts them wrongly."""

    def spoil(found):
        left = count
        for number, (batch, each) in enumerate(found.batches):
            words = each.words.copy()
            for place, bit in np.ndindex(len(words), len(batch.statements)):
                if left and not batch.statements[bit].hidden and words[place] >> bit & 1:
                    words[place] ^= np.uint32(1 << bit)
                    left -= 1
            found.batches[number] = batch, Survivors(each.entries, words).keep()
        assert left == 0

    return spoil


# of trace 4 a sample is verified, of trace 2 all entries of set I
@pytest.mark.parametrize(("trace", "count"), [(2, 0), (2, 1), (2, 57), (4, 0), (4, 400)])
def test_lost_invariants_are_noticed(trace, count, device):
    """57 of 142 were removed, and none of the entries that were left is wrong."""
    given = planted(trace, N)
    judge = experiments._Judge(given, "I", known=False)
    found = experiments.mine(given, "I", device=device)
    assert len(found) == TRACES[trace].published["I"]
    lost(count)(found)
    if not count:
        judge.require(found, "all")
        return
    with pytest.raises(VerificationError, match=r"some lost: .* is wrong"):
        judge.require(found, "some lost")


def test_a_lost_batch_is_noticed(device):
    given = planted(2, N)
    found = experiments.mine(given, "I", device=device)
    found.batches[:] = [each for each in found.batches if each[0].kind == "boolean"]
    with pytest.raises(VerificationError, match=r"is wrong"):
        experiments._Judge(given, "I", known=False).require(found, "no numbers")


@pytest.mark.parametrize("change", [invented, lost(57)])
def test_wrong_invariants_are_noticed(change, device, spoil, monkeypatch):
    spoil(experiments, "mine", change)
    for known in (10**9, 0):
        monkeypatch.setattr(experiments, "_SEQUENTIAL", known)
        monkeypatch.setattr(experiments, "_SAMPLED", 2000)
        with pytest.raises(VerificationError, match="wrong"):
            papers.measure("busato-mining-overlap", N, device=device, repeat=1)


@pytest.mark.parametrize("change", [invented, lost(1)])
def test_wrong_invariants_of_designs_are_noticed(change, device, spoil, monkeypatch):
    monkeypatch.delenv("PYAPSP_DATA_MIRROR", raising=False)
    spoil(experiments, "mine", change)
    with pytest.raises(VerificationError, match="invariants are wrong"):
        papers.measure("busato-mining-designs", 100, device=device, repeat=1)
