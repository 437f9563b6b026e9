"""The workflow fails by what the records of its runs say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"


@pytest.fixture
def judge(monkeypatch):
    """Return the module."""
    monkeypatch.syspath_prepend(SCRIPTS)
    import judge

    return judge


def test_only_what_is_wrong_or_failed_fails_and_is_forgotten(judge, tmp_path):
    states = ("ok", "ok", "refused", "wrong", "failed")
    paths = [tmp_path / f"{number}-{state}.json" for number, state in enumerate(states)]
    for path, state in zip(paths, states, strict=True):
        path.write_text(json.dumps({"status": state, "why": f"it is {state}"}))
    lines, fails = judge.judged(paths[:3])
    assert lines == [f"refused: {paths[2]}: it is refused", "2 ok, 1 refused, 0 wrong, 0 failed"]
    assert not fails
    lines, fails = judge.judged(paths)
    assert lines[-1] == "2 ok, 1 refused, 1 wrong, 1 failed"
    assert fails
    assert [path.exists() for path in paths] == [True, True, True, False, False]


def test_runs_with_one_reason_are_one_line(judge, tmp_path):
    paths = []
    for number, why in enumerate(["graph.mtx:7: no number", "memory", "graph.mtx:7: no number"]):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps({"status": "failed", "why": why}), encoding="utf-8")
        paths.append(path)
    lines, fails = judge.judged(paths)
    assert fails
    assert lines == [
        f"failed: {paths[0]} and 1 more: graph.mtx:7: no number",
        f"failed: {paths[1]}: memory",
        "0 ok, 0 refused, 0 wrong, 3 failed",
    ]
