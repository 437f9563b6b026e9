"""The common part of fw-mm, fw-twolevel and fw-recursive: register tiles, products of 16 x 64."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from statistics import median
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense import performance_model
from pyapsp.all_pairs.dense.floyd_warshall import Configuration, FloydWarshall, Run
from pyapsp.device import device_errors, event_seconds
from pyapsp.device.kernels import build
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters

__all__ = [
    "COLUMNS",
    "ROWS",
    "Iterative",
    "close_panels",
    "close_pivot",
    "defines",
    "product_fits",
    "rule",
    "shapes",
    "tile_fits",
]

#: The submatrix that a group computes in a product.
ROWS, COLUMNS = 16, 64

# Values between two rows of the copied left factor, as in cl/all_pairs/dense/register_tiles.h.
_LEFT_STRIDE = 20

# Launches of which the median is taken, after one for warming up.
_LAUNCHES = 5


def shapes(options: AllPairsOptions) -> Iterator[dict[str, Any]]:
    """Yield the width of a strip and the work-items of a product, from the fastest shape on.

    One strip for each work-item: also on CPUs that is faster than fewer work-items with several.
    """
    if options.device.traits.scalar_groups:
        lanes = options.device.traits.lanes(options.dtype.itemsize)
        yield {"width": lanes, "group": COLUMNS // lanes}
    yield {"width": 1, "group": COLUMNS}
    yield {"width": 1, "group": 1}


def tile_fits(parameters: Parameters, options: AllPairsOptions, *heights: str) -> bool:
    """Return whether tiles can be closed, `heights` being the parameters that say h."""
    tile, width = parameters.integer("tile"), parameters.integer("width")
    capabilities = options.device.capabilities
    return (
        width <= options.device.traits.lanes(options.dtype.itemsize)
        and all(
            tile // width * int(parameters[name]) <= capabilities.max_work_group_size
            for name in heights
        )
        and (tile + tile * width) * options.dtype.itemsize <= capabilities.local_memory
    )


def product_fits(parameters: Parameters, options: AllPairsOptions) -> bool:
    """Return whether products can be computed."""
    capabilities = options.device.capabilities
    tile, group, width = (int(parameters[name]) for name in ("tile", "group", "width"))
    return (
        COLUMNS % (group * width) == 0
        and group <= capabilities.max_work_group_size
        and _LEFT_STRIDE * tile * options.dtype.itemsize <= capabilities.local_memory
    )


def rule(options: AllPairsOptions, *heights: str) -> str:
    """Return the conditions of `tile_fits` and `product_fits` as text."""
    capabilities = options.device.capabilities
    groups = " and ".join(f"tile/width x {name}" for name in heights)
    return (
        f"group x width must divide {COLUMNS}, a strip be at most "
        f"{options.device.traits.lanes(options.dtype.itemsize)} values wide, group and {groups} be "
        f"at most {capabilities.max_work_group_size} work-items, and {_LEFT_STRIDE} x tile and "
        f"tile x (1 + width) values fit {capabilities.local_memory} bytes of local memory"
    )


def defines(graph: Graph, options: AllPairsOptions, parameters: Parameters) -> dict[str, str | int]:
    """Return the macros of ``cl/all_pairs/dense/register_tiles.h``; h is 1 where there is none."""
    tile = parameters.integer("tile")
    panel = "h_panel" if "h_panel" in parameters else "h_pivot"
    arithmetic = arithmetic_defines(
        options.device, options.dtype, width=parameters.integer("width"), guard=graph.has_negative
    )
    return arithmetic | {
        "PYAPSP_TILE": tile,
        "PYAPSP_PIVOT_KEPT": tile // parameters.integer("h_pivot"),
        "PYAPSP_PANEL_KEPT": tile // parameters.integer(panel),
        "PYAPSP_GROUP": parameters.get("group", 1),
    }


def close_pivot(run: Run, K: int) -> cl.Event:
    """Enqueue Floyd-Warshall inside tile (K, K)."""
    tile, width, height = run.configuration.parameters.integers("tile", "width", "h_pivot")
    group = (tile // width, height)
    size, kernel = np.int32(run.configuration.size), run.kernel("close_pivot")
    return kernel(run.queue, group, group, run.buffers[0], size, np.int32(K))


def close_panels(run: Run, K: int) -> cl.Event:
    """Enqueue the row and column tiles of tile (K, K); there must be some."""
    tile, width, y = run.configuration.parameters.integers("tile", "width", "h_panel")
    x, others = tile // width, run.configuration.size // tile - 1
    size, kernel = np.int32(run.configuration.size), run.kernel("close_panels")
    return kernel(run.queue, (others * x, 2 * y), (x, y), run.buffers[0], size, np.int32(K))


class Iterative(FloydWarshall):
    """Base of fw-mm and fw-twolevel: three launches for each tile on the diagonal.

    They differ in the third launch, in which each group computes l pieces. The parameter
    ``selector`` decides how l is chosen if the caller has not set it.
    """

    choices: ClassVar = {
        "h_pivot": (1, 2, 4, 8, 16),
        "h_panel": (1, 2, 4, 8, 16),
        "l": tuple(range(1, 65)),
    }

    def defines(
        self, graph: Graph, options: AllPairsOptions, parameters: Parameters
    ) -> dict[str, str | int]:
        """Return the macros of the kernel file."""
        return defines(graph, options, parameters)

    def build(
        self, graph: Graph, options: AllPairsOptions, parameters: Parameters
    ) -> Configuration:
        """Build the kernels; l may still change."""
        file = f"all_pairs/dense/{self.id.replace('-', '_')}.cl"
        program = build(options.device, file, self.defines(graph, options, parameters))
        tile = parameters.integer("tile")
        tiles = -(-graph.n // tile)
        return Configuration(Parameters(parameters), program, tiles * tile, tiles)

    @abstractmethod
    def enqueue_others(self, run: Run, K: int, count: int) -> cl.Event:
        """Enqueue the tiles off the row and column of tile (K, K), `count` being l."""

    @abstractmethod
    def seconds(
        self, graph: Graph, options: AllPairsOptions, configuration: Configuration, selector: str
    ) -> dict[int, float]:
        """Return the result of `times`, for built kernels with tiles off the pivot."""

    def times(self, graph: Graph, options: AllPairsOptions, selector: str) -> dict[int, float]:
        """Return the seconds of one launch of `enqueue_others` for each l.

        These are the values of figures 4.18 to 4.20 of the thesis.

        Parameters
        ----------
        graph : Graph
            What would be solved.
        options : AllPairsOptions
        selector : str
            Whose estimate; ``"MT"`` measures.

        Returns
        -------
        dict of int to float
            Empty where there are no tiles off the pivot.
        """
        configuration = self.build(graph, options, self.choose_parameters(graph, options)[0])
        if configuration.rounds < 2:
            return {}
        return self.seconds(graph, options, configuration, selector)

    def configure(
        self, graph: Graph, options: AllPairsOptions, parameters: Parameters
    ) -> Configuration:
        """Build the kernels, and let the selector choose l unless the caller has."""
        configuration = self.build(graph, options, parameters)
        selector = parameters.word("selector")
        if selector != "default" and "l" not in self.parameters:
            seconds = {1: 0.0}
            if configuration.rounds > 1 and self._has_room(configuration, options):
                seconds = self.seconds(graph, options, configuration, selector)
            configuration.parameters["l"] = performance_model.best(seconds)
        return configuration

    def selector_fits(self, parameters: Parameters) -> bool:
        """Return whether the selector is the default, or what the caller asked for.

        It cannot be tuned: if l is given, as in comparisons of parameter sets, it has no effect.
        """
        return parameters.word("selector") in ("default", self.parameters.get("selector"))

    def measure(
        self, options: AllPairsOptions, configuration: Configuration, counts: tuple[int, ...]
    ) -> dict[int, float]:
        """Return the median seconds of launches on a scratch matrix, the pivot being tile 0."""
        size, value = configuration.size, options.dtype.itemsize
        seconds = {}
        with device_errors(options.device, size**2 * value):
            queue = options.device.queue()
            scratch = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size**2 * value)
            # with infinity everywhere nothing changes from launch to launch
            pattern = np.array(infinity(options.dtype), options.dtype)
            cl.enqueue_fill_buffer(queue, scratch, pattern, 0, size**2 * value)
            for count in counts:
                run = Run(configuration, queue, [scratch])
                events = [self.enqueue_others(run, 0, count) for _ in range(1 + _LAUNCHES)]
                queue.finish()
                seconds[count] = median(event_seconds(event) for event in events[1:])
            scratch.release()
        return seconds

    def enqueue_round(self, run: Run, number: int) -> list[cl.Event]:
        """Enqueue the pivot tile, its row and column tiles, and all others."""
        events = [close_pivot(run, number)]
        if run.configuration.rounds > 1:
            count = run.configuration.parameters.integer("l")
            events += [close_panels(run, number), self.enqueue_others(run, number, count)]
        return events

    def _has_room(self, configuration: Configuration, options: AllPairsOptions) -> bool:
        """Return whether the matrix fits; where not, the run will be refused."""
        capabilities = options.device.capabilities
        needed = configuration.size**2 * options.dtype.itemsize
        available = min(capabilities.max_allocation, capabilities.global_memory)
        limit = available if options.memory_limit is None else options.memory_limit
        return needed <= min(available, limit)
