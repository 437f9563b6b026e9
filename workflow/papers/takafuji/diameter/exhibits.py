"""Tables 3.4 and 3.5 of D. Takafuji's thesis, 2020: distances by packed words and by searches."""

from __future__ import annotations

from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, table_of
from papers.values import milliseconds, ratio

__all__ = ["EXHIBITS"]

_DIAMETER = "takafuji-diameter"
_FIELDS = ("fw-packed4", "fw-packed8", "fw-packed16")
_GPU = "Tesla V100"


def _table_3_4(measured: Measured) -> Exhibit:
    theirs = Published("takafuji/diameter")
    edges = {
        (row["n"], row["percent"]): row["value"]
        for row in theirs.rows(quantity="edges")
        if row["value"] >= row["n"] - 1  # else there is no connected graph
    }
    facts = {
        (n, graph["label"]["percent"]): graph
        for n in measured.sizes(_DIAMETER)
        for graph in measured.inputs(_DIAMETER, n)
    }
    edges |= {place: graph["m"] // 2 for place, graph in facts.items()}
    searches = ("apsp-bfs", "ms-bfs")
    rows = []
    for n, percent in sorted(edges):
        times = {
            name: milliseconds(measured.seconds(_DIAMETER, n, method=name, percent=percent))
            for name in (*_FIELDS, *searches)
        }
        packed = [time for name in _FIELDS if (time := times[name]) is not None]
        speedups = {name: ratio(times[name], min(packed, default=None)) for name in searches}
        time_there = {"quantity": "computation time", "n": n}
        fact = facts.get((n, percent), {})
        rows.append(
            {
                "n": n,
                "r, %": percent,
                "edges": edges[n, percent],
                **{f"{name}: ours": time for name, time in times.items()},
                f"fw-packed4: {_GPU}": theirs.value(method="fw-packed4", **time_there),
                f"apsp-bfs: {_GPU}": theirs.value(method="apsp-bfs", percent=percent, **time_there),
                **{f"{name} over packed: ours": value for name, value in speedups.items()},
                f"apsp-bfs over packed: {_GPU}": theirs.value(
                    quantity="speedup of Floyd-Warshall over searches", n=n, percent=percent
                ),
                "diameter: ours": fact.get("diameter"),
                "average path length: ours": fact.get("average_path_length"),
            }
        )
    table = table_of(rows)
    n = measured.sizes(_DIAMETER)[-1]
    lines = [
        Line(name, _GPU in name, {"n": n})
        for name in table.columns
        if name.startswith(("fw-", "bfs-", "ms-")) and "over" not in name
    ]
    return Exhibit(
        "table-3.4",
        "Tables 3.4 and 3.5: distances for the diameter and the average path length, in ms",
        "Connected unweighted graphs with r per cent of all n (n - 1) / 2 edges: a random tree and "
        "other random edges. Floyd-Warshall on packed fields of 4, 8 and 16 bits as tuned for the "
        "device, there of 4 bits in one launch; left out where distances do not fit the fields. "
        "apsp-bfs has a search for each work-item, as there; ms-bfs is ours. Over packed: over the "
        "fastest of the three. The diameter and the average path length are those of all answers, "
        f"which are equal. Drawn: n = {n}.",
        table,
        Drawing("r, %", {"computation time (ms)": lines}, logarithmic="xy"),
    )


EXHIBITS = (Made(_DIAMETER, _table_3_4),)
