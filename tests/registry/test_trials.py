"""What "auto" takes has been tried on the driver, once."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp.all_pairs import batch
from pyapsp.all_pairs.dense.fw_minplus import FwMinplus
from pyapsp.device import doctor, verdicts
from pyapsp.errors import (
    DeviceError,
    DeviceMemoryError,
    DiskSpaceError,
    HostMemoryError,
    KernelBuildError,
    NegativeCycleError,
    ParameterError,
)
from pyapsp.graph import generators
from pyapsp.registry import trials
from pyapsp.registry.tuning import database

GRAPH = generators.random_graph(50, seed=1)
RIGHT = csgraph.dijkstra(GRAPH.to_scipy())
HALVES = GRAPH.with_weights(GRAPH.weights + 0.5)  # that no integer type holds


@pytest.fixture(autouse=True)
def defaults(unseen, monkeypatch):
    """Let no driver have been seen, and no method be known but the defaults."""
    monkeypatch.setattr(database, "shipped_databases", list)


@pytest.fixture
def wrong(monkeypatch):
    """Let fw-minplus, the default, find distances that are too long."""
    run = FwMinplus.run

    def longer(self, plan):
        answer = run(self, plan)
        return dataclasses.replace(answer, distances=answer.distances + 1)

    monkeypatch.setattr(FwMinplus, "run", longer)


def solve(device, method="auto", **asked):
    return pyapsp.solve(GRAPH, method, dtype="float32", device=device, check=False, **asked)


def tried(monkeypatch):
    """Return the list of trials from here on."""
    trial, found = trials._trial, []

    def noted(problem, method, plan):
        found.append((method.id, plan.options.dtype.name, plan.options.predecessors))
        return trial(problem, method, plan)

    monkeypatch.setattr(trials, "_trial", noted)
    return found


def test_a_method_is_tried_once_for_each_type_and_form(device, monkeypatch):
    found = tried(monkeypatch)
    for _ in range(2):
        for asked in ({"dtype": "float32"}, {"dtype": "float32", "predecessors": True}):
            result = pyapsp.solve(HALVES, device=device, **asked)
            assert result.stats["method"] == "fw-minplus"
            assert np.allclose(result.distances, csgraph.dijkstra(HALVES.to_scipy()))
    assert found == [("fw-minplus", "float32", False), ("fw-minplus", "float32", True)]
    verdicts._known.clear()  # as in the next process
    pyapsp.solve(HALVES, dtype="float32", device=device)
    assert len(found) == 2


def test_auto_passes_over_what_is_wrong(wrong, device, caplog):
    result = solve(device)
    np.testing.assert_array_equal(result.distances, RIGHT)
    assert result.stats["method"] == "fw-outofcore"
    assert "fw-minplus failed its self test" in caplog.text
    known = verdicts.failures(device.identity)
    assert known["fw-minplus float32"].startswith("uniform, float32: from 0 to 0 it found 1.0")


def test_the_next_process_and_the_doctor_know(wrong, device, monkeypatch, caplog):
    solve(device)
    verdicts._known.clear()
    caplog.clear()
    monkeypatch.setattr(trials, "_trial", lambda *_: pytest.fail("tried again"))
    known = verdicts.failures(device.identity)
    assert known
    assert all(subject.startswith("fw-minplus ") for subject in known)
    described = device.describe() | {"works": True, "seconds": 1.0, "failed": known}
    told = doctor.report(doctor.examine(0.001) | {"devices": [described]})
    for subject, fault in known.items():
        assert f"found wrong on this driver: {subject}: {fault}" in told


def test_what_is_asked_for_by_name_runs(wrong, device, monkeypatch):
    found = tried(monkeypatch)
    result = solve(device, "fw-minplus")
    np.testing.assert_array_equal(result.distances, RIGHT + 1)
    assert found == []


def test_nothing_is_left_if_all_are_wrong(device, monkeypatch):
    monkeypatch.setattr(trials, "_fault", lambda request: "wrong")
    with pytest.raises(DeviceError, match=r"failed its self test: uniform, .*wrong"):
        solve(device)


@pytest.mark.parametrize("error", [DeviceError("lost"), KernelBuildError("no", "source")])
def test_an_error_of_the_moment_is_no_verdict(error, device, monkeypatch):
    def fail(request):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(trials, "_fault", fail)
        with pytest.raises(type(error)):
            solve(device)
    assert verdicts.failures(device.identity) == {}
    np.testing.assert_array_equal(solve(device).distances, RIGHT)


def test_a_full_disk_is_said(device, monkeypatch):
    def fail(request):
        raise DiskSpaceError(2, 1, "make room")

    monkeypatch.setattr(trials, "_fault", fail)
    with pytest.raises(DiskSpaceError, match="make room"):
        solve(device)
    assert verdicts.failures(device.identity) == {}


def test_a_host_without_memory_for_the_trial_is_no_fault(device, monkeypatch):
    def full(self, plan):
        raise HostMemoryError(2, "use a smaller graph")

    with monkeypatch.context() as patch:
        patch.setattr(FwMinplus, "run", full)
        with pytest.raises(HostMemoryError):
            solve(device)
    assert verdicts.failures(device.identity) == {}
    assert solve(device).stats["method"] == "fw-minplus"


def test_a_trial_without_memory_is_repeated_after_a_release(device, there, monkeypatch):
    """As a run is: the first choice is used, and nothing falls back."""
    other = generators.random_graph(3000, seed=1)
    pyapsp.bfs(other, 0, "bfs-frontier", device=device)
    assert there.nbytes > 0
    run, left = FwMinplus.run, []

    def short(self, plan):
        left.append(there.nbytes)
        if len(left) == 1:
            raise DeviceMemoryError(2, 1, "none left")
        return run(self, plan)

    monkeypatch.setattr(FwMinplus, "run", short)
    assert solve(device).stats["method"] == "fw-minplus"
    assert left[0] > left[1] == 0
    assert verdicts.failures(device.identity) == {}


@pytest.mark.parametrize("every", [False, True])
def test_what_does_not_run_on_the_sample_is_not_taken(every, device, monkeypatch):
    """A small input may not allow the parameters of the plan; then it must allow the defaults."""
    plan = FwMinplus.plan

    def strict(self, graph, options):
        if graph.n == trials._SIZE and (self.parameters or every):
            raise ParameterError("not for a small graph")
        return plan(self, graph, options)

    monkeypatch.setattr(FwMinplus, "plan", strict)
    assert solve(device).stats["method"] == ("fw-outofcore" if every else "fw-minplus")
    fault = "uniform, float32: it did not run: not for a small graph"
    found = verdicts.failures(device.identity)
    assert found.get("fw-minplus float32") == (fault if every else None)


def test_an_error_that_a_sound_answer_has_not_is_a_fault(device, monkeypatch):
    def cycle(self, plan):
        raise NegativeCycleError([0, 1, 0], -1)

    monkeypatch.setattr(FwMinplus, "run", cycle)
    assert solve(device).stats["method"] != "fw-minplus"
    assert all("NegativeCycleError" in text for text in verdicts.failures(device.identity).values())


def test_other_problems_try_their_methods(device, monkeypatch):
    found = []
    fault = trials._fault

    def noted(request):
        found.append(request.method.id)
        return "wrong" if request.method.id == found[0] else fault(request)

    monkeypatch.setattr(trials, "_fault", noted)
    result = pyapsp.bfs(GRAPH, 0, device=device)
    assert found[0] != found[-1] == result.stats["method"]
    expected = csgraph.dijkstra(GRAPH.to_scipy(), unweighted=True, indices=[0])
    np.testing.assert_array_equal(result.rows.distances.clip(max=99), expected.clip(max=99))


def test_batches_try_their_form(device, monkeypatch, caplog):
    weights = np.random.default_rng(0).integers(0, 9, (5, 20, 20))
    expected = [csgraph.dijkstra(each.astype(float)) for each in weights]
    asked = {"dtype": "float32", "device": device}
    np.testing.assert_array_equal(pyapsp.solve_many(weights, **asked), expected)
    assert not verdicts.failures(device.identity)
    names = [path.name for path in verdicts.folder(device.identity).iterdir()]
    assert any("for-batches-float32" in name for name in names)

    monkeypatch.setattr(verdicts, "_known", {})
    monkeypatch.setattr(verdicts, "_read", lambda path: None)
    check = type("Check", (), {"ok": False, "fault": "wrong"})
    monkeypatch.setattr(batch, "oracle", lambda graph, options: lambda answer: check)
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(pyapsp.solve_many(weights, **asked), expected)
    assert "for batches failed its self test" in caplog.text


def test_code_changes_with_kernels(monkeypatch, tmp_path):
    monkeypatch.setattr(trials.source, "root", lambda: tmp_path)
    (tmp_path / "a.cl").write_text("1")
    first = trials.code.__wrapped__()
    (tmp_path / "a.cl").write_text("2")
    assert trials.code.__wrapped__() != first
    assert first.startswith(f"{pyapsp.__version__} ")


SOLVE = """
import sys, pyapsp
from pyapsp.graph import generators
result = pyapsp.solve(generators.random_graph(50, seed=1), dtype="float32", device=sys.argv[1])
print(int(result.distances[result.distances < result.infinity].sum()))
"""


@pytest.mark.slow
def test_processes_that_start_at_once(device, tmp_path):
    pocl = os.environ.get("POCL_CACHE_DIR", os.path.expanduser("~/.cache/pocl/kcache"))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_CACHE_HOME": str(tmp_path),
        "POCL_CACHE_DIR": pocl,
    }
    command = [sys.executable, "-W", "ignore", "-c", SOLVE, device.id]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    expected = f"{int(RIGHT[np.isfinite(RIGHT)].sum())}\n"
    assert [process.communicate(timeout=300)[0] for process in started] == [expected] * 3
    files = list((tmp_path / "pyapsp" / "verdicts").rglob("*"))
    assert any(path.name.endswith("loops.json") for path in files)
    for path in files:
        assert path.is_dir() or json.loads(path.read_text())["fault"] is None, path
