"""Every kernel compiles for GPUs that are not here, and few use private memory.

Needs clang-19 and libclc-19 (Debian) for the GPUs of one vendor, and more for those of the others:
see ``targets.MISSING``. Without a compiler its tests are skipped. With ``PYAPSP_REQUIRE_CLANG=1``,
as in continuous integration, those of the first vendor fail instead.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pyapsp.all_pairs.dense.product_tiles import Tiles
from pyapsp.device import Device
from pyapsp.paths import AllPairsOptions

sys.path.insert(0, str(Path(__file__).parent))
import recorded
import targets
from targets import DAILY, TARGETS, Target, compiled, default_units, over_budget

PROGRAM = Path(__file__).resolve().parents[3] / "docs" / "kernels.py"


def every():
    """All targets as parameters of a test: those of `DAILY` run by default, the others at night."""
    parameters = []
    for target in TARGETS:
        marks = [] if target.name in DAILY else [pytest.mark.nightly]
        parameters.append(pytest.param(target, id=target.name, marks=marks))
    return parameters


def need(target: Target) -> None:
    """Skip a test, or let it fail, if there is no compiler for a target."""
    if (missing := target.missing()) is not None:
        if target.vendor == "AMD" and os.environ.get("PYAPSP_REQUIRE_CLANG") == "1":
            pytest.fail(missing)
        pytest.skip(missing)


def failures(forms):
    return {form.unit: form.failure for form in forms if form.failure}


def all_compiled(target, units, least):
    """Compile the units of a target, more than so many, without an error."""
    need(target)
    forms = compiled(target, tuple(units(target.device())))
    assert len(forms) > least
    assert failures(forms) == {}
    return forms


@pytest.fixture(scope="module")
def docs():
    """The program that makes the page."""
    spec = importlib.util.spec_from_file_location("docs_kernels", PROGRAM)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("target", every())
def test_default_macros(target, docs):
    need(target)
    forms = compiled(target, tuple(default_units(target)))
    assert failures(forms) == {}
    assert over_budget(target, forms) == []
    page = docs.PAGE.read_text(encoding="utf-8")
    if target.compiler() == docs.summaries(page)[target.name][2]:
        shown = docs.columns(page)[target.name]
        assert shown == docs.cells(forms), f"run python docs/kernels.py {target.name}"


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_methods_build(target):
    """With the parameters that they choose for the GPU."""
    assert over_budget(target, all_compiled(target, recorded.built_on, least=150)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_parameters_of_tuning_rows(target):
    """They compile for every GPU. There is no budget: other platforms do not get them."""
    assert all_compiled(target, recorded.built_with_rows, least=20)


@pytest.mark.parametrize("name", ["sm_80", "sm_90"])
def test_functions_of_warps_of_a_vendor(name, tmp_path, monkeypatch):
    """All functions of logical warps, with those of sub-groups that a file of the vendor has."""
    target = next(each for each in TARGETS if each.name == name)
    need(target)
    shutil.copytree(targets.source.root() / "common", tmp_path / "common")
    shutil.copy(Path(__file__).parents[2] / "traversal" / "logical_warp.cl", tmp_path)
    monkeypatch.setattr(targets.source, "root", lambda: tmp_path)
    macros = {"PYAPSP_GROUP": 64, "PYAPSP_WARP": 32, "PYAPSP_SUBGROUPS": 2}
    pairs = tuple((macro, str(value)) for macro, value in macros.items())
    unit = recorded.Unit("logical_warp.cl", pairs, before=recorded.BEFORE)
    assert failures(compiled(target, (unit,))) == {}
    [missing] = compiled(target, (replace(unit, before=None),))
    assert "sub_group" in missing.failure


def test_the_page_is_that_of_its_figures(docs):
    text = docs.PAGE.read_text(encoding="utf-8")
    shown = docs.columns(text)
    local = shown.pop("local")
    assert list(docs.summaries(text)) == list(shown) == [target.name for target in TARGETS]
    assert docs.page(docs.summaries(text), shown, local) == text, "run python docs/kernels.py"


def test_private_memory_and_missing_functions_are_seen(tmp_path, monkeypatch):
    target = TARGETS[0]
    need(target)
    monkeypatch.setattr(targets.source, "root", lambda: tmp_path)
    (tmp_path / "k.cl").write_text(
        "kernel void k(global float *x, int i)\n{\n    float a[64];\n"
        "    for (int j = 0; j < 64; j++)\n        a[j] = x[j * i];\n"
        "    x[0] = a[x[1] > 0 ? i : 1];\n}\n"
    )
    (tmp_path / "l.cl").write_text("void f(int);\nkernel void l(int i)\n{\n    f(i);\n}\n")
    private, missing = compiled(target, (recorded.Unit("k.cl"), recorded.Unit("l.cl")))
    assert over_budget(target, [private]) == [("k.cl", "k", private.kernels["k"].private)]
    assert private.kernels["k"].private >= 256
    assert "no such functions: f" in missing.failure


@pytest.mark.parametrize(("limit", "tiles"), [(None, (8, 16)), (256, (8, 8)), (64, (4, 4))])
def test_a_limit_of_registers_makes_tiles_smaller(limit, tiles, monkeypatch):
    device = TARGETS[0].device()
    traits = replace(device.traits, tile_bytes=limit)
    monkeypatch.setattr(Device, "traits", property(lambda self: traits))
    options = AllPairsOptions(device=device, dtype=np.dtype("float32"))
    first = next(Tiles.candidates(options))
    assert (first["rows"], first["words"]) == tiles
    for value in ("float64", "int64", "uint16"):
        options = AllPairsOptions(device=device, dtype=np.dtype(value))
        assert next(Tiles.candidates(options), None) is not None
