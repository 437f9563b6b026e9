"""Tools to judge matches: perturbed queries, functional coherence, tests of significance."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.base.extras import extra
from pyapsp.matching.matches import Matches
from pyapsp.matching.network import Network, distinct_labels

if TYPE_CHECKING:
    import pandas

__all__ = ["coherence", "costs_differ", "perturbed"]

_Costs: TypeAlias = Sequence[float] | NDArray[np.float64]


def perturbed(
    query: Network, part: float, seed: int = 0, labels: Sequence[Hashable] = ()
) -> Network:
    """Change labels and edges of a query.

    Parameters
    ----------
    query : Network
    part : float
        The part of the nodes that are changed, from 0 to 1; at least one if it is not 0. Each gets
        another label, and one of its edges, if it has one, gets another end.
    seed : int
    labels : sequence, optional
        The labels to choose from; by default those of the query.

    Returns
    -------
    Network

    Raises
    ------
    ParameterError
        `part` is not from 0 to 1.
    """
    if not 0 <= part <= 1:
        raise ParameterError.of("part", "perturbed", "from 0 to 1", part)
    random = np.random.default_rng(seed)
    known = distinct_labels(labels if len(labels) else query.labels.tolist())
    changed = random.permutation(query.n)[: max(round(part * query.n), part > 0)]
    changed_labels = query.labels.tolist()
    edges = {tuple(edge) for edge in query.edges.tolist()}
    for node in changed.tolist():
        others = [label for label in known if label != changed_labels[node]]
        if others:
            changed_labels[node] = others[int(random.integers(len(others)))]
        mine = sorted(edge for edge in edges if node in edge)
        free = [
            other
            for other in range(query.n)
            if other != node and tuple(sorted((node, other))) not in edges
        ]
        if mine and free:
            edges.remove(mine[int(random.integers(len(mine)))])
            end = free[int(random.integers(len(free)))]
            edges.add((min(node, end), max(node, end)))
    pairs = np.array(sorted(edges), np.int64).reshape(-1, 2)
    return Network.from_edges(
        pairs, changed_labels, vertices=query.vertices.tolist(), name=query.name
    )


def coherence(
    matches: Matches, annotations: Mapping[Hashable, Collection[Hashable]], top: int | None = None
) -> pandas.DataFrame:
    """Find whether the vertices of a match share annotations more often than by chance.

    For a term that M of the N target vertices have, and k of the n vertices of a match, p is the
    probability of k or more among n random vertices (hypergeometric distribution). The p-values of
    a match are corrected for the number of its terms (false discovery rate, Benjamini and
    Hochberg).

    Parameters
    ----------
    matches : Matches
    annotations : mapping
        Names of target vertices -> terms, e.g. of the gene ontology.
    top : int, optional
        Only the `top` cheapest matches.

    Returns
    -------
    pandas.DataFrame
        A row for each distinct match: ``match``, ``cost``, ``terms``, and ``p``, the mean of the
        corrected p-values, NaN if no vertex has a term.
    """
    with extra("matching", "coherence"):
        import pandas
    from scipy.stats import false_discovery_control, hypergeom

    names = matches.target.vertices.tolist()
    terms = [frozenset(annotations.get(name, ())) for name in names]
    everywhere: dict[Hashable, int] = {}
    for some in terms:
        for term in some:
            everywhere[term] = everywhere.get(term, 0) + 1
    rows = []
    for number, chosen in enumerate(matches.order[:top].tolist()):
        partners = [t for t in matches.partners[chosen].tolist() if t >= 0]
        here: dict[Hashable, int] = {}
        for t in partners:
            for term in terms[t]:
                here[term] = here.get(term, 0) + 1
        counts = np.array([(here[term], everywhere[term]) for term in here]).reshape(-1, 2)
        p = hypergeom.sf(counts[:, 0] - 1, len(names), counts[:, 1], len(partners))
        mean = float(false_discovery_control(p).mean()) if p.size else float("nan")
        rows.append((number, matches.costs[chosen], len(here), mean))
    return pandas.DataFrame(rows, columns=["match", "cost", "terms", "p"])


def costs_differ(
    pairs: Sequence[tuple[_Costs, _Costs]], alternative: str = "less"
) -> tuple[np.ndarray, np.ndarray]:
    """Test for many queries whether the costs of one search are smaller than those of another.

    Parameters
    ----------
    pairs : sequence of pairs of array-like
        For each query the costs of both searches.
    alternative : {"less", "greater", "two-sided"}

    Returns
    -------
    p, corrected : (queries,) float64 ndarray
        The p-values of the Wilcoxon rank-sum test, and the same corrected for the number of queries
        (false discovery rate, Benjamini and Hochberg).

    Raises
    ------
    ParameterError
        There is no pair, or one without costs.
    """
    from scipy.stats import false_discovery_control, ranksums

    if not pairs or any(not len(one) or not len(other) for one, other in pairs):
        raise ParameterError.of("pairs", "costs_differ", "pairs of costs", pairs)
    p = np.array([ranksums(one, other, alternative).pvalue for one, other in pairs])
    return p, false_discovery_control(p)
