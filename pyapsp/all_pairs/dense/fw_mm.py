"""fw-mm: iterative blocked Floyd-Warshall with the tiles off the pivot as a matrix product."""

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

__all__ = ["FwMm"]


@register
class FwMm(register_tiles.Iterative):
    """Blocked Floyd-Warshall whose third launch is a matrix product with results in registers.

    Source: F. Okuyama's thesis, 2013, sections 4.3.1 and 4.3.2, after the matrix product of
    V. Volkov and J. W. Demmel, SC 2008; the choice of l is its section 4.4.

    Parameters
    ----------
    tile : int, optional
        Rows and columns of a tile (t).
    h_pivot, h_panel : int, optional
        Rows that are updated at a time in the pivot tile, and in its row and column tiles (h).
    l : int, optional
        Submatrices of 16 x 64 that a group computes.
    selector : str, optional
        How l is chosen if it is not given: ``"default"``, the models ``"AT"``, ``"FT"`` and
        ``"TI"`` of `pyapsp.all_pairs.dense.performance_model`, or ``"MT"``, which measures each l
        on a scratch matrix during planning.
    width : int, optional
        Values in a vector strip; 1 in the thesis.
    group : int, optional
        Work-items that share a submatrix; 64 in the thesis.
    """

    id = "fw-mm"
    summary = "blocked Floyd-Warshall as a matrix product, results in registers"
    source = (
        "Okuyama 2013, sections 4.3.1-4.3.2 and 4.4, https://hdl.handle.net/11094/24957; "
        "Volkov and Demmel 2008, doi:10.1109/SC.2008.5214359"
    )
    choices: ClassVar = {
        "tile": (16, 32, 64),
        **register_tiles.Iterative.choices,
        "selector": ("default", *performance_model.MODELS, "MT"),
        "width": (1, 2, 4, 8, 16),
        "group": (1, 2, 4, 8, 16, 32, 64),
    }

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield parameter sets from the fastest to the smallest."""
        count = 8 if options.device.traits.scalar_groups else 1
        for shape in register_tiles.shapes(options):
            for tile in (32, 16):
                for pivot, panel in ((256 // tile, 4), (1, 1)):
                    yield {
                        "tile": tile,
                        "h_pivot": pivot,
                        "h_panel": panel,
                        "l": count,
                        "selector": "default",
                        **shape,
                    }

    def fits(self, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the parameters are legal together and within the device's limits."""
        return (
            self.selector_fits(parameters)
            and register_tiles.tile_fits(parameters, options, "h_pivot", "h_panel")
            and register_tiles.product_fits(parameters, options)
        )

    def rule(self, options: AllPairsOptions) -> str:
        """Return the condition of `fits` as text."""
        return register_tiles.rule(options, "h_pivot", "h_panel")

    def seconds(
        self, graph: Graph, options: AllPairsOptions, configuration: Configuration, selector: str
    ) -> dict[int, float]:
        """Return the time of a launch for each l: estimated, or measured for ``"MT"``."""
        parameters = configuration.parameters
        if selector == "MT":
            counts = performance_model.choices(configuration.size, distinct=True)
            return self.measure(options, configuration, counts)
        (model,) = (name for name in performance_model.MODELS if name == selector)
        inputs = performance_model.gather(
            options.device,
            configuration.program.kernel("fw_mm_others"),
            size=configuration.size,
            tile=parameters.integer("tile"),
            group=parameters.integer("group"),
            width=parameters.integer("width"),
            item_bytes=options.dtype.itemsize,
            guard=options.dtype.kind == "i" and graph.has_negative,
        )
        return {
            count: performance_model.estimate(inputs, count, model)
            for count in performance_model.choices(configuration.size)
        }

    def enqueue_others(self, run: Run, K: int, count: int) -> cl.Event:
        """Enqueue the tiles off the row and column of tile (K, K), `count` being l."""
        configuration = run.configuration
        size, (tile, group) = configuration.size, configuration.parameters.integers("tile", "group")
        across, down = -(-size // register_tiles.COLUMNS), (size - tile) // register_tiles.ROWS
        items, kernel = (-(-across // count) * group, down), run.kernel("fw_mm_others")
        return kernel(run.queue, items, (group, 1), run.buffers[0], *ints(size, K, count))
