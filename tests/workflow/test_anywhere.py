"""The workflow runs in any folder, on graphs of a user."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pyapsp.graph import generators, write

if sys.version_info < (3, 11):
    pytest.skip("Snakemake 9 needs Python 3.11", allow_module_level=True)

import yaml

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
    return re.findall(r"^Shell command: .*?(pyapsp (?:fetch|convert|check) .*)$", done.stdout, re.M)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that has nothing but a graph."""
    path = tmp_path / "my graphs"
    path.mkdir()
    write(generators.grid_2d(5, 5), path / "graph.mtx")
    return path


def verified(folder: Path, problem: str) -> dict[str, str]:
    """What the table of a problem says of each graph."""
    with open(folder / "results" / "report" / "tables" / f"{problem}.csv") as file:
        return {row["input"]: row["verified"] for row in csv.DictReader(file)}


HERE = ("--snakefile", str(ROOT / "workflow" / "Snakefile"))


def test_an_own_graph_in_a_folder_without_a_checkout(folder):
    settings = (f"graphs={OWN}", "datasets=[]", "problems=[all-pairs]", "peers=[]")
    planned = commands(folder, *HERE, "--config", *settings)
    assert len([each for each in planned if each.startswith("pyapsp fetch mine --register ")]) == 1
    (convert,) = (each for each in planned if each.startswith("pyapsp convert "))
    assert " --weights as-is --undirected" in convert
    runs = [each for each in planned if each.startswith("pyapsp check all-pairs ")]
    # distances are some hundred metres: 16 bits are enough, 8 are not
    assert any(" --method fw-packed16 " in each for each in runs)
    assert not any(" --method fw-packed8 " in each for each in runs)
    # what was measured is there when a job runs
    assert (folder / "results" / "registered" / "mine.csv").is_file()


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_runs_of_a_graph_that_cannot_be_read_are_failed_rows(folder):
    right = (folder / "graph.mtx").read_bytes()
    (folder / "bad.mtx").write_bytes(right[: len(right) // 2])
    both = f"graphs=[{OWN[1:-1]},{OWN[1:-1].replace('mine', 'bad').replace('graph.', 'bad.')}]"
    options = ["--cores=2", *HERE, "--config", both, "datasets=[]", "problems=[scc]", "peers=[]"]
    options += ["methods=[scc-tarjan]", "dtypes=[int32]", "areas=[]"]
    failed = snakemake(folder, *options)
    assert failed.returncode != 0
    assert "1 ok, 0 refused, 0 wrong, 1 failed" in failed.stdout, failed.stdout
    with open(folder / "results" / "report" / "tables" / "scc.csv") as file:
        rows = {row["input"]: row for row in csv.DictReader(file)}
    assert (rows["mine"]["status"], rows["bad"]["status"]) == ("ok", "failed")
    assert rows["bad"]["why"].startswith(f"{folder / 'bad.mtx'}:")
    # mended, it is measured, and nothing else is run again
    (folder / "bad.mtx").write_bytes(right)
    again = snakemake(folder, *options)
    assert again.returncode == 0, again.stdout
    assert len(re.findall("^ *(?:local)?rule run_method:", again.stdout, re.M)) == 1
    assert verified(folder, "scc") == {"mine": "True", "bad": "True"}


@pytest.mark.slow
def test_a_module_of_another_workflow_from_a_git_repository(folder, tmp_path):
    repository = tmp_path / "repository"
    for name in ("config", "workflow"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, repository / name, ignore=ignored)
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-qm", "all")):
        subprocess.run(["git", *words], cwd=repository, check=True)
    page = (ROOT / "config" / "README.md").read_text(encoding="utf-8")
    module = page.partition("```\nmodule")[2].partition("```")[0]
    module = module.replace("/home/me/pyapsp", str(repository))
    (folder / "Snakefile").write_text(
        f'configfile: "mine.yaml"\nmodule{module}\n'
        "rule all:\n    default_target: True\n    input:\n        rules.pyapsp_all.input,\n"
    )
    (folder / "mine.yaml").write_text(
        f"pyapsp:\n  graphs: {OWN}\n  problems: [scc]\n  methods: [scc-tarjan]\n"
    )
    done = snakemake(folder, "--cores=2")
    assert done.returncode == 0, done.stdout
    assert verified(folder, "scc") == {"mine": "True"}
    assert "papers" not in snakemake(folder, "--list-rules").stdout


# -- the catalogue of Snakemake workflows --------------------------------------------------------
# https://snakemake.github.io/snakemake-workflow-catalog, "Adding workflows", and its script
# generate-catalog.py; lint and snakefmt, which the script runs too, are in other tests.


def test_the_repository_has_what_the_catalogue_asks_for():
    text = (ROOT / "README.md").read_text(encoding="utf-8").lower()
    assert "snakemake" in text
    assert "workflow" in text
    assert (ROOT / "workflow" / "Snakefile").is_file()
    assert list((ROOT / "workflow" / "rules").glob("*.smk"))
    assert (ROOT / "config" / "README.md").is_file()
    assert (ROOT / "config" / "config.yaml").is_file()  # what snakedeploy reads
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage.keys() == {"mandatory-flags", "software-stack-deployment", "report"}
    assert usage["mandatory-flags"].keys() == {"desc", "flags"}
    deployments = usage["software-stack-deployment"]
    assert deployments.keys() <= {"conda", "apptainer", "apptainer+conda"}


@pytest.mark.slow
def test_the_test_of_the_repository_runs(tmp_path):
    for name in ("config", "workflow", ".test"):
        ignored = shutil.ignore_patterns("__pycache__", "papers", "results", ".snakemake")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    done = snakemake(tmp_path, "--directory", ".test", "--cores=2")
    assert done.returncode == 0, done.stdout
    for problem in ("all-pairs", "scc"):
        assert verified(tmp_path / ".test", problem) == {"mine": "True"}
