"""partition-dynamic-warp: virtual warps whose width fits the number of items; heavy items apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from pyapsp.device import Device
from pyapsp.device.kernels import WIDTHS, upload
from pyapsp.device.kernels.launch import Stopwatch
from pyapsp.registry import Options, Parameters, ParameterValues, Thresholds, register
from pyapsp.traversal.partitioning.offsets import Offsets
from pyapsp.traversal.partitioning.technique import GROUPS, Run, Technique, resident

__all__ = ["PartitionDynamicWarp"]

_NAME = "partition_dynamic_warp"
# The least width in the thesis, for items of few units.
_LEAST = 4
_HEAVY = {"none": 0, "relaunch": 1, "relaunch-fused": 1, "group-strip": 2}


@register
class PartitionDynamicWarp(Technique):
    """Virtual warps as wide as all resident work-items allow, and heavy items apart.

    With `width` "dynamic", a virtual warp has ``resident / items`` work-items, rounded down to a
    power of two, at least `least` and at most 32. The thesis takes 4 or more as the least: there
    are more items than resident work-items in all its inputs. `heavy` says what replaces dynamic
    parallelism for items of more than `threshold` units; width=1 has it alone.

    Source: F. Busato, N. Bombieri, BFS-4K, TPDS 26, 2015.
    """

    id = "partition-dynamic-warp"
    summary = "virtual warps of a width chosen at run time; heavy items in separate launches"
    source = "Busato 2018, sections 4.1 and 6.2, https://iris.univr.it/handle/11562/979445"
    # resident: work-items of a compute unit at a time; each: units of a work-item of heavy items
    choices: ClassVar[ParameterValues] = {
        "width": ("dynamic", *WIDTHS),
        "least": (1, 2, 4, 8, 16, 32),
        "heavy": tuple(_HEAVY),
        "threshold": Thresholds((4, 32, 128, 512, 1024, 4096, 16384)),
        "each": (1, 4, 8, 16, 64),
        "resident": (1, 64, 512, 1024, 2048),
        "group": GROUPS,
    }

    def shapes(self, device: Device) -> Iterator[Mapping[str, int | str]]:
        """Yield dynamic widths, with heavy items in one launch."""
        scalar = device.traits.scalar_groups
        for group in (256, 128, 64, 32, 16, 1):
            yield {
                "width": "dynamic",
                "least": 1 if scalar else min(_LEAST, group),
                "heavy": "relaunch-fused",
                "threshold": 4096,
                "each": 64 if scalar else 8,
                "resident": 1 if scalar else 2048,
                "group": group,
            }

    def fits(self, parameters: Parameters, options: Options) -> bool:
        """Return whether the device has such groups, and no virtual warp is wider than one."""
        dynamic = parameters["width"] == "dynamic"
        widest = parameters.integer("least" if dynamic else "width")
        return super().fits(parameters, options) and widest <= parameters.integer("group")

    def idle(self, parameters: Parameters, options: Options) -> Mapping[str, int | str]:
        """Return what says nothing of a fixed width, or without a list of heavy items."""
        heavy, idle = parameters.word("heavy"), dict[str, int | str]()
        if parameters["width"] != "dynamic":
            idle |= {"least": 1, "resident": 1}
        if heavy == "none":
            idle |= {"threshold": 4096}
        if _HEAVY[heavy] != 1:
            idle |= {"each": 8}
        return idle

    def rule(self, options: Options) -> str:
        """Return the conditions of `fits` as text."""
        return f"{super().rule(options)}, and group at least width and least"

    def further(self, data: Offsets, parameters: Parameters, device: Device) -> list[int]:
        """Return the bytes of the list of heavy items, its count, and the groups before each."""
        most = _most(data, parameters)
        return [4 * most, 8, 4 * (most + 1)]

    def defines(self, parameters: Parameters) -> dict[str, int]:
        """Return the macros: virtual warps of any width are warps of one work-item for them."""
        return {
            "PYAPSP_GROUP": parameters.integer("group"),
            "PYAPSP_WARP": 1,
            "PYAPSP_HEAVY": _HEAVY[parameters.word("heavy")],
            "PYAPSP_EACH": parameters.integer("each"),
        }

    def width(self, n: int, parameters: Parameters, device: Device) -> int:
        """Return the width of a virtual warp for n items."""
        if parameters["width"] != "dynamic":
            return int(parameters["width"])
        share = max(resident(device, parameters.integer("resident")) // n, 1)
        width = 1 << (share.bit_length() - 1)
        return int(min(max(width, parameters.integer("least")), 32, parameters.integer("group")))

    def expand(self, run: Run) -> None:
        """Write the owners of light items, and then those of heavy ones."""
        parameters, n = run.parameters, int(run.n)
        width = self.width(n, parameters, run.device)
        run.more["width"] = width
        data = run.data
        relaunched = _HEAVY[parameters.word("heavy")] == 1
        heavies, count = run.buffer(4 * _most(data, parameters)), run.buffer(4)
        if relaunched:
            run.clear(count, 1)
        threshold = np.int32(parameters.integer("threshold"))
        shift = np.int32(width.bit_length() - 1)
        scalars = run.n, shift, threshold
        arrays = run.offsets, run.owners, heavies, count
        run.items("light", _NAME, n * width, *arrays, *scalars)
        if not relaunched:
            return
        heavy = int(run.read(count, 1)[0])
        run.more["heavy_items"] = heavy
        listed = run.read(heavies, heavy)
        sizes = data.sizes[listed].astype(np.int64)
        groups = -(-sizes // (parameters.integer("group") * parameters.integer("each")))
        if parameters.word("heavy") == "relaunch":
            for item, some in zip(listed, groups.tolist(), strict=True):
                run.launch("heavy", "partition_heavy", some, run.offsets, run.owners, item)
        elif heavy:
            before = np.zeros(heavy + 1, np.int32)
            np.cumsum(groups, out=before[1:])
            given_groups = upload(run.queue, before, Stopwatch())
            arrays = run.offsets, run.owners, heavies, given_groups
            total = int(before[-1])
            run.launch("heavy", "partition_heavy_fused", total, *arrays, np.int32(heavy))


def _most(data: Offsets, parameters: Parameters) -> int:
    """Return how many heavy items there can be."""
    if _HEAVY[parameters.word("heavy")] != 1:
        return 0
    return int(min(data.n, data.units // (parameters.integer("threshold") + 1)))
