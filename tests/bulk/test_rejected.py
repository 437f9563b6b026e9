"""What cannot be run in bulk is refused with file, line, column and the reason."""

from __future__ import annotations

import re

import pytest
from pycparser import c_ast

from pyapsp.bulk import load, translate
from pyapsp.bulk.flows import nodes
from pyapsp.cli import main
from pyapsp.errors import ProgramError

HEAD = "#define N 8\nfloat a[N];\nint b[N], next_[N];\nint m;\n"  # lines 1 to 4

# name -> (program after HEAD, line, column, words of the reason); line 5 is the first of it
REJECTED = {
    "pointer chasing": (
        "void run(void)\n{\n    int at = 0;\n    for (int i = 0; i < N; i++)\n"
        "        at = next_[at];\n}",
        9,
        20,
        "this subscript of next_ depends on next_, which is loaded in line 9",
    ),
    "a pointer variable": (
        "void run(void)\n{\n    float *p = a;\n    p[0] = 1;\n}",
        7,
        11,
        "pointer variables are not supported",
    ),
    "a linked list": (
        "struct node { struct node *next; int v; };\nstruct node list;\n"
        "void run(void)\n{\n    list.v = 1;\n}",
        9,
        5,
        "struct",
    ),
    "a data-dependent subscript of a load": (
        "void run(void)\n{\n    b[0] = b[b[1]];\n}",
        7,
        14,
        "this subscript of b depends on b, which is loaded in line 7",
    ),
    "a data-dependent subscript of a store": (
        "void run(void)\n{\n    int k = b[3] & 7;\n    a[k] = 1;\n}",
        8,
        7,
        "this subscript of a depends on b, which is loaded in line 7",
    ),
    "a subscript that depends on a scalar input": (
        "void run(void)\n{\n    a[m] = 1;\n}",
        7,
        7,
        "this subscript of a depends on m",
    ),
    "a data-dependent subscript of a local array": (
        "void run(void)\n{\n    int c[4];\n    c[b[0] & 3] = 1;\n    b[1] = c[0];\n}",
        8,
        7,
        "this subscript of c depends on b",
    ),
    "a data-dependent bound of a loop": (
        "void run(void)\n{\n    int k = b[0];\n    for (int i = 0; i < k; i++)\n"
        "        a[i] = 0;\n}",
        8,
        21,
        "the number of rounds of this loop depends on b, which is loaded in line 7, "
        "and the loop accesses a in line 9",
    ),
    "a while loop on data": (
        "void run(void)\n{\n    int i = 0;\n    while (a[i] > 0)\n        i++;\n}",
        8,
        12,
        "the number of rounds of this loop depends on a",
    ),
    "a do-while loop on data": (
        "void run(void)\n{\n    do\n        a[0] = a[0] - 1;\n    while (a[0] > 0);\n}",
        9,
        12,
        "the number of rounds of this loop depends on a",
    ),
    "a loop on data around a call": (
        "void touch(void) { a[0] = 1; }\nvoid run(void)\n{\n    int k = b[0];\n"
        "    while (k-- > 0)\n        touch();\n}",
        9,
        None,
        "the loop accesses a in line 5",
    ),
    "a break on data": (
        "void run(void)\n{\n    for (int i = 0; i < N; i++) {\n        if (a[i] > 0)\n"
        "            break;\n        a[i] = 1;\n    }\n}",
        7,
        None,
        "the number of rounds of this loop depends on a",
    ),
    "a return on data from a loop": (
        "void run(void)\n{\n    for (int i = 0; i < N; i++)\n        if (a[i] > 0)\n"
        "            return;\n}",
        7,
        None,
        "the number of rounds of this loop depends on a",
    ),
    "recursion": (
        "void run(void)\n{\n    a[0] = 1;\n    run();\n}",
        8,
        5,
        "recursion is not supported: run -> run",
    ),
    "mutual recursion": (
        "int odd(int n);\nint even(int n) { return n == 0 ? 1 : odd(n - 1); }\n"
        "int odd(int n) { return n == 0 ? 0 : even(n - 1); }\n"
        "void run(void) { b[0] = even(4); }",
        7,
        38,
        "recursion is not supported: even -> odd -> even",
    ),
    "malloc": (
        "void run(void)\n{\n    a[0] = (float)(long)malloc(4);\n}",
        7,
        25,
        "malloc: memory cannot be allocated",
    ),
    "free": ("void run(void)\n{\n    free(a);\n}", 7, 5, "free: memory cannot be allocated"),
    "goto": (
        "void run(void)\n{\n    if (a[0] > 0)\n        goto end;\n    a[0] = 1;\nend:;\n}",
        8,
        9,
        "goto is not supported",
    ),
    "a label": ("void run(void)\n{\nend:\n    a[0] = 1;\n}", 7, 1, "labels are not supported"),
    "output": (
        'void run(void)\n{\n    printf("%f", a[0]);\n}',
        7,
        5,
        "printf: no input, output or exit",
    ),
    "input in a helper": (
        "int get(void) { return getchar(); }\nvoid run(void)\n{\n    b[0] = get();\n}",
        5,
        24,
        "getchar: no input, output or exit",
    ),
    "an unknown function": (
        "void run(void)\n{\n    a[0] = quux(a[0]);\n}",
        7,
        12,
        "quux is neither defined in this file",
    ),
    "a static variable": (
        "void run(void)\n{\n    static int calls = 0;\n    b[0] = calls++;\n}",
        7,
        None,
        "static variables",
    ),
    "an array of variable length": (
        "void run(void)\n{\n    for (int i = 1; i < 3; i++) {\n        int c[i];\n"
        "        b[0] = i;\n    }\n}",
        8,
        15,
        "the length of an array must be constant",
    ),
    "a local array that is too large": (
        "void run(void)\n{\n    float c[100000];\n    c[0] = a[0];\n    a[0] = c[0];\n}",
        7,
        11,
        "too large for a local array",
    ),
    "a function with parameters": ("void run(int n)\n{\n    a[0] = n;\n}", 5, 6, "void run(void)"),
    "a result": ("int run(void)\n{\n    a[0] = 1;\n    return 1;\n}", 5, 5, "void run(void)"),
    "a pointer to a function": (
        "void run(void)\n{\n    (*(float (*)(float))0)(a[0]);\n}",
        7,
        None,
        "pointers to functions",
    ),
    "arithmetic with addresses": (
        "void run(void)\n{\n    if (a > 0)\n        a[0] = 1;\n}",
        7,
        9,
        "arrays and pointers may only be given to functions",
    ),
    "a store to a constant": (
        "const int table[2] = {1, 2};\nvoid run(void)\n{\n    table[0] = b[0];\n}",
        8,
        5,
        "constants cannot be assigned to",
    ),
    "a constant given to who may write": (
        "const int table[2] = {1, 2};\nvoid put(int *x) { x[0] = 1; }\n"
        "void run(void)\n{\n    put(table);\n    b[0] = 1;\n}",
        9,
        9,
        "it is constant, and x is not declared const",
    ),
    "no global variable": ("void run(void)\n{\n    int k = 1;\n}", 5, 6, "uses no global variable"),
    "no C": ("void run(void)\n{\n    a[0] = 1\n}", 8, 1, "not valid C here"),
    "long double": (
        "void run(void)\n{\n    long double x = a[0];\n    a[0] = x;\n}",
        7,
        17,
        "is not supported",
    ),
}


def program(text):
    return f"{HEAD}{text}\nint main(void)\n{{\n#pragma kernel\n    run();\n    return 0;\n}}\n"


@pytest.mark.parametrize("name", REJECTED)
def test_rejected(name, written, capsys, tmp_path):
    text, line, column, reason = REJECTED[name]
    path = written(program(text))
    with pytest.raises(ProgramError) as caught:
        translate(path)
    assert reason in str(caught.value)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    if column is not None:
        assert caught.value.column == column
    place = f"{path}:{line}:{caught.value.column}: "
    assert str(caught.value).startswith(place)
    out = tmp_path / "out.cl"
    assert main(["bulk", str(path), "-o", str(out)]) == 3
    assert capsys.readouterr().err.startswith(f"pyapsp: {place}")
    assert not out.exists()


def test_an_int_counts_the_elements_of_an_array(written):
    text = "char big[{}];\nvoid run(void) {{ big[0] = 1; }}\n"
    (big,) = translate(written(program(text.format(2**31 - 1)))).arrays
    assert big.shape == (2**31 - 1,)
    with pytest.raises(ProgramError, match=r"c:5:\d+: big has more than 2\^31 - 1 elements"):
        translate(written(program(text.format(2**31))))


def test_nothing_is_built_from_a_rejected_program(written, device):
    with pytest.raises(ProgramError, match="recursion"):
        load(written(program(REJECTED["recursion"][0])), device=device)


def test_no_c_at_a_place_that_the_parser_does_not_tell(written):
    with pytest.raises(ProgramError, match=r"program\.c(:\d+:\d+)?: not valid C"):
        translate(written("float a[2];\n#pragma kernel\nvoid run(void) { a[0] = ; }\n"))


def test_no_pragma_and_two(written):
    with pytest.raises(ProgramError, match="no call has '#pragma kernel'"):
        translate(written("float a[2];\nvoid run(void) { a[0] = 1; }\n"))
    text = (
        "float a[2];\n#pragma kernel\nvoid f(void) { a[0] = 1; }\n#pragma kernel\nvoid g(void) {}\n"
    )
    with pytest.raises(ProgramError, match=r"program\.c:4:\d+: several calls have"):
        translate(written(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "int main(void)\n{\n#pragma kernel\n    run(3);\n}\nfloat a[2];\nvoid run(int k) {}",
            "no arg",
        ),
        ("int main(void)\n{\n#pragma kernel\n    run();\n}", "run is not defined"),
        ("int main(void)\n{\n#pragma kernel\n    int k;\n}", "comes the call"),
    ],
)
def test_what_follows_the_pragma(text, reason, written):
    with pytest.raises(ProgramError, match=rf"program\.c:[34]:\d+: .*{re.escape(reason)}"):
        translate(written(text))


ALLOWED = {
    "an if on data around a store": (
        "for (int i = 0; i < N; i++) if (b[i] > 0) b[i] = -b[i]; else a[i] = b[i];"
    ),
    "a loop in an if on data": (
        "int i; if (b[0] > 0) for (i = 0; i < N; i++) b[i] += 1;\n"
        "for (i = 0; i < N; i++) b[i] *= 2;"
    ),
    "a return on data outside of loops": (
        "if (b[0] > 0) return; for (int i = 0; i < N; i++) b[i] -= 3;"
    ),
    "a continue on data": ("for (int i = 0; i < N; i++) { if (b[i] % 2) continue; b[i] /= 2; }"),
    "a continue on data in a do-while": (
        "int i = -1; do { i++; if (b[i] % 2) continue; b[i] /= 2; } while (i < N - 1);"
    ),
    "a continue on data in a while": (
        "int i = 0; while (i < N) { int k = i++; if (b[k] % 2) continue; b[k] /= 2; }"
    ),
    "a continue on data in a round that is the only one": (
        "int i = 2; do { i++; if (b[0] % 2) continue; b[i] = 1; } while (0); b[i] += 1;"
    ),
    "a loop on data without accesses": (
        "for (int i = 0; i < N; i++) { int x = b[i] & 63, bits = 0; "
        "while (x > 0) { bits += x & 1; x >>= 1; } b[i] = bits; }"
    ),
    "a break on data without accesses": (
        "for (int i = 0; i < N; i++) { int x = b[i] & 63, k; "
        "for (k = 0; k < 6; k++) if (x >> k == 0) break; b[i] = k; }"
    ),
    "a variable that was data before": ("int k = b[0]; b[1] = k; k = 2; b[k] = 5;"),
    "a subscript from a constant table": ("for (int i = 0; i < N; i++) b[i] = b[order[i]] + 1;"),
    "a subscript from a local array": (
        "int at[N]; for (int i = 0; i < N; i++) at[i] = N - 1 - i;\n"
        "for (int i = 0; i < N; i++) a[at[i]] = b[i];"
    ),
    "a choice on data": ("for (int i = 0; i < N; i++) a[i] = b[i] > 0 ? b[i] : b[N - 1 - i];"),
    "conditions with accesses": (
        "for (int i = 1; i < N; i++) if (b[i] > 0 && b[i - 1] < 0) b[i] = 7;"
    ),
    "a switch on data": (
        "for (int i = 0; i < N; i++) switch (b[i] & 3) { case 0: b[i] = 9; break; "
        "case 1: b[i] += 4; case 2: a[i] = 1; break; default: b[i] = -1; }"
    ),
    "a switch on a counter": (
        "int k = 0; for (int i = 0; i < 4; i++) { switch (i) { case 1: k = 3; break; "
        "default: k = i; } b[k] += 1; }"
    ),
}

# what differs from an allowed one in a detail that matters
REFUSED = {
    "a counter assigned in a branch on data": ("int k = 0; if (b[0] > 0) k = 1; b[k] = 1;"),
    "a counter changed in a loop on data": (
        "int x = b[0] & 7, k = 0; while (x > 0) { x--; k++; } b[k & 7] = 1;"
    ),
    "a counter after a break on data": (
        "int k; for (k = 0; k < 6; k++) if (b_of(0) >> k == 0) break; b[k] = 1;"
    ),
    "a counter after a continue on data": (
        "int k = 0; for (int i = 0; i < N; i++) { if (b[i] > 0) continue; k++; } b[k & 7] = 1;"
    ),
    "a counter after a continue on data in a do-while": (
        "int k = 0; do { if (b[k] > 0) continue; k++; } while (k < N);"
    ),
    "a counter before and after a continue on data": (
        "int k = 0; do { k++; if (b[0] > 0) continue; k += 2; } while (k < 5); b[k & 7] = 1;"
    ),
    "a counter in the branch of a continue on data": (
        "int k = 0; for (int i = 0; i < N; i++) { if (b[i] > 0) { k = i; continue; } } b[k] = 1;"
    ),
    "a counter in the other branch of a continue on data": (
        "int k = 0; for (int i = 0; i < N; i++) { if (b[i] > 0) k = i; else continue; } b[k] = 1;"
    ),
    "a counter changed in a call after a continue on data": (
        "int k = 0; do { if (b[0] > 0) continue; set(&k, 5); } while (0); b[k] = 1;"
    ),
    "a counter of an inner loop after a continue on data": (
        "int k = 0; for (int i = 0; i < 2; i++) { if (b[i] > 0) continue; "
        "for (int j = 0; j < 3; j++) k++; } b[k] = 1;"
    ),
    "a counter from the round before a continue on data": (
        "int k = 0, m = 0; for (int i = 0; i < N; i++) "
        "{ m = k; if (b[i] > 0) continue; k = i; } b[m] = 1;"
    ),
    "a counter through a choice": ("int k = b[0] > 0 ? 1 : 2; b[k] = 1;"),
    "a counter changed behind an and": ("int k = 0; (b[0] > 0) && (k = 1); b[k] = 1;"),
    "a counter changed through a pointer": ("int k = 0; set(&k, b[0] & 7); b[k] = 1;"),
    "a counter changed in a call on data": ("int k = 0; if (b[0] > 0) set(&k, 1); b[k] = 1;"),
    "a counter after an early return": ("int k = 0; early(&k); b[k] = 1;"),
    "the result of a function of data": ("b[b_of(1) & 7] = 1;"),
    "the result of a function that returns early": ("b[sign()] = 1;"),
    "a local array with data": ("int c[4]; c[0] = 0; c[1] = b[0]; b[c[2] & 7] = 1;"),
    "a local array with data at the start": ("int c[2] = {0, b[0]}; b[c[0] & 7] = 1;"),
    "a compound assignment": ("int k = 0; k += b[0] & 7; b[k] = 1;"),
    "data from the round before": (
        "int k = 0; for (int i = 0; i < N; i++) { b[k] = i; k = b[i] & 7; }"
    ),
    "a counter in a switch on data": (
        "int k = 0; switch (b[0] & 1) { case 0: k = 1; break; default: k = 2; } b[k] = 1;"
    ),
    "a loop whose step is data": ("for (int i = 0; i < N; i += 1 + (b[i] & 1)) a[0] = 1;"),
    "a local array with data before": ("int c[4]; c[0] = b[0]; c[1] = 0; b[c[0] & 7] = 1;"),
    "a return from a loop on data in another loop": (
        "for (int i = 0; i < N; i++) { int x = b_of(0); "
        "while (x > 0) { if (i == 3) return; x--; } b[i] = 1; }"
    ),
    "a break from a switch on data": (
        "for (int i = 0; i < N; i++) "
        "{ switch (b[0] & 1) { case 0: if (i == 2) return; } b[i] = 1; }"
    ),
    "a return on data in a loop on data": ("int k = inner(b[0] & 7); b[k] = 1;"),
}

HELPERS = """
#define N 8
float a[N];
int b[N];
const int order[N] = {3, 1, 4, 0, 5, 2, 7, 6};
void set(int *x, int value) { *x = value; }
int b_of(int i) { return b[i]; }
void early(int *k) { if (b[0] > 0) return; *k = 1; }
int sign(void) { if (b[0] > 0) return 1; return 0; }
int inner(int x) { int k = 0; while (x > 0) { if (k == 3) return 1; x--; k++; } return 0; }
#pragma kernel
void run(void)
{
"""


@pytest.mark.every(9)
@pytest.mark.parametrize("name", ALLOWED)
def test_allowed_and_right(name, written, assert_same):
    import numpy as np

    rng = np.random.default_rng(0)
    numbers = rng.integers(-90, 90, (100, 8)).astype(np.int32)
    assert_same(written(f"{HELPERS}{ALLOWED[name]}\n}}\n"), {"b": numbers})


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, written):
    with pytest.raises(ProgramError, match="not oblivious") as caught:
        translate(written(f"{HELPERS}{REFUSED[name]}\n}}\n"))
    assert caught.value.line == HELPERS.count("\n") + 1


BOUNDED = """
#define N 8
#define LAST (N - 1)
int a[N], m[3][4], s;
const int table[2] = {5, 6};
const int wide = 9;
int at(const int *x, int i) { return x[i]; }
int last(const int *x) { return x[N - 1]; }
void run(void);
int main(void)
{
#pragma kernel
    run();
    return 0;
}
void run(void)
{
"""

# statement -> what the message says of it
OUTSIDE = {
    "s = a[8];": "this subscript of a is 8, but the length is 8",
    "a[-1] = s;": "this subscript of a is -1, but the length is 8",
    "a[N] += 1;": "this subscript of a is 8",
    "s = a[LAST + 1];": "this subscript of a is 8",
    "s = a[wide];": "this subscript of a is 9",
    "s = a[2 * sizeof(int)];": "this subscript of a is 8",
    "s = a[1 ? 9 : 0];": "this subscript of a is 9",
    "s = m[3][0];": "this subscript of m is 3, but the length is 3",
    "m[0][4] = s;": "this subscript of m is 4, but the length is 4",
    "s = table[2];": "this subscript of table is 2, but the length is 2",
    "int c[2]; c[2] = s; s = c[0];": "this subscript of c is 2",
    "if (s > 0) a[9] = 1;": "this subscript of a is 9",
    "s = s > 0 && a[8] > 0;": "this subscript of a is 8",
    "s = fabs(a[8]);": "this subscript of a is 8",
    "int x[2] = {1, a[8]}; s = x[0];": "this subscript of a is 8",
    "s = *(a + 8);": "this is element 8 of a, whose length is 8",
    "*(a - 1) = 1;": "this is element -1 of a",
    "s = *(&a[4] + 4);": "this is element 8 of a",
    "s = (*(m + 3))[0];": "this is element 12 of m, whose length is 12",
    "s = *&a[8];": "this is element 8 of a",
    "s = at(a, 8);": "this is element 8 of a",
    "s = at(a + 4, 4);": "this is element 8 of a",
    "s = at(&a[8], 0);": "this is element 8 of a",
    "s = at(m[2], 4);": "this is element 12 of m",
    "s = at(&s, 1);": "this is element 1 of s, whose length is 1",
    "s = last(a + 1);": "this is element 8 of a",
    "s = last(table);": "this is element 7 of table",
    "int k = 8; a[k] = 1;": "this subscript of a is 8",
    "const int k = N; a[k] = 1;": "this subscript of a is 8",
    "for (int i = 0; i <= N; i++) a[i] = 1;": "this subscript of a is 8",
    "int i; for (i = N; i > 0; --i) a[i] = 1;": "this subscript of a is 8",
    "for (int i = N - 1; i >= 0; i -= 2) s += a[i - 2];": "this subscript of a is -1",
    "for (int i = 0; i != N; i += 2) s += a[i + 2];": "this subscript of a is 8",
    "for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) s += m[j][i];": "of m is 3",
    "for (int i = 0; i < N; i++) s += *(a + i + 1);": "this is element 8 of a",
    "for (int i = 0; i < N; i++) if (s > 0) s += a[N];": "this subscript of a is 8",
    "switch (s) { case 1: a[8] = 1; }": "this subscript of a is 8",
    "int k = 3; while (k-- > 0) a[8] = 1;": "this subscript of a is 8",
    "do a[8] = 1; while (0);": "this subscript of a is 8",
}


@pytest.mark.parametrize("text", OUTSIDE)
def test_a_known_subscript_outside_of_its_array(text, written, capsys):
    path = written(f"#include <math.h>{BOUNDED}{text}\n}}\n")
    line = 1 + BOUNDED.count("\n")
    for name in ("at", "last"):  # the access is in the function
        if f" {name}(" in text:
            line = 1 + BOUNDED[: BOUNDED.index(f" {name}(")].count("\n")
    with pytest.raises(ProgramError, match=re.escape(OUTSIDE[text])) as caught:
        translate(path)
    assert caught.value.line == line
    assert main(["bulk", str(path), "--check"]) == 3
    assert capsys.readouterr().err.startswith(f"pyapsp: {path}:{line}:")


# what is not outside, or does not run
INSIDE = [
    "a[0] = s + a[7] + a[LAST] + m[2][3] + table[1] + *(a + 7) + *(&a[8] - 1);",
    "s = at(&a[4], 3) + at(&a[7], -7) + at(&s, 0) + last(a) + at(m[0], 11);",
    "if (N > 8) a[8] = 1; else a[0] = s;",
    "s = N > 8 ? a[8] : a[0];",
    "s = N > 8 && a[8] > 0 || N == 8 || a[9] > 0;",
    "for (int i = 8; i < N; i++) a[8] = 1; s = 2;",
    "for (int i = 0; i < N; i++) if (i > 0) s += a[i - 1];",
    "for (int i = 0; i < N; i++) s += i < N - 1 ? a[i + 1] : 0;",
    "for (int i = 0; i < N; i++) { if (i == N - 1) break; s += a[i + 1]; }",
    "for (int i = 0; i <= N; i++) { if (i == N) continue; s += a[i]; }",
    "for (int i = 0; i <= N; i++) { i += 1; s += a[i - 1]; if (i > 6) i = 100; }",
    "for (int i = 0; i < 3; i++) for (int j = 0; j < i; j++) s += a[i + j + 4];",
    "for (int i = 0; i < N; i++) for (int j = i; j > i; j--) s += a[i + 1];",
    "for (unsigned char i = 0; i < N; i++) s += a[i];",
    "int k = 9; k = 1; a[k] = s;",
    "while (N > 8) a[8] = 1; s = 1;",
    "a[sizeof(int)] = s;",
    "if (N < 9) { s = 1; return; } a[8] = 1;",
]


@pytest.mark.every(9)
@pytest.mark.parametrize("text", INSIDE)
def test_what_is_not_outside_runs(text, written, assert_same):
    import numpy as np

    numbers = np.arange(40, dtype=np.int32).reshape(5, 8)
    scalars = np.zeros(5, np.int32)
    assert_same(written(f"{BOUNDED}{text}\n}}\n"), {"a": numbers, "s": scalars})


def test_a_walk_through_nested_statements_takes_each_node_once():
    """A chain of generators, one for each level, would take a step of each for every node."""
    depth = 3000
    innermost = c_ast.EmptyStatement()
    tree = innermost
    for _ in range(depth):
        tree = c_ast.Compound([tree, c_ast.Break()])
    found = list(nodes(tree))
    assert len(found) == 2 * depth + 1
    assert found[0] is tree
    assert found[depth] is innermost  # before the statements that follow it
