"""Threads and processes that share devices, caches and databases."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp import errors
from pyapsp.device.kernels import program
from pyapsp.graph import generators

GRAPHS = [generators.random_graph(20 + number, seed=number) for number in range(6)]
METHODS = ["fw-naive", "fw-blocked", "fw-minplus", "near-far", "apsp-tasks", "fw-multikernel"]


def test_threads_with_cold_caches(device):
    """Each thread builds and solves with another method at once; twice, cold and warm."""
    program._build.cache_clear()
    together = Barrier(len(METHODS))

    def work(number):
        found = []
        for turn in range(2):
            together.wait(60)
            graph = GRAPHS[(number + turn) % len(GRAPHS)]
            method = METHODS[number if turn == 0 else 1]
            result = pyapsp.solve(graph, method, predecessors=True, device=device)
            found.append(np.array_equal(result.distances, csgraph.dijkstra(graph.to_scipy())))
        return found

    with ThreadPoolExecutor(len(METHODS)) as pool:
        assert list(pool.map(work, range(len(METHODS)), timeout=120)) == [[True, True]] * 6


ERRORS = {
    "FormatError": ("a.csv", 3, "what"),
    "ProgramError": ("what", "a.c", 1, 2),
    "ModelError": ("a.xml", "event", "why", 4),
    "NegativeCycleError": ([0, 1, 0], -2, ["a", "b", "a"]),
    "DeviceMemoryError": (2, 1, "take less"),
    "HostMemoryError": (2, "take less"),
    "KernelBuildError": ("log", "source"),
    "SensorError": ("rapl", "no right to read"),
    "RankError": (1, "host", "ParameterError", "cause"),
    "DiskSpaceError": (2, 1, "make room"),
}


@pytest.mark.parametrize("name", errors.__all__)
@pytest.mark.parametrize("action", [copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_errors_come_from_other_processes(name, action):
    """With all that they tell; a pool would wait for ever for one that cannot be restored."""
    error = getattr(errors, name)(*ERRORS.get(name, ("what",)))
    error.graph = 5
    found = action(error)
    assert type(found) is type(error)
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))
    assert getattr(found, "errno", None) == getattr(error, "errno", None)


CHILD = """
import multiprocessing
import sys
import pyapsp
from pyapsp.errors import DeviceError
from pyapsp.graph import generators

def total(seed):
    graph = generators.random_graph(30, seed=seed)
    try:
        return int(pyapsp.solve(graph, "fw-minplus", device=sys.argv[2]).distances.sum())
    except DeviceError as error:
        return str(error)

if __name__ == "__main__":
    right = [total(seed) for seed in (1, 2)]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        found = pool.map_async(total, (1, 2)).get(60)
    print(found == right or set(found))
"""


KEPT = """
import multiprocessing
import sys
import pyapsp
from pyapsp.errors import DeviceError
from pyapsp.graph import generators

def use(name):
    try:
        return USES[name]()
    except DeviceError as error:
        return str(error)

if __name__ == "__main__":
    graph = generators.random_graph(30, seed=1)
    kept = pyapsp.solve(graph, keep="device", device=sys.argv[1])
    kept.device_distances
    held = pyapsp.dynamic.Hornet.from_graph(graph, device=sys.argv[1])
    USES = {
        "row": lambda: kept.row(1),
        "array": lambda: kept.device_distances.get(),
        "degree": lambda: held.degree(),
        "insert": lambda: held.insert_edges([1], [2]),
        "search": lambda: pyapsp.dynamic.analytics.bfs(held, 0),
    }
    with multiprocessing.get_context("fork").Pool(1) as pool:
        for name in USES:
            print("'spawn'" in str(pool.apply_async(use, (name,)).get(20)))
"""


def test_what_is_kept_on_a_device_says_so_after_a_fork(device, tmp_path):
    script = tmp_path / "kept.py"
    script.write_text(KEPT)
    command = [sys.executable, "-W", "ignore", str(script), device.id]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.stdout == "True\n" * 5, done.stderr


def children(start, device, tmp_path):
    script = tmp_path / "children.py"
    script.write_text(CHILD)
    command = [sys.executable, "-W", "ignore", str(script), start, device.id]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_spawned_processes_share_a_device(device, tmp_path):
    assert children("spawn", device, tmp_path) == "True\n"


def test_a_forked_process_is_told_so(device, tmp_path):
    """No driver works after a fork: an error instead of waiting forever for its threads."""
    assert "'spawn'" in children("fork", device, tmp_path)
