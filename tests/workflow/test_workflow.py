"""The workflow plans what its config asks for, and the default one runs to the end, verified."""

from __future__ import annotations

import csv
import itertools
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import pyapsp
from pyapsp.cli.areas import AREAS
from pyapsp.graph import datasets

if sys.version_info < (3, 11):
    pytest.skip("Snakemake 9 needs Python 3.11", allow_module_level=True)

import yaml
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

from . import checkouts

ROOT = Path(__file__).resolve().parents[2]


class Checkout:
    """A copy of the workflow to run in, so that a test leaves nothing in the repository."""

    def __init__(self, directory: Path) -> None:
        self.path = checkouts.copied(directory)

    def config(self, name: str) -> dict:
        text = (self.path / "config" / f"{name}.yaml").read_text(encoding="utf-8")
        return yaml.safe_load(text)

    def snakemake(
        self, *arguments: str, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return checkouts.snakemake(self.path, *arguments, env=env)

    def rows(self) -> list[dict[str, str]]:
        """The rows of all tables of the report."""
        rows = []
        for path in sorted((self.path / "results" / "report" / "tables").iterdir()):
            with path.open(encoding="utf-8") as file:
                rows += csv.DictReader(file)
        return rows

    def planned(self, *arguments: str) -> dict[str, int]:
        """The number of jobs of each rule in a dry run."""
        return checkouts.jobs(self.plan(*arguments))

    def plan(self, *arguments: str) -> str:
        """The text of a dry run."""
        done = self.snakemake("--dry-run", *arguments)
        assert done.returncode == 0, done.stdout
        return done.stdout


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path / "a checkout")


def sampled(config: dict) -> list[str]:
    """The graphs on which every method is run."""
    most = config["shortlist_above"]
    return [name for name in config["datasets"]["all-pairs"] if datasets.get(name).n <= most]


def jobs(graphs: int, runs: int, timed: int = 0, areas: int = 0) -> dict[str, int]:
    counts = {
        "fetch_dataset": graphs,
        "normalise_graph": graphs,
        "run_method": runs,
        "check_area": areas,
        "time_methods": timed,
        "write_report": 1,
        "judge_runs": 1,
        "default": 1,
        "total": 2 * graphs + runs + timed + areas + 3,
    }
    return {rule: count for rule, count in counts.items() if count}


def held(graphs, types, problems=None) -> list[tuple[str, str, str, str]]:
    """Problem, graph, method and type of each run.

    With negative weights there is no longest distance in the register; some methods have few bits
    for a distance, some want no negative weights, one wants no weights at all, and one wants no
    directions. A problem whose answers have none of the types has its own.
    """
    found = []
    for problem, graph in itertools.product(pyapsp.problems(), graphs):
        about = datasets.get(graph)
        for method in pyapsp.methods(problem.id):
            requires = method.requires
            limit = getattr(requires, "largest_distance", None)
            signs = limit is not None or getattr(requires, "non_negative", False)
            if signs and about.longest is None:
                continue
            if limit is not None and about.longest > limit:
                continue
            if getattr(requires, "unweighted", False) and about.weighted:
                continue
            if getattr(requires, "symmetric", False) and about.directed:
                continue
            if problems is None or problem.id in problems:
                own = [name for name in types if name in problem.dtypes]
                names = own or [problem.dtypes[0]]
                found += [(problem.id, graph, method.id, name) for name in names]
    return found


def test_the_default_config_plans_every_method_on_the_samples(checkout):
    config = checkout.config("config")
    named, samples = config["datasets"], sampled(config)
    assert named.keys() == {problem.id for problem in pyapsp.problems()}
    assert all(set(samples) < set(names) for names in named.values())
    runs = len(held(samples, config["dtypes"]))
    assert set(config["dtypes"]) == {"float64", "int32"}
    assert config["predecessors"] is True
    graphs = len(set().union(*named.values()))
    assert config["peers"] == ["scipy"]
    timed = sum(map(len, named.values()))
    plan = checkout.plan("--cores", "2", "--printshellcmds")
    assert checkouts.jobs(plan) == jobs(graphs, runs, timed=timed, areas=len(AREAS))
    # on the others, a grid, a scale-free and a dense graph, those of the shortlist
    for problem, names in named.items():
        for name in names:
            (command,) = re.findall(
                rf"pyapsp bench results/graphs/{name}.npz --problem {problem} .*", plan
            )
            assert (" --method shortlist --dtype " in command) is (name not in samples)
            assert name in samples or 2000 <= datasets.get(name).n <= 4000
    assert {*named["all-pairs"]} - {*samples} == {"grid-50x50", "rmat-11-16", "dense-2048"}
    # a method without a job would never be checked
    found = re.findall(r" output: results/checked/([^/]+)/[^/]+/([^/]+)/", plan)
    assert {*found} == {(method.problem, method.id) for method in pyapsp.methods()}
    assert {*re.findall(r" output: results/areas/([^/]+)/", plan)} == {*AREAS}


@pytest.mark.slow
def test_published_variants_are_the_words_and_switches_of_options(checkout):
    options = ["--config", "variants=published", "methods=[fw-mm,bfs-helix,fw-packed4,scc-tarjan]"]
    plan = checkout.plan("--cores", "2", *options, "peers=[]", "areas=[]")
    found = re.findall(r" output: results/checked/([^/]+)/([^/,]+)/([^/,]+),([^/]+)/([^/]+)/", plan)
    switches = ["single", "contiguous", "order"]
    assert sorted(found) == sorted(
        [
            *(("all-pairs", "grid-50x50", "fw-mm", each, "float64") for each in variants("fw-mm")),
            *(("bfs", "grid-50x50", "bfs-helix", each, "int32") for each in variants("bfs-helix")),
            *(
                ("all-pairs", "small-world-50", "fw-packed4", f"{name}={value}", "float64")
                for name in switches
                for value in (0, 1)
            ),
        ]
    )
    commands = checkout.snakemake("--dry-run", "--printshellcmds", "--cores=2", *options).stdout
    assert " --method bfs-helix --set bitmask=8 --dtype int32 " in commands


def variants(method: str) -> list[str]:
    """Each word of each option of a method."""
    choices = pyapsp.method(method).choices
    return [
        f"{name}={value}"
        for name, values in choices.items()
        for value in values
        if isinstance(value, str)
    ]


@pytest.mark.slow
def test_the_demo_times_a_few_methods_on_the_graphs_of_each_problem(checkout):
    options = ("--cores", "2", "--configfile", "config/demo.yaml")
    config = checkout.config("demo")
    graphs = set().union(*config["datasets"].values())
    benches = sum(map(len, config["datasets"].values()))
    assert config["datasets"].keys() == {problem.id for problem in pyapsp.problems()}
    # its table fits a screen
    assert benches + 8 < 25
    planned = checkout.planned(*options)
    assert planned == jobs(len(graphs), 0, timed=benches)
    commands = checkout.snakemake("--dry-run", "--printshellcmds", *options).stdout
    timed = re.findall(r"^.*(pyapsp bench .*)$", commands, re.M)
    for problem, names in config["datasets"].items():
        some = [command for command in timed if f" --problem {problem} " in command]
        assert {Path(command.split()[2]).stem for command in some} == set(names)
    assert all(" --method auto " in command for command in timed)
    assert all(" --peers scipy " in command for command in timed)
    assert all(" --repeat 2 " in command for command in timed)
    # nothing of it is downloaded
    assert not any(datasets.get(name).url for name in graphs)


@pytest.mark.slow
def test_the_real_config_plans_every_method_on_six_graphs(checkout):
    options = ("--cores", "2", "--configfile", "config/real.yaml")
    config = checkout.config("real")
    runs = held(config["datasets"], config["dtypes"])
    assert checkout.planned(*options) == jobs(6, len(runs))
    # the longest distances of these are 8 and 77,403
    assert ("all-pairs", "facebook_combined", "fw-packed4", "int32") in runs
    assert ("all-pairs", "rome99", "fw-packed16", "int32") not in runs
    commands = checkout.snakemake("--dry-run", "--printshellcmds", *options).stdout
    assert "--predecessors" not in commands
    assert len(re.findall(r"pyapsp convert .* --weights subtract-from:11 ", commands)) == 1


@pytest.mark.slow
def test_the_schema_fills_what_a_config_leaves_out(checkout):
    (checkout.path / "config" / "config.yaml").write_text("datasets: [rome99]\n")
    assert checkout.planned("--cores", "2") == jobs(1, len(held(["rome99"], ["float64"])))
    commands = checkout.snakemake("--dry-run", "--printshellcmds", "--cores", "2").stdout
    assert "--dtype float64" in commands
    assert "--predecessors" not in commands
    assert "--device" not in commands


@pytest.mark.slow
def test_devices_methods_and_the_results_folder_can_be_chosen(checkout):
    commands = checkout.snakemake(
        "--dry-run",
        "--printshellcmds",
        "--cores=2",
        "--config",
        "datasets=[rome99]",
        "methods=[fw-blocked]",
        "dtypes=[int32]",
        'devices=["0:0", auto]',
        "results=else where",
        "areas=[]",
    ).stdout
    solves = re.findall(r"^.*(pyapsp check .*)$", commands, re.M)
    assert len(solves) == 2
    assert sum("--device 0:0" in command for command in solves) == 1
    assert all("--method fw-blocked --dtype int32" in command for command in solves)
    assert all("'else where/graphs/rome99.npz'" in command for command in solves)
    benches = re.findall(r"^.*(pyapsp bench .*)$", commands, re.M)
    assert len(benches) == 2
    assert sum("--device 0:0" in command for command in benches) == 1
    options = "--method fw-blocked --dtype int32 --peers scipy --predecessors"
    assert all(options in command for command in benches)


@pytest.mark.slow
def test_a_shortlist_needs_all_methods_and_a_peer(checkout):
    options = [
        "--config",
        "datasets={scc: [small-world-50, grid-50x50]}",
        "problems=[scc]",
        "areas=[]",
    ]
    methods = len(pyapsp.methods("scc"))
    for more, runs in (
        ([], methods),
        (["peers=[]"], 2 * methods),
        (["methods=[scc-tarjan,scc-colouring]"], 4),
        (["shortlist_above=5000"], 2 * methods),
    ):
        planned = checkout.planned("--cores", "2", *options, *more)
        assert planned["run_method"] == runs, more
        assert planned.get("time_methods", 0) == (0 if more == ["peers=[]"] else 2), more
    plan = checkout.plan("--cores", "2", *options, "variants=published")
    assert {*re.findall(r" output: results/checked/scc/([^/]+)/", plan)} == {"small-world-50"}


@pytest.mark.every(7)
@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("datasets=[]", "config: there is no graph under 'graphs' or 'datasets'"),
        ("datasets=[nowhere]", "config key 'datasets': unknown nowhere; known are"),
        ("methods=[fw-nothing]", "config key 'methods': unknown fw-nothing; known are fw-"),
        ("problems=[tsp]", "config key 'problems': unknown tsp; known are all-pairs, "),
        ("datasets={tsp: [rmat-7]}", "config key 'datasets': its keys must be problems: all-pairs"),
        ("datasets={bfs: [nowhere]}", "config key 'datasets': unknown nowhere; known are"),
        ("dtypes=[float31]", "On instance['dtypes'][0]"),
    ],
)
def test_a_bad_config_names_the_key(checkout, setting, words):
    done = checkout.snakemake("--dry-run", "--cores", "2", "--config", setting)
    assert done.returncode != 0
    assert words in done.stdout


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"datasets": "rmat-7"}, "On instance['datasets']"),
        ({"graphs": [{"name": 7}]}, "On instance['graphs'][0]['name']"),
        ({"graphs": [{"names": "a"}]}, "'names' was unexpected"),
        ({"methods": "every"}, "On instance['methods']"),
        ({"dtypes": ["float31"]}, "On instance['dtypes'][0]"),
        ({"dtypes": "float32"}, "On instance['dtypes']"),
        ({"devices": ["a/b"]}, "On instance['devices'][0]"),
        ({"peers": ["SciPy"]}, "On instance['peers'][0]"),
        ({"predecessors": "maybe"}, "On instance['predecessors']"),
        ({"dtype": "float32"}, "'dtype' was unexpected"),
    ],
)
def test_the_schema_names_the_key(setting, words):
    config = {"datasets": ["rmat-7"], **setting}
    with pytest.raises(WorkflowError, match=re.escape(words)):
        validate(config, ROOT / "workflow" / "schemas" / "config.schema.yaml")


@pytest.mark.slow
def test_a_bad_dataset_names_the_row_and_the_column(checkout):
    path = checkout.path / "data" / "datasets.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("as-is", "halved", 1))
    done = checkout.snakemake("--dry-run", "--cores", "2")
    assert done.returncode != 0
    assert "Error validating row" in done.stdout
    assert "On instance['weights']" in done.stdout


@pytest.mark.slow
def test_lint_finds_nothing(checkout):
    done = checkout.snakemake("--lint")
    assert done.returncode == 0, done.stdout
    assert "in a good condition" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["local", "slurm"])
def test_profiles_are_accepted(checkout, profile):
    planned = checkout.planned("--workflow-profile", f"workflow/profiles/{profile}")
    assert planned["run_method"] > 0


@pytest.mark.slow
def test_every_problem_is_a_target(checkout):
    config = checkout.config("config")
    for problem in pyapsp.problems():
        planned = checkout.planned("--cores", "2", problem.id)
        runs = held(sampled(config), config["dtypes"], [problem.id])
        assert planned["run_method"] == len(runs) > 0
        assert "write_report" not in planned


@pytest.mark.slow
def test_needs_grow_with_the_graph(checkout):
    options = ("--cores", "2", "--configfile", "config/real.yaml")
    done = checkout.snakemake("--dry-run", *options).stdout
    needs = {
        graph: (int(memory), int(minutes))
        for graph, memory, minutes in re.findall(
            r"rule run_method:.*?problem=all-pairs, graph=([^,]+),.*?mem_mb=(\d+),.*?"
            r"runtime=(\d+),",
            done,
            re.S,
        )
    }
    assert needs["rome99"] < needs["wiki-Vote"]
    # a matrix of float64, one of int32 and their copies on the device must fit
    assert needs["wiki-Vote"][0] * 10**6 > 2 * (8 + 4) * 7115**2


# One graph: the others are planned in the test above, and each takes minutes.
@pytest.mark.parametrize(
    ("problems", "methods", "dtypes"),
    [
        (["scc"], ["scc-colouring"], ["int32"]),
        pytest.param(
            ["all-pairs", "scc"],
            ["fw-blocked", "scc-colouring"],
            ["int32"],
            marks=pytest.mark.slow,
        ),
        pytest.param(None, None, None, marks=pytest.mark.nightly),
    ],
    ids=["one", "some", "all"],
)
def test_the_default_run_verifies_every_answer(checkout, problems, methods, dtypes):
    config, datasets = checkout.config("config"), ["rmat-7"]
    problems = problems or [problem.id for problem in pyapsp.problems()]
    expected = [
        run
        for run in held(datasets, dtypes or config["dtypes"], problems)
        if methods is None or run[2] in methods
    ]
    options = ["--config", f"datasets=[{','.join(datasets)}]", "areas=[sweep]"]
    if methods:
        options += [f"problems=[{','.join(problems)}]", f"methods=[{','.join(methods)}]"]
        options += [f"dtypes=[{','.join(dtypes)}]"]
    done = checkout.snakemake("--cores", "2", *options)
    assert done.returncode == 0, done.stdout
    report = checkout.path / "results" / "report"
    rows = checkout.rows()
    (area,) = [row for row in rows if row["problem"] == "sweep"]
    assert (area["input"], area["status"], area["verified_by"]) == ("squares", "ok", "NumPy")
    rows.remove(area)
    assert {row["status"] for row in rows} == {"ok"}
    assert all(row["verified_by"] for row in rows)
    found = sorted((row["problem"], row["input"], row["method"], row["dtype"]) for row in rows)
    assert found == sorted(expected)
    assert {row["verified"] for row in rows} == {"True"}
    assert {float(row["max_error"] or 0) for row in rows if row["dtype"].startswith("int")} == {0}
    assert all(float(row["kernel_seconds"]) > 0 for row in rows)
    checked = (checkout.path / "results" / "checked").rglob("*.json")
    outcomes = [json.loads(path.read_text(encoding="utf-8")) for path in checked]
    assert len(outcomes) == len(rows)
    for outcome in outcomes:
        assert outcome["verified"] is True
        if outcome["problem"] == "all-pairs":
            assert outcome["predecessors"] is True
            assert outcome["oracle"] == "SciPy, all rows, and a certificate"
    # every one was timed as well
    assert {row["turns"] for row in rows} == {"3"}
    assert all(float(row["over_scipy"]) > 0 for row in rows)
    # of methods that do every update
    for row in rows:
        assert (row["fraction_of_roof"] != "") is row["method"].startswith("fw-")
    files = {path.name for path in report.iterdir()}
    assert files == {"tables", "runs.md", "summary.txt", "index.html", "figures"}
    table, _, _ = (report / "summary.txt").read_text().partition("\n\n")  # then notes follow
    # a row for each number type
    named = {tuple(line.split()[:2]) for line in table.splitlines()[2:]}
    assert Counter(name for _, name in named) == Counter(datasets * len(problems))
    assert "areas, an example of each, one run: sweep ok." in (report / "summary.txt").read_text()

    again = checkout.snakemake("--cores", "2", *options)
    assert "Nothing to be done" in again.stdout

    if len(problems) == 1:
        return
    # no number of cores: it runs no job
    reported = checkout.snakemake("--report", "report.html", *options)
    assert reported.returncode == 0, reported.stdout
    page = (checkout.path / "report.html").read_text(encoding="utf-8")
    names = [f"all-pairs-{name}" for name in ("speed", "roof", "speed-up-scipy")]
    names = ["fastest"] if methods else ["fastest", *names, "scc-speed"]
    figures = [f"figures/{name}.svg" for name in names]
    for name in ("tables/all-pairs.csv", "tables/scc.csv", "index.html", *figures):
        assert f"results/report/{name}" in page
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=\"https?:", page)


@pytest.mark.slow
def test_what_fails_is_a_row_and_is_tried_again_and_nothing_else_is(checkout):
    faulty = os.environ | checkouts.first_run(checkout.path, FAULTS)
    methods = [
        "scc-forward-backward",
        *(f"fw-{name}" for name in ("naive", "blocked", "mm", "recursive")),
    ]
    options = ["--cores=2", "--config", "datasets=[rmat-7]", "problems=[all-pairs,scc]"]
    options += [f"methods=[{','.join(methods)}]", "dtypes=[float16,int32]", "peers=[]", "areas=[]"]
    failed = checkout.snakemake(*options, "time_limit=25", env=faulty)
    assert failed.returncode != 0
    assert "1 ok, 4 refused, 1 wrong, 3 failed" in failed.stdout
    found = {row["method"]: row for row in checkout.rows() if row["dtype"] == "int32"}
    assert {method: row["status"] for method, row in found.items()} == {
        "scc-forward-backward": "wrong",
        "fw-naive": "failed",
        "fw-blocked": "failed",
        "fw-mm": "failed",
        "fw-recursive": "ok",
    }
    assert found["fw-naive"]["why"] == "exit code 9: no such luck"
    assert found["fw-blocked"]["why"].startswith("killed by SIGKILL, perhaps out of memory")
    assert found["fw-mm"]["why"] == "time-out: it took longer than 25 s"
    assert found["scc-forward-backward"]["why"].startswith("vertex 0 is in component ")
    assert found["fw-recursive"]["verified_by"] == "SciPy, all rows, and a certificate"
    refused = [row for row in checkout.rows() if row["dtype"] == "float16"]
    assert {row["status"] for row in refused} == {"refused"}
    assert all(row["why"].endswith(" has no float16: ask for dtype='float32'") for row in refused)
    page = (checkout.path / "results" / "report" / "index.html").read_text(encoding="utf-8")
    for words in ("Wrong: 1.", "Failed: 3.", "Refused: 4."):
        assert words in page

    again = checkout.snakemake(*options)
    assert again.returncode == 0, again.stdout
    assert "5 ok, 4 refused, 0 wrong, 0 failed" in again.stdout
    assert len(re.findall("^ *(?:local)?rule run_method:", again.stdout, re.M)) == 4
    assert "Nothing to be done" in checkout.snakemake(*options).stdout


@pytest.mark.slow
def test_a_graph_that_cannot_be_fetched_is_a_failed_row_and_is_fetched_again(checkout):
    nowhere = {"http_proxy": "http://127.0.0.1:9", "PYAPSP_CACHE": str(checkout.path / "cache")}
    options = ["--cores=2", "--config", "datasets=[rmat-7,rome99]", "methods=[scc-tarjan]"]
    options += ["problems=[scc]", "dtypes=[int32]", "peers=[]", "areas=[]"]
    failed = checkout.snakemake(*options, env=os.environ | nowhere)
    assert failed.returncode != 0
    assert "1 ok, 0 refused, 0 wrong, 1 failed" in failed.stdout
    right, wrong = sorted(checkout.rows(), key=lambda row: row["input"])
    assert (right["input"], right["status"]) == ("rmat-7", "ok")
    assert (wrong["input"], wrong["status"]) == ("rome99", "failed")
    assert wrong["why"].startswith("exit code 3: pyapsp: ")
    planned = checkout.planned(*options)
    assert [planned[rule] for rule in ("fetch_dataset", "normalise_graph", "run_method")] == [1] * 3


@pytest.mark.slow
def test_there_is_a_table_if_no_run_has_an_answer(checkout):
    options = ["--config", "datasets=[rmat-7]", "methods=[scc-tarjan]", "problems=[scc]"]
    done = checkout.snakemake("--cores=2", *options, "devices=[absent]", "peers=[]", "areas=[]")
    assert done.returncode != 0
    (row,) = checkout.rows()
    assert (row["device"], row["status"]) == ("absent", "failed")
    assert row["why"].startswith("exit code 4: pyapsp: No OpenCL device matches 'absent'. There")


@pytest.mark.slow
def test_a_device_without_double_precision_refuses_it(checkout):
    options = ["--config", "datasets=[rmat-7]", "methods=[fw-naive,near-far,sssp-near-far]"]
    options += ["dtypes=[float64,float32]", "areas=[]"]
    done = checkout.snakemake("--cores=2", *options, env=os.environ | {"PYAPSP_HIDE": "fp64"})
    assert done.returncode == 0, done.stdout
    assert {(row["dtype"], row["status"]) for row in checkout.rows()} == {
        ("float32", "ok"),
        ("float64", "refused"),
    }


# In each run of a method, which Python starts with it: one ends with exit code 9, one is killed, as
# by a system without memory, one never ends, and one is wrong.
FAULTS = """
import os, signal, sys, time
given = sys.orig_argv
method = given[given.index("--method") + 1] if given[1:4] == ["-m", "pyapsp", "check"] else None
if method == "fw-naive" and "int32" in given:
    os.write(2, b"no such luck\\n")
    os._exit(9)
if method == "fw-blocked" and "int32" in given:
    os.kill(os.getpid(), signal.SIGKILL)
if method == "fw-mm" and "int32" in given:
    time.sleep(600)
if method == "scc-forward-backward":
    import pyapsp.traversal.components.scc_forward_backward as scc
    right = scc.numbered
    scc.numbered = lambda roots: right(roots)[::-1].copy() + 1
"""
