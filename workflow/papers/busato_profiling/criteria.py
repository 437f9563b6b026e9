"""The criteria of primitives, and of the versions of a reduction and a transpose."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from papers.busato_profiling.programs import Numbers, Reduction, Shape, Transpose, TunedProgram
from papers.experiment import Case, Found, InTurns, Request
from papers.metered import about
from papers.runner import Label, Runner
from pyapsp.errors import PyApspError, SensorError
from pyapsp.profiling.benchmarks.suite import profile_device
from pyapsp.registry.timing import Turn, warm_up

__all__ = ["VERSIONS", "Once", "criteria", "primitives"]

#: Program -> name in the exhibits -> version, and its group on GPUs.
VERSIONS: dict[str, dict[str, tuple[str, Shape]]] = {
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

    Needs the extra ``profile``.
    """
    from pyapsp.profiling.kernel import profile_kernel

    device, profiles = request.device, list[dict[str, object]]()
    for name, versions in VERSIONS.items():
        program = _PROGRAMS[name]
        numbers = Numbers(device, program.draw(n if program is Transpose else n * n))

        def runner(
            label: Label,
            version: str,
            shape: Shape,
            program: type[TunedProgram] = program,
            numbers: Numbers = numbers,
        ) -> Runner:
            def turn() -> Turn:
                if not profiles:
                    profiles.append(cast("dict[str, object]", profile_device(device, quick=True)))
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
                    profile=profiles[0],
                )
                facts = {each: record[each] for each in ("criteria", "quality", "limits")}
                facts["first_seconds"] = record["seconds"]
                return Turn({"kernel": seconds}, facts)

            return Runner(label, turn)

        runners = [
            runner({"program": name, "version": title}, *version)
            for title, version in versions.items()
        ]
        yield Case({"label": {"program": name}, "reference": {"what": "NumPy"}}, runners)
