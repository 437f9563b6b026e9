"""The sequential reference, compiled by Numba: the same numbers as the kernels, one after another.

The kernels explain the steps. The reference has its own data structures: it keeps dense counters,
looks at every neighbour, and stores the arcs of each level of a search. Random numbers and
logarithms are the same functions of the same integers, so that matches are equal.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.compiled import compiled
from pyapsp.matching.draws import ZERO, fixed_log2, philox, raced

__all__ = ["extended", "scored", "seeded"]

_ONE = 65536
# Offsets and neighbours of a network.
_Rows: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32]]
_Places: TypeAlias = NDArray[np.int64]
_Flags: TypeAlias = NDArray[np.bool_]
_Units: TypeAlias = NDArray[np.uint32]
# The first and last of the vertices that are similar to each node, and a matrix or an empty one.
_Similarities: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], _Units]
_FREE, _ASIDE, _NONE = -1, -2, -1


@compiled
def _similar(q: int, t: int, similarities: _Similarities) -> np.int64:
    low, high, matrix = similarities
    if matrix.shape[0]:
        return np.int64(matrix[q, t])
    return np.int64(_ONE if low[q] <= t < high[q] else 0)


@compiled
def _levels(start: int, levels: int, offsets: _Rows, level: _Places, queue: _Places) -> int:
    """Search from a vertex; level[v] is its distance, -1 if that is `levels` or more."""
    level[start] = 0
    queue[0] = start
    head, tail = 0, 1
    neighbours = offsets[1]
    while head < tail:
        u = queue[head]
        head += 1
        if level[u] + 1 >= levels:
            continue
        for a in range(offsets[0][u], offsets[0][u + 1]):
            v = neighbours[a]
            if level[v] < 0:
                level[v] = level[u] + 1
                queue[tail] = v
                tail += 1
    return tail


@compiled
def scored(
    query: _Rows, target: _Rows, similarities: _Similarities, levels: int, degrees: bool, parts: int
) -> _Units:
    """Return phase 1: the scores of all pairs, in units of 1 / 65536."""
    nodes, n = query[0].size - 1, target[0].size - 1
    may = np.zeros((n, nodes), np.bool_)
    for t in range(n):
        for q in range(nodes):
            fits = query[0][q + 1] - query[0][q] <= target[0][t + 1] - target[0][t]
            may[t, q] = _similar(q, t, similarities) > 0 and (fits or not degrees)
    # beside[t]: the query nodes that some neighbour of t may stand for
    beside = np.zeros((n, nodes), np.bool_)
    for t in range(n):
        for a in range(target[0][t], target[0][t + 1]):
            for q in range(nodes):
                beside[t, q] |= may[target[1][a], q]
    distance = np.full((nodes, nodes), -1, np.int64)
    reach = np.empty((nodes, nodes), np.int64)
    reaches = np.empty(nodes, np.int64)
    arcs = np.zeros(nodes, np.int64)
    for q in range(nodes):
        reaches[q] = _levels(q, levels, query, distance[q], reach[q])
        for u in reach[q, : reaches[q]]:
            arcs[q] += (distance[q, u] + 1) * (query[0][u + 1] - query[0][u])
    queue = np.empty(n, np.int64)
    out = np.zeros((nodes, n), np.uint32)
    level = np.full(n, -1, np.int64)
    arc = np.zeros((levels, query[1].size), np.bool_)
    leaving = np.zeros((levels, nodes), np.int64)
    for t in range(n):
        arc[:] = False
        reached = _levels(t, levels, target, level, queue)
        for i in range(reached):
            s = queue[i]
            for u in range(nodes):
                if may[s, u]:
                    for a in range(query[0][u], query[0][u + 1]):
                        arc[level[s], a] |= beside[s, query[1][a]]
        for i in range(reached):
            level[queue[i]] = -1
        for far in range(levels):
            for u in range(nodes):
                leaving[far, u] = 0
                for a in range(query[0][u], query[0][u + 1]):
                    leaving[far, u] += arc[far, a]
        for q in range(nodes):
            matchable = 0
            for i in range(reaches[q]):
                far = distance[q, reach[q, i]]
                matchable += (far + 1) * leaving[far, reach[q, i]]
            total = np.int64(0)
            if parts & 1:
                total += _similar(q, t, similarities)
            fits = query[0][q + 1] - query[0][q] <= target[0][t + 1] - target[0][t]
            if parts & 2 and fits:
                total += _ONE
            if parts & 4 and arcs[q]:
                total += matchable * _ONE // arcs[q]
            out[q, t] = total
    return out


@compiled
def seeded(score: _Units, chains: _Places, power: int, seed: np.uint64, table: _Units) -> _Places:
    """Return phase 2: a pair of a query node and a target vertex for each chain."""
    nodes, n = score.shape
    pairs = np.empty((chains.size, 2), np.int64)
    for number, chain in enumerate(chains):
        best, q = np.int64(-1), 0
        for node in range(nodes):
            key = philox(node, 0, chain, 0, seed)
            if key > best:
                best, q = key, node
        leader, best = -1, np.int64(0)
        for t in range(n):
            weight = fixed_log2(np.int64(score[q, t]), table)
            key = raced(weight, power, philox(t, 0, chain, 1, seed), table)
            if leader < 0 or key > best:
                leader, best = t, key
        pairs[number, 0], pairs[number, 1] = q, leader
    return pairs


@compiled
def _place(graph: _Rows, s: int, t: int) -> int:
    start: int = graph[0][s]
    end: int = graph[0][s + 1]
    while start < end:
        middle = (start + end) // 2
        if graph[1][middle] < t:
            start = middle + 1
        else:
            end = middle
    return start


@compiled
def _beside(graph: _Rows, s: int, t: int) -> bool:
    place = _place(graph, s, t)
    return bool(place < graph[0][s + 1] and graph[1][place] == t)


@compiled
def _drawn(
    q: int, query: _Rows, target: _Rows, similarities: _Similarities, score: _Units, table: _Units,
    power: int, guided: bool, strict: bool, seed: np.uint64, chain: np.int64, step: int,
    match: _Places, used: _Flags, counts: _Places, candidates: _Places,
) -> int:  # fmt: skip
    # candidates with the label of q; if there is none, all
    length = matched = common = 0
    for attempt in range(2):
        first = 0 if attempt else similarities[0][q]
        last = used.size if attempt else similarities[1][q]
        length = matched = common = 0
        for p in range(match.size):
            if match[p] < 0:
                continue
            matched += 1
            both = _beside(query, q, p)
            common += both
            end = target[0][match[p] + 1]
            for a in range(_place(target, match[p], first), end):
                t = target[1][a]
                if t >= last:
                    break
                if not used[t]:
                    if counts[t, 0] == 0:
                        candidates[length] = t
                        length += 1
                    counts[t, 0] += 1
                    counts[t, 1] += both
        if length:
            break
    leader, best = _NONE, np.int64(0)
    for i in range(length):
        t = candidates[i]
        equal = matched - common - counts[t, 0] + 2 * counts[t, 1]
        counts[t, 0] = counts[t, 1] = 0
        similar = _similar(q, t, similarities)
        weight = fixed_log2(similar, table) if similar else 4 * ZERO
        weight += fixed_log2(equal, table)
        if guided:
            weight += fixed_log2(np.int64(score[q, t]), table)
        key = raced(weight, power, philox(t, step, chain, 3, seed), table)
        if leader < 0 or key > best or (key == best and t < leader):
            leader, best = t, key
    if strict and (leader < 0 or _similar(q, leader, similarities) == 0):
        return _ASIDE
    return leader


@compiled
def _again(
    components: NDArray[np.int32], similarities: _Similarities, score: _Units, table: _Units,
    power: int, strict: bool, seed: np.uint64, chain: np.int64, step: int, match: _Places,
    used: _Flags,
) -> tuple[int, int]:  # fmt: skip
    """Draw a node of a component without a match, and a vertex for it."""
    some = False
    reached = np.zeros(match.size, np.bool_)
    for p in range(match.size):
        if match[p] >= 0:
            reached[components[p]] = some = True
    best, q = np.int64(-1), _NONE
    for node in range(match.size):
        if some and match[node] == _FREE and not reached[components[node]]:
            key = philox(node, step, chain, 2, seed)
            if key > best:
                best, q = key, node
    if q == _NONE:
        return q, _NONE
    leader, best = _NONE, np.int64(0)
    for t in range(used.size):
        if used[t] or (strict and _similar(q, t, similarities) == 0):
            continue
        weight = fixed_log2(np.int64(score[q, t]), table)
        key = raced(weight, power, philox(t, step, chain, 3, seed), table)
        if leader < 0 or key > best:
            leader, best = t, key
    return q, _ASIDE if strict and leader < 0 else leader


@compiled
def _cost(
    query: _Rows, target: _Rows, similarities: _Similarities, match: _Places, bad: _Flags
) -> np.int64:
    cost = np.int64(0)
    for q in range(match.size):
        t = match[q]
        label = _ONE - (_similar(q, t, similarities) if t >= 0 else 0)
        cost += label
        bad[q] = label != 0
        for a in range(query[0][q], query[0][q + 1]):
            p = query[1][a]
            if t < 0 or match[p] < 0 or not _beside(target, t, match[p]):
                bad[q] = True
                cost += _ONE * (p > q)
    return cost


@compiled
def extended(
    query: _Rows, target: _Rows, similarities: _Similarities, components: NDArray[np.int32],
    score: _Units, table: _Units, chains: _Places, pairs: _Places, power: int, rounds: int,
    connected: bool, guided: bool, strict: bool, seed: np.uint64,
) -> tuple[NDArray[np.int32], _Places]:  # fmt: skip
    """Return phase 3: the matches, and their costs in units of 1 / 65536."""
    nodes, n = query[0].size - 1, target[0].size - 1
    used = np.zeros(n, np.bool_)
    counts = np.zeros((n, 2), np.int64)
    candidates = np.empty(n, np.int64)
    matches = np.empty((chains.size, nodes), np.int32)
    costs = np.empty(chains.size, np.int64)
    bad, fresh, loose = np.zeros((3, nodes), np.bool_)
    for number, chain in enumerate(chains):
        match = np.full(nodes, _FREE, np.int64)
        match[pairs[number, 0]] = pairs[number, 1]
        used[pairs[number, 1]] = True
        former = match.copy()
        cost, step, left, turn = np.int64(-1), 1, 1, 0
        while True:
            while True:  # grow
                best, q = np.int64(-1), _NONE
                for node in range(nodes):
                    if match[node] != _FREE:
                        continue
                    common = 0
                    for a in range(query[0][node], query[0][node + 1]):
                        common += match[query[1][a]] >= 0
                    if common:
                        key = philox(node, step, chain, 2, seed)
                        key += (common << 32) if connected else 0
                        if key > best:
                            best, q = key, node
                t = _NONE
                if q != _NONE:
                    t = _drawn(
                        q, query, target, similarities, score, table, power, guided, strict,
                        seed, chain, step, match, used, counts, candidates,
                    )  # fmt: skip
                    step += 1
                if t == _NONE:  # nothing is beside the match
                    q, t = _again(
                        components, similarities, score, table, power, strict,
                        seed, chain, step, match, used,
                    )  # fmt: skip
                    if t == _NONE:
                        break
                    step += 1
                match[q] = t
                if t >= 0:
                    used[t] = True
            now = _cost(query, target, similarities, match, fresh)
            if left and (cost < 0 or now <= cost):
                cost = now
                bad[:] = fresh
            else:
                for q in range(nodes):
                    if match[q] >= 0:
                        used[match[q]] = False
                match[:] = former
                for q in range(nodes):
                    if match[q] >= 0:
                        used[match[q]] = True
            if cost == 0 or turn == rounds:
                break
            turn += 1
            best, centre = np.int64(-1), 0  # loosen
            for q in range(nodes):
                key = philox(q, step, chain, 4, seed)
                if bad[q] and key > best:
                    best, centre = key, q
            extent = philox(0, step, chain, 5, seed)
            loose[:] = False
            for a in range(query[0][centre], query[0][centre + 1]):
                p = query[1][a]
                if philox(p, step, chain, 6, seed) < extent:
                    loose[p] = True
                    for b in range(query[0][p], query[0][p + 1]):
                        if philox(query[1][b], step, chain, 7, seed) < extent // 2:
                            loose[query[1][b]] = True
            loose[centre] = True
            former[:] = match
            left = 0
            for q in range(nodes):
                if loose[q] and match[q] >= 0:
                    used[match[q]] = False
                if loose[q] or match[q] == _ASIDE:
                    match[q] = _FREE
                left += match[q] >= 0
            step += 1
        for q in range(nodes):
            if match[q] >= 0:
                used[match[q]] = False
        matches[number] = match
        costs[number] = cost
    return matches, costs
