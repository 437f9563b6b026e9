"""The workflow fails by what the records of its runs say."""

from __future__ import annotations

import json
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"


def test_only_what_is_wrong_or_failed_fails_and_is_forgotten(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    import judge

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
