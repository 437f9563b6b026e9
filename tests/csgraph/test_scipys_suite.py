"""SciPy's whole test suite of csgraph, in a process where `pyapsp.patch` lasts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# `patch` as someone calls it who tests with pytest: before the modules of tests are imported.
PLUGIN = """
import pyapsp
from pyapsp.csgraph import patching, paths

calls = []


def counted(function):
    def call(*args, **kwargs):
        calls.append(function.__name__)
        return function(*args, **kwargs)

    return call


for name in patching._METHODS:
    setattr(paths, name, counted(getattr(paths, name)))
if {small}:
    patching._WORK = patching._WORK_OF_ONE = 0
pyapsp.patch()


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"calls here: {{len(calls)}}")
"""
# It wants one of two paths of equal length, from 4 to 1.
OTHER_PATH = "test_predecessors"


@pytest.mark.slow
@pytest.mark.parametrize("small", [False, True])
def test_no_answer_is_wrong(small, tmp_path, device):
    (tmp_path / "patched.py").write_text(PLUGIN.format(small=small))
    root = str(Path(__file__).resolve().parents[2])
    paths = os.pathsep.join([str(tmp_path), root, os.environ.get("PYTHONPATH", "")])
    options = ["-q", "-p", "patched", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    options += ["--pyargs", "scipy.sparse.csgraph.tests", "-c", os.devnull]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        env=os.environ | {"PYTHONPATH": paths, "PYAPSP_DEVICE": device.id},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    assert [OTHER_PATH in line for line in failed] == [True] * small, ran.stdout
    (calls,) = [line for line in ran.stdout.splitlines() if line.startswith("calls here: ")]
    assert (int(calls.split()[-1]) > 100) == small
    assert " passed" in ran.stdout
