"""The table of arithmetic operations: what a step of a chain computes, and its instructions.

A step computes the next value of a chain from the last value y and the one before it, x, and from
values b and c that the compiler does not know (``cl/profiling/arithmetic.cl``). The expressions are
such that a compiler cannot shorten a sequence of steps: it would turn ``y + b`` of integers, for
instance, into one multiplication, but not ``x + y``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

__all__ = ["OPERATIONS", "PATTERN", "Instructions", "Operation"]

#: Chains begin with so many different pairs of values; further chains repeat them.
PATTERN = 64

_Step = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
# Of all types that have the operations below: name, type, and the suffix of its vector
# instructions on x86.
_FLOATS = (("f32", "float32", "s"), ("f64", "float64", "d"))
_INTEGERS = (("i32", "int32", "d", "32"), ("i64", "int64", "q", "64"), ("u16", "uint16", "w", "16"))


@dataclass(frozen=True)
class Instructions:
    """The instructions of a step in one instruction set."""

    pattern: str  # regular expression of the whole mnemonic
    # How many such instructions a step may have: compilers choose between forms. 0.5 is one for the
    # steps of two chains.
    counts: tuple[float, ...] = (1,)


@dataclass(frozen=True)
class Operation:
    """One class of operations for one number type."""

    id: str  # type and class, for instance `"f32.add"`
    dtype: str
    # The next value of a chain in OpenCL C, from x, y, b and c. `{w}` is the width of vectors in
    # the names of conversions.
    expression: str
    step: _Step  # the same with NumPy
    count: int = 1  # the operations of a step: 2 if it is a pair, such as a sum and a minimum
    # x and y of the first chain; others begin with larger values.
    start: tuple[float, float] = (5, 7)
    # b, c, and d: b becomes b + d after each round.
    operands: tuple[float, float, float] = (1, 1, 0)
    error: float = 0.0  # by how much of its size an answer may differ: functions are approximations
    vectors: bool = True  # whether processors with vectors have vector instructions for it
    odd: bool = False  # whether an even number of steps restores the value
    # By instruction set: "x86", "sass", "ptx".
    instructions: Mapping[str, Instructions] = field(default_factory=dict)

    def starts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y of the different chains."""
        dtype = np.dtype(self.dtype)
        more = np.arange(PATTERN) * 2 if dtype.kind in "iu" else np.arange(PATTERN) / PATTERN
        x, y = ((value + more).astype(dtype) for value in self.start)
        return x, y

    def answers(self, rounds: int, steps: int) -> np.ndarray:
        """Compute the last values of the different chains with NumPy.

        Parameters
        ----------
        rounds : int
        steps : int
            Steps of a round.

        Returns
        -------
        (PATTERN,) ndarray
        """
        dtype = np.dtype(self.dtype)
        b, c, d = (np.array([value]).astype(dtype) for value in self.operands)
        x, y = self.starts()
        with np.errstate(all="ignore"):
            for _ in range(rounds):
                for _ in range(steps):
                    x, y = y, self.step(x, y, b, c).astype(dtype)
                b = (b + d).astype(dtype)
        return y


def _in(
    x86: str | None = None,
    sass: str | None = None,
    ptx: str | None = None,
    counts: tuple[float, ...] = (1,),
) -> dict[str, Instructions]:
    """Return instructions with the same counts in several instruction sets."""
    patterns = {"x86": x86, "sass": sass, "ptx": ptx}
    return {name: Instructions(each, counts) for name, each in patterns.items() if each is not None}


def _least(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    least: np.ndarray = np.minimum(p, q)
    return least


def _clamped(y: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    clamped: np.ndarray = np.maximum(np.minimum(y, b), c)
    return clamped


def _float_operations(name: str, dtype: str, suffix: str) -> list[Operation]:
    return [
        *_sums_and_products(name, dtype, suffix),
        *_minima(name, dtype, suffix),
        *_quotients_and_roots(name, dtype, suffix),
    ]


def _sums_and_products(name: str, dtype: str, suffix: str) -> list[Operation]:
    letter, of = _names(dtype)
    return [
        Operation(
            f"{name}.add",
            dtype,
            "y + b",
            lambda x, y, b, c: y + b,
            operands=(1.25, 1, 0),
            instructions=_in(rf"v?add[ps]{suffix}", f"{letter}ADD.*", rf"add(\.rn)?\.{of}"),
        ),
        Operation(
            f"{name}.mul",
            dtype,
            "y * b",
            lambda x, y, b, c: y * b,
            operands=(-1.0000001, 1, 0),
            instructions=_in(rf"v?mul[ps]{suffix}", f"{letter}MUL.*", rf"mul(\.rn)?\.{of}"),
        ),
        Operation(
            f"{name}.fma",
            dtype,
            "fma(y, b, c)",
            lambda x, y, b, c: _fused(y, b, c),
            operands=(-1.0000001, 3, 0),
            # NumPy has no fused operation for float64, and rounds twice
            error=0 if dtype == "float32" else 1e-9,
            instructions=_in(rf"vfn?madd\d+[ps]{suffix}", f"{letter}FMA.*", rf"fma(\.rn)?\.{of}"),
        ),
    ]


def _minima(name: str, dtype: str, suffix: str) -> list[Operation]:
    letter, of = _names(dtype)
    # in double precision a minimum is a comparison and selections of both halves
    least = "FMNMX.*" if letter == "F" else r"DSETP.*|FSEL|SEL"
    pair = (2,) if letter == "F" else (2, 4, 6, 8)
    ptx_pair = rf"(add(\.rn)?|min|max)\.{of}|(setp\.\w+|selp)\.{of}"
    return [
        Operation(
            f"{name}.minmax",
            dtype,
            "MOST(LEAST(y, b), c)",
            lambda x, y, b, c: _clamped(y, b, c),
            count=2,
            operands=(6, 4, 0.0625),
            instructions=_in(rf"v?(min|max)[ps]{suffix}", least, ptx_pair, counts=(*pair, 4)),
        ),
        Operation(
            f"{name}.addmin",
            dtype,
            "LEAST(x, y + b)",
            lambda x, y, b, c: _least(x, y + b),
            count=2,
            operands=(-1, 0, 0),
            instructions=_in(
                rf"v?(add|min)[ps]{suffix}", rf"{letter}ADD.*|{least}", ptx_pair, counts=(*pair, 3)
            ),
        ),
    ]


def _quotients_and_roots(name: str, dtype: str, suffix: str) -> list[Operation]:
    _, of = _names(dtype)
    return [
        Operation(
            f"{name}.div",
            dtype,
            "b / y",
            lambda x, y, b, c: b / y,
            operands=(3, 0, 0.5),
            error=1e-3,  # of many quotients in a row
            odd=True,
            instructions=_in(rf"v?div[ps]{suffix}", None, rf"div\.\w+\.{of}"),
        ),
        Operation(
            f"{name}.sqrt",
            dtype,
            "sqrt(y)",
            lambda x, y, b, c: np.sqrt(y),
            error=1e-5,
            instructions=_in(rf"v?sqrt[ps]{suffix}", None, rf"sqrt\.\w+\.{of}"),
        ),
    ]


def _names(dtype: str) -> tuple[str, str]:
    """Return the name of a type in SASS and in PTX."""
    return ("F" if dtype == "float32" else "D"), dtype.replace("float", "f")


def _fused(y: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Multiply and add float32 values with one rounding; float64 values are rounded twice."""
    if y.dtype != np.float32:
        rounded: np.ndarray = y * b + c
        return rounded
    exact: np.ndarray = y.astype(np.float64) * b + c
    return exact.astype(np.float32)


def _integer_operations(name: str, dtype: str, suffix: str, bits: str) -> list[Operation]:
    added = r"add|lea|inc"
    # two instructions for the halves of a wide value, or one for a pair of narrow ones
    sums = {"i32": (1,), "i64": (1, 2), "u16": (0.5, 1)}[name]
    # 64-bit minima are some instructions of several kinds
    least = None if name == "i64" else r"VIMNMX.*|IMNMX.*|ISETP.*|SEL.*|VIADDMNMX.*"
    both = None if least is None else rf"{least}|IADD3?.*|VIADD.*|IMAD\.IADD.*"
    less = rf"v?p(min|max)[su]{suffix}|v?pcmpgt{suffix}|v?p?blend\w+|cmp|cmov\w+"
    any_of = rf"\.[sub]{bits}"
    return [
        Operation(
            f"{name}.add",
            dtype,
            "x + y",
            lambda x, y, b, c: x + y,
            instructions=_in(
                rf"v?padd{suffix}|{added}", r"IADD3?.*|VIADD.*|IMAD\.IADD.*", rf"add{any_of}", sums
            ),
        ),
        Operation(
            f"{name}.mul",
            dtype,
            "x * y",
            lambda x, y, b, c: x * y,
            instructions=_in(
                r"v?pmull[dwq]|v?pmuludq|imul",
                r"IMAD(?!\.MOV).*",
                rf"mul\.lo{any_of}",
                (1, 2, 3, 4),
            ),
        ),
        Operation(
            f"{name}.minmax",
            dtype,
            "MOST(LEAST(y, b), c)",
            lambda x, y, b, c: _clamped(y, b, c),
            count=2,
            start=(100, 101),
            operands=(60, 40, 1),
            instructions=_in(
                less, least, rf"(min|max){any_of}|(setp\.\w+|selp){any_of}", (1, 2, 4, 6)
            ),
        ),
        Operation(
            f"{name}.addmin",
            dtype,
            "LEAST(x, y + b)",
            lambda x, y, b, c: _least(x, y + b),
            count=2,
            start=(20000, 20001),
            operands=(-1, 0, 0) if name != "u16" else (1, 0, 0),
            instructions=_in(
                rf"{less}|v?padd{suffix}|{added}|dec",
                both,
                rf"(add|min){any_of}|(setp\.\w+|selp){any_of}",
                (0.5, 1, 2, 3, 4, 5),
            ),
        ),
    ]


def _other_sums_and_choices() -> list[Operation]:
    return [
        Operation(
            "i32.sub",
            "int32",
            "x - y",
            lambda x, y, b, c: x - y,
            instructions=_in(r"v?psubd|sub", r"IADD3?.*|VIADD.*|IMAD\.IADD.*", r"sub\.[su]32"),
        ),
        Operation(
            "i32.mad",
            "int32",
            "x * y + b",
            lambda x, y, b, c: x * y + b,
            count=2,
            instructions=_in(
                r"v?pmulld|imul|v?paddd|add|lea",
                r"IMAD(?!\.MOV).*",
                r"mad\.lo\.[su]32|(mul\.lo|add)\.[su]32",
                (1, 2),
            ),
        ),
        Operation(
            "i32.compare",
            "int32",
            "(x < b) ? y : c",
            lambda x, y, b, c: np.where(x < b, y, c),
            count=2,
            start=(70, 7),
            operands=(64, 3, 1),
            instructions=_in(
                r"v?pcmpgtd|v?p?blendv\w+|cmp|cmov\w+",
                r"ISETP.*|SEL.*",
                r"setp\.\w+\.s32|selp\.[sub]32",
                (2,),
            ),
        ),
    ]


def _bits() -> list[Operation]:
    return [
        Operation(
            "i32.logic",
            "int32",
            # any sequence of operations on the bits of three values is one instruction of GPUs
            "(y ^ b) + x",
            lambda x, y, b, c: (y ^ b) + x,
            operands=(0x35A7C9D3, 0, 2),
            instructions=_in(r"v?pxor[dq]?|vxorp[sd]|xor", r"LOP3.*", r"(xor|lop3)\.b32"),
        ),
        Operation(
            "i32.shift",
            "int32",
            "(y << b) >> c",
            lambda x, y, b, c: (y << b) >> c,
            count=2,
            start=(0, 0x5AAAAAAA),
            instructions=_in(
                r"v?ps(ll|ra)v?d|shlx?|sarx?|sal", r"SHF\..*|SHL.*|SHR.*", r"sh[lr]\.[sb]32", (2,)
            ),
        ),
        Operation(
            "i32.rotate",
            "int32",
            "rotate(y, b)",
            lambda x, y, b, c: (
                (y << b) | (y.view(np.uint32) >> (32 - b.view(np.uint32))).view(np.int32)
            ),
            start=(0, 0x5AAAAAAB),
            operands=(7, 0, 0),
            instructions=_in(
                r"v?ps[lr]lv?d|v?por|vorp[sd]|rol|ror|vprolvd",
                r"SHF\..*",
                r"shf\.l\.wrap\.b32",
                (1, 3),
            ),
        ),
        Operation(
            "i32.popcount",
            "int32",
            "popcount(y) + x",
            lambda x, y, b, c: _bits_set(y) + x,
            start=(11, 0x5AAAAAAB),
            instructions=_in("popcnt", "POPC.*", r"popc\.b32"),
        ),
        Operation(
            "i32.clz",
            "int32",
            "clz(y) + x",
            lambda x, y, b, c: _leading_zeros(y) + x,
            start=(11, 0x5AAAAB),
            instructions=_in("lzcnt", "FLO.*", r"clz\.b32"),
        ),
    ]


def _quotients_of_integers() -> list[Operation]:
    return [
        Operation(
            "i32.div",
            "int32",
            "b / (y | c)",
            lambda x, y, b, c: b // (y | c),
            start=(0, 46000),
            operands=(2**31 - 1000, 1, 0),
            vectors=False,
            odd=True,
            instructions=_in("idivl?", None, r"div\.s32"),
        ),
        Operation(
            "i32.rem",
            "int32",
            "b % (y | c)",
            lambda x, y, b, c: b % (y | c),
            start=(0, 46000),
            operands=(2**31 - 1000, 0x4001, 0),
            vectors=False,
            instructions=_in("idivl?", None, r"rem\.s32"),
        ),
    ]


def _bits_set(values: np.ndarray) -> np.ndarray:
    bits = np.unpackbits(values.view(np.uint8).reshape(len(values), -1), axis=1)
    numbers: np.ndarray = bits.sum(axis=1, dtype=np.int32)
    return numbers


def _leading_zeros(values: np.ndarray) -> np.ndarray:
    _, exponents = np.frexp(values.view(np.uint32).astype(np.float64))
    return (32 - exponents).astype(np.int32)


def _functions() -> list[Operation]:
    """Return the fast functions of single precision, and the conversions."""
    # expression, NumPy, PTX, SASS
    table: list[tuple[str, str, _Step, str | None, bool]] = [
        ("native_rsqrt", "native_rsqrt(y)", lambda x, y, b, c: 1 / np.sqrt(y), "rsqrt", False),
        ("native_recip", "native_recip(y + b)", lambda x, y, b, c: 1 / (y + b), "rcp", False),
        ("native_sin", "native_sin(y)", lambda x, y, b, c: np.sin(y), "sin", False),
        ("native_cos", "native_cos(y)", lambda x, y, b, c: np.cos(y), "cos", False),
        ("native_exp2", "native_exp2(-y)", lambda x, y, b, c: np.exp2(-y), "ex2", False),
        ("native_log2", "native_log2(y + b)", lambda x, y, b, c: np.log2(y + b), "lg2", False),
        ("native_div", "native_divide(b, y)", lambda x, y, b, c: b / y, "(rcp|div)", True),
    ]
    functions = [
        Operation(
            f"f32.{name}",
            "float32",
            expression,
            step,
            start=(1, 1.5),
            operands=(4, 0, 0) if name == "native_log2" else (3, 0, 0.5),
            error=2e-2,
            odd=odd,
            instructions=_in(None, r"MUFU\..*", rf"{ptx}\.(approx|full)(\.ftz)?\.f32"),
        )
        for name, expression, step, ptx, odd in table
    ]
    convert = Operation(
        "f32.convert",
        "float32",
        "convert_float{w}(convert_int{w}(y + b))",
        lambda x, y, b, c: (y + b).astype(np.int32),
        count=2,
        operands=(1.25, 0, 0),
        instructions=_in(
            r"v?cvttps2dq|v?cvtdq2ps|v?cvttss2sil?|v?cvtsi2ssl?",
            r"F2I.*|I2FP?.*",
            r"cvt\.rzi\.s32\.f32|cvt\.rn\.f32\.s32",
            (2,),
        ),
    )
    return [*functions, convert]


#: All operations by id.
OPERATIONS = {
    each.id: each
    for each in (
        *(each for row in _FLOATS for each in _float_operations(*row)),
        *(each for row in _INTEGERS for each in _integer_operations(*row)),
        *_other_sums_and_choices(),
        *_bits(),
        *_quotients_of_integers(),
        *_functions(),
    )
}
