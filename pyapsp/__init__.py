"""All-pairs shortest paths on any OpenCL device.

Importing this package needs no OpenCL driver and loads nothing but the standard library: the
public names below are imported from their modules on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyapsp import bulk as bulk
    from pyapsp import csgraph as csgraph
    from pyapsp import dynamic as dynamic
    from pyapsp import errors as errors
    from pyapsp import matching as matching
    from pyapsp import mining as mining
    from pyapsp import sweep as sweep
    from pyapsp import verify as verify
    from pyapsp.cluster.shards import open_rows as open_rows
    from pyapsp.dense.batch.pinned import pinned_empty as pinned_empty
    from pyapsp.device import devices as devices
    from pyapsp.distances.kept import DeviceResult as DeviceResult
    from pyapsp.distances.many import solve_each as solve_each
    from pyapsp.distances.many import solve_many as solve_many
    from pyapsp.distances.rows import row_blocks as row_blocks
    from pyapsp.distances.solver import explain as explain
    from pyapsp.distances.solver import solve as solve
    from pyapsp.distances.summaries import (
        average_shortest_path_length as average_shortest_path_length,
    )
    from pyapsp.distances.summaries import closeness_centrality as closeness_centrality
    from pyapsp.distances.summaries import diameter as diameter
    from pyapsp.distances.summaries import distance_histogram as distance_histogram
    from pyapsp.distances.summaries import eccentricity as eccentricity
    from pyapsp.distances.summaries import radius as radius
    from pyapsp.distances.summaries import wiener_index as wiener_index
    from pyapsp.graph import Graph as Graph
    from pyapsp.graph import read as read
    from pyapsp.graph import write as write
    from pyapsp.matching.search import match as match
    from pyapsp.matching.search import match_many as match_many
    from pyapsp.mining.miner import mine as mine
    from pyapsp.registry import method as method
    from pyapsp.registry import methods as methods
    from pyapsp.registry import problem as problem
    from pyapsp.registry import problems as problems
    from pyapsp.result import Result as Result
    from pyapsp.simulation.simulate import simulate as simulate
    from pyapsp.traversal.bfs import BfsResult as BfsResult
    from pyapsp.traversal.bfs import bfs as bfs
    from pyapsp.traversal.components import Components as Components
    from pyapsp.traversal.components import (
        strongly_connected_components as strongly_connected_components,
    )
    from pyapsp.traversal.components import (
        weakly_connected_components as weakly_connected_components,
    )
    from pyapsp.traversal.sssp import SsspResult as SsspResult
    from pyapsp.traversal.sssp import sssp as sssp
    from pyapsp.traversal.structure import BowTie as BowTie
    from pyapsp.traversal.structure import Condensation as Condensation
    from pyapsp.traversal.structure import bow_tie as bow_tie
    from pyapsp.traversal.structure import condensation as condensation
    from pyapsp.trusses.triangles import Triangles as Triangles
    from pyapsp.trusses.triangles import triangles as triangles
    from pyapsp.trusses.truss import Trusses as Trusses
    from pyapsp.trusses.truss import k_truss as k_truss
    from pyapsp.trusses.truss import truss_decomposition as truss_decomposition

__version__ = "0.1.0"

# public name -> (module, attribute there; None when the module itself is the public thing)
_PUBLIC: dict[str, tuple[str, str | None]] = {
    "BowTie": ("pyapsp.traversal.structure", "BowTie"),
    "Components": ("pyapsp.traversal.components", "Components"),
    "Condensation": ("pyapsp.traversal.structure", "Condensation"),
    "BfsResult": ("pyapsp.traversal.bfs", "BfsResult"),
    "DeviceResult": ("pyapsp.distances.kept", "DeviceResult"),
    "Graph": ("pyapsp.graph", "Graph"),
    "Result": ("pyapsp.result", "Result"),
    "SsspResult": ("pyapsp.traversal.sssp", "SsspResult"),
    "Triangles": ("pyapsp.trusses.triangles", "Triangles"),
    "Trusses": ("pyapsp.trusses.truss", "Trusses"),
    "average_shortest_path_length": ("pyapsp.distances.summaries", "average_shortest_path_length"),
    "bfs": ("pyapsp.traversal.bfs", "bfs"),
    "bow_tie": ("pyapsp.traversal.structure", "bow_tie"),
    "bulk": ("pyapsp.bulk", None),
    "closeness_centrality": ("pyapsp.distances.summaries", "closeness_centrality"),
    "condensation": ("pyapsp.traversal.structure", "condensation"),
    "csgraph": ("pyapsp.csgraph", None),
    "devices": ("pyapsp.device", "devices"),
    "diameter": ("pyapsp.distances.summaries", "diameter"),
    "distance_histogram": ("pyapsp.distances.summaries", "distance_histogram"),
    "dynamic": ("pyapsp.dynamic", None),
    "eccentricity": ("pyapsp.distances.summaries", "eccentricity"),
    "errors": ("pyapsp.errors", None),
    "explain": ("pyapsp.distances.solver", "explain"),
    "k_truss": ("pyapsp.trusses.truss", "k_truss"),
    "match": ("pyapsp.matching.search", "match"),
    "match_many": ("pyapsp.matching.search", "match_many"),
    "matching": ("pyapsp.matching", None),
    "method": ("pyapsp.registry", "method"),
    "methods": ("pyapsp.registry", "methods"),
    "mine": ("pyapsp.mining.miner", "mine"),
    "mining": ("pyapsp.mining", None),
    "problem": ("pyapsp.registry", "problem"),
    "problems": ("pyapsp.registry", "problems"),
    "open_rows": ("pyapsp.cluster.shards", "open_rows"),
    "pinned_empty": ("pyapsp.dense.batch.pinned", "pinned_empty"),
    "radius": ("pyapsp.distances.summaries", "radius"),
    "read": ("pyapsp.graph", "read"),
    "row_blocks": ("pyapsp.distances.rows", "row_blocks"),
    "simulate": ("pyapsp.simulation.simulate", "simulate"),
    "solve": ("pyapsp.distances.solver", "solve"),
    "solve_each": ("pyapsp.distances.many", "solve_each"),
    "solve_many": ("pyapsp.distances.many", "solve_many"),
    "strongly_connected_components": (
        "pyapsp.traversal.components",
        "strongly_connected_components",
    ),
    "sssp": ("pyapsp.traversal.sssp", "sssp"),
    "sweep": ("pyapsp.sweep", None),
    "triangles": ("pyapsp.trusses.triangles", "triangles"),
    "truss_decomposition": ("pyapsp.trusses.truss", "truss_decomposition"),
    "verify": ("pyapsp.verify", None),
    "weakly_connected_components": (
        "pyapsp.traversal.components",
        "weakly_connected_components",
    ),
    "wiener_index": ("pyapsp.distances.summaries", "wiener_index"),
    "write": ("pyapsp.graph", "write"),
}

__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str) -> object:
    try:
        module, attribute = _PUBLIC[name]
    except KeyError:
        raise AttributeError(f"module 'pyapsp' has no attribute {name!r}") from None
    found = importlib.import_module(module)
    value = found if attribute is None else getattr(found, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
