"""What a parameter of a method changes: the source that can be reached, arguments, or launches.

The source is what clang's preprocessor leaves of a program, and of that the kernel with all that it
names, directly or not. So a macro that no launched kernel uses changes nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp import registry
from pyapsp.device.kernels import program
from pyapsp.errors import PyApspError
from pyapsp.registry import runs

sys.path.insert(0, str(Path(__file__).parents[1] / "device" / "kernels"))
from recorded import Unbuilt

NAME = re.compile(r"[A-Za-z_]\w*")
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)\s*", re.DOTALL)
# Methods that read compiled programs, or launch them, when they plan.
READS_BINARIES = {"fw-mm", "fw-outofcore", "fw-recursive", "fw-twolevel"}
CALLED = re.compile(r"([A-Za-z_]\w*)\s*\($")


@dataclass
class Launches:
    """Programs, and launches: kernel, shape, and arguments that are numbers."""

    sources: list[str] = field(default_factory=list)
    calls: list[tuple[object, ...]] = field(default_factory=list)

    @property
    def kernels(self) -> set[tuple[str, str]]:
        """Each launched kernel, with the source that it reaches."""
        return {(str(name), reached(text, str(name))) for name, text, *_ in self.calls}

    @property
    def shapes(self) -> list[tuple[object, ...]]:
        """The launches without their sources."""
        return sorted(((name, *rest) for name, _, *rest in self.calls), key=str)


class Traced:
    """A kernel that writes down how it is launched."""

    def __init__(self, kernel: cl.Kernel, name: str, text: str, launches: Launches) -> None:
        self.kernel, self._name, self._text, self._launches = kernel, name, text, launches
        self._set: tuple[object, ...] = ()

    def note(self, shape: object, group: object, arguments: tuple[object, ...]) -> None:
        numbers = tuple(map(_shown, arguments))
        self._launches.calls.append((self._name, self._text, str(shape), str(group), numbers))

    def __call__(self, queue, shape, group, *arguments, **more):
        self.note(shape, group, arguments)
        return self.kernel(queue, shape, group, *arguments, **more)

    def set_args(self, *arguments: object) -> None:
        self._set = arguments
        self.kernel.set_args(*arguments)

    def launched(self, shape: object, group: object) -> None:
        self.note(shape, group, self._set)

    def __getattr__(self, name: str) -> object:
        return getattr(self.kernel, name)


def _shown(argument: object) -> str:
    if isinstance(argument, int | float | np.generic):
        return str(argument)
    return f"local {argument.size}" if isinstance(argument, cl.LocalMemory) else "buffer"


@contextmanager
def traced() -> Iterator[Launches]:
    """Write down every launch of the block."""
    launches = Launches()
    old, enqueue = program.Program.new_kernel, cl.enqueue_nd_range_kernel

    def new_kernel(self: program.Program, name: str) -> Traced:
        return Traced(old(self, name), name, self.source, launches)

    def kernel(self: program.Program, name: str) -> Traced:
        return new_kernel(self, name)

    def enqueued(queue, kernel, shape, group, **more):
        if isinstance(kernel, Traced):
            kernel.launched(shape, group)
            kernel = kernel.kernel
        return enqueue(queue, kernel, shape, group, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program.Program, "new_kernel", new_kernel)
        patch.setattr(program.Program, "kernel", kernel)
        patch.setattr(cl, "enqueue_nd_range_kernel", enqueued)
        yield launches


@dataclass(frozen=True)
class Input:
    """A random input: its size and family, and another method that can take it."""

    size: int = 300
    family: str = ""
    like: str = ""


def planned(method: str, parameters: Mapping[str, int | str], about: Input, device: object):
    """The request of a random input, with the first type that the method has, and its plan."""
    made = pyapsp.method(method, **parameters)
    problem = registry.problem(made.problem)
    requires = pyapsp.method(about.like or method).requires
    family = about.family or problem.families[0]
    for dtype in problem.dtypes:
        try:
            given = problem.sample(about.size, family, 3, requires)
            request = problem.ask(given, made, dtype=dtype, device=device)
            plan = next(iter(problem.choices(request))).method.plan(given, request.options)
        except PyApspError as error:
            refused = error
            continue
        return request, plan
    raise refused


@contextmanager
def uncompiled(method: str) -> Iterator[list[str]]:
    """Write down the programs of the block, and do not compile them."""
    texts: list[str] = []

    def record(device, text, macros, standard, optimise):
        texts.append(program.headed(text, dict(macros)))
        if method in READS_BINARIES:
            return program.Program(device, texts[-1], standard, optimise)
        return Unbuilt(device, {int(dict(macros).get("PYAPSP_WARP", 1))})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "_build", record)
        yield texts


def launches_of(method, parameters, about, device) -> Launches:
    """Run a method, and return its launches."""
    request, _ = planned(method, parameters, about, device)
    with traced() as launches:
        runs.solve(request)
    return launches


def sources_of(method, parameters, about, device) -> list[str]:
    """Plan a method, and return the programs that it would compile.

    Raises
    ------
    PyApspError
        If the parameters are refused.
    """
    with uncompiled(method) as texts:
        planned(method, parameters, about, device)
    return texts


@dataclass
class Alike:
    """Values of a parameter that do the same, and what differs from those of other groups."""

    values: list[int | str]
    # The launched kernels whose source is another than in the first group; none: only launches.
    kernels: frozenset[str] = frozenset()


class Context(TypedDict):
    """Other parameters of a method, and its input."""

    others: Mapping[str, int | str]
    about: Input


def _base(
    method: str,
    name: str,
    values: Sequence[int | str],
    device: object,
    others: Mapping[str, int | str],
    about: Input,
) -> Mapping[str, int | str]:
    """Return the other parameters that most values get or allow."""

    def accepted(value: int | str, others: Mapping[str, int | str]) -> dict[str, int | str] | None:
        try:
            _, plan = planned(method, {**others, name: value}, about, device)
        except PyApspError:
            return None
        return {each: chosen for each, chosen in plan.parameters.items() if each != name}

    with uncompiled(method):
        found = [accepted(value, others) for value in values]
        bases = [each for place, each in enumerate(found) if each and each not in found[:place]]
        if len(bases) < 2:
            return others
        return max(bases, key=lambda base: sum(accepted(v, base) is not None for v in values))


def alike(
    method: str,
    name: str,
    values: Sequence[int | str],
    device: object,
    others: Mapping[str, int | str],
    about: Input,
) -> list[Alike]:
    """Return the values of a parameter that are not refused, in groups that do the same.

    All other parameters have the same values.
    """
    others = _base(method, name, values, device, others, about)
    by_value: dict[int | str, list[str]] = {}
    for value in values:
        with suppress(PyApspError):
            by_value[value] = sources_of(method, {**others, name: value}, about, device)
    kernels = launches_of(method, {**others, name: next(iter(by_value))}, about, device).kernels
    by_source: dict[frozenset[tuple[str, str]], list[int | str]] = {}
    for value, texts in by_value.items():
        found = {
            (kernel, next(filter(None, (reached(text, kernel) for text in texts)), ""))
            for kernel, _ in kernels
        }
        by_source.setdefault(frozenset(found), []).append(value)
    groups: list[Alike] = []
    first = next(iter(by_source), frozenset())
    for source, some in by_source.items():
        changed = frozenset(kernel for kernel, _ in source ^ first)
        if len(some) == 1:
            groups.append(Alike(some, changed))
            continue
        by_launch: dict[str, list[int | str]] = {}
        for value in some:
            try:
                run = launches_of(method, {**others, name: value}, about, device)
            except PyApspError:
                continue
            by_launch.setdefault(str((run.shapes, sorted(run.kernels))), []).append(value)
        groups += (Alike(each, changed) for each in by_launch.values())
    return groups


@lru_cache(1000)
def reached(text: str, kernel: str) -> str:
    """Return the definitions that a kernel names, directly or not; none if there is no kernel."""
    parts = _definitions(text)
    if kernel not in parts:
        return ""
    seen, waiting = set(), [kernel]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [each for each in NAME.findall(parts[name]) if each in parts]
    return "\n".join(parts[name] for name in sorted(seen))


@lru_cache(1000)
def _definitions(text: str) -> dict[str, str]:
    """Return what a program defines at its outermost level, by name."""
    command = ["clang-19", "-E", "-P", "-x", "cl", "-"]
    plain = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    parts: dict[str, str] = {}
    depth, start, name = 0, 0, ""
    for place, letter in enumerate(plain):
        if letter in "({[":
            if depth == 0 and letter == "(" and not name:
                before = ATTRIBUTE.sub("", plain[start : place + 1])
                called = CALLED.search(before)
                if called and called[1] != "__attribute__":
                    name = called[1]
            depth += 1
        elif letter in ")}]":
            depth -= 1
        if depth == 0 and (letter == ";" or (letter == "}" and name)):
            part = plain[start : place + 1].strip()
            names = NAME.findall(re.split(r"[=\[]", part)[0])
            key = name or (names[-1] if names else "")
            parts[key] = parts.get(key, "") + part
            start, name = place + 1, ""
    return parts
