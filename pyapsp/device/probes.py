"""Small kernels that test, once per driver, capabilities that drivers omit or report wrongly.

Work-groups of one launch may wait for each other's results only with fences of device scope. These
are part of OpenCL C 2.0, optional since 3.0, and absent before 2.0. A driver that compiles such a
fence without listing the scope may ignore it, and groups then read stale values. Such a driver is
used with fences under two conditions: `quirks` names it as one that has the scope without listing
it, and a chain of groups gives the right values.

One implementation ends the loops of a work-item after 65,535 steps in all, without an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from pyapsp.device import loader
from pyapsp.device.compiling import compiling
from pyapsp.device.quirks import Instructions, instructions_of, unlisted_scope
from pyapsp.device.verdicts import verdict

if TYPE_CHECKING:
    import pyopencl as cl

__all__ = ["chain_fault", "instructions_fault", "loop_fault", "scope_fault"]

# Each group takes a number, waits for the group before it, adds 1 to every value and then signals
# the next group. A group that waits longer than a correct driver needs sets `ticket[2]`, and all
# groups stop waiting.
_CHAIN = """
#define FENCE() atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, \\
                                       memory_scope_device)
kernel void chain(volatile global int *ticket, global int *values, const int patience)
{
    local int mine[2];
    if (get_local_id(0) == 0) {
        mine[0] = atomic_inc(ticket);
        int tries = 0;
        while (atomic_or(ticket + 1, 0) < mine[0] && !atomic_or(ticket + 2, 0))
            if (++tries == patience)
                atomic_xchg(ticket + 2, 1);
        FENCE();
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int i = get_local_id(0); i < VALUES; i += get_local_size(0))
        values[i] += 1;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        FENCE();
        atomic_xchg(ticket + 1, mine[0] + 1);
    }
}
"""
_VALUES, _GROUPS, _ROUNDS, _PATIENCE = 256, 64, 200, 2**22

# The values are all 1, but the compiler cannot know that and replace the loop.
_LOOP = """
kernel void count(global const int *values, global int *sum, const int steps)
{
    int total = 0;
    for (int i = 0; i < steps; i++)
        total += values[i & 7];
    *sum = total;
}
"""
_STEPS = 2**20


def scope_fault(
    handle: cl.Device, standard: tuple[int, int], identity: Mapping[str, str]
) -> str | None:
    """Return why fences do not order memory over the whole device; None if they do.

    Parameters
    ----------
    handle : pyopencl.Device
    standard : tuple of int
        The version of OpenCL C with which kernels with such fences are compiled.
    identity : mapping
        As `Device.identity`.
    """
    if standard < (2, 0):
        return "it has no OpenCL C 2.0"
    opencl = loader.opencl()
    if standard == (2, 0) or _listed(handle) & opencl.device_atomic_capabilities.SCOPE_DEVICE:
        return None
    if not unlisted_scope(str(handle.platform.name)):
        return "its driver does not list device scope in CL_DEVICE_ATOMIC_FENCE_CAPABILITIES"
    return verdict(identity, "device scope", _code(_CHAIN), lambda: chain_fault(handle))


def loop_fault(handle: cl.Device, identity: Mapping[str, str]) -> str | None:
    """Return the fault of a device with long loops; None if they run to their end."""
    return verdict(identity, "loops", _code(_LOOP), lambda: _counted(handle))


def instructions_fault(
    handle: cl.Device, capability: str, kind: str, identity: Mapping[str, str]
) -> str | None:
    """Return why a device has not the instructions of a capability; None if it has them.

    Parameters
    ----------
    handle : pyopencl.Device
    capability : {"packed16", "warps32"}
        As in `Capabilities`.
    kind : str
        As `Device.kind`.
    identity : mapping
        As `Device.identity`.
    """
    known = instructions_of(capability, str(handle.platform.name), kind)
    if known is None:
        return "no such instructions are known"
    return verdict(identity, capability, _code(known.source), lambda: _tried(handle, known))


def chain_fault(handle: cl.Device) -> str | None:
    """Run a chain of work-groups some hundred times; return the fault, or None."""
    opencl = loader.opencl()
    items = 1 if handle.type & opencl.device_type.CPU else min(64, handle.max_work_group_size)
    with compiling(str(handle.platform.name)):
        try:
            context = opencl.Context([handle])
            queue = opencl.CommandQueue(context, handle)
            options = ["-cl-std=CL3.0", f"-DVALUES={_VALUES}"]
            kernel = opencl.Kernel(
                opencl.Program(context, _CHAIN).build(options, cache_dir=False), "chain"
            )
            flags = opencl.mem_flags.READ_WRITE
            tickets, values = (opencl.Buffer(context, flags, 4 * n) for n in (3, _VALUES))
            found, head, zero = np.empty(_VALUES, np.int32), np.empty(3, np.int32), np.int32(0)
            for _ in range(_ROUNDS):
                for buffer in (tickets, values):
                    opencl.enqueue_fill_buffer(queue, buffer, zero, 0, buffer.size)
                shape = (_GROUPS * items,)
                kernel(queue, shape, (items,), tickets, values, np.int32(_PATIENCE))
                opencl.enqueue_copy(queue, head, tickets)
                opencl.enqueue_copy(queue, found, values)
                if head[2]:
                    return "groups waited for each other without end"
                if not (found == _GROUPS).all():
                    return "a work-group read values older than those it had waited for"
        except opencl.Error as error:
            return f"a chain of work-groups did not run: {error}"
    return None


def _counted(handle: cl.Device) -> str | None:
    opencl = loader.opencl()
    with compiling(str(handle.platform.name)):
        try:
            context = opencl.Context([handle])
            queue = opencl.CommandQueue(context, handle)
            program = opencl.Program(context, _LOOP).build([], cache_dir=False)
            kernel = opencl.Kernel(program, "count")
            flags, total = opencl.mem_flags, np.zeros(1, np.int32)
            copied = flags.READ_ONLY | flags.COPY_HOST_PTR
            values = opencl.Buffer(context, copied, hostbuf=np.ones(8, np.int32))
            found = opencl.Buffer(context, flags.READ_WRITE, 4)
            kernel(queue, (1,), (1,), values, found, np.int32(_STEPS))
            opencl.enqueue_copy(queue, total, found)
        except opencl.Error:
            return None  # the next kernel will raise the same error
    if total[0] == _STEPS:
        return None
    return f"a loop of {_STEPS:,} steps ended after {total[0]:,}; loops of any kernel may do so"


def _tried(handle: cl.Device, known: Instructions) -> str | None:
    opencl = loader.opencl()
    words = np.array(known.words, np.uint32)
    with compiling(str(handle.platform.name)):
        try:
            context = opencl.Context([handle])
            queue = opencl.CommandQueue(context, handle)
            flags = opencl.mem_flags.READ_WRITE | opencl.mem_flags.COPY_HOST_PTR
            buffer = opencl.Buffer(context, flags, hostbuf=words)
            program = opencl.Program(context, known.source).build(cache_dir=False)
            opencl.Kernel(program, "probe")(queue, (words.size,), (words.size,), buffer)
            opencl.enqueue_copy(queue, words, buffer)
        except opencl.Error as error:
            return f"a kernel with the instructions did not run: {error}"
    return None if words.tolist() == list(known.right) else "the instructions gave a wrong result"


def _code(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def _listed(handle: cl.Device) -> int:
    opencl = loader.opencl()
    try:
        return cast(int, handle.get_info(opencl.device_info.ATOMIC_FENCE_CAPABILITIES))
    except opencl.Error:
        return 0
