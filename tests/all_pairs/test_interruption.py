"""Ctrl-C: control is back soon, and what follows is right."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest

import pyapsp
from pyapsp import verify
from pyapsp.all_pairs.dense import product
from pyapsp.all_pairs.dense.fw_recursive import launches, pieces
from pyapsp.graph import Graph, generators


def dense(n):
    return np.random.default_rng(n).integers(1, 100, (n, n)).astype(np.float32)


def sparse(n):
    rng = np.random.default_rng(n)
    tails, heads = rng.integers(0, n, (2, 8 * n))
    return Graph.from_arcs(n, tails, heads, rng.integers(1, 100, 8 * n))


# Each takes a CPU several seconds: so long did an interrupted run go on.
CALLS = {
    "fw-naive": lambda **rest: pyapsp.solve(dense(1500), method="fw-naive", **rest),
    "fw-recursive": lambda **rest: pyapsp.solve(dense(2500), method="fw-recursive", **rest),
    "fw-minplus": lambda **rest: pyapsp.solve(
        dense(4000), method="fw-minplus", dtype="float64", **rest
    ),
    "near-far": lambda **rest: pyapsp.eccentricity(sparse(20_000), method="near-far", **rest),
}


def for_ever(call, back):
    """Repeat a call, which a fast device ends before the signal; then set an event."""
    try:
        while True:
            call()
    finally:
        back.set()


@pytest.mark.every(2)
@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("progress", [None, lambda done, total: None], ids=["", "progress"])
@pytest.mark.parametrize("call", CALLS)
def test_control_is_back_soon(call, progress, device):
    sent, back = [], threading.Event()

    def send():
        # again, because Python drops an exception in what it calls when it frees an object
        while not back.wait(1.0 if not sent else 5.0):
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    pyapsp.solve(dense(100), device=device)
    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        for_ever(partial(CALLS[call], progress=progress, device=device), back)
    ended = time.monotonic()
    sender.join()
    # less than a second on a free machine; tests share it with others
    assert ended - sent[-1] < 5
    graph = generators.random_graph(130, seed=1)
    assert verify.against_scipy(graph, pyapsp.solve(graph, device=device)).ok


FORMS = {
    "panels": {"strips": 2, "width": 2, "group_rows": 48},
    "tiles": {"words": 4, "group_x": 8, "group_y": 8, "slice": 8, "vector": 2},
}


class Steps:
    """Takes the calls of `progress`."""

    def __call__(self, done, total):
        self.total = total


@pytest.mark.every(2)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16", "float64"])
@pytest.mark.parametrize("n", [255, 400, 513])
def test_rounds_in_several_launches(n, dtype, form, device, monkeypatch):
    graph = generators.random_graph(n, seed=n)
    method = pyapsp.method("fw-minplus", form=form, block=64, tile=32, rows=4, **FORMS[form])
    counts = []
    for most in (2**40, 2**19):
        monkeypatch.setattr(product, "most_updates", lambda capabilities, most=most: most)
        tell = Steps()
        result = pyapsp.solve(graph, method, dtype=dtype, device=device, progress=tell)
        assert verify.against_scipy(graph, result).ok
        counts.append(tell.total)
    assert counts[1] >= 2 * counts[0]


@pytest.mark.parametrize("tiles", [1, 2, 5, 16])
@pytest.mark.parametrize("merged", [False, True])
def test_pieces_are_the_launches(tiles, merged):
    assert [each.launch for each in pieces(tiles, 32, merged, 2**60)] == list(
        launches(tiles, merged)
    )
    cut = pieces(tiles, 32, merged, 2**18)
    assert sum(each.updates for each in cut) >= (32 * tiles) ** 3
    group = 16 * 64 * 32 * tiles
    assert all(each.updates <= 2**18 + group for each in cut)
    following = dict.fromkeys(launches(tiles, merged), 0)
    for each in cut:
        assert each.first == following[each.launch]
        following[each.launch] += each.count


@pytest.mark.every(2)
@pytest.mark.parametrize("merged", [0, 1])
def test_launches_in_pieces(merged, device, monkeypatch):
    monkeypatch.setattr(product, "_LAUNCH", 2**17)
    graph = generators.random_graph(300, seed=2)
    method = pyapsp.method("fw-recursive", tile=32, merged=merged)
    result = pyapsp.solve(graph, method, dtype="int32", device=device)
    assert verify.against_scipy(graph, result).ok
