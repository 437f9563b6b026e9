"""Exit codes, each from what really causes it, in several commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pyapsp
from pyapsp.base import host
from pyapsp.cli import main
from pyapsp.graph import Graph, generators

# exit code -> command lines; in a folder with good.gr and its good.npz, wrong.npz with a distance
# changed, cycle.gr with a negative cycle, torn.gr cut short, and text.txt
CAUSES = {
    0: [
        "solve good.gr -o o.npz",
        "solve good.gr --dry-run",
        "path good.npz 1 2",
        "measure good.gr diameter",
        "verify good.gr good.npz",
        "fetch ring-40",
        "convert good.gr good.csv",
        "generate ring -n 5 -o ring.gr",
        "bulk --list",
        "methods",
        "devices",
    ],
    1: [
        "verify good.gr wrong.npz",
        "verify good.gr wrong.npz --no-oracle --json",
        "path round.npz 1 2",
    ],
    2: [
        "",
        "conquer",
        "solve",
        "solve good.gr",
        "solve good.gr -o o.npz --method fw-best",
        "solve good.gr -o o.npz --memory-limit much",
        "path good.npz 1 nowhere",
        "measure good.gr diameter --sources 1",
        "fetch nothing",
        "generate ring -n -5 -o o.gr",
        "convert good.gr o.npz --weights squared",
        "bench dense --density 3",
        "tune fw-blocked -n 0",
        "bulk",
        "bulk text.txt --json",
        "completion csh",
    ],
    3: [
        "solve none.gr -o o.npz",
        "solve torn.gr -o o.npz",
        "solve good.gr -o none/o.npz",
        "path good.gr 1 2",
        "measure torn.gr radius",
        "verify good.gr text.txt",
        "convert torn.gr o.npz",
        "convert good.gr o.unknown",
        "bench torn.gr",
        "bulk text.txt",
        "bulk none.c --check",
        "report none.json -o o",
    ],
    4: [
        "solve good.gr -o o.npz --device none-such",
        "solve good.gr -o o.npz --method fw-naive --checkpoint o",
        "measure good.gr diameter --device none-such",
        "verify good.gr good.npz --device none-such",
        "bench good.gr --device none-such",
        "tune fw-blocked --device none-such",
        "selftest --device none-such",
    ],
    5: [
        "solve good.gr -o o.npz --memory-limit 64",
        "solve good.gr --dry-run --method fw-blocked --memory-limit 64",
        "measure good.gr eccentricity --memory-limit 64",
        "bulk fft.c -o /dev/full",
        "verify good.gr good.npz -o /dev/full",
        "measure good.gr eccentricity -o /dev/full",
    ],
    6: [
        "solve cycle.gr -o o.npz",
        "solve cycle.gr -o o.npz --method johnson --sources 1",
        "measure cycle.gr diameter",
        "bench cycle.gr --repeat 1",
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make the folder that `CAUSES` speaks of."""
    folder = tmp_path_factory.mktemp("causes")
    graph = generators.connected_graph(30, seed=3)
    pyapsp.write(graph, folder / "good.gr")
    result = pyapsp.solve(pyapsp.read(folder / "good.gr"), "fw-naive", predecessors=True)
    result.save(folder / "good.npz")
    before = result.predecessors[0].copy()
    result.predecessors[0, 1], result.predecessors[0, 2] = 2, 1
    result.save(folder / "round.npz")
    result.predecessors[0] = before
    result.distances[3, 4] += 1
    result.save(folder / "wrong.npz")
    pyapsp.write(Graph.from_arcs(2, [0, 1], [1, 0], [1, -2]), folder / "cycle.gr")
    text = (folder / "good.gr").read_text()
    (folder / "torn.gr").write_text(text[: len(text) // 2])
    (folder / "text.txt").write_text("what is this?\n")
    (folder / "fft.c").write_bytes(pyapsp.bulk.programs()["fft"].read_bytes())
    return folder


def listed(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("code", "line"), [(code, line) for code, lines in CAUSES.items() for line in lines]
)
def test_a_cause_has_its_code(code, line, folder, tmp_path, capsys, monkeypatch):
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    before = listed(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path))
    try:
        found = main(line.split())
    except SystemExit as stop:  # argparse
        found = stop.code
    captured = capsys.readouterr()
    assert found == code, captured.err
    assert "Traceback" not in captured.err
    if code == 0:
        assert captured.err == ""
    elif not line.startswith("verify good.gr wrong.npz"):
        assert any(line.startswith("pyapsp") for line in captured.err.splitlines())
        assert listed(tmp_path) == before  # nothing half-written


# As in a shell: what is printed waits in a buffer.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


@pytest.mark.parametrize("line", ["fetch ring-40", "methods --json"])  # less than the buffer, more
def test_a_full_disk_below_standard_output(line):
    """The output is lost; one message reports it."""
    command = [sys.executable, "-m", "pyapsp", *line.split()]
    with open("/dev/full", "w") as output:
        done = subprocess.run(
            command, stdout=output, stderr=subprocess.PIPE, text=True, env=BUFFERED
        )
    assert done.returncode == 5
    assert done.stderr == "pyapsp: [Errno 28] No space left on device\n"


def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -m pyapsp methods --json | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=BUFFERED)
    assert done.stdout.split() == ["[", "0"]
    assert done.stderr == ""


def test_without_any_device(folder):
    environment = {**os.environ, "OCL_ICD_VENDORS": "/nonexistent"}
    for line in ("devices", "selftest", "measure good.gr radius"):
        done = subprocess.run(
            [sys.executable, "-m", "pyapsp", *line.split()],
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder,
        )
        assert done.returncode == 4, line
        assert "pip install" in done.stderr


def test_an_answer_that_the_host_cannot_hold(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(host, "installed_memory", lambda: 16)
    monkeypatch.setattr(host, "available_memory", lambda: 0)
    assert main(["distances", "good.gr", "--sources", "1", "--targets", "2", "-o", "o.csv"]) == 5
    assert "which the host does not have" in capsys.readouterr().err
