"""The macros of kernels for a number type and the arithmetic of a device."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pyapsp.base.errors import CapabilityError
from pyapsp.device import Capabilities, Device
from pyapsp.numbers.precision import infinity, name_of

__all__ = ["C_TYPES", "arithmetic_defines", "check_type"]

#: The names of the number types in OpenCL C.
C_TYPES = {
    "float64": "double",
    "float32": "float",
    "float16": "half",
    "int64": "long",
    "int32": "int",
    "int16": "short",
    "uint16": "ushort",
}
# The integer types for comparing floats by their bits, by size in bytes.
_BITS = {2: "short", 4: "int", 8: "long"}
# The capability that a type needs if it is optional in OpenCL, and the type to use instead.
_NEEDS = {
    "float64": ("fp64", "float32"),
    "float16": ("fp16", "float32"),
    "int64": ("int64", "int32"),
}


def arithmetic_defines(
    device: Device, dtype: np.dtype, *, width: int = 1, guard: bool = False, bits: bool = False
) -> dict[str, str | int]:
    """Return the macros of ``cl/common/types.h`` and ``semiring.h``.

    Parameters
    ----------
    device : Device
        It decides which form of the minimum is used.
    dtype : numpy.dtype
        Type of the distances.
    width : int
        Values in a strip.
    guard : bool
        Whether integer sums must test for infinity. That is needed with negative weights.
    bits : bool
        Whether floats are compared as integers. That needs non-negative sums.

    Raises
    ------
    CapabilityError
        If the device does not support the type.
    """
    check_type(device, dtype)
    integer = dtype.kind in "iu"
    traits, bits = device.traits, bits and not integer
    least = traits.integer_min if integer or bits else traits.float_min
    return dict(_arithmetic(device.capabilities, dtype, width, guard, bits, least))


def check_type(device: Device, dtype: np.dtype) -> None:
    """Raise a CapabilityError if the device does not support a type."""
    capability, instead = _NEEDS.get(name_of(dtype), (None, None))
    if capability is not None and not getattr(device.capabilities, capability):
        raise CapabilityError(f"{device.name} has no {dtype}: ask for dtype='{instead}'")


@lru_cache(maxsize=1024)
def _arithmetic(
    capabilities: Capabilities,
    dtype: np.dtype,
    width: int,
    guard: bool,
    bits: bool,
    least: str,
) -> tuple[tuple[str, str | int], ...]:
    """Return the items of `arithmetic_defines`."""
    integer = dtype.kind in "iu"
    suffix = "L" if dtype == np.int64 else ""
    macros: dict[str, str | int] = {
        "PYAPSP_VALUE": C_TYPES[dtype.name],
        "PYAPSP_INTEGER": int(integer),
        "PYAPSP_INFINITY": f"{infinity(dtype)}{suffix}" if integer else "INFINITY",
        "PYAPSP_WIDTH": width,
        "PYAPSP_HAS_FP64": int(capabilities.fp64),
        "PYAPSP_HAS_FP16": int(capabilities.fp16),
        "PYAPSP_GUARD": int(dtype.kind == "i" and guard),
        "PYAPSP_MIN_BUILTIN": int(least == "builtin"),
        "PYAPSP_MIN_BITS": int(bits),
        "PYAPSP_BITS": _BITS[dtype.itemsize],
    }
    return tuple(macros.items())
