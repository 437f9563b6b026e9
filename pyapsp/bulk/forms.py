"""Other kernels made from a program, to measure the parts of its time.

shares      the program, which also counts how often each condition on data is true
replay      the loads and stores of the program at its addresses, in its loops, without its
            arithmetic; conditions on data become random numbers that are true as often
computing   the arithmetic of the program, with every array a single word of local memory:
            subscripts are masked by an argument, which is 0 but unknown to the compiler

A replay follows only the variables on which subscripts and the control flow depend. The sum of all
its loads is stored wherever the program stores, so that the compiler can remove the same loads as
in the program, and no others. If the program stores for some data only, the replay stores through a
volatile pointer. Otherwise the compiler might merge two stores into one with a selected value,
which it does not do in the program, because that needs more registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from pycparser import c_ast

from pyapsp.bulk.body import Body
from pyapsp.bulk.flows import STEPS, needed, nodes, reached
from pyapsp.bulk.frontend import Symbol
from pyapsp.bulk.generate import Arrangement, Generator
from pyapsp.bulk.resolve import Function
from pyapsp.bulk.scalars import BITS
from pyapsp.bulk.translate import Translation

__all__ = ["computing", "conditions", "data_loops", "replay", "shares"]

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_HANDLED = (c_ast.Compound, c_ast.DeclList, c_ast.Break, c_ast.Continue, c_ast.EmptyStatement)
_UNSIGNED = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}
_ONE = 2**24


def conditions(translation: Translation) -> list[c_ast.If]:
    """Return the ``if`` statements on data, in the same order for every translation."""
    return [node for node in _statements(translation, c_ast.If) if _on_data(translation, node)]


def data_loops(translation: Translation) -> list[c_ast.Node]:
    """Return the loops on data; they have no accesses."""
    return [node for node in _statements(translation, _LOOPS) if _on_data(translation, node)]


def shares(translation: Translation) -> str:
    """Return the text of a kernel ``bulk(int instances, <arrays>, int *counts)``.

    `counts` has two numbers for each of `conditions`: how often it was evaluated, and how often it
    was true.
    """
    return _Shares(translation, translation.arrangement).text(list(translation.arrays))


def replay(translation: Translation, arrangement: Arrangement, fractions: list[float]) -> str:
    """Return the text of a kernel ``bulk(int instances, <arrays>, uint *rest)``.

    `fractions` has the fraction of cases in which each of `conditions` is true. `rest` has a number
    for each instance.
    """
    generator = _Replay(translation, arrangement, fractions)
    return generator.text(list(translation.arrays))


def computing(translation: Translation, group_size: int) -> str:
    """Return the text of a kernel ``bulk(int instances, int mask, uint *rest)``."""
    return _Computing(translation, group_size).text(list(translation.arrays))


def _statements(
    translation: Translation, kind: type[c_ast.Node] | tuple[type[c_ast.Node], ...]
) -> list[c_ast.Node]:
    functions = translation.resolved.functions.values()
    return [
        node
        for function in functions
        for node in nodes(function.node.body)
        if isinstance(node, kind)
    ]


def _on_data(translation: Translation, node: c_ast.Node) -> bool:
    return node.cond is not None and node.cond not in translation.accesses.steady


def _on_some_data(translation: Translation) -> Iterator[c_ast.Node]:
    """Yield the nodes executed under a condition on data, those of called functions included."""
    for node in _statements(translation, (c_ast.If, c_ast.Switch)):
        if _on_data(translation, node):
            for branch in (each for name, each in node.children() if name != "cond"):
                yield from reached(translation.resolved, branch)


class _Form(Generator):
    """A program whose functions and kernel have additional parameters."""

    def __init__(self, translation: Translation, arrangement: Arrangement) -> None:
        super().__init__(translation.resolved, translation.accesses, arrangement)
        self.translation = translation
        self.places = {node: at for at, node in enumerate(conditions(translation))}

    def kernel(self, name: str, uses: list[Symbol]) -> str:
        """Return the text of the kernel, which calls the function of this name."""
        outer, before, after = self.around(uses)
        call = ", ".join([*map(self.first, uses), *self.passed(bool(uses))])
        head = ",\n                   ".join(["const int instances", *self.arguments(uses)])
        lines = [
            f"__kernel void bulk({head})",
            "{",
            *outer,
            "    const int instance = get_global_id(0);",
            "    if (instance < instances) {",
            *before,
            f"        {name}({call});",
            *after,
            "    }",
            "}",
        ]
        return "\n".join(lines)

    def arguments(self, uses: list[Symbol]) -> list[str]:
        """Return the declarations of the kernel's arguments."""
        return [self.declared(each, restrict=True) for each in uses]

    def around(self, uses: list[Symbol]) -> tuple[list[str], list[str], list[str]]:
        """Return the lines of the kernel for all work-items, and those around the call."""
        return [], [], []


# Shares


class _CountingBody(Body):
    def _condition(self, node: c_ast.If) -> str:
        text = super()._condition(node)
        place = self._program.places.get(node)  # type: ignore[attr-defined]
        return text if place is None else f"bulk_counted(({text}) != 0, bulk_counts + {2 * place})"


class _Shares(_Form):
    purpose = "Counts how often the conditions on data hold."
    body = _CountingBody

    def __init__(self, translation: Translation, arrangement: Arrangement) -> None:
        super().__init__(translation, arrangement)
        self.macro += (
            "\n\nint bulk_counted(int holds, volatile __global int *counts)\n{\n"
            "    atomic_inc(counts);\n"
            "    if (holds)\n        atomic_inc(counts + 1);\n"
            "    return holds;\n}"
        )

    def passed(self, touches: bool) -> dict[str, str]:
        counts = {"bulk_counts": "volatile __global int *bulk_counts"}
        return super().passed(touches) | counts

    def arguments(self, uses: list[Symbol]) -> list[str]:
        return [*super().arguments(uses), "volatile __global int *bulk_counts"]


# Replay


class _ReplayBody(Body):
    """Writes the accesses of a function, and the control flow on which they depend."""

    _program: _Replay

    def _statement(self, node: c_ast.Node | None, indent: str) -> list[str]:
        if node is None or isinstance(node, (*_HANDLED, c_ast.Pragma)):
            return super()._statement(node, indent)
        if isinstance(node, _LOOPS):
            return [] if self._is_idle(node) else super()._statement(node, indent)
        if isinstance(node, (c_ast.If, c_ast.Switch)) and node.cond in self._program.steady:
            return super()._statement(node, indent)
        if isinstance(node, c_ast.If):
            # the branch depends on the loaded values, as in the program
            loads = [f"{indent}{line}" for line in self._accesses(node.cond)]
            return loads + super()._on_if(node, indent)
        if isinstance(node, c_ast.Switch):
            loads = [f"{indent}{line}" for line in self._accesses(node.cond)]
            return loads + self._each_case(node, indent)
        if isinstance(node, (c_ast.Case, c_ast.Default)):
            return super()._statement(node, indent)
        if isinstance(node, c_ast.Return):
            return [indent + line for line in self._returned(node)]
        if isinstance(node, c_ast.Decl):
            return [indent + line for line in self._declared(node)]
        return [indent + line for line in self._accesses(node)]

    def _controlled(self, head: str, node: c_ast.Node | None, indent: str) -> list[str]:
        lines = self._statement(node, indent + "    ")
        if isinstance(node, c_ast.Compound):
            lines = self._statement(node, indent)[1:-1]
        return [f"{indent}{head} {{", *lines, f"{indent}}}"]

    def _on_if(self, node: c_ast.If, indent: str) -> list[str]:
        lines = self._controlled(f"if ({self._condition(node)})", node.iftrue, indent)
        if node.iffalse is not None:
            lines += self._controlled("else", node.iffalse, indent)
        return lines

    def _condition(self, node: c_ast.If) -> str:
        place = self._program.places.get(node)
        if place is None:
            return super()._condition(node)
        return f"bulk_falls(bulk_state, {round(self._program.fractions[place] * _ONE)}u)"

    def _on_for(self, node: c_ast.For, indent: str) -> list[str]:
        parts = [
            self.visit(node.init)
            if isinstance(node.init, c_ast.DeclList)
            else self._listed(node.init),
            "" if node.cond is None else self.visit(node.cond),
            self._listed(node.next),
        ]
        return self._controlled(f"for ({'; '.join(parts)})", node.stmt, indent)

    def _listed(self, node: c_ast.Node | None) -> str:
        lines = [] if node is None else self._accesses(node)
        return ", ".join(line.removesuffix(";") for line in lines)

    def _each_case(self, node: c_ast.Switch, indent: str) -> list[str]:
        """Write all cases one after the other, as for work-items that run in lock-step."""
        lines = []
        for each in getattr(node.stmt, "block_items", None) or [node.stmt]:
            stmts = each.stmts if isinstance(each, (c_ast.Case, c_ast.Default)) else [each]
            inner = [line for item in stmts for line in self._statement(item, indent + "    ")]
            lines += [f"{indent}do {{", *inner, f"{indent}}} while (0);"]
        return lines

    def _is_idle(self, node: c_ast.Node) -> bool:
        """Return whether a loop is one on data, which has no accesses."""
        if node.cond is not None:
            return node.cond not in self._program.steady
        symbols = (self._resolved.symbols.get(each) for each in nodes(node))
        calls = any(isinstance(each, c_ast.FuncCall) for each in nodes(node))
        return not calls and not any(
            each is not None and (each.role == "array" or each.type.pointer) for each in symbols
        )

    def _returned(self, node: c_ast.Return) -> list[str]:
        if node.expr is None:
            return ["return;"]
        symbols = [self._resolved.symbols.get(each) for each in nodes(node.expr)]
        if all(each is None or each.role == "table" or self._follows(each) for each in symbols):
            return [f"return {self.visit(node.expr)};"]
        return [*self._accesses(node.expr), "return 0;"]

    def _declared(self, node: c_ast.Decl) -> list[str]:
        symbol = self._resolved.symbols.get(node)
        if symbol is None:
            return []
        if self._follows(symbol):
            return [f"{self.visit_Decl(node)};"]
        lines = [] if node.init is None else self._accesses(node.init)
        dims = "".join(f"[{each}]" for each in symbol.type.dims)
        return [*lines, f"{symbol.type.base} {self._name(symbol)}{dims};"]

    def _follows(self, symbol: Symbol | None) -> bool:
        return symbol in self._program.followed

    def _argument(self, parameter: Symbol, node: c_ast.Node) -> str:
        follows = parameter.type.pointer or self._follows(parameter)
        return self._visit_argument(node) if follows else "0"

    def _accesses(self, node: c_ast.Node) -> list[str]:
        """Return statements with the accesses of an expression and its assignments."""
        target = node.lvalue if isinstance(node, c_ast.Assignment) else None
        if isinstance(node, c_ast.UnaryOp) and node.op in STEPS:
            target = node.expr
        if target is not None:
            return self._assigned(node, target)
        if isinstance(node, c_ast.UnaryOp) and node.op == "sizeof":
            return []
        if isinstance(node, c_ast.FuncCall) and isinstance(self._resolved.calls[node], Function):
            arguments = [] if node.args is None else node.args.exprs
            parameters = self._resolved.calls[node].parameters  # type: ignore[union-attr]
            lines = [
                line
                for parameter, each in zip(parameters, arguments, strict=True)
                if self._argument(parameter, each) == "0"
                for line in self._accesses(each)
            ]
            return [*lines, f"{self.visit(node)};"]
        if self._is_global(node):
            return [f"*bulk_state += {self.visit(node)};"]
        children = [
            each
            for _, each in node.children()
            if not isinstance(each, (c_ast.Typename, c_ast.TypeDecl))
            and not (isinstance(node, c_ast.FuncCall) and each is node.name)
        ]
        return [line for each in children for line in self._accesses(each)]

    def _assigned(self, node: c_ast.Node, target: c_ast.Node) -> list[str]:
        if isinstance(target, c_ast.ID) and self._follows(self._resolved.symbols.get(target)):
            return [f"{self.visit(node)};"]
        lines = self._accesses(node.rvalue) if isinstance(node, c_ast.Assignment) else []
        if not self._is_global(target):
            return lines + self._accesses(target)
        place = self.visit(target)
        if not (isinstance(node, c_ast.Assignment) and node.op == "="):
            lines.append(f"*bulk_state += {place};")
        if node in self._program.some_data:
            base = self._program.element(self._resolved.types[target].base)
            place = f"*(volatile __global {base} *)&{place}"
        return [*lines, f"{place} = *bulk_state;"]

    def _is_global(self, node: c_ast.Node) -> bool:
        if isinstance(node, c_ast.ID):
            symbol = self._resolved.symbols.get(node)
            return symbol is not None and symbol.role == "array" and symbol.type.is_scalar
        is_place = isinstance(node, c_ast.ArrayRef)
        is_place |= isinstance(node, c_ast.UnaryOp) and node.op == "*"
        return is_place and self._global(node) is not None


class _Replay(_Form):
    purpose = "Makes the accesses of the program without what it computes."
    body = _ReplayBody

    def __init__(
        self, translation: Translation, arrangement: Arrangement, fractions: list[float]
    ) -> None:
        super().__init__(translation, arrangement)
        self.fractions, self.steady = fractions, translation.accesses.steady
        entry = translation.resolved.entry.node
        seeds = self.steady | set(self._subscripts())
        self.followed = set(needed(translation.resolved, seeds, entry, set()))
        self.some_data = set(_on_some_data(translation))
        self.macro += (
            "\n\nint bulk_falls(uint *state, uint share)\n{\n"
            "    *state = *state * 1664525u + 1013904223u;\n"
            "    return (*state >> 8) < share;\n}"
        )

    def _subscripts(self) -> list[c_ast.Node]:
        subscripts: list[c_ast.Node] = [
            node.subscript for node in _statements(self.translation, c_ast.ArrayRef)
        ]
        for node in _statements(self.translation, c_ast.BinaryOp):
            kind = self.resolved.types.get(node)
            if kind is not None and (kind.pointer or kind.dims):
                subscripts.append(node.right)
        return subscripts

    def element(self, base: str) -> str:
        return _UNSIGNED[BITS.get(base, 64 if base == "double" else 32)]

    def passed(self, touches: bool) -> dict[str, str]:
        return super().passed(touches) | {"bulk_state": "uint *bulk_state"}

    def arguments(self, uses: list[Symbol]) -> list[str]:
        return [*super().arguments(uses), "__global uint *bulk_rest"]

    def around(self, uses: list[Symbol]) -> tuple[list[str], list[str], list[str]]:
        before = [
            "        uint bulk_own = (uint)instance * 2654435761u;",
            "        uint *bulk_state = &bulk_own;",
        ]
        after = ["        if (bulk_own == 1u)", "            bulk_rest[instance] = bulk_own;"]
        return [], before, after


# Computing


class _Computing(_Form):
    purpose = "Computes what the program does on arrays of one word in local memory."
    memory = "local"

    def __init__(self, translation: Translation, group_size: int) -> None:
        super().__init__(translation, "column")
        self._group_size = group_size
        self.macro = "#define AT(i) ((int)(i) & bulk_mask)"

    def passed(self, touches: bool) -> dict[str, str]:
        return {"bulk_mask": "const int bulk_mask"} if touches else {}

    def first(self, symbol: Symbol) -> str:
        return f"bulk_own_{symbol.name} + get_local_id(0)"

    def arguments(self, uses: list[Symbol]) -> list[str]:
        return ["const int bulk_mask", "__global uint *bulk_rest"]

    def around(self, uses: list[Symbol]) -> tuple[list[str], list[str], list[str]]:
        outer, before, after = [], [], []
        for each in uses:
            own, base = f"bulk_own_{each.name}", each.type.base
            outer.append(f"    __local {base} {own}[{self._group_size}];")
            before.append(f"        {own}[get_local_id(0)] = ({base})instance;")
            after += [
                f"        if ({own}[get_local_id(0)] == ({base})77)",
                "            bulk_rest[instance] = 1;",
            ]
        return outer, before, after
