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
arrays and scalars of arithmetic types. Each instance has its own copy of them; those that the
function writes to are outputs. ``const`` variables with initial values are shared by all instances.
The function may call functions of the file (arrays can be parameters) and of math.h. The rest of
the file, such as ``main``, is ignored, so a C compiler can compile the same file, and gives the
same answer.

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

if find_spec("pycparser") is None:
    raise ModuleNotFoundError(
        "pyapsp.bulk needs pycparser; install the extra 'bulk' of pyapsp", name="pycparser"
    )

from pyapsp.bulk.accesses import count_accesses
from pyapsp.bulk.program import Program, Run, load, programs, split
from pyapsp.bulk.stream import Stream
from pyapsp.bulk.translate import Translation, translate

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
