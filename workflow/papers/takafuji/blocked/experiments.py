"""[T], tables 3.1 to 3.3 and 3.10: one launch or many, packed words or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import pyopencl as cl

from papers.contender import Contender
from papers.experiment import OnGraphs, Task, contender, one, random_below
from papers.runner import Label
from pyapsp.device import Device
from pyapsp.errors import ParameterError
from pyapsp.graph import Graph, generators
from pyapsp.registry import method

__all__ = ["EXPERIMENTS"]

# [T] tables 3.1 and 3.2: work-items of a group
_THREADS = (64, 128, 256, 512, 1024)
_LAUNCHES = ("fw-multikernel", "fw-singlekernel")
# [T] table 3.10: bits of a field
_BITS = (8, 16)


def _unweighted(n: int) -> Graph:
    """Return an unweighted graph whose distances fit 4 bits: 16 arcs for each vertex."""
    return generators.random_graph(n, min(16 * n, n * (n - 1)), max_weight=1)


def _threads(task: Task) -> Sequence[int]:
    """Return the group sizes to measure: 1 if a group is a loop on a core."""
    return task.chosen("threads", (1,) if task.device.traits.scalar_groups else _THREADS)


def _group(tile: int, across: int, threads: int) -> dict[str, int]:
    """Return a group of a given size, each work-item with an equal part of a tile in registers."""
    if threads == 1:
        return {"tile": tile, "group_x": 1, "group_y": 1, "contiguous": 1}
    height = max(threads // across, 1)
    return {
        "tile": tile,
        "width": 1,
        "group_x": min(threads, across),
        "group_y": height,
        "rows": max(min(tile // height, 16), 1),
        "contiguous": 1,
    }


def _for_threads(task: Task) -> Iterator[Contender]:
    for threads, id_ in product(_threads(task), _LAUNCHES):
        yield contender(task, {"threads": threads}, method(id_, **_group(32, 32, threads)))


def _packed(task: Task) -> Iterator[Contender]:
    for threads, single in product(_threads(task), (0, 1)):
        # there tiles are 8 x 64 values, and 16 x 128 for large n; words hold 8
        tile = 64 if task.graph.n <= 4096 and threads <= 512 else 128
        label: Label = {"threads": threads, "single": single}
        shape = _group(tile, tile // 8, threads)
        yield contender(task, label, method("fw-packed4", single=single, **shape), roof=False)


def _multicore(task: Task) -> Iterator[Contender]:
    # a row of tiles for each of 8 threads, if tiles are not too small then
    tile = min(max(1 << max(task.graph.n // 8, 1).bit_length() - 1, 32), 128)
    for cores in task.chosen("cores", _cores(task.device)):
        part = _part(task.device, cores)
        for bits, form in product(_BITS, (0, 1)):
            label: Label = {"cores": cores, "bits": bits, "form": form}
            shape = {"single": 0, "form": form, "tile": tile}
            solver = method(f"fw-packed{bits}", **shape)
            yield contender(task, label, solver, device=part, roof=False)


def _cores(device: Device) -> list[int]:
    """Return powers of two and the number of all compute units; only this if no sub-devices."""
    units = device.capabilities.compute_units
    try:
        _part(device, 1)
    except ParameterError:
        return [units]
    doubled = {2**power for power in range(units.bit_length())}
    return sorted({count for count in doubled if count < units} | {units})


def _part(device: Device, units: int) -> Device:
    """Return a sub-device with a given number of compute units.

    Raises
    ------
    ParameterError
        If the device has fewer, or its driver does not support sub-devices.
    """
    if units == device.capabilities.compute_units:
        return device
    try:
        by_counts: Any = [cl.device_partition_property.BY_COUNTS, units]
        return Device(device.handle.create_sub_devices(by_counts)[0], f"{device.id}/{units}")
    except cl.Error as error:
        raise ParameterError(f"{device.name} has no part of {units} units: {error}") from None


_experiment = partial(
    OnGraphs, sizes=(256, 512), settings=("threads",), graphs=one(_unweighted), dtype="int32"
)
EXPERIMENTS = {
    "takafuji-threads": _experiment(
        exhibits="tables 3.1 and 3.3",
        methods=_LAUNCHES,
        graphs=one(random_below),
        contenders=_for_threads,
    ),
    "takafuji-packed": _experiment(
        exhibits="tables 3.2 and 3.3", methods=("fw-packed4",), contenders=_packed
    ),
    "takafuji-multicore": _experiment(
        exhibits="table 3.10",
        methods=tuple(f"fw-packed{bits}" for bits in _BITS),
        sizes=(512,),
        settings=("cores",),
        contenders=_multicore,
    ),
}
