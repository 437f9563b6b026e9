"""Copies of the workflow to run in, so that a test leaves nothing in the repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ..alone import completed

ROOT = Path(__file__).resolve().parents[2]


def copied(directory: Path) -> Path:
    """A copy of the workflow in a new folder."""
    directory.mkdir()
    shutil.copy(ROOT / "Snakefile", directory)
    for folder in ("config", "workflow", "data"):
        shutil.copytree(ROOT / folder, directory / folder)
    return directory


def snakemake(
    directory: Path, *arguments: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the workflow; its output and its messages are in `stdout`."""
    return completed(sys.executable, "-m", "snakemake", *arguments, cwd=directory, env=env)


def first_run(directory: Path, program: str) -> dict[str, str]:
    """Let each Python of a copy first run a program, with the variables that are returned."""
    (directory / "sitecustomize.py").write_text(program)
    return {"PYTHONPATH": f"{directory}{os.pathsep}{os.environ.get('PYTHONPATH', ROOT)}"}


def jobs(output: str) -> dict[str, int]:
    """The number of jobs of each rule that a dry run prints."""
    table = output[output.index("Job stats:") :].split("\n\n")[0]
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.M)}
