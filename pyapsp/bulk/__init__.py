"""Bulk execution: a sequential C program, run for many inputs at once.

A C program is translated to OpenCL C with one work-item for each input, called an *instance*.
``#pragma kernel`` is written before the call, or the definition, of the function to run::

    #define N 16
    float D[N][N];

    void floyd_warshall(void) { ... }

    int main(void)
    {
        read_input();
    #pragma kernel
        floyd_warshall();
    }

The function is ``void``, without parameters. Its inputs and outputs are the global variables:
arrays and scalars of arithmetic types and enumerations. Each instance has its own copy of them;
those that the function writes to are outputs. ``const`` variables with initial values are shared by
all instances. The function may call functions of the file (arrays can be parameters) and of math.h.
The rest of the file, such as ``main``, is ignored, so a C compiler can compile the same file, and
gives the same answer.

The program must be *oblivious*: the addresses it uses must not depend on its data. If a subscript
depends on data, or the number of rounds of a loop with accesses does, an error gives the place and
the reason. An ``if`` on data is allowed. Pointer variables, recursion, allocation, goto, input and
output are not supported.

A subscript that is known must lie in its array: constants, and the first and last values of
counters in loops with known bounds. Other subscripts are not checked.

Source: D. Takafuji's thesis, 2020, chapter 4.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from pyapsp.base.errors import PyApspError

__all__ = [
    "Program",
    "Run",
    "Stream",
    "Translation",
    "count_accesses",
    "load",
    "programs",
    "split",
    "translate",
]


def _without_parser(name: str) -> type:
    """Return what stands for a public name: it can be looked at and imported, but not called."""

    def refuse(cls: type, *arguments: object, **options: object) -> None:
        raise PyApspError("pyapsp.bulk needs pycparser; install the extra 'bulk' of pyapsp")

    about = "Needs pycparser, which the extra 'bulk' of pyapsp installs."
    return type(name, (), {"__new__": refuse, "__doc__": about, "__module__": __name__})


if TYPE_CHECKING or find_spec("pycparser") is not None:
    from pyapsp.bulk.accesses import count_accesses
    from pyapsp.bulk.program import Program, Run, load, programs, split
    from pyapsp.bulk.stream import Stream
    from pyapsp.bulk.translate import Translation, translate
else:
    # Documentation and completion look at every name, and must not fail.
    globals().update({name: _without_parser(name) for name in __all__})
