"""Tables and figures of F. Okuyama's thesis, 2013, chapter 4: iterative blocked Floyd-Warshall."""

from __future__ import annotations

from typing import Any

from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, Row, Rows, Table, table_of
from papers.values import Value, milliseconds, ratio, reduction
from pyapsp.all_pairs.dense import performance_model

__all__ = ["EXHIBITS"]

_TIMES, _TUNING = "okuyama-times", "okuyama-tuning"
_TILES = (16, 32, 64)
_ITERATIVE = ("fw-mm", "fw-twolevel")
_KERNELS = {"pivot": "pivot tile", "panels": "its row and column", "others": "all other tiles"}
_SELECTORS = ("MT", *performance_model.MODELS)
_GPU = "GTX 280"
_KEY = "n"
_WITH_SHARE = 32  # the t for which the text gives the share of updates in the instructions


def _published() -> Published:
    return Published("okuyama/blocked")


def _time(n: int, method: str, tile: int) -> float | None:
    """Return the milliseconds of table 4.6."""
    return _published().value(exhibit="table 4.6", n=n, method=method, tile=tile)


def _sizes(measured: Measured, experiment: str, *exhibits: str) -> list[int]:
    """Return every n with a measured or published value, in order."""
    found = set(measured.sizes(experiment))
    for exhibit in exhibits:
        found |= _published().sizes(exhibit=exhibit)
    return sorted(found)


def _operations(n: int) -> int:
    """Return the operations as the thesis counts them: two per update of the plain algorithm."""
    return 2 * n * (n - 1) ** 2


def _table_4_6(measured: Measured) -> Rows:
    for n in _sizes(measured, _TIMES, "table 4.6"):
        row: Row = {_KEY: n}
        for method in (*_ITERATIVE, "fw-recursive"):
            for tile in _TILES:
                ours = measured.seconds(_TIMES, n, method=method, tile=tile)
                row[f"{method} t={tile}: ours"] = milliseconds(ours)
                row[f"{method} t={tile}: {_GPU}"] = _time(n, method, tile)
        row["fw-minplus: ours"] = milliseconds(measured.seconds(_TIMES, n, method="fw-minplus"))
        yield row


def _table_4_7(measured: Measured) -> Rows:
    for n in _sizes(measured, _TIMES, "table 4.7"):
        for kernel, what in _KERNELS.items():
            row: Row = {_KEY: n, "kernel": what}
            for method in _ITERATIVE:
                for tile in _TILES:
                    ours = measured.phase(_TIMES, n, kernel, method=method, tile=tile)
                    row[f"{method} t={tile}: ours"] = milliseconds(ours)
                    row[f"{method} t={tile}: {_GPU}"] = _published().value(
                        exhibit="table 4.7", n=n, method=method, tile=tile, kernel=kernel
                    )
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
    for n in _sizes(measured, _TIMES, "table 4.8"):
        row: Row = {_KEY: n}
        for method in _ITERATIVE:
            for tile in _TILES:
                where: dict[str, Value] = {
                    "n": n,
                    "method": method,
                    "tile": tile,
                    "kernel": "others",
                }
                row[f"{method} t={tile}: ours, updates of the roof"] = _share_of_roof(
                    measured, n, method, tile
                )
                instructions = _published().value(exhibit="table 4.8", **where)
                row[f"{method} t={tile}: {_GPU}, instructions of the peak"] = instructions
                if tile == _WITH_SHARE:
                    share = _published().value(
                        quantity="share of updates in the instructions", **where
                    )
                    row[f"{method} t={tile}: {_GPU}, updates of the peak"] = (
                        None
                        if share is None or instructions is None
                        else instructions * share / 100
                    )
        yield row


def _figure_4_13(measured: Measured) -> Rows:
    for n in _sizes(measured, _TIMES, "table 4.6"):
        row: Row = {_KEY: n}
        for method in _ITERATIVE:
            ours = [measured.seconds(_TIMES, n, method=method, tile=tile) for tile in (16, 32)]
            theirs = [_time(n, method, tile) for tile in (16, 32)]
            row[f"{method}: ours, %"] = reduction(*ours)
            row[f"{method}: {_GPU}, %"] = reduction(*theirs)
        yield row


def _figure_4_13_drawn(measured: Measured, columns: list[str]) -> Drawing:
    lines = [Line(name, _GPU in name) for name in columns if name != _KEY]
    return Drawing(_KEY, {"reduction of the time (%)": lines}, logarithmic="x")


def _figure_4_16(measured: Measured) -> Rows:
    peak = _published().value(quantity="peak", device=_GPU)
    efficiencies = {r["n"] for r in _published().rows(quantity="efficiency")}
    for n in sorted({*_sizes(measured, _TIMES, "table 4.6"), *efficiencies}):
        row: Row = {_KEY: n}
        labels: dict[str, dict[str, Any]] = {"fw-mm": {"tile": 32}, "fw-minplus": {}}
        for method, label in labels.items():
            run = measured.run(_TIMES, n, method=method, **label)
            speed = ratio(_operations(n), run["kernel_seconds"]) if run else None
            row[f"{method}: ours, Gop/s"] = speed and speed / 1e9
            row[f"{method}: ours, % of the roof"] = (
                None if run is None or speed is None else 100 * speed / (2 * run["roof_rate"])
            )
        theirs = ratio(_operations(n) / 1e6, _time(n, "fw-mm", 32))
        row[f"fw-mm: {_GPU}, Gop/s"] = theirs
        percent = ratio(theirs, peak)
        row[f"fw-mm: {_GPU}, % of the peak"] = percent and 100 * percent
        row["fw-mm: GTX 260, % of the peak"] = _published().value(
            quantity="efficiency", device="GTX 260", n=n
        )
        yield row


def _figure_4_16_drawn(measured: Measured, columns: list[str]) -> Drawing:
    panels = {
        "performance (Gop/s)": [Line(name, "GTX" in name) for name in columns if "Gop/s" in name],
        "efficiency (%)": [Line(name, "GTX" in name) for name in columns if "%" in name],
    }
    return Drawing(_KEY, panels, logarithmic="x")


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
    reductions = "reduction by AT of the time with l = 1"
    published = {
        row["n"]: row["value"]
        for row in _published().rows(quantity=reductions, kernel="others", device=_GPU)
    }
    for n in sorted({*measured.sizes(_TUNING), *published}):
        row: Row = {_KEY: n}
        here = n in measured.sizes(_TUNING)
        chosen = _selected(measured, n) if here else dict.fromkeys(_SELECTORS)
        plain = measured.phase(_TUNING, n, "others", l=1)
        for selector in _SELECTORS:
            count = chosen[selector]
            row[f"{selector}: l"] = count
            row[f"{selector}: ours, %"] = (
                None
                if count is None
                else reduction(plain, measured.phase(_TUNING, n, "others", l=count))
            )
        for model in performance_model.MODELS:
            row[f"{model}: l by its equations, {_GPU}"] = (
                measured.input(_TUNING, n)["published_selected"][model] if here else None
            )
        row[f"AT: {_GPU}, %"] = published.get(n)
        yield row


def _figure_4_18_drawn(measured: Measured, columns: list[str]) -> Drawing:
    lines = [Line(f"{selector}: ours, %") for selector in _SELECTORS]
    lines.append(Line(f"AT: {_GPU}, %", published=True))
    return Drawing(_KEY, {"reduction of the time (%)": lines})


def _figure_4_19(measured: Measured) -> Exhibit:
    sizes = measured.sizes(_TUNING)
    n = 512 if 512 in sizes else sizes[-1]
    estimates = measured.input(_TUNING, n)
    launches = -(-n // 32)
    counts = {int(count) for times in estimates["published_estimates"].values() for count in times}
    counts |= {run["label"]["l"] for run in measured.runs(_TUNING, n)}
    rows = []
    for count in sorted(counts):
        total = measured.phase(_TUNING, n, "others", l=count)
        row: Row = {
            "l": count,
            "measured: ours": milliseconds(ratio(total, launches)),
        }
        for who, key in (("ours", "estimates"), (_GPU, "published_estimates")):
            for model in performance_model.MODELS:
                # keys of JSON are text
                seconds = estimates[key][model].get(str(count))
                row[f"{model}: {who}"] = milliseconds(seconds)
        rows.append(row)
    table = table_of(rows)
    lines = [Line(name, _GPU in name) for name in table.columns if name != "l"]
    return Exhibit(
        "figure-4.19",
        f"Figure 4.19: estimated and measured time of a launch by l, n = {n}, in ms",
        "The mean launch of the kernel for all tiles off the pivot in whole runs, and what the "
        "models estimate: for our device, and by the equations of the thesis for the GTX 280. "
        "Its measured times are lost; for n = 512 the text says that AT chose l = 2 and FT l = 8.",
        table,
        Drawing("l", {"time of a launch (ms)": lines}, logarithmic="y"),
    )


def _figure_4_20(measured: Measured) -> Rows:
    against = {
        "reduction by AT of the time with l = 1": (_GPU, "against l = 1"),
        "reduction by AT of the time with the l of the GTX 280": ("GTX 260", "against its l"),
    }
    published: dict[str, dict[int, float]] = {
        quantity: {
            row["n"]: row["value"]
            for row in _published().rows(quantity=quantity, device=device, kernel="")
        }
        for quantity, (device, _) in against.items()
    }
    sizes = {*measured.sizes(_TUNING), *(n for values in published.values() for n in values)}
    for n in sorted(sizes):
        here = measured.input(_TUNING, n) if n in measured.sizes(_TUNING) else None
        auto = measured.seconds(_TUNING, n, l=here["selected"]["AT"]) if here else None
        foreign = here["published_selected"]["AT"] if here else None
        before = {
            "l = 1": measured.seconds(_TUNING, n, l=1),
            f"the l of the {_GPU}": measured.seconds(_TUNING, n, l=foreign) if foreign else None,
        }
        row: Row = {
            _KEY: n,
            "l of AT: ours": here["selected"]["AT"] if here else None,
            f"l of AT: {_GPU}": foreign,
        }
        for (what, seconds), (quantity, (device, _)) in zip(
            before.items(), against.items(), strict=True
        ):
            row[f"against {what}: ours, %"] = reduction(seconds, auto)
            row[f"against {what}: {device}, %"] = published[quantity].get(n)
        yield row


def _figure_4_20_drawn(measured: Measured, columns: list[str]) -> Drawing:
    lines = [Line(name, "ours" not in name) for name in columns if "%" in name]
    return Drawing(_KEY, {"reduction of the time (%)": lines})


EXHIBITS = (
    Table(
        _TIMES,
        "table-4.6",
        "Table 4.6: computation time in ms",
        "Random graphs with m = 4n and whole-number weights below n, in int32: kernels without "
        "transfers, medians. h and t' are those of section 4.5.1 and table 4.4; l is chosen by AT "
        "for fw-mm, by measuring for fw-twolevel. fw-recursive makes 7n/t - 6 launches. "
        "fw-minplus, which is not from the thesis, is for comparison.",
        _table_4_6,
    ),
    Table(
        _TIMES,
        "table-4.7",
        "Table 4.7: time of each kernel in ms",
        "Sums over all launches, from the runs of table 4.6. The thesis gives n = 8192.",
        _table_4_7,
    ),
    Table(
        _TIMES,
        "table-4.8",
        "Table 4.8: throughput of the kernel for all tiles off the pivot",
        "The thesis has the counters of a profiler, which OpenCL lacks: executed instructions over "
        "those that the GPU can execute. Ours are the updates of this kernel over those that the "
        "device makes in registers, measured in the same run. What compares to it is the "
        "throughput times the share of updates in the instructions, which section 4.5.2 gives for "
        "t = 32 (l = 1).",
        _table_4_8,
    ),
    Table(
        _TIMES,
        "figure-4.13",
        "Figure 4.13: reduction of the time by t = 32 instead of t = 16, in %",
        "Computed from table 4.6, for the GTX 280, too.",
        _figure_4_13,
        _figure_4_13_drawn,
    ),
    Table(
        _TIMES,
        "figure-4.16",
        "Figure 4.16: performance and efficiency of fw-mm with t = 32",
        "2n(n - 1)² operations over the time. The values of the GTX 280 are computed from table "
        "4.6 and its peak of 311 Gop/s; of the six other GPUs the text gives one value, the "
        "largest of the GTX 260. Our efficiency is that against the roof measured in the same run.",
        _figure_4_16,
        _figure_4_16_drawn,
    ),
    Table(
        _TUNING,
        "figure-4.18",
        "Figure 4.18: reduction of the time off the pivot by the choice of l, against l = 1, in %",
        "fw-mm with t = 32; the time is that of the kernel for all tiles off the pivot in whole "
        "runs. MT takes the l that was fastest in them, AT, FT and TI estimate. Of the GTX 280 "
        "the text gives AT at n = 768, and 4 to 5 % for n from 5120 on; the l that are chosen for "
        "it follow from equations (4.4) to (4.10).",
        _figure_4_18,
        _figure_4_18_drawn,
    ),
    Made(_TUNING, _figure_4_19),
    Table(
        _TUNING,
        "figure-4.20",
        "Figure 4.20: reduction of the whole time by AT, in %",
        "(a) against l = 1, (b) against the l that is good for the GTX 280: there chosen by "
        "measuring; here the l that its model chooses for it (table 4.5). t = 32, kernels without "
        "transfers. Of the GPUs of the thesis the text gives one value for each part.",
        _figure_4_20,
        _figure_4_20_drawn,
    ),
)
