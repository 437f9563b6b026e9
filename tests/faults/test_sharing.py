"""Threads and processes that share devices, caches and databases."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
from scipy.sparse import csgraph

import pyapsp
from pyapsp.graph import generators
from pyapsp.kernels import program

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
