"""The functions `match`, `match_many` and `probabilities`: check arguments, run, return matches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.device import Device, DeviceLike, choose
from pyapsp.graph.validation import choice
from pyapsp.matching.chains import run_chains
from pyapsp.matching.matches import Matches, SearchStats
from pyapsp.matching.network import Network
from pyapsp.matching.options import Option, Options, options_of
from pyapsp.matching.prepared import Query, Target, log_table, prepared, similarities
from pyapsp.registry import check_limits

__all__ = ["match", "match_many", "probabilities"]

if TYPE_CHECKING:
    import networkx

    from pyapsp.matching.on_device import Searcher

#: A network, or what is made into one.
NetworkLike: TypeAlias = Union[Network, "networkx.Graph"]
# Partners and costs of each query, and what was measured.
_Found: TypeAlias = tuple[list[NDArray[np.int32]], list[NDArray[np.int64]], SearchStats]
_Rows: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32]]
# Query, target, the ranges of similar vertices with their similarities.
_Compressed: TypeAlias = tuple[
    _Rows, _Rows, tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint32]]
]
_METHODS = ("device", "reference")
# The options on which the scores of pairs depend.
_OF_SCORES = ("levels", "scores", "edge_degrees")


def match(
    query: NetworkLike,
    target: NetworkLike,
    matches: int = 100,
    *,
    similarity: ArrayLike | None = None,
    threshold: float | None = None,
    label: str = "label",
    method: str = "device",
    device: DeviceLike = None,
    memory_limit: int | None = None,
    **options: Any,
) -> Matches:
    """Find approximate matches of a query network in a target network (APPAGATO).

    Each match maps query nodes to different target vertices. It grows from a random pair of a node
    and a vertex; if the query has several components, from such a pair of each. Its cost is the
    fraction of the nodes and edges of the query that do not match.
    The same arguments and seed give the same matches on every device.

    Parameters
    ----------
    query, target : Network or networkx.Graph
        A query has at most 512 nodes.
    matches : int, default 100
        K, the number of matches.
    similarity : (nodes, n) array-like, optional
        S(q, t), from 0 to 1, of each query node and target vertex. By default S is 1 if the labels
        are equal, otherwise 0. The labels 1 and "1" are different.
    threshold : float, optional
        For each query node, keep only the largest of the given similarities: this fraction of the
        target vertices. Then each row is divided by its largest entry.
    label : str
        The attribute that is the label of a node of a NetworkX graph.
    method : {"device", "reference"}
        The reference is sequential and compiled by Numba. Both give the same matches.
    device : optional
        See `pyapsp.device.choose`.
    memory_limit : int, optional
        Largest number of bytes of device memory to use.
    levels : int, default 2
        l_max, the depth to which neighbourhoods are compared.
    scores : collection of {"label", "degree", "bfs"}
        The terms of the score of a pair; all by default.
    edge_degrees : bool, default True
        Whether an edge matches in such a search only if no end has a smaller degree in the target.
    strict : bool, default False
        Leave a node unmatched if no candidate is similar to it, unless it is the first one.
    focus : float, default 64
        The power, from 1 to 1024, to which weights are raised before a draw.
    guided : bool, default True
        Whether scores also weight the draws after the seed.
    order : {"connected", "random"}
        Whether the next query node is one with the most matched neighbours, or any that has one.
    rounds : int, default 100
        For a match with mismatches: how often the pairs around a mismatch are removed and drawn
        again. The new match is kept if its cost is not higher.
    distinct : bool, default True
        Draw a match that is equal to an earlier one again, up to 8 times: first with a tenth of the
        rounds, then without rounds, then also with a quarter of the focus each time, down to 1.
        Matches stay equal if this finds no other, e.g. because the target has fewer than K.
    published : bool, default False
        The algorithm of the paper: ``focus=1, guided=False, order="random", rounds=0,
        distinct=False`` for those that are not given.
    seed : int, default 0
        From 0 to 2^64 - 1.

    Returns
    -------
    Matches

    Raises
    ------
    ParameterError
        An argument has a value that is not allowed.
    GraphError
        A node of a NetworkX graph has no label, or labels of query and target differ in their types
        alone.
    CapabilityError
        The query has too many nodes, or Numba is missing for the reference.
    NoDeviceError, DeviceMemoryError
        There is no device, or its memory is too small.

    References
    ----------
    V. Bonnici, F. Busato, G. Micale, N. Bombieri, A. Pulvirenti and R. Giugno, APPAGATO: an
    approximate parallel and stochastic graph querying tool for biological networks, Bioinformatics
    32(14), 2016, doi:10.1093/bioinformatics/btw223.

    Examples
    --------
    >>> from pyapsp.matching import Network
    >>> ring = Network.from_edges([(i, (i + 1) % 9) for i in range(9)], "ABCABDABE")
    >>> path = Network.from_edges([(0, 1), (1, 2)], "BDA")
    >>> match(path, ring, matches=10).best
    {0: 4, 1: 5, 2: 6}
    """
    matrices = None if similarity is None else [similarity]
    [answer] = match_many(
        [query],
        target,
        matches,
        similarity=matrices,
        threshold=threshold,
        label=label,
        method=method,
        device=device,
        memory_limit=memory_limit,
        **options,
    )
    return answer


def match_many(
    queries: Iterable[NetworkLike],
    target: NetworkLike,
    matches: int = 100,
    *,
    similarity: Sequence[ArrayLike] | None = None,
    threshold: float | None = None,
    label: str = "label",
    method: str = "device",
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Option,
) -> list[Matches]:
    """Find approximate matches of many queries in one target, in as few launches as fit in memory.

    Each query has the same matches as in a call of `match` with the same seed.

    Parameters
    ----------
    queries : iterable of Network or networkx.Graph
    target, matches, threshold, label, method, device, memory_limit, **options
        As in `match`.
    similarity : sequence of array-like, optional
        One matrix for each query.
    progress : callable, optional
        Called with the number of queries done and of all queries.

    Returns
    -------
    list of Matches
        One for each query; ``stats["seconds"]`` is the time of all queries.

    Raises
    ------
    As `match`.
    """
    chosen = options_of({"matches": matches, **options})
    if not isinstance(queries, Iterable) or hasattr(queries, "edges"):
        raise ParameterError.of("queries", "match_many", "an iterable of networks", queries)
    networks = [_network(query, label, "query") for query in queries]
    goal = _network(target, label, "target")
    matrices = _matrices(similarity, networks, goal, threshold)
    method = choice("method", "match", method, _METHODS)
    memory_limit = check_limits(memory_limit, progress, "match")
    if not networks:
        return []
    small, sorted_target = prepared(networks, goal, matrices)
    report = progress or (lambda done, total: None)
    if method == "reference":
        rows, units, stats = _by_reference(small, sorted_target, chosen, report)
    else:
        rows, units, stats = _on_device(
            small, sorted_target, chosen, choose(device), memory_limit, report
        )
    vertices = sorted_target.vertices.astype(np.int32)
    return [
        Matches(
            network,
            goal,
            np.where(row >= 0, vertices[np.maximum(row, 0)], np.int32(-1)),
            cost,
            None if matrices is None else matrices[number],
            {"method": method, **stats, "options": asdict(chosen)},
        )
        for number, (network, row, cost) in enumerate(zip(networks, rows, units, strict=True))
    ]


def probabilities(
    query: NetworkLike,
    target: NetworkLike,
    *,
    similarity: ArrayLike | None = None,
    threshold: float | None = None,
    label: str = "label",
    method: str = "device",
    device: DeviceLike = None,
    **options: Option,
) -> NDArray[np.float64]:
    """Return the probability that a query node and a target vertex match: P of the paper.

    Parameters
    ----------
    query, target, similarity, threshold, label, method, device
        As in `match`.
    **options
        ``levels``, ``scores`` and ``edge_degrees`` of `match`.

    Returns
    -------
    (nodes, n) float64 ndarray
        Each row has the sum 1.

    Raises
    ------
    As `match`.
    """
    for name in options:
        if name not in _OF_SCORES:
            rule = f"among {', '.join(_OF_SCORES)}, on which the scores depend"
            raise ParameterError.of("options", "probabilities", rule, name)
    chosen = options_of(options)
    method = choice("method", "match", method, _METHODS)
    small, goal = _network(query, label, "query"), _network(target, label, "target")
    matrices = _matrices(None if similarity is None else [similarity], [small], goal, threshold)
    [one], sorted_target = prepared([small], goal, matrices)
    if method == "reference":
        rows = _reference_scores(one, sorted_target, chosen)
    else:
        rows = _searcher([one], sorted_target, chosen, choose(device), None).scores([one])
    scores = np.empty(rows.shape)
    scores[:, sorted_target.vertices] = rows
    sums = scores.sum(axis=1, keepdims=True)
    # a row of zeros has no preference
    weights: NDArray[np.float64] = np.where(sums > 0, scores, 1)
    return weights / np.where(sums > 0, sums, goal.n)


def _network(graph: NetworkLike, label: str, owner: str) -> Network:
    if isinstance(graph, Network):
        return graph
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return Network.from_networkx(graph, label)
    raise ParameterError.of(owner, "match", "a Network or a graph of NetworkX", graph)


def _matrices(
    matrices: Sequence[ArrayLike] | None,
    queries: Sequence[Network],
    target: Network,
    threshold: float | None,
) -> list[NDArray[np.uint32]] | None:
    if matrices is None:
        if threshold is not None:
            raise ParameterError.of("threshold", "match", "None without similarities", threshold)
        return None
    if not isinstance(matrices, Sequence | np.ndarray) or getattr(matrices, "ndim", 1) == 0:
        raise ParameterError.of("similarity", "match_many", "a sequence of matrices", matrices)
    if len(matrices) != len(queries):
        rule = f"a matrix for each of {len(queries)} queries"
        raise ParameterError.of("similarity", "match", rule, f"{len(matrices)} matrices")
    return [
        similarities(matrix, query, target, threshold)
        for matrix, query in zip(matrices, queries, strict=True)
    ]


def _reference_arguments(query: Query, target: Target) -> _Compressed:
    matrix = np.zeros((0, 0), np.uint32) if query.similarities is None else query.similarities
    network = query.network
    graphs = (network.offsets, network.neighbours), (target.offsets, target.neighbours)
    return (*graphs, (query.low, query.high, matrix))


def _reference_scores(query: Query, target: Target, options: Options) -> NDArray[np.uint32]:
    from pyapsp.matching.reference import scored

    arguments = _reference_arguments(query, target)
    rows: NDArray[np.uint32] = scored(
        *arguments, options.levels, options.edge_degrees, options.parts
    )
    return rows


def _by_reference(
    queries: Sequence[Query],
    target: Target,
    options: Options,
    report: Callable[[int, int], None],
) -> _Found:
    from pyapsp.matching import reference

    rows, units = [], []
    started = time.perf_counter()
    for number, query in enumerate(queries, start=1):
        partners, cost = _of_one(reference, query, target, options)
        rows.append(partners)
        units.append(cost)
        report(number, len(queries))
    return rows, units, {"seconds": time.perf_counter() - started}


def _of_one(
    reference: ModuleType, query: Query, target: Target, options: Options
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return matches of one query, (K, nodes), and their costs."""
    seed, table = np.uint64(options.seed), log_table()
    score = _reference_scores(query, target, options)
    arguments, components = _reference_arguments(query, target), query.components
    partners = np.empty((options.matches, query.nodes), np.int32)
    cost = np.empty(options.matches, np.int64)

    def run(work: NDArray[np.int32], stream: int, chosen: Options) -> None:
        chains = work[:, 1].astype(np.int64)
        pairs = reference.seeded(score, chains + stream, chosen.power, seed, table)
        partners[chains], cost[chains] = reference.extended(
            *arguments, components, score, table, chains + stream, pairs, chosen.power,
            chosen.rounds, chosen.order == "connected", chosen.guided, chosen.strict, seed,
        )  # fmt: skip

    run_chains([partners], options, run)
    return partners, cost


def _searcher(
    queries: Sequence[Query],
    target: Target,
    options: Options,
    device: Device,
    memory_limit: int | None,
) -> Searcher:
    from pyapsp.matching.on_device import Searcher

    nodes = max(query.nodes for query in queries)
    with_similarities = queries[0].similarities is not None
    return Searcher(device, target, options, nodes, with_similarities, memory_limit)


def _on_device(
    queries: Sequence[Query],
    target: Target,
    options: Options,
    device: Device,
    memory_limit: int | None,
    report: Callable[[int, int], None],
) -> _Found:
    searcher = _searcher(queries, target, options, device, memory_limit)
    rows: list[NDArray[np.int32]] = []
    units: list[NDArray[np.int64]] = []
    for some in searcher.slices(queries):
        partners, cost = searcher.matches([queries[number] for number in some])
        rows += partners
        units += list(cost)
        report(len(rows), len(queries))
    return rows, units, {"device": str(device), "seconds": searcher.watch.seconds("kernel")}
