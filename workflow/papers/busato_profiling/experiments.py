"""[B] chapters 12 to 16: microbenchmarks, criteria, tuned programs, and techniques with energy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from papers.busato_profiling.counters import METHODS as TWINS
from papers.busato_profiling.counters import counters
from papers.busato_profiling.criteria import Once, criteria, primitives
from papers.busato_profiling.joules import KERNELS, joules
from papers.busato_profiling.predictions import METHODS, predictions
from papers.busato_profiling.programs import (
    Numbers,
    Reduction,
    Shape,
    Transpose,
    TunedProgram,
)
from papers.busato_profiling.suite import Suite
from papers.busato_traversal.partition.experiments import TECHNIQUES, techniques
from papers.experiment import Case, Experiment, Request
from papers.metered import Metered, Repeated
from papers.runner import Label
from pyapsp.errors import ParameterError
from pyapsp.registry.timing import Turn

__all__ = ["EXPERIMENTS", "INPUTS"]

#: The inputs of table 16.1.
INPUTS = ("great-britain_osm", "web-NotreDame", "cit-Patents", "circuit5M", "as-Skitter")


def _fastest(runners: Sequence[Repeated]) -> list[Repeated]:
    """Return the fastest runner of each technique."""
    best: dict[str, Repeated] = {}
    for each in runners:
        name = str(each.label["technique"])
        if name not in best or each.medians["kernel"] < best[name].medians["kernel"]:
            best[name] = each
    return list(best.values())


def _versions(program: type[TunedProgram], n: int, request: Request) -> Iterator[Case]:
    """Yield the case of all versions of a program, each with several groups."""
    numbers = Numbers(request.device, program.draw(n))
    groups = request.chosen("items", ())
    for each in groups:
        if each < 2 or each & (each - 1):
            rule = "a power of two, at least 2"
            raise ParameterError.of("items", program.__name__.lower(), rule, each)

    def runner(name: str, shape: Shape) -> Repeated:
        made: list[TunedProgram] = []

        def load() -> TunedProgram:
            if not made:
                made.append(program(numbers, program.VERSIONS[name], shape))
            return made[0]

        def turn() -> Turn:
            seconds = load().seconds()
            made[0].check()
            facts = {"kernel": program.VERSIONS[name].kernel, "kernel_hash": made[0].hash}
            return Turn({"kernel": seconds}, facts)

        label: Label = {"version": name, "shape": str(shape), "items": shape.items}
        return Repeated(label, turn, load)

    runners = [
        runner(name, shape)
        for name in program.VERSIONS
        for shape in program.shapes(request.device, name, groups)
    ]
    yield Case({"reference": {"what": "NumPy"}, "bytes": program.moved(n)}, runners)


EXPERIMENTS: dict[str, Experiment] = {
    "busato-profiling-device": Suite(
        exhibits="tables 14.1 to 14.4 and 15.3 to 15.6, figures 14.6, 14.7 and 15.4 to 15.6",
        methods=(),
        sizes=(1,),
        least=1,
    ),
    "busato-profiling-primitives": Once(
        exhibits="tables 12.1 and 12.3, figure 12.2, section 12.5.1",
        methods=(),
        sizes=(2**14,),
        make=primitives,
    ),
    "busato-profiling-criteria": Once(
        exhibits="figures 12.4 and 13.4 to 13.6",
        methods=("bfs-frontier", "bfs-helix"),
        sizes=(256,),
        least=64,
        make=criteria,
    ),
    "busato-profiling-predictions": Once(
        exhibits="chapter 13: predicted and measured times",
        methods=tuple(chain.from_iterable(names for _, _, names in METHODS.values())),
        sizes=(16384,),
        least=64,
        make=predictions,
    ),
    "busato-profiling-counters": Once(
        exhibits="table 12.1: errors of what stands in for counters",
        methods=tuple(name for _, _, name in TWINS.values()),
        sizes=(2048,),
        least=64,
        make=counters,
        by_default=False,  # it needs a GPU that runs CUDA, and its profiler
    ),
    "busato-profiling-joules": Once(
        exhibits="predicted and measured energy of kernels",
        methods=tuple(chain.from_iterable(KERNELS.values())),
        sizes=(4096,),
        least=64,
        make=joules,
        metered=True,
    ),
    "busato-profiling-reduction": Metered(
        exhibits="table 15.7",
        methods=(),
        sizes=(2**22,),
        least=1,
        settings=("items",),
        make=partial(_versions, Reduction),
    ),
    "busato-profiling-transpose": Metered(
        exhibits="table 15.8",
        methods=(),
        sizes=(1024,),
        least=1,
        settings=("items",),
        make=partial(_versions, Transpose),
    ),
    "busato-profiling-techniques": Metered(
        exhibits="table 16.1, figures 16.1 to 16.5, claims",
        methods=tuple(dict.fromkeys(name for name, _ in TECHNIQUES.values())),
        sizes=(200_000,),
        settings=("threads",),
        least=100,
        make=partial(techniques, names=INPUTS),
        chosen=_fastest,
    ),
}
