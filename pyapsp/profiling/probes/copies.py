"""Copies by groups: loops over the work-items take their place, so that they can be counted.

`async_work_group_copy` and `async_work_group_strided_copy` say what a group copies, and not which
item copies what. In the program with probes the items of a group take turns at the elements, and
the wait for the copies is a barrier.
"""

from __future__ import annotations

import re

from clang.cindex import Cursor, CursorKind

from pyapsp.profiling.probes.edits import Edits, begin, stop
from pyapsp.profiling.probes.opencl_c import Unit, parse_text
from pyapsp.profiling.probes.opencl_types import parameter_of, pointed

__all__ = ["without_copies"]

_COPY = re.compile(r"async_work_group_(strided_)?copy")
_WAIT = "wait_group_events"
_BARRIER = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)"
_FIRST = (
    "get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2))"
)
_STEP = "get_local_size(0) * get_local_size(1) * get_local_size(2)"


def without_copies(unit: Unit) -> Unit:
    """Return a program in which the items copy what their group copies.

    Parameters
    ----------
    unit : Unit

    Raises
    ------
    ProgramError
        If the address spaces of a copy are not known.
    """
    calls = [
        each
        for each in unit.root.walk_preorder()
        if each.kind == CursorKind.CALL_EXPR
        and (_COPY.fullmatch(each.spelling) or each.spelling == _WAIT)
    ]
    if not calls:
        return unit
    edits, functions = Edits(unit.text), dict[str, None]()
    for call in calls:
        start = edits.begin_of(call)
        if call.spelling == _WAIT:
            edits.replace(start, stop(call), _BARRIER)
            continue
        name, text = _function(unit, call)
        functions[text] = None
        edits.replace(start, start + len(call.spelling), name)
    # in the line where the first function with a call begins, after pragmas for its types
    place = next(begin(each) for each in unit.functions() if begin(calls[0]) < stop(each))
    edits.before(place, "".join(functions))
    return parse_text(unit, edits.text())


def _function(unit: Unit, call: Cursor) -> tuple[str, str]:
    """Return the name and the definition of the function that does the work of a call."""
    to, source, *_ = call.get_arguments()
    spaces = [pointed(each.type)[1] for each in (to, source)]
    if spaces not in (["local", "global"], ["global", "local"]):
        raise unit.error(call, f"the address spaces of {call.spelling} are not known")
    type_, strided = parameter_of(to).type, "strided" in call.spelling
    name = f"{call.spelling}_{type_}_to_{spaces[0]}"
    stride = "ulong stride, " if strided else ""
    places = ["i * stride" if strided and each == "global" else "i" for each in spaces]
    return name, (
        f"event_t {name}(__{spaces[0]} {type_} *to, const __{spaces[1]} {type_} *from, "
        f"ulong number, {stride}event_t event) "
        f"{{ for (ulong i = {_FIRST}; i < number; i += {_STEP}) "
        f"{{ to[{places[0]}] = from[{places[1]}]; }} return event; }} "
    )
