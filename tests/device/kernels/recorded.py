"""The kernel files with the macros that the host gives them, without a compiler.

A method plans a small input with the parameters of a tuning row, or with its own, on a device that
says of itself what the row, or a description, says of a device. What the plan asks to be built is
recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property

import pytest

import pyapsp
from pyapsp import registry
from pyapsp.base.errors import CapabilityError, ParameterError
from pyapsp.device import Capabilities, Device, devices
from pyapsp.device.kernels import program, source
from pyapsp.registry import Plan
from pyapsp.registry.tuning.database import Row, load

MACRO = re.compile(r"^#define (\S+)(?: (.*))?$")
FILE = re.compile(r'^#line 1 "([^<"]+)"$')

# The file with the functions of sub-groups of a vendor.
BEFORE = "common/logical_warp.nvidia.h"
FILES = sorted(path.relative_to(source.root()).as_posix() for path in source.root().rglob("*.cl"))

# Vertices of the input that is planned, at least two tiles of any row.
_SIZE = 300


@dataclass(frozen=True)
class Unit:
    """A kernel file with macros, and the version of OpenCL C that it is built for."""

    file: str
    macros: tuple[tuple[str, str], ...] = ()
    standard: str | None = None
    before: str | None = None  # a file whose text is before it, and has no includes

    @classmethod
    def of(cls, source: str, standard: str | None) -> Unit:
        """Take an assembled source apart: macros, then the file."""
        macros, before = [], None
        for line in source.splitlines():
            if match := FILE.match(line):
                if match[1] == BEFORE:
                    before = BEFORE
                    continue
                return cls(match[1], tuple(macros), standard, before)
            if before is None and (match := MACRO.match(line)):
                macros.append((match[1], match[2] or ""))
        raise AssertionError("a source without a file")


class Pretended(Device):
    """A device of this machine that passes for another, with other capabilities."""

    def __init__(self, identity: Mapping[str, str], able: Mapping[str, object]) -> None:
        real = devices()[0]
        super().__init__(real.handle, real.id)
        self.__dict__.update(identity, _able=able)

    @cached_property
    def capabilities(self) -> Capabilities:
        return replace(devices()[0].capabilities, **self._able)


def device_of(row: Row) -> Pretended:
    """A device that passes for that of a tuning row, with all capabilities."""
    gpu = row.kind == "gpu"
    identity = {
        "platform_name": row.platform,
        "kind": row.kind,
        "architecture": row.architecture,
        "name": row.device,
        "plain_name": row.device,
        "processor": row.architecture if row.kind == "cpu" else "",
    }
    able = {
        "fp64": True,
        "int64_atomics": True,
        "subgroups": gpu,
        "device_scope_fence": True,
        "packed16": gpu,
        "warps32": "nvidia" in row.platform.lower(),
        "unified_memory": not gpu,
        "local_memory": 2**21,
        "max_work_group_size": 1024 if gpu else 8192,
        "max_work_item_sizes": (1024 if gpu else 8192,) * 3,
        "c_standard": "CL3.0",
    }
    return Pretended(identity, able)


class LaunchError(Exception):
    """A plan launches a kernel, to measure the device: it has built what it needs for that."""


class Unbuilt:
    """What stands for a program, its kernels and all that is asked of them."""

    hash = "unbuilt"

    def __init__(self, device: Device, widths: set[int]) -> None:
        self.device = device
        self._widths = widths

    def kernel(self, name: str) -> Unbuilt:
        return self

    new_kernel = kernel

    def subgroup_sizes(self, group: int) -> set[int]:
        return self._widths

    def __call__(self, *arguments: object) -> None:
        raise LaunchError


@contextmanager
def recording() -> Iterator[list[Unit]]:
    """Record what is to be built during the block, and build nothing."""
    units: list[Unit] = []

    def record(device, text, macros, standard, optimise):
        units.append(Unit.of(program.headed(text, dict(macros)), standard))
        return Unbuilt(device, {int(dict(macros).get("PYAPSP_WARP", 1))})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "_build", record)
        yield units


def rows() -> list[Row]:
    """The rows of the package: each set of parameters once for a method, type and device."""
    distinct: dict[object, Row] = {}
    for path in sorted((source.root() / "tuning").glob("*.json")):
        for row in load(path):
            parameters = tuple(sorted(row.parameters.items()))
            key = row.method, row.dtype, row.predecessors, row.platform, row.kind, parameters
            distinct.setdefault(key, row)
    return list(distinct.values())


def units_of(row: Row, device: Device | None = None) -> list[Unit]:
    """Return what the method of a row builds with the parameters of the row.

    `device` is by default that of the row.
    """
    method = pyapsp.method(row.method, **row.parameters)
    asked = {"predecessors": True} if row.predecessors else {}
    units, plans = _planned(method, row.family, row.dtype, device or device_of(row), asked)
    assert all(dict(plan.parameters) == row.parameters for plan in plans)
    # what another method builds with the parameters of the row
    beside = {"all_pairs/dense/fw_minplus.cpu.cl": "all_pairs/dense/fw_minplus_rectangles.cpu.cl"}
    return units + [replace(each, file=beside[each.file]) for each in units if each.file in beside]


def built_on(device: Device) -> list[Unit]:
    """Return what all methods build on a device with the parameters that they choose themselves."""
    units: dict[Unit, None] = {}
    for method in pyapsp.methods():
        problem = registry.problem(method.problem)
        predecessors = [{}, {"predecessors": True}] if "predecessors" in problem.asks else [{}]
        for dtype in problem.dtypes:
            for asked in predecessors:
                with suppress(CapabilityError, ParameterError):
                    found, _ = _planned(method(), problem.families[0], dtype, device, asked)
                    units.update(dict.fromkeys(found))
    return list(units)


def built_with_rows(device: Device) -> list[Unit]:
    """Return what the parameters of all rows of such devices stand for, where they are legal.

    A device never gets those of another kind.
    """
    units: dict[Unit, None] = {}
    for row in rows():
        if row.kind == device.kind:
            with suppress(CapabilityError, ParameterError):
                units.update(dict.fromkeys(units_of(row, device)))
    return list(units)


def _planned(method, family, dtype, device, asked) -> tuple[list[Unit], list[Plan]]:
    """Return what a method would build for a small input, and its plans."""
    problem = registry.problem(method.problem)
    given = problem.sample(_SIZE, family, 2, method.requires)
    request = problem.ask(given, method, dtype=dtype, device=device, **asked)
    plans = []
    with recording() as units, suppress(LaunchError):
        for choice in problem.choices(request):
            plans.append(choice.method.plan(request.input, choice.options))
    return units, plans
