"""The kernels of a configuration: file, macros, local memory, buffers."""

from __future__ import annotations

import numpy as np

from pyapsp.device import Device
from pyapsp.graph import Graph
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters
from pyapsp.traversal.kernels import resident

__all__ = [
    "ARCS",
    "BINS",
    "MOST_BINS",
    "RING",
    "SIZES",
    "STATE_SIZE",
    "bin_rooms",
    "bins",
    "buffers",
    "cells",
    "chunk",
    "chunks",
    "defines",
    "groups",
    "kernel_file",
    "local_bytes",
    "rows_of",
]

# Of cl/traversal/bfs/bfs_helix.h: levels in a ring; where rings and bins start; bins of a
# level; all ints.
RING, SIZES, ARCS, BINS, MOST_BINS = 64, 64, 128, 192, 32
STATE_SIZE = BINS + 2 * MOST_BINS
# Indices of a work-item in local memory; arcs between two updates: on GPUs, with groups of one.
_SLOTS, _TURNS = 8, 8
# Groups that share the tiles of a frontier, for each compute unit of a CPU.
_GROUPS_OF_A_CORE = 4
_BALANCES = {"node": 0, "node-shuffle": 1, "scan": 2, "search": 3, "naive": 4}
_GATHERS = {"none": 0, "warp": 1, "block": 2, "both": 3}
_QUEUES = {"vertex": 0, "edge": 1, "two-phase": 2}
_LEVELS = {"multi": 0, "batched": 0, "single-group": 1, "persistent": 2}
_MASKS = {"none": 0, "8": 8, "32": 32, "atomic": 1}


def kernel_file(parameters: Parameters) -> str:
    """Return the kernel file, relative to ``cl/traversal``."""
    return "bfs_helix_device.cl" if parameters.word("balance") == "device" else "bfs_helix.cl"


def groups(device: Device, group: int) -> int:
    """Return the largest number of groups of a launch; each takes several tiles if there are more.

    Parameters
    ----------
    device : Device
    group : int
        Work-items of a group.
    """
    if device.traits.scalar_groups:
        return device.capabilities.compute_units * _GROUPS_OF_A_CORE
    return max(resident(device) // group, 1)


def bins(device: Device, parameters: Parameters) -> int:
    """Return the number of bins: up to the last whose work-items the device runs at once."""
    if parameters.word("heavy") == "none":
        return 0
    if parameters.word("heavy") == "relaunch":
        return 1
    return max(resident(device).bit_length() - parameters.integer("base"), 2)


def bin_rooms(m: int, number: int, base: int) -> list[int]:
    """Return the room of each bin: no more vertices of a graph have so many arcs."""
    return [(m >> (base + i)) + 1 for i in range(number)]


def chunk(group: int) -> int:
    """Return the largest chunk of the device-wide form."""
    return max(_SLOTS * group, 64)


def chunks(m: int, device: Device, group: int) -> int:
    """Return the largest number of chunks: of small ones for all work-items, or of large ones."""
    return max(resident(device) // group, 1) + m // chunk(group) + 2


def cells(n: int, parameters: Parameters) -> int:
    """Return the ints of the bitmask."""
    bits = {"none": 0, "8": 8}.get(parameters.word("bitmask"), 32)
    return -(-n // bits) if bits else 0


def rows_of(graph: Graph, parameters: Parameters) -> np.ndarray:
    """Return the first arc of each vertex, (n + 1,) int32, or CSR-M: both ends, (n, 2) int32."""
    first = graph.indptr.astype(np.int32)
    if parameters.word("rows") == "csr":
        return first
    return np.stack([first[:-1], first[1:]], axis=1)


def _team(parameters: Parameters) -> int:
    """Return the number of work-items that share arcs."""
    if parameters.word("balance").startswith("node"):
        return parameters.integer("width")
    return int(parameters["group" if parameters.word("balance").endswith("-block") else "warp"])


def _hash(parameters: Parameters) -> int:
    """Return the number of work-items that look for duplicates together; 0: none."""
    _, _, scope = parameters.word("duplicates").rpartition("-")
    return int(
        {"warp": parameters.integer("warp"), "block": parameters.integer("group")}.get(scope, 0)
    )


def defines(graph: Graph, options: PathOptions, parameters: Parameters) -> dict[str, str | int]:
    """Return the macros of a configuration."""
    common: dict[str, str | int] = {
        **parameters.macros("group", "warp"),
        "PYAPSP_CSRM": int(parameters.word("rows") == "csr-m"),
        "PYAPSP_CAS": int(parameters.word("duplicates") == "cas"),
        "PYAPSP_MASK": _MASKS[parameters.word("bitmask")],
        "PYAPSP_HASH": _hash(parameters),
        "PYAPSP_HASH_LOADED": int(parameters.word("duplicates").startswith("load")),
        "PYAPSP_ORDERED": int(parameters.word("scan") == "ordered"),
        "PYAPSP_LOCAL": int(parameters.word("update") == "local"),
        "PYAPSP_TURNS": _TURNS,
    }
    if parameters.word("balance") == "device":
        # a vertex of an undirected graph was found by the one arc that it has
        leaf = 1 if graph.directed else 2
        return common | {
            "PYAPSP_PACKED": int(parameters.word("prefix") == "packed"),
            "PYAPSP_LEAST": leaf if parameters.word("leaves") == "drop" else 0,
            "PYAPSP_CHUNK": chunk(parameters.integer("group")),
            "PYAPSP_DYNAMIC": int(parameters.word("chunk") == "dynamic"),
            "PYAPSP_RESIDENT": max(resident(options.device), parameters.integer("group")),
        }
    balance = parameters.word("balance")
    return common | {
        "PYAPSP_BALANCE": _BALANCES[balance if "node" in balance else balance.partition("-")[0]],
        "PYAPSP_TEAM": _team(parameters),
        "PYAPSP_GATHER": _GATHERS[parameters.word("gather")],
        "PYAPSP_NBINS": bins(options.device, parameters),
        "PYAPSP_BASE": parameters.integer("base"),
        "PYAPSP_QUEUE": _QUEUES[parameters.word("queue")],
        "PYAPSP_LEVELS": _LEVELS[parameters.word("sync")],
        "PYAPSP_SLOTS": _SLOTS,
    }


def local_bytes(parameters: Parameters, predecessors: bool) -> int:
    """Return the bytes of local memory of a group: the structs of the kernel files."""
    group, pairs = parameters.integer("group"), 1 + predecessors
    slots = 1 if parameters.word("update") == "ballot" else _TURNS * (8 if group == 1 else 2)
    ints = 2 * group + 1 + slots * group * pairs + (3 * group if _hash(parameters) else 0)
    if parameters.word("balance") == "device":
        return 4 * (ints + chunk(group) + 1)
    ints += 3 * group
    if not parameters.word("balance").startswith("node"):
        ints += group + group // parameters.integer("warp")
    if parameters.word("balance").startswith(("scan", "search")):
        ints += _SLOTS * group * pairs
    return 4 * ints


def buffers(graph: Graph, options: PathOptions, parameters: Parameters) -> list[int]:
    """Return the bytes of each buffer.

    They are rows, heads, levels, parents, bitmask, state, lists, arcs; then bins, or of the
    device-wide form the frontiers, the chunks and the totals.
    """
    n, m, pairs = graph.n, graph.m, 1 + options.predecessors
    rows = 4 * (n + 1) if parameters.word("rows") == "csr" else 8 * n
    ints = [n, n * options.predecessors, cells(n, parameters), STATE_SIZE]
    lists, arcs = 2 * n, 0
    if parameters.word("queue") == "edge":
        lists = 2 * max(n, m) * pairs
    elif parameters.word("queue") == "two-phase":
        lists, arcs = n, max(m, 1) * pairs
    if parameters.word("balance") == "device":
        lists, arcs = n, max(m, 1) * pairs
        more = [6 * n, chunks(m, options.device, parameters.integer("group")), 2 * RING]
    else:
        number = bins(options.device, parameters)
        more = [sum(bin_rooms(m, number, parameters.integer("base")))]
    counts = [*ints, lists, arcs, *more]
    return [max(each, 4) for each in (rows, 4 * m, *(4 * count for count in counts))]
