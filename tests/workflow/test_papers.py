"""The targets of papers plan what the config asks for, and a tiny one runs to the end."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pyapsp.profiling.papers import EXPERIMENTS

if sys.version_info < (3, 11):
    pytest.skip("Snakemake 9 needs Python 3.11", allow_module_level=True)

import yaml

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("okuyama", "takafuji", "matsumoto")

TINY = {
    "papers": {
        "repeat": 1,
        "sizes": {
            "okuyama-times": [40, 64],
            "okuyama-tuning": [64],
            "takafuji-threads": [64],
            "takafuji-packed": [64],
            "takafuji-multicore": [64],
            "matsumoto-tiles": [96],
            "matsumoto-blocks": [256],
            "matsumoto-sizes": [256],
            "matsumoto-devices": [256],
        },
        "threads": [1],
        "sides": [2],
        "blocks": [32],
    }
}


@pytest.fixture
def checkout(tmp_path):
    """A copy of the workflow to run in, so that a test leaves nothing in the repository."""
    folder = tmp_path / "a checkout"
    folder.mkdir()
    shutil.copy(ROOT / "Snakefile", folder)
    for name in ("workflow", "data"):
        shutil.copytree(ROOT / name, folder / name)
    return folder


def snakemake(checkout, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2", *arguments],
        cwd=checkout,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def planned(checkout, *arguments):
    """The number of jobs of each rule in a dry run, and the commands."""
    done = snakemake(checkout, *arguments, "--dry-run", "--printshellcmds")
    assert done.returncode == 0, done.stdout
    table = done.stdout[done.stdout.index("Job stats:") :].split("\n\n")[0]
    counts = {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.M)}
    return counts, re.findall(r"^.*(pyapsp papers .*)$", done.stdout, re.M)


def config_file(checkout, content):
    """Write a config and return its name."""
    (checkout / "own.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return "own.yaml"


def config_of(checkout, name):
    path = checkout / "workflow" / "config" / f"{name}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["papers", "papers-gpu"])
def test_a_config_plans_every_experiment_of_every_size(checkout, name):
    sizes = config_of(checkout, name)["papers"]["sizes"]
    assert set(sizes) == set(EXPERIMENTS)
    jobs, commands = planned(checkout, *TARGETS, "--configfile", f"workflow/config/{name}.yaml")
    assert jobs["measure_paper"] == sum(map(len, sizes.values()))
    assert jobs["tabulate_paper"] == 3
    assert not {"solve_graph", "collect_runs"} & jobs.keys()
    for experiment, each in sizes.items():
        found = [command for command in commands if f"papers measure {experiment} " in command]
        assert {int(re.search(r"--n (\d+)", command)[1]) for command in found} == set(each)
        assert all(("--device gpu" in command) == (name == "papers-gpu") for command in found)


def test_the_defaults_are_those_of_the_config(checkout):
    jobs, commands = planned(checkout, "papers")
    same = planned(checkout, "papers", "--configfile", "workflow/config/papers.yaml")
    assert jobs == same[0]
    assert sorted(commands) == sorted(same[1])
    assert all("--repeat 3" in command for command in commands if " measure " in command)
    assert not [command for command in commands if "--threads" in command]
    # what the papers do not take part in is as before
    assert "measure_paper" not in planned(checkout)[0]


def test_a_target_runs_its_own_experiments(checkout):
    for target in TARGETS:
        _, commands = planned(checkout, target)
        found = {re.search(r"papers (measure|report) (\w+)", each)[2] for each in commands}
        assert found == {target}


def test_devices_and_choices_get_to_their_experiments(checkout):
    settings = {"threads": [64, 128], "cores": [1], "blocks": [96], "sides": [4], "repeat": 5}
    file = config_file(checkout, {"papers": settings, "devices": ["0:0", "auto"]})
    jobs, commands = planned(checkout, "papers", "--configfile", file)
    assert jobs["tabulate_paper"] == 6
    measured = [command for command in commands if " measure " in command]
    assert sum("--device 0:0" in command for command in measured) == len(measured) / 2
    for option, experiments in {
        "--threads 64 128": {"takafuji-threads", "takafuji-packed"},
        "--cores 1": {"takafuji-multicore"},
        "--blocks 96": {"matsumoto-blocks"},
        "--sides 4": {"matsumoto-tiles"},
        "--repeat 5": set(EXPERIMENTS),
    }.items():
        found = {command.split()[3] for command in measured if f" {option} " in command}
        assert found == experiments


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"repeat": 0}, "On instance['papers']['repeat']"),
        ({"sizes": {"okuyama": [64]}}, "'okuyama' was unexpected"),
        ({"sizes": {"okuyama-times": [1]}}, "['okuyama-times'][0]"),
        ({"sizes": {"okuyama-times": []}}, "['okuyama-times']"),
        ({"threads": 64}, "On instance['papers']['threads']"),
        ({"size": {}}, "'size' was unexpected"),
    ],
)
def test_a_bad_config_names_the_key(checkout, setting, words):
    file = config_file(checkout, {"papers": setting})
    done = snakemake(checkout, "papers", "--dry-run", "--configfile", file)
    assert done.returncode != 0
    assert words in done.stdout


@pytest.mark.slow
def test_the_targets_run_to_the_end(checkout):
    options = (*TARGETS, "--configfile", config_file(checkout, TINY))
    done = snakemake(checkout, *options)
    assert done.returncode == 0, done.stdout
    results = checkout / "results" / "papers" / "auto"
    for experiment, sizes in TINY["papers"]["sizes"].items():
        for n in sizes:
            path = results / "measured" / experiment / f"{n}.json"
            document = json.loads(path.read_text(encoding="utf-8"))
            assert document["left_out"] == []
            assert {run["verified"] for run in document["runs"]} == {True}
    expected = {
        "okuyama": "table-4.6 table-4.7 table-4.8 figure-4.13 figure-4.16 figure-4.17 figure-4.18 "
        "figure-4.19 figure-4.20",
        "takafuji": "table-3.1 table-3.2 table-3.3 table-3.10",
        "matsumoto": "tiles blocks bandwidth sizes devices",
    }
    for target, names in expected.items():
        folder = results / target
        assert {path.stem for path in (folder / "exhibits").glob("*.csv")} == set(names.split())
        assert (folder / "index.html").is_file()
        for name in names.split():
            with open(folder / "exhibits" / f"{name}.csv", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            ours = [row[column] for row in rows for column in row if "ours" in column]
            assert any(ours), name
    with open(results / "okuyama" / "exhibits" / "table-4.6.csv", encoding="utf-8") as file:
        table = {int(row["n"]): row for row in csv.DictReader(file)}
    assert {n for n, row in table.items() if row["fw-mm t=32: ours"]} == {40, 64}

    again = snakemake(checkout, *options)
    assert "Nothing to be done" in again.stdout
    reported = snakemake(checkout, *options, "--report", "r.html")
    assert reported.returncode == 0, reported.stdout
    page = (checkout / "r.html").read_text(encoding="utf-8")
    assert all(f"results/papers/auto/{target}/index.html" in page for target in TARGETS)
