"""Arguments of a kernel from words of a command line."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import ParameterError
from pyapsp.profiling.probes.opencl_types import Parameter
from pyapsp.profiling.traces.record import Argument

__all__ = ["SCALARS", "arguments_of"]

#: The types of numbers of OpenCL C.
SCALARS: dict[str, type[np.generic]] = {
    "char": np.int8,
    "uchar": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "long": np.int64,
    "ulong": np.uint64,
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
}
_VECTOR = re.compile(r"([a-z]+)(2|3|4|8|16)?")
_OPAQUE = re.compile(r"\b(image\w+|sampler|queue|clk_event|reserve_id)_t\b|\bpipe\b")
_MADE = re.compile(r"(zeros|ones|range|random):(\d+)")
_SEED = 1
_OWNER = "profile kernel"


def arguments_of(
    context: cl.Context, parameters: Sequence[Parameter], words: Sequence[str]
) -> list[Argument]:
    """Return what a kernel is launched with.

    Parameters
    ----------
    context : pyopencl.Context
        For the buffers.
    parameters : sequence of Parameter
        Those of the kernel.
    words : sequence of str
        One for each parameter. Global memory: ``zeros:N``, ``ones:N``, ``range:N`` or
        ``random:N`` with N elements (integers below N, other numbers below 1), or a ``.npy`` file.
        Local memory: the number of elements. Otherwise a number, for a vector its elements with
        commas between them, or, for a struct, ``zeros:1`` or a file.

    Raises
    ------
    ParameterError
        If a word does not fit its parameter.
    """
    if len(words) != len(parameters):
        named = (f"{each.type}{' *' * bool(each.space)} {each.name}" for each in parameters)
        rule = f"one word for each parameter: {', '.join(named)}"
        raise ParameterError.of("args", _OWNER, rule, " ".join(words))
    return [_argument(context, *each) for each in zip(parameters, words, strict=True)]


def _argument(context: cl.Context, parameter: Parameter, word: str) -> Argument:
    try:
        if parameter.space in ("global", "constant"):
            flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
            return cl.Buffer(context, flags, hostbuf=_array(parameter, word))
        if parameter.space == "local":
            return cl.LocalMemory(int(word) * parameter.bytes)
        if parameter.type in SCALARS:
            return _number(parameter.type, word)
        return _whole(parameter, word)
    except (ValueError, OverflowError, OSError) as error:
        rule = f"a value of {parameter.type} {parameter.name} ({error})"
        raise ParameterError.of("args", _OWNER, rule, word) from None


def _number(name: str, word: str) -> np.generic:
    dtype = np.dtype(SCALARS[name])
    # 0x10 is an integer, too
    value: np.generic = dtype.type(float(word) if dtype.kind == "f" else int(word, 0))
    return value


def _whole(parameter: Parameter, word: str) -> np.generic:
    """Return a vector or a struct that a kernel gets by value."""
    if _OPAQUE.search(parameter.type):
        raise ValueError("images, samplers, pipes and queues are not supported")
    vector = _VECTOR.fullmatch(parameter.type)
    if vector is not None and "," in word:
        words = word.split(",")
        if len(words) != int(vector[2]):
            raise ValueError(f"it has {vector[2]} elements")
        array = np.array([_number(vector[1], each) for each in words])
        content = array.tobytes().ljust(parameter.bytes, b"\0")  # three have the size of four
    else:
        content = _array(parameter, word).tobytes()
        if len(content) != parameter.bytes:
            raise ValueError(f"it has {parameter.bytes} bytes, and this {len(content)}")
    value: np.generic = np.frombuffer(content, f"V{parameter.bytes}")[0]
    return value


def _array(parameter: Parameter, word: str) -> np.ndarray:
    match = _VECTOR.fullmatch(parameter.type)
    scalar = SCALARS.get(match[1]) if match else None
    made = _MADE.fullmatch(word)
    if made is None:
        if not word.endswith(".npy"):
            raise ValueError("neither KIND:N, with zeros, ones, range or random, nor a .npy file")
        return np.ascontiguousarray(np.load(word, allow_pickle=False))
    if int(made[2]) == 0:
        raise ValueError("no elements")
    if scalar is None:
        if made[1] != "zeros":
            raise ValueError("a struct can only be zeros:N or a file")
        return np.zeros(parameter.bytes * int(made[2]), np.uint8)
    dtype, number = np.dtype(scalar), int(made[2])
    count = number * parameter.bytes // dtype.itemsize
    if made[1] == "zeros":
        return np.zeros(count, dtype)
    if made[1] == "ones":
        return np.ones(count, dtype)
    if made[1] == "range":
        return np.arange(count).astype(dtype)
    draw = np.random.default_rng(_SEED)
    if dtype.kind == "f":
        return draw.random(count).astype(dtype)
    largest = 256**dtype.itemsize // 2 - 1
    return draw.integers(0, min(number, largest), count).astype(dtype)
