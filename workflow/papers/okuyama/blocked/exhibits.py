"""Tables and figures of F. Okuyama's thesis, 2013, chapter 4: iterative blocked Floyd-Warshall."""

from __future__ import annotations

from papers.measured import Measured
from papers.published import Published
from papers.tables import Filled, Maker, Row, Rows
from papers.values import Value, beside, milliseconds, percent, ratio, reduction, times
from pyapsp.all_pairs.dense import performance_model

__all__ = ["ROWS"]

_TIMES, _TUNING = "okuyama-times", "okuyama-tuning"
_TILES = (16, 32, 64)
_ITERATIVE = ("fw-mm", "fw-twolevel")
_KERNELS = {"pivot": "pivot tile", "panels": "its row and column", "others": "all other tiles"}
_MODELS = performance_model.MODELS
_GPU = "GTX 280"
_WITH_SHARE = 32  # the t for which the text gives the share of updates in the instructions
_PAPER = Published("okuyama/blocked")


def _time(n: int, method: str, tile: int) -> float | None:
    """Return the milliseconds of table 4.6."""
    return _PAPER.value(exhibit="table 4.6", n=n, method=method, tile=tile)


def _sizes(measured: Measured, exhibit: str) -> list[int]:
    """Return every n with a measured or published value, in order."""
    return sorted({*measured.sizes(_TIMES), *_PAPER.sizes(exhibit=exhibit)})


def _operations(n: int) -> int:
    """Return the operations as the thesis counts them: two per update of the plain algorithm."""
    return 2 * n * (n - 1) ** 2


def _table_4_6(measured: Measured) -> Rows:
    for n in _sizes(measured, "table 4.6"):
        row: Row = {"n": n}
        for method in (*_ITERATIVE, "fw-recursive"):
            for tile in _TILES:
                ours = milliseconds(measured.seconds(_TIMES, n, method=method, tile=tile))
                row |= beside(f"{method} t={tile}", ours, _time(n, method, tile), _GPU)
        row["fw-minplus: ours"] = milliseconds(measured.seconds(_TIMES, n, method="fw-minplus"))
        yield row


def _table_4_7(measured: Measured) -> Rows:
    for n in _sizes(measured, "table 4.7"):
        for kernel, what in _KERNELS.items():
            row: Row = {"n": n, "kernel": what}
            for method in _ITERATIVE:
                for tile in _TILES:
                    where: dict[str, Value] = {"method": method, "tile": tile}
                    ours = milliseconds(measured.phase(_TIMES, n, kernel, **where))
                    theirs = _PAPER.value(exhibit="table 4.7", n=n, kernel=kernel, **where)
                    row |= beside(f"{method} t={tile}", ours, theirs, _GPU)
            yield row


def _share_of_roof(measured: Measured, n: int, method: str, tile: int) -> float | None:
    """Return the updates per second of the tiles off the pivot as a fraction of the roof."""
    run = measured.run(_TIMES, n, method=method, tile=tile)
    seconds = measured.phase(_TIMES, n, "others", method=method, tile=tile)
    if run is None or not seconds:
        return None
    tiles = -(-n // tile)
    updates = tiles * (tiles - 1) ** 2 * tile**3
    return ratio(updates / seconds, run["roof_rate"])


def _table_4_8(measured: Measured) -> Rows:
    for n in _sizes(measured, "table 4.8"):
        row: Row = {"n": n}
        for method in _ITERATIVE:
            for tile in _TILES:
                name = f"{method} t={tile}"
                at: dict[str, Value] = {"n": n, "method": method, "tile": tile, "kernel": "others"}
                row[f"{name}: ours, updates of the roof"] = _share_of_roof(
                    measured, n, method, tile
                )
                instructions = _PAPER.value(exhibit="table 4.8", **at)
                row[f"{name}: {_GPU}, instructions of the peak"] = instructions
                if tile == _WITH_SHARE:
                    share = _PAPER.value(quantity="share of updates in the instructions", **at)
                    part = None if share is None else times(share, instructions)
                    row[f"{name}: {_GPU}, updates of the peak"] = ratio(part, 100)
        yield row


def _figure_4_13(measured: Measured) -> Rows:
    for n in _sizes(measured, "table 4.6"):
        row: Row = {"n": n}
        for method in _ITERATIVE:
            ours = [measured.seconds(_TIMES, n, method=method, tile=tile) for tile in (16, 32)]
            theirs = [_time(n, method, tile) for tile in (16, 32)]
            row[f"{method}: ours, %"] = reduction(*ours)
            row[f"{method}: {_GPU}, %"] = reduction(*theirs)
        yield row


def _figure_4_16(measured: Measured) -> Rows:
    peak = _PAPER.value(quantity="peak", device=_GPU)
    efficiencies = {r["n"] for r in _PAPER.rows(quantity="efficiency")}
    for n in sorted({*_sizes(measured, "table 4.6"), *efficiencies}):
        row: Row = {"n": n}
        labels: dict[str, dict[str, Value]] = {"fw-mm": {"tile": 32}, "fw-minplus": {}}
        for method, label in labels.items():
            run = measured.run(_TIMES, n, method=method, **label)
            speed = ratio(_operations(n), run["kernel_seconds"]) if run else None
            row[f"{method}: ours, Gop/s"] = speed and speed / 1e9
            row[f"{method}: ours, % of the roof"] = (
                None if run is None or speed is None else 100 * speed / (2 * run["roof_rate"])
            )
        theirs = ratio(_operations(n) / 1e6, _time(n, "fw-mm", 32))
        row[f"fw-mm: {_GPU}, Gop/s"] = theirs
        row[f"fw-mm: {_GPU}, % of the peak"] = percent(ratio(theirs, peak))
        row["fw-mm: GTX 260, % of the peak"] = _PAPER.value(
            quantity="efficiency", device="GTX 260", n=n
        )
        yield row


def _selected(measured: Measured, n: int) -> dict[str, int | None]:
    """Return the l that each selector chooses."""
    launches = {
        run["label"]["l"]: run["phases"]["others"]
        for run in measured.runs(_TUNING, n)
        if "others" in run["phases"]
    }
    best = performance_model.best(launches) if launches else None
    return {"MT": best, **measured.input(_TUNING, n)["selected"]}


def _figure_4_18(measured: Measured) -> Rows:
    at: dict[str, Value] = {"kernel": "others", "device": _GPU}
    rows = _PAPER.rows(quantity="reduction by AT of the time with l = 1", **at)
    published = {row["n"]: row["value"] for row in rows}
    for n in sorted({*measured.sizes(_TUNING), *published}):
        here = n in measured.sizes(_TUNING)
        chosen = _selected(measured, n) if here else dict.fromkeys(("MT", *_MODELS))
        plain = measured.phase(_TUNING, n, "others", l=1)
        row: Row = {"n": n}
        for selector, count in chosen.items():
            tuned = None if count is None else measured.phase(_TUNING, n, "others", l=count)
            row |= {f"{selector}: l": count, f"{selector}: ours, %": reduction(plain, tuned)}
        for model in _MODELS:
            row[f"{model}: l by its equations, {_GPU}"] = (
                measured.input(_TUNING, n)["published_selected"][model] if here else None
            )
        row[f"AT: {_GPU}, %"] = published.get(n)
        yield row


def _figure_4_19(measured: Measured) -> Filled:
    sizes = measured.sizes(_TUNING)
    n = 512 if 512 in sizes else sizes[-1]
    estimates = measured.input(_TUNING, n)
    launches = -(-n // 32)
    counts = {int(count) for each in estimates["published_estimates"].values() for count in each}
    counts |= {run["label"]["l"] for run in measured.runs(_TUNING, n)}
    rows = []
    for count in sorted(counts):
        total = measured.phase(_TUNING, n, "others", l=count)
        row: Row = {"l": count, "measured: ours": milliseconds(ratio(total, launches))}
        for who, key in (("ours", "estimates"), (_GPU, "published_estimates")):
            for model in _MODELS:
                # keys of JSON are text
                row[f"{model}: {who}"] = milliseconds(estimates[key][model].get(str(count)))
        rows.append(row)
    return Filled(rows, {"n": n})


def _figure_4_20(measured: Measured) -> Rows:
    against = {
        "l = 1": ("reduction by AT of the time with l = 1", _GPU),
        f"the l of the {_GPU}": (
            "reduction by AT of the time with the l of the GTX 280",
            "GTX 260",
        ),
    }
    published: dict[str, dict[int, float]] = {
        what: {
            row["n"]: row["value"]
            for row in _PAPER.rows(quantity=quantity, device=device, kernel="")
        }
        for what, (quantity, device) in against.items()
    }
    sizes = {*measured.sizes(_TUNING), *(n for values in published.values() for n in values)}
    for n in sorted(sizes):
        here = measured.input(_TUNING, n) if n in measured.sizes(_TUNING) else None
        ours = here["selected"]["AT"] if here else None
        foreign = here["published_selected"]["AT"] if here else None
        row: Row = {"n": n, **beside("l of AT", ours, foreign, _GPU)}
        auto, *before = (
            measured.seconds(_TUNING, n, l=count) if count else None for count in (ours, 1, foreign)
        )
        for seconds, (what, (_, device)) in zip(before, against.items(), strict=True):
            row[f"against {what}: ours, %"] = reduction(seconds, auto)
            row[f"against {what}: {device}, %"] = published[what].get(n)
        yield row


ROWS: dict[str, Maker] = {
    "table-4.6": _table_4_6,
    "table-4.7": _table_4_7,
    "table-4.8": _table_4_8,
    "figure-4.13": _figure_4_13,
    "figure-4.16": _figure_4_16,
    "figure-4.18": _figure_4_18,
    "figure-4.19": _figure_4_19,
    "figure-4.20": _figure_4_20,
}
