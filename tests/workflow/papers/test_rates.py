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
