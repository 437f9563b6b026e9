"""The program of a model: kernels from the blocks of its bundles.

On devices with many work-items, work-item *id* computes one bytecode, and finds its block by a
search over the first ids of the bundles. On devices whose groups are single work-items, each has a
range of ids, and loops over the part of each bundle in it, several bytecodes at a time::

    id       0 ........ 79 | 96 ....... 175 | 192 ...        (multiples of the warp)
    block    bundle 0      | bundle 1       | bundle 2

A phase is a kernel. Where a launch takes longer than the work, there is one kernel instead, which
takes many steps: see simulation/steps.h.

Source: F. Okuyama's thesis, 2013, section 5.5.2, figures 5.8 and 5.9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyapsp.simulation.bytecode import Bundle
from pyapsp.simulation.layout import Layout, Phase
from pyapsp.simulation.translator import Tables, literal, translate

__all__ = ["Translation", "translation"]


@dataclass(frozen=True)
class Translation:
    """A model in OpenCL C, without the header."""

    text: str  # a kernel `phase_N` for each phase, or one kernel `steps`
    slots: NDArray[np.int32]
    values: NDArray[np.float64]  # the tables
    # (warps, 2): the terms of the sum of each warp, phase by phase, and where they are in `slots`.
    sums: NDArray[np.int32]
    items: list[int]  # the ids of each phase
    rounds: list[int]  # how often a warp loads terms in each phase


def translation(layout: Layout, *, lanes: int, ranges: bool, many: bool = False) -> Translation:
    """Translate a model.

    Parameters
    ----------
    layout : Layout
    lanes : int
        Bytecodes that are computed at a time, in vectors; only with `ranges`.
    ranges : bool
        Whether a work-item computes a range of ids.
    many : bool
        Whether a launch takes many steps.
    """
    tables = Tables()
    parts: list[str] = []
    sums: list[NDArray[np.int32]] = []
    items: list[int] = []
    warps = 0
    for number, phase in enumerate(layout.every):
        placed, count = _places(phase, layout)
        items.append(count)
        sums.append(_sums(placed, count, layout.width, tables))
        summed = bool(sums[-1].any())
        if ranges:
            body = [line for at, each in placed for line in _loop(each, at, layout, tables, lanes)]
        else:
            body = _search(placed, layout, tables) if placed else []
        parts.append(_part(number, body, ranges=ranges))
        if not many:
            parts.append(_kernel(number, count, warps, ranges=ranges, summed=summed))
        warps += len(sums[-1])
    rounds = [-(-int(each[:, 0].max(initial=0)) // layout.width) for each in sums]
    if many:
        steps = [len(each) for each in sums]
        parts.append(_steps(layout, items, steps, rounds, ranges=ranges))
    slots, values = tables.whole
    text = "\n".join(parts)
    if not layout.options.export:
        text = _constants(slots, values) + text
    whole = np.concatenate([*sums, np.zeros((1, 2), np.int32)])
    return Translation(text, slots, values, whole, items, rounds)


def _places(phase: Phase, layout: Layout) -> tuple[list[tuple[int, Bundle]], int]:
    """Return the first id of each bundle, and the number of ids."""
    placed: list[tuple[int, Bundle]] = []
    filled = 0
    for bundle in phase.bundles:
        whole = [bundle]
        if not layout.options.unify:
            whole = [bundle.row(number) for number in range(len(bundle))]
        for each in whole:
            if layout.options.redundant or each.shape.terms:
                filled += -filled % layout.width
            placed.append((filled, each))
            filled += len(each) * (layout.width if each.shape.terms else 1)
            if each.shape.terms:
                filled += -filled % layout.width
    return placed, filled


def _sums(
    placed: list[tuple[int, Bundle]], count: int, width: int, tables: Tables
) -> NDArray[np.int32]:
    """Return the terms of the sum of each warp, and their place."""
    steps = np.zeros((-(-count // width), 2), np.int32)
    for first, bundle in placed:
        if terms := bundle.shape.terms:
            warps = first // width + np.arange(len(bundle))
            place = tables.slots(bundle.slots[:, bundle.shape.term_columns])
            steps[warps, 0], steps[warps, 1] = terms, place + terms * np.arange(len(bundle))
    return steps


def _loop(bundle: Bundle, first: int, layout: Layout, tables: Tables, lanes: int) -> list[str]:
    """Return the loops over the bytecodes of a bundle in a range of ids."""
    lines = [f"const int last = min(to, {first + len(bundle)}) - {first};"]
    lines.append(f"int i = max(from, {first}) - {first};")
    if lanes > 1 and len(bundle) >= lanes and not bundle.shape.terms:
        block = translate(bundle, layout.states, tables, lanes=lanes)
        # the last vector also computes bytecodes of the one before, to the same values
        again = f"i = min(i, last - {lanes});"
        lines += [f"if (i + {lanes} <= last)", f"    for (; i < last; i += {lanes}) {{"]
        lines += [*_in(_in([again, *block])), "    }"]
    block = translate(bundle, layout.states, tables)
    total = []
    if bundle.shape.terms:
        total = [f"const real total = ITEM_SUM({first} + i);"]
    lines += ["for (; i < last; i++) {", *_in(total + block), "}"]
    return ["{", *_in(lines), "}"]


def _search(placed: list[tuple[int, Bundle]], layout: Layout, tables: Tables) -> list[str]:
    """Return the search for the block of an id."""
    if len(placed) == 1:
        first, bundle = placed[0]
        width = layout.width if bundle.shape.terms else 1
        lines = [f"const int i = (id - {first}) / {width};"]
        if width > 1:
            lines.append(f"if (i < {len(bundle)} && id % {width} == 0) {{")
        else:
            lines.append(f"if (i < {len(bundle)}) {{")
        return [*lines, *_in(translate(bundle, layout.states, tables)), "}"]
    middle = len(placed) // 2
    low, high = (_search(part, layout, tables) for part in (placed[:middle], placed[middle:]))
    return [f"if (id < {placed[middle][0]}) {{", *_in(low), "} else {", *_in(high), "}"]


def _part(number: int, body: list[str], *, ranges: bool) -> str:
    """Return the function of a phase."""
    which = "const int from, const int to" if ranges else "const int id, const real total"
    head = f"static void part_{number}({which}, TABLE_ARGUMENTS, STAGE_ARGUMENTS)"
    return "\n".join([head, "{", *_in(body), "}", ""])


def _kernel(number: int, count: int, warps: int, *, ranges: bool, summed: bool) -> str:
    """Return the kernel of a phase, whose sums begin after those of `warps` warps."""
    work = [f"sums += {2 * warps};"]
    if ranges:
        work.append("const int from = get_global_id(0) * each;")
        work.append(f"part_{number}(from, min(from + each, {count}), TABLES, STAGE_PASSED);")
    else:
        if summed:
            work.insert(0, "__local real part[PYAPSP_GROUP], error[PYAPSP_GROUP];")
        work.append("const int id = get_global_id(0);")
        work.append(
            f"const real total = {f'WARP_SUM(sums, id, {count}, each)' if summed else '0'};"
        )
        work.append(f"part_{number}(id, total, TABLES, STAGE_PASSED);")
    head = f"__kernel void phase_{number}(STAGE_ARGUMENTS, TABLE_ARGUMENTS, const int each)"
    return "\n".join([head, "{", *_in(work), "}", ""])


def _steps(
    layout: Layout, items: list[int], warps: list[int], rounds: list[int], *, ranges: bool
) -> str:
    """Return the phases of a stage for the kernel in simulation/steps.h."""
    slopes = len(layout.phases) - 1
    shared = not ranges and any(rounds)
    lines = [
        "#define SUM_MEMORY" + shared * " __local real part[PYAPSP_STEPS], error[PYAPSP_STEPS];"
    ]
    if layout.resets is not None:
        lines.append("#define MODEL_HAS_RESETS 1")
    lines.append("#define MODEL_STAGE \\")
    for number, count in enumerate(items):
        taken = str(count)
        if layout.resets is not None and number >= slopes:  # one of the two
            taken = (
                f"(resets ? {count if number > slopes else 0} : {0 if number > slopes else count})"
            )
        tables = f"slots, values, sums + {2 * sum(warps[:number])}"
        passed = f"{tables}, t, x, y, out, stage, f, k, weights, h, states"
        call = [f"for (int id = item; id < {taken}; id += items)"]
        call.append(f"    part_{number}(id, 0, {passed});")
        if ranges:
            each = f"({taken} - 1) / (items * PYAPSP_LANES) * PYAPSP_LANES + PYAPSP_LANES"
            call = ["{", f"    const int each = {each}, from = min(item * each, {taken});"]
            call += [f"    part_{number}(from, min(from + each, {taken}), {passed});", "}"]
        elif rounds[number]:
            call = [f"for (int base = mine * PYAPSP_STEPS; base < {taken}; base += items) {{"]
            call.append("    const int id = base + get_local_id(0);")
            total = f"WARP_SUM(sums + {2 * sum(warps[:number])}, id, {taken}, {rounds[number]})"
            call += [
                f"    const real total = {total};",
                f"    part_{number}(id, total, {passed});",
                "}",
            ]
        head = ["SAMPLE"] if number == slopes else []
        lines += [f"    {line} \\" for line in [*head, *call, "MEET;"]]
    return "\n".join([*lines, "", ""])


def _constants(slots: NDArray[np.int32], values: NDArray[np.float64]) -> str:
    """Return the tables as text."""
    numbers = ", ".join(map(literal, values.tolist()))
    return (
        f"__constant int table_slots[] = {{{', '.join(map(str, slots.tolist()))}}};\n"
        f"__constant real table_values[] = {{{numbers}}};\n"
        "#undef SLOT\n#undef VALUE\n"
        "#define SLOT(i) table_slots[i]\n#define VALUE(i) table_values[i]\n"
    )


def _in(lines: list[str]) -> list[str]:
    """Return indented lines."""
    return ["    " + line for line in lines]
