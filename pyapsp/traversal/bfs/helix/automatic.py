"""The configuration of Helix for a graph: the published rules, rules of ours, what suits CPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pyapsp.device import Device
from pyapsp.graph import Graph

__all__ = [
    "RULES",
    "Configuration",
    "Facts",
    "facts_of",
    "fitted",
    "gini",
    "on_a_cpu",
    "published",
    "wanted",
]

#: Where the configuration of a GPU is from.
RULES = ("published", "fitted")

#: A value for each parameter.
Configuration: TypeAlias = dict[str, int | str]

# A graph without facts: for candidates that no graph is given for.
_GROUP, _WARP = 128, 32


@dataclass(frozen=True)
class Facts:
    """What the published rules look at: the mean and largest number of arcs that leave a vertex.

    And how unequal these numbers are: `gini` is 0 if all are equal, near 1 if one vertex has all
    arcs.
    """

    mean: float
    most: int
    gini: float


def gini(degrees: np.ndarray) -> float:
    """Return the Gini coefficient of numbers: 0 if all are equal, or all 0.

    Parameters
    ----------
    degrees : (n,) integer ndarray
        None is negative.

    Returns
    -------
    float
        In [0, 1).
    """
    n, total = degrees.size, float(degrees.sum())
    if not total:
        return 0.0
    ranks = np.arange(1, n + 1, dtype=float)
    unequal = 2 * float(np.dot(ranks, np.sort(degrees))) / (n * total) - (n + 1) / n
    return max(unequal, 0.0)


def facts_of(graph: Graph) -> Facts:
    """Return the facts of a graph, in the time of a sort of its degrees."""
    degrees = np.diff(graph.indptr)
    most = int(degrees.max(initial=0))
    return Facts(graph.m / graph.n if graph.n else 0.0, most, gini(degrees))


def published(
    facts: Facts, *, group: int = _GROUP, warp: int = _WARP, resident: int
) -> Configuration:
    """Return the configuration of the published decision tree.

    The rule of 32 work-items a vertex comes before that of 16, which includes it. Both are a whole
    and half a warp of 32 there, so they are here. One launch for the whole search is published for
    deep graphs; what is portable of it is one group that stays while frontiers are small. The rule
    of the bitmask is about how vertices are numbered, which no fact tells, so there is none.

    Source: F. Busato, thesis, Verona 2018, table 7.2.

    Parameters
    ----------
    facts : Facts
    group, warp : int
        Work-items of a group and of a warp.
    resident : int
        Work-items that the device runs at the same time.

    Returns
    -------
    dict
        All parameters.
    """
    width, balance = 1, "scan-warp"
    sparse, uneven = facts.mean < 5, facts.gini >= 0.2
    if sparse:
        balance, width = "node", 1 if uneven else 4
    elif facts.mean > 2 * warp and facts.gini < 0.3:
        balance, width = "node-shuffle", warp
    elif facts.mean > warp and facts.gini < 0.3:
        balance, width = "node-shuffle", max(warp // 2, 2)
    gather = {(0, 0): "none", (1, 0): "warp", (0, 1): "block", (1, 1): "both"}
    heavy = facts.most > resident // 2
    base = next((each for each in (6, 8, 10, 12, 14) if 2**each >= min(resident // 2, 2**14)), 14)
    return {
        "group": group,
        "warp": warp,
        "balance": balance,
        "width": width,
        "gather": gather[facts.most > warp, facts.most > group],
        "heavy": "bins" if heavy else "none",
        "base": base if heavy else 6,
        "queue": "edge" if sparse and uneven else "vertex",
        "sync": "multi" if facts.mean > 20 or facts.gini >= 0.6 else "single-group",
        "update": "local" if facts.mean > warp and facts.gini < 0.9 else "ballot",
        "duplicates": "load-warp" if balance == "scan-warp" else "load-block",
        "bitmask": "none",
        "rows": "csr-m",
        "scan": "unordered",
        "leaves": "keep",
        "chunk": "fixed",
        "prefix": "two-pass",
    }


def fitted(facts: Facts, *, group: int = _GROUP, warp: int = _WARP) -> Configuration:
    """Return the configuration that was fastest of some hundred on a GPU with 132 units.

    On graphs with few arcs for each vertex, which are deep, all groups stay for the whole search.
    On others vertices with many arcs are in bins, and batches of levels are enqueued.

    Parameters
    ----------
    facts : Facts
    group, warp : int
        Work-items of a group and of a warp.

    Returns
    -------
    dict
        All parameters.
    """
    deep = facts.mean < 5
    return {
        "group": group,
        "warp": warp,
        "balance": "node" if deep else "scan-warp",
        "width": 4 if deep else 1,
        "gather": "none" if deep else "both",
        "heavy": "none" if deep else "bins",
        "base": 6 if deep else 8,
        "queue": "vertex",
        "sync": "persistent" if deep else "batched",
        "update": "ballot",
        "duplicates": "cas" if deep else "load-warp",
        "bitmask": "none" if deep else "32",
        "rows": "csr-m" if deep else "csr",
        "scan": "unordered",
        "leaves": "keep",
        "chunk": "fixed",
        "prefix": "two-pass",
    }


def on_a_cpu() -> Configuration:
    """Return the configuration for devices where a group is a loop on one core.

    A group of one work-item needs no barriers, and has nothing to balance. Its queue saves atomic
    operations, and a compare-and-exchange costs no more than a lookup and a store.
    """
    return {
        "group": 1,
        "warp": 1,
        "balance": "node",
        "width": 1,
        "gather": "none",
        "heavy": "none",
        "base": 6,
        "queue": "vertex",
        "sync": "multi",
        "update": "local",
        "duplicates": "none",
        "bitmask": "none",
        "rows": "csr-m",
        "scan": "ordered",
        "leaves": "keep",
        "chunk": "fixed",
        "prefix": "two-pass",
    }


def wanted(device: Device, facts: Facts | None, resident: int, rules: str) -> Configuration:
    """Return the configuration for a device by one of `RULES`, for a graph if facts are given."""
    if device.traits.scalar_groups:
        return on_a_cpu()
    group = min(_GROUP, device.capabilities.max_work_group_size)
    average = Facts(mean=16.0, most=64, gini=0.5)
    warp, facts = min(_WARP, group), facts or average
    if rules == "fitted":
        return fitted(facts, group=group, warp=warp)
    return published(facts, group=group, warp=warp, resident=resident)
