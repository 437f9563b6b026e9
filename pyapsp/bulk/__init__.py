"""Bulk execution: a sequential C program, run for many inputs at once.

A C program becomes OpenCL C with one work-item for each input, called an *instance*. ``#pragma
kernel`` stands before the call, or the definition, of the function to run::

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
arrays and scalars of arithmetic types, of which each instance has its own; what it writes to comes
back. ``const`` variables with initial values are the same for all instances. It may call functions
of the file (with arrays as parameters, too) and of math.h. The rest of the file, such as
``main``, is not looked at, so that the same file can be compiled by a C compiler, and gives the
same answer.

The program must be *oblivious*: which addresses it uses must not depend on its data. A subscript
that does, or a loop around accesses whose number of rounds does, is refused with its place and the
reason; an ``if`` on data is allowed. Neither are pointer variables, recursion, allocation, goto,
input and output.

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
