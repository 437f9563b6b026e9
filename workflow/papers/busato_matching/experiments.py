"""[B] chapter 10: time and cost of matches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, combinations
from typing import Any

import numpy as np

from papers.busato_matching import inputs
from papers.experiment import Case, InTurns, Request
from papers.runner import Label, Runner, require_equal
from pyapsp.base.json import Json, Record
from pyapsp.matching import Matches, Network, match_many
from pyapsp.matching.experiments import costs_differ, perturbed
from pyapsp.matching.options import SCORES
from pyapsp.registry.timing import Turn

__all__ = [
    *("EXPERIMENTS", "LABELS", "MATCHES", "NODES", "PARTS", "SEARCHES", "THRESHOLDS"),
]

# [B] 10.1.4 and 10.2.1: nodes of queries, labels, and matches. 43 labels are of the gene ontology.
NODES, LABELS, MATCHES = (4, 8, 16, 32, 64, 128), (32, 43, 64, 250), (10, 50, 100)
LEVELS, PARTS, THRESHOLDS = (1, 2, 3, 4, 5), (0.0, 0.05, 0.1, 0.2, 0.5), (0.01, 0.05, 0.1, 1.0)
SEARCHES: dict[str, dict[str, Any]] = {
    "published": {"published": True},
    "one pass": {"rounds": 0, "distinct": False},
    "refined": {},
}
# [B] 10.3 takes the best ten matches of a perturbed query.
_TEN = 10
# Queries of a group, of which the archive of the authors' files has 20.
_QUERIES = 100
_REFERENCE = "the sequential reference"


def _facts(matches: Sequence[Matches]) -> Record:
    """Return costs and their deviation, as the paper has them: of distinct matches with a cost."""
    each_query = [each.costs[each.order] for each in matches]
    each_query = [costs[costs > 0] for costs in each_query]
    mismatched = sum(int((each.units > 0).sum()) for each in matches)
    without = np.concatenate([each.units == 0 for each in matches])
    costs, top = (np.concatenate([some[:most] for some in each_query]) for most in (None, _TEN))
    return {
        "queries": len(matches),
        "cost": float(costs.mean()) if costs.size else 0.0,
        "deviation": float(costs.std()) if costs.size else 0.0,
        "top_ten": float(top.mean()) if top.size else 0.0,
        "best": float(np.mean([each.costs.min() for each in matches])),
        "exact": sum(int(each.units.min() == 0) for each in matches),
        "without_cost": float(without.mean()),
        "distinct": float(np.mean([each.distinct for each in matches])),
        "distinct_with_cost": costs.size / mismatched if mismatched else None,
        "distinct_sets": float(np.mean([_distinct_sets(each) for each in matches])),
    }


def _distinct_sets(matches: Matches) -> float:
    """Return the part of the matches with other target vertices than those before."""
    return len(np.unique(np.sort(matches.partners, axis=1), axis=0)) / len(matches)


def _runners(
    request: Request,
    label: Label,
    queries: Sequence[Network],
    target: Network,
    timed: Sequence[str] = ("device",),
    tell: Callable[[list[Matches]], Record] = _facts,
    **options: Any,
) -> Iterator[Runner]:
    """Yield a runner for each method, whose matches must be those of the reference."""

    @cache
    def right() -> list[Matches]:
        return match_many(queries, target, method="reference", **options)

    def turn(method: str) -> Turn:
        started = time.perf_counter()
        matches = match_many(queries, target, method=method, device=request.device, **options)
        seconds = time.perf_counter() - started
        for each, expected in zip(matches, right(), strict=True):
            require_equal(each.partners, expected.partners, f"{label}, {method}")
            require_equal(each.units, expected.units, f"{label}, {method}")
        times = {
            "total": seconds / len(queries),
            "kernel": matches[0].stats["seconds"] / len(queries),
        }
        return Turn(times, tell(matches))

    for method in timed:
        yield Runner({**label, "method": method}, partial(turn, method))


def _case(
    target: Network, what: str, label: Label, runners: Sequence[Runner], **more: Json
) -> Case:
    degrees = target.degrees
    about = {
        "label": label,
        "m": target.m,
        "target": what,
        "average_degree": float(degrees.mean()),
        "deviation": float(degrees.std()),
        "reference": {"what": _REFERENCE},
        **more,
    }
    return Case(about, runners)


def _count(request: Request) -> int:
    return int(max(request.chosen("counts", (_QUERIES,))))


def _sizes(n: int) -> list[int]:
    return [nodes for nodes in NODES if nodes <= n // 8]


def _by_size(n: int, request: Request) -> Iterator[Case]:
    with inputs.unpacked(n) as folder:
        for labels in LABELS:
            target, what = inputs.physical(n, labels, folder)
            for nodes in _sizes(n):
                queries = inputs.queries(target, nodes, labels, _count(request), folder)
                runners: list[Runner] = []
                for search, options in SEARCHES.items():
                    for matches in MATCHES if labels == LABELS[0] else MATCHES[-1:]:
                        label: Label = {
                            "labels": labels, "nodes": nodes, "search": search, "matches": matches
                        }  # fmt: skip
                        both = ("device", "reference") if matches == MATCHES[-1] else ("device",)
                        runners += _runners(
                            request, label, queries, target, both, matches=matches, **options
                        )
                yield _case(target, what, {"labels": labels, "nodes": nodes}, runners)


def _varied(
    variants: Mapping[int, dict[str, Any]] | Mapping[str, dict[str, Any]], name: str
) -> Callable[[int, Request], Iterator[Case]]:
    """Return an experiment with an option of the published search, for queries of all sizes."""

    def make(n: int, request: Request) -> Iterator[Case]:
        with inputs.unpacked(n) as folder:
            target, what = inputs.physical(n, LABELS[0], folder)
            exact = {
                nodes: inputs.queries(target, nodes, LABELS[0], _count(request), folder)
                for nodes in _sizes(n)[:4]
            }
        for nodes, queries in exact.items():
            each = [
                _runners(
                    request,
                    {"nodes": nodes, name: value},
                    queries,
                    target,
                    published=True,
                    **options,
                )
                for value, options in variants.items()
            ]
            yield _case(target, what, {"nodes": nodes}, list(chain(*each)))

    return make


def _told_apart(nodes: int) -> bool:
    """Return whether each part of `PARTS` is another number of so many nodes."""
    return len({round(part * nodes) for part in PARTS}) == len(PARTS)


def _perturbed(n: int, request: Request) -> Iterator[Case]:
    with inputs.unpacked(n) as folder:
        for labels in LABELS:
            target, what = inputs.physical(n, labels, folder)
            known = np.unique(target.labels).tolist()
            for nodes in list(filter(_told_apart, _sizes(n)))[:3]:
                exact = inputs.queries(target, nodes, labels, _count(request), folder)
                runners: list[Runner] = []
                for part in PARTS:
                    queries = [
                        perturbed(query, part, seed, known) for seed, query in enumerate(exact)
                    ]
                    for search, options in SEARCHES.items():
                        label: Label = {
                            "labels": labels, "nodes": nodes, "search": search, "part": part
                        }  # fmt: skip
                        runners += _runners(
                            request, label, queries, target, matches=_TEN, **options
                        )
                yield _case(target, what, {"labels": labels, "nodes": nodes}, runners)


def _complexes(n: int, request: Request) -> Iterator[Case]:
    with inputs.unpacked(n) as folder:
        target, known, what = inputs.complexes(n, folder)
    queries = [query for query, _ in known]
    matrices = [matrix for _, matrix in known]
    costs: dict[tuple[str, float], list[np.ndarray]] = {}
    runners: list[Runner] = []
    for threshold in THRESHOLDS:
        for search, options in SEARCHES.items():

            def tell(
                matches: list[Matches], key: tuple[str, float] = (search, threshold)
            ) -> Record:
                costs[key] = [each.costs for each in matches]
                each = {each.query.name: float(each.costs[each.order].mean()) for each in matches}
                best = {each.query.name: float(each.costs.min()) for each in matches}
                return {**_facts(matches), "costs": each, "best_costs": best}

            label: Label = {"search": search, "threshold": threshold}
            runners += _runners(
                request, label, queries, target, ("device", "reference"), tell,
                similarity=matrices, threshold=threshold, **options,
            )  # fmt: skip

    def concluded(runs: list[dict[str, Any]]) -> Record:
        p_values = {}
        for threshold in THRESHOLDS:
            pairs = [costs.get((search, threshold), []) for search in ("refined", "published")]
            if all(pairs):
                _, corrected = costs_differ(list(zip(*pairs, strict=True)))
                p_values[str(threshold)] = [float(value) for value in corrected]
        return {"p_values": p_values}

    facts = {query.name: [query.n, 2 * query.m] for query in queries}
    case = _case(target, what, {}, runners, complexes=facts)
    yield Case(case.about, runners, concluded)


_SUBSETS = {
    "+".join(some): {"scores": some} for size in (1, 2, 3) for some in combinations(SCORES, size)
}
_experiment = partial(InTurns, methods=(), sizes=(600,), least=64)
EXPERIMENTS = {
    "busato-matching-queries": _experiment(
        exhibits="table 10.1, figures 10.3, 10.5 and 10.12 to 10.16",
        settings=("counts",),
        make=_by_size,
    ),
    "busato-matching-levels": _experiment(
        exhibits="figures 10.7 and 10.8",
        settings=("counts",),
        make=_varied({each: {"levels": each} for each in LEVELS}, "levels"),
    ),
    "busato-matching-scores": _experiment(
        exhibits="figure 10.9", settings=("counts",), make=_varied(_SUBSETS, "scores")
    ),
    "busato-matching-perturbed": _experiment(
        exhibits="figures 10.10 and 10.11", settings=("counts",), least=128, make=_perturbed
    ),
    "busato-matching-complexes": _experiment(
        exhibits="table 10.2, figures 10.4, 10.6, 10.13, 10.18, 10.19 and 10.21",
        sizes=(400,),
        make=_complexes,
    ),
}
