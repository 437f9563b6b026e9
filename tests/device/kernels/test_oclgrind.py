"""Every kernel in an interpreter that reports data races, accesses out of bounds and wrong calls.

Run with ``pytest -m oclgrind``; needs the command ``oclgrind`` (on Debian: the package oclgrind).
The scripts of the folder `oclgrind` beside this file compare every answer.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyopencl as cl
import pytest

from pyapsp.device import devices
from pyapsp.device.kernels import build, source

FOLDER = Path(__file__).with_name("oclgrind")
SCRIPTS = sorted({path.stem for path in FOLDER.glob("*.py")} - {"run", "tiles"})
# Scripts that must have one worker thread say so.
ONE_THREAD = [
    name for name in SCRIPTS if "one worker thread" in (FOLDER / f"{name}.py").read_text()
]
# What these refuse is an answer: a property that older devices do not know, a probed feature.
ASKS = ("clGetDeviceInfo", "clBuildProgram")

pytestmark = pytest.mark.oclgrind


def under_oclgrind(script: Path, written: Path) -> str:
    """Run a script, and return the messages of Oclgrind."""
    log = written.with_suffix(".log")
    # its LLVM has no code for what the compiler makes of `restrict` in a function that is inlined
    environment = os.environ | {"PYOPENCL_BUILD_OPTIONS": "-Drestrict="}
    command = ["oclgrind", "--data-races", "--uniform-writes", "--check-api", "--log", str(log)]
    command += ["--num-threads", "1"] if script.stem in ONE_THREAD else []
    command += [sys.executable, str(FOLDER / "run.py"), str(script), str(written)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    calls = re.findall(r"runtime error detected\s+Function: (\w+)\s+Error: +(\w+)", done.stderr)
    return log.read_text() + "".join(
        f"{call}: {error}\n" for call, error in calls if call not in ASKS
    )


@cache
def launched(name: str) -> tuple[str, list[list[str]]]:
    """Run a script of the folder once; return what was found, and the kernels it launched."""
    with TemporaryDirectory() as folder:
        written = Path(folder) / "launched.json"
        said = under_oclgrind(FOLDER / f"{name}.py", written)
        return said, json.loads(written.read_text())


@pytest.mark.parametrize("name", SCRIPTS)
def test_right_answers_without_a_finding(name):
    said, kernels = launched(name)
    assert said == ""
    assert kernels


def kernels_of(name: str) -> set[str]:
    """The kernels of a file and of its headers, but not of kernel files that it includes."""
    built = build(devices()[0], name, {})._program.get_info(cl.program_info.KERNEL_NAMES)
    kernels = set(built.split(";"))
    for included in re.findall(
        r'^#include "([^"]+\.cl)"', (source.root() / name).read_text(), re.M
    ):
        kernels -= kernels_of(included)
    return kernels


def test_no_kernel_was_left_out():
    seen = {tuple(pair) for name in SCRIPTS for pair in launched(name)[1]}
    # a sweep has the file of a body by its plain name, and a prefix for what it generates
    seen = {(Path(file).name, kernel.removeprefix("sweep_")) for file, kernel in seen}
    files = [path.relative_to(source.root()).as_posix() for path in source.root().rglob("*.cl")]
    every = {(Path(file).name, kernel) for file in files for kernel in kernels_of(file)}
    # a kernel of a header is one kernel, whichever file has it
    names = {kernel for _, kernel in seen}
    texts = {path.name: path.read_text() for path in source.root().rglob("*.cl")}
    own = {(file, kernel) for file, kernel in every if kernel in texts[file] or kernel not in names}
    assert own
    assert own - seen == set()
    assert ("", "bulk") in seen


# A kernel without its barriers, and one that reads past the end of what it got.
BROKEN = """
import shutil, sys, tempfile
from pathlib import Path
import pyapsp
from pyapsp.graph import generators
from pyapsp.device.kernels import source

with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(source.root(), folder, dirs_exist_ok=True)
    kernel = Path(folder) / {file!r}
    text = kernel.read_text()
    assert {right!r} in text
    kernel.write_text(text.replace({right!r}, {wrong!r}))
    source.root = lambda: Path(folder)
    pyapsp.solve(generators.random_graph(33, seed=1), {method!r})
"""


@pytest.mark.parametrize(
    ("method", "file", "right", "wrong", "finding"),
    [
        (
            "fw-mm",
            "all_pairs/dense/register_tiles.h",
            "barrier(CLK_LOCAL_MEM_FENCE);",
            ";",
            "data race",
        ),
        ("fw-naive", "all_pairs/dense/fw_naive.cl", "+ j", "+ j + n * n", "Invalid read"),
    ],
)
def test_what_is_wrong_is_found(method, file, right, wrong, finding, tmp_path):
    script = tmp_path / "broken.py"
    script.write_text(BROKEN.format(method=method, file=file, right=right, wrong=wrong))
    assert finding in under_oclgrind(script, tmp_path / "launched.json")
