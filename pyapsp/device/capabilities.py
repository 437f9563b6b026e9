"""What a device can do, as its driver says and as kernels show."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pyapsp.base.errors import ParameterError
from pyapsp.device import loader
from pyapsp.device.probes import instructions_fault, loop_fault, scope_fault
from pyapsp.device.quirks import usable_local_memory

if TYPE_CHECKING:
    import pyopencl as cl

__all__ = [
    "HIDE",
    "Capabilities",
    "c_versions",
    "hidden",
    "kind_of",
    "reported",
    "standard_of",
]

#: The variable that names capabilities which devices are said not to have.
HIDE = "PYAPSP_HIDE"

_T = TypeVar("_T")


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a device, as its driver reports them; sizes are in bytes.

    Parameters
    ----------
    fp64, fp16 : bool
        Arithmetic in double and in half precision.
    int64 : bool
        Arithmetic on 64-bit integers (always true, except in embedded profiles).
    int64_atomics : bool
        64-bit atomics, with minimum and maximum.
    subgroups : bool
        Sub-groups in kernels.
    long_loops : bool
        Loops with many steps run to their end. pyapsp runs nothing on a device without it.
    device_scope_fence : bool
        Fences and atomics ordered over the whole device, in kernels built with `c_standard`.
    packed16 : bool
        Instructions on pairs of 16-bit values. Only inline assembly can use them, in kernel files
        that are written for one vendor.
    warps32 : bool
        Warps of 32 neighbouring work-items that exchange values, for a driver without sub-groups.
        Only inline assembly can use them, in kernel files that are written for one vendor.
    unified_memory : bool
        Device and host share one memory.
    local_memory : int
        Local memory of a work-group.
    global_memory : int
        Global memory of the device.
    max_allocation : int
        Largest single buffer.
    max_work_group_size : int
        Largest number of work-items in a group; a kernel can have a smaller limit.
    max_work_item_sizes : tuple of int
        The same per dimension.
    compute_units : int
        Parallel compute units (cores, multiprocessors).
    c_version : tuple of int
        Newest version of OpenCL C, ``(major, minor)``.
    c_standard : str
        Value for ``-cl-std=`` with which the above can be used: "CL3.0", "CL2.0" or "CL1.2".
    extensions : tuple of str
        Names of the OpenCL extensions, sorted.
    """

    fp64: bool
    fp16: bool
    int64: bool
    int64_atomics: bool
    subgroups: bool
    long_loops: bool
    device_scope_fence: bool
    packed16: bool
    warps32: bool
    unified_memory: bool
    local_memory: int
    global_memory: int
    max_allocation: int
    max_work_group_size: int
    max_work_item_sizes: tuple[int, ...]
    compute_units: int
    c_version: tuple[int, int]
    c_standard: str
    extensions: tuple[str, ...]

    @classmethod
    def probe(cls, handle: cl.Device, identity: Mapping[str, str]) -> Capabilities:
        """Query the driver of `handle`, and run small kernels where its answer may be wrong.

        Parameters
        ----------
        handle : pyopencl.Device
        identity : mapping
            As `Device.identity`.
        """
        info = loader.opencl().device_info
        extensions = set(handle.extensions.split())
        versions = c_versions(handle)
        standard = standard_of(versions)
        return cls(
            fp64="cl_khr_fp64" in extensions or bool(reported(handle, info.DOUBLE_FP_CONFIG, 0)),
            fp16="cl_khr_fp16" in extensions,
            int64=handle.profile == "FULL_PROFILE" or "cles_khr_int64" in extensions,
            int64_atomics=extensions
            >= {"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"},
            subgroups="cl_khr_subgroups" in extensions
            or bool(reported(handle, info.MAX_NUM_SUB_GROUPS, 0)),
            long_loops=loop_fault(handle, identity) is None,
            device_scope_fence=scope_fault(handle, standard, identity) is None,
            packed16=instructions_fault(handle, "packed16", kind_of(handle), identity) is None,
            warps32=instructions_fault(handle, "warps32", kind_of(handle), identity) is None,
            unified_memory=bool(handle.host_unified_memory),
            local_memory=usable_local_memory(handle.platform.name, handle.local_mem_size),
            global_memory=handle.global_mem_size,
            max_allocation=handle.max_mem_alloc_size,
            max_work_group_size=handle.max_work_group_size,
            max_work_item_sizes=tuple(handle.max_work_item_sizes),
            compute_units=handle.max_compute_units,
            c_version=max(versions),
            c_standard=f"CL{standard[0]}.{standard[1]}",
            extensions=tuple(sorted(extensions)),
        )


def hidden() -> list[str]:
    """Return the capabilities that the environment hides, to try what other devices do.

    Raises
    ------
    ParameterError
        If there is no such capability.
    """
    names = os.environ.get(HIDE, "").replace(",", " ").split()
    known = [each.name for each in fields(Capabilities) if each.type == "bool"]
    for name in names:
        if name not in known:
            raise ParameterError.of(HIDE, "the environment", f"of {', '.join(known)}", name, known)
    return names


def reported(handle: cl.Device, key: cl.device_info, default: _T) -> _T:
    """Query a property; `default` if the driver does not have it."""
    try:
        return cast("_T", handle.get_info(key))
    except loader.opencl().Error:
        return default


def c_versions(handle: cl.Device) -> set[tuple[int, int]]:
    """Versions of OpenCL C that the device compiles; before OpenCL 3.0 only the newest."""
    listed: list[Any] = reported(handle, loader.opencl().device_info.OPENCL_C_ALL_VERSIONS, [])
    # 10 bits of major version, 10 of minor, 12 of patch: OpenCL 3.0, section 4.2
    versions = {(each.version >> 22, each.version >> 12 & 0x3FF) for each in listed}
    newest = re.match(r"OpenCL C (\d+)\.(\d+)", handle.opencl_c_version)
    if newest:
        versions.add((int(newest[1]), int(newest[2])))
    return versions or {(1, 2)}


def standard_of(versions: set[tuple[int, int]]) -> tuple[int, int]:
    """Return the version of OpenCL C with the most features on this device."""
    return next((version for version in ((3, 0), (2, 0)) if version in versions), (1, 2))


def kind_of(handle: cl.Device) -> str:
    """Return "cpu", "gpu" or "accelerator"."""
    types = loader.opencl().device_type
    if handle.type & types.GPU:
        return "gpu"
    return "cpu" if handle.type & types.CPU else "accelerator"
