"""Parse OpenCL C with its types: macros are replaced by pcpp, and libclang makes the tree."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, NoReturn

import pcpp
from clang import cindex

from pyapsp.base.errors import ProgramError
from pyapsp.device.kernels.source import place_of

__all__ = ["Unit", "parse", "parse_text"]

_K = cindex.CursorKind
# Statements whose children are values, and then statements.
_BODIES = (_K.IF_STMT, _K.FOR_STMT, _K.WHILE_STMT, _K.CASE_STMT, _K.DEFAULT_STMT)
_NAME = "kernel.cl"
_KERNEL = re.compile(r"\b(__)?kernel\b")
_PRAGMA = re.compile(r'_Pragma\s*\(\s*"([^"]*)"\s*\)')
# libclang looks for the header of its builtin functions; its wheel does not contain it.
_FOLDER, _HEADER = "/opencl", "opencl-c-base.h"
_SCALARS = ("char", "short", "int", "long")
_FLOATS = ("half", "float", "double")
_VERSIONS = {None: 120, "CL1.2": 120, "CL2.0": 200, "CL3.0": 300}
# Constants of the language, by type. Only their types matter: the text keeps the names.
_CONSTANTS = {
    "int": "INT_MAX INT_MIN SHRT_MAX SHRT_MIN CHAR_BIT CHAR_MAX CHAR_MIN SCHAR_MAX SCHAR_MIN "
    "UCHAR_MAX USHRT_MAX FLT_DIG FLT_MANT_DIG FLT_MAX_EXP FLT_MIN_EXP FLT_MAX_10_EXP "
    "FLT_MIN_10_EXP FLT_RADIX DBL_DIG DBL_MANT_DIG DBL_MAX_EXP DBL_MIN_EXP DBL_MAX_10_EXP "
    "DBL_MIN_10_EXP DBL_RADIX HALF_DIG HALF_MANT_DIG HALF_MAX_EXP HALF_MIN_EXP HALF_MAX_10_EXP "
    "HALF_MIN_10_EXP HALF_RADIX FP_ILOGB0 FP_ILOGBNAN CLK_ADDRESS_NONE CLK_ADDRESS_CLAMP "
    "CLK_ADDRESS_CLAMP_TO_EDGE CLK_ADDRESS_REPEAT CLK_ADDRESS_MIRRORED_REPEAT CLK_FILTER_NEAREST "
    "CLK_FILTER_LINEAR CLK_NORMALIZED_COORDS_FALSE CLK_NORMALIZED_COORDS_TRUE",
    "uint": "UINT_MAX CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE CLK_IMAGE_MEM_FENCE",
    "long": "LONG_MAX LONG_MIN",
    "ulong": "ULONG_MAX",
    "float": "INFINITY NAN HUGE_VALF MAXFLOAT FLT_MAX FLT_MIN FLT_EPSILON M_E_F M_LOG2E_F "
    "M_LOG10E_F M_LN2_F M_LN10_F M_PI_F M_PI_2_F M_PI_4_F M_1_PI_F M_2_PI_F M_2_SQRTPI_F M_SQRT2_F "
    "M_SQRT1_2_F",
    "half": "HALF_MAX HALF_MIN HALF_EPSILON M_E_H M_LOG2E_H M_LOG10E_H M_LN2_H M_LN10_H M_PI_H "
    "M_PI_2_H M_PI_4_H M_1_PI_H M_2_PI_H M_2_SQRTPI_H M_SQRT2_H M_SQRT1_2_H",
    "double": "HUGE_VAL DBL_MAX DBL_MIN DBL_EPSILON M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 "
    "M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2",
}
# Groups of builtin functions that the parser declares; the device says whether it has them.
_BUILTINS = (
    "__opencl_c_named_address_space_builtins __opencl_subgroup_builtins "
    "__opencl_c_work_group_collective_functions cl_khr_subgroup_extended_types "
    "cl_khr_subgroup_non_uniform_vote cl_khr_subgroup_non_uniform_arithmetic "
    "cl_khr_subgroup_ballot cl_khr_subgroup_shuffle cl_khr_subgroup_shuffle_relative "
    "cl_khr_subgroup_clustered_reduce "
    "cl_khr_subgroup_rotate cl_khr_extended_bit_ops cl_khr_integer_dot_product "
    "__opencl_c_integer_dot_product_input_4x8bit __opencl_c_integer_dot_product_input_4x8bit_packed"
)
# Without these, pointers of OpenCL C 3.0 without an address space are private, as in 1.2.
_WITHOUT = (
    "__opencl_c_generic_address_space",
    "__opencl_c_pipes",
    "__opencl_c_device_enqueue",
    "__opencl_c_program_scope_global_variables",
)


@dataclass(frozen=True)
class Unit:
    """A parsed program."""

    # The program with all macros replaced; positions in the tree are offsets in it.
    text: str
    root: cindex.Cursor  # the tree
    lines: tuple[int, ...]  # for each line of the text, the line of the source
    source: str  # the source, with markers of lines if it was assembled
    name: str  # the file, for a source without markers
    standard: str | None  # as for `parse`

    def place(self, line: int) -> tuple[str, int]:
        """Return file and line of the source for a line of the text, from 1."""
        file, _, number = place_of(self.source, self.lines[line - 1]).rpartition(":")
        return (self.name if file == "<source>" else file), int(number)

    def error(self, node: cindex.Cursor, message: str) -> ProgramError:
        """Return the error that names the place of a node."""
        return ProgramError(message, *self.place(node.location.line))

    def functions(self) -> Iterator[cindex.Cursor]:
        """Yield the functions of the program that have a body."""
        for node in self.root.get_children():
            if node.kind == _K.FUNCTION_DECL and node.is_definition():
                yield node

    def declarations(self) -> Iterator[cindex.Cursor]:
        """Yield the declarations of functions without a body."""
        for node in self.root.get_children():
            if node.kind == _K.FUNCTION_DECL and not node.is_definition():
                yield node

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels."""
        return tuple(each.spelling for each in self.functions() if self._is_kernel(each))

    @cached_property
    def used(self) -> frozenset[str]:
        """The names of the functions whose value a call uses: a call that is no statement."""
        names = set[str]()
        for node in self.root.walk_preorder():
            children = list(node.get_children())
            values = children[:1] if node.kind == _K.IF_STMT else children[:-1]
            for each in values if node.kind in _BODIES else children:
                if each.kind == _K.CALL_EXPR and node.kind != _K.COMPOUND_STMT:
                    names.add(each.spelling)
        return frozenset(names)

    def called_by(self, kernel: str) -> set[str]:
        """Return the names of a kernel and of all functions that it calls, also through others."""
        calls: dict[str, set[str]] = {}
        for function in self.functions():
            called = {
                each.spelling
                for each in function.walk_preorder()
                if each.kind in (_K.CALL_EXPR, _K.DECL_REF_EXPR) and _is_function(each.referenced)
            }
            calls.setdefault(function.spelling, set()).update(called)
        names, new = set[str](), {kernel}
        while new:
            names |= new
            new = set.union(*(calls[each] for each in new)) & calls.keys() - names
        return names

    def _is_kernel(self, function: cindex.Cursor) -> bool:
        """Whether a function is a kernel: the parser does not tell."""
        head = self.text[function.extent.start.offset : function.location.offset]
        return _KERNEL.search(head) is not None


def _is_function(node: cindex.Cursor | None) -> bool:
    """Whether a name is that of a function: a variable may have the same."""
    return node is not None and node.kind == _K.FUNCTION_DECL


@lru_cache(8)
def parse(
    source: str,
    defines: tuple[tuple[str, str | int], ...],
    standard: str | None = None,
    name: str = "<source>",
) -> Unit:
    """Parse a program.

    Parameters
    ----------
    source : str
        OpenCL C. ``#include`` is not replaced.
    defines : tuple of (str, str or int)
        Macros that the compiler of the device predefines, and those of the build options.
    standard : str or None
        As for `pyapsp.device.kernels.build`.
    name : str
        The file, for messages.

    Raises
    ------
    ProgramError
        If it is not OpenCL C, with the place and the message of the compiler.
    """
    text, lines = _expanded(source, dict(defines), standard, name)
    return _unit(text, lines, source, name, standard)


def parse_text(unit: Unit, text: str) -> Unit:
    """Parse the text of a unit after changes in its lines.

    Raises
    ------
    ProgramError
        As `parse`.
    """
    return _unit(text, unit.lines, unit.source, unit.name, unit.standard)


def _unit(text: str, lines: tuple[int, ...], source: str, name: str, standard: str | None) -> Unit:
    # a program of 2.0 may have pointers to any address space, or none of them
    for version in ("1.2",) if _VERSIONS[standard] < 200 else ("3.0", "2.0"):
        tree = _parsed(text, version)
        unit = Unit(text, tree.cursor, lines, source, name, standard)
        errors = [each for each in tree.diagnostics if each.severity >= cindex.Diagnostic.Error]
        if not errors:
            return unit
    file = errors[0].location.file
    inside = file is not None and file.name == _NAME
    where = unit.place(errors[0].location.line) if inside else (name, None)
    raise ProgramError(errors[0].spelling, *where)


def _parsed(text: str, version: str) -> cindex.TranslationUnit:
    """Parse a text without macros."""
    extensions = "+all" + "".join(f",-{each}" for each in _WITHOUT if version == "3.0")
    arguments = ["-x", "cl", f"-cl-std=CL{version}", "-w", "-fgnu-keywords"]  # asm
    # the driver of clang does not pass on -cl-ext
    arguments += ["-Xclang", "-fdeclare-opencl-builtins", "-Xclang", f"-cl-ext={extensions}"]
    arguments += ["-target", "spir64-unknown-unknown", f"-I{_FOLDER}"]
    files = [(_NAME, text), (f"{_FOLDER}/{_HEADER}", _header())]
    return cindex.Index.create().parse(_NAME, args=arguments, unsaved_files=files)


class _Expander(pcpp.Preprocessor):  # type: ignore[misc]
    """The preprocessor, whose errors are raised with their place."""

    def __init__(self, source: str, name: str) -> None:
        super().__init__()
        self.line_directive = "#line"
        self._source, self._name = source, name

    def on_error(self, file: str, line: int, message: str) -> NoReturn:
        where, _, number = place_of(self._source, line).rpartition(":")
        raise ProgramError(message, self._name if where == "<source>" else where, int(number))

    def include(self, tokens: list[Any], original_line: list[Any]) -> NoReturn:
        name = "".join(each.value for each in tokens)
        message = f"cannot include {name}: there is no such file, or a macro gives its name"
        self.on_error(self._name, original_line[0].lineno, message)

    def on_directive_unknown(self, directive: Any, toks: list[Any], *more: object) -> bool | None:
        if directive.value == "error":
            text = "".join(each.value for each in toks)
            self.on_error(self._name, directive.lineno, f"#error {text}")
        return True if directive.value == "warning" else None


def _expanded(
    source: str, defines: Mapping[str, str | int], standard: str | None, name: str
) -> tuple[str, tuple[int, ...]]:
    """Return the text with all macros replaced, and the line of the source for each line."""
    expander = _Expander(source, name)
    version = _VERSIONS[standard]
    for macro, value in {
        "__OPENCL_VERSION__": version,
        "__OPENCL_C_VERSION__": version,
        "CL_VERSION_1_0": 100,
        "CL_VERSION_1_1": 110,
        "CL_VERSION_1_2": 120,
        "CL_VERSION_2_0": 200,
        "CL_VERSION_3_0": 300,
        "__ENDIAN_LITTLE__": 1,
        "__has_builtin(x)": 0,
        **defines,
    }.items():
        expander.define(f"{macro} {value}")
    # the markers of an assembled source would be mixed with those of the preprocessor
    plain = "\n".join("" if each.startswith("#line") else each for each in source.split("\n"))
    expander.parse(plain, name)
    out = io.StringIO()
    expander.write(out)
    text: list[str] = []
    lines: list[int] = []
    now = 1
    for each in out.getvalue().split("\n"):
        if each.startswith("#line "):
            now = int(each.split()[1])
            continue
        # pragmas get lines of their own, so that text can be inserted before them
        for piece in _PRAGMA.sub(r"\n#pragma \1\n", each).split("\n"):
            text.append(piece)
            lines.append(now)
        now += 1
    # libclang counts bytes: letters outside ASCII, which only strings have, must not be longer
    return "\n".join(text).encode("ascii", "replace").decode(), tuple(lines)


@cache
def _header() -> str:
    """Return the types and the constants that every program can use."""
    lines = [f"#pragma OPENCL EXTENSION cl_khr_{each} : enable" for each in ("fp16", "fp64")]
    lines += [f"typedef unsigned {each} u{each};" for each in _SCALARS]
    lines += ["typedef ulong size_t, uintptr_t;", "typedef long ptrdiff_t, intptr_t;"]
    for each in (*_SCALARS, *(f"u{each}" for each in _SCALARS), *_FLOATS):
        for many in (2, 3, 4, 8, 16):
            vector = f"__attribute__((ext_vector_type({many})))"
            lines.append(f"typedef {each} {each}{many} {vector};")
    lines += [f"#define {each} 1" for each in _BUILTINS.split()]
    lines += ["#define NULL ((void *)0)", "typedef uint cl_mem_fence_flags;"]
    lines.append("int printf(__constant const char *format, ...);")
    lines += ["#define ATOMIC_VAR_INIT(x) (x)", "#define ATOMIC_FLAG_INIT 0"]
    lines += _same_bits()
    for kind, names in _CONSTANTS.items():
        lines += [f"#define {each} (({kind})1)" for each in names.split()]
    lines += [
        "typedef enum memory_scope { memory_scope_work_item, memory_scope_work_group, "
        "memory_scope_device, memory_scope_all_svm_devices, memory_scope_sub_group } memory_scope;",
        "typedef enum memory_order { memory_order_relaxed = 0, memory_order_acquire = 2, "
        "memory_order_release = 3, memory_order_acq_rel = 4, memory_order_seq_cst = 5 } "
        "memory_order;",
    ]
    return "\n".join(lines) + "\n"


def _same_bits() -> Iterator[str]:
    """Declare as_type as functions: positions in the arguments of a macro would be lost."""
    sizes = {"char": 1, "short": 2, "half": 2, "int": 4, "float": 4, "long": 8, "double": 8}
    sizes |= {f"u{each}": sizes[each] for each in _SCALARS}
    types = [
        (f"{each}{many}" if many > 1 else each, size * (4 if many == 3 else many))
        for each, size in sizes.items()
        for many in (1, 2, 3, 4, 8, 16)
    ]
    for target, size in types:
        for given, of_given in types:
            if size == of_given:
                yield f"{target} __attribute__((overloadable, const)) as_{target}({given});"
