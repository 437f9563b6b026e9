"""Clang has no warning about a kernel, with its default macros and with those of tuning rows.

Needs clang 15 or newer (on Debian: clang-19). Without it the tests are skipped, or fail if
``PYAPSP_REQUIRE_CLANG=1``, as in continuous integration.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import pyapsp
from pyapsp import registry
from pyapsp.device.kernels import program, source

sys.path.insert(0, str(Path(__file__).parent))
import recorded

OLDEST = 15
# A kernel has the same arguments in all its forms, so that the host sets them in one way.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter")
# `asm` is a word of C for the compilers that are given it, and the target that of no vendor.
LANGUAGE = ("-x", "cl", "-fgnu-keywords", "--target=spir64", "-fsyntax-only")
ROWS = recorded.rows()
GROUPS = sorted({(row.method, row.dtype) for row in ROWS})


@cache
def compiler() -> str | None:
    """Clang, if it is new enough to declare the functions of OpenCL C."""
    for name in (
        "clang",
        "clang-19",
        *(f"clang-{version}" for version in range(30, OLDEST - 1, -1)),
    ):
        if (found := shutil.which(name)) is not None:
            said = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
            version = re.search(r"clang version (\d+)", said)
            if version and int(version[1]) >= OLDEST:
                return found
    return None


@pytest.fixture(autouse=True)
def _clang():
    if compiler() is None:
        reason = f"the lint of kernels needs clang {OLDEST} or newer: apt install clang-19"
        if os.environ.get("PYAPSP_REQUIRE_CLANG") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


def messages(unit, root: Path | None = None) -> str:
    """What clang says about a kernel file with macros."""
    root = root or source.root()
    macros = [f"-D{name}={value}" for name, value in unit.macros]
    standard = f"-cl-std={unit.standard or 'CL1.2'}"
    before = [] if unit.before is None else ["-include", unit.before]
    language = [*LANGUAGE, standard, *WARNINGS]
    command = [compiler(), *language, *macros, *before, "-I", str(root), unit.file]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    return done.stderr or "clang ended without a word" * bool(done.returncode)


def all_messages(units: Iterable) -> str:
    with ThreadPoolExecutor(2) as pool:
        return "\n".join(dict.fromkeys(said for said in pool.map(messages, units) if said))


@pytest.mark.parametrize("name", recorded.FILES)
def test_default_macros(name):
    assert messages(recorded.Unit(name)) == ""


def test_functions_of_warps_of_a_vendor():
    macros = ("PYAPSP_GROUP", "64"), ("PYAPSP_WARP", "32"), ("PYAPSP_SUBGROUPS", "2")
    unit = recorded.Unit("device/scan.cl", macros, before=recorded.BEFORE)
    assert messages(unit) == ""
    assert "sub_group_shuffle" in messages(replace(unit, before=None))


@pytest.mark.every(5)
@pytest.mark.parametrize(("method", "dtype"), GROUPS)
def test_macros_of_tuning_rows(method, dtype):
    """Each distinct source that the rows of a method and a type stand for."""
    rows = [row for row in ROWS if (row.method, row.dtype) == (method, dtype)]
    units = dict.fromkeys(unit for row in rows for unit in recorded.units_of(row))
    assert units
    assert all_messages(units) == ""


def test_a_warning_is_found(tmp_path):
    (tmp_path / "k.cl").write_text(
        "kernel void k(global int *x)\n{\n#ifdef PYAPSP_X\n    int y;\n#endif\n    x[0] = 1;\n}\n"
    )
    assert messages(recorded.Unit("k.cl"), tmp_path) == ""
    said = messages(recorded.Unit("k.cl", (("PYAPSP_X", "1"),)), tmp_path)
    assert re.search(r"k\.cl:4:9: error: unused variable 'y'", said)


def test_the_recorded_macros_are_those_of_a_call(device, monkeypatch):
    method = pyapsp.method("fw-blocked")
    problem = registry.problem("all-pairs")
    request = problem.ask(np.zeros((20, 20)), method, dtype="float32", device=device)
    (choice,) = problem.choices(request)
    with recorded.recording() as units:
        choice.method.plan(request.input, choice.options)
    sources = []

    def build(device, text, macros, standard, optimise):
        sources.append(program.headed(text, dict(macros)))
        return program.Program(device, sources[-1], standard, optimise)

    monkeypatch.setattr(program, "_build", build)
    choice.method.plan(request.input, choice.options)
    assert [source.assemble(unit.file, dict(unit.macros)) for unit in units] == sources
