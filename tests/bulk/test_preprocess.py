"""Macros, conditionals, includes, and where an error is after all that."""

from __future__ import annotations

import subprocess

import pytest

from pyapsp.bulk import translate
from pyapsp.bulk.preprocess import preprocess
from pyapsp.errors import ProgramError

RUN = "#pragma kernel\nvoid run(void) {{ x[0] = {}; }}\n"

LINES = {
    "constants stay": ("#define N 3\nN + N", "N + N"),
    "an expression without parentheses is replaced": ("#define N 1 + 2\nN * 2", "1 + 2 * 2"),
    "in parentheses it stays": ("#define N (1 + 2)\nN * 2", "N * 2"),
    "constants of constants": ("#define A 2\n#define B (A * 3)\nB", "B"),
    "types": ("#define real float\nreal x;", "float x;"),
    "names inside names": ("#define N x\nNN N N_", "NN x N_"),
    "text is left alone": ("#define N x\n\"N\" 'N' N", "\"N\" 'N' x"),
    "arguments": ("#define F(a, b) a - b\nF(F(1, 2), (3, 4))", "1 - 2 - (3, 4)"),
    "no arguments": ("#define F() 7 +\nF() F", "7 + F"),
    "not a call": ("#define F(a) a\nF + F (1)", "F + 1"),
    "no macro calls itself": ("#define F(a) F(a + 1)\nF(1)", "F(1 + 1)"),
    "macros in macros": ("#define A B\n#define B C\nA B", "C C"),
    "undefined again": ("#define A B\n#undef A\nA", "A"),
    "comments": ("a /* b\n c */ d // e", "a \n d "),
    "comments in text": ('"/*" a "//"', '"/*" a "//"'),
    "continued lines": ("#define A b + \\\n  c\nA", "b + \n  c"),
    "conditionals": (
        "#define A 2\n#if A > 1 && defined(A) && !defined B\nyes\n#else\nno\n#endif\n",
        "yes",
    ),
    "elif": ("#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif", "b"),
    "nested": ("#ifdef A\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif", "c"),
    "unknown names are 0": ("#if A == 0\na\n#endif", "a"),
    "nothing in what is left out": (
        '#if 0\n#error no\n#define A 1\n#include "none"\n#endif\nA',
        "A",
    ),
    "headers": ("#include <math.h>\na", "a"),
}


@pytest.mark.parametrize("name", LINES)
def test_as_a_preprocessor_does(name, written):
    text, expected = LINES[name]
    path = written(text)
    found = preprocess(str(path), {})
    words = " ".join(line for line in found.text.split("\n") if not line.startswith("#")).split()
    assert " ".join(words) == " ".join(expected.split())
    # and, once the constants have their values, as gcc does
    for constant in reversed(found.constants):
        words = " ".join(words).replace(constant, found.constants[constant]).split()
    done = subprocess.run(
        ["gcc", "-E", "-P", "-w", "-x", "c", "-"],
        input=text.replace("#include <math.h>\n", ""),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "".join(words) == "".join(done.stdout.split())


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("#if 1\n", 1, "#if without #endif"),
        ("\n#endif\n", 2, "#endif without #if"),
        ("#else\n", 1, "#else without #if"),
        ("#if 1 +\n#endif", 1, "#if needs a constant expression"),
        ("#error is wrong\n", 1, "#error is wrong"),
        ("#define 3\n", 1, "#define needs a name"),
        ("#define S(a) #a\n", 1, "# and ## in macros"),
        ("#define N 3\n#define N 4\n", 2, "the constant N must keep its value"),
        ("#define N 3\n#undef N\n", 2, "the constant N must keep its value"),
        ("#define F(a, b) a\n\nF(1)\n", 3, "the macro F needs 2 arguments"),
        ("#define F(a) a\nF(1\n)", 2, "must end in the same line"),
        ("#include none\n", 1, "#include needs"),
        (
            "#include <math.h>\n#include <config.h>\n#ifdef FAST\n",
            2,
            "<config.h> is no header of C",
        ),
        ("#frobnicate\n", 1, "#frobnicate"),
        ('#include "program.c"\n', 1, "include each other without end"),
    ],
)
def test_mistakes(text, line, reason, written):
    with pytest.raises(ProgramError, match=reason) as caught:
        preprocess(str(written(text)), {})
    assert caught.value.line == line


def test_a_file_that_is_not_there(written):
    with pytest.raises(FileNotFoundError):
        preprocess("none.c", {})
    path = str(written('int x;\n#include "none.h"\n'))
    with pytest.raises(ProgramError, match=r"program\.c:2: .*none\.h cannot be included: No such"):
        preprocess(path, {})
    written('\n\n#include "none.h"\n', "part.h")
    path = str(written('#include "part.h"\n'))
    with pytest.raises(ProgramError, match=r"part\.h:3: .*none\.h cannot be included: No such"):
        preprocess(path, {})
    path = written('#include "folder.h"\n')
    (path.parent / "folder.h").mkdir()
    with pytest.raises(ProgramError, match=r"program\.c:1: .*folder\.h cannot be included: Is a"):
        preprocess(str(path), {})
    path = written("")
    path.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ProgramError, match="not text in UTF-8"):
        preprocess(str(path), {})


def test_errors_in_included_files_name_them(written):
    written("int x[2];\n\nvoid f(void) { goto out; out:; }\n", "part.h")
    path = written('#include "part.h"\n' + RUN.format("(f(), 1)"))
    with pytest.raises(ProgramError, match=r"part\.h:3:16: goto"):
        translate(path)
    written("int x[2];\n", "part.h")
    path = written('#include "part.h"\n\n' + RUN.format("x[x[1]]"))
    with pytest.raises(ProgramError, match=r"program\.c:4:27: not oblivious"):
        translate(path)


def test_columns_are_those_of_the_file_where_macros_were_replaced(written):
    head = "#define AT(i) x[((i) + 1) % 8]\n#define LONG_NAME y + 1\nint x[8], y;\n"
    cases = {
        "AT(0) + AT(1) + x[y]": 43,
        "x[LONG_NAME]": 27,
        "LONG_NAME + x[x[0]]": 39,
    }
    for text, column in cases.items():
        with pytest.raises(ProgramError, match="not oblivious") as caught:
            translate(written(head + RUN.format(text)))
        assert (caught.value.line, caught.value.column) == (5, column), text


def test_defines_from_outside(written):
    text = "#ifndef N\n#define N 2\n#endif\nfloat x[N];\n" + RUN.format("1")
    assert translate(written(text)).arrays[0].shape == (2,)
    assert translate(written(text), defines={"N": 7}).arrays[0].shape == (7,)
    with pytest.raises(ProgramError, match="must be a positive whole number"):
        translate(written(text), defines={"N": 0})
