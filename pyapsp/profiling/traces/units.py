"""The compute units of a device: what limits the groups that are resident in one."""

from __future__ import annotations

from typing import cast

import pyopencl as cl

from pyapsp.device import Device
from pyapsp.device.kernels import build
from pyapsp.profiling.traces.criteria import Units

__all__ = ["units_of", "width_of"]

# Architectures of GPUs: items, groups, bytes of local memory, and registers of a unit.
# Source: the vendor's programming guide, technical specifications per compute capability.
_KNOWN = {
    "sm_30": (2048, 16, 49152, 65536),
    "sm_35": (2048, 16, 49152, 65536),
    "sm_37": (2048, 16, 114688, 131072),
    "sm_50": (2048, 32, 65536, 65536),
    "sm_52": (2048, 32, 98304, 65536),
    "sm_60": (2048, 32, 65536, 65536),
    "sm_61": (2048, 32, 98304, 65536),
    "sm_70": (2048, 32, 98304, 65536),
    "sm_75": (1024, 16, 65536, 65536),
    "sm_80": (2048, 32, 167936, 65536),
    "sm_86": (1536, 16, 102400, 65536),
    "sm_89": (1536, 24, 102400, 65536),
    "sm_90": (2048, 32, 233472, 65536),
    "sm_100": (2048, 32, 233472, 65536),
    "sm_120": (1536, 24, 102400, 65536),
}
_STEP = 256
# Items that are counted as a warp on devices whose groups are loops of one core.
_MODEL = 32


def width_of(device: Device) -> int:
    """Return the items of a warp.

    On a CPU there are none. There it is the width of GPUs, so that divergence and coalescence are
    those that a GPU would have.
    """
    if device.traits.scalar_groups:
        return _MODEL
    kernel = build(device, "profiling/launch.cl", {}).kernel("profiling_empty")
    query = cl.kernel_work_group_info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE
    return cast(int, kernel.get_work_group_info(query, device.handle))


def units_of(device: Device, width: int, group: int) -> Units | None:
    """Return the limits of the compute units; None if they are not known.

    A core of a CPU runs one group after the other, so a group of any size fills it.
    """
    can = device.capabilities
    if device.traits.scalar_groups:
        filled = -(-group // width) * width
        return Units(can.compute_units, filled, 1, width, can.local_memory)
    if device.architecture not in _KNOWN:
        return None
    items, groups, local, registers = _KNOWN[device.architecture]
    return Units(can.compute_units, items, groups, width, local, registers, _STEP)
