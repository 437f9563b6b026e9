"""The page of a device profile."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from pyapsp.bench.report.device_profile import _BARS, _CURVES, profile_page, read_profile
from pyapsp.cli import main
from pyapsp.errors import FormatError

DEVICE = {
    "name": "a <device>",
    "platform": "toy",
    "driver": "1",
    "megahertz": 1000,
    "capabilities": {"compute_units": 2},
}


def row(name, unit="operations", **parameters):
    return {
        "benchmark": name,
        "parameters": parameters,
        "unit": unit,
        "rate": 1.5e9,
        "nanoseconds": 1 / 1.5,
        "doubling": 2.01,
        "spread": 0.03,
        "operations": 504,
        "counted": 505,
    }


def profile(**changes):
    rows = [row(name, operation="f32.add", type="float") for name in _BARS]
    for curve in _CURVES.values():
        for name in curve.benchmarks:
            rows += [row(name, "bytes", memory="pinned", **{curve.over: x}) for x in (1, 4096)]
    return {
        "schema": "pyapsp device profile",
        "schema_version": 1,
        "version": "0",
        "device": DEVICE,
        "quick": True,
        "begun": "2026-01-01T00:00:00+00:00",
        "sensor": None,
        "results": rows,
        "failed": [],
        **changes,
    }


def test_the_page_has_every_curve_and_every_row():
    page = profile_page(profile())
    for name in (*_BARS, *_CURVES):
        assert page.count(f'<figure id="figure-{name}">') == 1
    assert page.count("<svg") == len(_BARS) + len(_CURVES)
    assert page.count("<tr><td>") == len(profile()["results"])
    assert "a &lt;device&gt;" in page
    assert ">1.5e+09<" in page
    assert ">505<" in page
    assert "Left out" not in page
    for part in page.split("<svg")[1:]:
        ElementTree.fromstring("<svg" + part.partition("</svg>")[0] + "</svg>")


def test_curves_without_rows_are_not_drawn():
    page = profile_page(profile(results=[row("chains", chains=1), row("chains", chains=2)]))
    assert page.count("<svg") == 1
    assert ">chains 2<" in page


def test_energy_and_failures_are_shown():
    sensor = {"name": "rapl", "idle_watts": 12.5, "error": "unplugged"}
    energy = {"watts": 100.5, "nanojoules": 0.125, "net_nanojoules": 0.1, "mips_per_watt": 8000.0}
    energy |= {"energy_delay": 1e-3, "energy_error": None}
    rows = [{**each, **energy} for each in profile()["results"]]
    failed = [{"part": "memory", "wrong": True, "error": "place 0"}]
    page = profile_page(profile(sensor=sensor, results=rows, failed=failed))
    assert "idle 12.5 W" in page
    assert "The sensor failed: unplugged" in page
    assert ">100.5<" in page
    assert ">0.125<" in page
    assert "Wrong answer:</strong> place 0" in page


def test_the_command_makes_the_page_of_a_file(tmp_path, capsys):
    file, page = tmp_path / "profile.json", tmp_path / "page.html"
    file.write_text(json.dumps(profile()))
    assert main(["profile", "device", "--from", str(file), "--page", str(page)]) == 0
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert main(["profile", "device", "--from", str(file)]) == 2
    assert "--from needs --page" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a file of 'pyapsp profile device -o'"),
        ('{"schema": "pyapsp device profile", "schema_version": 2}', "version 2, and not 1"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    file = tmp_path / "profile.json"
    file.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_profile(file)
