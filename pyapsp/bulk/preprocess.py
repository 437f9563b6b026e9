"""The part of the C preprocessor that programs for bulk execution need.

No external preprocessor is called, because constants should keep their names in the OpenCL C. A
macro whose body is one number, or a constant expression in parentheses, is a *constant* and is not
replaced. All other macros are replaced. Supported are ``#define`` (with and without arguments),
``#undef``, ``#include``, the conditionals, ``#error`` and ``#pragma``. Not supported are ``#`` and
``##`` in a body, and arguments that continue on the next line.

``#include "file"`` includes the file. Standard ``<headers>`` are not read: their types and
constants are built in, and functions are looked up by name. Other headers are an error, because
they may define what the program computes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pycparser import c_ast
from pycparser.c_parser import ParseError

from pyapsp.base.errors import ProgramError
from pyapsp.bulk.constants import NotConstantError, Value, evaluate, parse_expression

__all__ = ["Text", "preprocess"]

_TOKEN = re.compile(
    r"""\s+|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|."""
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
_DIRECTIVE = re.compile(r"\s*#\s*(\w*)\s*(.*?)\s*")
_DEFINE = re.compile(r"([A-Za-z_]\w*)(\(([^)]*)\))?\s*(.*)")
# The headers of C, and of systems, whose macros do not decide what a program computes.
_HEADERS = {
    f"{name}.h"
    for name in (
        *("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits"),
        *("locale", "math", "memory", "setjmp", "signal", "stdalign", "stdarg", "stdatomic"),
        *("stdbool", "stddef", "stdint", "stdio", "stdlib", "stdnoreturn", "string", "strings"),
        *("sys/time", "sys/types", "tgmath", "threads", "time", "uchar", "unistd", "wchar"),
        *("wctype", "malloc", "omp"),
    )
}
# Deepest level of includes, for a header that includes itself.
_DEEPEST_INCLUDE = 50


@dataclass(frozen=True)
class _Macro:
    parameters: tuple[str, ...] | None  # None: used without parentheses
    body: str


@dataclass(frozen=True)
class Text:
    """A program without directives, but with line markers and ``#pragma``."""

    text: str  # the text for the parser
    constants: dict[str, str]  # names that are not replaced in the text -> their expressions
    # (path, line) -> pieces of the line, as (column in the text, column in the file, whether it
    # replaces a macro), columns from 1.
    pieces: dict[tuple[str, int], list[tuple[int, int, bool]]]

    def column(self, path: str, line: int, column: int) -> int:
        """Return the column in the file for one in the text."""
        for begin, origin, replaced in reversed(self.pieces.get((path, line), [])):
            if begin <= column:
                return origin if replaced else origin + column - begin
        return column


def preprocess(path: str, defines: Mapping[str, str | int | float]) -> Text:
    """Read a program and the files that it includes.

    Parameters
    ----------
    path : str
        The file.
    defines : mapping of str to str, int or float
        Macros defined before the first line, as with a compiler's ``-D``.

    Raises
    ------
    ProgramError
        A directive is wrong or not supported.
    OSError
        The file cannot be read; for one that it includes, it is a ProgramError at that line.
    """
    state = _State()
    for name, value in defines.items():
        state.define(f"{name} {value}", "<defines>", 1)
    lines = list(state.read(path, 0))
    return Text("\n".join(lines) + "\n", state.constants, state.pieces)


@dataclass
class _State:
    macros: dict[str, _Macro] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    pieces: dict[tuple[str, int], list[tuple[int, int, bool]]] = field(default_factory=dict)

    def read(self, path: str, depth: int) -> Iterator[str]:
        """Yield the lines of a file for the parser, with the same numbers."""
        yield f'#line 1 "{path}"'
        taken: list[tuple[bool, bool]] = []  # per #if: this branch is, one of its branches was
        opened: list[int] = []
        for number, line in _lines(path):
            if not line.lstrip().startswith("#"):
                yield self._code(line, path, number) if all(now for now, _ in taken) else ""
                continue
            word, rest = _DIRECTIVE.fullmatch(line).groups()  # type: ignore[union-attr]
            active = all(now for now, _ in taken)
            if word in ("if", "ifdef", "ifndef"):
                holds = active and self._holds(word, rest, path, number)
                taken.append((holds, holds))
                opened.append(number)
            elif word in ("elif", "else", "endif"):
                if not taken:
                    raise ProgramError(f"#{word} without #if", path, number)
                _, before = taken.pop()
                if word == "endif":
                    opened.pop()
                else:
                    outer = all(now for now, _ in taken)
                    holds = (
                        outer and not before and (word == "else" or self._if(rest, path, number))
                    )
                    taken.append((holds, before or holds))
            elif active:
                yield from self._directive(word, rest, path, number, depth)
                continue
            yield ""
        if opened:
            raise ProgramError("#if without #endif", path, opened[-1])

    def _directive(self, word: str, rest: str, path: str, number: int, depth: int) -> Iterator[str]:
        """Yield the lines that replace a directive: one line, or those of a file."""
        if word == "include":
            if rest.startswith('"') and rest.endswith('"'):
                if depth == _DEEPEST_INCLUDE:
                    raise ProgramError("files include each other without end", path, number)
                included = str(Path(path).parent / rest[1:-1])
                try:
                    yield from self.read(included, depth + 1)
                except OSError as error:
                    said = f"{included} cannot be included: {error.strerror}"
                    raise ProgramError(said, path, number) from None
                yield f'#line {number + 1} "{path}"'
                return
            if not re.fullmatch(r"<[^>]+>", rest):
                raise ProgramError('#include needs "file" or <header>', path, number)
            if rest[1:-1].strip() not in _HEADERS:
                said = f'{rest} is no header of C that is known: include a file of yours by "file"'
                raise ProgramError(said, path, number)
            yield ""
        elif word == "pragma":
            yield f"#pragma {rest}"
        elif word == "define":
            self.define(rest, path, number)
            yield ""
        elif word == "undef":
            if rest in self.constants:
                raise ProgramError(f"the constant {rest} must keep its value", path, number)
            self.macros.pop(rest, None)
            yield ""
        elif word in ("", "line"):
            yield ""
        else:
            raise ProgramError(f"#{word} {rest}".rstrip(), path, number)

    def define(self, text: str, path: str, number: int) -> None:
        """Define a macro."""
        match = _DEFINE.fullmatch(text)
        if match is None:
            raise ProgramError("#define needs a name", path, number)
        name, parentheses, parameters, body = match.groups()
        if "#" in body:
            raise ProgramError("# and ## in macros are not supported", path, number)
        if parentheses is None and self._is_constant(body):
            if self.constants.get(name, body) != body or name in self.macros:
                raise ProgramError(f"the constant {name} must keep its value", path, number)
            self.constants[name] = body
            return
        if name in self.constants:
            raise ProgramError(f"the constant {name} must keep its value", path, number)
        names = None
        if parentheses is not None:
            names = tuple(each.strip() for each in parameters.split(",") if each.strip())
        self.macros[name] = _Macro(names, body)

    def _is_constant(self, body: str) -> bool:
        """Whether a body is a constant expression that needs no parentheses around it."""
        if not re.fullmatch(r"-?[\w.+]+|\(.*\)", body):
            return False
        try:
            evaluate(parse_expression(body), self._constant)
        except (NotConstantError, ParseError):
            return False
        return True

    def _constant(self, node: c_ast.Node) -> Value:
        if isinstance(node, c_ast.ID) and node.name in self.constants:
            return evaluate(parse_expression(self.constants[node.name]), self._constant)
        raise NotConstantError(node)

    def _holds(self, word: str, rest: str, path: str, number: int) -> bool:
        if word == "if":
            return self._if(rest, path, number)
        return (rest in self.macros or rest in self.constants) == (word == "ifdef")

    def _if(self, text: str, path: str, number: int) -> bool:
        """Evaluate the condition of an #if; undefined names are 0."""

        def is_defined(match: re.Match[str]) -> str:
            return str(int(match[1] in self.macros or match[1] in self.constants))

        text = re.sub(r"\bdefined\s*\(?\s*(\w+)\s*\)?", is_defined, text)
        text = "".join(piece for piece, _ in self._expand(text, path, number, ()))

        def value(node: c_ast.Node) -> Value:
            if isinstance(node, c_ast.ID) and node.name not in self.constants:
                return 0, "int"
            return self._constant(node)

        try:
            return bool(evaluate(parse_expression(text), value)[0])
        except (NotConstantError, ParseError):
            raise ProgramError(
                f"#if needs a constant expression, not {text!r}", path, number
            ) from None

    def _code(self, line: str, path: str, number: int) -> str:
        """Replace the macros of a line, and store the positions of the pieces."""
        out, column, pieces = "", 1, []
        for text, taken in self._expand(line, path, number, ()):
            pieces.append((len(out) + 1, column, text != line[column - 1 : column - 1 + taken]))
            out, column = out + text, column + taken
        if any(replaced for _, _, replaced in pieces):
            self.pieces[path, number] = pieces
        return out

    def _expand(
        self, text: str, path: str, number: int, within: tuple[str, ...]
    ) -> Iterator[tuple[str, int]]:
        """Yield pieces of a text after replacement, and the length of each before it."""
        at = 0
        while at < len(text):
            token = _TOKEN.match(text, at)[0]  # type: ignore[index]
            macro = None if token in within else self.macros.get(token)
            end = at + len(token)
            if macro is None:
                yield token, len(token)
            elif macro.parameters is None:
                yield self._all(macro.body, path, number, (*within, token)), len(token)
            elif text[end:].lstrip().startswith("("):
                arguments, end = _arguments(text, text.index("(", end), path, number)
                if len(arguments) != len(macro.parameters) and any((*arguments, *macro.parameters)):
                    many = len(macro.parameters)
                    raise ProgramError(f"the macro {token} needs {many} arguments", path, number)
                full = [self._all(each, path, number, within) for each in arguments]
                bound = dict(zip(macro.parameters, full, strict=False))
                body = _NAME.sub(lambda name: bound.get(name[0], name[0]), macro.body)  # noqa: B023
                yield self._all(body, path, number, (*within, token)), end - at
            else:
                yield token, len(token)
            at = end

    def _all(self, text: str, path: str, number: int, within: tuple[str, ...]) -> str:
        return "".join(piece for piece, _ in self._expand(text, path, number, within))


def _arguments(text: str, begin: int, path: str, number: int) -> tuple[list[str], int]:
    """Split the text in the parentheses that open at `begin`; also return where they end."""
    depth, last, parts = 0, begin + 1, []
    for at in range(begin, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if (text[at] == "," and depth == 1) or depth == 0:
            parts.append(text[last:at].strip())
            last = at + 1
        if depth == 0:
            return parts, at + 1
    raise ProgramError("the arguments of a macro must end in the same line", path, number)


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line, without comments; continued lines are joined."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ProgramError("the file is not text in UTF-8", path) from None

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0][0] in "\"'" else re.sub(r"[^\n]", " ", match[0])

    joined, first = "", 1
    for number, line in enumerate(_COMMENT.sub(blank, text).split("\n"), start=1):
        first = first if joined else number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        yield first, joined + line
        yield from ((skipped, "") for skipped in range(first + 1, number + 1))
        joined = ""
