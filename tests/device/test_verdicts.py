"""What was found out about a driver is found out once, and never in the way."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pyapsp.device import verdicts
from pyapsp.errors import DeviceError

IDENTITY = {
    "platform": "A platform",
    "name": "A device (R) / 1",
    "kind": "gpu",
    "version": "OpenCL 3.0",
    "driver": "1.2",
    "processor": "",
}


@pytest.fixture(autouse=True)
def folder(unseen):
    return verdicts.root()


def ask(found=None, *, subject="fw-x int32", code="1", identity=IDENTITY):
    """Return the verdict, and how often it was tried for that."""
    tried = []

    def trial():
        tried.append(None)
        return found

    return verdicts.verdict(identity, subject, code, trial), len(tried)


@pytest.mark.parametrize("fault", [None, "wrong"])
def test_it_is_tried_once_for_all_processes(fault):
    assert ask(fault) == (fault, 1)
    assert ask("else") == (fault, 0)
    verdicts._known.clear()  # as in another process
    assert ask("else") == (fault, 0)
    assert verdicts.failures(IDENTITY) == ({} if fault is None else {"fw-x int32": "wrong"})


def test_other_code_another_subject_and_another_driver_are_tried_anew():
    assert ask("wrong") == ("wrong", 1)
    assert ask(None, subject="fw-y int32") == (None, 1)
    newer = {**IDENTITY, "driver": "1.3"}
    assert ask(None, identity=newer) == (None, 1)
    assert verdicts.failures(newer) == {}
    assert verdicts.failures(IDENTITY) == {"fw-x int32": "wrong"}
    assert ask(None, code="2") == (None, 1)
    assert verdicts.failures(IDENTITY) == {}


OF_NO_TEXT = [
    '{"subject": "fw-x int32", "code": "1", "fault": ["wrong"]}',
    '{"subject": "fw-x int32", "code": "1", "fault": 1}',
    '{"subject": 1, "code": "1", "fault": "wrong"}',
]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", '{"fault": null}', '{"code": "1"}', "\x00", "[" * 100_000, *OF_NO_TEXT],
    ids=range(7 + len(OF_NO_TEXT)),
)
def test_a_damaged_file_is_no_verdict(text):
    ask("wrong")
    (file,) = verdicts.folder(IDENTITY).iterdir()
    file.write_text(text)
    verdicts._known.clear()
    assert verdicts.failures(IDENTITY) == {}
    assert ask(None) == (None, 1)
    verdicts._known.clear()
    assert ask("else") == (None, 0)


def test_without_a_folder_each_process_tries_once(monkeypatch):
    monkeypatch.setattr(verdicts, "root", lambda: verdicts.Path("/dev/null/none"))
    assert ask("wrong") == ("wrong", 1)
    assert ask(None) == ("wrong", 0)
    assert verdicts.failures(IDENTITY) == {}
    verdicts._known.clear()
    assert ask(None) == (None, 1)


def test_an_error_is_raised_and_not_kept(folder):
    def trial():
        raise DeviceError("out of memory")

    with pytest.raises(DeviceError, match="out of memory"):
        verdicts.verdict(IDENTITY, "fw-x int32", "1", trial)
    assert not folder.exists()
    assert ask(None) == (None, 1)


def test_threads_wait_for_the_first():
    together, tried = threading.Barrier(8), []

    def trial():
        tried.append(None)
        return "wrong"

    def work(_):
        together.wait(60)
        return verdicts.verdict(IDENTITY, "fw-x int32", "1", trial)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == ["wrong"] * 8
    assert len(tried) == 1


def test_what_is_remembered_replaces_a_verdict():
    assert ask(None) == (None, 1)
    verdicts.remember(IDENTITY, "fw-x int32", "1", "wrong after all")
    assert ask(None) == ("wrong after all", 0)
    verdicts._known.clear()
    assert ask(None) == ("wrong after all", 0)
