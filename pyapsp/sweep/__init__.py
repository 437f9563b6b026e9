"""Parameter sweeps: one kernel body for one task, run for many tasks.

A user describes the arrays of a task and the steps that its threads take; `Sweep` makes the two
schemes of Ino et al. of it, the naive one and the one in which the data of V tasks are interleaved,
arranges data on the device, and takes the sweep in slices that fit it. `applications` has sweeps
that use nothing but these names.
"""

from pyapsp.sweep.access import Pattern
from pyapsp.sweep.arrays import Array, Repeat, Step
from pyapsp.sweep.engine import Outcome, Sweep

__all__ = ["Array", "Outcome", "Pattern", "Repeat", "Step", "Sweep"]
