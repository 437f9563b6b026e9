"""A model of the time of the products of fw-mm for each l.

A group computes l submatrices of 16 x 64. A larger l saves instructions, because the left factor
is copied once per group. With a smaller l there are more groups, so that compute units have equal
work and can hide memory latency. The model is that of F. Okuyama's thesis, 2013, section 4.4; the
numbers (4.4) to (4.10) are those of its equations.

The thesis compares three models and measurement:

========  =====================================================================================
``"AT"``  what the most loaded compute unit executes, by its throughput with that many groups
``"FT"``  the same with full throughput
``"TI"``  all instructions by the peak of the whole device
``"MT"``  measured: see `pyapsp.all_pairs.dense.register_tiles.Iterative.measure`
========  =====================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyopencl as cl

from pyapsp.device import Device

__all__ = [
    "MODELS",
    "Inputs",
    "Instructions",
    "best",
    "choices",
    "count_in_source",
    "count_in_text",
    "estimate",
    "gather",
    "groups",
    "groups_per_unit",
    "throughput",
]

Model = Literal["AT", "FT", "TI"]
MODELS: tuple[Model, ...] = ("AT", "FT", "TI")

# The thesis tries every l up to n/64, and its best l is at most 29. An l above this limit can save
# only about one instruction in a thousand.
_LARGEST = 64


@dataclass(frozen=True)
class Instructions:
    """Instructions that a work-item executes, L = alpha + beta l."""

    # Instructions per launch: addresses, and the work-item's part of the copy of the left factor.
    alpha: float
    beta: float  # instructions for each submatrix
    # Whether they were counted in the text of the built program, or in the source.
    counted: Literal["text", "source"] = "source"


@dataclass(frozen=True)
class Inputs:
    """The inputs of the model: facts of the kernel and of the device."""

    size: int  # rows of the matrix (n), a multiple of 16
    tile: int  # rows of a tile (t)
    instructions: Instructions
    group: int  # work-items of a group (X)
    # Groups that a compute unit executes at a time. The thesis counts warps, of W_g work-items: Y =
    # resident X / W_g.
    resident: int
    units: int  # compute units (M_g)
    # Instructions of work-items that a compute unit executes in a second (S_g H_g). It scales all
    # estimates by the same factor, so that it does not change the choice.
    rate: float


def groups(inputs: Inputs, submatrices: int) -> int:
    """Return U, the number of groups of a launch: equation (4.10)."""
    across = -(-inputs.size // 64)
    return -(-across // submatrices) * (inputs.size // 16 - inputs.tile // 16)


def groups_per_unit(inputs: Inputs, submatrices: int) -> int:
    """Return U_SM, the groups of the most loaded compute unit: equation (4.6)."""
    return -(-groups(inputs, submatrices) // inputs.units)


def throughput(inputs: Inputs, submatrices: int) -> float:
    """Return Z, the part of its peak that the unit reaches: equation (4.8).

    Groups run in waves of as many as fit. A wave that is not full cannot hide all latency. Here
    Y_SM / Y = U_SM / resident, because all groups have the same number of warps.
    """
    waves = groups_per_unit(inputs, submatrices) / inputs.resident
    return waves / -(-groups_per_unit(inputs, submatrices) // inputs.resident) if waves else 1.0


def estimate(inputs: Inputs, submatrices: int, model: Model) -> float:
    """Return the seconds of a launch.

    Parameters
    ----------
    inputs : Inputs
    submatrices : int
        The parameter l.
    model : {"AT", "FT", "TI"}
    """
    counts = inputs.instructions
    each = counts.alpha + counts.beta * submatrices  # (4.9): L
    of_group = each * inputs.group  # (4.5): L_TB
    if model == "TI":
        return of_group * groups(inputs, submatrices) / (inputs.units * inputs.rate)
    rate = inputs.rate  # (4.7): R_SM
    if model == "AT":
        rate *= throughput(inputs, submatrices)
    return of_group * groups_per_unit(inputs, submatrices) / rate  # (4.4): F


def choices(size: int, *, distinct: bool = False) -> tuple[int, ...]:
    """Return the values of l to compare for a matrix of this size: 1 to n/64, at most 64.

    Parameters
    ----------
    size : int
    distinct : bool
        Of several l with the same number of groups in a row, return only the smallest. With the
        others the last group has less work and all other groups more.
    """
    across = -(-size // 64)
    everything = range(1, max(min(across, _LARGEST), 1) + 1)
    if not distinct:
        return tuple(everything)
    smallest: dict[int, int] = {}
    for count in everything:
        smallest.setdefault(-(-across // count), count)
    return tuple(smallest.values())


def best(seconds: Mapping[int, float]) -> int:
    """Return the l with the least time; the smallest if times are equal."""
    return min(seconds, key=lambda count: (seconds[count], count))


# Instructions of the code blocks of `fw_mm_others`, counted in the source; compiled code differs by
# a few per cent. The thesis counts in the binaries of its GPU. Its (4.9) is
# 60 + 3 t/4 + (52 + about 35 t) l, where t/4 is the number of values that a work-item copies.
_START = 60  # indices and addresses
_COPY = 7  # per value copied: two indices, an address, load, store, the loop
_SUBMATRIX = 52  # load and store 16 results, and their addresses
_STEP = 3  # per k: load the right factor, its address, the loop
_UPDATE = 2  # add, minimum
_GUARD = 4  # more per update: is one infinite, is the sum too small


def count_in_source(
    tile: int, *, group: int = 64, width: int = 1, guard: bool = False
) -> Instructions:
    """Return the instructions of a work-item as the source has them.

    Parameters
    ----------
    tile : int
        The parameter t.
    group : int
        Work-items of a group.
    width : int
        Values in a strip; an operation on a strip is one instruction.
    guard : bool
        Whether integer sums know infinity.
    """
    strips = 64 // (group * width)
    factors = 4 if width == 1 else 16  # loads of the left factor: four values at once, or each
    update = _UPDATE + (_GUARD if guard else 0)
    submatrix = strips * (_SUBMATRIX + tile * (16 * update + _STEP + factors))
    return Instructions(_START + _COPY * 16 * tile / group, submatrix)


_LABEL = re.compile(r"^\s*([$\w]+):")
_BRANCH = re.compile(r"\bbra(?:\.uni)?\s+([$\w]+)\s*;")
_PREDICATE = re.compile(r"^@!?%\w+\s+")


def count_in_text(text: str, kernel: str, tile: int, *, group: int = 64) -> Instructions | None:
    """Return the instructions of a work-item, counted in the text of a virtual machine (PTX).

    The number of iterations of a loop follows from its instructions: the product has 16 minima of
    each value per step, and the copy has one store to local memory per value. The loop around all
    minima is the loop over the submatrices.

    Parameters
    ----------
    text : str
        The program.
    kernel : str
        Name of the kernel.
    tile : int
        The parameter t.
    group : int
        Work-items of a group.

    Returns
    -------
    Instructions or None
        None if the text has another form, for instance comparisons instead of minima.
    """
    operations, loops = _parse(text, kernel)
    minima = [place for place, code in enumerate(operations) if code.startswith("min.")]
    stores = [place for place, code in enumerate(operations) if code.startswith("st.shared")]
    holding = [(loop, sum(place in loop for place in minima)) for loop in loops]
    around = [loop for loop, count in holding if count == len(minima) > 0]
    if not around:
        return None
    outer = max(around, key=len)
    steps = [(loop, count) for loop, count in holding if count and loop != outer]
    minima_of_submatrix = 16 * tile * 64 // group
    if len(steps) > 1 or (steps and steps[0][1] != len(minima)):
        return None
    if not steps and len(minima) != minima_of_submatrix:
        return None
    weights = [1.0] * len(operations)
    for loop, count in steps:
        _repeat(weights, loop, minima_of_submatrix / count)
    # an unrolled loop and the loop for its remainder together copy the values
    copies = [(loop, sum(place in loop for place in stores)) for loop in loops if loop != outer]
    copies = [(loop, count) for loop, count in copies if count]
    for loop, count in copies:
        _repeat(weights, loop, 16 * tile / group / count / len(copies))
    beta = sum(weights[place] for place in outer)
    return Instructions(sum(weights) - beta, beta, "text")


def _parse(text: str, kernel: str) -> tuple[list[str], list[range]]:
    """Return the operations of a kernel, and its loops as ranges of their places."""
    match = re.search(rf"\.entry\s+{re.escape(kernel)}\b[^{{]*\{{(.*?)^\}}", text, re.S | re.M)
    operations: list[str] = []
    labels: dict[str, int] = {}
    branches: list[tuple[int, str]] = []
    for line in re.sub(r"//.*", "", match[1] if match else "").splitlines():
        if label := _LABEL.match(line):
            labels[label[1]] = len(operations)
            line = line[label.end() :]
        operation = _PREDICATE.sub("", line.strip())
        if not operation.endswith(";") or operation.startswith("."):
            continue
        if branch := _BRANCH.search(operation):
            branches.append((len(operations), branch[1]))
        operations.append(operation.split()[0].rstrip(";"))
    back: dict[int, int] = {}
    for place, target in branches:
        start = labels.get(target, place + 1)
        if start <= place:
            back[start] = max(place, back.get(start, 0))
    return operations, [range(start, end + 1) for start, end in back.items()]


def _repeat(weights: list[float], loop: range, times: float) -> None:
    for place in loop:
        weights[place] *= times


# No driver reports these. GPUs have about this many bytes of registers in a compute unit. A
# work-item needs this many 4-byte registers besides its results (table 4.4: 40 in total).
_REGISTER_FILE = 2**18
_OTHER_REGISTERS = 24


def gather(
    device: Device,
    kernel: cl.Kernel,
    *,
    size: int,
    tile: int,
    group: int,
    width: int,
    item_bytes: int,
    guard: bool,
) -> Inputs:
    """Return the inputs of the model for a device and a built kernel.

    Parameters
    ----------
    device : Device
    kernel : pyopencl.Kernel
        ``fw_mm_others``, built.
    size, tile, group, width : int
        As in `Inputs` and `count_in_text`.
    item_bytes : int
        Size of a value.
    guard : bool
        Whether integer sums know infinity.
    """
    counts = None
    text = _binary_text(device, kernel)
    if text is not None:
        counts = count_in_text(text, kernel.function_name, tile, group=group)
    if counts is None:
        counts = count_in_source(tile, group=group, width=width, guard=guard)
    information, handle = cl.kernel_work_group_info, device.handle
    lanes, resident = 1, 1
    if not device.traits.scalar_groups:
        lanes = kernel.get_work_group_info(information.PREFERRED_WORK_GROUP_SIZE_MULTIPLE, handle)
        local = kernel.get_work_group_info(information.LOCAL_MEM_SIZE, handle)
        private = kernel.get_work_group_info(information.PRIVATE_MEM_SIZE, handle)
        registers = max(16 * width * item_bytes + 4 * _OTHER_REGISTERS, private)
        resident = max(
            min(
                device.capabilities.local_memory // max(local, 1),
                _REGISTER_FILE // (registers * group),
            ),
            1,
        )
    return Inputs(
        size=size,
        tile=tile,
        instructions=counts,
        group=group,
        resident=resident,
        units=device.capabilities.compute_units,
        # some drivers do not report a clock rate; then assume 1 GHz
        rate=lanes * 1e6 * (handle.max_clock_frequency or 1000),
    )


def _binary_text(device: Device, kernel: cl.Kernel) -> str | None:
    """Return the binary of a kernel's program if it is text, else None."""
    if device.traits.scalar_groups:
        return None  # machine code: to show it, some drivers compile all kernels, for seconds
    program = kernel.program
    devices: Any = program.get_info(cl.program_info.DEVICES)
    binaries: Any = program.get_info(cl.program_info.BINARIES)
    for handle, binary in zip(devices, binaries, strict=True):
        content = bytes(binary).rstrip(b"\0")
        if handle == device.handle and content and content.isascii() and b"\0" not in content:
            return content.decode()
    return None
