"""fw-recursive: recursive blocked Floyd-Warshall with min-plus products."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar, Literal

import pyopencl as cl

from pyapsp.all_pairs.dense import register_tiles
from pyapsp.all_pairs.dense.floyd_warshall import Configuration, FloydWarshall, Run
from pyapsp.all_pairs.dense.product import ints, most_updates
from pyapsp.device.kernels import Program, build
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters, register

__all__ = ["FwRecursive", "Launch", "Piece", "launches", "pieces"]


@dataclass(frozen=True)
class Launch:
    """One launch of the recursion."""

    # `close`: Floyd-Warshall on one tile. `left`, `right`, `both`: multiply the blocks beside a
    # closed one by it, from that side. `add`: update the opposite block by the product of these
    # two.
    work: Literal["close", "left", "right", "both", "add"]
    # The first tile and the one after the last, of the closed block and of the other half.
    closed: tuple[int, int]
    other: tuple[int, int] = (0, 0)
    # Whether this is the second half of the recursion: products go from scratch to the distances.
    back: bool = False


@lru_cache(maxsize=8)
def launches(tiles: int, merged: bool) -> tuple[Launch, ...]:
    """Return the recursion on this many tiles as a list.

    A block of several tiles is halved; if their number is odd, the first half has one more. For N
    tiles there are always N - 1 such blocks. So the list has ``7 N - 6`` launches, or ``5 N - 4``
    if the two independent products are merged.

    Parameters
    ----------
    tiles : int
        Tiles in a row of the matrix.
    merged : bool
        Whether the product from the left and the one from the right are one launch.
    """
    return tuple(_closing(0, tiles, merged))


@dataclass(frozen=True)
class Piece:
    """A launch, or some of its groups."""

    launch: Launch
    # The first group, and how many there are.
    first: int
    count: int
    updates: int  # what they have to do


@lru_cache(maxsize=8)
def pieces(tiles: int, tile: int, merged: bool, most: int) -> tuple[Piece, ...]:
    """Return the launches, of which those with more than `most` updates are cut.

    Parameters
    ----------
    tiles, merged
        As for `launches`.
    tile : int
        Rows of a tile.
    most : int
        Updates.
    """
    found = []
    for launch in launches(tiles, merged):
        groups, each = 1, tile**3
        if launch.work != "close":
            closed, other = (tile * (high - low) for low, high in (launch.closed, launch.other))
            each = register_tiles.ROWS * register_tiles.COLUMNS * closed
            groups = _submatrices(other, other)
            if launch.work != "add":
                left, right = _submatrices(closed, other), _submatrices(other, closed)
                groups = {"left": left, "right": right, "both": left + right}[launch.work]
        parts = min(-(-groups * each // most), groups)
        ends = [groups * part // parts for part in range(parts + 1)]
        for first, end in pairwise(ends):
            found.append(Piece(launch, first, end - first, each * (end - first)))
    return tuple(found)


def _closing(low: int, high: int, merged: bool) -> Iterator[Launch]:
    """Yield the launches of the block [low, high)."""
    if high - low <= 1:
        if high > low:
            yield Launch("close", (low, high))
        return
    middle = (low + high + 1) // 2
    halves = ((low, middle), (middle, high))
    for (closed, other), back in ((halves, False), (halves[::-1], True)):
        yield from _closing(*closed, merged)
        if merged:
            yield Launch("both", closed, other, back)
        else:
            yield Launch("left", closed, other, back)
            yield Launch("right", closed, other, back)
        yield Launch("add", closed, other, back)


@register
class FwRecursive(FloydWarshall):
    """Recursive blocked Floyd-Warshall: halves, products, down to single tiles.

    Source: A. Buluc, J. R. Gilbert and C. Budak, Parallel Computing 36(5-6), 2010; F. Okuyama's
    thesis, 2013, section 4.2.2. As there, the tiles are closed by the pivot kernel of its section
    4.3.1, and products are computed as in fw-mm.

    Parameters
    ----------
    tile : int, optional
        Rows and columns of a block that is not halved any more (t_R).
    merged : int, optional
        1: two independent products are one launch; there are 5 n/t_R - 4 launches. 0: as in the
        thesis, 7 n/t_R - 6 launches.
    h_pivot : int, optional
        Rows that are updated at a time in a tile.
    width : int, optional
        Values in a vector strip.
    group : int, optional
        Work-items that share a submatrix of 16 x 64 in a product.
    """

    id = "fw-recursive"
    summary = "recursive blocked Floyd-Warshall, made of min-plus products"
    source = (
        "Buluc, Gilbert and Budak 2010, doi:10.1016/j.parco.2009.12.002; "
        "Okuyama 2013, section 4.2.2"
    )
    choices: ClassVar = {
        "tile": (16, 32, 64),
        "merged": (0, 1),
        "h_pivot": (1, 2, 4, 8, 16),
        "width": (1, 2, 4, 8, 16),
        "group": (1, 2, 4, 8, 16, 32, 64),
    }

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield parameter sets from the fastest to the smallest."""
        tiles = (64, 32, 16) if options.device.traits.scalar_groups else (32, 16)
        for shape in register_tiles.shapes(options):
            for tile in tiles:
                for height in (8, 1):
                    yield {"tile": tile, "merged": 1, "h_pivot": height, **shape}

    def fits(self, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the parameters are legal together and within the device's limits."""
        return register_tiles.tile_fits(
            parameters, options, "h_pivot"
        ) and register_tiles.product_fits(parameters, options)

    def rule(self, options: AllPairsOptions) -> str:
        """Return the condition of `fits` as text."""
        return register_tiles.rule(options, "h_pivot")

    def configure(
        self, graph: Graph, options: AllPairsOptions, parameters: Parameters
    ) -> Configuration:
        """Build the kernels."""
        defines = register_tiles.defines(graph, options, parameters)
        program = build(options.device, "all_pairs/dense/fw_recursive.cl", defines)
        tiles = -(-graph.n // parameters.integer("tile"))
        size = tiles * parameters.integer("tile")
        return Configuration(
            parameters,
            program,
            size=size,
            rounds=len(_pieces(program, parameters, size)),
            scratch=(options.dtype.itemsize * size**2,),
        )

    def enqueue_round(self, run: Run, number: int) -> list[cl.Event]:
        """Enqueue one piece of the list."""
        configuration, parameters = run.configuration, run.configuration.parameters
        distances, scratch = run.buffers
        tile, group = parameters.integer("tile"), parameters.integer("group")
        piece = _pieces(configuration.program, parameters, configuration.size)[number]
        launch, items = piece.launch, (piece.count * group,)
        if launch.work == "close":
            return [register_tiles.close_pivot(run, launch.closed[0])]
        c0, c1, o0, o1 = (tile * place for place in (*launch.closed, *launch.other))
        bounds = ints(configuration.size, c0, c1, o0, o1)
        if launch.work == "add":
            kernel = run.kernel("fw_recursive_add")
            panels = distances if launch.back else scratch
            buffers, skip = [panels, distances], ints(piece.first)
            return [kernel(run.queue, items, (group,), *buffers, *bounds, *skip)]
        kernel = run.kernel("fw_recursive_panels")
        before, after = (scratch, distances) if launch.back else (distances, scratch)
        left = _submatrices(c1 - c0, o1 - o0)
        places = ints(left, piece.first + (left if launch.work == "right" else 0))
        buffers = [distances, before, after]
        return [kernel(run.queue, items, (group,), *buffers, *bounds, *places)]

    def work(self, configuration: Configuration, step: int) -> float:
        """Return the updates of a piece."""
        parameters, size = configuration.parameters, configuration.size
        return _pieces(configuration.program, parameters, size)[step].updates


def _pieces(program: Program, parameters: Parameters, size: int) -> tuple[Piece, ...]:
    """Return the pieces for a built variant."""
    tile, most = parameters.integer("tile"), most_updates(program.device.capabilities)
    return pieces(size // tile, tile, bool(parameters.integer("merged")), most)


def _submatrices(rows: int, columns: int) -> int:
    """Return the number of groups of a product; the rows are a multiple of 16."""
    return rows // register_tiles.ROWS * -(-columns // register_tiles.COLUMNS)
