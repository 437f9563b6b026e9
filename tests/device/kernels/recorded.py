"""The kernels that a tuning row stands for: what its method would build, without a compiler.

Each method plans a small input with the parameters of the row, on a device that says of itself what
the row says of its device. What the plan asks to be built is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import pytest

import pyapsp
from pyapsp import registry
from pyapsp.device import Capabilities, Device, devices
from pyapsp.device.kernels import program, source
from pyapsp.registry.tuning.database import Row, load

MACRO = re.compile(r"^#define (\S+)(?: (.*))?$")
FILE = re.compile(r'^#line 1 "([^<"]+)"$')

# Vertices of the input that is planned, at least two tiles of any row.
_SIZE = 300


@dataclass(frozen=True)
class Unit:
    """A kernel file with macros, and the version of OpenCL C that it is built for."""

    file: str
    macros: tuple[tuple[str, str], ...] = ()
    standard: str | None = None

    @classmethod
    def of(cls, source: str, standard: str | None) -> Unit:
        """Take an assembled source apart: macros, then the file."""
        macros = []
        for line in source.splitlines():
            if match := FILE.match(line):
                return cls(match[1], tuple(macros), standard)
            if match := MACRO.match(line):
                macros.append((match[1], match[2] or ""))
        raise AssertionError("a source without a file")


class RowDevice(Device):
    """A device of this machine that passes for that of a tuning row, with all capabilities."""

    def __init__(self, row: Row) -> None:
        able = devices()[0]
        super().__init__(able.handle, able.id)
        self.__dict__.update(
            platform_name=row.platform,
            kind=row.kind,
            architecture=row.architecture,
            name=row.device,
            plain_name=row.device,
            processor=row.architecture if row.kind == "cpu" else "",
        )

    @cached_property
    def capabilities(self) -> Capabilities:
        gpu = self.kind == "gpu"
        return replace(
            devices()[0].capabilities,
            fp64=True,
            int64_atomics=True,
            subgroups=gpu,
            device_scope_fence=True,
            packed16=gpu,
            unified_memory=not gpu,
            local_memory=2**21,
            max_work_group_size=1024 if gpu else 8192,
            max_work_item_sizes=(1024 if gpu else 8192,) * 3,
            c_standard="CL3.0",
        )


class Unbuilt:
    """What stands for a program, its kernels and all that is asked of them."""

    hash = "unbuilt"

    def __init__(self, widths: set[int]) -> None:
        self._widths = widths

    def kernel(self, name: str) -> Unbuilt:
        return self

    new_kernel = kernel

    def subgroup_sizes(self, group: int) -> set[int]:
        return self._widths


@contextmanager
def recording() -> Iterator[list[Unit]]:
    """Record what is to be built during the block, and build nothing."""
    units: list[Unit] = []

    def record(device, text, macros, standard, optimise):
        units.append(Unit.of(program.headed(text, dict(macros)), standard))
        return Unbuilt({int(dict(macros).get("PYAPSP_WARP", 1))})

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


def units_of(row: Row) -> list[Unit]:
    """Return what the method of a row builds with the parameters of the row."""
    method = pyapsp.method(row.method, **row.parameters)
    problem = registry.problem(method.problem)
    given = problem.sample(_SIZE, row.family, 2, method.requires)
    asked = {"predecessors": True} if row.predecessors else {}
    request = problem.ask(given, method, dtype=row.dtype, device=RowDevice(row), **asked)
    with recording() as units:
        for choice in problem.choices(request):
            plan = choice.method.plan(request.input, choice.options)
            assert dict(plan.parameters) == row.parameters
    # what another method builds with the parameters of the row
    beside = {"all_pairs/dense/fw_minplus.cpu.cl": "all_pairs/dense/fw_minplus_rectangles.cpu.cl"}
    return units + [replace(each, file=beside[each.file]) for each in units if each.file in beside]
