"""Resolve the names and the types of expressions; unsupported parts of C are errors.

Only the function that is run in bulk and the functions that it calls are checked. The rest of the
file, such as a ``main`` with input and output, may be any C.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pycparser import c_ast

from pyapsp.bulk.constants import NotConstantError, constant_of
from pyapsp.bulk.frontend import Symbol, Unit
from pyapsp.bulk.library import ALLOCATION, CONSTANTS, FUNCTIONS, INPUT_OUTPUT, Twin
from pyapsp.bulk.scalars import BITS, FLOATS, Type, common

__all__ = ["Function", "Resolved", "resolve"]

_SCALAR_OPERATORS = ("==", "!=", "<", ">", "<=", ">=", "&&", "||")
_WHOLE_OPERATORS = ("%", "&", "|", "^", "<<", ">>")
_STEPS = ("++", "--", "p++", "p--")
# Most bytes of a private array. Larger ones do not fit a cache; as global arrays they are arranged.
_LARGEST_LOCAL = 2**16

_INT = Type("int")


@dataclass(eq=False)
class Function:
    """A function of the program that runs on the device."""

    name: str
    node: c_ast.FuncDef
    parameters: list[Symbol]
    result: Type
    locals: list[Symbol] = field(default_factory=list)


@dataclass
class Resolved:
    """A program with all names resolved."""

    unit: Unit
    # Each function after those that it calls; the entry is the last.
    functions: dict[str, Function] = field(default_factory=dict)
    # Node of a name (or of a declaration) -> Symbol.
    symbols: dict[c_ast.Node, Symbol] = field(default_factory=dict)
    types: dict[c_ast.Node, Type] = field(default_factory=dict)  # node of an expression -> Type
    # Node of a call -> the Function or Twin that is called.
    calls: dict[c_ast.Node, Function | Twin] = field(default_factory=dict)

    @property
    def entry(self) -> Function:
        """The function that is run in bulk."""
        return self.functions[self.unit.entry]


def resolve(unit: Unit) -> Resolved:
    """Resolve the names of a program.

    Raises
    ------
    ProgramError
        The program has something that cannot be run in bulk.
    """
    resolved = Resolved(unit)
    _function(resolved, unit.entry, [])
    entry = resolved.entry
    if entry.parameters or entry.result.base != "void":
        raise unit.error(
            entry.node, f"{entry.name}, which is run in bulk, must be void {entry.name}(void)"
        )
    return resolved


def _function(resolved: Resolved, name: str, stack: list[str]) -> Function:
    """Resolve a function after those that it calls."""
    if name in resolved.functions:
        return resolved.functions[name]
    unit, node = resolved.unit, resolved.unit.functions[name]
    if node.param_decls:
        raise unit.error(node, "parameters must be declared in the parentheses")
    head = node.decl.type
    if not isinstance(head, c_ast.FuncDecl):
        raise unit.error(node, f"{name} is not a function")
    declared = [] if head.args is None else head.args.params
    if any(isinstance(each, c_ast.EllipsisParam) for each in declared):
        raise unit.error(node, "functions with a variable number of arguments are not supported")
    if not all(isinstance(each, (c_ast.Decl, c_ast.Typename)) for each in declared):
        raise unit.error(node, "parameters must be declared in the parentheses")
    result = unit.type_of(head)
    parameters = []
    for each in declared:
        kind = unit.type_of(each, parameter=True)
        if kind.base == "void":
            continue
        if not isinstance(each, c_ast.Decl) or each.name is None:
            raise unit.error(each, "parameters need names")
        constant = "const" in each.quals
        parameters.append(Symbol(each.name, kind, "parameter", each, constant))
    function = Function(name, node, parameters, result)
    _Body(resolved, function, [*stack, name]).run()
    resolved.functions[name] = function
    return function


class _Body:
    """Resolves one function."""

    def __init__(self, resolved: Resolved, function: Function, stack: list[str]) -> None:
        self._resolved, self._unit = resolved, resolved.unit
        self._function, self._stack = function, stack
        self._scopes: list[dict[str, Symbol]] = []

    def run(self) -> None:
        """Resolve parameters and body."""
        self._scopes.append({each.name: each for each in self._function.parameters})
        for each in self._function.parameters:
            self._resolved.symbols[each.node] = each
        for item in self._function.node.body.block_items or []:
            self._statement(item)

    # Statements

    def _statement(self, node: c_ast.Node | None) -> None:
        if node is None or isinstance(node, (c_ast.EmptyStatement, c_ast.Pragma)):
            return
        if isinstance(node, (c_ast.Break, c_ast.Continue)):
            return
        name = f"_on_{type(node).__name__.lower()}"
        handler = getattr(self, name, None)
        if handler is None:
            self._number(node, void=True)
        else:
            handler(node)

    def _block(self, *nodes: c_ast.Node | None) -> None:
        self._scopes.append({})
        for node in nodes:
            self._statement(node)
        self._scopes.pop()

    def _on_compound(self, node: c_ast.Compound) -> None:
        self._block(*(node.block_items or []))

    def _on_decllist(self, node: c_ast.DeclList) -> None:
        for each in node.decls:
            self._statement(each)

    def _on_decl(self, node: c_ast.Decl) -> None:
        if isinstance(node.type, c_ast.FuncDecl | c_ast.Enum):
            return  # a prototype, or an enumeration without a variable
        for word in ("static", "extern"):
            if word in node.storage:
                raise self._unit.error(
                    node, f"{word} variables in functions are not supported: make it a global one"
                )
        kind = self._unit.type_of(node)
        if kind.base == "void":
            raise self._unit.error(node, "a variable cannot be void")
        if kind.size * BITS.get(kind.base, 64) > 8 * _LARGEST_LOCAL:
            raise self._unit.error(
                node, f"{node.name} is too large for a local array: make it a global one"
            )
        symbol = Symbol(node.name, kind, "local", node, "const" in node.quals)
        self._initial(node.init, kind)
        self._scopes[-1][node.name] = symbol
        self._resolved.symbols[node] = symbol
        self._function.locals.append(symbol)

    def _initial(self, node: c_ast.Node | None, kind: Type) -> None:
        if isinstance(node, c_ast.InitList):
            for each in node.exprs:
                if isinstance(each, c_ast.NamedInitializer):
                    raise self._unit.error(each, "designated initial values are not supported")
                self._initial(each, kind)
        elif node is not None:
            self._number(node)

    def _on_if(self, node: c_ast.If) -> None:
        self._number(node.cond)
        self._block(node.iftrue)
        self._block(node.iffalse)

    def _on_for(self, node: c_ast.For) -> None:
        self._scopes.append({})
        self._statement(node.init)
        if node.cond is not None:
            self._number(node.cond)
        if node.next is not None:
            self._number(node.next, void=True)
        self._block(node.stmt)
        self._scopes.pop()

    def _on_while(self, node: c_ast.While) -> None:
        self._number(node.cond)
        self._block(node.stmt)

    _on_dowhile = _on_while

    def _on_switch(self, node: c_ast.Switch) -> None:
        self._whole(node.cond)
        self._block(node.stmt)

    def _on_case(self, node: c_ast.Case) -> None:
        try:
            self._unit.value(node.expr)
        except NotConstantError:
            raise self._unit.error(node.expr, "the value of a case must be constant") from None
        self._number(node.expr)
        for each in node.stmts:
            self._statement(each)

    def _on_default(self, node: c_ast.Default) -> None:
        for each in node.stmts:
            self._statement(each)

    def _on_return(self, node: c_ast.Return) -> None:
        if node.expr is not None:
            self._number(node.expr)

    def _on_goto(self, node: c_ast.Goto) -> None:
        raise self._unit.error(node, "goto is not supported: use loops and if")

    def _on_label(self, node: c_ast.Label) -> None:
        raise self._unit.error(node, "labels are not supported: use loops and if")

    # Expressions

    def _number(self, node: c_ast.Node, *, void: bool = False) -> Type:
        """Return the type of an expression that must be a number."""
        kind = self._expression(node)
        if not kind.is_scalar:
            raise self._unit.error(
                node,
                "arrays and pointers may only be given to functions or have subscripts: "
                "an address that is computed could depend on data",
            )
        if kind.base == "void" and not void:
            raise self._unit.error(node, "a number is needed here")
        return kind

    def _whole(self, node: c_ast.Node) -> Type:
        kind = self._number(node)
        if kind.base in FLOATS:
            raise self._unit.error(node, f"a whole number is needed here, not {kind.base}")
        return kind

    def _expression(self, node: c_ast.Node) -> Type:
        """Return the type of an expression and store it."""
        handler = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if handler is None:
            construct = type(node).__name__
            words = {"StructRef": "struct members", "CompoundLiteral": "compound literals"}
            raise self._unit.error(node, f"{words.get(construct, construct)} are not supported")
        kind: Type = handler(node)
        self._resolved.types[node] = kind
        return kind

    def _of_constant(self, node: c_ast.Constant) -> Type:
        try:
            return Type(constant_of(node)[1])
        except NotConstantError:
            raise self._unit.error(node, "text is not supported") from None

    def _of_id(self, node: c_ast.ID) -> Type:
        for scope in reversed([self._unit.variables, *self._scopes]):
            if node.name in scope:
                self._resolved.symbols[node] = scope[node.name]
                return scope[node.name].type
        for known in (self._unit.constants, CONSTANTS):
            if node.name in known:
                return Type(known[node.name][1])
        if node.name in self._unit.refused:
            raise self._unit.refused[node.name]
        raise self._unit.error(node, f"{node.name} is not declared")

    def _of_arrayref(self, node: c_ast.ArrayRef) -> Type:
        kind = self._expression(node.name)
        if kind.is_scalar:
            raise self._unit.error(node, "only arrays have subscripts")
        self._whole(node.subscript)
        return kind.element()

    def _of_unaryop(self, node: c_ast.UnaryOp) -> Type:
        if node.op == "sizeof":
            try:
                return Type(self._unit.value(node)[1])
            except NotConstantError:
                raise self._unit.error(node, "sizeof is supported for types only") from None
        if node.op == "*":
            kind = self._expression(node.expr)
            if kind.is_scalar:
                raise self._unit.error(node, "only pointers and arrays can be dereferenced")
            return kind.element()
        if node.op == "&":
            kind = self._expression(node.expr)
            if not isinstance(node.expr, (c_ast.ID, c_ast.ArrayRef)) or kind.pointer:
                raise self._unit.error(node, "only variables and elements of arrays have addresses")
            return Type(kind.base, kind.dims, pointer=True)
        kind = self._number(node.expr)
        if node.op in _STEPS:
            self._assignable(node.expr)
            return kind
        if node.op == "!":
            return _INT
        if node.op == "~":
            self._whole(node.expr)
        return kind if kind.base in FLOATS else Type(common(kind.base, "int"))

    def _of_binaryop(self, node: c_ast.BinaryOp) -> Type:
        left = self._expression(node.left)
        if not left.is_scalar and node.op in ("+", "-"):
            self._whole(node.right)
            return Type(left.base, left.element().dims, pointer=True)
        if node.op in _WHOLE_OPERATORS:
            left, right = self._whole(node.left), self._whole(node.right)
            shift = node.op in ("<<", ">>")
            return Type(common(left.base, "int" if shift else right.base))
        left, right = self._number(node.left), self._number(node.right)
        return _INT if node.op in _SCALAR_OPERATORS else Type(common(left.base, right.base))

    def _of_assignment(self, node: c_ast.Assignment) -> Type:
        kind = self._number(node.lvalue)
        self._assignable(node.lvalue)
        if node.op[:-1] in _WHOLE_OPERATORS:
            self._whole(node.lvalue)
            self._whole(node.rvalue)
        else:
            self._number(node.rvalue)
        return kind

    def _root(self, node: c_ast.Node) -> Symbol | None:
        """Return the variable of which an expression names a part; None for a macro."""
        root: c_ast.Node = node
        while not isinstance(root, c_ast.ID):
            if isinstance(root, c_ast.ArrayRef):
                root = root.name
            elif isinstance(root, c_ast.UnaryOp) and root.op in ("*", "&"):
                root = root.expr
            elif isinstance(root, c_ast.BinaryOp) and self._resolved.types[root].pointer:
                root = root.left
            else:
                raise self._unit.error(
                    node, "this is neither a variable nor an element of an array"
                )
        return self._resolved.symbols.get(root)

    def _assignable(self, node: c_ast.Node) -> None:
        symbol = self._root(node)
        if symbol is None or symbol.constant:
            raise self._unit.error(node, "constants cannot be assigned to")

    def _of_ternaryop(self, node: c_ast.TernaryOp) -> Type:
        self._number(node.cond)
        left, right = self._number(node.iftrue), self._number(node.iffalse)
        return Type(common(left.base, right.base))

    def _of_cast(self, node: c_ast.Cast) -> Type:
        kind = self._unit.type_of(node.to_type)
        self._number(node.expr, void=kind.base == "void")
        return kind

    def _of_exprlist(self, node: c_ast.ExprList) -> Type:
        return [self._number(each, void=True) for each in node.exprs][-1]

    def _of_funccall(self, node: c_ast.FuncCall) -> Type:
        if not isinstance(node.name, c_ast.ID):
            raise self._unit.error(node, "pointers to functions are not supported")
        name, arguments = node.name.name, [] if node.args is None else node.args.exprs
        if name in self._stack:
            way = " -> ".join([*self._stack[self._stack.index(name) :], name])
            raise self._unit.error(node, f"recursion is not supported: {way}")
        if name in self._unit.functions:
            function = _function(self._resolved, name, self._stack)
            self._resolved.calls[node] = function
            self._arguments(node, function, arguments)
            return function.result
        return self._library(node, name, arguments)

    def _arguments(
        self, node: c_ast.FuncCall, function: Function, arguments: list[c_ast.Node]
    ) -> None:
        if len(arguments) != len(function.parameters):
            many = len(function.parameters)
            raise self._unit.error(
                node, f"{function.name} has {many} parameters, not {len(arguments)}"
            )
        for argument, parameter in zip(arguments, function.parameters, strict=True):
            if not parameter.type.pointer:
                self._number(argument)
                continue
            kind = self._expression(argument)
            passed = kind if kind.pointer else Type(kind.base, kind.dims[1:], pointer=True)
            if kind.is_scalar or passed != parameter.type:
                raise self._unit.error(
                    argument, f"{function.name} needs another type of array for {parameter.name}"
                )
            root = self._root(argument)
            if not parameter.constant and (root is None or root.constant):
                raise self._unit.error(
                    argument, f"it is constant, and {parameter.name} is not declared const"
                )

    def _library(self, node: c_ast.FuncCall, name: str, arguments: list[c_ast.Node]) -> Type:
        if name in ALLOCATION:
            raise self._unit.error(
                node, f"{name}: memory cannot be allocated in bulk; use arrays of constant length"
            )
        if name in INPUT_OUTPUT:
            raise self._unit.error(
                node, f"{name}: no input, output or exit in a function that is run in bulk"
            )
        twin = FUNCTIONS.get(name)
        if twin is None:
            raise self._unit.error(
                node, f"{name} is neither defined in this file nor a known function of math.h"
            )
        if len(arguments) != len(twin.arguments):
            many = len(twin.arguments)
            raise self._unit.error(node, f"{name} has {many} arguments, not {len(arguments)}")
        for each in arguments:
            self._number(each)
        self._resolved.calls[node] = twin
        return Type(twin.result)
