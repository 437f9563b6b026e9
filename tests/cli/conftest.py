"""The module that runs commands is found by its name; fixtures that several modules use."""

import sys
from pathlib import Path

import pytest

from pyapsp.registry import runs

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def wrong_distances(monkeypatch):
    """Let the distance from 0 to 1 be wrong in every answer."""
    solve = runs.solve

    def wrong(request):
        solved = solve(request)
        solved.answer.distances[0, 1] += 1
        return solved

    monkeypatch.setattr(runs, "solve", wrong)
