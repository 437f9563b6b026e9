"""fw-minplus: blocked Floyd-Warshall with one tuned min-plus product for panels and remainder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

import pyopencl as cl

from pyapsp.all_pairs.dense.floyd_warshall import Configuration, FloydWarshall, Run
from pyapsp.all_pairs.dense.product import Product
from pyapsp.all_pairs.dense.product_panels import Panels
from pyapsp.all_pairs.dense.product_tiles import Tiles
from pyapsp.graph import Facts, Graph
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters, register
from pyapsp.registry.tuning import Match

__all__ = ["FORMS", "FwMinplus", "seconds_together"]

# With more cores than those, groups have at most so many rows in the form of panels. On 16 cores,
# groups of 192 rows, as tuned on two cores, took 9 and 18 % longer (n = 4,096 and 12,288). Two
# cores are as fast with either.
_FEW_CORES, _GROUP_ROWS = 4, 96

#: The forms of the product, by name.
FORMS: dict[str, type[Product]] = {"panels": Panels, "tiles": Tiles}


@register
class FwMinplus(FloydWarshall):
    """Blocked Floyd-Warshall as one tuned min-plus product. This method is our own.

    A round has three steps: Floyd-Warshall on the pivot block (in rounds over its tiles), products
    of the pivot block with its row and column panels, and the product of the panels, which updates
    all other entries.

    Parameters
    ----------
    form : {"panels", "tiles"}, optional
        ``"panels"``: one work-item per group, a register block of vectors, packed panels.
        ``"tiles"``: register tiles of a work-group, slices of the panels in local memory. The
        default depends on the device.
    block, tile : int, optional
        Intermediate vertices of a round, and of a round inside the pivot block.
    bits : {0, 1}, optional
        Compare non-negative floats as integers; ignored if there are negative weights.
    rows : int, optional
        Rows of the register block of a work-item.
    strips, width, unroll, group_rows, group_columns : int, optional
        With panels: vectors in a row of that block, values in a vector, unrolled steps, and the
        rows and columns of the matrix for a group.
    words, group_x, group_y, slice, vector, packed : int, optional
        With tiles: words in a row of that block, work-items of a group, steps held in local
        memory, words in a load, and whether a word is two 16-bit values.
    ahead : {0, 1}, optional
        With tiles: compute the next pivot and panels in a second queue, in parallel with the
        remainder. This helps if they do not use the whole device; on the GPUs that we measured it
        does not help.
    separate : {0, 1}, optional
        With tiles, not together with `ahead`: write the product into a separate matrix, then take
        the minimum with the old values.
    """

    id = "fw-minplus"
    summary = "blocked Floyd-Warshall as one tuned min-plus product"
    source = (
        "ours; "
        "panels as products: Matsumoto, Nakasato and Sedukhin 2012, "
        "doi:10.1587/transinf.E95.D.2759; "
        "register tiles: Volkov and Demmel 2008, doi:10.1109/SC.2008.5214359"
    )
    batched = True
    choices: ClassVar = {
        "form": tuple(FORMS),
        "block": (32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024),
        "tile": (16, 32, 48, 64, 96, 128),
        "bits": (0, 1),
        "rows": (1, 2, 4, 6, 8, 12, 16),
        "strips": (1, 2, 3, 4),
        "width": (1, 2, 4, 8, 16, 32),
        "unroll": (1, 2, 4),
        "group_rows": (48, 96, 192, 384),
        "group_columns": (48, 64, 96, 128, 192, 256),
        "words": (1, 2, 4, 8, 16),
        "group_x": (4, 8, 16, 32),
        "group_y": (4, 8, 16, 32),
        "slice": (2, 4, 8, 16, 32),
        "vector": (1, 2, 4),
        "packed": (0, 1),
        "ahead": (0, 1),
        "separate": (0, 1),
    }

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield parameter sets of the usually faster form for the device, then of the other."""
        names = ["panels", "tiles"] if options.device.traits.scalar_groups else ["tiles", "panels"]
        for name in names:
            yield from FORMS[name].candidates(options)

    def sets(
        self, n: int, family: str, options: AllPairsOptions, *, rows: bool = True
    ) -> Iterator[tuple[Parameters, Match | None]]:
        """With many cores, limit the rows of a group, unless the caller set them."""
        many = options.device.capabilities.compute_units > _FEW_CORES
        for parameters, match in super().sets(n, family, options, rows=rows):
            if many and "group_rows" in parameters.keys() - self.parameters.keys():
                rows_of_group = min(parameters.integer("group_rows"), _GROUP_ROWS)
                parameters = Parameters({**parameters, "group_rows": rows_of_group})
            yield parameters, match

    def fits(self, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the parameters are of one form, compatible, and within device limits."""
        form = FORMS[parameters.word("form")]
        return parameters.keys() == form.names and form.fits(parameters, options)

    def idle(self, parameters: Parameters, options: AllPairsOptions) -> Mapping[str, int | str]:
        """Return the comparison as integers for types that are none, or of 2 bytes."""
        compared = options.dtype.kind == "f" and options.dtype.itemsize > 2
        return {} if compared else {"bits": 0}

    def rule(self, options: AllPairsOptions) -> str:
        """Return the condition of `fits` as text."""
        device = options.device
        lanes = device.traits.lanes(options.dtype.itemsize, long=True)
        return (
            f"form panels has {', '.join(sorted(Panels.names))}, form tiles "
            f"{', '.join(sorted(Tiles.names))}; block must be a multiple of tile, and both of "
            f"what a register block or a group spans; a vector at most {lanes} values wide, a "
            f"group at most "
            f"{device.capabilities.max_work_group_size} work-items, with "
            f"{device.capabilities.local_memory} bytes of local memory"
        )

    def configure(
        self, graph: Graph, options: AllPairsOptions, parameters: Parameters
    ) -> Configuration:
        """Build the kernels."""
        form = FORMS[parameters.word("form")]
        product = form(options, parameters, negative=graph.has_negative, rectangles=False)
        size = -(-graph.n // product.unit) * product.unit
        return Configuration(
            parameters,
            product.program,
            size=size,
            pitch=product.pitch(size),
            rounds=-(-size // parameters.integer("block")),
            steps=product.steps(size),
            scratch=tuple(options.dtype.itemsize * count for count in product.scratch(size)),
            zeros=False,
            product=product,
        )

    def enqueue_round(self, run: Run, number: int) -> list[cl.Event]:
        """Enqueue all steps of a round."""
        return [event for events in self.enqueue_steps(run, number) for event in events]

    def enqueue_steps(self, run: Run, number: int) -> Iterator[list[cl.Event]]:
        """Enqueue Floyd-Warshall on the pivot block, then its panels and the remainder."""
        configuration, product = run.configuration, run.configuration.product
        assert product is not None
        pitch, graphs, steps = configuration.pitch, configuration.graphs, configuration.steps
        where = run.queue, run.buffers, configuration.size
        return product.round_steps(*where, number, pitch=pitch, graphs=graphs, steps=steps)

    def enqueue_rounds(self, run: Run) -> Iterator[list[cl.Event]]:
        """Enqueue all rounds, with look-ahead if ``ahead=1``."""
        configuration, product = run.configuration, run.configuration.product
        if isinstance(product, Tiles) and configuration.parameters.integer("ahead"):
            return product.ahead(run.queue, run.buffers, configuration.size)
        return super().enqueue_rounds(run)


def seconds_together(graph: Facts, options: AllPairsOptions, rows: int) -> float | None:
    """Return the predicted time of `FwMinplus` with the rates of all devices; None if one has none.

    Parameters
    ----------
    graph, options, rows
        As for `AllPairsMethod.predict`.
    """
    rate = 0.0
    for device in (options.device, *options.helpers):
        seconds = FwMinplus().predict(graph, replace(options, device=device, helpers=()), rows)
        if seconds is None:
            return None
        rate += 1 / seconds
    return 1 / rate
