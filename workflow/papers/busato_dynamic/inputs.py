"""[B], table 18.2: graphs with the published numbers of rows and entries, drawn at random."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from papers.published import Published
from pyapsp.graph import Graph, read

__all__ = ["GRAPHS", "StandIn", "power_graph", "public_graphs", "stand_in"]


@dataclass(frozen=True)
class StandIn:
    """What is known of a graph of table 18.2."""

    # Millions.
    rows: float
    entries: float
    # Standard deviation of the lengths of rows. The thesis does not give it: it is about that of
    # the public matrix.
    deviation: float
    # Whether lengths are near their mean, as in a matrix of finite elements; otherwise they have a
    # long tail, and their logarithms a normal distribution.
    matrix: bool = False


#: By the names of the thesis. The rows of dblp-2010, printed as 0.03, follow from its mean 5.0.
GRAPHS = {
    "dblp-2010": StandIn(0.326, 1.6, 6),
    "Cantilever": StandIn(0.06, 4.1, 14, matrix=True),
    "Protein": StandIn(0.036, 4.3, 32, matrix=True),
    "Spheres": StandIn(0.08, 6.1, 19, matrix=True),
    "Ship": StandIn(0.14, 7.6, 11, matrix=True),
    "Wind": StandIn(0.21, 11.6, 4.7, matrix=True),
    "in-2004": StandIn(1.38, 16.7, 37),
    "soc-LiveJournal1": StandIn(4.85, 69.0, 36),
    "cage15": StandIn(5.15, 99.2, 5.7, matrix=True),
    "europa-osm": StandIn(50.91, 108.1, 0.5, matrix=True),
    "kron_g500-logn21": StandIn(2.1, 182.1, 756),
    "indochina-2004": StandIn(7.41, 194.1, 57),
    "uk-2002": StandIn(18.5, 298.1, 27),
    "com-livejournal": StandIn(4.0, 69.3, 43),
    "com-orkut": StandIn(3.07, 234.3, 155),
}


def _degrees(name: str, most: int) -> NDArray[np.int64]:
    """Return the lengths of rows; fewer rows if there would be more than `most` entries."""
    about, random = GRAPHS[name], np.random.default_rng(sorted(GRAPHS).index(name))
    share = min(most / (1e6 * about.entries), 1.0)
    n = max(int(1e6 * about.rows * share), 16)
    mean = about.entries / about.rows
    if about.matrix:
        lengths = random.normal(mean, about.deviation, n)
    else:
        spread = np.log1p((about.deviation / mean) ** 2)
        lengths = random.lognormal(np.log(mean) - spread / 2, np.sqrt(spread), n)
    return np.rint(lengths).clip(0, n - 1).astype(np.int64)


def stand_in(name: str, most: int) -> Graph:
    """Return a graph with the rows of one of `GRAPHS`, and neighbours drawn at random.

    A graph with more than `most` entries has fewer rows, so that it has about so many entries.
    """
    degrees = _degrees(name, most)
    n = degrees.size
    random = np.random.default_rng(1)
    first = np.concatenate([[0], np.cumsum(degrees)])
    # a walk of constant steps from a random vertex meets none twice: the step and n are coprime
    step = next(each for each in (7919, 104729, 1299709) if n % each)
    tails = np.repeat(np.arange(n), degrees)
    place = np.arange(first[-1]) - np.repeat(first[:-1], degrees)
    heads = (np.repeat(random.integers(0, n, n), degrees) + step * place) % n
    heads = (np.sort(tails << 32 | heads) & (2**32 - 1)).astype(np.int32)
    ones = np.ones(heads.size, np.int64)
    return Graph.from_checked_rows(first, heads, ones, copy=False)


def public_graphs(most: int) -> Iterator[tuple[str, Graph, int]]:
    """Yield name, graph and published k_max of table 19.2 with at most so many edges.

    Those whose file, NAME.txt or NAME.txt.gz of SNAP, is in the folder that ``PYAPSP_DATA_MIRROR``
    names.
    """
    folder = Path(os.environ.get("PYAPSP_DATA_MIRROR", ""))
    for row in Published("busato_dynamic").rows(exhibit="table 19.2", quantity="k_max"):
        paths = [folder / f"{row['graph']}.txt{suffix}" for suffix in ("", ".gz")]
        path = next(filter(Path.is_file, paths), None)
        if path is not None:
            graph = read(path).symmetrized()
            if graph.m // 2 <= most:
                yield row["graph"], graph, row["value"]


def power_graph(scale: int) -> Graph:
    """Return an undirected graph as the Graph 500 draws it: 2^scale vertices, 16 edges of each."""
    random = np.random.default_rng(scale)
    n, m = 1 << scale, 16 << scale
    tails, heads = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for _ in range(scale):
        draw = random.random(m)
        tails = 2 * tails + (draw >= 0.76)
        heads = 2 * heads + ((draw >= 0.57) & (draw < 0.76) | (draw >= 0.95))
    names = random.permutation(n)
    apart = tails != heads
    ends = names[tails[apart]], names[heads[apart]]
    return Graph.from_arcs(n, *ends, directed=False, name=f"power graph of scale {scale}")
