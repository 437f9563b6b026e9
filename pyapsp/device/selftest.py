"""Query the drivers in a separate process: ``python -m pyapsp.device.selftest [DEVICE]``.

A broken driver can abort or hang the process that calls it, so `doctor` runs this module in a
process of its own. The last line printed is a JSON object. Without an argument it lists the
implementations and devices that the loader found. With the id of a device it has the result of a
test kernel: whether it was built, ran, and gave the right numbers.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TypedDict

import numpy as np

from pyapsp.base.errors import PyApspError
from pyapsp.base.json import Record
from pyapsp.device import loader
from pyapsp.device.compiling import compiling
from pyapsp.device.selection import choose, devices, failed, no_device

__all__ = ["check", "survey"]

# The features that kernels of the package need: local memory, barriers, 32-bit atomics.
_SOURCE = """
kernel void turn(global const int *source, global int *target, global int *count, local int *tile)
{
    const int size = get_local_size(0), lane = get_local_id(0);
    tile[lane] = source[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    target[get_global_id(0)] = tile[size - 1 - lane];
    atomic_add(count, tile[lane]);
}
"""


class Tested(TypedDict):
    """The result of a test kernel."""

    works: bool
    seconds: float
    error: str | None


def survey() -> Record:
    """List the implementations and devices that were found.

    Returns
    -------
    dict
        ``loader`` (path of the loader's library, or None), ``implementations`` (library, origin,
        icd, loaded, error), ``devices`` (each by :meth:`Device.describe`), ``failed`` (messages
        for drivers that do not list their devices), ``error`` (text or None).
    """
    found, faults, error = [], [], None
    try:
        found, faults = [device.describe() for device in devices()], failed()
        if not found:
            raise no_device()
    except PyApspError as problem:
        error = str(problem)
    mapped = _mapped_files()
    return {
        "loader": next((str(file) for file in mapped if file.name.startswith("libOpenCL")), None),
        "implementations": [_state(each, mapped) for each in loader.implementations()],
        "devices": found,
        "failed": faults,
        "error": error,
    }


def check(spec: str) -> Tested:
    """Build a kernel on a device, run it, and check every number of its output.

    Parameters
    ----------
    spec : str
        The device, as for `pyapsp.device.choose`.

    Returns
    -------
    dict
        ``works`` (bool), ``seconds`` (build and run) and ``error`` (text or None).
    """
    start = time.perf_counter()
    try:
        error = _run(spec)
    except Exception as problem:  # an error of any type is the result of the test
        error = f"{type(problem).__name__}: {problem}"
    return {"works": error is None, "seconds": time.perf_counter() - start, "error": error}


def _run(spec: str) -> str | None:
    cl = loader.opencl()
    device = choose(spec)
    if not device.capabilities.long_loops:
        return f"kernels need long_loops: {device.without('long_loops')}"
    group = min(64, device.capabilities.max_work_group_size)
    source = np.random.default_rng(0).integers(-1000, 1000, 16 * group, dtype=np.int32)
    target, count = np.zeros_like(source), np.zeros(1, np.int32)
    flags = cl.mem_flags
    buffers = [
        cl.Buffer(device.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=array)
        for array in (source, target, count)
    ]
    with compiling(device.platform_name):
        program = cl.Program(device.context, _SOURCE).build(device.build_options, cache_dir=False)
    queue = device.queue()
    program.turn(queue, source.shape, (group,), *buffers, cl.LocalMemory(4 * group))
    cl.enqueue_copy(queue, target, buffers[1])
    cl.enqueue_copy(queue, count, buffers[2])
    right = source.reshape(-1, group)[:, ::-1].ravel()
    if not np.array_equal(target, right) or count[0] != source.sum():
        return "the test kernel ran, but its numbers are wrong"
    return None


def _state(each: loader.Implementation, mapped: list[Path]) -> Record:
    """Return whether the loader could load an implementation, and if not, the error."""
    stem = Path(each.library).name.partition(".so")[0]
    loaded = any(file.name.partition(".so")[0] == stem for file in mapped)
    error = None
    if not loaded:
        error = loader.load_fault(each.library)
        error = error or "it can be loaded, but the loader did not accept it"
    return {
        "library": each.library,
        "origin": each.origin,
        "icd": None if each.icd is None else str(each.icd),
        "loaded": loaded,
        "error": error,
    }


def _mapped_files() -> list[Path]:
    """Every file mapped into this process (Linux); empty elsewhere."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    # address, permissions, offset, device, inode, path
    fields = (line.split(maxsplit=5) for line in lines)
    return list(dict.fromkeys(Path(field[5]) for field in fields if len(field) == 6))


if __name__ == "__main__":
    print("\n" + json.dumps(check(sys.argv[1]) if len(sys.argv) > 1 else survey()))
