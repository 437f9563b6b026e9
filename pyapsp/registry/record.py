"""What a run leaves behind: its record, and the reasons of its choices as text."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from functools import cache

import numpy as np
import scipy

from pyapsp.base.host import cores
from pyapsp.base.json import Record
from pyapsp.base.version import __version__
from pyapsp.device import Device
from pyapsp.device.loader import opencl
from pyapsp.device.processor import model
from pyapsp.device.quirks import RUNTIME_SETTINGS
from pyapsp.registry.algorithm import Method
from pyapsp.registry.descriptor import Choice, Problem, Request
from pyapsp.registry.steps import OpaquePlan, Stats

__all__ = ["SCHEMA", "about_call", "about_device", "origin", "reasons", "record"]

#: Version of the record format.
SCHEMA = 4
# What a tuning row says about its objective.
_OBJECTIVES = {
    "time": "",
    "energy": ", for the least energy",
    "edp": ", for the least product of energy and time",
}


def reasons(
    request: Request, choice: Choice, plan: OpaquePlan, refused: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return what was chosen and why, as lines of text.

    `refused` are the candidates that could not run, each with its error.
    """
    device = plan.options.device
    return (
        f"method {choice.method.id}: {choice.reason}",
        *(f"not {each}" for each in refused),
        *request.reasons,
        f"device {device.id} ({device.name}, {device.platform_name})",
        f"parameters: {_parameters(choice.method, plan)}",
        f"device memory: {plan.device_bytes / 2**20:,.1f} MiB",
        *plan.notes,
    )


def _parameters(method: Method, plan: OpaquePlan) -> str:
    """Return the parameters and where they are from, as text."""
    if not plan.parameters:
        return "none"
    listed = ", ".join(f"{name}={value}" for name, value in plan.parameters.items())
    if method.parameters.keys() == plan.parameters.keys():
        return f"{listed} (as asked)"
    row, origin = plan.tuning, "the default of the method, not tuned"
    if row is not None:
        near = {"device": "this device", "architecture": "this architecture"}
        where = near.get(str(row["level"]), "this kind of device")
        origin = f"tuned for {where}: {row['device']}, {row['dtype']}, n = {row['n']:,}"
        origin += _OBJECTIVES[str(row["objective"])]
    named = ", ".join(method.parameters)
    return f"{listed} ({f'{named} as asked; ' if named else ''}{origin})"


def record(
    request: Request,
    method: str,
    plan: OpaquePlan,
    stats: Stats,
    work: int,
    wall_seconds: float | None,
    about: Record | None = None,
) -> Record:
    """Return the record of a run.

    Parameters
    ----------
    request : Request
    method : str
        The id of the method.
    plan : Plan
    stats : Stats
    work : int
        Units of work of the run.
    wall_seconds : float or None
        Seconds since the start of the call.
    about : dict, optional
        The facts of the input, if `Problem.about` cannot return them.
    """
    options = request.options
    device, seconds = options.device, stats["kernel_seconds"]
    return {
        **origin(),
        "problem": request.problem.id,
        "method": method,
        "parameters": plan.parameters,
        "tuning": plan.tuning,
        "dtype": options.dtype_name,
        "held_dtype": plan.held_dtype,
        **request.arguments,
        "device": about_device(device),
        "kernel_hash": stats["kernel_hash"],
        "input": request.problem.about(request.input) if about is None else about,
        "build_seconds": plan.build_seconds,
        "kernel_seconds": seconds,
        "transfer_seconds": stats["transfer_seconds"],
        **stats.get("more", {}),
        "wall_seconds": wall_seconds,
        "unit": request.problem.unit,
        "work": work,
        "rate": work / seconds if seconds > 0 else None,
        "roof_rate": None,
        "fraction_of_roof": None,
        "peak_device_bytes": plan.device_bytes,
        "verified": None,
    }


def origin() -> Record:
    """Return the versions of the record and of the software."""
    return {"schema": SCHEMA, "pyapsp": __version__, "environment": {**_environment()}}


def about_call(problem: Problem, data: object, device: Device) -> Record:
    """Return what is known of a call before it runs."""
    return {
        "problem": problem.id,
        "unit": problem.unit,
        "input": problem.about(data),
        "device": about_device(device),
    }


def about_device(device: Device) -> Record:
    """Return the facts of a device that records have."""
    capabilities = device.capabilities
    return {
        **device.identity,
        "units": capabilities.compute_units,
        "memory": capabilities.global_memory,
    }


@cache
def _environment() -> dict[str, str]:
    """Return the software and settings that a run depends on, and the host's processor."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "pyopencl": opencl().VERSION_TEXT,
        "os": platform.platform(),
        "processor": f"{model()}, {cores()} cores",
        **{name: os.environ[name] for name in RUNTIME_SETTINGS if name in os.environ},
    }
