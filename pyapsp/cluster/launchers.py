"""The environment variables that launchers of MPI set for the processes that they start."""

from __future__ import annotations

import os

__all__ = ["launched", "number", "started"]

# Variables of launchers of MPI with the number of processes, and with that of this one.
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PALS_SIZE", "MV2_COMM_WORLD_SIZE")
_NUMBERS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID", "MV2_COMM_WORLD_RANK")
# Those of Slurm, of any step: also of one without MPI.
_TASKS, _TASK = "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"


def launched() -> bool:
    """Return whether a launcher of MPI has started this process.

    A step of Slurm with one task is a plain process, though Slurm sets variables of MPI for it.
    """
    if os.environ.get(_TASKS) == "1" and started() == 1:
        return False
    return any(name in os.environ for name in _SIZES) or os.environ.get(_TASKS, "1") != "1"


def started() -> int:
    """Return how many processes the launcher has started; 1 without one."""
    values = (os.environ.get(name, "1") for name in (*_SIZES, _TASKS))
    return max(int(each) if each.isdecimal() else 1 for each in values)


def number() -> int | None:
    """Return the number of this process; None if the launcher does not tell it."""
    values = (os.environ.get(name, "") for name in (*_NUMBERS, _TASK))
    return next((int(each) for each in values if each.isdecimal()), None)
