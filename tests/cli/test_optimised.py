"""The command line under ``python -OO``, which removes docstrings."""

from __future__ import annotations

import subprocess
import sys


def test_commands_run_without_docstrings() -> None:
    words = [sys.executable, "-OO", "-m", "pyapsp", "methods"]
    run = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stderr
    assert "fw-minplus" in run.stdout
