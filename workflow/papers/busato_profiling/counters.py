"""What is counted of kernels by probes, beside what the hardware counts of their twins in CUDA."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.busato_profiling.programs import Numbers, Reduction, Shape, Transpose, TunedProgram
from papers.busato_profiling.twins import Counters, counters_of, require_tools
from papers.experiment import Case, Request
from papers.runner import Runner
from pyapsp.base.json import Record
from pyapsp.device import Device
from pyapsp.graph import Graph
from pyapsp.profiling.traces import criteria
from pyapsp.profiling.traces.criteria import Launch, Units
from pyapsp.profiling.traces.units import units_of
from pyapsp.registry import Check, Method, Problem, method, problem
from pyapsp.registry import Request as Call
from pyapsp.registry.runs import solve
from pyapsp.registry.timing import Turn

if TYPE_CHECKING:
    from pyapsp.profiling.traces.analysis import LaunchTrace

__all__ = ["METHODS", "PROGRAMS", "QUANTITIES", "counted", "counters", "of_hardware"]

#: Program -> its versions with a twin, and their groups on GPUs.
PROGRAMS: dict[type[TunedProgram], dict[str, Shape]] = {
    Reduction: {"orig": Shape(256), "v1.0": Shape(256), "warps": Shape(256)},
    Transpose: {"v1.0": Shape(16, 16), "v2.0": Shape(32, 8), "v2.1": Shape(32, 8)},
}
#: Problem -> the family of its input, by what n * n is divided for its size, and the method whose
#: longest launch has a twin.
METHODS: dict[str, tuple[str, int, str]] = {
    "all-pairs": ("power-law", 4096, "fw-naive"),
    "bfs": ("power-law", 16, "bfs-virtual-warp"),
    "sssp": ("power-law", 16, "sssp-bellman-ford"),
    "partition": ("power-law", 16, "partition-items"),
}
_SEED, _LEAST = 13, 128
_LINE, _SECTOR = 128, 32
_MEMORY = ("load", "store", "atomic")
# Class of instructions -> those of our operations that are in it, and classes of ncu.
_CLASSES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "memory": ((*_MEMORY, *(f"local {kind}" for kind in _MEMORY), "constant"), ("memory",)),
    "integer": (("int",), ("integer",)),
    "float": (("float", "double", "special"), ("fp32", "fp64")),
    "control": (("branch", "barrier"), ("control",)),
}
_OF_CLASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_ALL = "smsp__sass_thread_inst_executed_pred_on.sum"
_LANES = "smsp__average_thread_inst_executed_pred_on_per_inst_executed.ratio"
_CYCLES, _WARPS = "sm__cycles_active", "sm__warps_active.sum"
_BYTES, _TAGS = "smsp__sass_data_bytes_mem_global.sum", "smsp__sass_l1tex_tags_mem_global.sum"
_PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global.ratio"
_SHARED = "smsp__sass_inst_executed_op_shared.sum"
_PASSES = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared.sum"
_SECONDS = "gpu__time_duration.sum"
_METRICS = (
    *(_OF_CLASS.format(each) for _, theirs in _CLASSES.values() for each in theirs),
    *(_ALL, _LANES, *(f"{_CYCLES}.{each}" for each in ("sum", "avg", "max")), _WARPS),
    *(_BYTES, _TAGS, _PER_SECTOR, _SHARED, _PASSES, _SECONDS),
)
#: What is compared.
QUANTITIES = (
    *("occupancy", "divergence", "warp_balance", "unit_balance"),
    *("l1_granularity", "l2_granularity", "local_efficiency"),
    *(f"{name} instructions" for name in (*_CLASSES, "all")),
)


def counters(n: int, request: Request) -> Iterator[Case]:
    """Yield a case for each program and each problem: n x n numbers, or a part of them.

    Needs the extra ``profile``.
    """
    device = request.device
    reference: Record = {"what": "the kernel in OpenCL"}
    for program, versions in PROGRAMS.items():
        name = program.__name__.lower()
        drawn = cache(partial(program.draw, n if program is Transpose else n * n))
        runners = [
            _runner(
                {"program": f"{name} {version}"},
                request,
                partial(_sum_or_transpose, program, version, shape, drawn, device),
            )
            for version, shape in versions.items()
        ]
        yield Case({"label": {"input": name}, "reference": reference}, runners)
    for name, (family, part, asked) in METHODS.items():
        about: Record = {"label": {"input": name}, "family": family, "reference": reference}
        size = max(n * n // part, _LEAST)
        prepared = cache(partial(_asked, problem(name), method(asked), family, size, device))
        yield Case(about, [_runner({"program": asked}, request, partial(_solved, prepared))])


def _asked(
    of: Problem, asked: Method, family: str, size: int, device: Device
) -> tuple[Call, Callable[[Any], Check]]:
    data = of.sample(size, family, _SEED, asked.requires)
    if of.dtypes[0].startswith("float"):  # no kernel of integers has the same distances
        tails, heads, weights = data.arcs()
        data = Graph.from_arcs(data.n, tails, heads, weights + 0.5)
    call = of.ask(data, asked, device=device)
    return call, of.oracle(data, call.options)


def _solved(prepared: Callable[[], tuple[Call, Callable[[Any], Check]]]) -> None:
    call, right = prepared()
    right(solve(call).answer).require()


def _sum_or_transpose(
    program: type[TunedProgram],
    version: str,
    shape: Shape,
    drawn: Callable[[], np.ndarray],
    device: Device,
) -> None:
    made = program(Numbers(device, drawn()), program.VERSIONS[version], shape)
    made.run()
    made.check()


def _runner(label: dict[str, Any], request: Request, call: Callable[[], object]) -> Runner:
    from papers.busato_profiling.launches import Replay, longest_launch

    def turn() -> Turn:
        require_tools(request.device)
        saved = longest_launch(call)
        replay = Replay(saved)
        trace, seconds = replay.traced()
        found = counters_of(saved, _METRICS, replay.results())
        width = saved.recorder.width
        units = units_of(request.device, width, saved.shape.in_group)
        assert units is not None  # these GPUs are known
        facts = {
            "kernel": saved.kernel,
            "items": list(saved.shape.items),
            "group": list(saved.shape.group),
            "counted": counted(trace),
            "hardware": of_hardware(found, trace, units),
            "registers": found["launch__registers_per_thread"],
            "seconds_of_twin": found[_SECONDS] * 1e-9,
        }
        return Turn({"kernel": seconds}, facts)

    return Runner(label, turn)


def counted(trace: LaunchTrace) -> dict[str, float | None]:
    """Return `QUANTITIES` as probes count them; None if they do not tell."""
    values, operations = trace.criteria.known(), trace.operations
    found = {name: values.get(name) for name in QUANTITIES}
    for name, (kinds, _) in _CLASSES.items():
        found[f"{name} instructions"] = sum(operations.get(kind, 0.0) for kind in kinds)
    found["all instructions"] = sum(operations.values())
    return found


def of_hardware(found: Counters, trace: LaunchTrace, units: Units) -> dict[str, float | None]:
    """Return `QUANTITIES` from the counters of a launch; None without such accesses."""
    launch = Launch(trace.shape.in_group, trace.shape.groups)
    warps = units.items // units.width
    of_group = -(-launch.group // units.width)
    most = found["sm__maximum_warps_per_active_cycle_pct"] / 100
    # fewer groups than places do not fill the units
    places = min(most * warps, of_group * -(-launch.groups // units.count))
    cycles = found[f"{_CYCLES}.sum"]
    touched = found[_TAGS]
    values: dict[str, float | None] = {
        "occupancy": min(most, of_group * launch.groups / units.count / warps),
        "divergence": found[_LANES] / units.width,
        "warp_balance": min(found[_WARPS] / cycles / places, 1.0),
        "unit_balance": found[f"{_CYCLES}.avg"] / found[f"{_CYCLES}.max"],
        "l1_granularity": criteria.granularity(int(found[_BYTES]), int(touched), _LINE),
        "l2_granularity": min(found[_PER_SECTOR] / _SECTOR, 1.0) if touched else 1.0,
        # words of four bytes need one pass for each instruction of a warp
        "local_efficiency": criteria.local_efficiency(int(found[_SHARED]), int(found[_PASSES])),
    }
    for name, (_, theirs) in _CLASSES.items():
        values[f"{name} instructions"] = sum(found[_OF_CLASS.format(each)] for each in theirs)
    values["all instructions"] = found[_ALL]
    return values
