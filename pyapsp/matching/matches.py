"""`Matches`: the result of a search."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.extras import extra
from pyapsp.base.json import Record
from pyapsp.graph.validation import integer
from pyapsp.matching.network import Network

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["Matches", "SearchStats"]


class SearchStats(TypedDict, total=False):
    """What a search measures and was asked for.

    Attributes
    ----------
    method : str
    device : str
        Only for the method "device".
    seconds : float
        Of the kernels, or of the reference.
    options : dict
    """

    method: str
    device: str
    seconds: float
    options: Record


@dataclass(frozen=True, eq=False)
class Matches:
    """Matches of a query, in the order of the chains that found them.

    Parameters
    ----------
    query, target : Network
    partners : (K, nodes) int32 ndarray
        The target vertex of each query node, -1 for none.
    units : (K,) int64 ndarray
        The costs in units of 1 / 65536 of a mismatch, not divided by the number of nodes and edges
        of the query.
    similarity : (nodes, n) uint32 ndarray or None
        Given similarities, in the same units.
    stats : dict
        ``method``, ``device``, ``seconds`` (kernels, or the reference), ``options``.
    """

    query: Network
    target: Network
    partners: NDArray[np.int32]
    units: NDArray[np.int64]
    similarity: NDArray[np.uint32] | None = None
    stats: SearchStats = field(default_factory=SearchStats)

    def __len__(self) -> int:
        """Return K."""
        return len(self.partners)

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """The cost of each match, from 0 to 1.

        It is the sum of 1 - S over matched nodes, and of the nodes and edges without a match,
        divided by the number of nodes and edges of the query. A query edge is matched if its ends
        are, and the target has the edge.
        """
        return self.units / (65536.0 * (self.query.n + self.query.m))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The numbers of the distinct matches, the cheapest first, then the first found."""
        _, first = np.unique(self.partners, axis=0, return_index=True)
        first = np.sort(first)
        return first[np.argsort(self.units[first], kind="stable")]

    @property
    def distinct(self) -> float:
        """The part of the matches that are distinct."""
        return self.order.size / len(self)

    @property
    def best(self) -> dict[Hashable, Hashable]:
        """The cheapest match: names of query nodes and of their partners."""
        row = self.partners[self.order[0]]
        nodes, vertices = self.query.vertices, self.target.vertices
        return {nodes[q]: vertices[t] for q, t in enumerate(row.tolist()) if t >= 0}

    def node_similarities(self) -> NDArray[np.float64]:
        """Return S(q, M(q)) for all matches, 0 for nodes without a partner: (K, nodes)."""
        partner = np.maximum(self.partners, 0)
        if self.similarity is None:
            similar = (self.target.labels[partner] == self.query.labels).astype(float)
        else:
            similar = self.similarity[np.arange(self.query.n), partner] / 65536.0
        return np.where(self.partners >= 0, similar, 0.0)

    def matched_edges(self) -> NDArray[np.bool_]:
        """Return which edges of ``query.edges`` each match has: (K, m) bool."""
        tails, heads = (self.partners[:, self.query.edges[:, side]] for side in (0, 1))
        # nodes without a partner have -1
        ends = (np.maximum(each, 0).ravel() for each in (tails, heads))
        there = self.target.has_edges(*ends).reshape(tails.shape)
        return there & (tails >= 0) & (heads >= 0)

    def _cheapest(self, top: int | None) -> NDArray[np.int64]:
        """Return the numbers of the `top` cheapest distinct matches, or of all."""
        count = None if top is None else integer("top", "Matches", top, 0)
        return self.order[:count]

    def to_frame(self, top: int | None = None) -> pandas.DataFrame:
        """Return a pandas.DataFrame with a row for each node of the distinct matches.

        Parameters
        ----------
        top : int, optional
            Only the `top` cheapest matches.

        Returns
        -------
        pandas.DataFrame
            The columns ``match`` (0 is the cheapest), ``chain``, ``cost``, ``node``, ``vertex``
            (missing if the node has no partner), ``node_label``, ``vertex_label`` and
            ``similarity``.
        """
        with extra("matching", "Matches.to_frame"):
            import pandas

        chosen = self._cheapest(top)
        partners, nodes = self.partners[chosen], self.query.n
        vertex = self.target.vertices[np.maximum(partners, 0)].astype(object)
        label = self.target.labels[np.maximum(partners, 0)].astype(object)
        vertex[partners < 0] = label[partners < 0] = None
        return pandas.DataFrame(
            {
                "match": np.repeat(np.arange(len(chosen)), nodes),
                "chain": np.repeat(chosen, nodes),
                "cost": np.repeat(self.costs[chosen], nodes),
                "node": np.tile(self.query.vertices, len(chosen)),
                "vertex": vertex.ravel(),
                "node_label": np.tile(self.query.labels.astype(object), len(chosen)),
                "vertex_label": label.ravel(),
                "similarity": self.node_similarities()[chosen].ravel(),
            }
        )

    def summary(self, top: int | None = None) -> pandas.DataFrame:
        """Return a pandas.DataFrame with a row for each distinct match, the cheapest first.

        Returns
        -------
        pandas.DataFrame
            The columns ``match``, ``cost``, ``found`` (how many chains found it), ``nodes`` and
            ``edges`` (how many are matched), ``similarity`` (the mean over the matched nodes).
        """
        with extra("matching", "Matches.summary"):
            import pandas

        chosen = self._cheapest(top)
        _, inverse, chains = np.unique(
            self.partners, axis=0, return_inverse=True, return_counts=True
        )
        matched = (self.partners >= 0).sum(axis=1)
        return pandas.DataFrame(
            {
                "match": np.arange(len(chosen)),
                "cost": self.costs[chosen],
                "found": chains[inverse.ravel()][chosen],
                "nodes": matched[chosen],
                "edges": self.matched_edges().sum(axis=1)[chosen],
                "similarity": (self.node_similarities().sum(axis=1) / matched)[chosen],
            }
        )

    def draw(self, match: int = 0, axes: Iterable[Axes] | None = None) -> Figure | SubFigure:
        """Draw the query beside a match; see `pyapsp.matching.picture.draw`."""
        from pyapsp.matching.picture import draw

        return draw(self, match, axes)

    def __repr__(self) -> str:
        """Return the number of matches and the best cost."""
        return (
            f"<Matches: {len(self)}, {self.order.size} distinct, best cost {self.costs.min():.4f}>"
        )
