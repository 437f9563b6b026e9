"""Figures of K. Matsumoto, N. Nakasato and S. G. Sedukhin's poster, SC 2012: tiles, bandwidth."""

from __future__ import annotations

from typing import Any

from pyapsp.dense import bandwidth_model as model
from pyapsp.report.papers.exhibits import Exhibit, Line, Measured, line_figure, ratio, table_of
from pyapsp.report.papers.published import Published

__all__ = ["EXHIBITS", "TITLE"]

TITLE = "Matsumoto, Nakasato and Sedukhin 2012: tiles of the kernel, bandwidth, blocking factor"

_TILES, _BLOCKS = "matsumoto-tiles", "matsumoto-blocks"
_GPU = "HD 5870"
_SIDES = (1, 2, 4, 8)
_UNIT = 64  # what the tiled matrix is padded to, and the steps of a product
_PUBLISHED_BLOCKS = range(256, 4097, 256)


def _published(quantity: str, key: Any = "") -> float:
    value = Published("matsumoto2012").value(quantity=quantity, key=key)
    assert value is not None
    return value


def _speed(run: dict[str, Any] | None, n: int) -> float | None:
    """Return the operations a second of the product alone."""
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
        roofs = [run["roof_updates_per_second"] for run in measured.runs(_TILES, n)]
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
    figure = line_figure(drawn, "tile", {"GFlop/s": lines})
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


def _of_largest(measured: Measured) -> tuple[float, float]:
    """Return operations a second of the best block, and bytes a second of its transfers."""
    n = measured.sizes(_BLOCKS)[-1]
    best = min(measured.runs(_BLOCKS, n), key=lambda run: run["kernel_seconds"])
    return 2 * best["updates_per_second"], 2 * 4 * n**2 / best["transfer_seconds"]


def _bandwidth(measured: Measured) -> Exhibit:
    peak, bandwidth = _of_largest(measured)
    their_peak, their_bandwidth = _published("peak") * 1e9, _published("measured bandwidth") * 1e9
    ours = {
        run["label"]["block"] for n in measured.sizes(_BLOCKS) for run in measured.runs(_BLOCKS, n)
    }
    blocks = sorted({*_PUBLISHED_BLOCKS, *ours})
    rows: list[dict[str, Any]] = [
        {
            "b": block,
            "GB/s needed: ours": model.required_for_block(peak, block) / 1e9,
            "GB/s measured: ours": bandwidth / 1e9,
            "GFlop/s at most: ours": model.attainable(peak, bandwidth, block) / 1e9,
            f"GB/s needed: {_GPU}": model.required_for_block(their_peak, block) / 1e9,
            f"GB/s measured: {_GPU}": their_bandwidth / 1e9,
            f"GFlop/s at most: {_GPU}": model.attainable(their_peak, their_bandwidth, block) / 1e9,
        }
        for block in blocks
    ]
    table = table_of(rows)
    panels = {
        "GB/s": [
            Line(f"GB/s {what}: {who}", who == _GPU)
            for who in ("ours", _GPU)
            for what in ("needed", "measured")
        ],
        "GFlop/s at most": [Line(f"GFlop/s at most: {who}", who == _GPU) for who in ("ours", _GPU)],
    }
    enough = model.sufficient_block(peak, bandwidth, blocks)
    theirs = model.sufficient_block(their_peak, their_bandwidth, _PUBLISHED_BLOCKS)
    return Exhibit(
        "bandwidth",
        "Bandwidth between host and device that blocks of b x b need (RB_apsp)",
        "RB_apsp = peak / (b / 4), and what it leaves of the speed: the peak, or as much as the "
        "transfers feed. Ours: the kernels and the transfers of fw-minplus at the largest n, in "
        "float32. The smallest b listed that needs no more than was measured is "
        f"{enough or 'none of them'} here, and {theirs} with the 1068 GFlop/s and about 3 GB/s "
        "there, as the poster says. Its measured curves are lost.",
        table,
        line_figure(table, "b", panels, logarithmic="xy"),
    )


def _blocks(measured: Measured) -> Exhibit:
    every = sorted(
        {
            run["label"]["block"]
            for n in measured.sizes(_BLOCKS)
            for run in measured.runs(_BLOCKS, n)
        }
    )
    largest = Published("matsumoto2012").rows(quantity="speed of the whole")
    rows: list[dict[str, Any]] = []
    for n in measured.sizes(_BLOCKS):
        seconds = {
            run["label"]["block"]: run["kernel_seconds"] + run["transfer_seconds"]
            for run in measured.runs(_BLOCKS, n)
        }
        speeds = {block: 2 * n**3 / each / 1e9 for block, each in seconds.items()}
        best = model.best_block(seconds)
        rows.append(
            {
                "n": n,
                "best b: ours": best,
                "GFlop/s with it: ours": speeds[best],
                "GFlop/s with the worst: ours": min(speeds.values()),
                **{f"b = {block}: ours": speeds.get(block) for block in every},
            }
        )
    rows += [{"n": row["key"], f"GFlop/s with its best: {_GPU}": row["value"]} for row in largest]
    table = table_of(rows)
    lines = [Line("GFlop/s with it: ours"), *(Line(f"b = {block}: ours") for block in every)]
    return Exhibit(
        "blocks",
        "The best blocking factor for each n, in GFlop/s",
        "fw-minplus in float32 with blocks of b rows, kernels and transfers, two operations an "
        "update, medians. There the matrix is in the memory of the host and blocks travel; here it "
        "is in that of the device, and b is the size of the pivot block. Of the poster's curve the "
        "text gives its end.",
        table,
        line_figure(table, "n", {"GFlop/s": lines}, logarithmic="x"),
    )


EXHIBITS = ((_TILES, _tiles), (_BLOCKS, _bandwidth), (_BLOCKS, _blocks))
