"""Random oblivious programs: OpenCL and the C compiler agree to the bit.

Numbers are kept small, because signed overflow means nothing in either language.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

N = 6
HEAD = f"""
#define N {N}
int x[N], y[N][2];
float f[N];
unsigned u;
const int table[N] = {{5, 0, 3, 1, 4, 2}};
int pick(int a, int b) {{ if (a > b) return a - b; return b; }}
void bump(int *p, int i, int by) {{ p[i] += by; if (by > 3) p[0] ^= i; }}
"""
_numbers = itertools.count()


@st.composite
def steady(draw, counters):
    """An expression that does not depend on data, from 0 to N - 1."""
    terms = [str(draw(st.integers(0, N - 1))), *counters]
    left, right = draw(st.sampled_from(terms)), draw(st.sampled_from(terms))
    form = draw(st.sampled_from(["{0}", "({0} + {1}) % N", "({0} * 3 + {1}) % N", "table[{0}]"]))
    return form.format(left, right)


@st.composite
def place(draw, counters):
    at = draw(steady(counters))
    return draw(st.sampled_from([f"x[{at}]", f"y[{at}][{draw(st.integers(0, 1))}]", f"t[{at}]"]))


@st.composite
def number(draw, counters, depth=0):
    """A whole number that may depend on data."""
    if depth == 3 or draw(st.booleans()):
        return draw(
            st.one_of(
                place(counters).map(lambda where: f"({where} % 9999)"),
                st.integers(-99, 99).map(lambda value: f"({value})"),
                st.sampled_from(["(int)(u % 9999)", "(k % 9999)", *counters]),
            )
        )
    left, right = draw(number(counters, depth + 1)), draw(number(counters, depth + 1))
    form = draw(
        st.sampled_from(
            [
                "({0} + {1})",
                "({0} - {1})",
                "({0} % 999 * ({1} % 999))",
                "({0} / (1 + ({1} & 15)))",
                "({0} % 17)",
                "({0} ^ {1})",
                "({0} >> ({1} & 7))",
                "({0} < {1} ? {0} : {1})",
                "pick({0}, {1})",
                "({0} && {1})",
                "(-{0})",
                "(int)((unsigned){0} >> 5)",
                "(short){0}",
            ]
        )
    )
    return form.format(left, right)


@st.composite
def statement(draw, counters, depth=0):
    value = draw(number(counters))
    kinds = ["store", "add", "local", "bump", "float", "unsigned"]
    kinds += ["if", "else", "for", "continue", "while"] if depth < 3 else []
    kind = draw(st.sampled_from(kinds))
    where = draw(place(counters))
    if kind == "store":
        return f"{where} = {value};"
    if kind == "add":
        return f"{where} {draw(st.sampled_from(['+=', '-=', '^=', '|=']))} {value} % 9999;"
    if kind == "local":
        return f"k = {value};"
    if kind == "bump":
        array = draw(st.sampled_from(["x", "t", "y[1]"]))
        at = draw(st.integers(0, 1)) if array == "y[1]" else draw(steady(counters))
        return f"bump({array}, {at}, {value} % 9999);"
    if kind == "float":
        at = draw(steady(counters))
        return f"f[{at}] = f[{draw(steady(counters))}] * 0.5f + {value} % 1000;"
    if kind == "unsigned":
        return f"u = u * 3 + {value};"
    body = " ".join(draw(st.lists(statement(counters, depth + 1), min_size=1, max_size=2)))
    if kind == "if":
        return f"if ({value} > 0) {{ {body} }}"
    if kind == "else":
        other = draw(statement(counters, depth + 1))
        return f"if ({value} > 0) {{ {body} }} else {other}"
    if kind == "while":
        return f"{{ int w = {value} & 15; while (w > 0) {{ w -= 3; k += w; }} }}"
    counter = f"i{len(counters)}"
    inner = " ".join(
        draw(st.lists(statement((*counters, counter), depth + 1), min_size=1, max_size=2))
    )
    skip = f"if ({value} < 0) continue; " if kind == "continue" else ""
    return f"for (int {counter} = 0; {counter} < N; {counter}++) {{ {skip}{inner} }}"


PROGRAMS = st.lists(statement(()), min_size=1, max_size=4).map(
    lambda lines: (
        f"{HEAD}#pragma kernel\nvoid run(void)\n{{\nint k = 1, t[N] = {{1, 2, 3}};\n"
        + "\n".join(lines)
        + "\nfor (int i = 0; i < N; i++) x[i] += t[i] + k;\n}\n"
    )
)


@pytest.mark.slow
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(text=PROGRAMS, seed=st.integers(0, 1000))
def test_any_oblivious_program(text, seed, device, native, tmp_path):
    from pyapsp.bulk import load

    path = tmp_path / f"program{next(_numbers)}.c"
    path.write_text(text)
    rng = np.random.default_rng(seed)
    inputs = {
        "x": rng.integers(-100, 100, (33, N)).astype(np.int32),
        "y": rng.integers(-100, 100, (33, N, 2)).astype(np.int32),
        "f": rng.integers(-100, 100, (33, N)).astype(np.float32),
        "u": rng.integers(0, 2**32, 33).astype(np.uint32),
    }
    program = load(path, device=device, arrangement=("column", "row")[seed % 2])
    used = {each.name for each in program.arrays}
    inputs = {name: values for name, values in inputs.items() if name in used}
    expected = native(path)(**inputs)
    found = program(**inputs)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
