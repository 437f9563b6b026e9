"""Quick tuning: what is timed, in which order, and that it ends in time."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest

import pyapsp
from pyapsp.all_pairs import quick
from pyapsp.all_pairs.quick import Part, parts, tune_quickly
from pyapsp.errors import CapabilityError, VerificationError
from pyapsp.graph.generators import random_graph
from pyapsp.paths import AllPairsOptions
from pyapsp.registry.tuning import database
from pyapsp.registry.tuning.database import load, merge
from pyapsp.registry.tuning.lookup import tuned_rate
from pyapsp.registry.tuning.sample import Sample

MATRIX = Part("float32", False, "uniform", 70)
SEARCHES = Part("float32", True, "mesh", 70)


@pytest.fixture
def own(tmp_path, monkeypatch, row_of):
    """The user's database; the shipped rows are of another device, and few."""
    shipped = tmp_path / "shipped.json"
    of_another = {"device": "another", "architecture": "another", "parameters": {}}
    rates = {"fw-minplus": 4e9, "fw-blocked": 3e9, "fw-mm": 1e9, "near-far": 2e9, "ms-bfs": 8e9}
    rows = [
        row_of(**of_another, method=name, dtype="float32", n=70, rate=rate)
        for name, rate in rates.items()
    ]
    merge(shipped, rows)
    monkeypatch.setattr(database, "shipped_databases", lambda: [shipped])
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path))
    monkeypatch.setattr(quick, "parts", lambda kind: iter([MATRIX, SEARCHES]))
    return tmp_path / "database.json"


@pytest.fixture
def tune(own, device):
    def call(seconds=600.0, **options):
        ends = time.perf_counter() + seconds
        return tune_quickly(device, lambda rows: merge(own, rows), ends=ends, **options)

    return call


@pytest.mark.parametrize("kind", ["gpu", "cpu", "accelerator"])
def test_the_types_of_default_calls_and_large_inputs_come_first(kind):
    order = list(parts(kind))
    assert len(set(order)) == len(order)
    assert {part.dtype for part in order[:8]} == {"float64", "uint16"}
    for first, second in (
        (lambda part: part.family == "uniform", lambda part: part.family != "uniform"),
        (lambda part: part.dtype == "int32", lambda part: part.dtype == "float32"),
        (lambda part: part.n == 1024, lambda part: part.n == 256),
        (lambda part: part.n == 256, lambda part: part.n == 64),
    ):
        places = [[order.index(part) for part in order if of(part)] for of in (first, second)]
        assert min(places[0]) < min(places[1])
    sizes = {part.n for part in order if not part.searches}
    assert {64, 256, 1024} <= sizes


def test_the_rows_are_of_this_device_and_auto_uses_them(tune, own, device):
    reported = []
    result = tune(commit="c0ffee", report=lambda part, rows: reported.append((part, len(rows))))
    assert (result.wrong, result.left) == ([], [])
    rows = load(own)
    # fw-mm is predicted to take 4 times as long as the best; ms-bfs has other requirements
    assert {row.method for row in rows} == {"fw-minplus", "fw-blocked", "near-far", "ms-bfs"}
    assert {(row.device, row.architecture) for row in rows} == {
        (device.plain_name, device.architecture)
    }
    assert all(row.quick and row.rate > 0 and row.commit == "c0ffee" for row in rows)
    assert {row.family for row in rows if row.method == "near-far"} == {"mesh"}
    assert reported == [(MATRIX, 2), (SEARCHES, 2)]
    graph = random_graph(70, 280, 9, seed=1).with_weights(np.arange(280) + 0.5)
    answers = [pyapsp.solve(graph, dtype="float32", device=device) for _ in range(2)]
    assert {answer.stats["method"] for answer in answers} < {row.method for row in rows}
    assert answers[0].stats["tuning"]["quick"]
    assert answers[0].stats["tuning"]["level"] == "device"
    np.testing.assert_array_equal(answers[0].distances, answers[1].distances)
    options = AllPairsOptions(device, np.dtype("float32"))
    for row in rows:
        rate = tuned_rate(pyapsp.method(row.method), 70, options, row.family)
        assert rate == pytest.approx(row.rate)


def test_a_second_set_of_the_best_method_is_tried(tune, own, monkeypatch):
    checked = []
    plain = quick._Part._checked

    def noted(self, method, parameters):
        checked.append((method.id, parameters))
        return plain(self, method, parameters)

    monkeypatch.setattr(quick._Part, "_checked", noted)
    tune()
    names = [name for name, _ in checked]
    assert names.count("fw-blocked") == 1
    assert names.count("fw-minplus") == 2
    first, second = (parameters for name, parameters in checked if name == "fw-minplus")
    assert first != second
    assert load(own)[1].parameters in (first, second)


def test_without_time_nothing_is_measured(tune, own, monkeypatch):
    monkeypatch.setattr(quick, "_call", None)
    result = tune(quick._FIRST - 1)
    assert result.rows == []
    assert result.left == [f"no time for {MATRIX}; {SEARCHES}"]
    assert not own.exists()


def test_what_would_not_end_in_time_is_not_begun(tune, own, monkeypatch):
    monkeypatch.setattr(quick, "_seconds", lambda call: 1e4)
    result = tune()
    assert result.rows == []
    assert result.left[0] == f"{MATRIX}: no time for fw-minplus, fw-blocked"


def test_what_took_long_is_expected_to_take_as_long_again(tune, own, monkeypatch):
    """After a set that took most of the time, the next one is not begun."""
    now = [0.0]
    monkeypatch.setattr(quick.time, "perf_counter", lambda: now[0])
    plain = quick._Part._checked

    def slow(self, method, parameters):
        now[0] += 40
        return plain(self, method, parameters)

    monkeypatch.setattr(quick._Part, "_checked", slow)
    monkeypatch.setattr(quick, "in_turns", lambda calls, *_, **__: [1e-3] * len(calls))
    result = tune(60)
    assert now == [40.0]  # also the second set of this method
    assert [row.method for row in result.rows] == ["fw-minplus"]
    assert result.left == [f"{MATRIX}: no time for fw-blocked", f"no time for {SEARCHES}"]


def test_a_wrong_answer_gives_no_row(tune, own, monkeypatch):
    plain = Sample.check

    def check(self, answer):
        if self.n == 70:
            raise VerificationError("from 0 to 1 it is 3, not 2")
        plain(self, answer)

    monkeypatch.setattr(Sample, "check", check)
    result = tune()
    assert {each["method"] for each in result.wrong} >= {"fw-minplus", "fw-blocked"}
    assert "3, not 2" in result.wrong[0]["detail"]
    assert all(row.family == "mesh" for row in result.rows)  # of 64 vertices


def test_a_longer_tuning_is_neither_replaced_nor_repeated(tune, own, row_of):
    first = tune()
    minplus = next(row for row in first.rows if row.method == "fw-minplus")
    # as fast as any: methods that are far slower than the best are not looked at
    rate = max(row.rate for row in first.rows)
    longer = dataclasses.replace(minplus, quick=False, rate=rate)
    merge(own, [longer])
    result = tune(longer=[longer])
    assert "fw-minplus" not in {row.method for row in result.rows}
    assert result.left == [f"{MATRIX}: rows of a longer tuning: fw-minplus"]
    assert longer in load(own)
    merge(own, [dataclasses.replace(minplus, rate=9.0)])
    assert longer in load(own)


def test_a_type_that_the_device_lacks_is_listed(tune, own, monkeypatch):
    def lacks(device, dtype):
        raise CapabilityError("it has no float32")

    monkeypatch.setattr(quick, "check_type", lacks)
    result = tune()
    assert (result.rows, result.left) == ([], ["it has no float32"])


def test_a_method_for_short_distances_is_timed_in_the_narrowest_type(
    own, tune, row_of, monkeypatch
):
    shipped = database.shipped_databases()[0]
    of_another = {"device": "another", "architecture": "another", "parameters": {}}
    merge(
        shipped,
        [
            row_of(**of_another, method=name, dtype="uint16", n=64, rate=1e9)
            for name in ("fw-minplus", "fw-packed16")
        ],
    )
    both = [Part(dtype, False, "uniform", 70) for dtype in ("float32", "uint16")]
    monkeypatch.setattr(quick, "parts", lambda kind: iter(both))
    rows = tune().rows
    assert {row.dtype for row in rows if row.method == "fw-packed16"} == {"uint16"}


def test_where_no_device_of_this_kind_has_rows_all_tuned_methods_are_timed(tune, own):
    shipped = database.shipped_databases()[0]
    rows = [dataclasses.replace(row, kind="accelerator") for row in load(shipped)]
    shipped.unlink()
    merge(shipped, rows)
    assert {row.method for row in tune().rows} == {
        "fw-minplus",
        "fw-blocked",
        "fw-mm",
        "near-far",
        "ms-bfs",
    }


def test_the_methods_of_the_first_size_are_those_of_all(tune, own, row_of, monkeypatch):
    sizes = [MATRIX, MATRIX._replace(n=200)]
    monkeypatch.setattr(quick, "parts", lambda kind: iter(sizes))
    shipped = database.shipped_databases()[0]
    of_another = {"device": "another", "architecture": "another", "parameters": {}}
    names = ("fw-minplus", "fw-blocked", "fw-mm")
    merge(
        shipped,
        [row_of(**of_another, method=name, dtype="float32", n=200, rate=4e9) for name in names],
    )
    rows = tune().rows
    found = [{row.method for row in rows if row.n == part.n} for part in sizes]
    assert found[0] == {"fw-minplus", "fw-blocked"}
    assert found[1] <= found[0]  # fw-mm would be near the best there
    assert "fw-minplus" in found[1] or "fw-blocked" in found[1]
