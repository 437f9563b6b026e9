"""Small kernels that show what a driver does not say of itself."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import pyapsp
from pyapsp.device import model, probes, verdicts
from pyapsp.device.kernels import program
from pyapsp.errors import CapabilityError
from pyapsp.graph import generators

STALE = "a work-group read values older than those it had waited for"


pytestmark = pytest.mark.usefixtures("unseen")


@pytest.fixture
def probed(device, monkeypatch):
    """Return a function that probes the device as if its platform were another, listing nothing."""
    monkeypatch.setattr(probes, "_listed", lambda handle: 0)

    class Handle:
        def __init__(self, name):
            self.platform = type("Platform", (), {"name": name})

    identity = device.identity
    return lambda name: probes.scope_fault(Handle(name), (3, 0), identity)


def test_a_chain_of_groups_is_right_where_device_scope_is_listed(device):
    if device.capabilities.device_scope_fence:
        assert probes.chain_fault(device.handle) is None


def test_stale_values_and_endless_waits_are_found(device, monkeypatch):
    chain = probes._CHAIN
    monkeypatch.setattr(probes, "_CHAIN", chain.replace("values[i] += 1", "values[i] = 1"))
    assert probes.chain_fault(device.handle) == STALE
    never = chain.replace("atomic_xchg(ticket + 1, mine[0] + 1);", "")
    monkeypatch.setattr(probes, "_CHAIN", never)
    monkeypatch.setattr(probes, "_PATIENCE", 1000)
    assert probes.chain_fault(device.handle) == "groups waited for each other without end"
    monkeypatch.setattr(probes, "_CHAIN", "no kernel")
    assert "did not run" in probes.chain_fault(device.handle)


def test_scope_that_is_not_listed_is_believed_of_no_unknown_driver(probed, monkeypatch):
    monkeypatch.setattr(probes, "chain_fault", lambda handle: None)
    assert "does not list device scope" in probed("rusticl")
    assert "does not list device scope" in probed("Somebody's OpenCL")


def test_a_known_driver_is_believed_if_the_chain_is_right(probed, monkeypatch):
    ran = []
    monkeypatch.setattr(probes, "chain_fault", ran.append)
    assert probed("NVIDIA CUDA") is None
    assert probed("NVIDIA CUDA") is None
    assert len(ran) == 1
    verdicts._known.clear()  # as in the next process
    assert probed("NVIDIA CUDA") is None
    assert len(ran) == 1


def test_a_known_driver_is_not_believed_if_the_chain_is_wrong(probed, monkeypatch):
    monkeypatch.setattr(probes, "chain_fault", lambda handle: STALE)
    assert probed("NVIDIA CUDA") == STALE


def test_older_standards_decide_by_themselves(device):
    assert probes.scope_fault(None, (2, 0), device.identity) is None
    assert "OpenCL C 2.0" in probes.scope_fault(None, (1, 2), device.identity)


@pytest.mark.parametrize(
    "run",
    [
        lambda graph, device: pyapsp.solve(graph, "fw-singlekernel", dtype="int32", device=device),
        lambda graph, device: pyapsp.solve(
            graph, pyapsp.method("fw-packed16", single=1), dtype="int32", device=device
        ),
        lambda graph, device: pyapsp.solve_many(
            [graph], "fw-singlekernel", dtype="int32", device=device
        ),
    ],
    ids=["fw-singlekernel", "fw-packed16", "solve_many"],
)
def test_what_needs_device_scope_is_refused_with_the_reason(run, device, monkeypatch):
    poor = dataclasses.replace(device.capabilities, device_scope_fence=False)
    monkeypatch.setitem(model._capabilities, device.handle, poor)
    monkeypatch.setattr(model, "scope_fault", lambda *_: "its driver does not list device scope")
    with pytest.raises(CapabilityError, match="does not list device scope"):
        run(generators.random_graph(20, seed=1), device)


def test_loops_that_end_early_are_found(device, monkeypatch):
    loop = probes._LOOP
    monkeypatch.setattr(probes, "_LOOP", loop.replace("i < steps", "i < min(steps, 65535)"))
    fault = probes.loop_fault(device.handle, device.identity)
    assert fault.startswith("a loop of 1,048,576 steps ended after 65,535")


def test_nothing_runs_where_loops_end_early(device, monkeypatch):
    poor = dataclasses.replace(device.capabilities, long_loops=False)
    monkeypatch.setitem(model._capabilities, device.handle, poor)
    monkeypatch.setattr(model, "loop_fault", lambda *_: "they end early")
    program._build.cache_clear()
    weights = np.ones((3, 3))
    with pytest.raises(CapabilityError, match=r"long_loops.*they end early"):
        pyapsp.solve(weights, dtype="int32", device=device)
    with pytest.raises(CapabilityError, match=r"long_loops.*they end early"):
        pyapsp.solve_many(weights[None], dtype="int32", device=device)
