"""The workflow is planned, and runs, with what its extra installs, and nothing else."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

if sys.version_info < (3, 11):
    pytest.skip("Snakemake 9 needs Python 3.11", allow_module_level=True)

from pyapsp.cli.areas import AREAS

from ..alone import Alone
from . import checkouts

ROOT = Path(__file__).resolve().parents[2]
# A process for all, because starting Snakemake takes longer than planning.
PLANS = """
import sys
from snakemake.cli import main

for arguments in ([], ["papers"], ["--configfile", "config/demo.yaml"]):
    try:
        main(["--dry-run", "--quiet", "rules", "--cores", "2", *arguments])
    except SystemExit as end:
        if end.code:
            raise
    print("planned", flush=True)
"""

SMALL = """
datasets: [grid-8x8]
problems: [all-pairs, bfs]
methods: [dijkstra-cpu, bfs-sequential]
areas: all
"""


def extras_of_the_demo() -> list[str]:
    """The extras that ``make demo`` installs."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return re.search(r"\.demo: EXTRAS = (.*)", makefile)[1].split(",")


def test_what_make_demo_installs_plans_every_target(tmp_path):
    checkout = checkouts.copied(tmp_path / "a checkout")
    alone = Alone(tmp_path / "environment", *extras_of_the_demo())
    assert alone.run("-c", PLANS, cwd=checkout).count("planned\n") == 3


@pytest.mark.nightly
def test_every_area_runs_from_a_wheel_with_the_extra_of_the_workflow(tmp_path):
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "wheel")
    alone = Alone(tmp_path / "environment", "cpu", "workflow", source=tmp_path / "wheel")
    study = tmp_path / "study"
    alone.run("-m", "pyapsp", "workflow", "init", study, cwd=tmp_path)
    (study / "config" / "config.yaml").write_text(SMALL)
    alone.run("-m", "snakemake", "--cores", "2", cwd=study)
    rows = []
    for path in (study / "results" / "report" / "tables").iterdir():
        with path.open(encoding="utf-8") as file:
            rows += csv.DictReader(file)
    found = {row["method"]: row["verified"] for row in rows}
    assert found == dict.fromkeys(["dijkstra-cpu", "bfs-sequential", *AREAS], "True")
