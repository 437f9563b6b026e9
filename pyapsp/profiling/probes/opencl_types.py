"""Types of OpenCL C, as the parser tells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from clang.cindex import Cursor, Type, TypeKind

__all__ = [
    "ARRAYS",
    "SPACES",
    "VECTORS",
    "Parameter",
    "Space",
    "class_of",
    "elements_of",
    "parameter_of",
    "pointed",
]

Space = Literal["global", "local", "constant"]
#: The address spaces, by the numbers of the parser.
SPACES: Mapping[int, Space] = {1: "global", 2: "local", 3: "constant"}
#: The kinds of vectors and of arrays.
VECTORS = (TypeKind.VECTOR, TypeKind.EXTVECTOR)
ARRAYS = (
    TypeKind.CONSTANTARRAY,
    TypeKind.INCOMPLETEARRAY,
    TypeKind.VARIABLEARRAY,
    TypeKind.DEPENDENTSIZEDARRAY,
)
_NAMES = {
    TypeKind.CHAR_S: "char",
    TypeKind.SCHAR: "char",
    TypeKind.UCHAR: "uchar",
    TypeKind.SHORT: "short",
    TypeKind.USHORT: "ushort",
    TypeKind.INT: "int",
    TypeKind.UINT: "uint",
    TypeKind.LONG: "long",
    TypeKind.ULONG: "ulong",
    TypeKind.HALF: "half",
    TypeKind.FLOAT: "float",
    TypeKind.DOUBLE: "double",
}
_QUALIFIERS = ("const", "volatile", "restrict", "__global", "__local", "__constant", "__private")
_CLASSES = {TypeKind.FLOAT: "float", TypeKind.DOUBLE: "double", TypeKind.HALF: "half"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel."""

    name: str
    type: str  # the type of a number, or that of what a pointer points to, without qualifiers
    bytes: int  # the size of that type
    # The address space of a pointer; None for a number.
    space: Space | None


def pointed(kind: Type) -> tuple[Type, Space | None]:
    """Return what a pointer points to, and the address space of that."""
    target = kind.get_canonical().get_pointee()
    if target.kind == TypeKind.INVALID:  # not a pointer; libclang must not be asked
        return target, None
    return target, SPACES.get(target.get_address_space())


def parameter_of(node: Cursor) -> Parameter:
    """Return a parameter of a kernel, from its declaration."""
    target, space = pointed(node.type)
    kind = node.type.get_canonical() if space is None else target
    name = kind.get_canonical().spelling.split("__attribute__")[0]
    words = [each for each in name.split() if each not in _QUALIFIERS]
    if kind.kind in VECTORS:
        words = [f"{_short(kind.element_type)}{kind.element_count}"]
    return Parameter(node.spelling, _short(kind) or " ".join(words), kind.get_size(), space)


def _short(kind: Type) -> str:
    """Return the name of a scalar type in OpenCL C, or nothing."""
    return _NAMES.get(kind.get_canonical().kind, "")


def class_of(kind: Type) -> tuple[str, int]:
    """Return the class of an operation on a type, and the number of its elements."""
    canonical = kind.get_canonical()
    many = 1
    if canonical.kind in VECTORS:
        many, canonical = canonical.element_count, canonical.element_type.get_canonical()
    return _CLASSES.get(canonical.kind, "int"), many


def elements_of(names: str, count: int) -> list[int]:
    """Return the elements of a vector that a suffix such as xy, s0f or even names."""
    halves = {
        "lo": range(0, (count + 1) // 2),
        "hi": range((count + 1) // 2, count),
        "even": range(0, count, 2),
        "odd": range(1, count, 2),
    }
    if names in halves:
        return list(halves[names])
    if names[0] in "sS" and len(names) > 1:
        return [int(each, 16) for each in names[1:]]
    return ["xyzw".find(each) if each in "xyzw" else "rgba".find(each) for each in names]
