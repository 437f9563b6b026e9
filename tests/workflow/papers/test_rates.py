"""Rates that exhibits show: work over the time beside them, of stored records."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from papers.report import write_source

RECORDS = Path(__file__).resolve().parents[3] / "data" / "records"
# The experiment, the columns of the rate and of the time, the factor of the rate, and the work.
SHOWN = [
    ("busato-traversal-techniques", "units/s: ours", 1, "units"),
    ("busato-profiling-techniques", "Gunits/s: ours", 1e9, "units"),
    ("busato-profiling-transpose", "GB/s: ours", 1e9, "bytes"),
    ("busato-profiling-reduction", "GB/s: ours", 1e9, "bytes"),
]


@pytest.mark.parametrize(("experiment", "rate", "factor", "work"), SHOWN)
def test_a_rate_is_the_work_over_the_time(experiment, rate, factor, work, tmp_path):
    record = min(RECORDS.glob(f"pthread*/papers/{experiment}-*.json"))
    amounts = {each[work] for each in json.loads(record.read_text())["inputs"]}
    write_source("-".join(experiment.split("-")[:2]), [record], tmp_path)
    shown = []
    for page in (tmp_path / "exhibits").glob("*.csv"):
        with open(page, encoding="utf-8") as file:
            shown += [each for each in csv.DictReader(file) if each.get(rate)]
    assert shown
    for each in shown:
        done = factor * float(each[rate]) * float(each["ms: ours"]) / 1e3
        assert any(done == pytest.approx(amount, rel=1e-9) for amount in amounts)


# The experiment, the columns of the prediction, of what was measured and of their quotient.
PREDICTED = [
    ("busato-profiling-predictions", "predicted ms", "measured ms"),
    ("busato-profiling-joules", "predicted mJ", "measured mJ"),
]


@pytest.mark.parametrize(("experiment", "predicted", "measured"), PREDICTED)
def test_errors_of_predictions_are_those_of_the_values_beside_them(
    experiment, predicted, measured, tmp_path
):
    record = min(RECORDS.glob(f"*/papers/{experiment}-*.json"))
    write_source("busato-profiling", [record], tmp_path)
    pages = {}
    for page in (tmp_path / "exhibits").glob("*.csv"):
        with open(page, encoding="utf-8") as file:
            pages[page.stem] = [*csv.DictReader(file)]
    [runs] = [rows for rows in pages.values() if rows and rows[0].get(predicted)]
    quotients = [float(each[predicted]) / float(each[measured]) for each in runs]
    shown = [float(each["predicted / measured"]) for each in runs]
    assert shown == pytest.approx(quotients, rel=0.01)
    assert max(quotients) > 1.05 * min(quotients)

    [accuracy] = [rows for rows in pages.values() if rows and rows[0].get("kernels")]
    errors = sorted(100 * abs(each - 1) for each in quotients)
    middle = (errors[(len(errors) - 1) // 2] + errors[len(errors) // 2]) / 2
    found = [float(text) for name, text in accuracy[0].items() if name.startswith("median")]
    assert found == [pytest.approx(middle, rel=0.01)]


# The experiment, the exhibit, and the column whose values have a first version each.
VERSIONS = [
    ("criteria", "figures-12.4-13.4-13.5-13.6", "program"),
    ("reduction", "table-15.7", "n"),
    ("transpose", "table-15.8", "n"),
]


@pytest.mark.parametrize(("experiment", "exhibit", "of"), VERSIONS)
def test_speedups_of_versions_are_over_the_first(experiment, exhibit, of, tmp_path):
    record = min(RECORDS.glob(f"pthread*/papers/busato-profiling-{experiment}-*.json"))
    write_source("busato-profiling", [record], tmp_path)
    with open(tmp_path / "exhibits" / f"{exhibit}.csv", encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    first = {each[of]: float(each["ms: ours"]) for each in reversed(rows)}
    shown = [float(each["speedup: ours"]) for each in rows]
    assert shown == pytest.approx([first[each[of]] / float(each["ms: ours"]) for each in rows])
    assert max(shown) > 1.05
