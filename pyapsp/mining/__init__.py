"""Likely invariants: which formulas of given forms hold at every instant of a trace.

`mine` takes a `Trace`, or a file of values over time (`read_trace`), and a `TemplateSet`, and
returns the `Invariants`. `sequential` has algorithm 17, which `mine` must equal.
"""

from pyapsp.mining.miner import mine
from pyapsp.mining.reading import read_pieces, read_trace
from pyapsp.mining.result import Invariants
from pyapsp.mining.templates import TemplateSet
from pyapsp.mining.trace import Trace

__all__ = ["Invariants", "TemplateSet", "Trace", "mine", "read_pieces", "read_trace"]
