"""Write the kernels of a scheme from the body of one task.

A step of the body becomes a function that accesses only the arrays of its own task. A kernel
computes the task and the thread of a work-item, copies common data to local memory, and calls the
function. In the interleaved scheme the array of a task is every V-th entry; the macros for access
compute these addresses.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import dedent

from pyapsp.base.errors import ParameterError
from pyapsp.device import Device
from pyapsp.device.kernels import Program
from pyapsp.device.kernels import source as kernel_files
from pyapsp.sweep.arrays import C_TYPES, Array, Step
from pyapsp.sweep.forms import Form, Shape

__all__ = ["FAULT", "MACROS", "PREFIX", "Body", "built", "generate"]

#: The prefix of the names of kernels; the name of the step follows.
PREFIX = "sweep_"
#: Ints of the record of the first wrong access: kind (1: outside; 2: a value that nobody wrote),
#: array, task, entry, step.
FAULT = 5
#: The macros that a body uses, which a user cannot define.
MACROS = (
    *("IN", "OUT", "SCRATCH", "COMMON", "THREAD_X", "THREAD_Y", "THREAD_Z", "TASK", "AGAIN"),
    *("LANE", "LANES", "CONVERT", "ANY", "STEP"),
)
_STEP = re.compile(r"\bSTEP\s*\(\s*(\w+)\s*\)")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_OWN = re.compile(r"\b(IN|OUT|SCRATCH)\s*\(")
# What follows an entry that is only written, or of which it is not known.
_WRITTEN = re.compile(r"=(?!=)|[.\[]")
# The functions with which a checked build bounds accesses. The first wrong one is recorded.
_INSIDE = """\
static void sweep_wrong(__global int *fault, const int kind, const int array, const int task,
    const sweep_index j, const int step)
{
    if (atomic_cmpxchg(fault, 0, kind) == 0) {
        fault[1] = array;
        fault[2] = task;
        fault[3] = convert_int_sat(j);
        fault[4] = step;
    }
}
static sweep_index sweep_inside(__global int *fault, const int array, const int task,
    const sweep_index j, const int step, const sweep_index size)
{
    if (j >= 0 && j < size)
        return j;
    sweep_wrong(fault, 1, array, task, j, step);
    return 0;
}
"""
# The functions with which a traced build records which entries are written, and by which it finds
# those that are read before.
_STATE = """\
static sweep_index sweep_written(__global uchar *state, const sweep_index j)
{
    state[j] = 1;
    return j;
}
static sweep_index sweep_known(__global uchar *state, __global int *fault, const int array,
    const int task, const sweep_index j, const int step)
{
    if (!state[j])
        sweep_wrong(fault, 2, array, task, j, step);
    return j;
}
"""
# The function with which a traced build records accesses.
_NOTE = """\
#define SWEEP_LOGGED {logged}
static sweep_index sweep_note(__global int *log, const int array, const sweep_index j)
{{
    if (log) {{
        if (log[0] < SWEEP_LOGGED) {{
            log[1 + 2 * log[0]] = array;
            log[2 + 2 * log[0]] = (int)j;
        }}
        log[0]++;
    }}
    return j;
}}
"""


_building = threading.Lock()


def built(device: Device, source: str) -> Program:
    """Build a source for a device, or return the cached program."""
    with _building:
        return _program(device, source)


@cache
def _program(device: Device, source: str) -> Program:
    return Program(device, source)


class Body:
    """The OpenCL C text of one task.

    Parameters
    ----------
    body : str or pathlib.Path
        OpenCL C with a ``STEP(name) { ... }`` for each step. A text without ``STEP`` is the content
        of the only step. A path is a file with such a text. A relative path that begins with
        ``sweep/`` and exists in pyapsp's folder of kernels is that file, with its includes.
    steps : sequence of Step
        The steps that the text must have.

    Attributes
    ----------
    text : str
        The text, with markers that give the compiler the line numbers of the user's file.
    reading : str
        The text in which ``SWEEP_READ`` reads entries of outputs and scratch arrays.
    repeats : bool
        Whether a thread may request another round.
    """

    def __init__(self, body: str | Path, steps: Sequence[Step]) -> None:
        if not isinstance(body, (str, Path)):
            raise ParameterError.of("body", "Sweep", "text of OpenCL C or a path", body)
        text = self._read(body) if isinstance(body, Path) else f'#line 1 "body"\n{body}'
        code = _COMMENT.sub(" ", text)
        names = _STEP.findall(code)
        if not names and len(steps) == 1:
            names = [steps[0].name]
            marker, _, rest = text.partition("\n")
            text = f"STEP({steps[0].name})\n{{\n{marker}\n{rest}\n}}\n"
        for step in steps:
            if names.count(step.name) != 1:
                rule = f"a text with one STEP({step.name})"
                raise ParameterError.of("body", "Sweep", rule, [f"STEP({name})" for name in names])
        self.text = text.rstrip("\n") + "\n"
        self.reading = _with_reads(self.text)
        self.repeats = re.search(r"\bAGAIN\s*\(", code) is not None

    @staticmethod
    def _read(path: Path) -> str:
        if (kernel_files.root() / path).is_file():
            return kernel_files.assemble(path.as_posix())
        try:
            return f'#line 1 "{path.name}"\n{path.read_text(encoding="utf-8")}'
        except (OSError, UnicodeDecodeError) as error:
            raise ParameterError.of("body", "Sweep", f"readable ({error})", str(path)) from None


def _with_reads(text: str) -> str:
    """Return a body in which ``SWEEP_READ`` stands where an own entry is read.

    Entries that are assigned to, or whose address is taken, as for atomics, stay as they are; so do
    those in macros of the body.
    """
    code = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    macros = [(each.start(), each.end()) for each in _DIRECTIVE.finditer(code)]
    pieces, last = [], 0
    for found in _OWN.finditer(code):
        end = _closed(code, found.end())
        before, after = code[: found.start()].rstrip(), code[end:].lstrip()
        while before.endswith("(") and after.startswith(")"):
            before, after = before[:-1].rstrip(), after[1:].lstrip()
        address = re.search(r"(^|[^\w)\]&\s])\s*&$", before)
        if _WRITTEN.match(after) or address or any(a <= found.start() < b for a, b in macros):
            continue
        pieces += [text[last : found.start()], "SWEEP_READ"]
        last = found.start() + len(found[1])
    return "".join([*pieces, text[last:]])


def _closed(code: str, start: int) -> int:
    """Return the place behind the parenthesis that is closed after `start`."""
    depth = 1
    for place in range(start, len(code)):
        depth += (code[place] == "(") - (code[place] == ")")
        if not depth:
            return place + 1
    return len(code)


def generate(
    body: Body,
    arrays: Sequence[Array],
    shapes: Mapping[Step, Shape],
    form: Form,
    defines: Mapping[str, str | int | float],
    *,
    logged: int = 0,
    checked: bool = False,
) -> str:
    """Return the OpenCL C of all steps in one scheme.

    Parameters
    ----------
    body : Body
    arrays : sequence of Array
    shapes : mapping of Step to Shape
    form : Form
    defines : mapping of str to str, int or float
        Macros for the body.
    logged : int
        Number of recorded accesses of a thread, for `pyapsp.sweep.access`; 0 in normal builds.
    checked : bool
        Whether every access is bounded; so it is if accesses are recorded.
    """
    checked = checked or logged > 0
    stageable = {name for shape in shapes.values() for name, _ in shape.staged}
    largest = max(array.size * (1 if array.role == "common" else form.lanes) for array in arrays)
    lines = ['#line 1 "<sweep>"']
    lines += [f"#define {name} {value}" for name, value in defines.items()]
    for name, kind in (("float64", "cl_khr_fp64"), ("float16", "cl_khr_fp16")):
        if any(array.dtype.name == name for array in arrays):
            lines.append(f"#pragma OPENCL EXTENSION {kind} : enable")
    lines.append(f"typedef {'int' if largest < 2**31 else 'long'} sweep_index;")
    if checked:
        lines += _INSIDE.splitlines()
    if logged:
        lines += [*_NOTE.format(logged=logged).splitlines(), *_STATE.splitlines()]
    lines += _macros(arrays, form, stageable, logged > 0, checked)
    code = body.reading if logged else body.text
    text = "\n".join([*lines, code.rstrip("\n"), '#line 1 "<kernels>"']) + "\n"
    for number, (step, shape) in enumerate(shapes.items()):
        text += _kernel(body, arrays, number, step, shape, form, stageable, logged, checked)
    return text


def _macros(
    arrays: Sequence[Array], form: Form, stageable: set[str], traced: bool, checked: bool
) -> list[str]:
    """Return the definitions of the macros of the body in this scheme."""
    stride = "" if form.lanes == form.width else f" * {form.lanes // form.width}"
    vector = "" if form.width == 1 else form.width
    lines, first = [], 0
    for number, array in enumerate(arrays):
        noted = "(sweep_index)(j)"
        if checked:
            access = f"{number}, sweep_task, {noted}, sweep_step"
            noted = f"sweep_inside(sweep_fault, {access}, {array.size})"
        if traced:
            noted = f"sweep_note(sweep_log, {number}, {noted})"
            read = f"array_{array.name}[{noted}]"
            if array.unknown:
                state = f"sweep_state + {first}"
                access = f"{number}, sweep_task, {noted}, sweep_step"
                read = f"array_{array.name}[sweep_known({state}, sweep_fault, {access})]"
                noted = f"sweep_written({state}, {noted})"
                first += array.size
            lines.append(f"#define READ_{array.name}(j) {read}")
        own = "" if array.role == "common" else stride
        macro = "COMMON" if array.role == "common" else "SWEEP"
        entry = f"array_{array.name}[{noted}{own}]"
        if array.name in stageable:
            entry = f"read_{array.name}(array_{array.name}, {_near(array)}, {noted})"
            lines += _reader(array)
        lines.append(f"#define {macro}_{array.name}(j) {entry}")
    # only kernels have restrict: an interpreter may misread it in functions that are inlined
    parameters = [f"{_pointer(array, form)}array_{array.name}" for array in arrays]
    for array in arrays:
        if array.name in stageable:
            kind = C_TYPES[array.dtype.name]
            parameters += [
                f"__local const {kind} *near_{array.name}",
                f"const sweep_index from_{array.name}",
                f"const int staged_{array.name}",
            ]
    parameters += [f"const int sweep_{name}" for name in ("x", "y", "z", "task")]
    parameters.append("__local int *sweep_again")
    if checked:
        parameters += ["__global int *sweep_fault", "const int sweep_step"]
    if traced:
        parameters += ["__global uchar *sweep_state", "__global int *sweep_log"]
    listed = ", \\\n    ".join(parameters)
    return [
        *lines,
        "#define IN(name, j) SWEEP_##name(j)",
        "#define OUT(name, j) SWEEP_##name(j)",
        "#define SCRATCH(name, j) SWEEP_##name(j)",
        *(["#define SWEEP_READ(name, j) READ_##name(j)"] if traced else []),
        "#define COMMON(name, j) COMMON_##name(j)",
        "#define THREAD_X sweep_x",
        "#define THREAD_Y sweep_y",
        "#define THREAD_Z sweep_z",
        "#define TASK sweep_task",
        "#define AGAIN() atomic_or(sweep_again, 1)",
        f"#define SWEEP_LANE(type) type{vector and f'##{vector}'}",
        "#define LANE(type) SWEEP_LANE(type)",
        f"#define LANES {vector or 1}",
        "#define SWEEP_CONVERT(type, x) convert_##type(x)",
        "#define CONVERT(type, x) SWEEP_CONVERT_TO(LANE(type), x)",
        "#define SWEEP_CONVERT_TO(type, x) SWEEP_CONVERT(type, x)",
        f"#define ANY(mask) {'any' if vector else ''}(mask)",
        f"#define STEP(name) static void task_##name( \\\n    {listed})",
    ]


def _near(array: Array) -> str:
    return f"near_{array.name}, from_{array.name}, staged_{array.name}"


def _reader(array: Array) -> list[str]:
    """Return a function that reads a staged array; if none is, the compiler removes the test."""
    kind = C_TYPES[array.dtype.name]
    return [
        f"static {kind} read_{array.name}(__global const {kind} *far, __local const {kind} *near,",
        "    const sweep_index from, const int staged, const sweep_index j)",
        "{",
        "    return j >= from && j < from + staged ? near[j - from] : far[j];"
        if array.rows
        else "    return staged ? near[j] : far[j];",
        "}",
    ]


def _pointer(array: Array, form: Form) -> str:
    constant = "const " if array.role in ("input", "common") else ""
    vector = "" if array.role == "common" or form.width == 1 else form.width
    return f"__global {constant}{C_TYPES[array.dtype.name]}{vector} *"


def _kernel(
    body: Body,
    arrays: Sequence[Array],
    number: int,
    step: Step,
    shape: Shape,
    form: Form,
    stageable: set[str],
    logged: int,
    checked: bool,
) -> str:
    """Return the kernel of a step."""
    items, parts = shape.items, shape.parts(step)
    parameters = [f"{_pointer(array, form)}restrict array_{array.name}" for array in arrays]
    parameters += ["const int first", "const int tasks"]
    if body.repeats:
        parameters += ["__global int *again", "const int round"]
    if checked:
        parameters.append("__global int *fault")
    if logged:
        parameters += ["__global uchar *state", "__global int *log"]
    side = shape.tasks // shape.width
    if side == 1:
        near_task, near_thread = "0", "item"
    elif shape.threads == 1:
        near_task, near_thread = "item", "0"
    elif form.interleaved:
        near_task, near_thread = f"item % {side}", f"item / {side}"
    else:
        near_task, near_thread = f"item / {shape.threads}", f"item % {shape.threads}"
    text = dedent(f"""
        __kernel __attribute__((reqd_work_group_size({items}, 1, 1)))
        void {PREFIX}{step.name}({", ".join(parameters)})
        {{
            const int item = get_local_id(0);
            const int part = get_group_id(0) % {parts};
            const int block = get_group_id(0) / {parts};
            const int lane = {near_task};
            const int task = block * {shape.tasks} + lane;
            const int start = part * {shape.threads * shape.aggregate};
            """)
    indent = " " * 4
    if body.repeats:
        text += f"{indent}__local int near_again;\n{indent}if (item == 0)\n"
        text += f"{indent * 2}near_again = 0;\n"
    text += _staging(arrays, step, shape)
    if body.repeats or shape.staged:
        text += f"{indent}barrier(CLK_LOCAL_MEM_FENCE);\n"
    active = "task < tasks"
    if body.repeats:
        # skip a round that the one before did not request
        active += " && (round == 0 || again[round - 1])"
    text += f"{indent}if ({active})\n"
    text += f"{indent * 2}for (int a = 0; a < {shape.aggregate}; a++) {{\n"
    text += f"{indent * 3}const int thread = start + a * {shape.threads} + {near_thread};\n"
    text += f"{indent * 3}if (thread < {step.count})\n"
    called = [_own(array, form) for array in arrays]
    staged = {name for name, _ in shape.staged}
    for array in arrays:
        if array.name in staged:
            called += [f"near_{array.name}", f"from_{array.name}", f"staged_{array.name}"]
        elif array.name in stageable:
            called += [f"(__local const {C_TYPES[array.dtype.name]} *)0", "0", "0"]
    called += [*_places(step), "first + task"]
    called.append("&near_again" if body.repeats else "(__local int *)0")
    if checked:
        called += ["fault", str(number)]
    if logged:
        states = sum(array.size for array in arrays if array.unknown)
        called += [f"state + (size_t)task * {states}", _log(step, logged)]
    text += f"{indent * 4}task_{step.name}({', '.join(called)});\n{indent * 2}}}\n"
    if body.repeats:
        text += f"{indent}barrier(CLK_LOCAL_MEM_FENCE);\n"
        text += f"{indent}if (item == 0 && near_again)\n{indent * 2}atomic_or(&again[round], 1);\n"
    return text + "}\n"


def _own(array: Array, form: Form) -> str:
    """Return the address, in the array of all tasks, at which that of the task begins."""
    name = f"array_{array.name}"
    if array.role == "common":
        return name
    if form.interleaved:
        return f"{name} + ((size_t)block * {array.size * form.lanes // form.width} + lane)"
    return f"{name} + (size_t)task * {array.size}"


def _places(step: Step) -> tuple[str, str, str]:
    """Return the indices x, y and z of the thread."""
    x, y, z = step.threads
    if y == z == 1:
        return "thread", "0", "0"
    return f"thread % {x}", f"thread / {x} % {y}", f"thread / {x * y}"


def _staging(arrays: Sequence[Array], step: Step, shape: Shape) -> str:
    """Return the code that copies to local memory, run by all work-items of a group."""
    named, reach = {array.name: array for array in arrays}, shape.threads * shape.aggregate
    text = ""
    for name, count in shape.staged:
        array = named[name]
        text += f"    __local {C_TYPES[array.dtype.name]} near_{name}[{count}];\n"
        if array.rows is None:
            text += f"    const sweep_index from_{name} = 0;\n"
            text += f"    const int staged_{name} = {count};\n"
        else:
            rows = f"array_{array.rows}"
            end = f"{rows}[min(start + {reach}, {step.count})]"
            text += f"    const sweep_index from_{name} = {rows}[start];\n"
            text += f"    const int staged_{name} = min((int)({end} - from_{name}), {count});\n"
        text += f"    for (int i = item; i < staged_{name}; i += {shape.items})\n"
        text += f"        near_{name}[i] = array_{name}[from_{name} + i];\n"
    return text


def _log(step: Step, logged: int) -> str:
    """Return the address in the log for some threads away from the edges; null for others."""
    number = f"(thread - {step.count} / 3 / SWEEP_THREADS * SWEEP_THREADS)"
    place = f"(task * SWEEP_THREADS + {number}) * {1 + 2 * logged}"
    return f"{number} >= 0 && {number} < SWEEP_THREADS ? log + {place} : (__global int *)0"
