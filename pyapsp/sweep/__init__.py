"""Parameter sweeps: one kernel body for one task, run for many tasks.

A user describes the arrays of a task and the steps of its threads. `Sweep` makes kernels for the
two schemes of Ino et al.: the naive one, and the one in which the data of V tasks are interleaved.
It arranges the data on the device, and runs the tasks in slices that fit the memory. `applications`
has sweeps written with these names only.
"""

from pyapsp.sweep.access import Pattern
from pyapsp.sweep.arrays import Array, Repeat, Step
from pyapsp.sweep.engine import Outcome, Sweep

__all__ = ["Array", "Outcome", "Pattern", "Repeat", "Step", "Sweep"]
