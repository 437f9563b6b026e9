"""Tables 3.4 and 3.5 of D. Takafuji's thesis, 2020: distances by packed words and by searches."""

from __future__ import annotations

from papers.measured import Measured
from papers.published import Published
from papers.tables import Maker, Rows
from papers.values import milliseconds, ratio

__all__ = ["ROWS"]

_DIAMETER = "takafuji-diameter"
_FIELDS, _SEARCHES = ("fw-packed4", "fw-packed8", "fw-packed16"), ("apsp-bfs", "ms-bfs")
_GPU = "Tesla V100"
_PAPER = Published("takafuji/diameter")


def _table_3_4(measured: Measured) -> Rows:
    edges = {
        (row["n"], row["percent"]): row["value"]
        for row in _PAPER.rows(quantity="edges")
        if row["value"] >= row["n"] - 1  # else there is no connected graph
    }
    facts = {(n, each["label"]["percent"]): each for n, each in measured.each_input(_DIAMETER)}
    edges |= {place: graph["m"] // 2 for place, graph in facts.items()}
    for n, percent in sorted(edges):
        times = {
            name: milliseconds(measured.seconds(_DIAMETER, n, method=name, percent=percent))
            for name in (*_FIELDS, *_SEARCHES)
        }
        packed = [time for name in _FIELDS if (time := times[name]) is not None]
        speedups = {name: ratio(times[name], min(packed, default=None)) for name in _SEARCHES}
        time_there = {"quantity": "computation time", "n": n}
        fact = facts.get((n, percent), {})
        yield {
            "n": n,
            "r, %": percent,
            "edges": edges[n, percent],
            **{f"{name}: ours": time for name, time in times.items()},
            f"fw-packed4: {_GPU}": _PAPER.value(method="fw-packed4", **time_there),
            f"apsp-bfs: {_GPU}": _PAPER.value(method="apsp-bfs", percent=percent, **time_there),
            **{f"{name} over packed: ours": value for name, value in speedups.items()},
            f"apsp-bfs over packed: {_GPU}": _PAPER.value(
                quantity="speedup of Floyd-Warshall over searches", n=n, percent=percent
            ),
            "diameter: ours": fact.get("diameter"),
            "average path length: ours": fact.get("average_path_length"),
        }


ROWS: dict[str, Maker] = {"table-3.4": _table_3_4}
