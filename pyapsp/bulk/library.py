"""Functions and constants of C's standard library, and their names in OpenCL C."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from pyapsp.bulk.constants import Value

__all__ = ["ALLOCATION", "CONSTANTS", "FUNCTIONS", "INPUT_OUTPUT", "Twin", "is_reserved", "is_word"]


@dataclass(frozen=True)
class Twin:
    """A function of C and the same function of OpenCL C."""

    name: str  # OpenCL's name
    # Types to which C converts the arguments; "any" means float or double, without a conversion.
    # The functions of OpenCL are overloaded, so these conversions must be written.
    arguments: tuple[str, ...]
    result: str  # type of the result


_ONE = """acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor
lgamma log log10 log1p log2 rint round sin sinh sqrt tan tanh tgamma trunc"""
_TWO = "atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder"

FUNCTIONS = {
    "abs": Twin("abs", ("int",), "int"),
    "labs": Twin("abs", ("long",), "long"),
    "llabs": Twin("abs", ("long",), "long"),
    "isnan": Twin("isnan", ("any",), "int"),
    "isinf": Twin("isinf", ("any",), "int"),
    "isfinite": Twin("isfinite", ("any",), "int"),
    "signbit": Twin("signbit", ("any",), "int"),
}
for _suffix, _base in (("", "double"), ("f", "float")):
    for _name in _ONE.split():
        FUNCTIONS[_name + _suffix] = Twin(_name, (_base,), _base)
    for _name in _TWO.split():
        FUNCTIONS[_name + _suffix] = Twin(_name, (_base, _base), _base)
    FUNCTIONS["fma" + _suffix] = Twin("fma", (_base, _base, _base), _base)
    FUNCTIONS["ldexp" + _suffix] = Twin("ldexp", (_base, "int"), _base)

# Constants of <limits.h>, <stdint.h>, <float.h>, <math.h> and <stdbool.h>; OpenCL C lacks some.
CONSTANTS: dict[str, Value] = {
    "true": (1, "int"),
    "false": (0, "int"),
    "INFINITY": (math.inf, "float"),
    "HUGE_VALF": (math.inf, "float"),
    "HUGE_VAL": (math.inf, "double"),
    "NAN": (math.nan, "float"),
    "M_PI": (math.pi, "double"),
    "M_PI_2": (math.pi / 2, "double"),
    "M_PI_4": (math.pi / 4, "double"),
    "M_E": (math.e, "double"),
    "M_SQRT2": (math.sqrt(2), "double"),
    "M_SQRT1_2": (math.sqrt(0.5), "double"),
    "M_LN2": (math.log(2), "double"),
    "M_LN10": (math.log(10), "double"),
    "FLT_MAX": (float(np.finfo(np.float32).max), "float"),
    "FLT_MIN": (float(np.finfo(np.float32).tiny), "float"),
    "FLT_EPSILON": (float(np.finfo(np.float32).eps), "float"),
    "DBL_MAX": (float(np.finfo(np.float64).max), "double"),
    "DBL_MIN": (float(np.finfo(np.float64).tiny), "double"),
    "DBL_EPSILON": (float(np.finfo(np.float64).eps), "double"),
    "CHAR_BIT": (8, "int"),
}
for _name, _base, _bits in (
    ("INT", "int", 32),
    ("LONG", "long", 64),
    ("LLONG", "long", 64),
    ("SCHAR", "int", 8),
    ("SHRT", "int", 16),
    ("INT8", "int", 8),
    ("INT16", "int", 16),
    ("INT32", "int", 32),
    ("INT64", "long", 64),
):
    CONSTANTS[f"{_name}_MAX"] = 2 ** (_bits - 1) - 1, _base
    CONSTANTS[f"{_name}_MIN"] = -(2 ** (_bits - 1)), _base
    if not _name.startswith("INT") or _name == "INT":
        _unsigned = f"U{_name}".replace("USCHAR", "UCHAR")
        _of = _base if _bits < 32 else f"u{_base}"
        CONSTANTS[f"{_unsigned}_MAX"] = 2**_bits - 1, _of
    else:
        CONSTANTS[f"U{_name}_MAX"] = 2**_bits - 1, _base if _bits < 32 else f"u{_base}"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALLOCATION = _words("malloc calloc realloc free alloca aligned_alloc strdup")
INPUT_OUTPUT = _words(
    """printf fprintf sprintf snprintf scanf fscanf sscanf puts fputs putchar putc fputc
    getchar getc fgetc gets fgets fopen fclose fread fwrite fflush fseek ftell rewind feof
    perror exit abort system getenv read write open close"""
)

_KEYWORDS = _words(
    """kernel global local constant private generic half uint uchar ushort ulong bool size_t
    ptrdiff_t intptr_t uintptr_t read_only write_only read_write sampler_t event_t queue_t pipe
    restrict inline image1d_t image2d_t image3d_t uniform typename template class namespace
    this true false MAXFLOAT HUGE_VALF HUGE_VAL INFINITY NAN"""
)
_FUNCTIONS = _words(
    """abs abs_diff add_sat all any async_work_group_copy barrier bitselect clamp clz cross ctz
    degrees distance dot fast_distance fast_length fast_normalize get_global_id get_global_size
    get_group_id get_local_id get_local_size get_num_groups get_work_dim hadd length mad mad24
    mad_hi mad_sat max maxmag mem_fence min minmag mix mul24 mul_hi nan normalize popcount
    prefetch printf radians read_mem_fence rhadd rotate rsqrt select shuffle shuffle2 sign
    smoothstep step sub_sat upsample wait_group_events write_mem_fence exp10 fract frexp ilogb
    isequal isgreater isless isnormal isordered logb lgamma_r modf pown powr remquo rootn
    sincos"""
)
_TWINS = frozenset(twin.name for twin in FUNCTIONS.values())
_PATTERN = re.compile(
    r"(char|uchar|short|ushort|int|uint|long|ulong|float|double|half|bool)(2|3|4|8|16)"
    r"|(as|convert|atomic|atom|vload|vstore|native|half|work_group|sub_group|async)_\w+"
    r"|(vload|vstore)\d+|__\w+|CLK_\w+|CL_\w+"
)


def is_word(name: str) -> bool:
    """Whether a local variable cannot have this name in OpenCL C."""
    return name in _KEYWORDS or name in _TWINS or _PATTERN.fullmatch(name) is not None


def is_reserved(name: str) -> bool:
    """Whether neither a variable nor a function can have this name in OpenCL C."""
    return is_word(name) or name in _FUNCTIONS
