"""All-pairs shortest paths on any OpenCL device.

Importing this package needs no OpenCL driver and loads nothing but the standard library: the
public names below are imported from their modules on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pyapsp.base.version import __version__

if TYPE_CHECKING:
    from pyapsp import bulk as bulk
    from pyapsp import csgraph as csgraph
    from pyapsp import device as device
    from pyapsp import dynamic as dynamic
    from pyapsp import errors as errors
    from pyapsp import graph as graph
    from pyapsp import matching as matching
    from pyapsp import mining as mining
    from pyapsp import simulation as simulation
    from pyapsp import sweep as sweep
    from pyapsp import traversal as traversal
    from pyapsp import verify as verify
    from pyapsp.all_pairs.dense.batch.pinned import pinned_empty as pinned_empty
    from pyapsp.all_pairs.many import solve_each as solve_each
    from pyapsp.all_pairs.many import solve_many as solve_many
    from pyapsp.all_pairs.rows import row_blocks as row_blocks
    from pyapsp.all_pairs.solver import explain as explain
    from pyapsp.all_pairs.solver import solve as solve
    from pyapsp.all_pairs.summaries import (
        average_shortest_path_length as average_shortest_path_length,
    )
    from pyapsp.all_pairs.summaries import betweenness_centrality as betweenness_centrality
    from pyapsp.all_pairs.summaries import closeness_centrality as closeness_centrality
    from pyapsp.all_pairs.summaries import diameter as diameter
    from pyapsp.all_pairs.summaries import distance_histogram as distance_histogram
    from pyapsp.all_pairs.summaries import eccentricity as eccentricity
    from pyapsp.all_pairs.summaries import (
        edge_betweenness_centrality as edge_betweenness_centrality,
    )
    from pyapsp.all_pairs.summaries import harmonic_centrality as harmonic_centrality
    from pyapsp.all_pairs.summaries import radius as radius
    from pyapsp.all_pairs.summaries import wiener_index as wiener_index
    from pyapsp.base.dry import Memory as Memory
    from pyapsp.base.dry import dry_run as dry_run
    from pyapsp.cluster.shards import open_rows as open_rows
    from pyapsp.csgraph.patching import patch as patch
    from pyapsp.csgraph.patching import unpatch as unpatch
    from pyapsp.device import devices as devices
    from pyapsp.graph import Graph as Graph
    from pyapsp.graph import Graphs as Graphs
    from pyapsp.graph import read as read
    from pyapsp.graph import write as write
    from pyapsp.graph.device_graph import DeviceGraph as DeviceGraph
    from pyapsp.matching.search import match as match
    from pyapsp.matching.search import match_many as match_many
    from pyapsp.mining.miner import mine as mine
    from pyapsp.paths.device_result import DeviceResult as DeviceResult
    from pyapsp.paths.result import Result as Result
    from pyapsp.queries.access import accessibility as accessibility
    from pyapsp.queries.access import reach as reach
    from pyapsp.queries.cells import Nearest as Nearest
    from pyapsp.queries.cells import nearest as nearest
    from pyapsp.queries.ranges import Within as Within
    from pyapsp.queries.ranges import WithinBlocks as WithinBlocks
    from pyapsp.queries.ranges import within as within
    from pyapsp.queries.ranges import within_blocks as within_blocks
    from pyapsp.queries.ranked import RankedPaths as RankedPaths
    from pyapsp.queries.ranked import yen as yen
    from pyapsp.queries.targets import Pairs as Pairs
    from pyapsp.queries.targets import distances as distances
    from pyapsp.queries.targets import pairs as pairs
    from pyapsp.queries.tied import AllPaths as AllPaths
    from pyapsp.queries.tied import all_shortest_paths as all_shortest_paths
    from pyapsp.queries.tied import count_shortest_paths as count_shortest_paths
    from pyapsp.queries.tied import shortest_path_dag as shortest_path_dag
    from pyapsp.registry import method as method
    from pyapsp.registry import methods as methods
    from pyapsp.registry import problem as problem
    from pyapsp.registry import problems as problems
    from pyapsp.simulation.simulate import simulate as simulate
    from pyapsp.traversal.bfs.bfs import BfsResult as BfsResult
    from pyapsp.traversal.bfs.bfs import bfs as bfs
    from pyapsp.traversal.components.components import Components as Components
    from pyapsp.traversal.components.components import (
        strongly_connected_components as strongly_connected_components,
    )
    from pyapsp.traversal.components.components import (
        weakly_connected_components as weakly_connected_components,
    )
    from pyapsp.traversal.components.structure import BowTie as BowTie
    from pyapsp.traversal.components.structure import Condensation as Condensation
    from pyapsp.traversal.components.structure import bow_tie as bow_tie
    from pyapsp.traversal.components.structure import condensation as condensation
    from pyapsp.traversal.sssp.sssp import SsspResult as SsspResult
    from pyapsp.traversal.sssp.sssp import sssp as sssp
    from pyapsp.trusses.triangles import Triangles as Triangles
    from pyapsp.trusses.triangles import triangles as triangles
    from pyapsp.trusses.truss import Trusses as Trusses
    from pyapsp.trusses.truss import k_truss as k_truss
    from pyapsp.trusses.truss import truss_decomposition as truss_decomposition

# public modules, and for other modules the names of them that are public here
_MODULES = (
    "bulk",
    "csgraph",
    "device",
    "dynamic",
    "errors",
    "graph",
    "matching",
    "mining",
    "simulation",
    "sweep",
    "traversal",
    "verify",
)
_NAMES = {
    "pyapsp.all_pairs.dense.batch.pinned": ("pinned_empty",),
    "pyapsp.all_pairs.many": ("solve_each", "solve_many"),
    "pyapsp.all_pairs.rows": ("row_blocks",),
    "pyapsp.all_pairs.solver": ("explain", "solve"),
    "pyapsp.all_pairs.summaries": (
        "average_shortest_path_length",
        "betweenness_centrality",
        "closeness_centrality",
        "diameter",
        "distance_histogram",
        "eccentricity",
        "edge_betweenness_centrality",
        "harmonic_centrality",
        "radius",
        "wiener_index",
    ),
    "pyapsp.base.dry": ("Memory", "dry_run"),
    "pyapsp.cluster.shards": ("open_rows",),
    "pyapsp.csgraph.patching": ("patch", "unpatch"),
    "pyapsp.device": ("devices",),
    "pyapsp.graph": ("Graph", "Graphs", "read", "write"),
    "pyapsp.graph.device_graph": ("DeviceGraph",),
    "pyapsp.matching.search": ("match", "match_many"),
    "pyapsp.mining.miner": ("mine",),
    "pyapsp.paths.device_result": ("DeviceResult",),
    "pyapsp.paths.result": ("Result",),
    "pyapsp.queries.access": ("accessibility", "reach"),
    "pyapsp.queries.cells": ("Nearest", "nearest"),
    "pyapsp.queries.ranges": ("Within", "WithinBlocks", "within", "within_blocks"),
    "pyapsp.queries.ranked": ("RankedPaths", "yen"),
    "pyapsp.queries.targets": ("Pairs", "distances", "pairs"),
    "pyapsp.queries.tied": (
        "AllPaths",
        "all_shortest_paths",
        "count_shortest_paths",
        "shortest_path_dag",
    ),
    "pyapsp.registry": ("method", "methods", "problem", "problems"),
    "pyapsp.simulation.simulate": ("simulate",),
    "pyapsp.traversal.bfs.bfs": ("BfsResult", "bfs"),
    "pyapsp.traversal.components.components": (
        "Components",
        "strongly_connected_components",
        "weakly_connected_components",
    ),
    "pyapsp.traversal.components.structure": ("BowTie", "Condensation", "bow_tie", "condensation"),
    "pyapsp.traversal.sssp.sssp": ("SsspResult", "sssp"),
    "pyapsp.trusses.triangles": ("Triangles", "triangles"),
    "pyapsp.trusses.truss": ("Trusses", "k_truss", "truss_decomposition"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [*_MODULES, *_MODULE_OF, "__version__"]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        value: object = importlib.import_module(f"pyapsp.{name}")
    elif name in _MODULE_OF:
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    else:
        raise AttributeError(f"module 'pyapsp' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
