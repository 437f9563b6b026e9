"""Figures of D. Takafuji's thesis, 2020, chapter 4: bulk execution, and the memory machine."""

from __future__ import annotations

from functools import partial
from typing import Any

from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, table_of
from papers.values import Value, milliseconds, ratio

__all__ = ["EXHIBITS"]

_GPU = "GTX Titan"
_ARRANGEMENTS = ("column", "row")
# experiment -> program, its name, meaning of n, figures of the computing time and of the groups
_ALGORITHMS = {
    "takafuji-sort": ("bitonic_sort", "bitonic sort", "n numbers", "4.10", "4.15"),
    "takafuji-warshall": ("floyd_warshall", "Floyd-Warshall", "n vertices", "4.11", "4.16"),
    "takafuji-montgomery": (
        "montgomery",
        "Montgomery's multiplication",
        "n bits",
        "4.12",
        "4.17",
    ),
}


def _published() -> Published:
    return Published("takafuji/bulk")


def _line(measured: Measured, experiment: str, n: int, arrangement: str, what: str) -> Any:
    """Return a and b of the time a + b p in seconds, or two missing values."""
    given = measured.inputs(experiment, n)
    lines = given[0]["lines"] if given else {}
    return lines.get(arrangement, {}).get(what, (None, None))


def _at(line: tuple[float | None, float | None], p: int) -> float | None:
    """Return the time of p instances."""
    a, b = line
    return None if a is None or b is None else a + b * p


def _counts(measured: Measured, experiment: str) -> list[tuple[int, int]]:
    """Return every measured n and p."""
    return sorted(
        {
            (n, run["label"]["p"])
            for n in measured.sizes(experiment)
            for run in measured.runs(experiment, n)
            if "p" in run["label"]
        }
    )


def _times(measured: Measured, experiment: str) -> Exhibit:
    program, name, size, figure, _ = _ALGORITHMS[experiment]
    exhibit = {"exhibit": f"figure {figure}"}
    theirs = {"quantity": "computing time", **exhibit}
    speedup = {"quantity": "speedup over one core", **exhibit}
    places = set(_counts(measured, experiment))
    places |= {(row["n"], row["p"]) for row in _published().rows(**theirs)}
    rows = []
    for n, p in sorted(places):
        found = {
            each: measured.phases(experiment, n, arrangement=each, p=p) for each in _ARRANGEMENTS
        }
        column, row = (found[each].get("kernel") for each in _ARRANGEMENTS)
        core = measured.run(experiment, n, arrangement="none")
        alone = core["seconds"]["kernel"] / core["p"] * p if core and column else None
        model = {
            each: _at(_line(measured, experiment, n, each, "predicted"), p) if column else None
            for each in _ARRANGEMENTS
        }
        phases = found["column"]
        whole = sum(phases.values()) if phases else None
        rows.append(
            {
                "n": n,
                "p": p,
                "column-wise, ms: ours": milliseconds(column),
                f"column-wise, ms: {_GPU}": _published().value(n=n, p=p, **theirs),
                "row-wise, ms: ours": milliseconds(row),
                "column-wise with transfers, ms: ours": milliseconds(whole),
                "one core, ms: ours": milliseconds(alone),
                "one core over column-wise: ours": ratio(alone, column),
                f"one core over column-wise: {_GPU}": _published().value(n=n, p=p, **speedup),
                "one core over row-wise: ours": ratio(alone, row),
                "row-wise over column-wise: ours": ratio(row, column),
                "row-wise over column-wise, predicted: ours": ratio(model["row"], model["column"]),
                "column-wise, predicted, ms: ours": milliseconds(model["column"]),
                "row-wise, predicted, ms: ours": milliseconds(model["row"]),
            }
        )
    table = table_of(rows)
    n = measured.sizes(experiment)[0]
    drawn = ("column-wise, ms: ours", "row-wise, ms: ours", "one core, ms: ours")
    times = [Line(column, where={"n": n}) for column in drawn]
    times.append(Line(f"column-wise, ms: {_GPU}", published=True, where={"n": n}))
    over = "one core over column-wise"
    gains = [Line(f"{over}: {who}", who == _GPU, {"n": n}) for who in ("ours", _GPU)]
    lowest = _published().rows(quantity="least speedup over one core from here on", **exhibit)
    told = "".join(
        f" There the speedup is more than {each['value']} from p = {each['p']} on."
        for each in lowest
    )
    return Exhibit(
        f"figure-{figure}",
        f"Figure {figure}: computing time of {name} for p instances, and its speedup",
        f"The program {program}.c, {size}. Column-wise: the same elements of all instances are "
        "contiguous; row-wise: each instance is contiguous. Kernels without transfers and "
        "arrangement, medians. One core of our host runs the same program, compiled by the C "
        f"compiler, on a sample of the instances; there a Xeon of 2.66 GHz.{told} Predicted: by "
        f"the memory machine, from passes over arrays of the same size. Drawn: n = {n}.",
        table,
        Drawing("p", {"computing time (ms)": times, "speedup": gains}, logarithmic="xy"),
    )


def _model(measured: Measured, experiment: str) -> Exhibit:
    _, name, _, figure, _ = _ALGORITHMS[experiment]
    exhibit = f"figure {figure}"
    sizes = {*measured.sizes(experiment), *_published().sizes(exhibit=exhibit, quantity="a")}
    rows = []
    for n in sorted(sizes):
        given = measured.inputs(experiment, n)
        about = given[0] if given else {}
        machine, bounds = about.get("machine") or {}, about.get("bounds")
        most = max((p for size, p in _counts(measured, experiment) if size == n), default=0)
        slopes: dict[str, list[float | None]] = {}
        for arrangement in _ARRANGEMENTS:
            a, b = _line(measured, experiment, n, arrangement, "measured")
            expected = _line(measured, experiment, n, arrangement, "predicted")
            taken = measured.phases(experiment, n, arrangement=arrangement, p=most).get("kernel")
            memory, bounded = (
                bounds[what][arrangement] if bounds else None for what in ("memory", "seconds")
            )
            slopes[arrangement] = [taken, _at(expected, most), bounded]
            here: dict[str, Value] = {"exhibit": exhibit, "n": n}
            there = {
                what: _published().value(quantity=what, **here) if arrangement == "column" else None
                for what in ("a", "b")
            }
            rows.append(
                {
                    "n": n,
                    "arrangement": arrangement,
                    "accesses t": about.get("accesses"),
                    "width w": machine.get("width"),
                    "latency l": machine.get("latency"),
                    "a, ms: ours": milliseconds(a),
                    "a, ms, predicted: ours": milliseconds(expected[0]),
                    f"a, ms: {_GPU}": there["a"],
                    "b, ns: ours": None if b is None else 1e9 * b,
                    "b, ns, predicted: ours": None if b is None else 1e9 * expected[1],
                    f"b, ns: {_GPU}": there["b"],
                    "largest p": most or None,
                    "ms then: ours": milliseconds(taken),
                    "ms then, predicted: ours": milliseconds(_at(expected, most)),
                    "ms then, accesses alone: ours": milliseconds(memory),
                    "ms then, arithmetic alone: ours": milliseconds(
                        bounds["computing"] if bounds else None
                    ),
                }
            )
        found, *models = (ratio(row, column) for column, row in zip(*slopes.values(), strict=True))
        rows[-1] |= {"row-wise over column-wise: ours": found}
        for name_of_model, model in zip(("predicted", "by the bounds"), models, strict=True):
            off = ratio(model, found)
            rows[-1] |= {
                f"row-wise over column-wise, {name_of_model}: ours": model,
                f"{name_of_model}, off by, %": None if off is None else 100 * (off - 1),
            }
    return Exhibit(
        f"figure-{figure}-model",
        f"Figure {figure} by the memory machine: the time of {name} is a + b p",
        "Measured: a and b fitted to the times of the figure. Predicted: t accesses of each "
        "instance on a machine of width w and latency l, (p / w + l - 1) t column-wise and "
        "(p + l - 1) t row-wise; w, l and the length of a time unit are measured by passes over "
        "arrays of the same size. The model ignores arithmetic and caches. "
        f"a and b of the {_GPU} are those of the text.",
        table_of(rows),
    )


def _groups(measured: Measured, experiment: str) -> Exhibit:
    _, name, size, _, figure = _ALGORITHMS[experiment]
    grouped = f"{experiment}-groups"
    exhibit = {"exhibit": f"figure {figure}"}
    latencies = {"quantity": "latency", **exhibit}
    places = {(row["n"], row["b"]) for row in _published().rows(**latencies)}
    places |= {
        (n, run["label"]["b"]) for n in measured.sizes(grouped) for run in measured.runs(grouped, n)
    }
    rows = []
    for n, b in sorted(places):
        run = measured.run(grouped, n, b=b)
        seconds = run["seconds"] if run else {}
        speed = None
        if run:
            size_read = measured.input(grouped, n)["bytes"]
            speed = run["instances"] * size_read / seconds["total"] / 1e9
        rows.append(
            {
                "n": n,
                "b": b,
                "GB/s: ours": speed,
                "latency, ms: ours": milliseconds(seconds.get("latency")),
                "largest latency, ms: ours": milliseconds(seconds.get("largest_latency")),
                f"latency, ms: {_GPU}": _published().value(n=n, b=b, **latencies),
            }
        )
    table = table_of(rows)
    n = measured.sizes(grouped)[0]
    speeds = [Line("GB/s: ours", where={"n": n})]
    delays = [Line("latency, ms: ours", where={"n": n})]
    delays.append(Line(f"latency, ms: {_GPU}", published=True, where={"n": n}))
    full = _published().value(quantity="throughput saturated from", **exhibit)
    return Exhibit(
        f"figure-{figure}",
        f"Figure {figure}: throughput and latency of {name} for groups of b instances",
        f"{size}; 32 groups, one after the other: while one runs, the next is uploaded and the "
        "last is downloaded. Throughput: the bytes that the program reads; latency: the time from "
        "the start of a group until its results are in host memory. In the thesis the throughput "
        f"grows up to b = {full}, and the text gives two values of the latency. Drawn: n = {n}.",
        table,
        Drawing("b", {"throughput (GB/s)": speeds, "latency (ms)": delays}, logarithmic="xy"),
    )


EXHIBITS = (
    *(
        Made(experiment, partial(make, experiment=experiment))
        for experiment in _ALGORITHMS
        for make in (_times, _model)
    ),
    *(
        Made(f"{experiment}-groups", partial(_groups, experiment=experiment))
        for experiment in _ALGORITHMS
    ),
)
