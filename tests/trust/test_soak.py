"""The rule of ``python tests/trust/soak.py``, which itself takes an hour."""

from __future__ import annotations

import numpy as np
import pytest
from soak import COLUMNS, verdict

HOUR = 3600


def samples(**last: float) -> np.ndarray:
    """An hour that is flat after its first quarter, but for columns that rise to `last`."""
    start = {"seconds": 0, "cases": 0, "RSS MiB": 900, "heap MiB": 0}
    start |= {"OpenCL": 131, "threads": 1, "files": 7}
    table = np.tile([float(start[name]) for name in COLUMNS], (121, 1))
    table[:, 0] = np.linspace(0, HOUR, 121)
    table[:, 1] = np.linspace(0, 1e4, 121)
    for name, value in last.items():
        column = COLUMNS.index(name.replace("_", " "))
        table[:, column] = np.linspace(table[0, column], value, 121)
    table[:30, 2] = np.linspace(200, 900, 30)
    return table


def test_what_does_not_grow(capsys):
    assert verdict(samples(), HOUR / 4, slope=256, noise=2) == []
    assert "+0 bytes a case" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("column", "last"), [("RSS_MiB", 904), ("OpenCL", 135), ("threads", 3), ("files", 9)]
)
def test_what_grows(column, last):
    faults = verdict(samples(**{column: last}), HOUR / 4, slope=256, noise=2)
    assert len(faults) == 1


def test_too_short():
    assert "longer" in verdict(samples()[-2:], HOUR / 4, slope=256, noise=2)[0]
