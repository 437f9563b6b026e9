"""The latency and the throughput of arithmetic operations, and what they depend on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyopencl as cl

from pyapsp.base.json import Record
from pyapsp.device import Device, device_errors
from pyapsp.device.kernels import build
from pyapsp.numbers.arithmetic import C_TYPES, arithmetic_defines
from pyapsp.profiling.benchmarks.disassembly import Loop, loops_of
from pyapsp.profiling.benchmarks.measuring import Benchmark, Prepare, one_launch
from pyapsp.profiling.benchmarks.operations import OPERATIONS, PATTERN, Operation

__all__ = ["QUICK", "Shape", "arithmetic", "chains", "curves", "latency", "throughput"]

#: The operations of a quick run.
QUICK = (
    "i32.add",
    "i32.mul",
    "i32.div",
    "i32.addmin",
    "u16.addmin",
    "f32.add",
    "f32.addmin",
    "f64.add",
)
_GROUP = 256  # work-items of a group on a GPU
_GROUPS_PER_UNIT = 4
# The steps of all chains of a work-item in a round: the control of the loop is 0.5 % of them.
_STEPS = 512
# The steps of one chain of a function. Compilers may put a hundred instructions in place of each
# call, and of 512 calls they take minutes.
_CALLS = 64
# A loop may have so many instructions of the class that is counted beside those of the steps: it
# counts its rounds, and changes b.
_EXTRA = 4
# How many steps one round of the curve of unrolling has, and its operation.
_UNROLLED = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_OF_CURVES = "f32.add"


@dataclass(frozen=True)
class Shape:
    """How often an operation is done at the same time."""

    # Work-groups, and work-items of each.
    groups: int = 1
    group: int = 1
    width: int = 1  # values of a vector
    # Chains of a work-item, and the steps of each in a round.
    chains: int = 1
    steps: int = _STEPS - 1

    @property
    def items(self) -> int:
        """The number of work-items."""
        return self.groups * self.group


def throughput(device: Device, operation: Operation, chains: int = 8) -> Shape:
    """Return the shape in which a device does an operation most often."""
    traits, units = device.traits, device.capabilities.compute_units
    vectors = traits.scalar_groups and operation.vectors
    lanes = traits.lanes(np.dtype(operation.dtype).itemsize)
    group = 1 if traits.scalar_groups else min(_GROUP, device.capabilities.max_work_group_size)
    return Shape(
        groups=units * _GROUPS_PER_UNIT,
        group=group,
        width=lanes if vectors else 1,
        chains=chains,
        steps=_STEPS // chains - 1,
    )


def latency(operation: Operation) -> Shape:
    """Return the shape of one chain, in which each operation waits for the one before it."""
    is_function = operation.expression.startswith("native_")
    return Shape(steps=(_CALLS if is_function else _STEPS) - 1)


def arithmetic(device: Device, names: tuple[str, ...] = tuple(OPERATIONS)) -> Iterator[Prepare]:
    """Yield throughput and latency of operations, and on a CPU the throughput of one core.

    Parameters
    ----------
    device : Device
    names : tuple of str
        Ids of operations; those of types that the device does not have are left out.
    """
    for name in names:
        operation = OPERATIONS[name]
        if operation.dtype == "float64" and not device.capabilities.fp64:
            continue
        shape = throughput(device, operation)
        yield partial(chains, device, operation, shape, "throughput")
        if device.traits.scalar_groups:
            yield partial(chains, device, operation, replace(shape, groups=1), "core throughput")
        yield partial(chains, device, operation, latency(operation), "latency")


def curves(device: Device, *, quick: bool = False) -> Iterator[Prepare]:
    """Yield the throughput of one operation against chains, unrolling, and work-items.

    Parameters
    ----------
    device : Device
    quick : bool
        Whether to leave out every second point.
    """
    operation, capabilities = OPERATIONS[_OF_CURVES], device.capabilities
    every = 2 if quick else 1
    for number in (1, 2, 4, 8, 16)[::every]:
        shape = throughput(device, operation, number)
        yield partial(chains, device, operation, shape, "chains", {"chains": number})
    whole = throughput(device, operation, 4)
    for steps in _UNROLLED[::every]:
        shape = replace(whole, steps=steps)
        yield partial(chains, device, operation, shape, "unrolling", {"steps": steps})
    units = capabilities.compute_units
    for number in sorted({*(2**k for k in range(units.bit_length())), units}):
        shape = replace(whole, groups=number)
        yield partial(chains, device, operation, shape, "units", {"groups": number})
    if device.traits.scalar_groups:
        return  # a unit runs one work-item at a time
    alone = replace(throughput(device, operation, 1), groups=units)
    for group in (1, 8, 32, 64, 128, 256, 512, 1024)[::every]:
        if group <= capabilities.max_work_group_size:
            shape = replace(alone, group=group)
            yield partial(chains, device, operation, shape, "occupancy", {"work-items": group})


def chains(
    device: Device, operation: Operation, shape: Shape, name: str, place: Record | None = None
) -> Benchmark:
    """Return the benchmark of an operation in a shape.

    Parameters
    ----------
    device : Device
    operation : Operation
    shape : Shape
    name : str
        The name of the benchmark.
    place : dict, optional
        Its place in a curve.

    Raises
    ------
    CapabilityError
        If the device does not have the number type.
    KernelBuildError
        If the compiler refuses it.
    """
    dtype = np.dtype(operation.dtype)
    width = "" if shape.width == 1 else str(shape.width)
    expression = operation.expression.replace("{w}", width)
    defines = {
        **arithmetic_defines(device, dtype, width=shape.width),
        "PYAPSP_OPERATION(x, y)": expression,
        "PYAPSP_CHAINS": shape.chains,
        "PYAPSP_STEPS": shape.steps,
    }
    program = build(device, "profiling/arithmetic.cl", defines)
    kernel, queue = program.kernel("profiling_chains"), device.queue()
    lasts = shape.items * shape.chains * shape.width
    with device_errors(device, 3 * lasts * dtype.itemsize):
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        values = cl.Buffer(queue.context, flags, hostbuf=_values(operation, shape))
        out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, lasts * dtype.itemsize)

    run = one_launch(device, queue, kernel, shape.items, shape.group, values, out)

    def fault(rounds: int) -> str | None:
        answers = np.empty(lasts, dtype)
        with device_errors(device, 0):
            cl.enqueue_copy(queue, answers, out)
        return _fault(operation, answers, rounds, shape.steps)

    def facts() -> Record:
        return _counted(operation, shape, loops_of(program))

    about: Record = {
        "operation": operation.id,
        "type": C_TYPES[operation.dtype],
        "width": shape.width,
    }
    work = lasts * shape.steps * operation.count
    return Benchmark(
        name,
        {**about, **(place or {})},
        "operations",
        work,
        run,
        fault,
        facts,
        metered=name == "throughput",
    )


def _values(operation: Operation, shape: Shape) -> np.ndarray:
    """Return the input of the kernel: b, c and d, then x and y of every chain."""
    lasts = shape.items * shape.chains * shape.width
    operands = np.array(operation.operands).astype(operation.dtype)
    pairs = [np.resize(each, lasts).reshape(-1, shape.width) for each in operation.starts()]
    return np.concatenate(
        [np.repeat(operands, shape.width), np.stack(pairs, axis=1).reshape(-1)]
    ).astype(operation.dtype)


def _fault(operation: Operation, answers: np.ndarray, rounds: int, steps: int) -> str | None:
    """Say what is wrong with the last values of the chains.

    After many rounds only their pattern is checked: NumPy would take too long.
    """
    if rounds * steps <= 4 * _STEPS:
        expected = np.resize(operation.answers(rounds, steps), len(answers))
    else:
        expected = np.resize(answers[:PATTERN], len(answers))
    if operation.error:
        right = np.isclose(
            answers, expected, rtol=operation.error, atol=operation.error, equal_nan=True
        )
    else:
        right = (answers == expected) | (np.isnan(answers) & np.isnan(expected))
    if right.all():
        return None
    first = int(right.argmin())
    return f"{operation.id} gives {answers[first]} in place {first}, and not {expected[first]}"


def _counted(operation: Operation, shape: Shape, loops: list[Loop]) -> Record:
    """Compare the operations of a round with the instructions of the compiled loop.

    Returns
    -------
    dict
        ``operations`` of a work-item (or vector) in a round; ``counted``: instructions of the kind
        that does them; ``counts_agree``: whether these are all, and no more; None if nothing is
        known of the instructions. A vector that is wider than the registers in use takes several.
    """
    steps = shape.chains * shape.steps
    found: Record = {
        "operations": steps * operation.count,
        "counted": None,
        "counts_agree": None,
    }
    if not loops:
        return found
    known = operation.instructions.get(loops[0].instruction_set)
    pattern = r".*" if known is None else known.pattern
    loop = max(loops, key=lambda each: (each.count(pattern), len(each.mnemonics)))
    found |= {
        "instruction_set": loop.instruction_set,
        "loop_instructions": len(loop.mnemonics),
        "loop_calls": loop.count("call|CALL.*"),
    }
    if known is not None:
        counted = loop.count(known.pattern)
        # some compilers take half of the width that the processor has
        parts = -(-shape.width * np.dtype(operation.dtype).itemsize // (loop.vector_bytes or 64))
        agree = any(0 <= counted - parts * steps * each <= _EXTRA for each in known.counts)
        found |= {"counted": counted, "counts_agree": agree}
    return found
