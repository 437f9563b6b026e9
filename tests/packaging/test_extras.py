"""Everything that an extra is for works with the packages of this extra, and of no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..alone import Alone
from .promises import CALLS

PROMISES = Path(__file__).with_name("promises.py")
EXTRAS = [extra for extra in CALLS if extra]


@pytest.mark.every(4)
@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_needs_no_other(extra, tmp_path):
    Alone(tmp_path / "environment", "cpu", extra).run(PROMISES, extra, cwd=tmp_path)


def test_what_needs_an_extra_names_it(tmp_path):
    lines = Alone(tmp_path / "environment", "cpu").run(PROMISES, cwd=tmp_path).splitlines()
    expected = [(extra, name) for extra in EXTRAS for name in CALLS[extra]]
    assert [tuple(line.split()[:2]) for line in lines] == expected
    for line in lines:
        assert f"install the extra '{line.split()[0]}' of pyapsp" in line
