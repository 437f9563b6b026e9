"""fw-twolevel: iterative blocked Floyd-Warshall, tiles blocked a second time in local memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import pyopencl as cl

from pyapsp.all_pairs.dense import performance_model, register_tiles
from pyapsp.all_pairs.dense.floyd_warshall import Configuration, Run
from pyapsp.all_pairs.dense.product import ints
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters, register

__all__ = ["FwTwolevel"]


@register
class FwTwolevel(register_tiles.Iterative):
    """Blocked Floyd-Warshall with only a part of two tiles in local memory at a time.

    Source: F. Okuyama's thesis, 2013, sections 4.3.1 and 4.3.3. Its models of section 4.4 are for
    fw-mm. For this method the thesis chose l by experiment, so that the only selector measures.

    Parameters
    ----------
    tile : int, optional
        Rows and columns of a tile (t).
    subtile : int, optional
        Columns of the left and rows of the right factor in local memory (t').
    h_pivot, h_panel : int, optional
        Rows that are updated at a time in the pivot tile, and in its row and column tiles (h).
    l : int, optional
        Tiles that a group computes.
    selector : str, optional
        ``"MT"`` measures each l on a scratch matrix during planning, unless l is given.
    width : int, optional
        Values in a vector strip; 1 in the thesis.
    """

    id = "fw-twolevel"
    summary = "blocked Floyd-Warshall, tiles blocked again in local memory"
    source = (
        "Okuyama 2013, sections 4.3.1 and 4.3.3, figs. 4.10-4.11, "
        "https://hdl.handle.net/11094/24957"
    )
    choices: ClassVar = {
        "tile": (16, 32, 64),
        "subtile": (1, 2, 4, 8, 16),
        **register_tiles.Iterative.choices,
        "selector": ("default", "MT"),
        "width": (1, 2, 4, 8, 16),
    }

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield parameter sets from the fastest to the smallest."""
        for shape in register_tiles.shapes(options):
            # sub-tiles as in the thesis
            for tile, subtile in ((32, 2), (16, 4), (16, 1)):
                for pivot, panel in ((256 // tile, 4), (1, 1)):
                    yield {
                        "tile": tile,
                        "subtile": subtile,
                        "h_pivot": pivot,
                        "h_panel": panel,
                        "l": 1,
                        "selector": "default",
                        "width": shape["width"],
                    }

    def fits(self, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the parameters are legal together and within the device's limits."""
        tile, subtile = parameters.integers("tile", "subtile")
        local = 2 * tile * subtile * options.dtype.itemsize
        return (
            self.selector_fits(parameters)
            and register_tiles.tile_fits(parameters, options, "h_pivot", "h_panel", "subtile")
            and local <= options.device.capabilities.local_memory
        )

    def rule(self, options: AllPairsOptions) -> str:
        """Return the condition of `fits` as text."""
        capabilities = options.device.capabilities
        return (
            f"a strip must be at most {options.device.traits.lanes(options.dtype.itemsize)} values "
            "wide, tile/width x h_pivot, h_panel and subtile be at most "
            f"{capabilities.max_work_group_size} work-items, and 2 x tile x subtile and "
            f"tile x (1 + width) values fit {capabilities.local_memory} bytes of local memory"
        )

    def defines(
        self, graph: Graph, options: AllPairsOptions, parameters: Parameters
    ) -> dict[str, str | int]:
        """Return the macros of the kernel file."""
        tile, subtile = parameters.integers("tile", "subtile")
        return super().defines(graph, options, parameters) | {"PYAPSP_KEPT": tile // subtile}

    def seconds(
        self, graph: Graph, options: AllPairsOptions, configuration: Configuration, selector: str
    ) -> dict[int, float]:
        """Return the measured time of a launch for each l."""
        # as many tiles in a row as fw-mm has submatrices in a row of this length
        length = register_tiles.COLUMNS * (configuration.rounds - 1)
        counts = performance_model.choices(length, distinct=True)
        return self.measure(options, configuration, counts)

    def enqueue_others(self, run: Run, K: int, count: int) -> cl.Event:
        """Enqueue the tiles off the row and column of tile (K, K), `count` being l."""
        tile, width, y = run.configuration.parameters.integers("tile", "width", "subtile")
        size, x = run.configuration.size, tile // width
        others = size // tile - 1
        items, kernel = (-(-others // count) * x, others * y), run.kernel("fw_twolevel_others")
        return kernel(run.queue, items, (x, y), run.buffers[0], *ints(size, K, count))
