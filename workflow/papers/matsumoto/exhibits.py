"""K. Matsumoto, N. Nakasato and S. G. Sedukhin's poster, SC 2012: tiles, blocks, CPU and GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, Row, Rows, Table, table_of
from papers.values import Value, ratio
from pyapsp.all_pairs.dense import bandwidth_model as model

__all__ = ["EXHIBITS"]

_TILES, _BLOCKS = "matsumoto-tiles", "matsumoto-blocks"
_SIZES, _DEVICES = "matsumoto-sizes", "matsumoto-devices"
_GPU = "HD 5870"
_SIDES = (1, 2, 4, 8)
_UNIT = 64  # the size to which the tiled matrix is padded, and the steps of a product
_PUBLISHED_BLOCKS = range(256, 4097, 256)
_SQUARE = {"cut": "square", "split": "separated"}  # as on the poster
_CUTS = tuple(
    {"cut": cut, "split": split} for cut in ("square", "rows") for split in ("fused", "separated")
)


def _published(quantity: str, key: Value = "") -> float:
    value = Published("matsumoto").value(quantity=quantity, key=key)
    assert value is not None
    return value


def _speed(run: dict[str, Any] | None, n: int) -> float | None:
    """Return the operations per second of the product alone."""
    if run is None:
        return None
    size = -(-n // _UNIT) * _UNIT
    return ratio(2 * size**3, (run["phases"] or {}).get("multiply"))


def _tiles(measured: Measured) -> Exhibit:
    peak, speed = _published("peak of the kernel"), _published("speed of the kernel", "4x8")
    measured_sides = {
        side
        for n in measured.sizes(_TILES)
        for run in measured.runs(_TILES, n)
        for side in (run["label"]["rows"], run["label"]["columns"])
    }
    sides = sorted({*_SIDES, *measured_sides})
    tiles = {f"{rows}x{columns}": (rows, columns) for rows in sides for columns in sides}
    rows = []
    for n in measured.sizes(_TILES):
        roofs = [run["roof_rate"] for run in measured.runs(_TILES, n)]
        for tile, (high, wide) in tiles.items():
            ours = _speed(measured.run(_TILES, n, rows=high, columns=wide), n)
            there = tile == "4x8"
            rows.append(
                {
                    "n": n,
                    "tile": tile,
                    "operations for a byte": model.tile_intensity(high, wide),
                    "GFlop/s: ours": ours and ours / 1e9,
                    "% of the roof: ours": ours and 100 * ours / (2 * roofs[0]),
                    "GB/s needed at the roof: ours": (
                        model.required_for_tile(2 * roofs[0], high, wide) / 1e9
                    ),
                    f"GFlop/s: {_GPU}": speed if there else None,
                    f"% of the peak: {_GPU}": (
                        _published("efficiency of the kernel", "4x8") if there else None
                    ),
                    f"GB/s needed at the peak: {_GPU}": (model.required_for_tile(peak, high, wide)),
                }
            )
    table = table_of(rows)
    places = {tile: place for place, tile in enumerate(tiles)}
    drawn = table.assign(tile=table["tile"].map(places))
    lines = [
        Line("GFlop/s: ours", False, {"n": n}, f"GFlop/s: ours, n = {n}")
        for n in measured.sizes(_TILES)
    ]
    figure = Drawing("tile", {"GFlop/s": lines}).of(drawn)
    figure.axes[0].set_xticks(list(places.values()), list(places), rotation=60)
    cache = _published("bandwidth of the L1 cache")
    return Exhibit(
        "tiles",
        "Tiles of the kernel: speed, and bandwidth that it needs (RB_kernel)",
        "fw-minplus in float32, form tiles, groups of 8 x 8 (a wavefront of 64), multiplication "
        "apart from addition: a work-item has a tile of t_r x t_c. The speed is that of the "
        "products alone, two operations an update. RB_kernel = peak / (2 t_r t_c / (4 (t_r + "
        f"t_c))); there it is below the {cache:.0f} GB/s of the L1 cache from 4x8 on. The plotted "
        "speeds are lost but for the best one, 4x8. Groups of work-items are loops on a CPU, and "
        "tiles of more than 16 values are left out there.",
        table,
        figure,
    )


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
    ours: Callable[[int, dict[str, Any], dict[str, Any]], Row],
    theirs: Callable[[int], Row],
) -> Iterator[Row]:
    """Yield a row for each run over blocks, then one for each block of the poster.

    `ours` gets b, the record and the speeds that the planner measured.
    """
    for n in measured.sizes(_BLOCKS):
        speeds = measured.input(_BLOCKS, n)["speeds"]
        for run in measured.runs(_BLOCKS, n):
            # the given block, rounded up to a multiple that the kernels need
            block, label = run["parameters"]["block"], run["label"]
            place = {"n": n, "b": block, "cut": label["cut"], "split": label["split"]}
            yield place | ours(block, run, speeds)
    for block in _PUBLISHED_BLOCKS:
        yield {"b": block, **_SQUARE, **theirs(block)}


def _lines(column: str, n: int, what: str) -> list[Line]:
    """Return a line for each way to cut the matrix with n vertices."""
    return [
        Line(column, False, {"n": n, **cut}, f"{what}: {', '.join(cut.values())}") for cut in _CUTS
    ]


def _blocks(measured: Measured) -> Exhibit:
    peak, bandwidth = _published("peak") * 1e9, _published("measured bandwidth") * 1e9

    def ours(block: int, run: dict[str, Any], speeds: dict[str, Any]) -> Row:
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
            f"GFlop/s: {_GPU}": Published("matsumoto").value(quantity="saturated speed", key=block),
            f"GFlop/s at most: {_GPU}": model.attainable(peak, bandwidth, block) / 1e9,
        }

    table = table_of(_of_blocks(measured, ours, theirs))
    largest = measured.sizes(_BLOCKS)[-1]
    panels = {
        "GFlop/s": [*_lines("GFlop/s: ours", largest, "ours"), Line(f"GFlop/s: {_GPU}", True)],
        "GFlop/s by the models": [
            *_lines("GFlop/s predicted: ours", largest, "predicted"),
            Line("GFlop/s at most: ours", False, {"n": largest, **_SQUARE}),
            Line(f"GFlop/s at most: {_GPU}", True),
        ],
    }
    return Exhibit(
        "blocks",
        "Performance for different blocking factors",
        "fw-outofcore in float32 on one device, with memory there for half of the matrix; two "
        "operations an update, transfers included, medians. Cut: blocks of b x b travel (square), "
        "as on the poster, or rows of all columns. Split: the device takes the minimum with the "
        "matrix (fused), or only multiplies and the host takes it (separated), as on the poster. "
        "Predicted: by the planner, from speeds that it measures in a fraction of a second. At "
        "most: the poster's model, the peak of the kernels or what the transfers feed. Of the "
        f"poster's curve the text gives that it is saturated from 1536 on. Drawn: n = {largest}.",
        table,
        Drawing("b", panels, logarithmic="xy"),
    )


def _bandwidth(measured: Measured) -> Exhibit:
    peak, bandwidth = _published("peak") * 1e9, _published("measured bandwidth")

    def ours(block: int, run: dict[str, Any], speeds: dict[str, Any]) -> Row:
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

    table = table_of(_of_blocks(measured, ours, theirs))
    largest = measured.sizes(_BLOCKS)[-1]
    alone: dict[str, Value] = {"n": largest, **_SQUARE}
    panels = {
        "GB/s": [
            *_lines("GB/s measured: ours", largest, "measured: ours"),
            *(
                Line(f"GB/s {what}: ours", False, alone)
                for what in ("needed", "of the bus", "of copies")
            ),
            *(Line(f"GB/s {what}: {_GPU}", True) for what in ("needed", "measured")),
        ]
    }
    speeds = measured.input(_BLOCKS, largest)["speeds"]
    enough = model.sufficient_block(2 * speeds["product"], _feed(speeds), sorted(set(table["b"])))
    theirs_enough = model.sufficient_block(peak, 1e9 * bandwidth, _PUBLISHED_BLOCKS)
    return Exhibit(
        "bandwidth",
        "Bandwidth between host and device that blocks of b x b need (RB_apsp), and measured",
        "RB_apsp = peak / (b / 4), where the peak is that of the kernels. Measured: bytes there "
        "and back in the time of the whole run, which is less than there could be as soon as the "
        "kernels take longer. Bus and copies: what the planner measured, both ways in turn; there "
        "is no bus where the device works in the memory of the host. The smallest b listed that "
        f"needs no more than both is {enough or 'none of them'} here for n = {largest}, and "
        f"{theirs_enough} with the 1068 GFlop/s and about 3 GB/s there, as the poster says, whose "
        f"bus has {_published('peak of the bus'):.0f} GB/s on paper. Its measured curves are "
        "lost.",
        table,
        Drawing("b", panels, logarithmic="xy"),
    )


def _sizes(measured: Measured) -> Rows:
    for n in measured.sizes(_SIZES):
        seconds: dict[int, float] = {}
        planned: dict[str, Any] = {}
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
    largest = Published("matsumoto").rows(quantity="speed of the whole")
    yield from [
        {"n": row["key"], f"GFlop/s with its best: {_GPU}": row["value"]} for row in largest
    ]


def _sizes_drawn(measured: Measured, columns: list[str]) -> Drawing:
    lines = [
        Line("GFlop/s with it: ours", name="GFlop/s with the best b: ours"),
        Line("GFlop/s with that: ours", name="GFlop/s with the planner's b: ours"),
        Line("GFlop/s with the worst: ours"),
        Line(f"GFlop/s with its best: {_GPU}", True),
    ]
    return Drawing("n", {"GFlop/s": lines}, logarithmic="xy")


def _devices(measured: Measured) -> Exhibit:
    kind = measured.device["kind"].upper()
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
            rows.append(
                {
                    "n": n,
                    "which": what,
                    "devices": ", ".join(run["devices"]),
                    "b": run["parameters"]["block"],
                    "GFlop/s: ours": _gflops(run),
                    "times the first: ours": ratio(
                        alone.get("kernel_seconds"), run["kernel_seconds"]
                    ),
                    "GFlop/s predicted: ours": _gflops(run, "predicted_seconds"),
                    "times the first, predicted: ours": ratio(
                        alone.get("predicted_seconds"), run["predicted_seconds"]
                    ),
                    "taken by the planner": "yes" if name == taken else "no",
                }
            )
        told = "; ".join(planned["notes"])
        if planned["beside"] is None:
            told += f"; there is no {cpu} beside this {kind}, so there is nothing to compare"
        opinions.append(f"The planner for n = {n}: {told}.")
    rows += [
        {"n": row["key"], "which": "GPU and CPU", f"GFlop/s: {_GPU}": row["value"]}
        for row in Published("matsumoto").rows(quantity="speed of the whole")
    ]
    return Exhibit(
        "devices",
        "Each device alone, and both (hybrid)",
        "fw-outofcore in float32 with memory for half of the matrix on each device, cut as the "
        "planner says; two operations an update, transfers included, medians. Two OpenCL "
        "implementations on one CPU share its cores, and gain nothing together. "
        f"{' '.join(opinions)}",
        table_of(rows),
    )


EXHIBITS = (
    Made(_TILES, _tiles),
    Made(_BLOCKS, _blocks),
    Made(_BLOCKS, _bandwidth),
    Table(
        _SIZES,
        "sizes",
        "Performance for each n with the best blocking factor",
        "fw-outofcore in float32 on one device, with memory there for half of the matrix, rows of "
        "all columns; two operations an update, transfers included, medians. The best of b = n / "
        "32, n / 16, n / 8 and what the planner chooses. Of the poster's curve the text gives "
        "its end.",
        _sizes,
        _sizes_drawn,
    ),
    Made(_DEVICES, _devices),
)
