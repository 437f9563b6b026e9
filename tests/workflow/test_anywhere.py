"""The workflow runs in any folder, on graphs of a user."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pyapsp.graph import generators, write

if sys.version_info < (3, 11):
    pytest.skip("Snakemake 9 needs Python 3.11", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
OWN = "[{name: mine, file: graph.mtx, directed: false, weighted: true}]"


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def commands(folder: Path, *arguments: str) -> list[str]:
    """The commands of a dry run."""
    done = snakemake(folder, "--dry-run", "--printshellcmds", "--cores=2", *arguments)
    assert done.returncode == 0, done.stdout
    return re.findall(r"^Shell command: (pyapsp .*)$", done.stdout, re.M)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that has nothing but a graph."""
    path = tmp_path / "my graphs"
    path.mkdir()
    write(generators.grid_2d(5, 5), path / "graph.mtx")
    return path


HERE = ("--snakefile", str(ROOT / "workflow" / "Snakefile"))


def test_an_own_graph_in_a_folder_without_a_checkout(folder):
    settings = (f"graphs={OWN}", "datasets=[]", "problems=[all-pairs]", "peers=[]")
    planned = commands(folder, *HERE, "--config", *settings)
    assert len([each for each in planned if each.startswith("pyapsp fetch mine --register ")]) == 1
    (convert,) = (each for each in planned if each.startswith("pyapsp convert "))
    assert convert.endswith(
        "--weights as-is --undirected > results/logs/normalise_graph/mine.log 2>&1"
    )
    runs = [each for each in planned if each.startswith("pyapsp check all-pairs ")]
    # distances are some hundred metres: 16 bits are enough, 8 are not
    assert any(" --method fw-packed16 " in each for each in runs)
    assert not any(" --method fw-packed8 " in each for each in runs)
    # what was measured is there when a job runs
    assert (folder / "results" / "registered" / "mine.csv").is_file()


def test_own_graphs_are_run_beside_those_of_the_config(folder):
    (folder / "config").mkdir()
    (folder / "config" / "config.yaml").write_text(
        f"graphs: {OWN}\ndatasets: {{scc: [ring-40, near], bfs: [mine]}}\n"
        "problems: [scc, bfs, truss]\nmethods: [scc-tarjan, bfs-edge, truss-delta]\n"
    )
    (folder / "data").mkdir()
    (folder / "data" / "datasets.csv").write_text(
        "name,file,directed,weighted\nnear,../graph.mtx,true,true\nfar,../graph.mtx,true,true\n"
    )
    planned = commands(folder, *HERE)
    runs = [re.match(r"pyapsp check (\S+) results/graphs/(\S+)\.npz", each) for each in planned]
    assert sorted(run.groups() for run in runs if run) == [
        ("bfs", "mine"),
        ("scc", "near"),
        ("scc", "ring-40"),
    ]
    # a graph that is not asked for is not measured
    registered = {path.name for path in (folder / "results" / "registered").iterdir()}
    assert registered == {"mine.csv", "near.csv"}


def test_a_graph_that_cannot_be_used_is_named(folder):
    graphs = f"graphs={OWN.replace('graph', 'none')}"
    done = snakemake(folder, "--dry-run", *HERE, "--config", graphs)
    assert done.returncode != 0
    assert "config key 'graphs', or data/datasets.csv: the graph 'mine': there is no" in done.stdout
