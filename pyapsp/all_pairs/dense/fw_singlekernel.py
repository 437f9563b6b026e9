"""fw-singlekernel: blocked Floyd-Warshall in one launch, with soft synchronisation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.floyd_warshall import Configuration, Run
from pyapsp.all_pairs.dense.fw_multikernel import TileRounds, TileShape, integers
from pyapsp.all_pairs.dense.product import ints
from pyapsp.base.errors import StallError
from pyapsp.device import Device
from pyapsp.device.kernels import build
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import AllPairsOptions, Weights
from pyapsp.registry import Parameters, register

__all__ = ["FwSinglekernel", "SoftSync"]


class SoftSync:
    """The single launch: the counters and parameters of ``cl/all_pairs/dense/soft_sync.h``.

    Parameters
    ----------
    device : Device

    Attributes
    ----------
    patience : int
        Number of times that a group polls without any progress before it stops: tens of seconds. A
        poll takes about 30 microseconds on a GPU, and half a microsecond on a CPU.
    """

    choices: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "order": (0, 1),
        "groups": (1, 2, 4, 8, 16),
    }

    RULE: ClassVar[str] = "on a CPU a group that waits for others has one work-item"

    def __init__(self, device: Device) -> None:
        self.device = device
        self.patience = 2**26 if device.traits.scalar_groups else 2**20

    def candidate(self) -> dict[str, int]:
        """Return the parameters that are usually fastest."""
        # on a CPU a waiting group occupies a core, so there are as many groups as cores
        return {"order": 1, "groups": 1 if self.device.traits.scalar_groups else 8}

    def fits(self, parameters: Mapping[str, int]) -> bool:
        """Return whether groups of this shape may wait for each other.

        One CPU runtime sometimes loses an update if groups of several work-items wait between
        barriers: 8 of 299 runs stalled there, and none of 16,784 with one work-item.
        """
        alone = parameters["group_x"] * parameters["group_y"] == 1
        return alone or not self.device.traits.scalar_groups

    def defines(self, parameters: Mapping[str, int]) -> dict[str, str | int]:
        """Return the macros."""
        return {"PYAPSP_ORDER": parameters["order"], "PYAPSP_PATIENCE": self.patience}

    def scratch(self, blocks: int) -> int:
        """Return the bytes of the counters for a matrix of `blocks` x `blocks` tiles."""
        return 4 * (_TICKETS + blocks + 1 + 3 * blocks**2)

    def launch(self, run: Run, parameters: Mapping[str, int], matrix: cl.Buffer) -> list[cl.Event]:
        """Enqueue the kernel; the last buffer of the run has the counters."""
        x, y, graphs = parameters["group_x"], parameters["group_y"], run.configuration.graphs
        blocks = run.configuration.size // parameters["tile"]
        groups = self.device.capabilities.compute_units * parameters["groups"]
        items = min(groups, graphs * blocks**2) * x, y
        used, kernel = (matrix, run.buffers[-1]), run.kernel("fw_singlekernel")
        return [kernel(run.queue, items, (x, y), *used, *ints(blocks, graphs))]

    def check(self, run: Run, method: str) -> None:
        """Wait for the launch, and check that it did not stall.

        Raises
        ------
        DeviceError
            If it stalled.
        """
        head = np.empty(4, np.int32)
        cl.enqueue_copy(run.queue, head, run.buffers[-1])
        stalled, row, column, number = head.tolist()
        if stalled:
            raise StallError(
                f"{method} stalled on {self.device.name}: the tile ({row}, {column}) waited in "
                f"round {number} while no group finished anything. The answer was discarded; "
                "use a method without soft synchronisation, e.g. fw-multikernel"
            )


# index of the first ticket in the counters
_TICKETS = 64


@register
class FwSinglekernel(TileRounds):
    """Blocked Floyd-Warshall in one launch: groups take tiles in order and wait for their inputs.

    Source: D. Takafuji's thesis, 2020, section 3.2.3 ("single kernel soft synchronisation"). It
    uses the tiles of `FwMultikernel`, with the same parameters and two more.

    If no tile of the launch is finished for a long time, the waiting groups stop, and so do all
    others. The result is a `StallError`, and never an endless launch.

    Parameters
    ----------
    tile, width, rows, group_x, group_y, contiguous : int, optional
        As for `FwMultikernel`.
    order : int, optional
        0: tiles are taken round by round; tiles that the next pivot needs come first. 1: the next
        pivot, its row and its column come before those tiles of the last round that they do not
        need.
    groups : int, optional
        Groups launched per compute unit.
    """

    id = "fw-singlekernel"
    summary = "blocked Floyd-Warshall in one launch with soft synchronisation"
    source = (
        "Takafuji 2020, section 3.2.3, figs. 3.3-3.4, table 3.1; "
        "chapter 3 as an article: doi:10.1002/cpe.5963"
    )
    requires = Weights(capabilities=("device_scope_fence",))
    choices: ClassVar = {**TileShape.choices, **SoftSync.choices}

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield parameter sets from the fastest to the smallest."""
        shape = TileShape(options.device, options.dtype.itemsize)
        for candidate in shape.candidates((64, 32, 16, 8, 128, 256)):
            yield {**candidate, **SoftSync(options.device).candidate()}

    def fits(self, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the parameters are legal together and within the device's limits."""
        chosen = integers(parameters)
        return SoftSync(options.device).fits(chosen) and TileShape(
            options.device, options.dtype.itemsize
        ).fits(chosen)

    def rule(self, options: AllPairsOptions) -> str:
        """Return the condition of `fits` as text."""
        return f"{SoftSync.RULE}; {TileShape(options.device, options.dtype.itemsize).rule()}"

    def configure(
        self, graph: Graph, options: AllPairsOptions, parameters: Parameters
    ) -> Configuration:
        """Build the kernel."""
        shape, chosen = TileShape(options.device, options.dtype.itemsize), integers(parameters)
        sync = SoftSync(options.device)
        defines = arithmetic_defines(
            options.device, options.dtype, width=chosen["width"], guard=graph.has_negative
        )
        defines |= {**shape.defines(chosen), **sync.defines(chosen)}
        standard = options.device.capabilities.c_standard
        program = build(
            options.device, "all_pairs/dense/fw_singlekernel.cl", defines, standard=standard
        )
        tile = chosen["tile"]
        blocks = -(-graph.n // tile)
        scratch = (*shape.scratch(chosen, blocks), sync.scratch(blocks))
        return Configuration(parameters, program, blocks * tile, rounds=1, scratch=scratch)

    def enqueue_tiles(
        self, run: Run, parameters: Mapping[str, int], matrix: cl.Buffer, number: int
    ) -> list[cl.Event]:
        """Enqueue the kernel."""
        return SoftSync(run.configuration.program.device).launch(run, parameters, matrix)

    def finish(self, run: Run) -> None:
        """Raise an error if the groups stalled."""
        SoftSync(run.configuration.program.device).check(run, self.id)
