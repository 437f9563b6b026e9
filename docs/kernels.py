"""Make ``kernels.md``: what the kernels take on GPUs, as their compilers tell without a device.

``python docs/kernels.py`` compiles for all GPUs whose compilers are here (see ``docs/extend.md``),
for a quarter of an hour on two cores. ``python docs/kernels.py gfx942 gfx1100`` compiles for these.
The page keeps its figures of the others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "device" / "kernels"))

from recorded import FILES, built_on  # noqa: E402
from targets import ALLOWED, TARGETS, Form, Target, compiled, default_units  # noqa: E402

__all__ = ["PAGE", "cells", "columns", "local_memory", "page", "summaries", "summary"]

PAGE = HERE / "kernels.md"

HEAD = """\
# Kernels on other GPUs

The kernels are compiled for GPUs without such a GPU. The compilers tell how many registers a
kernel takes, how many bytes it stores to memory because registers are missing, its local
memory, and the occupancy: the hardware threads that fit at once, in per cent of the most. These
are counts and no times. `docs/kernels.py` makes this page;
`tests/device/kernels/test_targets.py` compiles the same kernels and compares.

The built-in functions are those of libclc for AMD's and NVIDIA's GPUs. Drivers have their own,
so that their figures can differ a little. Local memory is counted for the size of group that a
kernel requires.

## GPUs

*Default macros*: every kernel file as it is, without those for CPUs and for other vendors. *By
methods*: what all methods build for all number types, with the parameters that they choose for
the GPU. *Memory*: kernels that use private memory, for registers or for arrays. Every form
compiles.

| GPU | product | compiler | default macros | kernels | memory | by methods | kernels | memory |
|---|---|---|---|---|---|---|---|---|
"""

MEMORY = """
## Private memory

In bytes for a work-item: the most over kernels, forms and GPUs of the vendor. The test fails if
there are more kernels, or more bytes.

| file | vendor | bytes | reason |
|---|---|---|---|
"""

MINIMUM = """
## Minima of floats

`fmin` must return the other argument if one is a NaN. Counted in the code for gfx942, in
`fw_minplus_remainder` for 512 updates of float32 (two of them share an instruction of 64 bits,
and two minima of one value are one instruction):

| form of the minimum | additions | minima | comparisons and selections |
|---|---|---|---|
| `fmin` | 256 | 256 | 0 |
| `a < b ? a : b` | 256 | 0 | 1,024 |
| integers of the same bits (`bits=1`, the default of `fw-minplus`) | 256 | 256 | 0 |

A third instruction, a maximum of a value with itself, makes an argument of `fmin` that is not a
sum a quiet NaN if it is a NaN. The loop of `fw-minplus` has none. There are 160 beside 208
additions in `fw_mm.cl`, 160 beside 160 in `fw_twolevel.cl`, 2 beside 258 in
`fw_multikernel.cl`; integers of the same bits would need none. The comparison takes four
instructions where `fmin` takes one, so GPUs get `fmin`.
"""

TABLE = """
## Kernel files

With default macros: the most registers of its kernels, and the least occupancy in per cent;
then the bytes of private memory, if there are any. Registers are those of a work-item, and on
Intel's GPUs those of a hardware thread. *Local* is the most local memory of a group, in bytes.

"""


def cells(forms: Iterable[Form]) -> dict[str, str]:
    """Return what is shown of each file, in the column of a GPU."""
    shown = {}
    for form in forms:
        usages = form.kernels.values()
        registers = max(usage.registers for usage in usages)
        occupancy = min(usage.occupancy for usage in usages)
        memory = max(usage.spilled + usage.private for usage in usages)
        shown[form.unit.file] = f"{registers}, {occupancy}" + (f", {memory} B" if memory else "")
    return shown


def local_memory(forms: Iterable[Form]) -> dict[str, str]:
    """Return the most local memory of the kernels of each file."""
    return {
        form.unit.file: str(max(usage.local for usage in form.kernels.values())) for form in forms
    }


def summary(target: Target, files: Iterable[Form], built: Iterable[Form]) -> list[str]:
    """Return the row of a GPU: its kernel files with default macros, and what methods build."""
    counts = [str(figure) for forms in (files, built) for figure in _counts(forms)]
    return [target.name, target.product, target.compiler(), *counts]


def _counts(forms: Iterable[Form]) -> tuple[int, int, int]:
    """Return how many forms there are, and how many kernels, all of them and those with memory."""
    forms = list(forms)
    usages = [usage for form in forms for usage in form.kernels.values()]
    return len(forms), len(usages), sum(usage.spilled + usage.private > 0 for usage in usages)


def page(
    gpus: Mapping[str, Sequence[str]],
    shown: Mapping[str, Mapping[str, str]],
    local: Mapping[str, str],
) -> str:
    """Return the page, in Markdown.

    Parameters
    ----------
    gpus : mapping
        The row of each GPU, as `summary`.
    shown : mapping
        The column of each GPU, as `cells`.
    local : mapping
        The local memory of each file, as `local_memory`.
    """
    allowed = [(f"`{each.file}`", each.vendor, each.bytes, each.reason) for each in ALLOWED]
    names = [target.name for target in TARGETS]
    files = [
        (f"`{file}`", local[file], *(shown[name].get(file, "-") for name in names))
        for file in FILES
        if file in local
    ]
    head = ("file", "local", *(f"`{name}`" for name in names))
    return "".join(
        [
            HEAD,
            *(_line([f"`{name}`", *gpus[name][1:]]) for name in names),
            MEMORY,
            *map(_line, allowed),
            MINIMUM + TABLE,
            _line(head),
            f"|{'---|' * len(head)}\n",
            *map(_line, files),
        ]
    )


def _line(row: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, row))} |\n"


def summaries(text: str) -> dict[str, list[str]]:
    """Return the row of each GPU of a page."""
    return {row[0]: row for row in _rows(text) if len(row) == 9 and row[0] != "GPU"}


def columns(text: str) -> dict[str, dict[str, str]]:
    """Return the columns of a page, by their heads: local memory, then the GPUs."""
    head, *rows = (row for row in _rows(text) if len(row) > 9)
    return {
        name: {row[0]: row[place] for row in rows if row[place] != "-"}
        for place, name in enumerate(head)
        if place > 0
    }


def _rows(text: str) -> list[list[str]]:
    """Return the cells of all rows of all tables."""
    lines = (line for line in text.splitlines() if line.startswith("| "))
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]


def main(names: Sequence[str]) -> None:
    """Compile for the GPUs of these names, or for all that have a compiler here."""
    chosen = [target for target in TARGETS if target.name in names or not names]
    missing = {target: said for target in chosen if (said := target.missing())}
    if names and (missing or len(chosen) < len(names)):
        known = ", ".join(target.name for target in TARGETS)
        raise SystemExit("\n".join(missing.values()) or f"GPUs are {known}")
    text = PAGE.read_text(encoding="utf-8")
    gpus, shown = summaries(text), columns(text)
    local = shown.pop("local")
    for target in chosen:
        if target not in missing:
            files = compiled(target, tuple(default_units(target)))
            gpus[target.name] = summary(
                target, files, compiled(target, tuple(built_on(target.device())))
            )
            shown[target.name] = cells(files)
            # as with their other figures, what the GPUs take that are not compiled for stays
            some = local_memory(files)
            local = local | some if len(chosen) == len(TARGETS) and not missing else some | local
            print(target.name, file=sys.stderr, flush=True)
    PAGE.write_text(page(gpus, shown, local), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
