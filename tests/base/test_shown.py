"""The lines and tables that objects show."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from pyapsp.base.shown import plain, table


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int16(-3), -3),
        (np.uint64(2**63), 2**63),
        (np.float64(0.1), 0.1),
        (np.bool_(True), True),
        (np.str_("Rome"), "Rome"),
    ],
    ids=repr,
)
def test_a_number_or_text_of_numpy_is_shown_as_that_of_python(value, expected):
    assert type(plain(value)) is type(expected)
    assert plain(value) == expected


@pytest.mark.parametrize("value", [np.float32(0.1), 7, "Rome", None, Decimal("0.1")], ids=repr)
def test_other_values_stay_what_they_are(value):
    assert plain(value) is value


def test_a_table_shows_names_as_text():
    assert table(["a"], [["<b>"], [1]]) == (
        "<table><tr><th>a</th></tr><tr><td>&lt;b&gt;</td></tr><tr><td>1</td></tr></table>"
    )
