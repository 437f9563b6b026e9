"""Molecules for Graphormer.

A Graphormer adds to the attention of two atoms a term for their distance in the molecule. Up to
version 4, Transformers computes the distances of each molecule with a function in Cython. The
example imports it alone, because its package imports PyTorch. `pyapsp.solve_many` solves all
molecules together.
"""

import importlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pyximport

import pyapsp

pyximport.install(setup_args={"include_dirs": np.get_include()})
package = Path(importlib.util.find_spec("transformers").origin).parent
sys.path.append(str(package / "models/deprecated/graphormer"))
algos_graphormer = importlib.import_module("algos_graphormer")


def data(small):
    rng = np.random.default_rng(0)
    molecules = []
    for n in rng.integers(10, 40, 100 if small else 10_000):
        matrix = np.zeros((n, n), bool)
        matrix[np.arange(1, n), (rng.random(n - 1) * np.arange(1, n)).astype(int)] = True
        molecules.append(matrix | matrix.T)
    return (molecules,)


def before(molecules):
    return [algos_graphormer.floyd_warshall(each)[0] for each in molecules]


def after(molecules):
    hops = [each.distances for each in pyapsp.solve_many(molecules)]
    return [np.minimum(each, 510).astype(np.int32) for each in hops]


def same(one, other):
    return all(map(np.array_equal, one, other))
