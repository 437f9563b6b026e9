"""``pyapsp selftest``: what it checks, and that it finds wrong answers."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

import pyapsp
from pyapsp import bulk, dynamic, matching, mining
from pyapsp.all_pairs import summaries
from pyapsp.cli import areas, main, selftest
from pyapsp.cli.areas import AREAS, fault_of
from pyapsp.device import selftest as driver
from pyapsp.device import verdicts
from pyapsp.errors import CapabilityError, NegativeCycleError
from pyapsp.graph import datasets
from pyapsp.registry import runs
from pyapsp.simulation import simulate


def method(name):
    return next(each for each in pyapsp.methods() if each.id == name)


pytestmark = pytest.mark.usefixtures("unseen")

METHODS = ("fw-naive", "fw-packed4", "ms-bfs", "johnson", "scc-forward-backward")
CHECKS = {
    **{name: check for name, check in selftest._checks() if name in METHODS},
    "negative cycle": selftest._negative_cycle,
    "batches": selftest._batches,
    "summaries": selftest._summaries,
    **{name: partial(fault_of, area) for name, area in AREAS.items()},
}


@pytest.fixture
def few(monkeypatch):
    """Let the command run these checks: a driver, and what the test adds."""
    checks = [("driver", selftest._driver)]
    monkeypatch.setattr(selftest, "_checks", lambda: iter(checks))
    return checks


def test_every_method_and_every_other_way_is_checked():
    names = [name for name, _ in selftest._checks()]
    assert names == [
        "driver",
        *(each.id for each in pyapsp.methods()),
        *("negative cycle", "batches", "summaries"),
        *("bulk", "sweep", "simulation", "dynamic", "matching", "mining"),
    ]


def test_each_graph_is_there_without_a_connection():
    assert not any(datasets.get(name).url for name, _ in selftest._GRAPHS)


@pytest.mark.parametrize("name", CHECKS)
def test_right_answers_pass(name, device):
    assert selftest._outcome(CHECKS[name], device) == ("ok", None)


def test_a_line_for_each_check_on_each_device(few, capsys):
    assert main(["selftest"]) == 0
    lines = capsys.readouterr().out.splitlines()
    devices = pyapsp.devices()
    assert lines[:-1:2] == [f"device {device}" for device in devices]
    assert all(line.split()[:2] == ["ok", "driver"] for line in lines[1:-1:2])
    assert lines[-1] == f"{len(devices)} ok, 0 FAILED, 0 left out"


@pytest.mark.usefixtures("wrong_distances")
def test_a_wrong_answer_is_exit_code_1(few, device, capsys):
    few.append(("fw-naive", partial(selftest._method, method("fw-naive"))))
    assert main(["selftest", "--device", device.id]) == 1
    text = capsys.readouterr().out
    assert "FAILED    fw-naive" in text
    assert "uniform, float64: from 0 to 1 it found" in text
    assert "1 ok, 1 FAILED" in text
    ((subject, fault),) = verdicts.failures(device.identity).items()
    assert subject == "fw-naive float64 predecessors"
    assert fault.startswith("from 0 to 1 it found")


def test_errors_and_what_is_missing_in_json(few, device, capsys):
    def broken(device):
        raise ZeroDivisionError("of no use")

    def missing(device):
        raise CapabilityError("it needs wings")

    def torn(device):
        raise ModuleNotFoundError("No module named 'pyapsp.x'", name="pyapsp.x")

    few += [("broken", broken), ("missing", missing), ("torn", torn)]
    assert main(["selftest", "--device", device.id, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is False
    (one,) = told["devices"]
    assert one["id"] == device.id
    assert [(each["name"], each["state"], each["detail"]) for each in one["checks"]] == [
        ("driver", "ok", None),
        ("broken", "FAILED", "ZeroDivisionError: of no use"),
        ("missing", "left out", "it needs wings"),
        ("torn", "FAILED", "ModuleNotFoundError: No module named 'pyapsp.x'"),
    ]
    assert all(each["seconds"] >= 0 for each in one["checks"])


def test_bulk_programs_without_their_parser_are_left_out(device, monkeypatch):
    monkeypatch.setattr(areas, "find_spec", lambda name: None)
    check = partial(fault_of, AREAS["bulk"])
    assert selftest._outcome(check, device) == ("left out", "needs pycparser")


def test_the_kernel_of_the_doctor_is_the_first_check(device, monkeypatch):
    monkeypatch.setattr(driver, "_SOURCE", driver._SOURCE.replace("size - 1 - lane", "lane"))
    state, detail = selftest._outcome(selftest._driver, device)
    assert state == "FAILED"
    assert "numbers are wrong" in detail


def test_predecessors_are_checked(device, monkeypatch):
    solve = runs.solve

    def wrong(request):
        solved = solve(request)
        before = solved.answer.predecessors
        before[0, 1] = 0 if before[0, 1] != 0 else 2
        return solved

    monkeypatch.setattr(runs, "solve", wrong)
    fault = selftest._method(method("fw-naive"), device)
    assert "predecessors" in fault


@pytest.mark.parametrize("name", summaries.__all__)
def test_each_summary_is_checked(name, device, monkeypatch):
    right = getattr(pyapsp, name)
    monkeypatch.setattr(pyapsp, name, lambda *given, **named: right(*given, **named) * 2)
    assert selftest._summaries(device).startswith(f"{name} of grid-8x8: ")


# What to replace in an area, so that its answer is wrong.
WRONG = {
    "simulation": (simulate, "simulate", partial(simulate.simulate, method="euler")),
    "dynamic": (dynamic.Hornet, "delete_edges", lambda *given: 0),
    "matching": (matching, "match", partial(matching.match, rounds=0, guided=False, focus=1)),
    "mining": (mining, "mine", lambda trace, templates, device: list(range(142))),
}


def test_other_wrong_answers_are_found(device, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(pyapsp, "solve", lambda *given, **named: None)
        assert "not found" in selftest._negative_cycle(device)
        patch.setattr(pyapsp, "solve_many", lambda weights, *given, **named: weights)
        assert "auto: " in selftest._batches(device)
        patch.setattr(bulk, "load", lambda *given, **named: lambda A: {"A": A})
        assert fault_of(AREAS["bulk"], device) == "numbers are not sorted"
        patch.setattr(np, "ravel", lambda array: np.zeros(100))
        assert "squares" in fault_of(AREAS["sweep"], device)
    for name, patched in WRONG.items():
        with monkeypatch.context() as patch:
            patch.setattr(patched[0], patched[1], patched[2])
            assert fault_of(AREAS[name], device) is not None, name
    with pytest.raises(NegativeCycleError):
        pyapsp.solve(datasets.load("negative-cycle"), device=device)
