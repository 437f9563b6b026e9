"""The commands around solving: solve, path, verify, methods; exit codes and what is left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from running import run
from scipy.sparse import csgraph

import pyapsp
from pyapsp.all_pairs.dense import fw_outofcore
from pyapsp.base.files import atomic_write
from pyapsp.graph import Graph, datasets, generators
from pyapsp.paths.result import Result


@pytest.fixture(autouse=True)
def _on_device(device, monkeypatch):
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)


@pytest.fixture
def graph():
    return generators.random_graph(70, seed=6)


@pytest.fixture
def graph_file(graph, tmp_path):
    path = tmp_path / "in" / "graph.gr"
    path.parent.mkdir()
    pyapsp.write(graph, path)
    return path


def test_solve_writes_result_and_record(graph, graph_file, tmp_path, capsys):
    out, record = tmp_path / "d.npz", tmp_path / "r.json"
    code, text, _ = run(
        capsys, "solve", graph_file, "-o", out, "--record", record,
        "--method", "fw-blocked", "--set", "tile=32", "--dtype", "int32", "--predecessors",
    )  # fmt: skip
    assert code == 0
    assert "method fw-blocked: as asked" in text
    assert "solved n = 70" in text
    result = Result.load(out)
    expected = csgraph.dijkstra(graph.to_scipy())
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(result.distances[finite], expected[finite])
    assert (result.distances[~finite] == result.infinity).all()
    written = json.loads(record.read_text())
    assert written["parameters"]["tile"] == 32
    assert written["dtype"] == "int32"
    assert written["schema"] == 4
    assert written["roof_rate"] is written["fraction_of_roof"] is None
    assert "commit" in written


def test_solve_with_the_roof(graph_file, tmp_path, capsys):
    out, record = tmp_path / "d.npz", tmp_path / "r.json"
    code, text, _ = run(
        capsys, "solve", graph_file, "-o", out, "--record", record, "--roof", "--dtype", "auto"
    )
    assert code == 0
    assert "% of the roof)" in text
    written = json.loads(record.read_text())
    speed, roof = written["rate"], written["roof_rate"]
    assert 0 < written["fraction_of_roof"] == speed / roof < 1
    assert Result.load(out).stats["fraction_of_roof"] == written["fraction_of_roof"]


def test_a_type_without_a_roof(tmp_path, capsys):
    graph, record = tmp_path / "ring.txt", tmp_path / "r.json"
    graph.write_text("0 1\n1 2\n2 0\n")
    asked = ["solve", graph, "--method", "fw-packed8"]
    code, text, _ = run(capsys, *asked, "--record", record, "--roof")
    assert code == 0
    assert "uint8 has no roof)" in text
    assert json.loads(record.read_text())["roof_rate"] is None
    _, text, _ = run(capsys, *asked, "--dry-run", "--json")
    assert json.loads(text)["held_dtype"] == "uint8"


def test_undirected_and_default_dtype(graph, graph_file, tmp_path, capsys):
    out = tmp_path / "d.npz"
    assert run(capsys, "solve", graph_file, "-o", out, "--undirected")[0] == 0
    result = Result.load(out)
    assert result.distances.dtype == np.float64
    np.testing.assert_array_equal(
        result.distances, csgraph.dijkstra(graph.symmetrized().to_scipy())
    )


def test_sources_and_cutoff(graph, graph_file, tmp_path, capsys):
    expected = csgraph.dijkstra(graph.to_scipy())[[6, 2, 6]]
    cut = np.where(expected > 9, np.inf, expected)
    asked = ["--sources", "7", "3", "7", "--cutoff", "9"]  # a .gr file counts from 1
    for name, options in (("d.npy", []), ("d.npz", []), ("s.npy", ["--method", "apsp-tasks"])):
        out, record = tmp_path / name, tmp_path / "r.json"
        command = ["solve", graph_file, "-o", out, "--record", record, *asked, *options]
        code, text, error = run(capsys, *command)
        assert (code, error) == (0, "")
        assert "sources: 3" in text
        written = json.loads(record.read_text())
        assert (written["sources"], written["cutoff"]) == (3, 9)
        found = np.load(out) if name.endswith(".npy") else Result.load(out).distances
        np.testing.assert_array_equal(found, cut)
    assert Result.load(tmp_path / "d.npz").sources.tolist() == [6, 2, 6]
    assert not list(tmp_path.glob(".*"))
    code, text, _ = run(capsys, "solve", graph_file, "--dry-run", *asked)
    assert (code, "sources: 3" in text) == (0, True)


def test_a_cutoff_is_not_rounded_to_a_float(tmp_path, capsys):
    """9007199254740993 as a float is one less."""
    (tmp_path / "g.csv").write_text("0,1,9007199254740993\n1,0,9007199254740994\n")
    out = tmp_path / "d.npy"
    asked = ["--dtype", "int64", "--cutoff", "9007199254740993"]
    assert run(capsys, "solve", tmp_path / "g.csv", "-o", out, *asked)[0] == 0
    infinity = 2**62 - 1
    assert np.load(out).tolist() == [[0, 9007199254740993], [infinity, 0]]


def test_a_dry_run_says_memory_and_time(graph_file, tmp_path, capsys, device):
    asked = ["solve", graph_file, "--dry-run", "--dtype", "int32", "--sources", "1", "2"]
    code, text, _ = run(capsys, *asked, "--predecessors", "--method", "fw-naive")
    assert code == 0
    assert "device memory: " in text
    assert text.splitlines()[-2:] == [
        f"answer: {2 * 70 * 8 / 2**20:.1f} MiB of the host",
        "predicted time: not known here",
    ]
    asked = ["solve", graph_file, "--dry-run", "--dtype", "int32", "-o", tmp_path / "o.npy"]
    code, text, _ = run(capsys, *asked, "--json")
    told = json.loads(text)
    assert told["answer_bytes"] == 70 * 70 * 4
    assert told["device_bytes"] > 0
    assert told["graph"]["n"] == 70
    code, text, _ = run(capsys, *asked)
    assert "MiB on disk" in text
    seconds = told["predicted_seconds"]
    assert text.splitlines()[-1] == f"predicted time: {seconds:.3g} s"
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_several_devices(graph_file, tmp_path, capsys, device):
    method = ["--method", "near-far", "--dtype", "int32"]
    code, text, _ = run(
        capsys, "solve", graph_file, *method, "--dry-run", "--device", device.id, device.id
    )
    assert code == 0
    assert "2 devices share the sources" in text
    assert text.splitlines()[-1].startswith("predicted time: ")
    rows = []
    for count in (1, 2):
        out = tmp_path / f"{count}.npy"
        several = ["--device", *[device.id] * count]
        code, text, _ = run(capsys, "solve", graph_file, "-o", out, *method, *several, "--json")
        assert code == 0
        assert sum(json.loads(text).get("device_sources", [70])) == 70
        rows.append(np.load(out))
    np.testing.assert_array_equal(*rows)


def test_a_dry_run_of_a_mapped_matrix_takes_no_memory(graph_file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(fw_outofcore, "installed_memory", lambda: 1000)
    asked = ["solve", graph_file, "--dry-run", "--method", "fw-outofcore", "-o"]
    code, text, _ = run(capsys, *asked, tmp_path / "d.npy")
    assert code == 0
    assert "predicted: " in text
    assert "predicted time" not in text
    assert run(capsys, *asked, tmp_path / "d.npz")[0] == 5
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_sources_from_a_file_and_predecessors_beside_a_mapped_result(graph, tmp_path, capsys):
    names = np.array([f"v{number}" for number in range(graph.n)])
    source, wanted, out = tmp_path / "g.csv", tmp_path / "some.txt", tmp_path / "d.npy"
    tails, heads, weights = graph.arcs()
    lines = [f"{names[a]},{names[b]},{w}" for a, b, w in zip(tails, heads, weights, strict=True)]
    source.write_text("\n".join(lines) + "\n")
    read = pyapsp.read(source)
    wanted.write_text("v5 v1\nv60\n")
    code, _, error = run(
        capsys, "solve", source, "-o", out, "--sources", f"@{wanted}", "v0", "--dtype", "int32",
        "--method", "apsp-tasks", "--predecessors",
    )  # fmt: skip
    assert (code, error) == (0, "")
    vertices = [list(read.labels).index(name) for name in ("v5", "v1", "v60", "v0")]
    before = np.load(tmp_path / "d.npy.predecessors.npy")
    result = Result(np.load(out), before, np.array(vertices))
    assert pyapsp.verify.certificate(read, result).ok
    assert result.predecessors.shape == (4, graph.n)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--sources", "71"], 2, "'--sources' parameter of solve must be vertices of the graph"),
        (["--sources", "@none.txt"], 3, "none.txt"),
        (["--sources", ""], 2, "Got '' instead"),
        (["--cutoff", "-1"], 2, "'cutoff' parameter of solve"),
        (["--cutoff", "far"], 2, "'far' is not a number"),
    ],
)
def test_bad_sources_and_cutoffs(options, code, message, graph_file, tmp_path, capsys):
    for name in ("o.npy", "o.npz"):
        got, _, error = run(capsys, "solve", graph_file, "-o", tmp_path / name, *options)
        assert (got, message in error) == (code, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_path_speaks_in_labels(tmp_path, capsys):
    source = tmp_path / "g.csv"
    source.write_text("a,b,2\nb,c,3\na,c,9\n")
    out = tmp_path / "d.npz"
    assert run(capsys, "solve", source, "-o", out, "--predecessors", "--dtype", "int32")[0] == 0
    assert run(capsys, "path", out, "a", "c") == (0, "length 5: a -> b -> c\n", "")
    code, text, _ = run(capsys, "path", out, "c", "a")
    assert (code, text) == (0, "no path from c to a\n")
    code, _, error = run(capsys, "path", out, "a", "z")
    assert code == 2
    assert "no vertex 'z'" in error


def test_verify_passes_and_records(graph_file, tmp_path, capsys):
    out, record, verified = tmp_path / "d.npz", tmp_path / "r.json", tmp_path / "v.json"
    run(capsys, "solve", graph_file, "-o", out, "--record", record, "--predecessors")
    code, text, _ = run(capsys, "verify", graph_file, out, "--record", record, "-o", verified)
    assert code == 0
    assert "certificate: holds" in text
    assert "SciPy: agrees" in text
    outcome = json.loads(verified.read_text())
    assert outcome["verified"] is True
    assert outcome["max_error"] == 0
    assert outcome["certificate"] == "holds"
    assert outcome["commit"] == json.loads(record.read_text())["commit"]


@pytest.mark.parametrize("options", [[], ["--predecessors"]])
def test_verify_reads_a_matrix(options, graph_file, tmp_path, capsys):
    out, verified = tmp_path / "d.npy", tmp_path / "v.json"
    run(capsys, "solve", graph_file, "-o", out, *options)
    code, text, error = run(capsys, "verify", graph_file, out, "-o", verified)
    assert (code, "certificate: holds" in text, "SciPy: agrees" in text) == (0, True, True), error
    assert json.loads(verified.read_text())["certificate"] == "holds"
    distances = np.load(out)
    distances[3, 4] -= 1
    np.save(out, distances)
    code, text, _ = run(capsys, "verify", graph_file, out)
    assert (code, "row 3" in text, "DIFFERS" in text) == (1, True, True)


def test_verify_names_what_a_matrix_lacks(graph_file, tmp_path, capsys):
    out = tmp_path / "d.npy"
    run(capsys, "solve", graph_file, "-o", out, "--sources", "1", "2")
    code, _, error = run(capsys, "verify", graph_file, out)
    assert (code, "d.npy: 2 rows of" in error, ".npz" in error) == (3, True, True)
    np.save(out, np.zeros((2, 2), complex))
    code, _, error = run(capsys, "verify", graph_file, out)
    assert (code, "d.npy: there is no matrix of distances" in error) == (3, True)
    out.write_text("what is this?")
    code, _, error = run(capsys, "verify", graph_file, out)
    assert (code, "d.npy: no rows of distances" in error) == (3, True)


def test_path_says_that_a_matrix_is_no_result(graph_file, tmp_path, capsys):
    """The matrix has no names of vertices."""
    out = tmp_path / "d.npy"
    run(capsys, "solve", graph_file, "-o", out, "--predecessors")
    code, _, error = run(capsys, "path", out, "1", "2")
    assert (code, "d.npy: an array (.npy), not a saved result" in error) == (3, True)


@pytest.mark.parametrize("oracle", [True, False])
def test_verify_fails_for_a_wrong_distance(graph_file, tmp_path, capsys, oracle):
    out, verified = tmp_path / "d.npz", tmp_path / "v.json"
    run(capsys, "solve", graph_file, "-o", out)
    result = Result.load(out)
    result.distances[3, 4] -= 1
    result.save(out)
    options = [] if oracle else ["--no-oracle"]
    code, text, _ = run(capsys, "verify", graph_file, out, "-o", verified, *options)
    assert code == 1
    assert "row 3" in text
    assert ("DIFFERS" in text) is oracle
    assert json.loads(verified.read_text())["verified"] is False


def test_methods_are_listed(capsys):
    code, text, _ = run(capsys, "methods")
    assert code == 0
    code, listed, _ = run(capsys, "methods", "--json")
    rows = json.loads(listed)
    assert [row["id"] for row in rows] == [method.id for method in pyapsp.methods()]
    for row in rows:
        assert row["id"] in text
        assert row["source"]
    [parameters] = [row["parameters"] for row in rows if row["id"] == "partition-dynamic-warp"]
    assert parameters["threshold"] == {"from": 4, "to": 16_384, "step": 1}


BAD_FILES = {
    "negative cycle": ("g.gr", "p sp 2 2\na 1 2 1\na 2 1 -2\n", 6, "negative cycle of weight -1"),
    "NaN weight": (
        "g.mtx",
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 nan\n",
        3,
        "g.mtx:3",
    ),
    "truncated": ("g.gr", "p sp 3 3\na 1 2 1\na 2 3 1\n", 3, "g.gr"),
    "id out of range": (
        "g.mtx",
        "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 5\n1 3 5\n",
        3,
        "g.mtx:4",
    ),
    "unknown format": ("g.xyz", "", 3, "g.xyz"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_input_ends_in_one_line_and_no_file(case, tmp_path, capsys):
    name, content, expected, message = BAD_FILES[case]
    (tmp_path / name).write_text(content)
    code, _, error = run(capsys, "solve", tmp_path / name, "-o", tmp_path / "out.npz")
    assert code == expected
    assert message in error
    assert error.count("\n") == 1
    assert error.startswith("pyapsp: ")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_truncated_gzip(graph, tmp_path, capsys):
    pyapsp.write(graph, tmp_path / "g.gr.gz")
    whole = (tmp_path / "g.gr.gz").read_bytes()
    (tmp_path / "g.gr.gz").write_bytes(whole[: len(whole) // 2])
    code, _, error = run(capsys, "solve", tmp_path / "g.gr.gz", "-o", tmp_path / "out.npz")
    assert code == 3
    assert "g.gr.gz" in error
    assert not (tmp_path / "out.npz").exists()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--method", "fw-magic"], 2, "'method' parameter of solve"),
        (["--method", "fw-blocked", "--set", "tile=12"], 2, "'tile' parameter of fw-blocked"),
        (["--set", "tile=32"], 2, "--set needs --method"),
        (["--set", "tile"], 2, "not name=value"),
        (["--memory-limit", "lots"], 2, "is not a size"),
        (["--dtype", "int8"], 2, "'dtype' parameter of solve"),
        (["--device", "no such device"], 4, "no such device"),
        (["--method", "fw-blocked", "--checkpoint", "x"], 4, "fw-blocked writes no checkpoints"),
        (["--memory-limit", "1KiB"], 5, "1,024 bytes are available"),
    ],
)
def test_exit_codes(options, code, message, graph_file, tmp_path, capsys):
    out = tmp_path / "out.npz"
    got, _, error = run(capsys, "solve", graph_file, "-o", out, *options)
    assert got == code
    assert message in error
    assert not out.exists()


def test_missing_files_and_folders(graph_file, tmp_path, capsys):
    code, _, error = run(capsys, "solve", tmp_path / "no.gr", "-o", tmp_path / "out.npz")
    assert (code, "no.gr" in error) == (3, True)
    code, _, error = run(capsys, "solve", graph_file, "-o", tmp_path / "no" / "out.npz")
    assert (code, "folder does not exist" in error) == (3, True)
    code, _, error = run(capsys, "verify", graph_file, graph_file)
    assert (code, f"{graph_file}: " in error) == (3, True)


def test_without_any_device(graph_file, tmp_path):
    """In a process that sees no OpenCL implementation at all."""
    environment = {**os.environ, "OCL_ICD_VENDORS": "/nonexistent"}
    environment.pop("PYAPSP_DEVICE")
    command = [sys.executable, "-m", "pyapsp", "solve", graph_file, "-o", tmp_path / "out.npz"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 4
    assert "pip install" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.npz").exists()


def test_disk_full_leaves_nothing(graph_file, tmp_path, capsys, monkeypatch):
    def full(*arguments, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    out = tmp_path / "out.npz"
    code, _, error = run(capsys, "solve", graph_file, "-o", out)
    assert code == 5
    assert "No space left" in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_outputs_are_checked_before_the_work(graph_file, tmp_path, capsys, monkeypatch):
    def never(*arguments, **keywords):
        raise AssertionError("it started to work")

    monkeypatch.setattr(pyapsp, "solve", never)
    out = tmp_path / "o"
    for options, code, message in (
        (["-o", tmp_path], 3, "is a directory"),
        (["-o", out, "--record", tmp_path], 3, "is a directory"),
        (["-o", out, "--record", out], 2, "must differ"),
        (["-o", out, "--record", tmp_path / "no" / "r"], 3, "does not exist"),
    ):
        got, _, error = run(capsys, "solve", graph_file, *options)
        assert (got, message in error) == (code, True)
    assert not out.exists()


def test_a_device_file_is_written_to_not_replaced(graph_file, tmp_path, capsys):
    link = tmp_path / "link.npz"
    (tmp_path / "there").mkdir()
    link.symlink_to(tmp_path / "there" / "real.npz")
    assert run(capsys, "solve", graph_file, "-o", link)[0] == 0
    assert link.is_symlink()
    assert Result.load(tmp_path / "there" / "real.npz").distances.shape == (70, 70)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        with atomic_write(pipe) as file:
            file.write("through")
        assert reader.communicate()[0] == b"through"
    assert pipe.is_fifo()


def test_a_fault_of_our_own_is_not_a_failed_check(graph_file, tmp_path, capsys, monkeypatch):
    def broken(*arguments, **keywords):
        raise ZeroDivisionError

    monkeypatch.setattr(pyapsp, "solve", broken)
    code, _, error = run(capsys, "solve", graph_file, "-o", tmp_path / "o.npz")
    assert code == 70
    assert "ZeroDivisionError" in error


def test_record_that_is_none(graph_file, tmp_path, capsys):
    out, record = tmp_path / "d.npz", tmp_path / "r.json"
    run(capsys, "solve", graph_file, "-o", out)
    for content in ("[1]", "{"):
        record.write_text(content)
        code, _, error = run(capsys, "verify", graph_file, out, "--record", record)
        assert (code, "r.json" in error) == (3, True)


def test_bench_of_zero_weights_and_of_a_negative_cycle(tmp_path, capsys):
    for name, code in (("negative-weights", 0), ("negative-cycle", 6)):
        path = datasets.fetch(name)
        assert run(capsys, "bench", path, "--repeat", "1")[0] == code


def test_usage(capsys):
    assert run(capsys)[0] == 2
    assert run(capsys, "frobnicate")[0] == 2
    code, text, _ = run(capsys, "--help")
    assert code == 0
    for command in (
        "solve",
        "path",
        "verify",
        "fetch",
        "convert",
        "generate",
        "methods",
        "devices",
    ):
        assert command in text
    assert run(capsys, "--version")[1].split() == ["pyapsp", pyapsp.__version__]


def test_sizes_are_parsed():
    from pyapsp.cli.options import bytes_of

    assert [bytes_of(text) for text in ("4096", "1.5KiB", "2GiB", "3 MB", "1g")] == [
        4096,
        1536,
        2**31,
        3_000_000,
        10**9,
    ]


def test_empty_graph(tmp_path, capsys):
    pyapsp.write(Graph.from_arcs(0, [], []), tmp_path / "g.mtx")
    out = tmp_path / "out.npz"
    assert run(capsys, "solve", tmp_path / "g.mtx", "-o", out)[0] == 0
    assert Result.load(out).distances.shape == (0, 0)
