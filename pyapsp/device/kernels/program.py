"""Built programs: one per device and source text, one kernel object per kernel and thread.

The largest work-group of a built kernel is not queried: one driver reports 256 for kernels that run
in groups of 1024 if they require that size.
"""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast
from weakref import WeakValueDictionary

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import CapabilityError, DiskSpaceError, KernelBuildError
from pyapsp.device import Device
from pyapsp.device.caches import full_disk
from pyapsp.device.compiling import compiling
from pyapsp.device.kernels.source import flattened, headed, place_of

__all__ = ["Program", "build"]

_log = logging.getLogger(__name__)
_building = threading.Lock()
# Programs that are kept. One takes up to 3 MB in a driver.
_KEPT = 512
_PRIVATE = cl.kernel_arg_address_qualifier.PRIVATE
_SCALARS = {
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "long": np.int64,
    "ulong": np.uint64,
    "float": np.float32,
    "double": np.float64,
}


class Program:
    """A kernel file built for a device.

    Parameters
    ----------
    device : Device
        What to build for.
    source : str
        The assembled source.
    standard : str or None
        The version of OpenCL C, e.g. "CL3.0"; None: the default of the driver, at least 1.2.
    optimise : bool
        Whether the compiler optimises.

    Attributes
    ----------
    hash : str
        First 16 hexadecimal digits of the SHA-256 of the source; it identifies the kernel in a
        record.

    Raises
    ------
    CapabilityError
        If loops end early on the device.
    KernelBuildError
        If the compiler refuses the source.
    DiskSpaceError
        If the compiler cannot write its files.
    """

    def __init__(
        self, device: Device, source: str, standard: str | None = None, optimise: bool = True
    ) -> None:
        if not device.capabilities.long_loops:
            raise CapabilityError(f"kernels need long_loops: {device.without('long_loops')}")
        self.device = device
        self.source = source
        self.standard = standard
        self.hash = hashlib.sha256(source.encode()).hexdigest()[:16]
        options = [] if standard is None else [f"-cl-std={standard}"]
        options += [] if optimise else ["-cl-opt-disable"]
        options += [*device.build_options, "-cl-kernel-arg-info"]
        if not _log.isEnabledFor(logging.DEBUG):
            options.append("-w")  # some compilers count their warnings on standard error
        try:
            self._program = _compiled(device, source, options)
        except DiskSpaceError:
            raise
        except (cl.Error, OSError) as error:
            if (full := full_disk()) is not None:
                raise full from error
            if isinstance(error, OSError):
                raise
            raise KernelBuildError(_with_places(str(error), source), source) from None
        remarks = self._program.get_build_info(device.handle, cl.program_build_info.LOG)
        if remarks and remarks.strip():
            _log.debug("build of %s on %s: %s", self.hash, device.name, remarks.strip())
        # A kernel object holds its arguments between setting and launching them, so each thread
        # needs its own.
        self._kernels = threading.local()
        _programs[self._program.int_ptr] = self

    @staticmethod
    def of(kernel: cl.Kernel) -> Program | None:
        """Return the program that a kernel is from; None if it is not one of ours, or is gone."""
        try:
            program = cast("cl.Program", kernel.get_info(cl.kernel_info.PROGRAM))
        except cl.Error:  # some drivers let a program go before its kernels
            return None
        return _programs.get(program.int_ptr)

    def kernel(self, name: str) -> cl.Kernel:
        """Return the kernel of this name, the same object each time in a thread.

        Raises
        ------
        CapabilityError
            If it needs more local memory than the device has.
        """
        kernels: dict[str, cl.Kernel] = self._kernels.__dict__
        if name not in kernels:
            kernels[name] = self.new_kernel(name)
            _declare_scalars(kernels[name], self.source)
        return kernels[name]

    def new_kernel(self, name: str) -> cl.Kernel:
        """Return a kernel object that nobody else uses, so that it keeps its arguments."""
        kernel = cl.Kernel(self._program, name)
        # Not all drivers refuse the launch: one lets the kernel write over other memory.
        query = cl.kernel_work_group_info.LOCAL_MEM_SIZE
        needed = cast(int, kernel.get_work_group_info(query, self.device.handle))
        if needed > (most := self.device.capabilities.local_memory):
            raise CapabilityError(
                f"kernel {name} needs {needed:,} bytes of local memory, and {self.device.name} "
                f"has {most:,}"
            )
        return kernel

    def binary(self) -> bytes:
        """Return what the driver has compiled; some compile a kernel when it first runs."""
        binaries: list[bytes] = self._program.get_info(cl.program_info.BINARIES)
        return binaries[0]

    def subgroup_sizes(self, group: int) -> set[int]:
        """Return the widths of the sub-groups of all kernels, in groups of this size.

        Returns
        -------
        set of int
            Empty if the driver does not know them.
        """
        names = self._program.get_info(cl.program_info.KERNEL_NAMES).split(";")
        query = cl.kernel_sub_group_info.MAX_SUB_GROUP_SIZE_FOR_NDRANGE
        try:
            return {
                int(str(self.kernel(name).get_sub_group_info(self.device.handle, query, [group])))
                for name in names
            }
        except (cl.Error, RuntimeError, AttributeError):
            return set()


# Those that are in use, by the address of what the driver has built.
_programs: WeakValueDictionary[int, Program] = WeakValueDictionary()


def _compiled(device: Device, source: str, options: list[str]) -> Any:
    """Compile a source, or load the binary from the cache of PyOpenCL."""
    with compiling(device.platform_name):
        try:
            return cl.Program(device.context, source).build(options)
        except (OSError, KeyError):
            # PyOpenCL could not write its cache. Some versions then read a variable that is unset.
            uncached: Any = {"cache_dir": False}
            return cl.Program(device.context, source).build(options, **uncached)


def _declare_scalars(kernel: cl.Kernel, source: str) -> None:
    """Set the types of scalar arguments in PyOpenCL: a launch then takes 5 instead of 60 us."""
    info = cl.kernel_arg_info
    types: list[type | None] = []
    try:
        for number in range(kernel.num_args):
            name = None
            if kernel.get_arg_info(number, info.ADDRESS_QUALIFIER) == _PRIVATE:
                name = str(kernel.get_arg_info(number, info.TYPE_NAME)).strip("\0 ")
            types.append(None if name is None else _scalar(name, source))
    except cl.Error:
        return  # a driver without argument info: slower, but correct
    kernel.set_scalar_arg_dtypes(types)


def _scalar(name: str, source: str) -> type | None:
    """Return the type of a name in a source, also of a typedef; None if it is not in `_SCALARS`.

    Arguments without a type take PyOpenCL 6 us each.
    """
    if name in _SCALARS:
        return _SCALARS[name]
    others = set(re.findall(rf"^ *typedef (\w+) {name};", source, re.MULTILINE))
    if not others:
        # the first definition of a macro is that of the call, the others are defaults
        others = set(re.findall(rf"^ *#define {name} (\w+)$", source, re.MULTILINE)[:1])
    return _scalar(others.pop(), source) if len(others) == 1 else None


def _with_places(log: str, source: str) -> str:
    """Replace line numbers of the assembled text, which some compilers report, by file:line."""
    return re.sub(r"<[a-z ]+>:(\d+)", lambda match: place_of(source, int(match[1])), log)


def build(
    device: Device,
    name: str,
    defines: Mapping[str, str | int],
    *,
    before: str | None = None,
    standard: str | None = None,
    optimise: bool = True,
) -> Program:
    """Assemble and build a kernel file, or return the cached program.

    Parameters
    ----------
    device : Device
        The device to build for.
    name : str
        The file relative to the kernel root, e.g. ``"all_pairs/dense/fw_naive.cl"``.
    defines : mapping of str to str or int
        Macros.
    before : str or None
        A file whose text is put before that of `name`.
    standard : str or None
        The version of OpenCL C, as in `Capabilities.c_standard`; None for kernels that need only
        1.2.
    optimise : bool
        Whether the compiler optimises.

    Returns
    -------
    Program

    Raises
    ------
    KernelBuildError
        If the compiler refuses the source.
    """
    # a changed file changes this text
    text = "\n".join(flattened(each) for each in (before, name) if each is not None)
    with _building:
        return _build(device, text, tuple(defines.items()), standard, optimise)


@lru_cache(_KEPT)
def _build(
    device: Device,
    text: str,
    defines: tuple[tuple[str, str | int], ...],
    standard: str | None,
    optimise: bool,
) -> Program:
    return Program(device, headed(text, dict(defines)), standard, optimise)
