"""Build kernels that use ``cl/common/logical_warp.h``, with sub-groups where they have its width.

A logical warp is a number of neighbouring work-items that the program chooses. The functions of the
header work on every device with local memory and barriers. On a device whose sub-groups have just
this width, the same kernels are built with its instructions. So they are where the driver lists no
sub-groups and the device has warps of this width: a file for its vendor has the functions.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyapsp.base.errors import KernelBuildError
from pyapsp.device import Device
from pyapsp.device.kernels.program import Program, build

__all__ = ["WIDTHS", "build_warps"]

_log = logging.getLogger(__name__)
# The widths of a logical warp.
WIDTHS = (1, 2, 4, 8, 16, 32, 64)
_EXTENSIONS = frozenset({"cl_khr_subgroup_shuffle", "cl_khr_subgroup_ballot"})
# Beside the header: the functions of sub-groups for vendors, and the width that these have.
_FUNCTIONS, _WIDTH = "common/logical_warp.h", 32


def build_warps(
    device: Device,
    name: str,
    defines: Mapping[str, str | int],
    *,
    subgroups: bool = True,
    standard: str | None = None,
    optimise: bool = True,
) -> Program:
    """Build a kernel file that includes ``common/logical_warp.h``; returns and errors as `build`.

    Parameters
    ----------
    device, name, optimise
        As for `build`.
    defines : mapping of str to str or int
        Macros, with ``PYAPSP_GROUP`` and ``PYAPSP_WARP``. ``PYAPSP_SUBGROUPS`` and
        ``PYAPSP_INT64_ATOMICS`` are added.
    subgroups : bool
        Whether sub-groups may be used. They are used if the device lists the extensions and every
        kernel of the file gets sub-groups of the width ``PYAPSP_WARP``, or if the device has the
        capability ``warps32`` and that width is 32.
    standard : str or None
        The version of OpenCL C where the device lists no sub-groups, as for `build`.
    """
    atomics = int(device.capabilities.int64_atomics)
    plain = {**defines, "PYAPSP_INT64_ATOMICS": atomics, "PYAPSP_SUBGROUPS": 0}
    group, width = int(defines["PYAPSP_GROUP"]), int(defines["PYAPSP_WARP"])
    capabilities = device.capabilities
    able = capabilities.subgroups and _EXTENSIONS.issubset(capabilities.extensions)
    if subgroups and width > 1 and able:
        try:
            defines = {**plain, "PYAPSP_SUBGROUPS": 1}
            newest = capabilities.c_standard
            program = build(device, name, defines, standard=newest, optimise=optimise)
        except KernelBuildError as error:
            _log.info("%s: %s has no sub-groups for it: %s", name, device.name, error)
        else:
            if program.subgroup_sizes(group) == {width}:
                return program
    if subgroups and width == _WIDTH and capabilities.warps32:
        own = device.vendor_file(_FUNCTIONS)
        defines = {**plain, "PYAPSP_SUBGROUPS": 2}
        return build(device, name, defines, before=own, standard=standard, optimise=optimise)
    return build(device, name, plain, standard=standard, optimise=optimise)
