"""The arithmetic types of C, and their names in OpenCL C and NumPy.

Sizes are those of 64-bit Linux and macOS (`long` has 64 bits), which are also those of OpenCL.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

__all__ = [
    "BITS",
    "BYTES",
    "FLOATS",
    "TYPEDEFS",
    "Number",
    "Type",
    "base_of",
    "common",
    "dtype_of",
    "wrap",
]

Number: TypeAlias = int | float

FLOATS = ("float", "double")
BITS = {"bool": 1, "char": 8, "uchar": 8, "short": 16, "ushort": 16, "int": 32, "uint": 32}
BITS |= {"long": 64, "ulong": 64}
BYTES = {"bool": 1, "char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4}
BYTES |= {"float": 4, "long": 8, "ulong": 8, "double": 8}

# Types of <stdint.h>, <stddef.h> and <stdbool.h>.
TYPEDEFS = {
    "bool": "bool",
    "int8_t": "char",
    "uint8_t": "uchar",
    "int16_t": "short",
    "uint16_t": "ushort",
    "int32_t": "int",
    "uint32_t": "uint",
    "int64_t": "long",
    "uint64_t": "ulong",
    "size_t": "ulong",
    "ptrdiff_t": "long",
    "intptr_t": "long",
    "uintptr_t": "ulong",
}


@dataclass(frozen=True)
class Type:
    """Type of a variable, a parameter or an expression."""

    base: str  # OpenCL's name of the arithmetic type, or "void"
    # Lengths of an array; of a pointer, those of what it points to.
    dims: tuple[int, ...] = ()
    pointer: bool = False  # whether it is a parameter declared as `x[]` or `*x`

    @property
    def is_scalar(self) -> bool:
        """Whether it is a number."""
        return not self.dims and not self.pointer

    @property
    def size(self) -> int:
        """Number of elements of the array."""
        return math.prod(self.dims)

    def element(self) -> Type:
        """Return the type after one subscript or asterisk."""
        return Type(self.base, self.dims) if self.pointer else Type(self.base, self.dims[1:])


def dtype_of(base: str) -> np.dtype[np.generic]:
    """Return NumPy's type for OpenCL's name; KeyError for void."""
    kind = "f" if base in FLOATS else "u" if base.startswith("u") else "i"
    return np.dtype(f"{kind}{BYTES[base]}")


def base_of(words: Sequence[str], typedefs: Mapping[str, str]) -> str | None:
    """Return OpenCL's name for the words of a C type; None if it is not an arithmetic type."""
    if len(words) == 1 and words[0] in typedefs:
        return typedefs[words[0]]
    left = sorted(words)
    sign = next((word for word in left if word in ("signed", "unsigned")), None)
    if sign is not None:
        left.remove(sign)
    if left in (["float"], ["double"], ["void"], ["_Bool"]):
        return None if sign else left[0].replace("_Bool", "bool")
    if left != ["int"] and "int" in left:
        left.remove("int")
    whole = {
        (): "int",
        ("int",): "int",
        ("char",): "char",
        ("short",): "short",
        ("long",): "long",
        ("long", "long"): "long",
    }
    base = whole.get(tuple(left))
    return f"u{base}" if base and sign == "unsigned" else base


def common(left: str, right: str) -> str:
    """Return the type in which C computes with numbers of two types (C11, 6.3.1.8)."""
    for name in ("double", "float"):
        if name in (left, right):
            return name
    left, right = (name if BITS[name] >= 32 else "int" for name in (left, right))
    if BITS[left] != BITS[right]:
        return max(left, right, key=BITS.__getitem__)
    return left if left.startswith("u") else right


def wrap(value: Number, base: str) -> Number:
    """Return a value converted to a type."""
    if base in FLOATS:
        return float(np.float32(value)) if base == "float" else float(value)
    if base == "bool":
        return int(value != 0)
    whole, bits = int(value), BITS[base]
    if base.startswith("u"):
        return whole % (1 << bits)
    return (whole + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
