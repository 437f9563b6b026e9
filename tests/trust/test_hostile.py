"""Files that try to run something: nothing is run, sent, or opened elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_nothing_happens_but_what_was_asked_for(tmp_path):
    """Pickles, shell commands, code, markup, URLs and paths in files, names and labels."""
    command = [sys.executable, Path(__file__).with_name("hostile.py"), tmp_path / "folder"]
    (tmp_path / "folder").mkdir()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []
