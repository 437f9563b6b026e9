"""partition-multi-phase: several searches of a work-item in each chunk, and writes in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from pyapsp.device import Device
from pyapsp.device.kernels import WIDTHS
from pyapsp.registry import Options, Parameters, ParameterValues, Thresholds, register
from pyapsp.traversal.partitioning.offsets import Offsets
from pyapsp.traversal.partitioning.technique import GROUPS, Run, Technique, narrow, resident
from pyapsp.traversal.partitioning.two_phase import SEARCHES

__all__ = ["PartitionMultiPhase"]

# Most units that a work-item keeps in registers, groups of the statistics kernel, and the largest
# slice, as in the kernel file.
_REGISTERS, _STATISTICS, _SLICE = 256, 2048, 4096
# Sums of a compute unit where a group has one work-item.
_SUMS = 4
_PUBLISHED_GROUP = 128
# Kinds of search by their numbers in the kernel file; the last is chosen there from the deviation.
_KINDS = (*SEARCHES, "hybrid")
# Up to these the published search is by interpolation.
_DEVIATION, _MEAN = 8, 9
# With marks: chunks of a run, if there are many.
_CHUNKS = 8


@register
class PartitionMultiPhase(Technique):
    """A work-item searches `rounds` times in a chunk; owners are written in order.

    `search` is the kind of search of the partition: "hybrid" takes interpolation if the deviation
    of the sizes is at most `deviation` and their mean at most `mean`. The host knows the mean; a
    launch sums up the squares of the sizes if the deviation decides. `grid` is the number of
    groups: "chunks" (one for each chunk), "resident" (as many as run at the same time, with
    `resident` work-items in a compute unit), or "multiple" (`multiple` times as many).

    `find` says how owners are found in a chunk: by a "search" of each work-item, as published, or
    from the "marks" that items set at their first units. Marks need neither staging nor a launch
    for the partition: `grid` is the number of groups there, which share items and units equally.
    There is one kind of search then: `search` must be "optimised".

    The others switch single optimisations: who stages owners in local memory (`staging`), unrolled
    loops, writes of four owners, reading slices into registers first (`prefetch`), and pointers
    that are declared restrict. Values outside loops are left to the compiler.

    Source: F. Busato, N. Bombieri, TPDS 28, 2017.
    """

    id = "partition-multi-phase"
    summary = "equal chunks, several searches of a work-item, writes in order"
    source = "Busato and Bombieri 2017, doi:10.1109/TPDS.2016.2631166"
    choices: ClassVar[ParameterValues] = {
        "search": _KINDS,
        "deviation": Thresholds((0, 1, 2, 3, 5, 8, 12, 16, 32, 64, 128, 256, 1024)),
        "mean": Thresholds((0, 1, 2, 3, 5, 9, 12, 16, 32, 64, 128, 256, 1024)),
        "find": ("search", "marks"),
        "each": (1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 32, 64, 128),
        "rounds": (1, 2, 3, 4, 5, 6, 7, 8, 10),
        "grid": ("chunks", "resident", "multiple"),
        "multiple": (2, 8, 32, 128),
        "resident": (1, 64, 512, 1024, 2048),
        "staging": ("warp", "group"),
        "unroll": (0, 1),
        "vector": (0, 1),
        "prefetch": (0, 1),
        "restrict": (0, 1),
        "warp": WIDTHS,
        "group": GROUPS,
    }
    macros = (
        *("each", "find", "rounds", "staging", "unroll", "vector"),
        *("prefetch", "restrict", "warp", "group"),
    )

    def shapes(self, device: Device) -> Iterator[Mapping[str, int | str]]:
        """Yield marks, then the published values; on CPUs these first."""
        scalar = device.traits.scalar_groups
        for group in narrow(device, (_PUBLISHED_GROUP, 64, 32, 16)):
            published = Parameters(
                search="hybrid",
                find="search",
                deviation=_DEVIATION,
                mean=_MEAN,
                each=10 if group > 1 else 128,
                rounds=3 if group > 1 else 2,
                grid="multiple",
                multiple=32,
                resident=1 if scalar else 2048,
                staging="warp" if group > 1 else "group",
                unroll=int(group > 1),
                vector=1,
                prefetch=0,
                restrict=1,
                warp=min(32, group),
                group=group,
            )
            marked = published | {
                "find": "marks",
                "search": "optimised",
                "multiple": 8,
                "each": 8,
                "rounds": 2,
            }
            yield from (published, marked) if scalar else (marked, published)

    def fits(self, parameters: Parameters, options: Options) -> bool:
        """Return whether the device can run them, and marks have the only kind of search."""
        units = parameters.integer("each") * parameters.integer("rounds")
        searched = parameters.word("find") == "search" or parameters.word("search") == "optimised"
        return searched and units <= _REGISTERS and super().fits(parameters, options)

    def rule(self, options: Options) -> str:
        """Return the conditions of `fits` as text."""
        return (
            f"{super().rule(options)}, and each x rounds at most {_REGISTERS}; find=marks has one "
            "kind of search, optimised"
        )

    def idle(self, parameters: Parameters, options: Options) -> Mapping[str, int | str]:
        """Return the thresholds without a hybrid search, and what marks or a round do without."""
        idle: dict[str, int | str] = {}
        if parameters.word("search") != "hybrid":
            idle |= {"deviation": _DEVIATION, "mean": _MEAN}
        group, each, rounds = parameters.integers("group", "each", "rounds")
        if parameters.word("find") == "marks":
            idle |= {"staging": "group", "prefetch": 0, "warp": min(32, group)}
            written = group * each * rounds
        else:
            written = each if group > 1 else 1
        return idle | ({"vector": 0} if written % 4 else {})

    def local_ints(self, parameters: Parameters) -> int:
        """Return the ints of a slice, a part of which later has the owners of a round; of marks."""
        round_ = parameters.integer("group") * parameters.integer("each")
        chunk = round_ * parameters.integer("rounds")
        if parameters.word("find") == "marks":
            return chunk + 3 * -(-chunk // 32) + 7
        return max(round_, min(chunk, _SLICE)) + 2

    def further(self, data: Offsets, parameters: Parameters, device: Device) -> list[int]:
        """Return the bytes of the parts, the counter, and the sums of squares."""
        return [4 * (_chunks(data.units, parameters) + 1), 8, 8 * _STATISTICS]

    def groups(self, chunks: int, parameters: Parameters, device: Device) -> int:
        """Return the number of groups for chunks of units."""
        if parameters.word("grid") == "chunks":
            return chunks
        groups = _resident(parameters, device)
        if parameters.word("grid") == "multiple":
            groups *= parameters.integer("multiple")
        return min(chunks, groups)

    def places_of_a_run(self, data: Offsets, parameters: Parameters, device: Device) -> int:
        """Return the items and units, taken together, of a group with marks.

        More groups than run at a time have several chunks each. Few chunks are divided further, so
        that all groups have a part.
        """
        places = data.n + data.units
        chunks, groups = _chunks(places, parameters), _resident(parameters, device)
        if parameters.word("grid") == "chunks":
            groups = chunks
        elif parameters.word("grid") == "multiple":
            groups = min(groups * parameters.integer("multiple"), max(groups, chunks // _CHUNKS))
        return -(-places // groups)

    def kind(self, data: Offsets, parameters: Parameters) -> str:
        """Return the kind of search, "hybrid" only if the deviation of the sizes decides."""
        search = parameters.word("search")
        irregular = data.units > parameters.integer("mean") * data.n
        return "optimised" if search == "hybrid" and irregular else search

    def expand(self, run: Run) -> None:
        """Divide and write."""
        parameters, chunks = run.parameters, np.int32(_chunks(int(run.units), run.parameters))
        run.more["chunks"] = int(chunks)
        if parameters.word("find") == "marks":
            places = self.places_of_a_run(run.data, parameters, run.device)
            groups = -(-(run.data.n + run.data.units) // places)
            run.more["groups"] = groups
            sizes = run.n, run.units, np.uint32(places)
            run.launch("expansion", "multi_phase_mark", groups, run.offsets, run.owners, *sizes)
            return
        search = self.kind(run.data, parameters)
        groups = self.groups(int(chunks), parameters, run.device)
        run.more["groups"] = groups
        parts, counters = run.buffer(4 * (int(chunks) + 1)), run.buffer(8)
        sums = _sums(int(run.n), parameters.integer("group"), run.device)
        squares = run.buffer(8 * sums)
        if search == "hybrid":
            run.launch("statistics", "multi_phase_statistics", sums, run.offsets, squares, run.n)
        kind, regular = np.int32(_KINDS.index(search)), np.uint64(_regular(run.data, parameters))
        divided = run.offsets, squares, parts, counters, run.n, run.units, chunks, kind
        more = np.int32(sums), regular
        run.items("partition", "multi_phase_partition", int(chunks) + 1, *divided, *more)
        arrays = run.offsets, parts, run.owners, counters
        run.launch("expansion", "multi_phase_expand", groups, *arrays, run.units, chunks)
        run.count_later("fallbacks", counters)
        run.count_later("search", counters, 1, _KINDS)


def _sums(n: int, group: int, device: Device) -> int:
    """Return the number of sums of squares.

    Each group of the partition adds them up: a group of one work-item needs few, or it adds for
    longer than it searches.
    """
    most = _STATISTICS if group > 1 else _SUMS * device.capabilities.compute_units
    return int(min(most, _STATISTICS, -(-n // group)))


def _regular(data: Offsets, parameters: Parameters) -> int:
    """Return the largest sum of squares of sizes with a deviation for interpolation.

    The variance is the mean of the squares less the square of the mean.
    """
    return int(parameters.integer("deviation") ** 2 * data.n + data.units**2 // data.n)


def _resident(parameters: Parameters, device: Device) -> int:
    """Return the number of groups that run at the same time."""
    return int(
        max(resident(device, parameters.integer("resident")) // parameters.integer("group"), 1)
    )


def _chunks(units: int, parameters: Parameters) -> int:
    """Return the number of chunks."""
    size = parameters.integer("group") * parameters.integer("each") * parameters.integer("rounds")
    return int(-(-units // size))
