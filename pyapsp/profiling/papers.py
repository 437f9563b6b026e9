"""What the papers measured, measured again on a device at hand.

Each experiment is one set of parameters on one graph of n vertices, the runs behind a table or a
figure. `pyapsp.report.papers` puts them beside the published figures.

[O] is F. Okuyama's thesis, 2013, chapter 4; [T] is D. Takafuji's thesis, 2020, chapter 3; [M] is
the poster of K. Matsumoto, N. Nakasato and S. G. Sedukhin, SC 2012.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pyopencl as cl

from pyapsp import __version__
from pyapsp.dense import performance_model
from pyapsp.dense.floyd_warshall import FloydWarshall
from pyapsp.dense.fw_minplus import FORMS, FwMinplus
from pyapsp.dense.outofcore import planner
from pyapsp.dense.outofcore.storage import Matrix
from pyapsp.dense.performance_model import Inputs, Instructions
from pyapsp.dense.register_tiles import Iterative
from pyapsp.device import Device, choose, devices
from pyapsp.errors import ParameterError, PyApspError
from pyapsp.graph import Graph, generators
from pyapsp.profiling import sweeps
from pyapsp.profiling.sweeps import Contender
from pyapsp.registry import Options
from pyapsp.registry import method as find_method

__all__ = ["EXPERIMENTS", "Experiment", "measure"]

# [O] 4.5.1 and table 4.4: h of the pivot tile for each t, h of the panels, t' of two-level tiles.
_H_PIVOT = {16: 16, 32: 8, 64: 4}
_H_PANEL = 4
_SUBTILE = {16: 4, 32: 2, 64: 4}
# [O] 4.5.3
_TUNED = {"tile": 32, "h_pivot": 8, "h_panel": 4}
# [T] tables 3.1 and 3.2: work-items of a group
_THREADS = (64, 128, 256, 512, 1024)
# [M] "Tiling in the kernel"
_TILE_SIDES = (1, 2, 4, 8)
# [M] "Maximum performance for different blocking factors", "... with optimal blocking factor": b is
# n divided by these. Blocks for fewer than six passes do not fit the memory below.
_PASSES = (10, 8, 6)
_PASSES_OF_SIZES = (32, 16, 8)
# A device may use memory for this part of the matrix.
_HELD = 0.5


@dataclass(frozen=True)
class _Task:
    """What the contenders of an experiment depend on."""

    graph: Graph
    options: Options
    settings: Mapping[str, Sequence[int]]

    @property
    def device(self) -> Device:
        return self.options.device

    def chosen(self, name: str, default: Sequence[int]) -> Sequence[int]:
        """Return a setting, or the default when there is none."""
        return self.settings.get(name) or default


@dataclass(frozen=True)
class Experiment:
    """One set of runs.

    Attributes
    ----------
    summary : str
        What they are for.
    graph : callable
        Makes the graph of n vertices.
    dtype : str
    contenders : callable
        Yields what takes part.
    settings : frozenset of str
        Names of the settings it knows.
    extra : callable
        Returns what else belongs into the document.
    """

    summary: str
    graph: Callable[[int], Graph]
    dtype: str
    contenders: Callable[[_Task], Iterator[Contender]]
    settings: frozenset[str] = frozenset()
    extra: Callable[[_Task], dict[str, Any]] = lambda task: {}


def measure(
    experiment: str,
    n: int,
    *,
    device: Any = None,
    repeat: int = 3,
    settings: Mapping[str, Sequence[int]] | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Run an experiment.

    Parameters
    ----------
    experiment : str
        Name in `EXPERIMENTS`.
    n : int
        Vertices.
    device : optional
        See `pyapsp.device.choose`.
    repeat : int
        Timed turns.
    settings : mapping of str to sequence of int, optional
        ``threads``, ``cores``, ``sides`` or ``blocks``: what to try, instead of the published
        values or those that suit the device.
    progress : callable
        Told what runs next.

    Returns
    -------
    dict
        What `pyapsp.profiling.sweeps.run` returns, with the experiment, n and the device.

    Raises
    ------
    ParameterError
        If there is no such experiment or setting.
    VerificationError
        If an answer is wrong.
    PyApspError
        If nothing could run: why the first contender could not.
    """
    if experiment not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise ParameterError.of("experiment", "papers", f"one of {known}", experiment)
    given = {name: values for name, values in (settings or {}).items() if values}
    chosen = EXPERIMENTS[experiment]
    for name in given.keys() - chosen.settings:
        raise ParameterError.of(name, experiment, "absent: there is no such choice", given[name])
    if n < 2:
        raise ParameterError.of("n", "papers", "at least 2", n)
    options = Options(choose(device), np.dtype(chosen.dtype))
    task = _Task(chosen.graph(n), options, given)
    right = sweeps.reference(task.graph, chosen.dtype, options.device)
    contenders = list(chosen.contenders(task))
    measured = sweeps.run(
        task.graph, contenders, chosen.dtype, right, repeat=repeat, progress=progress
    )
    if not measured["runs"]:
        reasons = [each["why"] for each in measured["left_out"]] or ["there is nothing to try"]
        raise PyApspError(f"{experiment}, n = {n}: {reasons[0]}")
    device_found = options.device
    return {
        "schema": 2,
        "pyapsp": __version__,
        "experiment": experiment,
        "n": n,
        "device": {
            "id": device_found.id,
            "name": device_found.name,
            "platform": device_found.platform_name,
            "kind": device_found.kind,
            "driver": device_found.driver_version,
            "units": device_found.capabilities.compute_units,
            "one_item_groups": device_found.traits.scalar_groups,
        },
        **chosen.extra(task),
        **measured,
    }


def _contender(task: _Task, label: dict[str, int | str], id_: str, **parameters: Any) -> Contender:
    """Make a contender, listening to its kernels where it is known what they are for."""
    chosen = find_method(id_, **parameters)
    assert isinstance(chosen, FloydWarshall)
    phases = None
    if isinstance(chosen, Iterative):
        phases = _iterative
    elif parameters.get("separate"):
        phases = _separate
    return Contender({"method": id_, **label}, chosen, task.device, phases)


def _iterative(launches: int) -> list[str]:
    """Name the launches of a round of fw-mm and fw-twolevel."""
    return ["pivot", "panels", "others"][:launches]


def _separate(launches: int) -> list[str]:
    """Name the launches of a round of fw-minplus, multiplication apart from addition."""
    if launches == 1:  # the whole matrix is the pivot block
        return ["before"]
    return [*["before"] * (launches - 2), "multiply", "add"]


# --- [O] ---------------------------------------------------------------------------------------


def _random(n: int) -> Graph:
    """Return a graph as in [O] 4.5.1: m = 4n, positive weights below n."""
    return generators.random_graph(n, max_weight=n - 1)


def _okuyama_times(task: _Task) -> Iterator[Contender]:
    for tile, height in _H_PIVOT.items():
        label: dict[str, int | str] = {"tile": tile}
        rows = {"tile": tile, "h_pivot": height}
        panels = {**rows, "h_panel": _H_PANEL}
        yield _contender(task, label, "fw-mm", **panels, selector="AT")
        # its l was found by experiment
        yield _contender(
            task, label, "fw-twolevel", **panels, subtile=_SUBTILE[tile], selector="MT"
        )
        yield _contender(task, label, "fw-recursive", **rows, merged=0)
    yield _contender(task, {}, "fw-minplus")


def _gtx280(size: int) -> Inputs:
    """Return the inputs of [O]'s model for t = 32 on its GPU: (4.9), tables 4.2 and 4.4."""
    return Inputs(
        size=size,
        tile=32,
        instructions=Instructions(84, 1166),
        group=64,
        resident=6,  # 12 warps, of which a group has two
        units=30,
        rate=8 * 1296e6,
    )


def _estimates(inputs: Inputs) -> dict[str, dict[int, float]]:
    return {
        model: {
            count: performance_model.estimate(inputs, count, model)
            for count in performance_model.choices(inputs.size)
        }
        for model in performance_model.MODELS
    }


def _selected(task: _Task) -> dict[str, Any]:
    """Return for each l the estimated seconds of a launch, and which l are chosen by whom."""
    method = find_method("fw-mm", **_TUNED)
    assert isinstance(method, Iterative)
    ours = {
        model: method.times(task.graph, task.options, model) for model in performance_model.MODELS
    }
    size = -(-task.graph.n // _TUNED["tile"]) * _TUNED["tile"]
    published = _estimates(_gtx280(size))
    best = performance_model.best
    return {
        "estimates": ours,
        "selected": {model: best(times) if times else 1 for model, times in ours.items()},
        "published_estimates": published,
        "published_selected": {model: best(times) for model, times in published.items()},
    }


def _okuyama_tuning(task: _Task) -> Iterator[Contender]:
    chosen = _selected(task)
    size = -(-task.graph.n // _TUNED["tile"]) * _TUNED["tile"]
    counts = {1, *performance_model.choices(size, distinct=True)}
    counts |= {*chosen["selected"].values(), chosen["published_selected"]["AT"]}
    for count in sorted(counts):
        yield _contender(task, {"l": count}, "fw-mm", **_TUNED, l=count)


# --- [T] ---------------------------------------------------------------------------------------


def _unweighted(n: int) -> Graph:
    """Return an unweighted graph whose distances fit 4 bits: 16 arcs for each vertex."""
    return generators.random_graph(n, min(16 * n, n * (n - 1)), max_weight=1)


def _threads(task: _Task) -> Sequence[int]:
    """Return the work-items of a group that are tried: 1 where a group is a loop on a core."""
    return task.chosen("threads", (1,) if task.device.traits.scalar_groups else _THREADS)


def _group(tile: int, across: int, threads: int) -> dict[str, int]:
    """Return a group of so many work-items, each with the same part of a tile in registers."""
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


def _takafuji_threads(task: _Task) -> Iterator[Contender]:
    for threads, id_ in product(_threads(task), ("fw-multikernel", "fw-singlekernel")):
        yield _contender(task, {"threads": threads}, id_, **_group(32, 32, threads))


def _takafuji_packed(task: _Task) -> Iterator[Contender]:
    for threads, single in product(_threads(task), (0, 1)):
        # there tiles are 8 x 64 values, and 16 x 128 for large n; words hold 8
        tile = 64 if task.graph.n <= 4096 and threads <= 512 else 128
        label: dict[str, int | str] = {"threads": threads, "single": single}
        shape = _group(tile, tile // 8, threads)
        yield _without_roof(_contender(task, label, "fw-packed4", single=single, **shape))


def _takafuji_multicore(task: _Task) -> Iterator[Contender]:
    # a row of tiles for each of 8 threads, where that is not too small
    tile = min(max(1 << max(task.graph.n // 8, 1).bit_length() - 1, 32), 128)
    for cores in task.chosen("cores", _cores(task.device)):
        part = _part(task.device, cores)
        for bits, form in product((8, 16), (0, 1)):
            label: dict[str, int | str] = {"cores": cores, "bits": bits, "form": form}
            shape = {"single": 0, "form": form, "tile": tile}
            made = _contender(task, label, f"fw-packed{bits}", **shape)
            made.device = part
            yield _without_roof(made)


def _cores(device: Device) -> list[int]:
    """Return the powers of two of the compute units, and all; only these if they do not divide."""
    units = device.capabilities.compute_units
    try:
        _part(device, 1)
    except ParameterError:
        return [units]
    doubled = {2**power for power in range(units.bit_length())}
    return sorted({count for count in doubled if count < units} | {units})


def _without_roof(contender: Contender) -> Contender:
    """Say that the roof is another one: packed fields have it, and several devices."""
    contender.roof = False
    return contender


def _part(device: Device, units: int) -> Device:
    """Return a device of so many of the compute units.

    Raises
    ------
    ParameterError
        If the device has fewer, or its driver does not divide it.
    """
    if units == device.capabilities.compute_units:
        return device
    try:
        by_counts: Any = [cl.device_partition_property.BY_COUNTS, units]
        return Device(device.handle.create_sub_devices(by_counts)[0], f"{device.id}/{units}")
    except cl.Error as error:
        raise ParameterError(f"{device.name} has no part of {units} units: {error}") from None


# --- [M] ---------------------------------------------------------------------------------------


def _matsumoto_tiles(task: _Task) -> Iterator[Contender]:
    sides = task.chosen("sides", _TILE_SIDES)
    for rows, columns in product(sides, sides):
        yield _contender(
            task,
            {"rows": rows, "columns": columns},
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


def _matsumoto_blocks(task: _Task) -> Iterator[Contender]:
    blocks = task.chosen("blocks", _blocks(task, _PASSES))
    for block, cut, split in product(blocks, ("square", "rows"), ("fused", "separated")):
        shape = {"rows": block, "columns": block} if cut == "square" else {}
        label: dict[str, int | str] = {"block": block, "cut": cut, "split": split}
        yield _outofcore(task, label, block=block, split=split, **shape)


def _speeds(task: _Task) -> dict[str, Any]:
    """Return what the planner of fw-outofcore measures: updates and bytes a second."""
    parameters, _ = FwMinplus().choose_parameters(task.graph, task.options)
    factors = FORMS[parameters["form"]](task.options, parameters, negative=False)
    with Matrix(np.zeros((task.graph.n, task.graph.n), task.options.dtype)) as matrix:
        memory = task.device.capabilities.global_memory
        found = planner.measure(task.device, factors, matrix, memory)
    both = {"up": found.up, "down": found.down, "read": found.read, "write": found.write}
    # None: nothing travels, because the device works in the memory of the host
    finite = {name: speed if math.isfinite(speed) else None for name, speed in both.items()}
    return {"speeds": {"product": found.product, **finite}}


def _matsumoto_sizes(task: _Task) -> Iterator[Contender]:
    for block in _blocks(task, _PASSES_OF_SIZES):
        yield _outofcore(task, {"block": block}, block=block)
    yield _outofcore(task, {"block": "planned"})


def _matsumoto_devices(task: _Task) -> Iterator[Contender]:
    yield _outofcore(task, {"set": "main"})
    cpu = _cpu_beside(task.device)
    if cpu is None:
        return
    alone = _outofcore(task, {"set": "cpu"})
    alone.device = cpu
    yield alone
    # on the poster the CPU closes the pivot blocks
    for name, pivot in (("hybrid", "device"), ("pivots", "host")):
        hybrid = _outofcore(task, {"set": name}, helpers="all", pivot=pivot)
        hybrid.helpers = (cpu,)
        yield _without_roof(hybrid)


def _opinion(task: _Task) -> dict[str, Any]:
    """Return which CPU there is, whether the planner would use it as well, and its words."""
    cpu = _cpu_beside(task.device)
    helpers = () if cpu is None else (cpu,)
    options = replace(task.options, memory_limit=_memory(task), helpers=helpers)
    plan = find_method("fw-outofcore").plan(task.graph, options)
    return {
        "planned": {
            "beside": None if cpu is None else cpu.name,
            "helpers": plan.parameters["helpers"],
            "notes": list(plan.notes),
        }
    }


def _blocks(task: _Task, passes: Sequence[int]) -> list[int]:
    """Return the blocking factors for about so many passes."""
    return sorted({max(task.graph.n // each // 16, 1) * 16 for each in passes})


def _outofcore(task: _Task, label: dict[str, int | str], **parameters: Any) -> Contender:
    """Make a contender for a matrix that does not fit the device."""
    method = find_method("fw-outofcore", **parameters)
    made = Contender({"method": method.id, **label}, method, task.device)
    made.memory_limit = _memory(task)
    return made


def _memory(task: _Task) -> int:
    """Return the bytes of a device that fw-outofcore gets."""
    return int(_HELD * task.graph.n**2 * task.options.dtype.itemsize)


def _cpu_beside(device: Device) -> Device | None:
    """Return the best CPU that is another device, None when there is none."""
    cpus = (each for each in devices() if each.kind == "cpu" and each.handle != device.handle)
    return next(cpus, None)


EXPERIMENTS: dict[str, Experiment] = {
    "okuyama-times": Experiment(
        "[O] tables 4.6 to 4.8, figures 4.13, 4.16 and 4.17", _random, "int32", _okuyama_times
    ),
    "okuyama-tuning": Experiment(
        "[O] figures 4.18 to 4.20", _random, "int32", _okuyama_tuning, extra=_selected
    ),
    "takafuji-threads": Experiment(
        "[T] tables 3.1 and 3.3",
        _random,
        "int32",
        _takafuji_threads,
        frozenset({"threads"}),
    ),
    "takafuji-packed": Experiment(
        "[T] tables 3.2 and 3.3", _unweighted, "int32", _takafuji_packed, frozenset({"threads"})
    ),
    "takafuji-multicore": Experiment(
        "[T] table 3.10", _unweighted, "int32", _takafuji_multicore, frozenset({"cores"})
    ),
    "matsumoto-tiles": Experiment(
        "[M] tiles of the kernel", _random, "float32", _matsumoto_tiles, frozenset({"sides"})
    ),
    "matsumoto-blocks": Experiment(
        "[M] performance and bandwidth for each b",
        _random,
        "float32",
        _matsumoto_blocks,
        frozenset({"blocks"}),
        _speeds,
    ),
    "matsumoto-sizes": Experiment(
        "[M] performance for each n with the best b", _random, "float32", _matsumoto_sizes
    ),
    "matsumoto-devices": Experiment(
        "[M] GPU, CPU and both", _random, "float32", _matsumoto_devices, extra=_opinion
    ),
}
