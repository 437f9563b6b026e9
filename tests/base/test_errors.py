"""Messages of errors."""

from __future__ import annotations

from pyapsp.errors import FormatError


def test_the_middle_of_a_very_long_message_is_left_out():
    """A line of a file may have any length; its begin and its end are shown."""
    quoted = str(FormatError("roads.csv", 7, f"begin {'x' * 10**6} end"))
    assert quoted.startswith("roads.csv:7: begin xxx")
    assert " ... xxx" in quoted
    assert quoted.endswith("xxx end")
    assert len(quoted) < 1000
