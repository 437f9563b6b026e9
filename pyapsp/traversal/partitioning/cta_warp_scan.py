"""partition-cta-warp-scan: large items by the group, medium ones by a warp, the rest by a scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pyapsp.device import Device
from pyapsp.device.kernels import WIDTHS
from pyapsp.registry import Parameters, ParameterValues, Thresholds, register
from pyapsp.traversal.partitioning.technique import GROUPS, Run, Technique

__all__ = ["PartitionCtaWarpScan"]

# A threshold that no item exceeds.
_NEVER = 2**31 - 1


@register
class PartitionCtaWarpScan(Technique):
    """Three steps in each group, for items of three classes of size.

    `large` and `medium` are the thresholds: units of an item for each work-item of the group, and
    of the warp. 0 leaves the step out.

    Source: D. Merrill, M. Garland, A. Grimshaw, PPoPP 2012.
    """

    id = "partition-cta-warp-scan"
    summary = "large items by the group, medium ones by a warp, the rest by a scan"
    source = "Merrill et al. 2012, doi:10.1145/2145816.2145832"
    # slots: units of a turn of the last step, for each work-item
    choices: ClassVar[ParameterValues] = {
        "large": Thresholds((0, 1, 2, 4, 8, 64)),
        "medium": Thresholds((0, 1, 2, 4, 8)),
        "slots": (1, 2, 4, 8, 64),
        "warp": WIDTHS,
        "group": GROUPS,
    }

    def shapes(self, device: Device) -> Iterator[Mapping[str, int | str]]:
        """Yield the published thresholds: the size of the group, and that of the warp."""
        scalar = device.traits.scalar_groups
        for group in (32, 16, 1) if scalar else (256, 128, 64, 32, 16, 1):
            yield {
                "large": 4 if scalar else 1,
                "medium": 0 if scalar else 1,
                "slots": 8 if scalar else 2,
                "warp": min(group, 1 if scalar else 32),
                "group": group,
            }

    def local_ints(self, parameters: Parameters) -> int:
        """Return the ints of the slots."""
        return int(2 * parameters.integer("slots") * parameters.integer("group"))

    def defines(self, parameters: Parameters) -> dict[str, int]:
        """Return the macros."""
        group, warp = parameters.integer("group"), parameters.integer("warp")
        return {
            "PYAPSP_GROUP": group,
            "PYAPSP_WARP": warp,
            "PYAPSP_LARGE": parameters.integer("large") * group or _NEVER,
            "PYAPSP_MEDIUM": parameters.integer("medium") * warp or _NEVER,
            "PYAPSP_SLOTS": parameters.integer("slots") * group,
        }

    def expand(self, run: Run) -> None:
        """Write the owners."""
        run.items("expansion", "partition_cta_warp_scan", run.n, run.offsets, run.owners, run.n)
