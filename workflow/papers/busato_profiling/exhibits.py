"""Tables and figures of [B] chapters 12 to 16, beside the published values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from papers.busato_profiling.claims import CLAIMS, Joules, Programs, Techniques, fastest, least
from papers.busato_profiling.counters import QUANTITIES
from papers.busato_profiling.criteria import PROGRAMS, VERSIONS
from papers.busato_profiling.experiments import INPUTS
from papers.busato_profiling.joules import PARTS
from papers.busato_profiling.programs import Reduction, Transpose, TunedProgram
from papers.busato_traversal.partition.exhibits import statistics
from papers.claims import Claim, judged
from papers.measured import Measured
from papers.metered import COLUMNS
from papers.published import Published
from papers.runner import RunRecord
from papers.tables import Maker, Row, Rows
from papers.values import Value, beside, milliseconds, ratio, reduction, times
from pyapsp.errors import ParameterError
from pyapsp.profiling.traces.criteria import WEIGHTS
from pyapsp.profiling.weights import fitted

__all__ = ["ROWS"]

_DEVICE, _PRIMITIVES, _CRITERIA, _COUNTERS, _PREDICTIONS, _JOULES, _TECHNIQUES = (
    f"busato-profiling-{name}"
    for name in (
        *("device", "primitives", "criteria", "counters"),
        *("predictions", "joules", "techniques"),
    )
)
_PAPER = Published("busato_profiling")
# What Pro++ reads of a profiler, what is read here, and how exact that is.
_SOURCES = (
    ("#SM, block size, grid size", "the device and the launch", "exact"),
    ("#SM_threads, max_SM_blocks, SM_SMem", "the device, or a table by architecture", "exact"),
    ("#registers", "the compiler's report, where it gives one", "exact"),
    ("static and dynamic shared memory", "the kernel, after its arguments are set", "exact"),
    ("times of kernels and copies, bytes of copies", "events of the queue", "exact"),
    ("Int, SP and DP instructions", "counters of basic blocks in the source", "model"),
    ("threads launched, divergence", "counters of basic blocks in the source", "model"),
    ("active warps, cycles of an SM", "start and end of each warp, by its clock", "model"),
    ("stall_sync", "clocks before and after barriers", "model"),
    ("L1 and L2 transactions", "trace of addresses, in lines and sectors", "model"),
    ("shared transactions and accesses", "trace of addresses, in banks", "model"),
    ("ALU and load/store utilisation", "operations over the measured peak rates", "model"),
    ("DRAM transactions", "none: distinct sectors are a lower bound", "model"),
)
# Operation of the tables -> the microbenchmark.
_OPERATIONS = {
    "int32 simple": "i32.add",
    "int32 complex": "i32.mul",
    "popcount": "i32.popcount",
    "shift": "i32.shift",
    "bit": "i32.logic",
    "compare": "i32.compare",
    "remainder": "i32.rem",
    "int64 simple": "i64.add",
    "fp32 simple": "f32.add",
    "fp32 special": "f32.native_rsqrt",
    "fp64 simple": "f64.add",
}
_DIVISIONS = {
    "IEEE": "f32.div",
    "IEEE, FTZ": None,
    "approximate": "f32.native_div",
    "approximate, FTZ": None,
}
# Bytes of a transaction with global memory, and the work-items of one with local memory.
_TRANSACTION, _WARP = 128, 32
_CARDS = ("GTX 660", "Jetson TK1", "GTX 980")
# The column of the place in a curve.
_PLACE = "neighbours, stride, bytes or paths"
_CURVES = {
    "coalescence": ("14.6", "neighbours"),
    "bank conflicts": ("14.7 and 15.6", "stride"),
    "access size": ("15.4", "bytes"),
    "divergence": ("15.5", "paths"),
}


def _sources(measured: Measured) -> Rows:
    for item, source, how in _SOURCES:
        yield {"input of table 12.1": item, "read from": source, "it is": how}


def _counters(measured: Measured) -> Rows:
    for n, run in measured.each_run(_COUNTERS):
        row: Row = {"n": n, "program": run["label"]["program"], "kernel": run["kernel"]}
        row["us in OpenCL"] = times(1e6, run["seconds"]["kernel"])
        row["us in CUDA"] = times(1e6, run["seconds_of_twin"])
        for name in QUANTITIES:
            row[f"{name}, probes"] = run["counted"][name]
            row[f"{name}, ncu"] = run["hardware"][name]
        yield row


def _errors(measured: Measured) -> Rows:
    for n in measured.sizes(_COUNTERS):
        for name in QUANTITIES:
            errors: dict[str, float] = {}
            for run in measured.runs(_COUNTERS, n):
                quotient = ratio(run["counted"][name], run["hardware"][name])
                if quotient is not None:
                    errors[run["label"]["program"]] = 100 * (quotient - 1)
            if errors:
                sizes = [abs(each) for each in errors.values()]
                row: Row = {"n": n, "quantity": name, "median error, %": float(np.median(sizes))}
                yield {**row, **{f"{program}, %": each for program, each in errors.items()}}


def _primitives(measured: Measured) -> Rows:
    for n in measured.sizes(_PRIMITIVES):
        for run in measured.runs(_PRIMITIVES, n):
            label = run["label"]
            yield {
                "n": n,
                "primitive": label["primitive"],
                "implementation": label["implementation"],
                "speedup: ours": run["speedup"],
                "speedup: thesis, GTX 780": None,
                "quality: ours": run["quality"],
                "quality: thesis, GTX 780": None,
            }
        for row in _PAPER.rows(exhibit="table 12.3", quantity="speedup"):
            where = {"exhibit": "table 12.3", "item": row["item"], "version": row["version"]}
            yield {
                "n": None,
                "primitive": row["item"],
                "implementation": row["version"],
                "speedup: thesis, GTX 780": row["value"],
                "quality: thesis, GTX 780": _PAPER.value(quantity="quality", **where),
            }


def _weights(measured: Measured) -> Rows:
    for n in measured.sizes(_PRIMITIVES):
        rows = [{**run, **run["label"]} for run in measured.runs(_PRIMITIVES, n)]
        known = [name for name in WEIGHTS if all(row["criteria"][name] is not None for row in rows)]
        # a criterion that is not known on this device is the same for all
        every: list[Any] = [
            {**row, "criteria": {name: row["criteria"][name] or 0.0 for name in WEIGHTS}}
            for row in rows
        ]
        try:
            ours: Mapping[str, int] = fitted(every).weights
        except ParameterError:  # too few primitives ran
            ours = {}
        for name in WEIGHTS:
            fit = ours.get(name) if name in known else None
            yield {"n": n, "criterion": name, **beside("weight", fit, WEIGHTS[name], "thesis")}


def _bars(measured: Measured) -> Rows:
    for n, run in measured.each_run(_PRIMITIVES):
        if run["label"]["primitive"] in ("reduction", "prefix scan"):
            yield {"n": n, **run["label"], **_ours(run["criteria"])}


def _ours(criteria: Mapping[str, float | None]) -> Row:
    return {f"{name}: ours": criteria[name] for name in WEIGHTS}


def _search(measured: Measured) -> Rows:
    for n, run in measured.each_run(_PRIMITIVES, primitive="load-balancing search"):
        row: Row = {"n": n, "implementation": run["label"]["implementation"]}
        for ours, theirs in (("l1_granularity", "Gran_L1"), ("l2_granularity", "Gran_L2")):
            row[f"{ours}: ours"] = run["criteria"][ours]
            for version in ("MGPU", "optimised"):
                said = _PAPER.value(exhibit="section 12.5.1", quantity=theirs, version=version)
                row[f"{ours}: thesis, {version}"] = said
        yield row


def _versions(measured: Measured) -> Rows:
    for n in measured.sizes(_CRITERIA):
        for program in PROGRAMS:
            runs = {
                name: measured.run(_CRITERIA, n, program=program, version=name) for name in VERSIONS
            }
            first = runs["Version1"]
            slowest = None if first is None else first["seconds"]["kernel"]
            for name, run in runs.items():
                if run is None:
                    continue
                where = {"exhibit": "section 13.5", "item": program, "version": name}
                speedup = ratio(slowest, run["seconds"]["kernel"])
                said = _PAPER.value(quantity="speedup", **where)
                potential = _PAPER.value(quantity="potential", **where)
                advice = run["limits"]["advice"]
                yield {
                    "n": n,
                    "program": program,
                    "version": name,
                    "ms: ours": milliseconds(run["seconds"]["kernel"]),
                    **beside("speedup", speedup, said, "thesis, GTX 780"),
                    **beside("potential", run["limits"]["potential"], potential, "thesis, GTX 780"),
                    "bound: ours": run["limits"]["bound"],
                    "first advice: ours": advice[0]["criterion"] if advice else None,
                    "quality: ours": run["quality"],
                    **_ours(run["criteria"]),
                }


def _predictions(measured: Measured) -> Rows:
    for n, run in measured.each_run(_PREDICTIONS):
        seconds, advice = run["seconds"]["kernel"], run["advice"]
        yield {
            "n": n,
            "problem": run["label"]["problem"],
            "method": run["label"]["method"],
            "kernel": run["kernel"],
            "launches": run["launches"],
            "measured ms": milliseconds(seconds),
            "predicted ms": milliseconds(run["predicted"]),
            "predicted / measured": ratio(run["predicted"], seconds),
            "bound": run["bound"],
            "first advice": advice[0]["criterion"] if advice else None,
        }


def _accuracy(measured: Measured) -> Rows:
    for n in measured.sizes(_PREDICTIONS):
        runs = list(measured.runs(_PREDICTIONS, n))
        ratios = [run["predicted"] / run["seconds"]["kernel"] for run in runs]
        errors = [100 * abs(each - 1) for each in ratios]
        yield {
            "n": n,
            "kernels": len(runs),
            "median error, %": float(np.median(errors)) if errors else None,
            "90th percentile, %": float(np.quantile(errors, 0.9)) if errors else None,
            "within a factor of 2": sum(0.5 <= each <= 2 for each in ratios),
        }


def _joules(measured: Measured) -> Rows:
    for n, run in measured.each_run(_JOULES):
        parts = run["parts"] or {}
        energy = run["joules"]
        yield {
            "n": n,
            "problem": run["label"]["problem"],
            "method": run["label"]["method"],
            "kernel": run["kernel"],
            "us": times(1e6, run["launch_seconds"]),
            "measured W": ratio(energy, run["launch_seconds"]),
            "measured mJ": milliseconds(energy),
            "predicted mJ": milliseconds(run["predicted"]),
            "predicted / measured": ratio(run["predicted"], energy),
            "for time / measured": ratio(parts.get("time"), energy),
            **{f"{name}, mJ": milliseconds(parts.get(name)) for name in PARTS},
        }


def _joules_accuracy(measured: Measured) -> Rows:
    for n in measured.sizes(_JOULES):
        facts = Joules(measured, n)
        errors = facts.errors
        yield {
            "n": n,
            "kernels": len(errors),
            "mean error, %: ours": facts.mean_error if errors else None,
            "mean error, %: Wattchmen, H100": facts.published,
            "median error, %: ours": float(np.median(errors)) if errors else None,
            "largest error, %: ours": max(errors, default=None),
            "within a factor of 2: ours": sum(0.5 <= each <= 2 for each in facts.ratios),
            "mean error without operations and bytes, %": facts.without_parts if errors else None,
        }


def _median(runs: list[RunRecord], name: str) -> float | None:
    values = [run[name] for run in runs if run.get(name) is not None]
    return median(values) if values else None


def _per_cycle(measured: Measured, n: int, rate: float | None) -> float | None:
    """Return a rate for each unit, and cycle of the clock rate that the driver reports."""
    hertz = 1e6 * measured.inputs(_DEVICE, n)[0]["megahertz"]
    return ratio(rate, float(measured.device["units"]) * hertz)


def _item(
    measured: Measured,
    n: int,
    exhibits: tuple[str, ...],
    item: str,
    runs: list[RunRecord],
    share: float = 1,
) -> Row:
    """Return our columns and the published ones; `share`: units of work of an operation."""
    rate, nanojoules = _median(runs, "rate"), _median(runs, "nanojoules")
    row: Row = {
        "n": n,
        "operation": item,
        "per cycle and unit: ours": _per_cycle(measured, n, times(1 / share, rate)),
        "W: ours": _median(runs, "watts"),
        "peak W: ours": _median(runs, "peak_watts"),
        "nJ: ours": times(share, nanojoules),
        "M/W: ours": times(1 / share, _median(runs, "mips_per_watt")),
    }
    columns = {
        "per cycle and unit": "throughput",
        "specified": "specified",
        "W": "power",
        "nJ": "energy per operation",
    }
    for card in _CARDS:
        for ours, theirs in columns.items():
            rows = [
                each
                for exhibit in exhibits
                for each in _PAPER.rows(exhibit=exhibit, device=card, item=item, quantity=theirs)
            ]
            if _published(exhibits, card, theirs):
                row[f"{ours}: thesis, {card}"] = rows[0]["value"] if rows else None
    return row


def _published(exhibits: tuple[str, ...], card: str, quantity: str) -> bool:
    """Return whether tables have a quantity for a card."""
    return any(_PAPER.rows(exhibit=exhibit, device=card, quantity=quantity) for exhibit in exhibits)


def _throughput(
    items: Mapping[str, str | None], exhibits: tuple[str, ...], measured: Measured
) -> Rows:
    for n in measured.sizes(_DEVICE):
        for item, operation in items.items():
            runs: list[RunRecord] = []
            if operation is not None:
                where: dict[str, Value] = {"benchmark": "throughput", "operation": operation}
                runs = list(measured.runs(_DEVICE, n, **where))
            yield _item(measured, n, exhibits, item, runs)


def _memory(measured: Measured) -> Rows:
    exhibits = ("table 14.3", "table 14.4", "table 15.6")
    for n in measured.sizes(_DEVICE):
        reads = list(measured.runs(_DEVICE, n, benchmark="read bandwidth"))
        sizes = sorted({run["label"]["bytes"] for run in reads})
        places = {"DRAM": sizes[-1:], "L2": sizes[len(sizes) // 2 :][:1]}
        shared = list(measured.runs(_DEVICE, n, benchmark="bank conflicts", stride=1))
        for item, size in places.items():
            runs = [run for run in reads if run["label"]["bytes"] in size]
            yield _item(measured, n, exhibits, item, runs, _TRANSACTION)
        yield _item(measured, n, exhibits, "shared", shared, _WARP)
        yield _item(measured, n, exhibits, "constant", [])


def _curves(measured: Measured) -> Rows:
    for n in measured.sizes(_DEVICE):
        for benchmark, (figure, what) in _CURVES.items():
            runs = list(measured.runs(_DEVICE, n, benchmark=benchmark))
            best = max((run["rate"] for run in runs), default=None)
            for x in sorted({run["label"][what] for run in runs}):
                of = [run for run in runs if run["label"][what] == x]
                yield {
                    "n": n,
                    "figure": figure,
                    "benchmark": benchmark,
                    _PLACE: x,
                    "time, relative: ours": ratio(best, _median(of, "rate")),
                    "W: ours": _median(of, "watts"),
                    "peak W: ours": _median(of, "peak_watts"),
                    "nJ: ours": _median(of, "nanojoules"),
                }


def _tuned(program: type[TunedProgram], exhibit: str, name: str, measured: Measured) -> Rows:
    experiment = f"busato-profiling-{name}"
    for n in measured.sizes(experiment):
        runs = list(measured.runs(experiment, n))
        moved = measured.input(experiment, n)["bytes"]
        first = fastest(runs, "orig")
        slowest = None if first is None else first["seconds"]["kernel"]
        for version in program.VERSIONS:
            quick, frugal = fastest(runs, version), least(runs, version)
            if quick is None:
                continue
            energy, seconds = quick["energy"], quick["seconds"]["kernel"]
            cheap = dict.fromkeys(COLUMNS) if frugal is None else frugal["energy"]
            row: Row = {
                "n": n,
                "version": version,
                "fastest group: ours": quick["label"]["shape"],
                "ms: ours": milliseconds(seconds),
                "speedup: ours": ratio(slowest, seconds),
                "GB/s: ours": times(1e-9, ratio(moved, seconds)),
                "W: ours": energy["watts"],
                "peak W: ours": energy["peak_watts"],
                "mJ: ours": milliseconds(energy["joules"]),
                "group of least energy: ours": frugal["label"]["shape"] if frugal else None,
                "its ms: ours": milliseconds(cheap["seconds"]),
                "its mJ: ours": milliseconds(cheap["joules"]),
                "energy saved, %: ours": reduction(energy["joules"], cheap["joules"]),
            }
            for card in ("GTX 660", "GTX 980"):
                for ours, theirs in (
                    ("ms", "time"),
                    ("W", "power"),
                    ("peak W", "peak power"),
                    ("J", "energy"),
                ):
                    row[f"{ours}: thesis, {card}"] = _PAPER.value(
                        exhibit=exhibit, device=card, version=version, quantity=theirs
                    )
            yield row


def _all_groups(name: str, measured: Measured) -> Rows:
    for n, run in measured.each_run(f"busato-profiling-{name}"):
        energy = run["energy"]
        yield {
            "n": n,
            "version": run["label"]["version"],
            "group": run["label"]["shape"],
            "ms: ours": milliseconds(run["seconds"]["kernel"]),
            "W: ours": energy["watts"],
            "peak W: ours": energy["peak_watts"],
            "mJ: ours": milliseconds(energy["joules"]),
            "error, %: ours": times(100, energy["error"]),
        }


def _statistics(measured: Measured) -> Rows:
    return statistics(measured, _TECHNIQUES, ("n", "units", "deviation", "largest"))


def _techniques(measured: Measured) -> Rows:
    for n in measured.sizes(_TECHNIQUES):
        units = {each["label"]["input"]: each["units"] for each in measured.inputs(_TECHNIQUES, n)}
        for name in INPUTS:
            runs = list(measured.runs(_TECHNIQUES, n, input=name))
            of: dict[str, RunRecord] = {}
            for run in runs:
                technique = run["label"]["technique"]
                seconds = run["seconds"]["kernel"]
                if technique not in of or seconds < of[technique]["seconds"]["kernel"]:
                    of[technique] = run
            for technique, run in of.items():
                energy = run["energy"]
                yield {
                    "n": n,
                    "input": name,
                    "technique": technique,
                    "best group: ours": run["label"]["group"],
                    "ms: ours": milliseconds(run["seconds"]["kernel"]),
                    "ms, repeated: ours": milliseconds(energy["seconds"]),
                    "Gunits/s: ours": times(1e-9, ratio(units[name], run["seconds"]["kernel"])),
                    "W: ours": energy["watts"],
                    "peak W: ours": energy["peak_watts"],
                    "mJ: ours": milliseconds(energy["joules"]),
                    "nJ/unit: ours": times(1e9 / units[name], energy["joules"]),
                    "error, %: ours": times(100, energy["error"]),
                }


#: Name of an exhibit -> function that makes its rows.
def _of_program(name: str, measured: Measured) -> Iterator[Claim]:
    return judged(CLAIMS[name], Programs(name, measured))


ROWS: dict[str, Maker] = {
    "table-12.1": _sources,
    "table-12.1-counters": _counters,
    "table-12.1-errors": _errors,
    "table-12.3": _primitives,
    "table-12.3-weights": _weights,
    "figure-12.2": _bars,
    "section-12.5.1": _search,
    "figures-12.4-13.4-13.5-13.6": _versions,
    "predictions": _predictions,
    "predictions-accuracy": _accuracy,
    "joules": _joules,
    "joules-accuracy": _joules_accuracy,
    "claims-joules": lambda measured: judged(CLAIMS["joules"], Joules(measured)),
    "tables-14.1-14.2-15.3": partial(
        _throughput, _OPERATIONS, ("table 14.1", "table 14.2", "table 15.3")
    ),
    "tables-14.3-14.4-15.6": _memory,
    "tables-15.4-15.5": partial(_throughput, _DIVISIONS, ("table 15.4", "table 15.5")),
    "figures-14.6-15.6": _curves,
    "table-15.7": partial(_tuned, Reduction, "table 15.7", "reduction"),
    "table-15.7-groups": partial(_all_groups, "reduction"),
    "table-15.8": partial(_tuned, Transpose, "table 15.8", "transpose"),
    "table-15.8-groups": partial(_all_groups, "transpose"),
    "claims-15.3.2": partial(_of_program, "reduction"),
    "claims-15.3.3": partial(_of_program, "transpose"),
    "table-16.1": _statistics,
    "figures-16.1-16.5": _techniques,
    "claims-16": lambda measured: judged(CLAIMS["techniques"], Techniques(measured)),
}
