"""``pyapsp bench``: files, dense random graphs, tables and JSON."""

from __future__ import annotations

import json
from itertools import product

import pytest
from running import runner

import pyapsp
from pyapsp.bench import measurement as bench
from pyapsp.bench import peers
from pyapsp.bench.report import write_report
from pyapsp.cli import bench as command
from pyapsp.device.energy import EnergyMeter
from pyapsp.graph import Graph, generators
from pyapsp.registry import runs
from pyapsp.traversal.partitioning.technique import _LoadedTechnique

run = runner("bench")


@pytest.fixture
def graph_file(tmp_path):
    path = tmp_path / "graph.gr"
    pyapsp.write(generators.random_graph(70, seed=6), path)
    return path


def rows_of(text):
    """The rows of the tables, as lists of cells."""
    return [
        line.split() for line in text.splitlines() if line.rstrip().endswith(("right", "WRONG"))
    ]


def test_a_file_is_timed_beside_scipy(graph_file, tmp_path, capsys, device):
    out = tmp_path / "bench.json"
    code, text, _ = run(
        capsys, graph_file, "--method", "fw-naive", "fw-blocked", "--device", device.id,
        "--dtype", "int32", "float32", "--repeat", "1", "-o", out,
    )  # fmt: skip
    assert code == 0
    expected = [(m, t) for m in ("fw-naive", "fw-blocked") for t in ("int32", "float32")]
    rows = rows_of(text)
    assert [tuple(row[:2]) for row in rows[:-1]] == expected
    assert rows[-1][0] == "scipy"
    assert "x scipy" in text
    assert f"device {device.id}: {device.name}, {device.platform_name}" in text
    written = json.loads(out.read_text())
    assert written["schema"] == 3
    assert [(row["method"], row["dtype"]) for row in written["runs"]] == expected
    for row in written["runs"]:
        assert row["verified"]
        assert row["max_error"] == 0
        assert row["median_seconds"] > 0
        assert 0 < row["fraction_of_roof"] < 1
        assert "commit" in row
    (peer,) = written["peers"]
    assert (peer["name"], peer["n"], peer["verified"]) == ("scipy", 70, True)
    assert written["left_out"] == []


def test_a_registered_graph_is_known_by_its_name(capsys, device, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("ring-40", "--method", "fw-naive", "--repeat", "1", "--device", device.id, "--json")
    code, text, _ = run(capsys, *words)
    assert code == 0
    written = json.loads(text)
    assert written["runs"][0]["input"]["hash"] == pyapsp.graph.datasets.load("ring-40").content_hash
    assert written["command"] == f"pyapsp bench {' '.join(words)}"
    # what is in the folder comes first
    (tmp_path / "ring-40").write_text("0 1 5")
    assert run(capsys, *words)[0] == 3


def test_arcs_of_a_file_may_be_walked_both_ways_and_counted(graph_file, capsys, device):
    code, text, _ = run(
        capsys, graph_file, "--undirected", "--unweighted", "--method", "ms-bfs", "--dtype",
        "uint16", "--device", device.id, "--repeat", "1", "--peers", "scipy-dijkstra", "--json",
    )  # fmt: skip
    assert code == 0
    written = json.loads(text)
    graph = pyapsp.read(graph_file).symmetrized()
    (row,) = written["runs"]
    assert (row["input"]["m"], row["input"]["directed"], row["verified"]) == (graph.m, False, True)
    assert [peer["verified"] for peer in written["peers"]] == [True]


def test_dense_graphs_of_several_sizes_on_several_devices(tmp_path, capsys):
    out = tmp_path / "bench.json"
    devices = [device.id for device in pyapsp.devices()]
    code, text, _ = run(
        capsys, "dense", "--n", "40", "65", "--method", "fw-blocked", "--dtype", "uint16", "int32",
        "--device", *devices, "--repeat", "1", "--density", "0.2", "--seed", "5", "-o", out,
    )  # fmt: skip
    assert code == 0
    assert len(rows_of(text)) == 2 * 2 * len(devices)
    written = json.loads(out.read_text())
    assert [(row["input"]["n"], row["dtype"], row["device"]["id"]) for row in written["runs"]] == [
        (n, t, d) for n in (40, 65) for t in ("uint16", "int32") for d in devices
    ]
    expected = bench.dense_graph(65, 0.2, 5)
    assert written["runs"][-1]["input"]["hash"] == expected.content_hash
    assert written["peers"] == []


def test_rows_are_records_of_runs(tmp_path, capsys):
    out = tmp_path / "bench.json"
    assert run(capsys, "dense", "--n", "40", "--repeat", "1", "-o", out)[0] == 0
    (row,) = json.loads(out.read_text())["runs"]
    assert row["dtype"] == "float32"
    record = tmp_path / "row.json"
    record.write_text(json.dumps(row))
    table = write_report([record], tmp_path / "report", ["tables"])[0].read_text()
    assert str(row["fraction_of_roof"]) in table


@pytest.mark.slow
def test_all_methods_and_what_is_left_out(capsys):
    code, text, _ = run(
        capsys, "dense", "--n", "33", "--method", "all", "--dtype", "int32", "--repeat", "1"
    )
    assert code == 0
    for method in pyapsp.methods("all-pairs"):
        assert method.id in text


def test_peers_by_name_and_all_of_them(capsys, monkeypatch):
    code, text, _ = run(capsys, "dense", "--n", "33", "--repeat", "1", "--peers", "igraph")
    assert code == 0
    assert "x igraph" in text
    assert "x scipy" not in text
    monkeypatch.setattr(peers.Peer, "version", property(lambda peer: None))
    code, text, _ = run(capsys, "dense", "--n", "33", "--repeat", "1", "--peers")
    assert code == 0
    _, _, left_out = text.partition("left out: ")
    names = left_out.partition(": not installed")[0].split(",")
    assert sorted(map(str.strip, names)) == sorted(command._PEERS["all-pairs"])


def test_the_command_knows_all_peers():
    known = {}
    for peer in peers.PEERS:
        known[peer.problem] = (*known.get(peer.problem, ()), peer.name)
    assert known == command._PEERS


def test_a_wrong_answer_is_a_failure(graph_file, capsys, monkeypatch):
    solve = runs.solve

    def wrong(*arguments):
        solved = solve(*arguments)
        solved.answer.distances[0, 1] += 1
        return solved

    monkeypatch.setattr(runs, "solve", wrong)
    code, text, _ = run(capsys, graph_file, "--repeat", "1")
    assert code == 1
    assert "WRONG" in text


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["GRAPH", "--n", "40"], 2, "--n is for 'pyapsp bench dense'"),
        (["GRAPH", "--repeat", "0"], 2, "'repeat' parameter"),
        (["dense", "--n", "40", "--density", "2"], 2, "'density' parameter"),
        (["dense", "--n", "-1"], 2, "'n' parameter"),
        (["dense", "--n", "40", "--peers", "numpy"], 2, "invalid choice"),
        (["dense", "--n", "40", "--method", "dijkstra?"], 2, "'method' parameter"),
        (["GRAPH", "-o", "no/such/folder/b.json"], 3, "folder does not exist"),
        (["no-such-file.gr"], 3, "no-such-file.gr"),
    ],
)
def test_mistakes(arguments, code, text, graph_file, capsys):
    arguments = [graph_file if word == "GRAPH" else word for word in arguments]
    found, _, message = run(capsys, *arguments)
    assert (found, text in message) == (code, True), message


def test_a_negative_cycle_is_told(tmp_path, capsys):
    path = tmp_path / "cycle.gr"
    pyapsp.write(Graph.from_arcs(2, [0, 1], [1, 0], [1, -2]), path)
    assert run(capsys, path)[0] == 6


def test_other_problems_and_drawn_inputs(graph_file, tmp_path, capsys, device):
    out = tmp_path / "bench.json"
    code, text, _ = run(
        capsys, "power-law", "--problem", "scc", "--n", "200", "300", "--repeat", "1", "--method",
        "all", "--device", device.id, "--peers", "scipy", "igraph", "-o", out,
    )  # fmt: skip
    assert code == 0
    assert "scc, power-law-" in text
    assert " arcs/s" in text
    written = json.loads(out.read_text())
    methods = [each.id for each in pyapsp.methods("scc") if not each.requires.symmetric]
    asked = [(row["input"]["n"], row["method"]) for row in written["runs"]]
    assert sorted(asked) == sorted(product((200, 300), methods))
    for row in written["runs"]:
        assert (row["problem"], row["unit"], row["verified"]) == ("scc", "arcs", True)
        assert row["work"] == row["input"]["m"]
        assert row["rate"] == pytest.approx(row["input"]["m"] / row["kernel_seconds"])
        assert row["fraction_of_roof"] is None
    assert [peer["verified"] for peer in written["peers"]] == [True] * 4
    for option in (["--predecessors"], ["--sources", "3"]):
        code, _, message = run(capsys, graph_file, "--problem", "scc", *option)
        assert (code, f"{option[0]} is not for scc" in message) == (2, True)


def test_some_rows_have_the_work_of_these_rows(graph_file, tmp_path, capsys, device):
    out = tmp_path / "bench.json"
    assert run(
        capsys, graph_file, "--method", "near-far", "fw-blocked", "--dtype", "int32", "--sources",
        "7", "--repeat", "1", "--device", device.id, "--peers", "scipy-dijkstra", "-o", out,
    )[0] == 0  # fmt: skip
    written = json.loads(out.read_text())
    # fw-blocked computes all rows, whatever it is asked for
    assert [row["work"] for row in written["runs"]] == [7 * 70**2, 70**3]
    for row in written["runs"]:
        assert row["sources"] == 7
        assert row["rate"] == pytest.approx(row["work"] / row["kernel_seconds"])
    (peer,) = written["peers"]
    assert peer["rate"] == pytest.approx(7 * 70**2 / peer["median_seconds"])


def test_the_automatic_choice_is_told(capsys, device):
    code, text, _ = run(
        capsys, "ring", "--n", 30, "--method", "auto", "fw-naive", "--device", device.id,
        "--repeat", 1, "--peers", "scipy",
    )  # fmt: skip
    assert code == 0
    assert "n = 30, m = 30" in text
    (line,) = [line for line in text.splitlines() if line.startswith("auto float64 on")]
    assert "x the fastest named, fw-naive" in line
    assert any(row[0] == "auto:" for row in rows_of(text))


ENERGY = {"joules", "idle_joules", "watts", "joules_per_unit", "joules_per_distance"}


def test_energy_of_a_call(toy_sensor, tmp_path, capsys):
    out = tmp_path / "bench.json"
    words = ["dense", "--n", 40, "--method", "fw-naive", "fw-blocked", "--energy", "rapl"]
    code, text, _ = run(capsys, *words, "--train", "0.3", "--repeat", "1", "-o", out)
    assert code == 0
    assert "nJ/update" in text
    for row in json.loads(out.read_text())["runs"]:
        assert row["watts"] == pytest.approx(100, rel=0.05)
        assert row["joules_per_unit"] == pytest.approx(row["joules"] / 40**3)
        assert row["joules_per_distance"] == pytest.approx(row["joules"] / 40**2)
        # 100 W while it runs, and 100 W before
        assert row["idle_joules"] == pytest.approx(row["joules"], rel=0.05)
        assert 0 <= row["energy_error"] < 0.5


def test_without_a_sensor_the_energy_is_null(tmp_path, capsys):
    out = tmp_path / "bench.json"
    words = ["dense", "--n", 33, "--repeat", "1", "-o", out]
    assert run(capsys, *words, "--energy", "none")[0] == 0
    (row,) = json.loads(out.read_text())["runs"]
    assert {row[name] for name in ENERGY} == {None}
    assert run(capsys, *words)[0] == 0
    (row,) = json.loads(out.read_text())["runs"]
    assert not ENERGY & set(row)


def test_a_sensor_that_disappears_costs_only_energy(toy_sensor, tmp_path, capsys, monkeypatch):
    out = tmp_path / "bench.json"
    measure = EnergyMeter.measure

    def unplugged_after_one(meter, launch):
        energy = measure(meter, launch)
        toy_sensor.most = 0
        return energy

    monkeypatch.setattr(EnergyMeter, "measure", unplugged_after_one)
    words = ["dense", "--n", 33, "--method", "fw-naive", "fw-blocked", "--energy", "rapl"]
    code, _, message = run(capsys, *words, "--train", "0.2", "--repeat", "1", "-o", out)
    assert code == 4
    assert "sensor toy: it cannot be read any more" in message
    first, second = json.loads(out.read_text())["runs"]
    assert first["joules"] > 0
    assert {second[name] for name in ENERGY} == {None}
    assert second["rate"] > 0


def test_energy_of_kernels(toy_sensor, tmp_path, capsys, monkeypatch):
    """Runs are seconds apart from calls; a method that copies in its search is left out."""
    out = tmp_path / "bench.json"
    words = ["rmat", "--n", 64, "--problem", "bfs", "--energy", "rapl", "--kernels", "--repeat", 1]
    words += ["--train", "0.3", "--peers", "scipy", "-o", out]
    code, text, _ = run(capsys, *words, "--method", "bfs-frontier", "bfs-streamed")
    assert code == 0
    assert "kernels repeated s" in text
    assert "left out: bfs-streamed int32" in text
    assert "bfs-streamed cannot run its kernels without its copies" in text
    (row,) = json.loads(out.read_text())["runs"]
    assert row["energy_of"] == "kernels"
    assert row["joules"] == pytest.approx(row["watts"] * row["energy_seconds"])
    assert row["joules_per_unit"] == pytest.approx(row["joules"] / row["work"])
    # short runs are enqueued together, and a train is as long as was asked for
    assert row["energy_runs"] > 10
    assert 0.25 < row["energy_runs"] * row["energy_seconds"] < 3
    assert row["watts"] == pytest.approx(100, rel=0.05)


def test_a_method_that_cannot_run_its_kernels_alone_is_refused(capsys):
    words = ["dense", "--n", 20, "--energy", "none", "--kernels", "--repeat", 1]
    code, _, message = run(capsys, *words, "--method", "johnson")
    assert code == 2
    assert "johnson cannot run its kernels without its copies" in message
    code, _, message = run(capsys, "dense", "--n", 20, "--kernels")
    assert (code, "--kernels is for --energy" in message) == (2, True)


def test_the_answer_at_the_end_of_a_train_is_checked(toy_sensor, capsys, monkeypatch):
    answer = _LoadedTechnique.answer

    def wrong(self):
        found = answer(self)
        found.owners[3] += 1
        return found

    monkeypatch.setattr(_LoadedTechnique, "answer", wrong)
    words = ["uniform", "--n", 60, "--problem", "partition", "--method", "partition-direct"]
    words += ["--energy", "rapl", "--train", "0.2", "--repeat", 1, "--peers", "scipy"]
    assert run(capsys, *words)[0] == 0
    code, text, _ = run(capsys, *words, "--kernels")
    assert (code, "WRONG" in text) == (1, True)


def test_kernels_without_a_sensor(tmp_path, capsys):
    out = tmp_path / "bench.json"
    words = ["dense", "--n", 33, "--method", "fw-minplus", "--repeat", "1", "-o", out]
    assert run(capsys, *words, "--energy", "none", "--kernels")[0] == 0
    (row,) = json.loads(out.read_text())["runs"]
    assert row["energy_of"] == "kernels"
    assert {row[name] for name in (*ENERGY, "energy_seconds", "energy_runs")} == {None}
