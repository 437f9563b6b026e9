"""partition-two-phase: chunks of equal size for groups, equal parts of them for work-items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from pyapsp.device import Device
from pyapsp.registry import Options, Parameters, ParameterValues, register
from pyapsp.traversal.partitioning.offsets import Offsets
from pyapsp.traversal.partitioning.technique import GROUPS, Run, Technique, narrow

__all__ = ["SEARCHES", "PartitionTwoPhase"]

#: Kinds of search, with their numbers in cl/traversal/partitioning/chunks.h.
SEARCHES = {"standard": 0, "optimised": 1, "interpolation": 2}


@register
class PartitionTwoPhase(Technique):
    """A launch divides the units, and a second one writes their owners.

    `form` "chunks" divides the units; "merge-path" the units and items together, so that empty
    items count.

    Source: A. Davidson et al., IPDPS 2014; O. Green, R. McColl, D. A. Bader, ICS 2012.
    """

    id = "partition-two-phase"
    summary = "equal chunks for groups, and equal parts for work-items"
    source = (
        "Davidson et al. 2014, doi:10.1109/IPDPS.2014.45; merge path: Green et al. 2012, "
        "doi:10.1145/2304576.2304621"
    )
    choices: ClassVar[ParameterValues] = {
        "form": ("chunks", "merge-path"),
        "search": tuple(SEARCHES),
        "each": (1, 2, 3, 4, 5, 7, 8, 10, 16, 32, 64, 256, 1024, 4096),
        "group": GROUPS,
    }
    macros = ("each", "group")

    def shapes(self, device: Device) -> Iterator[Mapping[str, int | str]]:
        """Yield groups of 128 work-items, on CPUs of one with many units."""
        for group in narrow(device, (128, 64, 32, 16)):
            for each in (10,) if group > 1 else (4096, 1024):
                yield {"form": "chunks", "search": "optimised", "each": each, "group": group}

    def idle(self, parameters: Parameters, options: Options) -> Mapping[str, int | str]:
        """Return the kind of search, which a merge path has no choice of."""
        return {"search": "optimised"} if parameters.word("form") == "merge-path" else {}

    def local_ints(self, parameters: Parameters) -> int:
        """Return the ints of a slice, and of the owners of a chunk."""
        size = parameters.integer("group") * parameters.integer("each")
        return int((1 + (parameters.word("form") == "merge-path")) * size + 2)

    def further(self, data: Offsets, parameters: Parameters, device: Device) -> list[int]:
        """Return the bytes of the parts and of the counter."""
        return [4 * (_chunks(data.n, data.units, parameters) + 1), 8]

    def expand(self, run: Run) -> None:
        """Divide and write."""
        parameters, n, units = run.parameters, run.n, run.units
        chunks = _chunks(int(n), int(units), parameters)
        parts = run.buffer(4 * (chunks + 1))
        run.more["chunks"] = chunks
        sizes = n, units, np.int32(chunks)
        if parameters.word("form") == "merge-path":
            run.items("partition", "merge_path_partition", chunks + 1, run.offsets, parts, *sizes)
            arrays = run.offsets, parts, run.owners
            run.launch("expansion", "merge_path_expand", chunks, *arrays, n, units)
            return
        fallbacks, kind = run.buffer(4), np.int32(SEARCHES[parameters.word("search")])
        divided = run.offsets, parts, fallbacks, *sizes, kind
        run.items("partition", "two_phase_partition", chunks + 1, *divided)
        written = run.owners, fallbacks
        run.launch("expansion", "two_phase_expand", chunks, run.offsets, parts, *written, units)
        run.count_later("fallbacks", fallbacks)


def _chunks(n: int, units: int, parameters: Parameters) -> int:
    """Return the number of chunks."""
    entries = units + n * (parameters.word("form") == "merge-path")
    return int(-(-entries // (parameters.integer("group") * parameters.integer("each"))))
