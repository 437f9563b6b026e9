"""What each extra is for, called in this environment: ``python promises.py [EXTRA]``.

With an extra, everything must work that it is for. Without one, everything must work that needs
none; and a line is printed for each other call: the extra, the call, and the message of the error.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pyapsp
from pyapsp.cli import main
from pyapsp.errors import PyApspError

ROOT = Path(__file__).resolve().parents[2]
GRAPH = ROOT / "data" / "samples" / "rmat-7.gr"
MODEL = ROOT / "tests" / "simulation" / "models" / "decay.sbml"
FILES = {
    "trace.csv": "a,b\n1,1\n2,2\n",
    "trace.vcd": "$var wire 1 ! clock $end\n$enddefinitions $end\n#0\n0!\n#10\n1!\n#20\n",
    "twice.cl": "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }",
}
# The parts of the package that an extra is for; the rest needs none.
PARTS = {
    "bulk": "pyapsp.bulk",
    "matching": "pyapsp.matching",
    "mining": "pyapsp.mining",
    "networkx": "pyapsp.networkx_backend",
    "peers": "pyapsp.bench.peers",
    "profile": "pyapsp.profiling",
    "report": "pyapsp.bench.report",
    "simulation": "pyapsp.simulation",
}


def imported(extra: str) -> None:
    """Import every module of a part, or of the rest of the package."""
    prefix = PARTS.get(extra, "pyapsp")
    others = tuple(PARTS.values()) if prefix == "pyapsp" else ()
    package = import_module(prefix)
    for module in walk_packages(package.__path__, f"{prefix}.", onerror=lambda name: None):
        if not module.name.startswith(others) and not module.name.endswith("__main__"):
            import_module(module.name)


def command(*words: object) -> None:
    """Run a command of pyapsp."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as messages:
        code = main([str(word) for word in words])
    if code:
        raise PyApspError(messages.getvalue().strip())


def sort() -> None:
    """Run a C program."""
    pyapsp.bulk.load(pyapsp.bulk.programs()["bitonic_sort"])


@cache
def matched(method: str) -> Any:
    """Return matches of an edge in a path."""
    query = pyapsp.matching.Network.from_edges([[0, 1]], ["a", "b"])
    target = pyapsp.matching.Network.from_edges([[0, 1], [1, 2]], ["a", "b", "a"])
    return pyapsp.matching.match(query, target, 3, method=method)


def invariants() -> None:
    """Make a frame of invariants."""
    from pyapsp.mining.planted import planted

    pyapsp.mining.mine(planted(2, 300), "I").frame()


def backend() -> None:
    """Let NetworkX call pyapsp."""
    graph = pyapsp.read(GRAPH).to_networkx()
    import networkx

    assert networkx.diameter(networkx.path_graph(graph.order()), backend="pyapsp") == 127


def primitives() -> None:
    """Score one implementation of a primitive."""
    with suppress(ModuleNotFoundError):
        module: Any = import_module("pyapsp.profiling.primitives")
        module.IMPLEMENTATIONS = module.IMPLEMENTATIONS[2:3]
    command("profile", "primitives", "-n", 64)


def report() -> None:
    """Make the page of a run."""
    command("solve", GRAPH, "-o", "solved.npz", "--record", "solved.json")
    command("report", "solved.json", "-o", "page")


CALLS: dict[str, dict[str, Callable[[], object]]] = {
    "": {
        "solve": lambda: command("solve", GRAPH, "-o", "solved.npz"),
        "doctor": lambda: command("doctor"),
        "match": lambda: matched("device"),
    },
    "bulk": {"load": sort},
    "matching": {
        "frame": lambda: matched("device").to_frame(),
        "summary": lambda: matched("device").summary(),
        "picture": lambda: matched("device").draw(),
        "reference": lambda: matched("reference"),
    },
    "mining": {
        "table": lambda: pyapsp.mining.read_trace("trace.csv"),
        "dump": lambda: pyapsp.mining.read_trace("trace.vcd"),
        "frame": invariants,
    },
    "networkx": {"backend": backend, "network": lambda: matched("device").target.to_networkx()},
    "profile": {
        "kernel": lambda: command(
            *["profile", "kernel", "twice.cl", "twice", "--args", "ones:64", "--global", "64"]
        ),
        "primitives": primitives,
    },
    "report": {"page": report},
    "simulation": {
        "sbml": lambda: command(
            "simulate", MODEL, "--duration", 1, "--step", 0.1, "-o", "course.csv"
        )
    },
    "sparse": {"solve": lambda: command("solve", GRAPH, "--method", "dijkstra-cpu", "-o", "d.npz")},
}


def tried(*extras: str) -> None:
    """Make the calls of an extra; without one, also those of the others, which must fail."""
    for name, text in FILES.items():
        Path(name).write_text(text)
    chosen = extras[0] if extras else ""
    imported(chosen)
    for call in CALLS[chosen].values():
        call()
    for extra, calls in CALLS.items():
        for name, call in calls.items() if extra and not extras else ():
            try:
                call()
            except PyApspError as error:
                print(extra, name, error)
            else:
                print(extra, name, "worked")


if __name__ == "__main__":
    tried(*sys.argv[1:])
