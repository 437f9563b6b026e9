"""The journal: at most the last line is lost, and no wrong line is read."""

from __future__ import annotations

import pytest

from pyapsp.registry.tuning.journal import Journal, Outcome
from pyapsp.registry.tuning.objective import Cost

SUBJECT = {"method": "m", "n": 64}
FIRST = Outcome({"tile": 8}, "ok", 0.5, joules=40.0)
SECOND = Outcome({"tile": 16}, "wrong", None, "d(0, 1)")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def write(path):
    journal = Journal(path, SUBJECT)
    for outcome in (FIRST, SECOND):
        journal.start(outcome.parameters)
        journal.finish(outcome)
    return journal


def test_what_was_written_is_read(path):
    written = write(path)
    written.final({"tile": 8}, Cost(0.25, 30.0))
    journal = Journal(path, SUBJECT)
    assert journal.outcomes == written.outcomes
    assert list(journal.outcomes.values()) == [FIRST, SECOND]
    assert list(journal.finals.values()) == [Cost(0.25, 30.0)]


def test_other_subjects_are_not_mixed_up(path):
    write(path)
    for other in ({"method": "m", "n": 65}, {"method": "m"}, {**SUBJECT, "driver": "2"}):
        assert Journal(path, other).outcomes == {}


def test_every_truncation_is_tolerated(path):
    write(path)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        kept = Journal(path, SUBJECT).outcomes.values()
        assert list(kept) in ([], [FIRST], [FIRST, SECOND])
        assert len(kept) >= (cut >= len(lines[0]) + len(lines[1]))


def test_a_line_after_a_truncated_one_is_whole(path):
    write(path)
    path.write_bytes(path.read_bytes()[:-20])
    third = Outcome({"tile": 32}, "slow", 2.0)
    Journal(path, SUBJECT).finish(third)
    assert list(Journal(path, SUBJECT).outcomes.values()) == [FIRST, third]


@pytest.mark.parametrize("line", [b"1", b"[]", b'{"subject": {}}', b"\xff\x00", b"null", b"{}"])
def test_lines_that_are_none(line, path):
    path.write_bytes(line + b"\n")
    write(path)
    assert len(Journal(path, SUBJECT).outcomes) == 2


def test_restart_forgets_for_good(path):
    write(path)
    assert Journal(path, SUBJECT, restart=True).outcomes == {}
    assert Journal(path, SUBJECT).outcomes == {}


def test_a_set_that_killed_the_process_twice_is_given_up(path):
    Journal(path, SUBJECT).start({"tile": 8})
    assert Journal(path, SUBJECT).outcomes == {}  # that may have been anything
    Journal(path, SUBJECT).start({"tile": 8})
    (outcome,) = Journal(path, SUBJECT).outcomes.values()
    assert outcome.state == "failed"
    assert "ended the process twice" in outcome.detail


def test_an_interrupted_set_is_not_given_up(path):
    for _ in range(3):
        journal = Journal(path, SUBJECT)
        journal.start({"tile": 8})
        journal.interrupt({"tile": 8})
    assert Journal(path, SUBJECT).outcomes == {}
