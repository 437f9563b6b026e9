"""Every construct gives the same result in the OpenCL C translation as in compiled C."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.bulk import load, translate
from pyapsp.errors import CapabilityError, ProgramError

P = 70


def ints(*shape, low=-1000, high=1000, dtype=np.int32, seed=0):
    return np.random.default_rng(seed).integers(low, high, (P, *shape)).astype(dtype)


def floats(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=(P, *shape)).astype(dtype)


SNIPPETS = {
    "statements": """
        int total = 0, i = 0;
        do { total += x[i]; i += 2; } while (i < N);
        while (1) { if (i-- == 3) break; total ^= i; }
        for (;;) { if (++i > 5) break; }
        for (int a = 0, c = N - 1; a < c; a++, c--) total += x[a] * c;
        if (total > 0) { if (total & 1) y[0] = 1; } else y[0] = 2;
        if (x[0] > 0) y[1] = 1; else if (x[0] < -10) y[1] = 2; else { y[1] = 3; }
        ;
        y[2] = total; y[3] = i;""",
    "nested if and else": """
        for (int i = 0; i < N; i++)
            if (x[i] > 0) { if (x[i] > 100) y[i] = 1; } else y[i] = 2;""",
    "integers": """
        y[0] = x[0] / 7 + x[1] % 7; y[1] = -x[2] / 3 % 5; y[2] = x[3] >> 2; y[3] = ~x[4] & 0xff;
        y[4] = (x[5] ^ 077) | 'A'; y[5] = !x[6] + !!x[7]; y[6] = (unsigned)x[0] >> 28;
        y[7] = (x[1] < x[2]) == (x[2] < x[3]);""",
    "precedence": """
        y[0] = x[0] - (x[1] - x[2]) - x[3]; y[1] = x[0] * (x[1] + x[2]) / (1 + (x[3] & 7));
        y[2] = (x[0] & 3) << 2 | x[1] >> 3 & 1; y[3] = x[0] < 0 ? x[1] > 0 ? 1 : 2 : x[2] ? 3 : 4;
        y[4] = (x[0], x[1]); y[5] = -(-x[2]); y[6] = - -x[3];
        y[7] = x[4] > 0 && x[5] > 0 || x[6] > 0;
        y[0] += y[1] = 3; y[1] = (y[2] = x[5]) + 1;""",
    "steps": """
        int k = 3; y[k++] = x[0]; y[++k] = x[1]; y[k--] += 5; y[k] -= 2; y[0] <<= 1; y[1]++; --y[2];
        y[6] = y[5]++ + ++y[4]; y[7] = k;""",
    "narrow types": """
        char c = (char)x[0]; unsigned char u = x[1]; short s = x[2] * 100; unsigned short t = x[3];
        _Bool f = x[4]; y[0] = c; y[1] = u; y[2] = s; y[3] = t; y[4] = f; y[5] = c * u + s;
        u += 200; y[6] = u; c = u; y[7] = c;""",
    "long types": """
        long a = (long)x[0] * 4000000000L; unsigned long long b = x[1]; long long c = 5000000000LL;
        y[0] = (int)(a >> 20); y[1] = (int)(b >> 33); y[2] = (int)(c % 1000) + x[2];
        unsigned d = x[3]; y[3] = d / 3u > 4294967295u / 3; y[4] = d > -1; y[5] = (long)d > -1;
        y[6] = sizeof(long) + sizeof(float) * sizeof(short); y[7] = 0x7fffffff + 0 * x[0];""",
    "switch": """
        for (int i = 0; i < N; i++)
            switch (x[i] % 5) {
            case -1: y[i] = 7;
            case 2: y[i] += 1; break;
            case 1: case 3: { y[i] = 9; break; }
            default: y[i] = -1;
            }""",
    "local arrays": """
        int t[N], m[2][3] = {{1, 2, 3}, {4, 5}}, z[3] = {0};
        for (int i = 0; i < N; i++) t[i] = x[N - 1 - i];
        m[1][2] = t[0]; z[1] += m[0][1] + m[1][2];
        for (int i = 0; i < N; i++) y[i] = t[i] + z[i % 3] + m[i & 1][i % 3];""",
    "shadowed names": """
        int i = 5; { int i = 7; y[0] = i + x[0]; { int y = 3; i += y; } y[1] = i; }
        for (int i = 0; i < 2; i++) { int x = i; y[2 + i] = x; } y[4] = i;""",
    "prototypes and pragmas": """
        int helper(int);
        #pragma unroll
        for (int i = 0; i < N; i++) y[i] = helper(x[i]);""",
    "names of OpenCL C": """
        int global = x[0], kernel = x[1], half = 2, uint = 3, instance = 4, instances = 5, AT = 6;
        int local = min(global, kernel), as_int = max(global, kernel), float4 = dot(1, 2);
        y[0] = local + half; y[1] = as_int + uint; y[2] = instance * instances + AT + float4;
        y[3] = bulk(x[3]) + step;""",
    "helpers with arrays": """
        int t[4] = {1, 2, 3, 4};
        y[0] = sum(x, 4); y[1] = sum(&x[2], 4); y[2] = sum(x + 3, 2); y[3] = sum(t, 4);
        y[4] = sum(table, 3); y[5] = sum(&t[1], 2); y[6] = total(g, 2);
        exchange(&y[0], &y[1]); exchange(&t[0], &t[3]); y[7] = t[0] * 10 + *t + *(x + 1);
        exchange(y, &y[2]); fill(g[1], 3, x[0]); fill(g[0] + 1, 1, 7); y[5] += second(g[1]);""",
    "tables": """
        for (int i = 0; i < 4; i++) y[i] = table[i] * square[i & 1][i >> 1] + scale;
        y[4] = x[table[1]];""",
    "scalars": """
        count = count + 1; y[0] = count; y[1] = offset; limit(x[0]); y[2] = sizeof(int);""",
    "macros": """
        y[0] = SQUARE(x[0] + 1); y[1] = MAX(x[0], x[1]); y[2] = HALF; y[3] = TWICE; y[4] = BIG(3);
        LOOP(i, 3) y[i] += i; y[5] = NAMED; y[6] = INT_MAX - x[0] % 7;
        y[7] = INT_MIN == -INT_MAX - 1;""",
}

PREFIX = """
#include <limits.h>
#include <stdint.h>
#define N 8
#define HALF (N / 2)
#define TWICE 2 * N
#define NAMED (HALF + 1)
#define SQUARE(v) ((v) * (v))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define BIG(v) SQUARE(SQUARE(v))
#define LOOP(i, n) for (int i = 0; i < n; i++)
int x[N], y[N], g[2][3] = {{1, 2, 3}, {4}};
int count = 41, offset, step = 2;
const int table[4] = {3, 1, 2};
const short square[2][2] = {{1, -2}, {3, -4}};
const int scale = 1000;
int helper(int v) { return v * 2 + x[0]; }
int min(int a, int b) { return a < b ? a : b; }
int max(int a, int b) { if (a > b) return a; return b; }
int dot(int a, int b) { return a * b; }
int bulk(int v) { return v - 1; }
static inline int sum(const int *v, int n)
{ int s = 0; for (int i = 0; i < n; i++) s += v[i]; return s; }
int total(int v[][3], int n)
{ int s = 0; for (int i = 0; i < n; i++) s += v[i][i] + sum(v[i], 3); return s; }
int second(int v[3]) { return v[1]; }
void exchange(int *a, int *b) { int held = *a; *a = *b; *b = held; }
void fill(int v[], int n, int value) { while (n-- > 0) v[n] = value; }
void limit(int v) { if (v < 0) return; count = v; }
#pragma kernel
void run(void)
{
"""


@pytest.mark.every(10)
@pytest.mark.parametrize("name", SNIPPETS)
def test_as_the_c_compiler_does(name, written, assert_same):
    path = written(f"{PREFIX}{SNIPPETS[name]}\n}}\n")
    inputs = {"x": ints(8)}
    if name == "helpers with arrays":
        inputs["g"] = ints(2, 3, seed=1)
    assert_same(path, inputs)


CONSTANTS = """(1 - 2u) / 1073741823u; -7 / 2; -7 % 3; 1 << 20 | 5; ~0u >> 28; 0x80000000 / 3;
-1 < 0u; 'a' + '\\n'; 010 + 0b11; (unsigned char)300 + (short)70000; 5 / 2 * 2.0; 1 ? 2 : 3;
0 && 1 / 0; 3 || 1; !5; (int)-2.7; 2147483647 + 1L; 1e3f / 3 > 333; 18446744073709551615u % 10;
(N > 1) + (N != 8) * 2; -(-3) - +4; INT_MIN; UINT_MAX; LONG_MAX; sizeof(int) * 3; 7 ^ 2 & 3"""


def test_constant_expressions(written, assert_same):
    values = [each.strip() for each in CONSTANTS.split(";")]
    text = f"""
#include <limits.h>
#define N 8
long v[{len(values)}] = {{{", ".join(values)}}};
int x, lengths[(1 - 2u) / 1073741823u];
#pragma kernel
void run(void) {{ for (int i = 0; i < {len(values)}; i++) v[i] ^= x; lengths[3] = x; }}
"""
    assert_same(written(text), {"x": ints()})


def test_enumerations(written, assert_same):
    text = """
#define LAST COUNT - 1
enum color { RED, GREEN = 5, BLUE, COUNT = 8 };
typedef enum { LOW = -2, MIDDLE, HIGH } level;
enum { WIDE = 1 << 20, SAME = GREEN, };
int x[COUNT], y[COUNT];
enum color state = BLUE;
level levels[3] = { HIGH, LOW };
static enum color next_of(enum color now) { return now == BLUE ? RED : (enum color)(now + 1); }
#pragma kernel
void run(void)
{
    enum { ZERO, ONE };
    enum color c = RED;
    level l = LOW;
    for (int i = ZERO; i <= LAST; i += ONE) {
        c = next_of(c);
        switch (x[i] & 3) {
        case RED: y[i] = WIDE - x[i]; break;
        case MIDDLE + 2: y[i] = GREEN; break;
        default: y[i] = x[i] - LOW - -HIGH;
        }
    }
    y[RED] = c - 7 > 0;
    y[1] = l - 1 > 0;
    y[SAME] = sizeof(enum color) + sizeof(level);
    state = state == BLUE ? GREEN : RED;
    levels[1] += x[BLUE];
    { int RED = x[3]; y[7] = RED; }
}
"""
    assert_same(written(text), {"x": ints(8)})
    found = assert_same(written(text), {"x": ints(8), "levels": ints(3)})
    assert found["state"].dtype == np.uint32


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("enum { A = 1.5 };", "a constant whole number"),
        ("int n; enum { A = n };", "a constant whole number"),
        ("enum { A = 2147483647, B };", "must fit into int"),
        ("enum { A, A };", "the name A is taken"),
        ("int A; enum { A };", "the name A is taken"),
        ("enum none v;", "enum none is not defined"),
    ],
)
def test_wrong_enumerations(line, reason, written):
    text = f"{line}\nint v[3];\n#pragma kernel\nvoid run(void) {{ v[0] = 1; }}\n"
    if "none" in line:
        text = text.replace("int v[3];\n", "").replace("v[0]", "v")
    with pytest.raises(ProgramError, match=rf"program\.c:1:\d+: .*{reason}"):
        translate(written(text))


def test_what_is_not_given_begins_as_in_c(written, assert_same):
    found = assert_same(written(f"{PREFIX}{SNIPPETS['scalars']}\n}}\n"), {"x": ints(8)})
    assert set(found["y"][:, 0]) == {42}
    found = assert_same(
        written(f"{PREFIX}{SNIPPETS['scalars']}\n}}\n"),
        {"x": ints(8), "count": ints(seed=2), "offset": ints(seed=3)},
    )
    assert len(set(found["y"][:, 0])) > 10


@pytest.mark.every(6)
@pytest.mark.parametrize("base", ["char", "unsigned char", "short", "uint16_t", "int", "unsigned"])
@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_arrays_of_every_type(base, shape, written, assert_same):
    dtype = {"char": "i1", "unsigned char": "u1", "short": "i2", "uint16_t": "u2", "int": "i4"}
    dims = "".join(f"[{each}]" for each in shape)
    at = "[i]" if len(shape) == 1 else "[1][i]"
    text = (
        f"""#include <stdint.h>
{base} v{dims}; long w; #pragma
""".replace("#pragma\n", "\n")
        + f"""
#pragma kernel
void run(void) {{ for (int i = 0; i < 3; i++) {{ w += v{at}; v{at} = v{at} * 3 - i; }} }}
"""
    )
    values = ints(*shape, low=0, high=100, dtype=dtype.get(base, "u4"))
    assert_same(written(text), {"v": values, "w": ints(dtype=np.int64)})


@pytest.mark.every(2)
@pytest.mark.parametrize("base", ["float", "double", "long", "uint64_t"])
def test_wide_and_floating_arrays(base, written, assert_same):
    text = f"""#include <stdint.h>
typedef {base} value_t;
value_t v[2][2], w;
#pragma kernel
void run(void) {{ w = v[0][0] * v[1][1] - v[0][1] * v[1][0]; v[0][1] = w / (value_t)3 + 1; }}
"""
    dtype = {"float": np.float32, "double": np.float64, "long": np.int64}.get(base, np.uint64)
    values = (
        floats(2, 2, dtype=dtype) if base in ("float", "double") else ints(2, 2, dtype=dtype, low=1)
    )
    # division of floats is within 2.5 ulp in OpenCL
    assert_same(written(text), {"v": values}, rtol=3e-7 if base == "float" else 0)


def test_types_of_expressions_are_those_of_c(written, assert_same):
    """In float: 0.1f; in double, rounded once: 0.1; integers stay integers."""
    text = """
#include <math.h>
float x[4], y[8];
int k;
#pragma kernel
void run(void)
{
    y[0] = x[0] * 0.1 + x[1];
    y[1] = x[0] * 0.1f + x[1];
    y[2] = (k / 4) * 0.5;
    y[3] = k / 4.0f;
    y[4] = x[2] * x[2] + x[3];
    y[5] = 1e-3 * k + x[3] / 4;
    y[6] = (float)k / (k * k + 1u);
    y[7] = 16777217 + x[0];
}
"""
    assert_same(written(text), {"x": floats(4), "k": ints()}, rtol=1.3e-7)
    assert_same(written(text.replace("y[6] =", "x[3] +=")), {"x": floats(4), "k": ints()})


def test_functions_of_math_h(written, assert_same):
    one = (
        "acos asin atan cbrt ceil cos erf exp exp2 expm1 fabs floor log1p rint round sin sinh tanh"
    )
    two = "atan2 copysign fdim fmax fmin fmod hypot remainder"
    lines = [f"d[{i}] = {f}(v); f[{i}] = {f}f(w);" for i, f in enumerate(one.split())]
    n = len(lines)
    lines += [
        f"d[{n + i}] = {f}(v, u); f[{n + i}] = {f}f(w, u);" for i, f in enumerate(two.split())
    ]
    n = len(lines)
    lines += [
        f"d[{n}] = pow(fabs(v), u) + sqrt(w * w) + sqrt(2) + fma(v, w, u);",
        f"f[{n}] = powf(fabsf(w), u) + sqrtf(2) + ldexpf(w, 3) + abs(k) + labs(k * 3L);",
        "k = (isnan(w) || isinf(v)) + isfinite(w) + abs(k - 5) / 2 - (v < INFINITY) + (w < M_PI);",
    ]
    text = f"""
#include <math.h>
#include <stdlib.h>
double d[{n + 1}], v, u;
float f[{n + 1}], w;
int k;
#pragma kernel
void run(void)
{{
    {chr(10).join(lines)}
}}
"""
    inputs = {
        "v": np.random.default_rng(0).uniform(-1, 1, P),
        "w": np.random.default_rng(1).uniform(-1, 1, P).astype(np.float32),
        "u": np.random.default_rng(2).uniform(0.5, 2, P),
        "k": ints(),
    }
    assert_same(written(text), inputs, rtol=3e-6)


def test_no_double_precision_on_the_device(written, device, monkeypatch):
    import dataclasses

    from pyapsp.device import Device

    lacking = dataclasses.replace(device.capabilities, fp64=False)
    monkeypatch.setattr(Device, "capabilities", property(lambda self: lacking))
    text = "float x[2];\n#pragma kernel\nvoid run(void) { x[0] *= 0.5; }\n"
    with pytest.raises(CapabilityError, match=r"needs double precision"):
        load(written(text), device=device)
    load(written(text.replace("0.5", "0.5f")), device=device)


def test_the_text_is_what_a_person_would_write(written):
    text = """
#define N 4
float D[N][N];
void update(int i, int j, int k)
{
    if (D[i][j] > D[i][k] + D[k][j])
        D[i][j] = D[i][k] + D[k][j];
}
#pragma kernel
void run(void)
{
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++) {
            int j = 0;
            update(i, j, k);
        }
}
"""
    source = translate(written(text)).source
    assert source.startswith("/* run of program.c, for many instances at once.\n")
    assert source.endswith(
        """#pragma OPENCL FP_CONTRACT OFF

#define N 4

#define AT(i) ((int)(i) * instances)

void update(int i, int j, int k, __global float *D, const int instances)
{
    if (D[AT(i * 4 + j)] > D[AT(i * 4 + k)] + D[AT(k * 4 + j)])
        D[AT(i * 4 + j)] = D[AT(i * 4 + k)] + D[AT(k * 4 + j)];
}

void run(__global float *D, const int instances)
{
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++) {
            int j = 0;
            update(i, j, k, D, instances);
        }
}

__kernel void bulk(const int instances,
                   __global float *restrict D)
{
    const int instance = get_global_id(0);
    if (instance < instances)
        run(D + instance, instances);
}
"""
    )
    row = translate(written(text), arrangement="row").source
    assert "#define AT(i) (i)\n" in row
    assert row.endswith("        run(D + (size_t)instance * 16);\n}\n")
