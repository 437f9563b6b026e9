"""Copies of the workflow to run in, so that a test leaves nothing in the repository."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def copied(directory: Path) -> Path:
    """A copy of the workflow in a new folder."""
    directory.mkdir()
    shutil.copy(ROOT / "Snakefile", directory)
    for folder in ("workflow", "data"):
        shutil.copytree(ROOT / folder, directory / folder)
    return directory


def snakemake(
    directory: Path, *arguments: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the workflow; its output and its messages are in `stdout`."""
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=directory,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def jobs(output: str) -> dict[str, int]:
    """The number of jobs of each rule that a dry run prints."""
    table = output[output.index("Job stats:") :].split("\n\n")[0]
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.M)}
