"""The times of kernels as the model of chapter 13 predicts them, beside measured times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from statistics import median
from typing import Any, cast

from papers.experiment import Case, Request
from papers.runner import Runner
from pyapsp.base.json import Json, Record
from pyapsp.errors import CapabilityError
from pyapsp.profiling.benchmarks.suite import profile_device
from pyapsp.registry import Check, Method, Problem, method, problem
from pyapsp.registry import Request as Call
from pyapsp.registry.runs import Solved, solve
from pyapsp.registry.timing import Turn

__all__ = ["LEAST", "METHODS", "launch_seconds", "predictions", "prepared"]

#: Problem -> the family of its input, by what n is divided for its size, and methods. Of each
#: method, the kernel that takes most of its time is predicted. The list was fixed before any fit.
METHODS: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "all-pairs": (
        "power-law",
        64,
        (
            *("fw-blocked", "fw-minplus", "fw-mm", "fw-multikernel", "fw-naive", "fw-recursive"),
            *("fw-twolevel", "apsp-tasks", "johnson", "near-far"),
        ),
    ),
    "bfs": (
        "power-law",
        1,
        (
            *("bfs-4k", "bfs-direction-optimising", "bfs-edge", "bfs-frontier", "bfs-harish"),
            *("bfs-spmv", "bfs-virtual-warp"),
        ),
    ),
    "sssp": ("power-law", 1, ("sssp-bellman-ford", "sssp-delta-stepping", "sssp-h-bf")),
    "scc": ("power-law", 1, ("scc-colouring", "scc-hooking")),
    "partition": (
        "power-law",
        1,
        ("partition-cta-warp-scan", "partition-items", "partition-multi-phase"),
    ),
    "triangles": ("power-law", 4, ("triangles-bitmap", "triangles-hash", "triangles-intersect")),
    "truss": ("power-law", 16, ("truss-iterative", "truss-peeling")),
}
#: What the model needs of the profile of a device; and that which also depends on what else the
#: system runs, so that it is measured again before each kernel.
_PARTS = ("arithmetic", "memory", "scheduling", "control")
_AGAIN = ("cores",)
_SEED = 13
# Calls of which the median launch is the measured time.
_CALLS = 5
#: The fewest vertices or items of an input.
LEAST = 128


def predictions(n: int, request: Request) -> Iterator[Case]:
    """Yield a case for each problem, of n vertices or items or a part of them."""
    once = cache(lambda: profile_device(request.device, quick=True, parts=_PARTS))

    def profile() -> Record:
        now = profile_device(request.device, quick=True, parts=_AGAIN)
        return {**once(), "results": [*_results(once()), *_results(now)]}

    for name, (family, part, names) in METHODS.items():
        runners = [
            _runner(problem(name), method(each), family, max(n // part, LEAST), request, profile)
            for each in names
        ]
        about: Record = {"label": {"problem": name}, "family": family}
        yield Case({**about, "reference": {"what": "the oracle of the problem"}}, runners)


def _results(profile: Record) -> list[Json]:
    return cast("list[Json]", profile["results"])


def prepared(
    of: Problem, asked: Method, family: str, size: int, request: Request
) -> Callable[[], tuple[Call, Callable[[Any], Check]]]:
    """Return what makes the call of a method once, and the check of its answer."""

    @cache
    def make() -> tuple[Call, Callable[[Any], Check]]:
        data = of.sample(size, family, _SEED, asked.requires)
        what = of.ask(data, asked, device=request.device)
        return what, of.oracle(data, what.options)

    return make


def launch_seconds(call: Callable[[], object], kernel: str, number: int) -> float:
    """Return the seconds of a launch of a kernel in a call, by its number from 1.

    Of a call with fewer launches, it is the last one.
    """
    # it parses kernels by libclang, which the extra profile installs
    from pyapsp.profiling.observe import observing

    with observing() as timeline:
        call()
    launches = timeline.launches[kernel]
    return launches[min(number, len(launches)) - 1].seconds


def _runner(
    of: Problem,
    asked: Method,
    family: str,
    size: int,
    request: Request,
    profile: Callable[[], Record],
) -> Runner:
    """Return a runner that profiles a call, and predicts the kernel that takes most of its time.

    The measured time is that of a launch in a call without probes. The branch predictor of a
    processor learns a launch that is repeated alone, which then takes as little as half the time.
    Needs the extra ``profile``.
    """
    from pyapsp.profiling.run import profile_run

    call_of = prepared(of, asked, family, size, request)

    def turn() -> Turn:
        what, right = call_of()
        solved: list[Solved] = []

        def call() -> None:
            solved.append(solve(what))

        record, _ = profile_run(call, most=1, profile=profile())
        kernels = cast("list[dict[str, Any]]", record["kernels"])
        # another one may have taken more time in the last call
        longest = max(kernels, key=lambda each: each["trace"] is not None)
        trace = longest["trace"]
        if trace is None:
            raise CapabilityError(f"{longest['kernel']}: {longest['error']}")
        facts = {
            "kernel": longest["kernel"],
            "launches": longest["launches"],
            "predicted": trace["limits"]["predicted"],
            "bound": trace["limits"]["bound"],
            "advice": trace["limits"]["advice"][:1],
        }
        seconds = [
            launch_seconds(call, longest["kernel"], longest["traced"]) for _ in range(_CALLS)
        ]
        for each in solved:
            right(each.answer).require()
        return Turn({"kernel": median(seconds)}, facts)

    return Runner({"problem": of.id, "method": asked.id}, turn)
