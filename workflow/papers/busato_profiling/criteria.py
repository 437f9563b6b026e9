"""The criteria of primitives, and of the versions of a reduction, a search and a transpose."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from papers.busato_profiling.predictions import prepared
from papers.busato_profiling.programs import Numbers, Reduction, Shape, Transpose, TunedProgram
from papers.experiment import Case, Found, InTurns, Request
from papers.metered import about
from papers.runner import Label, Runner
from pyapsp.base.json import Record
from pyapsp.errors import CapabilityError, PyApspError, SensorError
from pyapsp.profiling.benchmarks.suite import profile_device
from pyapsp.registry import method, problem
from pyapsp.registry.runs import Solved, solve
from pyapsp.registry.timing import Turn, warm_up

__all__ = ["PROGRAMS", "SEARCHES", "TUNED", "VERSIONS", "Once", "criteria", "primitives"]

#: In the order of the figures.
PROGRAMS = ("reduction", "search", "transpose")
#: The names of versions in the exhibits.
VERSIONS = ("Version1", "Version2", "Version3")
#: Program -> version -> its name, and its group on GPUs.
TUNED: dict[str, dict[str, tuple[str, Shape]]] = {
    "reduction": {
        "Version1": ("orig", Shape(256)),
        "Version2": ("warps", Shape(256)),
        "Version3": ("v2.1", Shape(256)),
    },
    "transpose": {
        "Version1": ("v2.0", Shape(16, 16)),
        "Version2": ("v2.1", Shape(16, 16)),
        "Version3": ("v2.1", Shape(32, 8)),
    },
}
_PROGRAMS: dict[str, type[TunedProgram]] = {"reduction": Reduction, "transpose": Transpose}
_PERSISTENT = {"balance": "node", "gather": "none", "sync": "persistent", "rules": "published"}
#: Version -> a method and its parameters: a launch for each level; one for all levels, whose groups
#: wait for each other; the same with several work-items for each vertex.
SEARCHES: dict[str, tuple[str, dict[str, str | int]]] = {
    "Version1": ("bfs-frontier", {"width": 1}),
    "Version2": ("bfs-helix", {**_PERSISTENT, "width": 1}),
    "Version3": ("bfs-helix", {**_PERSISTENT, "width": 16}),
}
# Numbers of a reduction for each vertex of a graph.
_OF_VERTEX = 16
_HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Once(InTurns):
    """Runners that are measured once, because kernels with probes take long to build.

    None begins when the limit of the request is over.
    """

    def measure(self, n: int, request: Request) -> Found:
        """Run all cases."""
        measured: Found = {"inputs": [], "runs": [], "left_out": []}
        limit = float("inf") if request.limit is None else request.limit
        begun, lost = time.monotonic(), None
        for case in self.cases(n, request):
            done = []
            for each in case.runners:
                if time.monotonic() - begun > limit:
                    each.error = PyApspError(f"{limit:g} s were over")
                else:
                    done += warm_up([each], request.progress)
            measured["inputs"].append({"label": {}, "n": n, **case.about})
            measured["runs"] += [each.record() for each in done]
            failed = [each for each in case.runners if each.error is not None]
            measured["left_out"] += [{**each.label, "why": str(each.error)} for each in failed]
            errors = (each.error for each in failed if isinstance(each.error, SensorError))
            lost = lost or next(errors, None)
        if self.metered:
            measured["sensors"] = [] if request.meter is None else [about(request.meter, lost)]
        return measured


def primitives(n: int, request: Request) -> Iterator[Case]:
    """Yield the case of all primitives that OpenCL has, for n numbers: a power of two.

    Needs the extra ``profile``.
    """
    from pyapsp.profiling.primitives import IMPLEMENTATIONS, Implementation, score

    def runner(each: Implementation) -> Runner:
        def turn() -> Turn:
            row = cast("dict[str, Any]", score(each, request.device, n))
            facts = {name: row[name] for name in ("speedup", "criteria", "quality", "errors")}
            return Turn({"kernel": row["seconds"]}, facts)

        return Runner({"primitive": each.primitive, "implementation": each.name}, turn)

    about = {"reference": {"what": "NumPy"}}
    yield Case(about, [runner(each) for each in IMPLEMENTATIONS])


def criteria(n: int, request: Request) -> Iterator[Case]:
    """Yield a case for each program: a matrix of n x n words, and as many numbers.

    The graph of the search has a sixteenth as many vertices. Needs the extra ``profile``.
    """
    profile = cache(lambda: profile_device(request.device, quick=True))
    for name in PROGRAMS:
        runners = (
            _searches(n * n // _OF_VERTEX, request, profile)
            if name == "search"
            else _tuned(name, n, request, profile)
        )
        what = "the oracle of the problem" if name == "search" else "NumPy"
        yield Case({"label": {"program": name}, "reference": {"what": what}}, runners)


def _tuned(name: str, n: int, request: Request, profile: Callable[[], Record]) -> list[Runner]:
    """Return a runner for each version of a program, of which the first launch is profiled."""
    from pyapsp.profiling.kernel import profile_kernel

    device, program = request.device, _PROGRAMS[name]
    numbers = Numbers(device, program.draw(n if program is Transpose else n * n))

    def runner(label: Label, version: str, shape: Shape) -> Runner:
        def turn() -> Turn:
            made = program(numbers, program.VERSIONS[version], shape)
            seconds = made.seconds()
            made.check()
            launch = made.first_launch()
            record = profile_kernel(
                device,
                str(_HERE / program.file),
                made.version.kernel,
                launch.words,
                launch.items,
                launch.group,
                defines=made.defines,
                profile=profile(),
            )
            return Turn({"kernel": seconds}, _facts(record))

        return Runner(label, turn)

    return [
        runner({"program": name, "version": title}, *version)
        for title, version in TUNED[name].items()
    ]


def _searches(size: int, request: Request, profile: Callable[[], Record]) -> list[Runner]:
    """Return a runner for each search, of which the longest kernel is profiled."""
    from pyapsp.profiling.run import profile_run

    def runner(label: Label, name: str, parameters: dict[str, str | int]) -> Runner:
        asked = method(name, **parameters)
        call_of = prepared(problem("bfs"), asked, "power-law", size, request)

        def turn() -> Turn:
            what, right = call_of()
            solved: list[Solved] = []
            record, _ = profile_run(lambda: solved.append(solve(what)), profile=profile())
            for each in solved:
                right(each.answer).require()
            longest = cast("list[dict[str, Any]]", record["kernels"])[0]
            if longest["trace"] is None:
                raise CapabilityError(f"{longest['kernel']}: {longest['error']}")
            return Turn({"kernel": cast("float", record["seconds"])}, _facts(longest["trace"]))

        return Runner(label, turn)

    # The groups of a CPU are few and poll for long, never equally often: that cannot be traced.
    alone = request.device.traits.scalar_groups
    return [
        runner({"program": "search", "version": title}, name, parameters)
        for title, (name, parameters) in SEARCHES.items()
        if not alone or parameters.get("sync") != "persistent"
    ]


def _facts(record: Record) -> Record:
    facts = {each: record[each] for each in ("criteria", "quality", "limits")}
    return {**facts, "first_seconds": record["seconds"]}
