"""K. Matsumoto, N. Nakasato and S. G. Sedukhin's poster, SC 2012: tiles, blocks, CPU and GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Filled, Line, Maker, Row, Rows, table_of
from papers.values import Value, ratio
from pyapsp.all_pairs.dense import bandwidth_model as model

__all__ = ["ROWS"]

_TILES, _BLOCKS = "matsumoto-tiles", "matsumoto-blocks"
_SIZES, _DEVICES = "matsumoto-sizes", "matsumoto-devices"
_GPU, _WHOLE = "HD 5870", "HD 5870 and its CPU"
_SIDES = (1, 2, 4, 8)
_UNIT = 64  # the size to which the tiled matrix is padded, and the steps of a product
_PAPER = Published("matsumoto")
_PUBLISHED_BLOCKS = range(256, 4097, 256)
_SQUARE = {"cut": "square", "split": "separated"}  # as on the poster


def _published(quantity: str, key: Value = "") -> float:
    value = _PAPER.value(quantity=quantity, key=key)
    assert value is not None
    return value


def _speed(run: dict[str, Any] | None, n: int) -> float | None:
    """Return the operations per second of the product alone."""
    if run is None:
        return None
    size = -(-n // _UNIT) * _UNIT
    return ratio(2 * size**3, (run["phases"] or {}).get("multiply"))


def _tiles(measured: Measured) -> Filled:
    peak, speed = _published("peak of the kernel"), _published("speed of the kernel", "4x8")
    labels = [run["label"] for _, run in measured.each_run(_TILES)]
    sides = sorted({*_SIDES, *(label[side] for label in labels for side in ("rows", "columns"))})
    tiles = {f"{rows}x{columns}": (rows, columns) for rows in sides for columns in sides}
    rows: list[Row] = []
    for n in measured.sizes(_TILES):
        roof = next(measured.runs(_TILES, n))["roof_rate"]
        for tile, (high, wide) in tiles.items():
            ours = _speed(measured.run(_TILES, n, rows=high, columns=wide), n)
            best = tile == "4x8"
            row: Row = {"n": n, "tile": tile}
            row["operations for a byte"] = model.tile_intensity(high, wide)
            row["GFlop/s: ours"] = ours and ours / 1e9
            row["% of the roof: ours"] = ours and 100 * ours / (2 * roof)
            needed = model.required_for_tile(2 * roof, high, wide) / 1e9
            row["GB/s needed at the roof: ours"] = needed
            row[f"GFlop/s: {_GPU}"] = speed if best else None
            efficiency = _published("efficiency of the kernel", "4x8") if best else None
            row[f"% of the peak: {_GPU}"] = efficiency
            row[f"GB/s needed at the peak: {_GPU}"] = model.required_for_tile(peak, high, wide)
            rows.append(row)
    places = {tile: place for place, tile in enumerate(tiles)}
    table = table_of(rows)
    lines = [
        Line("GFlop/s: ours", False, {"n": n}, f"GFlop/s: ours, n = {n}")
        for n in measured.sizes(_TILES)
    ]
    drawn = table.assign(tile=table["tile"].map(places))
    figure = Drawing("tile", {"GFlop/s": lines}).of(drawn)
    figure.axes[0].set_xticks(list(places.values()), list(places), rotation=60)
    return Filled(rows, {"cache": _published("bandwidth of the L1 cache")}, figure)


def _gflops(run: dict[str, Any], seconds: str = "kernel_seconds") -> float:
    """Return the operations per second of a whole run with transfers, measured or predicted."""
    return float(2 * run["input"]["n"] ** 3 / run[seconds] / 1e9)


def _both_ways(speeds: Mapping[str, float | None], there: str, back: str) -> float | None:
    """Return bytes per second if equal amounts are uploaded and downloaded in turn."""
    one, other = speeds[there], speeds[back]
    return None if one is None or other is None else 2 / (1 / one + 1 / other)


def _feed(speeds: Mapping[str, float | None]) -> float:
    """Return the bytes per second to and from the kernels: over the bus, or by copies."""
    ways = (_both_ways(speeds, "up", "down"), _both_ways(speeds, "read", "write"))
    return min(way for way in ways if way is not None)


def _of_blocks(
    measured: Measured,
    ours: Callable[[int, dict[str, Any], Mapping[str, float]], Row],
    theirs: Callable[[int], Row],
) -> list[Row]:
    """Return a row for each run over blocks, then one for each block of the poster.

    `ours` gets b, the record and the speeds that the planner measured.
    """
    rows: list[Row] = []
    for n, run in measured.each_run(_BLOCKS):
        # the given block, rounded up to a multiple that the kernels need
        block, label = run["parameters"]["block"], run["label"]
        row = {"n": n, "b": block, "cut": label["cut"], "split": label["split"]}
        rows.append(row | ours(block, run, measured.input(_BLOCKS, n)["speeds"]))
    return rows + [{"b": block, **_SQUARE, **theirs(block)} for block in _PUBLISHED_BLOCKS]


def _blocks(measured: Measured) -> Rows:
    peak, bandwidth = _published("peak") * 1e9, _published("measured bandwidth") * 1e9

    def ours(block: int, run: dict[str, Any], speeds: Mapping[str, float]) -> Row:
        most = model.attainable(2 * speeds["product"], _feed(speeds), block)
        return {
            "GFlop/s: ours": _gflops(run),
            "GFlop/s predicted: ours": _gflops(run, "predicted_seconds"),
            "GFlop/s at most: ours": most / 1e9,
            "% of the matrix on the device: ours": (
                100 * run["peak_device_bytes"] / (4 * run["input"]["n"] ** 2)
            ),
        }

    def theirs(block: int) -> Row:
        return {
            f"GFlop/s: {_GPU}": _PAPER.value(quantity="saturated speed", key=block),
            f"GFlop/s at most: {_GPU}": model.attainable(peak, bandwidth, block) / 1e9,
        }

    return _of_blocks(measured, ours, theirs)


def _bandwidth(measured: Measured) -> Filled:
    peak, bandwidth = _published("peak") * 1e9, _published("measured bandwidth")

    def ours(block: int, run: dict[str, Any], speeds: Mapping[str, float]) -> Row:
        bus, copies = _both_ways(speeds, "up", "down"), _both_ways(speeds, "read", "write")
        return {
            "GB/s needed: ours": model.required_for_block(2 * speeds["product"], block) / 1e9,
            "GB/s measured: ours": run["moved_bytes"] / run["kernel_seconds"] / 1e9,
            "GB/s of the bus: ours": bus and bus / 1e9,
            "GB/s of copies: ours": copies and copies / 1e9,
        }

    def theirs(block: int) -> Row:
        return {
            f"GB/s needed: {_GPU}": model.required_for_block(peak, block) / 1e9,
            f"GB/s measured: {_GPU}": bandwidth,
        }

    rows = _of_blocks(measured, ours, theirs)
    speeds = measured.input(_BLOCKS, measured.sizes(_BLOCKS)[-1])["speeds"]
    blocks = sorted({block for row in rows if isinstance(block := row["b"], int)})
    words = {
        "enough": model.sufficient_block(2 * speeds["product"], _feed(speeds), blocks)
        or "none of them",
        "enough_there": model.sufficient_block(peak, 1e9 * bandwidth, _PUBLISHED_BLOCKS),
        "bus": _published("peak of the bus"),
    }
    return Filled(rows, words)


def _sizes(measured: Measured) -> Rows:
    for n in measured.sizes(_SIZES):
        seconds: dict[int, float] = {}
        planned: Row = {}
        for run in measured.runs(_SIZES, n):
            block = run["parameters"]["block"]
            seconds[block] = min(run["kernel_seconds"], seconds.get(block, float("inf")))
            if run["label"]["block"] == "planned":
                planned = {
                    "b of the planner: ours": block,
                    "GFlop/s with that: ours": _gflops(run),
                    "GFlop/s predicted: ours": _gflops(run, "predicted_seconds"),
                }
        best = model.best_block(seconds)
        yield {
            "n": n,
            "best b: ours": best,
            "GFlop/s with it: ours": 2 * n**3 / seconds[best] / 1e9,
            "GFlop/s with the worst: ours": 2 * n**3 / max(seconds.values()) / 1e9,
            **planned,
        }
    for row in _PAPER.rows(quantity="speed of the whole"):
        yield {"n": row["key"], f"GFlop/s with its best: {_WHOLE}": row["value"]}


def _devices(measured: Measured) -> Filled:
    kind = str(measured.device["kind"]).upper()
    cpu = "other CPU" if kind == "CPU" else "CPU"
    names = {
        "main": f"{kind} only",
        "cpu": f"{cpu} only",
        "hybrid": f"{kind} and {cpu}",
        "pivots": f"{kind} and {cpu}, which closes the pivot blocks",
    }
    rows: list[Row] = []
    opinions = []
    for n in measured.sizes(_DEVICES):
        alone = measured.run(_DEVICES, n, set="main") or {}
        planned = measured.input(_DEVICES, n)["planned"]
        taken = "main" if planned["helpers"] == "none" else "hybrid"
        for name, what in names.items():
            run = measured.run(_DEVICES, n, set=name)
            # a device without memory for the rows of a pivot block is not used
            if run is None or (name in ("hybrid", "pivots") and len(run["devices"]) == 1):
                continue
            row: Row = {"n": n, "which": what, "devices": ", ".join(run["devices"])}
            row["b"] = run["parameters"]["block"]
            for speed, gain, seconds in (
                ("GFlop/s: ours", "times the first: ours", "kernel_seconds"),
                (
                    "GFlop/s predicted: ours",
                    "times the first, predicted: ours",
                    "predicted_seconds",
                ),
            ):
                row[speed] = _gflops(run, seconds)
                row[gain] = ratio(alone.get(seconds), run[seconds])
            rows.append({**row, "taken by the planner": "yes" if name == taken else "no"})
        notes = "; ".join(planned["notes"])
        if planned["beside"] is None:
            notes += f"; there is no {cpu} beside this {kind}, so there is nothing to compare"
        opinions.append(f"The planner for n = {n}: {notes}.")
    rows += [
        {"n": row["key"], "which": "GPU and CPU", f"GFlop/s: {_WHOLE}": row["value"]}
        for row in _PAPER.rows(quantity="speed of the whole")
    ]
    return Filled(rows, {"opinions": " ".join(opinions)})


ROWS: dict[str, Maker] = {
    "tiles": _tiles,
    "blocks": _blocks,
    "bandwidth": _bandwidth,
    "sizes": _sizes,
    "devices": _devices,
}
