"""[M]: a matrix larger than the memory of the device."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from papers.contender import Contender
from papers.experiment import OnGraphs, Task, contender, one, random_below
from papers.runner import Label
from pyapsp.all_pairs.dense.fw_minplus import FORMS, FwMinplus
from pyapsp.all_pairs.dense.outofcore import speeds
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.base.json import Record
from pyapsp.device import Device, devices
from pyapsp.registry import method

__all__ = ["EXPERIMENTS"]

# [M] "Tiling in the kernel"
_TILE_SIDES = (1, 2, 4, 8)
# [M] "Maximum performance for different blocking factors", "... with optimal blocking factor": b is
# n divided by these. Blocks for fewer than six passes do not fit the part of memory below.
_PASSES = (10, 8, 6)
_PASSES_OF_SIZES = (32, 16, 8)
# A device may use memory for this part of the matrix.
_HELD = 0.5


def _launches(launches: int) -> list[str]:
    """Name the launches of a round of fw-minplus, multiplication apart from addition."""
    if launches == 1:  # the whole matrix is the pivot block
        return ["before"]
    return [*["before"] * (launches - 2), "multiply", "add"]


def _tiles(task: Task) -> Iterator[Contender]:
    sides = task.chosen("sides", _TILE_SIDES)
    for rows, columns in product(sides, sides):
        tiles = method(
            "fw-minplus",
            form="tiles",
            block=64,
            tile=64,
            rows=rows,
            words=columns,
            # a wavefront of 64
            group_x=8,
            group_y=8,
            slice=8,
            vector=1,
            packed=0,
            ahead=0,
            separate=1,
        )
        yield contender(task, {"rows": rows, "columns": columns}, tiles, phases=_launches)


def _for_blocks(task: Task) -> Iterator[Contender]:
    blocks = task.chosen("blocks", _blocks(task, _PASSES))
    for block, cut, split in product(blocks, ("square", "rows"), ("fused", "separated")):
        shape = {"rows": block, "columns": block} if cut == "square" else {}
        label: Label = {"block": block, "cut": cut, "split": split}
        yield _outofcore(task, label, block=block, split=split, **shape)


def _speeds(task: Task) -> Record:
    """Return the measurements of the planner of fw-outofcore: updates and bytes per second."""
    parameters, _ = FwMinplus().choose_parameters(task.graph, task.options)
    factors = FORMS[parameters.word("form")](task.options, parameters, negative=False)
    with Matrix(np.zeros((task.graph.n, task.graph.n), task.options.dtype)) as matrix:
        memory = task.device.capabilities.global_memory
        rates = speeds.measure(task.device, factors, matrix, memory)
    both = {"up": rates.up, "down": rates.down, "read": rates.read, "write": rates.write}
    # None: nothing is transferred, because the device uses the memory of the host
    finite = {name: speed if math.isfinite(speed) else None for name, speed in both.items()}
    return {"speeds": {"product": rates.product, **finite}}


def _sizes(task: Task) -> Iterator[Contender]:
    for block in _blocks(task, _PASSES_OF_SIZES):
        yield _outofcore(task, {"block": block}, block=block)
    yield _outofcore(task, {"block": "planned"})


def _devices(task: Task) -> Iterator[Contender]:
    yield _outofcore(task, {"set": "main"})
    cpu = _cpu_beside(task.device)
    if cpu is None:
        return
    yield replace(_outofcore(task, {"set": "cpu"}), device=cpu)
    # on the poster the CPU closes the pivot blocks
    for name, pivot in (("hybrid", "device"), ("pivots", "host")):
        hybrid = _outofcore(task, {"set": name}, helpers="all", pivot=pivot)
        yield replace(hybrid, helpers=(cpu,), roof=False)


def _opinion(task: Task) -> Record:
    """Return the CPU, whether the planner would use it too, and the planner's reasons."""
    cpu = _cpu_beside(task.device)
    helpers = () if cpu is None else (cpu,)
    options = replace(task.options, memory_limit=_memory(task), helpers=helpers)
    plan = method("fw-outofcore").plan(task.graph, options)
    return {
        "planned": {
            "beside": None if cpu is None else cpu.name,
            "helpers": plan.parameters["helpers"],
            "notes": list(plan.notes),
        }
    }


def _blocks(task: Task, passes: Sequence[int]) -> list[int]:
    """Return the blocking factors for about a given number of passes."""
    return sorted({max(task.graph.n // each // 16, 1) * 16 for each in passes})


def _outofcore(task: Task, label: Label, **parameters: int | str) -> Contender:
    """Make a contender for a matrix that does not fit the device."""
    solver = method("fw-outofcore", **parameters)
    return contender(task, label, solver, memory_limit=_memory(task))


def _memory(task: Task) -> int:
    """Return the bytes of a device that fw-outofcore may use."""
    return int(_HELD * task.graph.n**2 * task.options.dtype.itemsize)


def _cpu_beside(device: Device) -> Device | None:
    """Return the best CPU other than the device; None if there is none."""
    cpus = (each for each in devices() if each.kind == "cpu" and each.handle != device.handle)
    return next(cpus, None)


_experiment = partial(
    OnGraphs, methods=("fw-outofcore",), graphs=one(random_below), dtype="float32"
)
EXPERIMENTS = {
    "matsumoto-tiles": _experiment(
        exhibits="tiles of the kernel",
        methods=("fw-minplus",),
        sizes=(256,),
        settings=("sides",),
        contenders=_tiles,
    ),
    "matsumoto-blocks": _experiment(
        exhibits="performance and bandwidth for each b",
        sizes=(1024,),
        settings=("blocks",),
        contenders=_for_blocks,
        extra=_speeds,
    ),
    "matsumoto-sizes": _experiment(
        exhibits="performance for each n with the best b", sizes=(256, 512, 1024), contenders=_sizes
    ),
    "matsumoto-devices": _experiment(
        exhibits="GPU, CPU and both", sizes=(768,), contenders=_devices, extra=_opinion
    ),
}
