"""Records of runs and documents of benches, as the commands write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyapsp.bench.report import comparison, write_report
from pyapsp.bench.report.page import report_page
from pyapsp.bench.report.records import collect

CALLED = {"scipy": "floyd_warshall"}
CPU = {
    "name": "A CPU",
    "platform": "P",
    "kind": "cpu",
    "driver": "1.2",
    "version": "OpenCL 3.0",
    "processor": "znver4",
    "units": 2,
    "memory": 8 * 2**30,
}
GPU = CPU | {"name": "Board | 2", "platform": "<Q>", "kind": "gpu", "units": 132}


def record(graph="grid", n=100, method="fw-naive", dtype="float64", **changes):
    """What pyapsp solve and pyapsp verify write."""
    seconds = n**3 / 2e9
    return {
        "schema": 4,
        "pyapsp": "0.1.0",
        "commit": "0123456789ab",
        "environment": {"python": "3.11.7", "numpy": "2.4.6", "os": "Linux"},
        "problem": "all-pairs",
        "unit": "updates",
        "method": method,
        "dtype": dtype,
        "predecessors": True,
        "device": CPU,
        "input": {"name": graph, "n": n, "m": 4 * n, "directed": True, "hash": graph},
        "kernel_seconds": seconds,
        "transfer_seconds": 0.00012345678,
        "wall_seconds": seconds + 0.25,
        "rate": 2e9,
        "roof_rate": None,
        "fraction_of_roof": None,
        "verified": True,
        "max_error": 0.0 if dtype.startswith("int") else 1.25e-6,
        "sources": None,
        "cutoff": None,
    } | changes


def bench(runs, peers=("scipy",), left_out=()):
    """What pyapsp bench writes: the same runs, but half as long in the median, and a roof."""
    timed = [
        run
        | {
            "kernel_seconds": run["kernel_seconds"] / 2,
            "wall_seconds": run["wall_seconds"] / 2,
            "rate": 2 * run["rate"],
            "fraction_of_roof": 0.7,
            "repeat": 3,
            "times": {"wall": [run["wall_seconds"] * part for part in (0.4, 0.6, 0.5)]},
            "ratios": {peer: 2.5 + number for number, peer in enumerate(peers)},
        }
        for run in runs
    ]
    graphs = {run["input"]["name"]: run["input"]["n"] for run in runs}
    return {
        "schema": 3,
        "runs": timed,
        "peers": [
            {
                "name": peer,
                "version": "1.17.1",
                "what": "answer",
                "calls": f"scipy.sparse.csgraph.{CALLED.get(peer, peer)}",
                "dtype": "float64",
                "median_seconds": 1.5,
                "rate": n**3 / 1.5,
                "times": {"wall": [1.5]},
                "verified": True,
                "n": n,
                "problem": "all-pairs",
                "input": graph,
            }
            for graph, n in graphs.items()
            for peer in peers
        ],
        "left_out": list(left_out),
    }


def several():
    """Four graphs of four sizes, two methods, two types."""
    return [
        record(graph, n, method, dtype)
        for graph, n in (("ring", 50), ("grid", 100), ("rome99", 3353), ("a<b", 7))
        for method in ("fw-naive", "fw-blocked")
        for dtype in ("int32", "float64")
    ]


class Maker:
    """Makes records, and reports of them."""

    record, bench, several = staticmethod(record), staticmethod(bench), staticmethod(several)
    cpu, gpu = CPU, GPU

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def save(self, *documents) -> list[Path]:
        paths = [self.directory / f"{number}.json" for number in range(len(documents))]
        for path, content in zip(paths, documents, strict=True):
            path.write_text(json.dumps(content), encoding="utf-8")
        return paths

    def page(self, *documents) -> str:
        """Make the page of these without figures, which take longer than all else."""
        collected = collect(self.save(*documents))
        return report_page(collected, comparison.fastest(collected.runs, collected.peers), {})

    def report(self, *documents) -> Path:
        """Write the report of these, and return its folder."""
        write_report(self.save(*documents), self.directory / "report")
        return self.directory / "report"


@pytest.fixture
def make(tmp_path):
    return Maker(tmp_path)


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A report with something of everything."""
    make = Maker(tmp_path_factory.mktemp("whole"))
    unchecked = record("unchecked", 0, rate=None, verified=None)
    del unchecked["max_error"], unchecked["fraction_of_roof"]
    wrong = record("wrong", verified=False, max_error=17.0, device=GPU)
    left_out = {
        "problem": "all-pairs",
        "n": 7,
        "input": "a<b",
        "what": "igraph",
        "why": "not installed",
    }
    return make.report(*several(), unchecked, wrong, bench(several(), left_out=[left_out]))
